"""POST /v1/whatif: how many pods of a kind would fit now. What it says is done: so many are scheduled, and no more."""
import json

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from objects import device, mem, milli, pod_path, unique, whole
from processes import ROOT, eventually, in_threads, request

CONFIG = """\
packing: {hold: 0s}
sizes: {small: {milli: 250, memory: 1Gi}}
tenants: [{name: limited, namespaces: [limited], milli: 1500}]
"""
SCHEMAS = {name: json.loads((ROOT / f"config/{name}.schema.json").read_text()) for name in ("state", "explain", "whatif")}
VALIDATOR = jsonschema.Draft202012Validator(SCHEMAS["whatif"], resolver=jsonschema.RefResolver.from_schema(
    SCHEMAS["whatif"], store={s["$id"]: s for s in SCHEMAS.values()}))


def ask(fgpu, limits=None, count=1000, **question):
    r = request(fgpu.ops, "POST", "/v1/whatif", {"limits": {k: str(v) for k, v in (limits or {}).items()}, "count": count, **question})
    assert r.status == 200, r.body
    VALIDATOR.validate(r.json)
    w = r.json
    assert sum(v["nodes"] for v in w["verdicts"]) == w["nodeCount"] and w["fitting"] <= w["asked"] == count
    assert ("first" in w) == (w["fitting"] > 0)
    return w


def schedule_all(cluster, nodes, limits, namespace="default", annotations=None):
    """Creates and schedules pods until one is refused; these, and the one that waits."""
    pods = []
    while True:
        pods.append(cluster.api.pod(limits, annotations, namespace=namespace))
        if not cluster.fgpu.schedule(pods[-1], nodes):
            return pods[:-1], pods[-1]


KINDS = [milli(100), milli(300), milli(500), milli(700), mem(20000), {**milli(200), **mem(30000)}, whole(1), whole(2), whole(3),
         {**milli(400), **whole(2)}, {"fgpu.io/gpu-milli": 600, "fgpu.io/gpu-count": 3}]


@settings(max_examples=40)
@given(data=st.data())
def test_whatif__random_clusters__so_many_fit_and_no_more(emptied, data):
    api, fgpu = emptied.api, emptied.fgpu
    shapes = data.draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from([16384, 40960, 81920])), min_size=1, max_size=3))
    nodes = [emptied.node(gpus=n, mem_mib=mib) for n, mib in shapes]
    for limits in data.draw(st.lists(st.sampled_from(KINDS), max_size=5)):
        pod = api.pod(limits)
        if not fgpu.schedule(pod, nodes):
            api.delete_pod(pod)
    emptied.settle()
    limits = data.draw(st.sampled_from(KINDS))
    w = ask(fgpu, limits)
    placed, waits = schedule_all(emptied, nodes, limits)
    assert (w["outcome"], w["fitting"]) == ("counted", len(placed)), w
    assert "atLeast" not in w
    refusals = list(fgpu.reasons(waits, nodes).values())
    assert {v["text"]: v["nodes"] for v in w["verdicts"]} == {text: refusals.count(text) for text in refusals}
    if not placed:
        assert {n["node"] for n in w["nearest"]} == set(nodes) and f"0/{len(nodes)} nodes have GPUs for it" in w["text"]
    emptied.clear()


def test_whatif__where_the_first_goes__it_goes_there(emptied):
    nodes = [emptied.node(gpus=2), emptied.node(gpus=4)]
    assert emptied.fgpu.schedule(emptied.api.pod(milli(300)), nodes)
    emptied.settle()
    for limits in (milli(400), whole(2)):
        first = ask(emptied.fgpu, limits)["first"]
        pod = emptied.api.pod(limits)
        assert emptied.fgpu.schedule(pod, nodes) == first["node"]
        assert sorted(g["uuid"] for g in first["devices"]) == sorted(
            uuid for _, uuid, _ in emptied.fgpu.allocations(pod)), "the same GPUs"
        assert first["reason"]["text"]
        emptied.settle()


def test_whatif__some_of_them_fit__says_how_many_and_what_then(emptied):
    emptied.node(gpus=2)
    w = ask(emptied.fgpu, milli(500), count=10)
    assert w["fitting"] == 4 and w["text"].startswith("4 of 10 fit now; no node has GPUs for one more: 1 too few GPUs")
    assert ask(emptied.fgpu, milli(500), count=3)["text"] == "all 3 fit now"
    w = ask(emptied.fgpu, milli(500), count=1)
    assert w["fitting"] == 1 and w["text"].startswith("it fits now, on 1 of 1 nodes; the best is ")
    assert w["verdicts"] == [{"reason": "fits", "text": w["verdicts"][0]["text"], "nodes": 1}]


def test_whatif__limit_of_the_tenant__counts(emptied):
    nodes = [emptied.node(gpus=4)]
    w = ask(emptied.fgpu, milli(500), namespace="limited")
    assert w["fitting"] == 3 and "its tenant limited holds 0 of at most 1500 milli" in w["text"]
    placed, _ = schedule_all(emptied, nodes, milli(500), "limited")
    assert len(placed) == 3
    assert ask(emptied.fgpu, milli(500))["fitting"] == 5
    w = ask(emptied.fgpu, milli(500), namespace="limited")
    assert w["fitting"] == 0 and "holds 1500 of at most 1500 milli" in w["text"]


def test_whatif__names_of_gpus_models_and_sizes__as_of_a_pod(emptied):
    gpus = [device("x", 0), device("x", 1), {**device("x", 2), "model": "NVIDIA-L40S"}]
    nodes = [emptied.node(gpus=gpus)]
    for annotations, n in (({"fgpu.io/gpu-uuid": "GPU-x-1"}, 4), ({"fgpu.io/gpu-model": "NVIDIA-L40S"}, 4),
                           ({"fgpu.io/gpu-model": "!NVIDIA-L40S"}, 8), ({"fgpu.io/gpu-model": "H100"}, 0)):
        assert ask(emptied.fgpu, milli(250), annotations=annotations)["fitting"] == n, annotations
    placed, _ = schedule_all(emptied, nodes, milli(250), annotations={"fgpu.io/gpu-model": "NVIDIA-L40S"})
    assert len(placed) == 4
    emptied.settle()
    assert ask(emptied.fgpu, annotations={"fgpu.io/size": "small"})["fitting"] == 8


def test_whatif__cordoned_and_tainted_nodes__take_nothing(emptied):
    emptied.node(gpus=2, spec={"unschedulable": True})
    emptied.node(gpus=3, spec={"taints": [{"key": "a", "effect": "NoSchedule"}]})
    w = ask(emptied.fgpu, whole(1))
    assert w["fitting"] == 0 and w["nodeCount"] == 2, w
    emptied.node(gpus=1)
    assert ask(emptied.fgpu, whole(1))["fitting"] == 1


def test_whatif__nodes_that_share_a_card__what_is_certain(emptied):
    """Two nodes with the same two physical GPUs: what one takes the other does not have."""
    labels = {"fgpu.io/host-group": unique("host"), "fgpu.io/host-gpu-memory": "80Gi"}
    nodes = [emptied.node(gpus=2, labels=labels) for _ in range(2)]
    eventually(lambda: all("hostGroup" in emptied.fgpu.node_state(n) for n in nodes), "the group in /state")
    w = ask(emptied.fgpu, milli(500))
    assert w["atLeast"] and w["fitting"] == 4 and w["text"].startswith("at least 4 of 1000 fit now; not all")
    placed, _ = schedule_all(emptied, nodes, milli(500))
    assert len(placed) == 4


def test_whatif__another_pod_is_nominated__its_room_is_kept(emptied):
    nodes = [emptied.node(gpus=1)]
    waiting = emptied.api.pod(milli(700), priority=10)
    emptied.api.patch(pod_path(waiting) + "/status", {"status": {"nominatedNodeName": nodes[0]}})
    emptied.settle()
    assert ask(emptied.fgpu, milli(400))["fitting"] == 0
    w = ask(emptied.fgpu, milli(100))
    placed, _ = schedule_all(emptied, nodes, milli(100))
    assert w["atLeast"] and w["fitting"] == 1 and len(placed) == 3
    assert w["verdicts"] == [{"reason": "nominated", "text": w["verdicts"][0]["text"], "nodes": 1}]


def test_whatif__request_that_is_refused__said_in_words(emptied):
    emptied.node(gpus=1)
    for limits, annotations, words in (
            (milli(1500), {}, "refused on every node until it is corrected"), (milli("many"), {}, "refused on every node"),
            ({}, {"fgpu.io/size": "huge"}, "sizes for namespace default: small"),
            ({}, {"fgpu.io/gpu-mili": "5"}, "refused on every node")):
        w = ask(emptied.fgpu, limits, annotations=annotations)
        assert (w["outcome"], w["fitting"], w["nodeCount"]) == ("invalid", 0, 0) and words in w["text"], w
    w = ask(emptied.fgpu, {"cpu": "1"})
    assert (w["outcome"], w["fitting"]) == ("notOurs", 0) and "asks for no GPU" in w["text"]


@pytest.mark.parametrize("body, words", [
    (b"", "JSON at byte 0"), (b"{", "JSON at byte"), (b"[]", "JSON at byte 0"), (b'{"count": 1} x', "JSON at byte"),
    ({"limit": {}}, 'unknown key "limit": use limits, annotations, namespace and count'),
    ({"count": 0}, "count must be a number from 1 to 100000"), ({"count": 100001}, "count must be"), ({"count": 1.5}, "JSON at byte"),
    ({"count": "1"}, "JSON at byte"), ({"namespace": "a/b"}, 'namespace "a/b": no name of a namespace'), ({"namespace": ""}, "no name of"),
    ({"limits": {"a b": "1"}}, 'limits: "a b": no name'), ({"limits": {"a": {}}}, "JSON at byte"),
    ({"annotations": {"fgpu.io/gpu-fraction": 0.5}}, 'annotations: "fgpu.io/gpu-fraction": write the value in quotes'),
    (b'{"limits": {"a": 1.}}', "JSON at byte"), ({"limits": [1]}, "JSON at byte"),
    ({"annotations": {"a": "x" * 4097}}, "longer than 4096 bytes"), (b'{"count": 1, "count": 2}', "duplicate key"),
    ({"annotations": {f"a{i}": "" for i in range(65)}}, "more than 64 keys"),
])
def test_whatif__body_that_cannot_be_read__400_names_the_place(emptied, body, words):
    r = request(emptied.fgpu.ops, "POST", "/v1/whatif", body, {"Content-Type": "application/json"})
    assert r.status == 400 and words in r.body.decode(), (r.status, r.body)


def test_whatif__other_methods_and_types__refused(emptied):
    assert request(emptied.fgpu.ops, "GET", "/v1/whatif").status == 405
    assert request(emptied.fgpu.ops, "POST", "/v1/whatif", b"{}", {"Content-Type": "text/plain"}).status == 415
    assert request(emptied.fgpu.ops, "POST", "/v1/whatif", b" " * 70000, {"Content-Type": "application/json"}).status == 413


def test_whatif__asked_again_and_again__nothing_is_reserved_learned_or_kept(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=2)]
    assert fgpu.schedule(api.pod(milli(300)), nodes)
    waits = api.pod(whole(2))
    fgpu.reasons(waits, nodes)
    emptied.quiet()
    fgpu.filter(waits, nodes)  # the forecast is of the last question

    def seen():
        s = fgpu.state()
        del s["metadata"]["asOf"]
        s["summary"].pop("fragmentation", None)  # made anew every three seconds
        return s
    before, metrics = seen(), fgpu.metrics()
    for limits in (milli(100), whole(2), mem(1000), milli(5000)):
        ask(fgpu, limits)
    assert seen() == before
    after = fgpu.metrics()
    for name in metrics:
        if "verdict" in name or "bind" in name or "demand" in name or "tentative" in name:
            assert after[name] == metrics[name], name
    assert fgpu.fits(api.pod(milli(700)), nodes) == nodes


def test_whatif__many_at_once__answered_or_told_to_come_again(emptied):
    for _ in range(3):
        emptied.node(gpus=8)

    def one(_):
        for _ in range(5):
            r = request(emptied.fgpu.ops, "POST", "/v1/whatif", {"limits": milli("10"), "count": 100000})
            assert r.status in (200, 503), r.body
            if r.status == 503:
                assert r.headers["Retry-After"] == "1" and b"try again" in r.body
            else:
                assert r.json["fitting"] == 3 * 8 * 16, "slots of a GPU"
    in_threads(6, one)
    assert ask(emptied.fgpu, milli(10), count=100000)["fitting"] == 3 * 8 * 16


def test_whatif__unknown_namespace_and_defaults__one_pod_in_default(emptied):
    emptied.node(gpus=1)
    r = request(emptied.fgpu.ops, "POST", "/v1/whatif", {"limits": {"fgpu.io/gpu-milli": 500}})
    assert (r.status, r.json["asked"], r.json["fitting"]) == (200, 1, 1)
    assert ask(emptied.fgpu, milli(500), namespace=unique("ns"))["fitting"] == 2
    eventually(lambda: ask(emptied.fgpu, milli(500), count=2)["fitting"] == 2)
