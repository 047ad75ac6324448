"""The listeners of fgpu-node: what they show, and to whom. Without a container runtime; a script stands for the driver
(test/nvml). What they show of containers: test/unit/cmd_node/test_usage_watch.c, test/e2e/node.
"""
import http.client
import json
import re
import signal
import socket
import ssl
import subprocess

import jsonschema
import pytest

from processes import BINARY, ROOT, ApiServer, eventually, run

PROGRAM = BINARY.parent / "fgpu-node"
LIBRARY = BINARY.parent / "test/nvml/libfake_nvml.so"
SCHEMA = json.loads((ROOT / "config/node-state.schema.json").read_text())


class Agent:
    def __init__(self, directory, *args, library=LIBRARY):
        assert run("signing-key", "--out", str(directory / "key.pem")).returncode == 0
        (directory / "gpus").write_text("gpu GPU-a 0 40960 100 A100\ngpu GPU-b 1 40960 0 A100\nmig MIG-1 4864 1g.5gb\n")
        (directory / "cdi").mkdir()
        self.log = directory / "log"
        self.process = subprocess.Popen(
            [PROGRAM, "--node-name", "n1", "--public-keys", directory / "key.pem.pub", "--nri-socket", directory / "nri",
             "--cdi-dir", directory / "cdi", "--nvml-library", library, *args],
            env={"FAKE_NVML": str(directory / "gpus")}, stderr=self.log.open("w"))

    def port(self, listener):
        found = eventually(lambda: re.search(rf'listener="{listener}" port=(\d+)', self.log.read_text()), self.log)
        return int(found[1])

    def get(self, path, listener="ops", headers={}, method="GET"):
        c = http.client.HTTPConnection("127.0.0.1", self.port(listener), timeout=60)
        c.request(method, path, headers=headers)
        r = c.getresponse()
        return r.status, r.read().decode()

    def looked(self):
        """It has seen whether there is a driver."""
        eventually(lambda: "it has not looked" not in self.get("/readyz")[1], self.log)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.log.read_text()


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*args, **kwargs):
        started.append(Agent(tmp_path, *args, **kwargs))
        return started[-1]
    yield begin
    for agent in started:
        if agent.process.poll() is None:
            agent.stop()


def test_ops__state__follows_its_schema_and_has_the_gpus(start):
    agent = start("--ops-address", "127.0.0.1:0")
    agent.looked()
    state = eventually(lambda: (s := json.loads(agent.get("/state")[1]))["gpus"] and s["watch"]["on"] and s)
    jsonschema.Draft202012Validator(SCHEMA).validate(state)
    assert (state["metadata"]["node"], state["driver"], state["runtime"]["connected"]) == ("n1", True, False)
    assert [(g["uuid"], g["memMib"], g["mig"], g["instance"]) for g in state["gpus"]] == \
        [("GPU-a", 40860, False, False), ("GPU-b", 40960, True, False), ("MIG-1", 4864, False, True)]
    assert state["watch"] == {"on": True, "intervalSeconds": 10, "onExceed": "report"}
    assert state["limits"] == {"kind": "", "notByDriver": ""}  # until a container runtime says who it is


def test_ops__metrics__have_gpus_and_the_process(start):
    agent = start("--ops-address", "127.0.0.1:0")
    agent.looked()
    text = eventually(lambda: "\nfgpu_node_driver_found 1\n" in (t := agent.get("/metrics")[1])
                      and t.count("fgpu_node_gpu_sharers{") == 3 and t)
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values["fgpu_node_gpus"] == "3"
    assert values['fgpu_node_gpu_memory_bytes{gpu="GPU-a"}'] == str(40860 << 20)
    assert int(values["process_resident_memory_bytes"]) > 0
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


def test_ops__metrics__say_which_gpu_is_ill(start, tmp_path):
    agent = start("--ops-address", "127.0.0.1:0")
    ill, well = 'fgpu_node_gpu_healthy{gpu="GPU-b"} ', 'fgpu_node_gpu_healthy{gpu="GPU-a"} '
    eventually(lambda: ill + "1\n" in agent.get("/metrics")[1])
    (tmp_path / "gpus.events").write_text("xid GPU-b 79\n")
    text = eventually(lambda: ill + "0\n" in (t := agent.get("/metrics")[1]) and t)
    assert well + "1\n" in text


def test_ops__without_the_runtime__alive_and_not_ready(start):
    agent = start("--ops-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0")
    agent.looked()
    for listener in ("ops", "health"):
        assert agent.get("/livez", listener) == (200, "ok")
        assert agent.get("/readyz", listener)[0] == 500
    assert agent.get("/metrics", "health")[0] == 404
    assert agent.get("/state", "health")[0] == 404


def test_ops__not_ready__the_reason_is_for_those_who_may_see_the_state(start):
    agent = start("--ops-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0")
    agent.looked()
    for path in ("/readyz", "/readyz?verbose"):
        assert agent.get(path) == (500, "[-]runtime failed: the container runtime has not told yet what runs\nreadyz check failed\n")
        assert agent.get(path, "health") == (500, "[-]runtime failed: reason withheld\nreadyz check failed\n")


def test_ops__for_everybody_and_not_ready__no_reason(start):
    agent = start("--ops-address", "0.0.0.0:0", "--ops-anonymous")
    assert agent.get("/readyz?verbose") == (500, "[-]runtime failed: reason withheld\nreadyz check failed\n")


def test_ops__without_a_driver__ready_because_nothing_is_to_be_done(start):
    agent = start("--ops-address", "127.0.0.1:0", library="/nowhere")
    eventually(lambda: agent.get("/readyz") == (200, "ok"))
    assert json.loads(agent.get("/state")[1])["driver"] is False


def test_ops__a_page_of_another_name_or_another_method__is_refused(start):
    agent = start("--ops-address", "127.0.0.1:0")
    assert agent.get("/state", headers={"Host": "evil.example"})[0] == 421
    assert agent.get("/state", method="POST")[0] == 405
    assert agent.get("/")[0] == 404


def test_ops__for_everybody__has_no_state(start):
    agent = start("--ops-address", "0.0.0.0:0", "--ops-anonymous")
    assert agent.get("/metrics", headers={"Host": "10.0.0.7.example:9444"})[0] == 200
    status, text = agent.get("/state")
    assert status == 404 and "--ops-anonymous" in text


def scrape(agent, token=None, path="/metrics"):
    c = http.client.HTTPSConnection("127.0.0.1", agent.port("metrics"), timeout=60, context=ssl._create_unverified_context())
    c.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
    r = c.getresponse()
    return r.status, r.read().decode()


def test_metrics__by_tls__for_who_may_read_them_and_nothing_else(start, tmp_path):
    api = ApiServer(tmp_path)
    try:
        api.call("POST", "/_reviews", {"tokens": {t: {"username": t} for t in ("reader", "other")},
                                       "allow": [{"user": "reader", "verb": "get", "path": "/metrics"}]})
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": api.url}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        agent = start("--ops-address", "off", "--metrics-address", "127.0.0.1:0", "--kubeconfig", kubeconfig, "--publish", "off")
        eventually(lambda: "\nfgpu_node_driver_found 1\n" in scrape(agent, "reader")[1])
        assert [scrape(agent, t)[0] for t in (None, "nobody", "other")] == [401, 401, 403]
        assert scrape(agent, "reader", "/state")[0] == 404
        api.stop()
        status, text = scrape(agent, "another")
        assert status == 503 and "API server" in text
        assert "reader" not in agent.log.read_text()
    finally:
        api.stop()


def test_metrics__nobody_to_ask__is_said_at_start(tmp_path):
    assert run("signing-key", "--out", str(tmp_path / "key.pem")).returncode == 0
    code, text = refusal(tmp_path, "--public-keys", tmp_path / "key.pem.pub", "--metrics-address", "127.0.0.1:0")
    assert code == 2 and "--metrics-address" in text and "--kubeconfig" in text
    code, text = refusal(tmp_path, "--public-keys", tmp_path / "key.pem.pub", "--metrics-address", ":9", "--health-address", ":9")
    assert code == 2 and "--health-address and --metrics-address have the same port" in text


def test_ops__an_address_that_is_taken__keeps_nobody_from_gpus(start, tmp_path):
    first = start("--ops-address", "127.0.0.1:0")
    (tmp_path / "second").mkdir()
    second = Agent(tmp_path / "second", "--ops-address", f"127.0.0.1:{first.port('ops')}")
    eventually(lambda: "Cannot listen" in second.log.read_text() and "Found the driver" in second.log.read_text())
    second.stop()


@pytest.mark.parametrize("taken, free", [("ops", "health"), ("health", "ops")])
def test_ops__one_address_that_is_taken__leaves_the_other(start, taken, free):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        agent = start(f"--{taken}-address", f"127.0.0.1:{other.getsockname()[1]}", f"--{free}-address", "127.0.0.1:0")
        assert agent.get("/livez", free) == (200, "ok")
        eventually(lambda: re.search(f'Cannot listen.*listener="{taken}"', agent.log.read_text()), agent.log)
    agent.process.send_signal(signal.SIGHUP)  # looks at once
    assert agent.get("/livez", taken) == (200, "ok")


def test_ops__off__nobody_listens(start):
    agent = start("--ops-address", "off")
    eventually(lambda: "Found the driver" in agent.log.read_text())
    assert "Listening" not in agent.log.read_text()


# ---- what it says ----

def refusal(directory, *args, env={}):
    r = subprocess.run([PROGRAM, "--node-name", "n1", "--nri-socket", directory / "nri", "--ops-address", "off", *args],
                       env=env, stderr=subprocess.PIPE, text=True, timeout=60)
    return r.returncode, r.stderr


def test_keys__a_path_that_is_not_there__names_the_config_map(tmp_path):
    code, text = refusal(tmp_path, "--public-keys", "/nope")
    assert code == 3
    assert "/nope" in text and "fgpu-public-keys" in text and "key.pem.pub" in text
    assert "Secret" not in text and "makes a key" not in text


def test_keys__that_cannot_be_read_again__each_reason_is_told_once(start, tmp_path):
    agent = start("--ops-address", "off")
    keys, text = tmp_path / "key.pem.pub", "Cannot read the public keys again"
    eventually(lambda: "Found the driver" in agent.log.read_text(), agent.log)
    good = keys.read_text()
    for n, bad in enumerate(["nothing", "nothing", None], 1):
        keys.unlink() if bad is None else keys.write_text(bad)
        for _ in range(2):
            agent.process.send_signal(signal.SIGHUP)
        eventually(lambda: agent.log.read_text().count(text) == (2 if bad is None else 1), agent.log)
    assert "no public key in PEM" in agent.log.read_text()
    keys.write_text(good)
    assert run("signing-key", "--out", str(tmp_path / "other.pem")).returncode == 0
    keys.write_text((tmp_path / "other.pem.pub").read_text())
    agent.process.send_signal(signal.SIGHUP)
    ids = eventually(lambda: (i := re.findall(r'Read the public keys.*ids="(\w+)"', agent.log.read_text()))[1:] and i, agent.log)
    assert len(set(ids)) == 2


@pytest.mark.parametrize("what", ["annotation", "all"])
def test_publish__said_without_an_api_server__is_refused(tmp_path, what):
    assert run("signing-key", "--out", str(tmp_path / "key.pem")).returncode == 0
    code, text = refusal(tmp_path, "--public-keys", str(tmp_path / "key.pem.pub"), "--publish", what)
    assert code == 2 and "--publish" in text and "--kubeconfig" in text


def test_publish__by_itself_without_an_api_server__says_that_nobody_is_told(start):
    agent = start("--ops-address", "off")
    eventually(lambda: "nothing is published" in agent.log.read_text(), agent.log)
    assert agent.log.read_text().count("nothing is published") == 1


def test_runtime_config__imports_and_files_that_are_none__are_told(start, tmp_path):
    config, drop_in = tmp_path / "config.toml", tmp_path / "conf.d"
    config.write_text(f"version = 3\nimports = ['{drop_in}/*.toml']\n")
    agent = start("--ops-address", "off", "--runtime-config", config, "--runtime-config", "/etc/passwd")
    eventually(lambda: "Found the driver" in agent.log.read_text(), agent.log)
    lines = agent.log.read_text().splitlines()
    assert any("import" in x and str(config) in x and str(drop_in) in x for x in lines), lines
    assert any("/etc/passwd" in x and "no line of TOML" in x for x in lines), lines


def test_cdi_dir__that_cannot_be_written__says_that_it_tries_again(start):
    agent = start("--ops-address", "off", "--cdi-dir", "/proc/nope/x")
    eventually(lambda: re.search("The device that hides GPUs cannot be described.*again", agent.log.read_text()), agent.log)
