"""config/fgpu.schema.json against the reader: what one accepts, the other does, in both directions.

The schema may accept more in two cases, and only there: a range of a quantity, factor or duration written as text, and
what concerns several keys at once.
"""
import copy
import json
import re

import jsonschema
import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from processes import ROOT, run

SCHEMA = json.loads((ROOT / "config/fgpu.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
HEAD = {"apiVersion": "fgpu.io/v1alpha1", "kind": "FgpuConfiguration"}

# "path: text", where the value must be text for the schema to be excused.
TEXT_ONLY = re.compile(r"is out of range|multiple of 1Mi|less than one MiB|whole number of bytes|three decimals|one decimal")
# an address that looks like IPv6 and is not
SEVERAL_KEYS = re.compile(r"is in two lists|has the same label as|have the same port|an empty size|"
                          r"is neither a share of one GPU|means whole GPUs and goes with neither|"
                          r"must be whole seconds|renewDeadline must be|must name a Lease|needs lease.object|must be NAMESPACE/PREFIX|"
                          r"must hold at least one body|is neither an IP address nor localhost|"
                          r"plain HTTP only on loopback|TLS needs a certificate|a certificate needs its key|"
                          r"nobody's certificate could|nobody may call|allows nobody|"
                          r"both gpuShare and milli|has the same name as|belongs to tenant|changes nothing|never used|"
                          r"no time zone of this name|no days; leave|stands here twice|"
                          r"is in neither whole nor compute|is in plugins twice|how many GPUs|both gpus and allocatable|leave the key out|a command needs the|the command has no program")


def check(*args):
    return run("check-config", *args)


def test_committed_schema__is_what_the_binary_says():
    r = check("--schema")
    assert r.returncode == 0
    assert r.stdout == (ROOT / "config/fgpu.schema.json").read_text(), \
        "run: fgpu check-config --schema > config/fgpu.schema.json"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", ["fgpu.yaml", "examples/vgpu.yaml", "examples/metagpu.yaml",
                                  "examples/memory-only.yaml", "examples/slices.yaml", "examples/policy.yaml", "examples/day-night.yaml"])
def test_shipped_files__name_the_schema_and_obey_it(path):
    text = (ROOT / "config" / path).read_text()
    relative = "../fgpu.schema.json" if "/" in path else "fgpu.schema.json"
    assert text.startswith(f"# yaml-language-server: $schema={relative}\n")
    VALIDATOR.validate(yaml.safe_load(text))


def leaves(schema, path=()):
    """(path, schema) of every key that has a value of its own."""
    for name, sub in schema["properties"].items():
        if "properties" in sub:
            yield from leaves(sub, path + (name,))
        else:
            yield path + (name,), sub


def edges(schema):
    """Values at and beside the bounds of a number."""
    for part in [schema, *schema.get("anyOf", [])]:
        for bound in ("minimum", "maximum"):
            if bound in part:
                step = part.get("multipleOf", 1)
                yield from (part[bound], part[bound] - step, part[bound] + step, part[bound] + 0.5)
    yield from schema.get("enum", [])
    if "const" in schema:
        yield schema["const"]


TEXTS = ["", "0", "1", "00", "-1", "+1", "1.5", "1.0005", "1.25", "10.001", ".5", "1e3", "100", "0x10",
         "1_000", "~", "null", "yes",
         "0s", "500ms", "3s", "1m30s", "1h", "3", "3 s", "3S", "1.5s", "9s", "10s", "61s", "s",
         "64Ki", "1Mi", "4Gi", "80G", "4GB", "4gi", "Mi", "1.5Mi", "0.5Mi", "17Ti", "2e6", "12E", "1k", "1K", "1m",
         "share", "free", "none", "lease", "text", "json", "rsp", "tight-fit", "Best-Fit", "binpack", "spread", "fgpu.io/v1",
         "example.com/gpu", "example.com/", "/gpu", "gpu", "kubernetes.io/gpu", "a.kubernetes.io/gpu",
         "notkubernetes.io/gpu", "requests.example.com/gpu", "Example.com/gpu", "example.com/GPU_1.x", "e.com/-a",
         "e.com/a-", "a/b/c", "a..b/c", "-a/b", "x" * 63 + ".com/a", "e.com/" + "n" * 63, "e.com/" + "n" * 64,
         "a=b", "a=", "=b", "a", "pool.example.com/a=b", "a=b=c", "a/b/c=d", "Pool/a=b", "a=-b", "x" * 64 + "=a",
         "127.0.0.1:0", "127.0.0.1:65535", "127.0.0.1:65536", "127.9.9.9:9443", "0.0.0.0:80", "localhost:1", "[::1]:9",
         "[::]:9", "[0:0:0:0:0:0:0:1]:9", "[::2]:9", "::1:9", "256.0.0.1:1", "127.0.0.1", ":80", ":65536", "127.0.0.1:", "host:1",
         "127.0.0.1:00080", "127.0.0.01:80", "[::1:9", "[127.0.0.1]:9",
         "[::ffff:127.0.0.1]:9", "[::FFFF:7f00:1]:9", "[::ffff:10.0.0.1]:9", "x" * 128, "x" * 129, "small", "Small", "a.b",
         "a b", "40%", "100%", "100.1%", "12.5%", ".5%", "1.25%", "%", "-1%", "team-*", "*", "Team-*", "x" * 63,
         "20:00", "00:00", "24:00", "24:01", "8:00", "20:00:00", "mon", "fri-mon", "mon-", "Mon", "UTC", "Europe/Berlin",
         "Europe/Nowhere", "Europe//Berlin", "../UTC", "open", "closed", "on", "off", "true", "false",
         "2026-03-28T18:59:50Z", "2026-03-28T18:59:50+00:00", "2026-03-28T18:59:50.5Z", "2026-13-28T18:59:50Z", "2026-03-28"]
SCALARS = TEXTS + [None, True, False, 0, 1, -1, 250, 2000, 1.5, -0.5, 10 ** 12]


def mostly(right, wrong):
    return st.integers(0, 15).flatmap(lambda n: right if n > 0 else wrong)


def value_of(schema):
    """Mostly what the schema accepts; sometimes anything."""
    scalars = st.sampled_from(SCALARS)
    anything = st.one_of(scalars, st.just([]), st.just({}), st.lists(scalars, max_size=2),
                         st.dictionaries(st.sampled_from(["name", "a", "milli"]), scalars, max_size=2))
    if "items" in schema:
        right = st.lists(value_of(schema["items"]), max_size=3)
    elif isinstance(schema.get("additionalProperties"), dict):
        names = mostly(st.sampled_from(["small", "a.b", "x" * 63]), st.sampled_from(["Small", "a b", "", "x" * 64]))
        right = st.dictionaries(names, value_of(schema["additionalProperties"]), max_size=3)
    elif "properties" in schema:
        right = object_of(schema)
    else:
        good = jsonschema.Draft202012Validator(schema)
        right = st.sampled_from([v for v in [*edges(schema), *SCALARS] if good.is_valid(v)])
    return mostly(right, anything)


def object_of(schema):
    members = {k: value_of(v) for k, v in schema["properties"].items()}
    required = {k: members.pop(k) for k in schema["required"]}
    known = st.fixed_dictionaries(required, optional=members)
    lacking = st.fixed_dictionaries({}, optional=required)
    return mostly(known, st.one_of(known.map(lambda d: {**d, "unknown": 1}), lacking))


LEAVES = list(leaves(SCHEMA))
VALUES = {path: value_of(schema) for path, schema in LEAVES}


@st.composite
def documents(draw):
    doc = copy.deepcopy(HEAD)
    for path in draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3, unique=True)):
        at = doc
        for name in path[:-1]:
            at = at.setdefault(name, {})
        at[path[-1]] = draw(VALUES[path])
    return doc


def look_up(doc, path):
    """The value at "sizes.a.b.memory", "resources.compute[1].name"; a name may hold dots."""
    if path == "":
        return doc
    if isinstance(doc, list):
        m = re.match(r"\[(\d+)\]\.?(.*)", path, re.S)
        return look_up(doc[int(m.group(1))], m.group(2))
    for name in sorted(doc, key=len, reverse=True):
        if path == name or path.startswith((name + ".", name + "[")):
            return look_up(doc[name], path[len(name):].removeprefix("."))
    raise KeyError(path)


def findings_of(tmp, docs):
    """What the reader says of each document: a list of findings, empty when it is valid. One process for all."""
    paths = [tmp / f"{i}.json" for i in range(len(docs))]
    for path, doc in zip(paths, docs):
        path.write_text(json.dumps(doc))
    r = check(*map(str, paths))
    said = {str(p): [] for p in paths}
    for m in re.finditer(r"^(/.*?):\d+:\d+: (.*)$", r.stderr, re.M):
        if not m.group(2).startswith("warning: "):  # test_config.py
            said[m.group(1)].append(m.group(2))
    valid = {line.split(": valid, hash ")[0] for line in r.stdout.splitlines()}
    assert valid == {p for p, found in said.items() if not found}, r.stdout + r.stderr
    assert r.returncode == (0 if len(valid) == len(docs) else 3)
    return [said[str(p)] for p in paths]


def is_excused(doc, finding):
    if SEVERAL_KEYS.search(finding):
        return True
    path = finding.split(": ")[0]
    return bool(TEXT_ONLY.search(finding)) and isinstance(look_up(doc, path), str)


def compare(tmp, docs):
    """Fails where schema and reader differ without excuse; returns whether the reader accepts each."""
    for doc, findings in zip(docs, findings_of(tmp, docs)):
        by_schema = VALIDATOR.is_valid(doc)
        assert by_schema or findings, f"only the reader accepts {doc}: {next(VALIDATOR.iter_errors(doc))}"
        strict = [f for f in findings if not is_excused(doc, f)] if by_schema else []
        assert not strict, f"only the schema accepts {doc}: {strict}"
        yield not findings


@pytest.fixture(scope="module")
def tmp(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


BY_HAND = [{}, None, [], HEAD, {**HEAD, "packing": None, "sizes": None, "resources": {"whole": None}},
           {**HEAD, "apiVersion": "v1"}]


def one_key(path, value):
    doc = copy.deepcopy(HEAD)
    at = doc
    for name in path[:-1]:
        at = at.setdefault(name, {})
    at[path[-1]] = value
    return doc


def domain(n):
    return ("x" * 60 + ".") * 5 + "x" * (n - 305) if n > 305 else ("x" * 60 + ".") * 3 + "x" * (n - 183)


@pytest.mark.parametrize("path,value,accepted", [
    (("resources", "whole"), [domain(244) + "/a"], True),
    (("resources", "whole"), [domain(245) + "/a"], False),
    (("resources", "whole"), [f"e.com/{i}" for i in range(32)], True),
    (("resources", "whole"), [f"e.com/{i}" for i in range(33)], False),
    (("nodeTemplates",), [{"label": "a=b", "gpus": 64, "memory": 1 << 20, "model": "x" * 128}], True),
    (("nodeTemplates",), [{"label": "a=b", "gpus": 64, "memory": 1 << 20, "model": "x" * 129}], False),
    (("nodeTemplates",), [{"label": "a=b", "gpus": 1, "memory": "1Mi", "model": 100}], True),
    (("nodeTemplates",), [{"label": "a=b", "allocatable": "whole-gpus", "memory": "1Mi"}], True),
    (("nodeTemplates",), [{"label": "a=b", "allocatable": "gpus", "memory": "1Mi"}], False),
    (("sizes",), {"a": {"memory": "4Gi"}, "b": {}}, False)], ids=str)
def test_lengths_and_counts__at_the_bound(tmp, path, value, accepted):
    assert list(compare(tmp, [one_key(path, value)])) == [accepted]


def test_any_document__schema_and_reader_agree(tmp):
    accepted = list(compare(tmp, BY_HAND))
    assert accepted == [False, False, False, True, True, False]
    counts = [0, 0]

    @settings(max_examples=12, phases=[Phase.generate])  # shrinking would take minutes and tell little more
    @given(docs=st.lists(documents(), min_size=20, max_size=20))
    def run(docs):
        for ok in compare(tmp, docs):
            counts[ok] += 1
    run()
    assert min(counts) > 20, f"{counts}: the documents are all alike"


def test_every_key__values_at_its_bounds__schema_and_reader_agree(tmp):
    """Also proves that each key is known to both, with its default and some refusal."""
    for path, schema in LEAVES:
        values = list(edges(schema)) or ([[], [1], {}] if "type" in schema and "null" in schema["type"] else TEXTS)
        values += [schema.get("default", schema.get("const")), None, "?!"]
        accepted = set(compare(tmp, [one_key(path, v) for v in values]))
        assert accepted == {True, False}, path
