"""The strategy rsp, as the binary has it, beside its formula (test/packing/paper): every placement has the best score there is."""
import csv
import functools
import pathlib
import random
import sys
import types

import pytest

from processes import BINARY

PACKING = pathlib.Path(__file__).resolve().parent.parent / "packing"
sys.path[:0] = [str(PACKING), str(PACKING / "paper")]

import replay  # noqa: E402
from reference import Pod, Shape  # noqa: E402

SOURCE = (PACKING / "paper/reference.py").read_text()
# In milli. The binary rounds P down to sixteenths of a milli, before and after; all else is exact or rounded alike.
ROUNDING = 1 / 16
PURE = ["lists_of", "rollout", "rollout_among", "places", "alike", "supply", "usable"]


def reference_of(source=SOURCE):
    """The reference, with what is pure remembered: the tests have little time."""
    m = types.ModuleType("reference")
    exec(compile(source, "reference.py", "exec"), m.__dict__)
    for name in PURE:
        m.__dict__[name] = functools.lru_cache(maxsize=None)(m.__dict__[name])
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

    def __init__(self, machines, mix, arrivals, life=None, every=1):
        self.machines = [shape for shape, n in machines for _ in range(n)]
        self.rows = [pod for pod, n in mix for _ in range(n)]
        self.arrivals, self.life, self.every = arrivals, life, every

    def stays(self):
        rng = random.Random(1)
        return [(t, None if self.life is None else t + 1 + int(rng.expovariate(1 / self.life)), rng.randrange(len(self.rows)))
                for t in range(self.arrivals)]


def share(milli, cores=1, gpu_mib=0, models=(), count=1):
    return Pod(count, milli, 1000 * cores, 1024, gpu_mib, models)


def no_gpu(cores):
    return Pod(0, 0, 1000 * cores, 1024)


CASES = {
    "fills up, shares": Case([(G2, 6)], [(share(300), 3), (share(400), 2), (share(700), 2), (share(550), 1)], 60),
    "fills up, two sizes": Case([(G2, 12)], [(share(500), 3), (share(600), 3)], 60),
    "fills up, several GPUs": Case([(BIG, 4), (G2, 3)], [(share(250), 6), (share(1000), 3), (share(1000, 4, count=2), 2),
                                                         (share(1000, 8, count=4), 1), (share(400, count=2), 1)], 70),
    "fills up, memory": Case([(SMALL, 5), (BIG, 2)], [(share(300, gpu_mib=9000), 3), (share(600, gpu_mib=4000), 3),
                                                      (share(0, gpu_mib=7000), 2), (share(1000), 1)], 60),
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
}


def drawn(seed):
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
    return Case(machines, [(a, rng.choice((1, many)) * rng.randint(1, 6)) for a in dict.fromkeys(some)], 500 if life else 70, life, 8 if life else 1)


CASES |= {f"drawn {seed}": drawn(seed) for seed in (1, 3, 6)}


# ---- what the binary chose ----

def table(path, header, lines):
    with open(path, "w", encoding="utf-8", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([header, *lines])


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Of a case: (node, GPUs) or None of each arrival."""

    @functools.cache
    def choose(name):
        case, folder = CASES[name], tmp_path_factory.mktemp("reference")
        table(folder / "nodes.csv", ["name", "cpu_milli", "memory_mib", "gpu", "model", "gpu_mem_mib"],
              [[f"n{i}", s.cpu, s.mem, s.gpus, s.model, s.gpu_mib] for i, s in enumerate(case.machines)])
        table(folder / "pods.csv", ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_mem_mib", "gpu_spec"],
              [[f"p{i}", p.cpu, p.mem, p.count, p.milli, p.gpu_mib, "|".join(p.models)] for i, p in enumerate(case.rows)])
        replay.draw.write_stays(case.stays(), folder / "stays.csv")
        replay.sim(BINARY, folder, ["rsp"], 0, "given", folder / "placements.csv")
        return replay.read_placements(folder / "placements.csv")["rsp"]

    return choose


def decisions(case, places, reference):
    """Of each arrival (the machines as they are, events so far, the pod, where it went)."""
    nodes = [reference.Node(s, s.cpu, s.mem, ((reference.GPU, s.gpu_mib),) * s.gpus) for s in case.machines]
    stays, events, there = case.stays(), [], {}
    for i, (arrive, _, row) in enumerate(stays):
        for k in sorted((k for k in there if stays[k][1] is not None and stays[k][1] <= arrive), key=lambda k: (stays[k][1], k)):
            at, pod = there.pop(k)
            nodes[at[0]] = give_back(reference, nodes[at[0]], pod, at[1])
            events.append(True)
        pod = case.rows[row]
        if pod.count > 0:  # those without GPUs are counted when they are bound
            events.append(False)
        at = (places[i][0], tuple(places[i][1])) if places[i] is not None else None
        yield list(nodes), list(events), pod, at
        if at is not None:
            there[i] = at, pod
            nodes[at[0]] = reference.take(nodes[at[0]], pod, at[1])
            if pod.count == 0:
                events.append(False)


def give_back(reference, node, pod, at):
    milli, mib = reference.charge(pod, node.shape) if at else (0, 0)
    gpus = tuple((m + milli, b + mib) if i in at else (m, b) for i, (m, b) in enumerate(node.gpus))
    return node._replace(cpu=node.cpu + pod.cpu, mem=node.mem + pod.mem, gpus=gpus)


def world_of(case, reference):
    counts = {pod: case.rows.count(pod) for pod in case.rows}
    return reference.World({reference.Pod(*p): n for p, n in counts.items()},
                           {reference.Shape(*s): case.machines.count(s) for s in dict.fromkeys(case.machines)})


def judge(case, places, reference):
    """Of each placement that is looked at: (how many there were to choose from, how many of them had the best score, by how
    much the chosen one misses it)."""
    world = world_of(case, reference)
    for i, (nodes, events, pod, at) in enumerate(decisions(case, places, reference)):
        if i % case.every == 0:
            scores = reference.scores(world, nodes, reference.churn(events), pod)
            assert (at is None) == (not scores), (i, pod, at)
            if at is not None:
                best = max(scores.values())
                yield len(scores), sum(s >= best - ROUNDING for s in scores.values()), best - scores.get(at, float("-inf"))


@pytest.mark.parametrize("name", CASES)
def test_every_placement__has_the_best_score_of_the_formula(chosen, name):
    judged = list(judge(CASES[name], chosen(name), reference_of()))
    assert len(judged) >= 25
    assert sum(best < of for of, best, _ in judged) >= 15, "where all are equal, nothing is compared"
    assert max(missed for _, _, missed in judged) <= ROUNDING, [(i, j) for i, j in enumerate(judged) if j[2] > ROUNDING][:5]


# ---- every term and every constant matters ----

# A change of the reference, and a case in which the placements of the binary are not the best by what it says then.
MUTANTS = {
    "fewer lists": ("fills up, models", "LISTS, PODS, AMONG = 16,", "LISTS, PODS, AMONG = 8,"),
    "shorter lists": ("fills up, two sizes", "LISTS, PODS, AMONG = 16, 64,", "LISTS, PODS, AMONG = 16, 32,"),
    "A looks at all": ("fills up, dust", "LISTS, PODS, AMONG = 16, 64, 32", "LISTS, PODS, AMONG = 16, 64, 64"),
    "another shuffle": ("fills up, two sizes", "xoshiro(1)", "xoshiro(2)"),
    "pods that can never run": ("fills up, models", "if runs(pod, shape)] for pods", "] for pods"),
    "the widest GPU first": ("fills up, cores", "            gpus.sort()\n", "            gpus.sort(reverse=True)\n"),
    "GPU-less pods in G": ("fills up, cores", "[p for p in pods if p.count > 0], node, cpu", "pods, node, cpu"),
    "G of half the milli": ("comes and goes, memory", "filled += milli * pod.count", "filled += milli"),
    "places without frequencies": ("comes and goes, shares", "for pod in pods if pod.count > 0) / (",
        "for pod in sorted(set(pods)) if pod.count > 0) / ("),
    "places by compute alone": ("comes and goes, memory", "max(milli, by_memory)", "milli"),
    "places without weights": ("comes and goes, shares", "* max(milli, by_memory)", "* 500"),
    "places for half a pod": ("comes and goes, cores", "fit // pod.count * pod.count *", "fit *"),
    "several on one GPU": ("drawn 1", "min(here, 1) if", "here if"),
    "the trial is not asked": ("fills up, shares", "max(min(1.0, CHURN_SURE * chi), world.trial)", "min(1.0, CHURN_SURE * chi)"),
    "the trial alone": ("comes and goes, shares", "max(min(1.0, CHURN_SURE * chi), world.trial)", "world.trial"),
    "beta always 0": ("fills up, shares", "beta = max(", "beta = 0 * max("),
    "beta always 1": ("fills up, two sizes", "beta = max(", "beta = 1 + 0 * max("),
    "fewer GPUs in the trial": ("drawn 1", "TRIAL_SURE = 64, 8,", "TRIAL_SURE = 32, 8,"),
    "fewer rounds": ("fills up, memory", "TRIAL_SURE = 64, 8,", "TRIAL_SURE = 64, 4,"),
    "better from 0": ("drawn 1", "64, 8, 5, 10", "64, 8, 0, 10"),
    "sure from 20": ("drawn 1", "64, 8, 5, 10", "64, 8, 5, 20"),
    "the trial to 100 %": ("fills up, memory", "all_gpus * 13", "all_gpus * 10"),
    "no priors": ("fills up, models", "return real + [", "return real + 0 * ["),
    "more priors": ("fills up, models", "PRIOR_VOLUME = 4, 4, 90, 70, 0.03", "PRIOR_VOLUME = 4, 4, 90, 70, 0.3"),
    "priors for fewer GPUs": ("fills up, several GPUs", "PRIOR_VOLUME = 4, 4, 90,", "PRIOR_VOLUME = 2, 4, 90,"),
    "priors without cores": ("comes and goes, cores", "PRIOR_VOLUME = 4, 4, 90, 70", "PRIOR_VOLUME = 4, 4, 0, 70"),
    "priors without memory": ("drawn 6", "PRIOR_VOLUME = 4, 4, 90, 70", "PRIOR_VOLUME = 4, 4, 90, 0"),
    "hosts of half are not scarce": ("fills up, models", "HOSTS_MAX = 0.90", "HOSTS_MAX = 0.2"),
    "small sizes": ("fills up, models", "SIZE_VOLUME = 500,", "SIZE_VOLUME = 200,"),
    "no sizes": ("fills up, cores", "SIZE_VOLUME = 500,", "SIZE_VOLUME = 1000,"),
    "rare sizes have no price": ("fills up, models", "500, 0.02", "500, 0.3"),
    "hosts weigh less": ("fills up, models", "HOST_WEIGHT, SIZE_WEIGHT = 1.0,", "HOST_WEIGHT, SIZE_WEIGHT = 0.2,"),
    "hosts weigh nothing": ("comes and goes, cores", "HOST_WEIGHT, SIZE_WEIGHT = 1.0,", "HOST_WEIGHT, SIZE_WEIGHT = 0.0,"),
    "sizes weigh more": ("fills up, two sizes", "SIZE_WEIGHT = 1.0, 1 / 5", "SIZE_WEIGHT = 1.0, 1.0"),
    "sizes weigh nothing": ("fills up, cores", "SIZE_WEIGHT = 1.0, 1 / 5", "SIZE_WEIGHT = 1.0, 0.0"),
    "harder hosts not counted": ("fills up, models", "k.count >= count and k.hosts <= hosts",
        "k.count == count and k.hosts == hosts"),
    "larger sizes not counted": ("fills up, cores", "needing = [k for k in kinds if k.milli >= milli]",
        "needing = [k for k in kinds if k.milli == milli]"),
    "supply without cores": ("comes and goes, cores", "fit = min(gpus // good.count, node.cpu // good.cpu if good.cpu else NEVER,",
        "fit = min(gpus // good.count,"),
    "size without cores": ("fills up, cores", "good.mean_milli * node.cpu // good.cpu if good.cpu else NEVER", "NEVER"),
    "inverted price": ("comes and goes, cores", "erfc(-z", "erfc(z"),
    "price without half a pod": ("fills up, models", "supplied + mu / 2", "supplied"),
    "price for no demand": ("fills up, models", "DEMAND_MIN = 0.05", "DEMAND_MIN = 4"),
    "price not rounded": ("fills up, dust", "return sixteenths(math.erfc(-z / math.sqrt(2)) / 2)",
        "return math.erfc(-z / math.sqrt(2)) / 2"),
    "prices without churn": ("comes and goes, shares", "CHURN_EVENTS = 3,", "CHURN_EVENTS = 0,"),
    "churn twice in prices": ("comes and goes, cores", "CHURN_EVENTS = 3,", "CHURN_EVENTS = 6,"),
    "in use later": ("comes and goes, shares", "CHURN_EVENTS = 3, 4,", "CHURN_EVENTS = 3, 1,"),
    "a shorter mean of departures": ("comes and goes, memory", "3, 4, 1024", "3, 4, 512"),
    "chi once": ("comes and goes, shares", "sixteenths(2 * departing)", "sixteenths(departing)"),
    "f from 0": ("fills up, cores", "SCARCE_FROM, SCARCE_OVER = 0.5,", "SCARCE_FROM, SCARCE_OVER = 0.0,"),
    "f slower": ("fills up, dust", "SCARCE_FROM, SCARCE_OVER = 0.5, 0.5", "SCARCE_FROM, SCARCE_OVER = 0.5, 2.0"),
    "f always 0": ("comes and goes, cores", "f = 0.0 if asked <= 0", "f = 0.0 if True"),
    "no charge for idle GPUs": ("comes and goes, shares", "IDLE_CHARGE, DRAIN = 1 / 40,", "IDLE_CHARGE, DRAIN = 0,"),
    "four times the charge": ("comes and goes, cores", "IDLE_CHARGE, DRAIN = 1 / 40,", "IDLE_CHARGE, DRAIN = 1 / 10,"),
    "no draining for cores": ("comes and goes, dust", "IDLE_CHARGE, DRAIN = 1 / 40, 300", "IDLE_CHARGE, DRAIN = 1 / 40, 0"),
    "P - G with cores": ("comes and goes, cores", "rollout(world, node, NEVER, NEVER)", "rollout(world, node, node.cpu, node.mem)"),
    "the value after alone": ("fills up, two sizes", "value(world, p, after) - value(world, p, before)", "value(world, p, after)"),
    "lists not dealt": ("drawn 6", "samples[k::LISTS]", "samples[k * PODS:(k + 1) * PODS]"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_another_formula__some_placement_is_not_the_best(chosen, name):
    case, old, new = MUTANTS[name]
    assert SOURCE.count(old) == 1
    reference = reference_of(SOURCE.replace(old, new))
    assert any(missed > ROUNDING for _, _, missed in judge(CASES[case], chosen(case), reference))
