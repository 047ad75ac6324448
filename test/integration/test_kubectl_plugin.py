"""fgpu as `kubectl fgpu`. kubectl is a script here, which says what it was asked and answers as kubectl does; the real one, with a
real kubelet and real rights, is in test/e2e/node/kubectl_test.go."""
import json
import os
import signal
import subprocess

import pytest

from processes import BINARY, eventually, request

KUBECTL = r"""#!/usr/bin/python3
import json, os, sys, time
folder = os.path.dirname(sys.argv[0])
script = json.load(open(folder + "/script.json"))
args = sys.argv[1:]
with open(folder + "/asked", "a") as f:
    f.write(json.dumps(args) + "\n")
verb = next(a for a in args if a in ("get", "config", "port-forward"))
answer = script[verb]
if answer.get("stay"):  # before it says anything: then it may be killed
    with open(folder + "/pid", "w") as f:
        f.write(str(os.getpid()))
sys.stderr.write(answer.get("err", ""))  # first: who reads the other does not wait for it
sys.stderr.flush()
sys.stdout.write(answer.get("out", ""))
sys.stdout.flush()
if answer.get("stay"):
    time.sleep(3600)
sys.exit(answer.get("code", 0))
"""


class Plugin:
    def __init__(self, folder, ops):
        self.folder = folder
        self.script = {"get": {"out": "old-pod False\nready-pod True\n"}, "config": {"out": "team"},
                       "port-forward": {"out": f"Forwarding from 127.0.0.1:{ops[1]} -> 9442\n", "stay": True}}
        (folder / "kubectl").write_text(KUBECTL)
        (folder / "kubectl").chmod(0o755)
        self.env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    def command(self, *args):
        (self.folder / "script.json").write_text(json.dumps(self.script))
        return [str(BINARY.parent / "kubectl-fgpu"), *map(str, args)]

    def run(self, *args, **env):
        return subprocess.run(self.command(*args), capture_output=True, text=True, timeout=120, env={**self.env, **env})

    def asked(self):
        path = self.folder / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def forward_has_ended(self):
        try:
            return open(f"/proc/{(self.folder / 'pid').read_text()}/stat").read().split(") ")[1][0] == "Z"
        except FileNotFoundError:
            return True


@pytest.fixture
def plugin(tmp_path, fgpu):
    return Plugin(tmp_path, fgpu.ops)


def test_state__asks_the_pod_that_is_ready__and_ends_the_forward(plugin, fgpu):
    r = plugin.run("state", "-o", "json", "--context", "production", "--kubeconfig=/some/file")
    assert r.returncode == 0, r.stderr
    assert json.loads(r.stdout)["metadata"]["startedAt"] == request(fgpu.ops, "GET", "/state").json["metadata"]["startedAt"]
    get, forward = plugin.asked()
    assert get[:6] == forward[:6] == ["--kubeconfig", "/some/file", "--context", "production", "--namespace", "fgpu-system"]
    assert get[6:8] == ["get", "pods"] and "app.kubernetes.io/part-of=fgpu" in get[get.index("--selector") + 1]
    assert forward[6:] == ["port-forward", "--address", "127.0.0.1", "pod/ready-pod", ":9442"]
    assert plugin.forward_has_ended()


def test_pod_without_a_namespace__gets_that_of_the_line_or_of_kubectl(plugin):
    r = plugin.run("explain", "pod/no-such-pod", "-n", "elsewhere")
    assert r.returncode == 1 and r.stdout.startswith("pod/elsewhere/no-such-pod:")
    assert [a for a in plugin.asked() if "config" in a] == []
    r = plugin.run("explain", "pod/no-such-pod")
    assert r.stdout.startswith("pod/team/no-such-pod:"), r.stderr


def test_another_namespace_and_port(plugin):
    assert plugin.run("frag", "--fgpu-namespace", "kube-system", "--fgpu-port=9999").returncode in (0, 1)
    get, forward = plugin.asked()
    assert get[:2] == ["--namespace", "kube-system"] and forward[-1] == ":9999"


FORBIDDEN_LIST = 'Error from server (Forbidden): pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "fgpu-system"\n'
FORBIDDEN_FORWARD = 'error: error upgrading connection: pods "ready-pod" is forbidden: User "u" cannot create resource "pods/portforward"\n'


@pytest.mark.parametrize("verb,text,named", [
    ("get", FORBIDDEN_LIST, 'cannot list resource "pods"'),
    ("port-forward", FORBIDDEN_FORWARD, 'cannot create resource "pods/portforward"'),
])
def test_a_right_is_missing__it_is_named(plugin, verb, text, named):
    plugin.script[verb] = {"err": text, "code": 1}
    r = plugin.run("state")
    assert r.returncode == 1 and r.stdout == ""
    assert named in r.stderr and "in namespace fgpu-system you need get and list of pods, create and get of pods/portforward" in r.stderr


def test_no_pod_of_fgpu__says_where_it_looked(plugin):
    plugin.script["get"] = {"out": ""}
    r = plugin.run("state")
    assert r.returncode == 1 and "no pod of fgpu is in namespace fgpu-system" in r.stderr and "--fgpu-namespace" in r.stderr


def test_no_kubectl__says_so(plugin, tmp_path):
    r = plugin.run("state", PATH=str(tmp_path / "empty"))
    assert r.returncode == 1 and "there is no kubectl in PATH" in r.stderr


def test_forward_dies__its_words_are_shown(plugin):
    plugin.script["port-forward"] = {"out": "Forwarding from 127.0.0.1:1 -> 9442\n", "err": "error: lost connection to pod\n"}
    r = plugin.run("state")
    assert r.returncode == 1 and "127.0.0.1:1" in r.stderr and "lost connection to pod" in r.stderr


def test_help_and_a_saved_state__need_no_cluster(plugin, fgpu, tmp_path):
    (tmp_path / "state.json").write_bytes(request(fgpu.ops, "GET", "/state").body)
    assert plugin.run("state", "--state", tmp_path / "state.json").returncode == 0
    r = plugin.run("state", "--help")
    assert r.returncode == 0 and r.stdout.startswith("Usage: kubectl fgpu state") and "\n  kubectl fgpu state\n" in r.stdout
    r = plugin.run("--help")
    assert r.stdout.startswith("Usage: kubectl fgpu COMMAND") and "--fgpu-namespace" in r.stdout and "\n  explain " in r.stdout
    r = plugin.run("serve")
    assert r.returncode == 2 and "`fgpu serve` does it" in r.stderr
    assert plugin.run("state", "--context").returncode == 2
    assert plugin.run("state", "--fgpu-port", "x").returncode == 2
    assert plugin.asked() == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_page__prints_its_address_and_stays__and_the_forward_ends_with_it(plugin, fgpu, end):
    # Who runs the tests in the background has SIGINT ignored, and so would the command.
    p = subprocess.Popen(plugin.command("page"), stdout=subprocess.PIPE, text=True, env=plugin.env,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert f"http://127.0.0.1:{fgpu.ops[1]}/" in p.stdout.readline()
    eventually(lambda: (plugin.folder / "pid").exists() and (plugin.folder / "pid").read_text(), "the child")
    assert p.poll() is None
    p.send_signal(end)
    p.wait(60)
    p.stdout.close()
    eventually(plugin.forward_has_ended, "the end of the child")


def test_kubectl_completes_it(plugin):
    def offered(*words):
        r = subprocess.run([str(BINARY.parent / "kubectl_complete-fgpu"), *words], capture_output=True, text=True, timeout=60)
        *lines, directive = r.stdout.splitlines()
        return [line.split("\t")[0] for line in lines], directive

    assert offered("ex") == (["explain"], ":4") and offered("pa") == (["page"], ":4") and offered("ser") == ([], ":4")
    assert offered("state", "-o", "j") == (["json"], ":4")
    assert offered("state", "--fgpu-n") == (["--fgpu-namespace"], ":4")
    assert offered("state", "--kubeconfig", "") == ([], ":0")


def results(r):
    d = json.loads(r.stdout)
    return {c["check"]: c["result"] for c in d["checks"]}, {f["check"]: f["text"] for f in d["findings"]}


def test_doctor__asks_the_api_server_as_kubectl_does(plugin, tmp_path):
    (tmp_path / "config").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [],
                                                 "users": [], "contexts": []}))
    r = plugin.run("doctor", "-o", "json", "--context=production", "--kubeconfig", tmp_path / "config", "--fgpu-namespace", "kube-system")
    checks, texts = results(r)
    assert r.returncode == 1 and checks["ledger"] == checks["certificates"] == "ok"
    assert "production" in texts["quotas"] and str(tmp_path / "config") in texts["quotas"]
    assert plugin.asked()[0][:6] == ["--kubeconfig", str(tmp_path / "config"), "--context", "production", "--namespace", "kube-system"]
    assert plugin.forward_has_ended()


def test_doctor__no_way_to_fgpu__is_a_finding(plugin):
    plugin.script["get"] = {"out": ""}
    r = plugin.run("doctor", "-o", "json", "--kubeconfig", "/nonexistent")
    checks, texts = results(r)
    assert r.returncode == 1 and set(checks.values()) == {"notChecked"}
    assert "no pod of fgpu is in namespace fgpu-system" in texts["ledger"] and "/nonexistent" in texts["doors"]
