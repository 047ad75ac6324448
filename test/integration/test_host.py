"""Cores and memory of machines in /state: what a node has less what all its pods ask for, computed here from API
objects alone, by the rules in include/core/request/host.h.
"""
import random

from lab import WATCH, Lab
from objects import is_over, milli, node_name, pod_object, unique
from processes import eventually

MIB = 1 << 20
UNITS = {"": 1, "m": 0.001, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "G": 10 ** 9}


def number(text):
    digits = text.rstrip("mKMGi")
    return float(digits) * UNITS[text[len(digits):]]


def asked(pod, resource):
    def of(c):
        r = c.get("resources", {})
        return number(r.get("requests", {}).get(resource) or r.get("limits", {}).get(resource) or "0")
    spec, running, peak = pod["spec"], 0, 0
    for c in spec.get("initContainers", []):
        peak = max(peak, running + of(c))
        running += of(c) if c.get("restartPolicy") == "Always" else 0
    peak = max(peak, running + sum(of(c) for c in spec["containers"]))
    whole = spec.get("resources", {}).get("requests", {}).get(resource)
    return (number(whole) if whole else peak) + number(spec.get("overhead", {}).get(resource, "0"))


def up(value):
    return -int(-value // 1)


def expected(api):
    """{node: (cpu milli free, MiB free)}"""
    free = {n["metadata"]["name"]: [up(number(n["status"]["allocatable"]["cpu"]) * 1000),
                                    int(number(n["status"]["allocatable"]["memory"]) // MIB)]
            for n in api.list("nodes")}
    for p in api.list("pods"):
        if node_name(p) in free and not is_over(p):
            free[node_name(p)][0] -= up(round(asked(p, "cpu") * 1000, 6))
            free[node_name(p)][1] -= up(asked(p, "memory") / MIB)
    return {name: tuple(f) for name, f in free.items()}


def shown(fgpu):
    return {n["name"]: (n["host"]["cpuMilli"]["free"], n["host"]["memMib"]["free"])
            for n in fgpu.state()["nodes"] if n["described"]}


def container(name, requests=None, limits=None, **more):
    return {"name": name, "image": "example.com/demo", "resources": {"requests": requests or {}, "limits": limits or {}},
            **more}


SHAPES = [
    {"containers": [container("a", {"cpu": "500m", "memory": "300Mi"}), container("b", {"cpu": "1"}, {"cpu": "2"})]},
    {"containers": [container("a", limits={"cpu": "2", "memory": "1Gi"})]},
    {"containers": [container("a", {"cpu": "1"})],
     "initContainers": [container("s", {"cpu": "500m"}, restartPolicy="Always"), container("i", {"cpu": "3"})]},
    {"containers": [container("a", {"memory": "1G"})], "overhead": {"cpu": "250m", "memory": "120Mi"}},
    {"containers": [container("a", {"cpu": "1"})], "resources": {"requests": {"cpu": "4", "memory": "2Gi"}}},
    {"containers": [container("a", {"cpu": "1500m", "memory": "1Gi"}, milli(100))]},
    {"containers": [container("a")]},
]


def create(api, shape, **spec):
    obj = pod_object(unique("pod"))
    obj["spec"] = {"schedulerName": "fgpu-test", **shape, **spec}
    return api.call("POST", "/api/v1/namespaces/default/pods", obj, status=201).json


def test_host__pods_of_every_kind__state_says_what_is_left(own):
    nodes = [own.node(gpus=2), own.node(gpus=0)]
    for i, shape in enumerate(SHAPES):
        create(own.api, shape, nodeName=nodes[i % 2])
        create(own.api, shape, nodeName=nodes[0])
        create(own.api, shape)  # waits, and takes nothing
    eventually(lambda: shown(own.fgpu) == expected(own.api), "cores and memory to be those of the objects")
    before = own.fgpu.content()
    assert before["nodes"][0]["host"]["cpuMilli"]["capacity"] == 64000
    own.fgpu.kill()
    own.restarted()
    eventually(lambda: own.fgpu.content() == before, "the same after a restart")


def test_host__churn__state_says_what_is_left(own):
    rng = random.Random(4711)
    nodes = [own.node(gpus=4), own.node(gpus=0), own.node(gpus=1)]
    bound = own.api.pod(milli(300))
    assert own.fgpu.schedule(bound, nodes[:1])
    for _ in range(150):
        pods = [p for p in own.api.list("pods") if node_name(p) and not is_over(p)]
        how = rng.randrange(10)
        if how < 5 or not pods:
            create(own.api, rng.choice(SHAPES), nodeName=rng.choice(nodes + ["a-node-to-come"]))
        elif how < 7:
            own.api.delete_pod(rng.choice(pods))
        elif how < 8:
            own.api.set_phase(rng.choice(pods), "Succeeded")
        else:
            pod = create(own.api, rng.choice(SHAPES))
            own.api.bind_behind_our_back(pod, rng.choice(nodes))
    own.node(gpus=1, name="a-node-to-come")
    own.settle()
    assert shown(own.fgpu) == expected(own.api)
    own.fgpu.stop()
    own.restarted()
    eventually(lambda: shown(own.fgpu) == expected(own.api), "the same after a restart")


def test_host__deletions_missed__the_list_puts_it_right(tmp_path):
    """Pods without GPUs are swept by lists as the others are."""
    lab = Lab(tmp_path)
    try:
        nodes = [lab.node, lab.api.node(gpus=0)]
        pods = [create(lab.api, SHAPES[i % 2], nodeName=nodes[i % 2]) for i in range(12)]
        lab.start()
        eventually(lambda: shown(lab.fgpu) == expected(lab.api), "all pods to be seen")
        lab.api.faults({**WATCH, "action": "pass", "delayMs": 400}, clear=True, dropWatches=True)
        for p in pods[::2]:
            lab.api.delete_pod(p)
        lab.api.faults(compact=True)
        eventually(lambda: lab.relists() == 1, "another list")
        eventually(lambda: shown(lab.fgpu) == expected(lab.api), "half of them to be swept")
    finally:
        lab.stop()
