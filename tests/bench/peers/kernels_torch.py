"""PyTorch's RMSNorm and LayerNorm on the shapes of bench_kernels: median microseconds, forward and backward."""
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("skipped PyTorch: python3 has no torch (Debian: python3-torch with libopenblas0-pthread)")
    sys.exit(0)

torch.manual_seed(1)


def rms_norm(x, gain):
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, gain.shape, gain, 1e-5)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain


def median(run):
    times = []
    run()
    start = time.perf_counter()
    while len(times) < 15 or (time.perf_counter() - start < 0.2 and len(times) < 2000):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


for dtype in (torch.float32, torch.float64):
    for rows, n in ((1, 4096), (64, 4096), (2048, 4096), (4096, 768)):
        for threads in (1, 2):
            torch.set_num_threads(threads)
            x, dy = torch.randn(rows, n, dtype=dtype), torch.randn(rows, n, dtype=dtype)
            gain, bias = torch.randn(n, dtype=dtype), torch.randn(n, dtype=dtype)
            for name, norm, params in (("RMSNorm", rms_norm, (gain,)),
                                       ("LayerNorm", lambda v, g, b: F.layer_norm(v, (n,), g, b, 1e-5), (gain, bias))):
                with torch.no_grad():
                    forward = median(lambda: norm(x, *params))
                leaves = [t.clone().requires_grad_() for t in (x,) + params]
                y = norm(*leaves)
                backward = median(lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True))
                print(f"PyTorch {str(dtype)[6:]} {name:9} {rows:5} x {n:<5} {threads} thread{'s' if threads > 1 else ' '}"
                      f" forward {forward:10.1f} us, backward {backward:10.1f} us", flush=True)
