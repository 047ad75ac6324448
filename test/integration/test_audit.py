"""Audits: what the watch did not bring is found by a fresh list, repaired and counted; and nothing else ever is."""
import signal
import threading

import pytest

from objects import device, inventory, milli, node_name, pod_object, uid, unique
from processes import ApiServer, Cluster, eventually, in_threads, request

CONFIG = "audit: {interval: 0, settle: 300ms}\nclientConnection: {bindDeadline: 2s}\n"
PATIENT = "audit: {interval: 0, settle: 3s}\n"  # longer than watches lag on a slow machine


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    started = {name: Cluster(tmp_path_factory.mktemp(name), config)
               for name, config in (("quick", CONFIG), ("patient", PATIENT), ("restored", CONFIG))}
    for c in started.values():
        c.ready()
    yield started
    for c in started.values():
        c.stop()


@pytest.fixture
def cluster(clusters):
    c = clusters["quick"]
    yield c
    c.api.faults(clear=True)
    audit(c.fgpu)  # whatever was swallowed is repaired
    c.check()
    c.clear()


def swallow(api, event, *names):
    """No watch gets these events any more, of pods or nodes of these names (globs), until faults are cleared. Not
    counted: a watch whose client has just left may still be open on the other side, and would count too."""
    api.faults(*({"action": "swallow", "event": event, "path": f"*/{name}", "times": -1} for name in names))


def audit(fgpu):
    """The report, when the watches that lost something have listed again: a list would bring what a test swallows."""
    def lists(resource):
        return fgpu.metrics()[f'fgpu_relists_total{{resource="{resource}s"}}']
    before = {r: lists(r) for r in ("pod", "node")}
    report = fgpu.audit()
    for r in {cause.split("_")[0] for cause in report["driftByCause"]}:
        eventually(lambda: lists(r) > before[r], f"{r}s to be listed again")
    return report


def drift_of(fgpu):
    """{cause: count}; the next audit finds nothing, and metrics and /state say the same."""
    before = fgpu.metrics()
    report = audit(fgpu)
    causes = report["driftByCause"]
    assert report["result"] == ("drift" if causes else "clean"), report
    assert report["drift"] == sum(causes.values()) and report["undecided"] == 0 and report["error"] == ""
    assert fgpu.state("?fields=summary")["audit"] == report
    after = fgpu.metrics()
    for cause, n in causes.items():
        series = f'fgpu_audit_drift_total{{cause="{cause}"}}'
        assert after[series] - before[series] == n
    series = f'fgpu_audit_runs_total{{result="{report["result"]}"}}'
    assert after[series] - before[series] == 1
    assert after["fgpu_audit_last_success_timestamp_seconds"] > 1.7e9
    again = fgpu.audit()
    assert (again["result"], again["drift"], again["runs"]) == ("clean", 0, report["runs"] + 1)
    return causes


def test_nothing_lost__clean(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    assert fgpu.schedule(api.pod(milli(300)), [node]) == node
    api.pod(milli(100), nodeName=node)
    api.pod({})
    api.pod(milli(1500))
    cluster.settle()
    report = fgpu.audit()
    assert (report["result"], report["pods"], report["nodes"], report["drift"]) == ("clean", 4, 1, 0)


def test_deletions_lost__found_and_the_gpus_are_free_again(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pods = [api.pod(milli(300)) for _ in range(3)]
    for p in pods:
        assert fgpu.schedule(p, [node]) == node
    cluster.settle()
    swallow(api, "DELETED", *(p["metadata"]["name"] for p in pods[:2]))
    for p in pods:
        api.delete_pod(p)
    eventually(lambda: not fgpu.allocations(pods[2]), "the deletion that was not swallowed")
    assert fgpu.free_milli(node) == 400
    assert drift_of(fgpu) == {"pod_gone": 2}
    assert fgpu.free_milli(node) == 1000
    assert fgpu.schedule(api.pod(milli(1000)), [node]) == node


def test_end_of_a_pod_lost__finished(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(300))
    assert fgpu.schedule(pod, [node]) == node
    cluster.settle()
    swallow(api, "DELETED", pod["metadata"]["name"])
    api.set_phase(pod, "Succeeded")
    assert drift_of(fgpu) == {"pod_finished": 1}
    assert fgpu.free_milli(node) == 1000
    eventually(lambda: [e for e in api.list("events") if e["reason"] == "GPUDriftRepaired" and
                        e["regarding"]["name"] == pod["metadata"]["name"]], "the Event")


def test_bypass_lost__charged_after_the_audit(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    swallow(api, "ADDED", "bypass")
    api.pod(milli(600), nodeName=node, name="bypass")
    pending = api.pod(milli(600))
    swallow(api, "MODIFIED", "pods/*")
    api.bind_behind_our_back(pending, node)
    cluster.settle()
    assert fgpu.free_milli(node) == 1000
    assert drift_of(fgpu) == {"pod_missing": 1, "pod_state": 1}
    assert fgpu.free_milli(node) == -200


def test_changes_of_nodes_lost__found(cluster, api, fgpu):
    added, changed, cordoned, gone = unique("added"), cluster.node(gpus=2), cluster.node(gpus=2), cluster.node(gpus=1)
    swallow(api, "", "nodes/*")
    api.node(gpus=2, name=added)
    api.patch(f"/api/v1/nodes/{changed}", {"metadata": {"annotations": inventory([device(changed, 0)])}})
    api.patch(f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": True}})
    api.delete_node(gone)
    assert drift_of(fgpu) == {"node_missing": 1, "node_inventory": 1, "node_details": 1, "node_gone": 1}
    assert fgpu.node_state(gone) is None
    assert [len(fgpu.node_state(n)["gpus"]) for n in (added, changed)] == [2, 1]


def test_all_kinds_at_once__also_the_binding_of_fgpu_itself(cluster, api, fgpu):
    node = cluster.node(gpus=4)
    swallow(api, "MODIFIED", "pods/*")
    pods = [api.pod(milli(200)) for _ in range(5)]
    for p in pods:
        assert fgpu.schedule(p, [node]) == node
    cluster.settle()
    assert fgpu.free_milli(node) == 3000
    assert drift_of(fgpu) == {"pod_state": 5}
    assert fgpu.free_milli(node) == 3000


def test_lists_fail__said_and_nothing_repaired(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(milli(300))
    assert fgpu.schedule(pod, [node]) == node
    cluster.settle()
    swallow(api, "DELETED", pod["metadata"]["name"])
    api.delete_pod(pod)
    api.faults({"method": "GET", "path": "/api/v1/pods", "times": -1, "action": "fail", "status": 403})
    report = fgpu.audit()
    assert report["result"] == "failed" and "cannot list pods" in report["error"] and report["drift"] == 0
    assert fgpu.free_milli(node) == 700
    api.faults(clear=True)
    assert drift_of(fgpu) == {"pod_gone": 1}


def test_configuration_changes__everything_is_read_again_and_nothing_is_drift(cluster, api, fgpu):
    node, path = cluster.node(gpus=2), cluster.directory / "fgpu.yaml"
    assert fgpu.schedule(api.pod(milli(300)), [node]) == node
    old, reports = path.read_text(), []

    def capacity_after_another_audit():
        reports.append(fgpu.audit())
        return fgpu.node_state(node)["gpus"][0]["memMib"]["capacity"]
    before = capacity_after_another_audit()
    path.write_text(old + "devices: {memoryReserve: 1Gi}\n")
    eventually(lambda: capacity_after_another_audit() == before - 1024, "the new configuration")
    path.write_text(old)
    eventually(lambda: capacity_after_another_audit() == before, "the old configuration")
    assert sum(r["drift"] for r in reports) == 0
    eventually(lambda: fgpu.audit()["result"] == "clean")


def test_signal__audits(cluster, fgpu):
    runs = fgpu.state("?fields=summary")["audit"]["runs"]
    fgpu.process.send_signal(signal.SIGUSR2)
    eventually(lambda: fgpu.state("?fields=summary")["audit"]["runs"] > runs, "the audit")


def test_many_ask_at_once__share_runs(cluster, fgpu):
    runs = fgpu.state("?fields=summary")["audit"]["runs"]
    reports = in_threads(8, lambda i: fgpu.audit())
    assert all(r["result"] == "clean" for r in reports)
    assert fgpu.state("?fields=summary")["audit"]["runs"] - runs <= 8
    assert request(fgpu.ops, "GET", "/audit").status == 405


def test_state_of_the_cluster_went_back__charge_is_given_back_and_the_watch_goes_on(clusters, tmp_path):
    """A restored backup: pods of the same UIDs that are not bound any more, and a watch whose resourceVersion is in
    the future, so that it is silent for ever. Here another API server with the same UIDs takes the first one's place."""
    cluster = clusters["restored"]
    fgpu, old = cluster.fgpu, cluster.api
    cluster.node(gpus=1, name="n")
    pod = old.pod(milli(700), name="p")
    assert fgpu.schedule(pod, ["n"]) == "n"
    for i in range(20):
        old.pod({}, name=f"later-{i}")
    old.process.kill()
    old.process.wait()
    cluster.api = api = ApiServer(tmp_path, old.address[1], old.seed)
    api.make_objects_of_fgpu()  # as the first made them: UIDs come in their order
    api.node(gpus=1, name="n")
    assert uid(api.pod(milli(700), name="p")) == uid(pod) and node_name(api.get_pod(pod)) is None
    # The watches connect again in their own time; until then nothing can be decided.
    causes = eventually(lambda: fgpu.audit()["driftByCause"], "an audit that can decide")
    assert causes == {"pod_unbound": 1}
    assert fgpu.free_milli("n") == 1000
    cluster.settle()
    assert fgpu.schedule(pod, ["n"]) == "n"
    assert fgpu.audit()["result"] == "clean"


def test_burst_of_binds__no_false_alarm(clusters):
    cluster = clusters["patient"]
    api, fgpu = cluster.api, cluster.fgpu
    nodes = [cluster.node(gpus=4) for _ in range(4)]
    in_threads(4, lambda i: [api.pod({}) for _ in range(150)])  # so that a list has pages, and takes its time
    busy = threading.Event()
    busy.set()

    def churn(i):
        bound, n = [], 0
        while busy.is_set() or n < 10:
            pod = api.pod(milli(100 + 50 * (n % 5)))
            if fgpu.fits(pod, nodes) and fgpu.bind(pod, nodes[n % 4]) == "":
                bound.append(pod)
            else:
                api.delete_pod(pod)
            if n % 7 == i:
                api.pod(milli(10), nodeName=nodes[i])
            if n % 5 == i:
                api.patch(f"/api/v1/nodes/{nodes[i]}", {"spec": {"unschedulable": n % 2 == 0}})
            while len(bound) > 5:
                api.delete_pod(bound.pop(0))
            n += 1
        return n

    def audits(_):
        reports = []
        try:
            while len(reports) < 5:
                reports.append(fgpu.audit())
        finally:
            busy.clear()
        return reports
    *_, reports = in_threads(4, lambda i: churn(i) if i < 3 else audits(i))
    assert all(r["drift"] == 0 and r["undecided"] == 0 and r["error"] == "" for r in reports), reports
    assert all(r["pods"] >= 600 for r in reports)
    cluster.check()
    cluster.clear()
    assert fgpu.audit()["result"] == "clean"


def test_over_committed_gpu__closed_shown_and_open_again(cluster, api, fgpu):
    """Somebody else binds pods that do not fit beside ours: nothing new is placed there until that is over."""
    node = cluster.node(gpus=1)
    ours, tiny = api.pod(milli(700)), pod_object("tiny", limits=milli(1))
    assert fgpu.schedule(ours, [node]) == node
    before = fgpu.metrics()["fgpu_overcommitted_devices"]
    other = api.pod(milli(600), nodeName=node)
    eventually(lambda: fgpu.free_milli(node) == -300, "the other pod")
    [gpu] = fgpu.node_state(node)["gpus"]
    assert gpu["overCommitted"] and gpu["milli"] == {"capacity": 1000, "charged": 1300, "free": -300}
    assert fgpu.metrics()["fgpu_overcommitted_devices"] == before + 1
    assert fgpu.reasons(tiny, [node]) == {node: "GPUs are over-committed and take no new pods until that is over"}
    assert "over-committed" in fgpu.bind(api.pod(milli(1)), node)
    assert "A GPU is over-committed" in fgpu.log()
    assert fgpu.audit()["overCommittedByCause"] == {"unproven": 1}
    api.delete_pod(other)
    eventually(lambda: fgpu.fits(tiny, [node]) == [node], "the GPU to be open again")
    assert not fgpu.node_state(node)["gpus"][0]["overCommitted"]
    # A GPU that became smaller than what is on it is no different.
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": inventory([device(node, 0, mem_mib=1024)])}})
    eventually(lambda: fgpu.node_state(node)["gpus"][0]["memMib"]["capacity"] == 1024)
    eventually(lambda: fgpu.reasons(tiny, [node]), "the GPU to be closed: our pod has the memory that its record says")
    assert fgpu.audit()["overCommittedByCause"] == {"capacity": 1}
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": inventory([device(node, 0)])}})
    eventually(lambda: fgpu.fits(tiny, [node]) == [node], "the GPU to be open again")
    eventually(lambda: "A GPU is not over-committed any more" in fgpu.log())
    assert fgpu.audit()["overCommittedByCause"] == {}
    eventually(lambda: {"GPUOvercommitted", "GPURecovered"} <=
               {e["reason"] for e in api.list("events") if e["regarding"]["name"] == node}, "the Events")
