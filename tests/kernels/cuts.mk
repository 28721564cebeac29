# The test counts what the pool is asked for.
$(B)/tests/kernels/test_norm_cuts: OUR_LD += -Wl,--wrap=nc_pool_run
