.PHONY: bench
bench: ## bench-kernels, bench-codec, bench-block and bench-http in turn
	@$(MAKE) --no-print-directory bench-kernels
	@$(MAKE) --no-print-directory bench-codec
	@$(MAKE) --no-print-directory bench-block
	@$(MAKE) --no-print-directory bench-http

.PHONY: bench-kernels
bench-kernels: $(B)/tests/bench/bench_kernels ## norms and residuals beside the copy of their shape, PyTorch and oneDNN where installed (ISA=avx2)
	$(Q)$(B)/tests/bench/bench_kernels $(ISA)
	$(Q)python=python3; /usr/bin/python3 -c "import torch" 2>/dev/null && python=/usr/bin/python3; \
	MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296 $$python tests/bench/peers/kernels_torch.py

$(B)/tests/bench/bench_kernels: $(B)/tests/bench/bench_kernels.o tests/bench/peers/kernels_onednn.c $(B)/libnormcore.a
	$(call say,LINK,$@)
	$(Q)dnnl=; if echo "#include <oneapi/dnnl/dnnl.h>" | $(CC) -E -x c - >/dev/null 2>&1; then \
		$(call compile_peer,kernels_onednn) && dnnl="$(B)/tests/bench/kernels_onednn.o -ldnnl"; \
	else echo "skipped oneDNN: no oneapi/dnnl/dnnl.h (Debian: libdnnl-dev)"; fi; \
	$(CC) $(OUR_LD) $(LDFLAGS) -o $@ $< $$dnnl $(filter %.a,$^) $(LIBS)

compile_peer = $(CC) $(OUR_CPP) -O2 -std=gnu11 -c -o $(B)/tests/bench/$(1).o tests/bench/peers/$(1).c
