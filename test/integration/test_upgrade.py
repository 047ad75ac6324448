"""What a released version left behind, in test/data/releases/VERSION (recorded by `test_upgrade.py --record`, see the README there): this
fgpu reads it as that one did (upgrade), and what this one writes has the form that that one knows (rollback)."""
import copy
import json
import os
import pathlib
import subprocess
import sys

import pytest

from keys import new_key
from kept import Kept
from objects import assignment, device, mem, milli, node_name, uid, whole
from processes import BINARY, ApiServer, Fgpu, eventually, run

RELEASES = pathlib.Path(__file__).resolve().parent.parent / "data" / "releases"
VERSIONS = sorted(p.name for p in RELEASES.iterdir() if p.is_dir())
FILES = ("cluster.json", "state.json", "all-values.yaml", "key.pem")

CONFIG = """signing:
  privateKey: {key}
resources:
  compute:
  - {{name: fgpu.io/gpu-milli, unitsPerGPU: 1000}}
  - {{name: nvidia.com/vgpu, unitsPerGPU: 1000}}
sizes: {{small: {{milli: 125, memory: 4Gi}}}}
"""


def container(name, **limits):
    return {"name": name, "image": "example.com/demo", "resources": {"limits": {f"fgpu.io/gpu-{k}": str(v) for k, v in limits.items()}}}


# Every form of a record: by name the node, and what the pod is made of.
PODS = {
    "share": ("plain", {"limits": milli(300)}),
    "amount": ("plain", {"limits": mem(4096)}),
    "share-and-amount": ("plain", {"limits": milli(200) | mem(1024)}),
    "several": ("plain", {"limits": whole(2) | milli(250)}),
    "units": ("plain", {"limits": {"nvidia.com/vgpu": 100}}),
    "size": ("plain", {"annotations": {"fgpu.io/size": "small"}}),
    "fraction": ("plain", {"annotations": {"fgpu.io/gpu-fraction": "0.1"}}),
    "best-effort": ("plain", {"limits": milli(50), "annotations": {"fgpu.io/qos": "best-effort"}}),
    "containers": ("plain", {"initContainers": [container("before", milli=100)],
                             "containers": [container("main", milli=50), container("beside", milli=50)]}),
    "whole": ("large", {"limits": whole(1)}),
    "instance": ("cut", {"annotations": {"fgpu.io/mig-profile": "1g.5gb"}}),
}


def make_nodes(api):
    api.node(gpus=4, name="plain")
    api.node(gpus=2, name="large")
    api.node(gpus=[device("cut", 0, mem_mib=40960, model="NVIDIA-A100-SXM4-40GB",
                          mig=[{"uuid": f"MIG-cut-{i}", "profile": "1g.5gb", "start": i, "memMib": 4864} for i in range(7)])], name="cut")


def place_all(api, fgpu):
    make_nodes(api)
    for name, (node, pod) in PODS.items():
        made = api.pod(name=name, **pod)
        eventually(lambda: fgpu.fits(made, [node]), f"room for {name}")
        assert fgpu.schedule(made, [node]) == node
    return {p["metadata"]["name"]: p for p in api.list("pods")}


def read(version, name):
    return json.loads((RELEASES / version / name).read_text())


def key_of(version, tmp_path):
    """A copy, as git keeps no rights of files."""
    key = tmp_path / "key.pem"
    key.write_bytes((RELEASES / version / "key.pem").read_bytes())
    key.chmod(0o600)
    return key


def held(state):
    """{pod uid: {(container, device, milli, memMib)}} of /state."""
    found = {}
    for node in state["nodes"]:
        for gpu in node["gpus"]:
            for a in gpu["allocations"]:
                found.setdefault(a["uid"], set()).add((a["container"], a["uuid"] if "uuid" in a else gpu["uuid"], a["milli"], a["memMib"]))
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_release_left__read_by_this_version__held_as_it_was(version, tmp_path):
    cluster, then = read(version, "cluster.json"), read(version, "state.json")
    with Kept(cluster["nodes"], cluster["pods"]) as api:
        fgpu = Fgpu(api.url, tmp_path, CONFIG.format(key=key_of(version, tmp_path))).ready()
        eventually(lambda: fgpu.state("?fields=summary")["metadata"]["signing"]["unverified"] == 0, "the records are verified")
        now = fgpu.state()
        fgpu.stop()
    assert now["metadata"]["signing"]["refuted"] == now["metadata"]["signing"]["ignored"] == 0
    assert now["conflicts"] == [] and now["incidents"] == []
    assert held(now) == held(then)
    assert set(held(now)) == {uid(p) for p in cluster["pods"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_release_left__edited_by_somebody__not_believed(version, tmp_path):
    cluster = copy.deepcopy(read(version, "cluster.json"))
    pod = next(p for p in cluster["pods"] if p["metadata"]["name"] == "share")
    record = assignment(pod)
    record["containers"][0]["devices"][0]["milli"] -= 1
    pod["metadata"]["annotations"]["fgpu.io/assignment"] = json.dumps(record)
    with Kept(cluster["nodes"], cluster["pods"]) as api:
        fgpu = Fgpu(api.url, tmp_path, CONFIG.format(key=key_of(version, tmp_path))).expect_incidents().ready()
        eventually(lambda: fgpu.state("?fields=summary")["metadata"]["signing"]["refuted"] == 1, "it is refuted")
        fgpu.stop()


def form(value):
    """Names and kinds of values, without the values."""
    if isinstance(value, dict):
        return {k: form(v) for k, v in value.items()}
    if isinstance(value, list):
        return [form(v) for v in value]
    return type(value).__name__


def forms(pods):
    """{pod: {annotation: form}} of what fgpu wrote."""
    found = {}
    for p in pods:
        asked = PODS[p["metadata"]["name"]][1].get("annotations", {})
        written = {k: v for k, v in p["metadata"]["annotations"].items() if k not in asked}
        found[p["metadata"]["name"]] = {k: form(json.loads(v)) if v.startswith("{") else "text" for k, v in written.items()}
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_what_this_version_writes__has_the_form_that_the_release_wrote(version, tmp_path):
    api = ApiServer(tmp_path)
    fgpu = Fgpu(api.url, tmp_path, CONFIG.format(key=new_key(tmp_path))).ready()
    pods = place_all(api, fgpu)
    fgpu.stop()
    api.stop()
    assert all(node_name(p) == PODS[name][0] for name, p in pods.items())
    # A form that differs is one that the release may not read: decide what a rollback does then, and say so in manifests/CHANGELOG.md.
    assert forms(pods.values()) == forms(read(version, "cluster.json")["pods"])


@pytest.mark.parametrize("version", VERSIONS)
def test_configuration_with_every_key_of_a_release__valid(version):
    r = run("check-config", str(RELEASES / version / "all-values.yaml"))
    assert r.returncode == 0, r.stdout + r.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_saved_state_of_a_release__read(version):
    r = run("state", "--state", str(RELEASES / version / "state.json"))
    assert r.returncode == 0, r.stderr
    assert all(name in r.stdout for name in PODS), r.stdout


def record(folder):
    """Plays the pods through the fgpu of FGPU_BUILD and keeps what it left."""
    import tempfile
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        key = new_key(place)
        api = ApiServer(place)
        fgpu = Fgpu(api.url, place, CONFIG.format(key=key)).ready()
        pods = place_all(api, fgpu)
        eventually(lambda: set(held(fgpu.state())) == {uid(p) for p in pods.values()}, "all are in /state")
        cluster = {"nodes": api.list("nodes"), "pods": list(pods.values())}
        (folder / "cluster.json").write_text(json.dumps(cluster, indent=1) + "\n")
        (folder / "state.json").write_text(json.dumps(fgpu.state(), indent=1) + "\n")
        (folder / "key.pem").write_bytes(key.read_bytes())
        fgpu.stop()
        api.stop()
        subprocess.run([BINARY, "serve", "--signing-key", "off", "--write-config-to", str(folder / "all-values.yaml")], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--record"]:
        sys.exit("usage: test_upgrade.py --record FOLDER")
    record(pathlib.Path(sys.argv[2]))
