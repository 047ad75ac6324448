"""Runs one case of the corpus under several strategies, by `fgpu sim`. Every strategy sees the same pods."""
import csv
import json
import pathlib
import subprocess
import tempfile

import draw


class SimFailed(Exception):
    pass


def write_case(case, key, seed, folder, length=1.0):
    """Writes what fgpu sim reads; returns (machines, rows, stays, warm_up_ms)."""
    machines = draw.write_nodes(case, folder / "nodes.csv")
    rows = draw.draw_pods(case, key)
    draw.write_pods(rows, folder / "pods.csv")
    stays, warm_up_ms = (draw.draw_fill(case, rows, f"{key}|{seed}"), 0) if case.is_fill else draw.draw_stays(case, rows, f"{key}|{seed}", length)
    draw.write_stays(stays, folder / "stays.csv")
    return machines, rows, stays, warm_up_ms


def sim(binary, folder, strategies, warm_up_ms, mix, placements=None):
    command = [binary, "sim", "--mode", "timed", "--nodes", folder / "nodes.csv", "--pods", folder / "pods.csv", "--arrivals",
               folder / "stays.csv", "--strategy", ",".join(strategies), "--warm-up", warm_up_ms, "--mix", mix, "--jobs", 1, "-o", "json"]
    command += ["--placements", placements] if placements else []
    r = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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


def run(case, key, seed, strategies, binary, length=1.0, mix="learned"):
    """{strategy: numbers}; "loss" is what the tables compare: refused %, or when filling up the % of the GPUs that are not
    allocated, the mean of 100 - a100 and 100 - a130."""
    with tempfile.TemporaryDirectory(prefix="packing-corpus-") as name:
        folder = pathlib.Path(name)
        _, rows, stays, warm_up_ms = write_case(case, key, seed, folder, length)
        places = folder / "placements.csv" if case.is_fill else None
        cells = sim(binary, folder, strategies, warm_up_ms, mix, places)
        numbers = {s: {"us": round(c["ns_per_decision"] / 1000, 1)} for s, c in cells.items()}
        if case.is_fill:
            for s, placed in read_placements(places).items():
                numbers[s] |= fill_numbers(rows, stays, placed, 1000 * draw.gpu_count(case))
                numbers[s]["loss"] = 100 - (numbers[s]["a100"] + numbers[s]["a130"]) / 2
        else:
            for s, c in cells.items():
                numbers[s] |= {"loss": c["refused_pct"], "allocated": c["allocation_pct"]}
        return {"case": case.name, "family": case.family, "set": case.set, "fill": case.is_fill, "start": case.start, "seed": seed, "mix": mix, "length": length,
                "arrivals": len(stays), "strategies": numbers}
