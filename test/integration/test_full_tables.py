"""Nobody can blind fgpu by filling its tables (issue 12): a tenant writes more made-up names into spec.nodeName than the
ledger has room for. Known nodes go on taking pods, new ones open after a list, and no GPU is given twice."""
import http.client
import json

from judge import check_no_overcommit
from objects import milli, pod_object, uid, whole
from processes import HEADERS, PATIENCE_S, Cluster, eventually, in_threads

NAMED_MAX = 50000  # half of LEDGER_NODES_MAX (include/core/ledger/ledger.h)
THREADS = 4


def create_pods(api, first, end):
    def part(k):
        connection = http.client.HTTPConnection(*api.address, timeout=PATIENCE_S)
        for i in range(first + k, end, THREADS):
            connection.request("POST", "/api/v1/namespaces/evil/pods", json.dumps(
                pod_object(f"evil-{i}", "evil", milli(100), nodeName=f"made-up-{i}")), HEADERS)
            reply = connection.getresponse()
            reply.read()
            assert reply.status == 201, reply.status
        connection.close()
    in_threads(THREADS, part)


def on_node(fgpu, name):
    """UIDs of the pods that hold GPUs of a node; None: it is not known. All nodes are 50,000."""
    nodes = fgpu.state(f"?node={name}")["nodes"]
    return {a["uid"] for g in nodes[0]["gpus"] for a in g["allocations"]} if nodes and nodes[0]["described"] else None


def test_pods_name_more_nodes_than_there_is_room_for__only_the_unknown_is_closed(tmp_path):
    c = Cluster(tmp_path).ready()
    try:
        fill_and_go_on(c)
    except BaseException:
        c.kill()
        raise
    c.stop()


def fill_and_go_on(c):
    api, fgpu = c.api, c.fgpu
    known = c.node(gpus=1)
    create_pods(api, 0, NAMED_MAX + 20)
    hidden = api.pod(milli(300), nodeName="late")
    eventually(lambda: c.fgpu.summary()["turnedAwayPods"] >= 21, "pods to be turned away")
    assert fgpu.metrics()["fgpu_pods_turned_away_total"] >= 21
    eventually(lambda: "find no room in fgpu" in fgpu.log(), "the log to say so")
    assert fgpu.schedule(api.pod(milli(100)), [known]) == known, "a known node takes pods"

    # Who knows whether the pods that were turned away are there? A list does, for which fgpu asks by itself.
    asks = api.pod(whole(1))
    late, empty = api.node(gpus=1, name="late"), api.node(gpus=1, name="empty")
    eventually(lambda: None not in (on_node(fgpu, late), on_node(fgpu, empty)), "the new nodes in /state")
    eventually(lambda: uid(hidden) in on_node(fgpu, late), "the hidden pod in a list")
    assert fgpu.fits(asks, [late]) == [], "its GPU is in use"
    eventually(lambda: fgpu.schedule(asks, [empty]) == empty, "a node without pods to open", timeout_s=2 * PATIENCE_S)
    eventually(lambda: uid(asks) in on_node(fgpu, empty), "its pod to be seen")
    check_no_overcommit(api)
    assert fgpu.audit()["result"] == "clean", "who is turned away is missed by nobody"
    c.check()

    # A restart meets all of it at once, in whatever order the two first lists arrive.
    fgpu.kill()
    fgpu = c.restarted().ready()
    eventually(lambda: on_node(fgpu, late) and uid(hidden) in on_node(fgpu, late), "the hidden pod in the first lists")
    assert fgpu.fits(api.pod(whole(1)), [late, empty]) == [], "both GPUs are in use"
    eventually(lambda: fgpu.schedule(api.pod(milli(100)), [known]) == known, "a known node to take pods")
    check_no_overcommit(api)
    c.check()
