"""consistency: strict (decision 0103): no GPU gets more than its capacity, however late something lands and however many
fgpu are active. Every fgpu here decides at once (no hold-off, no election), and where it matters nobody hears of anything:
the watches stand still after the first list.
"""
import http.client
import json
import random
import re
import threading

import pytest

from judge import check_no_overcommit
from objects import milli, node_name, pod_path, uid, unique, whole
from processes import Site, eventually, in_threads, request, run
from traces import lines_of, of_type

LEASES = "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases"
REST = "clientConnection: {holdOff: 0s, bindDeadline: %s, runObject: ''}\n"
STRICT = "consistency: strict\n" + REST % "3s"
PATIENT = "consistency: strict\n" + REST % "9s"
DEFAULT = REST % "3s"
ASKED_AUDITS = STRICT + "audit: {interval: 0, settle: 300ms}\n"
DEAF = {"method": "GET", "query": "*watch=true*", "times": -1, "afterBytes": 1, "then": "stall"}
MAY_LAND = "earlier decision for this node may still take effect"


class Strict(Site):
    def start(self, config=STRICT):
        directory = self.directory / f"fgpu-{len(self.all)}"
        directory.mkdir()
        return self.launch(directory, config).ready()

    def path(self, node):
        return f"{LEASES}/fgpu-intents.{node}"

    def intents(self, node):
        """[(uid, version)] of the object of the node."""
        m = self.api.call("GET", self.path(node)).json["metadata"]
        lines = [line.split(" ") for line in m["annotations"]["fgpu.io/intents"].splitlines()]
        assert m.get("finalizers", []) == (["fgpu.io/intents"] if lines else [])
        assert m["annotations"]["fgpu.io/node"] == node
        return [(line[0], line[2]) for line in lines]

    def deaf(self):
        """Whoever starts from now on hears nothing after its first list."""
        self.api.faults(DEAF, watchList="refused")

    def hold(self, pod):
        """Its Binding is with etcd, which the API server cannot reach."""
        self.api.faults({"method": "POST", "path": pod_path(pod) + "/binding", "times": -1, "action": "commit-late", "status": 504})

    def bound(self, *pods):
        return [node_name(self.api.get_pod(p)) for p in pods]

    def patch(self, pod):
        """As kube-scheduler notes a failure."""
        self.api.patch_pod(pod, {"status": {"conditions": [{"type": "PodScheduled", "status": "False",
                                                            "message": unique("m")}]}}, "/status")


@pytest.fixture
def site(tmp_path):
    s = Strict(tmp_path)
    yield s
    s.end()


def version(pod):
    return pod["metadata"]["resourceVersion"]


def test_bind__intent_is_written_before__stays_until_the_pod_is_gone(site):
    fgpu, node = site.start(), site.api.node(gpus=2)
    first, second, third = (site.api.pod(whole(1)) for _ in range(3))
    assert fgpu.bind(first, node) == ""
    assert site.intents(node) == [(uid(first), version(first))]
    assert fgpu.bind(second, node) == ""
    assert sorted(site.intents(node)) == sorted((uid(p), version(p)) for p in (first, second))
    site.api.delete_pod(first)
    eventually(lambda: fgpu.fits(third, [node]) == [node], "the end of the first pod")
    assert fgpu.bind(third, node) == ""
    assert sorted(site.intents(node)) == sorted((uid(p), version(p)) for p in (second, third))
    fgpu.stop()


@pytest.mark.parametrize("config", [STRICT, DEFAULT], ids=["strict", "default"])
def test_two_are_active_and_deaf__gpu_given_once(site, config):
    """With the default both give it away: the test sees what it is for."""
    node = site.api.node(gpus=1)
    pods = [site.api.pod(whole(1)) for _ in range(2)]
    site.deaf()
    both = [site.start(config).expect_incidents() for _ in range(2)]
    answers = [f.bind(p, node) for f, p in zip(both, pods)]
    if config is DEFAULT:
        assert answers == ["", ""] and site.bound(*pods) == [node, node]
        return
    assert answers[0] == "" and answers[1] != "" and site.bound(*pods) == [node, None]
    assert both[1].charged(node) == [1000]  # the second has asked for the pod
    check_no_overcommit(site.api)


@pytest.mark.parametrize("config", [STRICT, DEFAULT], ids=["strict", "default"])
def test_binding_of_a_dead_one_lands_whenever__gpu_given_once(site, config):
    node, late, rival = site.api.node(gpus=1), *(site.api.pod(whole(1)) for _ in range(2))
    first = site.start(config)
    dies_while_binding(site, first, late, node)
    second = site.start(config).expect_incidents()
    answer = second.bind(rival, node)
    assert site.api.faults(commit=True)["landed"] > 0
    if config is DEFAULT:
        assert answer == "" and site.bound(late, rival) == [node, node]
        return
    assert MAY_LAND in answer
    assert site.bound(late, rival) == [node, None]
    assert second.bind(rival, node) not in ("", answer)
    check_no_overcommit(site.api)


def dies_while_binding(site, fgpu, pod, node):
    """Whether the Binding lands is not decided yet."""
    site.hold(pod)
    assert fgpu.bind(pod, node) != ""
    fgpu.kill()


def in_doubt(fgpu):
    """How many nodes are; everybody who says it says the same."""
    n = fgpu.summary()["nodesInDoubt"]
    assert fgpu.metrics()["fgpu_nodes_in_doubt"] == n
    return n


def test_F160_intent_of_a_dead_one_lasts__its_pod_is_named(site):
    node, late, rival = site.api.node(gpus=1), *(site.api.pod(whole(1)) for _ in range(2))
    first = site.start()
    dies_while_binding(site, first, late, node)
    second = site.start()
    name = late["metadata"]["name"]

    def is_named():
        assert MAY_LAND in second.bind(rival, node)
        return [line for line in second.log().splitlines() if "No pod with GPUs is bound to a node" in line and name in line]

    eventually(is_named, "the pod of the intent in the log")
    assert len(is_named()) == 1 and in_doubt(second) == 1
    site.patch(late)
    assert second.bind(rival, node) == ""
    assert in_doubt(second) == 0
    second.stop()


REFUSES = "bind refuses 1 of these now, because an earlier decision for the node may still take effect"


def test_F173_best_node_is_in_doubt__bound_on_another_with_one_candidate(site, tmp_path):
    """Filter names one node, as by default. What bind will refuse comes last; whoever looks sees why."""
    config = STRICT + "packing: {candidates: 1}\nflightRecorder: {memory: 64Mi}\n"
    nodes, late, rival = [site.api.node(gpus=1) for _ in range(2)], *(site.api.pod(whole(1)) for _ in range(2))
    first = site.start(config)
    (best,) = first.fits(rival, nodes)
    (other,) = set(nodes) - {best}
    dies_while_binding(site, first, late, best)
    second = site.start(config)
    assert second.fits(rival, nodes) == [best]  # nobody has asked yet
    assert MAY_LAND in second.bind(rival, best)
    # two looks are no doubt: it may have been another process at this very moment
    eventually(lambda: second.fits(rival, nodes) == [other] or not second.bind(rival, best), "the other node to be named")
    scores = second.prioritize(rival, nodes)
    assert scores[other] > scores[best]
    assert second.fits(rival, [best]) == [best]  # where nothing else fits
    (name, namespace) = (rival["metadata"][k] for k in ("name", "namespace"))
    explained = request(second.ops, "GET", f"/v1/explain?pod={namespace}/{name}").json
    assert explained["fitting"] == [other, best] and explained["inDoubt"] == 1 and REFUSES in explained["text"]
    assert REFUSES in request(second.ops, "POST", "/v1/whatif", {"limits": {"fgpu.io/gpu-count": "1"}, "count": 1}).json["text"]
    assert preempted(second, rival, nodes) == [other] and preempted(second, rival, [best]) == [best]
    assert second.fits(rival, nodes) == [other]
    assert second.bind(rival, other) == "" and in_doubt(second) == 1
    (decision,) = [d for d in second.state()["decisions"] if d["uid"] == uid(rival)]
    assert (decision["best"], decision["by"]) == (other, "in_doubt")
    site.patch(late)
    eventually(lambda: in_doubt(second) == 0, "the end of the doubt without a bind")
    assert second.fits(late, nodes) == [best]
    same_again(second, tmp_path, {"doubt": [best], "doubtEnd": [best]})
    second.stop()


def preempted(fgpu, pod, nodes):
    """The nodes that may take the pod once others are evicted."""
    return list(fgpu.post("preempt", {"Pod": pod, "NodeNameToMetaVictims": {n: {"Pods": []} for n in nodes}})["NodeNameToMetaVictims"])


def same_again(fgpu, tmp_path, wanted):
    """What was decided is decided again, and these lines are in the trace: {type: [node]}."""
    path = tmp_path / "trace.jsonl"
    assert run("trace", "--server", fgpu.ops_url, "--out", path).returncode == 0
    _, lines = lines_of(path.read_text())
    assert {t: [line["node"] for line in of_type(lines, t)] for t in wanted} == wanted
    r = run("replay", path)
    assert (r.returncode, r.stderr) == (0, "") and r.stdout.endswith(": all as recorded.\n"), r.stdout


def test_F174_node_of_a_host_group__refused_by_filter_with_the_reason(site):
    shared, alone, pod = site.api.node(gpus=1), site.api.node(gpus=1), site.api.pod(whole(1))
    fgpu = site.start(STRICT)
    site.api.patch(f"/api/v1/nodes/{shared}", {"metadata": {"labels": {"fgpu.io/host-group": "h"}}})
    eventually(lambda: "hostGroup" in fgpu.node_state(shared), "the group in /state")
    why = "consistency strict does not cover nodes that share physical GPUs"
    assert fgpu.reasons(pod, [shared]) == {shared: why}
    assert fgpu.filter(pod, [shared])["FailedAndUnresolvableNodes"] == {shared: why}
    assert why in fgpu.bind(pod, shared)
    assert fgpu.schedule(pod, [shared, alone]) == alone
    fgpu.stop()


def test_F171_pod_of_an_intent_is_stripped__named_and_counted_until_it_is_gone(site):
    """It asked by an annotation, and somebody took all of them away. Nothing says any more what it uses."""
    config = "dialects: {kai: serve}\naudit: {interval: 0, settle: 300ms}\n"
    node, stripped, rival = site.api.node(gpus=2), site.api.pod(annotations={"gpu-fraction": "0.5"}), site.api.pod(whole(1))
    first = site.start(STRICT + config)
    assert first.bind(stripped, node) == ""
    first.kill()
    stripped = site.api.get_pod(stripped)
    site.api.patch_pod(stripped, {"metadata": {"annotations": dict.fromkeys(stripped["metadata"]["annotations"])}})
    second = site.start("consistency: strict\n" + REST % "1s" + config)
    assert second.charged(node) == [0, 0]
    told = "nothing says any more which: until that one ends or is deleted"

    def is_named():
        assert MAY_LAND in second.bind(rival, node)
        return [line for line in second.log().splitlines() if told in line and stripped["metadata"]["name"] in line]

    eventually(is_named, "the stripped pod in the log")
    second.audit()
    assert len(is_named()) == 1 and in_doubt(second) == 1
    site.api.delete_pod(stripped)
    eventually(lambda: second.audit() and in_doubt(second) == 0, "the node to open without a bind")
    eventually(lambda: second.bind(rival, node) == "", "the bind")
    second.stop()


def test_intent_of_a_dead_one__pod_patched_or_gone__proven_dead(site):
    node, patched, gone, rival = site.api.node(gpus=2), *(site.api.pod(whole(1)) for _ in range(3))
    first = site.start()
    for pod in (patched, gone):
        site.hold(pod)
    answers = in_threads(2, lambda i: first.bind((patched, gone)[i], node))
    assert "" not in answers
    first.kill()
    second = site.start()
    assert MAY_LAND in second.bind(rival, node)
    site.api.delete_pod(gone)
    site.patch(patched)
    assert second.bind(rival, node) == ""
    second.stop()
    assert site.api.faults(commit=True)["landed"] == 0
    assert site.intents(node) == [(uid(rival), version(rival))]
    check_no_overcommit(site.api)


def test_intents_of_a_dead_one_land_late__no_harm(site):
    node, other, pod, rival = site.api.node(gpus=2), *(site.api.pod(whole(1)) for _ in range(3))
    first = site.start()
    assert first.bind(other, node) == ""
    site.api.delete_pod(other)
    eventually(lambda: len(first.fits(pod, [node])) and first.charged(node) == [0, 0], "the end of the first pod")
    site.api.faults({"method": "PATCH", "path": site.path(node), "times": -1, "action": "commit-late", "status": 504})
    assert first.bind(pod, node) != ""
    assert site.bound(pod) == [None]
    first.kill()
    second = site.start()
    assert site.api.faults(clear=True, commit=True)["landed"] == 1  # each was sent over the same revision
    assert site.intents(node) == [(uid(pod), version(pod))]
    assert MAY_LAND in second.bind(rival, node)  # nothing will land, but only the dead one knew
    site.patch(pod)
    assert second.bind(rival, node) == ""
    assert site.intents(node) == [(uid(rival), version(rival))]


def events_about(site, name):
    return {e["reason"] for e in site.api.list("events") if e["regarding"]["name"] == name}


@pytest.mark.parametrize("config", [STRICT, DEFAULT], ids=["strict", "default"])
def test_others_bind_pods_where_there_is_no_room__counted_and_reported(site, config):
    """They write no intent: strict promises nothing about them, and says as much of them as the default."""
    node = site.api.node(gpus=1)
    fgpu = site.start(config)
    ours, behind, rival = site.api.pod(whole(1)), site.api.pod(milli(200)), site.api.pod(milli(100))
    assert fgpu.bind(ours, node) == ""
    preset = site.api.pod(milli(500), nodeName=node)
    site.api.bind_behind_our_back(behind, node)
    eventually(lambda: fgpu.charged(node) == [1700], "the pods of others to be counted")
    m = fgpu.metrics()
    assert (m["fgpu_overcommitted_devices"], m['fgpu_ledger_pods{state="foreign"}']) == (1, 2)
    eventually(lambda: "GPUOvercommitted" in events_about(site, node), "an Event on the node")
    for pod in (preset, behind):
        eventually(lambda: "GPUAssignmentMissing" in events_about(site, pod["metadata"]["name"]), "an Event on the pod")
    error = fgpu.bind(rival, node)
    assert error != "" and MAY_LAND not in error and in_doubt(fgpu) == 0
    assert site.bound(rival) == [None]
    if config is STRICT:
        assert site.intents(node) == [(uid(ours), version(ours))]
    site.api.delete_pod(ours)
    site.api.delete_pod(preset)
    eventually(lambda: fgpu.charged(node) == [200], "the end of two of them")
    assert fgpu.bind(rival, node) == ""
    fgpu.stop()


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_somebody_else_binds_the_pod_of_an_intent__node_opens(site, where):
    node, other = site.api.node(gpus=1), site.api.node(gpus=1)
    late, rival = (site.api.pod(whole(1)) for _ in range(2))
    first = site.start()
    dies_while_binding(site, first, late, node)
    second = site.start()
    if where == "here":
        eventually(lambda: MAY_LAND in second.bind(rival, node), "the doubt")
    site.api.faults(clear=True)
    bound_to = node if where == "here" else other
    site.api.bind_behind_our_back(late, bound_to)
    eventually(lambda: second.charged(bound_to) == [1000], "the pod to be counted")
    error = second.bind(rival, node)
    assert MAY_LAND not in error and (error == "") == (where == "elsewhere")
    assert in_doubt(second) == 0
    assert site.api.faults(commit=True)["landed"] == 0
    eventually(lambda: second.charged(node) == [1000] and second.charged(other) == [1000 if where == "elsewhere" else 0], "the charges")
    check_no_overcommit(site.api)
    second.stop()


def lease_of(site, node):
    return request(site.api.address, "GET", site.path(node)).status


def test_node_is_gone_and_its_pods__lease_removed(site):
    gone, kept = site.api.node(gpus=2), site.api.node(gpus=2)
    fgpu = site.start(ASKED_AUDITS)
    pods = [site.api.pod(whole(1)) for _ in range(2)]
    for pod, node in zip(pods, (gone, kept)):
        assert fgpu.bind(pod, node) == ""
        site.api.delete_pod(pod)
    site.api.delete_node(gone)
    eventually(lambda: fgpu.node_state(gone) is None, "the end of the node")
    eventually(lambda: fgpu.audit() and lease_of(site, gone) == 404, "the end of the Lease")
    assert site.intents(kept) == [(uid(pods[1]), version(pods[1]))]
    eventually(lambda: "Removed the Lease of a node that is gone" in fgpu.log(), "a line in the log")
    site.api.node(name=gone, gpus=2)
    again = site.api.pod(whole(1))
    eventually(lambda: fgpu.fits(again, [gone]) == [gone], "the node that is made again")
    assert fgpu.bind(again, gone) == ""
    assert site.intents(gone) == [(uid(again), version(again))]
    fgpu.stop()


def test_node_is_gone_and_made_again_while_a_binding_may_land__counted(site):
    """An owner that is the Node would be another one now."""
    node, late, rival = site.api.node(gpus=1), *(site.api.pod(whole(1)) for _ in range(2))
    first = site.start()
    dies_while_binding(site, first, late, node)
    site.api.delete_node(node)
    second = site.start(ASKED_AUDITS).expect_incidents()
    second.audit()
    read = 'fgpu_api_requests_total{verb="get",resource="pods",code="200"}'
    eventually(lambda: second.metrics().get(read, 0) > 0, "the pod of the intent to be asked for")
    assert site.intents(node) == [(uid(late), version(late))]
    site.api.node(name=node, gpus=1)
    eventually(lambda: second.fits(rival, [node]) == [node], "the node that is made again")
    assert MAY_LAND in second.bind(rival, node)
    assert site.api.faults(commit=True)["landed"] > 0
    assert second.bind(rival, node) != ""
    assert site.bound(late, rival) == [node, None]
    check_no_overcommit(site.api)


def test_leases_may_not_be_listed__said_once(site):
    site.api.faults({"method": "GET", "path": LEASES, "times": -1, "action": "fail", "status": 403})
    fgpu = site.start(ASKED_AUDITS)
    read = 'fgpu_api_requests_total{verb="list",resource="leases",code="403"}'
    for n in (1, 2):
        fgpu.audit()
        eventually(lambda: fgpu.metrics().get(read, 0) == n, "the list to be asked for")
    eventually(lambda: "apply manifests/strict again" in fgpu.log(), "a line with the remedy")
    assert len(re.findall("apply manifests/strict again", fgpu.log())) == 1
    fgpu.stop()


@pytest.mark.parametrize("action", ["close-after", "close-before", "fail-after"])
def test_answer_to_the_intents_is_lost__read_and_bound_in_the_same_call(site, action):
    node, pods = site.api.node(gpus=2), [site.api.pod(whole(1)) for _ in range(2)]
    fgpu = site.start(PATIENT)
    for method, path, pod in (("POST", LEASES, pods[0]), ("PATCH", site.path(node), pods[1])):
        rule = {"method": method, "path": path, "action": action, **({"status": 504} if action == "fail-after" else {})}
        site.api.faults({**rule, "times": 2}, clear=True)  # the transport sends a second time
        assert fgpu.bind(pod, node) == "", fgpu.log()
    assert site.bound(*pods) == [node, node]
    assert sorted(site.intents(node)) == sorted((uid(p), version(p)) for p in pods)


@pytest.mark.parametrize("text", ["nonsense\n", "u ../d/p 5 a\n"], ids=["line", "F160-name"])
def test_intents_cannot_be_written_or_read__nothing_is_bound_and_it_is_said(site, text):
    node, pod = site.api.node(gpus=1), site.api.pod(whole(1))
    fgpu = site.start()
    site.api.faults({"method": "POST", "path": LEASES, "times": -1, "action": "fail", "status": 403})
    assert "may not read or write the intents" in fgpu.bind(pod, node)
    site.api.faults({"method": "POST", "path": LEASES, "times": -1, "action": "fail", "status": 404}, clear=True)
    # as without the namespace; a bind that ends in the pause after the last error says that one
    eventually(lambda: "could not be read or written" in fgpu.bind(pod, node), "the new error")
    site.api.faults(clear=True)
    site.api.call("POST", LEASES, {"metadata": {"name": f"fgpu-intents.{node}", "annotations": {
        "fgpu.io/node": node, "fgpu.io/intents": text}}, "spec": {}}, status=201)
    eventually(lambda: "illegible" in fgpu.bind(pod, node), "the next one")
    assert site.bound(pod) == [None] and in_doubt(fgpu) == 1
    assert len(re.findall("intents of a node are illegible", fgpu.log())) == 1
    site.api.call("DELETE", site.path(node))
    eventually(lambda: fgpu.bind(pod, node) == "", "the bind without the broken object")
    assert in_doubt(fgpu) == 0


def test_rights_are_missing__not_ready_with_the_remedy_until_they_are_there(site):
    node, pod, plain = site.api.node(gpus=1), site.api.pod(whole(1)), site.api.pod({"cpu": 1})
    site.api.call("POST", "/_reviews", {"refuse": [{"verb": "create", "resource": "leases"}]})
    directory = site.directory / "refused"
    directory.mkdir()
    fgpu = site.launch(directory, STRICT)
    eventually(lambda: "apply manifests/strict" in request(fgpu.ops, "GET", "/readyz?verbose").body.decode(), "the reason")
    assert request(fgpu.ops, "GET", "/readyz").status == 500
    eventually(lambda: "apply manifests/strict" in fgpu.filter(pod, [node])["Error"], "the lists")
    assert fgpu.fits(plain, [node]) == [node]  # they need no Lease
    assert len(re.findall("No pod with GPUs can be bound: with consistency: strict", fgpu.log())) == 1
    site.api.call("POST", "/_reviews", {})
    fgpu.ready()
    assert fgpu.bind(pod, node) == "" and "May get, create and patch Leases now" in fgpu.log()
    fgpu.stop()


def test_three_active_at_once_and_one_dies__capacity_holds_and_all_that_fits_is_bound(site):
    """A scheduler that asks any of them for any pod, and notes failures as kube-scheduler does."""
    rng = random.Random(103)
    nodes = [site.api.node(gpus=2) for _ in range(2)]
    pods = [site.api.pod(milli(500)) for _ in range(8)]
    active = [site.start(PATIENT).expect_incidents() for _ in range(3)]
    lock, waiting, failed = threading.Lock(), list(pods), []

    def take():
        with lock:
            return (waiting.pop(rng.randrange(len(waiting))), rng.choice(active), rng.choice(nodes)) if waiting else None

    def fail(pod, error):
        """True: it was the third one, and somebody is to die."""
        site.patch(pod)
        with lock:
            waiting.append(pod)
            failed.append(error)
            assert len(failed) < 400, failed[-5:]
            return len(failed) == 3 and active.pop()

    def ask(_):
        while (job := take()) is not None:
            pod, fgpu, node = job
            try:
                error = fgpu.bind(pod, node)
            except (OSError, http.client.HTTPException) as e:  # it has just died
                error = str(e)
            if error and site.bound(pod) == [None] and (dead := fail(pod, error)):
                dead.kill()

    in_threads(4, ask)
    assert None not in site.bound(*pods), failed[-5:]
    check_no_overcommit(site.api)
    for f in active:  # one that another was faster than may have seen its own choice beside the other's for a moment
        eventually(lambda: 'fgpu_incidents{kind="double_booking"} 0' in request(f.ops, "GET", "/metrics").body.decode(),
                   "no GPU to be seen as given twice")
    for node in nodes:
        here = {uid(p) for p in pods if site.bound(p) == [node]}
        assert here <= {u for u, _ in site.intents(node)}
