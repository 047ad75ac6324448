"""The web page over HTTP: its files, and the event stream that it follows."""
import gzip
import random

import pytest

from objects import mem, milli, whole
from processes import eventually, request
from streams import Follower, Gone, Stream

CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
STRICT = {"Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
          "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


# ---- files ----

def test_index__browser_or_not__page_or_text(fgpu):
    page = request(fgpu.ops, "GET", "/", headers=BROWSER)
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.body.lower().startswith(b"<!doctype html")
    assert {k: page.headers[k] for k in STRICT} == STRICT
    assert page.headers["Cache-Control"] == "no-cache"
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "text/html;q=0"}):
        text = request(fgpu.ops, "GET", "/", headers=headers)
        assert text.headers["Content-Type"].startswith("text/plain") and text.body.startswith(b"fgpu v"), headers


def test_index__asked_again__304(fgpu):
    first = request(fgpu.ops, "GET", "/", headers=BROWSER)
    again = request(fgpu.ops, "GET", "/", headers={**BROWSER, "If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"") and {k: again.headers[k] for k in STRICT} == STRICT
    other = request(fgpu.ops, "GET", "/", headers={**BROWSER, "If-None-Match": '"other"'})
    assert (other.status, other.body) == (200, first.body)


def test_index__compressed__the_same(fgpu):
    plain = request(fgpu.ops, "GET", "/", headers=BROWSER)
    packed = request(fgpu.ops, "GET", "/", headers={**BROWSER, "Accept-Encoding": "br, gzip;q=0.5"})
    assert "Content-Encoding" not in plain.headers and packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    refused = request(fgpu.ops, "GET", "/", headers={**BROWSER, "Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers and refused.body == plain.body


def test_head__as_get_without_body(fgpu):
    for path in ("/", "/v1/stream"):
        r = request(fgpu.ops, "HEAD", path, headers=BROWSER)
        assert (r.status, r.body) == (200, b"")


def test_assets__of_the_index__are_there_for_ever_and_strict(fgpu):
    """Whatever the build put in: every file that the index names, or none in a build without the page."""
    index = request(fgpu.ops, "GET", "/", headers=BROWSER).body.decode()
    for path in sorted({p.split('"')[0] for p in index.split('"/ui/')[1:]}):
        r = request(fgpu.ops, "GET", "/ui/" + path)
        assert r.status == 200 and "immutable" in r.headers["Cache-Control"], path
        assert {k: r.headers[k] for k in STRICT} == STRICT


@pytest.mark.parametrize("path", ["/ui/", "/ui/index.html", "/ui/none.js", "/ui/../state", "/ui/%2e%2e/state", "/ui/..%2fstate",
                                  "/ui//etc/passwd", "/ui/%00", "/ui"])
def test_assets__other_names__none(fgpu, path):
    assert request(fgpu.ops, "GET", path).status in (400, 404)


def test_page__other_methods_and_hosts__refused(fgpu):
    assert request(fgpu.ops, "POST", "/ui/x", {}).status == 405
    assert request(fgpu.ops, "POST", "/v1/stream", {}).status == 405
    assert request(fgpu.ops, "GET", "/v1/stream", headers={"Host": "attacker.example"}).status == 421
    assert request(fgpu.ops, "GET", "/v1/stream?generation=x").status == 400
    assert request(fgpu.ops, "GET", "/v1/stream?other=1").status == 400


# ---- the stream ----

def follow(fgpu, **more):
    """Waits for a place: fgpu needs a moment to see that the streams of other tests are gone."""
    def stream():
        m = fgpu.state()["metadata"]
        s = Stream(fgpu.ops, m["generation"], m["startedAt"], **more)
        if s.response.status == 200:
            return s
        s.close()
        return None
    return eventually(stream, "a stream")


def test_stream__head__is_an_event_stream(fgpu):
    with follow(fgpu) as s:
        assert s.response.status == 200
        assert s.response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert s.response.headers["Cache-Control"] == "no-store"
        event, last, hello = s.next()
        assert (event, last, hello["apiVersion"]) == ("hello", None, "stream.fgpu.io/v1alpha1")
        assert hello["startedAt"] == fgpu.state()["metadata"]["startedAt"]


def test_stream__somebody_comes__cluster_as_in_state(cluster, fgpu):
    cluster.node(gpus=1)
    cluster.quiet()
    state = fgpu.state()
    with follow(fgpu) as s:
        _, last, data = s.until("cluster")
    assert last == data["generation"] == state["metadata"]["generation"]
    assert {k: data[k] for k in ("pending", "incidents", "conflicts")} == {k: state[k] for k in ("pending", "incidents", "conflicts")}
    assert data["pendingCount"] == len(state["pending"])
    assert data["metadata"]["startedAt"] == state["metadata"]["startedAt"]
    assert set(data["summary"]) == set(state["summary"]) and data["summary"]["milli"] == state["summary"]["milli"]


def test_stream__pod_bound__its_node_and_the_decision(cluster, api, fgpu):
    node, other = cluster.node(gpus=2), cluster.node(gpus=1)
    cluster.quiet()
    begun = fgpu.generation()
    with follow(fgpu) as s:
        while s.until("cluster")[1] < begun:  # a batch begins where the one before ended, and that may be before `begun`
            pass
        pod = api.pod(milli(300))
        assert fgpu.schedule(pod, [node]) == node
        while True:
            _, _, data = s.until("nodes")
            assert all(n["name"] != other for n in data["nodes"]), "nothing happened there"
            mine = [n for n in data["nodes"] if n["name"] == node]
            if mine and any(a["uid"] == pod["metadata"]["uid"] for g in mine[0]["gpus"] for a in g["allocations"]):
                break
    with follow(fgpu) as s:
        _, _, data = s.until("decisions")
        assert pod["metadata"]["uid"] in [d["uid"] for d in data["decisions"]]


def test_stream__node_goes__gone(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    cluster.quiet()
    with follow(fgpu) as s:
        api.delete_node(node)
        while node not in s.until("nodes")[2]["gone"]:
            pass


def test_stream__not_of_this_process_or_unknown__reload_and_end(fgpu):
    m = fgpu.state()["metadata"]
    for generation, started_at in ((m["generation"], "2001-01-01T00:00:00Z"), (m["generation"] + 1000000, m["startedAt"]),
                                   (None, m["startedAt"]), (m["generation"], None)):
        with Stream(fgpu.ops, generation, started_at) as s:
            assert [s.next()[0], s.next()[0]] == ["hello", "reload"]
            with pytest.raises(Gone):
                s.next()


def test_stream__cut_and_back_with_the_last_id__goes_on(cluster, api, fgpu):
    node = cluster.node(gpus=4)
    cluster.quiet()
    m = fgpu.state()["metadata"]
    with Stream(fgpu.ops, m["generation"], m["startedAt"]) as s:
        assert fgpu.schedule(api.pod(milli(300)), [node]) == node
        _, last, _ = s.until("nodes")
    assert fgpu.schedule(api.pod(milli(300)), [node]) == node
    with Stream(fgpu.ops, m["generation"], m["startedAt"], last_id=last) as s:
        assert s.next()[0] == "hello"
        while s.until("nodes")[1] <= last:  # the batch that it ended in may come once more
            pass


def test_stream__more_than_there_may_be__503_until_one_goes(fgpu):
    open_ = []
    try:
        eventually(lambda: fgpu.metrics()["fgpu_page_streams"] == 0, "the streams of other tests to end")
        while len(open_) < 16:
            open_.append(follow(fgpu))
            assert open_[-1].response.status == 200
        r = request(fgpu.ops, "GET", "/v1/stream")
        assert r.status == 503 and r.headers["Retry-After"] == "1" and b"16 streams" in r.body
        assert fgpu.metrics()["fgpu_page_streams"] == 16
        open_.pop().close()

        def served():
            with Stream(fgpu.ops) as s:
                return s.response.status == 200
        eventually(served, "a place to be free again")
    finally:
        for s in open_:
            s.close()


class Changes:
    """What can happen to a cluster, at random."""

    def __init__(self, cluster, seed):
        self.cluster, self.api, self.fgpu = cluster, cluster.api, cluster.fgpu
        self.random = random.Random(seed)
        self.nodes = [cluster.node(gpus=2) for _ in range(4)]
        self.pods = []

    def bind(self):
        limits = self.random.choice([milli(100), milli(300), mem(4096), whole(1)])
        pod = self.api.pod(limits)
        self.pods.append(pod)
        self.fgpu.schedule(pod, self.nodes)  # or it waits

    def end(self):
        if self.pods:
            self.api.delete_pod(self.pods.pop(self.random.randrange(len(self.pods))))

    def add_node(self):
        self.nodes.append(self.cluster.node(gpus=self.random.randrange(1, 4)))
        self.cluster.quiet()

    def remove_node(self):
        if len(self.nodes) > 2:
            self.api.delete_node(self.nodes.pop(self.random.randrange(len(self.nodes))))
            self.cluster.quiet()

    def step(self):
        self.random.choice([self.bind, self.bind, self.bind, self.end, self.add_node, self.remove_node])()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stream__whatever_happens__followers_know_what_state_says(cluster, fgpu, seed):
    """Property: whoever follows has the nodes of /state, however long ago it began and how often it was cut."""
    changes = Changes(cluster, seed)
    cluster.quiet()
    followers = [Follower(fgpu)]
    try:
        for i in range(60):
            changes.step()
            if i in (20, 40):
                followers.append(Follower(fgpu))
        cluster.quiet()
        state = fgpu.state()
        eventually(lambda: all(f.equals(state) for f in followers), "all followers to know the nodes of /state")
        assert [f.reloads for f in followers] == [0] * len(followers)
        bound = {d["decision"] for d in state["decisions"]}
        eventually(lambda: bound <= set(followers[0].decisions), "the first follower to have every decision")
    finally:
        for f in followers:
            f.stop()
        for f in followers:
            assert f.error is None
