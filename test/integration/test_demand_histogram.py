"""What fgpu has learned of the pods, beyond the devices: /state tells, and a restart learns it again from those that run."""
from objects import milli
from processes import eventually


def histogram(fgpu):
    whole, summary = fgpu.state()["summary"]["demandHistogram"], fgpu.summary()["demandHistogram"]
    assert whole == summary
    return whole


def kinds(m):
    return {(s["count"], s.get("kind"), s.get("milli"), s.get("models")): s["weight"] for s in m["shapes"]}


def test_demand_histogram__pods_come_and_fgpu_restarts__what_runs_is_learned_again(own):
    nodes = [own.node(gpus=4) for _ in range(2)]
    assert histogram(own.fgpu) == {"arrived": 0, "departed": 0, "churnPermille": 0, "kinds": 0, "weight": 0, "shapes": []}
    for _ in range(6):
        assert own.fgpu.schedule(own.api.pod(milli(300)), nodes)
    assert own.fgpu.schedule(own.api.pod({"fgpu.io/gpu-count": 2}), nodes)
    assert own.fgpu.schedule(own.api.pod(milli(700), {"fgpu.io/gpu-model": "!T4"}), nodes)
    eventually(lambda: own.fgpu.summary()["pods"]["bound"] == 8, "the watch to catch up")
    before = histogram(own.fgpu)
    assert (before["arrived"], before["departed"]) == (8, 0)
    prices = before.pop("prices")
    assert {s["good"] for s in prices["scarce"]} <= {"hosts", "places", "size"} and prices["unseenPermille"] <= 30
    wanted = {(1, "milli", 300, None): 6 * 1024, (2, "whole", None, None): 1024, (1, "milli", 700, "!T4"): 1024}
    assert kinds(before) == wanted
    assert [s["permille"] for s in before["shapes"]] == [750, 125, 125] and before["weight"] == 8 * 1024

    waits = own.api.pod(milli(900))
    eventually(lambda: histogram(own.fgpu)["arrived"] == 9, "the pod that waits to be counted")
    own.api.delete_pod(waits)
    own.fgpu.kill()
    own.restarted()
    own.fgpu.ready()
    after = histogram(own.fgpu)
    assert "prices" not in after  # nothing has been decided yet
    assert after == before        # the pod that never ran is forgotten
