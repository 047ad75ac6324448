"""What pairs of measurements say, without assuming how noise is distributed."""
import math
import statistics

CONFIDENCE = 0.99  # of each interval; a comparison has a dozen of them


def interval(values, confidence=CONFIDENCE):
    """The interval of the median between two order statistics; None: there are too few values for one."""
    v, n = sorted(values), len(values)
    outside, k = 0.0, 0  # the chance that the median is beyond the k least, or beyond the k most
    while k < n // 2:
        more = outside + 2 * math.comb(n, k) / 2 ** n
        if more > 1 - confidence:
            break
        outside, k = more, k + 1
    return (v[k - 1], v[n - k]) if k > 0 else None


def ratios(before, after):
    """Of each pair; pairs in which something cannot be measured (0) are left out."""
    return [b / a for a, b in zip(before, after, strict=True) if a > 0 and b > 0]


def verdict(before, after):
    """{"median", "least", "most", "interval", "pairs", "says"} of after/before."""
    r = ratios(before, after)
    if not r:
        return {"median": None, "least": None, "most": None, "interval": None, "pairs": 0, "says": "not measurable"}
    i = interval(r)
    if i is None:
        says = "too few pairs"
    elif i[0] <= 1 <= i[1]:
        says = "noise"
    else:
        says = "more" if i[0] > 1 else "less"
    return {"median": statistics.median(r), "least": min(r), "most": max(r), "interval": i, "pairs": len(r), "says": says}
