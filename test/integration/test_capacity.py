"""Fragmentation, holes and what still fits: /state, metrics and fgpu frag say the same."""
import json

import pytest

from objects import milli
from processes import eventually, run

CONFIG = "sizes: {small: {milli: 250, memory: 1Gi}, pair: {milli: 500, count: 2}}\n"


@pytest.fixture(scope="module")
def sized(cluster_of_module):
    c = cluster_of_module
    c.names = [c.node(gpus=4) for _ in range(2)]
    for _ in range(2):
        assert c.fgpu.schedule(c.api.pod(milli(600)), c.names)
    return c


def settled(fgpu):
    """The numbers of the newest generation: they are computed every three seconds at most."""
    def same():
        s = fgpu.state("?fields=summary")
        f = s["summary"].get("fragmentation")
        return f if f and f["generation"] == s["metadata"]["generation"] else None
    return eventually(same, "fragmentation to be up to date")


def test_state__two_pods__holes_and_what_fits(sized):
    f = settled(sized.fgpu)
    assert f["nodes"] == 2 and f["idleMilli"] == 8000 - 1200
    assert f["largestHole"]["milli"] == 1000
    more = {m["size"]: m["more"] for m in f["moreFit"]}
    # binpack: two GPUs hold one pod of 600 milli each
    assert more == {"small": 6 * 4 + 2, "pair": 6, "1 GPU": 6, "2 GPUs": 3, "4 GPUs": 1, "8 GPUs": 0}
    assert f["mostEmpty"] == {"node": f["mostEmpty"]["node"], "gpus": 4}
    assert f["typicalPods"] == 1
    assert f["fragmentedMilli"] == 2 * 400 and f["permille"] == 1000 * 800 // 6800


def test_metrics__same_numbers_as_state(sized):
    f = settled(sized.fgpu)
    m = sized.fgpu.metrics()
    assert m["fgpu_fragmentation_ratio"] == f["permille"] / 1000
    assert m["fgpu_idle_milli"] == f["idleMilli"]
    assert m["fgpu_largest_free_milli"] == f["largestHole"]["milli"]
    assert m["fgpu_largest_free_memory_bytes"] == f["largestHole"]["memMib"] * 2 ** 20
    assert m["fgpu_most_empty_gpus"] == f["mostEmpty"]["gpus"]
    for size in f["moreFit"]:
        assert m[f'fgpu_more_fit{{size="{size["size"]}"}}'] == size["more"]


def test_frag__running_extender__table_and_json(sized, tmp_path):
    f = settled(sized.fgpu)
    r = run("frag", "--server", sized.fgpu.ops_url + "/", "-o", "json")
    assert (r.returncode, r.stderr) == (0, "")
    assert json.loads(r.stdout) == f
    r = run("frag", "--server", sized.fgpu.ops_url)
    assert (r.returncode, r.stderr) == (0, "")
    lines = r.stdout.splitlines()
    assert lines[0].startswith("Fragmentation  11.7 % of 6800 idle milli")
    assert ["small", "26"] in [line.split() for line in lines]
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(sized.fgpu.state()))
    assert run("frag", "--state", str(saved)).stdout.splitlines()[0] == lines[0]


@pytest.mark.parametrize("args, code, words", [
    (["--server", "http://127.0.0.1:1"], 1, "127.0.0.1:1"),
    (["--state", "/nonexistent/state"], 1, "/nonexistent/state"),
    (["--state", "/dev/null"], 1, "JSON at byte 0"),
    (["--output", "yaml"], 2, "cannot use"),
    (["--surprise"], 2, "unknown option --surprise"),
    (["here"], 2, "unexpected \"here\""),
    (["--state", "a", "--server", "http://b"], 2, "not both"),
    (["--server", "http://b.example", "--token-file", "/dev/null"], 1, "http"),
])
def test_frag__cannot_be_answered__says_why(args, code, words):
    r = run("frag", *args)
    assert r.returncode == code and words in r.stderr and r.stdout == "", r.stderr
