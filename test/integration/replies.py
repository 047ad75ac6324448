"""What every reply must look like, whatever was asked."""
import json
import re


class Reply:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)


def checked(reply):
    """What holds for every answer of a verb (contract: 200, Content-Length, no byte behind the JSON)."""
    assert reply.status == 200, f"{reply.status} {reply.body[:300]!r}"
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    assert "Transfer-Encoding" not in reply.headers
    assert reply.body[-1:] in (b"}", b"]"), reply.body[-20:]
    return reply


def check_filter(r, nodes):
    """The form of ExtenderFilterResult, and: no node twice, none that was not asked for, none forgotten when no
    node is left. `nodes` may hold anything a caller might send."""
    assert set(r) == {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"}, r
    assert isinstance(r["Error"], str)
    if r["Error"]:
        assert not r["NodeNames"] and not r["Nodes"] and not r["FailedNodes"] and not r["FailedAndUnresolvableNodes"]
        return r
    left = r["NodeNames"] if r["NodeNames"] is not None else [n["metadata"]["name"] for n in r["Nodes"]["items"]]
    failed, final = r["FailedNodes"], r["FailedAndUnresolvableNodes"]
    everything = [*left, *failed, *final]
    assert len(set(everything)) == len(everything), "a node twice"
    assert set(everything) <= set(nodes), f"not asked for: {set(everything) - set(nodes)}"
    if not left:
        assert set(everything) == set(nodes), f"no node is left, and without a reason: {set(nodes) - set(everything)}"
    assert all(isinstance(x, str) and x for x in [*failed.values(), *final.values()])
    return r


def check_priorities(r, nodes):
    """{host: score}; [] is the answer to what cannot be scored."""
    assert isinstance(r, list)
    assert not r or sorted(x["Host"] for x in r) == sorted(set(nodes))
    for x in r:
        assert set(x) == {"Host", "Score"} and type(x["Score"]) is int and 0 <= x["Score"] <= 10, x
    return {x["Host"]: x["Score"] for x in r}


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? '
                    r'([-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|Inf)|NaN)')


def parse_metrics(text):
    """{series: value} of the Prometheus text format 0.0.4; every series must belong to a declared family."""
    types, helped, values = {}, set(), {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert kind in ("counter", "gauge", "histogram") and name not in types, line
            types[name] = kind
        elif line.startswith("# HELP "):
            helped.add(line.split(" ", 3)[2])
        else:
            m = SAMPLE.fullmatch(line)
            assert m, f"not a sample: {line!r}"
            name, labels, value = m.groups()
            family = re.sub(r"_(bucket|sum|count)$", "", name) if name not in types else name
            assert family in types and family in helped, f"undeclared: {line!r}"
            assert name + (labels or "") not in values, f"twice: {line!r}"
            values[name + (labels or "")] = float(value)
    return values
