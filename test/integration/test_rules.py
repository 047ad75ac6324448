"""The rules of the wire contract, one test each and named after it: test_R07_... proves rule R7 on the real binary. What the
tests of other files prove in more depth is looked at once more here, so that the list has no gap. Rules that are settings of
kube-scheduler are read from the shipped manifests.
"""
import json
import re
import signal
import socket
import threading

import pytest
import yaml

from objects import (assignment, devices_of, mem, milli, node_name, pod_object, pod_path, uid, unique, whole)
from processes import PATIENCE_S, ROOT, eventually, in_threads, request
from replies import checked

MANIFESTS = ROOT / "manifests"
SCHEDULERS = sorted(p for p in MANIFESTS.glob("*/scheduler*.yaml") if "\nextenders:" in p.read_text())


def texts(paths=None):
    return {p.relative_to(MANIFESTS): p.read_text() for p in (paths or SCHEDULERS)}


def values(text, key):
    """What stands behind `key:` in a YAML file of ours, comments left out."""
    return re.findall(rf"^\s*(?:- )?{key}:\s*([^\s#]+)", text, re.M)


def container(name, limits, **more):
    return {"name": name, "image": "example.com/demo", "resources": {"limits": limits}, **more}


HELD_MS = 60000  # of a request that others are to meet in flight: until the faults are cleared


def hits(api):
    return api.fault_hits()


def seen(pod, action="pass", **more):
    """A rule that counts the Bindings of one pod."""
    return {"method": "POST", "path": pod_path(pod) + "/binding", "times": -1, "action": action, **more}


# ---- what a pod asks for ----

def test_R01_demand_is_the_peak_over_the_phases(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    one = {"fgpu.io/gpu-milli": "100"}
    pod = api.pod(containers=[container("a", {"fgpu.io/gpu-milli": "300"}), container("b", one)], initContainers=[
        container("step", {"fgpu.io/gpu-milli": "700"}),
        container("sidecar", one, restartPolicy="Always"),
        container("later", {"fgpu.io/gpu-milli": "350"})])
    assert fgpu.schedule(pod, [node]) == node
    # step alone: 700; sidecar and later: 450; sidecar, a and b: 500
    eventually(lambda: fgpu.charged(node) == [700], "the peak to be charged")


def test_R01_limits_repeated_as_requests_count_once_and_zero_asks_for_nothing(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    both = {"limits": {"fgpu.io/gpu-milli": "400"}, "requests": {"fgpu.io/gpu-milli": "400"}}
    pod = api.pod(containers=[{"name": "main", "image": "example.com/demo", "resources": both}])
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.charged(node) == [400])
    assert fgpu.fits(pod_object("zero", limits=milli(0)), ["anywhere"]) == ["anywhere"]


def test_R02_quantities_are_read_as_kubernetes_writes_them(cluster, api, fgpu):
    for text, want in (("400", 400), ("4e2", 400), ("0.4k", 400), ("400000m", 400)):
        node = cluster.node(gpus=1)
        assert fgpu.schedule(api.pod({"fgpu.io/gpu-milli": text}), [node]) == node, text
        eventually(lambda: fgpu.charged(node) == [want], text)
    node = cluster.node(gpus=1)
    assert fgpu.schedule(api.pod({"fgpu.io/gpu-memory-mib": "10Ki"}), [node]) == node
    eventually(lambda: fgpu.node_state(node)["gpus"][0]["memMib"]["charged"] == 10240)
    for text in ("500m", "0.5", "1e-3", "four", "-1"):  # no whole units
        assert fgpu.fits(pod_object("p", limits={"fgpu.io/gpu-milli": text}), [node]) == [], text


# ---- HTTP ----

def test_R03_always_200_with_content_length_and_nothing_behind_the_json(fgpu):
    for verb in ("filter", "prioritize", "bind"):
        for body in (b"", b"{", b"[]", b'{"Pod":{}}', b"null", b"\xff"):
            checked(request(fgpu.verbs, "POST", f"/v1/{verb}", body))


def test_R04_an_idle_connection_is_kept_longer_than_the_clients_90_s():
    header = (ROOT / "include/httpd/server.h").read_text()
    assert int(re.search(r"unsigned idle_timeout_s;\s*/\* \[(\d+)\]", header).group(1)) >= 180
    source = "".join(p.read_text() for p in (ROOT / "src/httpd").glob("*.c"))
    assert re.search(r"idle_timeout_s != 0 \? c->idle_timeout_s : 180\b", source)


def test_R05_hundreds_of_binds_wait_and_filter_answers(cluster, api, fgpu):
    node = cluster.node(gpus=4)
    pods = [api.pod(milli(10)) for _ in range(40)]
    held = [socket.create_connection(fgpu.verbs, timeout=PATIENCE_S) for _ in range(300)]
    try:
        api.faults({"method": "POST", "path": "*/binding", "times": -1, "delayMs": HELD_MS})
        answered = []

        def work(i):
            if i < len(pods):
                assert fgpu.bind(pods[i], node) == ""
                answered.append("bind")
            else:
                eventually(lambda: fgpu.summary()["bindsInFlight"] == len(pods) or answered)
                for _ in range(5):
                    assert fgpu.fits(pod_object("p", limits=milli(10)), [node]) == [node]
                answered.append("filter")
                api.faults(clear=True)
        in_threads(len(pods) + 1, work)
        assert answered[0] == "filter", answered
    finally:
        for s in held:
            s.close()


def test_R06_at_shutdown_calls_on_their_way_are_answered(own):
    node, pod = own.node(gpus=1), own.api.pod(milli(500))
    own.api.faults(seen(pod, delayMs=HELD_MS))
    answers = []
    caller = threading.Thread(target=lambda: answers.append(own.fgpu.bind(pod, node)))
    caller.start()
    eventually(lambda: own.fgpu.summary()["bindsInFlight"] == 1)
    own.fgpu.process.send_signal(signal.SIGTERM)
    own.api.faults(clear=True)
    caller.join()
    own.fgpu.end(0)
    assert len(answers) == 1
    assert (answers[0] == "") <= (node_name(own.api.get_pod(pod)) == node)  # success is never claimed wrongly


# ---- filter and prioritize ----

def test_R07_without_a_node_left_every_name_has_a_reason(cluster, api, fgpu):
    nodes = [cluster.node(gpus=1), cluster.node(gpus=1, mem_mib=1024), "unknown", "unknown too"]
    api.bind_behind_our_back(api.pod(whole(1)), nodes[0])
    eventually(lambda: fgpu.charged(nodes[0]) == [1000])
    assert set(fgpu.reasons(pod_object("p", limits={**milli(500), **mem(4096)}), nodes)) == set(nodes)


def test_R07a_with_nodes_left_the_best_ones_are_enough(fgpu):
    names = [f"name-{i}" for i in range(150)]
    assert fgpu.fits(pod_object("no-gpu"), names) == names  # not ours: all of them, in their order


def test_R07a_candidates_are_as_many_as_configured(cluster, fgpu):
    nodes = [cluster.node(gpus=1) for _ in range(104)]
    r = fgpu.filter(pod_object("p", limits=milli(10)), nodes)
    assert len(r["NodeNames"]) == 100 and not r["FailedNodes"]


def test_R08_reasons_are_the_same_bytes_while_numbers_change(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    big = pod_object("big", limits=whole(2))
    fgpu.schedule(api.pod(milli(10)), [node])
    eventually(lambda: sum(fgpu.charged(node)) == 10)
    before = fgpu.post("filter", {"Pod": big, "NodeNames": [node]})
    for amount in (20, 300, 400):
        fgpu.schedule(api.pod(milli(amount)), [node])
        assert fgpu.post("filter", {"Pod": big, "NodeNames": [node]}) == before
    assert not re.search(r"\d", str(before["FailedNodes"][node]))


def test_R09_the_advertised_form_lets_kube_scheduler_count():
    text = (MANIFESTS / "dedicated/scheduler-advertised.yaml").read_text()
    assert set(values(text, "ignoredByScheduler")) <= {"false"}
    args = yaml.safe_load(text)["profiles"][0]["pluginConfig"][0]["args"]
    assert set(args) == {"ignoredResources"}
    assert not [name for name in args["ignoredResources"] if name.startswith("fgpu.io/")]  # the totals are among those


def preempt(fgpu, pod, nodes):
    """{node: [uid...]} as the reply says, for {node: [uid...]} as kube-scheduler asks."""
    r = fgpu.post("preempt", {"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": {
        n: None if v is None else {"Pods": [{"UID": u} for u in v], "NumPDBViolations": i}
        for i, (n, v) in enumerate(nodes.items())}})
    assert set(r) == {"NodeNameToMetaVictims"}
    numbers = {n: i for i, n in enumerate(nodes)}
    for n, v in r["NodeNameToMetaVictims"].items():
        assert v["NumPDBViolations"] == (0 if nodes[n] is None else numbers[n])
    return {n: [p["UID"] for p in v["Pods"]] for n, v in r["NodeNameToMetaVictims"].items()}


def test_R10_preempt_completes_the_victims_or_drops_the_node(cluster, api, fgpu):
    node, hopeless, empty = cluster.node(gpus=1), cluster.node(gpus=1), cluster.node(gpus=1)
    a, b = api.pod(milli(600), priority=5), api.pod(milli(300), priority=1)
    wall = api.pod(milli(600), priority=100)
    for pod, where in ((a, node), (b, node), (wall, hopeless)):
        assert fgpu.schedule(pod, [where]) == where
    eventually(lambda: fgpu.charged(node) == [900] and fgpu.charged(hopeless) == [600])
    me = pod_object("me", limits=whole(1), priority=10)
    me["metadata"]["uid"] = "me"
    # Named ones stay, more follow, the most important first; empty and absent lists are fine.
    assert preempt(fgpu, me, {node: [uid(b)], hopeless: [uid(b)], empty: []}) == {node: [uid(a), uid(b)], empty: []}
    assert preempt(fgpu, me, {node: None, empty: None}) == {node: [uid(a), uid(b)], empty: []}
    assert preempt(fgpu, pod_object("me", limits=milli(200), priority=3), {node: []}) == {node: [uid(b)]}
    assert preempt(fgpu, pod_object("me", limits=milli(200), priority=1), {node: []}) == {}
    never = pod_object("never", limits=whole(1), priority=10, preemptionPolicy="Never")
    assert preempt(fgpu, never, {node: [uid(b)]}) == {}
    assert preempt(fgpu, pod_object("no-gpu", priority=10), {node: ["x"], "other": ["y"]}) == {node: ["x"], "other": ["y"]}
    whole_pods = fgpu.post("preempt", {"Pod": me, "NodeNameToVictims": {node: {"Pods": [api.get_pod(b)]}}})
    assert [p["UID"] for p in whole_pods["NodeNameToMetaVictims"][node]["Pods"]] == [uid(a), uid(b)]
    for body in (b"", b"{", b"[]", {"Pod": None}, {"Pod": me, "NodeNameToMetaVictims": 1}):
        assert fgpu.post("preempt", body) == {"NodeNameToMetaVictims": {}}
    assert fgpu.post("preempt", {"Pod": me}) == {"NodeNameToMetaVictims": {}}


def test_R11_unresolvable_are_only_facts_that_no_eviction_changes(cluster, api, fgpu):
    full, small, bare = cluster.node(gpus=1), cluster.node(gpus=1, mem_mib=1024), cluster.node(gpus=0)
    fgpu.schedule(api.pod(whole(1)), [full])
    eventually(lambda: fgpu.charged(full) == [1000])
    r = fgpu.filter(pod_object("p", limits=mem(4096)), [full, small, bare, "unknown"])
    assert set(r["FailedNodes"]) == {full}
    assert set(r["FailedAndUnresolvableNodes"]) == {small, bare, "unknown"}


def test_R12_keys_in_any_case_null_is_missing_unknown_keys_are_ignored(cluster, fgpu):
    node = cluster.node(gpus=1)
    pod = pod_object("p", limits=milli(100))
    for body in ({"pod": pod, "nodenames": [node]}, {"POD": pod, "NODENAMES": [node], "NODES": None},
                 {"Pod": pod, "NodeNames": [node], "Nodes": None, "Future": {"a": [1, {"b": None}]}}):
        assert fgpu.post("filter", body)["NodeNames"] == [node], body
    # Inside the pod, case counts.
    other = json.loads(json.dumps(pod).replace('"limits"', '"Limits"'))
    assert fgpu.post("filter", {"Pod": other, "NodeNames": ["x"]})["NodeNames"] == ["x"]


def test_R13_exact_names_and_integers(cluster, fgpu):
    node = cluster.node(gpus=1)
    pod = pod_object("p", limits=milli(100))
    raw = request(fgpu.verbs, "POST", "/v1/filter", {"Pod": pod, "NodeNames": [node]}).body
    assert set(json.loads(raw)) == {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"}
    raw = request(fgpu.verbs, "POST", "/v1/prioritize", {"Pod": pod, "NodeNames": [node]}).body
    assert re.fullmatch(rb'\[\{"Host":"%s","Score":\d+\}\]' % node.encode(), raw), raw
    raw = request(fgpu.verbs, "POST", "/v1/bind", {}).body
    assert list(json.loads(raw)) == ["Error"]


def test_R14_the_extender_is_never_ignorable():
    for path, text in texts().items():
        assert set(values(text, "ignorable")) == {"false"}, path
    policy = json.loads((MANIFESTS / "legacy/policy.json").read_text())
    assert [e.get("ignorable", False) for e in policy["extenders"]] == [False]


def test_R15_older_kube_schedulers_look_at_every_node():
    for path, text in texts().items():
        shipped = "100" if "legacy" in str(path) else "0"  # that of kube-scheduler, for 1.33 and newer; the comment has the older ones
        assert set(values(text, "percentageOfNodesToScore")) == {shipped}, path
        assert shipped == "100" or "Set 100" in text, path


def test_R16_names_are_the_documented_mode_and_full_nodes_are_understood(cluster, fgpu):
    for path, text in texts().items():
        assert set(values(text, "nodeCacheCapable")) == {"true"}, path
    node = cluster.node(gpus=1)
    full = {"metadata": {"name": node, "labels": {"a": "b"}}, "status": {"unknown": [1, None]}}
    r = fgpu.post("filter", {"Pod": pod_object("p", limits=milli(1)), "Nodes": {"items": [full]}, "NodeNames": None})
    assert r["Nodes"]["items"] == [full] and not r["Error"]


def test_R17_100000_names_are_answered_and_more_than_the_limit_is_an_error(fgpu):
    names = [f"{'n' * 100}-{i:06}" for i in range(100000)]
    r = fgpu.filter(pod_object("p", limits=milli(1)), names)
    assert not r["Error"] and len(r["FailedAndUnresolvableNodes"]) == len(names)
    r = fgpu.post("filter", {"Pod": pod_object("p"), "NodeNames": ["x" * (17 << 20)]})
    assert "larger than the limit" in r["Error"]


def test_R19_filter_and_prioritize_change_nothing(cluster, api, fgpu):
    nodes = [cluster.node(gpus=1) for _ in range(3)]
    pods = [api.pod(milli(600)) for _ in range(5)]
    cluster.settle()
    before, generation = fgpu.content(), fgpu.generation()
    for pod in pods:
        assert sorted(fgpu.fits(pod, nodes)) == sorted(nodes)  # holds never refuse
        fgpu.prioritize(pod, nodes)
    assert fgpu.generation() == generation and fgpu.content() == before


# ---- bind ----

def test_R18_bind_decides_one_of_two_for_the_last_slice(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pods = [api.pod(milli(600)) for _ in range(2)]
    api.faults(*[seen(p) for p in pods])
    assert all(fgpu.fits(p, [node]) == [node] for p in pods)
    answers = in_threads(2, lambda i: fgpu.bind(pods[i], node))
    assert sorted(a == "" for a in answers) == [False, True]
    assert sum(hits(api)) == 1  # the loser was never sent


def test_R20_a_binding_on_its_way_counts_until_it_is_decided(own):
    node, pod = own.node(gpus=1), own.api.pod(whole(1))
    own.settle()
    # Neither the reply nor a GET nor the watch shows it, for now.
    own.api.faults(seen(pod, "close-after"), *[{"method": "GET", "path": path, "times": -1, "action": "fail", "status": 503}
                                               for path in (pod_path(pod), "/api/v1/pods")])
    own.api.faults(dropWatches=True)
    assert own.fgpu.bind(pod, node) != ""  # the deadline: nobody knows
    assert own.fgpu.states_of(pod) == {"reserved"}
    assert own.fgpu.fits(pod_object("other", limits=milli(1)), [node]) == []
    own.api.faults(clear=True)
    eventually(lambda: own.fgpu.states_of(pod) == {"bound"}, "the proof")
    eventually(lambda: own.fgpu.bind(pod, node) == "", "the earlier bind to be resolved")


def test_R20_a_definite_refusal_ends_it(cluster, api, fgpu):
    node, pod = cluster.node(gpus=1), api.pod(whole(1))
    api.faults(seen(pod, "fail", status=403))
    assert fgpu.bind(pod, node) != ""
    assert fgpu.fits(pod_object("other", limits=whole(1)), [node]) == [node]


def test_R21_two_binds_of_one_pod_are_one(cluster, api, fgpu):
    node, other = cluster.node(gpus=1), cluster.node(gpus=1)
    pod = api.pod(milli(500))
    api.faults(seen(pod, delayMs=300))
    answers = in_threads(4, lambda i: fgpu.bind(pod, node))
    assert answers.count("") >= 1 and hits(api) == [1], answers
    assert fgpu.bind(pod, node) == ""  # again: the same answer, no second POST
    assert fgpu.bind(pod, other) != ""
    assert hits(api) == [1] and node_name(api.get_pod(pod)) == node


def test_R22_the_caller_hangs_up_and_the_bind_goes_on(cluster, api, fgpu):
    node, pod = cluster.node(gpus=1), api.pod(milli(500))
    api.faults(seen(pod, delayMs=HELD_MS))
    with pytest.raises(TimeoutError):
        fgpu.bind(pod, node, timeout_s=0.2)
    api.faults(clear=True)
    eventually(lambda: node_name(api.get_pod(pod)) == node, "the Binding to be written all the same")
    eventually(lambda: fgpu.states_of(pod) == {"bound"})


def test_R23_the_deadline_of_a_bind_ends_before_kube_schedulers(own):
    for path, text in texts().items():
        assert all(int(t.rstrip("s")) >= 10 for t in values(text, "httpTimeout")) and values(text, "httpTimeout"), path
    shipped = (ROOT / "config/fgpu.yaml").read_text()
    assert all(int(t.rstrip("s")) <= 8 for t in values(shipped, "bindDeadline")) and values(shipped, "bindDeadline")
    node, pod = own.node(gpus=1), own.api.pod(milli(500))
    own.api.faults(seen(pod, delayMs=20000))
    assert own.fgpu.bind(pod, node, timeout_s=15) != ""  # the API server is not done by then


# ---- what counts ----

def test_R24_a_nominated_pod_keeps_its_room(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    waiting = api.pod(milli(700), priority=10)
    api.patch(pod_path(waiting) + "/status", {"status": {"nominatedNodeName": node}})
    cluster.settle()
    reason = "room is promised to a pod of the same or higher priority"
    assert fgpu.reasons(pod_object("low", limits=milli(400), priority=5), [node]) == {node: reason}
    assert fgpu.fits(pod_object("small", limits=milli(300), priority=5), [node]) == [node]
    assert fgpu.fits(pod_object("higher", limits=milli(400), priority=11), [node]) == [node]
    assert fgpu.schedule(waiting, [node]) == node


def test_R25_a_terminating_pod_counts_until_it_is_over(cluster, api, fgpu):
    for end in ("deleted", "Succeeded", "Failed"):
        node, pod = cluster.node(gpus=1), api.pod(milli(800))
        assert fgpu.schedule(pod, [node]) == node
        api.delete_pod(pod, grace_s=30)
        eventually(lambda: fgpu.states_of(pod) == {"terminating"})
        assert fgpu.charged(node) == [800]
        if end == "deleted":
            api.delete_pod(pod)
        else:
            api.set_phase(pod, end)
        eventually(lambda: fgpu.charged(node) == [0], end)


def test_R26_a_pod_without_an_assignment_counts_wherever_it_could_be(cluster, api, fgpu):
    node = cluster.node(gpus=3)
    pod = api.pod(milli(300), nodeName=node)
    eventually(lambda: fgpu.charged(node) == [300] * 3)
    assert fgpu.states_of(pod) == {"foreign"}
    assert any(c["uid"] == uid(pod) for c in fgpu.state()["conflicts"])


def test_R27_annotations_beyond_the_limit_are_never_sent(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(600), {"example.com/mine": "x" * ((256 << 10) - 100)})
    api.faults(seen(pod))
    assert fgpu.bind(pod, node) != "" and hits(api) == [0]


def test_R28_a_node_that_is_gone_is_never_sent(cluster, api, fgpu):
    node, pod = cluster.node(gpus=1), api.pod(milli(600))
    api.faults(seen(pod))
    api.delete_node(node)
    eventually(lambda: fgpu.node_state(node) is None)
    assert fgpu.bind(pod, node) != "" and fgpu.bind(pod, "never-there") != "" and hits(api) == [0]


def test_R29_the_uid_is_sent_and_no_resource_version(cluster, api, fgpu):
    node, pod = cluster.node(gpus=1), api.pod(milli(300))
    api.patch(pod_path(pod) + "/status", {"status": {"message": "scheduler wrote here"}})  # a newer version
    assert fgpu.bind(pod, node) == ""
    old = api.pod(milli(300))
    cluster.settle()
    api.faults({"method": "GET", "path": "/api/v1/pods", "times": -1, "action": "fail", "status": 503}, dropWatches=True)
    api.delete_pod(old)
    new = api.pod(milli(300), name=old["metadata"]["name"])
    assert uid(new) != uid(old)
    assert fgpu.bind(old, node) != ""
    assert node_name(api.get_pod(new)) is None
    api.faults(clear=True)


def test_R30_node_and_devices_in_one_write_and_no_other(cluster, api, fgpu):
    node, pod = cluster.node(gpus=1), api.pod(milli(300))
    api.faults({"method": "PATCH", "path": "/api/v1/*", "times": -1}, {"method": "PUT", "path": "/api/v1/*", "times": -1},
               {"method": "POST", "path": "/api/v1/*", "times": -1})
    assert fgpu.schedule(pod, [node]) == node
    bound = api.get_pod(pod)
    assert node_name(bound) == node and devices_of(bound) == [(0, 300, assignment_mem(bound))]
    assert hits(api) == [0, 0, 1]


def assignment_mem(pod):
    return assignment(pod)["containers"][0]["devices"][0]["memMib"]


# ---- list and watch ----

def test_R31_a_cut_watch_goes_on_from_the_last_event(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    lists = [{"method": "GET", "path": "/api/v1/pods", "query": query, "times": -1}
             for query in ("limit=500&*", "*sendInitialEvents=true*")]
    api.faults(*lists, dropWatches=True)
    for i in range(3):
        pod = api.pod(milli(100), nodeName=node)
        eventually(lambda: fgpu.charged(node) == [100], f"round {i}")
        api.faults(dropWatches=True)
        api.delete_pod(pod)
        eventually(lambda: fgpu.charged(node) == [0], f"round {i}")
    assert hits(api) == [0, 0], "it listed again"


def test_R32_a_list_drops_what_went_meanwhile(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    stays, goes = api.pod(milli(100), nodeName=node), api.pod(milli(200), nodeName=node)
    eventually(lambda: fgpu.charged(node) == [300])
    api.faults({"method": "GET", "path": "/api/v1/pods", "times": -1, "action": "fail", "status": 503}, dropWatches=True)
    api.delete_pod(goes)
    api.faults(clear=True, compact=True)
    eventually(lambda: fgpu.charged(node) == [100])
    assert fgpu.states_of(stays) == {"foreign"}


def test_R33_repeated_events_change_nothing(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(300))
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    cluster.quiet()  # its record is verified after it is seen
    before = fgpu.content()
    event = json.dumps({"type": "MODIFIED", "object": {"apiVersion": "v1", "kind": "Pod", **api.get_pod(pod)}},
                       separators=(",", ":"))
    for _ in range(3):
        if len(event) < 1000:
            api.faults({"method": "GET", "path": "/api/v1/pods", "query": "*watch=*", "times": 1,
                        "inject": event + "\n"}, dropWatches=True)
        else:  # too long for a rule: touch it and have it sent again
            api.patch(pod_path(pod), {"metadata": {"labels": {"touched": unique("t")}}})
        cluster.quiet()
    assert fgpu.content() == before


def test_R34_a_silent_watch_is_harmless(cluster, api, fgpu):
    """How silence is noticed and what follows: test/unit/kube/test_reflector.c, test_api_watches.py."""
    node = cluster.node(gpus=1)
    api.faults({"method": "GET", "path": "/api/v1/nodes", "query": "*watch=*", "times": 1, "afterBytes": 0,
                "then": "stall"}, dropWatches=True)
    pod = api.pod(milli(300))
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    api.faults(dropWatches=True)


def test_every_rule_of_the_wire_contract_has_its_test():
    named = {int(m.group(1)) for name in globals() for m in [re.match(r"test_R(\d\d)a?_", name)] if m}
    assert named == set(range(1, 35))
