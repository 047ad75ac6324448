"""Every command in every page runs: those that need no cluster here, the others in test/e2e/pages. test/pages says which is which."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from objects import milli
from processes import BINARY, HEAD, ROOT, Cluster, eventually, run
from test_kubectl_plugin import KUBECTL
from test_rightsize import container, document

sys.path.insert(0, str(ROOT / "test/pages"))
import commands  # noqa: E402
import page_tables as tables  # noqa: E402

PLAN = commands.plan()
LOCAL = [(page, text) for page, text, kind in PLAN if kind in ("local", "both")]
CONFIG_KEYS = {k for k in yaml.safe_load((ROOT / "config/fgpu.yaml").read_text()) if k not in ("apiVersion", "kind")}

# The pools of the group that pages have.
POOLS = "nodePools:\n- {name: small, nodeSelector: {pool: small}, state: open}\n- {name: large, nodeSelector: {pool: large}, state: closed}\n"

# fgpu as the pages have it: at the addresses of this cluster instead of the default ones.
WRAPPER = """#!/bin/sh
case " $* " in
*" --server "*|*" --state "*|*" --help "*) ;;
*) case $1 in state|frag|explain|whatif|trace|doctor) set -- "$@" --server {ops} ;; esac ;;
esac
exec {binary} "$@"
"""


def test_every_command__is_run_or_says_why_not():
    unknown = [f"{page}: {commands.normal(text)}" for page, text, kind in PLAN if kind == "unknown"]
    assert not unknown, "\n".join(unknown)
    wrong = [f"{commands.name_of(page)}: {why}" for page in commands.pages() for why in commands.wrong_blocks(page)]
    assert not wrong, "\n".join(wrong)
    for page, text, kind in PLAN:
        if kind == "cannot":
            print(f"not run: {page}: {commands.normal(text)}: {tables.CANNOT_RUN[commands.normal(text)]}")


def test_tables__name_nothing_that_no_page_has():
    texts = {commands.short(text, kind) for _, text, kind in PLAN}
    for table in ("CANNOT_RUN", "CODES", "STAYS", "AROUND"):
        assert not (left := set(getattr(tables, table)) - texts), f"{table}: no page has {left}"
    first = {s for page in commands.pages() for info, text in commands.parts(page.read_text()) if info is None for s in commands.spans(text)}
    assert not (left := tables.OTHERS_SAY - first), f"OTHERS_SAY: no page has {left}"
    first |= {block[0] for page in commands.pages() for info, block in commands.parts(page.read_text()) if info is not None}
    assert not (left := tables.NOT_COMMANDS - first), f"NOT_COMMANDS: no page has {left}"
    names = {commands.name_of(page) for page in commands.pages()}
    assert not (left := {*tables.FIRST, *tables.LAST, *tables.SAYS} - names), f"no page {left}"


def test_a_command_that_nobody_knows__is_found():
    assert commands.kind_of("scripts/no-such --thing", True) == "unknown" and commands.kind_of("kind create cluster", False) == "unknown"
    found = commands.parts("a `kubectl\nget pods` b\n\n    kubectl get nodes \\\n      -o yaml    # all\n    fgpu x 'a\n    b'\n\nend `x`\n")
    assert [info for info, _ in found] == [None, "", None] and commands.spans(found[0][1]) == ["kubectl get pods"]
    assert commands.statements(found[1][1]) == ["kubectl get nodes \\\n  -o yaml    # all", "fgpu x 'a\nb'"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with what the commands of the pages find there, and their environment."""
    folder = tmp_path_factory.mktemp("pages")
    programs = folder / "programs"
    programs.mkdir()
    with Cluster(folder, config="packing:\n  nodeStrategy: rsp\n" + POOLS + "changeOvers: [{name: host-1, pools: [small, large]}]\n").ready() as cluster:
        node, *_ = [cluster.node(gpus=4) for _ in range(6)]
        assert cluster.fgpu.schedule(cluster.api.pod(milli(300), name="shares", namespace="team"), [node]) == node
        waits = cluster.api.pod({"fgpu.io/gpu-count": 8}, name="waits", namespace="team")
        eventually(lambda: any(p["pod"] == "waits" for p in cluster.fgpu.state()["pending"]), "the pod that waits")
        cluster.fgpu.reasons(waits, [node])
        eventually(lambda: cluster.fgpu.state()["summary"].get("changeOvers"), "the first look at the pools")
        (programs / "fgpu").write_text(WRAPPER.format(ops=cluster.fgpu.ops_url, binary=BINARY))
        (programs / "kubectl").write_text('#!/bin/sh\nif [ "$1" = fgpu ]; then shift; exec kubectl-fgpu "$@"; fi\nexec "$0.py" "$@"\n')
        (programs / "kubectl.py").write_text(KUBECTL)
        (programs / "script.json").write_text(json.dumps({
            "get": {"out": "ready-pod True\n"}, "config": {"out": "team"},
            "port-forward": {"out": f"Forwarding from 127.0.0.1:{cluster.fgpu.ops[1]} -> 9442\n", "stay": True}}))
        for name in ("fgpu", "kubectl", "kubectl.py"):
            (programs / name).chmod(0o755)
        (programs / "kubectl-fgpu").symlink_to(BINARY.parent / "kubectl-fgpu")
        (folder / ".kube").mkdir()
        shutil.copy(folder / "kubeconfig", folder / ".kube/config")
        state = json.dumps(cluster.fgpu.state())
        run("trace", "--server", cluster.fgpu.ops_url, "--out", folder / "saved.jsonl").check_returncode()
        env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        yield cluster, node, state, env, folder / "saved.jsonl"


def furnished(folder, state, trace):
    shutil.copy(trace, folder / "saved.jsonl")
    for name in ("manifests", "config", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    data = ROOT / "test/data/packing"
    for name in ("nodes", "pods"):
        shutil.copy(data / f"small_{name}.csv", folder / f"{name}.csv")
    for name in ("state.json", "saved.json"):
        (folder / name).write_text(state)
    (folder / "new.yaml").write_text(HEAD + "devices: {maxSharers: 8}\n")
    (folder / "fgpu.yaml").write_text(HEAD)
    (folder / "token").write_text("t")
    for name in "ab":
        (folder / f"node-{name}.json").write_text(json.dumps(document(container("web-0"), node=f"n-{name}")))
    subprocess.run([BINARY, "signing-key", "--out", folder / "key.pem"], check=True, capture_output=True)


def variants(text):
    """A line of usage stands for several: without what is optional, and with it, one line for each alternative."""
    if not re.search(r"\[-", text):
        return [text]
    most = max(len(m.split(" | ")) for m in re.findall(r"\[([^\]]*)\]", text))

    def chosen(n):
        return re.sub(r"\[([^\]]*)\]", lambda m: (alternatives := m[1].split(" | "))[min(n, len(alternatives) - 1)], text)
    return [re.sub(r" \[[^\]]*\]", "", text), *map(chosen, range(most))]


def addressed(text, cluster, node):
    for port, listener in ((9443, cluster.fgpu.verbs), (9442, cluster.fgpu.ops), (9441, cluster.fgpu.health)):
        text = re.sub(rf"\b(localhost|127\.0\.0\.1):{port}\b", "%s:%d" % listener, text)
    return re.sub(r"\bNODE\b", node, text)


@pytest.mark.parametrize("page", sorted({page for page, _ in LOCAL}))
def test_commands_of_a_page__one_after_the_other__succeed(page, place, tmp_path):
    cluster, node, state, env, trace = place
    furnished(tmp_path, state, trace)
    wrong = []
    for text in [text for p, text in LOCAL if p == page]:
        name = commands.normal(text)
        made = re.match(r"fgpu signing-key --out (\S+)", name)
        for line in variants(text):
            line = addressed(commands.filled(line, "local"), cluster, node)
            if made and (old := tmp_path / made[1]).exists():  # it overwrites nothing, and what the page begins with was ours
                old.unlink()
                old.with_name(old.name + ".pub").unlink()
            if name in tables.STAYS:
                wrong += stays(line, tables.STAYS[name], tmp_path, env)
                continue
            r = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300,
                               stdin=subprocess.DEVNULL)
            if r.returncode not in tables.CODES.get(name, (0,)):
                wrong.append(f"{line}: {r.returncode}\n{r.stdout[-500:]}{r.stderr[-1500:]}")
    assert not wrong, f"{page}:\n" + "\n".join(wrong)


def stays(line, ready, folder, env):
    p = subprocess.Popen(["bash", "-c", "exec " + line], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        first = p.stdout.readline()
    finally:
        p.terminate()
        p.wait(60)
        p.stdout.close()
    return [] if ready in first else [f"{line}: {first}"]


def helps():
    """{program: {command: its help}} and {program: its help}"""
    fgpu = run("--help").stdout
    own = {name: run(name, "--help").stdout for name in re.findall(r"^  ([a-z][a-z-]+) ", fgpu, re.M)}
    node = subprocess.run([BINARY.parent / "fgpu-node", "--help"], capture_output=True, text=True, timeout=60).stdout
    return own, node


def test_mentions__name_commands_and_options_that_exist():
    own, node = helps()
    plugin = subprocess.run([BINARY.parent / "kubectl-fgpu", "--help"], capture_output=True, text=True, timeout=60).stdout
    wrong = []
    for page, text, kind in PLAN:
        words = commands.normal(text).replace("build/release/", "").split()
        if kind != "mention" or words[0] in ("kubectl", "helm", "fgpu-demo"):
            continue
        if words[0] == "fgpu" and words[1] not in own:
            wrong.append(f"{page}: no command {text}")
            continue
        shown = node if words[0] == "fgpu-node" else own[words[1]]
        wrong += [f"{page}: {text}: no option {o}" for o in re.findall(r"(?<!\S)(--[a-z-]+)", text) if o not in shown]
    # Options by themselves: of fgpu, of fgpu-node, or of a program of others.
    every = node + plugin + "".join(own.values())
    for page in commands.pages():
        for info, content in commands.parts(page.read_text()):
            if info is None:
                wrong += [f"{commands.name_of(page)}: nobody has the option {s}" for s in commands.spans(content)
                          if (m := re.match(r"(--[a-z-]+)", s)) and m[1] not in every and m[1] not in tables.OTHERS_OPTIONS]
    assert not wrong, "\n".join(wrong)


def test_texts_that_a_page_quotes__are_those_of_the_program():
    """A reader looks for the words that he sees. `...` stands for what differs."""
    said = b"".join((BINARY.parent / name).read_bytes() for name in ("fgpu", "fgpu-node")).decode("latin-1")
    said += "".join(" ".join(path.read_text().split()) for path in ROOT.glob("manifests/policies/*.yaml"))
    checked, wrong = 0, []
    for name in tables.SAYS:
        for info, content in commands.parts((ROOT / name).read_text()):
            for s in commands.spans(content) if info is None else []:
                if s in tables.OTHERS_SAY or len(s.split()) < 3 or re.search("[{=]", s) or commands.begins_with_a_program(s) and s not in tables.NOT_COMMANDS:
                    continue
                checked += 1
                text = re.sub(r"^\[-\]([a-z-]+) failed: ", r"\1...", s)
                wrong += [f"{name}: nobody says {s!r}: no {part!r}" for part in re.split(r"\.\.\.|[()]", text) if part.strip() not in said]
    assert checked > 30 and not wrong, "\n".join(wrong)


def test_reasons_of_nodes__each_is_explained():
    reasons = re.findall(r'\[VERDICT_\w+\] = \{"(?!fits)\w+", "([^"]+)"\}', (ROOT / "src/core/fit/verdict.c").read_text())
    pages = " ".join(" ".join(path.read_text().split()) for path in ROOT.glob("manifests/*.md"))
    assert len(reasons) > 30 and not (left := [r for r in reasons if f"`{r}`" not in pages]), left


def test_files_that_a_page_names__exist():
    wrong = []
    for page in commands.pages():
        for info, content in commands.parts(page.read_text()):
            if info is None:
                wrong += [f"{commands.name_of(page)}: no {s}" for s in commands.spans(content)
                          if re.fullmatch(r"(manifests|config|scripts|test|src|examples)(/[\w.*-]+)+/?", s)
                          and not any(base.glob(s.rstrip("/")) and [*base.glob(s.rstrip("/"))] for base in (ROOT, page.parent, ROOT / "test"))]
    assert not wrong, "\n".join(wrong)


def test_yaml_of_a_page__that_is_a_configuration_is_valid(tmp_path):
    checked, wrong = 0, []
    for page in commands.pages():
        for info, content in commands.parts(page.read_text()):
            if info is None or commands.is_commands(info, content):
                continue
            try:
                keys = yaml.safe_load("\n".join(content))
            except yaml.YAMLError:
                continue
            if not isinstance(keys, dict) or not keys or not set(keys) - {"apiVersion", "kind"} or not set(keys) - {"apiVersion", "kind"} <= CONFIG_KEYS:
                continue
            if keys.get("kind", "FgpuConfiguration") != "FgpuConfiguration":
                continue
            if set(keys) == {"resources"} and set(keys["resources"]) & {"limits", "requests", "kustomization"}:
                continue
            text = "\n".join(content)
            path = tmp_path / "fgpu.yaml"
            missing = POOLS if "changeOvers" in keys and "nodePools" not in keys else ""
            path.write_text(("" if "kind" in keys else HEAD) + text + "\n" + missing)
            r = run("check-config", path)
            checked += 1
            if r.returncode != 0:
                wrong.append(f"{commands.name_of(page)}:\n{text}\n{r.stdout}{r.stderr}")
    assert checked > 5 and not wrong, "\n".join(wrong)
