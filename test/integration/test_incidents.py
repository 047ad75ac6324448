"""defects.md H2 and H8: what cannot happen while one fgpu alone decides, and happens all the same, is seen by every
fgpu and told to everybody whom it concerns; no audit calls it clean."""
import json

import pytest

from objects import assignment, device, milli, pod_path, uid, unique
from processes import Cluster, Fgpu, eventually, run

CONFIG = "audit: {interval: 0, settle: 300ms}\n"
DOUBLE, FOREIGN = "double_booking", "foreign_decision"


@pytest.fixture(autouse=True)
def expected(own):
    own.fgpu.expect_incidents()


@pytest.fixture
def second(own, tmp_path):
    """Another fgpu for the same cluster, as if somebody had forgotten the old one."""
    other = Fgpu(own.api.url, tmp_path, CONFIG).expect_incidents().ready()
    yield other
    if other.alive():
        other.stop()


def decision_of_another(node, index, amount, container="main"):
    """The annotations of a Binding by some other fgpu, in the one place of these tests that forges any: a record with
    an id that no process here has made."""
    gpu = device(node, index)
    return {"fgpu.io/assignment": json.dumps({
        "v": 1, "id": unique("decision-of-another"), "containers": [{"name": container, "init": False, "devices": [
            {"uuid": gpu["uuid"], "index": index, "milli": amount, "memMib": gpu["memMib"] * amount // 1000}]}]})}


@pytest.fixture
def unsigned(tmp_path):
    """One fgpu that believes records as they stand, so that a test can forge those of another."""
    with Cluster(tmp_path, CONFIG + "signing: off\n") as c:
        c.fgpu.expect_incidents()
        yield c


def incidents(fgpu, kind):
    return [i for i in fgpu.state()["incidents"] if i["kind"] == kind]


def metric(fgpu, kind, name="fgpu_incidents"):
    return fgpu.metrics()[f'{name}{{kind="{kind}"}}']


def await_incidents(fgpu, **want):
    """{kind: number} stand, in /state and its summary, and in the metrics, since when is said, and the audit says so."""
    eventually(lambda: {k: len(incidents(fgpu, k)) for k in (DOUBLE, FOREIGN)} == {DOUBLE: 0, FOREIGN: 0, **want},
               f"incidents {want}")
    summary = fgpu.state()["summary"]
    assert (summary["doubleBookedGpus"], summary["foreignDecisions"]) == (want.get(DOUBLE, 0), want.get(FOREIGN, 0))
    assert {k: metric(fgpu, k) for k in want} == want
    assert all(i["since"] for i in fgpu.state()["incidents"])
    before = fgpu.metrics()
    report = fgpu.audit()
    result = "incidents" if sum(want.values()) else "clean"
    assert (report["result"], report["incidentCount"]) == (result, sum(want.values())), report
    assert [(i["kind"], i["since"], i["text"]) for i in report["incidents"]] == \
        [(i["kind"], i["since"], i["text"]) for i in fgpu.state()["incidents"]]
    series = f'fgpu_audit_runs_total{{result="{result}"}}'
    assert fgpu.metrics()[series] - before[series] == 1
    return report


def events(api, obj_name):
    return [e for e in api.call("GET", "/apis/events.k8s.io/v1/events").json["items"]
            if e["regarding"]["name"] == obj_name]


def notes(api, pod, reason):
    return [e["note"] for e in events(api, pod["metadata"]["name"]) if e["reason"] == reason]


def name(pod):
    return f'{pod["metadata"]["namespace"]}/{pod["metadata"]["name"]}'


def younger_of(*pods):
    return max(pods, key=lambda p: (p["metadata"]["creationTimestamp"], uid(p)))


def free_milli(fgpu, node):
    return [g["milli"]["free"] for g in fgpu.node_state(node)["gpus"]]


def test_two_processes_at_once_book_a_gpu_twice__both_see_it_and_neither_audit_is_clean(own, second):
    """Each decides on its own view, as it does whenever two are running: what the other wrote comes later."""
    api, first = own.api, own.fgpu
    node = own.node(gpus=1)
    pods = [api.pod(milli(700)) for _ in range(2)]
    own.settle()
    eventually(lambda: len(second.state()["pending"]) == 2 and second.node_state(node))
    api.faults(*({"action": "swallow", "event": "MODIFIED", "path": "*/" + p["metadata"]["name"], "times": -1}
                 for p in pods))
    assert first.bind(pods[0], node) == ""
    assert second.bind(pods[1], node) == ""
    for fgpu in (first, second):
        assert not fgpu.state()["incidents"]
    api.faults(clear=True)
    for p in pods:
        api.patch(pod_path(p), {"metadata": {"labels": {"seen": "now"}}})

    youngest = name(younger_of(*pods))
    for fgpu, ours, theirs in ((first, *pods), (second, *reversed(pods))):
        report = await_incidents(fgpu, **{DOUBLE: 1, FOREIGN: 1})
        assert all(name(p) in report["incidents"][0]["text"] for p in pods) and node in report["incidents"][0]["text"]
        twice, = incidents(fgpu, DOUBLE)
        assert (twice["node"], twice["uuid"], twice["index"]) == (node, f"GPU-{node}-0", 0)
        assert {p["uid"]: p["decidedHere"] for p in twice["pods"]} == {uid(ours): True, uid(theirs): False}
        assert f'{twice["pods"][-1]["namespace"]}/{twice["pods"][-1]["pod"]}' == youngest
        foreign, = incidents(fgpu, FOREIGN)
        assert [(p["uid"], p["decision"]) for p in foreign["pods"]] == \
            [(uid(theirs), assignment(api.get_pod(theirs))["id"])]
        assert free_milli(fgpu, node) == [-400]
        assert fgpu.reasons(api.pod(milli(1)), [node])  # closed
    for p in pods:
        # each process tells both pods; the one that did not decide about it says that, too
        eventually(lambda: len(notes(api, p, "GPUDoubleBooked")) == 2 and notes(api, p, "GPUAssignmentForeign"))
        assert all(youngest in note for note in notes(api, p, "GPUDoubleBooked"))

    api.delete_pod(younger_of(*pods))
    stays, = (p for p in pods if name(p) != youngest)
    for fgpu, ours in ((first, pods[0]), (second, pods[1])):
        eventually(lambda: free_milli(fgpu, node) == [300])
        await_incidents(fgpu, **({} if stays is ours else {FOREIGN: 1}))
        assert metric(fgpu, DOUBLE, "fgpu_incidents_total") == 1


def test_write_of_a_predecessor_lands_late__gpu_closed_both_pods_told_the_younger_named(unsigned):
    """The GPU was given to another pod meanwhile. What lands late looks as what this Binding looks like."""
    api, fgpu = unsigned.api, unsigned.fgpu
    node = unsigned.node(gpus=2)
    late = api.pod(milli(700))
    pods = [late, *(api.pod(milli(700)) for _ in range(2))]
    unsigned.settle()
    for p in pods[1:]:
        assert fgpu.bind(p, node) == ""
    ours, = (p for p in pods[1:] if assignment(api.get_pod(p))["containers"][0]["devices"][0]["index"] == 0)
    api.bind_behind_our_back(late, node, decision_of_another(node, 0, 700))

    await_incidents(fgpu, **{DOUBLE: 1, FOREIGN: 1})
    assert sorted(free_milli(fgpu, node)) == [-400, 300]
    gpu, = (g for g in fgpu.node_state(node)["gpus"] if g["overCommitted"])
    assert gpu["index"] == 0
    tiny = api.pod(milli(1))
    assert fgpu.schedule(tiny, [node]) == node  # on the other one
    assert assignment(api.get_pod(tiny))["containers"][0]["devices"][0]["index"] == 1
    youngest = name(younger_of(late, ours))
    for p in (late, ours):
        eventually(lambda: notes(api, p, "GPUDoubleBooked"))
        note, = notes(api, p, "GPUDoubleBooked")
        assert "the younger pod, " + youngest in note and name(late) in note and name(ours) in note
    assert notes(api, late, "GPUAssignmentForeign") and not notes(api, ours, "GPUAssignmentForeign")
    assert "GPUOvercommitted" in [e["reason"] for e in events(api, node)]
    assert '"INCIDENT" kind="double_booking"' in fgpu.log()
    shown = run("state", "--server", fgpu.ops_url)
    assert shown.returncode == 0
    assert "INCIDENTS: 1 GPUs given out twice, 1 pods bound by a decision that is not ours" in shown.stdout

    # Seen again and again, it is not told again; and a restart finds the GPU, but not what was pending before.
    for p in (late, ours):
        api.patch(pod_path(p), {"metadata": {"labels": {"seen": "again"}}})
    api.faults(dropWatches=True, compact=True)
    unsigned.settle()
    assert metric(fgpu, DOUBLE, "fgpu_incidents_total") == metric(fgpu, FOREIGN, "fgpu_incidents_total") == 1
    for p in (late, ours):
        assert len(notes(api, p, "GPUDoubleBooked")) == 1
        assert "series" not in next(e for e in events(api, p["metadata"]["name"])
                                   if e["reason"] == "GPUDoubleBooked")
    fgpu.kill()
    again = unsigned.restarted().expect_incidents().ready()
    await_incidents(again, **{DOUBLE: 1})
    api.delete_pod(late)
    await_incidents(again)


def test_decision_of_another_on_a_pod_that_was_pending_here__an_incident_even_where_it_fits(unsigned):
    api, fgpu = unsigned.api, unsigned.fgpu
    node = unsigned.node(gpus=2)
    assert fgpu.schedule(api.pod(milli(100)), [node]) == node
    await_incidents(fgpu)
    pod, past_us = api.pod(milli(100)), api.pod(milli(100))
    unsigned.settle()
    api.bind_behind_our_back(past_us, node)  # nobody's decision: counted everywhere, and told otherwise
    eventually(lambda: fgpu.states_of(past_us) == {"foreign"})
    await_incidents(fgpu)
    api.bind_behind_our_back(pod, node, decision_of_another(node, 1, 100))
    await_incidents(fgpu, **{FOREIGN: 1})
    eventually(lambda: notes(api, pod, "GPUAssignmentForeign"))
    assert not notes(api, pod, "GPUDoubleBooked")
    api.set_phase(pod, "Succeeded")
    await_incidents(fgpu)
