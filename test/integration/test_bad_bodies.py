"""Bodies that are not what kube-scheduler sends: 200 with a clear Error, the ledger unchanged, the next call served."""
import json

import pytest
from hypothesis import given, settings, strategies as st

from objects import milli, pod_object
from processes import Connection
from replies import check_filter, check_priorities

VERBS = ("filter", "prioritize", "bind")
pytestmark = pytest.mark.usefixtures("still_served")


def is_refusal(verb, reply, because=""):
    """prioritize answers a bare list, which has no room for an error."""
    if verb == "prioritize":
        return reply == []
    return reply["Error"] and because in reply["Error"] and \
        all(value is None for key, value in reply.items() if key != "Error")


def good_body(verb):
    if verb == "bind":
        return json.dumps({"PodName": "nobody", "PodNamespace": "default", "PodUID": "u", "Node": "n1"}).encode()
    return json.dumps({"Pod": pod_object("p", limits=milli(1)), "Nodes": None, "NodeNames": ["n1", "n2"]}).encode()


# name: (body, text of the Error)
BODIES = {
    "empty": (b"", "end"),
    "blank": (b" \r\n\t ", "end"),
    "null": (b"null", ""),
    "a word": (b"hello", ""),
    "a number": (b"1e400", ""),
    "a string": (b'"Pod"', ""),
    "an array": (b"[1,2,3]", ""),
    "html": (b"<html><body>502 Bad Gateway</body></html>", ""),
    "a form": (b"Pod=p&NodeNames=a", ""),
    "byte order mark": (b"\xef\xbb\xbf{}", ""),
    "utf-16": ('{"Pod":{}}'.encode("utf-16"), ""),
    "nul byte": (b"\0", ""),
    "nul bytes behind": (b'{"Pod":{},"NodeNames":[]}\0\0', ""),
    "trailing garbage": (b'{"Pod":{},"NodeNames":[]} x', "after"),
    "a second value": (b'{"Pod":{},"NodeNames":[]}{}', "after"),
    "trailing comma": (b'{"Pod":{},"NodeNames":[],}', ""),
    "trailing comma in a list": (b'{"Pod":{},"NodeNames":["a",],"PodName":["a",]}', ""),
    "single quotes": (b"{'Pod':{}}", ""),
    "comment": (b'{/* */"Pod":{}}', ""),
    "nested 65 times": (b'{"X":' + b"[" * 65 + b"]" * 65 + b"}", "deep"),
    "nested 200,000 times": (b'{"Pod":' + b"[" * 200000 + b"]" * 200000 + b"}", ""),
    "objects nested 1,000 times": (b'{"Pod":' * 1000 + b"{}" + b"}" * 1000, ""),
    "nested and never closed": (b"[" * 100000, ""),
    "pod twice": (b'{"Pod":{},"Pod":{},"NodeNames":[],"PodName":"a","PodName":"b"}', "duplicate key"),
    "pod twice, other case": (b'{"Pod":{},"pod":{},"NodeNames":[],"PodName":"a","podname":"b"}', "duplicate key"),
    "key twice inside": (b'{"Pod":{"metadata":{"name":"p","name":"q"}},"NodeNames":[],'
                         b'"X":{"a":1,"a":2}}', "duplicate key"),
    "invalid utf-8": (b'{"Pod":{"metadata":{"name":"\xff\xfe"}},"NodeNames":["a"],"PodName":"\xff"}', "UTF-8"),
    "cut utf-8": (b'{"Pod":{},"NodeNames":["\xe2\x82"],"PodName":"\xe2\x82"}', "UTF-8"),
    "overlong utf-8": (b'{"Pod":{},"NodeNames":["\xc0\x80"],"PodName":"\xc0\x80"}', "UTF-8"),
    "surrogate in utf-8": (b'{"Pod":{},"NodeNames":["\xed\xa0\x80"],"PodName":"\xed\xa0\x80"}', "UTF-8"),
    "lone surrogate": (b'{"Pod":{},"NodeNames":["\\ud800"],"PodName":"\\ud800"}', ""),
    "escaped nul": (b'{"Pod":{},"NodeNames":["a\\u0000b"],"PodName":"a\\u0000b"}', ""),
    "control byte": (b'{"Pod":{},"NodeNames":["a\x01b"],"PodName":"a\x01b"}', ""),
    "bad escape": (b'{"Pod":{},"NodeNames":["\\x41"],"PodName":"\\x41"}', ""),
    "bad number": (b'{"Pod":{},"NodeNames":[],"X":01}', ""),
    "not a number": (b'{"Pod":{},"NodeNames":[],"X":NaN}', ""),
    "hexadecimal": (b'{"Pod":{},"NodeNames":[],"X":0x10}', ""),
    "wrong type of pod and name": (b'{"Pod":"p","NodeNames":["a"],"PodName":1}', ""),
    "pod is a list": (b'{"Pod":[],"NodeNames":["a"],"PodName":[]}', ""),
    "pod is true": (b'{"Pod":true,"NodeNames":["a"],"PodName":true}', ""),
    "names are numbers": (b'{"Pod":{},"NodeNames":[1],"PodName":{}}', ""),
    "names are null": (b'{"Pod":{},"NodeNames":[null],"PodName":null}', ""),
    "names are one text": (b'{"Pod":{},"NodeNames":"a","PodName":["a"]}', ""),
    "nodes are a list": (b'{"Pod":{},"Nodes":[],"PodName":0}', ""),
    "a node without a name": (b'{"Pod":{},"Nodes":{"items":[{}]}}', ""),
    "a node is null": (b'{"Pod":{},"Nodes":{"items":[null]}}', ""),
    "containers are an object": (b'{"Pod":{"spec":{"containers":{}}},"NodeNames":["a"]}', ""),
    "limits are a list": (b'{"Pod":{"spec":{"containers":[{"name":"c","resources":{"limits":[]}}]}},'
                          b'"NodeNames":["a"]}', ""),
}


@pytest.mark.parametrize("verb", VERBS)
def test_bad_body__every_kind__error_and_connection_kept(fgpu, verb):
    wrong = []
    with Connection(fgpu) as c:
        for name, (body, because) in BODIES.items():
            reply = c.post(verb, body).json
            if not is_refusal(verb, reply, because):
                wrong.append((name, reply))
    assert not wrong


@pytest.mark.parametrize("verb", VERBS)
def test_truncated_body__at_every_byte__error(fgpu, verb):
    whole = good_body(verb)
    with Connection(fgpu) as c:
        for n in range(len(whole)):
            assert is_refusal(verb, c.post(verb, whole[:n]).json)


def test_good_body__after_all_the_bad_ones__understood(fgpu):
    """The bodies above fail for what is wrong with them, not for what they share with this one."""
    assert set(fgpu.post("filter", good_body("filter"))["FailedAndUnresolvableNodes"]) == {"n1", "n2"}
    assert [x["Host"] for x in fgpu.post("prioritize", good_body("prioritize"))] == ["n1", "n2"]
    assert "Args" not in fgpu.post("bind", good_body("bind"))["Error"]


@pytest.mark.parametrize("verb", VERBS)
def test_oversized_body__20_mib__error_that_says_so(fgpu, verb):
    body = b'{"Pod":{"metadata":{"name":"' + b"x" * (20 << 20) + b'"}}}'
    with Connection(fgpu) as c:
        assert is_refusal(verb, c.post(verb, body).json, "larger than the limit")
        assert is_refusal(verb, c.post(verb, b"{").json)


def test_wide_objects__many_keys_and_members__answered(fgpu):
    keys = ",".join(f'"k{i}":{i}' for i in range(100000))
    assert is_refusal("filter", fgpu.post("filter", f'{{"Pod":{{}},"NodeNames":["a"],"X":{{{keys}}}}}'), "key")
    items = ",".join("0" for _ in range(500000))
    assert fgpu.post("filter", f'{{"Pod":{{}},"NodeNames":["a"],"X":[{items}]}}')["NodeNames"] == ["a"]


def test_huge_numbers__where_nobody_looks__ignored(fgpu):
    for number in ("1e400", "-1e-400", "9" * 400, "0." + "0" * 400 + "1", "-0"):
        assert fgpu.post("filter", f'{{"Pod":{{}},"NodeNames":["a"],"X":{number}}}')["NodeNames"] == ["a"]


def test_repeated_and_hostile_names__text_and_once_each(fgpu):
    names = ["../../etc/passwd", "a" * 10000, "<script>alert(1)</script>", "%s%n%d", "\u2028", "a\nb", "\\", '"', "",
             "\U0001f4a9", "ＮＯＤＥ", " ", "a", "A"]
    pod = pod_object("<&>\u2029", limits=milli(1))
    assert set(fgpu.reasons(pod, names)) == set(names)
    assert set(fgpu.reasons(pod, ["a"] * 50 + ["b"])) == {"a", "b"}
    assert fgpu.post("filter", {"Pod": pod_object("p"), "NodeNames": ["a", "b", "a"]})["NodeNames"] == ["a", "b"]


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes__answered(fgpu, body):
    for verb in VERBS:
        fgpu.post(verb, body)


KEYS = ["Pod", "pod", "NodeNames", "Nodes", "items", "metadata", "name", "uid", "namespace", "annotations", "labels",
        "spec", "status", "phase", "nodeName", "containers", "initContainers", "restartPolicy", "resources", "limits",
        "requests", "fgpu.io/gpu-milli", "fgpu.io/gpu-count", "fgpu.io/gpu-fraction", "fgpu.io/assignment",
        "PodName", "PodNamespace", "PodUID", "Node", ""]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), v, max_size=5),
    max_leaves=30)
envelopes = st.dictionaries(st.sampled_from(KEYS), values, max_size=6)


@settings(max_examples=150)
@given(values | envelopes)
def test_any_json__answered(fgpu, value):
    for verb in VERBS:
        fgpu.post(verb, json.dumps(value).encode())


# A pod that is one almost everywhere, so that the deeper layers of the decoder and the request get their share.
quantities = st.sampled_from(["0", "1", "300", "1000", "1500", "-1", "5m", "1e400", "9" * 400, "0x10", "１", "NaN",
                              "1k", "4Gi", "1.5", ".", "+", "1e", "4294967296", "9223372036854775808", "0.3"]) \
    | st.text(max_size=6) | st.integers().map(str)
resource_names = st.sampled_from(["fgpu.io/gpu-milli", "fgpu.io/gpu-memory-mib", "fgpu.io/gpu-count",
                                  "nvidia.com/gpu", "cpu", "memory"])
annotations = st.dictionaries(st.sampled_from(
    ["fgpu.io/gpu-fraction", "fgpu.io/gpu-memory", "fgpu.io/gpu-count", "fgpu.io/size", "fgpu.io/container",
     "fgpu.io/gpu-model", "fgpu.io/gpu-uuid", "fgpu.io/isolate-from", "fgpu.io/qos", "fgpu.io/assignment"]),
    quantities | st.text(max_size=30), max_size=4)
amounts = st.dictionaries(resource_names, quantities, max_size=3)
containers = st.lists(st.fixed_dictionaries(
    {"name": st.sampled_from(["main", "side", "", "x" * 100])},
    optional={"resources": st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts}) | values,
              "restartPolicy": st.sampled_from(["Always", "", "x"])}), max_size=4)
pods = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"annotations": annotations}, optional={
        "name": st.text(max_size=5), "namespace": st.text(max_size=5), "uid": st.text(max_size=5),
        "labels": st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2)}),
     "spec": st.fixed_dictionaries({"containers": containers}, optional={
         "initContainers": containers, "nodeName": st.text(max_size=5), "schedulerName": values})},
    optional={"status": values})


@settings(max_examples=200)
@given(pod=pods, others=st.lists(st.text(alphabet=st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]),
                                         max_size=6), max_size=4))
def test_any_pod__every_requested_node_answered_once(fgpu, still_served, pod, others):
    nodes = [*others, still_served]
    args = {"Pod": pod, "Nodes": None, "NodeNames": nodes}
    first = check_filter(fgpu.post("filter", args), nodes)
    assert check_filter(fgpu.post("filter", args), nodes) == first, "the same question, another answer"
    check_priorities(fgpu.post("prioritize", args), nodes)
