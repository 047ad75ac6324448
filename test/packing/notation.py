"""The words in which the corpus is written: cards, shapes of clusters, and what pods ask for. README.md explains them."""
import dataclasses
import re

GIB = 1024  # MiB

# card: (the model as its driver names it, memory in GiB)
CARDS = {
    "t4": ("Tesla-T4", 16),
    "a10": ("NVIDIA-A10", 24),
    "a100-40": ("NVIDIA-A100-SXM4-40GB", 40),
    "l40s": ("NVIDIA-L40S", 48),
    "a100-80": ("NVIDIA-A100-SXM4-80GB", 80),
    "h100": ("NVIDIA-H100-80GB-HBM3", 80),
    "v100": ("Tesla-V100-SXM2-16GB", 16),
    "l4": ("NVIDIA-L4", 24),
    "a40": ("NVIDIA-A40", 48),
    "h200": ("NVIDIA-H200", 141),
}
CORES_PER_GPU = 16  # where a shape says nothing: more than the pods ask for
HOST_GIB_PER_GPU = 128


@dataclasses.dataclass(frozen=True)
class Group:
    """Machines that are alike."""
    nodes: int
    gpus: int
    card: str
    cores_per_gpu: float
    mig: str

    @property
    def model(self):
        return CARDS[self.card][0]

    @property
    def gpu_mib(self):
        return CARDS[self.card][1] * GIB


GROUP = re.compile(r"(\d+)x(\d+):([\w-]+)(?:/([\d.]+)c)?(?::([\w.|]+))?")


def parse_shape(text):
    """"20x8:a100-40 + 40x2:t4/4c": 20 machines of 8 GPUs, and 40 of 2 with 4 cores for each GPU. "4x2:h100:3g.40gb|1g.10gb":
    every GPU is cut into these MIG instances."""
    groups = []
    for part in text.split(" + "):
        m = GROUP.fullmatch(part)
        if m is None or m[3] not in CARDS:
            raise ValueError(f"\"{part}\" is no group of machines, as 10x4:a10")
        groups.append(Group(int(m[1]), int(m[2]), m[3], float(m[4] or CORES_PER_GPU), m[5] or ""))
    return groups


@dataclasses.dataclass(frozen=True)
class Ask:
    """What pods of one kind ask for. Amounts are ranges (low, high), of which each pod draws its own."""
    weight: float  # how many of the pods, in parts of the sum over the mix
    gpus: int
    share: tuple   # compute of each GPU, 0 to 1; (0, 0): not said
    gib: tuple     # memory of each GPU; (0, 0): not said
    profile: str   # of MIG instances
    cards: tuple   # that it accepts; none: any
    cores: tuple   # (0, 0): 4 for each GPU, or part of one


RANGE = r"[\d.]+(?:\.\.[\d.]+)?"
ASK = re.compile(rf"(?:(?P<weight>[\d.]+)\*)?(?:(?P<cpu>cpu)|mig:(?P<profile>[\w.]+)|(?P<gib_only>{RANGE})G|(?P<share>{RANGE})"
                 rf"(?:/(?P<gib>{RANGE})G)?)(?:@(?P<cards>[\w|-]+))?(?:#(?P<cores>{RANGE}))?")


def parse_range(text):
    low, _, high = (text or "0").partition("..")
    return float(low), float(high or low)


def parse_mix(text):
    """"2*0.3 0.7/12G 4@h100 6G#2 cpu#16": see README.md."""
    asks = []
    for part in text.split():
        m = ASK.fullmatch(part)
        if m is None:
            raise ValueError(f"\"{part}\" is nothing that a pod asks for, as 2*0.3/8G@a10|t4#4")
        share, cards = parse_range(m["share"]), tuple(filter(None, (m["cards"] or "").split("|")))
        whole = share[0] >= 1
        if (whole and (share[0] != share[1] or share[0] % 1 or m["gib"])) or (not whole and share[1] > 1):
            raise ValueError(f"\"{part}\": above 1 stands a whole number of GPUs, which have all their memory")
        asks.append(Ask(weight=float(m["weight"] or 1), gpus=0 if m["cpu"] else int(share[0]) if whole else 1,
                        share=(1.0, 1.0) if whole else share, gib=parse_range(m["gib"] or m["gib_only"]),
                        profile=m["profile"] or "", cards=cards, cores=parse_range(m["cores"])))
    return asks
