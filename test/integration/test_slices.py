"""Units of a GPU under other names: cnvrg.io/metagpu with requests that span GPUs, and named sizes."""
import pytest

from configured import START, Configured
from judge import check_no_overcommit, loads_in_state
from objects import MEM_MIB, assignment, milli, node_object, pod_object, unique, whole
from processes import HEAD, eventually, run

UNITS = """resources:
  compute:
  - {name: cnvrg.io/metagpu, unitsPerGPU: 100, aboveOneGPU: span}
  - {name: fgpu.io/gpu-milli, unitsPerGPU: 1000}
"""
SIZES = """sizes:
  small:
    milli: 250
    memory: 4Gi
    variants:
    - {namespaces: [research], milli: 500, memory: 40Gi}
  big: {count: 2, namespaces: [research]}
"""
CONFIG = START + UNITS + SIZES


@pytest.fixture
def cluster(emptied):
    return emptied


def metagpu(n):
    return {"cnvrg.io/metagpu": n}


def size(name):
    return {"fgpu.io/size": name}


def held(api, pod):
    """[(index, milli, memMib)] of the only container."""
    (c,) = assignment(api.get_pod(pod))["containers"]
    return [(d["index"], d["milli"], d["memMib"]) for d in c["devices"]]


def reason(fgpu, node, *args, **kw):
    (text,) = set(fgpu.reasons(pod_object("p", *args, **kw), [node]).values())
    return text


def test_metagpu__two_and_a_half__whole_gpus_and_the_rest_of_a_third(cluster, api, fgpu):
    node = cluster.node(gpus=4)
    wide, half, more = api.pod(metagpu(250)), api.pod(metagpu(50)), api.pod(metagpu(150))
    assert fgpu.schedule(wide, [node]) == node
    devices = held(api, wide)
    assert sorted(m for _, m, _ in devices) == [500, 1000, 1000] and len({i for i, _, _ in devices}) == 3
    assert all(mib == MEM_MIB * m // 1000 for _, m, mib in devices)
    annotations = api.get_pod(wide)["metadata"]["annotations"]
    assert annotations["fgpu.io/visible-devices.c0"].split(",") == [f"GPU-{node}-{i}" for i, _, _ in devices]
    assert fgpu.schedule(half, [node]) == node  # beside the rest
    eventually(lambda: sorted(fgpu.charged_loads(node)) == [(0, 0)] + [(1000, MEM_MIB)] * 3, "the charges")
    assert reason(fgpu, node, limits=metagpu(150)) == "containers of the pod fit on the GPUs alone but not together" \
        or reason(fgpu, node, limits=metagpu(150)) == "too few GPUs with enough free compute"
    api.delete_pod(half)
    eventually(lambda: fgpu.fits(more, [node]), "room")
    assert fgpu.schedule(more, [node]) == node
    eventually(lambda: fgpu.charged_loads(node) == [(1000, MEM_MIB)] * 4, "the charges")
    assert check_no_overcommit(api) == loads_in_state(fgpu.state())


@pytest.mark.parametrize("limits, text", [
    (metagpu(450), "fewer GPUs than the pod asks for"),
    (metagpu(6450), "number of GPUs is not possible: use 1 to 64"),
    ({**metagpu(250), **whole(2)}, "GPU request contradicts itself: with a count or memory give the compute of one GPU"),
    (milli(1500), "GPU share is not possible: use 0.001 to 1 of a GPU in steps of 0.001 or a whole number of GPUs"),
])
def test_metagpu__impossible__refused_with_the_reason(cluster, fgpu, limits, text):
    assert reason(fgpu, cluster.node(gpus=4), limits=limits) == text


def test_metagpu__restart__same_charges_and_the_room_between_is_still_used(cluster, api, fgpu):
    node = cluster.node(gpus=4)
    for n in (30, 250, 70):
        assert fgpu.schedule(api.pod(metagpu(n)), [node]) == node
    eventually(lambda: sum(m for m, _ in fgpu.charged_loads(node)) == 3500, "the watch")
    before, devices = fgpu.charged_loads(node), fgpu.node_state(node)["gpus"]
    assert check_no_overcommit(api) == loads_in_state(fgpu.state())
    fgpu.stop()
    again = cluster.restarted().ready()
    assert again.charged_loads(node) == before
    shown = again.node_state(node)["gpus"]
    assert [[(a["container"], a["kind"], a["milli"]) for a in g["allocations"]] for g in shown] == \
        [[(a["container"], a["kind"], a["milli"]) for a in g["allocations"]] for g in devices]
    assert all(a["state"] == "bound" for g in shown for a in g["allocations"])
    assert again.schedule(api.pod(metagpu(30)), [node]) == node


def test_metagpu__state_read_back__nothing_would_be_charged_otherwise(cluster, api, fgpu, tmp_path):
    node = cluster.node(gpus=4)
    assert fgpu.schedule(api.pod(metagpu(250)), [node]) == node
    eventually(lambda: sum(m for m, _ in fgpu.charged_loads(node)) == 2500, "the watch")
    path = tmp_path / "same.yaml"
    path.write_text(HEAD + CONFIG)
    r = run("whatif", "--config", path, "--server", fgpu.ops_url)
    assert (r.returncode, r.stderr) == (0, "")
    assert "0 of 1 pods would be charged differently" in r.stdout


UNKNOWN = "fgpu.io/size names no size of the fgpu configuration: use a name that stands there under sizes"


def limit(name):
    return {"fgpu.io/size." + name: 1}


def test_sizes_as_limits__by_namespace_and_container__the_same_and_each_its_own(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    ours, theirs = api.pod(limit("small")), api.pod(limit("small"), namespace="research")
    assert fgpu.schedule(ours, [node]) == node and fgpu.schedule(theirs, [node]) == node
    assert [m for _, m, _ in held(api, ours)] == [250]
    assert [(m, mib) for _, m, mib in held(api, theirs)] == [(500, 40 * 1024)]
    assert "keeps for other namespaces" in reason(fgpu, node, limits=limit("big"))
    assert reason(fgpu, node, limits=limit("smal")) == UNKNOWN
    assert "is 1" in reason(fgpu, node, limits={"fgpu.io/size.small": 2})
    assert "requested twice" in reason(fgpu, node, limits=limit("small"), annotations=size("small"))


def test_sizes__by_namespace__what_the_file_says_for_it(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    ours, theirs = api.pod(annotations=size("small")), api.pod(annotations=size("small"), namespace="research")
    assert fgpu.schedule(ours, [node]) == node and fgpu.schedule(theirs, [node]) == node
    assert [m for _, m, _ in held(api, ours)] == [250]
    assert [(m, mib) for _, m, mib in held(api, theirs)] == [(500, 40 * 1024)]
    assert reason(fgpu, node, annotations=size("big")) == \
        "fgpu.io/size names a size that the fgpu configuration keeps for other namespaces"
    assert reason(fgpu, node, annotations=size("huge")) == \
        UNKNOWN

    def more():  # computed every three seconds at most
        return {s["size"]: s["more"] for s in fgpu.summary()["fragmentation"]["moreFit"]}
    eventually(lambda: more()["small"] > 0, "room for small ones")
    assert more()["big"] == 0


def test_sizes__changed_while_pods_run__what_they_hold_never_falls(configured):
    api, fgpu, node = configured.cluster.api, configured.fgpu, configured.cluster.node(gpus=1)
    configured.effective(START + "sizes: {small: {milli: 300, memory: 8Gi}}\n")
    pod = api.pod(annotations=size("small"))
    assert fgpu.schedule(pod, [node]) == node
    configured.effective(START + "sizes: {small: {milli: 100, memory: 1Gi}}\n")
    assert fgpu.charged_loads(node) == [(300, 8192)]
    assert fgpu.schedule(api.pod(annotations=size("small")), [node]) == node
    eventually(lambda: fgpu.charged_loads(node) == [(400, 9216)], "the second one, as it is now")
    configured.effective(START)
    assert fgpu.reasons(api.pod(annotations=size("small")), [node]) == \
        {node: UNKNOWN}
    assert fgpu.charged_loads(node) == [(400, 9216)]


def test_size__appears_in_the_file_after_a_pod_was_refused_for_it__kube_scheduler_is_woken(own):
    configured, api, fgpu, node = Configured(own), own.api, own.fgpu, own.node(gpus=1)
    configured.effective(START)
    eventually(lambda: fgpu.wakes() == 1, "the wake after the start")
    pod = api.pod(limit("late"))
    assert fgpu.reasons(pod, [node]) == {node: UNKNOWN}
    configured.effective(START + "sizes: {late: {milli: 300}}\n")
    eventually(lambda: fgpu.wakes() == 2, "a wake after the size was added")
    assert fgpu.schedule(pod, [node]) == node


# ---- replicas and units that kubelet picks ----

GIB24 = 24576


def sliced_node(cluster, gpus=1, replicas=20, name="nvidia.com/gpu.shared", strategy="time-slicing", offered=None):
    """As NVIDIA's plugin and GPU Feature Discovery publish it."""
    node = unique("sliced")
    obj = node_object(node, 0, labels={
        "nvidia.com/gpu.count": str(gpus), "nvidia.com/gpu.memory": str(GIB24), "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": strategy,
        "nvidia.com/gpu.product": "NVIDIA-A10" + ("-SHARED" if name == "nvidia.com/gpu" else "")},
        status={"allocatable": {"cpu": "64", "memory": "512Gi", name: str(offered or gpus * replicas)}})
    cluster.api.call("POST", "/api/v1/nodes", obj, status=201)
    eventually(lambda: cluster.fgpu.node_state(node), f"node {node} in /state")
    return node


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "nvidia.com/gpu.shared"])
def test_replicas__kubelet_picks__counted_and_not_steered(cluster, api, fgpu, name):
    node = sliced_node(cluster, name=name)
    pods = [api.pod({name: n}) for n in (4, 10, 6, 1)]
    for pod in pods[:3]:
        assert fgpu.schedule(pod, [node]) == node
        assert assignment(api.get_pod(pod))["containers"] == []
    assert fgpu.reasons(pods[3], [node]) == {node: "whole GPUs of the device plugin are taken"}
    eventually(lambda: fgpu.node_state(node)["wholeGpus"]["charged"] == 20, "the watch")
    shown = fgpu.node_state(node)
    whole_gpus = {k: v for k, v in shown["wholeGpus"].items() if k != "allocations"}
    assert whole_gpus == {"capacity": 20, "charged": 20, "free": 0, "picks": "kubelet", "unitsPerGpu": 20,
                          "unit": {"milli": 50, "memMib": GIB24 // 20}}
    assert sorted(a["count"] for a in shown["wholeGpus"]["allocations"]) == [4, 6, 10]
    assert [g["model"] for g in shown["gpus"]] == ["NVIDIA-A10"] and shown["gpus"][0]["allocations"] == []
    other = {"nvidia.com/gpu": 1} if name.endswith("shared") else {"nvidia.com/gpu.shared": 1}
    assert reason(fgpu, node, limits=other) == "no device plugin for the GPU resource the pod asks for"
    fgpu.stop()
    again = cluster.restarted().ready()
    assert again.node_state(node)["wholeGpus"]["charged"] == 20


def test_replicas_and_shares__never_on_one_node(cluster, api, fgpu):
    first, second = sliced_node(cluster), sliced_node(cluster)
    replica, share = api.pod({"nvidia.com/gpu.shared": 1}), api.pod(milli(300))
    assert fgpu.schedule(replica, [first]) == first and fgpu.schedule(share, [second]) == second
    assert fgpu.reasons(api.pod(milli(100)), [first]) == {first: "pods with whole GPUs of a device plugin run here"}
    assert fgpu.reasons(api.pod({"nvidia.com/gpu.shared": 1}), [second]) == {second: "pods with shares of GPUs run here"}


def test_replicas_of_mps__one_to_a_container(cluster, api, fgpu):
    node = sliced_node(cluster, replicas=4, strategy="mps")
    assert reason(fgpu, node, limits={"nvidia.com/gpu.shared": 2}) == \
        "replicas of MPS are handed out one to a container: ask for one"
    for _ in range(4):
        assert fgpu.schedule(api.pod({"nvidia.com/gpu.shared": 1}), [node]) == node
    assert fgpu.node_state(node)["wholeGpus"]["oneToAContainer"] is True


def test_metagpu__its_own_plugin__units_counted_at_the_flip_of_a_word(configured):
    api, fgpu = configured.cluster.api, configured.fgpu
    node = configured.cluster.node(gpus=2, status={"allocatable": {"cpu": "8", "memory": "8Gi", "cnvrg.io/metagpu": "200"}})
    kubelet = UNITS.replace("aboveOneGPU: span", "picks: kubelet")
    configured.effective(START + kubelet)
    pods = [api.pod(metagpu(n)) for n in (150, 50)]
    for pod in pods:
        assert fgpu.schedule(pod, [node]) == node
        assert assignment(api.get_pod(pod))["containers"] == []
    eventually(lambda: fgpu.node_state(node)["wholeGpus"]["free"] == 0, "the watch")
    assert fgpu.node_state(node)["wholeGpus"]["unit"] == {"milli": 10, "memMib": MEM_MIB // 100}
    for pod in pods:
        api.delete_pod(pod)
    configured.effective(START + UNITS)
    pod = api.pod(metagpu(150))
    assert fgpu.schedule(pod, [node]) == node
    assert sorted(m for _, m, _ in held(api, pod)) == [500, 1000]


def test_slices__fgpu_picks__four_ten_and_six_of_twenty_are_a_full_gpu(configured):
    import pathlib
    api, fgpu, node = configured.cluster.api, configured.fgpu, configured.cluster.node(gpus=2, mem_mib=GIB24)
    example = (pathlib.Path(__file__).parents[2] / "config" / "examples" / "slices.yaml").read_text()
    configured.effective(START + example.split("kind: FgpuConfiguration\n")[1])
    got = {}
    for n in (4, 10, 6):
        pod = api.pod({"nvidia.com/gpu.shared": n})
        assert fgpu.schedule(pod, [node]) == node
        got[n] = held(api, pod)
        keys = api.get_pod(pod)["metadata"]["annotations"]
        assert keys["fgpu.io/mps-active-thread-percentage.c0"] == str(5 * n)
        assert keys["fgpu.io/mps-pinned-device-mem-limit.c0"] == f"0={GIB24 * n // 20}M"
        assert keys["fgpu.io/visible-devices.c0"].startswith(f"GPU-{node}-")
    assert {n: [(m, mib) for _, m, mib in d] for n, d in got.items()} == \
        {4: [(200, 4915)], 10: [(500, 12288)], 6: [(300, 7372)]}
    assert len({i for d in got.values() for i, _, _ in d}) == 1
    assert fgpu.schedule(api.pod({"nvidia.com/gpu.shared": 20}), [node]) == node  # the other GPU, whole
    assert reason(fgpu, node, limits={"nvidia.com/gpu.shared": 21}).startswith("GPU share is not possible")


# ---- placement by memory alone ----

def test_memory_alone__two_models_on_an_l40s__a_third_by_what_is_left(configured):
    """As in the article: 48 GB in name, 46,068 MiB in fact; compute is for all of them."""
    api, fgpu = configured.cluster.api, configured.fgpu
    configured.effective(START + """devices:
  memoryReserve: 512Mi
  overrides:
  - {nodeSelector: {gpu: l40s}, memoryOnly: free, maxSharers: 3}
""")
    node = configured.cluster.node(gpus=1, mem_mib=46068, labels={"gpu": "l40s"})
    other = configured.cluster.node(gpus=1, mem_mib=46068)
    models = [api.pod(annotations={"fgpu.io/gpu-memory": m}) for m in ("22Gi", "20Gi")]
    for pod in models:
        assert fgpu.schedule(pod, [node]) == node
        keys = api.get_pod(pod)["metadata"]["annotations"]
        assert keys["fgpu.io/mps-active-thread-percentage.c0"] == "100"
    left = 46068 - 512 - 43008 - 1024  # the reserve of a node without a setting of its own is that of all
    assert reason(fgpu, node, annotations={"fgpu.io/gpu-memory": "2549Mi"}) == "too few GPUs with enough free memory"
    assert fgpu.schedule(api.pod(annotations={"fgpu.io/gpu-memory": "1Gi"}), [node]) == node
    assert reason(fgpu, node, annotations={"fgpu.io/gpu-memory": "1Mi"}) == \
        "GPUs with room already have the maximum number of sharers"
    eventually(lambda: fgpu.charged_loads(node) == [(0, 43008 + 1024)], "the watch")
    gpu = fgpu.node_state(node)["gpus"][0]
    assert gpu["memMib"]["free"] == left and gpu["memMib"]["capacity"] == 46068 - 512
    assert fgpu.schedule(api.pod(annotations={"fgpu.io/gpu-memory": "22778Mi"}), [other]) == other
    eventually(lambda: fgpu.charged_loads(other) == [(500, 22778)], "where memory takes its share of compute")
