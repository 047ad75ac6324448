"""A second opinion: what every GPU must carry, computed from API objects alone, and compared with /state.

Knows the pods these tests make: one app container, amounts as limits (MetaGPU's units, too), or as annotations of Run:ai. The amount comes from the request, never from
the assignment; the assignment only says which device. A pod without one that can be read counts on every device of
its node.
"""
import collections
import fractions
import json

from objects import assignment, is_over, node_name

Load = collections.namedtuple("Load", "milli mem_mib")


def kai_request(annotations):
    """As KAI-Scheduler counts: memory in whole 100 MiB; a fraction of that, or an amount in hundredths of it."""
    def load(capacity_mib):
        seen = capacity_mib // 100 * 100
        if "gpu-fraction" in annotations:
            return Load(int(fraction * 1000), int(fraction * seen))
        portion = -(-100 * int(annotations["gpu-memory"]) // seen)
        return Load(10 * portion, int(annotations["gpu-memory"]))
    fraction = fractions.Fraction(annotations.get("gpu-fraction", 0))
    return int(annotations.get("gpu-fraction-num-devices", 1)), load


def gpu_request(pod):
    """(devices, the load on a device by its memory); None: it asks for nothing."""
    annotations = pod["metadata"].get("annotations") or {}
    if "gpu-fraction" in annotations or "gpu-memory" in annotations:
        return kai_request(annotations)
    limits = pod["spec"]["containers"][0]["resources"].get("limits", {})
    if "cnvrg.io/metagpu" in limits:  # 100 a GPU
        units = int(limits["cnvrg.io/metagpu"])
        return -(-units // 100), lambda capacity_mib: load_on(capacity_mib, None if units >= 100 else 10 * units, None)
    count, milli, mem_mib = (int(limits[k]) if k in limits else None for k in
                             ("fgpu.io/gpu-count", "fgpu.io/gpu-milli", "fgpu.io/gpu-memory-mib"))
    if (count, milli, mem_mib) == (None, None, None):
        return None
    if milli is not None and milli % 1000 == 0 and mem_mib is None:
        count, milli = count or milli // 1000, None
    return count or 1, lambda capacity_mib: load_on(capacity_mib, milli, mem_mib)


def rest_of(pod):
    """Of a request in MetaGPU's units that spans GPUs: milli of the last one, beside the whole ones; else 0."""
    units = int(pod["spec"]["containers"][0]["resources"].get("limits", {}).get("cnvrg.io/metagpu", 0))
    return units % 100 * 10 if units > 100 else 0


def load_on(capacity_mib, milli, mem_mib):
    """None in milli or memMib: as the other one says; both None: the whole device."""
    if milli is None and mem_mib is None:
        return Load(1000, capacity_mib)
    if mem_mib is None:
        return Load(milli, capacity_mib * milli // 1000)
    if milli is None:
        return Load(max(1, 1000 * mem_mib // capacity_mib), mem_mib)
    return Load(milli, mem_mib)


def capacities(nodes):
    found = {}
    for n in nodes:
        text = n["metadata"].get("annotations", {}).get("fgpu.io/gpus")
        for g in json.loads(text)["gpus"] if text else []:
            found[n["metadata"]["name"], g["uuid"]] = g["memMib"]
    return found


def loads(nodes, pods):
    """{(node, uuid): Load}, one entry for every device, from the objects alone."""
    capacity = capacities(nodes)
    sums = {key: Load(0, 0) for key in capacity}
    for p in pods:
        if node_name(p) is None or is_over(p) or gpu_request(p) is None:
            continue
        count, load = gpu_request(p)
        a = assignment(p)
        if a is None:
            devices = [key for key in capacity if key[0] == node_name(p)]
        else:
            devices = [(node_name(p), d["uuid"]) for c in a["containers"] for d in c["devices"]]
            assert len(devices) == len(set(devices)) == count, f"{p['metadata']['name']} holds {devices}"
        rest, rest_at = rest_of(p), None
        if rest > 0 and a is not None:  # the record says which of its GPUs is not whole
            (rest_at,) = [(node_name(p), d["uuid"]) for c in a["containers"] for d in c["devices"] if d["milli"] < 1000]
        for key in devices:
            assert key in capacity, f"{p['metadata']['name']} holds {key}, which does not exist"
            more = load_on(capacity[key], rest, None) if key == rest_at else load(capacity[key])
            sums[key] = Load(sums[key].milli + more.milli, sums[key].mem_mib + more.mem_mib)
    return sums


def check_no_overcommit(api):
    """Of what fgpu bound: pods bound by others count elsewhere. Returns the loads."""
    nodes, pods = api.list("nodes"), [p for p in api.list("pods") if assignment(p)]
    capacity, sums = capacities(nodes), loads(nodes, pods)
    for key, load in sums.items():
        assert load.milli <= 1000 and load.mem_mib <= capacity[key], (key, load)
    return sums


def loads_in_state(state):
    return {(n["name"], g["uuid"]): Load(g["milli"]["charged"], g["memMib"]["charged"])
            for n in state["nodes"] for g in n["gpus"]}


def same_as_objects(c):
    """The ledger charges what the objects say. `c` has an `api` and an `fgpu`."""
    return loads_in_state(c.fgpu.state()) == loads(c.api.list("nodes"), c.api.list("pods"))
