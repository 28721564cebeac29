.PHONY: tables
tables: ## print the codec's table of powers of ten anew
	$(Q)mkdir -p $(B)/api/json/tables
	$(Q)$(CC) $(OUR_C) -o $(B)/api/json/tables/make_powers_of_ten api/json/tables/make_powers_of_ten.c
	$(Q)$(B)/api/json/tables/make_powers_of_ten > api/json/powers_of_ten.inc

.PHONY: test-float32-all test-float64-billion
test-float32-all: $(B)/tests/api/shortest_many ## every one of the 2^32 float32 values: written shortest, nearest, read back
	$(B)/tests/api/shortest_many float32

test-float64-billion: $(B)/tests/api/shortest_many ## a billion random float64 values: written shortest, read back, one in four checked nearest
	$(B)/tests/api/shortest_many float64 1000000000

# A test puts its own function in the place of one of ours.
$(B)/tests/api/test_selftest_fault: OUR_LD += -Wl,--wrap=json_kernels_of
