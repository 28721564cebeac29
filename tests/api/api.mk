.PHONY: tables
tables: ## print the codec's table of powers of ten anew
	$(Q)mkdir -p $(B)/api/tables
	$(Q)$(CC) $(OUR_C) -o $(B)/api/tables/powers_of_ten api/tables/powers_of_ten.c
	$(Q)$(B)/api/tables/powers_of_ten > api/powers_of_ten.inc
