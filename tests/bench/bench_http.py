#!/usr/bin/env python3
"""The service under load, beside what one would use instead. All on 127.0.0.1; every loop is closed, warm and bounded.

bench_http.py [--seconds N] [table] [tail] [memory] [growth]

table   requests/s, times and CPU of float32 RMSNorm over JSON: normd, Node and gunicorn, and two that do not compute
tail    the times of small requests while four large ones are in flight
memory  the peak of the daemon that answers its first request, of 64 MiB
growth  the time of a request from 1×4096 to 4096×4096
"""
import argparse
import os
import statistics
import sys
import tempfile
import threading

from http_load import Bodies, Client, Figures, ahead, check, loop, percentile, wrk
from http_servers import KINDS, ONLY_SMALL, PROCESSORS, SAME_BYTES, Missing, Server

ROUNDS = 3
SMALL, LARGE = (1, 4), (1024, 4096)
# rows, features, connections, bodies sent in turn: so many that a processor cannot learn them by heart
LOADS = [(1, 4, 1, 1), (1, 4, 16, 1), (1, 4096, 1, 64), (1, 4096, 8, 64), (64, 4096, 1, 4), (64, 4096, 4, 4),
         (1024, 4096, 1, 1), (1024, 4096, 4, 1)]
BY_CLIENT = 8 << 20  # bytes of a body from which on our own client measures
REQUEST_64_MIB = 64 << 20


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def contents(name):
    with open(name, "rb") as f:
        return f.read()


def run_load(server, files, connections, seconds, least=2):
    before = server.cpu_seconds()
    if os.path.getsize(files[0]) < BY_CLIENT:
        figures = wrk(server.port, files, connections, seconds)
    else:
        figures = loop(server.port, contents(files[0]), connections, seconds, least)
    figures.cpu = (server.cpu_seconds() - before) / figures.requests
    return figures


def median(rounds):
    return Figures(rounds[0].requests, rounds[0].requests / statistics.median(r.rate for r in rounds),
                   statistics.median(r.p50 for r in rounds), statistics.median(r.p99 for r in rounds),
                   statistics.median(r.cpu for r in rounds))


def answer_bytes(server, body):
    """Of a server's answer: its head, and all of it."""
    client = Client(server.port, body)
    client.ask()
    client.close()
    return client.begin, client.end


def start_all(bodies):
    servers = []
    small = bodies.text(*SMALL).encode()
    for name in KINDS:
        arguments = []
        if name == SAME_BYTES:
            whole = answer_bytes(servers[0], small)[1]
            head = answer_bytes(servers[1], small.ljust(500))[0]  # its length with three digits, too
            arguments = [str(whole - head)]
        try:
            server = Server(name, arguments)
        except Missing as why:
            print(f"skipped {name}: {why}")
            continue
        servers.append(server)
        if server.computes:
            check(server.port, bodies.text(2, 64))
    return servers


def table(bodies, seconds):
    """One row for each load and server. Their rounds alternate, so that a busy moment of the machine strikes all."""
    servers = start_all(bodies)
    try:
        print(f"float32 RMSNorm over JSON, {PROCESSORS} processors, median of {ROUNDS} rounds of {seconds} s")
        print(f"{'shape':>10} {'conn.':>5}  {'server':<18} {'requests/s':>11} {'p50 ms':>9} {'p99 ms':>9} "
              f"{'CPU ms/req':>11}  normd is")
        for rows, features, connections, count in LOADS:
            files = bodies.files(rows, features, count)
            shape = f"{rows}×{features}"
            here = [s for s in servers if (rows, features) == SMALL or s.name not in ONLY_SMALL]
            for server in here:
                run_load(server, files, connections, 1, 1)
            rounds = {server.name: [] for server in here}
            for _ in range(ROUNDS):
                for server in here:
                    say(f"{shape}, {connections}: {server.name}")
                    rounds[server.name].append(run_load(server, files, connections, seconds))
            results = {name: median(r) for name, r in rounds.items()}
            ours = results["normd"].rate
            best = max((results[s.name].rate for s in here if s.computes and s.name != "normd"), default=None)
            for name, r in results.items():
                note = ""
                if name != "normd":
                    note = f"{ours / r.rate:.2f}×" + (" (best)" if r.rate == best else "")
                print(f"{shape:>10} {connections:>5}  {name:<18} {r.rate:>11.1f} {r.p50:>9.3f} {r.p99:>9.3f} "
                      f"{1e3 * r.cpu:>11.4f}  {note}")
            sys.stdout.flush()
    finally:
        for server in servers:
            server.stop()


def tail(bodies, seconds):
    """p99 of small requests, idle and with four large ones in flight all the while. It is the daemon that is to be measured: so
    the client of the small ones goes before everything on this machine, those of the large ones behind it."""
    small, large, before = bodies.files(*SMALL, 1), contents(bodies.files(*LARGE, 1)[0]), ahead()
    print("the client of the small ones " + ("waits for no processor" if before else "waits for a processor as others do"))
    with Server("normd") as server:
        idle, busy, done = [], [], []
        wrk(server.port, small, 1, 1)
        loop(server.port, large, 4, 1, 2)
        for _ in range(ROUNDS):
            idle.append(wrk(server.port, small, 1, seconds, before))
            def keep_asking():
                done.append(loop(server.port, large, 1, seconds + 1, 1, yielding=True))

            clients = [threading.Thread(target=keep_asking) for _ in range(4)]
            for client in clients:
                client.start()
            busy.append(wrk(server.port, small, 1, seconds, before))
            for client in clients:
                client.join()
        for name, rounds in (("idle", idle), ("four large in flight", busy)):
            r = median(rounds)
            print(f"1×4, one connection, {name:<22} {r.rate:>9.1f} requests/s  p50 {r.p50:.3f} ms  p99 {r.p99:.3f} ms")
        print(f"p99 with four 1024×4096 in flight : idle = {median(busy).p99 / median(idle).p99:.2f}   "
              f"(large ones meanwhile: {sum(f.requests for f in done) / sum(f.seconds for f in done) * 4:.2f}/s)")


def memory(bodies, _):
    rows = REQUEST_64_MIB // (len(bodies.text(1, 4096)) + 64)
    text = bodies.text(rows, 4096)
    while len(text) > REQUEST_64_MIB:
        rows -= 1
        text = bodies.text(rows, 4096)
    body = text.encode()
    with Server("normd") as server:
        empty = server.peak_bytes()
        client = Client(server.port, body)
        client.ask()
        peak = server.peak_bytes()
        print(f"{rows}×4096, body {len(body) / 2**20:.1f} MiB: peak memory {peak / 2**20:.1f} MiB "
              f"({empty / 2**20:.1f} before), {peak / len(body):.2f} × the body")
        for _ in range(4):
            client.ask()
        peak = server.peak_bytes()
        print(f"after four more: {peak / 2**20:.1f} MiB, {peak / len(body):.2f} × the body")
        client.close()


def growth(bodies, seconds):
    print(f"{'shape':>10} {'body MB':>9} {'median ms':>10} {'ns/number':>10} {'CPU ns/number':>14}")
    with Server("normd") as server:
        for rows in (1, 4, 16, 64, 256, 1024, 4096):
            numbers = rows * 4096
            files = bodies.files(rows, 4096, 1)
            body = contents(files[0])
            client = Client(server.port, body)
            times = sorted(client.ask() for _ in range(3))
            before, times = server.cpu_seconds(), []
            while len(times) < 5 or sum(times) < seconds:
                times.append(client.ask())
            cpu = (server.cpu_seconds() - before) / len(times)
            client.close()
            middle = percentile(sorted(times), .5)
            print(f"{rows}×4096".rjust(10), f"{len(body) / 1e6:>9.2f} {1e3 * middle:>10.3f} {1e9 * middle / numbers:>10.2f} "
                                            f"{1e9 * cpu / numbers:>14.2f}")
            sys.stdout.flush()


def main():
    parts = {"table": table, "tail": tail, "memory": memory, "growth": growth}
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=int, default=3, help="of each round")
    arguments.add_argument("parts", nargs="*", metavar="part")
    given = arguments.parse_args()
    unknown = set(given.parts) - set(parts)
    if unknown:
        arguments.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(parts)}")
    with tempfile.TemporaryDirectory(prefix="bench_http.") as folder:
        bodies = Bodies(folder)
        for name in given.parts or parts:
            print(f"--- {name}", flush=True)
            parts[name](bodies, given.seconds)


if __name__ == "__main__":
    main()
