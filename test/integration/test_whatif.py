"""fgpu whatif against a running extender and a saved state: what it says, its exit codes, and that it only reads."""
import json
import subprocess

import pytest

from objects import milli
from processes import BINARY, Cluster

HEAD = "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"
SIZES = "sizes: {small: {milli: 250, memory: 1Gi}}\n"


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    c = Cluster(tmp_path_factory.mktemp("whatif"), SIZES)
    c.ready()
    c.names = [c.node(gpus=2) for _ in range(2)]
    for _ in range(3):
        assert c.fgpu.schedule(c.api.pod(milli(700)), c.names)
    c.api.pod(milli(300))
    yield c
    c.stop()


@pytest.fixture
def whatif(used, tmp_path):
    def run(body, *more, head=HEAD):
        path = tmp_path / "new.yaml"
        path.write_text(head + body)
        host, port = used.fgpu.ops
        where = [] if "--state" in more else ["--server", f"http://{host}:{port}"]
        return subprocess.run([str(BINARY), "whatif", "--config", str(path), *where, *more], capture_output=True,
                              text=True, timeout=120)
    return run


def test_whatif__same_configuration__nothing_differs_and_nothing_is_changed(used, whatif):
    before = used.fgpu.state()["metadata"]["generation"]
    r = whatif(SIZES)
    assert (r.returncode, r.stderr) == (0, "")
    assert r.stdout.startswith("No setting differs.\n\n0 of 3 pods would be charged otherwise, 0 of 2 nodes read otherwise.")
    assert used.fgpu.state()["metadata"]["generation"] == before


def test_whatif__more_over_commit__more_fits(used, whatif):
    r = whatif(SIZES + "devices: {overcommit: {compute: 2.0}}\n", "-o", "json")
    assert (r.returncode, r.stderr) == (0, "")
    x = json.loads(r.stdout)
    assert x["changes"] == [{"key": "devices.overcommit.compute", "before": "1.0", "after": "2.0",
                             "applies": "after a relist"}]
    assert (x["pods"], x["nodesReadOtherwise"], x["notJudged"], x["overCommitted"]) == (3, 2, [], [])
    assert x["after"]["idleMilli"] == x["before"]["idleMilli"] + 4000
    small = next(s for s in x["moreFit"] if s["size"] == "small")
    assert small["before"] == 3 + 4 and small["after"] > small["before"]
    assert len(x["pending"]) == 1 and x["pending"][0]["before"] in used.names


def test_whatif__reserve_that_leaves_too_little__exit_1_and_the_gpus(used, whatif, tmp_path):
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(used.fgpu.state()))
    for more in ([], ["--state", str(saved)]):
        r = whatif(SIZES + "devices: {memoryReserve: 79Gi}\n", *more)
        # a share of the memory follows the memory: only what is given in MiB can be too much
        assert (r.returncode, r.stderr) == (0, ""), r.stdout
        assert "devices.memoryReserve" in r.stdout and "after a relist" in r.stdout
    used.api.pod({**milli(100), "fgpu.io/gpu-memory-mib": "8192"}, nodeName=used.names[0])
    r = whatif(SIZES + "devices: {memoryReserve: 79Gi}\n")
    assert r.returncode == 1 and "would be over-committed: " + used.names[0] in r.stdout, r.stdout


@pytest.mark.parametrize("body, more, code, words", [
    ("packing: {nodeStrategy: best}\n", [], 3, "new.yaml:3:"),
    (SIZES, ["--state", "/nonexistent/state"], 1, "/nonexistent/state"),
    (SIZES, ["--surprise"], 2, "cannot use --surprise"),
])
def test_whatif__cannot__says_why(whatif, body, more, code, words):
    r = whatif(body, *more)
    assert r.returncode == code and words in r.stderr and r.stdout == "", r.stderr
