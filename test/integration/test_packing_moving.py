"""The bound that stands beside numbers of clusters in use (test/packing/moving.py): the best strategy that may move running pods and refuse
pods that fit. It is compared with formulas, with another program, with itself where kinds are put together, and with the binary."""
import dataclasses
import pathlib
import sys

import pytest

from processes import BINARY

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "packing"))

import draw  # noqa: E402
import moving  # noqa: E402
import optimum  # noqa: E402
import replay  # noqa: E402
import statistics_of  # noqa: E402
from test_packing_optimum import erlang, tiny  # noqa: E402


@pytest.mark.parametrize("shape,mix,load", [("2x2:t4", "0.6 0.5", 0.85), ("2x1:t4", "0.3 0.4 0.7", 1.1), ("3x1:t4", "0.1 0.9", 0.7),
                                            ("2x2:t4", "0.5 1", 0.9)])
def test_moving__as_the_other_program_that_computes_it(shape, mix, load):
    case = tiny(shape, mix, load)
    low, high = optimum.refused(case, optimum.Moving, True)
    found, exact = moving.refused(case, "tuning")
    assert exact and low - moving.PRECISION <= found <= high


@pytest.mark.parametrize("mix,shape,gpus,servers", [("2", "3x2:t4", 2, 3), ("4", "2x8:t4", 4, 4), ("9G", "3x1:a10", 9 / 24, 6),
                                                    ("0.2/9G", "3x1:a10", 9 / 24, 6), ("0.5/2G", "3x1:a10", 0.5, 6)])
def test_moving__one_kind__erlangs_formula(mix, shape, gpus, servers):
    case = tiny(shape, mix, 0.8)
    rows = draw.draw_pods(case, "tuning")
    load = draw.rates_of(case, rows)[False]
    found, exact = moving.refused(case, "tuning")
    assert exact and found == pytest.approx(100 * erlang(servers, load), abs=moving.PRECISION)


@pytest.mark.parametrize("shape,mix", [("2x2:t4", "0.1..0.9"), ("2x2:t4", "0.3/4..8G 0.6/8..14G"), ("1x8:h100", "4*0.25 4*0.5 3*1 1*2 1*4")])
def test_moving__kinds_put_together__never_above_the_exact_bound(monkeypatch, shape, mix):
    case = tiny(shape, mix, 0.9)
    rows = [draw.Pod(p.gpus, p.milli, p.mib, "", (), 0, counts=p.counts) for p in draw.draw_pods(case, "tuning")[::57]]
    monkeypatch.setattr(draw, "draw_pods", lambda case, key: rows)
    asked = moving.asked_for(case, rows)
    whole = len({k[0] for k in asked if k[1:3] == moving.WHOLE})
    shares = len({k[1:3] for k in asked if k[1:3] != moving.WHOLE})
    exact = moving.bound_with(case, asked, shares, whole, moving.EXACT)
    put_together = [moving.bound_with(case, asked, c, max(1, whole - 1) if whole else 0, moving.EXACT) for c in range(1, shares)]
    assert put_together and all(b <= exact + moving.PRECISION for b in put_together) and min(put_together) < exact - 0.01


@pytest.mark.parametrize("shape,mix", [("2x2:t4", "2*0.5 2*1 1*2"), ("2x2:t4", "0.3/4..8G 0.6/8..14G"), ("2x2:a10", "7G 13G")])
def test_moving__no_strategy_refuses_less(shape, mix):
    case = tiny(shape, mix, 0.9)
    found, _ = moving.refused(case, "test")
    runs = [replay.run(case, "test", seed, ["tight-fit", "fgd", "rsp"], {"": BINARY}) for seed in range(6)]
    for s in ("tight-fit", "fgd", "rsp"):
        losses = [r["strategies"][s]["loss"] for r in runs]
        assert found <= statistics_of.mean(losses) + 3 * statistics_of.standard_error(losses), s


def test_moving__more_than_chance_brings__changes_nothing(monkeypatch):
    case = tiny("4x2:t4", "0.3 0.7", 1.1)
    bound, _ = moving.refused(case, "tuning")
    monkeypatch.setattr(moving, "most_at_once", lambda rate: 1000)
    assert moving.refused(case, "tuning")[0] == pytest.approx(bound, abs=0.001)
    monkeypatch.setattr(moving, "most_at_once", lambda rate: 7)
    assert moving.refused(case, "tuning")[0] < bound - 1


@pytest.mark.parametrize("what,value", [("life", "fixed"), ("coming", "sweeps"), ("start", True), ("load", 0),
                                        ("shape_text", "1x2:t4 + 1x2:a10"), ("shape_text", "1x2:a100-40:3g.20gb")])
def test_moving__other_cases__no_bound(what, value):
    case = tiny("2x2:t4", "0.5", 0.8)
    assert moving.refused(case, "tuning") is not None
    assert moving.refused(dataclasses.replace(case, **{what: value}), "tuning") is None
