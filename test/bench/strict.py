"""scripts/bench --strict: what consistency: strict costs a bind.

Rounds of default and strict alternate, each with a simulated API server and an fgpu of its own. One caller binds pod after pod to
nodes in turn, then 16 callers do so at once. Told are the CPU time of fgpu for each bind, the median latency, and the ratios
of the medians over the rounds. The simulated API server writes to memory: with etcd a write costs its fsync, and strict costs one
more of these, so the latency there is about twice that of a Binding.
"""
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("FGPU_BIN", str(ROOT / "build/release/fgpu"))
sys.path.insert(0, str(ROOT / "test/integration"))
sys.path.insert(0, str(ROOT / "test/bench"))
from binds import cpu_s  # noqa: E402
from objects import milli  # noqa: E402
from processes import Cluster, in_threads  # noqa: E402

ROUNDS, NODES, PODS, CALLERS = 5, 50, 400, 16
MODES = {"default": "", "strict": "consistency: strict\n"}


def bind_all(c, pods, nodes, callers):
    """(CPU ms for each bind, median ms until its answer); every bind must succeed."""
    took, before = [], cpu_s(c)

    def work(i):
        for n in range(i, len(pods), callers):
            begun = time.monotonic()
            error = c.fgpu.bind(pods[n], nodes[n % len(nodes)])
            took.append(1000 * (time.monotonic() - begun))
            assert error == "", error
    in_threads(callers, work)
    return 1000 * (cpu_s(c) - before) / len(pods), statistics.median(took)


def round_of(config):
    with tempfile.TemporaryDirectory() as directory:
        with Cluster(pathlib.Path(directory), config + "clientConnection: {holdOff: 0s}\n") as c:
            nodes = [c.api.node(gpus=8) for _ in range(NODES)]
            pods = [c.api.pod(milli(50)) for _ in range(2 * PODS)]
            c.settle()
            alone = bind_all(c, pods[:PODS], nodes, 1)
            return [*alone, *bind_all(c, pods[PODS:], nodes, CALLERS)]


def main():
    names = ["CPU ms a bind, one caller", "median ms, one caller", f"CPU ms a bind, {CALLERS} callers", f"median ms, {CALLERS} callers"]
    seen = {mode: [] for mode in MODES}
    for _, mode in itertools.product(range(ROUNDS), MODES):
        seen[mode].append(round_of(MODES[mode]))
    print(f"{PODS} binds each, {NODES} nodes, {ROUNDS} rounds in turn; medians (least to greatest)\n")
    print("| | default | strict | strict / default |\n|---|---|---|---|")
    for k, name in enumerate(names):
        values = {mode: sorted(r[k] for r in rounds) for mode, rounds in seen.items()}
        cells = [f"{statistics.median(v):.2f} ({v[0]:.2f} to {v[-1]:.2f})" for v in values.values()]
        print(f"| {name} | {' | '.join(cells)} | {statistics.median(values['strict']) / statistics.median(values['default']):.2f} |")


if __name__ == "__main__":
    main()
