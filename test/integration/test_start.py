"""Is there a hold-off after a start? Only if a Binding of an earlier fgpu may still arrive (decision 0091).

Who holds off does so for ten minutes here, so whoever gets ready has left it out, and nobody waits for a time.
"""
import re
import signal

import pytest

from judge import check_no_overcommit
from objects import milli, node_name, pod_object, whole
from processes import PATIENCE_S, RUN_OBJECT as RUN, WAKE_OBJECT as WAKE, Fgpu, Site, eventually, request

LONG = "clientConnection: {holdOff: 10m, bindDeadline: 2s}\n"
NONE = "clientConnection: {holdOff: 0s, bindDeadline: 2s}\n"
SHORT = "clientConnection: {holdOff: 1s, bindDeadline: 2s}\n"


class Starts(Site):
    """One fgpu after the other."""

    def start(self, config=LONG):
        self.fgpu = self.launch(self.directory, config)
        return self.fgpu

    def data(self):
        return self.api.call("GET", RUN).json.get("data", {})

    def says(self, state):
        eventually(lambda: self.data().get("state") == state, f"the run object to say {state}")

    def decided(self, hold_off, reason):
        """What /state says in the end, and that readiness agrees; the log says it too."""
        def start():
            s = self.fgpu.state("?fields=summary")["metadata"]["start"]
            return s if s["holdOff"] != "undecided" else None
        self.fgpu.check()
        got = eventually(start, "the decision about the hold-off")
        assert got == {"holdOff": hold_off, "reason": reason}, self.fgpu.log()
        eventually(lambda: re.search(rf'old-off.*reason="?{reason}\b', self.fgpu.log()), "a line in the log")
        if hold_off == "none":
            self.fgpu.ready()
        else:
            eventually(lambda: self.fgpu.state("?fields=summary")["metadata"]["podsResourceVersion"], "the list of pods")
            assert request(self.fgpu.health, "GET", "/readyz").status == 500
            assert self.fgpu.filter(pod_object("p", limits=milli(1)), ["n"])["Error"]

    def held(self, reason):
        self.decided("held", reason)

    def at_once(self, reason):
        self.decided("none", reason)

    def ended(self):
        """One that ran, and ended in order."""
        self.start().ready()
        self.fgpu.stop()
        assert self.data()["state"] == "ended"

    def wakes_done(self):
        """The first wake of the fgpu that runs has been answered, and no other will come."""
        eventually(lambda: self.fgpu.wakes() == 1, "the wake after the start")


@pytest.fixture
def site(tmp_path):
    s = Starts(tmp_path)
    yield s
    s.end()


def test_fresh_cluster__no_hold_off_and_the_object_says_running(site):
    site.start()
    site.at_once("none")
    data = site.data()
    assert data["state"] == "running" and re.fullmatch("[0-9a-f]{32}", data["process"]) and data["version"], data


def test_ended_in_order__no_hold_off(site):
    site.start()
    site.at_once("none")
    node = site.api.node(gpus=1)
    site.wakes_done()
    pod = site.api.pod(milli(300))
    eventually(lambda: site.fgpu.fits(pod, [node]), "the node")
    assert site.fgpu.bind(pod, node) == ""
    first = site.data()["process"]
    site.fgpu.stop()
    assert site.data()["state"] == "ended" and site.data()["process"] == first
    waiting = site.api.pod(milli(300))
    site.start()
    site.at_once("ended")
    assert site.data()["state"] == "running" and site.data()["process"] != first
    eventually(lambda: site.fgpu.fits(waiting, [node]), "the node")
    assert site.fgpu.bind(waiting, node) == ""
    check_no_overcommit(site.api)


def test_kill_9__hold_off(site):
    site.start()
    site.at_once("none")
    site.fgpu.kill()
    site.start()
    site.held("running")
    site.says("running")


@pytest.mark.parametrize("run_object", ["fgpu-system/fgpu-run", "''"])
def test_F121_hold_off__the_watch_stands_still__what_landed_meanwhile_is_seen(site, run_object):
    """A Binding of the one before lands in time, but the API server does not tell it before the hold-off is over."""
    node = site.api.node(gpus=1)
    late, waiting = (site.api.pod({**whole(1), "cpu": "1"}) for _ in range(2))
    site.start().check()
    site.fgpu.kill()
    site.api.faults({"method": "GET", "path": "/api/v1/pods", "query": "*watch=true*", "times": -1, "afterBytes": 1, "then": "stall"},
                    watchList="refused")
    site.start(f"clientConnection: {{holdOff: 5s, bindDeadline: 2s, runObject: {run_object}}}\n")
    eventually(lambda: site.fgpu.state("?fields=summary")["metadata"]["podsResourceVersion"], "the list of pods")
    site.api.bind_behind_our_back(late, node)
    site.fgpu.ready()
    assert not site.fgpu.fits(waiting, [node]), site.fgpu.log()
    assert site.fgpu.bind(waiting, node)
    assert not node_name(site.api.get_pod(waiting))


def test_end_while_the_hold_off_lasts__says_nothing(site):
    """What it waited for may still arrive."""
    site.start()
    site.at_once("none")
    site.fgpu.kill()
    site.start()
    site.held("running")
    site.fgpu.stop()
    assert site.data()["state"] == "running"
    site.start()
    site.held("running")


@pytest.mark.parametrize("trace", ["waits", "record of a waiting pod", "record of a bound pod"])
def test_never_written_but_traces__hold_off(site, trace):
    """An earlier version has left the object as the manifests made it."""
    forged = {"fgpu.io/assignment": "nonsense"}
    if trace == "waits":
        site.api.pod(milli(100))
    elif trace == "record of a waiting pod":
        site.api.pod({"cpu": "1"}, forged)
    else:
        site.api.pod({"cpu": "1"}, forged, nodeName="n")
    site.start()
    site.held("traces")
    site.says("running")


def test_never_written_and_other_pods__no_hold_off(site):
    site.api.pod({"cpu": "1"})
    site.api.pod({"cpu": "1"}, nodeName="n")
    site.start()
    site.at_once("none")


@pytest.mark.parametrize("missing, reason", [(RUN, "noRunObject"), (WAKE, "noWakeObject")])
def test_an_object_is_missing__hold_off_with_the_remedy(site, missing, reason):
    site.ended()
    site.api.call("DELETE", missing)
    site.start()
    site.held(reason)
    assert re.search(r"^W.*apply the \w+ fgpu-(run|wake) and its role", site.fgpu.log(), re.M), site.fgpu.log()


def test_wake_object_changed_since__hold_off(site):
    """So does every fgpu that does not know of the run object."""
    site.ended()
    site.api.patch(WAKE, {"metadata": {"annotations": {"fgpu.io/room-at-ms": "1"}}})
    site.start()
    site.held("unaware")


def test_downgrade_and_upgrade__hold_off(site):
    """One that leaves the run object alone, as every version before it, binds and is killed."""
    site.ended()
    node = site.api.node(gpus=1)
    site.start("clientConnection: {holdOff: 0s, runObject: ''}\n").ready()
    site.wakes_done()
    pod = site.api.pod(milli(300))
    eventually(lambda: site.fgpu.fits(pod, [node]), "the node")
    assert site.fgpu.bind(pod, node) == ""
    assert site.data()["state"] == "ended"
    site.fgpu.kill()
    site.start()
    site.held("unaware")


@pytest.mark.parametrize("status", [403, 422])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_no_right__hold_off_with_the_remedy(site, method, status):
    site.ended()
    site.api.faults({"method": method, "path": RUN, "times": -1, "action": "fail", "status": status})
    site.start()
    site.held("forbidden")
    assert "apply the role fgpu-run" in site.fgpu.log()
    site.api.faults(clear=True)
    assert site.data()["state"] == "ended"


@pytest.mark.parametrize("fault", [
    {"action": "close-after"}, {"action": "fail-after", "status": 504}, {"action": "close-before"},
    {"action": "fail", "status": 503}, {"action": "fail", "status": 409}, {"action": "commit-late", "status": 409},
], ids=lambda f: "%s %s" % (f["action"], f.get("status", "")))
def test_answer_to_the_claim_is_lost__found_out(site, fault):
    """Landed or not: one revision was claimed, and in the end it is ours."""
    site.ended()
    site.api.faults({"method": "PATCH", "path": RUN, "times": 1, **fault})
    site.start()
    site.at_once("ended")
    site.says("running")
    site.api.faults(commit=True)  # what was held is of a revision that is over
    assert site.api.call("GET", "/_faults").json["landed"] == 0
    site.fgpu.stop()
    assert site.data()["state"] == "ended"


def test_changed_while_it_is_claimed__hold_off(site):
    site.ended()
    site.api.faults({"method": "PATCH", "path": RUN, "times": 1, "delayMs": 60000})
    site.start()
    eventually(lambda: site.api.call("GET", "/_faults").json["delayed"] == 1, "the claim")
    # Not through the API: the rule would hold that, too; PUT is another method.
    o = site.api.call("GET", RUN).json
    o["metadata"]["labels"] = {"a": "b"}
    site.api.call("PUT", RUN, o)
    site.api.faults(clear=True)
    site.held("unknown")
    site.says("running")


def test_api_server_does_not_tell__not_ready_before_it_does(site):
    """Also with no hold-off at all: nothing may be sent while an older `ended` stands."""
    site.ended()
    site.api.faults({"path": RUN, "times": -1, "delayMs": 60000})
    site.start(NONE)
    eventually(lambda: site.fgpu.state("?fields=summary")["metadata"]["start"] == {"holdOff": "none", "reason": "unknown"},
               "the decision")
    eventually(lambda: site.fgpu.state("?fields=summary")["metadata"]["podsResourceVersion"], "the list of pods")
    assert request(site.fgpu.health, "GET", "/readyz").status == 500
    site.api.faults(clear=True)
    site.fgpu.ready()
    site.says("running")


def test_binding_unresolved_at_the_end__says_nothing_and_the_next_holds_off(site):
    site.start()
    site.at_once("none")
    node = site.api.node(gpus=1)
    pod = site.api.pod(milli(600))
    eventually(lambda: site.fgpu.fits(pod, [node]), "the node")
    site.api.faults({"method": "POST", "path": "*binding", "times": -1, "action": "commit-late", "status": 500})
    assert site.fgpu.bind(pod, node) != ""
    site.fgpu.stop()
    assert site.data()["state"] == "running"
    site.api.faults(clear=True)
    site.start()
    site.held("running")
    site.api.faults(commit=True)
    assert node_name(site.api.get_pod(pod)) == node
    eventually(lambda: site.fgpu.charged(node) == [600], "the Binding of the first in the ledger of the second")


def test_ended_lands_late__not_over_the_next_claim(site):
    site.start()
    site.at_once("none")
    site.api.faults({"method": "PATCH", "path": RUN, "times": -1, "action": "commit-late", "status": 504})
    site.fgpu.stop()
    assert "Could not write into the run object" in site.fgpu.log()
    site.api.faults(clear=True)
    site.start()
    site.held("running")
    site.says("running")
    second = site.data()["process"]
    site.api.faults(commit=True)
    assert site.api.call("GET", "/_faults").json["landed"] == 0
    assert site.data() == {**site.data(), "state": "running", "process": second}


def test_ended_lands_late__true_all_the_same(site):
    site.start()
    site.at_once("none")
    site.api.faults({"method": "PATCH", "path": RUN, "times": -1, "action": "commit-late", "status": 504})
    site.fgpu.stop()
    site.api.faults(clear=True, commit=True)
    site.says("ended")
    site.start()
    site.at_once("ended")


def test_two_at_once__the_second_holds_off_and_the_first_ends_without_a_word(site):
    first = site.start()
    site.at_once("none")
    site.start()
    site.held("running")
    site.says("running")
    second = site.data()["process"]
    first.process.send_signal(signal.SIGTERM)
    first.end(0)
    assert site.data()["state"] == "running" and site.data()["process"] == second


@pytest.mark.parametrize(("more", "told"), [("", "can give a GPU twice"), ("consistency: strict\n", "no GPU is given twice")],
                         ids=["default", "strict"])
def test_second_by_mistake__the_first_takes_the_object_back(site, more, told):
    """Else the `ended` of the second would stand there, days later, when the first is killed with a Binding under way."""
    first = site.start(LONG + more)
    site.at_once("none")
    ours = site.data()["process"]
    site.start(SHORT + more).ready()
    assert site.data()["process"] != ours
    site.fgpu.stop()
    assert site.data()["state"] == "running"  # the first one lives, and may not have looked yet
    eventually(lambda: site.data()["process"] == ours, "the first to take it back")
    assert site.data()["state"] == "running" and "Another fgpu has written into the run object" in first.log()
    assert told in first.log()
    first.kill()
    site.start()
    site.held("running")


def test_ended_after_a_shorter_hold_off__hold_off(site):
    """It did not wait for what the first had sent."""
    site.start()
    site.at_once("none")
    site.fgpu.kill()
    site.start(NONE).ready()
    site.says("running")
    o = site.data()
    site.fgpu.kill()
    # What it would have written, had it run for long enough to be alone.
    wake = site.api.call("GET", WAKE).json["metadata"]["resourceVersion"]
    site.api.patch(RUN, {"data": {**o, "state": "ended", "wake": wake, "holdOffMs": "0"}})
    site.start()
    site.held("shorter")


def test_neither_object_can_be_changed__no_promise_beside_ended_of_another(site):
    site.ended()
    node = site.api.node(gpus=1)
    site.api.faults(*[{"method": "PATCH", "path": p, "times": -1, "action": "fail", "status": 403} for p in (RUN, WAKE)])
    site.start(SHORT)
    eventually(lambda: "neither it nor the wake object can be changed" in site.fgpu.log(), "a line that says why")
    pod = site.api.pod(milli(300))
    eventually(lambda: site.fgpu.state("?fields=summary")["metadata"]["podsResourceVersion"], "the list of pods")
    assert request(site.fgpu.health, "GET", "/readyz").status == 500
    site.api.faults({"method": "PATCH", "path": RUN, "times": -1, "action": "fail", "status": 403}, clear=True)
    site.fgpu.ready()  # the wake object will do: whoever comes next sees that it is another
    eventually(lambda: site.fgpu.fits(pod, [node]), "the node")
    site.fgpu.kill()
    site.api.faults(clear=True)
    assert site.data()["state"] == "ended"
    site.start()
    site.held("unaware")


def test_could_not_claim_at_first__claims_later(site):
    site.api.faults({"method": "PATCH", "path": RUN, "times": -1, "action": "fail", "status": 403})
    site.start(SHORT).ready()
    assert site.data() == {}
    site.api.faults(clear=True)
    site.says("running")


def test_labelled_while_it_runs__ends_all_the_same(site):
    site.start()
    site.at_once("none")
    site.api.patch(RUN, {"metadata": {"labels": {"a": "b"}}})
    site.fgpu.stop()
    assert site.data()["state"] == "ended"


def test_replaced_while_it_runs__not_taken_for_ours(site):
    site.start()
    site.at_once("none")
    site.api.call("DELETE", RUN)
    site.api.call("POST", RUN.rsplit("/", 1)[0], {"metadata": {"name": "fgpu-run"}}, status=201)
    site.fgpu.stop()
    assert site.data() == {}


def test_rehearsal__leaves_the_object_alone(site):
    site.fgpu = Fgpu(site.api.url, site.directory, LONG, flags=("--rehearse",))
    site.all.append(site.fgpu)
    eventually(lambda: site.fgpu.state("?fields=summary")["metadata"]["start"] == {"holdOff": "held", "reason": "off"})
    site.fgpu.process.send_signal(signal.SIGTERM)
    site.fgpu.process.wait(PATIENCE_S)
    assert site.data() == {}
