"""fgpu rightsize: sizes from what fgpu-node saw. The calculation: test/unit/sim/test_rightsize.c."""
import json
import re
import subprocess

import pytest

from processes import BINARY, HEAD, eventually, run
from test_node_ops import start  # noqa: F401
from test_state_command import EVIL, FORBIDDEN


def container(pod, mem_mib=20000, peak=8000, seconds=7200, touched=True, **more):
    return {"namespace": "team", "pod": pod, "uid": "u-" + pod, "container": "main", "id": "c-" + pod, "milli": 500,
            "memMib": mem_mib, "alone": False,
            "usage": {"observedSeconds": seconds, "looks": seconds // 10, "touched": touched, "processes": 1,
                      "memMib": {"now": peak, "peak": peak, "mean": peak // 2},
                      "milli": {"now": 100, "peak": 200, "mean": 50}, "crowding": False, "crowdingSeconds": 0} | more}


def document(*containers, node="n1", ended=(), hour=10):
    gpu = {"uuid": "GPU-" + node, "index": 0, "minor": 0, "model": "A100", "memMib": 40960, "mig": False,
           "instance": False, "healthy": True, "over": False, "containers": list(containers),
           "held": {"milli": 0, "memMib": 0, "sharers": len(containers), "alone": False}}
    return {"apiVersion": "node.fgpu.io/v1alpha1", "kind": "NodeState", "driver": True, "gpus": [gpu], "lost": [],
            "metadata": {"node": node, "asOf": f"2026-01-01T{hour:02}:00:00.000Z", "version": "v0"}, "ended": list(ended),
            "runtime": {"name": "", "version": "", "connected": True},
            "watch": {"on": True, "intervalSeconds": 10, "onExceed": "report"}}


@pytest.fixture
def saved(tmp_path):
    def save(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)
    return save


def test_rightsize__two_nodes__workloads_idle_gpus_and_who_never_touched(saved):
    a = saved("a", document(container("web-7d4b9c8f6d-x2x4z"), container("web-7d4b9c8f6d-bbbbb", peak=9000),
                            container("lazy-0", touched=False, peak=0), container("loud", crowdingSeconds=70)))
    b = saved("b", document(node="n2"))
    r = run("rightsize", "--from", a, "--from", b, "-o", "json")
    assert (r.returncode, r.stderr) == (0, "")
    answer = json.loads(r.stdout)
    by_name = {w["workload"]: w for w in answer["workloads"]}
    web = by_name["web"]
    assert (web["pods"], web["seconds"], web["looks"], web["verdict"]) == (2, 14400, 1440, "smaller")
    assert web["proposal"] == {"milli": 240, "memMib": 10816} and web["peak"] == {"milli": 200, "memMib": 9000}
    assert by_name["lazy"]["verdict"] == "untouched" and "proposal" not in by_name["lazy"]
    assert [u["pod"] for u in answer["untouched"]] == ["lazy-0"]
    assert [(u["pod"], u["crowdingSeconds"]) for u in answer["crowding"]] == [("loud", 70)]
    assert [(g["node"], g["gpu"]) for g in answer["idle"]] == [("n2", "GPU-n2")]
    table = run("rightsize", "--from", a, "--from", b)
    assert table.returncode == 0
    assert re.search(r"^team/web \(main\) +2 +14400 +1440 +500/20000 +200/9000 +smaller +240/10816", table.stdout, re.M)
    assert "Never touched  team/lazy-0 (main) on n1" in table.stdout and "Idle           GPU GPU-n2 on n2" in table.stdout


def test_rightsize__two_documents_of_a_node__each_container_counts_once(saved):
    earlier = saved("earlier", document(container("web", seconds=3000, peak=9000), hour=9))
    newer = saved("newer", document(container("web", seconds=7200, peak=8000)))
    for files in ((earlier, newer), (newer, earlier)):
        answer = json.loads(run("rightsize", "--from", files[0], "--from", files[1], "-o", "json").stdout)
        assert [(w["seconds"], w["looks"], w["pods"], w["running"]) for w in answer["workloads"]] == [(7200, 720, 1, 1)]
        assert answer["workloads"][0]["peak"] == {"milli": 200, "memMib": 9000}
    r = run("rightsize", "--from", newer, "--from", newer, "--least-seconds", "10000", "-o", "json")
    assert [w["verdict"] for w in json.loads(r.stdout)["workloads"]] == ["brief"]


def test_rightsize__a_container_started_again__is_another_use_of_the_same_pod(saved):
    earlier = saved("earlier", document(container("web", seconds=3000), hour=9))
    newer = saved("newer", document(container("web", seconds=2000) | {"id": "c-again"}))
    answer = json.loads(run("rightsize", "--from", earlier, "--from", newer, "-o", "json").stdout)
    assert [(w["seconds"], w["pods"], w["running"]) for w in answer["workloads"]] == [(5000, 1, 1)]


def test_rightsize__two_documents_of_a_node__the_newest_says_what_is_idle(saved):
    idle, held = document(hour=9), document(container("web"))
    still_idle = document(node="n2", hour=9), document(node="n2")
    files = [saved(f"f{i}", d) for i, d in enumerate((idle, held, *still_idle, still_idle[1]))]
    for order in (files, files[::-1]):
        r = run("rightsize", *(word for f in order for word in ("--from", f)), "-o", "json")
        assert [(g["node"], g["gpu"]) for g in json.loads(r.stdout)["idle"]] == [("n2", "GPU-n2")]


def test_rightsize__with_a_configuration__proposes_its_named_sizes(saved):
    config = saved("fgpu.yaml", HEAD + "sizes:\n  small: {milli: 250, memory: 10Gi}\n  large: {milli: 400, memory: 16Gi}\n")
    checked = run("check-config", config)
    assert checked.returncode == 0, checked.stderr + checked.stdout
    r = run("rightsize", "--from", saved("a", document(container("web"))), "--config", config, "-o", "json")
    assert json.loads(r.stdout)["workloads"][0]["proposal"] == {"milli": 250, "memMib": 10240, "size": "small"}


def test_rightsize__margin_and_evidence_are_settings(saved):
    a = saved("a", document(container("web", seconds=600)))
    assert json.loads(run("rightsize", "--from", a, "-o", "json").stdout)["workloads"][0]["verdict"] == "brief"
    r = run("rightsize", "--from", a, "--least-seconds", "600", "--margin", "0", "-o", "json")
    assert json.loads(r.stdout)["workloads"][0]["proposal"] == {"milli": 200, "memMib": 8000}


def test_rightsize__a_source_that_cannot_be_read__said_and_the_others_shown(saved):
    good, bad = saved("a", document(container("web"))), saved("b", '{"kind":"State"}')
    for source in (bad, "/nowhere", "http://127.0.0.1:1"):
        r = run("rightsize", "--from", source, "--from", good, "-o", "json")
        assert r.returncode == 1 and r.stderr.startswith(f"fgpu rightsize: {source}"), r.stderr
        assert json.loads(r.stdout)["complete"] is False and len(json.loads(r.stdout)["workloads"]) == 1


@pytest.mark.parametrize("spoil, named", [
    (lambda d: d.update(apiVersion="node.fgpu.io/v9"), "node.fgpu.io/v9"),
    (lambda d: d.pop("apiVersion"), "apiVersion"),
    (lambda d: d.pop("metadata"), "metadata.node"),
    (lambda d: d["metadata"].update(node=""), "metadata.node"),
    (lambda d: d["metadata"].pop("asOf"), "metadata.asOf"),
    (lambda d: d["metadata"].update(asOf="today"), "metadata.asOf"),
    (lambda d: d.pop("gpus"), "gpus"),
], ids=["version", "no-version", "no-metadata", "empty-node", "no-time", "no-such-time", "no-gpus"])
def test_rightsize__a_document_that_is_not_whole__is_refused(saved, spoil, named):
    spoilt = document(container("web"))
    spoil(spoilt)
    a = saved("a", spoilt)
    r = run("rightsize", "--from", a)
    assert r.returncode == 1 and r.stderr.startswith(f"fgpu rightsize: {a}: ") and named in r.stderr, r.stderr
    assert "web" not in r.stdout


def test_rightsize__an_agent_that_does_not_look__is_named(saved):
    blind, later = document(container("web")), document(container("web"), node="n2", hour=11)
    blind["watch"]["on"] = False
    del blind["gpus"][0]["containers"][0]["usage"]
    a, b = saved("a", blind), saved("b", later)
    r = run("rightsize", "--from", a)
    assert "Not watched    n1: " in r.stdout and "--usage-interval" in r.stdout
    assert json.loads(run("rightsize", "--from", a, "--from", b, "-o", "json").stdout)["notWatched"] == ["n1"]
    assert "Not watched" not in run("rightsize", "--from", b).stdout
    blind["metadata"]["node"] = "n2"
    assert "Not watched" not in run("rightsize", "--from", saved("c", blind), "--from", b).stdout  # it looks now


def test_rightsize__messages__name_the_source_once_and_the_remedy(saved):
    for source in ("/nope", "http://127.0.0.1:1", "127.0.0.1:9444", saved("b", "{}")):
        r = run("rightsize", "--from", source)
        assert r.returncode == 1 and r.stderr.startswith(f"fgpu rightsize: {source}: "), r.stderr
        assert r.stderr.removeprefix(f"fgpu rightsize: {source}: ").count(source + ": ") == 0, r.stderr
    assert "http://127.0.0.1:9444" in run("rightsize", "--from", "127.0.0.1:9444").stderr
    assert "http://" not in run("rightsize", "--from", "/nope").stderr


def test_rightsize__help__explains_each_verdict():
    text = run("rightsize", "--help").stdout
    for verdict in ("fits", "smaller", "larger", "untouched", "brief", "not-told", "instance"):
        assert re.search(rf"^  {verdict} +\S", text, re.M), verdict


def test_rightsize__wrong_arguments__exit_codes(saved):
    good = saved("a", document())
    for args in ([], ["--from"], ["--from", good, "--margin", "-1"], ["--from", good, "more"], ["--from", good, "-o", "x"]):
        assert run("rightsize", *args).returncode == 2, args
    assert run("rightsize", "--from", good, "--config", saved("c", "nonsense: 1\n")).returncode == 3
    assert run("rightsize", "--help").stdout.startswith("Usage: fgpu rightsize")


def test_rightsize__from_an_agent(start):  # noqa: F811
    agent = start("--ops-address", "127.0.0.1:0")
    agent.looked()
    eventually(lambda: json.loads(agent.get("/state")[1])["gpus"])
    r = run("rightsize", "--from", f"http://127.0.0.1:{agent.port('ops')}", "-o", "json")
    assert (r.returncode, r.stderr) == (0, "")
    assert sorted(g["gpu"] for g in json.loads(r.stdout)["idle"]) == ["GPU-a", "MIG-1"]


@pytest.mark.parametrize("evil", EVIL, ids=ascii)
def test_rightsize__terminal_escapes_in_a_document__harmless(saved, evil):
    spoilt = document(container("web"), container(evil, touched=False), node=evil)
    spoilt["gpus"][0].update(model=evil)
    a = saved("a", spoilt)
    for args in ([], ["-o", "json"]):
        r = subprocess.run([str(BINARY), "rightsize", "--from", a, *args], capture_output=True, timeout=60)
        assert r.stdout and not FORBIDDEN.search(r.stdout.decode() + r.stderr.decode())
