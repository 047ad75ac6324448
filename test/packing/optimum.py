#!/usr/bin/env python3
"""python3 test/packing/optimum.py [--arrivals N] [--seeds N]: what is possible at all on tiny clusters, exactly, beside what strategies do.

IN USE. Pods come at random and live for exponential times, so what will happen depends on what is on each GPU now, not on the past. GPUs
are equal and each pod wants a share of one, so a state is the multiset over GPUs of the multiset of kinds on each. The best strategy of
such a Markov decision process is found by relative value iteration; each step gives two bounds between which the optimum lies.
FILLING UP. The most that the pods of a set can hold together, found by trying all places and remembering what has been tried.

The binary is FGPU_BIN, or build/release/fgpu. --arrivals 0: no simulation.
"""
import argparse
import collections
import dataclasses
import functools
import itertools
import math
import os
import pathlib
import sys

import bounds
import corpus
import draw
import replay
import statistics_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEY = "tuning"
STRATEGIES = ["tight-fit", "best-fit", "fgd", "rsp"]
FULL = 1000           # thousandths of a GPU
PRECISION = 0.002     # of refused %
MANY = 50_000         # states that take too long
UNLIKELY = 1e-8       # sets of pods that the bound leaves out, as if all of them could run


# ---- cases ----

def case_of(family, shape, mix, load):
    """As the corpus makes them, also where it takes no such case."""
    return next(f for f in corpus.FAMILIES if f.name == family and f.set == corpus.TUNING).case(shape, mix, load, "exponential")


@functools.cache
def rows_of(case):
    return draw.draw_pods(case, KEY)


@functools.cache
def kinds_of(case):
    """[(thousandths of a GPU, how many come in a mean life time)]"""
    rows = rows_of(case)
    assert len(case.shape) == 1 and all(p.gpus == 1 and not (p.mib or p.profile or p.models) for p in rows), case.name
    each = draw.rates_of(case, rows)[False] / len(rows)
    return sorted((milli, n * each) for milli, n in collections.Counter(p.milli for p in rows).items())


# ---- in use: states, each a tuple of GPUs, each a tuple of how many pods of each kind ----

def changed(counts, kind, by):
    return counts[:kind] + (counts[kind] + by,) + counts[kind + 1:]


def used(counts, sizes):
    return sum(n * s for n, s in zip(counts, sizes))


def gpus_of(sizes):
    """All that can be on one GPU."""
    return [g for g in itertools.product(*(range(FULL // s + 1) for s in sizes)) if used(g, sizes) <= FULL]


class Staying:
    """Pods stay where they were placed."""
    choose = min

    def __init__(self, sizes, gpus):
        self.sizes, alone = sizes, gpus_of(sizes)
        self.used = {g: used(g, sizes) for g in alone}
        self.states = list(itertools.combinations_with_replacement(alone, gpus))

    def replaced(self, state, gpu, kind, by):
        i = state.index(gpu)
        return tuple(sorted(state[:i] + (changed(gpu, kind, by),) + state[i + 1:]))

    def places(self, state, kind):
        return [self.replaced(state, g, kind, 1) for g in set(state) if self.used[g] + self.sizes[kind] <= FULL]

    def ends(self, state, kind):
        """[(how many pods, the state after one of them has ended)]"""
        return [(n * g[kind], self.replaced(state, g, kind, -1)) for g, n in collections.Counter(state).items() if g[kind]]


class Tightest(Staying):
    """Staying, and the strategy is given: the GPU with the least left; of several such each is as likely."""
    choose = staticmethod(statistics_of.mean)

    def places(self, state, kind):
        fits = [g for g in state if self.used[g] + self.sizes[kind] <= FULL]
        return [self.replaced(state, g, kind, 1) for g in fits if self.used[g] == max(map(self.used.get, fits))]


class Moving:
    """Pods may be moved at any moment, so how many there are of each kind is all that matters."""
    choose = min

    def __init__(self, sizes, gpus):
        there = {(0,) * len(sizes)}
        for _ in range(gpus):
            there = {tuple(map(sum, zip(s, g))) for s in there for g in gpus_of(sizes)}
        self.states, self.there = sorted(there), there

    def places(self, state, kind):
        more = changed(state, kind, 1)
        return [more] if more in self.there else []

    def ends(self, state, kind):
        return [(state[kind], changed(state, kind, -1))] if state[kind] else []


def solved(case, world, may_refuse=False):
    """(low, high, {state: worth}): between low and high lies the refused % of the best strategy, or of the one that the world gives;
    worth is what it will refuse from here on more than from the empty cluster on, in thousandths of a GPU: less is better."""
    kinds = kinds_of(case)
    w, come = world([s for s, _ in kinds], draw.gpu_count(case)), sum(rate for _, rate in kinds)
    number = {s: i for i, s in enumerate(w.states)}
    asks = [[(rate, size, [number[t] for t in w.places(s, k)]) for k, (size, rate) in enumerate(kinds)] for s in w.states]
    ends = [[(n, number[t]) for k in range(len(kinds)) for n, t in w.ends(s, k)] for s in w.states]
    changes = [come + sum(n for n, _ in e) for e in ends]
    fastest, offered = max(changes), sum(size * rate for size, rate in kinds)
    worth = [0.0] * len(w.states)
    while True:
        after = []
        for here, a, e, out in zip(worth, asks, ends, changes):
            total = (fastest - out) * here
            for rate, size, to in a:
                best = w.choose([worth[t] for t in to]) if to else here + size
                total += rate * (min(best, here + size) if may_refuse else best)
            for n, t in e:
                total += n * worth[t]
            after.append(total / fastest)
        steps = [b - a for a, b in zip(worth, after)]
        low, high = (100 * fastest * of(steps) / offered for of in (min, max))
        if high - low < PRECISION:
            return low, high, dict(zip(w.states, worth))
        worth = [v - after[0] for v in after]


def refused(case, world, may_refuse=False):
    return solved(case, world, may_refuse)[:2]


@functools.cache
def lost_at_once(case, there):
    """Of so many pods of each kind, the part that cannot run together by the linear program, in thousandths of a GPU."""
    sizes, row_of = [s for s, _ in kinds_of(case)], {p.milli: i for i, p in enumerate(rows_of(case))}
    return used(there, sizes) - bounds.most(case, rows_of(case), {row_of[s]: n for s, n in zip(sizes, there)})


def clairvoyant(case):
    """The mean of bounds.of_refused over all that chance brings: how many of each kind would be there without refusals."""
    kinds = kinds_of(case)
    chances = [[math.exp(n * math.log(rate) - rate - math.lgamma(n + 1)) for n in range(int(rate + 10 * math.sqrt(rate) + 20))]
               for _, rate in kinds]
    lost, any_load = 0.0, dataclasses.replace(case, name="", load=1.0)
    for there in itertools.product(*(range(len(c)) for c in chances)):
        chance = math.prod(c[n] for c, n in zip(chances, there))
        if chance > UNLIKELY:
            lost += chance * lost_at_once(any_load, there)
    return 100 * lost / sum(size * rate for size, rate in kinds)


# ---- filling up ----

def most(case, rows, number_of):
    """As bounds.most, exactly; of pods that want shares or whole GPUs, by compute and by memory."""
    assert len(case.shape) == 1 and not any(rows[r].profile or rows[r].models for r in number_of), case.name
    group = bounds.groups_of(case)[0]
    pods = sorted(((p.counts, p.gpus, *bounds.takes(case, p, group)) for row, n in number_of.items()
                   for p in [rows[row]] * n), reverse=True)

    @functools.cache
    def best(at, machines):
        if at == len(pods):
            return 0
        counts, gpus, milli, mib = pods[at]
        after_equal = next((i for i in range(at, len(pods)) if pods[i] != pods[at]), len(pods))
        found, all_of_them = best(after_equal, machines), sum(p[0] for p in pods[at:])
        for m in set(machines):
            fits = [room for room in m if room[0] >= milli and room[1] >= mib]
            for room in set(fits) if len(fits) >= gpus else ():
                if found == all_of_them:
                    return found
                left = collections.Counter(m)
                left[room] -= gpus
                if left[room] >= 0:
                    left[room[0] - milli, room[1] - mib] += gpus
                    others = collections.Counter(machines)
                    others[m] -= 1
                    others[tuple(sorted(left.elements()))] += 1
                    found = max(found, counts + best(at + 1, tuple(sorted(others.elements()))))
        return found

    return best(0, ((((FULL, group.mib),) * case.shape[0].gpus),) * case.shape[0].nodes)


# ---- tables ----

TINY = [("fractions", "2x2", "6-5"), ("complements", "2x2", "3+7"), ("complements", "2x2", "thirds"), ("fractions", "2x2", "3-4-7"),
        ("complements", "2x2", "1+9"), ("fractions", "2x2", "quarters")]
LOADS = [0.7, 0.85, 1.1]
LARGER = [("fractions", "2x4", "6-5", 0.85), ("complements", "2x4", "3+7", 0.85), ("fractions", "2x4", "3-4-7", 0.85),
          ("fractions", "4x8", "6-5", 0.85), ("complements", "4x8", "3+7", 0.85), ("complements", "4x8", "1+9", 0.85)]
FILL = [("fill", "3-4-7"), ("fractions", "6-5"), ("fill", "any"), ("whole", "1-2"), ("fill", "memory"), ("fill", "memory-only")]


def say(text):
    print(f"optimum: {text}", file=sys.stderr, flush=True)


def simulated(case, arrivals, seeds, binary):
    """{strategy: (mean, standard error) of refused %}"""
    each = sum(rate for _, rate in kinds_of(case))
    length = arrivals / seeds / each / case.times(each, 1.0)[1]
    runs = [replay.run(case, KEY, s, STRATEGIES, {"": binary}, length)["strategies"] for s in range(seeds)]
    losses = {s: [r[s]["loss"] for r in runs] for s in STRATEGIES}
    return {s: (statistics_of.mean(v), statistics_of.standard_error(v)) for s, v in losses.items()}


def exact(case, world, may_refuse=False):
    """As the tables show it."""
    gpus, alone = draw.gpu_count(case), len(gpus_of([s for s, _ in kinds_of(case)]))
    few = world is Moving or math.comb(alone + gpus - 1, gpus) <= MANY
    return f"{statistics_of.mean(refused(case, world, may_refuse)):.2f}" if few else ""


def in_use(cases, arrivals, seeds, binary):
    titles = ["mix, machines, load", "linear program", "may move and refuse", "may refuse", "best", "tightest GPU",
              *(f"`{s}`" for s in STRATEGIES if arrivals)]
    print("| " + " | ".join(titles) + " |\n|---|" + "---:|" * (len(titles) - 1), flush=True)
    for i, case in enumerate(cases):
        say(f"{case.name}, {i + 1} of {len(cases)}")
        cells = [f"{case.mix_text}, {case.name.split('/')[1]}, {case.load:g}", f"{clairvoyant(case):.2f}", exact(case, Moving, True),
                 exact(case, Staying, True), exact(case, Staying), exact(case, Tightest)]
        cells += [f"{mean:.2f} ± {error:.2f}" for mean, error in simulated(case, arrivals, seeds, binary).values()] if arrivals else []
        print("| " + " | ".join(cells) + " |", flush=True)


def filling_up(seeds):
    print("\n| mix, 2x2 | a100: best | linear program | a130: best | linear program |\n|---|---:|---:|---:|---:|")
    for family, mix in FILL:
        case, sums = case_of(family, "2x2", mix, 0), collections.Counter()
        say(case.name)
        for seed in range(seeds):
            stays = draw.draw_fill(case, rows_of(case), f"{KEY}|{seed}")
            for label, of_set in (("best", most), ("bound", bounds.most)):
                sums.update({(a, label): v / seeds for a, v in bounds.of_fill(case, rows_of(case), stays, of_set).items()})
        print(f"| {case.mix_text} |" + "".join(f" {sums[a, label]:.2f} |" for a in ("a100", "a130") for label in ("best", "bound")))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=__doc__.splitlines()[0])
    p.add_argument("--arrivals", type=int, default=1_000_000)
    p.add_argument("--seeds", type=int, default=20)
    a = p.parse_args()
    cases = [case_of(*c, load) for c in TINY for load in LOADS] + [case_of(*c) for c in LARGER]
    in_use(cases, a.arrivals, a.seeds, pathlib.Path(os.environ.get("FGPU_BIN", ROOT / "build" / "release" / "fgpu")))
    filling_up(a.seeds)


if __name__ == "__main__":
    main()
