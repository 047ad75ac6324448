#!/usr/bin/env python3
"""python3 test/packing/regret.py FAMILY SHAPE MIX LOAD STRATEGY: which placements of a strategy lose how much, as fractions 2x2 6-5 0.7 rsp

The cluster is as in optimum.py. What a placement loses is what will be refused more from then on than after the best one, if all that come
after it are the best. In the mean over a long run the sum is what the strategy refuses more than the best strategy does.
"""
import collections
import heapq
import os
import pathlib
import sys
import tempfile

import draw
import optimum
import replay


def placements(case, strategy, key, seed, length, binary):
    """(rows, stays, warm_up_ms, [(node, [device]) or None, of each arrival])"""
    with tempfile.TemporaryDirectory(prefix="packing-regret-") as name:
        folder = pathlib.Path(name)
        _, rows, stays, warm_up_ms = replay.write_case(case, key, seed, folder, length)
        replay.sim(binary, folder, [strategy], warm_up_ms, "learned", folder / "placements.csv")
        return rows, stays, warm_up_ms, replay.read_placements(folder / "placements.csv")[strategy]


def regrets(case, worth, run):
    """(offered, {(size, what was on the GPU, what was on the best one): what was lost by each}), in thousandths of a GPU."""
    rows, stays, warm_up_ms, places = run
    sizes = [s for s, _ in optimum.kinds_of(case)]
    w, gpus, leaving = optimum.Staying(sizes, 0), [(0,) * len(sizes)] * draw.gpu_count(case), []
    offered, lost = 0, collections.defaultdict(list)
    for (arrive, depart, row), place in zip(stays, places, strict=True):
        while leaving and leaving[0][0] <= arrive:
            _, g, kind = heapq.heappop(leaving)
            gpus[g] = optimum.changed(gpus[g], kind, -1)
        kind = sizes.index(rows[row].milli)
        offered += sizes[kind] if arrive >= warm_up_ms else 0
        if place is None:
            continue
        before, g = tuple(sorted(gpus)), place[0] * case.shape[0].gpus + place[1][0]
        there, gpus[g] = gpus[g], optimum.changed(gpus[g], kind, 1)
        heapq.heappush(leaving, (depart, g, kind))
        after = {on: worth[w.replaced(before, on, kind, 1)] for on in set(before) if w.used[on] + sizes[kind] <= optimum.FULL}
        best = min(after, key=after.get)
        if arrive >= warm_up_ms and after[there] > after[best]:
            lost[sizes[kind], there, best].append(after[there] - after[best])
    return offered, lost


def on_gpu(counts, sizes):
    return "+".join(f"{s / optimum.FULL:g}" for s, n in zip(sizes, counts) for _ in range(n)) or "an empty GPU"


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    case, strategy = optimum.case_of(*sys.argv[1:4], float(sys.argv[4])), sys.argv[5]
    binary = pathlib.Path(os.environ.get("FGPU_BIN", optimum.ROOT / "build" / "release" / "fgpu"))
    low, high, worth = optimum.solved(case, optimum.Staying)
    offered, lost = regrets(case, worth, placements(case, strategy, optimum.KEY, 0, 15.0, binary))
    sizes = [s for s, _ in optimum.kinds_of(case)]
    more = 100 * sum(map(sum, lost.values())) / offered
    print(f"{case.name}: the best strategy refuses {(low + high) / 2:.2f} %, {strategy} loses {more:.2f} points more:")
    for (size, there, best), each in sorted(lost.items(), key=lambda i: -sum(i[1]))[:10]:
        if 100 * sum(each) < 0.001 * offered:
            break  # less than the worths are exact
        print(f"  {100 * sum(each) / offered:.3f}  {size / optimum.FULL:g} on {on_gpu(there, sizes)}, better on {on_gpu(best, sizes)};"
              f" {len(each)} times")


if __name__ == "__main__":
    main()
