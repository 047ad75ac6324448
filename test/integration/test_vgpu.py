"""Nodes of virtual GPUs with a fixed profile (K8vGPUSharing): a label names what every GPU of the node is."""
from configured import START
from objects import mem, node_object, pod_object
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


def test_slice__taken_in_part__is_nobody_elses(cluster, fgpu):
    node = vgpu_node(cluster, "vgpu-two", "v100-8q-8GB", gpus=2)
    pods = [cluster.api.pod(annotations={"fgpu.io/gpu-memory": "1Gi"}) for _ in range(3)]
    cluster.settle()
    assert [fgpu.bind(p, node) for p in pods[:2]] == ["", ""]
    assert sorted(g["slots"]["charged"] for g in fgpu.node_state(node)["gpus"]) == [1, 1]
    assert fgpu.reasons(pods[2], [node]) == {node: "GPUs with room already have the maximum number of sharers"}


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
    assert fgpu.reasons(pod_object("p", limits=mem(1)), [node]) == {node: "no GPU that fgpu may hand out"}
    assert fgpu.fits(pod_object("q", limits=WHOLE), [node]) == [node]
