"""Student's t and Holm's correction, for the judgement of a strategy."""
import math


def mean(values):
    return sum(values) / len(values)


def standard_error(values):
    """Of their mean; infinite for one value."""
    if len(values) < 2:
        return math.inf
    m = mean(values)
    return math.sqrt(sum((v - m) ** 2 for v in values) / (len(values) - 1) / len(values))


def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    ret = d
    for m in range(1, 300):
        for top in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                    -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d, c = 1 / (1 + top * d or tiny), 1 + top / c or tiny
            ret *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return ret


def incomplete_beta(a, b, x):
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * beta_fraction(a, b, x) / a


def t_above(t, freedom):
    """The probability that Student's t is above this."""
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return tail if t >= 0 else 1 - tail


def p_above(values, limit):
    """How surely the mean is above `limit`: the p value of the one-sided test."""
    error, distance = standard_error(values), mean(values) - limit
    if math.isinf(error):
        return 1.0
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return t_above(distance / error, len(values) - 1)


def holm(p_of, level=0.05):
    """Which of {name: p} are rejected when all are judged together."""
    rejected = set()
    for i, name in enumerate(sorted(p_of, key=p_of.get)):
        if p_of[name] > level / (len(p_of) - i):
            break
        rejected.add(name)
    return rejected
