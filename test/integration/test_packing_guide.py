"""scripts/packing-guide: every number and picture of config/strategies.md is what the results in test/data/packing say. Nothing here says
that a strategy is good."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from processes import BINARY

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUIDE = ROOT / "config" / "strategies.md"
DATA = ROOT / "test" / "data" / "packing"
sys.path.insert(0, str(ROOT / "test" / "packing"))

import corpus  # noqa: E402
import eight  # noqa: E402
import guide  # noqa: E402
import moving  # noqa: E402
import pictures  # noqa: E402
import replay  # noqa: E402
import results  # noqa: E402
import tables  # noqa: E402

ALL = corpus.cases(corpus.TUNING) + corpus.cases(corpus.JUDGING)


# ---- the command ----

def command(*args):
    return subprocess.run([str(ROOT / "scripts" / "packing-guide"), *map(str, args)], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"FGPU_BIN": str(BINARY), "PYTHONDONTWRITEBYTECODE": "1"})


def test_guide_and_pictures__are_what_the_results_say():
    r = command("--check")
    assert (r.returncode, r.stderr) == (0, "")


@pytest.fixture
def copy(tmp_path):
    """Of the guide and its pictures."""
    shutil.copytree(GUIDE.parent / "pictures", tmp_path / "pictures")
    return pathlib.Path(shutil.copy(GUIDE, tmp_path / "guide.copy"))


def test_check__a_number_that_no_result_gave__found_and_mended(copy):
    text = GUIDE.read_text()
    for block in guide.BLOCK.finditer(text):
        digit = re.search(r"\d(?=\D*\Z)", block[2].rpartition("\n![")[0] or block[2])
        if digit is None:
            continue
        at = block.start(2) + digit.start()
        copy.write_text(text[:at] + str((int(digit[0]) + 1) % 10) + text[at + 1:])
        r = command("--check", "--guide", copy)
        assert r.returncode == 1 and r.stderr.count("\n") == 1, block[1]
        assert r.stderr.endswith("guide.copy is not what test/data/packing says; run scripts/packing-guide\n")
    assert command("--guide", copy).returncode == 0 and copy.read_text() == text


def test_check__a_picture_of_other_results__found(copy):
    (copy.parent / "pictures" / "cases.svg").write_text("<svg/>")
    r = command("--check", "--guide", copy)
    assert r.returncode == 1 and "cases.svg is not what test/data/packing says" in r.stderr


def test_guide__without_a_block__names_it(copy):
    copy.write_text(GUIDE.read_text().replace("<!-- packing-guide: worst -->", ""))
    r = command("--check", "--guide", copy)
    assert r.returncode != 0 and "no block for worst" in r.stderr


def test_guide__by_hand__says_no_percentage_of_a_run():
    by_hand = guide.BLOCK.sub("", GUIDE.read_text())
    assert re.findall(r"\d+\.\d+ (?:%|points)", by_hand) == []


def test_take__some_cases_only__refused(tmp_path):
    lines = tmp_path / "part.jsonl"
    case = next(c for c in corpus.cases(corpus.TUNING) if c.name == "reported/2x2/6-5/fill")
    lines.write_text(json.dumps(replay.run(case, "tuning", 0, ["fgd"], {"": BINARY}) | {"key": "tuning", "version": "x"}) + "\n")
    r = command("--take", lines)
    assert r.returncode == 2 and "cases have not been run, as complements/" in r.stderr


def test_eight_pods__the_picture_shows_what_the_binary_does():
    assert eight.as_text(eight.replayed(BINARY)) == (DATA / "eight.json").read_text(), "scripts/packing-guide --eight"


def lines_of(of_set, path, key, loss):
    """As scripts/packing-corpus writes them, of cases that nobody ran."""
    path.write_text("".join(json.dumps({
        "case": c.name, "family": c.family, "set": of_set, "fill": c.is_fill, "start": c.start, "seed": seed, "mix": "learned",
        "length": 1.0, "key": key, "version": "fgpu v0 (0123abcd, 12)",
        "strategies": {s: {"loss": loss + i + 0.02 * seed} for i, s in enumerate(["rsp", *tables.SIMPLE])}}) + "\n"
        for c in corpus.cases(of_set) for seed in range(4)))
    return path


def test_take__the_judging_set__a_table_of_its_own_and_a_picture(copy, tmp_path):
    data, key = tmp_path / "data", "0" * 40
    shutil.copytree(DATA, data)
    bounds = {c.name: {"bound": [1.0, results.LINEAR]} for c in corpus.cases(corpus.JUDGING)}
    (data / "judged.json").write_text(json.dumps({"key": key, "length": 1.0, "seeds": [0, 1, 2, 3], "cases": bounds}))
    r = command("--data", data, "--guide", copy, "--take", lines_of(corpus.JUDGING, tmp_path / "judged.jsonl", key, 3.0))
    assert r.returncode == 0, r.stderr
    text = copy.read_text()
    judged = next(m[2] for m in guide.BLOCK.finditer(text) if m[1] == "judged")
    assert judged.startswith("Judged was commit 0123abcd, on ") and "| near-equal | 24 | 1.00 | 0 | **3.03** | 4.03 |" in judged
    assert "in 0 surely more than 0.3 points worse" in judged and "rsp is 33.0 % closer to it than binpack" in judged
    assert (copy.parent / "pictures" / "judged.svg").exists()
    assert guide.BLOCK.sub("", text) == guide.BLOCK.sub("", GUIDE.read_text())
    assert command("--data", data, "--guide", copy, "--check").returncode == 0


def test_take__rows_of_the_trace__replaced_and_their_version_named(copy, tmp_path):
    data, new = tmp_path / "data", tmp_path / "rsp.json"
    shutil.copytree(DATA, data)
    old = json.loads((DATA / "workloads.json").read_text())
    one = {part: {w: {"rsp": cells["rsp"]} for w, cells in old[part].items()} for part in ("fill", "steady")}
    one["steady"]["cpu250"]["rsp"]["refused_pct"] = 7.777
    head = {"date": "2030-01-01", "command": "c", "version": "fgpu v9"}
    new.write_text(json.dumps(head | one))
    r = command("--data", data, "--guide", copy, "--take", new)
    assert r.returncode == 0, r.stderr
    assert "| cpu250 | 7.78 | 5.49 |" in copy.read_text()
    taken = json.loads((data / "workloads.json").read_text())
    assert taken["version"].endswith("; rows of rsp: fgpu v9") and taken["version"].count("rows of") == 1
    assert taken["fill"] == old["fill"] and taken["command"] == old["command"]
    del one["fill"]["cpu050"]
    new.write_text(json.dumps(head | one))
    r = command("--data", data, "--guide", copy, "--take", new)
    assert r.returncode == 2 and "lacks rsp of cpu050" in r.stderr


def test_take__a_judgement_of_another_commit__the_first_is_kept_and_shown(copy, tmp_path, monkeypatch):
    data, first = tmp_path / "data", (DATA / "judged-1.json").read_text()
    data.mkdir()
    for name in ("corpus", "workloads", "derived", "eight"):
        shutil.copy(DATA / f"{name}.json", data)
    (data / "judged.json").write_text(first)
    monkeypatch.setattr(results, "bounds_of", lambda names, *_: {n: [1.0, results.LINEAR] for n in names})
    script = pictures.module_of("packing-guide")
    for number, (key, loss) in enumerate([("1" * 40, 3.0), ("1" * 40, 4.0), ("2" * 40, 5.0)]):
        script.take_corpus([lines_of(corpus.JUDGING, tmp_path / f"{number}.jsonl", key, loss)], data, 1)
    # The second one of 1... is the same judgement taken again.
    assert sorted(p.name for p in data.glob("judged*")) == ["judged-1.json", "judged-2.json", "judged.json"]
    assert (data / "judged-1.json").read_text() == first
    assert [json.loads((data / f"judged{n}.json").read_text())["key"][0] for n in ("-2", "")] == ["1", "2"]
    assert command("--data", data, "--guide", copy).returncode == 0
    blocks = {m[1]: m[2] for m in guide.BLOCK.finditer(copy.read_text())}
    assert blocks["judged"].count("Judged was commit") == 1 and "| near-equal | 24 | 1.00 | 0 | **5.03** |" in blocks["judged"]
    commits = re.findall(r"^Judged was commit (\w+)", blocks["earlier"], re.M)
    assert commits == [json.loads(first)["key"][:12], "0123abcd"]
    assert "| three-models | 12 |" in blocks["earlier"] and "| near-equal | 24 | 1.00 | 0 | **4.03** |" in blocks["earlier"]


# ---- the small form, and what is made of it ----

def small_of(losses, of_set=corpus.JUDGING, seeds=4):
    """Of the first cases of a set; nothing of them is run. `losses`: [{strategy: what it loses}]"""
    names = [c.name for c in corpus.cases(of_set) if not c.is_fill][:len(losses)]
    noise = [0.02 * (s % 2) - 0.01 for s in range(seeds)]
    return {"date": "2026-01-01", "command": "c", "version": "fgpu v0 (0123abcd, 12)", "key": "k", "mix": "learned", "length": 1.0,
            "seeds": list(range(seeds)), "strategies": list(losses[0]),
            "cases": {n: {"bound": [1.0, results.MOVING], "loss": {s: [v + e for e in noise] for s, v in of_case.items()}}
                      for n, of_case in zip(names, losses)}}


def test_small_form__there_and_back__the_same():
    small = small_of([{"rsp": 2.5, "binpack": 3, "fgd": 2}, {"rsp": 1.5, "binpack": 3, "fgd": 2}])
    assert json.loads(results.as_text(small)) == small
    runs = results.expanded(small)
    again = {n: {s: r | {"key": "k", "mix": "learned", "length": 1.0, "version": small["version"]} for s, r in of_case.items()}
             for n, of_case in runs.items()}
    assert results.condensed(again, {"date": small["date"], "command": "c"}, small) == small


def test_judged__a_strategy_that_loses__said_so():
    lost, won = {"rsp": 3.0, "binpack": 4.0, "fgd": 2.0}, {"rsp": 2.0, "binpack": 4.0, "fgd": 3.5}
    text = guide.judged_block(small_of([lost, won, won], seeds=20))
    assert "Judged was commit 0123abcd, on 2026-01-01, with 20 runs of each case." in text
    assert "| rsp | 2.33 |" in text and "| binpack | 4.00 | +1.67 ± 0.00 | 3 | 3 | 2.0 |" in text
    assert re.search(r"in 1 surely more than 0.3 points worse", text) and "+1.00 (0.00) beside fgd" in text
    # Above the bound of 1.0 in the three cases: 2 + 1 + 1, and 1 + 2.5 + 2.5.
    assert "rsp is 33.3 % closer to it than fgd" in text
    assert guide.judged_block(None) == "These clusters have not been run: they wait for the judgement.\n"


def test_judged__a_case_without_a_bound__its_family_has_no_number():
    small = small_of([{"rsp": 3.0, "fgd": 2.0}] * 2)
    next(iter(small["cases"].values()))["bound"] = None
    text = guide.judged_block(small)
    assert "1 cases, where lives depend on sizes, have none" in text and re.search(r"^\| near-equal \| 2 \| - \| 1 \|", text, re.M)


def small_of_families(losses):
    """{family: {strategy: what it loses in each of two cases}}"""
    small = small_of([next(iter(losses.values()))])
    names = {f: [c.name for c in ALL if c.family == f and not c.is_fill][:2] for f in losses}
    return small | {"cases": {n: {"bound": [1.0, results.LINEAR], "loss": {s: [v] * 4 for s, v in losses[f].items()}}
                              for f in losses for n in names[f]}}


def test_judged__families_that_an_earlier_judgement_had__apart_from_those_judged_first():
    lost, won = {"rsp": 3.0, "fgd": 2.0}, {"rsp": 2.0, "fgd": 4.0}
    small, first = small_of_families({"near-equal": lost, "growth": won}), small_of_families({"near-equal": won, "dust": lost})
    text = guide.judged_block(small, [first])
    assert "| judged for the first time | 2 | 1.00 | **2.00** | 4.00 | 4.00 |" in text
    assert "| judged before, with other pods | 2 | 1.00 | 3.00 | **2.00** | 2.00 |" in text
    whole, alone = re.findall(r"^Judgement of rsp: (.*?);", text, re.M)
    assert whole.startswith("4 cases, in 2 surely") and alone.startswith("2 cases, in 0 surely")
    assert "judged before" not in guide.judged_block(small)


def test_judged__families_that_are_tuned_since__named():
    lost = {"rsp": 3.0, "fgd": 2.0}
    assert "these are for tuning, and judge no more: `dust` and `disagree`.\n" in \
        guide.judged_block(small_of_families({"near-equal": lost, "dust": lost, "disagree": lost}))
    assert "for tuning" not in guide.judged_block(small_of_families({"near-equal": lost}))
    assert guide.earlier_block([]) == "There is none.\n"


def test_pictures__of_any_results__well_formed():
    small = small_of([{"rsp": 3.0, "binpack": 4.0, "tight-fit": 3.1, "best-fit": 4, "fgd": 2.0}] * 5)
    data = {"corpus": small, "judged": small, "eight": json.loads((DATA / "eight.json").read_text())}
    drawn = pictures.drawn(data)
    assert set(drawn) == {"eight-pods.svg", "cases.svg", "families.svg", "judged.svg"}
    for name, text in drawn.items():
        root = ElementTree.fromstring(text)
        words = {t.text for t in root.iter("{http://www.w3.org/2000/svg}text")}
        assert root.get("aria-label") and "rsp" in words and "prefers-color-scheme:dark" in text, name


def test_bound__what_it_is_of_which_case():
    def how(name):
        return results.bound_of(name, "tuning", range(2), 0.1)[1]

    assert how("complements/2x2/3+7/1.1/exponential") == results.MOVING
    assert how("fractions/2x4/6-5/0.3/fixed") == how("reported/2x2/6-5/fill") == results.LINEAR
    case = results.case_named("memory/2x2/small-models/0.7/exponential")
    assert moving.refused(case, "tuning")[1] is False
