"""Draws a case of the corpus: machines, pods that may come, and when they come and go. The same case and key give the same
files; README.md has the formulas."""
import csv
import dataclasses
import hashlib
import math
import random

from notation import GIB, HOST_GIB_PER_GPU

ROWS = 400            # pods that may come
HOUR_MS = 3_600_000   # the mean life time
JOBS = [2, 4, 8, 16]  # pods that come and go together
MEAN_JOB = sum(JOBS) / len(JOBS)
REPLICAS = [4, 8, 16, 32]  # pods that come together and end one by one
MEAN_REPLICAS = sum(REPLICAS) / len(REPLICAS)
CAMPAIGN = 1 / 3      # of all GPUs that a campaign asks for
GROWTH = (0.5, 1.5)   # of the load: at the beginning of the measurement, at its end
LIFE_BY_SIZE = {"by-size": (0.25, 2.5), "small-long": (4.0, 0.4)}  # mean life of pods below half a GPU, of others
# Mean life times before time 0 after which hardly a pod is left.
HISTORY = {"fixed": 1, "uniform": 1.5, "exponential": 10, "two-phase": 40, "pareto": 100, "by-size": 25, "small-long": 40}
FILL_TO = 1.3
MIG_SLICES = 7        # of all cards that the corpus cuts


def rng_of(*parts):
    return random.Random(int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[:16], "big"))


@dataclasses.dataclass
class Pod:
    gpus: int
    milli: int
    mib: int
    profile: str
    models: tuple
    cpu_milli: int
    night: bool = False
    counts: int = 0  # thousandths of a GPU in every percentage


def gpu_count(case):
    return sum(g.nodes * g.gpus for g in case.shape)


# ---- what pods ask for ----

def draw_from(low, high, step, rng):
    """People write round numbers."""
    return low + step * rng.randint(0, round((high - low) / step))


def draw_pod(ask, models, rng):
    share = draw_from(*ask.share, 0.05 if ask.share[0] >= 0.1 else 0.01, rng)
    return Pod(ask.gpus, round(1000 * share), round(GIB * draw_from(*ask.gib, 1, rng)), ask.profile, models,
               round(1000 * draw_from(*ask.cores, 1, rng)))


def models_of(case, ask):
    """The models of the cards that it accepts and the cluster has; all: none are named."""
    return tuple(sorted({g.model for g in case.shape if g.card in ask.cards}))


def draw_rows(case, asks, n, rng):
    """The kinds in exact proportion (largest remainders), every pod with its own amounts."""
    total = sum(a.weight for a in asks)
    exact = [n * a.weight / total for a in asks]
    counts = [math.floor(x) for x in exact]
    for i in sorted(range(len(asks)), key=lambda i: counts[i] - exact[i])[:n - sum(counts)]:
        counts[i] += 1
    return [draw_pod(a, models_of(case, a), rng) for a, k in zip(asks, counts) for _ in range(k)]


def shares(case, pod):
    """(compute, memory) that it takes, in GPUs: of those that it accepts, in the mean."""
    if pod.gpus == 0:
        return 0.0, 0.0
    if pod.profile:
        part = int(pod.profile[0]) / MIG_SLICES
        return part, part
    groups = [g for g in case.shape if not pod.models or g.model in pod.models]
    mib = sum(g.nodes * g.gpus * g.gpu_mib for g in groups) / sum(g.nodes * g.gpus for g in groups)
    memory = pod.mib / mib if pod.mib else pod.milli / 1000
    compute = pod.milli / 1000 if pod.milli else 0 if case.memory_only == "free" else memory
    return pod.gpus * compute, pod.gpus * memory


def weigh(case, rows):
    """A pod counts for its larger share. All are divided by one number, so that the pods ask for 100 % when they ask for all
    of what is scarcer, compute or memory. Where its kind says no cores, it asks for 4 for each GPU."""
    taken = [shares(case, p) for p in rows]
    dominant = [max(t) for t in taken]
    scarcer = max(sum(c for c, _ in taken), sum(m for _, m in taken))
    for p, d in zip(rows, dominant):
        p.counts = max(1, round(1000 * d * scarcer / sum(dominant))) if p.gpus else 0
        p.cpu_milli = p.cpu_milli or round(4000 * d)


def draw_pods(case, key):
    rng = rng_of("pods", case.name, key)
    if case.night is None:
        rows = draw_rows(case, case.mix, ROWS, rng)
    else:
        rows = draw_rows(case, case.mix, ROWS // 2, rng)
        rows += [dataclasses.replace(p, night=True) for p in draw_rows(case, case.night, ROWS // 2, rng)]
    weigh(case, rows)
    return rows


# ---- when they come and go; times in mean life times ----

def draw_life(law, pod, rng):
    """Mean 1; of laws that depend on the size, mean_life."""
    if law == "fixed":
        return 1.0
    if law == "exponential":
        return rng.expovariate(1)
    if law == "two-phase":       # nine of ten short, one long
        return rng.expovariate(1 / 0.5 if rng.random() < 0.9 else 1 / 5.5)
    if law == "pareto":          # infinite variance
        return rng.paretovariate(1.5) / 3
    if law == "uniform":
        return rng.uniform(0.5, 1.5)
    assert law in LIFE_BY_SIZE, law
    return rng.expovariate(1) * mean_life(law, pod)


def mean_life(law, pod):
    small, large = LIFE_BY_SIZE.get(law, (1, 1))
    return large if pod.counts >= 500 else small


def is_night(case, t, rng):
    """Is the pod that comes at this time one of the night?"""
    if case.coming == "campaign":
        return False
    if case.coming == "drift":
        return rng.random() < (1 - math.cos(2 * math.pi * t / case.period)) / 2
    return t % case.period >= case.period / 2


def departure(case, t, pod, rng):
    if case.coming == "sweeps" and rng.random() < 0.5:
        return math.floor(t + rng.random()) + 1.0  # at the end of a period, with all others; mean 1
    return t + draw_life(case.life, pod, rng)


def rates_of(case, rows):
    """{night: pods that come in a mean life time}, so that `load` of all GPUs is asked for by day and by night; campaigns come
    beside that."""
    ret = {}
    for night in (False, True) if case.night and case.coming != "campaign" else (False,):
        part = [p for p in rows if p.night == night]
        counted = sum(p.counts * mean_life(case.life, p) for p in part)
        ret[night] = case.load * gpu_count(case) * 1000 * len(part) / counted
    return ret


def part_of_load(case, t, warm_up, measured):
    """Demand that grows, grows while it is measured."""
    if case.coming != "growth":
        return 1
    return GROWTH[0] + (GROWTH[1] - GROWTH[0]) * max(0.0, t - warm_up) / measured


def together(case, pod, rng):
    """How many such pods come at once; 0: none this time, since others come in numbers."""
    if case.coming == "jobs":
        return rng.choice(JOBS)
    if case.coming == "replicas" and pod.milli < 1000:
        return rng.choice(REPLICAS) if rng.random() < 1 / MEAN_REPLICAS else 0
    return 1


def draw_campaigns(case, rows, end, rng):
    """They come at one moment of each period and end together, one mean life time later."""
    of_campaign = [i for i, p in enumerate(rows) if p.night]
    mean_counts = sum(rows[i].counts for i in of_campaign) / len(of_campaign)
    pods = round(CAMPAIGN * 1000 * gpu_count(case) / mean_counts)
    moments = [k * case.period for k in range(math.ceil(end / case.period))]
    return [as_ms(t, t + 1.0, rng.choice(of_campaign)) for t in moments for _ in range(pods)]


def draw_stays(case, rows, key, length=1.0):
    """[(arrive_ms, depart_ms, row)], in order, and how many ms are warm-up. What came before time 0 and is still there then
    comes at time 0, so that a run begins with a cluster in use."""
    rng, rates = rng_of("stays", case.name, key), rates_of(case, rows)
    rows_of = {n: [i for i, p in enumerate(rows) if p.night == n] for n in rates}
    warm_up, measured = case.times(min(rates.values()), length)
    fastest = max(rates.values()) * (GROWTH[1] if case.coming == "growth" else 1)
    t, stays = -float(HISTORY[case.life]), []
    while True:
        t += rng.expovariate(fastest / (MEAN_JOB if case.coming == "jobs" else 1))
        if t >= warm_up + measured:
            break
        night = case.night is not None and is_night(case, t, rng)
        if rng.random() * fastest >= rates[night] * part_of_load(case, t, warm_up, measured):
            continue  # fewer pods come at this time
        row = rng.choice(rows_of[night])
        pods = together(case, rows[row], rng)
        if case.coming == "jobs":  # they end together
            leaves = [departure(case, t, rows[row], rng)] * pods
        else:
            leaves = [departure(case, t, rows[row], rng) for _ in range(pods)]
        stays += [as_ms(max(t, 0.0), leave, row) for leave in leaves if leave > 0]
    if case.coming == "campaign":
        stays = sorted(stays + draw_campaigns(case, rows, warm_up + measured, rng), key=lambda s: s[0])
    return stays, round(warm_up * HOUR_MS)


def as_ms(arrive, leave, row):
    at = round(arrive * HOUR_MS)
    return at, max(round(leave * HOUR_MS), at + 1), row


def draw_fill(case, rows, key):
    """Pods that never leave, until they have asked for 130 %."""
    rng, asked, stays = rng_of("fill", case.name, key), 0, []
    while True:
        row = rng.randrange(len(rows))
        asked += rows[row].counts
        if asked > FILL_TO * 1000 * gpu_count(case):
            return stays
        stays.append((len(stays), None, row))


# ---- files ----

def write_table(path, header, lines):
    with open(path, "w", encoding="utf-8", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(header)
        w.writerows(lines)


def write_nodes(case, path):
    """In an order of their own, because the first of equals wins ties."""
    machines = [g for g in case.shape for _ in range(g.nodes)]
    rng_of("nodes", case.name).shuffle(machines)
    write_table(path, ["name", "cpu_milli", "memory_mib", "gpu", "model", "gpu_mem_mib", "memory_only", "mig"],
                [[f"n{i}", round(1000 * g.gpus * g.cores_per_gpu), g.gpus * HOST_GIB_PER_GPU * GIB, g.gpus, g.model, g.gpu_mib,
                  case.memory_only, g.mig] for i, g in enumerate(machines)])
    return machines


def write_pods(rows, path):
    write_table(path, ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_mem_mib", "mig_profile", "gpu_spec",
                       "counts_milli"],
                [[f"p{i}", p.cpu_milli, GIB, p.gpus, 0 if p.profile else p.milli, p.mib, p.profile, "|".join(p.models), p.counts]
                 for i, p in enumerate(rows)])


def write_stays(stays, path):
    write_table(path, ["arrive_ms", "depart_ms", "pod_row"], [[a, "" if d is None else d, r] for a, d, r in stays])
