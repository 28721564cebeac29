HTTP_PACKAGES := $(BUILD_PACKAGES) wrk nginx-light nodejs python3 python3-venv

.PHONY: bench-http
bench-http: ## the service under load beside a bare libmicrohttpd, nginx, Node and gunicorn (SECONDS=3 each; ONLY="table tail memory growth")
	$(call install,$(HTTP_PACKAGES))
	@$(MAKE) --no-print-directory $(B)/normd $(B)/tests/bench/peers/http_bare
	@[ -x $(B)/bench/venv/bin/gunicorn ] || [ "$(DEPS)" = 0 ] || { \
		python3 -m venv $(B)/bench/venv && $(B)/bench/venv/bin/pip install -q gunicorn orjson numpy; } || \
		echo "skipped gunicorn: pip could not install it"
	@NORMD=$(B)/normd BUILD=$(B) python3 -B tests/bench/bench_http.py $(if $(SECONDS),--seconds $(SECONDS)) $(ONLY)

$(B)/tests/bench/peers/http_bare: $(B)/tests/bench/peers/http_bare.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(OUR_LD) $(LDFLAGS) -o $@ $< -lmicrohttpd
