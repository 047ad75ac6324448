"""fgpu whatif against a running extender and a saved state: what it says, its exit codes, and that it only reads."""
import json

import pytest

from objects import MEM_MIB, milli, pod_object
from processes import HEAD, Cluster, eventually, run

CONFIG = "sizes: {small: {milli: 250, memory: 1Gi}}\n"


@pytest.fixture(scope="module")
def used(cluster_of_module):
    c = cluster_of_module
    c.names = [c.node(gpus=2) for _ in range(2)]
    for _ in range(3):
        assert c.fgpu.schedule(c.api.pod(milli(700)), c.names)
    c.api.pod(milli(300))
    c.quiet()
    return c


@pytest.fixture
def whatif(used, tmp_path):
    def judge(body, *more, head=HEAD):
        path = tmp_path / "new.yaml"
        path.write_text(head + body)
        where = () if "--state" in more else ("--server", used.fgpu.ops_url)
        return run("whatif", "--config", path, *where, *more)
    return judge


def test_whatif__same_configuration__nothing_differs_and_nothing_is_changed(used, whatif):
    before = used.fgpu.state()["metadata"]["generation"]
    r = whatif(CONFIG)
    assert (r.returncode, r.stderr) == (0, "")
    assert r.stdout.startswith("No setting differs.\n\n0 of 3 pods would be charged differently, 0 of 2 nodes would be read differently.")
    assert used.fgpu.state()["metadata"]["generation"] == before


def test_whatif__more_over_commit__more_fits(used, whatif):
    r = whatif(CONFIG + "devices: {overcommit: {compute: 2.0}}\n", "-o", "json")
    assert (r.returncode, r.stderr) == (0, "")
    x = json.loads(r.stdout)
    assert x["changes"] == [{"key": "devices.overcommit.compute", "before": "1.0", "after": "2.0",
                             "applies": "after a relist"}]
    assert (x["before"]["pods"], x["nodesReadOtherwise"], x["notJudged"], x["overCommitted"]) == (3, 2, [], [])
    assert x["after"]["idleMilli"] == x["before"]["idleMilli"] + 4000
    small = next(s for s in x["moreFit"] if s["size"] == "small")
    assert small["before"] == 3 + 4 and small["after"] > small["before"]
    assert len(x["pending"]) == 1 and x["pending"][0]["before"]["node"] in used.names


def test_whatif__reserve_that_leaves_too_little__exit_1_and_the_gpus(used, whatif, tmp_path):
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(used.fgpu.state()))
    for more in ([], ["--state", str(saved)]):
        r = whatif(CONFIG + "devices: {memoryReserve: 79Gi}\n", *more)
        # running pods keep the memory that their records say
        assert (r.returncode, r.stderr) == (1, ""), r.stdout
        assert "devices.memoryReserve" in r.stdout and "after a relist" in r.stdout
        assert "would be over-committed: " + used.names[0] in r.stdout, r.stdout


@pytest.mark.parametrize("body, more, code, words", [
    ("packing: {nodeStrategy: best}\n", [], 3, "new.yaml:3:"),
    (CONFIG, ["--state", "/nonexistent/state"], 1, "/nonexistent/state"),
    (CONFIG, ["--surprise"], 2, "unknown option --surprise"),
])
def test_whatif__cannot__says_why(whatif, body, more, code, words):
    r = whatif(body, *more)
    assert r.returncode == code and words in r.stderr and r.stdout == "", r.stderr


# ---- judged by what pods and nodes literally say ----

OLD = ("packing: {nodeStrategy: binpack, deviceStrategy: binpack}\nresources: {memory: [example.com/mem]}\n"
       "sizes: {small: {milli: 250, memory: 1Gi}}\n")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Two nodes of pool x, one without; running: 700 milli, a small, one that asks in another vocabulary. Waiting: a
    pod with a label."""
    c = Cluster(tmp_path_factory.mktemp("labelled"), OLD)
    c.ready()
    c.x = [c.node(gpus=1, labels={"pool": "x"}) for _ in range(2)]
    c.other = c.node(gpus=1, labels={"pool": "y"})
    c.bare = c.api.node(gpus=0, labels={"tpl": "t"})
    assert c.fgpu.schedule(c.api.pod(milli(700), name="big", namespace="red"), [c.x[0]])
    assert c.fgpu.schedule(c.api.pod(annotations={"fgpu.io/size": "small"}, name="small"), [c.x[1]])
    c.api.pod({"example.com/vgpu": 50}, name="foreign", nodeName=c.other)
    gold = pod_object("gold", limits=milli(100))
    gold["metadata"]["labels"] = {"tier": "gold"}
    c.api.call("POST", "/api/v1/namespaces/default/pods", gold, status=201)
    c.quiet()
    yield c
    c.stop()


@pytest.fixture
def judged(labelled, tmp_path):
    def judge(body, *more, code=0):
        path = tmp_path / "new.yaml"
        path.write_text(HEAD + body)
        r = run("whatif", "--config", path, "--server", labelled.fgpu.ops_url, "--kubeconfig",
                 labelled.directory / "kubeconfig", "-o", "json", *more)
        assert (r.returncode, r.stderr) == (code, ""), r.stdout
        x = json.loads(r.stdout)
        assert x["notJudged"] == []
        return x
    return judge


def pending(x, name):
    p = next(p for p in x["pending"] if p["pod"] == name)
    return [p[side]["node"] or p[side]["why"] for side in ("before", "after")]


def charged(x):
    return {c["pod"]: [c["before"]["milli"], c["after"]["milli"]] for c in x["chargedOtherwise"]}


def test_literal__same_configuration__nothing_differs(labelled, judged):
    before = labelled.fgpu.state()["metadata"]["generation"]
    x = judged(OLD)
    assert (x["changes"], x["nodesChanged"], x["chargedOtherwise"], x["tenants"]) == ([], [], [], [])
    assert x["before"] == x["after"] and x["before"]["pods"] == 2 and x["nodes"] == 4
    seen = eventually(lambda: (lambda f: f["idleMilli"] == x["before"]["idleMilli"] and f)(
        labelled.fgpu.summary()["fragmentation"]), "fragmentation of this moment")
    # by the histogram that the running fgpu has learned
    assert (x["before"]["typicalPods"], x["before"]["fragmentedMilli"]) == (seen["typicalPods"], seen["fragmentedMilli"])
    assert pending(x, "gold") == [labelled.x[0]] * 2
    assert labelled.fgpu.state()["metadata"]["generation"] == before


def test_literal__overrides_pools_templates__the_nodes_they_select(labelled, judged):
    x = judged(OLD + "devices: {overrides: [{nodeSelector: {pool: x}, overcommit: {compute: 1.5}}]}\n")
    assert {n["node"] for n in x["nodesChanged"]} == set(labelled.x)
    assert all(n["otherCapacity"] and n["before"]["gpus"] == 1 for n in x["nodesChanged"])
    assert x["after"]["idleMilli"] == x["before"]["idleMilli"] + 1000
    x = judged(OLD + "nodePools: [{nodeSelector: {pool: x}, state: closed}]\n")
    assert [(n["node"], n["after"]["closed"]) for n in x["nodesChanged"]] == [(n, True) for n in sorted(labelled.x)]
    assert (x["after"]["closedNodes"], x["after"]["podsOnClosedNodes"]) == (2, 2)
    assert pending(x, "gold") == [labelled.x[0], labelled.other]
    x = judged(OLD + "nodeTemplates: [{label: tpl=t, gpus: 4, memory: 40Gi}]\n")
    assert [(n["node"], n["before"]["gpus"], n["after"]["gpus"]) for n in x["nodesChanged"]] == [(labelled.bare, 0, 4)]
    assert x["after"]["mostEmptyGpus"] == 4


def test_literal__rules_by_labels__pods_and_nodes_they_name(labelled, judged):
    rule = "packing: {nodeStrategy: binpack, deviceStrategy: binpack, rules: [%s]}\n"
    rest = OLD.split("\n", 1)[1]
    for text, goes in [("{podSelector: {tier: gold}, nodeStrategy: spread}", labelled.other),
                       ("{podSelector: {tier: lead}, nodeStrategy: spread}", labelled.x[0]),
                       ("{nodeSelector: {pool: y}, nodeStrategy: binpack}", labelled.other),
                       ("{podSelector: {tier: gold}, nodeStrategy: {spread: 1, binpack: 0.1}}", labelled.other)]:
        assert pending(judged(rule % text + rest), "gold") == [labelled.x[0], goes], text


def test_literal__sizes_and_resources__requests_read_otherwise(labelled, judged):
    x = judged(OLD.replace("milli: 250", "milli: 500"))
    assert charged(x) == {"small": [250, 500]}
    x = judged(OLD.replace("small:", "tiny:"))
    assert charged(x) == {}  # what was decided stays
    x = judged(OLD.replace("resources: {memory", "resources: {compute: [{name: fgpu.io/gpu-milli, unitsPerGPU: 1000}, "
                           "{name: example.com/vgpu, unitsPerGPU: 100}], memory"))
    assert charged(x) == {"foreign": [None, 500]}  # it holds half a GPU, and nobody chose which
    assert (x["before"]["podsOnEveryGpu"], x["after"]["podsOnEveryGpu"]) == (0, 1)
    x = judged(OLD.replace("resources: {memory", "resources: {compute: [{name: a.b/c, unitsPerGPU: 10}], memory"))
    assert pending(x, "gold") == [labelled.x[0], "request not understood"]  # item 16: nobody names that resource now
    assert charged(x) == {}  # its record says what it holds


def test_literal__tenants__over_the_new_limit(labelled, judged):
    x = judged(OLD + "tenants: [{name: red, namespaces: [red], milli: 500}]\n", code=1)
    assert x["tenants"] == [{"name": "red", "before": None, "after": {
        "charged": {"milli": 700, "memMib": MEM_MIB * 7 // 10}, "limit": {"milli": 500, "memMib": None},
        "overLimit": True}}]


def test_literal__time_windows__those_of_the_moment(labelled, judged):
    body = OLD + ("timeWindows: [{name: night, days: [mon-fri], from: '20:00', to: '08:00', timeZone: UTC, "
                  "nodePools: [{nodeSelector: {pool: y}, state: closed}], sizes: {small: {milli: 500}}}]\n")
    day, night = judged(body, "--at", "2026-03-02T12:00:00Z"), judged(body, "--at", "2026-03-02T23:30:00Z")
    assert (day["timeWindows"], night["timeWindows"]) == ({"before": [], "after": []}, {"before": [], "after": ["night"]})
    assert (day["nodesChanged"], charged(day)) == ([], {})
    assert [n["node"] for n in night["nodesChanged"]] == [labelled.other]
    assert charged(night) == {"small": [250, 500]}


def test_state_alone__what_it_cannot_tell__is_said(labelled, tmp_path):
    path = tmp_path / "new.yaml"
    path.write_text(HEAD + OLD + "nodePools: [{nodeSelector: {pool: x}, state: closed}]\n"
                    "timeWindows: [{name: always, from: '00:00', to: '24:00', timeZone: UTC, packing: "
                    "{nodeStrategy: spread}}]\n")
    r = run("whatif", "--config", path, "--server", labelled.fgpu.ops_url)
    assert (r.returncode, r.stderr) == (0, "")
    assert "not judged: nodePools: the state has no labels of nodes; --kubeconfig reads them\n" in r.stdout
    assert ": none -> always\n" in r.stdout
    assert f"pending default/gold: {labelled.x[0]} -> {labelled.other}\n" in r.stdout


@pytest.mark.parametrize("more, words", [
    (["--at", "tomorrow"], "cannot use tomorrow"), (["--context", "c"], "--context is of a --kubeconfig"),
    (["--kubeconfig", "/nonexistent/kubeconfig"], "/nonexistent/kubeconfig")])
def test_whatif__wrong_options__said(whatif, more, words):
    r = whatif(CONFIG, *more)
    assert r.returncode in (1, 2) and words in r.stderr and r.stdout == "", r.stderr
