"""Signed records from outside: what serve needs, what stands in a pod, who can check it, and what never leaves fgpu. The
signed bytes are made here anew from the annotation, and verified by openssl: nothing of fgpu's own code is asked."""
import base64
import json
import os
import re
import signal
import struct
import subprocess

import pytest

from keys import key_id, new_key
from objects import milli
from processes import BINARY, HEAD, ApiServer, Fgpu, eventually, in_threads, request

KEY = "fgpu.io/assignment"


def signed_bytes(record, uid, node):
    """include/core/record/assignment.h: numbers are 8 bytes, the highest first; a text is its length and its bytes."""
    def number(n):
        return struct.pack(">Q", n)

    def text(s):
        return number(len(s.encode())) + s.encode()
    out = b"".join(map(text, ["fgpu.io/assignment signature v1", uid, node, record["id"],
                              record.get("qos", "fixed-share")]))
    out += number(len(record["containers"]))
    for c in record["containers"]:
        out += text(c["name"]) + number(c["init"]) + number(len(c["devices"]))
        for d in c["devices"]:
            out += text(d["uuid"]) + number(d["index"]) + number(d["milli"]) + number(d["memMib"])
            out += number(d.get("exclusive", False)) + text(d.get("mig", ""))
    return out


def openssl_verifies(key, message, signature, directory):
    (directory / "message").write_bytes(message)
    (directory / "signature").write_bytes(signature)
    r = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", f"{key}.pub", "-rawin", "-in",
                        str(directory / "message"), "-sigfile", str(directory / "signature")], capture_output=True)
    return r.returncode == 0


def signing(key, more=""):
    return f"signing:\n  privateKey: {key}\n{more}"


@pytest.fixture
def api(tmp_path):
    server = ApiServer(tmp_path)
    yield server
    if server.alive():
        server.stop()


def bound_record(api, fgpu, request_=300, node=None):
    """A new pod that fgpu binds: (pod, node, its record)."""
    node = node or api.node(gpus=2)
    eventually(lambda: fgpu.node_state(node), "the node")
    pod = api.pod(milli(request_))
    eventually(lambda: fgpu.fits(pod, [node]), "room")
    assert fgpu.schedule(pod, [node]) == node
    return pod, node, json.loads(api.get_pod(pod)["metadata"]["annotations"][KEY])


def test_bound_pod__its_record__openssl_verifies_it_for_this_pod_and_node_only(api, tmp_path):
    key = new_key(tmp_path)
    fgpu = Fgpu(api.url, tmp_path, signing(key)).ready()
    pod, node, record = bound_record(api, fgpu)
    assert record["sig"]["key"] == key_id(key)
    signature = base64.b64decode(record["sig"]["value"], validate=True)
    uid = pod["metadata"]["uid"]
    assert openssl_verifies(key, signed_bytes(record, uid, node), signature, tmp_path)
    assert not openssl_verifies(key, signed_bytes(record, "other", node), signature, tmp_path)
    assert not openssl_verifies(key, signed_bytes(record, uid, "other"), signature, tmp_path)
    record["containers"][0]["devices"][0]["milli"] += 1
    assert not openssl_verifies(key, signed_bytes(record, uid, node), signature, tmp_path)
    fgpu.stop()


def test_signing_off__record_as_before_and_a_warning(api, tmp_path):
    fgpu = Fgpu(api.url, tmp_path, "signing: off\n").ready()
    _, _, record = bound_record(api, fgpu)
    assert "sig" not in record
    assert "Signing is off" in fgpu.log()
    assert fgpu.state("?fields=summary")["metadata"]["signing"] == {
        "mode": "off", "signsWith": "", "publicKeys": [], "unverified": 0, "refuted": 0, "ignored": 0}
    fgpu.stop()


def start(tmp_path, *args, config=None):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                          "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n")
    command = [str(BINARY), "serve", "--kubeconfig", str(kubeconfig), "--verbs-address", "127.0.0.1:0", "--ops-address",
               "127.0.0.1:0", "--health-address", "127.0.0.1:0", *args]
    if config is not None:
        path = tmp_path / "start.yaml"
        path.write_text(HEAD + config)
        command += ["--config", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_serve__no_key__exit_code_3_and_what_to_do(tmp_path):
    for config in (None, "signing: on\n", "signing:\n"):
        r = start(tmp_path, config=config)
        assert r.returncode == 3, r.stderr
        for hint in ("fgpu signing-key --out FILE", "signing.privateKey", "--signing-key FILE", "signing: off"):
            assert hint in r.stderr


def test_serve__key_that_cannot_be_used__exit_code_3_and_which_file(tmp_path):
    key = new_key(tmp_path)
    text = tmp_path / "text"
    text.write_text("hush")
    empty = tmp_path / "empty"
    empty.mkdir()
    for private, public, says in ((tmp_path / "none", [], "none: there is no such file"), (text, [], "PKCS#8 PEM"),
                                  (f"{key}.pub", [], "is not a private key"), (key, [key], "holds a private key"),
                                  (key, [empty], "ends in .pub"), (key, [tmp_path / "gone"], "gone: there is no such")):
        config = signing(private, f"  publicKeys: [{', '.join(map(str, public))}]\n")
        r = start(tmp_path, config=config)
        assert r.returncode == 3 and says in r.stderr, (says, r.stderr)


def test_private_key__never_shown(api, tmp_path):
    key = new_key(tmp_path)
    os.chmod(key, 0o644)
    fgpu = Fgpu(api.url, tmp_path, signing(key), user=None).ready()
    bound_record(api, fgpu)
    secret = key.read_text().splitlines()[1]
    raw = base64.b64decode(secret)[-32:]
    for path in ("/state", "/configz", "/metrics", "/version"):
        body = request(fgpu.ops, "GET", path).body
        for form in (secret.encode(), secret[-40:].encode(), raw, raw.hex().encode()):
            assert form not in body, path
    assert secret not in fgpu.log() and raw.hex() not in fgpu.log()
    assert "can be read by others than its owner" in fgpu.log()
    assert str(key) in request(fgpu.ops, "GET", "/configz").body.decode()  # where it is, not what it is
    fgpu.stop()


def test_keys_replaced__sighup__new_records_by_the_new_key_old_keys_stay_when_the_new_are_wrong(api, tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    old, new = new_key(tmp_path, "old.pem"), new_key(tmp_path, "new.pem")
    active = folder / "key.pem"
    active.write_bytes(old.read_bytes())
    (folder / "old.pub").write_bytes((tmp_path / "old.pem.pub").read_bytes())
    fgpu = Fgpu(api.url, tmp_path, signing(active, f"  publicKeys: [{folder}]\n")).ready()
    assert bound_record(api, fgpu)[2]["sig"]["key"] == key_id(old)

    def signing_state():
        return fgpu.state("?fields=summary")["metadata"]["signing"]
    (folder / "new.pub").write_bytes((tmp_path / "new.pem.pub").read_bytes())
    eventually(lambda: set(signing_state()["publicKeys"]) == {key_id(old), key_id(new)}, "the new public key, unasked")
    assert signing_state()["signsWith"] == key_id(old)
    active.write_bytes(new.read_bytes())
    fgpu.process.send_signal(signal.SIGHUP)
    eventually(lambda: signing_state()["signsWith"] == key_id(new), "the new private key")
    assert bound_record(api, fgpu)[2]["sig"]["key"] == key_id(new)

    active.write_text("-----BEGIN PRIVATE KEY-----\n")
    fgpu.process.send_signal(signal.SIGHUP)
    eventually(lambda: fgpu.metrics()['fgpu_signing_key_reloads_total{outcome="error"}'] == 1, "the wrong key to be seen")
    assert signing_state()["signsWith"] == key_id(new)
    assert bound_record(api, fgpu)[2]["sig"]["key"] == key_id(new)
    assert len(re.findall("The new signing keys are wrong", fgpu.log())) == 1
    fgpu.stop()


def forged(api, node, annotations):
    """A pod that another scheduler bound, with a record that somebody wrote."""
    pod = api.pod(milli(300))
    api.bind_behind_our_back(pod, node, annotations)
    return pod


def text_of(uuid, **more):
    return json.dumps({"v": 1, "id": "x", "containers": [{"name": "main", "init": False, "devices": [
        {"uuid": uuid, "index": 0, "milli": 300, "memMib": 1024}]}], **more})


def test_record_without_a_valid_signature__grants_nothing__every_device_charged(api, tmp_path):
    """The pod asks for a GPU, so it counts on every device it could be using, whatever its record says."""
    stranger = new_key(tmp_path, "stranger.pem")
    fgpu = Fgpu(api.url, tmp_path, signing(new_key(tmp_path))).ready()
    node = api.node(gpus=2)
    eventually(lambda: fgpu.node_state(node), "the node")
    uuid = fgpu.node_state(node)["gpus"][0]["uuid"]
    for sig in (None, {"key": key_id(stranger), "value": base64.b64encode(bytes(64)).decode()}, {"key": "x"}):
        pod = forged(api, node, {KEY: text_of(uuid, **({} if sig is None else {"sig": sig}))})
        eventually(lambda: len(fgpu.allocations(pod)) == 2, f"a pod with {sig} to count on both devices")
        assert fgpu.states_of(pod) == {"foreign"}
        api.delete_pod(pod)
        eventually(lambda: not fgpu.allocations(pod), "its end")
    assert fgpu.metrics()["fgpu_records_ignored_total"] >= 3
    fgpu.stop()


def test_unsigned_record__pod_created_before_the_moment__as_before(api, tmp_path):
    key = new_key(tmp_path)
    for before, states in (("2999-01-01T00:00:00Z", {"bound"}), ("2000-01-01T00:00:00Z", {"foreign"})):
        fgpu = Fgpu(api.url, tmp_path, signing(key, f"  acceptUnsignedBefore: {before}\n")).ready().expect_incidents()
        node = api.node(gpus=2)
        eventually(lambda: fgpu.node_state(node), "the node")
        pod = forged(api, node, {KEY: text_of(fgpu.node_state(node)["gpus"][0]["uuid"])})
        eventually(lambda: fgpu.states_of(pod) == states, f"{states} with {before}")
        assert ("is in the future" in fgpu.log()) == before.startswith("2999")
        fgpu.stop()


def test_accept_unsigned_before__changed_while_fgpu_runs__pods_are_judged_again(api, tmp_path):
    fgpu = Fgpu(api.url, tmp_path, signing(new_key(tmp_path))).ready().expect_incidents()
    config = tmp_path / "fgpu.yaml"
    node = api.node(gpus=2)
    eventually(lambda: fgpu.node_state(node), "the node")
    pod = forged(api, node, {KEY: text_of(fgpu.node_state(node)["gpus"][0]["uuid"])})
    eventually(lambda: fgpu.states_of(pod) == {"foreign"}, "no trust")
    config.write_text(config.read_text() + "  acceptUnsignedBefore: 2999-01-01T00:00:00Z\n")
    fgpu.process.send_signal(signal.SIGHUP)
    eventually(lambda: fgpu.states_of(pod) == {"bound"}, "trust")
    fgpu.stop()


def test_restart__own_records__believed_again(api, tmp_path):
    config = signing(new_key(tmp_path))
    fgpu = Fgpu(api.url, tmp_path, config).ready()
    pod, node, _ = bound_record(api, fgpu)
    before = fgpu.allocations(pod)
    fgpu.stop()
    fgpu = Fgpu(api.url, tmp_path, config).ready()
    assert [(n, u) for n, u, _ in fgpu.allocations(pod)] == [(n, u) for n, u, _ in before]
    assert fgpu.states_of(pod) == {"bound"}
    fgpu.stop()


def test_restored_pod__its_old_answer__is_overwritten_by_the_binding(api, tmp_path):
    """A restore brings annotations back, those of fgpu's answer included: a Binding cannot remove them."""
    fgpu = Fgpu(api.url, tmp_path, signing(new_key(tmp_path)) + "serving: {bindsAllPods: true}\n").ready()
    pod, node, record = bound_record(api, fgpu)
    old = api.get_pod(pod)["metadata"]["annotations"]
    old["fgpu.io/visible-devices.c7"] = "GPU-of-somebody"
    for limits in (milli(300), None):
        restored = api.pod(limits, old)
        eventually(lambda: fgpu.fits(restored, [node]), "room")
        assert fgpu.bind(restored, node) == ""
        new = api.get_pod(restored)["metadata"]["annotations"]
        assert new["fgpu.io/visible-devices.c7"] == ""
        if limits:
            assert json.loads(new[KEY])["id"] != record["id"]
        else:
            assert set(new.values()) == {""}, "it asks for no GPU and gets none"
    fgpu.stop()


def junk(key, uuid, n):
    """A record that claims the whole GPU, by a known key, with a signature that is never the same and never holds."""
    sig = {"key": key_id(key), "value": base64.b64encode(n.to_bytes(4, "big") * 16).decode()}
    device = {"uuid": uuid, "index": 0, "milli": 1000, "memMib": 1024}
    return json.dumps({"v": 1, "id": "x", "sig": sig,
                       "containers": [{"name": "main", "init": False, "devices": [device]}]})


def test_records_rewritten_again_and_again__logged_by_the_pod_not_by_the_edit_and_binds_go_on(api, tmp_path):
    """Item 14: whoever edits the records of his pods has each pod believed once at most. Half of them ask by resource
    and count everywhere, half by annotations, which nobody saw before they were bound, and count nowhere."""
    pods_n, gpus, edits, binds = 8, 4, 400, 30
    key = new_key(tmp_path)
    fgpu = Fgpu(api.url, tmp_path, signing(key)).ready()
    node = api.node(gpus=gpus)
    eventually(lambda: fgpu.node_state(node), "the node")
    uuid = fgpu.node_state(node)["gpus"][0]["uuid"]
    asking = [api.pod(milli(10)) for _ in range(pods_n // 2)]
    texts = [api.pod() for _ in range(pods_n // 2)]
    pods = asking + texts
    for n, pod in enumerate(pods):
        more = {"fgpu.io/gpu-fraction": "0.01"} if pod in texts else {}
        api.bind_behind_our_back(pod, node, {KEY: junk(key, uuid, n), **more})
    eventually(lambda: all(fgpu.states_of(p) == {"foreign"} for p in asking), "the verdicts")

    def edit(thread):
        for i in range(edits // 2):
            n = 2 * i + thread
            record = junk(key, uuid, pods_n + n) if n % 5 else ""  # now and then there is none
            api.patch_pod(pods[n % pods_n], {"metadata": {"annotations": {KEY: record}}})

    def schedule():
        for _ in range(binds):
            assert fgpu.schedule(api.pod(milli(20)), [node]) == node
    in_threads(3, lambda i: schedule() if i == 2 else edit(i))
    # the last event is in the ledger when this one is
    last = api.pod(milli(20))
    eventually(lambda: fgpu.fits(last, [node]), "room beside them")
    assert fgpu.schedule(last, [node]) == node

    lines = re.findall("A GPU is (?:not )?over-committed", fgpu.log())
    assert len(lines) <= 2 * pods_n, len(lines)
    assert len(re.findall("Ignored the assignment|signature of a record does not hold", fgpu.log())) <= 2 * pods_n
    assert fgpu.state("?fields=summary")["metadata"]["signing"]["unverified"] == 0
    assert all(len(fgpu.allocations(p)) == gpus for p in asking) and not any(fgpu.allocations(p) for p in texts)
    charged = sum(a["milli"] for g in fgpu.node_state(node)["gpus"] for a in g["allocations"])
    assert charged == gpus * 10 * len(asking) + 20 * (binds + 1)
    assert fgpu.audit()["result"] == "clean"
    fgpu.stop()
