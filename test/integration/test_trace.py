"""The flight recorder: GET /v1/trace and `fgpu trace`. What it says of a decision agrees with the log, the record and /state."""
import json

import pytest

from objects import milli, unique, whole
from processes import ApiServer, Fgpu, eventually, request, run
from traces import lines_of, of_type, trace

RECORD = "fgpu.io/assignment"
CONFIG = "flightRecorder: {memory: 64Mi}\n"


def test_trace__pods_are_scheduled__ids_are_those_of_log_record_and_state(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes, pods = [emptied.node(gpus=2) for _ in range(3)], [api.pod(milli(300), name=unique("flies")) for _ in range(4)]
    emptied.settle()
    for pod in pods:
        assert fgpu.schedule(pod, nodes) in nodes
    emptied.settle()
    state = fgpu.state()
    head, lines = trace(fgpu)
    assert head["startedAt"] == state["metadata"]["startedAt"] and head["generation"] >= state["metadata"]["generation"]
    assert [line["generation"] for line in lines] == sorted(line["generation"] for line in lines)
    for pod in pods:
        uid, bound = pod["metadata"]["uid"], api.get_pod(pod)
        (bind,) = [line for line in of_type(lines, "bind") if line["uid"] == uid]
        record = json.loads(bound["metadata"]["annotations"][RECORD])
        (decision,) = [d for d in state["decisions"] if d["uid"] == uid]
        (allocation,) = [a for n in state["nodes"] for g in n["gpus"] for a in g["allocations"] if a["uid"] == uid]
        assert bind["decision"] == record["id"] == decision["decision"] == allocation["decision"]
        assert bind["node"] == bound["spec"]["nodeName"] == decision["node"] and bind["verdict"] == 0
        assert f'decision="{bind["decision"]}"' in fgpu.log()
        (container,) = bind["assignment"]["containers"]
        (gpu,) = [g for n in state["nodes"] if n["name"] == bind["node"] for g in n["gpus"]
                  if any(a["uid"] == uid for a in g["allocations"])]
        assert container["devices"][0]["uuid"] == gpu["uuid"]
        before = [line for line in of_type(lines, "filter", "prioritize") if line["uid"] == uid and line["seq"] < bind["seq"]]
        assert [line["type"] for line in before[-2:]] == ["filter", "prioritize"]
        assert (before[-1]["best"]["node"], before[-1]["fit"]) == (decision["best"], decision["fit"])
        observed = [line for line in lines if line.get("op") == "podObserved" and line["facts"]["uid"] == uid]
        assert "node" not in observed[0]["facts"] and observed[-1]["facts"]["node"] == bind["node"]
        assert observed[0]["seq"] < before[0]["seq"] and observed[-1]["seq"] > bind["seq"]
        (confirmed,) = [line for line in lines if line.get("op") == "confirm" and line["of"]["name"] == uid]
        assert confirmed["seq"] > bind["seq"]


def test_trace__pod_is_refused_by_bind__the_reason(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    node, pod = emptied.node(gpus=1), api.pod(whole(2))
    assert fgpu.bind(pod, node) != ""
    (bind,) = [line for line in of_type(trace(fgpu)[1], "bind") if line["uid"] == pod["metadata"]["uid"]]
    assert bind["verdict"] > 0 and "fewer GPUs than the pod asks for" == bind["reason"] and "devices" not in bind


def test_trace__nothing_of_what_containers_run_and_no_annotation_is_in_it(emptied):
    secret = "hush-hush-4711"
    pod = emptied.api.pod(milli(100), annotations={"example.com/note": secret},
                          containers=[{"name": "c", "image": secret, "env": [{"name": "TOKEN", "value": secret}],
                                       "command": [secret], "resources": {"limits": milli(100)}}])
    node = emptied.node(gpus=1)
    assert emptied.fgpu.schedule(pod, [node]) == node
    emptied.settle()
    body = request(emptied.fgpu.ops, "GET", "/v1/trace").body.decode()
    assert pod["metadata"]["uid"] in body and secret not in body


def test_trace_command__filters_table_json_and_file(emptied, tmp_path):
    api, fgpu = emptied.api, emptied.fgpu
    nodes, pods = [emptied.node(gpus=2) for _ in range(2)], [api.pod(milli(300), name=unique("shown")) for _ in range(2)]
    for pod in pods:
        assert fgpu.schedule(pod, nodes) in nodes
    emptied.settle()
    uid, name = pods[0]["metadata"]["uid"], pods[0]["metadata"]["name"]
    saved = tmp_path / "trace.jsonl"
    r = run("trace", "--server", fgpu.ops_url, "--out", saved)
    assert (r.returncode, r.stderr) == (0, "") and f"{saved}: " in r.stdout
    head, lines = lines_of(saved.read_text())
    again = run("trace", "--server", fgpu.ops_url, "--out", saved)
    assert again.returncode == 1 and "give another name" in again.stderr, again.stderr
    (bind,) = [line for line in of_type(lines, "bind") if line["uid"] == uid]

    r = run("trace", "--from", saved)
    assert (r.returncode, r.stderr) == (0, "")
    title, *rows = r.stdout.splitlines()
    assert title.split()[:3] == ["SEQ", "TIME", "WHAT"] and [int(row.split()[0]) for row in rows] == [line["seq"] for line in lines]
    by_pod = run("trace", "--from", saved, "--pod", f"default/{name}", "-o", "json").stdout
    by_decision = run("trace", "--from", saved, "--decision", bind["decision"], "-o", "json").stdout
    mine = [json.loads(line) for line in by_pod.splitlines()]
    assert by_pod == by_decision and mine == [line for line in lines if uid in json.dumps(line)]
    assert {"op", "filter", "prioritize", "bind"} <= {line["type"] for line in mine}
    shown = run("trace", "--from", saved, "--decision", bind["decision"]).stdout
    assert f'{bind["decision"]}  default/{name}' in shown and bind["assignment"]["containers"][0]["devices"][0]["uuid"] in shown
    by_node = [json.loads(line) for line in run("trace", "--from", saved, "--node", bind["node"], "-o", "json").stdout.splitlines()]
    assert bind in by_node and all(bind["node"] in json.dumps(line) for line in by_node) and len(by_node) < len(lines)

    text = saved.read_text().splitlines(keepends=True)
    for spoiled, why in ((text[:-1], "its last line is missing"), (text[:5] + text[6:], "should"), (["{}\n"], "no trace of fgpu"),
                         ([], "there is nothing in it"), (text[:3] + ["nonsense\n"] + text[3:], "the line after number 2")):
        saved.write_text("".join(spoiled))
        r = run("trace", "--from", saved)
        assert r.returncode == 1 and why in r.stderr and f"fgpu trace: {saved}: " in r.stderr, (why, r.stderr)
    assert run("trace", "--pod", "nonsense").returncode == 2
    assert run("trace", "--pod", "a/b", "--decision", "x").returncode == 2
    r = run("trace", "--server", "http://127.0.0.1:1")
    assert r.returncode == 1 and r.stderr.startswith("fgpu trace: ")


@pytest.mark.parametrize("config, complete", [("flightRecorder: {memory: 0}\n", None), ("flightRecorder: {memory: 64Ki}\n", False)])
def test_trace__little_memory_or_none__said(tmp_path, config, complete):
    api = ApiServer(tmp_path)
    fgpu = Fgpu(api.url, tmp_path, config).ready()
    nodes = [api.node(gpus=8) for _ in range(250)]
    eventually(lambda: len(fgpu.state()["nodes"]) == len(nodes), "the nodes")
    r = request(fgpu.ops, "GET", "/v1/trace")
    if complete is None:
        assert r.status == 503 and b"flightRecorder.memory" in r.body
        assert "flightRecorder.memory" in run("trace", "--server", fgpu.ops_url).stderr
    else:
        head, lines = lines_of(r.body.decode())
        assert head["complete"] is complete and head["first"] > 1 and 20000 < len(r.body) <= 4 * 65536  # packed in memory, longer as text
        assert lines[-1]["generation"] == head["generation"] == fgpu.generation()
        assert "replay needs everything" in run("trace", "--server", fgpu.ops_url, "--out", tmp_path / "t").stdout
    assert request(fgpu.ops, "GET", "/v1/trace?pod=a/b").status == 400
    fgpu.stop()
    api.stop()


def test_trace_command__a_file_from_anywhere__nothing_of_it_reaches_the_terminal(tmp_path):
    escape = "\u001b]0;title\u0007"
    line = {"atMs": 0, "generation": 1, "namespace": escape, "name": escape, "decision": escape, "uid": "u", "node": escape}
    lines = [{"apiVersion": "trace.fgpu.io/v1alpha1", "kind": "Trace", "first": 1, "next": 3, "complete": True},
             {"seq": 1, "type": escape, **line}, {"seq": 2, "type": "bind", "verdict": 0, **line}, {"type": "end", "lines": 2}]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for args in ((), ("-o", "json"), ("--pod", f"{escape}/{escape}")):
        r = run("trace", "--from", path, *args)
        assert r.returncode == 0 and "\x1b" not in r.stdout + r.stderr and "\x07" not in r.stdout, r.stdout
    r = run("replay", path)
    assert r.returncode == 1 and "\x1b" not in r.stdout + r.stderr and "cannot be replayed" in r.stderr
