"""Why does my pod wait, why is it there? GET /v1/explain and `fgpu explain`. What an answer says is done: the pod that is
named ends, and the pod that waited fits."""
import json

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st

from objects import milli, unique, whole
from processes import ROOT, ApiServer, Cluster, Fgpu, eventually, request, run

CONFIG = "packing: {hold: 0s}\n"
SCHEMA = json.loads((ROOT / "config/explain.schema.json").read_text())
STATE = json.loads((ROOT / "config/state.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, resolver=jsonschema.RefResolver.from_schema(SCHEMA, store={STATE["$id"]: STATE}))


def key(pod):
    return pod["metadata"]["namespace"] + "/" + pod["metadata"]["name"]


def explain(fgpu, what, more=""):
    r = request(fgpu.ops, "GET", f"/v1/explain?pod={what if isinstance(what, str) else key(what)}{more}")
    assert r.status == 200, r.body
    VALIDATOR.validate(r.json)
    return r.json


def known(fgpu, pod):
    return eventually(lambda: (lambda e: e["outcome"] != "unknown" and e)(explain(fgpu, pod)), "the watch")


def reasons(e):
    return {r["text"]: r["nodes"] for r in e["reasons"]}


def test_explain__pod_waits__named_pod_ends__it_fits(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=2), emptied.node(gpus=1)]
    held = [api.pod(milli(m)) for m in (900, 800, 700)]
    for pod in held:
        assert fgpu.schedule(pod, nodes) in nodes
    emptied.settle()
    waits = api.pod(milli(500))
    e = known(fgpu, waits)
    by_node = fgpu.reasons(waits, nodes)
    assert (e["outcome"], e["nodeCount"], e["fitting"]) == ("waiting", 2, [])
    assert reasons(e) == {text: list(by_node.values()).count(text) for text in by_node.values()}
    assert {n["node"]: n["reasonText"] for n in e["nearest"]} == by_node
    nearest = e["nearest"][0]
    (named,) = nearest["fitsIfEnded"]
    assert named["uid"] == held[2]["metadata"]["uid"] and (named["milli"], named["pod"]) == (700, held[2]["metadata"]["name"])
    (gpu,) = nearest["lacks"]["nearest"]
    assert nearest["lacks"]["gpus"] == 1 and gpu["milli"] == 200 and gpu["memMib"] == 81920 * 500 // 1000 - (
        81920 - 81920 * 700 // 1000)
    assert f"nearest is {nearest['node']}: GPU {gpu['index']} lacks 200 milli of compute and " in e["text"]
    assert f"it would fit if {key(held[2])} ended" in e["text"]
    r = run("explain", "pod/" + key(waits), "--server", fgpu.ops_url)
    assert (r.returncode, r.stderr) == (0, "")
    assert key(held[2]) in r.stdout and "too few GPUs with enough free compute" in r.stdout
    assert json.loads(run("explain", "pod/" + key(waits), "--server", fgpu.ops_url, "-o", "json").stdout)["reasons"] == e["reasons"]

    api.delete_pod(held[2])
    eventually(lambda: fgpu.fits(waits, nodes), "room")
    assert nearest["node"] in fgpu.fits(waits, nodes)
    e = explain(fgpu, waits)
    assert e["fitting"] and not e["nearest"] and "not for want of GPUs" in e["text"]


@settings(max_examples=15)
@given(sizes=st.lists(st.sampled_from([200, 300, 400, 600, 800]), min_size=3, max_size=8), asked=st.sampled_from([500, 700, 1000]))
def test_explain__random_pods__what_it_says_comes_true(emptied, sizes, asked):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=g) for g in (1, 2)]
    held = {}
    for m in sizes:
        pod = api.pod(milli(m))
        if fgpu.schedule(pod, nodes):
            held[pod["metadata"]["uid"]] = pod
        else:
            api.delete_pod(pod)
    emptied.settle()
    waits = api.pod(milli(asked))
    e = known(fgpu, waits)
    assert sum(r["nodes"] for r in e["reasons"]) == e["nodeCount"] == len(nodes)
    fits = fgpu.fits(waits, nodes)
    assert sorted(e["fitting"]) == sorted(fits)
    if not fits:
        nearest = e["nearest"][0]
        assert nearest["fitsIfEnded"], "a share always fits when all have ended"
        for p in nearest["fitsIfEnded"]:
            api.delete_pod(held[p["uid"]])
        assert nearest["node"] in eventually(lambda: fgpu.fits(waits, nodes), "room")
    emptied.clear()


def test_state__pods_refused_while_the_ledger_changes__reasons_of_no_later_generation(emptied):
    """Reasons are those of the last filter call, which is never asked again for a document."""
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=1)]
    pods = [api.pod(whole(2 + i)) for i in range(3)]
    known(fgpu, pods[-1])
    for i in range(4):
        for pod in pods:
            fgpu.reasons(pod, nodes)
            state = fgpu.state()
            jsonschema.Draft202012Validator(STATE).validate(state)
            for p in state["pending"]:
                if "refused" in p:
                    assert p["refused"]["generation"] <= state["metadata"]["generation"]
                    assert sum(r["nodes"] for r in p["refused"]["reasons"]) == p["refused"]["nodes"]
        (last,) = [p["refused"] for p in state["pending"] if p["uid"] == pods[-1]["metadata"]["uid"]]
        assert last["reasons"] == explain(fgpu, pods[-1])["reasons"] and last["nodes"] == len(nodes)
        nodes.append(emptied.node(gpus=i % 2))


def test_explain__bound_pod__devices_and_the_decision(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=1), emptied.node(gpus=2)]
    pod = api.pod(milli(300))
    at = fgpu.schedule(pod, nodes)
    emptied.settle()
    e = explain(fgpu, pod)
    (a,) = e["allocations"]
    assert (e["outcome"], e["pod"]["node"], a["milli"], a["container"]) == ("placed", at, 300, "main")
    assert e["decision"] == next(d for d in fgpu.state()["decisions"] if d["uid"] == pod["metadata"]["uid"])
    assert e["decision"]["decision"] == e["recordId"] and e["decision"]["text"] in e["text"]
    out = run("explain", "pod/" + key(pod), "--server", fgpu.ops_url)
    assert out.returncode == 0 and a["uuid"] in out.stdout and e["decision"]["text"] in out.stdout


def test_explain__bound_by_somebody_else_and_invalid_request__said(emptied):
    api, fgpu, node = emptied.api, emptied.fgpu, emptied.node(gpus=1)
    past_us, wrong = api.pod(milli(100), nodeName=node), api.pod(milli(1500))
    e = known(fgpu, past_us)
    assert e["outcome"] == "placed" and "decision" not in e and "nobody knows which GPUs" in e["text"]
    e = known(fgpu, wrong)
    (text,) = set(fgpu.reasons(wrong, [node]).values())
    assert e["outcome"] == "invalid" and text in e["text"]


def test_explain__no_such_pod__near_names_and_exit_code(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    name = unique("trainer")
    pods = [api.pod(milli(100), name=name + "-7d9f6-abcde"), api.pod(milli(100), name=name, namespace="default")]
    known(fgpu, pods[0]), known(fgpu, pods[1])
    e = explain(fgpu, f"default/{name[:-1]}x")
    assert e["outcome"] == "unknown" and key(pods[1]) in e["nearNames"]
    assert key(pods[1]) in explain(fgpu, f"other/{name}")["nearNames"]
    out = run("explain", f"pod/other/{name}", "--server", fgpu.ops_url)
    assert out.returncode == 1 and key(pods[1]) in out.stdout


@pytest.mark.parametrize("query, says", [
    ("", "which pod"), ("?pod=x", "NAMESPACE/NAME"), ("?pod=/x", "NAMESPACE/NAME"), ("?pod=a/b&pod=a/c", "twice"),
    ("?pod=a/b&nodes=0", "from 1 to 100"), ("?pod=a/b&nodes=101", "from 1 to 100"), ("?pod=a/b&foo=1", "unknown parameter"),
])
def test_explain__bad_query__400_and_what_is_wrong(emptied, query, says):
    r = request(emptied.fgpu.ops, "GET", "/v1/explain" + query)
    assert r.status == 400 and says in r.body.decode()


@pytest.mark.parametrize("args", [[], ["x"], ["pod/x"], ["node/a/b"], ["pod/a/b/c"], ["pod/a/b", "pod/a/c"], ["pod/a/b", "--state", "x"]])
def test_explain__bad_command_line__usage(args):
    assert run("explain", *args).returncode == 2


def test_explain__more_gpus_than_any_node_has__nothing_about_those_in_use(emptied):
    api, fgpu, node = emptied.api, emptied.fgpu, emptied.node(gpus=2)
    assert fgpu.schedule(api.pod(milli(300)), [node]) == node
    e = known(fgpu, api.pod(whole(4)))
    (nearest,) = e["nearest"]
    assert (nearest["reasonText"], nearest["text"], nearest["lacks"]["gpus"]) == ("fewer GPUs than the pod asks for", "", 3)
    assert "in use" not in e["text"] and "nearest is" not in e["text"]


def test_explain__many_nodes__bounded_answer_all_counted(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    for _ in range(40):
        api.node(gpus=1, name=unique("small"))
    eventually(lambda: len(fgpu.state()["nodes"]) == 40, "the nodes")
    waits = api.pod(whole(2))
    e = known(fgpu, waits)
    assert e["nodeCount"] == 40 and sum(r["nodes"] for r in e["reasons"]) == 40 and len(e["nearest"]) == 10
    assert len(explain(fgpu, waits, "&nodes=3")["nearest"]) == 3


def condition(api, pod, message):
    api.patch_pod(pod, {"status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}}, "/status")


def test_explain__scheduler_objects_itself__told_apart_from_ours(emptied):
    api, fgpu, node = emptied.api, emptied.fgpu, emptied.node(gpus=1)
    waits = api.pod(whole(2))
    (ours,) = fgpu.reasons(waits, [node]).values()
    condition(api, waits, f"0/7 nodes are available: 1 {ours}, 2 Insufficient cpu, 4 node(s) had untolerated taint {{a: b, c}}. "
                          "preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling.")
    e = eventually(lambda: (lambda e: e["scheduler"]["message"] and e)(known(fgpu, waits)), "the condition")
    assert e["scheduler"]["ownReasons"] == ["2 Insufficient cpu", "4 node(s) had untolerated taint {a: b, c}"]
    assert (e["scheduler"]["asked"], e["scheduler"]["lastNodes"], e["scheduler"]["lastFitting"]) == (1, 1, 0)
    assert "kube-scheduler itself objects: 2 Insufficient cpu, 4 node(s) had" in e["text"]


@pytest.mark.parametrize("message, own, unasked", [
    ("fgpu is not ready: it has just started and waits for earlier bindings to finish", [], "asks again by itself"),
    ('Post "http://127.0.0.1:9443/v1/filter": dial tcp 127.0.0.1:9443: connect: connection refused',
     ['Post "http://127.0.0.1:9443/v1/filter": dial tcp 127.0.0.1:9443: connect: connection refused'], "check urlPrefix"),
])
def test_explain__call_of_the_scheduler_failed__said_whole_and_nothing_about_a_missing_extender(emptied, message, own, unasked):
    waits = emptied.api.pod(milli(100))
    condition(emptied.api, waits, message)
    e = eventually(lambda: (lambda e: e["scheduler"]["message"] and e)(known(emptied.fgpu, waits)), "the condition")
    assert e["scheduler"]["ownReasons"] == own and unasked in e["scheduler"]["notAsked"]
    assert all(reason in e["text"] for reason in own) and ("itself objects" in e["text"]) == bool(own)
    assert "no scheduler has asked" not in e["text"]


def test_explain__fgpu_is_not_ready__said_beside_the_room(tmp_path):
    api = ApiServer(tmp_path)
    try:
        node, waits = api.node(gpus=1), api.pod(milli(100))
        fgpu = Fgpu(api.url, tmp_path, "clientConnection: {holdOff: 10m}\n")
        eventually(lambda: request(fgpu.ops, "GET", f"/v1/explain?pod={key(waits)}").status == 200, "the lists")
        e = known(fgpu, waits)
        assert e["fitting"] == [node] and "fgpu is not ready: it has just started and waits for earlier" in e["text"]
        assert "KubeSchedulerConfiguration" not in e["text"]  # nobody could have been answered
        fgpu.stop()
    finally:
        api.stop()


@pytest.mark.parametrize("server, says", [("{host}:{port}", "write https://HOST:PORT or http://HOST:PORT"),
                                          ("http://{host}:{port}/x", "the ops listener of fgpu, by default http://127.0.0.1:9442")])
def test_explain__not_the_address_of_ops__what_to_write(emptied, server, says):
    host, port = emptied.fgpu.ops
    out = run("explain", "pod/a/b", "--server", server.format(host=host, port=port))
    assert out.returncode == 1 and says in out.stderr, out.stderr


def test_explain__no_gpu_anywhere__where_to_look(emptied):
    emptied.api.node(gpus=0)
    e = known(emptied.fgpu, emptied.api.pod(milli(100)))
    assert "`fgpu state` says of each node what fgpu knows about its GPUs" in e["text"]


def test_explain__annotation_of_nodes_malformed__which_and_how_many(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    bad = [emptied.node(gpus=1) for _ in range(2)]
    for name in bad:
        api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"fgpu.io/gpus": "nonsense"}}})
    note = eventually(lambda: [n["note"] for n in fgpu.state()["nodes"] if n.get("note")][1:], "the notes")[0]
    e = known(fgpu, api.pod(milli(100)))
    (said,) = e["notes"]
    assert said["text"] == note and said["nodes"] == 2 and said["example"] in bad
    assert f"{said['example']} and 1 more: {note}" in e["text"]
    e = known(fgpu, api.pod(milli(100), namespace="other"))
    emptied.node(gpus=1)  # one with room: the others do not matter now
    assert eventually(lambda: (lambda e: e["fitting"] and e)(explain(fgpu, f"other/{e['pod']['pod']}")), "room")["text"].count(note) == 0


def test_explain__model_that_no_gpu_has__those_that_there_are(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    model = fgpu.node_state(emptied.node(gpus=1))["gpus"][0]["model"]
    waits = api.pod(milli(100), {"fgpu.io/gpu-model": "NVIDIA-B9999,!NVIDIA-T4"})
    e = known(fgpu, waits)
    assert e["models"] == [model]
    assert f"it asks for model NVIDIA-B9999,!NVIDIA-T4, and the cluster has {model}" in e["text"]
    assert "models" not in known(fgpu, api.pod(milli(100)))


def test_explain__invalid_request__as_the_pod_writes_it(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    emptied.node(gpus=1)
    wrong = api.pod(None, {"fgpu.io/gpu-fraction": "1.7", "team": "secret-of-nobody"})
    e = known(fgpu, wrong)
    assert (e["outcome"], e["asWritten"]) == ("invalid", "fgpu.io/gpu-fraction: 1.7")
    assert "it says fgpu.io/gpu-fraction: 1.7" in e["text"] and "secret" not in json.dumps(e)
    api.patch_pod(wrong, {"metadata": {"annotations": {"fgpu.io/gpu-fraction": "x" * 300}}})
    assert eventually(lambda: (lambda t: "xxx" in t and t)(explain(fgpu, wrong)["asWritten"]), "the change").endswith("x...")


def test_explain__unknown_size__those_of_the_namespace(tmp_path):
    c = Cluster(tmp_path, "sizes: {small: {milli: 250}, large: {milli: 500}, lab: {milli: 100, namespaces: [lab]}}\n").ready()
    try:
        c.api.node(gpus=1)
        waits = c.api.pod(None, {"fgpu.io/size": "smal"})
        e = known(c.fgpu, waits)
        assert (e["outcome"], e["asWritten"], e["sizes"]) == ("invalid", "fgpu.io/size: smal", ["small", "large"])
        assert "sizes for namespace default: small, large" in e["text"]
    finally:
        c.stop()


def test_explain__never_asked__why_and_what_to_do(emptied):
    api, fgpu, node = emptied.api, emptied.fgpu, emptied.node(gpus=1)
    stranger, ours = api.pod(milli(100), schedulerName="default-scheduler"), api.pod(milli(100))
    assert fgpu.fits(ours, [node]) == [node]
    e = known(fgpu, stranger)["scheduler"]
    assert e["asked"] == 0 and "it names scheduler default-scheduler, and fgpu-test is the one that asks" in e["notAsked"]
    assert "notAsked" not in known(fgpu, ours)["scheduler"]
    again = known(fgpu, api.pod(milli(100)))
    assert "managedResources" in again["scheduler"]["notAsked"] and "managedResources" in again["text"]


def test_explain__node_that_kube_scheduler_leaves_out__is_no_help(emptied):
    """It has its own reasons (a selector, cores, volumes): neither its room nor the end of its pods would help."""
    api, fgpu = emptied.api, emptied.fgpu
    asked, left_out, with_room = [emptied.node(gpus=1) for _ in range(3)]
    large, small = api.pod(milli(900)), api.pod(milli(700))
    assert (fgpu.schedule(large, [asked]), fgpu.schedule(small, [left_out])) == (asked, left_out)
    emptied.settle()
    waits = api.pod(milli(500))
    e = known(fgpu, waits)
    assert e["fitting"] == [with_room]  # nobody has asked yet: all may be chosen
    assert fgpu.fits(waits, [asked]) == []
    e = explain(fgpu, waits)
    assert e["fitting"] == [] and [n["node"] for n in e["nearest"]] == [asked]
    assert [p["uid"] for p in e["nearest"][0]["fitsIfEnded"]] == [large["metadata"]["uid"]]
    assert "1 of those with room cannot be chosen" in e["text"] and sum(r["nodes"] for r in e["reasons"]) == 3
