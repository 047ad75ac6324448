"""What config/strategies.md says in numbers: tables and sentences, each the text of a block between two markers there.

    <!-- packing-guide: NAME -->
    made from test/data/packing; whatever stands here is replaced
    <!-- end -->

Everything outside of the blocks is written by hand and says no number that a run gave.
"""
import contextlib
import io
import math
import re

import corpus
import draw
import results
import tables
from statistics_of import mean, standard_error

BEGIN, END = "<!-- packing-guide: {} -->", "<!-- end -->"
BLOCK = re.compile(r"<!-- packing-guide: (\S+) -->\n(.*?)<!-- end -->", re.S)
WORST = 8
STEADY = ["rsp", "fgd", "binpack", "best-fit", "tight-fit"]


def table(head, rows):
    lines = ["| " + " | ".join(r) + " |" for r in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def listed(parts, word="and"):
    return ", ".join(parts[:-1]) + f" {word} " + parts[-1] if len(parts) > 1 else "".join(parts)


def at_most(value):
    """Rounded up: "at most 0.7" is true."""
    return f"{math.ceil(10 * value - 1e-9) / 10:.1f}"


# ---- the corpus ----

class Corpus:
    """The runs of one set; `default` is the strategy that is compared with the others."""

    def __init__(self, small):
        self.small, self.default = small, small["strategies"][0]
        everything = results.expanded(small)
        self.in_use = {n: r for n, r in everything.items() if not self.first(r)["fill"]}
        self.filling = {n: r for n, r in everything.items() if self.first(r)["fill"]}
        self.names = [s for s in small["strategies"] if ":" not in s]
        self.older = [s for s in small["strategies"] if s.endswith(":" + self.default)]
        self.simple = [s for s in self.names if s in tables.SIMPLE]

    @staticmethod
    def first(runs):
        return next(iter(runs.values()))

    @staticmethod
    def of_strategy(cases, strategy):
        return tables.mean_of(cases, strategy)

    def best_of_each(self, cases):
        return mean([min(mean(tables.losses(runs, s)) for s in self.simple) for runs in cases.values()])

    def behind(self, runs, strategy):
        """(points behind the best of the simple ones in this case, their standard error)"""
        best = min(self.simple, key=lambda s: mean(tables.losses(runs, s)))
        differences = [a - b for a, b in zip(tables.losses(runs, strategy), tables.losses(runs, best))]
        return mean(differences), standard_error(differences)

    def beyond(self, cases, strategy, other=None):
        """(how many points more `strategy` loses than the default, or another; its standard error), over the cases"""
        both = (strategy, other or self.default)
        differences = [[a - b for a, b in zip(*(tables.losses(runs, s) for s in both))] for runs in cases.values()]
        return mean([mean(d) for d in differences]), math.sqrt(sum(standard_error(d) ** 2 for d in differences)) / len(differences)


def bound_cell(cases):
    bound = tables.bound_of(cases)
    return "-" if bound is None else f"{bound:.2f}"


def how_many(cases, how):
    return sum(bool(b) and b["how"] == how for runs in cases.values() for b in [Corpus.first(runs)["bound"]])


def cells(c, cases):
    """What each strategy refuses; bold is the least, and what is not surely more than that: within two standard errors."""
    least = min(c.names, key=lambda s: c.of_strategy(cases, s))
    more = {s: c.beyond(cases, s, least) for s in c.names}
    return [f"**{c.of_strategy(cases, s):.2f}**" if not by > 2 * error else f"{c.of_strategy(cases, s):.2f}" for s, (by, error) in more.items()]


def family_table(c, cases):
    rows, chosen = [], {}
    for name, runs in cases.items():
        chosen.setdefault(c.first(runs)["family"], {})[name] = runs
    for family, of_family in [*chosen.items(), ("all", cases)]:
        rows.append([family, str(len(of_family)), bound_cell(of_family), str(how_many(of_family, results.MOVING)),
                     *cells(c, of_family), f"{c.best_of_each(of_family):.2f}"])
    return table(["family", "cases", "bound", "of it moving", *c.names, "best of the four"], rows)


def about_bounds(c):
    moving = {n: r for n, r in c.in_use.items() if how_many({n: r}, results.MOVING)}
    linear, none = how_many(c.in_use, results.LINEAR), sum(c.first(r)["bound"] is None for r in c.in_use.values())
    text = (f"`bound` is the mean of the best bound of each case: in {len(moving)} cases it is \"may move and refuse\", "
            f"in {linear} the linear program")
    text += f"; {none} cases, where lives depend on sizes, have none, so their family has no number.\n" if none else ".\n"
    if not moving:
        return text
    more = listed([f"`{s}` {c.of_strategy(moving, s) - tables.bound_of(moving):.2f}" for s in c.names])
    return text + (f"In the {len(moving)} cases of the first kind the bound is {tables.bound_of(moving):.2f} % in the mean. So many points above it are\n"
                   f"{more}.\n")


def about_filling(c):
    if not c.filling:
        return ""
    idle = listed([f"`{s}` {c.of_strategy(c.filling, s):.2f}" for s in c.names])
    return (f"\nIn {len(c.filling)} more clusters that only filled up, so much of the GPUs was left idle, in % (the mean of what is idle\n"
            f"when the pods have asked for 100 % and for 130 %): {idle}.\n"
            f"By the linear program at least {tables.bound_of(c.filling):.2f} are idle.\n")


def about_older(c):
    ret = ""
    for s in c.older:
        commit = re.search(rf", {re.escape(s.partition(':')[0])} [^(]*\(([0-9a-f]+)", c.small["version"])
        ret += f"\nAn older `{c.default}` ({'commit ' + commit[1][:8] if commit else s}) refused {c.of_strategy(c.in_use, s):.2f} %"
        ret += (f" and left {c.of_strategy(c.filling, s):.2f} % idle" if c.filling else "") + ".\n"
    return ret


def loss_table(c):
    """How often each is behind, and how far."""
    rows = []
    for s in c.names:
        of_cases = [c.behind(runs, s) for runs in c.in_use.values()]
        more, error = c.beyond(c.in_use, s)
        rows.append([s, f"{c.of_strategy(c.in_use, s):.2f}", "" if s == c.default else f"{more:+.2f} ± {error:.2f}",
                     str(sum(d > tables.MARGIN for d, _ in of_cases)), str(sum(d - 2 * e > tables.MARGIN for d, e in of_cases)),
                     f"{max(d for d, _ in of_cases):.1f}"])
    return table(["strategy", "refused", f"more than {c.default} by", f"cases behind by {tables.MARGIN}", "surely", "worst, by"], rows)


def by_size_and_load(c):
    """{what an administrator knows of a cluster: cases}"""
    def gpus(case):
        return draw.gpu_count(case)

    kinds = [("up to 10 GPUs", lambda k: gpus(k) <= 10), ("11 to 40 GPUs", lambda k: 10 < gpus(k) <= 40),
             ("41 to 400 GPUs", lambda k: 40 < gpus(k) <= 400), ("more than 400 GPUs", lambda k: gpus(k) > 400),
             ("at most half of the GPUs asked for", lambda k: k.load <= 0.5),
             ("more than that, at most 85 %", lambda k: 0.5 < k.load <= 0.85),
             ("more than that, at most 100 %", lambda k: 0.85 < k.load <= 1), ("more than there are", lambda k: k.load > 1)]
    found = {title: {n: r for n, r in c.in_use.items() if belongs(results.case_named(n))} for title, belongs in kinds}
    return {title: cases for title, cases in found.items() if cases}


def suits_table(c):
    rows = [[title, str(len(cases)), bound_cell(cases), *cells(c, cases), f"{c.best_of_each(cases):.2f}"]
            for title, cases in by_size_and_load(c).items()]
    return table(["clusters", "cases", "bound", *c.names, "best of the four"], rows)


def suits_block(c):
    better = []
    for title, cases in by_size_and_load(c).items():
        best = min(c.simple, key=lambda s: c.of_strategy(cases, s))
        more, error = c.beyond(cases, best)
        if more < -0.005:
            better.append(f"{title} (`{best}` by {-more:.2f} ± {error:.2f})")
    return suits_table(c) + "\n\n" + (f"Another strategy than `{c.default}` refuses less in: {listed(better)}.\n" if better else
                                    f"In no row another strategy refuses less than `{c.default}`.\n")


def worst_table(c):
    behind = {name: c.behind(runs, c.default) for name, runs in c.in_use.items()}
    rows = []
    for name in sorted(behind, key=lambda n: -behind[n][0])[:WORST]:
        runs, (by, error) = c.in_use[name], behind[name]
        best = min(c.simple, key=lambda s: mean(tables.losses(runs, s)))
        rows.append([f"`{name}`", bound_cell({name: runs}), f"{mean(tables.losses(runs, c.default)):.2f}",
                     f"{mean(tables.losses(runs, best)):.2f} {best}", f"{by:.2f} ± {error:.2f}"])
    return table(["case", "bound", c.default, "best of the four", "behind by"], rows)


def about_families(c):
    """Where another strategy has the better mean."""
    better, families = [], {}
    for name, runs in c.in_use.items():
        families.setdefault(c.first(runs)["family"], {})[name] = runs
    for family, cases in families.items():
        best = min(c.simple, key=lambda s: c.of_strategy(cases, s))
        more, error = c.beyond(cases, best)
        if more < -0.005:
            better.append(f"{family} (`{best}` by {-more:.2f} ± {error:.2f})")
    if not better:
        return f"In no family another strategy refuses less than `{c.default}` in the mean.\n"
    none = len(families) - len(better)
    return (f"In {none} of {len(families)} families no other strategy refuses less than `{c.default}` in the mean. In the others\none does: {listed(better)}.\n")


def corpus_block(c):
    return (f"{family_table(c, c.in_use)}\n\n{about_bounds(c)}{about_filling(c)}{about_older(c)}"
            f"\n{loss_table(c)}\n\n{about_families(c)}")


def judgement_of(c):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        tables.print_gaps(c.in_use, c.default)
        tables.print_gaps(c.filling, c.default)
        tables.judge(c.in_use | c.filling, c.default)
    return "```text\n" + re.sub(r"\n\n+", "\n", out.getvalue()).strip() + "\n```\n"


def commit_of(small):
    return re.search(r"\(([0-9a-f]+)", small["version"])[1]


def family_of(name):
    return results.case_named(name).family


def part_of(small, belongs):
    """Some of its cases."""
    return small | {"cases": {n: c for n, c in small["cases"].items() if belongs(n)}}


def about_tuned_since(small):
    """Which of its families may not judge again."""
    of_family = {}
    for n in small["cases"]:
        of_family.setdefault(family_of(n), []).append(results.case_named(n).set == corpus.TUNING)
    tuned = [f"`{f}`" if all(t) else f"{sum(t)} of the {len(t)} cases of `{f}`" for f, t in of_family.items() if any(t)]
    return f"Since then these are for tuning, and judge no more: {listed(tuned)}.\n" if tuned else ""


def about_judgement(small):
    return (f"Judged was commit {commit_of(small)}, on {small['date']}, with {len(small['seeds'])} runs of each case.\n"
            f"{about_tuned_since(small)}\n")


def about_first_time(small, earlier):
    """What the families say that no earlier judgement had shown, alone; and the others."""
    seen = {family_of(n) for e in earlier for n in e["cases"]}
    first, again = (Corpus(part_of(small, lambda n, old=old: (family_of(n) in seen) == old)) for old in (False, True))
    if not seen or not first.in_use:
        return ""
    rows = [[title, str(len(c.in_use)), bound_cell(c.in_use), *cells(c, c.in_use), f"{c.best_of_each(c.in_use):.2f}"]
            for title, c in (("judged for the first time", first), ("judged before, with other pods", again)) if c.in_use]
    return (f"\nFamilies that an earlier judgement had shown already say less than those that are new:\n\n"
            f"{table(['families', 'cases', 'bound', *first.names, 'best of the four'], rows)}\n\n"
            f"The judgement by those alone that were judged for the first time:\n\n{judgement_of(first)}")


def judged_block(small, earlier=()):
    if small is None:
        return "These clusters have not been run: they wait for the judgement.\n"
    c = Corpus(small)
    return (f"{about_judgement(small)}{corpus_block(c)}"
            f"\n{suits_block(c)}\nWhere `{c.default}` is most behind:\n\n{worst_table(c)}\n\n{judgement_of(c)}{about_first_time(small, earlier)}"
            "\n![Refused in each judged cluster, beside the best of four strategies](pictures/judged.svg)\n")


def earlier_block(earlier):
    """In short: all of their numbers are in test/data/packing."""
    of_each = [(small, Corpus(small)) for small in earlier]
    return "\n".join(f"{about_judgement(small)}{family_table(c, c.in_use)}\n{about_filling(c)}\n{loss_table(c)}\n\n{judgement_of(c)}"
                     for small, c in of_each) or "There is none.\n"


# ---- the best possible strategy ----

def possible_block(readme):
    """From the table of test/packing/README.md."""
    text = readme.split("| mix, machines, load |", 1)[1].split("\n\n", 1)[0].splitlines()
    names = [n.strip(" `") for n in text[0].split("|")[5:-1]]
    beyond = {n: [] for n in names}
    for line in text[2:]:
        cells = [x.strip() for x in line.strip("|").split("|")]
        if cells[4]:
            for n, cell in zip(names, cells[6:]):
                beyond[n].append(float(cell.split(" ")[0]) - float(cells[4]))
    worst = listed([f"`{n}` {at_most(max(v))}" for n, v in sorted(beyond.items(), key=lambda b: max(b[1]))])
    clusters = len(next(iter(beyond.values())))
    return (f"On a few GPUs [the best possible strategy](../test/packing/README.md) that moves nothing and refuses nothing that fits can\n"
            f"be computed. In {clusters} such clusters these refuse at most so many points more than it:\n{worst}.\n")


# ---- the trace ----

def average(cells, strategy, key):
    return mean([c[strategy][key] for c in cells.values()])


def name_in_guide(strategy):
    known, given = strategy.partition(" ")[0], strategy.endswith("(given)")
    return f"{known}, mix {'given' if given else 'learned'}" if known in ("rsp", "fgd") else known


def openb_fill_block(seven):
    fill = seven["fill"]
    by_a130 = sorted(fill["default"], key=lambda n: -average(fill, n, "a130"))
    rows = [[name_in_guide(n), f"{average(fill, n, 'a100'):.2f}", f"{average(fill, n, 'a130'):.2f}", f"{fill['default'][n]['a130']:.2f}",
             f"{fill['gpuspec33'][n]['a100']:.2f}"] for n in sorted(by_a130, key=lambda n: -average(fill, n, "a100"))]
    better = sum(all(c["rsp"][k] > c["fgd"][k] for k in ("a100", "a130", "refused_1pp_pct")) for c in fill.values())
    return (table(["strategy", "a100", "a130", "default a130", "gpuspec33 a100"], rows)
            + f"\n\nIn {better} of the {len(fill)} workloads `rsp` is better than `fgd` in a100, in a130, and in how much the pods had asked for\n"
              f"when the first 1 % of the GPUs had been refused (mean {average(fill, 'rsp', 'refused_1pp_pct'):.1f} % against "
              f"{average(fill, 'fgd', 'refused_1pp_pct'):.1f} %, mix learned).\n")


def openb_steady_block(seven):
    rows = [[w, *(f"{c[s]['refused_pct']:.2f}" for s in STEADY)] for w, c in seven["steady"].items()]
    behind = [f"{w} (`{best}`)" for w, c in seven["steady"].items()
              if (best := min(STEADY, key=lambda s: c[s]["refused_pct"])) != "rsp"]
    return table(["workload", *STEADY], rows) + "\n\n" + \
        (f"Another strategy than `rsp` refuses least in {listed(behind)}.\n" if behind else "`rsp` refuses least in each of them.\n")


def derived_block(more):
    keys = ("a100", "a130", "refused_1pp_pct")
    rows = [[w, *(f"{c[s][k]:.2f}" for k in keys for s in ("fgd", "rsp"))] for w, c in more["fill"].items()]
    behind = [f"{w} ({k.replace('refused_1pp_pct', '1 %')})" for w, c in more["fill"].items() for k in keys if c["rsp"][k] < c["fgd"][k]]
    in_use = listed([f"{c['rsp']['refused_pct']:.2f} % of {w} (`fgd` {c['fgd']['refused_pct']:.2f})" for w, c in more["steady"].items()])
    return (table(["workload", "fgd a100", "rsp a100", "fgd a130", "rsp a130", "fgd 1 %", "rsp 1 %"], rows)
            + "\n\n" + (f"`rsp` is behind `fgd` in {listed(behind)}." if behind else "`rsp` is behind `fgd` in none of these.")
            + f"\nIn use (`--mode steady`, one run each) `rsp` refuses {in_use}.\n")


def times_block(seven):
    def span(names):
        us = [c[n]["ns_per_decision"] / 1000 for c in seven["fill"].values() for n in names]
        return f"{min(us):,.0f} to {max(us):,.0f} us"

    rest = [n for n in seven["fill"]["default"] if n.partition(" ")[0] not in ("rsp", "fgd")]
    of_default = seven["fill"]["default"]["rsp"]["ns_per_decision"] / 1000
    return (f"A replay over 1,213 nodes, mix learned, takes `rsp` {span(['rsp'])} for a decision ({of_default:.0f} us in the workload default),\n"
            f"`fgd` {span(['fgd'])}, and the strategies that do not learn {span(rest)}.\n")


# ---- the guide ----

def blocks(data):
    """{name: text}; `data`: what is in test/data/packing, see scripts/packing-guide."""
    c = Corpus(data["corpus"])
    return {"corpus": corpus_block(c), "suits": suits_block(c), "worst": worst_table(c) + "\n", "judged": judged_block(data["judged"], data["earlier"]),
            "earlier": earlier_block(data["earlier"]),
            "possible": possible_block(data["readme"]), "openb-fill": openb_fill_block(data["workloads"]),
            "openb-steady": openb_steady_block(data["workloads"]), "derived": derived_block(data["derived"]),
            "times": times_block(data["workloads"])}


def written(text, made):
    """The guide with its blocks made anew."""
    if missing := sorted(set(made) - {m[1] for m in BLOCK.finditer(text)}):
        raise SystemExit(f"packing-guide: the guide has no block for {', '.join(missing)}; one is {BEGIN.format(missing[0])} ... {END}")
    if unknown := sorted({m[1] for m in BLOCK.finditer(text)} - set(made)):
        raise SystemExit(f"packing-guide: the guide has a block {unknown[0]}, and nothing makes such a block")
    return BLOCK.sub(lambda m: f"{BEGIN.format(m[1])}\n{made[m[1]]}{END}", text)
