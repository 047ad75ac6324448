"""Credentials towards the API server: tokens, certificates and exec plugins, and their replacement while fgpu runs.

Nothing here waits for fgpu to be ready: what it has listed shows in /state, and its credentials have a check of
their own, /readyz/credentials.
"""
import json
import os
import pathlib
import re
import stat
import time

import pytest

from front import Authority, Front, Proxy, base64_of
from objects import unique
from processes import ApiServer, Fgpu, eventually, request

SAN = "subjectAltName=IP:127.0.0.1"
V1 = "client.authentication.k8s.io/v1"


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    a = ApiServer(tmp_path_factory.mktemp("credentials"))
    yield a
    a.check()
    a.stop()


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "ca")


@pytest.fixture(scope="module")
def server_pair(ca):
    return ca.issue("server", SAN)


class Fixture:
    def __init__(self, api, directory):
        self.api, self.directory, self.stops = api, directory, []

    def front(self, *args, **kw):
        self.front = Front(self.api.address, *args, **kw)
        self.stops.append(self.front.stop)
        return self.front

    def fgpu(self, user, config=None, **cluster):
        f = Fgpu(self.front.url, self.directory, config, cluster, user)
        self.stops.insert(0, lambda: self.end(f))
        return f

    @staticmethod
    def end(f):
        if f.alive():
            f.stop()

    def sees_news(self, f):
        """A node made now reaches fgpu: its credentials work."""
        name = self.api.node(gpus=1)
        eventually(lambda: f.check() or f.node_state(name), f"node {name} in /state")

    def stop(self):
        for stop in self.stops:
            stop()


@pytest.fixture
def fixture(api, tmp_path):
    r = Fixture(api, tmp_path)
    yield r
    r.stop()


def replace(path, text):
    fresh = path.with_name(path.name + ".fresh")
    fresh.write_text(text) if isinstance(text, str) else fresh.write_bytes(text)
    fresh.rename(path)


def credentials_check(f):
    return request(f.health, "GET", "/readyz/credentials").status


def events(f, event):
    return f.metrics()[f'fgpu_credentials_events_total{{event="{event}"}}']


def test_token__file_replaced_then_401__read_again_at_once_without_a_pause(fixture, ca, server_pair, tmp_path):
    token = tmp_path / "token"
    token.write_text("one")
    front = fixture.front(server_pair, tokens={"one"})
    f = fixture.fgpu({"tokenFile": str(token)}, **{"certificate-authority": str(ca.cert)})
    fixture.sees_news(f)
    replace(token, "two")
    front.tokens = {"two"}
    before = len(front.requests)
    front.drop()
    fixture.sees_news(f)
    after = front.requests[before:]
    assert [r["token"] for r in after if r["status"] is None][0] == "Bearer two"
    assert 1 <= front.rejected <= 3, "one try for each of the three watches"
    assert events(f, "renewed") == 1
    assert events(f, "rejected") <= 1, "none if a slow machine has made the token old enough to be read again by itself"
    assert credentials_check(f) == 200
    assert f.metrics()["fgpu_relists_total{resource=\"nodes\"}"] <= 1, "a 401 is no reason to list again"


def test_token__rejected_for_good__not_ready_few_requests_then_well_again(fixture, ca, server_pair, tmp_path):
    token = tmp_path / "token"
    token.write_text("one")
    front = fixture.front(server_pair, tokens={"one"})
    f = fixture.fgpu({"tokenFile": str(token)}, **{"certificate-authority": str(ca.cert)})
    fixture.sees_news(f)
    front.tokens = set()
    front.drop()
    eventually(lambda: credentials_check(f) == 500, "/readyz/credentials to fail")
    assert f.metrics()["fgpu_credentials_usable"] == 0
    assert "rejects the credentials" in f.log()
    begun, before = time.monotonic(), front.rejected
    time.sleep(2)  # two watches that want to begin again
    # a pause of a second at least after each
    assert front.rejected - before <= time.monotonic() - begun + 1
    front.tokens = {"one"}
    eventually(lambda: credentials_check(f) == 200, "the credentials to work again")
    fixture.sees_news(f)
    assert f.metrics()["fgpu_credentials_usable"] == 1


def test_certificates__rotated_by_a_swapped_link__used_without_a_restart(fixture, ca, server_pair, tmp_path):
    """Both sides get new authorities, by the way in which ConfigMaps and Secrets change."""
    other = Authority(tmp_path / "other", "other")

    def publish(version, authority):
        folder = tmp_path / f"..{version}"
        folder.mkdir()
        cert, key = authority.issue(f"client-{version}")
        for name, source in (("ca.crt", authority.cert), ("tls.crt", cert), ("tls.key", key)):
            (folder / name).write_bytes(source.read_bytes())
        (tmp_path / "..fresh").symlink_to(folder.name)
        (tmp_path / "..fresh").rename(tmp_path / "..data")

    publish("1", ca)
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    front = fixture.front(server_pair, client_ca=ca.cert)
    f = fixture.fgpu({"client-certificate": "tls.crt", "client-key": "tls.key"}, **{"certificate-authority": "ca.crt"})
    fixture.sees_news(f)
    assert set(front.subjects()) == {"ca-client-1"}
    publish("2", other)
    front.present(other.issue("server", SAN), other.cert)
    front.drop()
    fixture.sees_news(f)
    subjects = front.subjects()  # the old certificate may come until the connections are dropped, and never after
    turn = subjects.index("other-client-2")
    assert set(subjects[:turn]) == {"ca-client-1"} and set(subjects[turn:]) == {"other-client-2"}
    assert events(f, "renewed") == 1


def test_kubeconfig__everything_as_data_and_another_server_name__works(fixture, ca):
    cert, key = ca.issue("data-client")
    front = fixture.front(ca.issue("named", "subjectAltName=DNS:kube.example"), client_ca=ca.cert, tokens={"literal"})
    f = fixture.fgpu({"client-certificate-data": base64_of(cert), "client-key-data": base64_of(key), "token": "literal"},
                 **{"certificate-authority-data": base64_of(ca.cert), "tls-server-name": "kube.example"})
    fixture.sees_news(f)
    assert set(front.subjects()) == {"ca-data-client"}


def test_server__not_of_the_given_authority__nothing_is_sent_to_it(fixture, server_pair, tmp_path):
    other = Authority(tmp_path / "other", "other")
    front = fixture.front(server_pair, tokens={"one"})
    f = fixture.fgpu({"token": "one"}, **{"certificate-authority": str(other.cert)})
    eventually(lambda: sum(n for series, n in f.metrics().items() if series.startswith("fgpu_api_requests_total{")
                           and 'resource="nodes"' in series and 'code="0"' in series) >= 2, "two tries")
    assert front.requests == []
    assert "INSECURE" not in f.log()


def test_server__insecure_skip_tls_verify__works_and_says_so_loudly(fixture, server_pair):
    fixture.front(server_pair, tokens={"one"})
    f = fixture.fgpu({"token": "one"}, **{"insecure-skip-tls-verify": True})
    fixture.sees_news(f)
    assert "INSECURE: the kubeconfig has insecure-skip-tls-verify" in f.log()


def memory_of(f):
    """Of the process's own, in MB."""
    status = pathlib.Path(f"/proc/{f.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) / 1024


def test_F107_insecure_server__costs_no_more_memory_than_one_with_an_authority(fixture, ca, server_pair):
    """The system's authorities were read for each connection, although nobody was compared with them."""
    fixture.front(server_pair, tokens={"one"})
    verified = fixture.fgpu({"token": "one"}, **{"certificate-authority": str(ca.cert)})
    fixture.sees_news(verified)
    insecure = fixture.fgpu({"token": "one"}, **{"insecure-skip-tls-verify": True})
    fixture.sees_news(insecure)
    assert memory_of(insecure) < 1.25 * memory_of(verified) + 1


def test_proxy__of_the_kubeconfig__is_used_and_the_environments_is_not(fixture, ca, server_pair, monkeypatch):
    proxy = Proxy()
    fixture.stops.append(proxy.stop)
    fixture.front(server_pair, tokens={"one"})
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    f = fixture.fgpu({"token": "one"}, **{"certificate-authority": str(ca.cert),
                                      "proxy-url": f"http://user:hush@127.0.0.1:{proxy.port}"})
    fixture.sees_news(f)
    assert proxy.connects and all(m == "CONNECT" for m, _, _ in proxy.connects)
    assert all("Proxy-Authorization: Basic" in head and "Bearer" not in head for _, _, head in proxy.connects)
    assert "hush" not in f.log()


class Plugin:
    """A script that answers what the file `status` says, and writes down its runs and what it was told."""

    def __init__(self, directory):
        self.directory = directory
        self.path = directory / "plugin"
        self.path.write_text(f'''#!/bin/sh
cd {directory}
echo "$1 $PLUGIN_ENV $KUBERNETES_EXEC_INFO" >>runs
while [ -e hold ]; do sleep 0.05; done
sed "s/%d/$(grep -c . runs)/" status
''')
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)

    def answer(self, **status):
        replace(self.directory / "status", json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status}))

    def runs(self):
        path = self.directory / "runs"
        return path.read_text().splitlines() if path.exists() else []

    def user(self, **more):
        return {"exec": {"apiVersion": V1, "command": "./plugin", "args": ["an argument"], "interactiveMode": "Never",
                         "env": [{"name": "PLUGIN_ENV", "value": "canary-env"}], **more}}


def test_exec__token__run_once_and_again_after_a_401(fixture, ca, server_pair, tmp_path):
    plugin = Plugin(tmp_path)
    plugin.answer(token="token-%d")
    front = fixture.front(server_pair, tokens={"token-1"})
    f = fixture.fgpu(plugin.user(provideClusterInfo=True), **{"certificate-authority": str(ca.cert)})
    fixture.sees_news(f)
    first, = plugin.runs()
    argument, env, info = first.split("canary-env")[0].strip(), "canary-env", first.split("canary-env")[1]
    assert argument == "an argument" and env == "canary-env"
    assert json.loads(info) == {"kind": "ExecCredential", "apiVersion": V1, "spec": {
        "cluster": {"server": front.url, "certificate-authority-data": base64_of(ca.cert)}, "interactive": False}}
    front.tokens = {"token-2"}
    front.drop()
    fixture.sees_news(f)
    assert len(plugin.runs()) == 2
    assert events(f, "plugin_run") == 2 and events(f, "plugin_failed") == 0


def test_exec__certificate_that_expires__renewed_before_its_end(fixture, ca, server_pair, tmp_path):
    plugin = Plugin(tmp_path)
    (cert, key), (cert2, key2) = ca.issue("exec-1"), ca.issue("exec-2")
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 4))
    plugin.answer(clientCertificateData=cert.read_text(), clientKeyData=key.read_text(), expirationTimestamp=soon)
    front = fixture.front(server_pair, client_ca=ca.cert)
    f = fixture.fgpu(plugin.user(), **{"certificate-authority": str(ca.cert)})
    fixture.sees_news(f)
    plugin.answer(clientCertificateData=cert2.read_text(), clientKeyData=key2.read_text())
    eventually(lambda: len(plugin.runs()) == 2, "the second run")
    eventually(lambda: events(f, "renewed") == 1, "the new certificate")
    front.drop()
    fixture.sees_news(f)
    assert front.subjects()[0] == "ca-exec-1" and front.subjects()[-1] == "ca-exec-2"
    assert credentials_check(f) == 200


def test_exec__slow_then_failing__verbs_and_health_answer_all_the_while(fixture, ca, server_pair, tmp_path):
    plugin = Plugin(tmp_path)
    (tmp_path / "hold").touch()
    fixture.front(server_pair, tokens={"token-2"})
    f = fixture.fgpu(plugin.user(installHint="ask the platform team"), **{"certificate-authority": str(ca.cert)})
    eventually(lambda: len(plugin.runs()) == 1, "the plugin to run")
    answer = f.post("filter", {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {}},
                               "NodeNames": ["a"]})
    assert answer["Error"]
    assert request(f.health, "GET", "/livez").status == 200
    assert credentials_check(f) == 200, "slow is not broken"
    os.remove(tmp_path / "hold")  # and there is no answer yet
    eventually(lambda: credentials_check(f) == 500, "/readyz/credentials to fail")
    assert "No credentials for the API server" in f.log()
    plugin.answer(token="token-2")
    fixture.sees_news(f)


def test_exec__slow_at_the_end__fgpu_stops_and_leaves_no_child(fixture, ca, server_pair, tmp_path):
    plugin = Plugin(tmp_path)
    (tmp_path / "hold").touch()
    fixture.front(server_pair)
    f = fixture.fgpu(plugin.user(), **{"certificate-authority": str(ca.cert)})
    eventually(lambda: len(plugin.runs()) == 1, "the plugin to run")
    f.stop()
    eventually(lambda: str(plugin.path) not in commands(), "the plugin to be gone")


def commands():
    text = ""
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open(f"/proc/{pid}/cmdline") as c:
                    text += c.read().replace("\0", " ") + "\n"
            except OSError:
                pass
    return text


def test_secrets__whatever_happens__never_in_log_state_configz_or_metrics(fixture, ca, server_pair, tmp_path):
    plugin = Plugin(tmp_path)
    secret = unique("canary-token")
    cert, key = ca.issue("canary")
    plugin.answer(token=secret, clientCertificateData=cert.read_text(), clientKeyData=key.read_text())
    front = fixture.front(server_pair, client_ca=ca.cert, tokens={secret})
    f = fixture.fgpu(plugin.user(), config="logging:\n  verbosity: 10\n", **{"certificate-authority": str(ca.cert)})
    fixture.sees_news(f)
    front.tokens = set()
    front.drop()
    eventually(lambda: credentials_check(f) == 500, "the credentials to be rejected")
    replace(tmp_path / "status", f'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"token": "{secret}",')
    eventually(lambda: events(f, "plugin_failed") >= 1, "an answer that cannot be read")
    shown = f.log()
    for path in ("/state", "/configz", "/metrics", "/version", "/"):
        shown += request(f.ops, "GET", path).body.decode()
    shown += request(f.health, "GET", "/readyz?verbose").body.decode()
    shown += request(f.health, "GET", "/readyz/credentials").body.decode()
    for canary in (secret, "canary-env", *key.read_text().splitlines()[1:-1]):
        assert canary not in shown
    assert len(shown) > 1000
