#!/usr/bin/env python3
"""exact_example.py PROGRAM.c OUTPUT: the output of core/install/example.c is, bit for bit, what 80 digits say, rounded once."""
import re, struct, sys
from decimal import Decimal, getcontext

getcontext().prec = 80
FEATURES = 4


def float32(value):
    """value rounded to float32, to nearest (80 digits never lie on a tie here)."""
    near = struct.unpack("f", struct.pack("f", float(value)))[0]
    bits = struct.unpack("i", struct.pack("f", near))[0]
    around = [struct.unpack("f", struct.pack("i", b))[0] for b in (bits - 1, bits, bits + 1)]
    return min((c for c in around if c == c), key=lambda c: abs(Decimal(c) - value))


def array(source, name):
    """The numbers of a float array of the program, as the compiler rounds them."""
    text = re.search(r"float " + name + r"\[[^]]*\] = \{([^}]*)\}", source).group(1)
    return [Decimal(float32(Decimal(t.strip().rstrip("f")))) for t in text.split(",")]


def main():
    source = open(sys.argv[1]).read()
    x, dy, gain = (array(source, name) for name in ("x", "dy", "gain"))
    epsilon = Decimal(float(re.search(r"\.epsilon = ([^,]*),", source).group(1)))
    want = {"y": [], "rms": [], "dx": [], "dgain": [Decimal(0)] * FEATURES}
    for at in range(0, len(x), FEATURES):
        row, grad = x[at:at + FEATURES], dy[at:at + FEATURES]
        r = (sum(v * v for v in row) / FEATURES + epsilon).sqrt()
        dot = sum(g * w * v for g, w, v in zip(grad, gain, row))
        want["rms"].append(r)
        want["y"] += [w * v / r for w, v in zip(gain, row)]
        want["dx"] += [g * w / r - v * dot / (FEATURES * r ** 3) for g, w, v in zip(grad, gain, row)]
        want["dgain"] = [d + g * v / r for d, g, v in zip(want["dgain"], grad, row)]
    got = {line.split()[0]: [float(t) for t in line.split()[1:]] for line in open(sys.argv[2])}
    bad = 0
    for name, values in want.items():
        exact = [float32(v) for v in values]
        if got.get(name) != [float("%.9g" % v) for v in exact]:
            print(f"{name}: {got.get(name)} instead of {exact}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
