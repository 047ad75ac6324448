"""GET /v1/history: numbers that /state has had, with the times they were read at."""
import datetime
import json

import jsonschema

from lab import PODS, Lab
from objects import milli, whole
from processes import ROOT, eventually, request

CONFIG = "packing: {hold: 0s}\n"
SCHEMA = json.loads((ROOT / "config/history.schema.json").read_text())


def history(fgpu):
    r = request(fgpu.ops, "GET", "/v1/history")
    assert r.status == 200, r.body
    jsonschema.Draft202012Validator(SCHEMA).validate(r.json)
    return r.json


def last(fgpu):
    samples = history(fgpu)["samples"]
    return {k: v for k, v in samples[-1].items() if k != "time"} if samples else None


def test_history__pods_come_and_go__the_last_sample_follows_state(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=2)]
    empty = {"computePermille": 0, "memoryPermille": 0, "fragmentationPermille": 0, "pending": 0, "bound": 0}
    eventually(lambda: last(fgpu) == empty, "an empty cluster")
    pods = [api.pod(limits) for limits in (whole(1), milli(500), milli(500))]
    for pod in pods:
        assert fgpu.schedule(pod, nodes)
    api.pod(whole(1))  # waits
    full = {"computePermille": 1000, "memoryPermille": 1000, "fragmentationPermille": 0, "pending": 1, "bound": 3}
    eventually(lambda: last(fgpu) == full, "a full one")
    api.delete_pod(pods[0])

    def half():
        sample = last(fgpu)
        return sample["computePermille"] == sample["memoryPermille"] == 500 and sample["bound"] == 2
    eventually(half, "a half of it")
    h = history(fgpu)
    assert h["metadata"]["generation"] == fgpu.generation()
    times = [datetime.datetime.fromisoformat(s["time"].replace("Z", "+00:00")) for s in h["samples"]]
    assert times == sorted(times) and len(set(times)) == len(times) and len(times) >= 3
    seen = [s["computePermille"] for s in h["samples"]]
    assert 0 in seen and 1000 in seen, "what was is still there"


def test_history__asked_with_head_and_post__as_other_readers(emptied):
    assert request(emptied.fgpu.ops, "HEAD", "/v1/history").status == 200
    assert request(emptied.fgpu.ops, "POST", "/v1/history", {}).status == 405
    assert "/v1/history" in request(emptied.fgpu.ops, "GET", "/").body.decode()


def test_history__pods_not_read__no_sample_until_they_are(tmp_path):
    lab = Lab(tmp_path)
    try:
        lab.start({**PODS, "action": "fail", "status": 500, "times": -1})
        eventually(lambda: lab.api.fault_hits()[0] > 2, "lists of pods that failed")
        assert history(lab.fgpu)["samples"] == []
        lab.api.faults(clear=True)
        eventually(lambda: history(lab.fgpu)["samples"], "a sample")
    finally:
        lab.stop()
