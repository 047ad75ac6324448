"""How much of a set of pods any strategy could run at once: a linear program over patterns per GPU.

A pattern is a multiset of pods that fit on one GPU together, by compute and by memory. Machines are ignored: a pod of n GPUs is n whole
ones, and cores are one sum over the cluster. So the bound is never too small; it may be too large. Pods of many different sizes are
put into at most CLASSES classes, each as small as its smallest and worth as much as its largest member, which keeps that true.
"""
import collections
import dataclasses
import itertools
import math

import draw

CLASSES = 10
SEARCH_STEPS = 50_000  # for one pattern; beyond, the sums of compute and of memory alone are the bound
NOTHING = 1e-9


@dataclasses.dataclass
class Group:
    """GPUs, or MIG instances of one profile, that are alike."""
    number: int
    model: str
    mib: int
    at_once: int     # of which one pod can have so many
    profile: str     # "": GPUs


@dataclasses.dataclass
class Kind:
    """Pods that are alike, or the single GPUs of pods that want several."""
    number: int
    value: float     # what one counts for
    cpu_milli: float
    takes: dict      # {index of a group: (milli, MiB) of one}, of the groups that it accepts


def groups_of(case):
    ret = []
    for g in case.shape:
        gpus = g.nodes * g.gpus
        if not g.mig:
            ret.append(Group(gpus, g.model, g.gpu_mib, g.gpus, ""))
        for profile, n in collections.Counter(filter(None, g.mig.split("|"))).items():
            mib = int(profile.partition(".")[2].removesuffix("gb")) * draw.GIB  # its name rounds up
            ret.append(Group(gpus * n, g.model, mib, g.gpus * n, profile))
    return ret


def takes(case, pod, group):
    """(milli, MiB) of a GPU of that group, at least; an instance is taken whole."""
    if group.profile or (pod.milli == 1000 and not pod.mib):
        return 1000, group.mib
    if pod.milli:
        return pod.milli, pod.mib or group.mib * pod.milli // 1000
    return 0 if case.memory_only == "free" else max(1, 1000 * pod.mib // group.mib), pod.mib


def accepts(group, pod):
    if pod.gpus > group.at_once or (pod.models and group.model not in pod.models):
        return False
    if pod.profile or (group.profile and pod.milli):
        return pod.profile == group.profile
    return pod.mib <= group.mib


def kind_of(case, number, pods):
    """Of pods that differ in amounts alone: as small as the smallest, worth as much as the largest."""
    gpus = pods[0].gpus
    smallest = dataclasses.replace(pods[0], milli=min(p.milli for p in pods), mib=min(p.mib for p in pods))
    return Kind(gpus * number, max(p.counts for p in pods) / gpus, min(p.cpu_milli for p in pods) / gpus,
                {i: takes(case, smallest, g) for i, g in enumerate(groups_of(case)) if accepts(g, smallest)})


def split(members, classes):
    """Neighbours into at most so many classes; where there are few amounts of compute, no class has two of them."""
    alike = [list(g) for _, g in itertools.groupby(members, key=lambda m: m[0])]
    alike = alike if len(alike) <= classes else [members]
    for group in alike:
        size = math.ceil(len(group) / max(1, min(len(group), classes // len(alike))))
        yield from (group[i:i + size] for i in range(0, len(group), size))


def kinds_of(case, rows, number_of, classes):
    """`number_of`: {row: pods}."""
    alike = collections.defaultdict(collections.Counter)
    for row, n in number_of.items():
        p = rows[row]
        if p.gpus and n > 0:
            alike[p.gpus, p.profile, p.models, p.milli == 1000, bool(p.mib)][p.milli, p.mib, p.cpu_milli, p.counts] += n
    for (gpus, profile, models, _, _), amounts in sorted(alike.items()):
        for part in split(sorted(amounts), classes):
            yield kind_of(case, sum(amounts[m] for m in part),
                          [draw.Pod(gpus, milli, mib, profile, models, cpu, counts=counts) for milli, mib, cpu, counts in part])


class TooManyPatterns(Exception):
    pass


def best_pattern(kinds, group, gpu_mib, worth):
    """(worth, {kind: pods}) of what fits on one GPU of the group and is worth most."""
    items, steps, best, chosen = [], 0, 0.0, {}
    for i, k in enumerate(kinds):
        if group in k.takes and worth[i] > NOTHING:
            milli, mib = k.takes[group]
            items.append((worth[i] / max(milli / 1000, mib / gpu_mib, NOTHING), worth[i], milli, mib, i))
    items.sort(reverse=True)
    by_compute = all(1.001 * m / 1000 >= b / gpu_mib for _, _, m, b, _ in items)
    by_memory = all(1.001 * b / gpu_mib >= m / 1000 for _, _, m, b, _ in items)

    def room(milli, mib):
        """The larger parts of all that still fits make this at most."""
        return 1.001 * (milli / 1000 if by_compute else mib / gpu_mib if by_memory else milli / 1000 + mib / gpu_mib)

    def search(at, milli, mib, value, taken):
        nonlocal best, chosen, steps
        steps += 1
        if steps > SEARCH_STEPS:
            raise TooManyPatterns
        if value > best + NOTHING:
            best, chosen = value, taken
        if at == len(items) or value + items[at][0] * room(milli, mib) <= best + NOTHING:
            return
        _, w, m, b, i = items[at]
        for n in range(min(milli // m if m else 10**9, mib // b if b else 10**9, kinds[i].number), -1, -1):
            search(at + 1, milli - n * m, mib - n * b, value + n * w, taken | {i: n} if n else taken)

    search(0, 1000, gpu_mib, 0.0, {})
    return best, chosen


class Simplex:
    """max c x, A x <= b, x >= 0, with columns that come one by one; b >= 0. Dense, for a dozen rows."""

    def __init__(self, b):
        self.b, n = list(b), len(b)
        self.inverse = [[float(i == j) for j in range(n)] for i in range(n)]
        self.x, self.cost = list(b), [0.0] * n

    def prices(self):
        n = len(self.b)
        return [sum(self.cost[i] * self.inverse[i][j] for i in range(n)) for j in range(n)]

    def enter(self, cost, column):
        """Takes the column into the basis; false: it cannot (unbounded)."""
        n = len(self.b)
        d = [sum(self.inverse[i][j] * column[j] for j in range(n)) for i in range(n)]
        rows = [i for i in range(n) if d[i] > NOTHING]
        if not rows:
            return False
        out = min(rows, key=lambda i: (self.x[i] / d[i], -d[i]))
        step = self.x[out] / d[out]
        self.x = [max(0.0, x - step * e) for x, e in zip(self.x, d)]
        self.x[out], self.cost[out] = step, cost
        pivot = [v / d[out] for v in self.inverse[out]]
        self.inverse = [pivot if i == out else [v - d[i] * p for v, p in zip(r, pivot)] for i, r in enumerate(self.inverse)]
        return True


def solve(case, kinds):
    """The most that kinds can be worth together, by generating patterns; from above also where it stops early."""
    groups = groups_of(case)
    gpus = [g.number for g in groups]
    rows = [k.number for k in kinds] + gpus + [sum(1000 * g.nodes * g.gpus * g.cores_per_gpu for g in case.shape)]
    # A little more of each, so that no two rows run out at the same step: with such ties the method could go round in circles.
    lp = Simplex([b + 1e-5 * (i + 1) / len(rows) for i, b in enumerate(rows)])
    bound = math.inf
    for _ in range(40 * len(lp.b)):
        prices = lp.prices()
        negative = min(range(len(lp.b)), key=prices.__getitem__)
        if prices[negative] < -1e-7:
            lp.enter(0.0, [float(i == negative) for i in range(len(lp.b))])  # what is left over of that row
            continue
        y = [max(0.0, v) for v in prices]
        worth = [k.value - y[i] - k.cpu_milli * y[-1] for i, k in enumerate(kinds)]
        found = [best_pattern(kinds, g, groups[g].mib, worth) for g in range(len(gpus))]
        excess = [max(0.0, w - y[len(kinds) + g]) for g, (w, _) in enumerate(found)]
        # With the price of each GPU raised by its excess, no pattern is worth more than its price: the prices of all there is are a bound.
        bound = min(bound, sum(b * v for b, v in zip(lp.b, y)) + sum(n * e for n, e in zip(gpus, excess)))
        g = max(range(len(gpus)), key=excess.__getitem__)
        if excess[g] <= 1e-6:
            break
        pattern = found[g][1]
        lp.enter(sum(n * kinds[i].value for i, n in pattern.items()),
                 [float(pattern.get(i, 0)) for i in range(len(kinds))] + [float(i == g) for i in range(len(gpus))]
                 + [sum(n * kinds[i].cpu_milli for i, n in pattern.items())])
    return bound


def by_sums(case, kinds):
    """By what all GPUs have of compute and of memory, and by what is there."""
    parts, groups = [], groups_of(case)
    for k in kinds:
        of_groups = [(m / 1000, b / groups[g].mib) for g, (m, b) in k.takes.items()]
        parts.append((k.value, min(c for c, _ in of_groups), min(m for _, m in of_groups)))

    def most_for_each(of):
        return math.inf if any(of(c, m) <= 0 for _, c, m in parts) else max(v / of(c, m) for v, c, m in parts)

    each = min(most_for_each(lambda c, m: c), most_for_each(lambda c, m: m), 2 * most_for_each(lambda c, m: c + m))
    return min(sum(g.number for g in groups) * each, sum(k.number * k.value for k in kinds))


def most(case, rows, number_of):
    """What these pods could hold at once, at most, in thousandths of a GPU as they count."""
    exact = list(kinds_of(case, rows, number_of, 10**9))
    if not exact:
        return 0.0
    bound = by_sums(case, exact)
    try:
        return min(bound, solve(case, list(kinds_of(case, rows, number_of, CLASSES))))
    except TooManyPatterns:
        return bound


# ---- of a case ----

def of_fill(case, rows, stays, of_set=most):
    """The largest a100 and a130, where `of_set` says how much of a set of pods could run at once."""
    asked, number_of, ret = 0, collections.Counter(), {}
    capacity = 1000 * draw.gpu_count(case)
    for percent in (100, 130):
        for _, _, row in stays[sum(number_of.values()):]:
            if 100 * (asked + rows[row].counts) / capacity >= percent + 0.5:
                break
            asked += rows[row].counts
            number_of[row] += 1
        ret[f"a{percent}"] = 100 * of_set(case, rows, number_of) / capacity
    return ret


def of_refused(case, rows, stays, from_ms, moments):
    """The least refused %, seen at some moments: no strategy has more pods running than could run together of those that have come
    and would not have ended. Weighted by life, which is the same as by arrival if lives do not depend on sizes."""
    to_ms, offered, could = stays[-1][0], 0.0, 0.0
    for i in range(moments):
        at = from_ms + (i + 0.5) * (to_ms - from_ms) / moments
        number_of = collections.Counter(row for arrive, depart, row in stays if arrive <= at < depart)
        offered += sum(n * rows[row].counts for row, n in number_of.items())
        could += most(case, rows, number_of)
    return 100 * (1 - could / offered) if offered else 0.0
