"""GPUs cut into MIG instances: layouts of the inventory annotation, where fgpu picks the instance, and those of a device
plugin, where kubelet does and fgpu counts.
"""
import json
import pathlib

import pytest
from jsonschema import Draft202012Validator

from objects import assignment, device, milli, node_name, node_object, pod_object, unique, whole
from processes import eventually

SCHEMA = Draft202012Validator(json.loads(
    (pathlib.Path(__file__).parents[2] / "config" / "state.schema.json").read_text()))
A100_40 = {"model": "NVIDIA-A100-SXM4-40GB", "mem_mib": 40960}
SEVEN = [("1g.5gb", start) for start in range(7)]
MIXED = [("3g.20gb", 4), ("2g.10gb", 2), ("1g.5gb", 0), ("1g.5gb+me", 1)]
PROFILE, MEMORY = "fgpu.io/mig-profile", "fgpu.io/gpu-memory"


def instances(node, index, layout):
    return [{"uuid": f"MIG-{node}-{index}-{start}", "profile": profile, "start": start} for profile, start in layout]


def mig_node(cluster, *layouts, labels=None, allocatable=None):
    """A node with one A100 for each layout; None: not in MIG mode."""
    name = unique("node")
    gpus = [device(name, i, **A100_40, **({} if l is None else {"mig": instances(name, i, l)}))
            for i, l in enumerate(layouts)]
    obj = node_object(name, gpus, status={"allocatable": {"cpu": "64", "memory": "512Gi", **(allocatable or {})}})
    obj["metadata"]["labels"] = labels or {}
    cluster.api.call("POST", "/api/v1/nodes", obj, status=201)
    eventually(lambda: cluster.fgpu.node_state(name), f"node {name} in /state")
    return name


def mig(profile, n=1):
    return {"nvidia.com/mig-" + profile.replace("+", "."): n}


def refused(fgpu, node, limits=None, annotations=None):
    (reason,) = set(fgpu.reasons(pod_object("p", limits=limits, annotations=annotations), [node]).values())
    return reason


def visible(api, pod):
    return api.get_pod(pod)["metadata"]["annotations"]["fgpu.io/visible-devices.c0"]


def held(state):
    return {g["uuid"] or g["index"]: [a["pod"] for a in g["allocations"]] for g in state["gpus"] if g["allocations"]}


def check_state(fgpu):
    SCHEMA.validate(fgpu.state())


def test_seven_1g__resource_and_annotation__seven_pods_with_an_instance_each(cluster, api, fgpu):
    node = mig_node(cluster, SEVEN)
    pods = [api.pod(mig("1g.5gb")) if i % 2 else api.pod(annotations={PROFILE: "1g.5gb"}) for i in range(7)]
    for pod in pods:
        assert fgpu.schedule(pod, [node]) == node
    assert sorted(visible(api, p) for p in pods) == [f"MIG-{node}-0-{i}" for i in range(7)]
    assert refused(fgpu, node, mig("1g.5gb")) == "MIG instances of the profile are taken"
    annotations = api.get_pod(pods[0])["metadata"]["annotations"]
    assert assignment(api.get_pod(pods[0]))["containers"][0]["devices"][0]["mig"] == "1g.5gb"
    assert annotations["fgpu.io/mps-active-thread-percentage.c0"] == "100"
    assert "fgpu.io/mps-pinned-device-mem-limit.c0" not in annotations
    eventually(lambda: len(held(fgpu.node_state(node))) == 7, "the watch")
    check_state(fgpu)
    gpu = fgpu.node_state(node)["gpus"][0]
    assert gpu["mig"] == {"family": "a100-40gb", "slots": 8, "occupied": list(range(7)), "residual": {}, "room": {}}
    assert gpu["milli"]["capacity"] == gpu["memMib"]["capacity"] == 0
    api.delete_pod(pods[3])
    eventually(lambda: fgpu.fits(pod_object("p", limits=mig("1g.5gb")), [node]), "room")


def test_four_2g_of_an_a100__three_fit_four_are_impossible(cluster, api, fgpu):
    node = mig_node(cluster, [("2g.10gb", 0), ("2g.10gb", 2), ("2g.10gb", 4)])
    assert refused(fgpu, node, mig("2g.10gb", 4)) == "GPUs cannot be cut into so many instances of the MIG profile"
    assert refused(fgpu, node, mig("2g.20gb")) == "too few MIG instances of the profile the pod asks for"
    pod = api.pod(mig("2g.10gb", 3))
    assert fgpu.schedule(pod, [node]) == node
    assert visible(api, pod).split(",") == [f"MIG-{node}-0-{i}" for i in (0, 2, 4)]
    four = mig_node(cluster, [("2g.10gb", i) for i in (0, 2, 4, 6)])  # what people quote; no GPU has it
    assert "three 2g" in fgpu.node_state(four)["note"]
    assert fgpu.node_state(four)["gpus"] == []
    assert refused(fgpu, four, mig("2g.10gb")) == "too few MIG instances of the profile the pod asks for"


def test_memory_alone__smallest_instance_that_fits_then_shares_of_whole_gpus(cluster, api, fgpu):
    node = mig_node(cluster, MIXED, None)
    got = []
    for size in ("4Gi", "4Gi", "4Gi", "12Gi", "1Gi", "1Gi"):
        pod = api.pod(annotations={MEMORY: size})
        assert fgpu.schedule(pod, [node]) == node
        got.append(visible(api, pod))
    assert got == [f"MIG-{node}-0-0", f"MIG-{node}-0-1", f"MIG-{node}-0-2", f"MIG-{node}-0-4"] + [f"GPU-{node}-1"] * 2


def test_parts_of_gpus_and_whole_ones__never_on_an_instance(cluster, api, fgpu):
    node = mig_node(cluster, SEVEN)
    empty = mig_node(cluster, [])
    for limits in (milli(100), whole(1), {"fgpu.io/gpu-milli": 100, "fgpu.io/gpu-memory-mib": 100}):
        assert refused(fgpu, node, limits) == "GPUs are cut into MIG instances"
        assert refused(fgpu, empty, limits) == "GPUs are in MIG mode and nobody has made instances"
    assert refused(fgpu, empty, mig("1g.5gb")) == "GPUs are in MIG mode and nobody has made instances"
    assert fgpu.node_state(empty)["gpus"][0]["mig"]["residual"] == {
        "1g.5gb": 7, "1g.5gb+me": 1, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}
    check_state(fgpu)


@pytest.mark.parametrize("limits, annotations", [
    ({**mig("1g.5gb"), **mig("2g.10gb")}, {}),
    (mig("1g.5gb.gfx"), {}),
    ({}, {PROFILE: "small"}),
    ({}, {PROFILE: "1g.5gb", "fgpu.io/gpu-fraction": "0.5"}),
    ({**mig("1g.5gb"), **milli(100)}, {}),
])
def test_contradictory_request__one_reason_everywhere(cluster, fgpu, limits, annotations):
    node = mig_node(cluster, MIXED)
    assert refused(fgpu, node, limits, annotations).startswith("MIG request is not possible")


def test_layout_being_changed__closed_with_one_reason_until_done(cluster, api, fgpu):
    label = "nvidia.com/mig.config.state"
    node = mig_node(cluster, SEVEN, None, labels={label: "pending"})
    waiting = api.pod(mig("1g.5gb"))
    for limits in (mig("1g.5gb"), milli(100), whole(1)):
        assert refused(fgpu, node, limits) == "MIG layout of the node is being changed"
    assert fgpu.node_state(node)["mig"] == {"changing": True, "strategy": "none", "picks": "fgpu"}
    assert fgpu.bind(waiting, node) != ""
    for state in ("rebooting", "failed"):
        api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {label: state}}})
        assert refused(fgpu, node, milli(100)) == "MIG layout of the node is being changed"
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {label: "success"}}})
    eventually(lambda: fgpu.fits(waiting, [node]), "the node to open")
    assert fgpu.bind(waiting, node) == ""


def test_plugin__mixed__counted_by_profile_and_left_to_kubelet(cluster, api, fgpu):
    node = mig_node(cluster, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"},
                    allocatable={"nvidia.com/mig-1g.5gb": "2", "nvidia.com/mig-2g.10gb": "1", "nvidia.com/gpu": "1"})
    assert fgpu.node_state(node)["mig"] == {"changing": False, "strategy": "mixed", "picks": "kubelet"}
    assert refused(fgpu, node, annotations={PROFILE: "1g.5gb"}) \
        == "MIG instances are handed out by a plugin: ask for its resource"
    assert refused(fgpu, node, annotations={MEMORY: "1Gi"}) == "GPUs are cut into MIG instances"
    first = api.pod(mig("1g.5gb"))
    assert fgpu.schedule(first, [node]) == node
    assert "fgpu.io/visible-devices.c0" not in api.get_pod(first)["metadata"]["annotations"]
    api.pod(mig("1g.5gb"), nodeName=node)  # bound by somebody else: counted like any other
    eventually(lambda: not fgpu.fits(pod_object("p", limits=mig("1g.5gb")), [node]), "the second to be counted")
    assert refused(fgpu, node, mig("1g.5gb")) == "MIG instances of the profile are taken"
    for limits in (mig("2g.10gb"), {"nvidia.com/gpu": 1}):
        assert fgpu.schedule(api.pod(limits), [node]) == node
    check_state(fgpu)
    assert [g["mig"]["counted"] for g in fgpu.node_state(node)["gpus"]] == [True] * 3


def test_plugin__single__instances_are_its_whole_gpus(cluster, api, fgpu):
    node = mig_node(cluster, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
                                     "nvidia.com/gpu.count": "7", "nvidia.com/mig.strategy": "single",
                                     "nvidia.com/gpu.memory": "4864"}, allocatable={"nvidia.com/gpu": "7"})
    for _ in range(7):
        assert fgpu.schedule(api.pod({"nvidia.com/gpu": 1}), [node]) == node
    assert refused(fgpu, node, {"nvidia.com/gpu": 1}) == "whole GPUs of the device plugin are taken"
    state = fgpu.node_state(node)
    assert state["mig"]["strategy"] == "single" and state["wholeGpus"]["free"] == 0
    assert {g["mig"]["profile"] for g in state["gpus"]} == {"1g.5gb"}
    check_state(fgpu)


def test_restart__instances_of_every_kind__the_same_state(own):
    api, fgpu = own.api, own.fgpu
    steered = mig_node(own, MIXED, None)
    counted = mig_node(own, allocatable={"nvidia.com/mig-1g.5gb": "3"})
    for pod in (api.pod(mig("3g.20gb")), api.pod(annotations={PROFILE: "1g.5gb+me"}),
                api.pod(annotations={MEMORY: "8Gi"}), api.pod(milli(300))):
        assert fgpu.schedule(pod, [steered]) == steered
    assert fgpu.schedule(api.pod(mig("1g.5gb", 2)), [counted]) == counted
    api.pod(mig("1g.5gb"), nodeName=counted)
    bypass = api.pod(mig("1g.5gb"), nodeName=steered)  # no plugin there: nobody knows which one it has
    own.settle()
    assert fgpu.states_of(bypass) == {"foreign"}
    assert refused(fgpu, steered, mig("1g.5gb")) == "MIG instances of the profile are taken"
    assert refused(fgpu, counted, mig("1g.5gb")) == "MIG instances of the profile are taken"
    before = fgpu.content()
    assert fgpu.audit()["drift"] == 0
    fgpu.kill()
    own.restarted()
    eventually(lambda: own.fgpu.content() == before, "the same /state")
    check_state(own.fgpu)


def test_instance_gone_under_its_pod__stays_charged_until_the_pod_is_gone(cluster, api, fgpu):
    node = mig_node(cluster, SEVEN)
    pod = api.pod(mig("1g.5gb"))
    assert fgpu.schedule(pod, [node]) == node
    uuid = visible(api, pod)
    plain = {"v": 1, "gpus": [device(node, 0, **A100_40)]}
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"fgpu.io/gpus": json.dumps(plain)}}})
    eventually(lambda: [g["uuid"] for g in fgpu.node_state(node)["gpus"]] == [f"GPU-{node}-0", uuid], "the new layout")
    assert refused(fgpu, node, milli(100)) == "GPUs are held whole by other pods"
    assert node_name(api.get_pod(pod)) == node
    api.delete_pod(pod)
    eventually(lambda: fgpu.fits(pod_object("p", limits=milli(100)), [node]), "the GPU to be free")
