"""scripts/fault-sweep: one call of the C library fails in `fgpu serve`, the Nth of its kind, for every N, while a pod is
bound, while pods and nodes are listed again, and while the configuration is read again. Starts and fail-overs: starts.py.

After each failure: fgpu lives, or it has said why it does not (out of memory alone may end it, src/base/bug.c); no GPU
was given twice; fgpu is ready again, and binds; and no reservation is left when the pods are gone.
"""
import argparse
import http.client
import os
import pathlib
import re
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from orders import ERRORS, Order, tell  # noqa: E402
from judge import check_no_overcommit  # noqa: E402
from objects import node_name, whole  # noqa: E402
from processes import HEAD, Cluster, eventually, request  # noqa: E402
import starts  # noqa: E402

# Without --long: a watch that breaks makes the pause before the next one longer, so there are few of these. Memory that
# runs out is for --long: which allocation is the Nth differs from run to run, and each ends fgpu.
SHORT = {"bind": [e for e in ERRORS if e[0] != "malloc"],
         "relist": [("socket", "EMFILE"), ("recv", "ECONNRESET")],
         "reload": [("open", "EMFILE"), ("read", "EIO"), ("read", "EINTR"), ("epoll_wait", "ENOMEM")]}
CONFIG = "clientConnection: {holdOff: 0s, bindDeadline: 2s}\n"


def counts_of(deed, call, error, long):
    if long:
        return range(1, 400, 3) if call == "malloc" else range(1, 2000)
    return range(1, 9) if (deed, call, error) in (("bind", "epoll_wait", "ENOMEM"), ("bind", "epoll_ctl", "ENOMEM")) else (1, 3) if deed == "bind" else (1,)  # F133


class Sweep:
    def __init__(self, directory, library):
        self.directory, self.order = directory, Order(directory, library)
        self.cluster = Cluster(directory, CONFIG)  # the API server must not fail, so fgpu is started again
        self.cluster.fgpu.kill()
        self.start()
        self.node = self.cluster.node(gpus=1)
        self.failures = self.deaths = 0

    def start(self):
        with self.order.reaches():
            self.cluster.restarted()
        self.cluster.fgpu.ready()

    def try_bind(self, pod):
        try:
            return self.cluster.fgpu.bind(pod, self.node)
        except (OSError, http.client.HTTPException) as e:
            return repr(e)

    def bind(self):
        self.try_bind(self.cluster.api.pod(whole(1)))

    def relist(self):
        hits = self.cluster.api.pod({"fgpu.io/gpu-milli": 1})
        self.cluster.api.faults(compact=True, dropWatches=True)
        self.cluster.api.delete_pod(hits)
        self.try_bind(self.cluster.api.pod(whole(1)))

    def reload(self):
        (self.directory / "fgpu.yaml").write_text(HEAD + CONFIG + f"logging: {{verbosity: {1 + self.failures % 3}}}\n")
        self.cluster.fgpu.process.send_signal(signal.SIGHUP)
        self.try_bind(self.cluster.api.pod(whole(1)))

    def look(self, what):
        """What must hold after a failure; leaves the cluster as it was."""
        c = self.cluster
        def decided():
            try:
                return not c.fgpu.alive() or request(c.fgpu.health, "GET", "/readyz").status == 200
            except OSError:
                return False  # it may be ending
        eventually(decided, f"{what}: fgpu to be ready, or to have ended")
        if not c.fgpu.alive():
            assert "malloc" in what and re.search(r"\bBUG \S+:\d+: |Fatal error in", c.fgpu.log()), f"{what}: fgpu has ended without saying why:\n{c.fgpu.log()[-3000:]}"
            self.deaths += 1
            self.start()
        c.fgpu.ready()
        rival = c.api.pod(whole(1))
        self.try_bind(rival)  # the GPU may be free, if the first bind was refused
        check_no_overcommit(c.api)

        def one_is_bound():
            pods = c.api.list("pods")
            for p in pods:
                if not any(node_name(q) for q in c.api.list("pods")):
                    self.try_bind(p)
            bound = [p for p in c.api.list("pods") if node_name(p)]
            assert len(bound) < 2, f"{what}: a GPU was given twice"
            return len(bound) == 1
        eventually(one_is_bound, f"{what}: a pod that fits to be bound")
        eventually(lambda: c.fgpu.charged(self.node) == [1000], f"{what}: its GPU to be charged once")
        check_no_overcommit(c.api)
        self.clean(what)

    def clean(self, what):
        c = self.cluster
        for p in c.api.list("pods"):
            c.api.delete_pod(p)
        eventually(lambda: c.fgpu.charged(self.node) == [0], f"{what}: no reservation to be left")
        c.fgpu.check()

    def sweep(self, deed, call, error, counts):
        for nth in counts:
            what = f"{deed}, {call} {nth} fails with {error}"
            self.order.give(call, nth, error)
            getattr(self, deed)()
            failed = self.order.take_back()
            tell(what, failed)
            self.failures += failed
            if not failed:
                self.clean(what)
                return  # there are not so many
            self.look(what)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--library", required=True, help="fail_calls.so")
    p.add_argument("--long", action="store_true", help="every N of every kind, instead of a few, and memory")
    p.add_argument("deeds", nargs="*", metavar="DEED", help=f"only these: {' '.join([*SHORT, *starts.SHORT])}")
    a = p.parse_args()
    if not a.deeds or set(a.deeds) & set(SHORT):
        run(a)
    if not a.deeds or set(a.deeds) & set(starts.SHORT):
        starts.main(a.library, a.long, a.deeds)


def run(a):
    with tempfile.TemporaryDirectory(prefix="fgpu-faults-") as d:
        s = Sweep(pathlib.Path(d), a.library)
        try:
            for deed, few in SHORT.items():
                if a.deeds and deed not in a.deeds:
                    continue
                for call, error in ERRORS if a.long else few:
                    s.sweep(deed, call, error, counts_of(deed, call, error, a.long))
                print(f"{deed}: {s.failures} failures so far, {s.deaths} of them ended fgpu with a message", flush=True)
            assert a.deeds or s.failures >= 15, "hardly any call has failed: the sweep does not reach fgpu"
            s.cluster.stop()
        except BaseException:
            print(s.cluster.fgpu.log()[-4000:], file=sys.stderr)
            s.cluster.kill()
            raise


main()
