"""Closed loops of requests, and the bodies that they send."""
import json
import os
import random
import socket
import struct
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PIECE = 256 << 10   # bytes that Client passes to the system or takes from it at once
DISTINCT = 1 << 20  # random numbers; larger bodies repeat rows of them


class Figures:
    """What one loop measured: requests, seconds, and the median and 99th percentile of their times in milliseconds."""

    def __init__(self, requests, seconds, p50, p99, cpu=0.0):
        self.requests, self.seconds, self.p50, self.p99, self.cpu = requests, seconds, p50, p99, cpu

    @property
    def rate(self):
        return self.requests / self.seconds


def percentile(sorted_times, q):
    return sorted_times[min(len(sorted_times) - 1, int(q * len(sorted_times)))]


class Bodies:
    """Files of RMSNorm requests over random float32 with all their nine digits, made once for a run."""

    def __init__(self, folder, seed=5):
        self.folder, self.random, self.rows = folder, random.Random(seed), []

    def row(self, features):
        gauss = self.random.gauss
        values = struct.unpack(f"{features}f", struct.pack(f"{features}f", *(gauss(0, 1) for _ in range(features))))
        return "[" + ",".join("%.9g" % v for v in values) + "]"

    def text(self, rows, features):
        if features != 4096:
            lines = [self.row(features) for _ in range(rows)]
        else:
            while len(self.rows) < min(rows, DISTINCT // features):
                self.rows.append(self.row(features))
            lines = [self.rows[i % len(self.rows)] for i in range(rows)]
            self.rows.append(self.rows.pop(0))
        return '{"x":[' + ",".join(lines) + '],"dtype":"float32"}'

    def files(self, rows, features, count):
        names = []
        for i in range(count):
            name = os.path.join(self.folder, f"{rows}x{features}.{i}")
            if not os.path.exists(name):
                with open(name, "w") as f:
                    f.write(self.text(rows, features))
            names.append(name)
        return names


def ahead():
    """What to put before a command so that it never waits for a processor, as if on a machine of its own; [] where that is not allowed."""
    command = ["chrt", "-f", "1"]
    return command if subprocess.run(command + ["true"], capture_output=True, check=False).returncode == 0 else []


def wrk(port, files, connections, seconds, before=()):
    """wrk in one thread. Only answers of status 200 count as such; any other ends the run."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", f"{HERE}/wrk_bodies.lua",
               f"http://127.0.0.1:{port}/rmsnorm", "--"] + files
    out = subprocess.run([*before, *command], capture_output=True, text=True, check=False)
    line = next((l for l in out.stdout.splitlines() if l.startswith("figures ")), None)
    if not line:
        raise RuntimeError(f"wrk: {out.stdout}{out.stderr}")
    requests, microseconds, p50, p99, errors = map(int, line.split()[1:])
    if errors or not requests:
        raise RuntimeError(f"{errors} of {requests} requests failed")
    return Figures(requests, microseconds / 1e6, p50 / 1e3, p99 / 1e3)


class Client:
    """One connection that sends a body and reads the answer into the same memory each time: for bodies of many megabytes,
    whose answers wrk reads in pieces of 8 KiB. Its own pieces are small enough that no system call of it holds a processor
    for milliseconds, which a kernel that is not preemptible would let others wait for."""

    def __init__(self, port, body):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = b"POST /rmsnorm HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " \
                       + str(len(body)).encode() + b"\r\n\r\n" + body
        self.answer = bytearray(2 * len(body) + (1 << 16))

    def ask(self):
        """Seconds from the first byte sent to the last received; the body is left in answer[begin:end]."""
        started = time.perf_counter()
        for at in range(0, len(self.request), PIECE):
            self.socket.sendall(memoryview(self.request)[at:at + PIECE])
        view, have, self.begin, self.end = memoryview(self.answer), 0, 0, 0
        while not self.end or have < self.end:
            got = self.socket.recv_into(view[have:have + PIECE])
            if not got:
                raise RuntimeError("the connection was closed within an answer")
            have += got
            if not self.end:
                head = bytes(view[:min(have, 4096)]).partition(b"\r\n\r\n")
                if head[1]:
                    if b" 200 " not in head[0][:20]:
                        raise RuntimeError(bytes(view[:min(have, 600)]).decode(errors="replace"))
                    lines = head[0].lower().split(b"\r\n")
                    length = next(int(l.split(b":")[1]) for l in lines if l.startswith(b"content-length:"))
                    self.begin = len(head[0]) + 4
                    self.end = self.begin + length
        return time.perf_counter() - started

    def close(self):
        self.socket.close()


def loop(port, body, connections, seconds, least, yielding=False):
    """As wrk, with Client: for at least `seconds` and `least` requests a connection. yielding: its own work goes last."""
    times, faults = [], []
    begin = time.perf_counter()

    def run():
        if yielding:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of this thread
        client = Client(port, body)
        mine = []
        try:
            while len(mine) < least or time.perf_counter() - begin < seconds:
                mine.append(client.ask())
        except (OSError, RuntimeError) as fault:
            faults.append(fault)
        finally:
            client.close()
            times.extend(mine)

    threads = [threading.Thread(target=run) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise RuntimeError(str(faults[0]))
    times.sort()
    return Figures(len(times), time.perf_counter() - begin, 1e3 * percentile(times, .5), 1e3 * percentile(times, .99))


def check(port, body):
    """That what the server answers is the RMSNorm of what it was asked, to float32's precision."""
    client = Client(port, body.encode())
    client.ask()
    answer = json.loads(client.answer[client.begin:client.end])["y"]
    client.close()
    for x, y in zip(json.loads(body)["x"], answer):
        rms = (sum(v * v for v in x) / len(x) + 1e-5) ** .5
        if len(x) != len(y) or any(abs(b - a / rms) > 2e-7 * abs(a / rms) for a, b in zip(x, y)):
            raise RuntimeError("the answer is not the RMSNorm of the request")
