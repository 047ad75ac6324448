"""Health, /state, metrics, configuration, version; the demonstration; what the command line refuses."""
import json
import re
import subprocess

import pytest

from judge import loads, loads_in_state
from objects import mem, milli, pod_object, whole
from processes import (BINARY, HEAD, ROOT, Connection, Process, die_with_parent, eventually, parse_metrics, request, run)


KUBECONFIG = ("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
              "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
              "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n")
ANY_ADDRESSES = [x for name in ("verbs", "ops", "health") for x in (f"--{name}-address", "127.0.0.1:0")]


@pytest.fixture(scope="module", autouse=True)
def lonely(tmp_path_factory):
    """fgpu serve --wait=false without an API server. It gives up after a while, during which the others run."""
    directory = tmp_path_factory.mktemp("lonely")
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    p = Process([str(BINARY), "serve", "--kubeconfig", str(kubeconfig), "--wait=false", "--signing-key", "off", *ANY_ADDRESSES],
                directory / "serve.log")
    yield p
    if p.alive():
        p.process.kill()


def test_log__nobody_reads_it__losses_are_counted(tmp_path):
    """Who has the other end of stderr reads to the last listener, and then no more."""
    kubeconfig, config = tmp_path / "kubeconfig", tmp_path / "fgpu.yaml"
    kubeconfig.write_text(KUBECONFIG)
    config.write_text(HEAD + "logging: {verbosity: 10}\n")
    p = subprocess.Popen([str(BINARY), "serve", "--kubeconfig", str(kubeconfig), "--config", str(config), "--wait=false",
                          "--signing-key", "off", *ANY_ADDRESSES], stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    try:
        ports = {}
        while len(ports) < 3:
            found = re.search(rb'"Listening" listener="(\w+)" port=(\d+)', p.stderr.readline())
            ports.update({found[1].decode(): int(found[2])} if found else {})

        for _ in range(1000):  # a pipe takes 64 KiB
            request(("127.0.0.1", ports["verbs"]), "POST", "/v1/prioritize", {"Pod": {}, "NodeNames": []})
        text = request(("127.0.0.1", ports["ops"]), "GET", "/metrics").body.decode()
        assert parse_metrics(text)["fgpu_log_dropped_total"] > 0
    finally:
        p.kill()
        p.wait()


def test_health__ready__kube_format(fgpu):
    for path in ("/livez", "/readyz", "/healthz"):
        r = request(fgpu.health, "GET", path)
        assert (r.status, r.body) == (200, b"ok")
        assert r.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert r.headers["X-Content-Type-Options"] == "nosniff"
        lines = request(fgpu.health, "GET", path + "?verbose").body.decode().splitlines()
        assert lines[-1] == f"{path[1:]} check passed"
        assert lines[:-1] and all(x.startswith("[+]") and x.endswith(" ok") for x in lines[:-1])
        name = lines[0][3:-3]
        assert request(fgpu.health, "GET", f"{path}/{name}").status == 200
        lines = request(fgpu.health, "GET", f"{path}?verbose&exclude={name}&exclude=nonsense").body.decode()
        assert f"[+]{name} excluded: ok" in lines
        assert 'warn: some health checks cannot be excluded: no matches for "nonsense"' in lines
    assert request(fgpu.health, "GET", "/readyz/no-such-check").status == 404
    for path in ("/metrics", "/state", "/v1/filter", "/"):
        assert request(fgpu.health, "GET", path).status == 404


def test_metrics__parse_and_move(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    before = fgpu.metrics()

    def more(series):
        return fgpu.metrics()[series] - before.get(series, 0)
    assert fgpu.schedule(api.pod(milli(600)), [node]) == node
    assert fgpu.fits(pod_object("p", limits=milli(600)), [node]) == []
    assert fgpu.filter(pod_object("p", limits=milli(1500)), [node])["NodeNames"] == []
    assert fgpu.post("filter", b"{")["Error"]
    assert fgpu.bind(api.pod(milli(600)), node) != ""
    for series, expected in (
            ('fgpu_requests_total{verb="filter",outcome="fits"}', 1),
            ('fgpu_requests_total{verb="filter",outcome="none_fits"}', 1),
            ('fgpu_requests_total{verb="filter",outcome="malformed_pod"}', 1),
            ('fgpu_requests_total{verb="filter",outcome="error"}', 1),
            ('fgpu_requests_total{verb="prioritize",outcome="scored"}', 1),
            ('fgpu_request_duration_seconds_count{verb="filter"}', 4),
            ('fgpu_request_duration_seconds_count{verb="bind"}', 2),
            ('fgpu_bind_outcomes_total{outcome="bound"}', 1),
            ('fgpu_bind_outcomes_total{outcome="no_fit"}', 1),
            ('fgpu_filter_verdicts_total{verdict="no_compute"}', 1),
            ('fgpu_invariant_violations_total', 0)):
        assert more(series) == expected, series
    m = fgpu.metrics()
    assert m['fgpu_gpu_milli{kind="capacity"}'] == 1000 and m['fgpu_gpu_milli{kind="charged"}'] == 600
    assert m['fgpu_gpu_memory_bytes{kind="charged"}'] == 49152 * 2 ** 20
    assert m["fgpu_ledger_nodes"] == m["fgpu_ledger_devices"] == 1
    assert m["fgpu_overcommitted_devices"] == 0
    assert any(series.startswith("fgpu_build_info{") and value == 1 for series, value in m.items())
    assert m["process_open_fds"] > 0 and m["process_resident_memory_bytes"] > 0
    assert all(series.startswith(("fgpu_", "process_")) for series in m)


def test_metrics__histograms__cumulative(fgpu):
    buckets = {}
    for series, value in fgpu.metrics().items():
        name, _, labels = series.partition("{")
        if name.endswith("_bucket"):
            rest, le = labels.rstrip("}").rsplit('le="', 1)
            buckets.setdefault((name, rest), []).append((float(le.rstrip('"')), value))
    assert buckets
    metrics = fgpu.metrics()
    for (name, rest), rows in buckets.items():
        assert [le for le, _ in rows] == sorted(le for le, _ in rows) and rows[-1][0] == float("inf")
        assert [v for _, v in rows] == sorted(v for _, v in rows)
        assert name[:-7] + "_count" + ("{" + rest.rstrip(",") + "}" if rest else "") in metrics


def test_state__numbers_of_every_gpu__those_of_the_objects(cluster, api, fgpu):
    nodes = [cluster.node(gpus=2) for _ in range(2)]
    for limits in (milli(300), mem(8192), whole(1), milli(250)):
        assert fgpu.schedule(api.pod(limits), nodes)
    api.pod(milli(100), nodeName=nodes[0])
    api.pod(milli(900))
    cluster.settle()
    state = fgpu.state()
    assert loads_in_state(state) == loads(api.list("nodes"), api.list("pods"))
    assert len(state["pending"]) == 1
    for n in state["nodes"]:
        for g in n["gpus"]:
            for x in (g["milli"], g["memMib"], g["slots"]):
                assert x["free"] == x["capacity"] - x["charged"]
            assert g["milli"]["charged"] == sum(a["milli"] for a in g["allocations"])
    for kind in ("milli", "memMib"):
        for key in ("capacity", "charged", "free"):
            assert state["summary"][kind][key] == sum(g[kind][key] for n in state["nodes"] for g in n["gpus"])


def test_state__cursor__reaches_the_last_event(cluster, api, fgpu):
    """podsResourceVersion says where the watch stands; it must not stop short of events that are applied."""
    cluster.node(gpus=1)
    pods = [api.pod(milli(100)) for _ in range(3)]
    eventually(lambda: len(fgpu.state()["pending"]) == 3)
    last = api.get_pod(pods[-1])["metadata"]["resourceVersion"]
    eventually(lambda: fgpu.state("?fields=summary")["metadata"]["podsResourceVersion"] == last,
               "the cursor to follow", timeout_s=20)


def test_state__conditional_and_filtered(cluster, api, fgpu):
    node, other = cluster.node(gpus=1), cluster.node(gpus=1)
    here = api.pod(milli(100), namespace="team-a")
    assert fgpu.schedule(here, [node]) == node
    assert fgpu.schedule(api.pod(milli(100), namespace="team-b"), [node]) == node
    cluster.settle()
    assert [n["name"] for n in fgpu.state(f"?node={node}")["nodes"]] == [node]
    mine = fgpu.state("?namespace=team-a")
    assert [n["name"] for n in mine["nodes"]] == [node]
    assert {a["namespace"] for n in mine["nodes"] for g in n["gpus"] for a in g["allocations"]} == {"team-a"}
    assert mine["nodes"][0]["gpus"][0]["milli"]["charged"] == 200  # what is charged counts everybody
    assert "nodes" not in fgpu.state("?fields=summary")
    for query in ("?colour=red", "?fields=everything", "?node=a&node=b%"):
        assert request(fgpu.ops, "GET", "/state" + query).status == 400, query
    whole_state = request(fgpu.ops, "GET", "/state")
    tag = whole_state.headers["ETag"]
    assert tag == f'"{whole_state.json["metadata"]["generation"]}"'
    unchanged = request(fgpu.ops, "GET", "/state", headers={"If-None-Match": tag})
    assert unchanged.status == 304 and unchanged.body == b"" and unchanged.headers["ETag"] == tag
    assert fgpu.schedule(api.pod(milli(100)), [other]) == other
    assert request(fgpu.ops, "GET", "/state", headers={"If-None-Match": tag}).status == 200


def test_state__reads_while_it_changes__each_consistent(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    for i in range(20):
        pod = api.pod(milli(300))
        assert fgpu.bind(pod, node) == ""
        state = fgpu.state()
        for g in state["nodes"][0]["gpus"]:
            assert g["milli"]["charged"] == sum(a["milli"] for a in g["allocations"])
        assert [a["uid"] for n in state["nodes"] for g in n["gpus"] for a in g["allocations"]].count(
            pod["metadata"]["uid"]) == 1, "a pod whose bind was answered is charged"
        api.delete_pod(pod)
        eventually(lambda: not fgpu.allocations(pod))


def test_version_and_configz__served(fgpu):
    version = request(fgpu.ops, "GET", "/version").json
    assert {"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "compiler",
            "platform"} <= set(version)
    text = run("version").stdout
    assert version["gitVersion"] in text
    config = request(fgpu.ops, "GET", "/configz").json
    assert "token" not in json.dumps(config).lower()
    assert config
    assert request(fgpu.ops, "HEAD", "/version").body == b""


def test_state_document__matches_its_schema(cluster, api, fgpu):
    """The parts of the schema language that it uses, without a validator library."""
    schema = json.loads((ROOT / "config/state.schema.json").read_text())
    node = cluster.node(gpus=1)
    assert fgpu.schedule(api.pod(milli(100)), [node]) == node
    api.pod(milli(100), nodeName=node)
    api.pod(milli(1500))
    cluster.settle()

    def check(value, s, where):
        if "$ref" in s:
            s = schema["$defs"][s["$ref"].rsplit("/", 1)[1]]
        types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
        if "type" in s:
            assert isinstance(value, types[s["type"]]), where
            assert s["type"] != "integer" or not isinstance(value, bool), where
        for key in s.get("required", []):
            assert key in value, f"{where}: no {key}"
        for key, sub in s.get("properties", {}).items():
            if isinstance(value, dict) and key in value:
                check(value[key], sub, f"{where}.{key}")
        if isinstance(value, dict) and "properties" in s:
            assert set(value) <= set(s["properties"]), f"{where}: not in the schema: {set(value) - set(s['properties'])}"
        if isinstance(value, list) and "items" in s:
            for i, v in enumerate(value):
                check(v, s["items"], f"{where}[{i}]")
        assert "enum" not in s or value in s["enum"], where
        assert "const" not in s or value == s["const"], where
        assert "minimum" not in s or value >= s["minimum"], where
    check(fgpu.state(), schema, "state")
    check(fgpu.state("?fields=summary"), schema, "state")


def test_check_config__every_error_at_once(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\npackin:\n  candidates: 1\n"
                    "devices:\n  maxSharers: many\n")
    r = run("check-config", str(path))
    assert r.returncode == 3
    out = r.stdout + r.stderr
    assert f"{path}:3:1" in out and f"{path}:6:15" in out and "packing" in out and "^" in out
    assert run("check-config", str(ROOT / "config/fgpu.yaml")).returncode == 0


@pytest.mark.parametrize("args, code", [
    ([], 2), (["nonsense"], 2), (["serve", "--no-such-flag"], 2), (["serve", "--kubeconfig", "/nonexistent"], 3),
    (["serve", "--config", "/nonexistent"], 3), (["serve", "--verbs-address", "nonsense"], 2), (["serve", "x"], 2),
    (["serve", "--context", "c"], 2),
    (["demo", "--nodes", "0"], 2), (["demo", "--nodes", "x"], 2), (["demo", "--for", "-1"], 2), (["version"], 0),
    (["--help"], 0), (["serve", "--help"], 0), (["demo", "--help"], 0), (["apiserver", "--port", "70000"], 2),
], ids=lambda x: " ".join(x) if isinstance(x, list) else str(x))
def test_command_line__exit_codes(args, code):
    r = run(*args)
    assert r.returncode == code, r.stderr
    if code:
        assert r.stderr.strip(), "an error says why"


def test_demo__short__ends_sound():
    r = run("demo", "--nodes", "3", "--gpus", "2", "--for", "3", "--speed", "5", "--no-browser")
    assert r.returncode == 0, r.stdout[-2000:] + r.stderr[-2000:]
    assert r.stdout.splitlines()[-1] == "0 invariant violations"
    assert "\x1b" not in r.stdout  # not a terminal
    assert "3 nodes, 6 GPUs" in r.stdout
    assert " 0 bound;" not in r.stdout


def test_verbs_listener__nothing_but_the_verbs(fgpu):
    for path in ("/state", "/metrics", "/readyz", "/configz"):
        assert request(fgpu.verbs, "GET", path).status == 404
    with Connection(fgpu) as c:
        c.post("filter", {"Pod": pod_object("p"), "NodeNames": ["a"]})


def test_api_server_missing__wait_false__exit_code_4(lonely):
    lonely.end(4)
    assert lonely.log().strip()
