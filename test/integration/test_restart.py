"""The API server is the only durable store: an end at any moment loses and doubles nothing."""
import random

import pytest

from forgeries import FORGED
from judge import check_no_overcommit, same_as_objects
from objects import mem, milli, node_name, pod_object, whole
from processes import ApiServer, Fgpu, eventually, in_threads, request


def populate(c):
    """Something of everything: bound by us in every shape, by others, leaving, over, waiting, forged, unplaceable."""
    nodes = [c.node(gpus=4) for _ in range(4)]
    for limits in (milli(300), milli(300), mem(8192), whole(1), {"fgpu.io/gpu-milli": 400, "fgpu.io/gpu-count": 2},
                   {"fgpu.io/gpu-milli": 100, "fgpu.io/gpu-memory-mib": 1024}):
        assert c.fgpu.schedule(c.api.pod(limits), nodes)
    c.api.pod(milli(200), nodeName=nodes[0])
    leaving = c.api.pod(milli(100))
    assert c.fgpu.schedule(leaving, nodes)
    c.api.delete_pod(leaving, grace_s=30)
    over = c.api.pod(milli(100))
    assert c.fgpu.schedule(over, nodes)
    c.api.set_phase(over, "Succeeded")
    c.api.pod(milli(500))
    c.api.pod(milli(1500))
    c.api.pod(mem(1024), nodeName="a-node-nobody-knows")
    odd = c.node(gpus=2)
    for text in FORGED.values():
        c.api.pod(milli(10), {"fgpu.io/assignment": text})
        c.api.pod(milli(10), {"fgpu.io/assignment": text}, nodeName=odd)
    return nodes, odd


@pytest.mark.parametrize("how", ["kill -9", "SIGTERM"])
def test_restart__of_a_populated_cluster__state_equal(own, how):
    nodes, odd = populate(own)
    own.settle()
    eventually(lambda: {g["milli"]["charged"] for g in own.fgpu.node_state(odd)["gpus"]} == {10 * len(FORGED)},
               "every forged pod on every GPU of its node")
    before = own.fgpu.content()
    question = pod_object("p", limits=milli(600))
    answer = own.fgpu.filter(question, nodes)
    own.fgpu.kill() if how == "kill -9" else own.fgpu.stop()
    own.restarted()
    eventually(lambda: own.fgpu.content() == before, "the same /state")  # it is served while fgpu still holds off
    if how == "kill -9":  # to wait once is enough
        own.fgpu.ready()
        assert own.fgpu.content() == before
        # the order may be another: pods that have ended taught the first process something, too
        again = own.fgpu.filter(question, nodes)
        assert sorted(again.pop("NodeNames")) == sorted(answer.pop("NodeNames")) and again == answer


def test_kill_9_in_a_burst__nothing_lost_nothing_doubled(own):
    random.seed(4711)
    nodes = [own.node(gpus=2) for _ in range(4)]
    pods = [own.api.pod(milli(random.choice([100, 300, 500, 700]))) for _ in range(60)]
    moment = random.randrange(10, 40)
    told = []

    def caller(worker):
        for i, pod in enumerate(pods[worker::4]):
            if worker == 0 and i * 4 >= moment:
                own.fgpu.kill()
                return
            try:
                names = own.fgpu.fits(pod, nodes)
                if names and own.fgpu.bind(pod, names[0]) == "":
                    told.append((pod, names[0]))
            except OSError:
                return  # the process is gone
    in_threads(4, caller)
    assert told, "the burst had not begun"
    for pod, node in told:
        assert node_name(own.api.get_pod(pod)) == node, "success was reported without a Binding"
    own.restarted().ready()
    check_no_overcommit(own.api)
    assert same_as_objects(own)
    for pod in own.api.list("pods"):
        if node_name(pod) is None:
            own.fgpu.schedule(pod, nodes)
    own.settle()
    check_no_overcommit(own.api)
    assert same_as_objects(own)


def test_other_content_at_the_same_address__ledger_follows(own, tmp_path):
    """The API server comes back with another past (a restored backup, say): nothing known before survives."""
    old = own.node(gpus=1)
    gone = own.api.pod(milli(300))
    assert own.fgpu.schedule(gone, [old]) == old
    own.api.stop()
    own.api = ApiServer(tmp_path, own.api.address[1])
    own.api.faults({"method": "GET", "path": "/api/v1/*", "times": -1, "action": "fail", "status": 503})
    new = own.api.node(gpus=1)
    for _ in range(20):
        own.api.pod(milli(100))
    own.api.faults(compact=True, clear=True, dropWatches=True)
    eventually(lambda: own.fgpu.node_state(new) and not own.fgpu.node_state(old), "the new server's content")
    eventually(lambda: same_as_objects(own) and len(own.fgpu.state()["pending"]) == 20)
    assert own.fgpu.fits(pod_object("p", limits=milli(1)), [old, new]) == [new]


def test_api_server_gone__filter_and_health_go_on(own):
    node = own.node(gpus=1)
    pod = own.api.pod(milli(100))
    own.settle()
    own.api.stop()
    assert own.fgpu.fits(pod_object("p", limits=milli(1)), [node]) == [node]
    assert own.fgpu.bind(pod, node) != ""
    assert request(own.fgpu.health, "GET", "/livez").status == 200
    own.fgpu.stop()


def test_api_server_never_there__waits_alive_and_not_ready(tmp_path):
    api = ApiServer(tmp_path)
    api.stop()
    f = Fgpu(api.url, tmp_path)
    try:
        assert f.filter(pod_object("p", limits=milli(1)), ["n"])["Error"]
        assert f.bind({"metadata": {"name": "p", "namespace": "default", "uid": "u"}}, "n") != ""
        assert request(f.health, "GET", "/livez").status == 200
        assert request(f.health, "GET", "/readyz").status == 500
    finally:
        f.stop()
