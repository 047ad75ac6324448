"""scripts/bench --start: from the start of the process to the first pod that it binds.

The pod waits already, in a cluster of N nodes with 8 GPUs each and 2 pods a node that fgpu has bound, before the simulated
API server; a caller asks bind until it succeeds. After an orderly end (no hold-off), ROUNDS times.
"""
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("FGPU_BIN", str(ROOT / "build/release/fgpu"))
sys.path.insert(0, str(ROOT / "test/integration"))
from objects import milli, node_name  # noqa: E402
from processes import BINARY, HEADERS, Cluster, Fgpu, signing_key  # noqa: E402

SIZES, PODS_A_NODE, ROUNDS = (500, 5000), 2, 5
PORTS = [29443, 29442, 29441]


def cpu_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_bind(c, pod, node):
    """Milliseconds of wall and CPU from exec to the answer, and what /state says of the start."""
    command = [str(BINARY), "serve", "--kubeconfig", str(c.directory / "kubeconfig"), "--signing-key", str(signing_key())]
    for listener, port in zip(("verbs", "ops", "health"), PORTS):
        command += [f"--{listener}-address", f"127.0.0.1:{port}"]
    m = pod["metadata"]
    body = json.dumps({"PodName": m["name"], "PodNamespace": m["namespace"], "PodUID": m["uid"], "Node": node})
    begun = time.monotonic()
    p = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while True:
        http_ = http.client.HTTPConnection("127.0.0.1", PORTS[0], timeout=30)
        try:
            http_.request("POST", "/v1/bind", body, HEADERS)
            if json.loads(http_.getresponse().read())["Error"] == "":
                break
        except OSError:
            pass
        finally:
            http_.close()
        time.sleep(0.002)
    took, cpu = 1000 * (time.monotonic() - begun), cpu_ms(p.pid)
    http_ = http.client.HTTPConnection("127.0.0.1", PORTS[1], timeout=30)
    http_.request("GET", "/state?fields=summary")
    start = json.loads(http_.getresponse().read())["metadata"]["start"]
    http_.close()
    p.terminate()
    assert p.wait(60) == 0
    return took, cpu, start


def measure(directory, n):
    with Cluster(directory) as c:
        nodes = [c.api.node(gpus=8) for _ in range(n)]
        c.fgpu.stop()  # in order: after a kill each start for the next 35 s has a predecessor that may still send (decision 0091)
        c.fgpu = Fgpu(c.api.url, directory, "clientConnection: {holdOff: 0s}\n").ready()
        for node in nodes:
            for _ in range(PODS_A_NODE):
                assert c.fgpu.bind(c.api.pod(milli(300)), node) == ""
        c.fgpu.stop()
        for _ in range(2):  # once to warm up
            took = []
            for i in range(ROUNDS):
                pod = c.api.pod(milli(100))
                took.append(first_bind(c, pod, nodes[i]))
                assert node_name(c.api.get_pod(pod)) == nodes[i]
        return took


def main():
    for n in SIZES:
        with tempfile.TemporaryDirectory() as d:
            took = measure(pathlib.Path(d), n)
        wall, cpu = ([t[i] for t in took] for i in (0, 1))
        print(f"{n:5} nodes, {n * PODS_A_NODE} pods: first bind after {statistics.median(wall):.0f} ms "
              f"({min(wall):.0f} to {max(wall):.0f}), {statistics.median(cpu):.0f} ms of CPU; "
              f"starts: {sorted({json.dumps(t[2]) for t in took})}", flush=True)


if __name__ == "__main__":
    main()
