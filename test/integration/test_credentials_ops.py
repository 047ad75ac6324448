"""Who may read the ops listener: delegated to the API server by TokenReview and SubjectAccessReview."""
import http.client
import socket
import ssl
import time

import pytest

from processes import PATIENCE_S, ApiServer, Fgpu, eventually, in_threads, request
from streams import Stream

CONFIG = "serving:\n  opsAuthorization: always\n"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Guarded:
    def __init__(self, directory, config=CONFIG):
        self.api = ApiServer(directory)
        self.fgpu = Fgpu(self.api.url, directory, config)
        self.n = 0

    def know(self, verb="get", **tokens):
        """token={path, ...}: each of a new user who may get these, or use another verb on them."""
        users = {t: {"username": f"user-of-{t}", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v"]}}
                 for t in tokens}
        self.api.call("POST", "/_reviews", {"tokens": users, "allow": [
            {"user": f"user-of-{t}", "verb": verb, "path": p} for t, paths in tokens.items() for p in paths]})

    def fresh(self):
        """A token that nobody has asked about yet, so that nothing is remembered of it."""
        self.n += 1
        return f"canary-{self.n}"

    def get(self, path, token=None, method="GET", body=None, **headers):
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return request(self.fgpu.ops, method, path, body, headers)

    def reviews(self):
        r = self.api.call("GET", "/_reviews").json
        return r["tokenReviews"], r["accessReviews"], r["last"]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    g = Guarded(tmp_path_factory.mktemp("guarded"))
    yield g
    assert "canary" not in g.fgpu.log()
    g.fgpu.check()
    g.fgpu.stop()
    g.api.stop()


@pytest.fixture
def guarded(running):
    running.api.faults(clear=True)
    yield running
    running.api.faults(clear=True)
    running.fgpu.check()


def test_ops__no_token_or_nonsense__401_without_a_question(guarded):
    before = guarded.reviews()[:2]
    for headers in ({}, {"Authorization": "Basic dTpw"}, {"Authorization": "Bearer"}, {"Authorization": "Bearer  "},
                    {"Authorization": "Bearer a b"}, {"Authorization": "Bearer " + "x" * 20000}):
        for path in ("/metrics", "/state", "/v1/explain?pod=a/b", "/v1/history", "/configz", "/version", "/"):
            r = request(guarded.fgpu.ops, "GET", path, headers=headers)
            assert r.status == 401 and b"bearer token" in r.body, (headers, r.status)
            assert r.headers["WWW-Authenticate"] == "Bearer"
    assert guarded.reviews()[:2] == before


def test_ops__page_in_a_browser__comes_without_a_token_and_what_it_shows_does_not(guarded):
    before = guarded.reviews()[:2]
    page = guarded.get("/", Accept="text/html,*/*")
    assert page.status == 200 and page.headers["Content-Type"].startswith("text/html")
    for path in sorted({p.split('"')[0] for p in page.body.decode().split('"/ui/')[1:]}):
        assert guarded.get("/ui/" + path).status == 200, path
    assert guarded.get("/ui/none.js").status == 404
    assert guarded.reviews()[:2] == before
    assert [guarded.get(p, Accept="text/html,*/*").status for p in ("/state", "/v1/stream", "/v1/explain?pod=a/b")] == [401] * 3
    token = guarded.fresh()
    guarded.know(**{token: ["/v1/stream"]})
    with Stream(guarded.fgpu.ops, headers={"Authorization": f"Bearer {token}"}) as s:
        assert s.response.status == 200 and s.next()[0] == "hello"
    assert guarded.get("/state", token).status == 403


def test_ops__unknown_token__401_asked_once(guarded):
    token, before = guarded.fresh(), guarded.reviews()
    assert [guarded.get("/state", token).status for _ in range(5)] == [401] * 5
    after = guarded.reviews()
    assert (after[0] - before[0], after[1] - before[1]) == (1, 0)


def test_ops__good_token__asked_as_components_ask_then_remembered(guarded):
    token = guarded.fresh()
    guarded.know(**{token: {"/metrics", "/state"}})
    before = guarded.reviews()
    assert [guarded.get("/metrics", token).status for _ in range(5)] == [200] * 5
    after = guarded.reviews()
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
    assert after[2] == {"user": f"user-of-{token}", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v"]},
                        "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    # another path: the same user, another question; the query is no part of it
    assert guarded.get("/state?fields=summary", token).json["kind"] == "State"
    after = guarded.reviews()
    assert (after[0] - before[0], after[1] - before[1]) == (1, 2)
    assert after[2]["nonResourceAttributes"] == {"path": "/state", "verb": "get"}
    # what the handler reads of the request is there although it waited
    etag = guarded.get("/state", token).headers["ETag"]
    assert guarded.get("/state", token, **{"If-None-Match": etag}).status == 304


def test_explain__right_to_read_state__is_none_to_explain(guarded):
    token, other = guarded.fresh(), guarded.fresh()
    guarded.know(**{token: {"/v1/explain"}, other: {"/state"}})
    assert guarded.get("/v1/explain?pod=a/b", other).status == 403
    assert guarded.get("/v1/explain?pod=a/b", token).json["outcome"] == "unknown"
    assert guarded.get("/v1/explain?pod=nonsense", token).status == 400


def test_whatif__verb_post_on_its_path__and_no_other_right(guarded):
    token, other = guarded.fresh(), guarded.fresh()
    guarded.know("post", **{token: {"/v1/whatif"}, other: {"/audit"}})
    body = {"limits": {"fgpu.io/gpu-milli": "1"}}
    assert guarded.get("/v1/whatif", other, method="POST", body=body).status == 403
    assert guarded.get("/v1/whatif", token, method="POST", body=body).json["asked"] == 1
    assert guarded.reviews()[2]["nonResourceAttributes"] == {"path": "/v1/whatif", "verb": "post"}


def test_ops__first_request_with_a_condition__its_headers_survive_the_wait(guarded):
    seen, token = guarded.fresh(), guarded.fresh()
    guarded.know(**{seen: {"/state"}, token: {"/state"}})
    etag = guarded.get("/state", seen).headers["ETag"]
    assert guarded.get("/state", token, **{"If-None-Match": etag}).status == 304


def test_ops__user_without_the_right__403_remembered(guarded):
    token = guarded.fresh()
    guarded.know(**{token: {"/metrics"}})
    before = guarded.reviews()
    assert [guarded.get("/configz", token).status for _ in range(3)] == [403] * 3
    after = guarded.reviews()
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
    assert b"nonResourceURLs" in guarded.get("/configz", token).body
    # the right is that of the method: HEAD is not GET
    assert guarded.get("/metrics", token, "HEAD").status == 403
    assert guarded.reviews()[2]["nonResourceAttributes"] == {"path": "/metrics", "verb": "head"}


@pytest.mark.parametrize("fault", [
    {"path": TOKEN_REVIEWS, "action": "fail", "status": 403},
    {"path": TOKEN_REVIEWS, "action": "fail", "status": 500},
    {"path": TOKEN_REVIEWS, "action": "close-before"},
    {"path": ACCESS_REVIEWS, "action": "fail", "status": 403},
    {"path": ACCESS_REVIEWS, "action": "close-after"},
], ids=["token 403", "token 500", "token lost", "access 403", "access lost"])
def test_ops__api_server_gives_no_answer__503_and_nothing_remembered(guarded, fault):
    token = guarded.fresh()
    guarded.know(**{token: {"/metrics"}})
    guarded.api.faults({"method": "POST", "times": -1, **fault})
    r = guarded.get("/metrics", token)
    assert r.status == 503 and b"API server" in r.body
    guarded.api.faults(clear=True)
    assert guarded.get("/metrics", token).status == 200


def test_ops__slow_api_server__no_thread_waits_and_the_crowd_is_refused(guarded):
    """More callers than may be asked about at one moment: the others hear at once; verbs, health and callers that are
    known go on as ever."""
    known = guarded.fresh()
    tokens = [guarded.fresh() for _ in range(40)]
    guarded.know(**{t: {"/metrics"} for t in [known, *tokens]})
    assert guarded.get("/metrics", known).status == 200
    guarded.api.faults({"method": "POST", "path": TOKEN_REVIEWS, "times": -1, "action": "pass", "delayMs": 2000})
    waiting = []
    for t in tokens:
        c = http.client.HTTPConnection(*guarded.fgpu.ops, timeout=PATIENCE_S)
        c.request("GET", "/metrics", headers={"Authorization": f"Bearer {t}"})
        waiting.append(c)
    assert guarded.get("/metrics", known).status == 200
    assert request(guarded.fgpu.health, "GET", "/livez").status == 200
    replies = [c.getresponse() for c in waiting]
    statuses = [r.status for r in replies]
    assert statuses.count(200) >= 16 and statuses.count(503) >= 1 and set(statuses) == {200, 503}, statuses
    assert all(r.headers["Retry-After"] == "1" for r in replies if r.status == 503)
    for c in waiting:
        c.close()


def test_ops__caller_hangs_up_while_asked_about__nothing_breaks(guarded):
    tokens = [guarded.fresh() for _ in range(5)]
    guarded.know(**{t: {"/state"} for t in tokens})
    guarded.api.faults({"method": "POST", "path": ACCESS_REVIEWS, "times": 5, "action": "pass", "delayMs": 300})
    for t in tokens:
        with socket.create_connection(guarded.fgpu.ops) as s:
            s.sendall(f"GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {t}\r\n\r\n".encode())
    eventually(lambda: guarded.api.fault_hits() == [5], "the questions")
    for t in tokens:
        eventually(lambda t=t: guarded.get("/state", t).status == 200)


def test_ops__many_callers_of_one_token_at_once__each_is_answered(guarded):
    token = guarded.fresh()
    guarded.know(**{token: {"/metrics"}})
    replies = in_threads(8, lambda _: guarded.get("/metrics", token))
    assert {(r.status, r.status == 200 or r.body) for r in replies} == {(200, True)}, guarded.fgpu.log()[-2000:]


def held_back(guarded, tokens, path):
    """One question per token, none of which is answered before all are asked."""
    guarded.api.faults({"method": "POST", "path": TOKEN_REVIEWS, "times": -1, "action": "pass", "delayMs": 1500})
    calls = []
    for t in tokens:
        c = http.client.HTTPConnection(*guarded.fgpu.ops, timeout=PATIENCE_S)
        c.request("GET", path, headers={"Authorization": f"Bearer {t}"})
        calls.append(c)
    statuses = [c.getresponse().status for c in calls]
    for c in calls:
        c.close()
    return statuses


def test_ops__same_first_question_of_a_crowd__asked_once_and_all_are_answered(guarded):
    good, bad = guarded.fresh(), guarded.fresh()
    guarded.know(**{good: {"/metrics"}})
    for token, status in ((good, 200), (bad, 401)):
        before = guarded.reviews()
        assert held_back(guarded, [token] * 40, "/metrics") == [status] * 40
        after = guarded.reviews()
        assert after[0] - before[0] == 1 and after[1] - before[1] == (status == 200)


def test_ops__same_question_of_a_crowd_and_no_answer__503_for_all_then_asked_again(guarded):
    token = guarded.fresh()
    guarded.know(**{token: {"/metrics"}})
    guarded.api.faults({"method": "POST", "path": TOKEN_REVIEWS, "times": -1, "action": "fail", "status": 500,
                        "delayMs": 1000})
    assert {r.status for r in in_threads(20, lambda _: guarded.get("/metrics", token))} == {503}
    guarded.api.faults(clear=True)
    assert guarded.get("/metrics", token).status == 200


def test_ops__flood_of_bad_tokens__good_ones_stay_known(guarded):
    good = guarded.fresh()
    guarded.know(**{good: {"/metrics"}})
    begun = time.monotonic()
    assert guarded.get("/metrics", good).status == 200
    for _ in range(300):
        assert guarded.get("/metrics", guarded.fresh()).status == 401
    before = guarded.reviews()
    status = guarded.get("/metrics", good).status
    assert status == 200
    if time.monotonic() - begun < 9:  # else it was forgotten for its age
        assert guarded.reviews()[:2] == before[:2]


def test_ops__metrics__count_results(guarded):
    token = guarded.fresh()
    guarded.know(**{token: {"/metrics"}})
    text = guarded.get("/metrics", token).body.decode()
    for result in ("allowed", "unauthenticated", "forbidden", "overloaded", "failed"):
        assert f'fgpu_ops_authorizations_total{{result="{result}"}}' in text


def test_health__always_open(guarded):
    for path in ("/livez", "/readyz", "/healthz"):
        assert request(guarded.fgpu.health, "GET", path).status in (200, 500)


def test_ops__why_it_is_not_ready__only_for_those_who_may_ask(guarded):
    token = guarded.fresh()
    guarded.know(**{token: {"/readyz"}})
    assert guarded.get("/readyz").status == 401
    eventually(lambda: "[+]cache-synced ok" in guarded.get("/readyz?verbose", token).body.decode(), "the end of the hold-off")


def test_ops__on_loopback_by_default__open(cluster):
    assert request(cluster.fgpu.ops, "GET", "/metrics").status == 200
    assert 'fgpu_ops_authorizations_total{result="allowed"}' in cluster.fgpu.metrics()


# ---- a listener for metrics alone ----

def scrape(address, path, token=None, method="GET"):
    """As Prometheus with insecure_skip_verify: over TLS, whatever the certificate. (status, body)."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    c = http.client.HTTPSConnection(*address, timeout=PATIENCE_S, context=context)
    try:
        c.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
        r = c.getresponse()
        return r.status, r.read().decode()
    finally:
        c.close()


def test_metrics__not_on_loopback_and_without_certificates__tls_and_a_token(tmp_path):
    g = Guarded(tmp_path, "serving: {metricsAddress: '0.0.0.0:0'}\n")
    address = g.fgpu.address_of("metrics")
    g.know(reader={"/metrics"}, other={"/state"})
    assert scrape(address, "/metrics")[0] == 401
    assert scrape(address, "/metrics", "nobody")[0] == 401
    assert scrape(address, "/metrics", "other")[0] == 403
    status, text = scrape(address, "/metrics", "reader")
    assert status == 200 and "fgpu_ops_authorizations_total" in text
    assert 'fgpu_http_requests_total{listener="metrics",code="403"} 1' in text
    for path in ("/state", "/configz", "/version", "/"):
        assert scrape(address, path, "other")[0] == 404, path
    assert scrape(address, "/metrics", "reader", "POST")[0] == 405
    with pytest.raises((OSError, http.client.HTTPException)):
        request(address, "GET", "/metrics")  # no plain HTTP
    assert request(g.fgpu.ops, "GET", "/state").status == 200  # ops stays as it is: loopback, no token
    assert request(g.fgpu.ops, "GET", "/metrics").status == 200
    g.fgpu.check()
    g.fgpu.stop()
    g.api.stop()


def test_metrics__on_loopback__plain_and_open_as_ops(tmp_path):
    g = Guarded(tmp_path, "serving: {metricsAddress: '127.0.0.1:0'}\n")
    address = g.fgpu.address_of("metrics")
    assert request(address, "GET", "/metrics").status == 200
    assert request(address, "GET", "/metrics", headers={"Host": "evil.example"}).status == 421
    assert request(address, "GET", "/state").status == 404
    g.fgpu.check()
    g.fgpu.stop()
    g.api.stop()
