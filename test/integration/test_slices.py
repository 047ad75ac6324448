"""Units of a GPU under other names: cnvrg.io/metagpu with requests that span GPUs, and named sizes."""
import pytest

from configured import START
from objects import MEM_MIB, assignment, device, milli, node_object, pod_object, unique, whole
from processes import Cluster, eventually

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


@pytest.fixture(scope="module")
def units_cluster(tmp_path_factory):
    c = Cluster(tmp_path_factory.mktemp("units"), START + UNITS + SIZES)
    yield c.ready()
    c.stop()


@pytest.fixture
def cluster(units_cluster):
    yield units_cluster
    units_cluster.check()
    units_cluster.clear()


@pytest.fixture
def api(cluster):
    return cluster.api


@pytest.fixture
def fgpu(cluster):
    return cluster.fgpu


def metagpu(n):
    return {"cnvrg.io/metagpu": n}


def size(name):
    return {"fgpu.io/size": name}


def held(api, pod):
    """[(index, milli, memMib)] of the only container."""
    (c,) = assignment(api.get_pod(pod))["containers"]
    return [(d["index"], d["milli"], d["memMib"]) for d in c["devices"]]


def charged(fgpu, node):
    return [(g["milli"]["charged"], g["memMib"]["charged"]) for g in fgpu.node_state(node)["gpus"]]


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
    eventually(lambda: sorted(charged(fgpu, node)) == [(0, 0)] + [(1000, MEM_MIB)] * 3, "the charges")
    assert reason(fgpu, node, limits=metagpu(150)) == "containers of the pod fit on the GPUs alone but not together" \
        or reason(fgpu, node, limits=metagpu(150)) == "too few GPUs with enough free compute"
    api.delete_pod(half)
    eventually(lambda: fgpu.fits(more, [node]), "room")
    assert fgpu.schedule(more, [node]) == node
    eventually(lambda: charged(fgpu, node) == [(1000, MEM_MIB)] * 4, "the charges")


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
    eventually(lambda: sum(m for m, _ in charged(fgpu, node)) == 3500, "the watch")
    before, devices = charged(fgpu, node), fgpu.node_state(node)["gpus"]
    fgpu.stop()
    again = cluster.restarted().ready()
    assert charged(again, node) == before
    shown = again.node_state(node)["gpus"]
    assert [[(a["container"], a["kind"], a["milli"]) for a in g["allocations"]] for g in shown] == \
        [[(a["container"], a["kind"], a["milli"]) for a in g["allocations"]] for g in devices]
    assert all(a["state"] == "bound" for g in shown for a in g["allocations"])
    assert again.schedule(api.pod(metagpu(30)), [node]) == node


def test_metagpu__state_read_back__nothing_would_be_charged_otherwise(cluster, api, fgpu, tmp_path):
    import subprocess
    from processes import BINARY
    node = cluster.node(gpus=4)
    assert fgpu.schedule(api.pod(metagpu(250)), [node]) == node
    eventually(lambda: sum(m for m, _ in charged(fgpu, node)) == 2500, "the watch")
    path = tmp_path / "same.yaml"
    path.write_text("apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n" + START + UNITS + SIZES)
    r = subprocess.run([str(BINARY), "whatif", "--config", str(path), "--server", "http://%s:%d" % fgpu.ops],
                       capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, "")
    assert "0 of 1 pods would be charged otherwise" in r.stdout


def test_sizes__by_namespace__what_the_file_says_for_it(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    ours, theirs = api.pod(annotations=size("small")), api.pod(annotations=size("small"), namespace="research")
    assert fgpu.schedule(ours, [node]) == node and fgpu.schedule(theirs, [node]) == node
    assert [m for _, m, _ in held(api, ours)] == [250]
    assert [(m, mib) for _, m, mib in held(api, theirs)] == [(500, 40 * 1024)]
    assert reason(fgpu, node, annotations=size("big")) == \
        "annotation fgpu.io/size names a size that the fgpu configuration keeps for other namespaces"
    assert reason(fgpu, node, annotations=size("huge")) == \
        "annotation fgpu.io/size names no size of the fgpu configuration"
    more = {s["size"]: s["more"] for s in fgpu.state("?fields=summary")["summary"]["fragmentation"]["moreFit"]}
    assert more["big"] == 0 and more["small"] > 0


def test_sizes__changed_while_pods_run__what_they_hold_never_falls(configured):
    api, fgpu, node = configured.cluster.api, configured.fgpu, configured.cluster.node(gpus=1)
    configured.effective(START + "sizes: {small: {milli: 300, memory: 8Gi}}\n")
    pod = api.pod(annotations=size("small"))
    assert fgpu.schedule(pod, [node]) == node
    configured.effective(START + "sizes: {small: {milli: 100, memory: 1Gi}}\n")
    assert charged(fgpu, node) == [(300, 8192)]
    assert fgpu.schedule(api.pod(annotations=size("small")), [node]) == node
    eventually(lambda: charged(fgpu, node) == [(400, 9216)], "the second one, as it is now")
    configured.effective(START)
    assert fgpu.reasons(api.pod(annotations=size("small")), [node]) == \
        {node: "annotation fgpu.io/size names no size of the fgpu configuration"}
    assert charged(fgpu, node) == [(400, 9216)]
