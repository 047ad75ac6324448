"""Quality of service: annotation, node pool, time window, and what becomes of each in a restart."""
import json

from configured import START, Configured
from objects import milli
from processes import eventually
from test_windows import window

PERCENTAGE = "fgpu.io/mps-active-thread-percentage.c0"
LIMIT = "fgpu.io/mps-pinned-device-mem-limit.c0"


def given(api, pod):
    """(percentage, quality of service in the record, milli in the record) of a bound pod."""
    a = api.get_pod(pod)["metadata"]["annotations"]
    record = json.loads(a["fgpu.io/assignment"])
    assert a[LIMIT].startswith("0=")  # memory is limited in every case
    return int(a[PERCENTAGE]), record.get("qos", "fixed-share"), record["containers"][0]["devices"][0]["milli"]


def pool_node(configured, pool, **more):
    name = configured.cluster.node(gpus=1, labels={"pool": pool}, **more)
    configured.cluster.settle()
    return name


def put(configured, node, amount, says=None):
    annotations = {"fgpu.io/qos": says} if says else {}
    pod = configured.cluster.api.pod(milli(amount), annotations)
    configured.cluster.settle()
    assert configured.fgpu.bind(pod, node) == ""
    return pod


def charged(cluster, node):
    return cluster.fgpu.node_state(node)["gpus"][0]["milli"]["charged"]


def test_qos__of_pool_and_pod__the_pod_wins_and_lending_is_the_pools(configured):
    api = configured.cluster.api
    configured.effective(START + "devices: {overrides: [\n"
                         "  {nodeSelector: {pool: effort}, qos: best-effort},\n"
                         "  {nodeSelector: {pool: even}, qos: equal-share, maxSharers: 4, lendIdleCompute: forbid}]}\n")
    plain, effort, even = (pool_node(configured, p) for p in ("plain", "effort", "even"))
    for node, says, want in (
            (plain, None, (10, "fixed-share", 100)), (plain, "best-effort", (100, "best-effort", 100)),
            (plain, "equal-share", (100, "equal-share", 100)),
            (effort, None, (100, "best-effort", 100)), (effort, "fixed-share", (10, "fixed-share", 100)),
            (even, None, (25, "equal-share", 250)), (even, "best-effort", (10, "best-effort", 100)),
            (even, "fixed-share", (10, "fixed-share", 100))):
        assert given(api, put(configured, node, 100, says)) == want, (node, says)
    assert charged(configured, even) == 450
    state = configured.fgpu.node_state(even)
    assert (state["qos"], state["lendsIdleCompute"]) == ("equal-share", False)
    shown = {(a.get("qos", "fixed-share"), a["milli"], a.get("askedMilli")) for a in state["gpus"][0]["allocations"]}
    assert shown == {("equal-share", 250, 100), ("best-effort", 100, None), ("fixed-share", 100, None)}


def test_equal_share__as_many_as_may_share__and_no_more(configured):
    configured.effective(START + "devices: {maxSharers: 3, qos: equal-share}\n")
    node = pool_node(configured, "x")
    for _ in range(3):
        put(configured, node, 1)
    assert charged(configured, node) == 999
    pod = configured.cluster.api.pod(milli(1), {"fgpu.io/qos": "fixed-share"})
    configured.cluster.settle()
    assert configured.fgpu.reasons(pod, [node]) == \
        {node: "GPUs with room already have the maximum number of sharers"}


def test_equal_share__compute_of_others__refused_with_the_reason(configured):
    configured.effective(START + "devices: {maxSharers: 4, qos: equal-share}\n")
    node = pool_node(configured, "x")
    put(configured, node, 800)
    pod = configured.cluster.api.pod(milli(10))
    says = configured.cluster.api.pod(milli(10), {"fgpu.io/qos": "best-effort"})
    configured.cluster.settle()
    assert "compute" in configured.fgpu.reasons(pod, [node])[node]
    assert configured.fgpu.fits(says, [node]) == [node]


def test_qos__switched_by_a_window__for_those_who_come_then(configured):
    api, fgpu = configured.cluster.api, configured.fgpu
    configured.effective(START + "devices: {maxSharers: 4}\ntimeWindows:\n" + window("devices: {qos: equal-share}"))
    node = pool_node(configured, "x")
    night = put(configured, node, 100)
    assert given(api, night) == (100, "equal-share", 250)
    configured.effective(START + "devices: {maxSharers: 4}\n")
    day = put(configured, node, 100)
    assert given(api, day) == (10, "fixed-share", 100)
    assert charged(configured, node) == 350 and "qos" not in fgpu.node_state(node)
    assert fgpu.audit()["driftByCause"] == {}


def test_qos__edited_after_the_bind__charge_never_falls(configured):
    api = configured.cluster.api
    configured.effective(START + "devices: {maxSharers: 4}\n")
    node = pool_node(configured, "x")
    pod = put(configured, node, 100, "equal-share")
    for says, want in (("fixed-share", 250), (None, 250), ("equal-share", 250)):
        api.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}",
                  {"metadata": {"annotations": {"fgpu.io/qos": says}}})
        configured.cluster.settle()
        assert charged(configured, node) == want


def test_restart__equal_shares_of_a_window_that_has_closed__charged_as_before(own):
    start = own.config
    Configured(own).effective(start + "devices: {maxSharers: 4, qos: equal-share, lendIdleCompute: forbid}\n")
    node = own.node(gpus=1)
    pods = [own.api.pod(milli(10)), own.api.pod(milli(300)), own.api.pod(milli(10), {"fgpu.io/qos": "best-effort"})]
    own.settle()
    assert [own.fgpu.bind(p, node) for p in pods] == ["", "", ""]
    assert [given(own.api, p) for p in pods] == [
        (25, "equal-share", 250), (30, "equal-share", 300), (1, "best-effort", 10)]
    own.fgpu.kill()
    own.config = start + "devices: {maxSharers: 4}\n"
    own.restarted()
    eventually(lambda: own.fgpu.node_state(node) and charged(own, node) == 560, "the charges of before")
    shown = own.fgpu.node_state(node)["gpus"][0]["allocations"]
    assert sorted(a["qos"] for a in shown) == ["best-effort", "equal-share", "equal-share"]
