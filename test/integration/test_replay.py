"""`fgpu replay`: the decisions of a trace made again. Whatever happened, they come out as they did; and a trace that was
changed is found out."""
import json
import random

import pytest

from churn import BIND, Churn
from objects import milli, unique, whole
from processes import HEAD, eventually, in_threads, run

CONFIG = "flightRecorder: {memory: 256Mi}\n"
STRATEGIES = [BIND + text for text in (
    "", "packing: {nodeStrategy: fgd, deviceStrategy: best-fit}\n", "packing: {nodeStrategy: no such strategy}\n",
    "packing: {nodeStrategy: [tight-fit, spread], hold: 0s}\n",
    "packing: {candidates: 5, rules: [{namespaces: [default], nodeStrategy: {rsp: 0.5, binpack: 1}}]}\n",
    "tenants: [{name: all, namespaces: [default], gpus: 90%}]\n")]


def saved(fgpu, tmp_path):
    path = tmp_path / f"{unique('trace')}.jsonl"
    r = run("trace", "--server", fgpu.ops_url, "--out", path)
    assert (r.returncode, r.stderr) == (0, "") and "everything since the start" in r.stdout, r.stdout
    return path


def replay(path, *args):
    r = run("replay", path, "-o", "json", *args, timeout_s=600)
    assert r.stderr == "", r.stderr
    return r.returncode, json.loads(r.stdout)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(tmp_path, lines):
    path = tmp_path / f"{unique('changed')}.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def churned(tmp_path_factory):
    """A trace of a cluster in which everything happens at once: pods, nodes, faults, audits, configurations."""
    directory = tmp_path_factory.mktemp("churned")
    c = Churn(directory, CONFIG, STRATEGIES)
    threads = c.start(faster=20)
    try:
        eventually(lambda: c.over.is_set() or (c.counts["bound"] > 150 and c.counts["reloads"] > len(STRATEGIES) and
                                               c.counts["audits"] > 1 and c.counts["nodes"] > 10 and
                                               c.counts["faults"] > 4), "enough of everything")
    finally:
        c.over.set()
        for t in threads:
            t.join()
    assert not c.trouble, c.trouble
    c.rest()
    yield saved(c.fgpu, directory)
    c.fgpu.stop()
    c.api.stop()


def test_replay__churn__every_decision_as_it_was(churned):
    code, report = replay(churned)
    assert code == 0 and report["same"] and report["differences"] == [], report["differences"]
    decided = {verb: sum(line.get("type") == verb for line in lines_of(churned)) for verb in ("filter", "prioritize", "bind")}
    assert {verb: report[verb]["again"] + report[verb]["moved"] for verb in decided} == decided
    assert all(report[verb]["again"] > 100 for verb in decided) and report["changes"] > 1000
    r = run("replay", churned)
    assert (r.returncode, r.stderr) == (0, "") and r.stdout.endswith(": all as recorded.\n")


@pytest.mark.parametrize("seed", range(6))
def test_replay__a_line_was_changed__is_the_first_difference(churned, tmp_path, seed):
    rng = random.Random(seed)
    lines = lines_of(churned)

    def changed(type_, of, change):
        line = rng.choice([line for line in lines if line.get("type") == type_ and of(line)])
        change(line)
        return line["seq"]

    seq = [
        lambda: changed("bind", lambda b: b.get("devices"), lambda b: b["devices"].__setitem__(0, b["devices"][0] << 1)),
        lambda: changed("bind", lambda b: "assignment" in b, lambda b: b["assignment"].update(qos=1)),
        lambda: changed("filter", lambda f: not f.get("moved") and f["fit"] > 1, lambda f: f["best"].update(node=f["next"]["node"])),
        lambda: changed("prioritize", lambda f: not f.get("moved") and f["fit"] > 1, lambda f: f["best"].update(score=f["best"]["score"] + 1)),
        lambda: changed("filter", lambda f: not f.get("moved"), lambda f: f.update(digest=f["digest"] ^ 1)),
        lambda: changed("bind", lambda b: b["verdict"] == 0, lambda b: (b.update(verdict=30), b.pop("devices"))),
    ][seed]()
    code, report = replay(write(tmp_path, lines))
    assert code == 1 and not report["same"] and [d["seq"] for d in report["differences"]] == [seq], report
    (d,) = report["differences"]
    assert d["recorded"] != d["now"] and d["name"]


def test_replay__other_strategies__the_decisions_that_would_differ(churned, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(HEAD + "packing: {nodeStrategy: spread, deviceStrategy: spread}\n")
    code, report = replay(churned, "--config", other)
    assert code == 0 and report["prioritize"]["different"] > 0 and report["bind"]["different"] > 0
    assert len(report["differences"]) == 10 and not report["same"]
    by_seq = {line["seq"]: line for line in lines_of(churned) if "seq" in line}
    for d in report["differences"]:
        assert by_seq[d["seq"]]["type"] == d["what"] and d["recorded"] != d["other"]
    shown = run("replay", churned, "--config", other)
    assert shown.returncode == 0 and "  recorded: " in shown.stdout and f"other: {report['bind']['different']}" in shown.stdout
    other.write_text(HEAD + "packing: {nodeStrategy: no such strategy}\n")
    r = run("replay", churned, "--config", other)
    assert r.returncode == 3 and r.stderr.startswith("fgpu replay: ") and not r.stderr.endswith("\n\n"), r.stderr
    other.write_text(HEAD + "packing: {rules: [{nodeSelector: {zone: a}, nodeStrategy: fgd}]}\n")
    r = run("replay", churned, "--config", other)
    assert r.returncode == 1 and "packing.rules[0] of the other configuration selects nodes by labels" in r.stderr


def test_replay__no_trace_or_not_all_of_it__said(churned, tmp_path):
    lines = lines_of(churned)
    cut = tmp_path / "cut.jsonl"
    cut.write_text(churned.read_text()[:-100])
    later = write(tmp_path, [{**lines[0], "first": 5, "complete": False}, *lines[5:]])
    omitted = write(tmp_path, [*lines[:7], {**{k: lines[7][k] for k in ("seq", "atMs", "generation")}, "type": "omitted"}, *lines[8:]])
    for path, why in ((cut, "JSON"), (later, "everything since the start"), (omitted, 'of type "omitted"'), (tmp_path / "none", "none")):
        r = run("replay", path)
        assert r.returncode == 1 and r.stdout == "" and r.stderr.startswith(f"fgpu replay: {path}: ") and why in r.stderr, (why, r.stderr)
    assert run("replay").returncode == 2 and run("replay", churned, "-o", "yaml").returncode == 2


def test_replay__more_nodes_than_one_section_has__as_it_was(own, tmp_path):
    """Such decisions give others their turn in between. Those that met a change say so, the others come out as they did."""
    api, fgpu = own.api, own.fgpu
    nodes = [api.node(gpus=1) for _ in range(400)]
    eventually(lambda: len(fgpu.state("?fields=summary")["summary"]) and len(fgpu.state()["nodes"]) == len(nodes), "the nodes")
    pods = [api.pod(milli(100 + 50 * i)) for i in range(12)]
    tries = []

    def once(pod):
        tries.append(pod)
        return fgpu.schedule(pod, nodes) in nodes

    def schedule(i):
        for pod in pods[i::3]:  # again where another thread's pod took the GPU between this one's filter and bind
            eventually(lambda pod=pod: once(pod), "a bind")

    in_threads(3, schedule)
    own.settle()
    path = saved(fgpu, tmp_path)
    code, report = replay(path)
    assert code == 0 and report["same"] and report["bind"]["again"] == len(tries), report
    moved = {v: sum(line.get("type") == v and line.get("moved", False) for line in lines_of(path)) for v in ("filter", "prioritize")}
    for verb in moved:
        assert report[verb]["moved"] == moved[verb] and report[verb]["again"] == len(tries) - moved[verb]


def test_replay__a_few_pods_by_hand__the_counts(emptied, tmp_path):
    fgpu = emptied.fgpu
    nodes = [emptied.node(gpus=2) for _ in range(3)]
    before = replay(saved(fgpu, tmp_path))[1]
    for pod in [emptied.api.pod(milli(300)) for _ in range(3)] + [emptied.api.pod(whole(1))]:
        assert fgpu.schedule(pod, nodes) in nodes
    assert fgpu.bind(emptied.api.pod(whole(3)), nodes[0]) != ""
    emptied.settle()
    code, after = replay(saved(fgpu, tmp_path))
    assert code == 0 and after["same"]
    assert {v: after[v]["again"] - before[v]["again"] for v in ("filter", "prioritize", "bind")} == {
        "filter": 4, "prioritize": 4, "bind": 5}
