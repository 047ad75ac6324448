"""HTTP itself: kept connections, framing that two readers could understand differently, slow and vanishing clients."""
import json
import socket

import pytest

from objects import milli, pod_object
from processes import PATIENCE_S, Connection, in_threads, request

BODY = json.dumps({"Pod": pod_object("p"), "Nodes": None, "NodeNames": ["a"]})
HEAD = "POST /v1/filter HTTP/1.1\r\nHost: fgpu\r\nContent-Type: application/json\r\n"


def talk(address, text, more=b""):
    """Sends bytes as they are; everything that comes until the server closes, or until one reply is whole."""
    with socket.create_connection(address, timeout=PATIENCE_S) as s:
        s.sendall((text.encode("latin-1") if isinstance(text, str) else text) + more)
        got = b""
        while True:
            try:
                data = s.recv(65536)
            except ConnectionResetError:
                return got
            if not data:
                return got
            got = (got + data).replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
            head, found, body = got.partition(b"\r\n\r\n")
            if found:
                length = [int(x.split(b":")[1]) for x in head.splitlines() if x.lower().startswith(b"content-length:")]
                if length and len(body) >= length[0]:
                    return got


def status(reply):
    return int(reply.split(b" ", 2)[1]) if reply else 0


def plain(body=BODY):
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body}"


@pytest.fixture(autouse=True)
def others_are_served(fgpu):
    yield
    assert fgpu.post("filter", BODY)["NodeNames"] == ["a"]


@pytest.mark.parametrize("method, path, want", [
    ("GET", "/v1/filter", 405), ("PUT", "/v1/bind", 405), ("DELETE", "/v1/prioritize", 405), ("HEAD", "/v1/filter", 405),
    ("POST", "/v1/nothing", 404), ("POST", "/", 404), ("POST", "/v1/filter/", 404), ("POST", "//v1/filter", 404),
    ("POST", "/v1/../v1/filter", 404), ("POST", "/V1/filter", 404), ("GET", "/state", 404)])
def test_wrong_path_or_method__404_or_405(fgpu, method, path, want):
    r = request(fgpu.verbs, method, path, b"{}" if method in ("POST", "PUT") else None)
    assert r.status == want
    if want == 405:
        assert r.headers["Allow"] == "POST"


@pytest.mark.parametrize("path", ["/state", "/metrics", "/configz", "/version"])
def test_ops__other_method__405(fgpu, path):
    assert request(fgpu.ops, "POST", path, b"{}").status == 405
    assert request(fgpu.ops, "HEAD", path).status == 200


SMUGGLED = {
    "length and chunked": f"{HEAD}Content-Length: {len(BODY)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": f"{HEAD}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "two lengths": f"{HEAD}Content-Length: {len(BODY)}\r\nContent-Length: 1\r\n\r\n{BODY}",
    "the same length twice": f"{HEAD}Content-Length: {len(BODY)}\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "other encoding": f"{HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two encodings": f"{HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "negative length": f"{HEAD}Content-Length: -1\r\n\r\n",
    "length with a sign": f"{HEAD}Content-Length: +{len(BODY)}\r\n\r\n{BODY}",
    "length in hexadecimal": f"{HEAD}Content-Length: 0x10\r\n\r\n{BODY}",
    "length beyond 64 bits": f"{HEAD}Content-Length: 99999999999999999999999\r\n\r\n{BODY}",
    "two hosts": f"{HEAD}Host: other\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "compressed": f"{HEAD}Content-Encoding: gzip\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "control byte in a header": f"{HEAD}X-A: a\x01b\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "nul in the path": "GET /state%00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "bad escape in the path": "GET /sta%ZZte HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_framing__two_readings_possible__refused(fgpu, name):
    reply = talk(fgpu.verbs, SMUGGLED[name])
    assert 400 <= status(reply) < 500 or reply == b"", reply[:300]


def test_framing__second_request_behind_a_refused_one__not_taken_for_a_request(fgpu):
    before = fgpu.metrics()
    with socket.create_connection(fgpu.verbs, timeout=PATIENCE_S) as s:
        s.sendall((SMUGGLED["length and chunked"] + plain()).encode())
        got = b""
        while data := receive(s):
            got += data
    assert got.count(b"HTTP/1.1 ") == 1 and status(got) == 400
    series = 'fgpu_requests_total{verb="filter",outcome="not_ours"}'
    assert fgpu.metrics().get(series, 0) == before.get(series, 0)


def receive(s):
    try:
        return s.recv(65536)
    except ConnectionResetError:
        return b""


BROKEN = [
    "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
    "NONSENSE / HTTP/1.1\r\n\r\n", " GET / HTTP/1.1\r\n\r\n", "GET /state HTTP/1.0\r\n\r\n", "\0\0\0\0",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "x" * 300, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET " + "/a" * 40000 + " HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: " + "x" * 100000 + "\r\n\r\n",
    "GET / HTTP/1.1\r\n" + "".join(f"X{i}: 1\r\n" for i in range(5000)) + "\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"]


@pytest.mark.parametrize("listener", ["verbs", "ops", "health"])
def test_bare_and_broken_requests__never_crash_never_served(fgpu, listener):
    """An answer, a closed connection, or patience with what could still become a request: all are fine."""
    for text in BROKEN:
        with socket.create_connection(getattr(fgpu, listener), timeout=0.2) as s:
            try:
                s.sendall(text.encode("latin-1"))
                s.shutdown(socket.SHUT_WR)
                got = receive(s)
            except (TimeoutError, OSError):
                continue
        if got:
            assert got.startswith(b"HTTP/1.1 ") and 200 <= status(got) < 600, (text[:40], got[:100])
            assert listener == "ops" or status(got) >= 400, (text[:40], got[:100])


def test_requests_in_one_packet__answered_in_order(fgpu):
    bodies = [json.dumps({"Pod": pod_object("p"), "NodeNames": [name]}) for name in ("a", "b", "c")]
    with socket.create_connection(fgpu.verbs, timeout=PATIENCE_S) as s:
        s.sendall("".join(plain(b) for b in bodies).encode())
        got = b""
        while got.count(b'"Error":""') < 3:
            data = s.recv(65536)
            assert data, got
            got += data
    assert [got.index(f'["{name}"]'.encode()) for name in ("a", "b", "c")] == sorted(
        got.index(f'["{name}"]'.encode()) for name in ("a", "b", "c"))


@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
def test_item18_chunked_body__refused_whatever_its_lines_end_in(fgpu, line_end):
    chunks = line_end.join([f"{len(BODY):x}", BODY, "0", "", ""])
    assert b" 411 " in talk(fgpu.verbs, f"{HEAD}Transfer-Encoding: chunked\r\n\r\n{chunks}")


def test_expect_continue_and_single_bytes__understood(fgpu):
    assert b'["a"]' in talk(fgpu.verbs, f"{HEAD}Expect: 100-continue\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}")
    dripped = socket.create_connection(fgpu.verbs, timeout=PATIENCE_S)
    for byte in plain().encode():
        dripped.sendall(bytes([byte]))
    assert status(receive(dripped)) == 200
    dripped.close()


def test_client_gone__in_the_middle__harmless(fgpu):
    text = plain(json.dumps({"Pod": pod_object("p", limits=milli(1)), "NodeNames": [f"n{i}" for i in range(3000)]}))
    for cut in (10, 100, len(text) // 2, len(text) - 1, len(text)):
        for _ in range(5):
            s = socket.create_connection(fgpu.verbs, timeout=PATIENCE_S)
            s.sendall(text[:cut].encode())
            s.close()  # with the reply unread where there is one: a reset


def test_keep_alive__2000_filters__one_connection(fgpu):
    body = json.dumps({"Pod": pod_object("p", limits={"fgpu.io/gpu-count": 0}), "NodeNames": ["a", "b"]})
    with Connection(fgpu) as c:
        first = c.post("filter", body).body
        for _ in range(1999):
            assert c.post("filter", body).body == first


def test_reply_lengths__around_read_boundaries__exact_and_kept(fgpu):
    """Go's client reads 512, 1024, 2048 bytes...; a byte behind the JSON at such a boundary would cost it the
    connection. Connection.post checks length, last byte and that the connection stays."""
    seen = set()
    with Connection(fgpu) as c:
        empty = len(c.post("filter", {"Pod": pod_object("p"), "NodeNames": [""]}).body)
        for boundary in (512, 1536, 3584, 7680):
            for length in range(boundary - 3, boundary + 4):
                reply = c.post("filter", {"Pod": pod_object("p"), "NodeNames": ["x" * (length - empty)]})
                seen.add(len(reply.body))
                json.loads(reply.body)
    assert seen == {b + d for b in (512, 1536, 3584, 7680) for d in range(-3, 4)}


def test_many_connections__300_at_once__all_served(fgpu):
    connections = [Connection(fgpu) for _ in range(300)]
    try:
        def work(i):
            for c in connections[i::10]:
                assert c.post("filter", BODY).json["NodeNames"] == ["a"]
        in_threads(10, work)
        in_threads(10, work)
    finally:
        for c in connections:
            c.http.close()


def test_slow_clients__in_the_end__cut_off(shared):
    """conftest began requests when the cluster started. Who has begun one must end it; who has sent nothing yet is an
    idle connection and may stay."""
    for text, s in shared.slow_clients:
        if text:
            s.settimeout(PATIENCE_S)
            while receive(s):
                pass
    counts = shared.cluster.fgpu.metrics()
    for reason in ("slow-head", "slow-body"):
        assert counts[f'fgpu_http_connections_dropped_total{{listener="verbs",reason="{reason}"}}'] >= 8
