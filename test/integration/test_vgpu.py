"""Nodes of virtual GPUs with a fixed profile (K8vGPUSharing): a label names what every GPU of the node is."""
import pytest

from configured import START
from objects import mem, milli, node_object, pod_object
from processes import eventually

WHOLE = {"nvidia.com/gpu": 1}


def vgpu_node(cluster, name, profile, gpus=1, label="vgpu.type"):
    node = node_object(name, 0, status={"allocatable": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": str(gpus)}})
    node["metadata"]["labels"] = {label: profile}
    cluster.api.call("POST", "/api/v1/nodes", node, status=201)
    eventually(lambda: cluster.fgpu.node_state(name), f"node {name} in /state")
    return name


def sizes(cluster):
    """One slice each of 4, 8 and 16 GB."""
    return [vgpu_node(cluster, f"vgpu-{gb}", f"v100-{gb}q-{gb}GB", label=label)
            for gb, label in ((16, "vgpu.type"), (4, "virtual.gpu.type"), (8, "vgpu.type"))]


def test_memory_only__profiles_of_three_sizes__the_smallest_that_fits(configured):
    configured.effective(START + "packing: {nodeStrategy: tight-fit, deviceStrategy: tight-fit}\n")
    fgpu, nodes = configured.fgpu, sizes(configured.cluster)
    for mib, best, fitting in ((3072, "vgpu-4", 3), (4096, "vgpu-4", 3), (4097, "vgpu-8", 2), (16384, "vgpu-16", 1)):
        pod = pod_object("p", annotations={"fgpu.io/gpu-memory": f"{mib}Mi"})
        assert len(fgpu.fits(pod, nodes)) == fitting
        scores = fgpu.prioritize(pod, nodes)
        assert scores[best] == 10 and list(scores.values()).count(10) == 1, (mib, scores)
    assert set(fgpu.reasons(pod_object("p", limits=mem(16385)), nodes).values()) == \
        {"every GPU has less memory than the pod asks for"}


@pytest.mark.parametrize("strategy", ["spread", "binpack", "fgd", "{spread: 0.5, binpack: 0.5}"])
def test_memory_only__any_strategy__the_smallest_that_fits(configured, strategy):
    cluster, fgpu = configured.cluster, configured.fgpu
    configured.effective(START + f"packing: {{nodeStrategy: {strategy}, deviceStrategy: spread}}\n")
    sizes = [vgpu_node(cluster, f"vgpu-{gb}", f"v100-{gb}q-{gb}GB") for gb in (16, 4, 8)]
    share = cluster.node(gpus=1)
    for mib, order in ((3072, ["vgpu-4", "vgpu-8", "vgpu-16", share]), (6144, ["vgpu-8", "vgpu-16", share])):
        scores = fgpu.prioritize(pod_object("p", annotations={"fgpu.io/gpu-memory": f"{mib}Mi"}), [*sizes, share])
        assert sorted((n for n in scores if n in order), key=scores.get, reverse=True) == order, scores
    scores = fgpu.prioritize(pod_object("p", limits=milli(10)), [*sizes, share])
    assert scores[share] == 10  # compute of a virtual GPU is not ours to divide


def test_slices__packed_one_by_one__as_an_oracle_says(configured):
    """Every pod in turn gets the slice with the least slack; who fits nowhere is refused everywhere."""
    cluster, fgpu = configured.cluster, configured.fgpu
    configured.effective(START + "packing: {nodeStrategy: spread}\ndevices: {overcommit: {memory: 2}, memoryReserve: 1Gi}\n")
    free = {}
    for gb in (4, 8, 16, 8):
        free[vgpu_node(cluster, f"vgpu-{gb}-{len(free)}", f"v100-{gb}c-{gb}GB")] = gb * 1024
    nodes = list(free)
    for mib in (5000, 4096, 9000, 8192, 1, 16384):
        pod = cluster.api.pod(annotations={"fgpu.io/gpu-memory": f"{mib}Mi"})
        cluster.settle()
        fitting = {n for n, m in free.items() if m >= mib}
        assert set(fgpu.fits(pod, nodes)) == fitting
        if fitting:
            node = fgpu.schedule(pod, nodes)
            assert free[node] == min(free[n] for n in fitting), (mib, node, free)
            del free[node]


def test_slice__taken_in_part__is_nobody_elses(cluster, fgpu):
    node = vgpu_node(cluster, "vgpu-two", "v100-8q-8GB", gpus=2)
    pods = [cluster.api.pod(annotations={"fgpu.io/gpu-memory": "1Gi"}) for _ in range(3)]
    cluster.settle()
    assert [fgpu.bind(p, node) for p in pods[:2]] == ["", ""]
    for g in fgpu.node_state(node)["gpus"]:
        assert (g["slice"], g["slots"]["charged"], g["milli"]["free"], g["memMib"]["free"]) == (True, 1, 0, 0)
        assert g["allocations"][0]["memMib"] == 8192 and g["allocations"][0]["askedMemMib"] == 1024
    annotations = cluster.api.get_pod(pods[0])["metadata"]["annotations"]
    assert annotations["fgpu.io/mps-active-thread-percentage.c0"] == "100"  # the host divides
    assert "fgpu.io/mps-pinned-device-mem-limit.c0" not in annotations
    assert fgpu.reasons(pods[2], [node]) == {node: "GPUs are held whole by other pods"}


def test_whole_slices_of_the_plugin__as_ever(cluster, fgpu):
    node = vgpu_node(cluster, "vgpu-whole", "v100-4q-4GB", gpus=2)
    pods = [cluster.api.pod(WHOLE) for _ in range(3)]
    cluster.settle()
    assert [fgpu.bind(p, node) for p in pods[:2]] == ["", ""]
    assert fgpu.reasons(pods[2], [node]) == {node: "whole GPUs of the device plugin are taken"}


def test_unknown_profile__reported_and_not_guessed(cluster, fgpu):
    node = vgpu_node(cluster, "vgpu-odd", "v100-4z-4GB")
    assert "does not guess" in fgpu.node_state(node)["note"]
    assert fgpu.node_state(node)["gpus"] == []
    assert fgpu.reasons(pod_object("p", limits=mem(1)), [node]) == {node: "only a device plugin counts GPUs here: see the note in /state"}
    assert fgpu.fits(pod_object("q", limits=WHOLE), [node]) == [node]


def host_nodes(cluster, host):
    """Four nodes with a slice of 4 GB each and one with all 16 GB of the same card."""
    names = [vgpu_node(cluster, f"{host}-{i}", f"v100-{gb}q-{gb}GB") for i, gb in enumerate((4, 4, 4, 4, 16))]
    for name in names:
        cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {
            "fgpu.io/host-group": host, "fgpu.io/host-gpu-memory": "16Gi"}}})
        eventually(lambda: "hostGroup" in cluster.fgpu.node_state(name), "the host group in /state")
    return names[:4], names[4]


GROUP = "physical GPUs are in use by other nodes of the host group"


@pytest.mark.parametrize("kind", ["share", "plugin"])
def test_host_group__day_and_night_on_one_card__never_more_than_it_has(configured, kind):
    """With the day's pods still there the night gets nothing, whether fgpu picks the slice or kubelet, whoever asks
    bind."""
    configured.effective(START)
    cluster, api, fgpu = configured.cluster, configured.cluster.api, configured.fgpu
    day, night = host_nodes(cluster, f"host-{kind}")
    ask = {"limits": WHOLE} if kind == "plugin" else {"annotations": {"fgpu.io/gpu-memory": "4Gi"}}
    desktops, training, late = [api.pod(**ask) for _ in day[:3]], api.pod(**ask), api.pod(**ask)
    cluster.settle()
    for pod, node in zip(desktops, day):
        assert fgpu.bind(pod, node) == ""
    r = fgpu.filter(training, [night])
    assert r["FailedAndUnresolvableNodes"] == {night: GROUP}
    assert GROUP in fgpu.bind(training, night)
    state = fgpu.node_state(night)
    assert state["hostGroup"] == {"name": f"host-{kind}", "gpuMemMib": 16384} and state["gpus"][0]["groupTaken"]
    assert fgpu.fits(training, [*day, night]) == day[3:]
    assert fgpu.audit()["driftByCause"] == {}
    for pod in desktops:
        assert fgpu.reasons(training, [night]) == {night: GROUP}
        api.delete_pod(pod)
    eventually(lambda: fgpu.fits(training, [night]) == [night], "the card to be free")
    assert fgpu.bind(training, night) == ""
    assert set(fgpu.reasons(late, day).values()) == {GROUP}
    assert "groupTaken" not in fgpu.node_state(night)["gpus"][0]
