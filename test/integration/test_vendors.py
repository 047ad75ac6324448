"""What device plugins of other vendors publish: counted for pods that ask for it, shared only where the admin says so."""
from configured import START
from objects import devices_of, milli, node_object, pod_object
from processes import eventually

WHOLE_GPUS = {"fgpu.io/allocatable": "whole-gpus"}
NAMES = START + "resources:\n  whole: [nvidia.com/gpu, xilinx.com/fpga, amd.com/gpu]\n"
AMD = NAMES + "  plugins: [{name: amd.com/gpu, vendor: amd, shareable: true}]\n"


def plugin_node(cluster, name, labels=WHOLE_GPUS, **allocatable):
    amounts = {"cpu": "8", "memory": "32Gi", **{k.replace("__", "/").replace("_", "."): str(v) for k, v in allocatable.items()}}
    cluster.api.call("POST", "/api/v1/nodes", node_object(name, 0, labels=labels, status={"allocatable": amounts}), status=201)
    eventually(lambda: cluster.fgpu.node_state(name), f"node {name} in /state")
    return name


def test_f60_fpga__no_share_is_placed_on_it(configured):
    configured.effective(NAMES)
    cluster, fgpu = configured.cluster, configured.fgpu
    node = plugin_node(cluster, "fpga", xilinx_com__fpga=1)
    state = fgpu.node_state(node)
    assert (state["gpus"], state["unmeasured"], state["vendor"]) == ([], True, "other")
    assert "resources.plugins" in state["note"]
    assert fgpu.fits(pod_object("p", limits=milli(500)), [node]) == []
    pod = cluster.api.pod(milli(500))
    cluster.settle()
    assert fgpu.bind(pod, node) != ""
    pods = [cluster.api.pod({"xilinx.com/fpga": 1}) for _ in range(2)]  # its own pods go there as before
    cluster.settle()
    assert fgpu.bind(pods[0], node) == ""
    assert fgpu.fits(pods[1], [node]) == []


def test_amd__shared_where_the_admin_says_so__without_values_for_mps(configured):
    cluster, fgpu = configured.cluster, configured.fgpu
    configured.effective(NAMES)
    node = plugin_node(cluster, "amd", amd_com__gpu=2)
    assert fgpu.fits(pod_object("p", limits=milli(500)), [node]) == []
    configured.effective(AMD)
    assert (len(fgpu.node_state(node)["gpus"]), fgpu.node_state(node)["vendor"]) == (2, "amd")
    pod = cluster.api.pod(milli(500))
    cluster.settle()
    assert fgpu.bind(pod, node) == ""
    bound = cluster.api.get_pod(pod)
    assert [d[:2] for d in devices_of(bound)] in ([(0, 500)], [(1, 500)])
    annotations = bound["metadata"]["annotations"]
    assert annotations["fgpu.io/visible-devices.c0"] in ("0", "1")
    assert not [key for key in annotations if key.startswith("fgpu.io/mps-")]


def test_amd__hand_off_of_another_vendor__no_shares(configured):
    cluster, fgpu = configured.cluster, configured.fgpu
    configured.effective(AMD + "devices: {handOff: nvidia-cdi}\n")
    node = plugin_node(cluster, "amd-cdi", amd_com__gpu=1)
    assert fgpu.node_state(node)["handOffUnfit"] is True
    assert "downward-api" in fgpu.node_state(node)["note"]
    assert fgpu.fits(pod_object("p", limits=milli(500)), [node]) == []
