"""TLS over the real binary: who may call, and certificates that change while it runs. The unit tests of httpd try every
kind of certificate; here it is the configuration, the flags, the metrics and a second implementation of TLS."""
import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import socket
import ssl
import subprocess

import pytest

from objects import milli, pod_object
from processes import BINARY, HEADERS, ApiServer, Fgpu, Reply, checked, eventually, parse_metrics, request, run

NAME = "system:kube-scheduler"
serial = itertools.count(1)


class Authority:
    """A CA in a folder of its own, through the openssl command."""

    def __init__(self, directory, name):
        self.directory = directory / name
        self.directory.mkdir()
        self.cert, self.key = self.directory / "ca.crt", self.directory / "ca.key"
        self.new_key(self.key)
        openssl("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN={name}", "-days", "1", "-out", self.cert)

    @staticmethod
    def new_key(path):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)

    def issue(self, cn, usage, names="DNS:localhost,IP:127.0.0.1"):
        """(certificate, key) files."""
        n = next(serial)
        base = self.directory / str(n)
        cert, key, request_, extensions = (base.with_suffix(s) for s in (".crt", ".key", ".csr", ".ext"))
        self.new_key(key)
        openssl("req", "-new", "-key", key, "-subj", f"/CN={cn}", "-out", request_)
        extensions.write_text(f"extendedKeyUsage={usage}\nsubjectAltName={names}\n")
        openssl("x509", "-req", "-in", request_, "-CA", self.cert, "-CAkey", self.key, "-set_serial", str(n),
                "-days", "1", "-extfile", extensions, "-out", cert)
        return cert, key


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Mounted:
    """tls.crt, tls.key and ca.crt as a mounted Secret shows them: links through ..data, which is swapped."""

    def __init__(self, directory):
        self.directory = directory
        self.directory.mkdir()
        self.versions = itertools.count(1)
        self.cert, self.key, self.ca = (directory / n for n in ("tls.crt", "tls.key", "ca.crt"))

    def publish(self, pair, ca):
        version = self.directory / f"..version{next(self.versions)}"
        version.mkdir()
        for path, source in zip((self.cert, self.key, self.ca), (*pair, ca)):
            (version / path.name).write_bytes(source.read_bytes())
            if not path.is_symlink():
                path.symlink_to(f"..data/{path.name}")
        link = self.directory / "..next"
        link.symlink_to(version.name)
        os.replace(link, self.directory / "..data")

    def config(self):
        return ("serving:\n  tls:\n    onLoopback: tls\n"
                f"    certFile: {self.cert}\n    keyFile: {self.key}\n    clientCAFile: {self.ca}\n")


class TlsFgpu(Fgpu):
    """Verbs and ops by TLS, with the certificate of the scheduler."""

    def context(self, pair, ca):
        c = ssl.create_default_context(cafile=ca)
        if pair is not None:
            c.load_cert_chain(*pair)
        return c

    def call(self, address, method, path, body=None, pair=None, ca=None):
        c = http.client.HTTPSConnection("127.0.0.1", address[1], timeout=60,
                                        context=self.context(pair or self.pair, ca or self.server_ca))
        try:
            c.request(method, path, json.dumps(body) if body is not None else None, HEADERS if body is not None else {})
            return Reply(c.getresponse())
        finally:
            c.close()

    def post(self, verb, body, timeout_s=None):
        return checked(self.call(self.verbs, "POST", f"/v1/{verb}", body)).json

    def state(self, query=""):
        return self.call(self.ops, "GET", "/state" + query).json

    def metrics(self):
        return parse_metrics(self.call(self.ops, "GET", "/metrics").body.decode())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    class TlsCluster:
        pass
    w = TlsCluster()
    w.directory = tmp_path_factory.mktemp("tls")
    w.ca, w.other = Authority(w.directory, "ca"), Authority(w.directory, "other")
    w.server = w.ca.issue("fgpu", "serverAuth")
    w.scheduler = w.ca.issue(NAME, "clientAuth")
    w.files = Mounted(w.directory / "mounted")
    w.files.publish(w.server, w.ca.cert)
    w.api = ApiServer(w.directory)
    TlsFgpu.pair, TlsFgpu.server_ca = w.scheduler, w.ca.cert
    w.fgpu = TlsFgpu(w.api.url, w.directory, w.files.config()).ready()
    yield w
    w.fgpu.stop()
    w.api.stop()


def refused(cluster, pair, address=None):
    """A call that must not be answered; the exception it ended with."""
    with pytest.raises((ssl.SSLError, http.client.HTTPException, ConnectionError)) as e:
        c = http.client.HTTPSConnection("127.0.0.1", (address or cluster.fgpu.verbs)[1], timeout=60,
                                        context=cluster.fgpu.context(pair, cluster.ca.cert))
        with contextlib.closing(c):
            c.request("POST", "/v1/filter", json.dumps({"Pod": pod_object("p"), "NodeNames": ["a"]}), HEADERS)
            c.getresponse()
    said = str(e.value).lower().replace("_", " ")
    # A client that is still writing when the connection closes learns that and not why.
    return said.replace("tlsv13 alert ", "") if "alert" in said else None


def test_scheduler__with_its_certificate__schedules(cluster):
    node = cluster.api.node(gpus=2)
    eventually(lambda: cluster.fgpu.node_state(node), "the node")
    pod = cluster.api.pod(milli(300))
    assert cluster.fgpu.schedule(pod, [node]) == node
    assert cluster.api.get_pod(pod)["spec"]["nodeName"] == node


def test_commands__show_a_client_certificate(cluster):
    url = f"https://127.0.0.1:{cluster.fgpu.ops[1]}"
    trusted = ("--server", url, "--ca-file", cluster.ca.cert)
    r = run("state", *trusted, "--cert-file", cluster.scheduler[0], "--key-file", cluster.scheduler[1], "-o", "json")
    assert r.returncode == 0 and json.loads(r.stdout)["kind"] == "State", r.stderr
    r = run("state", *trusted)
    assert r.returncode == 1 and url in r.stderr
    r = run("state", *trusted, "--cert-file", cluster.scheduler[0])
    assert r.returncode == 2 and "belong together" in r.stderr


def test_item17_bind__log_line__has_the_name_in_the_callers_certificate(tmp_path):
    """Verbosity 2 is where binds are logged."""
    ca = Authority(tmp_path, "fgpu callers")
    files = Mounted(tmp_path / "mounted")
    files.publish(ca.issue("fgpu", "serverAuth"), ca.cert)
    api = ApiServer(tmp_path)
    try:
        f = TlsFgpu(api.url, tmp_path, files.config() + "logging: {verbosity: 2}\n")
        f.pair, f.server_ca = ca.issue(NAME, "clientAuth"), ca.cert
        node = api.node(gpus=1)
        f.ready()
        eventually(lambda: f.node_state(node), "the node")
        assert f.schedule(api.pod(milli(300)), [node]) == node
        eventually(lambda: re.search(rf'"Bound pod" .*node="{node}" caller="{NAME}"', f.log()), "the line")
        f.stop()
    finally:
        api.stop()


@pytest.mark.parametrize("listener", ["verbs", "ops"])
def test_caller__without_the_right_certificate__never_answered(cluster, listener):
    """The eight kinds are tried in the unit tests; openssl's client sees a word of each group."""
    address = getattr(cluster.fgpu, listener)
    before = cluster.fgpu.metrics()
    for pair, alert, reason in [
            (None, "certificate required", "no-certificate"),
            (cluster.other.issue(NAME, "clientAuth"), "unknown ca", "bad-certificate"),
            (cluster.ca.issue(NAME, "serverAuth"), "bad certificate", "bad-certificate"),
            (cluster.ca.issue("kubelet", "clientAuth"), "access denied", "name-not-allowed")]:
        said = refused(cluster, pair, address)
        assert said is None or alert in said
        series = f'fgpu_http_connections_dropped_total{{listener="{listener}",reason="{reason}"}}'
        eventually(lambda series=series: cluster.fgpu.metrics()[series] > before[series], series)
    series = 'fgpu_requests_total{verb="filter",outcome="not_ours"}'
    assert cluster.fgpu.metrics().get(series, 0) == before.get(series, 0)
    assert re.search(rf'"Refused a TLS client" listener="{listener}" peer="127\.0\.0\.1:\d+" reason="', cluster.fgpu.log())


def test_ops__with_tokens__certificate_optional_but_not_a_wrong_one(cluster, tmp_path):
    """As off loopback: the token decides, and TLS hides it."""
    fgpu = TlsFgpu(cluster.api.url, tmp_path, cluster.files.config() + "  opsAuthorization: always\n")
    cluster.api.call("POST", "/_reviews", {"tokens": {"t": {"username": "u"}},
                                         "allow": [{"user": "u", "verb": "get", "path": "/version"}]})

    def version(pair, token):
        with contextlib.closing(http.client.HTTPSConnection(
                "127.0.0.1", fgpu.ops[1], timeout=60, context=fgpu.context(pair, cluster.ca.cert))) as c:
            c.request("GET", "/version", headers={"Authorization": f"Bearer {token}"} if token else {})
            return c.getresponse().status
    try:
        assert version(None, "t") == 200
        assert version(None, None) == 401
        assert version(cluster.scheduler, None) == 401
        assert version(cluster.ca.issue("prometheus", "clientAuth"), "t") == 200
        refused(cluster, cluster.other.issue(NAME, "clientAuth"), fgpu.ops)
        refused(cluster, None, fgpu.verbs)
    finally:
        fgpu.stop()


def test_plain_http__to_tls__not_answered_but_health_is(cluster):
    for address in (cluster.fgpu.verbs, cluster.fgpu.ops):
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            request(address, "GET", "/version")
    assert request(cluster.fgpu.health, "GET", "/readyz").status == 200


def test_protocol__tls_1_1__refused_and_1_2_served(cluster):
    c = cluster.fgpu.context(cluster.scheduler, cluster.ca.cert)
    c.maximum_version = ssl.TLSVersion.TLSv1_2
    conn = http.client.HTTPSConnection("127.0.0.1", cluster.fgpu.ops[1], timeout=60, context=c)
    conn.request("GET", "/version")
    assert conn.getresponse().status == 200
    session = conn.sock.session
    conn.close()
    with socket.create_connection(cluster.fgpu.ops, timeout=60) as s, c.wrap_socket(
            s, server_hostname="localhost", session=session) as again:
        assert not again.session_reused  # a resumed session would not be verified
    old = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{cluster.fgpu.verbs[1]}", "-tls1_1", "-cipher",
                          "DEFAULT@SECLEVEL=0"], stdin=subprocess.DEVNULL, capture_output=True)
    assert old.returncode != 0


def shown(cluster, ca):
    """Serial number of the certificate a new connection sees."""
    conn = http.client.HTTPSConnection("127.0.0.1", cluster.fgpu.verbs[1], timeout=60,
                                       context=cluster.fgpu.context(cluster.scheduler, ca))
    conn.connect()
    number = int(conn.sock.getpeercert()["serialNumber"], 16)
    conn.close()
    return number


def number_of(pair):
    return int(pair[0].stem)


@pytest.mark.parametrize("how", ["swap", "swap and SIGHUP"])
def test_reload__new_pair__kept_connection_stays_and_new_ones_see_it(cluster, how):
    body = {"Pod": pod_object("p"), "NodeNames": ["a"]}
    context = cluster.fgpu.context(cluster.scheduler, cluster.ca.cert)
    with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", cluster.fgpu.verbs[1], timeout=60,
                                                        context=context)) as kept:
        kept.request("POST", "/v1/filter", json.dumps(body), HEADERS)
        checked(Reply(kept.getresponse()))
        sock = kept.sock
        fresh = cluster.ca.issue("fgpu", "serverAuth")
        before = cluster.fgpu.metrics()['fgpu_tls_reloads_total{outcome="ok"}']
        cluster.files.publish(fresh, cluster.ca.cert)
        if how == "swap and SIGHUP":
            cluster.fgpu.process.send_signal(signal.SIGHUP)
        eventually(lambda: shown(cluster, cluster.ca.cert) == number_of(fresh), "the new certificate")
        for _ in range(10):
            kept.request("POST", "/v1/filter", json.dumps(body), HEADERS)
            checked(Reply(kept.getresponse()))
        assert kept.sock is sock, "the connection was dropped"
        assert cluster.fgpu.metrics()['fgpu_tls_reloads_total{outcome="ok"}'] > before


def test_reload__key_of_another_certificate__old_pair_stays_logged_and_counted(cluster):
    first, second = cluster.ca.issue("fgpu", "serverAuth"), cluster.ca.issue("fgpu", "serverAuth")
    cluster.files.publish(first, cluster.ca.cert)
    eventually(lambda: shown(cluster, cluster.ca.cert) == number_of(first), "the new certificate")
    before = cluster.fgpu.metrics()['fgpu_tls_reloads_total{outcome="error"}']
    cluster.files.publish((second[0], first[1]), cluster.ca.cert)
    eventually(lambda: cluster.fgpu.metrics()['fgpu_tls_reloads_total{outcome="error"}'] == before + 1, "the count")
    assert shown(cluster, cluster.ca.cert) == number_of(first)
    assert "tls.key is not the key of" in cluster.fgpu.log()
    cluster.files.publish(second, cluster.ca.cert)
    eventually(lambda: shown(cluster, cluster.ca.cert) == number_of(second), "the mended pair")


def test_reload__new_client_ca__old_clients_refused(cluster):
    theirs = cluster.other.issue(NAME, "clientAuth")
    both = cluster.directory / "both.crt"
    both.write_bytes(cluster.ca.cert.read_bytes() + cluster.other.cert.read_bytes())

    def served(pair):
        try:
            return cluster.fgpu.call(cluster.fgpu.verbs, "POST", "/v1/filter",
                                   {"Pod": pod_object("p"), "NodeNames": ["a"]}, pair=pair).status == 200
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            return False
    assert not served(theirs)
    cluster.files.publish(cluster.server, both)  # the way to rotate: both, then the new one alone
    eventually(lambda: served(theirs), "the second CA")
    assert served(cluster.scheduler)
    cluster.files.publish(cluster.server, cluster.ca.cert)
    eventually(lambda: not served(theirs), "the second CA to be gone")
    assert served(cluster.scheduler)


@pytest.mark.parametrize("flags, code, said", [
    (["--verbs-address", "0.0.0.0:0"], 2, "serving.verbsAddress: plain HTTP only on loopback"),
    (["--ops-address", ":0"], 2, "serving.opsAddress: plain HTTP only on loopback"),
    (["--tls-cert-file", "/nothing"], 2, "serving.tls.keyFile: a certificate needs its key"),
    (["--verbs-address", "0.0.0.0:0", "--tls-cert-file", "/nothing", "--tls-private-key-file", "/nothing",
      "--client-ca-file", "/nothing"], 1, "/nothing: No such file")])
def test_start__without_what_tls_needs__says_what(cluster, flags, code, said):
    r = subprocess.run([str(BINARY), "serve", "--kubeconfig", str(cluster.directory / "kubeconfig"),
                        "--signing-key", "off", "--ops-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0", *flags],
                       capture_output=True, text=True, timeout=60)
    assert r.returncode == code and said in r.stderr, r.stderr
