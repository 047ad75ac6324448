"""Nodes that have a part of a GPU: in units of resources.compute, whoever picks."""
import json

import pytest

from configured import START
from objects import devices_of, mem, milli, node_object, pod_object, whole
from processes import eventually, run

CARD_MIB = 16384
UNITS = START + ("resources:\n  compute:\n  - {name: fgpu.io/gpu-milli, unitsPerGPU: 1000}\n"
                 "  - {name: nvidia.com/vgpu, unitsPerGPU: 1000%s}\n")


def vgpu(n):
    return {"nvidia.com/vgpu": n}


def part_node(cluster, name, units, memory=None, **labels):
    """As a plugin publishes it: no annotation, no UUID. `memory`: of all of it, in MiB."""
    allocatable = {"cpu": "8", "memory": "32Gi", "nvidia.com/vgpu": str(units)}
    if memory is not None:
        allocatable["fgpu.io/gpu-memory-mib"] = str(memory)
    node = node_object(name, 0, labels={k.replace("__", "/"): v for k, v in labels.items()},
                       status={"allocatable": allocatable})
    cluster.api.call("POST", "/api/v1/nodes", node, status=201)
    eventually(lambda: cluster.fgpu.node_state(name), f"node {name} in /state")
    return name


def capacities(fgpu, node):
    return [(g["milli"]["capacity"], g["memMib"]["capacity"], g["baseMemMib"]) for g in fgpu.node_state(node)["gpus"]]


def test_f59_half_a_gpu__holds_what_it_has_and_nothing_more(configured):
    configured.effective(UNITS % "")
    cluster, fgpu = configured.cluster, configured.fgpu
    node = part_node(cluster, "half", 500, CARD_MIB // 2)
    assert capacities(fgpu, node) == [(500, CARD_MIB // 2, CARD_MIB)]
    assert fgpu.node_state(node).get("note", "") == ""
    refused = "too few GPUs with enough free compute"
    for asks in (vgpu(800), vgpu(501), milli(501), vgpu(1000), milli(1000), whole(1)):
        assert fgpu.fits(pod_object("p", limits=asks), [node]) == [], asks
    assert fgpu.fits(pod_object("p", limits=mem(CARD_MIB // 2 + 1)), [node]) == []
    assert fgpu.fits(pod_object("p", limits=mem(CARD_MIB // 2)), [node]) == [node]
    pods = [cluster.api.pod(vgpu(n)) for n in (300, 200, 1)]
    cluster.settle()
    assert [fgpu.bind(p, node) for p in pods[:2]] == ["", ""]
    # A share is of the whole GPU: 300 of 1000, of compute and of memory.
    assert devices_of(cluster.api.get_pod(pods[0])) == [(0, 300, CARD_MIB * 300 // 1000)]
    assert devices_of(cluster.api.get_pod(pods[1])) == [(0, 200, CARD_MIB * 200 // 1000)]
    assert fgpu.reasons(pods[2], [node]) == {node: refused}
    assert fgpu.charged(node) == [500]
    assert "compute" in fgpu.bind(pods[2], node)


def test_one_and_a_half__whole_pods_on_the_whole_one(configured):
    configured.effective(UNITS % "")
    cluster, fgpu = configured.cluster, configured.fgpu
    node = part_node(cluster, "one-and-a-half", 1500, **{"nvidia.com__gpu.memory": str(CARD_MIB)})
    assert capacities(fgpu, node) == [(1000, CARD_MIB, CARD_MIB), (500, CARD_MIB // 2, CARD_MIB)]
    assert fgpu.fits(pod_object("p", limits=vgpu(2000)), [node]) == []
    pods = [cluster.api.pod(asks) for asks in (milli(1000), vgpu(1000), vgpu(500), vgpu(1))]
    cluster.settle()
    assert fgpu.bind(pods[0], node) == ""
    assert devices_of(cluster.api.get_pod(pods[0])) == [(0, 1000, CARD_MIB)]
    assert fgpu.fits(pods[1], [node]) == []
    assert fgpu.bind(pods[2], node) == ""
    assert devices_of(cluster.api.get_pod(pods[2])) == [(1, 500, CARD_MIB // 2)]
    assert fgpu.fits(pods[3], [node]) == []


def test_labels_count_a_gpu__units_are_fewer__units_hold(configured):
    configured.effective(UNITS % "")
    cluster, fgpu = configured.cluster, configured.fgpu
    labels = {"nvidia.com__gpu.count": "1", "nvidia.com__gpu.memory": str(CARD_MIB)}
    node = part_node(cluster, "labelled", 250, **labels)
    assert capacities(fgpu, node) == [(250, CARD_MIB // 4, CARD_MIB)]
    assert "fgpu uses allocatable" in fgpu.node_state(node)["note"]
    assert fgpu.fits(pod_object("p", limits=milli(251)), [node]) == []
    # In a virtual machine labels tell the memory of the virtual GPU.
    node = part_node(cluster, "virtual", 250, **{**labels, "nvidia.com__gpu.memory": "4096",
                                                 "nvidia.com__vgpu.present": "true"})
    assert capacities(fgpu, node) == [(250, 4096, CARD_MIB)]


def test_f59_kubelet_picks__half_a_gpu__never_rounded_up(configured):
    configured.effective(UNITS % ", picks: kubelet")
    cluster, fgpu = configured.cluster, configured.fgpu
    node = part_node(cluster, "plugin-half", 500, CARD_MIB // 2)
    assert capacities(fgpu, node) == [(500, CARD_MIB // 2, CARD_MIB)]
    for asks in (milli(800), milli(1000), whole(1), vgpu(501)):
        assert fgpu.fits(pod_object("p", limits=asks), [node]) == [], asks
    assert fgpu.fits(pod_object("p", limits=milli(500)), [node]) == [node]
    pods = [cluster.api.pod(vgpu(n)) for n in (300, 200, 1)]
    cluster.settle()
    assert [fgpu.bind(p, node) for p in pods[:2]] == ["", ""]
    assert fgpu.reasons(pods[2], [node]) == {node: "whole GPUs of the device plugin are taken"}
    assert fgpu.fits(pod_object("p", limits=milli(1)), [node]) == []


@pytest.mark.parametrize("qos", ["fixed-share", "best-effort", "equal-share"])
def test_quality_of_service__percentages_stay_within_the_part(configured, qos):
    configured.effective((UNITS % "") + f"devices: {{qos: {qos}, maxSharers: 4}}\n")
    cluster, fgpu = configured.cluster, configured.fgpu
    node = part_node(cluster, f"qos-{qos}", 500, CARD_MIB // 2)
    pods = [cluster.api.pod(vgpu(100)) for _ in range(5)]
    cluster.settle()
    assert [fgpu.bind(p, node) for p in pods[:4]] == [""] * 4
    assert fgpu.fits(pods[4], [node]) == []  # four sharers
    got = cluster.api.get_pod(pods[0])["metadata"]["annotations"]["fgpu.io/mps-active-thread-percentage.c0"]
    assert got == ("10" if qos == "fixed-share" else "50")
    # the even part is that of the part: 500 / 4
    assert fgpu.charged(node) == [500 if qos == "equal-share" else 400]


def test_capacity_shrinks_to_a_part__closed_and_told(configured):
    configured.effective(UNITS % "")
    cluster, fgpu = configured.cluster, configured.fgpu
    node = part_node(cluster, "shrinks", 1000, CARD_MIB)
    pod = cluster.api.pod(vgpu(800))
    cluster.settle()
    assert fgpu.bind(pod, node) == ""
    cluster.api.patch(f"/api/v1/nodes/{node}/status", {"status": {"allocatable": {
        "nvidia.com/vgpu": "500", "fgpu.io/gpu-memory-mib": str(CARD_MIB // 2)}}})
    gpu = eventually(lambda: next((g for g in fgpu.node_state(node)["gpus"] if g["overCommitted"]), None), "the shrunk GPU")
    assert (gpu["milli"]["capacity"], gpu["milli"]["charged"], gpu["milli"]["free"]) == (500, 800, -300)
    assert fgpu.fits(pod_object("p", limits=vgpu(1)), [node]) == []
    cluster.api.delete_pod(pod)
    eventually(lambda: fgpu.fits(pod_object("p", limits=vgpu(500)), [node]) == [node], "the part to be free")


def test_saved_state__with_a_part__read_back(configured, tmp_path):
    configured.effective(UNITS % "")
    part_node(configured.cluster, "saved-half", 500, CARD_MIB // 2)
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(configured.fgpu.state()))
    shown = run("frag", "--state", saved, "-o", "json")
    assert shown.returncode == 0, shown.stderr
    moved = run("whatif", "--config", configured.path, "--state", saved, "-o", "json")
    assert moved.returncode == 0, moved.stderr
