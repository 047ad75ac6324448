"""Planning ahead: which pods are nominated, and what becomes of it. The simulated API server keeps who wrote a nomination; what
kube-scheduler does with one is tested with the real one (test/e2e/plan_ahead_test.go)."""
import pytest

from objects import milli, node_name, uid, unique
from processes import Cluster, eventually

ON = "planAhead: {enabled: true}\nclientConnection: {holdOff: 0s, bindDeadline: 2s}\n"
OFF = ON.replace("true", "false")
ALLOCATABLE = {"status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}}}
LEAD = 4  # pods at the very front that are left to the scheduler
PATCHES = {"method": "PATCH", "path": "*/status"}


class Planned:
    """A cluster of which kube-scheduler has asked once."""

    def __init__(self, directory, config=ON):
        self.cluster = Cluster(directory, config).ready()
        self.api = self.cluster.api
        self.nodes = [self.cluster.node(1, **ALLOCATABLE) for _ in range(2)]

    @property
    def fgpu(self):
        return self.cluster.fgpu

    def scheduler_asks(self):
        self.fgpu.fits(self.api.pod(milli(1), name=unique("first"), schedulingGates=[{"name": "example.com/g"}]), self.nodes)

    def backlog(self, n, limits=None):
        self.scheduler_asks()
        return [self.api.pod(limits or milli(100)) for _ in range(n)]

    def nominations(self, manager="fgpu-planner"):
        """{name: node} of pods that are not bound."""
        return {p["metadata"]["name"]: p["status"]["nominatedNodeName"] for p in self.api.list("pods")
                if not node_name(p) and p.get("status", {}).get("nominatedNodeName")
                and p["metadata"].get("managedFields", [{}])[0].get("manager") == manager}

    def nominated(self, n):
        return eventually(lambda: (lambda all: len(all) >= n and all)(self.nominations()), f"{n} nominations")

    def plant(self, pod, node, manager):
        self.api.patch_pod(pod, {"status": {"nominatedNodeName": node}}, f"/status?fieldManager={manager}")

    def counted(self, result):
        return self.fgpu.metrics()[f'fgpu_nominations_total{{result="{result}"}}']


@pytest.fixture
def planned(tmp_path):
    p = Planned(tmp_path)
    yield p
    p.cluster.check()
    p.cluster.stop()


def test_backlog__nominated_and_bound_there__counted(planned):
    pods = planned.backlog(LEAD + 8)
    nominated = planned.nominated(8)
    assert set(nominated) == {p["metadata"]["name"] for p in pods[LEAD:]} and set(nominated.values()) <= set(planned.nodes)
    some = [p for p in pods if p["metadata"]["name"] in nominated][:3]
    for pod in some:
        node = nominated[pod["metadata"]["name"]]
        assert planned.fgpu.fits(planned.api.get_pod(pod), [node]) == [node]  # as kube-scheduler asks
        assert planned.fgpu.bind(pod, node) == ""
    eventually(lambda: planned.counted("used") >= 1, "a bind where it was nominated")
    assert planned.counted("made") >= 8


def test_nominations_of_ours__keep_no_room_from_others__also_after_a_restart(planned):
    planned.backlog(LEAD + 12)  # of 20 places
    planned.nominated(12)
    big = planned.api.pod({"fgpu.io/gpu-count": 1})
    assert sorted(planned.fgpu.fits(big, planned.nodes)) == sorted(planned.nodes)
    theirs = [planned.api.pod(milli(1000)) for _ in planned.nodes]
    for pod, node in zip(theirs, planned.nodes):
        planned.plant(pod, node, "kube-scheduler")
    eventually(lambda: planned.fgpu.fits(big, planned.nodes) == [], "others' nominations to count")


def test_not_bound__taken_back_and_others_untouched(planned):
    theirs = planned.api.pod(milli(10))
    planned.plant(theirs, planned.nodes[0], "kube-scheduler")
    planned.backlog(LEAD + 3)
    planned.nominated(3)
    eventually(lambda: not planned.nominations(), "the nominations to be taken back")
    eventually(lambda: planned.counted("withdrawn") >= 3, "the withdrawals to be counted")
    assert planned.nominations("kube-scheduler") == {theirs["metadata"]["name"]: planned.nodes[0]}


@pytest.mark.parametrize("config", [ON, OFF], ids=["on", "off"])
def test_killed__the_next_one_takes_back_what_it_finds(planned, config):
    planned.backlog(LEAD + 3)
    planned.nominated(3)
    theirs = planned.api.pod(milli(10))
    planned.plant(theirs, planned.nodes[0], "somebody")
    planned.fgpu.kill()
    planned.cluster.config = config
    planned.cluster.restarted()
    eventually(lambda: not planned.nominations(), "nominations of the one that was killed to be taken back")
    planned.fgpu.ready()
    assert planned.nominations("somebody")


def test_ordered_end__takes_back_what_is_outstanding(planned):
    planned.backlog(LEAD + 6)
    planned.nominated(6)
    planned.fgpu.stop()
    assert planned.nominations() == {}
    planned.cluster.restarted().ready()


def test_off__nobody_is_nominated_until_it_is_on(tmp_path):
    planned = Planned(tmp_path, OFF)
    planned.backlog(LEAD + 2)
    planned.cluster.settle()
    assert planned.nominations() == {} and planned.counted("made") == 0
    planned.cluster.stop()


def test_no_right__told_once_with_the_remedy_and_pods_go_on(planned):
    planned.api.faults({**PATCHES, "times": -1, "action": "fail", "status": 403, "reason": "Forbidden",
                        "message": "pods is forbidden"})
    pods = planned.backlog(LEAD + 5)
    eventually(lambda: planned.fgpu.metrics()['fgpu_nomination_failures_total{result="forbidden"}'] >= 1, "a refusal")
    state = eventually(lambda: (lambda s: s["trouble"] and s["outstanding"] == 0 and s)(planned.fgpu.summary()["planAhead"]),
                       "trouble in /state, and the answers to what was on its way")
    assert "manifests/plan-ahead" in state["trouble"]
    assert planned.fgpu.log().count("Cannot plan ahead") == 1
    for pod in pods:
        assert planned.fgpu.schedule(pod, planned.nodes)


def test_answers_that_are_lost__every_pod_is_bound_and_nothing_stays(planned):
    planned.api.faults({**PATCHES, "times": 6, "action": "close-after"}, {**PATCHES, "times": 4, "action": "fail-after", "status": 500},
                       {**PATCHES, "times": 4, "action": "fail", "status": 409, "reason": "Conflict"})
    pods = planned.backlog(LEAD + 12)
    eventually(lambda: sum(v for k, v in planned.fgpu.metrics().items() if k.startswith("fgpu_nomination_failures_total")) >= 1,
               "an answer that was none")
    for pod in pods:
        assert planned.fgpu.schedule(planned.api.get_pod(pod), planned.nodes)
    eventually(lambda: not planned.nominations() and planned.fgpu.metrics()["fgpu_nominations_outstanding"] == 0, "an end")
    assert planned.fgpu.audit()["drift"] == 0
    assert {uid(p) for p in planned.api.list("pods") if node_name(p)} >= {uid(p) for p in pods}
