"""The pictures of config/strategies.md: SVG that follows the reader's light or dark theme, in the style of scripts/plot-packing."""
import importlib.machinery
import importlib.util
import math
import pathlib

import guide
import tables
from statistics_of import mean

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def module_of(script):
    """A script of scripts/ that is written in Python."""
    name = script.replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


plot = module_of("plot-packing")
LINES = ["rsp", "tight-fit", "fgd", "binpack"]
WORST_SHOWN = 6.0  # points; above it a line leaves the picture at the top


def as_text(out):
    return "\n".join(out) + "\n</svg>\n"


# ---- every case ----

def each_case(c):
    """Per strategy all cases, from those where it is ahead of the best of the four simple ones to those where it is behind."""
    behind = {s: sorted(c.behind(runs, s)[0] for runs in c.in_use.values()) for s in LINES if s in c.names}
    low = min(math.floor(min(v)) for v in behind.values())
    high = min(WORST_SHOWN, max(math.ceil(max(v)) for v in behind.values()))
    chart = plot.Chart("Refused beyond the best of four simple strategies, in points", (0, len(c.in_use)), (low, max(high, low + 1)),
                       behind, "clusters, for each strategy from its best to its worst")
    for i, values in enumerate(behind.values()):
        shown = [(x + 0.5, v) for x, v in enumerate(values) if v <= high]
        chart.line(i, shown)
    return as_text(chart.out)


# ---- families ----

ROW, TOP, LEFT, WIDTH, RIGHT = 26, 66, 132, 760, 736


def families(c):
    """A dot for each strategy, and a bar up to the bound: what nobody can help refusing."""
    groups = {}
    for name, runs in c.in_use.items():
        groups.setdefault(c.first(runs)["family"], {})[name] = runs
    names, height = [s for s in LINES if s in c.names], TOP + ROW * len(groups) + 48
    most = math.ceil(max(c.of_strategy(g, s) for g in groups.values() for s in names))

    def at(v):
        return LEFT + (RIGHT - LEFT) * v / most

    def text(x, y, kind, words):
        out.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{plot.escape(words)}</text>')

    title = "Refused in the mean of a family of clusters (%)"
    style = plot.style_sheet().replace("</style>", ".bound{fill:#d0d7de}.dot{stroke-width:1.5;stroke:#ffffff}"
                                       + "".join(f"circle.s{i}{{fill:{a}}}" for i, (a, _, _) in enumerate(plot.STYLES))
                                       + "@media(prefers-color-scheme:dark){.bound{fill:#3d444d}.dot{stroke:#0d1117}"
                                       + "".join(f"circle.s{i}{{fill:{b}}}" for i, (_, b, _) in enumerate(plot.STYLES)) + "}</style>")
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
           f'aria-label="{title}">', style]
    text(16, 24, "title", title)
    for i, s in enumerate(names):
        out.append(f'<circle class="s{i} dot" cx="{LEFT + 110 * i}" cy="44" r="6"/>')
        text(LEFT + 110 * i + 12, 48, "name", s)
    out.append(f'<rect class="bound" x="{LEFT + 110 * len(names) - 6}" y="37" width="14" height="14"/>')
    text(LEFT + 110 * len(names) + 14, 48, "name", "no strategy can avoid this")
    for v in plot.steps(0, most):
        out.append(f'<line class="grid" x1="{at(v):.1f}" x2="{at(v):.1f}" y1="{TOP}" y2="{height - 44}"/>')
        text(at(v), height - 24, "mid", f"{v:.6g}")
    for k, (family, cases) in enumerate(groups.items()):
        y, bound = TOP + ROW * (k + 0.5), tables.bound_of(cases)
        text(LEFT - 10, y + 4, "end", family)
        if bound is not None:
            out.append(f'<rect class="bound" x="{LEFT}" y="{y - 8:.1f}" width="{at(bound) - LEFT:.1f}" height="16"/>')
        for i, s in reversed(list(enumerate(names))):
            out.append(f'<circle class="s{i} dot" cx="{at(c.of_strategy(cases, s)):.1f}" cy="{y:.1f}" r="6"/>')
    return as_text(out)


# ---- the same pods under three strategies ----

BAR, HIGH, GAP = 46, 150, 12


def placed_pods(eight):
    """`eight`: test/data/packing/eight.json. Every GPU as a column, filled from below as the pods came."""
    gpus, shares, names = eight["nodes"] * eight["gpus"], eight["milli"], list(eight["placements"])
    wide = gpus * (BAR + GAP) + 60
    width, height = 30 + wide * len(names), HIGH + 150
    title = f"The same {len(shares)} pods on {gpus} GPUs"
    style = plot.style_sheet().replace("</style>", ".gpu{fill:none;stroke:#656d76;stroke-width:1.5}.pod{fill:#5bb5f0}.out{fill:#ff8f4d}"
                                       ".pod,.out{stroke:#ffffff;stroke-width:1.5}.in{fill:#10202c;text-anchor:middle}"
                                       "@media(prefers-color-scheme:dark){.gpu{stroke:#9198a1}.pod,.out{stroke:#0d1117}"
                                       ".in{fill:#10202c}}</style>")
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
           f'aria-label="{title}">', style]

    def text(x, y, kind, words):
        out.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{plot.escape(words)}</text>')

    def box(kind, x, y, w, h, words=""):
        out.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}"/>')
        if words:
            text(x + w / 2, y + h / 2 + 4, "in", words)

    text(30, 24, "title", f"{title}, in this order: " + "  ".join(f"{m / 1000:g}" for m in shares))
    for k, name in enumerate(names):
        left, filled, refused = 30 + wide * k, [0] * gpus, []
        text(left, 58, "title", name)
        for milli, place in zip(shares, eight["placements"][name], strict=True):
            if place is None:
                refused.append(milli)
                continue
            gpu = place[0] * eight["gpus"] + place[1][0]
            filled[gpu] += milli
            box("pod", left + gpu * (BAR + GAP), 72 + HIGH * (1 - filled[gpu] / 1000), BAR, HIGH * milli / 1000, f"{milli / 1000:g}")
        for gpu in range(gpus):
            box("gpu", left + gpu * (BAR + GAP), 72, BAR, HIGH)
        text(left, 72 + HIGH + 28, "name", "refused:" if refused else "all placed")
        for i, milli in enumerate(refused):
            box("out", left + 66 + i * (BAR + 6), 72 + HIGH + 12, BAR, 26, f"{milli / 1000:g}")
        text(left, 72 + HIGH + 62, "name", f"{mean(filled) / 10:.0f} % of the GPUs are used")
    return as_text(out)


def drawn(data):
    """{file in config/pictures: text}"""
    c = guide.Corpus(data["corpus"])
    ret = {"eight-pods.svg": placed_pods(data["eight"]), "cases.svg": each_case(c), "families.svg": families(c)}
    return ret | ({"judged.svg": each_case(guide.Corpus(data["judged"]))} if data["judged"] else {})
