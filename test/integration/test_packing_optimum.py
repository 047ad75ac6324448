"""What is possible (test/packing/optimum.py): the optimum of tiny clusters, beside formulas, bounds, other searches and the binary."""
import collections
import math
import pathlib
import sys

import pytest

from processes import BINARY
from test_packing_corpus import Machine, of_words
from test_packing_corpus import optimum as by_trying_all

PACKING = pathlib.Path(__file__).resolve().parent.parent / "packing"
README = (PACKING / "README.md").read_text()
sys.path.insert(0, str(PACKING))

import bounds  # noqa: E402
import corpus  # noqa: E402
import draw  # noqa: E402
import optimum  # noqa: E402
import regret  # noqa: E402
import replay  # noqa: E402
import statistics_of  # noqa: E402
from optimum import Moving, Staying, Tightest  # noqa: E402


def tiny(shape, mix, load):
    return corpus.Case("t", corpus.TUNING, f"t/{shape}/{mix}/{load}", shape, mix, "", load, "exponential", "poisson", False, "share")


def erlang(servers, load):
    """Part of the calls that find all servers busy."""
    terms = [load ** n / math.factorial(n) for n in range(servers + 1)]
    return terms[-1] / sum(terms)


@pytest.mark.parametrize("world", [Moving, Staying, Tightest])
@pytest.mark.parametrize("share,servers", [(0.5, 6), (0.6, 3), (0.3, 9)])
def test_in_use__one_kind__erlangs_formula(world, share, servers):
    low, high = optimum.refused(tiny("3x1:t4", f"{share}", 0.8), world)
    assert low - 1e-6 <= 100 * erlang(servers, 0.8 * 3 / share) <= high + 1e-6


def test_in_use__small_pods_that_keep_large_ones_out__better_refused():
    """One GPU, two whole pods for each of 0.1: that none of the small ones is accepted leaves Erlang's formula for the others."""
    case, small = tiny("1x1:t4", "1*0.1 2*1", 1.0), 0.1 / 2.1
    without_small = 100 * (small + (1 - small) * erlang(1, 1 - small))
    low, high = optimum.refused(case, Staying, True)
    assert low - 0.01 < without_small < high + 0.01  # of 400 pods 133 and not 133.3 are small
    assert optimum.refused(case, Staying)[0] > without_small + 5


@pytest.mark.parametrize("mix", ["0.6 0.5", "0.333 0.667", "0.3 0.4 0.7"])
@pytest.mark.parametrize("load", [0.7, 1.1])
def test_in_use__who_may_do_more__refuses_less(mix, load):
    case = tiny("2x1:t4", mix, load)
    chain = [optimum.clairvoyant(case), *(statistics_of.mean(optimum.refused(case, *how))
                                          for how in ((Moving, True), (Staying, True), (Staying,), (Tightest,)))]
    assert all(a <= b + optimum.PRECISION for a, b in zip(chain, chain[1:])), chain
    assert chain[0] < chain[2]


def test_in_use__the_tightest_gpu__is_what_the_simulation_of_tight_fit_gives():
    case = tiny("2x2:t4", "0.3 0.7", 0.85)
    losses = [replay.run(case, "test", seed, ["tight-fit"], {"": BINARY})["strategies"]["tight-fit"]["loss"] for seed in range(20)]
    low, high = optimum.refused(case, Tightest)
    error = statistics_of.standard_error(losses)
    assert error < 0.4 and low - 4 * error < statistics_of.mean(losses) < high + 4 * error


def test_regret__over_a_run__what_is_refused_more_than_the_best_strategy_does():
    case = tiny("2x2:t4", "0.3 0.4 0.7", 0.85)
    low, high, worth = optimum.solved(case, Staying)
    beyond, lost = [], []
    for seed in range(10):
        run = regret.placements(case, "spread", "test", seed, 1.0, BINARY)
        rows, stays, warm_up_ms, places = run
        offered, of_run = regret.regrets(case, worth, run)
        refused = sum(rows[row].counts for (at, _, row), place in zip(stays, places) if at >= warm_up_ms and place is None)
        lost.append(100 * sum(map(sum, of_run.values())) / offered)
        beyond.append(100 * refused / offered - lost[-1])
    error = statistics_of.standard_error(beyond)
    assert statistics_of.mean(lost) > 5 * error
    assert low - 4 * error < statistics_of.mean(beyond) < high + 4 * error


@pytest.mark.parametrize("load", optimum.LOADS)
def test_readme__computed_columns__are_what_is_computed(load):
    case = optimum.case_of("fractions", "2x2", "6-5", load)
    computed = [f"{optimum.clairvoyant(case):.2f}", optimum.exact(case, Moving, True), optimum.exact(case, Staying, True),
                optimum.exact(case, Staying), optimum.exact(case, Tightest)]
    assert f"\n| 0.6 0.5, 2x2, {load:g} | {' | '.join(computed)} | " in README


@pytest.mark.parametrize("shape,mix", [("1x2:a10", "0.3 0.4 0.7"), ("2x2:t4", "4*0.25 2*0.5 1 2"), ("1x2:t4", "0.3/4..8G 0.6/8..14G"),
                                       ("2x1:a10", "3..14G")])
def test_filling_up__tiny_sets__as_by_trying_all_and_never_above_the_linear_program(shape, mix):
    case = of_words(shape, mix)
    rows = draw.draw_pods(case, "k")
    for seed in range(6):
        numbers = draw.rng_of("tiny", seed).sample(range(len(rows)), 6)
        best = optimum.most(case, rows, collections.Counter(numbers))
        assert best == by_trying_all([Machine(g, "share") for g in case.shape for _ in range(g.nodes)], rows, numbers)
        assert best <= bounds.most(case, rows, collections.Counter(numbers)) + 0.01


@pytest.mark.parametrize("family,mix", optimum.FILL)
def test_filling_up__tiny_cases__the_bound_is_never_below(family, mix):
    case = optimum.case_of(family, "2x2", mix, 0)
    rows = draw.draw_pods(case, "k")
    for seed in range(4):
        stays = draw.draw_fill(case, rows, seed)
        best, bound = (bounds.of_fill(case, rows, stays, of) for of in (optimum.most, bounds.most))
        assert all(best[a] <= bound[a] + 0.001 for a in ("a100", "a130"))
        assert best["a130"] >= best["a100"] > 0
