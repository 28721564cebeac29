# make fuzz: libFuzzer (clang) on each tests/fuzz/fuzz_*.c for FUZZ_SECONDS; finds land in build/fuzz, good ones go into tests/fuzz/corpus.
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz
fuzz: ## fuzz with libFuzzer, FUZZ_SECONDS=60 a target (clang, AddressSanitizer)
	@for f in $(FUZZERS); do $(MAKE) --no-print-directory fuzz-one CC=clang SAN=fuzzer-no-link,address,undefined FUZZER=$$f || exit 1; done

.PHONY: fuzz-one
fuzz-one: $(B)/libnormapi.a $(B)/libnormcore.a
	$(call say,FUZZ,$(FUZZER))
	@mkdir -p $(B)/fuzz/$(FUZZER)
	$(Q)clang $(OUR_CPP) $(OUR_C) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $(B)/fuzz/$(FUZZER).bin tests/fuzz/$(FUZZER).c $^ -ljansson $(LIBS)
	$(Q)$(B)/fuzz/$(FUZZER).bin -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 -artifact_prefix=$(B)/fuzz/ -print_final_stats=1 \
		$(B)/fuzz/$(FUZZER) tests/fuzz/corpus/$(patsubst fuzz_%,%,$(FUZZER))
