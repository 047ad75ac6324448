"""scripts/bench --curve: what grows how fast, from 100 to 20,000 nodes and from 1 to 16 GPUs a node.

CPU time only, so that others on the machine do not count: of a thread for each part of a decision (bench_micro, median), of
the process for what has several threads. For each row cost = a * nodes^b * GPUs^c is fitted by least squares of the logarithms, with
95 % intervals. A fixed part makes b smaller at small sizes, so the sizes from FROM_NODES on are fitted once more by themselves:
that is the exponent by which larger clusters can be judged. Parts that read names grow with the names that are asked about; here all nodes
are asked about. The node of a pod's event has twice the pods where it has twice the GPUs.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import ROOT, Cluster, address_of, call, say  # noqa: E402

NODES, GPUS, FROM_NODES = (100, 300, 1000, 3000, 10000, 20000), (1, 4, 8, 16), 3000
PARTS = {"filter-same": "filter, known shape, nothing changed", "filter-warm": "filter, known shape, an event before",
         "filter-cold": "filter, new shape", "prioritize-all": "prioritize, all names", "reserve": "bind: search, reserve, release",
         "event": "watch event of a pod", "iterator": "/state, reading of the ledger", "check": "invariants of the ledger, as an audit sees them"}
PROCESS = {"start": "start: both lists", "events": "watch event, with its connection", "relist": "relist of both kinds", "state": "/state, whole answer",
           "rss": "RSS", "rss_relist": "RSS, largest while relisting", "state_bytes": "/state, bytes"}


def pods_per_node(gpus):
    return max(1, gpus // 2)


def micro(build, nodes, gpus, seconds):
    """CPU ns of each part, median."""
    out = subprocess.run([build / "test/bench/bench_micro", "-n", str(nodes), "-g", str(gpus), "-p", str(pods_per_node(gpus)),
                          "-t", str(seconds), *PARTS], stdout=subprocess.PIPE, check=True).stdout.decode()
    medians = re.findall(r"^(\S+) +\S+ us least +(\S+) us p50", out, re.M)
    if {name for name, _ in medians} != set(PARTS):
        raise RuntimeError(f"bench_micro said\n{out}")
    return {name: float(us) * 1000 for name, us in medians}


def cpu_ns(pid):
    """Of the threads there are, to the nanosecond."""
    return sum(int(f.read_text().split()[0]) for f in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


def process(build, nodes, gpus):
    with tempfile.TemporaryDirectory(prefix="fgpu-bench-") as directory:
        c = Cluster(build, pathlib.Path(directory), nodes, pods_per_node(gpus), 1, gpus=gpus)
        pid, done = c.fgpu.process.pid, r'fgpu_relists_total\{.*\}'
        try:
            result = {"start": cpu_ns(pid), "rss": c.fgpu.memory_mb("VmRSS") * 1e6}
            events = 20000
            was, cpu = c.metric(r'fgpu_watch_events_total\{resource="pods".*\}'), cpu_ns(pid)
            call(address_of(c.api_url), "POST", f"/bench/events?n={events}")
            while c.metric(r'fgpu_watch_events_total\{resource="pods".*\}') < was + events:
                time.sleep(0.1)
            result["events"] = (cpu_ns(pid) - cpu) / events
            took = []
            for _ in range(5):
                cpu = cpu_ns(pid)
                size = len(call(c.addresses["ops"], "GET", "/state")[1])
                took.append(cpu_ns(pid) - cpu)
            result["state"], result["state_bytes"] = statistics.median(took), size
            was, cpu = c.metric(done), cpu_ns(pid)
            c.fgpu.reset_peak()
            call(address_of(c.api_url), "POST", "/bench/expire")
            while c.metric(done) < was + 2:
                time.sleep(0.1)
            result["relist"], result["rss_relist"] = cpu_ns(pid) - cpu, c.fgpu.memory_mb("VmHWM") * 1e6
            return result
        finally:
            c.close()


# ---- fits ----

# Student's t, two-sided 95 %, by degrees of freedom; between them the row above, which is wider.
T = ((1, 12.71), (2, 4.30), (3, 3.18), (4, 2.78), (5, 2.57), (6, 2.45), (8, 2.31), (10, 2.23), (15, 2.13), (20, 2.09), (30, 2.04))


def solve(matrix, columns):
    """Gauss and Jordan; `columns` right sides at the end of each row."""
    n = len(matrix)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(matrix[r][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [x / matrix[i][i] for x in matrix[i]]
        for r in range(n):
            if r != i:
                matrix[r] = [x - matrix[r][i] * y for x, y in zip(matrix[r], matrix[i])]
    return [row[-columns:] for row in matrix]


def fit(points):
    """[(nodes, GPUs, cost)] -> (exponent of nodes, its half interval, of GPUs, its half interval)."""
    x = [(1.0, math.log(n), math.log(g)) for n, g, _ in points]
    y = [math.log(cost) for *_, cost in points]
    if len({n for n, *_ in points}) < 2:
        return (math.nan,) * 4
    k = 3 if len({g for _, g, _ in points}) > 1 else 2
    normal = [[sum(r[i] * r[j] for r in x) for j in range(k)] + [sum(r[i] * v for r, v in zip(x, y))] +
              [1.0 if i == j else 0.0 for j in range(k)] for i in range(k)]
    solved = solve(normal, k + 1)
    b = [row[0] for row in solved]
    free = len(points) - k
    if free < 1:
        return (b[1], math.nan, b[2] if k > 2 else math.nan, math.nan)
    variance = sum((v - sum(p * q for p, q in zip(b, r))) ** 2 for r, v in zip(x, y)) / free
    t = [value for df, value in T if df <= free][-1]
    half = [t * math.sqrt(variance * solved[i][1 + i]) for i in range(k)]
    return b[1], half[1], b[2] if k > 2 else math.nan, half[2] if k > 2 else math.nan


def check_fit():
    """The fit finds what was put in."""
    points = [(n, g, 7 * n ** 1.25 * g ** 0.5) for n in NODES for g in GPUS]
    b, half_b, c, half_c = fit(points)
    assert abs(b - 1.25) < 1e-9 and abs(c - 0.5) < 1e-9 and half_b < 1e-6 and half_c < 1e-6


def amount(row, value):
    if row in ("rss", "rss_relist", "state_bytes"):
        return f"{value / 1e6:.1f} MB"
    return f"{value / 1e3:.1f} us" if value < 1e6 else f"{value / 1e6:.1f} ms"


def table(cells):
    small, large = min((c["nodes"], c["gpus"]) for c in cells), max((c["nodes"], c["gpus"]) for c in cells)
    at = {(c["nodes"], c["gpus"]): c["cost"] for c in cells}
    middle = [k for k in ((3000, 8), (1000, 8), (1000, 4)) if k in at][:1]
    shown = [small] + middle + [large]
    out = ["| | " + " | ".join(f"{n:,} x {g}" for n, g in shown) + f" | nodes | nodes from {FROM_NODES:,} on | GPUs a node |", "|---|" + "---|" * (len(shown) + 3)]
    for row, name in {**PARTS, **PROCESS}.items():
        points = [(c["nodes"], c["gpus"], c["cost"][row]) for c in cells]
        b, half_b, g, half_g = fit(points)
        late = [p for p in points if p[0] >= FROM_NODES]
        lb, half_lb, *_ = fit(late)
        out.append(f"| {name} | " + " | ".join(amount(row, at[k][row]) for k in shown) +
                   f" | {b:.2f} ± {half_b:.2f} | {lb:.2f} ± {half_lb:.2f} | {g:.2f} ± {half_g:.2f} |")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser(prog="scripts/bench --curve", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--nodes", default=",".join(map(str, NODES)))
    p.add_argument("--gpus", default=",".join(map(str, GPUS)))
    p.add_argument("--seconds", type=int, default=1, help="CPU seconds for each part and size")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="what to measure")
    p.add_argument("--json", type=pathlib.Path, help="write every number here")
    a = p.parse_args()
    check_fit()
    cells = []
    for nodes in map(int, a.nodes.split(",")):
        for gpus in map(int, a.gpus.split(",")):
            say(f"{nodes} nodes x {gpus}")
            cells.append({"nodes": nodes, "gpus": gpus, "cost": {**micro(a.build, nodes, gpus, a.seconds), **process(a.build, nodes, gpus)}})
            if a.json:
                a.json.write_text(json.dumps(cells, indent=1))
    print(f"{datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')}, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.0f}\n")
    print(table(cells))


if __name__ == "__main__":
    main()
