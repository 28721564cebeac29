.PHONY: test-promise
test-promise: $(B)/tests/core/test_norm_promise ## the promise of accuracy on ten million elements against MPFR, by dtype and operation
	CK_DEFAULT_TIMEOUT=3600 NORM_PROMISE=$(or $(ELEMENTS),1e7) $(B)/tests/core/test_norm_promise
