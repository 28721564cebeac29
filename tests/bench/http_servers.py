"""The servers that bench_http compares: how each is started on a free port of 127.0.0.1, measured and ended."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
BUILD = os.environ.get("BUILD", "build")
PROCESSORS = len(os.sched_getaffinity(0))
TICKS = os.sysconf("SC_CLK_TCK")

# glibc gives large blocks back at once, and fresh pages cost more than the sums: gunicorn is told to keep them.
KEEP_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


class Missing(Exception):
    """A peer that is not installed here."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def program(*names):
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Missing(f"no {names[0]} here")


def normd(port, folder):
    return [os.environ.get("NORMD", f"{BUILD}/normd"), "--listen", f"127.0.0.1:{port}", "--log", "none",
            "--max-body", "512MiB"], {}


def bare(port, folder):
    return [f"{BUILD}/tests/bench/peers/http_bare", str(port), str(PROCESSORS)], {}


def nginx(port, folder):
    with open(f"{PEERS}/http_nginx.conf") as f:
        text = f.read().replace("PORT", str(port)).replace("WORKERS", str(PROCESSORS))
    with open(f"{folder}/nginx.conf", "w") as f:
        f.write(text)
    return [program("nginx", "/usr/sbin/nginx"), "-p", folder, "-c", "nginx.conf", "-e", "stderr"], {}


def node(port, folder):
    return [program("node", "nodejs"), f"{PEERS}/http_node.js", str(port), str(PROCESSORS)], {}


def gunicorn(port, folder):
    found = f"{BUILD}/bench/venv/bin/gunicorn"
    if not os.path.exists(found):
        raise Missing(f"no {found}")
    return [found, "--chdir", PEERS, "--bind", f"127.0.0.1:{port}", "--workers", str(PROCESSORS), "--worker-class",
            "gthread", "--threads", "1", "--keep-alive", "60", "--timeout", "300", "--log-level", "error",
            "http_gunicorn:application"], dict(KEEP_MEMORY, PYTHONDONTWRITEBYTECODE="1")


# name: (how to start it, whether it computes what normd computes)
KINDS = {
    "normd": (normd, True),
    "bare libmicrohttpd": (bare, False),
    "bare, same bytes": (bare, False),
    "nginx": (nginx, False),
    "node": (node, True),
    "gunicorn": (gunicorn, True),
}
SAME_BYTES = "bare, same bytes"  # its answer to 1×4, head and body, is as long as normd's
ONLY_SMALL = (SAME_BYTES, "nginx")


class Server:
    """A running contender, ended by stop or at the end of a with."""

    def __init__(self, name, arguments=()):
        start, self.computes = KINDS[name]
        self.name, self.port = name, free_port()
        self.folder = tempfile.TemporaryDirectory(prefix="bench_http.")
        command, environment = start(self.port, self.folder.name)
        self.process = subprocess.Popen(command + list(arguments), env={**os.environ, **environment},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.wait_until_open()

    def wait_until_open(self):
        for _ in range(200):
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"{self.name} does not listen")

    def processes(self):
        """Ids of the process and of all that descend from it."""
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                fields = stat_of(entry)
                if fields:
                    parents[int(entry)] = int(fields[1])
        family = {self.process.pid}
        while True:
            more = {pid for pid, parent in parents.items() if parent in family} - family
            if not more:
                return family
            family |= more

    def cpu_seconds(self):
        total = 0
        for pid in self.processes():
            fields = stat_of(pid)
            if fields:
                total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def peak_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name: state, parent, …; None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()
    except OSError:
        return None
