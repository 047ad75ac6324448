"""fgpu doctor, the binary: an API server that has what a right installation has, and one fault after the other. The checks one by
one: test/unit/doctor; on a real control plane: test/e2e/doctor_test.go."""
import email.utils
import http.client
import http.server
import json
import ssl
import threading
import time

import jsonschema
import pytest

from front import Authority
from objects import milli, node_object
from processes import ROOT, run

CONFIG = "packing: {hold: 0s}\nserving: {bindsAllPods: true}\n"
SCHEMA = json.loads((ROOT / "config/doctor.schema.json").read_text())
POLICIES = ["fgpu-frozen-requests", "fgpu-reserved-keys", "fgpu-bindings", "fgpu-unseen-requests"]
SCHEDULER = (ROOT / "manifests/dedicated/scheduler.yaml").read_text()
ADMISSION = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Front:
    """Before the simulated API server, with what that one does not have. `replies`: path -> (status, document)."""

    def __init__(self, backend, verbs):
        self.backend, self.ahead_s, self.denied, self.subjects = backend, 0, None, []
        param = {"name": "fgpu-policy", "namespace": "kube-system"}
        self.replies = {
            ADMISSION + "ies": (200, {"items": [{"metadata": {"name": n}} for n in POLICIES]}),
            ADMISSION + "ybindings": (200, {"items": [
                {"spec": {"policyName": n, "validationActions": ["Deny"], "paramRef": param}} for n in POLICIES]}),
            "/api/v1/namespaces/kube-system/configmaps/fgpu-policy": (200, {"data": {}}),
            "/api/v1/namespaces/fgpu-system/configmaps/fgpu-config": (
                200, {"data": {"scheduler.yaml": SCHEDULER.replace("9443", str(verbs))}}),
            "/apis/node.k8s.io/v1/runtimeclasses": (200, {"items": [{"handler": "nvidia"}]}),
            "/api/v1/resourcequotas": (200, {"items": []}),
            "/version": (200, {"major": "1"}),
        }
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def date_time_string(self, timestamp=None):
                return email.utils.formatdate(time.time() + front.ahead_s, usegmt=True)

            def log_message(self, *_):
                pass

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                path = self.path.split("?")[0]
                if path in front.replies:
                    status, document = front.replies[path]
                    return self.answer(status, json.dumps(document).encode())
                c = http.client.HTTPConnection(*front.backend)
                c.request("GET", self.path)
                r = c.getresponse()
                self.answer(r.status, r.read())
                c.close()

            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.path == REVIEWS, "fgpu doctor changes nothing"
                front.subjects.append(review["spec"])
                allowed = front.denied != review["spec"]["resourceAttributes"]["resource"]
                self.answer(201, json.dumps({**review, "status": {"allowed": allowed}}).encode())

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def tls_server(pair):
    """A listener with that certificate, which answers nothing but 404. Returns its port and how to end it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # handshakes that fail are what is tested
    server.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


class Installation:
    def __init__(self, cluster, directory):
        self.cluster, self.api, self.fgpu = cluster, cluster.api, cluster.fgpu
        self.front = Front(cluster.api.address, cluster.fgpu.verbs[1])
        self.kubeconfig = directory / "kubeconfig.doctor"
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self.front.url}}], "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))

    def doctor(self, *args):
        return run("doctor", "--kubeconfig", self.kubeconfig, "--server", self.fgpu.ops_url, *args)

    def findings(self, *args):
        r = self.doctor("-o", "json", *args)
        assert r.stderr == "", r.stderr
        d = json.loads(r.stdout)
        jsonschema.validate(d, SCHEMA)
        assert d["ok"] == (r.returncode == 0) == all(f["severity"] == "note" for f in d["findings"])
        return [(f["check"], f["severity"], f["object"]) for f in d["findings"]]


@pytest.fixture
def installation(emptied, tmp_path):
    i = Installation(emptied, tmp_path)
    yield i
    i.front.stop()


def settled(installation, *expected):
    """What is found once fgpu has seen what the test did."""
    installation.cluster.settle()
    assert installation.findings() == list(expected)


def test_doctor__all_is_right__is_green(installation):
    node = installation.cluster.node(gpus=2)
    assert installation.fgpu.schedule(installation.api.pod(milli(300)), [node]) == node
    settled(installation)
    r = installation.doctor()
    assert (r.returncode, r.stderr) == (0, "") and r.stdout.endswith("checks: nothing found.\n")
    (subject,) = {(s["user"], tuple(s["groups"])) for s in installation.front.subjects}
    assert subject == ("system:serviceaccount:fgpu-system:fgpu",
                       ("system:authenticated", "system:serviceaccounts", "system:serviceaccounts:fgpu-system"))


def test_doctor__faults_of_the_cluster__each_is_found(installation):
    api, front = installation.api, installation.front
    node = installation.cluster.node(gpus=2)
    settled(installation)
    unsigned = {"fgpu.io/assignment": json.dumps({"v": 1, "id": "x", "containers": []})}
    past = api.pod(milli(200), nodeName=node)
    copied = api.pod(milli(100), annotations=unsigned, nodeName=node)
    api.call("POST", "/api/v1/nodes", node_object("doctor-nameless", 0, labels={"nvidia.com/gpu.present": "true"}), status=201)
    name = past["metadata"]["namespace"] + "/" + past["metadata"]["name"]
    other = copied["metadata"]["namespace"] + "/" + copied["metadata"]["name"]
    front.denied = "events"
    front.replies["/apis/node.k8s.io/v1/runtimeclasses"] = (200, {"items": []})
    front.replies[ADMISSION + "ies"] = (404, {"kind": "Status"})
    front.ahead_s = 3600
    user = "user system:serviceaccount:fgpu-system:fgpu"
    settled(installation, ("rights", "fault", user), ("rights", "fault", user), ("inventory", "fault", "node doctor-nameless"),
            ("runtime-class", "fault", ""), ("records", "fault", "pod " + other), ("bypass", "fault", "pod " + name),
            ("clocks", "fault", ""), ("policies", "fault", ""))
    api.delete_node("doctor-nameless")


def test_doctor__faults_of_the_wiring__by_a_file(installation, tmp_path):
    installation.cluster.node(gpus=1)
    installation.cluster.settle()
    path = tmp_path / "scheduler.yaml"
    text = SCHEDULER.replace("9443", str(installation.fgpu.verbs[1]))
    path.write_text(text)
    assert installation.findings("--scheduler-config", path) == []
    path.write_text(text.replace("weight: 200", "weight: 2").replace("ignorable: false", "ignorable: true"))
    assert installation.findings("--scheduler-config", path) == [("ignorable", "fault", str(path)), ("weight", "fault", str(path))]
    r = installation.doctor("--scheduler-config", path)
    assert "fault  weight: " + str(path) in r.stdout and "Fix: set weight: 200" in r.stdout
    path.write_text("kind: KubeSchedulerConfiguration\nextenders: [\x1b")
    found = installation.findings("--scheduler-config", path)
    assert {s for _, s, _ in found} == {"notChecked"} and len(found) == 10


def test_doctor__certificate_that_kube_scheduler_does_not_trust__is_found(installation, tmp_path):
    ours, other = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "other", "other")
    path = tmp_path / "scheduler.yaml"
    for name, ca, found in (("IP:127.0.0.1", ours, []), ("DNS:somebody", ours, ["scheduler-tls"]), ("IP:127.0.0.1", other, ["scheduler-tls"])):
        server = tls_server(ours.issue(f"verbs-{name[:3]}-{ca.name}", f"subjectAltName={name}"))
        url = f"https://127.0.0.1:{server.server_address[1]}"
        path.write_text(SCHEDULER.replace("http://127.0.0.1:9443", url) + f"  enableHTTPS: true\n  tlsConfig: {{caFile: {ca.cert}}}\n")
        # The extender of the cluster speaks plain HTTP elsewhere: that is "extender", and not what is tested here.
        said = installation.doctor("--scheduler-config", path, "--skip", "extender").stdout
        assert [c for c, *_ in installation.findings("--scheduler-config", path, "--skip", "extender")] == found, said
        server.shutdown()
        server.server_close()
    assert [(c, s) for c, s, _ in installation.findings("--scheduler-config", path, "--skip", "extender")] == [("scheduler-tls", "notChecked")]
    path.write_text(path.read_text().replace(str(other.cert), "/nonexistent/ca.crt"))
    assert "is on the machine of kube-scheduler" in " ".join(installation.doctor("--scheduler-config", path).stdout.split())


def test_doctor__sources_that_cannot_be_read__are_said(installation):
    installation.front.replies["/api/v1/resourcequotas"] = (403, {"kind": "Status", "message": "no"})
    installation.front.replies["/api/v1/namespaces/fgpu-system/configmaps/fgpu-config"] = (404, {})
    settled(installation, *[(c, "notChecked", "") for c in (
        "lease", "extender", "binders", "ignorable", "weight", "timeout", "managed-resources", "ignored-resources", "node-sampling",
        "scheduler-tls", "quotas")])
    r = installation.doctor()
    text = " ".join(r.stdout.split())  # lines are filled
    assert r.returncode == 1 and "--scheduler-config names a file" in text and "your user may not do this" in text
    skip = "lease,extender,binders,ignorable,weight,timeout,managed-resources,ignored-resources,node-sampling,scheduler-tls"
    assert installation.findings("--skip", skip, "--skip", "quotas") == []


def test_doctor__nobody_there__nothing_is_green(tmp_path):
    r = run("doctor", "--kubeconfig", tmp_path / "none", "--server", "http://127.0.0.1:1", "-o", "json")
    d = json.loads(r.stdout)
    jsonschema.validate(d, SCHEMA)
    assert r.returncode == 1 and {c["result"] for c in d["checks"]} == {"notChecked"}


@pytest.mark.parametrize("args,words", [(["--skip", "nose"], 'there is no check "nose"'), (["-o", "yaml"], "there are table and json"),
                                        (["--frobnicate"], "frobnicate")])
def test_doctor__wrong_usage(args, words):
    r = run("doctor", *args)
    assert r.returncode == 2 and r.stdout == "" and words in r.stderr


def test_doctor__text_of_others__reaches_no_terminal(installation):
    name = "\x1b]0;owned\x07"
    installation.front.replies[ADMISSION + "ybindings"] = (200, {"items": []})
    installation.front.replies["/api/v1/resourcequotas"] = (200, {"items": [
        {"metadata": {"name": name, "namespace": "default"}, "spec": {"hard": {"fgpu.io/gpu-milli": "1"}}}]})
    installation.api.pod(annotations={"fgpu.io/gpu-fraction": "0.5"})
    installation.cluster.settle()
    for args in ([], ["-o", "json"]):
        r = installation.doctor(*args)
        assert "owned" in r.stdout and "\x1b" not in r.stdout and "\x07" not in r.stdout
