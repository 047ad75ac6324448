"""Runs one case of the corpus under several strategies, by `fgpu sim`. Every strategy sees the same pods."""
import csv
import json
import pathlib
import subprocess
import tempfile

import bounds
import draw


class SimFailed(Exception):
    pass


def write_case(case, key, seed, folder, length=1.0):
    """Writes what fgpu sim reads; returns (machines, rows, stays, warm_up_ms)."""
    machines = draw.write_nodes(case, folder / "nodes.csv")
    rows = draw.draw_pods(case, key)
    draw.write_pods(rows, folder / "pods.csv")
    of_seed = f"{key}|{seed}"
    stays, warm_up_ms = (draw.draw_fill(case, rows, of_seed), 0) if case.is_fill else draw.draw_stays(case, rows, of_seed, length)
    draw.write_stays(stays, folder / "stays.csv")
    return machines, rows, stays, warm_up_ms


def sim_all(binaries, folder, strategies, warm_up_ms, mix, placements=None):
    """({strategy: cell}, {strategy: placements, if wanted}). "old:rsp" is the rsp of the binary called old."""
    cells, places = {}, {}
    for label, binary in binaries.items():
        names = {s: s.rpartition(":")[2] for s in strategies if s.rpartition(":")[0] == label}
        if names:
            got = sim(binary, folder, names.values(), warm_up_ms, mix, placements)
            cells |= {s: got[name] for s, name in names.items()}
            there = read_placements(placements) if placements else {}
            places |= {s: there[name] for s, name in names.items() if name in there}
    return {s: cells[s] for s in strategies}, places


def sim(binary, folder, strategies, warm_up_ms, mix, placements=None, scores=None, seconds_max=None):
    command = [binary, "sim", "--mode", "timed", "--nodes", folder / "nodes.csv", "--pods", folder / "pods.csv", "--arrivals",
               folder / "stays.csv", "--strategy", ",".join(strategies), "--warm-up", warm_up_ms, "--mix", mix, "--jobs", 1, "-o", "json"]
    command += ["--placements", placements] if placements else []
    command += ["--scores", scores] if scores else []
    r = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds_max)
    if r.returncode != 0:
        raise SimFailed(r.stderr.strip())
    return json.loads(r.stdout)["strategies"]


def read_placements(path):
    """{strategy: [(node, [device]) or None, of each arrival]}"""
    ret = {}
    with open(path, encoding="utf-8", newline="") as f:
        for r in csv.DictReader(f):
            place = (int(r["node"]), [int(d) for d in r["devices"].split("|") if d]) if r["node"] else None
            ret.setdefault(r["strategy"], []).append(place)
    return ret


def fill_numbers(rows, stays, places, capacity):
    """a100 and a130: allocated % when 100 % and 130 % have been asked for. The mean over the arrivals at which the % asked for,
    rounded, is that number; where there is none, because a pod is more than 1 % of the cluster, at the last arrival before."""
    asked = placed = 0
    records = []
    for (_, _, row), place in zip(stays, places):
        asked += rows[row].counts
        placed += rows[row].counts if place is not None else 0
        records.append((100 * asked / capacity, 100 * placed / capacity))

    def at(percent):
        there = [p for a, p in records if round(a) == percent] or [p for a, p in records if a < percent][-1:]
        return sum(there) / len(there) if there else 0.0

    return {"a100": at(100), "a130": at(130)}


def bound_of(case, rows, stays, warm_up_ms, moments):
    """The least that any strategy could lose; None: not known. See bounds.py."""
    if case.is_fill:
        most = bounds.of_fill(case, rows, stays)
        return most | {"loss": 100 - (most["a100"] + most["a130"]) / 2}
    return None if case.life in draw.LIFE_BY_SIZE else {"loss": bounds.of_refused(case, rows, stays, warm_up_ms, moments)}


def run(case, key, seed, strategies, binaries, length=1.0, mix="learned", moments=0):
    """Numbers of each strategy, and with `moments` the bound; "loss" is what the tables compare: refused %, or when filling up the
    % of the GPUs that are not allocated, the mean of 100 - a100 and 100 - a130. `binaries`: {label: path}, "" the one that is tried."""
    with tempfile.TemporaryDirectory(prefix="packing-corpus-") as name:
        folder = pathlib.Path(name)
        _, rows, stays, warm_up_ms = write_case(case, key, seed, folder, length)
        cells, places = sim_all(binaries, folder, strategies, warm_up_ms, mix, folder / "placements.csv" if case.is_fill else None)
        numbers = {s: {"us": round(c["ns_per_decision"] / 1000, 1)} for s, c in cells.items()}
        if case.is_fill:
            for s, placed in places.items():
                numbers[s] |= fill_numbers(rows, stays, placed, 1000 * draw.gpu_count(case))
                numbers[s]["loss"] = 100 - (numbers[s]["a100"] + numbers[s]["a130"]) / 2
        else:
            for s, c in cells.items():
                numbers[s] |= {"loss": c["refused_pct"], "allocated": c["allocation_pct"]}
        bound = bound_of(case, rows, stays, warm_up_ms, moments) if moments else None
        return {"case": case.name, "family": case.family, "set": case.set, "fill": case.is_fill, "start": case.start, "seed": seed,
                "mix": mix, "length": length, "arrivals": len(stays), "bound": bound, "strategies": numbers}
