"""What pod authors may write: absurd requests, contradictory annotations, forged records, forged inventories. The pod
is refused with one constant reason, or counted as the worst it could be; others are served.
"""
import json

import pytest
from hypothesis import given, settings, strategies as st

from forgeries import FORGED, record
from judge import loads, loads_in_state
from objects import device, mem, milli, pod_object, pod_path, uid, whole
from processes import eventually, request

MILLI, MEM, COUNT = "fgpu.io/gpu-milli", "fgpu.io/gpu-memory-mib", "fgpu.io/gpu-count"
NO_AMOUNT = "GPU request is not a valid amount"
TOO_LARGE = "GPU request is larger than any machine"

ABSURD = ["1e400", "-1", "5m", "9" * 400, "0x10", "１", "NaN", "Infinity", "", " ", "1 ", " 1", "1,5", "half",
          "1_000", "1e", "1Kii", "1mi", "--1", "1.5", "0.1", "-0.5", "1e-1", "9223372036854775807",
          "9223372036854775808", "18446744073709551616", "99999999999E", "-1Ki", "1u", "1n", "٣", "1\u200b",
          "'; DROP TABLE gpus", "%n%n%n%n", "\U0001f4a9"]


@pytest.mark.parametrize("resource", [MILLI, MEM, COUNT])
def test_absurd_amount__each_resource__one_constant_reason(cluster, fgpu, resource):
    nodes = [cluster.node(gpus=2), cluster.node(gpus=1), "a-node-nobody-knows"]
    for text in ABSURD:
        r = fgpu.filter(pod_object("p", limits={resource: text}), nodes)
        assert r["NodeNames"] == [] and r["FailedNodes"] == {}, (text, r)
        reasons = set(r["FailedAndUnresolvableNodes"].values())
        assert len(reasons) == 1, (text, reasons)
        assert all(x.startswith(("GPU request ", "GPU share ", "number of GPUs ")) for x in reasons), (text, reasons)
        assert not any(text in x for x in reasons if len(text) > 3), "the reason repeats what the pod said"
        scores = fgpu.post("prioritize", {"Pod": pod_object("p", limits={resource: text}), "NodeNames": nodes})
        assert not any(x["Score"] for x in scores), (text, scores)
    assert sorted(fgpu.fits(pod_object("q", limits=milli(1000)), nodes)) == sorted(nodes[:2])


REFUSED = {
    "1500 milli": ({MILLI: 1500}, {}, "GPU share is not possible"),
    "1001 milli": ({MILLI: 1001}, {}, "GPU share is not possible"),
    "1k5 milli": ({MILLI: "1.5k"}, {}, "GPU share is not possible"),
    "65,000 milli": ({MILLI: 65000}, {}, ""),
    "no devices": ({COUNT: 0, MILLI: 100}, {}, "number of GPUs"),
    "65 devices": ({COUNT: 65, MILLI: 100}, {}, "number of GPUs"),
    "two GPUs of compute, and memory": ({MILLI: 2000, MEM: 1024}, {}, "contradicts itself"),
    "two GPUs of compute, and a count": ({MILLI: 2000, COUNT: 2}, {}, "contradicts itself"),
    "resource and annotation": ({MILLI: 300}, {"fgpu.io/gpu-fraction": "0.3"}, "requested twice"),
    "count as resource and annotation": ({COUNT: 1}, {"fgpu.io/gpu-count": "1"}, "requested twice"),
    "size and fraction": ({}, {"fgpu.io/size": "x", "fgpu.io/gpu-fraction": "0.3"}, ""),
    "unknown size": ({}, {"fgpu.io/size": "no-such-size"}, "names no size"),
    "shares and whole GPUs of a plugin": ({MILLI: 300, "nvidia.com/gpu": 1}, {}, "use one kind"),
    "unknown container": ({}, {"fgpu.io/gpu-fraction": "0.3", "fgpu.io/container": "x"}, "names no container"),
    "model of nothing": ({MILLI: 1}, {"fgpu.io/gpu-model": ","}, "malformed"),
    "10,000 models": ({MILLI: 1}, {"fgpu.io/gpu-model": ",".join(["a"] * 10000)}, "malformed"),
    "selector that is none": ({MILLI: 1}, {"fgpu.io/isolate-from": "a in (b)"}, "malformed"),
    "quality nobody knows": ({MILLI: 1}, {"fgpu.io/qos": "platinum"}, "malformed"),
    "item 16: typing error in an annotation": ({}, {"fgpu.io/gpu-fractoin": "0.5"}, "you probably meant annotation fgpu.io/gpu-fraction"),
    "item 16: typing error in a constraint": ({MILLI: 1}, {"fgpu.io/gpu-modell": "a*"}, "you probably meant annotation fgpu.io/gpu-model"),
    "item 16: typing error in a resource": ({"fgpu.io/gpu-mili": 1}, {}, "you probably meant container resource fgpu.io/gpu-milli"),
    "item 16: annotation nobody knows": ({MILLI: 1}, {"fgpu.io/whatever": "x"}, "correct or remove it"),
    "item 16: memory without a unit": ({}, {"fgpu.io/gpu-memory": "4096"}, "meant as 4096Mi"),
    "2^32 devices": ({COUNT: 2 ** 32}, {}, ""),
    "2^32 milli": ({MILLI: 2 ** 32}, {}, ""),
    "2^32+1024 MiB": ({MEM: 2 ** 32 + 1024}, {}, TOO_LARGE),
    "2^32+1 whole GPUs of a plugin": ({"nvidia.com/gpu": 2 ** 32 + 1}, {}, ""),
    "negative whole GPUs of a plugin": ({"nvidia.com/gpu": -1}, {}, NO_AMOUNT),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_request__table__one_constant_reason_and_never_bound(cluster, api, fgpu, name):
    limits, annotations, because = REFUSED[name]
    nodes = [cluster.node(gpus=2), cluster.node(gpus=2)]
    pod = api.pod(limits, annotations)
    r = fgpu.filter(pod, nodes)
    reasons = set(r["FailedAndUnresolvableNodes"].values())
    assert set(r["FailedAndUnresolvableNodes"]) == set(nodes) and len(reasons) == 1 and because in reasons.pop(), r
    assert fgpu.bind(pod, nodes[0]) != ""
    assert "nodeName" not in api.get_pod(pod)["spec"]
    assert sorted(fgpu.fits(pod_object("q", limits=milli(1000)), nodes)) == sorted(nodes)


@pytest.mark.parametrize("key, texts", [
    ("fgpu.io/gpu-fraction", ["1e400", "-1", "-0.5", "9" * 400, "0x1", "１", "NaN", "", "1.5", "0", "0.0001", "50%",
                              "1/2", "4294967297", "0.3 ", "0." + "0" * 400 + "1"]),
    ("fgpu.io/gpu-memory", ["1e400", "-1Gi", "9" * 400, "0x10", "４Gi", "NaN", "", "4 Gi", "4GB", "4gi", "0",
                            "16Ei", "18446744073709551616", "4096", "4e9", "1023Ki"]),
    ("fgpu.io/gpu-count", ["1e400", "-1", "9" * 400, "0x1", "１", "NaN", "", "0", "65", "1.5", "4294967297"]),
], ids=["fraction", "memory", "count"])
def test_absurd_annotation__each_key__one_constant_reason(cluster, fgpu, key, texts):
    nodes = [cluster.node(gpus=2), "a-node-nobody-knows"]
    for text in texts:
        r = fgpu.filter(pod_object("p", annotations={key: text}), nodes)
        assert set(r["FailedAndUnresolvableNodes"]) == set(nodes), (text, r)
        assert len(set(r["FailedAndUnresolvableNodes"].values())) == 1, (text, r)
    assert fgpu.fits(pod_object("q", limits=milli(1000)), nodes) == nodes[:1]


def test_item16_unknown_key_on_a_running_pod__changes_no_charge(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(300))
    assert fgpu.schedule(pod, [node]) == node
    cluster.quiet()  # a reservation looks different until the watch has shown its Binding
    before = fgpu.node_state(node)["gpus"]
    api.patch(pod_path(pod), {"metadata": {"annotations": {"fgpu.io/gpu-fractoin": "0.5"}}})
    last = api.pod(milli(1))  # seen after it on the same watch
    assert fgpu.schedule(last, [node]) == node
    api.delete_pod(last)
    eventually(lambda: fgpu.node_state(node)["gpus"] == before, "the charge of one pod alone")


@pytest.mark.parametrize("resource", [MILLI, MEM, "nvidia.com/gpu"])
def test_zero__however_written__asks_for_nothing(fgpu, resource):
    """Contract R1: a pod with a managed resource and no demand is accepted."""
    for text in ("0", "0k", "0Ki", "0e5", "0.0", "00"):
        assert fgpu.fits(pod_object("p", limits={resource: text}), ["any-node"]) == ["any-node"], text


@settings(max_examples=120)
@given(text=st.text(max_size=12) | st.from_regex(
    r"[+-]?[0-9]{0,4}(\.[0-9]{0,3})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?", fullmatch=True),
    resource=st.sampled_from([MILLI, MEM, COUNT]))
def test_any_quantity__unknown_node__never_taken_for_nothing(fgpu, text, resource):
    """A pod that asks for nothing may run anywhere; whatever stands in a limit of ours must not be read so."""
    first = fgpu.filter(pod_object("p", limits={resource: text}), ["nobody"])
    assert first == fgpu.filter(pod_object("p", limits={resource: text}), ["nobody"])
    if first["NodeNames"]:
        assert not any(c in "123456789" for c in text.lower().split("e")[0]), text


@pytest.mark.parametrize("how", ["created bound", "bound by somebody else"])
@pytest.mark.parametrize("name", FORGED)
def test_forged_assignment__bound_pod__charged_wherever_it_could_be(cluster, api, fgpu, name, how):
    node = cluster.node(gpus=2)
    forged = {"fgpu.io/assignment": FORGED[name]}
    if how == "created bound":
        pod = api.pod(milli(600), forged, nodeName=node)
    else:
        pod = api.pod(milli(600))
        fgpu.expect_incidents()  # some of these texts name a decision
        api.bind_behind_our_back(pod, node, forged)
    eventually(lambda: len(fgpu.allocations(pod)) == 2, "the pod to count on both GPUs")
    assert {g["milli"]["charged"] for g in fgpu.node_state(node)["gpus"]} == {600}
    assert fgpu.fits(pod_object("other", limits=milli(600)), [node]) == []
    assert fgpu.fits(pod_object("other", limits=milli(400)), [node]) == [node]


def test_forged_assignment__less_than_asked_for__charged_as_asked_for(cluster, api, fgpu):
    """The record is believed about which GPU, never about how much."""
    node = cluster.node(gpus=2)
    pod = api.pod(milli(600), {"fgpu.io/assignment": record(1, 1, 1, uuid=f"GPU-{node}-1")}, nodeName=node)
    eventually(lambda: fgpu.allocations(pod), "the pod to be charged")
    charged = {g["index"]: g["milli"]["charged"] for g in fgpu.node_state(node)["gpus"]}
    assert charged[1] == 600 and charged[0] in (0, 600), charged


@pytest.mark.parametrize("name", [name for name in FORGED if len(FORGED[name]) < 150000])
def test_forged_assignment__pending_pod__ignored_and_overwritten(cluster, api, fgpu, name):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(600), {"fgpu.io/assignment": FORGED[name]})
    assert fgpu.schedule(pod, [node]) == node
    written = json.loads(api.get_pod(pod)["metadata"]["annotations"]["fgpu.io/assignment"])
    assert [d["milli"] for c in written["containers"] for d in c["devices"]] == [600]


def test_forged_assignment__too_large_to_add_to__bind_refused_without_a_write(cluster, api, fgpu):
    """Annotations above 256 KiB would make every later update of the pod fail, the kubelet's too."""
    node = cluster.node(gpus=1)
    pod = api.pod(milli(600), {"example.com/mine": "x" * ((256 << 10) - 100)})
    before = api.get_pod(pod)["metadata"]["resourceVersion"]
    assert fgpu.bind(pod, node) != ""
    assert api.get_pod(pod)["metadata"]["resourceVersion"] == before
    eventually(lambda: fgpu.fits(pod_object("next", limits=whole(1)), [node]) == [node])


def test_edited_assignment__of_a_bound_pod__charge_stays(cluster, api, fgpu):
    """An author may edit annotations of a running pod; neither the amount nor the GPU follows."""
    node = cluster.node(gpus=2)
    pod = api.pod(milli(600))
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    held = fgpu.allocations(pod)[0][1]
    before = loads(api.list("nodes"), api.list("pods"))
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
    other = 1 - int(held[-1])
    for forged in (record(other, uuid=f"GPU-{node}-{other}"), record(int(held[-1]), 1, 1, held), "{", None):
        api.patch(path, {"metadata": {"annotations": {"fgpu.io/assignment": forged}}})
        cluster.settle()
        assert [(n, g) for n, g, _ in fgpu.allocations(pod)] == [(node, held)], forged
        assert loads_in_state(fgpu.state()) == before, forged


def test_edited_request_annotation__of_a_bound_pod__charge_never_falls(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(annotations={"fgpu.io/gpu-fraction": "0.6"})
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
    for text in ("0.1", "0", "x", None):
        api.patch(path, {"metadata": {"annotations": {"fgpu.io/gpu-fraction": text}}})
        cluster.settle()
        assert fgpu.node_state(node)["gpus"][0]["milli"]["charged"] >= 600, text


@pytest.mark.parametrize("inventory", [
    "", "{", "null", "[]", '{"v":1}', '{"v":1,"gpus":{}}', '{"v":2,"gpus":[]}', "x" * 262000,
    '{"v":1,"gpus":[{"uuid":"a","index":0}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":0,"memMib":-1}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":-1,"memMib":1}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":0,"memMib":9223372036854775807}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":0,"memMib":1e99}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":0,"memMib":1},{"uuid":"b","index":0,"memMib":1}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":0,"memMib":1},{"uuid":"a","index":1,"memMib":1}]}',
    '{"v":1,"gpus":[{"uuid":"a","index":99999999999999999999,"memMib":1}]}',
    json.dumps({"v": 1, "gpus": [device("x", i) for i in range(1000)]}),
], ids=lambda text: text[:50] or "empty")
def test_forged_inventory__one_node__offers_nothing_and_others_do(cluster, api, fgpu, inventory):
    good = cluster.node(gpus=1)
    bad = cluster.node(gpus=0, annotations={"fgpu.io/gpus": inventory})
    assert fgpu.fits(pod_object("p", limits=milli(1)), [bad, good]) == [good]
    assert list(fgpu.reasons(pod_object("p", limits=mem(2)), [bad])) == [bad]
    assert request(fgpu.health, "GET", "/readyz").status == 200


def test_inventory__spoilt_under_a_running_pod__still_charged(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(600))
    assert fgpu.schedule(pod, [node]) == node
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"fgpu.io/gpus": "{"}}})
    eventually(lambda: fgpu.fits(pod_object("p", limits=milli(100)), [node]) == [], "the node to be closed")
    assert [a["uid"] for _, _, a in fgpu.allocations(pod)] == [uid(pod)]
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {
        "fgpu.io/gpus": json.dumps({"v": 1, "gpus": [device(node, 0)]})}}})
    eventually(lambda: fgpu.fits(pod_object("p", limits=milli(400)), [node]) == [node], "the node to come back")
    assert fgpu.fits(pod_object("p", limits=milli(500)), [node]) == []
