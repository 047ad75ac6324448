"""scripts/bench: measures a release build of fgpu over HTTP, and prints ratios.

Every number that depends on the machine stands beside one of an echo server that does nothing but HTTP, with
the same library, the same bytes and the same moment (load.c interleaves the calls). Ratios travel between
machines; milliseconds do not. What is CPU time is read from the kernel's books of the process.
"""
import argparse
import datetime
import http.client
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPU_OF_PROCESS = 2  # clock_getcpuclockid(3); /proc counts in steps of 10 ms
BEGAN = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - BEGAN:6.1f}s] {text}", file=sys.stderr, flush=True)


class Child:
    """A process that ends when its standard input is closed, or by SIGTERM."""

    def __init__(self, command, log):
        self.log_path = log
        with open(log, "wb") as err:
            self.process = subprocess.Popen([str(x) for x in command], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=err)

    def line(self):
        text = self.process.stdout.readline().decode().strip()
        if not text:
            raise RuntimeError(f"{self.process.args[0]} says nothing: {self.log()[-2000:]}")
        return text

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def cpu_s(self):
        return time.clock_gettime((~self.process.pid << 3) | CPU_OF_PROCESS)

    def memory_mb(self, key):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{key}:\s+(\d+) kB", text).group(1)) / 1000

    def reset_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)


def call(address, method, path, body=None, timeout_s=60):
    c = http.client.HTTPConnection(*address, timeout=timeout_s)
    try:
        c.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        reply = c.getresponse()
        return reply.status, reply.read()
    finally:
        c.close()


def address_of(url):
    host, port = url.removeprefix("http://").split(":")
    return host, int(port)


class Cluster:
    """fgpu before an API server of the benchmark, and an echo server."""

    def __init__(self, build, directory, nodes, pods_per_node, waiting, odd=False, full=False, fgpu=None, more="", gpus=8,
                 beside=None):
        """`fgpu` is another build's; what measures is always that of `build`. `more`: further lines of its file. `beside`: another
        one, whose API server and echo server this fgpu has."""
        self.bench = build / "test/bench"
        fgpu = fgpu or build / "fgpu"
        self.nodes, self.bound, self.waiting = nodes, nodes * pods_per_node, waiting
        name = f"{nodes}-{'full' if full else 'odd' if odd else 'same'}"
        command = [self.bench / "bench_api", "-n", nodes, "-g", gpus, "-p", pods_per_node, "-w", waiting] + \
                  (["-o"] if odd else []) + (["-f"] if full else [])
        self.beside = beside
        self.api = beside.api if beside else Child(command, directory / f"api-{name}.log")
        self.echo = beside.echo if beside else Child([self.bench / "bench_echo"], directory / "echo.log")
        self.api_url, self.echo_url = (beside.api_url, beside.echo_url) if beside else (self.api.line(), self.echo.line())
        kubeconfig = directory / f"kubeconfig-{name}"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self.api_url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        key = directory / f"key-{name}.pem"
        subprocess.run([fgpu, "signing-key", "--out", key], stdout=subprocess.DEVNULL, check=True)
        config = directory / f"fgpu-{name}.yaml"  # the pods that are there have records without signatures
        config.write_text("apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\nsigning:\n"
                          f"  privateKey: {key}\n  acceptUnsignedBefore: 2999-01-01T00:00:00Z\n{more}")
        self.started = time.monotonic()
        self.fgpu = Child([fgpu, "serve", "--kubeconfig", kubeconfig, "--config", config] +
                          [x for l in ("verbs", "ops", "health") for x in (f"--{l}-address", "127.0.0.1:0")],
                          directory / f"fgpu-{name}.log")
        self.wait_listed()
        self.addresses = {l: ("127.0.0.1", int(re.search(rf'listener="{l}" port=(\d+)', self.fgpu.log()).group(1)))
                          for l in ("verbs", "ops", "health")}

    def wait_listed(self):
        """Both lists read: their CPU and wall time."""
        while self.fgpu.log().count("Read the cluster") < 2:
            if self.fgpu.process.poll() is not None:
                raise RuntimeError(self.fgpu.log()[-2000:])
            time.sleep(0.005)
        self.listed_cpu_s = self.fgpu.cpu_s()
        self.listed_s = time.monotonic() - self.started

    def wait_ready(self):
        while call(self.addresses["health"], "GET", "/readyz")[0] != 200:
            time.sleep(0.05)

    def load(self, rounds, first, odd=False, quiet=False):
        out = subprocess.run(
            [self.bench / "bench_load", "-f", f"127.0.0.1:{self.addresses['verbs'][1]}", "-e", self.echo_url, "-a",
             self.api_url, "-n", str(self.nodes), "-r", str(rounds), "-s", str(first)] +
            (["-o"] if odd else []) + (["-q"] if quiet else []), stdout=subprocess.PIPE, check=True)
        return json.loads(out.stdout)

    def metric(self, pattern):
        text = call(self.addresses["ops"], "GET", "/metrics")[1].decode()
        return sum(float(x) for x in re.findall(rf"^{pattern} (\S+)$", text, re.M))

    def close(self):
        for child in (self.fgpu,) if self.beside else (self.fgpu, self.echo, self.api):
            child.end()


# ---- what is measured ----

def verbs(c, rounds, odd, quiet_rounds):
    result = {"cycle": c.load(rounds, 0, odd=odd)}
    if quiet_rounds:
        result["unchanged"] = c.load(quiet_rounds, 0, odd=odd, quiet=True)
    return result


def watch_events(c, n):
    """Pod events as fast as they come: by fgpu's CPU time, and by the clock."""
    def pods():
        return c.metric(r'fgpu_watch_events_total\{resource="pods".*\}')
    before, cpu, start = pods(), c.fgpu.cpu_s(), time.monotonic()
    call(address_of(c.api_url), "POST", f"/bench/events?n={n}")
    while pods() < before + n:
        time.sleep(0.02)
    wall_s = time.monotonic() - start
    cpu_s = c.fgpu.cpu_s() - cpu
    return {"events": n, "cpu_s": cpu_s, "wall_s": wall_s, "per_cpu_s": n / cpu_s, "per_s": n / wall_s}


def relist(c):
    """Both kinds listed again at once, as after a long absence."""
    done = r'fgpu_relists_total\{.*\}'
    before = c.metric(done)
    steady_mb, cpu = c.fgpu.memory_mb("VmRSS"), c.fgpu.cpu_s()
    c.fgpu.reset_peak()
    call(address_of(c.api_url), "POST", "/bench/expire")
    while c.metric(done) < before + 2:
        time.sleep(0.05)
    return {"cpu_s": c.fgpu.cpu_s() - cpu, "rss_before_mb": steady_mb, "rss_peak_mb": c.fgpu.memory_mb("VmHWM")}


def state(c, times, rounds, first):
    """GET /state in full, alone; then filter beside it, against filter without it."""
    took, size = [], 0
    steady_mb, cpu = c.fgpu.memory_mb("VmRSS"), c.fgpu.cpu_s()
    c.fgpu.reset_peak()
    for _ in range(times):
        start = time.monotonic()
        size = len(call(c.addresses["ops"], "GET", "/state")[1])
        took.append(time.monotonic() - start)
    result = {"bytes": size, "p50_s": sorted(took)[len(took) // 2], "cpu_s": (c.fgpu.cpu_s() - cpu) / times,
              "rss_before_mb": steady_mb, "rss_peak_mb": c.fgpu.memory_mb("VmHWM")}
    stop = threading.Event()

    def read_on():
        while not stop.wait(0.3):
            call(c.addresses["ops"], "GET", "/state")
    alone = c.load(rounds, first, quiet=True)
    reader = threading.Thread(target=read_on)
    reader.start()
    beside = c.load(rounds, first, quiet=True)
    stop.set()
    reader.join()
    result["filter_p99_alone_ns"] = alone["filter"]["p99_ns"]
    result["filter_p99_beside_ns"] = beside["filter"]["p99_ns"]
    result["echo_p99_alone_ns"] = alone["filter_echo"]["p99_ns"]
    result["echo_p99_beside_ns"] = beside["filter_echo"]["p99_ns"]
    return result


def asked(c, times, method, path, body, check):
    took, cpu = [], c.fgpu.cpu_s()
    for _ in range(times):
        start = time.monotonic()
        status, text = call(c.addresses["ops"], method, path, body)
        took.append(time.monotonic() - start)
        if status != 200 or not check(json.loads(text)):
            raise RuntimeError(f"{path}: {status} {text[:500]}")
    return {"p50_s": sorted(took)[len(took) // 2], "most_s": max(took), "cpu_s": (c.fgpu.cpu_s() - cpu) / times}


def filter_beside(c, rounds, *question):
    """Filter beside ten such questions a second, against filter without them."""
    stop, result = threading.Event(), {}

    def ask_on():
        while not stop.wait(0.1):
            call(c.addresses["ops"], *question)
    alone = c.load(rounds, 0, quiet=True)
    asker = threading.Thread(target=ask_on)
    asker.start()
    beside = c.load(rounds, 0, quiet=True)
    stop.set()
    asker.join()
    for name, load in (("alone", alone), ("beside", beside)):
        result[f"filter_p99_{name}_ns"] = load["filter"]["p99_ns"]
        result[f"echo_p99_{name}_ns"] = load["filter_echo"]["p99_ns"]
    return result


def explain(c, times, rounds):
    """Why the pod waits that fits nowhere, and one that fits."""
    paths = {what: f"/v1/explain?pod=bench/waiting-{i:06d}" for what, i in (("nowhere", c.waiting - 1), ("fits", 0))}
    result = {}
    for what, path in paths.items():
        result[what] = asked(c, times, "GET", path, None, lambda a, what=what: bool(a["fitting"]) == (what == "fits")
                             and a["nodeCount"] == c.nodes)
    return {**result, **filter_beside(c, rounds, "GET", paths["nowhere"])}


WHATIF = {"100,000 small ones": ({"fgpu.io/gpu-milli": "10"}, 100000), "100,000 on two GPUs": ({"fgpu.io/gpu-milli": "10", "fgpu.io/gpu-count": "2"}, 100000),
          "one": ({"fgpu.io/gpu-milli": "10"}, 1), "eight whole GPUs, nowhere": ({"fgpu.io/gpu-count": "8"}, 1)}


def whatif(c, times, rounds):
    """How many fit: many, which places and counts most, and none, which searches who would have to end."""
    bodies = {what: json.dumps({"limits": limits, "count": n}) for what, (limits, n) in WHATIF.items()}
    result = {}
    for what, body in bodies.items():
        result[what] = asked(c, times, "POST", "/v1/whatif", body, lambda a: a["nodeCount"] == c.nodes)
        result[what]["fitting"] = json.loads(call(c.addresses["ops"], "POST", "/v1/whatif", body)[1])["fitting"]
    return {"asked": result, **filter_beside(c, rounds, "POST", "/v1/whatif", bodies["100,000 small ones"])}


def asks_of(build, directory, nodes, pods_per_node, plan):
    say(f"{nodes} nodes, none empty: /v1/explain and /v1/whatif")
    c = Cluster(build, directory, nodes, pods_per_node, plan["rounds"] + 100, full=True)
    try:
        c.wait_ready()
        return {"explain": explain(c, plan["states"] * 4, plan["rounds"] // 2),
                "whatif": whatif(c, plan["states"] * 4, plan["rounds"] // 2)}
    finally:
        c.close()


def one_size(build, directory, nodes, pods_per_node, plan):
    result = {"nodes": nodes, "gpus": nodes * 8, "bound_pods": nodes * pods_per_node}
    for odd in (False, True):
        label = "odd" if odd else "same"
        say(f"{nodes} nodes, {nodes * pods_per_node} bound pods, {label} shapes: starting")
        c = Cluster(build, directory, nodes, pods_per_node, plan["rounds"] + 100, odd=odd)
        try:
            if not odd:
                result["start"] = {"cpu_s": c.listed_cpu_s, "wall_s": c.listed_s,
                                   "rss_peak_mb": c.fgpu.memory_mb("VmHWM"), "rss_mb": c.fgpu.memory_mb("VmRSS")}
            c.wait_ready()
            say("  verbs")
            result[label] = verbs(c, plan["rounds"], odd, 0 if odd else plan["rounds"])
            if not odd and plan["deep"](nodes):
                result["rss_steady_mb"] = c.fgpu.memory_mb("VmRSS")
                say("  watch events")
                result["watch"] = watch_events(c, plan["events"])
                say("  /state")
                result["state"] = state(c, plan["states"], plan["rounds"] // 2, 0)
                say("  relist")
                result["relist"] = relist(c)
        finally:
            c.close()
    if plan["deep"](nodes):
        result.update(asks_of(build, directory, nodes, pods_per_node, plan))
    return result


# ---- the table ----

def verb_rows(size):
    for label, shape, runs in (("same", "same shape", ("unchanged", "cycle")), ("odd", "new shape each", ("cycle",))):
        for run in runs:
            series = size[label][run]
            for verb in ("filter", "prioritize", "bind"):
                if verb not in series:
                    continue
                a, e = series[verb], series[f"{verb}_echo"]
                yield (size["nodes"], verb, shape + (", ledger unchanged" if run == "unchanged" else ""), a, e,
                       series.get("api_binding") if verb == "bind" else None)


def ms(ns):
    return f"{ns / 1e6:.3f}"


def table(report):
    out = ["| nodes | verb | pods | p50 ms | p99 ms | echo p50 | echo p99 | ratio p50 | ratio p99 | API p50 | API p99 |",
           "|---|" + "---|" * 10]
    for size in report["sizes"]:
        for nodes, verb, shape, a, e, api in verb_rows(size):
            out.append(f"| {nodes} | {verb} | {shape} | {ms(a['p50_ns'])} | {ms(a['p99_ns'])} | {ms(e['p50_ns'])} | "
                       f"{ms(e['p99_ns'])} | {a['p50_ns'] / e['p50_ns']:.2f} | {a['p99_ns'] / e['p99_ns']:.2f} | "
                       f"{ms(api['p50_ns']) if api else ''} | {ms(api['p99_ns']) if api else ''} |")
    out += ["", "| nodes | pods | start CPU s | RSS MB | while relisting | while serving /state | /state ms | MB | CPU ms "
                "| filter p99 beside /state | events per CPU second | per second |", "|---|" + "---|" * 11]
    for s in report["sizes"]:
        row = [s["nodes"], s["bound_pods"], f"{s['start']['cpu_s']:.2f}"]
        if "watch" in s:
            st = s["state"]
            beside = st["filter_p99_beside_ns"] / st["filter_p99_alone_ns"]
            echo = st["echo_p99_beside_ns"] / st["echo_p99_alone_ns"]
            row += [f"{s['rss_steady_mb']:.0f}", f"{s['relist']['rss_peak_mb'] / s['relist']['rss_before_mb']:.2f} x",
                    f"{st['rss_peak_mb'] / st['rss_before_mb']:.2f} x", f"{st['p50_s'] * 1000:.0f}",
                    f"{st['bytes'] / 1e6:.1f}", f"{st['cpu_s'] * 1000:.0f}", f"{beside:.2f} x (echo {echo:.2f} x)",
                    f"{s['watch']['per_cpu_s']:.0f}", f"{s['watch']['per_s']:.0f}"]
        else:
            row += [f"{s['start']['rss_mb']:.0f}"] + [""] * 8
        out.append("| " + " | ".join(str(x) for x in row) + " |")
    out += ["", "| nodes | /v1/explain of a pod | p50 ms | most ms | CPU ms | filter p99 beside 10 a second |", "|---|" + "---|" * 5]
    for s in report["sizes"]:
        for what in ("nowhere", "fits") if "explain" in s else ():
            e = s["explain"]
            beside = e["filter_p99_beside_ns"] / e["filter_p99_alone_ns"]
            echo = e["echo_p99_beside_ns"] / e["echo_p99_alone_ns"]
            out.append(f"| {s['nodes']} | {'that fits nowhere' if what == 'nowhere' else 'for which there is room'} | "
                       f"{e[what]['p50_s'] * 1000:.0f} | {e[what]['most_s'] * 1000:.0f} | {e[what]['cpu_s'] * 1000:.0f} | "
                       + (f"{beside:.2f} x (echo {echo:.2f} x) |" if what == "nowhere" else " |"))
    out += ["", "| nodes | /v1/whatif: pods that are asked for | fitting | p50 ms | most ms | CPU ms |", "|---|" + "---|" * 5]
    for s in report["sizes"]:
        for what, w in s["whatif"]["asked"].items() if "whatif" in s else ():
            out.append(f"| {s['nodes']} | {what} | {w['fitting']} | {w['p50_s'] * 1000:.0f} | {w['most_s'] * 1000:.0f} | {w['cpu_s'] * 1000:.0f} |")
        if "whatif" in s:
            w = s["whatif"]
            out.append(f"| {s['nodes']} | filter p99 beside 10 a second of the first | {w['filter_p99_beside_ns'] / w['filter_p99_alone_ns']:.2f} x "
                       f"(echo {w['echo_p99_beside_ns'] / w['echo_p99_alone_ns']:.2f} x) | | | |")
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser(prog="scripts/bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--quick", action="store_true", help="500 and 5,000 nodes, few rounds: under a minute")
    p.add_argument("--nodes", type=int, action="append", help="only this size (may be repeated)")
    p.add_argument("--rounds", type=int, help="scheduling cycles per row")
    p.add_argument("--json", type=pathlib.Path, help="write every number here")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="what to measure")
    a = p.parse_args()
    plan = {"rounds": a.rounds or (300 if a.quick else 2000), "events": 50000 if a.quick else 300000,
            "states": 3 if a.quick else 15, "deep": lambda nodes: nodes <= 5000 and (nodes == 5000 or not a.quick)}
    sizes = a.nodes or ([500, 5000] if a.quick else [500, 5000, 20000])
    report = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "command": " ".join(["scripts/bench"] + sys.argv[1:]), "cpus": os.cpu_count(),
              "machine": platform.machine(), "version": subprocess.run(
                  [a.build / "fgpu", "version"], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()[0],
              "rounds": plan["rounds"], "load": [os.getloadavg()[0]], "sizes": []}
    with tempfile.TemporaryDirectory(prefix="fgpu-bench-") as directory:
        for nodes in sizes:
            # 50,000 pods from 5,000 nodes on; ten a node below.
            pods = max(2, min(10, 50000 // nodes))
            report["sizes"].append(one_size(a.build, pathlib.Path(directory), nodes, pods, plan))
    report["load"].append(os.getloadavg()[0])
    if a.json:
        a.json.write_text(json.dumps(report, indent=1))
    print(f"{report['date']}, {report['version']}, {report['cpus']} CPUs, load average {report['load'][0]:.1f} before and "
          f"{report['load'][1]:.1f} after, `{report['command']}`\n")
    print(table(report))


if __name__ == "__main__":
    main()
