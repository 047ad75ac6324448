"""What config/strategies.md and README.md say of the trace follows from the results in test/data/packing, computed a second time: the first is
scripts/packing-guide."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "test" / "data" / "packing"
GUIDE = (ROOT / "config" / "strategies.md").read_text(encoding="utf-8")
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def results(name):
    one = json.loads((DATA / name).read_text(encoding="utf-8"))
    assert one["command"] and one["date"] and one["version"]
    return one


SEVEN = results("workloads.json")
MORE = results("derived.json")


def mean(cells, strategy, key):
    return sum(c[strategy][key] for c in cells.values()) / len(cells)


def table(first_cell):
    """{first cell: other cells} of the table in the guide that begins like this."""
    lines = GUIDE.split(f"| {first_cell} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    assert rows
    return {r[0]: r[1:] for r in rows}


def name_in_guide(strategy):
    known, given = strategy.partition(" ")[0], strategy.endswith("(given)")
    return f"{known}, mix {'given' if given else 'learned'}" if known in ("rsp", "fgd") else known


def test_strategies__filling_up__every_row_follows_from_the_results():
    fill = SEVEN["fill"]
    names = list(fill["default"])
    assert len(fill) == 7 and all(set(c) == set(names) and all(c[n]["runs"] and len(c[n]["runs"]) == 10 for n in names)
                                  for c in fill.values())
    wanted = {name_in_guide(n): [f"{mean(fill, n, 'a100'):.2f}", f"{mean(fill, n, 'a130'):.2f}",
                                 f"{fill['default'][n]['a130']:.2f}", f"{fill['gpuspec33'][n]['a100']:.2f}"] for n in names}
    assert table("strategy | a100 | a130 | default a130 | gpuspec33 a100") == wanted


def test_strategies__in_use__every_row_follows_from_the_results():
    names = ("rsp", "fgd", "binpack", "best-fit", "tight-fit")
    rows = table(f"workload | {' | '.join(names)}")
    assert rows == {w: [f"{c[s]['refused_pct']:.2f}" for s in names] for w, c in SEVEN["steady"].items()}


def test_strategies__workloads_it_was_not_made_for__every_row_follows_from_the_results():
    rows = table("workload | fgd a100 | rsp a100 | fgd a130 | rsp a130 | fgd 1 % | rsp 1 %")
    keys = ("a100", "a130", "refused_1pp_pct")
    assert rows == {w: [f"{c[s][k]:.2f}" for k in keys for s in ("fgd", "rsp")] for w, c in MORE["fill"].items()}


def test_strategies__in_use_elsewhere__follows_from_the_results():
    text = " ".join(GUIDE.split())
    for workload, cells in MORE["steady"].items():
        found = re.search(rf"([\d.]+) % of {workload} \(`fgd` ([\d.]+)\)", text)
        assert found.groups() == tuple(f"{cells[s]['refused_pct']:.2f}" for s in ("rsp", "fgd"))


def test_readme__its_numbers__follow_from_the_results():
    fill = SEVEN["fill"]
    text = re.search(r"FGD allocates ([\d.]+) %.*?`binpack` ([\d.]+) %, `best-fit` ([\d.]+) %.*?as it goes and allocates ([\d.]+) %", README)
    assert [f"{mean(fill, n, 'a130'):.2f}" for n in ("fgd (given)", "binpack", "best-fit", "rsp")] == list(text.groups())
