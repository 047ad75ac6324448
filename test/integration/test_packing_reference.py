"""The strategy rsp, as the binary has it, beside its formula (test/packing/paper): every score of every node, and every choice."""
import functools
import pathlib
import sys

import pytest

from processes import BINARY

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "packing/paper"))

from compare import CASES, ROUNDING, SOURCE, ask, judge, reference_of  # noqa: E402


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Of a case: what the binary says of each arrival."""
    return functools.cache(lambda name: ask(BINARY, CASES[name], tmp_path_factory.mktemp("reference")))


@pytest.mark.parametrize("name", CASES)
def test_every_score__is_that_of_the_formula(said, name):
    judged = list(judge(CASES[name], said(name), reference_of()))
    assert len(judged) >= 25
    assert sum(j.of > 1 and not j.alike for j in judged) >= 15, "where all are equal, little is compared"
    assert max(j.missed for j in judged) <= ROUNDING, [(i, j) for i, j in enumerate(judged) if j.missed > ROUNDING][:5]


# ---- every term and every constant matters ----

# A change of the reference, and a case in which the binary has other scores than it says then.
MUTANTS = {
    "fewer lists": ("fills up, models", "LISTS, PODS, AMONG = 16,", "LISTS, PODS, AMONG = 8,"),
    "shorter lists": ("fills up, two sizes", "LISTS, PODS, AMONG = 16, 64,", "LISTS, PODS, AMONG = 16, 32,"),
    "A looks at all": ("fills up, dust", "LISTS, PODS, AMONG = 16, 64, 32", "LISTS, PODS, AMONG = 16, 64, 64"),
    "another shuffle": ("fills up, two sizes", "xoshiro(1)", "xoshiro(2)"),
    "pods that can never run": ("fills up, models", "if runs(pod, shape)] for pods", "] for pods"),
    "the widest GPU first": ("fills up, cores", "            gpus.sort()\n", "            gpus.sort(reverse=True)\n"),
    "GPU-less pods in G": ("fills up, cores", "[p for p in pods if p.count > 0], node)", "pods, node)"),
    "G of half the milli": ("comes and goes, memory", "filled += milli * pod.count", "filled += milli"),
    "places without frequencies": ("comes and goes, shares", "for pod in pods if pod.count > 0)\n",
        "for pod in sorted(set(pods)) if pod.count > 0)\n"),
    "places by the part there": ("comes and goes, models by memory", "alike(pod, node) * world.means[pod]",
        "alike(pod, node) * charge(pod, node.shape)[0]"),
    "places without weights": ("comes and goes, shares", "* world.means[pod] for", "* 500 for"),
    "a kind of GPUs is one GPU": ("fills up, models by memory", "hosts = {s: n * s.gpus for", "hosts = {s: 1 for"),
    "means rounded down": ("comes and goes, models by memory", "sum(hosts.values()) + 0.5", "sum(hosts.values())"),
    "all machines count alike": ("fills up, models by memory", "in here) + 0.5) if here else 1024", "in here) + 0.5) * 0 + 1024 if here else 1024"),
    "idle GPUs count alike": ("comes and goes, models by memory", "if mib > 0) * world.times[node.shape] // 1024", "if mib > 0)"),
    "volumes by the least part": ("fills up, models by memory", "k.count * k.mean for", "k.count * k.milli for"),
    "sizes by the largest part": ("fills up, models by memory", "min(m for m, _ in taken), means[pod]", "max(m for m, _ in taken), means[pod]"),
    "cores for compute alone": ("fills up, models by memory", "n * p.count * self.means[p]", "n * p.count * p.milli"),
    "places for half a pod": ("comes and goes, cores", "min(fit // pod.count,", "min(fit / pod.count,"),
    "several on one GPU": ("drawn 1", "min(here, 1) if", "here if"),
    "the trial is not asked": ("fills up, shares", "max(min(1.0, CHURN_SURE * chi), world.trial)", "min(1.0, CHURN_SURE * chi)"),
    "the trial alone": ("comes and goes, shares", "max(min(1.0, CHURN_SURE * chi), world.trial)", "world.trial"),
    "beta always 0": ("fills up, shares", "beta = max(", "beta = 0 * max("),
    "beta always 1": ("fills up, two sizes", "beta = max(", "beta = 1 + 0 * max("),
    "fewer GPUs in the trial": ("drawn 1", "TRIAL_SURE = 64, 1024,", "TRIAL_SURE = 32, 1024,"),
    "fewer rounds": ("fills up, memory", "64, 1024, 8,", "64, 1024, 4,"),
    "better from 0": ("drawn 1", "8, 5, 10", "8, 0, 10"),
    "sure from 20": ("drawn 1", "8, 5, 10", "8, 5, 20"),
    "the trial to 100 %": ("fills up, memory", "all_gpus * 13", "all_gpus * 10"),
    "no priors": ("fills up, models", "return real + [", "return real + 0 * ["),
    "more priors": ("fills up, models", "PRIOR_VOLUME = 4, 4, 90, 70, 0.03", "PRIOR_VOLUME = 4, 4, 90, 70, 0.3"),
    "priors for fewer GPUs": ("fills up, several GPUs", "PRIOR_VOLUME = 4, 4, 90,", "PRIOR_VOLUME = 2, 4, 90,"),
    "priors without cores": ("comes and goes, cores", "PRIOR_VOLUME = 4, 4, 90, 70", "PRIOR_VOLUME = 4, 4, 0, 70"),
    "priors without memory": ("drawn 6", "PRIOR_VOLUME = 4, 4, 90, 70", "PRIOR_VOLUME = 4, 4, 90, 0"),
    "hosts of half are not scarce": ("fills up, models", "DEMAND_MIN = 0.90,", "DEMAND_MIN = 0.2,"),
    "small sizes": ("fills up, models", "HOST_WEIGHT = 500,", "HOST_WEIGHT = 200,"),
    "no sizes": ("fills up, cores", "HOST_WEIGHT = 500,", "HOST_WEIGHT = 1000,"),
    "rare sizes have no price": ("fills up, models", "500, 0.02", "500, 0.3"),
    "hosts weigh less": ("fills up, models", "0.02, 1 / 5, 1.0", "0.02, 1 / 5, 0.2"),
    "hosts weigh nothing": ("comes and goes, cores", "0.02, 1 / 5, 1.0", "0.02, 1 / 5, 0.0"),
    "sizes weigh more": ("fills up, two sizes", "0.02, 1 / 5, 1.0", "0.02, 1.0, 1.0"),
    "sizes weigh nothing": ("fills up, cores", "0.02, 1 / 5, 1.0", "0.02, 0.0, 1.0"),
    "harder hosts not counted": ("fills up, models", "k.count >= count and k.hosts <= these",
        "k.count == count and k.hosts == these"),
    "larger sizes not counted": ("fills up, cores", "just, needing = [k for k in kinds if k.milli == milli], [k for k in kinds if k.milli >= milli]",
        "just = needing = [k for k in kinds if k.milli == milli]"),
    "supply without cores": ("comes and goes, cores", "fit = min(gpus // good.count, node.cpu // good.cpu if good.cpu else NEVER,",
        "fit = min(gpus // good.count,"),
    "size without cores": ("fills up, cores", "good.mean_milli * node.cpu // good.cpu if good.cpu else NEVER", "NEVER"),
    "inverted price": ("comes and goes, cores", "erfc(-z", "erfc(z"),
    "price without half a pod": ("fills up, models", "supplied + mu / 2", "supplied"),
    "price for no demand": ("fills up, models", "DEMAND_MIN = 0.90, 0.05", "DEMAND_MIN = 0.90, 4"),
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
    "no charge for idle GPUs": ("comes and goes, cores", "TIGHTNESS = 1 / 40,", "TIGHTNESS = 0,"),
    "idle GPUs charged for shares, too": ("comes and goes, shares", "sixteenths(GANGS_SURE * world.gangs)", "1.0"),
    "idle GPUs charged for priors": ("comes and goes, shares", "if k.count > 1 and k.real]", "if k.count > 1]"),
    "pods of several GPUs count half": ("learned, rare pods of several GPUs", "TIGHTNESS = 1 / 40, 8,", "TIGHTNESS = 1 / 40, 4,"),
    "no tightness": ("comes and goes, shares", "300, 8", "300, 10 ** 9"),
    "twice the tightness": ("comes and goes, shares", "300, 8", "300, 4"),
    "four times the charge": ("comes and goes, cores", "TIGHTNESS = 1 / 40,", "TIGHTNESS = 1 / 10,"),
    "no draining for cores": ("comes and goes, dust", "8, 300, 8", "8, 0, 8"),
    "places and G, both in full": ("comes and goes, shares", "(1 - p.f - p.beta)", "(1 - p.f)"),
    "places without cores": ("comes and goes, cores", "node.cpu // pod.cpu if pod.cpu else NEVER, node.mem //", "node.mem //"),
    "places without memory": ("pods that differ in memory alone", ", node.mem // pod.mem if pod.mem else NEVER)\n\n\ndef trial", ")\n\n\ndef trial"),
    "the value after alone": ("fills up, two sizes", "value(world, p, after) - value(world, p, before)", "value(world, p, after)"),
    "sure of few pods": ("learned, fills up", "pods if world.learned else NEVER", "NEVER"),
    "too little known of few pods": ("learned, fills up", "(demand / mu) ** 2 / good.known", "2 * (demand / mu) ** 2 / good.known"),
    "settles later": ("learned, cores", "MOVED, GROWN = 32,", "MOVED, GROWN = 48,"),
    "settles after other parts": ("learned, cores", "MOVED, GROWN = 32, 20, 32, 4", "MOVED, GROWN = 32, 20, 28, 4"),
    "settles when three times as many": ("learned, one kind", "32, 20, 32, 4", "32, 20, 32, 3"),
    "new shapes of several GPUs wait": ("learned, rare pods of several GPUs", " or any(p.count > 1 and p not in self.settled for p in self.counts)", ""),
    "memory that nobody knows is enough": ("memory that nobody knows", " or (pod.gpu_mib > 0 and not shape.gpu_mib)", ""),
    "lists not dealt": ("drawn 6", "samples[k::LISTS]", "samples[k * PODS:(k + 1) * PODS]"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_another_formula__some_score_is_another(said, name):
    case, old, new = MUTANTS[name]
    assert SOURCE.count(old) == 1
    reference = reference_of(SOURCE.replace(old, new))
    assert any(j.missed > ROUNDING for j in judge(CASES[case], said(case), reference))
