"""The ledger follows the API server through cut, compacted and refused watches.

On a cluster of the module's own: its reflectors back off after what is done to them here.
"""
import pytest

from objects import devices_of, milli, pod_object, unique
from processes import eventually


@pytest.fixture
def cluster(own_of_module):
    yield own_of_module
    own_of_module.check()
    own_of_module.clear()


def test_watch_cut__events_meanwhile_are_not_lost(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    for _ in range(3):
        api.faults(dropWatches=True)
        pod = api.pod(milli(100), nodeName=node)
        eventually(lambda: fgpu.free_milli(node) == 900, "the new pod to be charged")
        api.faults(dropWatches=True)
        api.delete_pod(pod)
        eventually(lambda: fgpu.free_milli(node) == 1000, "the pod to be gone")


def test_history_compacted__lists_again_and_drops_what_is_gone(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    stays, goes = api.pod(milli(100), nodeName=node), api.pod(milli(200), nodeName=node)
    eventually(lambda: fgpu.free_milli(node) == 700)
    # No watch may open until the history that holds the deletion is gone.
    api.faults({"method": "GET", "path": "/api/v1/pods", "times": -1, "action": "fail", "status": 503},
               dropWatches=True)
    api.delete_pod(goes)
    api.faults(clear=True, compact=True)
    eventually(lambda: fgpu.free_milli(node) == 900, "the deleted pod to be swept")
    api.delete_pod(stays)
    eventually(lambda: fgpu.free_milli(node) == 1000)


def test_api_server_errors__survived(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    for resource in ("pods", "nodes"):
        api.faults({"method": "GET", "path": f"/api/v1/{resource}", "times": 1, "action": "fail", "status": 500},
                   {"method": "GET", "path": f"/api/v1/{resource}", "times": 1, "action": "close-before"},
                   {"method": "GET", "path": f"/api/v1/{resource}", "times": 1, "action": "fail", "status": 410})
    api.faults(dropWatches=True)
    pod = api.pod(milli(100), nodeName=node)
    eventually(lambda: fgpu.free_milli(node) == 900, "the new pod to be charged")
    api.delete_pod(pod)


def test_node_deleted__no_longer_offered(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = pod_object(unique("p"), limits=milli(1))
    assert fgpu.fits(pod, [node]) == [node]
    api.delete_node(node)
    eventually(lambda: fgpu.fits(pod, [node]) == [])


def test_recreated_pod_of_the_same_name__another_pod(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    name = unique("pod")
    first = api.pod(milli(700), name=name)
    assert fgpu.schedule(first, [node]) == node
    api.delete_pod(first)
    second = api.pod(milli(800), name=name)
    eventually(lambda: fgpu.fits(second, [node]), "the first one's share to be free")
    assert fgpu.schedule(second, [node]) == node
    assert devices_of(api.get_pod(second))[0][1] == 800
    assert not fgpu.allocations(first)


def test_node_replaced__by_one_of_the_same_name__its_pods_still_count(cluster, api, fgpu):
    """The pod's object still says that it is there; whoever removed the node did not remove the pod."""
    node = cluster.node(gpus=1)
    pod = api.pod(milli(600))
    assert fgpu.schedule(pod, [node]) == node
    old = fgpu.node_state(node)["uid"]
    api.delete_node(node)
    api.node(gpus=1, name=node)
    eventually(lambda: fgpu.node_state(node)["uid"] not in ("", old), "the new node")
    assert fgpu.fits(pod_object("p", limits=milli(500)), [node]) == []
    api.delete_pod(pod)
    eventually(lambda: fgpu.fits(pod_object("p", limits=milli(1000)), [node]) == [node], "the GPU to be free")


def test_pod_of_a_missing_node__counted_when_the_node_comes(cluster, api, fgpu):
    name = unique("late-node")
    api.pod(milli(600), nodeName=name)
    cluster.settle()
    cluster.node(gpus=2, name=name)
    eventually(lambda: fgpu.fits(pod_object("p", limits=milli(400)), [name]) == [name], "the node, which its pod had named before")
    assert fgpu.fits(pod_object("p", limits=milli(500)), [name]) == []
