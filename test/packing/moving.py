"""How little any strategy could refuse in use, even one that may move running pods at any moment and refuse pods that fit.

With random arrivals and exponential lives, how many pods there are of each kind is then all that matters, so the best strategy is that of
a Markov decision process, found by relative value iteration (moving.c). Of all GPUs that are alike; other cases have no such bound.

Where that are too many states, kinds are put into classes: every pod of a class takes what the smallest takes, and counts for what it
counts for when it is refused. Machines are ignored, a pod of n GPUs is n whole ones; so are cores. Whatever a strategy does can be done
in such a cluster, too, so what the best one refuses there is a bound. And pods of a class that come when more are there than chance
brings once in a billion times vanish, and nobody counts them. Every step of the iteration gives one that is not above it."""
import array
import collections
import ctypes
import dataclasses
import functools
import itertools
import math
import pathlib
import subprocess
import tempfile

import bounds
import draw

STATES_MAX = 300_000
PATTERNS_MAX = 400
CLASSES_MAX = 7
PRECISION = 0.005           # of refused %
LIFE_TIMES = 12             # after so many of them an iteration has converged, or never will


@dataclasses.dataclass(frozen=True)
class Limits:
    counted: int            # states x patterns
    work: int               # states x steps x (kinds and classes)


EXACT = Limits(2_000_000, 30_000_000_000)
MERGED = Limits(400_000, 2_000_000_000)  # a bound that is seldom good enough to wait for it
WHOLE = (1000, 0)


def most_at_once(rate):
    """So many are there at once if none is refused, but for once in a billion times."""
    return math.ceil(rate + 6 * math.sqrt(rate) + 8)


class TooMany(Exception):
    pass


def has_bound(case):
    alike = {(g.card, g.mig) for g in case.shape}
    return not (case.is_fill or case.start or case.night) and (case.coming, case.life) == ("poisson", "exponential") \
        and len(alike) == 1 and not case.shape[0].mig


def asked_for(case, rows):
    """{(GPUs, milli of one, MiB of one, what it counts for): how many come in a mean life time}"""
    each, group = draw.rates_of(case, rows)[False] / len(rows), bounds.groups_of(case)[0]
    ret = collections.Counter()
    for p in rows:
        if p.gpus:
            milli, mib = bounds.takes(case, p, group)
            ret[(p.gpus, *(WHOLE if milli == 1000 else (milli, mib)), p.counts)] += each
    return ret


# ---- classes ----

def split(sizes, rates, classes):
    """Neighbours into at most so many classes, such that as little as possible is lost when each takes what the smallest takes."""
    if not sizes:
        return ()

    def lost(members):
        least = min(largest(s) for s in members)
        return sum(rates[s] * (largest(s) - least) for s in members)

    def largest(size):
        return max(m / t for m, t in zip(size, most) if t)

    most = [max(s[i] for s in sizes) for i in range(2)]
    sizes = sorted(sizes, key=largest)

    @functools.cache
    def best(start, left):
        if left == 1 or start == len(sizes) - 1:
            return lost(sizes[start:]), (sizes[start:],)
        options = []
        for end in range(start + 1, len(sizes)):
            rest = best(end, left - 1)
            options.append((lost(sizes[start:end]) + rest[0], (sizes[start:end], *rest[1])))
        return min([(lost(sizes[start:]), (sizes[start:],)), *options], key=lambda o: o[0])

    return best(0, classes)[1]


def smallest(members):
    return tuple(min(s[i] for s in members) for i in range(2))


# ---- states ----

def patterns(sizes, room):
    """The largest multisets of classes that fit on one GPU together."""
    def most_of(size, left):
        return min(here // s for s, here in zip(size, left) if s)

    def fill(at, left):
        if at == len(sizes):
            yield ()
            return
        for n in range(most_of(sizes[at], left), -1, -1):
            for rest in fill(at + 1, [here - n * s for s, here in zip(sizes[at], left)]):
                yield (n, *rest)

    found = []
    for p in fill(0, room):
        if not any(all(a <= b for a, b in zip(p, q)) for q in found):
            found.append(p)
            if len(found) > PATTERNS_MAX:
                raise TooMany
    return found


def gpus_needed(sizes, room, gpus, caps, limits):
    """{how many of each class: the GPUs that they need}, of all that fit."""
    fits, need = patterns(sizes, room), {(0,) * len(sizes): 0}

    def count(there):
        return 1 + min(need.get(tuple(max(0, a - b) for a, b in zip(there, p)), gpus) for p in fits)

    for at in reversed(range(len(sizes))):  # the last ones first: then less of any class is known already
        for there in list(need):
            while there[at] < caps[at]:
                there = there[:at] + (there[at] + 1,) + there[at + 1:]
                n = count(there)
                if n > gpus:
                    break
                need[there] = n
                if len(need) > STATES_MAX or len(need) * len(fits) > limits.counted:
                    raise TooMany
    return need


def with_whole(need, several, gpus, caps):
    """States: how many of each class, then of the pods that take whole GPUs, `several` of them."""
    ret = []
    for there, n in need.items():
        for more in itertools.product(*(range(min((gpus - n) // g, cap) + 1) for g, cap in zip(several, caps))):
            if n + sum(m * g for m, g in zip(more, several)) <= gpus:
                ret.append(there + more)
                if len(ret) > STATES_MAX:
                    raise TooMany
    return sorted(ret)


# ---- the bound ----

class Kind(ctypes.Structure):
    _fields_ = [("of_class", ctypes.c_int32), ("rate", ctypes.c_double), ("value", ctypes.c_double)]


@functools.cache
def compiled():
    source = pathlib.Path(__file__).with_suffix(".c")
    with tempfile.TemporaryDirectory(prefix="packing-moving-") as folder:
        made = pathlib.Path(folder) / "moving.so"
        subprocess.run(["cc", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-o", made, source, "-lm"], check=True)
        ret = ctypes.CDLL(str(made)).least_refused
    ret.restype = ctypes.c_double
    return ret


def solve(states, caps, kinds, precision, limits):
    """What is refused in a mean life time, at least. `caps`: how many of each class are there at most; `kinds`: [(class, rate, value)]."""
    class_n, number = len(states[0]), {s: i for i, s in enumerate(states)}
    more, less = array.array("i"), array.array("i")
    for i, s in enumerate(states):
        for c in range(class_n):
            more.append(i if s[c] == caps[c] else number.get(s[:c] + (s[c] + 1,) + s[c + 1:], -1))
            less.append(number.get(s[:c] + (s[c] - 1,) + s[c + 1:], -1))
    there = array.array("i", itertools.chain.from_iterable(states))
    fastest = sum(rate for _, rate, _ in kinds) + max(map(sum, states))
    steps = int(LIFE_TIMES * fastest) + 100
    if len(states) * steps * (len(kinds) + class_n) > limits.work:
        raise TooMany
    worth = [array.array("d", bytes(8 * len(states))) for _ in range(2)]

    def passed(values, of):
        return (of * len(values)).from_buffer(values)

    return compiled()(len(states), class_n, len(kinds), *(passed(a, ctypes.c_int32) for a in (more, less, there)),
                      (Kind * len(kinds))(*(Kind(*k) for k in kinds)), ctypes.c_double(fastest), ctypes.c_double(precision), steps,
                      *(passed(w, ctypes.c_double) for w in worth))


def bound_with(case, asked, classes, whole_classes, limits):
    """With at most so many classes of pods that share GPUs, and of those that take whole ones."""
    gpus, room = draw.gpu_count(case), (1000, case.shape[0].gpu_mib)
    rates, whole_rates = collections.Counter(), collections.Counter()
    for (n, milli, mib, _), rate in asked.items():
        if (milli, mib) == WHOLE:
            whole_rates[n, 0] += rate
        else:
            rates[milli, mib] += rate
    shared = split(tuple(rates), rates, classes)
    several = split(tuple(whole_rates), whole_rates, whole_classes)
    caps = [most_at_once(sum(of[size] for size in c)) for of, groups in ((rates, shared), (whole_rates, several)) for c in groups]
    need = gpus_needed([smallest(c) for c in shared], room, gpus, caps, limits)
    states = with_whole(need, [smallest(c)[0] for c in several], gpus, caps[len(shared):])

    def class_of(n, milli, mib):
        if (milli, mib) == WHOLE:
            return len(shared) + next(i for i, c in enumerate(several) if (n, 0) in c)
        return next(i for i, c in enumerate(shared) if (milli, mib) in c)

    kinds = [(class_of(*k[:3]), rate, k[3]) for k, rate in asked.items()]
    offered = sum(rate * value for _, rate, value in kinds)
    return 100 * solve(states, caps, kinds, PRECISION / 100 * offered, limits) / offered


def refused(case, key):
    """(refused % at least, is no class of several kinds?); None: not known. The more classes, the better."""
    if not has_bound(case):
        return None
    asked = asked_for(case, draw.draw_pods(case, key))
    shares = len({k[1:3] for k in asked if k[1:3] != WHOLE})
    several = len({k[0] for k in asked if k[1:3] == WHOLE})
    ways = itertools.product(range(min(shares, 1), min(shares, CLASSES_MAX) + 1), range(min(several, 1), several + 1))
    for classes, whole_classes in sorted(ways, key=lambda c: (-sum(c), -c[0])):
        exact = (classes, whole_classes) == (shares, several)
        try:
            return bound_with(case, asked, classes, whole_classes, EXACT if exact else MERGED), exact
        except TooMany:
            continue
    return None
