.PHONY: bench-codec
bench-codec: $(B)/tests/bench/bench_codec ## the number codec beside simdjson, std::from_chars, std::to_chars, RapidJSON, jansson and libc
	$(Q)$(B)/tests/bench/bench_codec $(NUMBERS)
	$(Q)python3 tests/bench/peers/codec_orjson.py $(NUMBERS)

# Peers in C++, each only where the compiler and its library are there: file, header, library.
CODEC_PEERS := std,charconv, simdjson,simdjson.h,-lsimdjson rapidjson,rapidjson/reader.h,

$(B)/tests/bench/bench_codec: $(B)/tests/bench/bench_codec.o $(wildcard tests/bench/peers/codec_*.cc) $(B)/libnormapi.a $(B)/libnormcore.a
	$(call say,LINK,$@)
	$(Q)objects= libraries=; for peer in $(CODEC_PEERS); do \
		name=$${peer%%,*} rest=$${peer#*,} header=$${rest%%,*} library=$${rest#*,}; \
		if echo "#include <$$header>" | $(CXX) -std=c++17 -E -x c++ - >/dev/null 2>&1; then \
			$(CXX) -std=c++17 -O3 -DNDEBUG -c -o $(B)/tests/bench/codec_$$name.o tests/bench/peers/codec_$$name.cc || exit 1; \
			objects="$$objects $(B)/tests/bench/codec_$$name.o" libraries="$$libraries $$library"; \
		else echo "skipped $$name: no $(CXX) with $$header"; fi; done; \
	if [ "$$objects" ]; then link=$(CXX); else link=$(CC); fi; \
	$$link $(OUR_LD) -o $@ $< $$objects $(filter %.a,$^) $$libraries -ljansson $(LIBS)
