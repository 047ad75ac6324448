"""Several fgpu, each beside a kube-scheduler: election: follow-scheduler (decision 0102).

The test itself is the schedulers: it renews their Lease and hands it on as client-go does. No test counts on how long
something takes.
"""
import threading
import uuid

import pytest

from judge import check_no_overcommit
from objects import milli, node_name
from processes import HEAD, RUN_OBJECT, Fgpu, eventually, request, run
from test_election import FOLLOWS, Replicas, bind, leads, meta, never_sends_what_waited, stop

LEASES = "/apis/coordination.k8s.io/v1/namespaces/fgpu-system/leases"
LEASE = LEASES + "/fgpu-scheduler"
HOSTS = ("pod-a", "pod-a_b")  # one name is the beginning of the other


class Schedulers:
    """Whoever of them is named renews the Lease until it is killed."""

    def __init__(self, api):
        self.api, self.holder, self.renews, self.n = api, "", False, -1
        self.over, self.lock = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self.renew)
        self.thread.start()

    def renew(self):
        n = 0
        while not self.over.wait(0.2):
            n += 1
            with self.lock:
                if self.renews:
                    self.api.patch(LEASE, {"spec": {"renewTime": "2026-11-27T08:%02d:%02d.%06dZ" %
                                                    (n // 3600 % 60, n // 60 % 60, n)}})

    def elect(self, host):
        """A new process there takes it over."""
        with self.lock:
            self.n += 1
            spec = {"holderIdentity": f"{host}_{uuid.uuid4()}", "leaseDurationSeconds": 5, "leaseTransitions": self.n,
                    "acquireTime": "2026-11-27T07:00:00.%06dZ" % self.n, "renewTime": "2026-11-27T07:00:00.%06dZ" % self.n}
            if self.n == 0:
                self.api.call("POST", LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                               "metadata": {"namespace": "fgpu-system", "name": "fgpu-scheduler"}, "spec": spec}, status=201)
            else:
                self.api.patch(LEASE, {"spec": spec})
            self.renews = True

    def release(self):
        with self.lock:
            self.renews = False
            self.api.patch(LEASE, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})

    def killed(self):
        with self.lock:
            self.renews = False

    def end(self):
        self.over.set()
        self.thread.join()


class Pods(Replicas):
    """Each fgpu with its scheduler beside it."""

    def __init__(self, directory):
        super().__init__(directory)
        self.schedulers = Schedulers(self.api)

    def beside(self, host, hold_off="1s"):
        return self.start("election: follow-scheduler\n"
                          f"lease: {{object: fgpu-system/fgpu-scheduler, schedulerHost: {host}, leaseDuration: 5s, "
                          "renewDeadline: 3s, retryPeriod: 200ms}\n"
                          f"clientConnection: {{holdOff: {hold_off}, bindDeadline: 2s}}\n")

    def both(self, hold_off="1s"):
        """(active, follower): no fgpu has run here before, so the first one leaves the hold-off out."""
        first, second = self.beside(HOSTS[0], hold_off), self.beside(HOSTS[1], hold_off)
        self.schedulers.elect(HOSTS[0])
        decides(first)
        self.warm(second)
        return first, second

    def end(self):
        self.schedulers.end()
        super().end()


@pytest.fixture
def site(tmp_path):
    s = Pods(tmp_path)
    yield s
    s.end()


def decides(fgpu):
    eventually(lambda: fgpu.check() or (leads(fgpu) and meta(fgpu)["ready"]), "this one to decide")


def refuses(fgpu, site, node, words=FOLLOWS):
    for pod in (site.api.pod(milli(100)), site.api.pod({"cpu": "1"})):
        assert words in fgpu.bind(pod, node)
        assert node_name(site.api.get_pod(pod)) is None


def closes(fgpu, site, node):
    """It binds nothing, but does not end."""
    eventually(lambda: not meta(fgpu)["ready"], "nothing to be bound")
    refuses(fgpu, site, node, "its Lease has run out")


def test_the_one_beside_the_active_scheduler_decides__the_other_is_warm_and_ready(site):
    node = site.api.node(gpus=1)
    active, follower = site.both()
    bind(site, active, node)
    eventually(lambda: follower.charged(node) == [300], "the bind in the ledger of the follower")
    refuses(follower, site, node)
    assert request(follower.health, "GET", "/readyz").status == 200  # no Service leads to it by that
    assert not leads(follower) and not meta(follower)["ready"]
    assert active.metrics()["fgpu_leader"] == 1 and follower.metrics()["fgpu_leader"] == 0
    for f in (active, follower):
        done = [k for k in f.metrics() if k.startswith("fgpu_api_requests_total") and 'resource="leases"' in k]
        assert done and all('verb="get"' in k for k in done), done
    done = [k for k in follower.metrics() if k.startswith("fgpu_api_requests_total")]
    assert not [k for k in done if 'verb="get"' not in k and 'verb="list"' not in k and 'verb="watch"' not in k], done


def test_pair_ends_in_order__the_other_decides_without_hold_off(site):
    """The hold-off is ten minutes, so whoever decides has left it out."""
    node = site.api.node(gpus=1)
    active, follower = site.both("10m")
    bind(site, active, node)
    site.schedulers.release()
    active.stop()
    site.schedulers.elect(HOSTS[1])
    decides(follower)
    assert meta(follower)["start"] == {"holdOff": "none", "reason": "ended"}
    bind(site, follower, node)
    check_no_overcommit(site.api)


def test_scheduler_is_killed_and_another_one_takes_over__fgpu_beside_it_ends_and_says_so(site):
    node = site.api.node(gpus=1)
    active, follower = site.both("10m")
    bind(site, active, node)
    site.schedulers.killed()
    closes(active, site, node)
    site.schedulers.elect(HOSTS[1])
    active.end(1)
    assert "the scheduler of another replica has the Lease" in active.log()
    decides(follower)
    assert meta(follower)["start"]["reason"] == "ended"
    bind(site, follower, node)
    check_no_overcommit(site.api)


def test_pair_is_killed__taken_over_with_hold_off(site):
    node = site.api.node(gpus=1)
    active, follower = site.both()
    bind(site, active, node)
    active.kill()
    site.schedulers.killed()
    site.schedulers.elect(HOSTS[1])
    decides(follower)
    assert meta(follower)["start"] == {"holdOff": "held", "reason": "running"}
    bind(site, follower, node)
    check_no_overcommit(site.api)


@pytest.mark.parametrize("in_order", [True, False], ids=["ended in order", "killed"])
def test_scheduler_restarts_in_place__fgpu_goes_on(site, in_order):
    """Ten minutes of hold-off would begin if it did not."""
    node = site.api.node(gpus=1)
    active, _ = site.both("10m")
    bind(site, active, node)
    if in_order:
        site.schedulers.release()
        closes(active, site, node)
    site.schedulers.elect(HOSTS[0])
    bind(site, active, node)
    active.check()
    assert leads(active)


def test_both_are_stopped_beyond_the_lease__sends_nothing_and_ends(site):
    active, follower = site.both()

    def take_over():
        site.schedulers.elect(HOSTS[1])
        decides(follower)
    never_sends_what_waited(site, active, follower, take_over)


def test_lease_is_not_shown_for_a_while__nothing_is_bound_then_it_goes_on(site):
    node = site.api.node(gpus=1)
    active, _ = site.both("10m")
    bind(site, active, node)
    site.api.faults({"method": "GET", "path": LEASE, "times": -1, "action": "fail", "status": 503})
    closes(active, site, node)
    site.api.faults(clear=True)
    bind(site, active, node)
    active.check()


def test_lease_is_deleted__ends(site):
    active, _ = site.both()
    site.schedulers.killed()
    site.api.call("DELETE", LEASE)
    active.end(1)
    assert "it was deleted" in active.log()


def test_no_lease__says_so_and_follows(site):
    f = site.beside(HOSTS[0])
    eventually(lambda: "There is no such Lease, so nobody decides" in f.log(), "a line about it")
    site.schedulers.elect(HOSTS[0])
    decides(f)
    assert f.log().count("There is no such Lease") == 1


def test_no_right_to_the_lease__follows_and_names_the_remedy(site):
    site.api.faults({"method": "GET", "path": LEASE, "times": -1, "action": "fail", "status": 403})
    f = site.beside(HOSTS[0])
    site.schedulers.elect(HOSTS[0])
    eventually(lambda: "Apply the Role fgpu-follow" in f.log(), "a line with the remedy")
    site.warm(f)
    refuses(f, site, site.api.node(gpus=1))
    assert site.api.call("GET", RUN_OBJECT).json.get("data", {}) == {}
    site.api.faults(clear=True)
    decides(f)


def test_F142_host_name_of_64_characters__is_known_whole(site, tmp_path):
    """As long as the kernel has them."""
    host = "h" * 64
    config = "election: follow-scheduler\nlease: {object: fgpu-system/fgpu-scheduler, retryPeriod: 200ms}\n"
    site.all.append(Fgpu(site.api.url, tmp_path, config, host=host))
    site.schedulers.elect(host)
    decides(site.all[-1])
    (tmp_path / "longer.yaml").write_text(HEAD + config.replace("{", "{schedulerHost: h%s, " % host))
    assert "too long" in run("check-config", tmp_path / "longer.yaml").stderr
