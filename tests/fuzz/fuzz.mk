# make fuzz: libFuzzer (clang) on each tests/fuzz/fuzz_*.c. Finds land in $(FUZZ_B)/finds; what they teach goes into tests/fuzz/corpus.
# The api is instrumented; core is the ordinary library, whose kernels take minutes to compile otherwise.
FUZZ_SECONDS ?= 60
FUZZ_B := build/fuzz
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz
fuzz: $(B)/libnormcore.a ## fuzz with libFuzzer, FUZZ_SECONDS=60 a target (clang, AddressSanitizer)
	@$(MAKE) --no-print-directory CC=clang SAN=fuzzer-no-link,address,undefined B=$(FUZZ_B) $(FUZZ_B)/libnormapi.a
	@for f in $(FUZZERS); do $(MAKE) --no-print-directory fuzz-one FUZZER=$$f || exit 1; done

.PHONY: fuzz-one
fuzz-one:
	$(call say,FUZZ,$(FUZZER))
	@mkdir -p $(FUZZ_B)/finds $(FUZZ_B)/$(FUZZER)
	$(Q)clang $(OUR_CPP) $(OUR_C) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $(FUZZ_B)/$(FUZZER).bin tests/fuzz/$(FUZZER).c \
		$(FUZZ_B)/libnormapi.a $(B)/libnormcore.a -ljansson $(LIBS)
	$(Q)$(FUZZ_B)/$(FUZZER).bin -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=20 -artifact_prefix=$(FUZZ_B)/finds/ -print_final_stats=1 \
		$(FUZZ_B)/$(FUZZER) tests/fuzz/corpus/$(patsubst fuzz_%,%,$(FUZZER))
