"""The corpus of clusters: families of cases, and which of them are held out. README.md explains what each family is about.

A family is a cross product of shapes, mixes, loads and life times, of which a part is taken that depends on names alone; where a pod
of the mix could run on no machine, there is no case. Nothing of a held-out family may be looked at while a strategy is tuned: no family for
tuning has its mixes or its shapes.
"""
import dataclasses
import functools
import hashlib
import itertools
import math

import notation

TUNING, JUDGING = "tuning", "judging"


@dataclasses.dataclass(frozen=True)
class Case:
    family: str
    set: str
    name: str          # family/shape/mix/load/life; "fill" stands for a load
    shape_text: str
    mix_text: str
    night_text: str    # what comes by night, or in a campaign; "": the same mix always
    load: float        # offered demand as a part of all GPUs; 0: fill
    life: str
    coming: str        # "poisson", "jobs", "replicas", "sweeps", "shift", "drift", "growth", "campaign"
    start: bool        # measured from the first pod on
    memory_only: str

    @functools.cached_property
    def shape(self):
        return notation.parse_shape(self.shape_text)

    @functools.cached_property
    def mix(self):
        return notation.parse_mix(self.mix_text)

    @functools.cached_property
    def night(self):
        return notation.parse_mix(self.night_text) if self.night_text else None

    @property
    def period(self):
        """Of day and night, or from one campaign to the next, in mean life times."""
        return {"drift": 16.0, "campaign": 7.0}.get(self.coming, 6.0)

    @property
    def is_fill(self):
        return self.load == 0

    def times(self, rate, length):
        """(warm-up, measured) in mean life times, when `rate` pods come in one."""
        if self.start:
            return 0.0, 1.0
        measured = length * max(4.0 if rate < 8000 else 1.0, 3000 / rate)
        if self.night is not None:
            measured = self.period * math.ceil(measured / self.period)
        return (2.0 if rate < 8000 else 1.0), measured


@dataclasses.dataclass(frozen=True)
class Family:
    name: str
    set: str
    about: str
    shapes: dict
    mixes: dict                    # name: mix, or (by day, by night), or (always, in a campaign)
    loads: tuple = (0.5, 0.7, 0.85, 1.0, 1.3)
    lives: tuple = ("exponential",)
    take: int = 10**6              # of the product
    coming: str = "poisson"
    start: bool = False
    memory_only: str = "share"
    tuned: tuple = ()              # mixes that families for tuning have by now: such cases are for tuning, too

    def cases(self):
        product = [self.case(*c) for c in itertools.product(self.shapes, self.mixes, self.loads, self.lives)]
        product = [c for c in product if all(fits(a, c.shape) for a in c.mix + (c.night or []))]
        by_chance = sorted(product, key=lambda c: hashlib.sha256(c.name.encode()).digest())[:self.take]
        return [c for c in product if c in by_chance]

    def case(self, shape, mix, load, life):
        day, night = self.mixes[mix] if isinstance(self.mixes[mix], tuple) else (self.mixes[mix], "")
        parts = [self.name, shape, mix, "fill"] if load == 0 else [self.name, shape, mix, f"{load:g}", life]
        of_set = TUNING if mix in self.tuned else self.set
        return Case(self.name, of_set, "/".join(parts), self.shapes[shape], day, night, load, life, self.coming, self.start,
                    self.memory_only)


def fits(ask, shape):
    """Could every such pod run on some machine, were it empty?"""
    machines = [g for g in shape if not ask.cards or g.card in ask.cards]
    if ask.profile:
        return any(ask.profile in g.mig.split("|") for g in machines)
    return any(ask.gpus <= g.gpus and ask.gib[1] * notation.GIB <= g.gpu_mib and (not g.mig or ask.share == (0, 0)) for g in machines)


def alike(*shapes):
    """Shapes named by their machines: "10x4:a10" is 10x4."""
    return {s.partition(":")[0]: s for s in shapes}


FILL = (0,)
SMALL = alike("2x2:t4", "2x4:a10", "4x8:a100-40", "10x4:a10", "40x8:a100-80")

FAMILIES = [
    # ---- for tuning ----
    Family("whole", TUNING, "whole GPUs and machines", SMALL,
           {"1-2": "3*1 1*2", "1-2-4": "4*1 2*2 1*4", "1-4": "1*1 1*4", "1-2-4-8": "8*1 4*2 2*4 1*8"}, take=30,
           lives=("exponential", "fixed")),
    Family("fractions", TUNING, "shares of one GPU", SMALL | {"100x8": "100x8:h100"},
           {"5": "0.5", "3-4-7": "0.3 0.4 0.7", "6-5": "0.6 0.5", "2-3-6": "0.2 0.3 0.6", "any": "0.1..0.9", "quarters": "2*0.25 0.5 0.75"},
           loads=(0.3, 0.7, 0.85, 0.95, 1.1), take=45, lives=("exponential", "fixed", "two-phase")),
    Family("complements", TUNING, "shares that make one GPU together", SMALL,
           {"3+7": "0.3 0.7", "thirds": "0.333 0.667", "4+6": "0.4 0.6", "1+9": "0.1 0.9"}, loads=(0.7, 0.85, 0.95, 1.1), take=32,
           lives=("exponential", "fixed")),
    Family("mixed", TUNING, "shares, whole GPUs and machines", SMALL | {"150x8": "150x8:a100-80", "1x8": "1x8:h100"},
           {"half-1": "2*0.5 1*1", "all": "4*0.25 4*0.5 3*1 1*2 1*4", "eights": "6*0.5 4*1 1*8", "notebooks": "12*0.2 3*1 1*4"},
           loads=(0.3, 0.7, 0.85, 0.95, 1.1), take=40, lives=("exponential", "two-phase")),
    Family("memory", TUNING, "models that fill the memory: both are asked for", SMALL,
           {"small-models": "0.2/2..6G 0.3/4..10G 0.5/8..14G", "one-big": "3*0.25/3G 1*0.5/15G", "even": "0.3/4..8G 0.6/8..14G"},
           loads=(0.5, 0.7, 0.85, 1.0), take=28),
    Family("memory-only", TUNING, "placement by memory; compute follows it", SMALL,
           {"2-to-14": "2..14G", "7-13": "7G 13G", "3-5-8": "3G 5G 8G"}, loads=(0.5, 0.7, 0.85, 1.0), take=18),
    Family("memory-free", TUNING, "placement by memory; compute is shared by all", SMALL,
           {"2-to-14": "2..14G", "7-13": "7G 13G", "3-5-8": "3G 5G 8G"}, loads=(0.7, 0.85, 1.0), take=12, memory_only="free"),
    Family("models", TUNING, "two models of GPUs; some pods accept one only",
           {"t4+a10": "8x2:t4 + 6x4:a10", "a10+a100": "20x4:a10 + 10x8:a100-40"},
           {"some": "4*0.5 2*1 1*0.5@a10 1*1@a10|a100-40", "big": "6*0.3 2*1@a10|a100-40 1*4"}, loads=(0.7, 0.85, 1.0), take=12),
    Family("mig", TUNING, "A100 and H100 cut into instances",
           {"3-2-1": "4x4:a100-40:3g.20gb|2g.10gb|1g.5gb", "sevenths+whole": "4x4:a100-40:" + "|".join(["1g.5gb"] * 6) + " + 4x4:a100-40",
            "small+big": "3x4:a100-40:" + "|".join(["1g.5gb"] * 7) + " + 3x4:a100-40:3g.20gb|3g.20gb"},
           {"each": "2*mig:1g.5gb 2*mig:2g.10gb 1*mig:3g.20gb", "1g-shares": "3*mig:1g.5gb 3*4G 3*0.5 1*1", "4-18": "6*4G 1*18G",
            "memory-shares": "4*4G 4*9G 2*0.5 1*2"}, loads=(0.3, 0.5, 0.7)),
    Family("cores", TUNING, "cores run short before GPUs",
           {"8x8/6c": "8x8:a100-40/6c", "10x4/8c": "10x4:a10/8c", "t4+lean": "6x2:t4/48c + 6x8:a100-40/6c"},
           {"heavy-light": "2*0.5#1 1*0.5#8 1*1#6", "cpu-pods": "3*0.5#3 2*1#6 2*cpu#8", "greedy": "3*1#2 1*1#24 1*4#16"},
           loads=(0.5, 0.7, 0.85, 1.0), take=18),
    Family("start", TUNING, "the first hour: many come at once, and nothing has been learned", SMALL,
           {"3-7": "0.3 0.7", "any": "0.1..0.9", "mixed": "4*0.25 4*0.5 3*1 1*2"}, loads=(0.7, 0.85, 1.0), take=16, start=True),
    Family("shift", TUNING, "shares by day, whole GPUs by night", SMALL,
           {"serve-train": ("0.2 0.3 0.5", "2*1 1*2"), "small-large": ("0.1..0.4", "0.6..1.0")}, loads=(0.7, 0.85, 1.0), take=12,
           coming="shift"),
    Family("sweeps", TUNING, "half of the pods end at the same moments", SMALL,
           {"halves": "0.5 0.5 1", "any": "0.1..0.9", "mixed": "4*0.25 4*0.5 3*1 1*2"}, loads=(0.7, 0.85, 1.0), take=12, coming="sweeps"),
    Family("large", TUNING, "up to 2,000 machines", {"1200x8": "1200x8:a100-80", "2000x4": "2000x4:a10"},
           {"3-4-7": "0.3 0.4 0.7", "eights": "2*1 2*2 1*8"}, loads=(0.95,), take=3),
    Family("fill", TUNING, "filling up", SMALL | {"200x8": "200x8:a100-40"},
           {"3-4-7": "0.3 0.4 0.7", "3+7": "0.3 0.7", "any": "0.1..0.9", "all": "4*0.25 4*0.5 3*1 1*2 1*4", "memory": "0.3/4..8G 0.6/8..14G",
            "memory-only": "2..14G"}, loads=FILL),
    Family("reported", TUNING, "what was found first: learned mixes that make a small cluster worse", alike("2x2:t4", "40x8:a100-80"),
           {"3-4-7": "0.3 0.4 0.7", "6-5": "0.6 0.5"}, loads=(0, 0.85)),
    # ---- for tuning since decision 0058: they were held out, and judged once ----
    Family("dust", TUNING, "very many small shares, few large ones", alike("3x4:l40s", "16x8:h100", "60x2:l40s"),
           {"zipf": "32*0.03 16*0.06 8*0.12 4*0.25 2*0.5 1*1", "dust+whole": "20*0.01..0.1 1*1"}, loads=(0.6, 0.8, 0.9, 1.05), take=16,
           lives=("exponential", "pareto")),
    Family("disagree", TUNING, "much memory and little compute beside the opposite", alike("3x4:l40s", "12x4:a100-80", "24x8:h100"),
           {"llm-vision": "0.1/30..44G 0.8/2..6G", "cache": "0.05/20..40G 0.5/4..10G 0.9/4G", "70": "0.3/6..40G 0.15/8..20G 1"},
           loads=(0.6, 0.8, 0.95), take=18),
    Family("three-models", TUNING, "three models, each pod a list of its own",
           {"t4+l40s+h100": "12x4:t4 + 8x4:l40s + 4x8:h100"},
           {"lists": "3*0.5 2*0.5@l40s|h100 1*1@h100 1*1@t4|l40s 1*2@h100", "memory": "3*4..12G 2*20..40G 1*50..70G"},
           loads=(0.6, 0.8, 0.95), lives=("exponential", "uniform")),
    # ---- held out: for judging only; these have been judged once ----
    Family("near-equal", JUDGING, "shares that differ by a hair: three of 0.33 and not of 0.34 make a GPU",
           alike("3x4:l40s", "16x8:h100", "1x4:t4"), {"33-34": "0.33 0.34", "49-51": "0.49 0.51", "24-26-50": "0.24 0.26 0.5"},
           loads=(0.6, 0.8, 0.9, 1.05), take=24, lives=("exponential", "uniform")),
    Family("odd-machines", JUDGING, "1, 3, 6 and 16 GPUs a machine, and very different machines in one cluster",
           {"30x1": "30x1:a10", "9x6": "9x6:l40s", "3x16": "3x16:h100", "1x16+20x1": "1x16:h100 + 20x1:h100", "5x3+5x6": "5x3:l40s + 5x6:l40s"},
           {"0.4-1-3": "3*0.4 2*1 1*3", "3-6": "4*0.5 1*3 1*6", "16": "12*0.5 6*1 1*16", "35-65": "0.35 0.65"},
           loads=(0.6, 0.8, 0.95), take=24),
    Family("big-memory", JUDGING, "models up to 70 GB by memory alone", alike("12x4:a100-80", "24x8:h100"),
           {"to-70": "10..70G", "13-26-70": "4*13G 2*26G 1*70G", "30-50": "30G 50G"}, loads=(0.6, 0.8, 0.95), take=9),
    Family("big-memory-free", JUDGING, "the same, compute shared by all", alike("12x4:a100-80", "24x8:h100"),
           {"to-70": "10..70G", "13-26-70": "4*13G 2*26G 1*70G", "30-50": "30G 50G"}, loads=(0.8, 0.95), take=5, memory_only="free"),
    Family("mig-80", JUDGING, "80 GB cards, other layouts, whole GPUs beside them",
           {"mixed-layouts": "3x4:h100:3g.40gb|3g.40gb + 3x4:h100:2g.20gb|2g.20gb|1g.10gb|1g.10gb|1g.10gb + 3x4:h100"},
           {"profiles+": "2*mig:1g.10gb 2*mig:2g.20gb 1*mig:3g.40gb 4*0.5", "memory": "9G 18G 36G"}, loads=(0.3, 0.5, 0.8)),
    Family("lives", JUDGING, "lives without a variance, and large pods that live ten times as long",
           alike("3x4:l40s", "16x8:h100"), {"45-55": "0.45 0.55", "1-2-3": "4*0.3 3*1 1*2 1*3"}, loads=(0.6, 0.8, 0.95),
           lives=("pareto", "by-size"), take=14),
    Family("jobs", JUDGING, "2 to 16 equal pods come together and end together", alike("3x4:l40s", "16x8:h100", "60x2:l40s"),
           {"35-65": "0.35 0.65", "0.3-1-2": "4*0.3 3*1 1*2"}, loads=(0.6, 0.8, 0.95), take=12, coming="jobs"),
    Family("drift", JUDGING, "the mix changes slowly from one to another and back", alike("3x4:l40s", "16x8:h100"),
           {"35-65": ("0.35", "0.65"), "split": ("0.45 0.55", "3*1 1*4")}, loads=(0.8, 0.95), coming="drift"),
    Family("cores-short", JUDGING, "cores short on some machines only", {"lean+rich": "8x4:l40s/4c + 8x4:l40s/40c"},
           {"light-heavy": "3*0.45#1 1*0.45#12 1*1#8"}, loads=(0.6, 0.8, 0.95)),
    Family("start-odd", JUDGING, "the first hour of other clusters", {"9x6": "9x6:l40s", "3x16": "3x16:h100"},
           {"35-65": "0.35 0.65", "3-6": "4*0.5 1*3 1*6"}, loads=(0.8, 1.0), start=True),
    Family("fill-odd", JUDGING, "filling up other clusters", {"3x4": "3x4:l40s", "16x8": "16x8:h100", "9x6": "9x6:l40s", "700x6": "700x6:l40s"},
           {"33-34": "0.33 0.34", "zipf": "32*0.03 16*0.06 8*0.12 4*0.25 2*0.5 1*1", "35-65": "0.35 0.65", "3-6": "4*0.5 1*3 1*6",
            "llm-vision": "0.1/30..44G 0.8/2..6G"}, loads=FILL, take=16, tuned=("zipf", "llm-vision")),
    # ---- held out since decision 0058 ----
    Family("model-or-memory", JUDGING, "two models: half of the pods name one, half ask for memory alone",
           {"l4+h200": "14x2:l4 + 4x8:h200", "v100+a40": "6x4:v100 + 9x4:a40"},
           {"half": "3*0.4@l4|v100 1*1@h200|a40 2*2..12G 2*16..40G", "small-named": "4*0.25@l4|v100 4*14..15G 1*36G",
            "large-named": "2*0.5@h200|a40 1*2@h200|a40 6*5G 3*11G"}, loads=(0.55, 0.75, 0.9), take=12),
    Family("four-models", JUDGING, "four models; memory alone is asked for, from 4 to 40 GiB and more",
           {"16-24-48-141": "10x2:v100 + 6x4:l4 + 4x4:a40 + 2x8:h200", "24-48-80-141": "24x2:l4 + 8x4:a40 + 5x8:a100-80 + 3x8:h200"},
           {"4-to-40": "4..40G", "steps": "8*4..7G 4*9..14G 2*18..23G 1*38..40G", "end-to-end": "24*5G 3*46G 1*120G"},
           loads=(0.55, 0.75, 0.9), take=14),
    Family("four-models-free", JUDGING, "the same, compute shared by all",
           {"16-24-48-141": "10x2:v100 + 6x4:l4 + 4x4:a40 + 2x8:h200"},
           {"4-to-40": "4..40G", "steps": "8*4..7G 4*9..14G 2*18..23G 1*38..40G"}, loads=(0.55, 0.75, 0.9), memory_only="free"),
    Family("old-new", JUDGING, "an old pool of small GPUs beside new large ones; compute and memory are asked for",
           {"old+new": "16x4:v100 + 3x8:h200", "old-few": "5x2:v100 + 6x8:h200"},
           {"both": "4*0.2/2..6G 3*0.5/8..14G 2*0.5/30..70G 1*2", "long-context": "6*0.4/4..12G 2*0.25/60..66G 1*0.9/10G"},
           loads=(0.55, 0.75, 0.9)),
    Family("replicas", JUDGING, "serving: 4 to 32 equal small pods start together; training: 4 or 8 GPUs beside them",
           {"6x8": "6x8:h200", "25x8": "25x8:h200", "14x4": "14x4:l4"},
           {"train-4": "24*0.2 2*4", "train-8": "24*0.15/10..30G 1*8", "many": "20*0.1 10*0.35 1*4"}, loads=(0.55, 0.75, 0.9), take=12,
           coming="replicas"),
    Family("notebooks", JUDGING, "notebooks: tiny, and kept ten times as long as batch: large, and short",
           {"14x4": "14x4:l4", "5x8": "5x8:v100"},
           {"batch-2": "3*0.1 1*1 1*2", "batch-4": "5*0.15 3*0.55 1*4", "memory": "4*0.1/4..8G 2*0.8/12..15G"}, loads=(0.55, 0.75, 0.9),
           lives=("small-long",), take=10),
    Family("odd-sizes", JUDGING, "1, 2, 6 and 10 GPUs a machine in one cluster; 5, 7 and 10 in others",
           {"1-2-6-10": "12x1:l4 + 8x2:l4 + 3x6:l4 + 2x10:l4", "6x10": "6x10:a40", "4x5+4x7": "4x5:a40 + 4x7:a40"},
           {"to-5": "2*0.55 3*1 1*2 1*5", "6": "3*1 1*6", "10": "8*0.45 2*1 1*10"}, loads=(0.55, 0.75, 0.9), take=14),
    Family("data-loading", JUDGING, "pods that load data: cores by the pod; the new machines have few, the old ones many",
           {"new+old": "4x8:h200/5c + 10x4:l4/24c", "new": "9x8:h200/6c"},
           {"loaders": "3*0.25#2 2*1#14 1*2#6", "with-cpu": "1*cpu#12 4*0.45#4 1*4#18"}, loads=(0.55, 0.75, 0.9), take=9),
    Family("power-law", JUDGING, "sizes by a power law: from tiny to several GPUs, or most of them large",
           {"14x4": "14x4:l4", "20x8": "20x8:h200", "2x6": "2x6:a40"},
           {"by-rank": "24*0.05 12*0.1 8*0.15 6*0.2 4*0.3 3*0.4 2*0.6 1*0.9", "to-4": "64*0.05 32*0.1 16*0.2 8*0.4 4*1 2*2 1*4",
            "upside-down": "1*0.05 2*0.1 4*0.2 8*0.4 16*0.8"}, loads=(0.55, 0.75, 0.9, 1.1), take=14),
    Family("growth", JUDGING, "demand grows slowly, from a half of the load to one and a half",
           {"14x4": "14x4:l4", "20x8": "20x8:h200"}, {"thirds": "3*0.15 2*0.3 1*0.55", "to-4": "6*0.45 3*1 1*4"}, loads=(0.6, 0.8),
           coming="growth"),
    Family("campaign", JUDGING, "every seven life times a campaign of whole machines comes at one moment",
           {"14x4": "14x4:l4", "20x8": "20x8:h200"},
           {"shares": ("3*0.15 2*0.3 1*0.55", "4"), "whole": ("6*0.45 3*1", "1*4 1*2")}, loads=(0.4, 0.6, 0.8), take=8, coming="campaign"),
    Family("geometric", JUDGING, "memory in geometric steps: 5 to 80, 14 to 140 GiB; twice the memory, half of the compute",
           {"20x8": "20x8:h200", "4x4": "4x4:h200", "6x8": "6x8:h200"},
           {"doubling": "16*5G 8*10G 4*20G 2*40G 1*80G", "weights": "8*14G 4*26G 2*68G 1*140G", "inverse": "0.1/80G 0.2/40G 0.4/20G 0.8/10G"},
           loads=(0.55, 0.75, 0.9), take=14),
    Family("mig-pools", JUDGING, "141 GB cards cut into instances beside whole old ones",
           {"cut+old": "3x8:h200:3g.71gb|2g.35gb|1g.18gb|1g.18gb + 6x4:v100"},
           {"profiles+old": "4*mig:1g.18gb 2*mig:2g.35gb 2*mig:3g.71gb 6*0.45@v100 1*2", "memory": "16*6..12G 4*17G 2*34G 1*70G"},
           loads=(0.35, 0.55, 0.75)),
    Family("start-pools", JUDGING, "the first hour of clusters of two models and of odd sizes",
           {"old+new": "16x4:v100 + 3x8:h200", "1-2-6-10": "12x1:l4 + 8x2:l4 + 3x6:l4 + 2x10:l4"},
           {"both": "4*0.2/2..6G 3*0.5/8..14G 2*0.5/30..70G 1*2", "to-5": "2*0.55 3*1 1*2 1*5", "memory": "3*4..12G 1*13..15G"},
           loads=(0.75, 0.95), take=10, start=True),
    Family("fill-pools", JUDGING, "filling up these clusters",
           {"14x4": "14x4:l4", "20x8": "20x8:h200", "old+new": "16x4:v100 + 3x8:h200", "6x10": "6x10:a40",
            "24-48-80-141": "24x2:l4 + 8x4:a40 + 5x8:a100-80 + 3x8:h200", "300x8": "300x8:h200"},
           {"thirds": "3*0.15 2*0.3 1*0.55", "to-4": "64*0.05 32*0.1 16*0.2 8*0.4 4*1 2*2 1*4", "4-to-40": "4..40G",
            "inverse": "0.1/80G 0.2/40G 0.4/20G 0.8/10G", "upside-down": "1*0.05 2*0.1 4*0.2 8*0.4 16*0.8"}, loads=FILL, take=20),
]


def cases(of_set):
    return [c for f in FAMILIES for c in f.cases() if c.set == of_set]
