"""scripts/bench-compare: two builds of fgpu, measured in turn, and which differences are more than noise.

Both are measured by the programs of this tree, on the same nodes and pods, pair by pair; which of the two comes first
changes with each pair. What is printed is the median of the ratios of the pairs with its interval (99 %).
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import paired
from run import ROOT, Cluster, call, say, watch_events

BUILD = ROOT / "build/release"
AT_ONCE = "clientConnection:\n  holdOff: 0s\n"  # there was no fgpu before it


class Series:
    """Values of both builds, by what was measured."""

    def __init__(self):
        self.rows = {}

    def add(self, key, which, value):
        self.rows.setdefault(key, ([], []))[which].append(value)

    def table(self, names):
        out = [f"| nodes | what | {names[0]} | {names[1]} | ratio of the pairs | 99 % | least to most | pairs | {names[1]} has |",
               "|---|" + "---|" * 8]
        for (nodes, what), (before, after) in self.rows.items():
            v = paired.verdict(before, after)
            if not v["pairs"]:
                out.append(f"| {nodes} | {what} | | | | | | 0 | {v['says']} |")
                continue
            i = f"{v['interval'][0]:.3f} to {v['interval'][1]:.3f}" if v["interval"] else ""
            out.append(f"| {nodes} | {what} | {statistics.median(before):.3f} | {statistics.median(after):.3f} | {v['median']:.3f} | {i} | "
                       f"{v['least']:.3f} to {v['most']:.3f} | {v['pairs']} | {v['says']} |")
        return "\n".join(out)

    def as_json(self):
        return [{"nodes": nodes, "what": what, "before": b, "after": a, **paired.verdict(b, a)}
                for (nodes, what), (b, a) in self.rows.items()]


def in_turn(pairs, measure):
    """measure(which, pair) for both, in the other order each time."""
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            measure(which, pair)


def new_folder(directory):
    return pathlib.Path(tempfile.mkdtemp(dir=directory))


@contextlib.contextmanager
def both(builds, directory, *args, **kw):
    """A cluster for each build, at the same time."""
    clusters = []
    try:
        for fgpu in builds:
            clusters.append(Cluster(BUILD, new_folder(directory), *args, fgpu=fgpu, more=AT_ONCE, **kw))
        for c in clusters:
            c.wait_ready()
        yield clusters
    finally:
        for c in clusters:
            c.close()


def start(series, builds, directory, nodes, pods, pairs):
    """From nothing to both lists read."""
    def once(which, _):
        c = Cluster(BUILD, new_folder(directory), nodes, pods, 10, fgpu=builds[which])
        series.add((nodes, "start, CPU s"), which, c.listed_cpu_s)
        series.add((nodes, "RSS after the start, MB"), which, c.fgpu.memory_mb("VmRSS"))
        c.close()
    in_turn(pairs, once)


def cycles(series, builds, directory, nodes, pods, plan, odd):
    shape = "new shape each" if odd else "same shape"
    step = plan.rounds + 20  # load.c binds 20 pods before it measures
    with both(builds, directory, nodes, pods, plan.pairs * step, odd=odd) as clusters:
        def once(which, pair):
            c = clusters[which]
            cpu = c.fgpu.cpu_s()
            result = c.load(plan.rounds, pair * step, odd=odd)
            series.add((nodes, f"{shape}: CPU ms a pod"), which, 1000 * (c.fgpu.cpu_s() - cpu) / step)
            for verb in ("filter", "prioritize", "bind"):
                series.add((nodes, f"{shape}: {verb} p50 ms"), which, result[verb]["p50_ns"] / 1e6)
        in_turn(plan.pairs, once)
        if not odd:
            in_turn(plan.pairs, lambda which, _: series.add(
                (nodes, "filter p50 ms, ledger unchanged"), which,
                clusters[which].load(plan.rounds, 0, quiet=True)["filter"]["p50_ns"] / 1e6))
            in_turn(plan.pairs, lambda which, _: series.add(
                (nodes, "watch event, CPU us"), which, 1e6 / watch_events(clusters[which], plan.events)["per_cpu_s"]))
            in_turn(plan.pairs, lambda which, _: series.add((nodes, "/state, CPU ms"), which, state_cpu_ms(clusters[which])))


def state_cpu_ms(c, times=3):
    cpu = c.fgpu.cpu_s()
    for _ in range(times):
        call(c.addresses["ops"], "GET", "/state")
    return 1000 * (c.fgpu.cpu_s() - cpu) / times


def of_core(builds, plan):
    series = Series()
    with tempfile.TemporaryDirectory(prefix="fgpu-compare-") as folder:
        for nodes in plan.nodes:
            directory = pathlib.Path(folder)
            pods = max(2, min(10, 50000 // nodes))
            say(f"{nodes} nodes: {plan.pairs} pairs of each")
            for odd in (False, True):
                cycles(series, builds, directory, nodes, pods, plan, odd)
            start(series, builds, directory, nodes, pods, plan.pairs)
    return series


def of_scheduler(other, plan):
    """Rounds of a real kube-scheduler; test/e2e/throughput takes them in turn."""
    series = Series()
    with tempfile.TemporaryDirectory(prefix="fgpu-compare-") as folder:
        out = pathlib.Path(folder) / "throughput.json"
        subprocess.run([ROOT / "test/e2e/run-bench", "-other", f"before={other}", "-modes", plan.modes, "-rounds", str(plan.pairs),
                        "-nodes", ",".join(map(str, plan.nodes)), "-json", out] + (["-lock", plan.lock] if plan.lock else []),
                       check=True, stdout=sys.stderr)
        sizes = json.loads(out.read_text())
    for size in sizes:
        results = {r["mode"]: r["rounds"] for r in size["results"]}
        for mode, rounds in results.items():
            before = results.get(f"{mode} (before)")
            for key, what in (("podsPerSecond", "pods/s"), ("schedulerCpuMs", "scheduler, CPU ms a pod"), ("extenderCpuMs", "fgpu, CPU ms a pod"),
                              ("apiServerCpuMs", "API server, CPU ms a pod"), ("nodesOpened", "nodes opened")) if before else ():
                for which, of in enumerate((before, rounds)):
                    for sample in of:
                        series.add((size["nodes"], f"{mode}: {what}"), which, sample[key])
    return series


def options():
    p = argparse.ArgumentParser(prog="scripts/bench-compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("revision", nargs="?", help="what this tree is compared with")
    p.add_argument("other", nargs="?", type=pathlib.Path, help=argparse.SUPPRESS)  # where scripts/bench-compare has built it
    p.add_argument("--scheduler", action="store_true", help="rounds of a real kube-scheduler instead")
    p.add_argument("--quick", action="store_true", help="this build with itself, small: shows that everything here runs")
    p.add_argument("--pairs", type=int, help="pairs of each measurement (15; 8 or more for an interval)")
    p.add_argument("--nodes", type=int, action="append", help="only this size (may be repeated; 500 and 5,000)")
    p.add_argument("--modes", default="fgpu", help="for --scheduler: those of scripts/bench --scheduler -help")
    p.add_argument("--lock", help="for --scheduler: hold this file during each round")
    p.add_argument("--json", type=pathlib.Path, help="write every number here")
    a = p.parse_args()
    a.pairs = a.pairs or (2 if a.quick else 15)
    a.nodes = a.nodes or ([50] if a.quick else [500, 5000])
    a.rounds, a.events = (20, 2000) if a.quick else (200, 50000)
    return a


def main():
    a = options()
    other = ROOT if a.quick else a.other
    builds = [other / "build/release/fgpu", BUILD / "fgpu"]
    loads = [os.getloadavg()[0]]
    series = of_scheduler(other, a) if a.scheduler else of_core(builds, a)
    loads.append(os.getloadavg()[0])
    if a.json:
        a.json.write_text(json.dumps({"revision": a.revision, "load": loads, "rows": series.as_json()}, indent=1))
    print(f"{a.revision or 'the same build'} against this tree, {a.pairs} pairs, load average {loads[0]:.1f} before and {loads[1]:.1f} after\n")
    print(series.table(["before", "here"]))
    if a.quick:
        short = [what for what, (b, c) in series.rows.items() if len(b) != a.pairs or len(c) != a.pairs]
        if short or len(series.rows) < 10:
            sys.exit(f"bench-compare: rows are missing or incomplete: {short or list(series.rows)}")


if __name__ == "__main__":
    main()
