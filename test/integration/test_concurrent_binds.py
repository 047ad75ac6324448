"""1,000 binds in flight at once, while the API server takes its time."""
import http.client
import json

from judge import check_no_overcommit
from objects import assignment, milli, node_name, pod_object, uid
from processes import HEADERS, PATIENCE_S, eventually

CONFIG = "clientConnection: {bindDeadline: 9s}\n"
BINDS, NODES = 1000, 20


def connected(c):
    connection = http.client.HTTPConnection(*c.fgpu.verbs, timeout=PATIENCE_S)
    connection.connect()
    return connection


def send_bind(connection, pod, node):
    m = pod["metadata"]
    connection.request("POST", "/v1/bind", json.dumps({
        "PodName": m["name"], "PodNamespace": m["namespace"], "PodUID": m["uid"], "Node": node}), HEADERS)


def test_thousand_binds_in_flight__all_answered_none_lost(cluster_of_module):
    c = cluster_of_module
    nodes = [c.api.node(gpus=8) for _ in range(NODES)]
    pods = [c.api.pod(milli(100)) for _ in range(BINDS)]
    eventually(lambda: c.fgpu.summary()["pods"]["pending"] == BINDS and c.fgpu.summary()["nodes"] == NODES, "fgpu to see them")
    # The client has 64 connections: while these are held, nobody gets an answer. All have to be on their way before the
    # first deadline passes, so what can be done ahead is.
    c.api.faults({"method": "POST", "path": "*/binding", "times": 64, "action": "pass", "delayMs": 7500})
    calls = [connected(c) for _ in pods]
    for i, (call, pod) in enumerate(zip(calls, pods)):
        send_bind(call, pod, nodes[i % NODES])
    eventually(lambda: c.fgpu.summary()["bindsInFlight"] == BINDS, "all of them in flight")
    # Whoever comes now is served: filter, /state, and one bind too many hears at once.
    assert set(c.fgpu.fits(pod_object("probe", limits=milli(50)), nodes)) == set(nodes)
    assert c.fgpu.summary()["pods"]["reserved"] == BINDS
    late = c.api.pod(milli(100))
    eventually(lambda: c.fgpu.summary()["pods"]["pending"] == 1, "the late one")
    assert "too many binds" in c.fgpu.bind(late, nodes[0])

    replies = [x.getresponse() for x in calls]
    answers = [json.loads(r.read()) for r in replies]
    for x in calls:
        x.close()
    assert {r.status for r in replies} == {200} and all(set(a) == {"Error"} for a in answers)
    # A busy machine may let some pass their deadline. What was answered with success is bound; of the others nobody
    # knows it yet, and a later bind succeeds.
    for i, answer in enumerate(answers):
        if answer["Error"] == "":
            assert node_name(c.api.get_pod(pods[i])) == nodes[i % NODES]
        else:
            eventually(lambda i=i: c.fgpu.bind(pods[i], nodes[i % NODES]) == "", answer["Error"])
    assert c.fgpu.bind(late, nodes[0]) == ""
    eventually(lambda: c.fgpu.summary()["bindsInFlight"] == 0 and c.fgpu.summary()["pods"]["bound"] == BINDS + 1, "the end")
    listed = {uid(p): p for p in c.api.list("pods")}
    assert all(node_name(listed[uid(p)]) == nodes[i % NODES] and assignment(listed[uid(p)])
               for i, p in enumerate(pods))
    check_no_overcommit(c.api)
    assert c.fgpu.audit()["result"] == "clean"
    c.check()
