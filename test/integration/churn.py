"""scripts/churn: RSS of `fgpu serve` while everything comes and goes.

Workers play schedulers (filter, prioritize, bind over all nodes), end pods, replace nodes by new ones with new names
and new GPUs, write configurations (every third one bad), cut and compact watches, fail and lose replies of Bindings,
read /state and /metrics, ask for audits. The number of pods and nodes stays about the same, so memory should.
Faults come every 20 s: more often, and the pauses between watches grow to half a minute, in which no pod is seen to end.

RSS is read every second; the first third of the run (at most five minutes) is warm-up. What is judged is the slope of a
line through the rest (least squares) against a bound: SLOPE_MAX_KB a minute. The ledger keeps names of nodes, GPUs and models for
ever (core/ledger/ledger.h), about half a kB for a replaced node of four GPUs: the bound has room for that and not for a
pod's worth of leak per bind (a pod is some 700 bytes, hundreds are bound per minute). At the end the workers rest, and an audit must
find no difference.
"""
import argparse
import http.client
import json
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

from objects import milli, mem, unique, whole
from processes import HEAD, ApiServer, Connection, Fgpu, eventually, request

NODES, GPUS, PODS = 60, 4, 400  # that are there at a time
SCHEDULERS = 3
SLOPE_MAX_KB = 100  # a minute
CUT_MAX = 2  # a minute: connections that a starved server dropped for their age
REPORT_S = 30
BIND = "clientConnection: {bindDeadline: 1s}\n"
CONFIGS = [BIND, BIND + "logging: {verbosity: 1}\n", BIND + "resources: {milli: [no such\n"]
FAULTS = [
    {"dropWatches": True},
    {"compact": True, "dropWatches": True},
    {"rules": [{"path": "*/pods", "query": "*watch=true*", "times": 2, "action": "fail", "status": 500}], "dropWatches": True},
    {"rules": [{"path": "*/nodes", "query": "*watch=true*", "times": 1, "action": "fail", "status": 410}], "dropWatches": True},
    {"rules": [{"path": "*/pods", "query": "*watch=true*", "times": 1, "afterBytes": 3000, "then": "cut"}], "dropWatches": True},
    {"rules": [{"method": "POST", "path": "*binding", "times": 3, "action": "fail", "status": 503}]},
    {"rules": [{"method": "POST", "path": "*binding", "times": 3, "action": "close-after"}]},
    {"rules": [{"method": "POST", "path": "*binding", "times": 3, "action": "close-before"}]},
    {"rules": [{"method": "POST", "path": "*binding", "times": 3, "delayMs": 1500}]},
]


class Churn:
    def __init__(self, directory, config="", configs=CONFIGS):
        """`config` holds always; each of `configs` beside it, one after the other."""
        self.directory, self.config, self.configs = directory, config, configs
        self.random = random.Random(20)
        self.api = ApiServer(directory)
        self.lock = threading.Lock()
        self.nodes = [self.api.node(gpus=GPUS) for _ in range(NODES)]
        self.live = []  # bound pods, the oldest first
        self.counts = dict.fromkeys(("bound", "ended", "full", "failed", "nodes", "reloads", "faults", "states", "audits", "cut"), 0)
        self.over = threading.Event()
        self.trouble = []
        self.why = ""  # the last pod was not bound
        self.fgpu = Fgpu(self.api.url, directory, config + BIND).ready()

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    # ---- workers: one step each ----

    def schedule(self, connection, rng):
        limits = rng.choice([milli(rng.choice([50, 100, 250])), mem(rng.choice([2048, 4096])),
                             {**milli(100), **mem(1024)}, whole(1) if rng.random() < 0.05 else milli(30)])
        pod = self.api.pod(limits, name=unique("churn"))
        with self.lock:
            names = list(self.nodes)
        fits = connection.post("filter", {"Pod": pod, "Nodes": None, "NodeNames": names}).json
        names = fits["NodeNames"]
        if not names:
            self.why = fits["Error"] or next(iter(fits["FailedNodes"].values()), "?")
            self.count("full")
            self.api.delete_pod(pod)
            return
        scores = connection.post("prioritize", {"Pod": pod, "Nodes": None, "NodeNames": names}).json
        best = max(scores, key=lambda s: s["Score"])["Host"]
        m = pod["metadata"]
        bind = {"PodName": m["name"], "PodNamespace": m["namespace"], "PodUID": m["uid"], "Node": best}
        error = connection.post("bind", bind).json["Error"]
        if error:
            self.why = error
            self.count("failed")  # a fault, or the node went: the pod ends as it is, perhaps bound after all
            self.api.delete_pod(pod)
            return
        self.count("bound")
        with self.lock:
            self.live.append(pod)

    def end_pods(self, rng):
        with self.lock:
            gone = [self.live.pop(rng.randrange(len(self.live) // 2)) for _ in range(max(0, len(self.live) - PODS))]
        for pod in gone:
            if rng.random() < 0.5:
                self.api.set_phase(pod, "Succeeded")
            self.api.delete_pod(pod)
            self.count("ended")

    def replace_node(self, rng):
        new = self.api.node(gpus=GPUS)
        with self.lock:
            old = self.nodes.pop(rng.randrange(len(self.nodes)))
            self.nodes.append(new)
        self.api.delete_node(old)
        for pod in self.api.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{old}").json["items"]:
            with self.lock:
                mine = [p for p in self.live if p["metadata"]["uid"] == pod["metadata"]["uid"]]
                self.live = [p for p in self.live if p not in mine]
            if mine:  # who is about to delete it otherwise does so himself
                self.api.delete_pod(pod)
        self.count("nodes")

    def reload(self, rng):
        path = self.directory / "fgpu.yaml"
        new = path.with_suffix(".new")
        new.write_text(HEAD + self.config + self.configs[self.counts["reloads"] % len(self.configs)])
        new.rename(path)
        self.fgpu.process.send_signal(1)
        self.count("reloads")

    def fault(self, rng):
        self.api.faults(clear=True)
        self.api.call("POST", "/_faults", FAULTS[self.counts["faults"] % len(FAULTS)])
        self.count("faults")

    def look(self, rng):
        state = request(self.fgpu.ops, "GET", "/state")
        assert state.status == 200 and state.json["kind"] == "State"
        self.fgpu.metrics()
        self.count("states")

    def audit(self, rng):
        request(self.fgpu.ops, "POST", "/audit", timeout_s=300)
        self.count("audits")

    # ---- the run ----

    def repeat(self, step, pause_s, seed, reconnect=False):
        rng = random.Random(seed)
        try:
            while not self.over.wait(pause_s):
                try:
                    step(rng)
                except (http.client.RemoteDisconnected, ConnectionResetError):
                    self.count("cut")
                    if reconnect:
                        return
        except Exception as e:  # noqa: BLE001 - told by the main thread
            self.trouble.append(f"{getattr(step, '__name__', step)}: {e!r}")
            self.over.set()

    def scheduler(self, rng_seed):
        while not self.over.is_set():
            with Connection(self.fgpu) as connection:
                self.repeat(lambda rng: self.schedule(connection, rng), 0.01, rng_seed, reconnect=True)
            rng_seed += 1000

    def start(self, faster=1):
        steps = [(self.end_pods, 0.2), (self.replace_node, 2), (self.reload, 7), (self.fault, 20), (self.look, 2),
                 (self.audit, 20)]
        threads = [threading.Thread(target=self.scheduler, args=(i,)) for i in range(SCHEDULERS)]
        threads += [threading.Thread(target=self.repeat, args=(step, pause / faster, 100 + i))
                    for i, (step, pause) in enumerate(steps)]
        for t in threads:
            t.start()
        return threads

    def rss_kb(self):
        text = pathlib.Path(f"/proc/{self.fgpu.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1))

    def rest(self):
        """No worker, no fault: what fgpu says must be what the API server says."""
        self.api.faults(clear=True)
        eventually(lambda: self.fgpu.audit()["result"] == "clean", "a clean audit")
        self.fgpu.check_log()


def slope_kb_per_min(samples):
    """Of the line through (s, kB) with the least squares."""
    n = len(samples)
    mean_t = sum(t for t, _ in samples) / n
    mean_v = sum(v for _, v in samples) / n
    over = sum((t - mean_t) ** 2 for t, _ in samples)
    return 60 * sum((t - mean_t) * (v - mean_v) for t, v in samples) / over


def main():
    p = argparse.ArgumentParser(prog="scripts/churn", description=__doc__,
                                formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("minutes", nargs="?", type=float, default=20)
    p.add_argument("--json", type=pathlib.Path, help="write every sample here")
    a = p.parse_args()
    if a.minutes < 1:
        p.error("less than a minute says nothing about a slope")
    with tempfile.TemporaryDirectory(prefix="fgpu-churn-") as directory:
        c = Churn(pathlib.Path(directory))
        began = time.monotonic()
        warm_s = min(300, 60 * a.minutes / 3)
        samples, next_report = [], 0
        threads = c.start()
        print(f"{NODES} nodes of {GPUS} GPUs, about {PODS} pods; {a.minutes:g} minutes, of which {warm_s:.0f} s warm-up",
              flush=True)
        try:
            while (now := time.monotonic() - began) < 60 * a.minutes and not c.over.wait(1):
                c.fgpu.check()
                samples.append((now, c.rss_kb()))
                if now >= next_report:
                    next_report += REPORT_S
                    print(f"[{now:6.0f} s] RSS {samples[-1][1] / 1000:.1f} MB  " +
                          "  ".join(f"{k} {v}" for k, v in c.counts.items()) + (f'  last: "{c.why}"' if c.why else ""), flush=True)
        finally:
            c.over.set()
            for t in threads:
                t.join()
        if c.counts["cut"] > CUT_MAX * a.minutes:
            c.trouble.append(f"{c.counts['cut']} connections were dropped")
        if c.trouble:
            print("\n".join(c.trouble), file=sys.stderr)
            return 1
        c.rest()
        c.fgpu.stop()
        c.api.stop()
    steady = [s for s in samples if s[0] >= warm_s]
    slope = slope_kb_per_min(steady)
    low, high = min(v for _, v in steady), max(v for _, v in steady)
    print(f"RSS after the warm-up: {low / 1000:.1f} to {high / 1000:.1f} MB, slope {slope:+.1f} kB/min, "
          f"bound {SLOPE_MAX_KB} kB/min; per minute {c.counts['bound'] / a.minutes:.0f} pods bound, "
          f"{c.counts['nodes'] / a.minutes:.0f} nodes replaced")
    if a.json:
        a.json.write_text(json.dumps({"samples": samples, "counts": c.counts, "slope_kb_per_min": slope}))
    if slope > SLOPE_MAX_KB:
        print("RSS rises too fast", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
