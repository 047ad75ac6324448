"""Clusters, what `fgpu sim --scores` says of every node for every pod that comes, and what the formula (reference.py) says of it."""
import collections
import csv
import functools
import math
import pathlib
import random
import sys
import types
import typing

PAPER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(PAPER.parent), str(PAPER)]

import replay  # noqa: E402
from reference import Pod, Shape  # noqa: E402

SOURCE = (PAPER / "reference.py").read_text()
# Scores are whole units of 1/1280 milli. Only what draining takes off is no whole number of them, and the binary rounds it down.
UNITS, ROUNDING = 1280, 1
PURE = ["lists_of", "rollout", "places", "alike", "supply", "usable"]


def reference_of(source=SOURCE):
    """The reference, with what is pure remembered: the tests have little time."""
    m = types.ModuleType("reference")
    exec(compile(source, "reference.py", "exec"), m.__dict__)
    for name in PURE:
        m.__dict__[name] = functools.lru_cache(maxsize=None)(m.__dict__[name])
    m.world_of = functools.lru_cache(maxsize=None)(lambda mix, shapes, learned: m.World(dict(mix), dict(shapes), learned))
    return m


# ---- clusters ----

G2 = Shape(64000, 262144, 2, "Tesla-T4", 0)
BIG = Shape(64000, 524288, 4, "NVIDIA-A100", 40960)
FAT = Shape(64000, 524288, 4, "NVIDIA-H100", 81920)
SMALL = Shape(32000, 131072, 2, "Tesla-T4", 16384)
POOR = Shape(8000, 131072, 4, "Tesla-T4", 0)
RICH = Shape(32000, 131072, 2, "NVIDIA-A10", 0)
WIDE = Shape(16000, 65536, 8, "NVIDIA-L4", 0)


class Case:
    """Machines, pods that may come with how often each does, and how many come; life: arrivals that one stays in the mean."""

    def __init__(self, machines, mix, arrivals, life=None, every=1, learned=False):
        self.machines = [shape for shape, n in machines for _ in range(n)]
        self.rows = [pod for pod, n in mix for _ in range(n)]
        self.arrivals, self.life, self.every, self.learned = arrivals, life, every, learned

    def stays(self):
        rng = random.Random(1)
        return [(t, None if self.life is None else t + 1 + int(rng.expovariate(1 / self.life)), rng.randrange(len(self.rows)))
                for t in range(self.arrivals)]


def share(milli, cores=1, gpu_mib=0, models=(), count=1):
    return Pod(count, milli, 1000 * cores, 1024, gpu_mib, models)


def no_gpu(cores):
    return Pod(0, 0, 1000 * cores, 1024)


CASES = {
    "fills up, shares": Case([(G2, 9)], [(share(300), 3), (share(400), 2), (share(700), 2), (share(550), 1)], 80),
    "fills up, two sizes": Case([(G2, 12)], [(share(500), 3), (share(600), 3)], 60),
    "fills up, several GPUs": Case([(BIG, 4), (G2, 3)], [(share(250), 6), (share(1000), 3), (share(1000, 4, count=2), 2),
                                                         (share(1000, 8, count=4), 1), (share(400, count=2), 1)], 70),
    "fills up, memory": Case([(SMALL, 5), (BIG, 2)], [(share(300, gpu_mib=9000), 3), (share(600, gpu_mib=4000), 3),
                                                      (share(0, gpu_mib=7000), 2), (share(1000), 1)], 60),
    "fills up, models by memory": Case([(SMALL, 4), (BIG, 3), (FAT, 1)], [(share(0, gpu_mib=5000), 6), (share(0, gpu_mib=26000), 3),
                                                                         (share(0, gpu_mib=60000), 1), (no_gpu(12), 6)], 70),
    "comes and goes, models by memory": Case([(SMALL, 4), (BIG, 3), (FAT, 1)], [(share(0, gpu_mib=5000), 6), (share(0, gpu_mib=26000), 3),
                                                                                (share(200, gpu_mib=30000, count=2), 1),
                                                                                (share(0, gpu_mib=60000), 1)], 600, 30, 9),
    "fills up, models": Case([(BIG, 3), (SMALL, 4), (FAT, 1)],
                             [(share(400, models=("NVIDIA-A100", "NVIDIA-H100")), 3), (share(500), 4), (share(1000), 2),
                              (share(750, models=("Tesla-T4",)), 2), (share(1000, 8, models=("NVIDIA-H100",), count=2), 1)], 70),
    "fills up, cores": Case([(POOR, 3), (RICH, 5)], [(share(400, 2), 4), (share(600, 3), 3), (no_gpu(4), 3), (share(1000, 4), 1)], 70),
    "fills up, dust": Case([(WIDE, 2), (RICH, 3)], [(Pod(1, 50, 250, 1024), 8), (Pod(1, 100, 500, 1024), 4), (share(600), 1), (no_gpu(1), 6)],
                           220, every=3),
    "comes and goes, dust": Case([(WIDE, 2), (RICH, 3)], [(Pod(1, 50, 250, 1024), 8), (Pod(1, 100, 500, 1024), 4), (share(600), 1), (no_gpu(1), 6)],
                                 900, 150, 18),
    "comes and goes, shares": Case([(G2, 5), (BIG, 1)], [(share(300), 3), (share(450), 3), (share(700), 2), (share(1000), 1)], 700, 22, 9),
    "comes and goes, cores": Case([(POOR, 3), (RICH, 4), (BIG, 1)], [(share(400, 2), 4), (share(600, 3), 3), (no_gpu(5), 4), (share(1000, 4), 1),
                                                          (share(1000, 8, count=2), 1)], 700, 25, 9),
    "comes and goes, memory": Case([(SMALL, 4), (BIG, 2)], [(share(300, gpu_mib=9000), 3), (share(600, gpu_mib=4000), 3),
                                                            (share(1000, 4, count=2), 1), (share(0, gpu_mib=12000), 1)], 600, 16, 9),
    "memory that nobody knows": Case([(SMALL, 2), (POOR, 3)], [(share(200, gpu_mib=6000), 3), (share(0, gpu_mib=9000), 2), (share(600), 2),
                                                               (share(1000, 2), 1)], 300, 12, 6),
    "two kinds as common": Case([(WIDE, 1), (BIG, 2)], [(share(250), 5), (share(750), 5), (share(250, gpu_mib=16000), 6)], 40),
    "the trial is not sure": Case([(BIG, 4)], [(share(500, gpu_mib=13654), 2), (share(400, gpu_mib=5851), 4), (share(200), 3)], 40),
    "a third of the memory, and a little": Case([(BIG, 4)], [(share(300, gpu_mib=8193), 1), (share(500, gpu_mib=20481), 2), (share(250), 1)], 40),
    "pods that differ in memory alone": Case([(BIG, 1), (SMALL, 3)], [(Pod(1, 300, 1000, 60000), 3), (Pod(1, 300, 1000, 1000), 3),
                                                                      (share(300, gpu_mib=9000), 3), (share(300, gpu_mib=5000), 3)], 60),
    "2,048 pods": Case([(G2, 4), (RICH, 2)], [(share(300), 1025), (share(700), 1023)], 250, 9, 5),
    "all of the memory": Case([(SMALL, 5)], [(share(300, gpu_mib=16384), 3), (share(500), 3), (share(200, gpu_mib=4096), 2)], 300, 10, 6),
    "shares of eight GPUs": Case([(WIDE, 6), (G2, 3)], [(Pod(8, 400, 100, 1024), 3), (Pod(1, 550, 100, 1024), 5),
                                                        (Pod(1, 250, 100, 1024), 3)], 90),
    "small shares of eight GPUs": Case([(WIDE, 4)], [(Pod(8, 90, 100, 1024), 2), (Pod(8, 110, 100, 1024), 5)], 90),
    "learned, fills up": Case([(BIG, 3), (SMALL, 5), (RICH, 2)], [(share(300), 4), (share(700), 2), (share(1000, 4, count=2), 1), (no_gpu(2), 3),
                                                                  (share(250, gpu_mib=9000), 2)], 90, learned=True),
    "learned, comes and goes": Case([(BIG, 3), (G2, 4)], [(share(300), 4), (share(450), 3), (share(750), 2), (share(1000, 4, count=4), 1)],
                                    400, 16, 5, learned=True),
    "learned, one kind": Case([(G2, 4), (BIG, 1)], [(share(600), 1)], 300, 9, 4, learned=True),
    "learned, rare pods of several GPUs": Case([(BIG, 4)], [(share(400), 60), (share(700), 30), (share(1000, 4, count=4), 1)], 400, 14, 5,
                                               learned=True),
    "learned, cores": Case([(POOR, 4), (RICH, 3)], [(share(400, 2), 4), (share(600, 3), 3), (no_gpu(4), 4), (share(1000, 2), 1)],
                           400, 25, 5, learned=True),
}


def drawn(seed, learned=False):
    """A cluster of its own for each seed."""
    rng = random.Random(seed)
    shapes = rng.sample([G2, BIG, FAT, SMALL, POOR, RICH, WIDE], 3)
    machines = [(s, n) for s, n in zip(shapes, (rng.randint(3, 5), rng.randint(1, 3), 1))]
    asks = [share(rng.randrange(100, 800, 50), rng.randint(1, 4)), share(rng.randrange(510, 800, 20), rng.randint(1, 2)), share(1000, 4),
            share(rng.randrange(100, 300, 25), 1), share(1000, rng.randint(2, 12), count=rng.choice((2, 4))),
            share(rng.randrange(100, 500, 25), count=2), no_gpu(rng.randint(1, 6)),
            share(rng.randrange(200, 900, 50), models=tuple(dict.fromkeys(s.model for s in shapes[:rng.randint(1, 2)]))),
            share(rng.randrange(100, 600, 50), 2, rng.randrange(4000, 16000, 500))]
    some, many = rng.sample(asks, rng.randint(3, 6)), rng.choice((1, 1, 40))
    some += [asks[0]] if not any(a.count for a in some) else []
    life = rng.choice((None, rng.randint(12, 40)))
    return Case(machines, [(a, rng.choice((1, many)) * rng.randint(1, 6)) for a in dict.fromkeys(some)], 500 if life else 70, life, 8 if life else 1, learned)


CASES |= {f"drawn {seed}": drawn(seed) for seed in (1, 3, 6)} | {"drawn 12, learned": drawn(12, learned=True)}


# ---- what the binary says ----

def table(path, header, lines):
    with open(path, "w", encoding="utf-8", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([header, *lines])


class Said(typing.NamedTuple):
    """Of one decision: f, chi and beta, the score of each node that was asked (None: the pod does not fit), and the choice."""
    prices: tuple
    scores: dict
    at: tuple


def read_said(folder):
    scores, prices = collections.defaultdict(dict), {}
    with open(folder / "scores.csv", encoding="utf-8", newline="") as f:
        for r in csv.DictReader(f):
            i = int(r["decision"])
            prices[i] = tuple(int(r[k]) / 16 for k in ("scarce_cpu", "churn", "places"))
            scores[i][int(r["node"])] = int(r["score"]) if r["verdict"] == "fits" else None
    places = replay.read_placements(folder / "placements.csv")["rsp"]
    return [Said(prices.get(i), scores[i], (at[0], tuple(at[1])) if at is not None else None) for i, at in enumerate(places)]


def ask(binary, case, folder, seconds_max=None):
    """What it says of each arrival."""
    table(folder / "nodes.csv", ["name", "cpu_milli", "memory_mib", "gpu", "model", "gpu_mem_mib"],
          [[f"n{i}", s.cpu, s.mem, s.gpus, s.model, s.gpu_mib] for i, s in enumerate(case.machines)])
    table(folder / "pods.csv", ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_mem_mib", "gpu_spec"],
          [[f"p{i}", p.cpu, p.mem, p.count, p.milli, p.gpu_mib, "|".join(p.models)] for i, p in enumerate(case.rows)])
    replay.draw.write_stays(case.stays(), folder / "stays.csv")
    replay.sim(binary, folder, ["rsp"], 0, "learned" if case.learned else "given", folder / "placements.csv", folder / "scores.csv",
               seconds_max)
    return read_said(folder)


# ---- the two beside each other ----

def decisions(case, said, reference):
    """Of each arrival (the machines as they are, events so far, the mix as it is known, the pod)."""
    nodes = [reference.Node(s, s.cpu, s.mem, ((reference.GPU, s.gpu_mib),) * s.gpus) for s in case.machines]
    stays, events, there, learned = case.stays(), [], {}, reference.Learned()

    def count(pod):
        events.append(False)
        learned.arrived(pod)

    for i, (arrive, _, row) in enumerate(stays):
        for k in sorted((k for k in there if stays[k][1] is not None and stays[k][1] <= arrive), key=lambda k: (stays[k][1], k)):
            at, pod = there.pop(k)
            nodes[at[0]] = give_back(reference, nodes[at[0]], pod, at[1])
            events.append(True)
        pod, at = reference.Pod(*case.rows[row]), said[i].at
        if pod.count > 0:  # those without GPUs are counted when they are bound
            count(pod)
        yield list(nodes), list(events), learned.settled, pod
        if at is not None:
            there[i] = at, pod
            nodes[at[0]] = reference.take(nodes[at[0]], pod, at[1])
            if pod.count == 0:
                count(pod)


def give_back(reference, node, pod, at):
    milli, mib = reference.charge(pod, node.shape) if at else (0, 0)
    gpus = tuple((m + milli, b + mib) if i in at else (m, b) for i, (m, b) in enumerate(node.gpus))
    return node._replace(cpu=node.cpu + pod.cpu, mem=node.mem + pod.mem, gpus=gpus)


class Judged(typing.NamedTuple):
    missed: float  # the largest difference of two scores, in units of the binary; endless: it thinks otherwise of what fits
    of: int        # nodes where the pod fits
    alike: bool    # all of these have the same score, so little is compared


def judge(case, said, reference):
    """What is said of each decision that is looked at, beside the formula."""
    shapes = tuple((reference.Shape(*s), case.machines.count(s)) for s in dict.fromkeys(case.machines))
    given = {reference.Pod(*p): case.rows.count(p) for p in dict.fromkeys(case.rows)}
    for i, (nodes, events, mix, pod) in enumerate(decisions(case, said, reference)):
        if i % case.every == 0:
            world = reference.world_of(tuple((mix if case.learned else given).items()), shapes, case.learned)
            yield judge_one(world, said[i], nodes, reference.churn(events), pod, reference)


def judge_one(world, say, nodes, chi, pod, reference):
    asked = {i for i, n in enumerate(nodes) if pod.cpu <= n.cpu and pod.mem <= n.mem}
    p, best = reference.prices_of(world, nodes, chi), {}
    of_place = reference.scores(world, p, nodes, pod)
    for (node, _), score in of_place.items():
        best[node] = max(score * UNITS, best.get(node, -math.inf))
    fits = {i for i, s in say.scores.items() if s is not None}
    if set(say.scores) != asked or fits != set(best) or (asked and say.prices != (p.f, p.chi, p.beta)):
        return Judged(math.inf, len(fits), False)
    return Judged(max([abs(say.scores[i] - best[i]) for i in fits] + [missed_by_choice(say, fits, of_place)]), len(fits),
                  len({say.scores[i] for i in fits}) <= 1)


def missed_by_choice(say, fits, of_place):
    """By how much the place that was chosen is worse than the best one: that is on the first of the best nodes."""
    if not fits or say.at is None:
        return 0 if not fits and say.at is None else math.inf
    first = min(fits, key=lambda i: (-say.scores[i], i))
    return abs(of_place[say.at] * UNITS - say.scores[first]) if say.at[0] == first and say.at in of_place else math.inf
