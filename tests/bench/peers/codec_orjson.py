"""orjson on lists as bench_codec's: ns a number, medians. It has no float32: those are read and written as doubles."""
import random
import statistics
import sys
import time

try:
    import orjson
except ImportError:
    print("skipped orjson: not installed")
    sys.exit(0)


def median_ns(run, count):
    times = []
    for _ in range(9):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e9 / count)
    return statistics.median(times)


for count in [int(n) for n in sys.argv[1:]] or [262144, 4194304]:
    sets = {
        "float64": [random.gauss(0, 1) for _ in range(count)],
        "short": [round(random.uniform(-10, 10), 3) for _ in range(count)],
    }
    for name, values in sets.items():
        text = orjson.dumps(values)
        read = median_ns(lambda: orjson.loads(text), count)
        write = median_ns(lambda: orjson.dumps(values), count)
        print(f"orjson {orjson.__version__}, {count} numbers, {name}: read {read:.1f}, write {write:.1f}")
