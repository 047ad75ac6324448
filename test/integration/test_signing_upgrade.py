"""Records are signed (src/decisions/0036): upgrade from a version that did not sign, rollback, rotation, a lost key, a wrong
key, an edited record. In each: no node closes that need not, and nothing is given twice. What stands in a record: test_signed_records.py."""
import datetime
import json

import pytest

from judge import check_no_overcommit, same_as_objects
from keys import key_id, new_key, public
from objects import assignment, milli, pod_path, unique
from processes import ApiServer, Fgpu, eventually

KEY = "fgpu.io/assignment"


def signing(key, *others, accept=None):
    text = f"signing:\n  privateKey: {key}\n"
    if others:
        text += f"  publicKeys: [{', '.join(str(public(k)) for k in others)}]\n"
    return text + (f"  acceptUnsignedBefore: {accept}\n" if accept else "")


def in_a_minute():
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


LONG_AGO = "2020-01-01T00:00:00Z"
OFF = "signing: off\n"


class Cluster:
    def __init__(self, directory):
        self.directory, self.fgpu = directory, None
        self.api = ApiServer(directory)

    def run(self, config):
        """This fgpu from now on, with what the API server holds."""
        if self.fgpu is not None:
            self.fgpu.stop()
        directory = self.directory / unique("run")
        directory.mkdir()
        self.fgpu = Fgpu(self.api.url, directory, config + "clientConnection: {holdOff: 0s}\n").ready()
        return self

    def unchanged(self):
        eventually(lambda: same_as_objects(self), "the ledger to charge every pod on its own device")
        check_no_overcommit(self.api)

    def new_node(self, gpus):
        node = self.api.node(gpus=gpus)
        eventually(lambda: self.fgpu.node_state(node), "the node")
        return node

    def fill(self):
        """Two GPUs with 700 and 600, and a pod that waits for room."""
        node = self.new_node(gpus=2)
        for n in (700, 600):
            assert self.fgpu.schedule(self.api.pod(milli(n)), [node]) == node
        self.waiting = self.api.pod(milli(500))
        assert self.fgpu.schedule(self.waiting, [node]) is None
        self.unchanged()
        return node

    def waiting_is_refused(self, node):
        assert self.fgpu.schedule(self.waiting, [node]) is None

    def close(self):
        if self.fgpu is not None and self.fgpu.alive():
            self.fgpu.stop()
        if self.api.alive():
            self.api.stop()


@pytest.fixture
def cluster(tmp_path):
    c = Cluster(tmp_path)
    yield c
    c.close()


def signed_by(pod):
    return assignment(pod).get("sig", {}).get("key")


def test_upgrade__from_a_version_that_did_not_sign__nothing_closes_and_new_records_are_signed(cluster, tmp_path):
    node = cluster.run(OFF).fill()
    cluster.run(signing(new_key(tmp_path), accept=in_a_minute()))
    cluster.unchanged()
    cluster.waiting_is_refused(node)
    pod = cluster.api.pod(milli(300))
    assert cluster.fgpu.schedule(pod, [node]) == node
    assert signed_by(cluster.api.get_pod(pod))
    cluster.unchanged()


def test_upgrade__a_pod_that_is_younger_than_the_upgrade__its_unsigned_record_grants_nothing(cluster, tmp_path):
    node = cluster.run(OFF).fill()
    cluster.run(signing(new_key(tmp_path), accept=LONG_AGO))
    eventually(lambda: cluster.fgpu.charged(node) == [1300, 1300], "both pods to count on both GPUs")
    assert cluster.fgpu.schedule(cluster.api.pod(milli(1)), [node]) is None


def test_rollback__to_a_version_that_does_not_sign__the_same_charges(cluster, tmp_path):
    node = cluster.run(signing(new_key(tmp_path))).fill()
    cluster.run(OFF)
    cluster.unchanged()
    cluster.waiting_is_refused(node)


def test_rotation__public_key_first_then_the_private_one__nothing_closes(cluster, tmp_path):
    old, new = new_key(tmp_path), new_key(tmp_path)
    node = cluster.run(signing(old)).fill()
    for config in (signing(old, new), signing(new, old)):
        cluster.run(config)
        cluster.unchanged()
        cluster.waiting_is_refused(node)
    pod = cluster.api.pod(milli(300))
    assert cluster.fgpu.schedule(pod, [node]) == node
    assert {signed_by(p) for p in cluster.api.list("pods") if assignment(p)} == {key_id(old), key_id(new)}
    cluster.unchanged()


def test_lost_key__pods_signed_by_it_count_everywhere_until_the_admin_accepts_them(cluster, tmp_path):
    node = cluster.run(signing(new_key(tmp_path))).fill()
    new = new_key(tmp_path)
    cluster.run(signing(new))
    eventually(lambda: cluster.fgpu.charged(node) == [1300, 1300], "both pods to count on both GPUs")
    cluster.waiting_is_refused(node)
    cluster.run(signing(new, accept=in_a_minute()))
    cluster.unchanged()
    cluster.waiting_is_refused(node)


def test_wrong_key__a_signature_under_a_known_name_that_does_not_hold__grants_nothing(cluster, tmp_path):
    key = new_key(tmp_path)
    node = cluster.run(signing(key)).fill()
    first, second = [p for p in cluster.api.list("pods") if assignment(p)]
    record = assignment(first)
    record["sig"]["value"] = assignment(second)["sig"]["value"]  # a real one, of another pod
    cluster.fgpu.stop()
    cluster.api.patch(pod_path(first), {"metadata": {"annotations": {KEY: json.dumps(record)}}})
    cluster.fgpu = None
    cluster.run(signing(key))
    alone = int(first["spec"]["containers"][0]["resources"]["limits"]["fgpu.io/gpu-milli"])
    eventually(lambda: sorted(cluster.fgpu.charged(node)) == [alone, 700 + 600], "the first pod to count on both GPUs, the second on its own")
    cluster.waiting_is_refused(node)


@pytest.mark.parametrize("change", ["amount", "device", "pod"])
def test_an_edited_record__after_a_restart__is_not_believed(cluster, tmp_path, change):
    """Item 3: what a tenant writes into a record never becomes what a GPU is charged."""
    key = new_key(tmp_path)
    node = cluster.run(signing(key)).fill()
    victim, other = [p for p in cluster.api.list("pods") if assignment(p)]
    record = assignment(victim)
    device = record["containers"][0]["devices"][0]
    if change == "amount":
        device["milli"] = 1
    elif change == "device":
        device.update({k: assignment(other)["containers"][0]["devices"][0][k] for k in ("uuid", "index")})
    else:
        record = assignment(other)
    before = sorted(cluster.fgpu.charged(node))
    cluster.api.patch(pod_path(victim), {"metadata": {"annotations": {KEY: json.dumps(record)}}})
    eventually(lambda: cluster.fgpu.state()["conflicts"], "the edit to be shown")
    assert sorted(cluster.fgpu.charged(node)) == before, "what was granted first stays"
    cluster.run(signing(key))
    eventually(lambda: sum(cluster.fgpu.charged(node)) > sum(before), "the pod to count on both GPUs")
    cluster.waiting_is_refused(node)


def test_a_record_is_no_request__a_forged_one_with_a_preset_node__charges_nothing(cluster, tmp_path):
    """Item 14."""
    key = new_key(tmp_path)
    cluster.run(signing(key))
    node = cluster.new_node(gpus=1)
    forged = {"v": 1, "id": "x", "containers": [{"name": "main", "init": False, "devices": [
        {"uuid": f"GPU-{node}-0", "index": 0, "milli": 1000, "memMib": 81920}]}]}
    cluster.api.pod(annotations={KEY: json.dumps(forged)}, nodeName=node)
    asks = cluster.api.pod(milli(1000))
    assert cluster.fgpu.schedule(asks, [node]) == node
    cluster.run(signing(key))
    assert cluster.fgpu.charged(node) == [1000]
