"""Events: transitions are told once, repeats are counted, and trouble with Events is nobody else's trouble."""
import json

import pytest

from objects import inventory, device, milli, node_name, pod_path, uid, unique
from processes import eventually

EVENTS = "/apis/events.k8s.io/v1"
EVENT_CALLS = EVENTS + "/*"
BAD = milli(1500)


@pytest.fixture(scope="module")
def cluster(own_of_module):
    """Of its own: other tests' transitions would wait in the same queue."""
    yield own_of_module
    own_of_module.check()


@pytest.fixture
def api(cluster):
    yield cluster.api
    cluster.clear()


def events(api, about=None):
    """All Events, or those about one pod (object) or node (name), oldest first."""
    items = api.call("GET", EVENTS + "/events").json["items"]
    if about is not None:
        items = [e for e in items if e["regarding"]["name"] == (about if isinstance(about, str) else
                                                                about["metadata"]["name"])]
    return sorted(items, key=lambda e: int(e["metadata"]["resourceVersion"]))


def reasons(api, about):
    return [e["reason"] for e in events(api, about)]


def told(api, about, *want):
    """Waits for exactly these reasons, and gives the Events."""
    eventually(lambda: len(events(api, about)) >= len(want), f"events {want}")
    assert reasons(api, about) == list(want)
    return events(api, about)


def passed(cluster):
    """Returns when everything recorded so far has been posted: one thread posts in order."""
    marker = cluster.api.pod(BAD, name=unique("marker"), namespace=unique("marker"))
    told(cluster.api, marker, "GPURequestInvalid")
    cluster.api.delete_pod(marker)


def set_inventory(api, node, text):
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"fgpu.io/gpus": text}}})


def gpus_of(fgpu, node):
    found, = [n for n in fgpu.state()["nodes"] if n["name"] == node]
    return sorted(found["gpus"], key=lambda g: g["index"])


def good(node, n=2, **more):
    return inventory([device(node, i, **more) for i in range(n)])["fgpu.io/gpus"]


def test_node__inventory_spoilt_and_repaired__one_warning_one_normal(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    set_inventory(api, node, "{")
    told(api, node, "GPUInventoryInvalid")
    for i in range(3):  # what stays is not repeated, whatever else changes
        api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"heartbeat": str(i)}}})
    api.faults(dropWatches=True, compact=True)  # nor after a new list
    set_inventory(api, node, good(node))
    bad, fixed = told(api, node, "GPUInventoryInvalid", "GPUInventoryRestored")
    assert (bad["type"], fixed["type"]) == ("Warning", "Normal")
    assert bad["metadata"]["namespace"] == "default"
    assert bad["reportingController"] == "fgpu.io/extender" and bad["reportingInstance"]
    assert bad["regarding"]["kind"] == "Node" and bad["regarding"]["uid"]
    assert "series" not in bad
    passed(cluster)
    assert len(events(api, node)) == 2


def test_node__gpu_unhealthy_lost_and_back__told_each_time(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    assert fgpu.schedule(api.pod(milli(100)), [node]) == node
    cluster.settle()
    set_inventory(api, node, good(node, 1, healthy=False))
    set_inventory(api, node, good(node, 1))
    set_inventory(api, node, json.dumps({"v": 1, "gpus": []}))
    set_inventory(api, node, good(node, 1))
    told(api, node, "GPUDeviceUnhealthy", "GPUDeviceHealthy", "GPUDeviceLost", "GPUDeviceReturned")


def test_node__gpu_unhealthy__closes_that_gpu_alone_and_its_pods_stay_charged(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    first = api.pod(milli(100))
    assert fgpu.schedule(first, [node]) == node
    cluster.settle()
    ill, = [i for i, gpu in enumerate(gpus_of(fgpu, node)) if gpu["milli"]["charged"] == 100]
    set_inventory(api, node, inventory([device(node, i, healthy=i != ill) for i in range(2)])["fgpu.io/gpus"])
    eventually(lambda: [g["healthy"] for g in gpus_of(fgpu, node)] == [i != ill for i in range(2)])
    assert fgpu.schedule(api.pod(milli(1000)), [node]) == node  # the other one, whole
    cluster.settle()
    assert [g["milli"]["charged"] for g in gpus_of(fgpu, node)] == [100 if i == ill else 1000 for i in range(2)]
    assert fgpu.reasons(api.pod(milli(100)), [node])  # no room, although the ill one has some


def test_node__gpu_unhealthy_where_the_agent_tells__not_told_twice(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    by_agent = lambda **more: good(node, 1, **more).replace("{", '{"by":"fgpu-node",', 1)
    set_inventory(api, node, by_agent())
    set_inventory(api, node, by_agent(healthy=False))
    eventually(lambda: not gpus_of(fgpu, node)[0]["healthy"])
    set_inventory(api, node, by_agent())
    eventually(lambda: gpus_of(fgpu, node)[0]["healthy"])
    set_inventory(api, node, "{")
    told(api, node, "GPUInventoryInvalid")


def test_pod__invalid_request__one_warning_per_pod(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(BAD)
    event, = told(api, pod, "GPURequestInvalid")
    assert event["regarding"]["uid"] == uid(pod) and event["type"] == "Warning"
    assert event["metadata"]["namespace"] == pod["metadata"]["namespace"]
    assert "0.001 to 1" in event["note"]
    for _ in range(3):  # kube-scheduler says FailedScheduling by itself
        fgpu.reasons(pod, [node])
    api.patch(pod_path(pod), {"metadata": {"labels": {"a": "b"}}})
    api.faults(dropWatches=True, compact=True)
    again = api.pod(BAD)
    told(api, again, "GPURequestInvalid")
    assert len(events(api, pod)) == 1


def test_pod__ordinary_life__no_event(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(100))
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    api.set_phase(pod, "Succeeded")
    refused = api.pod(milli(1000))
    fgpu.reasons(refused, [api.node(gpus=0)])
    cluster.settle()
    passed(cluster)
    assert events(api, pod) + events(api, refused) + events(api, node) == []


def test_pod__bound_behind_our_back__told_with_its_node(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(100))
    api.bind_behind_our_back(pod, node)
    event, = told(api, pod, "GPUAssignmentMissing")
    assert event["related"] == {"apiVersion": "v1", "kind": "Node", "name": node}


def test_pod__forged_assignment__ignored_and_replaced(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(100), {"fgpu.io/assignment": '{"v":1,"id":"mine","containers":[]}'})
    told(api, pod, "GPUAssignmentIgnored")
    assert fgpu.schedule(pod, [node]) == node
    assert '"mine"' not in api.get_pod(pod)["metadata"]["annotations"]["fgpu.io/assignment"]
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    passed(cluster)
    assert len(events(api, pod)) == 1


def test_pod__bound_with_somebody_elses_assignment__told(cluster, api, fgpu):
    fgpu.expect_incidents()
    node = cluster.node(gpus=1)
    ours = api.pod(milli(100))
    assert fgpu.schedule(ours, [node]) == node
    record = api.get_pod(ours)["metadata"]["annotations"]["fgpu.io/assignment"]
    pod = api.pod(milli(100))
    api.bind_behind_our_back(pod, node, {"fgpu.io/assignment": record})
    # Signed for another pod: nobody decided this, and it is no decision of another fgpu either.
    told(api, pod, "GPURecordRefuted")
    assert events(api, ours) == []


def test_pod__assignment_edited_after_binding__told(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    pod = api.pod(milli(100))
    assert fgpu.schedule(pod, [node]) == node
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    api.patch(pod_path(pod), {"metadata": {"annotations": {"fgpu.io/assignment": "{}"}}})
    told(api, pod, "GPUAssignmentConflict")


def test_bind__unknown_outcome_resolved__told(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(100))
    cluster.settle()
    api.faults({"method": "POST", "path": pod_path(pod) + "/binding", "times": -1, "action": "commit-late", "status": 504})
    assert fgpu.bind(pod, node) != ""
    api.faults(clear=True, commit=True)
    event, = told(api, pod, "GPUBindingResolved")
    assert "it is bound" in event["note"] and event["type"] == "Normal"
    assert node_name(api.get_pod(pod)) == event["related"]["name"] == node


def test_flapping__one_event_and_a_series(own):
    """What the end of fgpu tells is the whole count."""
    api, node = own.api, own.node(gpus=1)
    for _ in range(2):
        set_inventory(api, node, "{")
        set_inventory(api, node, good(node, 1))
    eventually(lambda: [e.get("series", {}).get("count") for e in events(api, node)] == [2, 2], "two series of two")
    for _ in range(3):
        set_inventory(api, node, "{")
        set_inventory(api, node, good(node, 1))
    repeated = 'fgpu_events_total{reason="GPUInventoryRestored",result="repeated"}'
    eventually(lambda: own.fgpu.metrics().get(repeated) == 4, "the repeats in the metrics")
    assert [e["series"]["count"] for e in events(api, node)] == [2, 2]
    own.fgpu.stop()
    assert [e["series"]["count"] for e in events(api, node)] == [5, 5]


def test_forbidden__one_line_then_silence__scheduling_goes_on(own):
    own.api.faults({"method": "POST", "path": EVENT_CALLS, "times": -1, "action": "fail", "status": 403})
    node = own.node(gpus=1)
    for _ in range(20):
        own.api.pod(BAD, namespace=unique("ns"))
    dropped = 'fgpu_events_dropped_total{cause="%s"}'

    def counted():
        m = own.fgpu.metrics()
        return m[dropped % "silenced"] + m[dropped % "forbidden"] == 20
    eventually(counted, "all of them dropped")
    tried = own.fgpu.metrics()[dropped % "forbidden"]
    assert 1 <= tried <= 3  # the first silence is 5 s, the next one 10
    assert own.api.fault_hits() == [tried]
    assert own.fgpu.schedule(own.api.pod(milli(100)), [node]) == node
    own.fgpu.stop()
    assert own.fgpu.log().count("forbids events") == 1
    assert own.api.fault_hits() == [tried]


def test_api_server_does_not_answer__told_later(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    api.faults({"method": "POST", "path": EVENT_CALLS, "times": 1, "action": "close-before"},
               {"method": "POST", "path": EVENT_CALLS, "times": 1, "action": "fail-after", "status": 500})
    first = api.pod(BAD)
    assert fgpu.schedule(api.pod(milli(100)), [node]) == node
    told(api, first, "GPURequestInvalid")  # once, although the second try was answered with an error
    second = api.pod(BAD)
    told(api, second, "GPURequestInvalid")
    assert api.fault_hits() == [1, 1]
    assert len(events(api, first)) == 1


def test_flood__bounded_and_others_are_heard(cluster, api, fgpu):
    noisy, before = unique("noisy"), fgpu.metrics()
    for _ in range(300):
        api.delete_pod(api.pod(BAD, namespace=noisy))
    quiet = api.pod(BAD, namespace=unique("quiet"))
    told(api, quiet, "GPURequestInvalid")
    n = len([e for e in events(api) if e["metadata"]["namespace"] == noisy])
    limited = 'fgpu_events_dropped_total{cause="limited"}'
    after = fgpu.metrics()
    assert 100 <= n < 300
    assert n + after[limited] - before[limited] == 300


def test_stop__what_waits_is_posted(own):
    pods = [own.api.pod(BAD, namespace=unique("ns")) for _ in range(120)]  # more than go out at once
    own.settle()
    own.fgpu.stop()
    assert len([e for e in events(own.api) if e["reason"] == "GPURequestInvalid"]) == len(pods)


def test_stop__api_server_silent__does_not_wait_long(own):
    own.api.faults({"method": "POST", "path": EVENT_CALLS, "times": -1, "action": "close-before"})
    own.api.pod(BAD)
    own.settle()
    own.fgpu.stop()
    assert events(own.api) == []


@pytest.mark.parametrize("request_,reason", [
    ({"limits": milli(200), "annotations": {"fgpu.io/gpu-model": "no-such-model"}}, "too few GPUs of the model or UUID the pod asks for"),
    ({"limits": milli(200), "annotations": {"fgpu.io/gpu-uuid": "GPU-elsewhere"}}, "too few GPUs of the model or UUID the pod asks for"),
    ({"limits": milli(1000), "priority": 3}, "too few empty GPUs"),
], ids=["model", "uuid", "priority"])
def test_pod__preemption_helps_on_no_node__is_told_why_once(cluster, api, fgpu, request_, reason):
    """Where kube-scheduler counts totals itself, filter is never asked about a full node: the preempt verb alone knows."""
    node = cluster.node(gpus=1)
    assert fgpu.schedule(api.pod(milli(900), priority=5), [node]) == node
    eventually(lambda: fgpu.charged(node) == [900])
    waits = api.pod(request_["limits"], annotations=request_.get("annotations"), priority=request_.get("priority", 10))
    ask = {"Pod": waits, "NodeNameToMetaVictims": {node: {"Pods": []}}}
    for _ in range(3):
        assert fgpu.post("preempt", ask) == {"NodeNameToMetaVictims": {}}
    passed(cluster)
    event, = told(api, waits, "GPUPreemptionRefused")
    assert reason in event["note"] and event["type"] == "Warning"


def test_pod__somebody_can_be_preempted__is_told_nothing(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    low, me = api.pod(milli(900), priority=1), api.pod(milli(200), priority=5)
    assert fgpu.schedule(low, [node]) == node
    eventually(lambda: fgpu.charged(node) == [900])
    reply = fgpu.post("preempt", {"Pod": me, "NodeNameToMetaVictims": {node: {"Pods": []}}})
    assert [p["UID"] for p in reply["NodeNameToMetaVictims"][node]["Pods"]] == [uid(low)]
    passed(cluster)
    assert reasons(api, me) == []
