"""The strategy rsp as its formula says: no caches, no tables, doubles. README.md explains it, symbol by symbol.

For machines whose GPUs are all alike (two machines may differ), with whole GPUs and shares, a mix that is given or learned, and no
MIG. Amounts: compute in thousandths of a GPU (milli), cores in milli cores, memory in MiB. Values and scores: milli."""
import collections
import math

LISTS, PODS, AMONG = 16, 64, 32   # K, L, and how many pods of a list A looks at
GPU, NEVER = 1000, math.inf
PRIOR_GPUS, PRIOR_PODS, PRIOR_CPU, PRIOR_MEM, PRIOR_VOLUME = 4, 4, 90, 70, 0.03
HOSTS_MAX, DEMAND_MIN = 0.90, 0.05  # a class that more of the capacity supplies has no price
SIZE_MIN, SIZE_VOLUME, SIZE_WEIGHT, HOST_WEIGHT = 500, 0.02, 1 / 5, 1.0
CHURN_FACTOR, CHURN_SURE, CHURN_EVENTS = 3, 4, 1024
SCARCE_FROM, SCARCE_OVER = 0.5, 0.5
IDLE_CHARGE, GANGS_SURE, DRAIN, TIGHTNESS = 1 / 40, 8, 300, 8
TRIAL_GPUS, TRIAL_PODS, TRIAL_ROUNDS, TRIAL_BETTER, TRIAL_SURE = 64, 1024, 8, 5, 10
SETTLE_MIN, SETTLE_PARTS, MOVED, GROWN = 32, 20, 32, 4

# What a pod asks for. No GPUs: count 0. Memory alone: milli 0. A share of compute alone: gpu_mib 0.
Pod = collections.namedtuple("Pod", "count milli cpu mem gpu_mib models", defaults=(0, ()))
# A machine when it is empty; gpu_mib 0: not known.
Shape = collections.namedtuple("Shape", "cpu mem gpus model gpu_mib")
# A machine as it is: what is free of it, and of each GPU (milli, MiB) in the order in which they are named.
Node = collections.namedtuple("Node", "shape cpu mem gpus")
# Expected pods of one kind, or a prior; hosts: shapes of machines that can run it; milli: the least of these, mean: m.
Kind = collections.namedtuple("Kind", "hosts count milli mean gpu_mib cpu mem pods real")
# A scarcity class. Sizes: count 0, every machine is a host. known: pods that the share was learned from; NEVER: it is given.
Good = collections.namedtuple("Good", "hosts count milli gpu_mib cpu mem mean_milli share mean_volume known")
# What holds for one decision; goods: (good, weight x price).
Prices = collections.namedtuple("Prices", "f chi beta gamma goods")


def sixteenths(x):
    return math.floor(min(max(x, 0.0), 1.0) * 16 + 0.5) / 16


def charge(pod, shape):
    """(milli, MiB) that it takes of each of its GPUs on such a machine."""
    if pod.gpu_mib > 0 and shape.gpu_mib > 0:
        return pod.milli or min(max(pod.gpu_mib * GPU // shape.gpu_mib, 1), GPU), pod.gpu_mib
    return pod.milli, shape.gpu_mib * pod.milli // GPU


def runs(pod, shape):
    """Could it run there if the machine were empty?"""
    if pod.cpu > shape.cpu or pod.mem > shape.mem or pod.count > shape.gpus or (pod.gpu_mib > 0 and not shape.gpu_mib):
        return False
    milli, mib = charge(pod, shape)
    return pod.count == 0 or ((not pod.models or shape.model in pod.models) and milli <= GPU and mib <= (shape.gpu_mib or NEVER))


def usable(node):
    """What rollouts, places and supplies see: GPUs with compute left, fullest first. Memory that nobody knows is endless."""
    return tuple(sorted((milli, mib if node.shape.gpu_mib else NEVER) for milli, mib in node.gpus if milli > 0))


def idle_of(world, node):
    return sum(milli for milli, mib in usable(node) if mib > 0) * world.times[node.shape] // 1024


def mean_part(pod, shapes):
    """m: what it counts for, whichever GPU it gets, its mean part of those that can run it."""
    hosts = {s: n * s.gpus for s, n in shapes.items() if runs(pod, s)}
    return math.floor(sum(n * charge(pod, s)[0] for s, n in hosts.items()) / sum(hosts.values()) + 0.5) if hosts else pod.milli


def times_of(mix, shape, means):
    """1024 u: how much more counts what is free there."""
    here = [(n * p.count, p) for p, n in mix.items() if p.count > 0 and runs(p, shape)]
    return math.floor(sum(n * means[p] for n, p in here) * 1024 / sum(n * charge(p, shape)[0] for n, p in here) + 0.5) if here else 1024


# ---- samples ----

def xoshiro(seed):
    """xoshiro256** of a seed that splitmix64 spreads (base/rng.h)."""
    wide, state = (1 << 64) - 1, []
    for _ in range(4):
        seed = seed + 0x9e3779b97f4a7c15 & wide
        z = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9 & wide
        z = (z ^ z >> 27) * 0x94d049bb133111eb & wide
        state.append(z ^ z >> 31)
    a, b, c, d = state
    while True:
        x, y = b * 5 & wide, b ^ d
        yield (x << 7 | x >> 57) * 9 & wide
        a, b, c, d = a ^ y, a ^ b ^ c, a ^ c ^ (b << 17 & wide), (y << 45 | y >> 19) & wide


def deal(mix):
    """K lists of L pods: the quantile midpoints of the sorted mix, dealt in turn, each list shuffled. mix: {pod: how many}."""
    kinds, samples, at, passed, total = sorted(mix), [], 0, 0, sum(mix.values())
    for i in range(LISTS * PODS if total else 0):
        while (passed + mix[kinds[at]]) * 2 * LISTS * PODS <= (2 * i + 1) * total:
            passed += mix[kinds[at]]
            at += 1
        samples.append(kinds[at])
    lists, numbers = [samples[k::LISTS] for k in range(LISTS)], xoshiro(1)
    for pods in lists:
        for i in range(len(pods) - 1, 0, -1):
            j = next(numbers) * (i + 1) >> 64
            pods[i], pods[j] = pods[j], pods[i]
    return lists


def lists_of(world, shape):
    return [[pod for pod in pods if runs(pod, shape)] for pods in world.lists]


# ---- what a machine is worth: rollouts R, places P, and the trial between them ----

def go_down(pods, node):
    """(milli filled, cores left): each pod that fits is placed on the tightest GPUs."""
    gpus, filled, cpu, mem = list(usable(node)), 0, node.cpu, node.mem
    for pod in pods:
        if pod.cpu > cpu or pod.mem > mem:
            continue
        if pod.count > 0:
            milli, mib = charge(pod, node.shape)
            fit = [i for i, gpu in enumerate(gpus) if gpu[0] >= milli and gpu[1] >= mib][:pod.count]
            if len(fit) < pod.count:
                continue
            for i in fit:
                gpus[i] = gpus[i][0] - milli, gpus[i][1] - mib
            gpus.sort()
            filled += milli * pod.count
        cpu, mem = cpu - pod.cpu, mem - pod.mem
    return filled, cpu


def rollout(world, node):
    """G, A where GPU-less pods come along, and the cores that the first leave: the means over the lists."""
    lists, times = lists_of(world, node.shape), world.times[node.shape]
    each = [go_down([p for p in pods if p.count > 0], node) for pods in lists]
    among = sum(go_down(pods[:AMONG], node)[0] for pods in lists)
    return sum(filled for filled, _ in each) * times // 1024 / LISTS, among * times // 1024 / LISTS, sum(left for _, left in each) / LISTS


def places(world, node):
    """P: the mean over the samples of what would be filled if all that come were like this one, a little more in large pieces."""
    filled = sum(alike(pod, node) * world.means[pod] for pods in lists_of(world, node.shape) for pod in pods if pod.count > 0)
    squares = sum(milli ** 2 for milli, mib in usable(node) if mib > 0)
    return (filled * TIGHTNESS * GPU + squares * LISTS * PODS) // (PODS * TIGHTNESS * GPU) / LISTS


def alike(pod, node):
    (milli, mib), fit = charge(pod, node.shape), 0
    for free_milli, free_mib in usable(node):
        here = min(free_milli // milli if milli else NEVER, free_mib // mib if mib else NEVER)
        fit += min(here, 1) if pod.count > 1 else here
    return pod.count * min(fit // pod.count, node.cpu // pod.cpu if pod.cpu else NEVER, node.mem // pod.mem if pod.mem else NEVER)


def trial(world):
    """beta while nobody leaves: which of the two fills 64 GPUs better? In thousandths of a GPU of the commonest kind."""
    shape = max(world.shapes, key=lambda s: (world.shapes[s] * s.gpus, s.gpus, s.gpu_mib, s.cpu, s.mem))
    lists = [[(max((c := charge(p, shape))[0], -(-c[1] * GPU // shape.gpu_mib) if shape.gpu_mib else 0, 1), p.count)
              for p in pods if p.count > 0] for pods in lists_of(world, shape)]
    pods = [p for some in lists for p in some]
    if not pods:
        return 0.0
    step = math.gcd(GPU, *(size for size, _ in pods))  # no GPU ever has anything in between
    asked, n = sum(size * count for size, count in pods), sum(count for _, count in pods)
    by_rollouts = {free: sum(fill_one(some, free) for some in lists) for free in range(0, GPU + 1, step)}  # sums over the lists
    by_places = {free: sum(count * (free // size * size) for size, count in pods) * LISTS // n for free in range(0, GPU + 1, step)}
    gpus = min(max(asked * TRIAL_PODS // (n * 1300), 1), TRIAL_GPUS)
    better = (fill(pods, gpus, by_places) - fill(pods, gpus, by_rollouts)) // (2 * TRIAL_ROUNDS * gpus)
    return min(max((better - TRIAL_BETTER) * 16 // (TRIAL_SURE - TRIAL_BETTER), 0), 16) / 16


def fill_one(pods, free):
    left = free
    for size, count in pods:
        left -= min(count, left // size) * size
    return free - left


def fill(pods, gpus, value):
    """Allocated when 100 % and 130 % have been asked for, added up over the rounds; each pod where it costs least."""
    copies, done = (size for _ in iter(int, 1) for size, count in pods for _ in range(count)), 0
    for _ in range(TRIAL_ROUNDS):
        free, asked, placed, all_gpus = [GPU] * gpus, 0, 0, gpus * GPU
        while asked * 10 < all_gpus * 13:
            size = next(copies)
            fit = {v for v in free if v >= size}
            if fit:
                free[free.index(min(fit, key=lambda v: (value[v] - value[v - size], v)))] -= size
                placed += size
            done += placed if asked < all_gpus <= asked + size else 0
            asked += size
        done += placed
    return done


# ---- scarcity classes and their prices ----

def volume(kinds):
    return sum(k.pods * k.count * k.mean for k in kinds)


def kinds_of(mix, shapes, means):
    real, prior = [], []
    for pod, n in sorted(mix.items()):
        hosts = frozenset(s for s in shapes if runs(pod, s))
        if pod.count > 0 and hosts:
            taken = [charge(pod, s) for s in hosts]
            mib = 0 if pod.milli == GPU and not pod.gpu_mib else min(m for _, m in taken)
            real.append(Kind(hosts, pod.count, min(m for m, _ in taken), means[pod], mib, pod.cpu, pod.mem, n, True))
    for s in shapes:
        if s.gpus >= PRIOR_GPUS:
            pod = Pod(s.gpus, GPU, s.cpu * PRIOR_CPU // 100, s.mem * PRIOR_MEM // 100)
            prior.append(Kind(frozenset(t for t in shapes if runs(pod, t)), s.gpus, GPU, GPU, 0, pod.cpu, pod.mem, PRIOR_PODS, False))
    asked = volume(prior)
    most = PRIOR_VOLUME * volume(real) if real else asked
    return real + [k._replace(pods=k.pods * min(1, most / asked)) for k in prior]


def goods_of(world, kinds):
    def gpus_of(shapes):
        return sum(n * s.gpus for s, n in world.shapes.items() if s in shapes)

    def good(hosts, count, milli, of, cpu, mem, mean, needing):
        pods = sum(k.pods for k in needing)
        return Good(hosts, count, milli, min(k.gpu_mib for k in of), cpu, mem, mean, volume(needing) / volume(kinds),
                    volume(needing) / pods, pods if world.learned else NEVER)

    hosts, goods = {}, []
    for k in kinds:
        if k.count > 1 or gpus_of(k.hosts) <= HOSTS_MAX * gpus_of(world.shapes):
            hosts.setdefault((k.hosts, k.count), []).append(k)
    for (these, count), of in hosts.items():
        needing = [k for k in kinds if k.count >= count and k.hosts <= these]
        goods.append(good(these, count, max(k.milli for k in of), of, max(k.cpu for k in of), max(k.mem for k in of),
                          max(k.mean for k in of), needing))
    for milli in sorted({k.milli for k in kinds if k.milli > SIZE_MIN}):
        just, needing = [k for k in kinds if k.milli == milli], [k for k in kinds if k.milli >= milli]
        if volume(just) >= SIZE_VOLUME * volume(kinds):
            gpus = sum(k.pods * k.count for k in needing)
            cpu = math.floor(sum(k.pods * k.cpu for k in needing) / gpus + 0.5)
            goods.append(good(frozenset(), 0, milli, just, cpu, 0, math.floor(volume(needing) / gpus + 0.5), needing))
    return goods


def supply(world, good, node):
    """S_k of one machine, in milli."""
    if good.count > 0 and node.shape not in good.hosts:
        return 0
    if good.count == 1:
        return idle_of(world, node)
    gpus = sum(milli >= good.milli and mib >= good.gpu_mib for milli, mib in usable(node))
    if good.count == 0:
        return min(gpus * good.mean_milli, good.mean_milli * node.cpu // good.cpu if good.cpu else NEVER)
    fit = min(gpus // good.count, node.cpu // good.cpu if good.cpu else NEVER, node.mem // good.mem if good.mem else NEVER)
    return good.count * good.mean_milli * fit


class World:
    """What does not change: the mix, the shapes of the machines, and what follows from them."""

    def __init__(self, mix, shapes, learned=False):
        """mix: {pod: how many}; shapes: {shape: how many machines}"""
        self.shapes, self.lists, self.learned = shapes, deal(mix), learned
        self.means = {p: mean_part(p, shapes) for p in mix}
        self.times = {s: times_of(mix, s, self.means) for s in shapes}
        kinds = kinds_of(mix, shapes, self.means)
        self.goods = goods_of(self, kinds)
        self.gangs = volume([k for k in kinds if k.count > 1 and k.real]) / volume(kinds) if kinds else 0.0
        asked = sum(n * p.count * self.means[p] for p, n in mix.items())
        self.cpu_per_milli = sum(n * p.cpu for p, n in mix.items() if p.count == 0) / asked if asked else 0.0
        self.trial = trial(self)


def price(good, supplied, idle, chi):
    """The probability that the demand reaches the supply."""
    mu = good.mean_volume
    demand = (1 + CHURN_FACTOR * chi) * good.share * idle
    z = (demand - supplied + mu / 2) / (mu * math.sqrt(max(demand / mu, DEMAND_MIN) + (demand / mu) ** 2 / good.known))
    return sixteenths(math.erfc(-z / math.sqrt(2)) / 2)


class Learned:
    """A mix as pods come: counted one by one, and settled on when they have become others, or many more."""

    def __init__(self):
        self.counts, self.settled, self.look_at = {}, {}, 1

    def arrived(self, pod):
        self.counts[pod] = self.counts.get(pod, 0) + 1
        n, before = sum(self.counts.values()), sum(self.settled.values())
        if n < self.look_at:
            return
        self.look_at = n + (n if n < SETTLE_MIN else max(n // SETTLE_PARTS, SETTLE_MIN))
        moved = sum(max(c / n - self.settled.get(p, 0) / before, 0) for p, c in self.counts.items()) if before else 1
        if moved * MOVED >= 1 or n >= GROWN * before or any(p.count > 1 and p not in self.settled for p in self.counts):
            self.settled = dict(self.counts)


def churn(events):
    """chi: twice the moving share of departures; events: True for each pod that left, False for each that came."""
    departing = 0.0
    for left in events:
        departing += (left - departing) / CHURN_EVENTS
    return sixteenths(2 * departing)


def prices_of(world, nodes, chi):
    idle, left = sum(idle_of(world, n) for n in nodes), sum(rollout(world, n)[2] for n in nodes)
    asked = world.cpu_per_milli * idle
    f = 0.0 if asked <= 0 else 1.0 if left <= 0 else sixteenths((asked / left - SCARCE_FROM) / SCARCE_OVER)
    beta = max(min(1.0, CHURN_SURE * chi), world.trial)
    costs = ((HOST_WEIGHT if g.count else SIZE_WEIGHT) * price(g, sum(supply(world, g, n) for n in nodes), idle, chi) for g in world.goods)
    return Prices(f, chi, beta, sixteenths(GANGS_SURE * world.gangs), tuple(zip(world.goods, costs)))


# ---- the score ----

def value(world, p, node):
    return ((1 - p.f - p.beta) * rollout(world, node)[0] + p.f * rollout(world, node)[1] + p.beta * places(world, node)
            + sum(cost * supply(world, good, node) for good, cost in p.goods if cost > 0))


def score(world, p, before, after):
    idle = idle_of(world, after)
    drain = p.beta * p.gamma * idle * IDLE_CHARGE + DRAIN * p.chi * p.f * (idle / 8000 + after.cpu / 128000)
    return value(world, p, after) - value(world, p, before) - drain


def take(node, pod, at):
    milli, mib = charge(pod, node.shape) if at else (0, 0)
    gpus = tuple((m - milli, b - mib) if i in at else (m, b) for i, (m, b) in enumerate(node.gpus))
    return node._replace(cpu=node.cpu - pod.cpu, mem=node.mem - pod.mem, gpus=gpus)


def placements(node, pod):
    """The places on this machine that are judged: each different GPU, or the fullest that fit."""
    if pod.cpu > node.cpu or pod.mem > node.mem or (pod.models and node.shape.model not in pod.models):
        return []
    if pod.count == 0:
        return [()]
    (milli, mib), free = charge(pod, node.shape), lambda i: sum(a / b for a, b in zip(node.gpus[i], (GPU, node.shape.gpu_mib)) if b)
    fit = [i for i, gpu in enumerate(node.gpus) if gpu[0] >= milli and gpu[1] >= max(mib, pod.gpu_mib)]
    if pod.count > 1:
        return [tuple(sorted(sorted(fit, key=free)[:pod.count]))] if len(fit) >= pod.count else []
    return [(i,) for n, i in enumerate(fit) if node.gpus[i] not in [node.gpus[k] for k in fit[:n]]]


def scores(world, p, nodes, pod):
    """{(number of the machine, its GPUs): score}: the highest wins, of equals the first."""
    return {(i, at): score(world, p, node, take(node, pod, at)) for i, node in enumerate(nodes) for at in placements(node, pod)}
