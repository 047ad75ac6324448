"""The half of scripts/fault-sweep that starts processes: the Nth call of one kind fails while fgpu starts, while a replica
that follows takes over, and while the active one ends and hands over (election: lease).

A process may end by any of these, if it says why; then the next start, or the other replica, must do. What must hold
afterwards is the same in all cases: somebody is ready and binds, never two, and no GPU is given twice.
"""
import http.client
import os
import pathlib
import re
import signal
import sys
import tempfile

from judge import check_no_overcommit
from objects import node_name, whole
from orders import ERRORS, Order, tell
from processes import PATIENCE_S, Site, eventually, request, signing_key

ALONE = "clientConnection: {holdOff: 0s, bindDeadline: 2s}\n"
REPLICAS = ("election: lease\nlease: {leaseDuration: 8s, renewDeadline: 6s, retryPeriod: 200ms}\n"
            "clientConnection: {holdOff: 1s, bindDeadline: 2s}\n")
# Without --long: a few whose loss the start, the claim of the Lease and its end must bear. Each takes a second or two.
SHORT = {"start": [("open", "EMFILE"), ("connect", "ECONNREFUSED"), ("read", "EIO"), ("epoll_ctl", "ENOMEM")],
         "take_over": [("recv", "ECONNRESET")],
         "hand_over": [("send", "ECONNRESET")]}


def counts_of(deed, call, long):
    if not long:
        return (1, 5) if deed == "start" else (2,)
    if deed == "start" and call != "malloc":
        return range(1, 2000)
    if call == "malloc":
        return [int(1.5 ** n) for n in range(1, 30)]
    return [1, 2, 3, 4, 5, 6, 8, 11, 15, 21, 30, 45]  # seconds each; and a replica goes on calling


class Starts(Site):
    """One fgpu, or two of which one decides; `decides` is who does, or should."""

    def __init__(self, directory, library):
        super().__init__(directory)
        self.order = Order(directory, library)
        os.environ["FAIL_CALLS_SPARE_LOG"] = "1"  # of sweep.py's cluster the log may fail
        signing_key()  # it is made by a process of its own, which must not fail
        self.node, self.failures, self.deaths = self.api.node(gpus=1), 0, 0
        self.config, self.decides = ALONE, None

    def folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.directory))

    def another(self):
        return self.launch(self.folder(), self.config)

    def try_bind(self, pod):
        try:
            return self.decides.bind(pod, self.node)
        except (OSError, http.client.HTTPException) as e:
            return repr(e)

    # ---- what is done ----

    def start(self, give):
        """The one that decides ends in order, and the next one starts."""
        if self.decides is not None:
            self.decides.stop()
        self.decides = None
        folder = self.folder()
        try:
            with self.order.reaches():
                give()
                self.decides = self.launch(folder, self.config)
        except RuntimeError as e:  # it never listened
            self.note_end("start", int(re.search(r"ended with (-?\d+)", str(e)).group(1)), str(e))
            return
        self.await_ready_or_end(self.decides)

    def take_over(self, give):
        """The follower's calls fail while it is elected."""
        with self.order.reaches():
            follower = self.another()
        self.warm(follower)
        give()
        self.decides.stop()
        self.decides = follower
        self.await_ready_or_end(follower)

    def hand_over(self, give):
        """Those of the active one fail while it ends. It is one whose calls can fail."""
        with self.order.reaches():
            active = self.another()
        self.warm(active)
        self.decides.stop()
        self.decides = active.ready()
        follower = self.another()
        self.warm(follower)
        give()
        active.process.send_signal(signal.SIGTERM)
        code = active.process.wait(PATIENCE_S)
        if code != 0:
            self.note_end("hand_over", code, active.log())
        self.decides = follower

    def warm(self, follower):
        def has_read():
            m = follower.state("?fields=summary")["metadata"]
            return m["podsResourceVersion"] and m["nodesResourceVersion"]
        eventually(lambda: follower.check() or has_read(), "the follower to have read the cluster")

    def await_ready_or_end(self, f):
        def decided():
            try:
                return not f.alive() or request(f.health, "GET", "/readyz").status == 200
            except OSError:
                return False  # it may be ending
        eventually(decided, "fgpu to be ready, or to have ended")

    # ---- what must hold ----

    def note_end(self, what, code, log):
        """It has ended by itself: that is allowed where it says why. Libraries that read the key (libtasn1) do not look at what
        malloc() answers."""
        if self.call == "malloc" and code == -signal.SIGSEGV and what == "start":
            tell("    crashed in a library", True)
            self.deaths += 1
            return
        assert code > 0 or re.search(r"\bBUG \S+:\d+: |Fatal error in", log), f"{what}: ended with {code}:\n{log[-3000:]}"
        said = re.findall(r"^(?:E\d{4}.*|fgpu.*: .*|.*\bBUG .*|.*Fatal error in.*|.*level=error.*|.*\"Cannot start\".*)$", log, re.M)
        assert said, f"{what}: fgpu has ended without saying why:\n{log[-3000:]}"
        tell(f"    ended with {code}: {' | '.join(log.splitlines()[-3:])[:300]}", True)
        self.deaths += 1

    def look(self, what):
        """Somebody is ready, binds, and gives no GPU twice; leaves the cluster as it was."""
        if self.decides is not None and not self.decides.alive():
            self.note_end(what, self.decides.process.returncode, self.decides.log())
            self.decides = None
        if self.decides is None:
            self.decides = self.another()
        self.decides.ready()
        pods = [self.api.pod(whole(1)) for _ in range(2)]

        def one_is_bound():
            for p in pods:
                if not any(node_name(q) for q in self.api.list("pods")):
                    self.try_bind(p)
            return sum(bool(node_name(p)) for p in self.api.list("pods")) == 1
        eventually(one_is_bound, f"{what}: a pod that fits to be bound")
        for p in pods:
            self.try_bind(p)
        check_no_overcommit(self.api)
        assert sum(bool(node_name(p)) for p in self.api.list("pods")) == 1, f"{what}: a GPU was given twice"
        for p in self.api.list("pods"):
            self.api.delete_pod(p)
        eventually(lambda: self.decides.charged(self.node) == [0], f"{what}: no reservation to be left")
        self.decides.check()
        self.api.check()

    def sweep(self, deed, call, error, counts):
        for nth in counts:
            what, self.call = f"{deed}, {call} {nth} fails with {error}", call
            getattr(self, deed)(lambda: self.order.give(call, nth, error))
            failed = self.order.take_back()
            tell(what, failed)
            self.look(what)
            self.failures += failed
            if not failed:
                return

    def become_replicas(self):
        """From now on there are several."""
        self.decides.stop()
        self.config = REPLICAS
        self.decides = self.another().ready()


def main(library, long, deeds=()):
    with tempfile.TemporaryDirectory(prefix="fgpu-faults-") as d:
        s = Starts(pathlib.Path(d), library)
        try:
            for deed, few in SHORT.items():
                if deed != "start" and s.config == ALONE:
                    s.decides = s.decides or s.another().ready()
                    s.become_replicas()
                if deeds and deed not in deeds:
                    continue
                for call, error in ERRORS if long else few:
                    s.sweep(deed, call, error, counts_of(deed, call, long))
                print(f"{deed}: {s.failures} failures so far, {s.deaths} of them ended fgpu with a message", flush=True)
            assert deeds or s.failures >= 6, "hardly any call has failed: the sweep does not reach fgpu"
        except BaseException:
            for f in s.all[-2:]:
                print(f"---- {f.log_path.name}\n{f.log()[-4000:]}", file=sys.stderr)
            for f in s.all:
                f.process.kill()
            s.api.process.kill()
            raise
        s.end()
