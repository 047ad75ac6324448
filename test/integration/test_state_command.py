"""fgpu state: the table of nodes, GPUs and holders says what /state says."""
import http.server
import json
import re
import socket
import ssl
import subprocess
import threading

import pytest

from objects import device, mem, milli, node_object, unique, whole
from processes import BINARY, HEAD, eventually, run

CONFIG = "sizes: {small: {milli: 250, memory: 1Gi}}\n"


def state(fgpu, *more):
    where = () if "--state" in more else ("--server", fgpu.ops_url)
    return run("state", *where, *more)


def table(text):
    return [line.split() for line in text.splitlines()]


def test_state__holders_plugin_and_sizes__as_in_the_document(emptied, tmp_path):
    api, fgpu, node = emptied.api, emptied.fgpu, emptied.node(gpus=2)
    sliced = unique("sliced")
    obj = node_object(sliced, 0, labels={"nvidia.com/gpu.count": "1", "nvidia.com/gpu.memory": "24576",
                                         "nvidia.com/gpu.replicas": "20", "nvidia.com/gpu.product": "A10"},
                      status={"allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu.shared": "20"}})
    api.call("POST", "/api/v1/nodes", obj, status=201)
    eventually(lambda: fgpu.node_state(sliced), "the node")
    share, alone, waits = api.pod(milli(300)), api.pod(whole(1)), api.pod(whole(9))
    replicas = api.pod({"nvidia.com/gpu.shared": 4})
    for pod in (share, alone):
        assert fgpu.schedule(pod, [node]) == node
    assert fgpu.schedule(replicas, [sliced]) == sliced
    eventually(lambda: all(a["state"] == "bound" for n in fgpu.state()["nodes"] for g in n["gpus"]
                           for a in g["allocations"]) and fgpu.node_state(sliced)["wholeGpus"]["charged"] == 4, "the watch")
    r = state(fgpu)
    assert (r.returncode, r.stderr) == (0, "")
    rows = {(line[0], line[1]): line for line in table(r.stdout) if len(line) > 2}
    names = {p["metadata"]["name"]: p for p in (share, alone, replicas, waits)}
    held = {name: [" ".join(line) for line in rows.values() if any("default/" + name in w for w in line)] for name in names}
    mib = 81920
    (line,) = held[share["metadata"]["name"]]
    assert f"300/1000 {mib * 300 // 1000}/{mib} 1/16 default/{share['metadata']['name']} 300m {mib * 300 // 1000}Mi" in line
    (line,) = held[alone["metadata"]["name"]]
    assert line.endswith(f"1000/1000 {mib}/{mib} 1/16 default/{alone['metadata']['name']} whole")
    (line,) = held[replicas["metadata"]["name"]]
    assert line == f"{sliced} - kubelet picks, 20 a GPU 4/20 default/{replicas['metadata']['name']} 4"
    assert f"{sliced} 0 A10 0/1000 0/24576 0/16".split() in table(r.stdout)
    assert "2 nodes, 3 GPUs and MIG instances" in r.stdout
    assert f"Waiting:  default/{waits['metadata']['name']}  asks for 9 GPUs\n" in r.stdout
    small = next(s for s in fgpu.summary()["fragmentation"]["moreFit"] if s["size"] == "small")
    assert ["small", str(small["more"])] in table(r.stdout)
    saved = tmp_path / "state.json"
    saved.write_text(state(fgpu, "-o", "json").stdout)
    assert json.loads(saved.read_text())["kind"] == "State"
    assert state(fgpu, "--state", str(saved)).stdout.split("SIZE")[0] == r.stdout.split("SIZE")[0]


def test_state__pods_that_wait__with_what_they_ask_for_or_what_is_wrong_with_it(emptied):
    """Nothing is said with a number that nobody knows: `0m 0Mi` was."""
    asked = {"asks for 300 milli": milli(300), "asks for 2 x 500 milli 1024 MiB": {**milli(500), **mem(1024), **whole(2)},
             "asks for 9 GPUs": whole(9), "no node can take it: ": milli(1500)}
    pods = {emptied.api.pod(limits)["metadata"]["name"]: words for words, limits in asked.items()}
    eventually(lambda: len(emptied.fgpu.state()["pending"]) == len(pods), "the pods")
    text = state(emptied.fgpu).stdout
    waiting = text[text.index("Waiting:"):]
    for name, words in pods.items():
        assert re.search(rf"default/{name}  {words}", waiting), text
    assert "0m" not in waiting and "0Mi" not in waiting


def test_state__pod_that_was_refused__top_reasons_until_a_node_takes_it(emptied, tmp_path):
    api, fgpu = emptied.api, emptied.fgpu
    unhealthy = unique("node")
    nodes = [emptied.node(gpus=2), emptied.node(gpus=2), emptied.node(gpus=1), emptied.node(gpus=0),
             emptied.node(gpus=[device(unhealthy, i, healthy=False) for i in range(3)], name=unhealthy)]
    for node in nodes[:2]:
        assert fgpu.schedule(api.pod(milli(100)), [node]) == node
    emptied.settle()
    waits = api.pod(whole(2))
    line = f"default/{waits['metadata']['name']}  asks for 2 GPUs"

    def shown():
        (pod,) = eventually(lambda: fgpu.state()["pending"], "the pod")
        saved = tmp_path / "state.json"
        saved.write_text(state(fgpu, "-o", "json").stdout)
        text = state(fgpu).stdout
        assert text.split("SIZE")[0] == state(fgpu, "--state", str(saved)).stdout.split("SIZE")[0]
        return pod, text[text.index(line):].split("\n")[0]

    assert "refused" not in shown()[0] and shown()[1] == line  # nobody has asked
    by_node = fgpu.reasons(waits, nodes)
    pod, text = shown()
    refused = pod["refused"]
    counts = [(r["nodes"], r["text"]) for r in refused["reasons"]]
    assert dict((t, n) for n, t in counts) == {t: list(by_node.values()).count(t) for t in by_node.values()}
    assert len(counts) == 4 and [n for n, _ in counts] == [2, 1, 1, 1] and refused["nodes"] == 5
    top = ", ".join(f"{n} {t}" for n, t in counts[:3])
    assert text == f"{line}; 0/5 nodes have taken it since {refused['since']}: {top}, and 1 more reasons"
    documents = [tmp_path / "state.json", tmp_path / "without.json"]
    document = json.loads(documents[0].read_text())
    del document["pending"][0]["refused"]
    documents[1].write_text(json.dumps(document))
    (tmp_path / "fgpu.yaml").write_text(HEAD)
    read_back = [run("whatif", "--config", tmp_path / "fgpu.yaml", "--state", d, "-o", "json") for d in documents]
    assert {r.returncode for r in read_back} == {0} and read_back[0].stdout == read_back[1].stdout
    nodes.append(emptied.node(gpus=1))
    fgpu.reasons(waits, nodes)
    again = shown()[0]["refused"]
    assert again["since"] == refused["since"] <= refused["last"] <= again["last"]
    assert again["nodes"] == 6 and again["generation"] > refused["generation"]
    nodes.append(emptied.node(gpus=2))
    assert fgpu.fits(waits, nodes) == nodes[-1:]
    assert "refused" not in shown()[0] and shown()[1] == line


@pytest.mark.parametrize("spoil", [
    lambda d: d["nodes"][0].update(gpus={}),
    lambda d: d["nodes"][0]["gpus"][0].update(allocations=5),
    lambda d: d["nodes"][0].update(wholeGpus={"capacity": "many"}),
    lambda d: d.update(pending={"a": 1}),
    lambda d: d["summary"]["fragmentation"].update(moreFit=[{"size": 1}]),
])
@pytest.mark.parametrize("command", ["state", "frag"])
def test_parts_that_are_something_else__said_and_exit_code_1(emptied, tmp_path, command, spoil):
    emptied.node(gpus=1)
    eventually(lambda: emptied.fgpu.state()["nodes"][0]["gpus"], "the node")
    document = json.loads(state(emptied.fgpu, "-o", "json").stdout)
    spoil(document)
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(document))
    r = run(command, "--state", saved)
    if command == "state" or document["summary"]["fragmentation"]["moreFit"] == [{"size": 1}]:
        assert r.returncode == 1 and re.match(rf'fgpu {command}: {saved}: the value of "\w+": JSON at byte ', r.stderr)
    else:
        assert (r.returncode, r.stderr) == (0, "")


def test_state__nobody_answers_and_wrong_arguments__exit_codes(emptied):
    r = run("state", "--server", "http://127.0.0.1:1")
    assert r.returncode == 1 and "fgpu state:" in r.stderr
    assert state(emptied.fgpu, "nodes").returncode == 2
    assert state(emptied.fgpu, "--help").stdout.startswith("Usage: fgpu state")


EVIL = ["\x1b[2Jx", "\x9b2Jx", "x\x7f", "x\n\n0 nodes, 0 GPUs and MIG instances", "\u202egpj", "x\u2066y", "x\r"]
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "raw"])
@pytest.mark.parametrize("evil", EVIL, ids=ascii)
def test_item18_terminal_escapes_in_a_state__harmless_in_every_command(emptied, tmp_path, evil, escaped):
    """Whoever writes a node's annotations, or answers on the ops port, names what is printed."""
    emptied.node(gpus=1)
    document = emptied.fgpu.state()
    (node,) = document["nodes"]
    node["name"], node["note"], node["gpus"][0]["model"] = evil, evil, evil
    node["gpus"][0]["allocations"] = [{"namespace": evil, "pod": evil, "uid": "u", "container": evil, "kind": "share",
                                       "milli": 1, "memMib": 1, "state": evil, "since": "2026-01-01T00:00:00Z"}]
    document["pending"] = [{"namespace": evil, "pod": evil, "uid": "v", "since": "2026-01-01T00:00:00Z",
                            "dialect": "native", "defect": "", "refused": {
                                "since": evil, "last": evil, "generation": 1, "nodes": 1,
                                "reasons": [{"reason": evil, "text": evil, "nodes": 1}]}}]
    document["decisions"] = [{"decision": evil, "at": evil, "namespace": evil, "pod": evil, "uid": evil, "node": evil,
                              "text": evil}]
    if "fragmentation" in document["summary"]:
        document["summary"]["fragmentation"]["moreFit"] = [{"size": evil, "more": 1}]
        document["summary"]["fragmentation"]["mostEmpty"] = {"node": evil, "gpus": 1}
    path, config = tmp_path / "state.json", tmp_path / "fgpu.yaml"
    path.write_bytes(json.dumps(document, ensure_ascii=escaped).encode("utf-8"))
    config.write_text(HEAD)
    for command in (["state"], ["state", "--decisions"], ["state", "-o", "json"], ["frag"], ["frag", "-o", "json"],
                    ["whatif", "--config", str(config)], ["whatif", "--config", str(config), "-o", "json"],
                    ["state", evil.replace("\0", "")]):
        r = subprocess.run([str(BINARY), *command, "--state", str(path)], capture_output=True, timeout=60)
        for text in (r.stdout.decode("utf-8"), r.stderr.decode("utf-8")):
            assert not FORBIDDEN.search(text), (command, text)
            assert "\n0 nodes, 0 GPUs" not in text or evil in command, (command, text)
        assert r.stdout or r.stderr
    shown = subprocess.run([str(BINARY), "state", "-o", "json", "--state", str(path)], capture_output=True, timeout=60)
    assert json.loads(shown.stdout)["nodes"] == document["nodes"]


def test_output__disk_full__said_and_exit_code_1(emptied, tmp_path):
    path = tmp_path / "state.json"
    emptied.node(gpus=2)
    path.write_text(json.dumps(emptied.fgpu.state()))
    for command in (["state", "-o", "json", "--state", str(path)], ["state", "--state", str(path)], ["version"]):
        with open("/dev/full", "w") as full:
            r = subprocess.run([str(BINARY), *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert r.returncode == 1 and "fgpu: the output is not complete" in r.stderr, (command, r)


def test_output__reader_has_seen_enough__not_a_failure(emptied, tmp_path):
    path = tmp_path / "state.json"
    emptied.node(gpus=2)
    path.write_text(json.dumps(emptied.fgpu.state()))
    r = subprocess.run(f"{BINARY} state --state {path} | true; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                       capture_output=True, text=True, timeout=60)
    assert (r.stdout, r.stderr) == ("0\n", "")


class Refuses(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def log_message(self, *args):
        pass


def test_state__no_fgpu_at_the_default_address__says_how_to_name_another():
    with socket.socket() as s:
        if s.connect_ex(("127.0.0.1", 9442)) == 0:
            pytest.skip("something listens at the default address of fgpu")
    for command in (["state"], ["frag"], ["explain", "pod/a/b"], ["trace"]):
        r = run(*command)
        assert r.returncode == 1 and "--server, or in a cluster use kubectl fgpu" in r.stderr, r.stderr
    assert "--server" not in run("state", "--server", "http://127.0.0.1:1").stderr


def test_state__ca_file__is_what_the_server_is_verified_by(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out",
                    str(certificate)], check=True, capture_output=True)
    server = http.server.HTTPServer(("127.0.0.1", 0), Refuses)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{server.server_address[1]}"
    try:
        for more, says in (([], "certificate"), (["--ca-file", str(certificate)], "no such path there"), (["--ca-file", "/nope"], "/nope"),
                           (["--ca-file", str(tmp_path)], "is not a file")):
            r = run("state", "--server", url, *more)
            assert r.returncode == 1 and says in r.stderr, (more, r.stderr)
    finally:
        server.shutdown()
        server.server_close()


def test_state__conflicts__each_with_its_place_and_what_is_wrong(emptied, tmp_path):
    """A node is closed by them, and the table said nothing."""
    api, fgpu = emptied.api, emptied.fgpu
    node = emptied.node(gpus=2)
    pod = api.pod(milli(300), nodeName=node)
    eventually(lambda: fgpu.state()["conflicts"], "the pod without a record")
    document = json.loads(state(fgpu, "-o", "json").stdout)
    (conflict,) = document["conflicts"]
    assert f"\nConflicts: pod default/{pod['metadata']['name']} on {node}: {conflict['text']}\n" in state(fgpu).stdout
    document["conflicts"] = [{"kind": "gpu", "node": "n-1", "uuid": "GPU-1", "index": 3, "text": "lost\u001b[2J"},
                             *[{"kind": "node", "node": f"n-{i}", "text": "two groups"} for i in range(21)]]
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(document))
    lines = state(fgpu, "--state", str(saved)).stdout.split("\n")
    at = lines.index("Conflicts: GPU 3 of n-1: lost?[2J")
    assert lines[at + 1:at + 20] == [f"           node n-{i}: two groups" for i in range(19)]
    assert lines[at + 20] == '           and 2 more: `fgpu state -o json` has them all under "conflicts"'
