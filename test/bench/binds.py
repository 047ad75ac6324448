"""scripts/bench --binds: 1,000 binds in flight at once before an API server that takes its time.

The simulated API server answers each Binding after DELAY_MS. The client of fgpu has 64 connections, so the last of
N is answered after N / 64 times that at the earliest; what lies beyond it is fgpu's own part, and the wait for a CPU. Beside
it a caller asks filter over all nodes all the time.
"""
import http.client
import json
import math
import os
import pathlib
import re
import select
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("FGPU_BIN", str(ROOT / "build/release/fgpu"))
sys.path.insert(0, str(ROOT / "test/integration"))
from objects import milli, pod_object  # noqa: E402
from processes import HEADERS, Cluster, Connection, eventually  # noqa: E402

PODS, NODES, DELAY_MS, CONNECTIONS = 1000, 500, 200, 64


def rss_mb(c):
    text = pathlib.Path(f"/proc/{c.fgpu.process.pid}/status").read_text()
    return {k: int(re.search(rf"{k}:\s+(\d+) kB", text).group(1)) / 1000 for k in ("VmRSS", "VmHWM")}


def cpu_s(c):
    fields = pathlib.Path(f"/proc/{c.fgpu.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


class Filters(threading.Thread):
    """Asks filter until told to stop; how long each took."""

    def __init__(self, c, nodes):
        super().__init__()
        self.body = json.dumps({"Pod": pod_object("probe", limits=milli(50)), "Nodes": None, "NodeNames": nodes})
        self.connection, self.stop, self.took_ms = Connection(c.fgpu), threading.Event(), []

    def run(self):
        with self.connection as connection:
            while not self.stop.wait(0.002):
                begun = time.monotonic()
                connection.post("filter", self.body)
                self.took_ms.append(1000 * (time.monotonic() - begun))

    def end(self):
        self.stop.set()
        self.join()
        return self.took_ms


def ask(c, pods, nodes):
    """All at once; ([ms until the answer], [its Error])."""
    calls = {}
    for i, pod in enumerate(pods):
        m = pod["metadata"]
        call = http.client.HTTPConnection(*c.fgpu.verbs, timeout=60)
        call.connect()
        calls[call.sock.fileno()] = call, json.dumps({"PodName": m["name"], "PodNamespace": m["namespace"],
                                                      "PodUID": m["uid"], "Node": nodes[i % len(nodes)]})
    poll, sent, took, errors = select.poll(), {}, [], []
    for fd, (call, body) in calls.items():
        call.request("POST", "/v1/bind", body, HEADERS)
        sent[fd] = time.monotonic()
        poll.register(fd, select.POLLIN)
    while sent:
        for fd, _ in poll.poll():
            took.append(1000 * (time.monotonic() - sent.pop(fd)))
            poll.unregister(fd)
            errors.append(json.loads(calls[fd][0].getresponse().read())["Error"])
            calls[fd][0].close()
    return took, errors


def summary(c):
    return c.fgpu.state("?fields=summary")["summary"]


def main():
    with tempfile.TemporaryDirectory(prefix="fgpu-binds-") as directory:
        c = Cluster(pathlib.Path(directory), "clientConnection: {bindDeadline: 9s}\n").ready()
        try:
            nodes = [c.api.node(gpus=8) for _ in range(NODES)]
            pods = [c.api.pod(milli(100)) for _ in range(PODS)]
            eventually(lambda: summary(c)["pods"]["pending"] == PODS and summary(c)["nodes"] == NODES)
            alone = Filters(c, nodes)
            alone.start()
            time.sleep(3)
            alone_ms = alone.end()
            c.api.faults({"method": "POST", "path": "*/binding", "times": -1, "action": "pass", "delayMs": DELAY_MS})
            before, cpu = rss_mb(c), cpu_s(c)
            beside = Filters(c, nodes)
            beside.start()
            took, errors = ask(c, pods, nodes)
            beside_ms = beside.end()
            after, cpu = rss_mb(c), cpu_s(c) - cpu
            eventually(lambda: summary(c)["pods"]["bound"] == errors.count(""), "the watch")
        finally:
            c.stop()
    least_ms = math.ceil(PODS / CONNECTIONS) * DELAY_MS
    print(f"{PODS} binds at once, {NODES} nodes, {DELAY_MS} ms for each Binding, load average {os.getloadavg()[0]:.0f}")
    print(f"answered {len(errors)}, bound {errors.count('')}, others {sorted(set(errors) - {''})}")
    print(f"last answer after {max(took):.0f} ms of at least {least_ms}: {(max(took) - least_ms) / PODS:.2f} ms a bind")
    print(f"CPU {1000 * cpu / PODS:.2f} ms a bind, the filters beside it included")
    print(f"RSS {before['VmRSS']:.1f} MB before, {after['VmHWM']:.1f} MB at most")
    for name, ms in (("alone", alone_ms), ("beside", beside_ms)):
        print(f"filter {name}: p50 {quantile(ms, 0.5):.2f} ms, p99 {quantile(ms, 0.99):.2f} ms of {len(ms)}")


if __name__ == "__main__":
    main()
