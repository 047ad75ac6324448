"""Tables of what the corpus gave: lines of JSON, joined from as many runs as there are."""
import collections
import json
import math

from statistics_of import holm, mean, p_above, standard_error

SIMPLE = ["binpack", "tight-fit", "best-fit", "fgd"]
GAP_MIN = 0.05      # points; less is as good as the bound
MARGIN = 0.3        # points; less is no loss
ERROR_MAX = 0.2     # points; above it a case needs longer runs or more seeds


def read(paths):
    """{case: {seed: record}}; a record that comes twice counts once. Runs that cannot be compared are refused."""
    ret, kinds = collections.defaultdict(dict), set()
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                r = json.loads(line)
                ret[r["case"]][r["seed"]] = r
                kinds.add((r["version"], r["key"], r["length"], r["mix"], tuple(sorted(r["strategies"]))))
    if len(kinds) > 1:
        raise SystemExit("packing-corpus: these runs differ in more than cases and seeds and make no common table:\n"
                         + "\n".join(f"  {' '.join(map(str, k))}" for k in sorted(kinds)))
    return ret


def losses(runs, strategy):
    """By seed, in the order of the seeds."""
    return [runs[s]["strategies"][strategy]["loss"] for s in sorted(runs)]


def simple_of(runs):
    """Of whichever binary."""
    return [s for s in next(iter(runs.values()))["strategies"] if s.rpartition(":")[2] in SIMPLE]


def best_simple(runs):
    return min(simple_of(runs), key=lambda s: mean(losses(runs, s)))


def compared(runs, default):
    """(the best simple strategy, how much worse the default is in the mean, its standard error)"""
    best = best_simple(runs)
    differences = [a - b for a, b in zip(losses(runs, default), losses(runs, best))]
    return best, mean(differences), standard_error(differences)


def families(results):
    """{(family, fill?): {case: runs}} in the order of the corpus."""
    ret = {}
    for case, runs in results.items():
        r = next(iter(runs.values()))
        ret.setdefault((r["family"], r["fill"]), {})[case] = runs
    return ret


def mean_of(cases, strategy, key="loss"):
    return mean([mean([r["strategies"][strategy][key] for r in runs.values()]) for runs in cases.values()])


def bound_of(cases, key="loss"):
    """The mean; None where a case has no bound."""
    of_cases = [[r["bound"][key] for r in runs.values() if r.get("bound")] for runs in cases.values()]
    return mean([mean(b) for b in of_cases]) if all(of_cases) else None


def shown(value):
    return "-" if value is None else f"{value:.2f}"


def print_gaps(results, default):
    """How far each strategy is from the bound, over the cases where somebody is."""
    sums, n = collections.Counter(), 0
    for case, runs in results.items():
        bound = bound_of({case: runs})
        if bound is None:
            continue
        gaps = {s: max(0.0, mean(losses(runs, s)) - bound) for s in next(iter(runs.values()))["strategies"]}
        if max(gaps.values()) > GAP_MIN:
            n += 1
            sums.update(gaps)
    if n == 0:
        return
    print(f"\nGap to the bound, summed over {n} cases in which somebody has one: " + ", ".join(f"{s} {v:.1f}" for s, v in sums.items()))
    others = [s for s in sums if s != default]
    if others:
        best = min(others, key=sums.get)
        closer = 100 * (1 - sums[default] / sums[best])
        print(f"{default} is {abs(closer):.1f} % {'closer to' if closer >= 0 else 'farther from'} it than {best}, the best other single strategy.")


def row(cells):
    print("| " + " | ".join(cells) + " |")


def header(cells):
    row(cells)
    print("|" + "---|" * len(cells))


def comparison_of(cases, default):
    all_of = [compared(runs, default) for runs in cases.values()]
    return [f"{mean([mean(losses(runs, best)) for runs, (best, _, _) in zip(cases.values(), all_of)]):.2f}",
            f"{sum(d > MARGIN for _, d, _ in all_of)}", f"{max(d for _, d, _ in all_of):+.2f}",
            f"{sum(not e <= ERROR_MAX for _, _, e in all_of)}"]


COMPARISON = ["best simple of each case", f"cases worse by {MARGIN}", "worst by", "cases unsure"]


def print_family_rows(results, default, fill, write, bound):
    chosen = {k: c for k, c in families(results).items() if k[1] == fill}
    names = list(next(iter(next(iter(results.values())).values()))["strategies"])
    everything = {case: runs for cases in chosen.values() for case, runs in cases.items()}
    header(["family", "cases", "bound", *names, *COMPARISON])
    for (family, _), cases in [*chosen.items(), (("**all**", fill), everything)]:
        row([family, str(len(cases)), bound(cases), *[write(cases, n) for n in names], *comparison_of(cases, default)])


def print_all(results, default):
    if any(not f for _, f in families(results)):
        print("\nIn use: GPU demand refused, % of what arrived after the warm-up\n")
        print_family_rows(results, default, False, lambda c, n: f"{mean_of(c, n):.2f}", lambda c: shown(bound_of(c)))
    if any(f for _, f in families(results)):
        print("\nFilling up: GPUs allocated (%) when 100 % and 130 % had been asked for; compared by the mean of what is then idle\n")
        print_family_rows(results, default, True, lambda c, n: f"{mean_of(c, n, 'a100'):.2f} / {mean_of(c, n, 'a130'):.2f}",
                          lambda c: f"{shown(bound_of(c, 'a100'))} / {shown(bound_of(c, 'a130'))}")
    print_gaps(results, default)
    print(f"\nCompared is {default}. Cases unsure: the standard error of the difference, over the seeds, is above {ERROR_MAX} points. The\n"
          "best simple strategy is chosen after the fact here, which flatters it where seeds are few; a judgement chooses on other seeds.")


def print_cases(results, default, n):
    all_of = sorted(((compared(runs, default), case, runs) for case, runs in results.items()), key=lambda c: -c[0][1])
    print(f"\nCases where {default} is worst beside the best simple strategy\n")
    header(["case", "seeds", default, "best simple", "", "worse by", "standard error"])
    for (best, difference, error), case, runs in all_of[:n]:
        row([case, str(len(runs)), f"{mean(losses(runs, default)):.2f}", best, f"{mean(losses(runs, best)):.2f}", f"{difference:+.2f}",
             "-" if math.isinf(error) else f"{error:.2f}"])


def split(case, runs):
    """(first half of the seeds, second half)"""
    seeds = sorted(runs)
    if len(seeds) < 2:
        raise SystemExit(f"packing-corpus: {case} has one seed; a judgement needs two at least, and twenty are meant")
    return [{s: runs[s] for s in part} for part in (seeds[:len(seeds) // 2], seeds[len(seeds) // 2:])]


def judge(results, default):
    """The best simple strategy is chosen on the first half of the seeds and compared on the others. Returns the cases in
    which the default is surely more than MARGIN worse; "the first hours" is the mean of all cases of the first hour."""
    differences, best = {}, {}
    for case, runs in results.items():
        first, second = split(case, runs)
        best[case] = best_simple(first)
        differences[case] = [a - b for a, b in zip(losses(second, default), losses(second, best[case]))]
    starts = {case for case, runs in results.items() if next(iter(runs.values()))["start"]}
    rest = [case for case in results if case not in starts]
    rejected = holm({case: p_above(differences[case], MARGIN) for case in rest})
    unsure = sum(not standard_error(differences[case]) <= ERROR_MAX for case in rest)
    print(f"\nJudgement of {default}: {len(rest)} cases, in {len(rejected)} surely more than {MARGIN} points worse (one-sided 5 %, Holm); "
          f"{unsure} cases with a standard error above {ERROR_MAX}\n")
    for case in sorted(rejected, key=lambda c: -mean(differences[c])):
        print(f"  {case}: {mean(differences[case]):+.2f} ({standard_error(differences[case]):.2f}) beside {best[case]}")
    if starts:
        of_starts = mean([mean(differences[case]) for case in starts])
        print(f"  the first hours of {len(starts)} cases: {of_starts:+.2f} in the mean")
        rejected |= {"the first hours"} if of_starts > MARGIN else set()
    return rejected
