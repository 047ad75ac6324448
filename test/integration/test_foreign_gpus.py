"""Issue item 15: GPUs that are none, and GPUs that another system hands out, take no shares."""

import pytest

from configured import START
from lab import Lab
from objects import milli, node_object, pod_object, unique
from processes import Cluster, eventually, request, run

WHOLE = {"nvidia.com/gpu": 1}
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
ANY_VERSION = "/apis/resource.k8s.io/*/resourceslices"
UNMEASURED = "only a device plugin counts GPUs here: see the note in /state"
ELSEWHERE = "GPUs belong to another system here: see the note in /state"


def plugin_node(cluster, n=10, labels=None):
    """A node of which nothing but a number in allocatable speaks of GPUs."""
    obj = node_object(unique("plugin"), 0, labels=labels,
                      status={"allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": str(n)}})
    cluster.api.call("POST", "/api/v1/nodes", obj, status=201)
    name = obj["metadata"]["name"]
    eventually(lambda: cluster.fgpu.node_state(name), f"node {name} in /state")
    return name


def share(fgpu, node):
    """Why a share is refused there; "" when it is not."""
    r = fgpu.filter(pod_object("share", limits=milli(100)), [node])
    assert not r["Error"], r
    return "" if r["NodeNames"] else {**r["FailedNodes"], **r["FailedAndUnresolvableNodes"]}[node]


# ---- allocatable alone ----

def test_item_15_allocatable_alone__no_shares_and_plugin_pods_counted(cluster, api, fgpu):
    node = plugin_node(cluster, 2)
    assert share(fgpu, node) == UNMEASURED
    assert fgpu.bind(api.pod(milli(100)), node) != ""
    assert fgpu.reasons(pod_object("whole", limits={"fgpu.io/gpu-count": 1}), [node]) == {node: UNMEASURED}
    state = fgpu.node_state(node)
    assert state["unmeasured"] and state["gpus"] == [] and "fgpu.io/allocatable=whole-gpus" in state["note"]
    assert fgpu.state()["summary"]["unmeasuredNodes"] == 1
    for _ in range(2):
        assert fgpu.schedule(api.pod(WHOLE), [node]) == node
    assert fgpu.reasons(api.pod(WHOLE), [node]) == {node: "whole GPUs of the device plugin are taken"}
    assert fgpu.node_state(node)["wholeGpus"]["charged"] == 2


def test_item_15_label__says_that_allocatable_counts_gpus(cluster, api, fgpu):
    node = plugin_node(cluster, 2)
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"fgpu.io/allocatable": "whole-gpus"}}})
    eventually(lambda: share(fgpu, node) == "", "shares to be taken")
    assert len(fgpu.node_state(node)["gpus"]) == 2
    assert fgpu.state()["summary"]["unmeasuredNodes"] == 0
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"fgpu.io/allocatable": None}}})
    eventually(lambda: share(fgpu, node) == UNMEASURED, "shares to be refused again")


@pytest.mark.parametrize("template, gpus", [("gpus: 1", 1), ("allocatable: whole-gpus", 10)])
def test_item_15_template__is_the_word_of_the_admin(configured, template, gpus):
    fgpu = configured.fgpu
    configured.effective(START)
    node = plugin_node(configured.cluster, 10, labels={"pool": "a"})
    other = plugin_node(configured.cluster, 10, labels={"pool": "b"})
    assert share(fgpu, node) == UNMEASURED
    configured.effective("nodeTemplates: [{label: pool=a, " + template + ", memory: 40Gi}]\n")
    assert len(fgpu.node_state(node)["gpus"]) == gpus
    assert (share(fgpu, node), share(fgpu, other)) == ("", UNMEASURED)


def test_item_15_upgrade__nodes_that_lose_devices_are_named(tmp_path):
    lab = Lab(tmp_path)
    try:
        names = []
        for _ in range(2):
            obj = node_object(unique("was-ten"), 0, status={"allocatable": {"nvidia.com/gpu": "10"}})
            lab.api.call("POST", "/api/v1/nodes", obj, status=201)
            names.append(obj["metadata"]["name"])
        lab.start()
        line = eventually(lambda: [x for x in lab.fgpu.log().splitlines() if "Only allocatable says" in x], "the warning")[0]
        assert "nodes=2" in line and all(n in line for n in names)
        shown = run("state", "--server", lab.fgpu.ops_url)
        assert f"2 nodes have GPUs only by allocatable, and no shares are placed there: {' '.join(names)}\n" in shown.stdout
    finally:
        lab.stop()


# ---- agents of other systems ----

@pytest.mark.parametrize("key", ["hami.io/node-nvidia-register", "volcano.sh/node-vgpu-register"])
def test_item_15_register_annotation__closes_the_node_until_it_goes(cluster, api, fgpu, key):
    node = cluster.node(gpus=1)
    held = api.pod(milli(300))
    assert fgpu.schedule(held, [node]) == node
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {key: "GPU-a,10,81920,100,NVIDIA,0,true:"}}})
    eventually(lambda: share(fgpu, node) == ELSEWHERE, "shares to be refused")
    state = fgpu.node_state(node)
    assert state["elsewhere"] and key.split("/")[0] in state["note"]
    assert state["gpus"][0]["milli"]["free"] == 700  # what runs stays charged
    assert fgpu.bind(api.pod(milli(100)), node) != ""
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {key: None}}})
    eventually(lambda: share(fgpu, node) == "", "shares to be taken again")


def test_item_15_gpushare__closes_by_its_resources(cluster, api, fgpu):
    node = cluster.node(gpus=1, status={"allocatable": {"cpu": "8", "aliyun.com/gpu-count": "1", "aliyun.com/gpu-mem": "80"}})
    assert share(fgpu, node) == ELSEWHERE
    api.patch(f"/api/v1/nodes/{node}/status",
              {"status": {"allocatable": {"aliyun.com/gpu-count": "0", "aliyun.com/gpu-mem": "0"}}})
    eventually(lambda: share(fgpu, node) == "", "shares to be taken")


def test_gpushare__its_plugin_is_gone__its_count_alone_closes_until_it_is_removed(cluster, api, fgpu):
    """It wrote the count itself, so kubelet keeps it (manifests/moving.md)."""
    node = cluster.node(gpus=1, status={"allocatable": {"cpu": "8", "aliyun.com/gpu-count": "1", "aliyun.com/gpu-mem": "0"}})
    assert share(fgpu, node) == ELSEWHERE
    api.patch(f"/api/v1/nodes/{node}/status", {"status": {"allocatable": {"aliyun.com/gpu-count": None}}})
    eventually(lambda: share(fgpu, node) == "", "shares to be taken")


@pytest.mark.parametrize("names,open_", [("[{name: fgpu.io/gpu-milli, unitsPerGPU: 1000}]", False),
                                         ("[{name: fgpu.io/gpu-milli, unitsPerGPU: 1000}, {name: cnvrg.io/metagpu, unitsPerGPU: 100}]", True)])
def test_metagpu__publishes_units__closed_only_where_the_configuration_does_not_name_them(tmp_path, names, open_):
    """What manifests/dedicated names counts as ours; manifests/moving.md says what to do while the plugin runs."""
    with Cluster(tmp_path, f"resources:\n  compute: {names}\n") as cluster:
        obj = node_object(unique("meta"), 0, status={"allocatable": {"cpu": "8", "cnvrg.io/metagpu": "200"}})
        cluster.api.call("POST", "/api/v1/nodes", obj, status=201)
        node = obj["metadata"]["name"]
        eventually(lambda: cluster.fgpu.node_state(node), "the node")
        assert (share(cluster.fgpu, node) == "") == open_
        assert cluster.fgpu.node_state(node).get("elsewhere", False) != open_


def test_a_node_of_kai__looks_like_any_other__open_until_its_pool_is_closed(tmp_path):
    labels = {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.memory": "81920", "gpu-sharing": "kai"}
    status = {"allocatable": {"cpu": "8", "nvidia.com/gpu": "2"}}
    for pools, why in (("[]", ""), ("[{nodeSelector: {gpu-sharing: kai}, state: closed}]", "the node pool takes no new pods now")):
        folder = tmp_path / unique("kai")
        folder.mkdir()
        with Cluster(folder, f"nodePools: {pools}\n") as cluster:
            obj = node_object(unique("kai"), 0, labels=labels, status=status)
            cluster.api.call("POST", "/api/v1/nodes", obj, status=201)
            eventually(lambda: cluster.fgpu.node_state(obj["metadata"]["name"]), "the node")
            assert share(cluster.fgpu, obj["metadata"]["name"]) == why


# ---- ResourceSlices ----

def slice_object(node=None, driver="gpu.nvidia.com", **spec):
    return {"metadata": {"name": unique("slice")},
            "spec": {"driver": driver, "pool": {"name": node or "pool", "generation": 1, "resourceSliceCount": 1},
                     **({"nodeName": node} if node else {}), "devices": [{"name": "gpu-0"}], **spec}}


def add_slice(api, *args, **kw):
    return api.call("POST", SLICES, slice_object(*args, **kw), status=201).json["metadata"]["name"]


def drop_slice(api, name):
    api.call("DELETE", f"{SLICES}/{name}")


def slices(fgpu):
    return fgpu.summary()["resourceSlices"]


def ready(lab):
    lab.fgpu.ready()
    return lab.fgpu


def test_item_15_slices_before_the_start__closed_from_the_first_answer(lab):
    other = lab.api.node(gpus=1)
    add_slice(lab.api, lab.node)
    add_slice(lab.api, other, driver="compute-domain.nvidia.com")
    fgpu = ready(lab.start())
    assert (share(fgpu, lab.node), share(fgpu, other)) == (ELSEWHERE, "")
    assert slices(fgpu) == {"state": "served", "nodes": 1, "note": ""}
    assert "ResourceSlices publish" in fgpu.node_state(lab.node)["note"]


def test_item_15_slices_come_and_go__the_node_follows(lab):
    fgpu = ready(lab.start())
    assert share(fgpu, lab.node) == ""
    held = lab.api.pod(milli(300))
    assert fgpu.schedule(held, [lab.node]) == lab.node
    first, second = add_slice(lab.api, lab.node), add_slice(lab.api, lab.node)
    eventually(lambda: share(fgpu, lab.node) == ELSEWHERE, "shares to be refused")
    assert fgpu.node_state(lab.node)["gpus"][0]["milli"]["free"] == 700
    assert fgpu.bind(lab.api.pod(milli(100)), lab.node) != ""
    drop_slice(lab.api, first)
    late = lab.api.node(gpus=1)
    add_slice(lab.api, late)
    eventually(lambda: share(fgpu, late) == ELSEWHERE, "the later node to be closed")  # so the first DELETED was seen
    assert share(fgpu, lab.node) == ELSEWHERE  # there is another slice
    drop_slice(lab.api, second)
    eventually(lambda: share(fgpu, lab.node) == "", "shares to be taken again")


def test_item_15_slices_of_any_node__close_all(lab):
    name = add_slice(lab.api, allNodes=True)
    fgpu = ready(lab.start())
    assert share(fgpu, lab.node) == ELSEWHERE
    drop_slice(lab.api, name)
    eventually(lambda: share(fgpu, lab.node) == "", "shares to be taken again")


def test_item_15_slice_that_cannot_be_read__counts_for_the_most_it_could_be(lab):
    add_slice(lab.api, lab.node, devices="none")
    other = lab.api.node(gpus=1)
    fgpu = ready(lab.start())
    assert (share(fgpu, lab.node), share(fgpu, other)) == (ELSEWHERE, "")
    assert "A ResourceSlice cannot be read" in fgpu.log()


@pytest.mark.parametrize("versions", [["v1"], ["v1", "v1beta2"]])
def test_item_15_older_api_server__the_version_it_has(lab, versions):
    add_slice(lab.api, lab.node)
    fgpu = ready(lab.start(*[{"path": f"/apis/resource.k8s.io/{v}/resourceslices", "action": "fail", "status": 404,
                              "times": 1000} for v in versions]))
    assert share(fgpu, lab.node) == ELSEWHERE


def test_item_15_no_slices_served__means_none(lab):
    fgpu = ready(lab.start({"path": ANY_VERSION, "action": "fail", "status": 404, "times": 1000}))
    assert share(fgpu, lab.node) == ""
    assert slices(fgpu) == {"state": "absent", "nodes": 0, "note": ""}
    lab.api.faults(clear=True)
    add_slice(lab.api, lab.node)
    fgpu.audit()  # asks again
    eventually(lambda: share(fgpu, lab.node) == ELSEWHERE, "shares to be refused, now that there are slices")


def test_item_15_slices_forbidden__a_warning_and_nothing_closed(lab):
    add_slice(lab.api, lab.node)
    fgpu = ready(lab.start({"path": ANY_VERSION, "action": "fail", "status": 403, "times": 1000}))
    assert share(fgpu, lab.node) == ""
    s = slices(fgpu)
    assert s["state"] == "forbidden" and "list and watch" in s["note"]
    assert "may not list resourceslices" in fgpu.log()
    lab.api.faults(clear=True)
    fgpu.audit()  # asks again
    eventually(lambda: share(fgpu, lab.node) == ELSEWHERE, "shares to be refused, now that we may look")
    assert slices(fgpu) == {"state": "served", "nodes": 1, "note": ""}


def test_item_15_slices_not_known_yet__not_ready(lab):
    add_slice(lab.api, lab.node)
    lab.start({"path": ANY_VERSION, "action": "fail", "status": 500, "times": 1000})
    pod = pod_object("p", limits=milli(100))
    eventually(lambda: "still reading ResourceSlices" in lab.fgpu.filter(pod, [lab.node])["Error"], "the reason")
    assert request(lab.fgpu.health, "GET", "/readyz").status != 200
    lab.api.faults(clear=True)
    assert share(ready(lab), lab.node) == ELSEWHERE


