.PHONY: bench-block
bench-block: $(B)/tests/bench/bench_block ## whole blocks forward and backward, beside PyTorch where it is installed (THREADS=2)
	$(Q)$(B)/tests/bench/bench_block $(THREADS)
	$(Q)python=python3; /usr/bin/python3 -c "import torch" 2>/dev/null && python=/usr/bin/python3; \
	$$python tests/bench/peers/block_torch.py

$(B)/tests/bench/bench_block: $(B)/tests/bench/bench_block.o $(B)/libnormcore.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(OUR_LD) $(LDFLAGS) -o $@ $^ $(LIBS)
