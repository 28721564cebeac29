"""The Llama-like block of bench_block in PyTorch float64, forward and backward: median ms on one thread and on two."""
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("skipped PyTorch: python3 has no torch (Debian: python3-torch with libopenblas0-pthread)")
    sys.exit(0)

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
T, d, H, h = 64, 256, 8, 688
hd = d // H


def weight(rows, cols):
    return (torch.randn(rows, cols) / cols ** 0.5).requires_grad_()


g1, g2 = torch.ones(d, requires_grad=True), torch.ones(d, requires_grad=True)
wq, wk, wv, wo = (weight(d, d) for _ in range(4))
gate, up, down = weight(h, d), weight(h, d), weight(d, h)
params = [g1, g2, wq, wk, wv, wo, gate, up, down]
x, dy = torch.randn(T, d).requires_grad_(), torch.randn(T, d)
angles = torch.arange(T)[:, None] * 10000 ** (-2 * torch.arange(hd // 2) / hd)
cos, sin = angles.cos()[:, None], angles.sin()[:, None]
mask = torch.full((T, T), float("-inf")).triu(1)


def rms(v, g):
    return v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-5) * g


def rope(v):
    a, b = v[..., : hd // 2], v[..., hd // 2:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def run():
    n = rms(x, g1)
    q, k, v = (F.linear(n, w).view(T, H, hd) for w in (wq, wk, wv))
    q, k, v = (t.transpose(0, 1) for t in (rope(q), rope(k), v))
    p = torch.softmax(q @ k.transpose(1, 2) / hd ** 0.5 + mask, -1)
    y = x + F.linear((p @ v).transpose(0, 1).reshape(T, d), wo)
    n = rms(y, g2)
    y = y + F.linear(F.silu(F.linear(n, gate)) * F.linear(n, up), down)
    return torch.autograd.grad(y, [x] + params, dy)


for threads in (1, 2):
    torch.set_num_threads(threads)
    times = []
    for i in range(44):
        start = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - start))
    print(f"PyTorch {torch.__version__} float64, {threads} thread(s): {statistics.median(times[3:]):.2f} ms")
