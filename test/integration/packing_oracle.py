"""The packing experiment in slow, plain Python, written from its description and sharing nothing with fgpu: pods arrive one
by one, each goes to the feasible node of the highest score (ties: smallest rank), one that fits nowhere is dropped.

A node is a dict with cpu, mem, model, free (milli of each GPU) and kinds (of the pods that hold GPUs there); a pod one with
cpu, mem, n, milli, models (a tuple; empty: any)."""
import math


def fits(pod, node):
    if pod["cpu"] > node["cpu"] or pod["mem"] > node["mem"]:
        return False
    if pod["n"] == 0:
        return True
    if pod["models"] and node["model"] not in pod["models"]:
        return False
    return sum(1 for f in node["free"] if f >= pod["milli"]) >= pod["n"]


def tightest(pod, node):
    """The GPUs it gets: those with the least room that fit, in order of their index where they are equal."""
    able = [i for i, f in enumerate(node["free"]) if f >= pod["milli"]]
    return sorted(able, key=lambda i: (node["free"][i], i))[: pod["n"]]


def placed(pod, node, gpus):
    free = list(node["free"])
    for i in gpus:
        free[i] -= pod["milli"]
    return dict(node, cpu=node["cpu"] - pod["cpu"], mem=node["mem"] - pod["mem"], free=free)


def kind(pod):
    return "shared" if pod["milli"] < 1000 else pod["n"]


def typical_pods(pods):
    """The most frequent shapes that make 95 % of all pods, with their probabilities."""
    counts = {}
    for p in pods:
        shape = (p["cpu"], p["milli"], p["n"], p["models"])
        counts[shape] = counts.get(shape, 0) + 1
    shapes = sorted(counts, reverse=True)  # larger cpu, milli, number, models first ...
    shapes.sort(key=lambda s: -counts[s])  # ... among those of one count
    kept, covered = [], 0
    for s in shapes:
        if covered * 100 >= 95 * len(pods):
            break
        kept.append(s)
        covered += counts[s]
    return [(s, counts[s] / len(pods) / (covered / len(pods))) for s in kept]


def fragmentation(node, typical):
    idle = sum(node["free"])
    sums = dict.fromkeys(["both", "gpu", "cpu", "gpuless", "gpuless cpu", "model"], 0.0)
    for (cpu, milli, n, models), p in typical:
        enough = cpu <= node["cpu"]
        if n == 0:
            sums["gpuless" if enough else "gpuless cpu"] += p * idle
        elif not node["free"] or (models and node["model"] not in models):
            sums["model"] += p * idle
        elif sum(1 for f in node["free"] if f >= milli) < n:
            sums["gpu" if enough else "both"] += p * idle
        elif not enough:
            sums["cpu"] += p * idle
        else:
            sums["gpu"] += p * sum(f for f in node["free"] if f < milli)
    total = 0.0
    for v in sums.values():
        total += v
    return total


def fgd(pod, node, typical):
    before = fragmentation(node, typical)

    def score(gpus):
        saved = before - fragmentation(placed(pod, node, gpus), typical)
        return int(100 * (1 / (1 + math.exp(-saved / 1000))))

    if pod["n"] != 1:
        gpus = tightest(pod, node)
        return score(gpus), gpus
    best = None
    for i, f in enumerate(node["free"]):
        if f >= pod["milli"] and (best is None or score([i]) > best[0]):
            best = (score([i]), [i])
    return best


def best_fit(pod, node, _):
    gpus = tightest(pod, node)
    after = placed(pod, node, gpus)
    left = after["cpu"] * 8000 + sum(after["free"]) * 128000
    return (100 * 2 * 128000 * 8000 - 100 * left) // (2 * 128000 * 8000), gpus


def dot_product(pod, node, _):
    cpu = node["cpu"] * pod["cpu"] * 8000 * 8000
    gpu = sum(node["free"]) * pod["n"] * pod["milli"] * 128000 * 128000
    whole = (128000 * 8000) ** 2
    return (200 * whole - 100 * (cpu + gpu)) // (2 * whole), tightest(pod, node)


def gpu_packing(pod, node, _):
    gpus = tightest(pod, node)
    n = len(node["free"])
    opened = sum(1 for i in gpus if node["free"][i] == 1000)
    if pod["n"] == 0:
        return 0, gpus
    if all(f == 1000 for f in node["free"]):
        return max(33 - n, n), gpus
    if opened:
        return max(50 - opened, 33), gpus
    return max(100 - sum(node["free"][i] * 100 // 1000 for i in gpus) // 10, 50), gpus


def gpu_clustering(pod, node, _):
    gpus = tightest(pod, node)
    if pod["n"] == 0:
        return 0, gpus
    base = 25 * (8000 - sum(node["free"])) // 8000
    if kind(pod) in node["kinds"]:
        return base + (75 if len(node["kinds"]) == 1 else 50), gpus
    return base + (0 if node["kinds"] else 25), gpus


SCORES = {"fgd": fgd, "best-fit": best_fit, "dot-product": dot_product, "gpu-packing": gpu_packing,
          "gpu-clustering": gpu_clustering}


def decide(name, pod, nodes, typical):
    """(rank, gpus) or None. Best fit is rescaled over the nodes that fit."""
    judged = {r: SCORES[name](pod, n, typical) for r, n in nodes.items() if fits(pod, n)}
    if not judged:
        return None
    scores = {r: s for r, (s, _) in judged.items()}
    low, high = min(scores.values()), max(scores.values())
    if name == "best-fit" and high > low:
        scores = {r: (s - low) * 100 // (high - low) for r, s in scores.items()}
    best = min(scores, key=lambda r: (-scores[r], r))
    return best, judged[best][1]


def class_of(pod):
    return "gpu_less" if pod["n"] == 0 else "multi" if pod["n"] > 1 else "whole" if pod["milli"] == 1000 else "shared"


def half_up(x):
    return math.floor(x + 0.5)


def replay(name, nodes, pods, ranks, rows):
    """What fgpu sim says of one order of arrival."""
    nodes = {r: dict(n, free=list(n["free"]), kinds=set()) for r, n in zip(ranks, nodes)}
    capacity = sum(1000 * len(n["free"]) for n in nodes.values())
    typical = typical_pods(pods)
    records, refused = {}, dict.fromkeys(["gpu_less", "shared", "whole", "multi"], 0)
    arrived = used = lost = 0
    first = one_point = None
    for row in rows:
        pod = pods[row]
        asked = pod["n"] * pod["milli"]
        where = decide(name, pod, nodes, typical)
        arrived += asked
        if where is None:
            refused[class_of(pod)] += 1
            lost += asked
            first = 100 * arrived / capacity if first is None else first
            if one_point is None and lost * 100 >= capacity:
                one_point = 100 * arrived / capacity
        else:
            rank, gpus = where
            nodes[rank] = placed(pod, nodes[rank], gpus)
            used += asked
            if pod["n"] > 0:
                nodes[rank]["kinds"] = nodes[rank]["kinds"] | {kind(pod)}
        records.setdefault(half_up(100 * arrived / capacity), []).append(half_up(100 * used / capacity * 100) / 100)
    mean = {k: sum(v) / len(v) for k, v in records.items()}
    return {"a100": mean.get(100), "a130": mean.get(130), "allocation_pct": 100 * used / capacity,
            "first_refusal_pct": first, "refused_1pp_pct": one_point,
            "refused_pct": 100 * lost / arrived if arrived else 0, "refused_by_class": refused}
