"""Results of the corpus, small enough to be kept: what each strategy lost in each run, and how little any could have lost in a case."""
import concurrent.futures
import functools
import json
import time

import corpus
import draw
import moving
import notation
import replay
import statistics_of
import tables

MOMENTS = 12
LINEAR, MOVING = "linear program", "moving"


@functools.cache
def cases_by_name():
    return {c.name: c for c in corpus.cases(corpus.TUNING) + corpus.cases(corpus.JUDGING)}


def case_named(name):
    return cases_by_name()[name]


# ---- the bound ----

def by_linear_program(case, key, seed, length):
    rows, of_seed = draw.draw_pods(case, key), f"{key}|{seed}"
    stays, warm_up_ms = (draw.draw_fill(case, rows, of_seed), 0) if case.is_fill else draw.draw_stays(case, rows, of_seed, length)
    bound = replay.bound_of(case, rows, stays, warm_up_ms, MOMENTS)
    return None if bound is None else bound["loss"]


def bound_of(name, key, seeds, length):
    """[how little any strategy could lose, how that is known]; None: it is not. In use, who may move and refuse must lose more than the
    linear program says, if no kinds of pods were put together for that and cores are no matter; else the larger number is the bound."""
    case = case_named(name)
    moved, exact = moving.refused(case, key) or (None, False)
    nearer = exact and all(g.cores_per_gpu >= notation.CORES_PER_GPU for g in case.shape)
    found = [] if nearer else [by_linear_program(case, key, s, length) for s in seeds]
    known = [] if not found or None in found else [(statistics_of.mean(found), LINEAR)]
    known += [] if moved is None else [(moved, MOVING)]
    if not known:
        return None
    value, how = max(known, key=lambda k: k[0])
    return [round(value, 3), how]


def bounds_of(names, key, seeds, length, processes, say):
    """{name: bound_of}; the longest first, so that all processes end together."""
    names, ret, said = sorted(names, key=lambda n: -draw.gpu_count(case_named(n))), {}, time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        running = {pool.submit(bound_of, n, key, list(seeds), length): n for n in names}
        for done in concurrent.futures.as_completed(running):
            ret[running[done]] = done.result()
            if time.monotonic() - said > 10:
                said = time.monotonic()
                say(f"how little any strategy could lose: {len(ret)} of {len(names)} cases")
    return ret


# ---- the small form ----

def condensed(results, head, before, processes=None, say=print):
    """`results`: as tables.read gives them. Bounds are taken from `before`, the small form of the same pods, where it has them: they
    do not depend on strategies."""
    one = next(iter(next(iter(results.values())).values()))
    seeds = sorted({s for runs in results.values() for s in runs})
    if any(sorted(runs) != seeds for runs in results.values()):
        raise SystemExit("packing-guide: not every case has every seed; run the same packing-corpus again, it goes on where it stopped")
    head = {"date": head["date"], "command": head["command"], "version": one["version"], "key": one["key"], "mix": one["mix"],
            "length": one["length"], "seeds": seeds, "strategies": list(one["strategies"])}
    same = before is not None and all(before[k] == head[k] for k in ("key", "length", "seeds"))
    known = {n: c["bound"] for n, c in before["cases"].items()} if same else {}
    known |= bounds_of([n for n in results if n not in known], head["key"], seeds, head["length"], processes, say)
    cases = {name: {"bound": known[name],
                    "loss": {s: [round(v, 3) for v in tables.losses(runs, s)] for s in head["strategies"]}}
             for name, runs in results.items()}
    return head | {"cases": {name: cases[name] for name in ordered(cases)}}


def ordered(names):
    """As the corpus has them."""
    place = {name: i for i, name in enumerate(cases_by_name())}
    return sorted(names, key=place.__getitem__)


def as_text(small):
    """A line for each case, so that two can be compared by diff."""
    head = [f" {json.dumps(k)}: {json.dumps(v)},\n" for k, v in small.items() if k != "cases"]
    cases = [f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in small["cases"].items()]
    return "{\n" + "".join(head) + ' "cases": {\n' + ",\n".join(cases) + "\n }\n}\n"


def expanded(small):
    """As tables.read gives them."""
    ret = {}
    for name, c in small["cases"].items():
        case, bound = case_named(name), c["bound"] and {"loss": c["bound"][0], "how": c["bound"][1]}
        ret[name] = {seed: {"case": name, "family": case.family, "set": case.set, "fill": case.is_fill, "start": case.start,
                            "bound": bound, "strategies": {s: {"loss": v[i]} for s, v in c["loss"].items()}}
                     for i, seed in enumerate(small["seeds"])}
    return ret
