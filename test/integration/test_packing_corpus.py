"""The corpus of clusters (test/packing): what is drawn is what the case says, and an oracle follows every placement of a small case of
each family. No strategy is compared with another here."""
import collections
import hashlib
import heapq
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

from processes import BINARY

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "packing"))

import bounds  # noqa: E402
import corpus  # noqa: E402
import draw  # noqa: E402
import notation  # noqa: E402
import replay  # noqa: E402
import statistics_of  # noqa: E402
import tables  # noqa: E402

ALL = corpus.cases(corpus.TUNING) + corpus.cases(corpus.JUDGING)
DATA = ROOT / "test" / "data" / "packing"
# Held out until f40520eb was judged (decision 0058). They have machines that families have which judge again, and no mix of theirs.
HAVE_JUDGED = {"dust", "disagree", "three-models", "fill-odd"}
# What the cases of a judgement were, by the commit that was judged.
JUDGEMENTS = {"f40520eb6dbb75452979933ebbb6577dc7c0c5bf": "031adbb841d3e1ff70dfc706eb1be506778d6af627430b359a52d38b508bcc00",
              "f33092003527431287a87caffb23dc4a3da7bfbe": "27efdf358af658b4435c1923d8fba22eeefd7fbbcb287b1b24010315a2fe9822"}


# ---- which cases there are ----

def test_cases__as_many_as_promised_and_each_with_a_name():
    tuning, judging = corpus.cases(corpus.TUNING), corpus.cases(corpus.JUDGING)
    assert len(ALL) >= 400 and len(judging) >= len(ALL) / 3
    assert len({c.name for c in ALL}) == len(ALL)
    assert all(f.cases() for f in corpus.FAMILIES)
    nodes = [sum(g.nodes for g in c.shape) for c in ALL]
    assert min(nodes) == 1 and max(nodes) == 2000
    assert {g.gpus for c in ALL for g in c.shape} >= {1, 2, 3, 4, 5, 6, 7, 8, 10, 16}
    loads = [c.load for c in tuning if c.load]
    assert min(loads) == 0.3 and max(loads) == 1.3


def test_held_out__by_kind__shares_no_mix_and_no_shape_with_tuning():
    def words(cases, what):
        return {getattr(c, what) for c in cases} - {""}

    tuning, judging = corpus.cases(corpus.TUNING), corpus.cases(corpus.JUDGING)
    for what in ("mix_text", "night_text"):
        assert not words(tuning, what) & words(judging, what)
    assert words(tuning, "family") & words(judging, "family") == {"fill-odd"}
    assert not words((c for c in tuning if c.family not in HAVE_JUDGED), "shape_text") & words(judging, "shape_text")
    assert not words(tuning, "life") & {"by-size", "small-long"}
    assert not words(tuning, "coming") & {"jobs", "drift", "replicas", "growth", "campaign"}
    readme = (ROOT / "test" / "packing" / "README.md").read_text()
    for f in corpus.FAMILIES:
        cases = [c for c in f.cases() if c.set == f.set]
        assert f"| `{f.name}` | {'held out' if f.set == corpus.JUDGING else 'tuning'} | {len(cases)} | {f.about} |" in readme


def test_held_out__families_that_nobody_has_seen__share_nothing_with_any_other():
    judged = {case_named(n).family for _, names in judgements() for n in names}
    new = [c for c in corpus.cases(corpus.JUDGING) if c.family not in judged]
    rest = [c for c in ALL if c.family in judged or c.set == corpus.TUNING]
    for what in ("mix_text", "night_text", "shape_text"):
        assert not {getattr(c, what) for c in new} & {getattr(c, what) for c in rest} - {""}


def judgements():
    """[(key, names of the cases)]"""
    all_of = [json.loads(p.read_text()) for p in DATA.glob("judged*.json")]
    return [(j["key"], list(j["cases"])) for j in all_of]


def case_named(name):
    return next(c for c in ALL if c.name == name)


def digest(names, key):
    """Of the words of the cases, of their pods, and of the first times of those that are quickly drawn."""
    h = hashlib.sha256()
    for case in map(case_named, names):
        h.update(repr((case.name, case.shape_text, case.mix_text, case.night_text, case.load, case.life, case.coming, case.start,
                       case.memory_only)).encode())
        rows = draw.draw_pods(case, key)
        h.update(repr(rows).encode())
        if not case.is_fill and draw.gpu_count(case) <= 60:
            h.update(repr(draw.draw_stays(case, rows, f"{key}|0", 0.02)).encode())
    return h.hexdigest()


def test_cases__of_a_judgement__are_kept_and_stay_what_they_were():
    there = dict(judgements())
    assert set(JUDGEMENTS) <= set(there)
    assert {key: digest(there[key], key) for key in JUDGEMENTS} == JUDGEMENTS


@pytest.mark.parametrize("wrong", ["0.5x", "1.5", "2/8G", "0.5..1.5", ""])
def test_mix__that_means_nothing__refused(wrong):
    with pytest.raises(ValueError):
        notation.parse_mix(wrong or " x")


# ---- what is drawn ----

def small(family):
    """The smallest case that has departures to speak of."""
    return min(family.cases(), key=lambda c: (draw.gpu_count(c) < 8, draw.gpu_count(c), -c.load))


@pytest.mark.parametrize("family", corpus.FAMILIES, ids=lambda f: f.name)
def test_drawn__twice__the_same__and_other_keys_other_pods(family, tmp_path):
    texts = []
    for name, key in (("a", "k"), ("b", "k"), ("c", "l")):
        (tmp_path / name).mkdir()
        replay.write_case(small(family), key, 3, tmp_path / name, 0.1)
        texts.append([(tmp_path / name / f).read_text() for f in ("nodes.csv", "pods.csv", "stays.csv")])
    assert texts[0] == texts[1] and texts[0][2] != texts[2][2] and texts[0][0] == texts[2][0]


def offered(stays, rows, from_ms, to_ms):
    """GPUs that the pods would hold in the mean if all were placed."""
    held = sum((min(d, to_ms) - max(a, from_ms)) * rows[r].counts for a, d, r in stays if d > from_ms and a < to_ms)
    return held / 1000 / (to_ms - from_ms)


@pytest.mark.parametrize("name", ["fractions/40x8", "complements/40x8", "memory/40x8", "memory-free/40x8", "shift/40x8", "sweeps/40x8",
                                  "cores/10x4/8c", "lives/3x4/45-55/0.6/by-size", "jobs/60x2", "drift/16x8", "disagree/24x8",
                                  "replicas/25x8", "notebooks/5x8", "old-new/old+new", "geometric/20x8"])
def test_drawn__load__is_offered_from_the_first_measured_moment(name):
    case = next(c for c in ALL if c.name.startswith(name))
    rows = draw.draw_pods(case, "k")
    stays, warm_up = draw.draw_stays(case, rows, "k", 40 if case.coming in ("jobs", "replicas") else 4)
    want, at = case.load * draw.gpu_count(case), warm_up
    # Whole periods of day and night; beside the two the mean moves by a few pods.
    end = stays[-1][0] - (stays[-1][0] - at) % round(case.period * draw.HOUR_MS) if case.night else stays[-1][0]
    assert offered(stays, rows, at, end) == pytest.approx(want, rel=0.06)


def drawn(name, length=4):
    """(case, rows, stays, ms of warm-up, ms of the last arrival)"""
    case = next(c for c in ALL if c.name.startswith(name))
    rows = draw.draw_pods(case, "k")
    stays, warm_up = draw.draw_stays(case, rows, "k", length)
    return case, rows, stays, warm_up, stays[-1][0]


def test_drawn__growth__from_a_half_of_the_load_to_one_and_a_half():
    case, rows, stays, warm_up, end = drawn("growth/20x8", 20)
    tenth = (end - warm_up) / 10
    parts = [sum(rows[r].counts for a, _, r in stays if 0 <= a - warm_up - k * tenth < tenth) for k in range(10)]
    whole = case.load * draw.gpu_count(case) * 1000 * tenth / draw.HOUR_MS
    assert [p / whole for p in parts] == pytest.approx([0.55 + 0.1 * k for k in range(10)], rel=0.1)


def test_drawn__replicas__small_pods_come_in_numbers_and_end_one_by_one():
    _, rows, stays, _, _ = drawn("replicas/25x8")
    groups = collections.Counter((a, r) for a, _, r in stays if a > 0)
    sizes = {small: {n for (_, r), n in groups.items() if (rows[r].milli < 1000) == small} for small in (True, False)}
    assert sizes == {True: {4, 8, 16, 32}, False: {1}}
    (at, row), n = groups.most_common(1)[0]
    assert len({d for a, d, r in stays if (a, r) == (at, row)}) == n


def test_drawn__campaign__whole_machines_at_one_moment_of_a_period():
    case, rows, stays, _, end = drawn("campaign/20x8")
    campaigns = collections.defaultdict(list)
    for arrive, depart, row in stays:
        if rows[row].night:
            assert depart - arrive == draw.HOUR_MS
            campaigns[arrive].append(rows[row].counts)
    week = 7 * draw.HOUR_MS
    assert list(campaigns) == list(range(0, end, week)) and len(campaigns) > 3
    assert all(sum(c) == pytest.approx(draw.gpu_count(case) * 1000 / 3, rel=0.3) for c in campaigns.values())
    assert stays == sorted(stays, key=lambda s: s[0])
    rest = [s for s in stays if not rows[s[2]].night]
    assert offered(rest, rows, 0, end) == pytest.approx(case.load * draw.gpu_count(case), rel=0.06)


def test_drawn__notebooks__kept_ten_times_as_long_as_batch():
    _, rows, stays, _, _ = drawn("notebooks/5x8")
    lives = {small: [d - a for a, d, r in stays if a > 0 and (rows[r].counts < 500) == small] for small in (True, False)}
    means = {small: statistics_of.mean(v) / draw.HOUR_MS for small, v in lives.items()}
    assert means == pytest.approx({True: 4, False: 0.4}, rel=0.1)


def test_drawn__fill__asks_for_130_percent_and_nobody_leaves():
    case = next(c for c in ALL if c.name == "reported/40x8/3-4-7/fill")
    rows = draw.draw_pods(case, "k")
    stays = draw.draw_fill(case, rows, "k")
    assert sum(rows[r].counts for _, _, r in stays) == pytest.approx(1.3 * 320_000, abs=1000)
    assert all(d is None for _, d, _ in stays)
    assert collections.Counter(p.milli for p in rows) == {300: 134, 400: 133, 700: 133}


# ---- the oracle: what may be where ----

class Machine:
    def __init__(self, group, memory_only):
        profiles = [p for p in group.mig.split("|") if p]
        self.group, self.free_memory = group, memory_only == "free"
        self.cpu, self.pods = round(1000 * group.gpus * group.cores_per_gpu), 0
        self.held = [{} for _ in range(group.gpus * (1 + len(profiles)))]  # of each device: {pod: (milli, mib, alone)}
        self.profiles = collections.Counter(profiles)

    def wants(self, pod):
        """(milli, mib, alone) of each device."""
        mib = self.group.gpu_mib
        if pod.profile or (pod.milli == 1000 and not pod.mib):
            return 1000, mib, True
        if pod.milli:
            return pod.milli, pod.mib or mib * pod.milli // 1000, False
        return 0 if self.free_memory else max(1, 1000 * pod.mib // mib), pod.mib, False

    def has_room(self, device, wanted):
        milli, mib, alone = wanted
        held = self.held[device].values()
        if alone or any(a for _, _, a in held):
            return not held
        return sum(m for m, _, _ in held) + milli <= 1000 and sum(b for _, b, _ in held) + mib <= self.group.gpu_mib

    def accepts(self, pod):
        return self.cpu >= pod.cpu_milli and (not pod.models or self.group.model in pod.models or not pod.gpus)

    def fits(self, pod):
        return self.accepts(pod) and sum(self.has_room(d, self.wants(pod)) for d in range(self.group.gpus)) >= pod.gpus

    def put(self, number, pod, devices):
        assert self.accepts(pod) and len(set(devices)) == len(devices) == pod.gpus
        for d in devices:
            # An instance is held by one pod at a time, as a whole GPU is.
            wanted = (1000, 0, True) if self.profiles else self.wants(pod)
            assert self.has_room(d, wanted) and (d >= self.group.gpus) == bool(self.profiles)
            self.held[d][number] = wanted
        if pod.profile:
            self.profiles[pod.profile] -= pod.gpus / self.group.gpus  # every GPU has the layout
            assert self.profiles[pod.profile] >= -1e-9
        self.cpu -= pod.cpu_milli

    def take(self, number, pod, devices):
        for d in devices:
            del self.held[d][number]
        if pod.profile:
            self.profiles[pod.profile] += pod.gpus / self.group.gpus
        self.cpu += pod.cpu_milli


def follow(case, machines, rows, stays, places, warm_up_ms):
    """Judges every placement and refusal; returns (arrived, refused) of what is measured."""
    cluster, leaving, count = [Machine(g, case.memory_only) for g in machines], [], [0, 0]
    for number, ((arrive, depart, row), place) in enumerate(zip(stays, places, strict=True)):
        pod = rows[row]
        while leaving and leaving[0][0] <= arrive:
            _, n, node, row_of, devices = heapq.heappop(leaving)
            cluster[node].take(n, rows[row_of], devices)
        if place is not None:
            cluster[place[0]].put(number, pod, place[1])
            heapq.heappush(leaving, (depart if depart is not None else math.inf, number, place[0], row, place[1]))
        elif not any(m.profiles for m in cluster):
            assert not any(m.fits(pod) for m in cluster), f"{case.name}: pod {number} was refused, and fits"
        if arrive >= warm_up_ms:
            count[0] += pod.counts
            count[1] += pod.counts if place is None else 0
    return count


# 28,000 pods on 1,200 machines take the oracle too long.
@pytest.mark.parametrize("family", [f for f in corpus.FAMILIES if f.name != "large"], ids=lambda f: f.name)
def test_replay__a_small_case_of_each_family__never_too_full_and_never_refused_for_nothing(family, tmp_path):
    case = small(family)
    machines, rows, stays, warm_up_ms = replay.write_case(case, "test", 0, tmp_path, 0.1)
    names = ["binpack", "spread"] if family.set == corpus.JUDGING else ["binpack", "spread", "fgd", "rsp"]
    cells = replay.sim(BINARY, tmp_path, names, warm_up_ms, "learned", tmp_path / "places.csv")
    places = replay.read_placements(tmp_path / "places.csv")
    assert list(places) == names
    for name in names:
        arrived, refused = follow(case, machines, rows, stays, places[name], warm_up_ms)
        assert cells[name]["refused_pct"] == pytest.approx(100 * refused / arrived, abs=0.0001)
        assert cells[name]["decisions"] == len(stays)
        assert cells[name]["allocation_pct"] <= 100.0001


def test_fill_numbers__few_large_pods__the_last_arrival_before():
    rows = [draw.Pod(1, 500, 0, "", (), 0, counts=500)]
    stays, placed, refused = [(i, None, 0) for i in range(6)], (0, [0]), None
    # Of two GPUs: 25, 50, 75, 100, 125, 150 % asked for.
    numbers = replay.fill_numbers(rows, stays, [placed, refused, placed, placed, placed, refused], 2000)
    assert numbers == {"a100": 75, "a130": 100}


# ---- bounds ----

def optimum(machines, rows, numbers):
    """The most that pods of these rows can count for together, by trying everything."""
    if not numbers:
        return 0
    pod, best = rows[numbers[0]], optimum(machines, rows, numbers[1:])
    for m in machines:
        for devices in itertools.combinations(range(m.group.gpus), pod.gpus) if m.accepts(pod) else ():
            if all(m.has_room(d, m.wants(pod)) for d in devices):
                m.put(len(numbers), pod, devices)
                best = max(best, pod.counts + optimum(machines, rows, numbers[1:]))
                m.take(len(numbers), pod, devices)
    return best


def of_words(shape, mix, memory_only="share"):
    return corpus.Case("f", corpus.TUNING, f"f/{shape}/{mix}", shape, mix, "", 0, "exponential", "poisson", False, memory_only)


@pytest.mark.parametrize("shape,mix,memory_only", [
    ("1x2:a10", "0.3 0.4 0.7", "share"), ("2x1:a10", "0.34 0.33 0.5", "share"), ("1x2:t4", "0.1..0.9", "share"), ("1x2:a10", "3..14G", "share"),
    ("1x2:a10", "3..14G 0.5", "free"), ("1x1:t4 + 1x1:a10", "0.2/9..15G 0.7/3G 0.5@a10", "share"), ("1x3:a10/1c", "0.4#1 1 2#1 0.2", "share")])
def test_bound__tiny_sets__never_below_the_optimum_and_mostly_near(shape, mix, memory_only):
    case, near = of_words(shape, mix, memory_only), 0
    rows = draw.draw_pods(case, "k")
    for seed in range(12):
        numbers = draw.rng_of("tiny", seed).sample(range(len(rows)), 6)
        best = optimum([Machine(g, memory_only) for g in case.shape for _ in range(g.nodes)], rows, numbers)
        bound = bounds.most(case, rows, collections.Counter(numbers))
        assert bound >= best - 0.01, (seed, [rows[i] for i in numbers])
        near += bound <= best * 1.15 + 1
    assert near >= 6


def test_bound__pairs_that_do_not_fit__far_below_the_sum():
    case = of_words("4x8:a10", "0.6")
    rows = draw.draw_pods(case, "k")
    assert bounds.most(case, rows, {0: 64}) == pytest.approx(32 * 600, rel=1e-4)
    assert bounds.most(case, rows, {0: 20}) == pytest.approx(20 * 600, rel=1e-4)
    case = of_words("4x8:a10", "0.6 0.4")
    rows = draw.draw_pods(case, "k")
    small, large = (next(i for i, p in enumerate(rows) if p.milli == m) for m in (400, 600))
    assert bounds.most(case, rows, {small: 32, large: 32}) == pytest.approx(32000, rel=1e-4)
    assert bounds.most(case, rows, {small: 16, large: 64}) == pytest.approx(32 * 600 + 16 * 400, rel=1e-4)


def test_bound__cores_short__counted():
    case = of_words("1x8:a10/2c", "0.5#4")
    assert bounds.most(case, draw.draw_pods(case, "k"), {0: 16}) == pytest.approx(4 * 500, rel=1e-4)


def test_bound__of_a_replay__nobody_loses_less():
    for name in ("reported/2x2/3-4-7/fill", "reported/2x2/6-5/0.85/exponential", "memory-free/2x4/7-13/1/exponential"):
        case = next(c for c in ALL if c.name == name)
        for seed in (0, 1):
            r = replay.run(case, "k", seed, ["binpack", "fgd"], {"": BINARY}, moments=300)
            # Seen at moments, so within what the moments miss.
            assert all(n["loss"] >= r["bound"]["loss"] - 1 for n in r["strategies"].values()), (r, seed)


# ---- the command ----

def corpus_command(*args):
    return subprocess.run([str(ROOT / "scripts" / "packing-corpus"), *map(str, args)], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"FGPU_BIN": str(BINARY)})


def test_command__runs_in_parts__the_same_as_at_once(tmp_path):
    one = ["complements/2x2", "--seeds", "0-1", "--length", "0.05", "-j", "2"]
    whole = corpus_command(*one, "--out", tmp_path / "all")
    assert whole.returncode == 0, whole.stderr
    for k in (1, 2):
        assert corpus_command(*one, "--part", f"{k}/2", "--out", tmp_path / f"part{k}").returncode == 0
    again = corpus_command(*one, "--out", tmp_path / "all")
    assert " 0 runs of " in again.stderr and again.stdout == whole.stdout

    def numbers(*names):
        lines = itertools.chain.from_iterable((tmp_path / n).read_text().splitlines() for n in names)
        return {(r["case"], r["seed"]): {s: n["loss"] for s, n in r["strategies"].items()} for r in map(json.loads, lines)}

    assert numbers("all") == numbers("part1", "part2")
    assert corpus_command("--report", tmp_path / "part1", tmp_path / "part2").stdout == whole.stdout
    assert "| complements | " in whole.stdout


def test_command__another_binary__beside_the_first(tmp_path):
    r = corpus_command("reported/2x2/3-4-7/fill", "--seeds", "0", "--strategies", "fgd,binpack,old:fgd", "--other", f"old={BINARY}", "-j", "1",
                       "--out", tmp_path / "x")
    assert r.returncode == 0, r.stderr
    cells = json.loads((tmp_path / "x").read_text())["strategies"]
    assert list(cells) == ["fgd", "binpack", "old:fgd"] and cells["fgd"]["loss"] == cells["old:fgd"]["loss"]
    r = corpus_command("reported", "--strategies", "new:fgd", "--other", f"old={BINARY}")
    assert r.returncode == 2 and "no --other says which binary new:fgd is of" in r.stderr


def test_command__held_out__refused_without_the_commit(tmp_path):
    r = corpus_command("near-equal", "--out", tmp_path / "x")
    assert r.returncode == 2 and "held out: only --judge runs these" in r.stderr
    r = corpus_command("near-equal", "--judge", "0" * 40, "--out", tmp_path / "x")
    assert r.returncode == 2 and "check 000000000000 out, and leave nothing changed" in r.stderr
    assert not (tmp_path / "x").exists()


# ---- the judgement ----

def judged(case, losses, start=False):
    """{seed: record}: losses of (rsp, binpack, fgd) by seed."""
    return {case: {seed: {"case": case, "family": "f", "start": start, "fill": False,
                          "strategies": {n: {"loss": v} for n, v in zip(("rsp", "binpack", "fgd"), of_seed)}}
                   for seed, of_seed in enumerate(losses)}}


def test_judge__surely_worse_beside_the_best_of_the_first_half__named():
    noise = [0.01, -0.01, 0.02, -0.02, 0.0] * 2
    worse = judged("worse", [(2 + n, 1, 3) for n in noise])
    # binpack is best on the first half only: the second half does not choose again.
    chosen = judged("chosen", [(2, 1, 3)] * 5 + [(2, 2.5, 0)] * 5)
    within = judged("within", [(1.2 + n, 1, 3) for n in noise])
    noisy = judged("noisy", [(1 + 5 * (i % 2), 1, 9) for i in range(10)])
    assert tables.judge(worse | chosen | within | noisy, "rsp") == {"worse"}


def test_judge__first_hours__by_their_mean():
    lost, won = judged("lost", [(3, 1, 3)] * 4, start=True), judged("won", [(0, 2, 3)] * 4, start=True)
    assert tables.judge(lost | won, "rsp") == set()
    assert tables.judge(lost | judged("won", [(0.5, 2, 3)] * 4, start=True) | judged("even", [(1, 1, 3)] * 4), "rsp") == set()
    assert tables.judge(lost, "rsp") == {"the first hours"}


# ---- statistics ----

def test_student__values_of_the_tables():
    for freedom, t, p in [(9, 1.833113, 0.05), (9, 2.821438, 0.01), (4, 2.131847, 0.05), (1, 1.0, 0.25), (30, 2.042272, 0.025), (9, 0, 0.5)]:
        assert statistics_of.t_above(t, freedom) == pytest.approx(p, abs=1e-6)
        assert statistics_of.t_above(-t, freedom) == pytest.approx(1 - p, abs=1e-6)
    assert statistics_of.p_above([0.3] * 5, 0.3) == 1 and statistics_of.p_above([0.4] * 5, 0.3) == 0
    assert statistics_of.p_above([1.0], 0.3) == 1  # one value proves nothing


def test_holm__steps_down_and_stops():
    assert statistics_of.holm({"a": 0.01, "b": 0.02, "c": 0.2}) == {"a", "b"}
    assert statistics_of.holm({"a": 0.02, "b": 0.02, "c": 0.02}) == set()
