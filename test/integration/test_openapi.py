"""config/openapi.json is true: it has every path that the listeners serve and no other, and each answer that it documents is given, with
the media type and the body that it says. scripts/check-openapi judges its form."""
import json
import re

import jsonschema
import pytest

from objects import milli
from processes import ROOT, Fgpu, request
from streams import Stream
from test_credentials_ops import TOKEN_REVIEWS, Guarded

BASE = "https://fgpu.io/schemas/"
FILES = {p.name: json.loads(p.read_text()) for p in (ROOT / "config").glob("*.schema.json")}
DOCUMENT = json.loads((ROOT / "config/openapi.json").read_text())
RESOLVER = jsonschema.RefResolver(BASE + "openapi.json", DOCUMENT, store={
    **{BASE + name: schema for name, schema in FILES.items()}, **{s["$id"]: s for s in FILES.values() if "$id" in s}})
OPERATIONS = {(method.upper(), path): (item, operation) for path, item in DOCUMENT["paths"].items()
              for method, operation in item.items() if method in ("get", "post")}

# Documented for whoever writes a client; none of them can be brought about from outside.
NEVER = {("GET", path, 500) for path in ("/livez", "/healthz", "/livez/{check}", "/healthz/{check}")}
VERBS = ("/v1/filter", "/v1/prioritize", "/v1/preempt", "/v1/bind")
BROWSER = {"Accept": "text/html"}
QUESTION = {"limits": {"fgpu.io/gpu-milli": "500"}, "annotations": {}, "namespace": "default", "count": 3}


def resolved(node):
    return RESOLVER.resolve(node["$ref"])[1] if "$ref" in node else node


def valid(schema, body):
    jsonschema.Draft202012Validator(schema, resolver=RESOLVER).validate(body)


class Driver:
    """Makes calls, judges the answers by the document, and remembers which it has seen."""

    def __init__(self):
        self.seen = set()

    def answer(self, method, template, status, media_type, body=None):
        documented = resolved(OPERATIONS[method, template][1]["responses"][str(status)])
        content = documented.get("content", {})
        self.seen.add((method, template, status))
        if media_type is None:
            assert content == {} and not body, (template, status, body)
            return
        assert media_type in content or "*/*" in content, (template, status, media_type)
        if media_type == "application/json":
            valid(content[media_type]["schema"], json.loads(body))
        else:
            assert body, (template, status)

    def call(self, fgpu, method, template, status=200, query="", name=None, body=None, headers=None, listener="ops"):
        """`name` stands for what the template has in braces."""
        path = re.sub(r"\{\w+\}", name or "", template) + query
        if body is not None and status == 200:
            valid(OPERATIONS[method, template][1]["requestBody"]["content"]["application/json"]["schema"], body)
        assert listener in OPERATIONS[method, template][1]["x-listeners"]
        r = request(getattr(fgpu, listener), method, path, body, headers)
        assert r.status == status, (path, r.status, r.body[:300])
        self.answer(method, template, r.status, r.headers["Content-Type"], r.body)
        return r


@pytest.fixture(scope="module")
def driver(request):
    d = Driver()
    yield d
    if not {name for name in globals() if name.startswith("test_")} <= {item.name for item in request.session.items}:
        return  # not all were run
    documented = {(m, p, int(s)) for (m, p), (_, o) in OPERATIONS.items() for s in o["responses"]}
    assert d.seen == documented - NEVER, f"documented and never given: {sorted(documented - NEVER - d.seen)}"


def defined(header, name):
    return re.search(rf"^#define {name} (.+)$", (ROOT / "include/routes" / header).read_text(), re.M)[1]


def test_paths__are_those_of_the_route_tables():
    table = set()
    for file, name in (("ops", "OPS_ROUTES"), ("verbs", "VERB_ROUTES")):
        rows = set(re.findall(r'\{\.method = "(\w+)",\s+\.path = ("[^"]*"|PAGE_PREFIX),\s+\.handle', (ROOT / f"src/routes/{file}.c").read_text()))
        assert len(rows) == int(defined(file + ".h", name)), f"src/routes/{file}.c is written in another way"
        table |= {(m, p.strip('"').replace("PAGE_PREFIX", defined("page.h", "PAGE_PREFIX").strip('"'))) for m, p in rows}
    health = re.findall(r'\{HEALTH_\w+, "(/\w+)", "(/\w+/)"\}', (ROOT / "src/routes/health.c").read_text())
    assert len(health) == int(defined("health.h", "HEALTH_ENDPOINTS"))
    table |= {("GET", p) for row in health for p in row}
    documented = {(m, re.sub(r"\{\w+\}$", "", p)) for m, p in OPERATIONS}
    assert documented == table, f"not in config/openapi.json: {table - documented}; only there: {documented - table}"


def test_references__lead_somewhere():
    found = []

    def walk(node):
        if isinstance(node, dict) and "$ref" in node:
            found.append(node["$ref"])
            RESOLVER.resolve(node["$ref"])
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            walk(child)
    walk(DOCUMENT)
    assert {"state.schema.json", "explain.schema.json", "fgpu.schema.json"} < set(found)
    defined_parts = {f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in DOCUMENT["components"][kind]}
    assert defined_parts <= set(found), f"nobody uses {defined_parts - set(found)}"


def test_methods_and_paths_that_are_not_there__405_and_404(fgpu):
    for (method, template), (item, _) in OPERATIONS.items():
        listener = "verbs" if template in VERBS else "ops"
        other = "POST" if method == "GET" else "GET"
        if other.lower() not in item:
            r = request(getattr(fgpu, listener), other, template.replace("{", "").replace("}", ""))
            assert r.status == 405 and method in r.headers["Allow"], template
    assert [request(a, "GET", "/none").status for a in (fgpu.verbs, fgpu.ops, fgpu.health)] == [404] * 3
    assert request(fgpu.ops, "HEAD", "/version").status == 200


def test_verbs__bodies_of_both_kinds__as_documented(cluster, driver):
    api, fgpu = cluster.api, cluster.fgpu
    node, pod, large = cluster.node(gpus=1), api.pod(milli(500)), api.pod(milli(1100))
    by_name = {"Pod": pod, "Nodes": None, "NodeNames": [node]}
    by_object = {"Pod": pod, "Nodes": {"items": [{"metadata": {"name": node}}]}, "NodeNames": None}
    for args in (by_name, by_object):
        r = driver.call(fgpu, "POST", "/v1/filter", body=args, listener="verbs").json
        assert r["Error"] == "" and (r["NodeNames"] == [node] or r["Nodes"]["items"])
        assert driver.call(fgpu, "POST", "/v1/prioritize", body=args, listener="verbs").json[0]["Host"] == node
    assert driver.call(fgpu, "POST", "/v1/filter", body={**by_name, "Pod": large}, listener="verbs").json["NodeNames"] == []
    for victims in ({"NodeNameToMetaVictims": {node: {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}}},
                    {"NodeNameToVictims": {node: {"Pods": [large], "NumPDBViolations": 1}}}):
        assert node in driver.call(fgpu, "POST", "/v1/preempt", body={"Pod": pod, **victims}, listener="verbs").json["NodeNameToMetaVictims"]
    m = pod["metadata"]
    bind = {"PodName": m["name"], "PodNamespace": m["namespace"], "PodUID": m["uid"], "Node": node}
    assert driver.call(fgpu, "POST", "/v1/bind", body=bind, listener="verbs").json["Error"] == ""
    assert driver.call(fgpu, "POST", "/v1/bind", body={**bind, "PodUID": "other"}, listener="verbs").json["Error"] != ""
    for path in VERBS:
        # nonsense is answered, too, and in the same form
        r = request(fgpu.verbs, "POST", path, "nonsense")
        driver.answer("POST", path, r.status, r.headers["Content-Type"], r.body)
        driver.call(fgpu, "POST", path, 415, body="a", headers={"Content-Type": "text/plain"}, listener="verbs")


def test_ops__answers_as_documented(cluster, driver):
    api, fgpu = cluster.api, cluster.fgpu
    nodes = [cluster.node(gpus=2), cluster.node(gpus=1)]
    placed = api.pod(milli(500))
    assert fgpu.schedule(placed, nodes) in nodes
    waits = api.pod({"fgpu.io/gpu-count": 8})
    cluster.settle()
    for query in ("", f"?node={nodes[0]}", "?namespace=" + placed["metadata"]["namespace"], "?fields=summary"):
        r = driver.call(fgpu, "GET", "/state", query=query)
    driver.call(fgpu, "GET", "/state", 304, headers={"If-None-Match": r.headers["ETag"]})
    driver.call(fgpu, "GET", "/state", 400, query="?nodes=a")
    for pod in (placed, waits, {"metadata": {"namespace": "none", "name": "none"}}):
        driver.call(fgpu, "GET", "/v1/explain", query="?nodes=2&pod={namespace}/{name}".format(**pod["metadata"]))
    driver.call(fgpu, "GET", "/v1/explain", 400)
    driver.call(fgpu, "GET", "/v1/stream", 400, query="?generation=a")
    s = Stream(fgpu.ops)
    driver.answer("GET", "/v1/stream", s.response.status, s.response.headers["Content-Type"], s.next()[0])
    s.close()
    driver.call(fgpu, "POST", "/v1/whatif", body=QUESTION)
    driver.call(fgpu, "POST", "/v1/whatif", 400, body={**QUESTION, "limit": {}})
    driver.call(fgpu, "POST", "/v1/whatif", 415, body="a", headers={"Content-Type": "text/plain"})
    driver.call(fgpu, "GET", "/v1/trace", 400, query="?node=a")
    for path in ("/metrics", "/configz", "/version", "/v1/history", "/v1/trace"):
        driver.call(fgpu, "GET", path)
    assert driver.call(fgpu, "POST", "/audit").json["result"] == "clean"
    driver.call(fgpu, "GET", "/")
    page = driver.call(fgpu, "GET", "/", headers=BROWSER)
    driver.call(fgpu, "GET", "/", 304, headers={**BROWSER, "If-None-Match": page.headers["ETag"]})
    file = re.search(rb'"/ui/([^"]+)"', page.body)[1].decode()
    etag = driver.call(fgpu, "GET", "/ui/{file}", name=file).headers["ETag"]
    driver.call(fgpu, "GET", "/ui/{file}", 304, name=file, headers={"If-None-Match": etag})
    driver.call(fgpu, "GET", "/ui/{file}", 404, name="none")


def test_health__answers_as_documented(fgpu, driver, tmp_path):
    for listener in ("ops", "health"):
        for path in ("/livez", "/readyz", "/healthz"):
            driver.call(fgpu, "GET", path, listener=listener)
            checks = driver.call(fgpu, "GET", path, query="?verbose&exclude=ledger", listener=listener).body.decode()
            assert "ledger excluded: ok" in checks
            driver.call(fgpu, "GET", path, 400, query="?" + "&".join(["exclude=a"] * 33), listener=listener)
            driver.call(fgpu, "GET", path + "/{check}", name="ledger", listener=listener)
            driver.call(fgpu, "GET", path + "/{check}", 404, name="none", listener=listener)
    alone = Fgpu("http://127.0.0.1:9", tmp_path)  # nobody is there: never ready
    driver.call(alone, "GET", "/readyz", 500, listener="health")
    driver.call(alone, "GET", "/readyz/{check}", 500, name="cache-synced", listener="health")
    alone.stop()


def test_ops__guarded__401_403_and_503_as_documented(driver, tmp_path):
    guarded = Guarded(tmp_path)
    stranger = guarded.fresh()
    guarded.know(**{stranger: set()})

    def all_paths(status, **headers):
        for (method, path), (_, operation) in OPERATIONS.items():
            if "ops" in operation["x-listeners"] and str(status) in operation["responses"]:
                body = QUESTION if "requestBody" in operation else None
                driver.call(guarded.fgpu, method, path, status, name="ledger", body=body, headers=headers)
    all_paths(401)
    all_paths(403, Authorization=f"Bearer {stranger}")
    guarded.api.faults({"method": "POST", "path": TOKEN_REVIEWS, "action": "fail", "status": 500, "times": -1})
    all_paths(503, Authorization=f"Bearer {guarded.fresh()}")
    guarded.fgpu.check()
    guarded.fgpu.stop()
    guarded.api.stop()
