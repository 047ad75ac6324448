"""Blind is not ready (design.md 3.1.7): without news of pods or of nodes for staleAfter no GPU is promised, and it is said
why; a quiet cluster is healthy. And no single object in a list or a watch blinds anybody (3.1.8)."""
import re

import pytest

from lab import event
from objects import milli, pod_object, unique
from processes import Cluster, eventually, request

PODS = {"method": "GET", "path": "/api/v1/pods", "times": -1}
WATCHES = {**PODS, "query": "*watch=true*"}
CHECKS = {**PODS, "query": "limit=1"}


CONFIG = "clientConnection: {staleAfter: 1s}\nserving: {bindsAllPods: true}\n"


@pytest.fixture
def cluster(cluster_of_module):
    c = cluster_of_module
    yield c
    c.api.faults(clear=True, dropWatches=True)
    sees(c.fgpu)
    assert c.alive()
    c.clear()


def why_blind(fgpu):
    """What /readyz/api-contact says; None: nothing is wrong."""
    r = request(fgpu.health, "GET", "/readyz/api-contact")
    return None if r.status == 200 else r.body.decode()


def sees(fgpu):
    eventually(lambda: request(fgpu.health, "GET", "/readyz").status == 200, "fgpu to be ready again")


def blind(cluster, why):
    fgpu, node = cluster.fgpu, cluster.node(gpus=1)
    text = eventually(lambda: why_blind(fgpu), "fgpu to notice")
    text = eventually(lambda: why in (why_blind(fgpu) or "") and why_blind(fgpu), f"{why} in {text}")
    assert "pods" in text
    assert "[-]api-contact failed: reason withheld" in request(fgpu.health, "GET", "/readyz?verbose").body.decode()
    shown = request(fgpu.ops, "GET", "/readyz?verbose")
    assert shown.status == 500 and why in re.search(r"\[-\]api-contact failed: (.*)", shown.body.decode())[1]
    asks = fgpu.filter(pod_object(unique("asks"), limits=milli(100)), [node])
    assert why in asks["Error"] and not asks.get("NodeNames"), asks
    plain = fgpu.filter(pod_object(unique("plain")), [node])
    assert not plain["Error"] and plain["NodeNames"] == [node], "neither hold-off nor staleAfter stops it"
    assert fgpu.metrics()['fgpu_watch_last_contact_seconds{resource="pods"}'] > 1
    assert "No news from the API server" in fgpu.log()


def test_watch_forbidden__not_ready_and_says_so(tmp_path):
    """On a cluster of its own: warnings that repeat are limited, and others of this module have had theirs."""
    with Cluster(tmp_path, CONFIG) as c:
        c.api.faults({**WATCHES, "action": "fail", "status": 403, "message": "may not watch pods"}, dropWatches=True)
        blind(c, "forbids")
        assert "may not watch pods" in c.fgpu.log()
        c.api.faults(clear=True)
        sees(c.fgpu)
        assert "Follows the cluster again" in c.fgpu.log()


def test_bind_while_blind__refused_for_gpus_alone(cluster):
    api, fgpu, node = cluster.api, cluster.fgpu, cluster.node(gpus=1)
    asks, plain = api.pod(milli(100)), api.pod({})
    eventually(lambda: fgpu.states_of(asks) or any(p for p in fgpu.state()["pending"] if p["uid"] == asks["metadata"]["uid"]),
               "the pod to be known")
    api.faults({**WATCHES, "action": "fail", "status": 403}, dropWatches=True)
    eventually(lambda: why_blind(fgpu), "fgpu to notice")
    assert "no news of" in fgpu.bind(asks, node)
    assert fgpu.bind(plain, node) == "", "a pod that asks for no GPU is bound"
    api.faults(clear=True)
    sees(fgpu)
    assert fgpu.bind(asks, node) == ""


def test_silent_watch_on_a_live_server__stays_ready(cluster):
    fgpu = cluster.fgpu
    cluster.api.faults({**WATCHES, "afterBytes": 1, "then": "stall"}, dropWatches=True)
    series = 'fgpu_api_requests_total{verb="check",resource="pods",code="200"}'
    begun = fgpu.metrics().get(series, 0)
    # Twelve checks are three times staleAfter.
    eventually(lambda: fgpu.metrics().get(series, 0) > begun + 12, "checks while the watch says nothing")
    assert why_blind(fgpu) is None or "pods" not in why_blind(fgpu)


def test_silent_watch_and_no_answer__not_ready(cluster):
    cluster.api.faults({**CHECKS, "action": "fail", "status": 503}, {**WATCHES, "afterBytes": 1, "then": "stall"},
                       dropWatches=True)
    blind(cluster, "pods")
    cluster.api.faults(clear=True)
    sees(cluster.fgpu)  # the watch that was silent meanwhile is replaced


def nested(depth):
    return [nested(depth - 1)] if depth else []


ODD = {"NUL in an annotation": {"metadata": {"annotations": {"example.com/x": "\0"}}},
       "NUL in the name of the scheduler": {"spec": {"schedulerName": "\0"}},
       "lone surrogate": {"metadata": {"labels": {"x": "\ud800"}}},
       "deep nesting": {"spec": {"x": nested(80)}},
       "number that is none of ours": {"spec": {"x": 10 ** 40}}}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_odd_object_in_a_watch__the_others_go_on(cluster, odd):
    api, fgpu, node = cluster.api, cluster.fgpu, cluster.node(gpus=1)
    lists = fgpu.metrics()['fgpu_relists_total{resource="pods"}']
    base = {"name": unique("odd"), "namespace": "default", "uid": unique("uid"), "resourceVersion": "1"}
    obj = {"metadata": {**base, **odd.get("metadata", {})}, "spec": {"containers": [], **odd.get("spec", {})}, "status": {}}
    api.faults({**WATCHES, "inject": event("ADDED", obj)}, dropWatches=True)
    eventually(lambda: api.fault_hits()[0] > 0, "the watch to bring it")
    pod = api.pod(milli(100), nodeName=node)
    eventually(lambda: fgpu.allocations(pod), "the next pod to be seen")
    assert fgpu.metrics()['fgpu_relists_total{resource="pods"}'] == lists, "nothing had to be listed again"


def test_node_with_4200_annotations__keeps_its_gpus(cluster):
    node = cluster.node(gpus=2, annotations={f"example.com/a{i}": "" for i in range(4200)})
    assert len(eventually(lambda: cluster.fgpu.node_state(node), "the node")["gpus"]) == 2
    pod = cluster.api.pod(milli(100), annotations={f"example.com/a{i}": "" for i in range(4200)}, nodeName=node)
    eventually(lambda: cluster.fgpu.allocations(pod), "the pod to be charged")
    assert cluster.fgpu.summary()["unreadable"]["count"] == 0
