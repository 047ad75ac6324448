"""Why did my pod land there? filter, prioritize and bind as kube-scheduler calls them, then `decisions` of /state and
`fgpu state --decisions`."""
import json

from configured import START
from objects import milli, unique, whole
from processes import HEAD, eventually, run

CONFIG = "packing: {hold: 0s}\n"  # scores decide, not what was promised a moment ago


def decided(fgpu, pod, query=""):
    return [d for d in fgpu.state(query)["decisions"] if d["uid"] == pod["metadata"]["uid"]]


def allocation(fgpu, pod):
    return next((a for n in fgpu.state()["nodes"] for g in n["gpus"] for a in g["allocations"]
                 if a["uid"] == pod["metadata"]["uid"]), None)


def test_decisions__pod_lands_on_the_best_node__said_with_the_parts_of_both_scores(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=2) for _ in range(3)]
    unasked = api.pod(milli(600))
    assert fgpu.bind(unasked, nodes[1]) == "" and not decided(fgpu, unasked)
    with_parts = 0
    for i in range(8):
        pod = api.pod(milli(200 if i % 2 else 400))
        before = fgpu.state()["metadata"]["asOf"]
        assert fgpu.schedule(pod, nodes) in nodes
        (d,) = decided(fgpu, pod)
        assert d == fgpu.state()["decisions"][0] and before <= d["at"] <= fgpu.state()["metadata"]["asOf"]
        assert d["pod"] == pod["metadata"]["name"] and d["namespace"] == "default" and d["strategies"] == ["rsp"]
        assert d["node"] == d["best"] in nodes and d["next"] in nodes and d["next"] != d["best"]
        assert (d["asked"], d["fit"], d["ranked"]) == (3, 3, 3)
        if d["by"] == "score":
            with_parts += bool(d["parts"])
            assert not d["parts"] or {k: sum(p[k] for p in d["parts"]) for k in ("best", "next")} == d["scores"]
            assert d["scores"]["best"] > d["scores"]["next"]
            assert f"rsp put {d['best']} before {d['next']}: there it takes " in d["text"]
        eventually(lambda: (allocation(fgpu, pod) or {}).get("decision") == d["decision"], "the record to be seen")
        assert decided(fgpu, pod, f"?node={d['node']}") == decided(fgpu, pod, "?namespace=default") == [d]
        assert not decided(fgpu, pod, f"?node={d['next']}") and not decided(fgpu, pod, "?namespace=other")
    assert with_parts > 0
    assert "decisions" not in fgpu.state("?fields=summary")


def test_decisions__one_node_is_left__filter_decided(emptied):
    """kube-scheduler does not ask for an order then."""
    nodes, pod = [emptied.node(gpus=1), emptied.node(gpus=4)], emptied.api.pod(whole(4))
    assert emptied.fgpu.fits(pod, nodes) == [nodes[1]]
    assert emptied.fgpu.bind(pod, nodes[1]) == ""
    (d,) = decided(emptied.fgpu, pod)
    assert (d["asked"], d["fit"], d["by"], d["best"], d["next"]) == (2, 1, "only", nodes[1], "")
    assert d["text"] == f"of 2 nodes 1 fit; {nodes[1]} was the only choice"


def test_decisions__kube_scheduler_chooses_another_node__both_are_said(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes, pod = [emptied.node(gpus=1) for _ in range(2)], api.pod(milli(100))
    scores = fgpu.prioritize(pod, fgpu.fits(pod, nodes))
    best, other = sorted(nodes, key=lambda n: -scores[n])
    assert not decided(fgpu, pod)  # not yet: nothing came of it
    assert fgpu.bind(pod, other) == ""
    (d,) = decided(fgpu, pod)
    assert (d["best"], d["node"]) == (best, other)
    assert d["text"].endswith(f"; bind asked for {other} all the same")


def test_decisions__in_the_table_and_read_back__as_in_the_document(emptied, tmp_path):
    api, fgpu = emptied.api, emptied.fgpu
    nodes, pods = [emptied.node(gpus=2) for _ in range(2)], [api.pod(milli(300), name=unique("why")) for _ in range(3)]
    for pod in pods:
        assert fgpu.schedule(pod, nodes)
    saved = tmp_path / "state.json"
    r = run("state", "--server", fgpu.ops_url, "-o", "json")
    saved.write_text(r.stdout)
    decisions = json.loads(r.stdout)["decisions"]
    shown = run("state", "--state", saved, "--decisions")
    assert (shown.returncode, shown.stderr) == (0, "")
    head, *lines = shown.stdout.splitlines()
    assert head.split() == ["TIME", "POD", "NODE", "WHY"] and len(lines) == len(decisions) >= len(pods)
    for line, d in zip(lines, decisions):
        assert line.split(None, 3) == [d["at"], f"{d['namespace']}/{d['pod']}", d["node"], d["text"]]
    assert [d["pod"] for d in decisions[:3]] == [p["metadata"]["name"] for p in reversed(pods)]
    config = tmp_path / "fgpu.yaml"
    config.write_text(HEAD)
    assert run("whatif", "--config", config, "--state", saved).returncode == 0
    document = json.loads(saved.read_text())
    document["decisions"] = {"a": 1}
    saved.write_text(json.dumps(document))
    spoiled = run("state", "--state", saved, "--decisions")
    assert spoiled.returncode == 1 and spoiled.stderr.startswith(f'fgpu state: {saved}: the value of "decisions": JSON at byte 0: ')
    assert run("state", "--decisions=5", "--state", saved).returncode == 2


def test_decisions__none_yet__says_since_when(own, tmp_path):
    """A restart forgets them, and a table without rows does not say so."""
    fgpu = own.fgpu
    started = fgpu.state()["metadata"]["startedAt"]
    assert started <= fgpu.state()["metadata"]["asOf"]
    r = run("state", "--server", fgpu.ops_url, "--decisions")
    assert (r.returncode, r.stderr) == (0, "")
    assert r.stdout == f"No decision came to a bind since this fgpu started at {started}; a restart forgets them.\n"
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(fgpu.state("?namespace=default")))
    r = run("state", "--state", saved, "--decisions")
    assert r.stdout.startswith("No decision about the nodes or pods of this document came to a bind since this fgpu started at ")
    saved.write_text(json.dumps(fgpu.state("?fields=summary")))
    r = run("state", "--state", saved, "--decisions")
    assert (r.returncode, r.stdout) == (1, "")
    assert r.stderr == (f'fgpu state: {saved}: no key "decisions": an older fgpu that keeps none wrote this, or it is not a '
                        "whole /state\n")


def test_state__a_part_is_damaged__file_and_key_are_named(emptied, tmp_path):
    saved = tmp_path / "state.json"
    emptied.node(gpus=1)
    for key in ("gpus", "wholeGpus", "pending", "allocations"):
        document = emptied.fgpu.state()
        (node,) = document["nodes"]
        where = {"pending": document, "allocations": node["gpus"][0]}.get(key, node)
        where[key] = 7
        saved.write_text(json.dumps(document))
        r = run("state", "--state", saved)
        assert r.returncode == 1 and r.stderr.startswith(f'fgpu state: {saved}: the value of "{key}": JSON at byte 0: '), key
    saved.write_text("{}")
    r = run("state", "--state", saved)
    assert r.returncode == 1 and "no /state of fgpu" in r.stderr and r.stdout == ""
    saved.write_text("[]")
    for command in ("state", "frag"):
        r = run(command, "--state", saved)
        assert r.returncode == 1 and r.stderr.startswith(f"fgpu {command}: {saved}: JSON at byte 0: ")


def test_decisions__more_pods_wait_than_are_remembered__the_loss_is_said(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes, pod = [emptied.node(gpus=1) for _ in range(2)], api.pod(milli(100))
    assert fgpu.fits(pod, nodes)
    for i in range(256):
        other = json.loads(json.dumps(pod))
        other["metadata"] |= {"name": f"waits-{i}", "uid": f"waits-{i}"}
        assert fgpu.fits(other, nodes)
    assert fgpu.bind(pod, nodes[0]) == ""
    (d,) = decided(fgpu, pod)
    assert d["lost"] is True and "asked" not in d and "ranked" not in d and d["node"] == nodes[0]
    assert d["text"].startswith("why is not known any more: more than 256 pods waited for their bind")
    r = run("state", "--server", fgpu.ops_url, "--decisions")
    assert f"default/{pod['metadata']['name']}" in r.stdout and d["text"] in r.stdout


def test_decisions__weights_and_a_rule__points_add_up_and_the_rule_is_found(configured):
    api, fgpu = configured.cluster.api, configured.cluster.fgpu
    configured.effective(START + "packing: {hold: 0s, rules: [{namespaces: [other], nodeStrategy: fgd}, "
                         "{namespaces: [red, default], nodeStrategy: {tight-fit: 0.75, spread: 0.5}}]}\n")
    nodes = [configured.cluster.node(gpus=2) for _ in range(2)]
    first, pod = api.pod(milli(500)), api.pod(milli(100))
    assert fgpu.bind(first, nodes[1]) == "" and fgpu.schedule(pod, nodes) == nodes[1]
    (d,) = decided(fgpu, pod)
    assert (d["weighted"], d["weightsMilli"], d["rule"]) == (True, [750, 500], 2)
    assert d["ruleText"] == "packing.rules[1] {namespaces: [red, default]}"
    assert d["scores"] == {k: sum(p[k] for p in d["parts"]) for k in ("best", "next")} == {"best": 750000, "next": 500000}
    assert d["text"].endswith(
        f"weighted tight-fit 0.75 and spread 0.5 (packing.rules[1] {{namespaces: [red, default]}}) put {nodes[1]} before "
        f"{nodes[0]}: 750 and 500 of 1250 points; of this by tight-fit 750 and 0, by spread 0 and 500")
