"""The processes of a test cluster and the conversations with them.

The binary under test is FGPU_BIN (scripts/integration sets it); it is also the simulated API server. Nothing here
waits for a fixed time: eventually() polls until a deadline that only a broken program reaches, so that the tests
stay true on a machine, or under a sanitizer, ten times slower.
"""
import atexit
import ctypes
import functools
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse

from objects import node_object, pod_object, pod_path, uid, unique
from replies import Reply, check_filter, check_priorities, checked, parse_metrics

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FGPU_BIN", ROOT / "build/dev/fgpu"))
PATIENCE_S = int(os.environ.get("FGPU_TEST_PATIENCE_S", "60"))
SANITIZER = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|\bBUG[: ])")
HEADERS = {"Content-Type": "application/json"}
RUN_OBJECT = "/api/v1/namespaces/fgpu-system/configmaps/fgpu-run"
WAKE_OBJECT = "/apis/storage.k8s.io/v1/namespaces/fgpu-system/csistoragecapacities/fgpu-wake"
HEAD = "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"  # of every configuration file


def eventually(check, what="the expected state", timeout_s=PATIENCE_S):
    """check() until it returns something true; that is returned. AssertionErrors inside count as "not yet"."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            last = check()
            if last:
                return last
        except AssertionError as e:
            last = e
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s} s for {what}; last: {last!r}")
        time.sleep(0.02)


def in_threads(n, work):
    """work(i) in n threads at once; the results in order. The first exception is raised."""
    results, errors = [None] * n, []
    start = threading.Barrier(n)

    def run(i):
        try:
            start.wait()
            results[i] = work(i)
        except Exception as e:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(e)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def encode(body):
    if body is None or isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def request(address, method, path, body=None, headers=None, timeout_s=PATIENCE_S):
    """One request on a connection of its own. `body` may be bytes, text, or anything JSON."""
    c = http.client.HTTPConnection(*address, timeout=timeout_s)
    try:
        c.request(method, path, encode(body), {**(HEADERS if body is not None else {}), **(headers or {})})
        return Reply(c.getresponse())
    finally:
        c.close()


def run(*args, timeout_s=120):
    """The command fgpu with these arguments, to its end: returncode, stdout and stderr as text."""
    return subprocess.run([str(BINARY), *map(str, args)], capture_output=True, text=True, timeout=timeout_s)


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """In the child: a test run that is killed leaves nothing behind."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child whose stderr goes to a file."""

    alarms = SANITIZER  # words that must not appear there

    def __init__(self, command, log_path, **kw):
        self.log_path = log_path
        self.seen = 0
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(command, stderr=log, preexec_fn=die_with_parent, **kw)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def check_log(self):
        """No alarm since the last check; each fails one test only."""
        text = self.log()
        news, self.seen = text[self.seen:], len(text)
        found = self.alarms.search(news)
        assert not found, news[max(0, found.start() - 200):found.start() + 6000]

    def check(self):
        code = self.process.poll()
        self.check_log()
        assert code is None, f"ended with {code}:\n{self.log()[-4000:]}"

    def end(self, code):
        """Waits for the end that was asked for."""
        got = self.process.wait(PATIENCE_S)
        self.check_log()
        assert got == code, f"exit code {got}, not {code}:\n{self.log()[-4000:]}"


class ApiServer(Process):
    """fgpu apiserver; include/demo/apiserver/apiserver.h says what it does."""

    def __init__(self, directory, port=0, seed=None):
        name = unique("apiserver")  # its number also makes the UIDs differ from those of every other one
        self.seed = seed or name.split("-")[1]
        super().__init__([str(BINARY), "apiserver", "--port", str(port), "--seed", self.seed],
                         directory / (name + ".log"),
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.url)
        self.address = (parts.hostname, parts.port)

    def stop(self):
        self.process.stdin.close()
        self.end(0)
        self.process.stdout.close()

    def call(self, method, path, body=None, headers=None, status=200):
        r = request(self.address, method, path, body, headers)
        assert r.status == status, f"{method} {path}: {r.status} {r.body[:500]!r}"
        return r

    def faults(self, *rules, **command):
        if rules:
            command["rules"] = list(rules)
        return self.call("POST", "/_faults", command).json

    def fault_hits(self):
        return [rule["hits"] for rule in self.call("GET", "/_faults").json["rules"]]

    def list(self, resource):
        return self.call("GET", f"/api/v1/{resource}").json["items"]

    def node(self, gpus=4, name=None, **kw):
        name = name or unique("node")
        self.call("POST", "/api/v1/nodes", node_object(name, gpus, **kw), status=201)
        return name

    def delete_node(self, name):
        self.call("DELETE", f"/api/v1/nodes/{name}")

    def pod(self, limits=None, annotations=None, name=None, namespace="default", **spec):
        """A pending pod, or one bound by somebody else with nodeName; returns the object as created."""
        obj = pod_object(name or unique("pod"), namespace, limits, annotations, **spec)
        return self.call("POST", f"/api/v1/namespaces/{namespace}/pods", obj, status=201).json

    def get_pod(self, pod):
        return self.call("GET", pod_path(pod)).json

    def delete_pod(self, pod, grace_s=0):
        self.call("DELETE", f"{pod_path(pod)}?gracePeriodSeconds={grace_s}")

    def set_phase(self, pod, phase):
        self.patch(pod_path(pod) + "/status", {"status": {"phase": phase}})

    def patch_pod(self, pod, change, subresource=""):
        self.patch(pod_path(pod) + subresource, change)

    def bind_behind_our_back(self, pod, node, annotations=None):
        name = pod["metadata"]["name"]
        self.call("POST", pod_path(pod) + "/binding", status=201, body={
            "metadata": {"name": name, "annotations": annotations or {}}, "target": {"kind": "Node", "name": node}})

    def make_objects_of_fgpu(self):
        """The ConfigMap fgpu-run and the CSIStorageCapacity fgpu-wake, as the manifests make them: with them a start
        after an orderly end, or in an empty cluster, needs no hold-off."""
        for path in (RUN_OBJECT, WAKE_OBJECT):
            folder, name = path.rsplit("/", 1)
            self.call("POST", folder, {"metadata": {"name": name}}, status=201)

    def patch(self, path, change):
        self.call("PATCH", path, change, {"Content-Type": "application/merge-patch+json"})


SIGNING_KEY_LOCK = threading.Lock()


def signing_key():
    """The private key of this run of the tests, for every fgpu whose configuration does not speak of signing."""
    with SIGNING_KEY_LOCK:
        return make_signing_key()


@functools.cache
def make_signing_key():
    path = pathlib.Path(tempfile.mkdtemp(prefix="fgpu-signing-")) / "key.pem"
    atexit.register(shutil.rmtree, path.parent)
    subprocess.run([str(BINARY), "signing-key", "--out", str(path)], check=True, capture_output=True)
    return path


class Fgpu(Process):
    """fgpu serve. Not ready yet when the constructor returns, but listening. `cluster` and `user` are further keys of
    its kubeconfig, `flags` of its command line; `host` a host name that it sees. Records are signed with signing_key(), unless `config` has a section "signing"."""

    # While one fgpu alone decides there is no incident, whatever else happens.
    alarms = re.compile(SANITIZER.pattern + r'|"INCIDENT"')

    def expect_incidents(self):
        """The test makes some itself."""
        self.alarms = SANITIZER
        return self

    def __init__(self, api_url, directory, config=None, cluster=None, user=None, flags=(), host=None):
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": api_url, **(cluster or {})}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        command = [str(BINARY), "serve", "--kubeconfig", str(kubeconfig)]
        for listener in ("verbs", "ops", "health"):
            command += [f"--{listener}-address", "127.0.0.1:0"]
        if config is not None:
            path = directory / "fgpu.yaml"
            path.write_text(HEAD + config)
            command += ["--config", str(path)]
        command += flags
        if not re.search(r"^signing:", config or "", re.M):
            command += ["--signing-key", str(signing_key())]
        if host is not None:
            user_namespace = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
            command = ["unshare", *user_namespace, "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, *command]
        super().__init__(command, directory / (unique("serve") + ".log"))
        self.verbs, self.ops, self.health = (self.address_of(x) for x in ("verbs", "ops", "health"))
        self.ops_url = "http://%s:%d" % self.ops

    def address_of(self, listener):
        def find():
            if not self.alive():
                raise RuntimeError(f"fgpu ended with {self.process.returncode}:\n{self.log()[-4000:]}")
            return re.search(rf'"Listening" listener="{listener}" port=(\d+)', self.log())
        return "127.0.0.1", int(eventually(find, f"the {listener} listener").group(1))

    def ready(self):
        eventually(lambda: self.check() or request(self.health, "GET", "/readyz").status == 200, "fgpu to be ready")
        return self

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        self.end(0)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self.check_log()

    # ---- verbs ----

    def post(self, verb, body, timeout_s=PATIENCE_S):
        """Any body on a connection of its own; whatever it is, the reply is 200, JSON and nothing behind it."""
        return checked(request(self.verbs, "POST", f"/v1/{verb}", body, timeout_s=timeout_s)).json

    def filter(self, pod, nodes):
        return check_filter(self.post("filter", {"Pod": pod, "Nodes": None, "NodeNames": nodes}), nodes)

    def fits(self, pod, nodes):
        r = self.filter(pod, nodes)
        assert not r["Error"], r
        return r["NodeNames"]

    def reasons(self, pod, nodes):
        """{node: reason} for a pod that fits nowhere."""
        r = self.filter(pod, nodes)
        assert not r["Error"] and r["NodeNames"] == [], r
        return {**r["FailedNodes"], **r["FailedAndUnresolvableNodes"]}

    def prioritize(self, pod, nodes):
        r = check_priorities(self.post("prioritize", {"Pod": pod, "Nodes": None, "NodeNames": nodes}), nodes)
        assert r, "no scores"
        return r

    def bind(self, pod, node, timeout_s=PATIENCE_S):
        """The Error of the reply; "" is success."""
        m = pod["metadata"]
        r = self.post("bind", {"PodName": m["name"], "PodNamespace": m["namespace"], "PodUID": m["uid"],
                               "Node": node}, timeout_s)
        assert set(r) == {"Error"}
        return r["Error"]

    def schedule(self, pod, nodes):
        """filter, prioritize, bind as kube-scheduler does; the node, or None when no node was left."""
        names = self.fits(pod, nodes)
        if not names:
            return None
        scores = self.prioritize(pod, names)
        node = max(names, key=lambda n: scores[n])
        error = self.bind(pod, node)
        assert error == "", error
        return node

    # ---- /state ----

    def state(self, query=""):
        r = request(self.ops, "GET", "/state" + query)
        assert r.status == 200, r.body
        return r.json

    def summary(self):
        return self.state("?fields=summary")["summary"]

    def generation(self):
        return self.state("?fields=summary")["metadata"]["generation"]

    def content(self):
        """/state without what may differ between two readings, or two processes, that know the same."""
        s = self.state()
        text = json.dumps({k: s[k] for k in ("summary", "nodes", "conflicts", "pending")})
        # the fragmentation is of an earlier moment, which it names; the histogram is what this process has seen
        history = ("since", "refused", "fragmentation", "demandHistogram", "mix", "doubleBookedGpus", "foreignDecisions")
        return json.loads(text, object_hook=lambda d: {k: v for k, v in d.items() if k not in history})

    def node_state(self, name):
        nodes = [n for n in self.state()["nodes"] if n["name"] == name]
        return nodes[0] if nodes else None

    def charged(self, node):
        """[milli] of its GPUs"""
        return [g["milli"]["charged"] for g in self.node_state(node)["gpus"]]

    def charged_loads(self, node):
        """[(milli, memMib)] of its GPUs"""
        return [(g["milli"]["charged"], g["memMib"]["charged"]) for g in self.node_state(node)["gpus"]]

    def free_milli(self, node):
        """Of all its GPUs together; None: it is not known."""
        state = self.node_state(node)
        return sum(g["milli"]["free"] for g in state["gpus"]) if state else None

    def allocations(self, pod):
        """[(node, uuid, allocation)]"""
        return [(n["name"], g["uuid"], a) for n in self.state()["nodes"] for g in n["gpus"]
                for a in g["allocations"] if a["uid"] == uid(pod)]

    def states_of(self, pod):
        return {a["state"] for _, _, a in self.allocations(pod)}

    def audit(self):
        """The report of an audit that begins now."""
        r = request(self.ops, "POST", "/audit")
        assert r.status == 200, r.body
        return r.json

    # ---- /metrics ----

    def metrics(self):
        """{series: value}; the text must parse."""
        r = request(self.ops, "GET", "/metrics")
        assert r.status == 200
        return parse_metrics(r.body.decode())

    def wakes(self):
        """How often it told kube-scheduler to try refused pods again."""
        return sum(v for k, v in self.metrics().items()
                   if k.startswith("fgpu_api_requests_total") and "csistoragecapacities" in k and 'verb="patch"' in k)


class Site:
    """An API server with the objects of fgpu, and every fgpu that a test starts there: one after the other, or several
    at a time."""

    def __init__(self, directory):
        self.api, self.directory, self.all = ApiServer(directory), directory, []
        self.api.make_objects_of_fgpu()

    def launch(self, directory, config):
        self.all.append(Fgpu(self.api.url, directory, config))
        return self.all[-1]

    def end(self):
        for f in self.all:
            if f.alive():
                f.kill()
        self.api.stop()


class Connection:
    """Calls of the verbs on one connection that stays open, as kube-scheduler makes them."""

    def __init__(self, fgpu):
        self.http = http.client.HTTPConnection(*fgpu.verbs, timeout=PATIENCE_S)
        self.http.connect()
        self.socket = self.http.sock

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.http.close()

    def post(self, verb, body):
        self.http.request("POST", f"/v1/{verb}", encode(body), HEADERS)
        reply = checked(Reply(self.http.getresponse()))
        assert self.http.sock is self.socket, "the server closed the connection"
        return reply


class Cluster:
    """An API server, and fgpu before it. `with` waits until it is ready, and stops it as an admin would."""

    def __init__(self, directory, config=None):
        self.directory, self.config = directory, config
        self.api = ApiServer(directory)
        self.api.make_objects_of_fgpu()
        self.fgpu = Fgpu(self.api.url, directory, config)

    def ready(self):
        try:
            self.fgpu.ready()
        except AssertionError:
            self.kill()  # nobody else will
            raise
        return self

    def __enter__(self):
        return self.ready()

    def __exit__(self, *_):
        self.stop()

    def restarted(self):
        """A new fgpu in the place of one that has ended."""
        assert not self.fgpu.alive()
        self.fgpu = Fgpu(self.api.url, self.directory, self.config)
        return self.fgpu

    def alive(self):
        return self.api.alive() and self.fgpu.alive()

    def check(self):
        self.api.check()
        self.fgpu.check()

    def stop(self):
        try:
            if self.fgpu.alive():
                self.fgpu.stop()
        finally:
            if self.api.alive():
                self.api.stop()

    def kill(self):
        for p in (self.fgpu, self.api):
            p.process.kill()
            p.process.wait(PATIENCE_S)

    def node(self, *args, **kw):
        """A node that fgpu has seen; its name."""
        name = self.api.node(*args, **kw)
        eventually(lambda: self.fgpu.node_state(name), f"node {name} in /state")
        return name

    def settle(self):
        """Returns when fgpu has seen every change of a pod made so far: events of one watch come in order."""
        marker = self.api.pod({"fgpu.io/gpu-milli": 1}, name=unique("marker"))
        eventually(lambda: any(p["uid"] == uid(marker) for p in self.fgpu.state()["pending"]), "the marker")
        self.api.delete_pod(marker)
        eventually(lambda: not any(p["uid"] == uid(marker) for p in self.fgpu.state()["pending"]), "its end")

    def quiet(self):
        """The same, and nothing is on its way: the watch may answer a bind before the reply to its own POST has come, and
        records are verified after they are seen."""
        self.settle()

        def still():
            s = self.fgpu.state("?fields=summary")
            return s["summary"]["bindsInFlight"] == 0 and s["metadata"]["signing"]["unverified"] == 0
        eventually(still, "binds and verdicts on records")

    def clear(self):
        """Removes everything, and waits until fgpu has seen it, so that the next test starts from nothing."""
        self.api.faults(clear=True)
        for p in self.api.list("pods"):
            self.api.delete_pod(p)
        for n in self.api.list("nodes"):
            self.api.delete_node(n["metadata"]["name"])
        self.settle()  # a pod that came and went may not even have been seen to come

        def empty():
            s = self.fgpu.state()
            return not s["nodes"] and not s["pending"]
        eventually(empty, "fgpu to see an empty cluster")
