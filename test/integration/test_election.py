"""Several fgpu, of which one is active (decision 0097): election: lease.

Each has its own kubeconfig and configuration in a folder of its own. Who is active is asked of /state; no test counts on
how long something takes, but the Lease runs out by real time, so whoever is stopped is stopped for longer than that.
"""
import pathlib
import re
import signal
import threading

import pytest

from judge import check_no_overcommit
from objects import milli, node_name, pod_object
from processes import HEAD, RUN_OBJECT, Site, eventually, request, run

LEASE = "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases/fgpu-leader"
CONFIG = ("election: lease\nlease: {leaseDuration: 8s, renewDeadline: 6s, retryPeriod: 200ms}\n"
          "clientConnection: {holdOff: 1s, bindDeadline: 2s}\n")
LONG = CONFIG.replace("holdOff: 1s", "holdOff: 10m")
FOLLOWS = "fgpu is not ready: it follows, another replica decides"


class Replicas(Site):
    def start(self, config=CONFIG):
        directory = self.directory / f"replica-{len(self.all)}"
        directory.mkdir()
        return self.launch(directory, config)

    def pair(self, config=CONFIG):
        """(active, follower), both with the cluster read."""
        first = self.start(config).ready()
        second = self.start(config)
        self.warm(second)
        return first, second

    def warm(self, follower):
        eventually(lambda: meta(follower)["podsResourceVersion"] and meta(follower)["nodesResourceVersion"],
                   "the follower to have read the cluster")

    def lease(self):
        return self.api.call("GET", LEASE).json["spec"]

    def run_says(self, state):
        eventually(lambda: self.api.call("GET", RUN_OBJECT).json.get("data", {}).get("state") == state,
                   f"the run object to say {state}")


@pytest.fixture
def site(tmp_path):
    s = Replicas(tmp_path)
    yield s
    s.end()


def meta(fgpu):
    return fgpu.state("?fields=summary")["metadata"]


def leads(fgpu):
    return meta(fgpu)["leader"]


def taken_over(fgpu):
    eventually(lambda: fgpu.check() or leads(fgpu), "the other one to be elected")
    fgpu.ready()


def stop(fgpu):
    """Returns when each of its threads has stopped: until then it takes requests, and a reservation that it cannot send any more is a double
    booking to it when another one binds."""
    fgpu.process.send_signal(signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{fgpu.process.pid}/task")
    eventually(lambda: all((t / "stat").read_text().rpartition(")")[2].split()[0] == "T" for t in tasks.iterdir()), "its threads to stop")


def never_sends_what_waited(site, active, follower, take_over):
    """A bind is asked of the active one while it is stopped, and another one is bound by who takes over: the request waits in a socket, so it
    comes to the first one after SIGCONT, and the clock alone stops it then."""
    node = site.api.node(gpus=1)
    pod = site.api.pod(milli(600))
    eventually(lambda: active.fits(pod, [node]) == [node], "the node")
    stop(active)
    answers = []

    def ask():
        try:
            answers.append(active.bind(pod, node))
        except OSError as e:
            answers.append(repr(e))
    t = threading.Thread(target=ask)
    t.start()
    take_over()
    bind(site, follower, node, 600)
    active.process.send_signal(signal.SIGCONT)
    active.end(1)
    t.join()
    assert answers and answers[0] != ""
    assert node_name(site.api.get_pod(pod)) is None
    check_no_overcommit(site.api)


def bind(site, fgpu, node, amount=300):
    pod = site.api.pod(milli(amount))
    eventually(lambda: fgpu.fits(pod, [node]) == [node], "the node")
    eventually(lambda: fgpu.bind(pod, node) == "", "the bind")
    return pod


def refuses(fgpu, site, node):
    """Every verb, for pods with GPUs and without."""
    for pod in (site.api.pod(milli(100)), site.api.pod({"cpu": "1"})):
        assert fgpu.bind(pod, node) == FOLLOWS
        assert node_name(site.api.get_pod(pod)) is None
    gpu = pod_object("p", limits=milli(1))
    assert fgpu.filter(gpu, [node])["Error"] == FOLLOWS
    assert request(fgpu.health, "GET", "/readyz").status == 500
    assert "it follows, another replica decides" in request(fgpu.ops, "GET", "/readyz").body.decode()


def test_one_is_active__the_other_is_warm_and_says_so(site):
    node = site.api.node(gpus=1)
    active, follower = site.pair()
    assert leads(active) and not leads(follower)
    bind(site, active, node)
    eventually(lambda: follower.charged(node) == [300], "the bind in the ledger of the follower")
    refuses(follower, site, node)
    assert active.metrics()["fgpu_leader"] == 1 and follower.metrics()["fgpu_leader"] == 0
    spec = site.lease()
    assert re.fullmatch(r"\S+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", spec["holderIdentity"])
    assert spec["leaseDurationSeconds"] == 8 and spec["leaseTransitions"] == 0
    for key in ("acquireTime", "renewTime"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec[key])
    eventually(lambda: site.lease()["renewTime"] != spec["renewTime"], "a renewal")
    assert site.lease()["acquireTime"] == spec["acquireTime"]


def test_follower__writes_nothing(site):
    node = site.api.node(gpus=1)
    active, follower = site.pair()
    for _ in range(3):
        bind(site, active, node, 200)
    eventually(lambda: follower.charged(node) == [600], "the binds in the ledger of the follower")
    done = [k for k in follower.metrics() if k.startswith("fgpu_api_requests_total")]
    assert done and all(re.search(r'verb="(get|list|watch|check)"', k) for k in done), done


def test_sigterm__clean_hand_over_without_hold_off(site):
    """The hold-off is ten minutes, so whoever gets ready has left it out."""
    node = site.api.node(gpus=1)
    active, follower = site.pair(LONG)
    bind(site, active, node)
    active.stop()
    taken_over(follower)
    assert meta(follower)["start"] == {"holdOff": "none", "reason": "ended"}
    bind(site, follower, node)
    assert site.lease()["leaseTransitions"] == 1
    check_no_overcommit(site.api)


def test_kill_9__taken_over_with_hold_off(site):
    node = site.api.node(gpus=1)
    active, follower = site.pair()
    bind(site, active, node)
    active.kill()
    taken_over(follower)
    assert meta(follower)["start"] == {"holdOff": "held", "reason": "running"}
    bind(site, follower, node)
    eventually(lambda: follower.charged(node) == [600], "both binds")
    check_no_overcommit(site.api)


def test_stopped_beyond_the_lease__sends_nothing_and_ends(site):
    node = site.api.node(gpus=1)
    active, follower = site.pair()
    pod = site.api.pod(milli(600))
    eventually(lambda: active.fits(pod, [node]) == [node], "the node")
    stop(active)
    taken_over(follower)
    other = bind(site, follower, node, 600)
    active.process.send_signal(signal.SIGCONT)
    active.end(1)
    assert "Lost the Lease" in active.log()
    assert node_name(site.api.get_pod(pod)) is None and node_name(site.api.get_pod(other)) == node
    check_no_overcommit(site.api)


def test_bind_that_waits_while_the_lease_runs_out__is_never_sent(site):
    active, follower = site.pair()
    never_sends_what_waited(site, active, follower, lambda: taken_over(follower))


@pytest.mark.parametrize("what", ["deleted", "another holder", "no holder"])
def test_admin_meddles__never_two_and_one_in_the_end(site, what):
    node = site.api.node(gpus=1)
    active, follower = site.pair()
    bind(site, active, node)
    if what == "deleted":
        site.api.call("DELETE", LEASE)
    else:
        site.api.patch(LEASE, {"spec": {"holderIdentity": "admin" if what == "another holder" else ""}})
    active.end(1)  # it takes nothing back
    taken_over(follower)
    bind(site, follower, node)
    check_no_overcommit(site.api)


def test_labels_of_an_admin__are_kept_and_cost_nobody_the_lease(site):
    active, _ = site.pair()
    site.api.patch(LEASE, {"metadata": {"labels": {"a": "b"}, "annotations": {"c/d": "\u00e9 \"x\""}},
                           "spec": {"preferredHolder": "someone"}})
    before = site.lease()["renewTime"]
    eventually(lambda: site.lease()["renewTime"] != before, "a renewal")
    m = site.api.call("GET", LEASE).json
    assert m["metadata"]["labels"] == {"a": "b"} and m["metadata"]["annotations"] == {"c/d": "\u00e9 \"x\""}
    assert m["spec"]["preferredHolder"] == "someone"
    active.check()
    assert leads(active)


@pytest.mark.parametrize("fault", [{"action": "close-after"}, {"action": "fail-after", "status": 504},
                                   {"action": "close-before"}, {"action": "fail", "status": 409}],
                         ids=lambda f: "%s %s" % (f["action"], f.get("status", "")))
def test_answer_to_a_renewal_is_lost__goes_on(site, fault):
    active, _ = site.pair()
    site.api.faults({"method": "PUT", "path": LEASE, "times": 1, **fault})
    eventually(lambda: site.api.fault_hits()[0] == 1, "the fault")
    before = site.lease()["renewTime"]
    eventually(lambda: site.lease()["renewTime"] != before, "a renewal")
    active.check()
    assert leads(active)


def test_cannot_renew__ends_and_the_other_takes_over(site):
    """One side of a partition: its PUTs are not answered. The other replica writes, too, so only the first is cut off."""
    active, follower = site.pair()
    site.api.faults({"method": "PUT", "path": LEASE, "times": -1, "action": "fail", "status": 503})
    active.end(1)
    assert "it could not be renewed in time" in active.log()
    site.api.faults(clear=True)
    taken_over(follower)


def test_no_right_to_the_lease__follows_and_names_the_remedy(site):
    site.api.faults({"path": LEASE, "times": -1, "action": "fail", "status": 403})
    f = site.start()
    eventually(lambda: "Apply the Role fgpu-lease" in f.log(), "a line with the remedy")
    site.warm(f)
    refuses(f, site, site.api.node(gpus=1))
    site.api.faults(clear=True)
    taken_over(f)


def test_F123_sigterm_while_a_renewal_hangs__ends_all_the_same(site):
    """A call for the Lease may take half of renewDeadline, but nobody waits for it that long who ends."""
    f = site.start(CONFIG.replace("8s", "1000s").replace("6s", "900s"))
    eventually(lambda: request(site.api.address, "GET", LEASE).status == 200, "the Lease")
    site.api.faults({"method": "PUT", "path": LEASE, "times": -1, "delayMs": 60000})
    eventually(lambda: site.api.call("GET", "/_faults").json["delayed"] == 1, "a renewal that hangs")
    site.api.process.send_signal(signal.SIGSTOP)
    try:
        f.stop()
    finally:
        site.api.process.send_signal(signal.SIGCONT)


def test_third_replica__one_after_the_other(site):
    node = site.api.node(gpus=2)
    a, b = site.pair()
    c = site.start()
    site.warm(c)
    bind(site, a, node)
    a.stop()
    eventually(lambda: sum(map(leads, (b, c))) == 1, "one of the two to be elected")
    second, third = (b, c) if leads(b) else (c, b)
    second.ready()
    bind(site, second, node)
    second.stop()
    taken_over(third)
    bind(site, third, node)
    check_no_overcommit(site.api)


def test_settings_that_cannot_work__are_refused(tmp_path):
    for text, words in (("leaseDuration: 1500ms", "whole seconds"),
                        ("leaseDuration: 3s", "renewDeadline must be less than leaseDuration"),
                        ("retryPeriod: 2500ms", "more than 1.2 times retryPeriod"),
                        ("object: ''", "must name a Lease")):
        path = tmp_path / "c.yaml"
        path.write_text(HEAD + "election: lease\nlease: {" + text + "}\n")
        r = run("check-config", path)
        assert r.returncode == 3 and words in r.stdout + r.stderr, r
