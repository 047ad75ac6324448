"""scripts/bench --large: a cluster of 100,000 nodes, a fgpu that knows all of it, and schedulers of pools that share it.

What it costs: memory, the lists, an event of the watch, filter with as many names as kube-scheduler sends (a sample of 5 %, its
default at that size; a pool; all), and whole cycles of filter, prioritize and bind that several schedulers ask for at once, each in a pool
of its own with a sample of 5,000 names. CPU time of the process and RSS, not wall time. --beside: what several fgpu cost together.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from curve import cpu_ns  # noqa: E402
from run import ROOT, Cluster, address_of, call, say  # noqa: E402

WARM_UP = 20  # rounds of bench_load before it counts
PODS_EVENTS = r'fgpu_watch_events_total\{resource="pods".*\}'


def filter_us(c, names, rounds, odd, first):
    """`first`: number of the first pod; other pods, other shapes."""
    cpu = cpu_ns(c.fgpu.process.pid)
    subprocess.run([c.bench / "bench_load", "-f", f"127.0.0.1:{c.addresses['verbs'][1]}", "-e", c.echo_url, "-a", c.api_url, "-n", str(names),
                    "-r", str(rounds), "-s", str(first), "-q"] + (["-o"] if odd else []), stdout=subprocess.DEVNULL, check=True)
    return (cpu_ns(c.fgpu.process.pid) - cpu) / (rounds + WARM_UP) / 1e3


def cycle_us(c, schedulers, names, rounds, first):
    """CPU time a pod of all of fgpu, the events of its binds included, while so many schedulers ask. `first`: their first pod."""
    cpu = cpu_ns(c.fgpu.process.pid)
    size = c.nodes // schedulers
    loads = [subprocess.Popen([c.bench / "bench_load", "-f", f"127.0.0.1:{c.addresses['verbs'][1]}", "-e", c.echo_url, "-a", c.api_url,
                               "-n", str(min(names, size)), "-b", str(i * size), "-r", str(rounds), "-s", str(first + i * (rounds + WARM_UP))],
                              stdout=subprocess.DEVNULL) for i in range(schedulers)]
    if any([load.wait() for load in loads]):
        raise RuntimeError("bench_load failed")
    return (cpu_ns(c.fgpu.process.pid) - cpu) / schedulers / (rounds + WARM_UP) / 1e3


def events_us(clusters, n):
    before = [c.metric(PODS_EVENTS) for c in clusters]
    cpu = [cpu_ns(c.fgpu.process.pid) for c in clusters]
    call(address_of(clusters[0].api_url), "POST", f"/bench/events?n={n}")
    while any(c.metric(PODS_EVENTS) < b + n for c, b in zip(clusters, before)):
        time.sleep(0.2)
    return [(cpu_ns(c.fgpu.process.pid) - was) / n / 1e3 for c, was in zip(clusters, cpu)]


def main():
    p = argparse.ArgumentParser(prog="scripts/bench --large", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--nodes", type=int, default=100000)
    p.add_argument("--gpus", type=int, default=8)
    p.add_argument("--pods", type=int, default=4, help="bound pods a node")
    p.add_argument("--beside", type=int, default=1, help="how many fgpu")
    p.add_argument("--schedulers", default="1,5", help="how many schedulers ask at once")
    p.add_argument("--names", default="5000,20000,100000", help="how many names filter is asked about")
    p.add_argument("--rounds", type=int, default=40)
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="what to measure")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="fgpu-bench-") as d:
        clusters, schedulers = [], [int(x) for x in a.schedulers.split(",")]
        waiting = max(schedulers) * (a.rounds + WARM_UP) * len(schedulers)
        try:
            for i in range(a.beside):
                directory = pathlib.Path(d) / str(i)
                directory.mkdir()
                say(f"fgpu {i + 1} of {a.beside}: {a.nodes} nodes x {a.gpus}, {a.nodes * a.pods} pods")
                clusters.append(Cluster(a.build, directory, a.nodes, a.pods, waiting, gpus=a.gpus, beside=clusters[0] if clusters else None))
                clusters[-1].start_s = cpu_ns(clusters[-1].fgpu.process.pid) / 1e9
            for c in clusters:
                c.wait_ready()
            rss = [c.fgpu.memory_mb("VmRSS") for c in clusters]
            say("watch events")
            events = events_us(clusters, 100000)
            say("filter")
            rows = [(n, *(filter_us(clusters[0], n, a.rounds, odd, 1000 * i) for odd in (False, True)))
                    for i, n in enumerate(map(int, a.names.split(","))) if n <= a.nodes]
            say("cycles")
            cycles, first = [], 0
            for n in schedulers:
                cycles.append((n, cycle_us(clusters[0], n, 5000, a.rounds, first)))
                first += n * (a.rounds + WARM_UP)
            print("| fgpu | CPU s at the start | RSS MB | CPU us an event |\n|---|---|---|---|")
            for i, (c, r, e) in enumerate(zip(clusters, rss, events)):
                print(f"| {i + 1} | {c.start_s:.1f} | {r:.0f} | {e:.1f} |")
            print("\n| names asked about | filter, known shape, CPU us | new shape |\n|---|---|---|")
            for n, known, new in rows:
                print(f"| {n:,} | {known:.0f} | {new:.0f} |")
            print("\n| schedulers at once | CPU us a pod: filter with 5,000 names, prioritize, bind, events |\n|---|---|")
            for n, us in cycles:
                print(f"| {n} | {us:.0f} |")
            print(f"\nRSS after that {clusters[0].fgpu.memory_mb('VmRSS'):.0f} MB, largest {clusters[0].fgpu.memory_mb('VmHWM'):.0f} MB; "
                  f"{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.0f}")
        finally:
            for c in reversed(clusters):
                c.close()


if __name__ == "__main__":
    main()
