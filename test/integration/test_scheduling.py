"""The main path: kube-scheduler's three calls, and what they leave in the API server."""
import pytest

from configured import BINPACK, START
from judge import check_no_overcommit, loads, loads_in_state
from objects import assignment, devices_of, mem, milli, node_name, pod_object, unique, whole
from processes import eventually, in_threads


def test_bind__fraction__node_and_devices_in_one_write(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    pod = api.pod(milli(300))
    before = int(api.get_pod(pod)["metadata"]["resourceVersion"])
    assert fgpu.schedule(pod, [node]) == node
    bound = api.get_pod(pod)
    assert bound["spec"]["nodeName"] == node
    assert devices_of(bound) == [(0, 300, 24576)] or devices_of(bound) == [(1, 300, 24576)]
    index = devices_of(bound)[0][0]
    annotations = bound["metadata"]["annotations"]
    assert annotations["fgpu.io/visible-devices.c0"] == f"GPU-{node}-{index}"
    assert assignment(bound)["v"] == 1 and assignment(bound)["id"]
    assert any(c["type"] == "PodScheduled" and c["status"] == "True" for c in bound["status"]["conditions"])
    assert int(bound["metadata"]["resourceVersion"]) == before + 1  # the counter of all writes
    assert eventually(lambda: fgpu.allocations(pod))[0][2]["state"] == "bound"


def test_bind__two_halves__share_and_a_600_milli_pod_does_not_fit_beside(configured):
    api, fgpu, node = configured.cluster.api, configured.fgpu, configured.cluster.node(gpus=2)
    configured.effective(START + f"packing: {{{BINPACK}}}\n")
    first, second, third = api.pod(milli(500)), api.pod(milli(500)), api.pod(milli(600))
    for pod in (first, second, third):
        assert fgpu.schedule(pod, [node]) == node
    where = [devices_of(api.get_pod(p))[0][0] for p in (first, second, third)]
    assert where[0] == where[1] != where[2]


@pytest.mark.parametrize("limits, annotations, want", [
    (mem(20480), {}, [(250, 20480)]),
    ({"fgpu.io/gpu-milli": 500, "fgpu.io/gpu-count": 2}, {}, [(500, 40960)] * 2),
    ({"fgpu.io/gpu-milli": 300, "fgpu.io/gpu-memory-mib": 1024}, {}, [(300, 1024)]),
    (whole(2), {}, [(1000, 81920)] * 2),
    ({"fgpu.io/gpu-milli": 2000}, {}, [(1000, 81920)] * 2),
    ({}, {"fgpu.io/gpu-fraction": "0.3"}, [(300, 24576)]),
    ({}, {"fgpu.io/gpu-memory": "4Gi"}, [(50, 4096)]),
    ({}, {"fgpu.io/gpu-fraction": "0.25", "fgpu.io/gpu-count": "3"}, [(250, 20480)] * 3),
], ids=["memory only", "two halves", "both", "two whole", "2000 milli", "fraction annotation", "memory annotation",
        "fraction of three"])
def test_bind__every_form_of_request__charged_as_the_table_says(cluster, api, fgpu, limits, annotations, want):
    node = cluster.node(gpus=4)
    pod = api.pod(limits, annotations)
    assert fgpu.schedule(pod, [node]) == node
    got = devices_of(api.get_pod(pod))
    assert sorted(d[1:] for d in got) == sorted(want)
    assert len({d[0] for d in got}) == len(got)


def test_filter__nothing_fits__constant_reason_for_every_node(cluster, api, fgpu):
    nodes = [cluster.node(gpus=1) for _ in range(3)]
    for fill in (700, 800, 900):
        assert fgpu.schedule(api.pod(milli(fill)), nodes)
    waiting = pod_object(unique("pod"), limits=milli(400))
    reasons = fgpu.reasons(waiting, nodes)
    assert set(reasons.values()) == {"too few GPUs with enough free compute"}
    # numerically different, same cause: the same bytes (contract vector 7)
    assert fgpu.schedule(api.pod(milli(100)), nodes)
    assert fgpu.reasons(waiting, nodes) == reasons


def test_filter__facts_no_eviction_changes__unresolvable(cluster, api, fgpu):
    small, bare = cluster.node(gpus=1, mem_mib=16384), cluster.node(gpus=0)
    assert fgpu.reasons(pod_object("x", limits=milli(1)), [bare]) == {bare: "no GPU that fgpu may hand out"}
    r = fgpu.filter(pod_object("p", limits=mem(40960)), [small, bare, "nobody-knows-me"])
    assert set(r["FailedAndUnresolvableNodes"]) == {small, bare, "nobody-knows-me"}
    assert not r["FailedNodes"]


def test_filter__not_a_gpu_pod__every_node(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    names = [node, "any-other-node"]
    assert sorted(fgpu.fits(pod_object("p", limits={"cpu": 1}), names)) == sorted(names)


def test_filter__lower_case_keys_and_full_nodes__understood(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = pod_object("p", limits=milli(100))
    assert fgpu.post("filter", {"pod": pod, "nodenames": [node]})["NodeNames"] == [node]
    full = {"metadata": {"name": node, "labels": {"a": "<b>"}}, "spec": {"unknown": [1, {"x": None}]}}
    r = fgpu.post("filter", {"Pod": pod, "Nodes": {"metadata": {}, "items": [full]}, "NodeNames": None})
    assert r["Nodes"]["items"] == [full]
    assert fgpu.post("filter", {"Pod": pod, "Nodes": None, "NodeNames": []})["NodeNames"] == []


def test_prioritize__best_node_is_alone_at_the_top(cluster, api, fgpu):
    nodes = [cluster.node(gpus=1) for _ in range(4)]
    assert fgpu.schedule(api.pod(milli(500)), nodes)
    scores = fgpu.prioritize(pod_object("p", limits=milli(200)), nodes)
    assert sorted(scores.values())[-1] == 10
    assert list(scores.values()).count(10) == 1
    assert fgpu.post("prioritize", {"Pod": pod_object("p", limits=milli(1)), "NodeNames": []}) == []


def test_bind__unknown_node__refused_without_a_write(cluster, api, fgpu):
    pod = api.pod(milli(100))
    rv = api.get_pod(pod)["metadata"]["resourceVersion"]
    assert fgpu.bind(pod, "nobody-knows-me") != ""
    assert api.get_pod(pod)["metadata"]["resourceVersion"] == rv


def test_item17_bind__pod_that_asks_for_no_gpu__refused(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod()
    assert "serving.bindsAllPods" in fgpu.bind(pod, node)
    assert "nodeName" not in api.get_pod(pod)["spec"]
    zero = api.pod(milli(0))  # its binding is ours: kube-scheduler goes by the name
    assert fgpu.bind(zero, node) == ""


CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize("spec, tolerations, allowed", [
    ({"unschedulable": True}, [], False),
    ({"unschedulable": True}, [CORDON], True),
    ({"unschedulable": True}, [{"operator": "Exists"}], True),
    ({"taints": [GPU_TAINT]}, [], False),
    ({"taints": [GPU_TAINT]}, [{"key": "nvidia.com/gpu", "value": "other", "effect": "NoSchedule"}], False),
    ({"taints": [GPU_TAINT]}, [{"key": "nvidia.com/gpu", "operator": "Exists"}], True),
    ({"taints": [{**GPU_TAINT, "effect": "NoExecute"}]}, [{**CORDON, "key": "nvidia.com/gpu"}], False),
    ({"taints": [{**GPU_TAINT, "effect": "PreferNoSchedule"}]}, [], True),
], ids=str)
def test_item17_bind__cordoned_or_tainted_node__only_pods_that_tolerate_it(cluster, api, fgpu, spec, tolerations, allowed):
    node = cluster.node(gpus=1)
    api.patch(f"/api/v1/nodes/{node}", {"spec": spec})
    eventually(lambda: fgpu.node_state(node), "the node")
    last = cluster.node(gpus=1)  # seen after the patch, on the same watch
    eventually(lambda: fgpu.node_state(last), "what came after it")
    pod = api.pod(milli(100), tolerations=tolerations)
    assert fgpu.fits(pod, [node]) == [node], "filter leaves that to kube-scheduler"
    error = fgpu.bind(pod, node)
    assert error == ("" if allowed else "node is cordoned or has a taint that the pod does not tolerate")
    assert ("nodeName" in api.get_pod(pod)["spec"]) == allowed


def test_bind__pod_of_another_uid__refused(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(100))
    stranger = {"metadata": dict(pod["metadata"], uid="00000000-0000-4000-8000-000000000000")}
    assert fgpu.bind(stranger, node) != ""
    assert node_name(api.get_pod(pod)) is None


def test_bind__repeated__same_answer_one_binding(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(100))
    answers = in_threads(8, lambda _: fgpu.bind(pod, node))
    assert answers == [""] * 8
    assert fgpu.bind(pod, node) == ""
    allocations = eventually(lambda: fgpu.allocations(pod))
    assert len(allocations) == 1


def test_delete__capacity_comes_back(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(whole(1))
    assert fgpu.schedule(pod, [node]) == node
    other = pod_object("other", limits=milli(1))
    assert fgpu.fits(other, [node]) == []
    api.delete_pod(pod)
    eventually(lambda: fgpu.fits(other, [node]) == [node], "the device to be free")


def test_terminating__still_charged_until_gone(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(whole(1))
    assert fgpu.schedule(pod, [node]) == node
    api.delete_pod(pod, grace_s=30)
    eventually(lambda: fgpu.states_of(pod) == {"terminating"})
    assert fgpu.fits(pod_object("other", limits=milli(1)), [node]) == []
    api.delete_pod(pod)
    eventually(lambda: fgpu.fits(pod_object("other", limits=milli(1)), [node]))


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished__capacity_comes_back(cluster, api, fgpu, phase):
    node = cluster.node(gpus=1)
    pod = api.pod(whole(1))
    assert fgpu.schedule(pod, [node]) == node
    api.set_phase(pod, phase)
    eventually(lambda: fgpu.fits(pod_object("other", limits=milli(1)), [node]), "the device to be free")


def test_bound_behind_our_back__charged_wherever_it_could_be(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    pod = api.pod(milli(600), nodeName=node)
    eventually(lambda: fgpu.allocations(pod))
    assert fgpu.states_of(pod) == {"foreign"}
    assert fgpu.fits(pod_object("other", limits=milli(600)), [node]) == []
    assert fgpu.fits(pod_object("other", limits=milli(300)), [node]) == [node]


def test_burst__300_pods_on_10_nodes__never_over_commits(cluster, api, fgpu):
    nodes = [cluster.node(gpus=4) for _ in range(10)]
    shapes = [milli(100), milli(300), milli(700), whole(1), mem(8192),
              {"fgpu.io/gpu-milli": 400, "fgpu.io/gpu-count": 2}]
    pods = [api.pod(shapes[i % len(shapes)]) for i in range(300)]

    def run(worker):
        bound = 0
        for pod in pods[worker::12]:
            r = fgpu.filter(pod, nodes)
            assert not r.get("Error"), r
            if r["NodeNames"]:
                bound += fgpu.bind(pod, r["NodeNames"][worker % len(r["NodeNames"])]) == ""
        return bound
    bound = sum(in_threads(12, run))
    used = check_no_overcommit(api)
    assert sum(node_name(p) is not None for p in api.list("pods")) == bound
    assert bound > 60
    assert sum(load.milli for load in used.values()) > 30000
    cluster.settle()
    assert loads_in_state(fgpu.state()) == loads(api.list("nodes"), api.list("pods"))
