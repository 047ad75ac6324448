"""Every kind of node on one cluster, pods of every form, churn, two restarts and a window that opens in between. Judged
from the API server's objects alone, by what each form asks for; then /state has to say the same.
"""
import collections
import json
import random

from configured import START, Configured
from judge import Load, gpu_request as request_of
from objects import assignment, device, node_name, node_object, unique
from processes import Cluster, eventually
from test_windows import CLOSED, window

CONFIG = START + ("dialects: {kai: serve}\n"
                  "resources:\n  compute:\n  - {name: fgpu.io/gpu-milli, unitsPerGPU: 1000}\n"
                  "  - {name: nvidia.com/vgpu, unitsPerGPU: 1000}\n"
                  "  - {name: cnvrg.io/metagpu, unitsPerGPU: 100}\n"
                  "sizes: {small: {milli: 250, memory: 4Gi}}\n")
NIGHT = CONFIG + "timeWindows:\n" + window("nodePools: [{nodeSelector: {kind: native}, state: closed}]")
MEM_MIB = 40960
MIG = [("3g.20gb", 4), ("2g.10gb", 2), ("1g.5gb", 0), ("1g.5gb", 1)]
KINDS = ("native", "cut", "both", "plugin", "slice", "counted")


def allocatable(**more):
    return {"allocatable": {"cpu": "64", "memory": "512Gi", **{k: str(v) for k, v in more.items()}}}


def nodes():
    """One of each kind; their names are their kinds."""
    def gpus(name, n):
        return [device(name, i, MEM_MIB, model="NVIDIA-A100-SXM4-40GB") for i in range(n)]
    cut = gpus("cut", 2)
    cut[0]["mig"] = [{"uuid": f"MIG-{start}", "profile": p, "start": start, "memMib": 4864} for p, start in MIG]
    gfd = {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.memory": str(MEM_MIB), "nvidia.com/gpu.product": "A100"}
    made = {
        "native": node_object("native", gpus("native", 3)),
        "cut": node_object("cut", cut),
        # one GPU each, told by an annotation, by a plugin and by labels
        "both": node_object("both", gpus("both", 2), labels=gfd, status=allocatable(**{"nvidia.com/gpu": 2})),
        "plugin": node_object("plugin", 0, labels={"fgpu.io/allocatable": "whole-gpus"}, status=allocatable(**{"nvidia.com/gpu": 3})),
        "slice": node_object("slice", 0, labels={"vgpu.type": "v100-4q-4GB"}, status=allocatable(**{"nvidia.com/gpu": 2})),
        "counted": node_object("counted", 0, status=allocatable(**{"nvidia.com/mig-1g.5gb": 2})),
    }
    for kind, node in made.items():
        node["metadata"]["labels"]["kind"] = kind
    return made


def form(limits=None, annotations=None, load=None):
    return {"limits": limits, "annotations": annotations}, load


def share(milli, mem=None):
    return lambda capacity: Load(milli, capacity * milli // 1000 if mem is None else mem)


# What a pod writes, and what it takes of each of its devices; None: whatever judge.py says, or nothing that fgpu picks.
FORMS = {
    "milli": form({"fgpu.io/gpu-milli": 300}, load=share(300)),
    "memory": form({"fgpu.io/gpu-milli": 100, "fgpu.io/gpu-memory-mib": 9000}, load=share(100, 9000)),
    "vgpu": form({"nvidia.com/vgpu": 450}, load=share(450)),
    "metagpu": form({"cnvrg.io/metagpu": 25}, load=share(250)),
    "fraction": form(annotations={"fgpu.io/gpu-fraction": "0.55"}, load=share(550)),
    "size": form(annotations={"fgpu.io/size": "small"}, load=share(250, 4096)),
    "pair": form({"fgpu.io/gpu-milli": 150, "fgpu.io/gpu-count": 2}, load=share(150)),
    "runai": form(annotations={"gpu-fraction": "0.35"}),
    "runai-memory": form(annotations={"gpu-memory": "6000"}),
    "mig": form(annotations={"fgpu.io/mig-profile": "1g.5gb"}),
    "mig-resource": form({"nvidia.com/mig-1g.5gb": 1}),
    "whole": form({"nvidia.com/gpu": 1}),
    "two-wholes": form({"nvidia.com/gpu": 2}),
}


def limit(pod, name):
    return int(pod["spec"]["containers"][0]["resources"].get("limits", {}).get(name, 0))


def load_of(pod, capacity):
    load = FORMS[pod["metadata"]["annotations"]["form"]][1]
    return load(capacity) if load else request_of(pod)[1](capacity)


def judged(made, pods):
    """{(node, uuid or index): Load} of what fgpu picked, {node: whole GPUs} of what kubelet picks. Nothing is too much."""
    devices, picked, instances = {}, collections.Counter(), collections.Counter()
    for name, node in made.items():
        for g in json.loads(node["metadata"]["annotations"].get("fgpu.io/gpus", '{"gpus": []}'))["gpus"]:
            devices.update({(name, i["uuid"]): None for i in g["mig"]} if "mig" in g else {(name, g["uuid"]): Load(0, 0)})
    for pod in pods:
        name = node_name(pod)
        if name is None:
            continue
        given = [d for c in (assignment(pod) or {"containers": []})["containers"] for d in c["devices"]]
        for d in given:
            key = (name, d["uuid"] or d["index"])
            if d["uuid"].startswith("MIG-"):
                assert devices[key] is None, f"{key} has two pods"
                devices[key] = pod["metadata"]["name"]
            else:
                capacity = MEM_MIB if d["uuid"] else 4096  # the slice has no UUID
                load, now = load_of(pod, capacity), devices.get(key, Load(0, 0))
                devices[key] = Load(now.milli + load.milli, now.mem_mib + load.mem_mib)
                assert devices[key].milli <= 1000 and devices[key].mem_mib <= capacity, (key, devices[key])
        if not given:
            picked[name] += limit(pod, "nvidia.com/gpu")
            instances[name] += limit(pod, "nvidia.com/mig-1g.5gb")
        both = [d for d in given if not d["uuid"].startswith("MIG-")]
        assert not (both and picked[name]), f"fgpu and kubelet both pick on {name}"
    for name, n in picked.items():
        assert n <= int(made[name]["status"]["allocatable"].get("nvidia.com/gpu", 0)), (name, n)
    assert instances["counted"] <= 2
    return devices, picked


def agrees(state, devices, picked):
    """Does /state say the same?"""
    for n in state["nodes"]:
        name = n["name"]
        assert n.get("wholeGpus", {"charged": 0})["charged"] == picked[name], (name, picked)
        assert len(n["gpus"]) == {"native": 3, "cut": 6, "both": 2, "plugin": 3, "slice": 2, "counted": 2}[name], name
        if picked[name] or name in ("plugin", "counted"):
            continue  # kubelet picks: every GPU may be in use
        for g in n["gpus"]:
            held = devices.get((name, g["uuid"] or g["index"]), Load(0, 0))
            pods = {a["pod"] for a in g["allocations"]}
            if isinstance(held, Load):
                is_cut = name == "cut" and g["index"] == 0
                assert is_cut or name == "slice" or (g["milli"]["charged"], g["memMib"]["charged"]) == held, (name, g)
            else:
                assert pods == ({held} if held else set()), (name, g["uuid"])
    return True


class Workload:
    def __init__(self, cluster, seed):
        self.c, self.random, self.made = cluster, random.Random(seed), nodes()
        self.seen, self.refused = collections.Counter(), collections.Counter()
        for node in self.made.values():
            cluster.api.call("POST", "/api/v1/nodes", node, status=201)
        eventually(lambda: len(cluster.fgpu.state()["nodes"]) == len(KINDS), "all nodes in /state")

    def churn(self, rounds):
        api = self.c.api
        for _ in range(rounds):
            batch = []
            for _ in range(8):
                name = self.random.choice(sorted(FORMS))
                spec = FORMS[name][0]
                batch.append(api.pod(spec["limits"], {**(spec["annotations"] or {}), "form": name}, name=unique(name)))
            self.c.settle()
            for pod in batch:
                at = self.c.fgpu.schedule(pod, self.random.sample(KINDS, len(KINDS)))
                (self.seen if at else self.refused)[pod["metadata"]["annotations"]["form"], at] += 1
                if at is None:
                    api.delete_pod(pod)
            self.judge()
            pods = api.list("pods")
            for pod in self.random.sample(pods, len(pods) // 3):
                api.delete_pod(pod) if self.random.random() < 0.7 else api.set_phase(pod, "Succeeded")
            for pod in api.list("pods"):
                if pod["status"].get("phase") == "Succeeded":
                    api.delete_pod(pod)
            self.c.settle()

    def judge(self):
        devices, picked = judged(self.made, self.c.api.list("pods"))
        eventually(lambda: agrees(self.c.fgpu.state(), devices, picked), "/state to say the same")


def test_everything__churn_restarts_and_a_window__never_too_much(tmp_path):
    c = Cluster(tmp_path, CONFIG).ready()
    try:
        w = Workload(c, seed=6)
        w.churn(10)
        c.fgpu.kill()
        c.restarted().ready()
        w.judge()
        w.churn(4)
        Configured(c).effective(NIGHT)
        eventually(lambda: c.fgpu.node_state("native")["closed"], "night")
        pod = c.api.pod({"fgpu.io/gpu-milli": 1}, {"form": "milli"})
        c.settle()
        assert c.fgpu.reasons(pod, ["native"]) == {"native": CLOSED}
        c.api.delete_pod(pod)
        w.judge()  # who runs stays, and is charged as before
        before = sum(n for (_, at), n in w.seen.items() if at == "native")
        w.churn(5)
        assert sum(n for (_, at), n in w.seen.items() if at == "native") == before
        c.config = NIGHT
        c.fgpu.stop()
        c.restarted().ready()
        w.judge()
        w.churn(4)
        # no form and no kind was left out
        assert {f for f, _ in w.seen} == set(FORMS) and {at for _, at in w.seen} == set(KINDS), w.seen
        assert w.refused
        assert c.fgpu.audit()["driftByCause"] == {}
        c.check()
    finally:
        c.stop()
