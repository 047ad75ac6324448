"""Time windows and node pools of a running fgpu. Which moment opens what is tested minute by minute elsewhere
(test/unit/cmd/test_window_scheduler.c); here the windows are open, or not, when the file is read."""
import datetime
import subprocess

import pytest

from configured import START, Configured
from objects import milli, pod_object, pod_path
from processes import BINARY, PATIENCE_S, ApiServer, Cluster, Fgpu, eventually, request

CLOSED = "the node pool takes no new pods now"


def hours(offset):
    """hh:mm in UTC, so many hours from now."""
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=offset)).strftime("%H:%M")


def window(body, begins=-6, ends=6, name="now"):
    return (f"- name: {name}\n  from: \"{hours(begins)}\"\n  to: \"{hours(ends)}\"\n  timeZone: UTC\n"
            + "".join(f"  {line}\n" for line in body.splitlines()))


def pool_node(configured, pool):
    name = configured.cluster.node(gpus=1)
    configured.cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"pool": pool}}})
    configured.cluster.settle()
    return name


def windows(configured):
    return configured.fgpu.summary()["timeWindows"]


def test_window__open__closes_its_pool_for_filter_and_bind_and_leaves_pods_alone(configured):
    api, fgpu = configured.cluster.api, configured.fgpu
    day, night = pool_node(configured, "day"), pool_node(configured, "night")
    runs = api.pod(milli(300))
    assert fgpu.bind(runs, day) == ""
    configured.effective(START + "timeWindows:\n"
                         + window("nodePools: [{nodeSelector: {pool: day}, state: closed}]"))
    eventually(lambda: fgpu.node_state(day)["closed"], "the node to be closed")
    waits = api.pod(milli(100))
    configured.cluster.settle()
    assert fgpu.fits(waits, [day, night]) == [night]
    r = fgpu.filter(waits, [day])
    assert r["FailedAndUnresolvableNodes"] == {day: CLOSED} and not r["FailedNodes"]
    assert CLOSED in fgpu.bind(waits, day)
    assert fgpu.states_of(runs) == {"bound"}
    summary = fgpu.summary()
    assert (summary["closedNodes"], summary["podsOnClosedNodes"]) == (1, 1)
    m = fgpu.metrics()
    assert (m["fgpu_closed_nodes"], m["fgpu_closed_node_pods"], m["fgpu_time_windows_open"]) == (1, 1, 1)
    at = datetime.datetime.fromisoformat(windows(configured)["at"].replace("Z", "+00:00"))
    assert m["fgpu_time_windows_next_change_timestamp_seconds"] == at.timestamp()
    assert windows(configured)["active"] == ["now"] and windows(configured)["next"] == []
    # an audit reads nodes by the same rules
    assert fgpu.audit()["driftByCause"] == {}
    configured.effective(START)
    eventually(lambda: not fgpu.node_state(day)["closed"], "the node to be open")
    assert fgpu.bind(waits, day) == ""
    assert windows(configured) == {"active": [], "next": [], "at": ""}


def test_windows__several__open_ones_in_the_order_of_the_file(configured):
    z = configured.effective(START + "packing: {candidates: 7}\ntimeWindows:\n"
                             + window("packing: {candidates: 1, nodeStrategy: spread}", name="first")
                             + window("packing: {candidates: 2}", name="second")
                             + window("packing: {candidates: 3}", begins=6, ends=9, name="closed-one"))
    packing = z["componentconfig"]["packing"]
    assert (packing["candidates"], packing["nodeStrategy"], packing["deviceStrategy"]) == (2, "spread", "rsp")
    assert z["origins"]["packing.candidates"].startswith(str(configured.path)) and z["generation"] > 1
    names = [configured.cluster.node(gpus=1) for _ in range(5)]
    assert len(configured.fgpu.fits(pod_object("p", limits=milli(100)), names)) == 2
    assert windows(configured)["active"] == ["first", "second"]
    assert windows(configured)["next"] == ["closed-one"]


def test_window__sizes__of_the_window_while_it_is_open(configured):
    api, fgpu = configured.cluster.api, configured.fgpu
    node = configured.cluster.node(gpus=1)
    body = START + "sizes: {small: {milli: 100}}\n"
    configured.effective(body + "timeWindows:\n" + window("sizes: {small: {milli: 600}}"))
    first, second = (api.pod(annotations={"fgpu.io/size": "small"}) for _ in range(2))
    configured.cluster.settle()
    assert fgpu.bind(first, node) == ""
    assert fgpu.reasons(second, [node]) != {}
    configured.effective(body)
    eventually(lambda: fgpu.fits(second, [node]) == [node], "the size of the file")
    # what runs stays charged with what it was given
    assert fgpu.node_state(node)["gpus"][0]["milli"]["charged"] == 600


def test_window__limits_and_quality_of_service__while_it_is_open(configured):
    api, fgpu = configured.cluster.api, configured.fgpu
    node = configured.cluster.node(gpus=2)
    percentage = "fgpu.io/mps-active-thread-percentage.c0"
    base = START + "tenants: [{name: red, namespaces: [red], milli: 300}]\ndevices: {qos: fixed-share}\n"
    configured.effective(base)
    first, second, third = (api.pod(milli(300), namespace="red") for _ in range(3))
    configured.cluster.settle()
    assert fgpu.bind(first, node) == ""
    assert fgpu.reasons(second, [node]) == {node: "the tenant of the namespace would pass its GPU limit"}
    assert api.get_pod(first)["metadata"]["annotations"][percentage] == "30"
    configured.effective(base + "timeWindows:\n" + window("tenants: [{name: red, namespaces: [red], milli: 600}]\n"
                                                          "devices: {qos: best-effort}"))
    eventually(lambda: fgpu.fits(second, [node]) == [node], "the limit of the window")
    assert fgpu.bind(second, node) == ""
    assert api.get_pod(second)["metadata"]["annotations"][percentage] == "100"
    # the limit of the file again: who runs stays, with what it was told
    configured.effective(base)
    eventually(lambda: fgpu.reasons(third, [node]), "the limit of the file")
    assert fgpu.states_of(first) == fgpu.states_of(second) == {"bound"}
    assert api.get_pod(second)["metadata"]["annotations"][percentage] == "100"


def test_start__within_a_window__in_effect_before_the_first_answer(tmp_path):
    c = Cluster(tmp_path, "timeWindows:\n" + window("packing: {candidates: 1}\nnodePools: [{nodeSelector: {p: x}, state: closed}]"))
    try:
        c.ready()
        z = Configured(c).configz()
        assert z["generation"] == 1 and z["componentconfig"]["packing"]["candidates"] == 1
        assert z["componentconfig"]["timeWindows"][0]["packing"] == {"candidates": 1}
        c.check()
    finally:
        c.stop()


def test_change_ahead__within_the_notice__announced_once_in_the_log(configured):
    configured.effective(START + "timeWindowNotice: 24h\ntimeWindows:\n" + window("packing: {candidates: 1}"))
    eventually(lambda: '"Time windows will change"' in configured.fgpu.log(), "the announcement")
    line = [x for x in configured.fgpu.log().splitlines() if '"Time windows will change"' in x]
    assert len(line) == 1 and 'change="closes now"' in line[0] and windows(configured)["at"] in line[0]


def test_pool_command__each_state__run_by_the_side_and_told(configured, tmp_path):
    fgpu, told = configured.fgpu, tmp_path / "told"
    pools = ("nodePools:\n- name: night\n  nodeSelector: {pool: night}\n  state: closed\n"
             f"  command: [/bin/sh, -c, 'echo $0 $1 >> {told}; test -e {told}.works || {{ echo not yet >&2; exit 7; }}']\n")

    def command():
        return (fgpu.summary()["poolCommands"] or [None])[0]

    configured.effective(START + pools)
    failed = eventually(lambda: (lambda c: c and c["result"] == "failed" and c)(command()), "the first run")
    assert (failed["pool"], failed["state"], failed["error"]) == ("night", "closed", "ended with exit code 7: not yet")
    assert fgpu.metrics()["fgpu_pool_commands_failing"] == 1
    (tmp_path / "told.works").touch()
    configured.effective(START + pools + "timeWindows:\n"
                         + window("nodePools: [{name: night, nodeSelector: {pool: night}, state: open}]"))
    done = eventually(lambda: (lambda c: c["result"] == "ok" and c)(command()), "the second run")
    assert (done["state"], done["tries"], done["error"]) == ("open", 1, "")
    assert told.read_text().splitlines() == ["night closed", "night open"]
    m = fgpu.metrics()
    assert (m["fgpu_pool_commands_failing"], m['fgpu_pool_commands_total{result="ok"}']) == (0, 1)
    configured.effective(START)
    assert command() is None


def test_pool_command__hangs_or_prints_without_end__others_run_and_the_exit_code_decides(configured, tmp_path):
    def pool(name, script):
        return (f"- name: {name}\n  nodeSelector: {{pool: {name}}}\n  state: closed\n"
                f"  command: [/bin/sh, -c, '{script}']\n")

    configured.effective(START + "nodePools:\n" + pool("hangs", "sleep 1000")
                         + pool("talks", "head -c 3000000 /dev/zero") + pool("quiet", "true"))
    results = eventually(lambda: (lambda r: r["talks"] == r["quiet"] == "ok" and r)(
        {c["pool"]: c["result"] for c in configured.fgpu.summary()["poolCommands"]}), "the commands beside the one that hangs")
    assert results["hangs"] == "waiting"
    assert "printed more than is kept; the rest was dropped" in configured.fgpu.log()
    configured.effective(START)


WRITES = ("POST", "PUT", "PATCH", "DELETE")


@pytest.mark.parametrize("flags, writes", [(["--wall-clock", "2026-03-28T18:59:50Z"], False), (["--rehearse"], False),
                                           (["--wall-clock", "2026-03-28T18:59:50Z", "--rehearse=false"], True)])
def test_rehearsal__of_a_cluster_in_use__writes_nothing_and_runs_nothing(tmp_path, flags, writes):
    """What makes fgpu write: an Event (a foreign pod, a closed node, an inventory that cannot be read), a requeue
    trigger (room after a refusal), a Binding, a command of a pool."""
    api, told = ApiServer(tmp_path), tmp_path / "told"
    try:
        day, broken = api.node(gpus=1), api.node(gpus=1)
        api.patch(f"/api/v1/nodes/{day}", {"metadata": {"labels": {"pool": "day"}}})
        api.patch(f"/api/v1/nodes/{broken}", {"metadata": {"annotations": {"fgpu.io/gpus": "{"}}})
        night = api.node(gpus=1)
        foreign = api.pod(milli(300), nodeName=day)
        holds, waits = api.pod(milli(1000), nodeName=night), api.pod(milli(500))
        api.faults(*({"method": m, "path": "*", "times": -1, "action": "pass"} for m in WRITES))
        fgpu = Fgpu(api.url, tmp_path, "signing: {mode: \"off\"}\nclientConnection: {holdOff: 0s}\n"
                    "nodePools:\n- {name: day, nodeSelector: {pool: day}, state: closed, "
                    f"command: [/bin/sh, -c, 'echo $0 $1 >> {told}']}}\n", flags=flags).expect_incidents().ready()
        assert fgpu.reasons(waits, [day, night])[day] == CLOSED
        r = request(api.address, "DELETE", pod_path(holds) + "?gracePeriodSeconds=0")
        assert r.status == 200
        eventually(lambda: fgpu.fits(waits, [night]) == [night], "the room that the pod leaves")
        error = fgpu.bind(waits, night)
        assert fgpu.states_of(foreign) == {"foreign"}
        if writes:
            assert error == ""
            eventually(lambda: sum(api.fault_hits()) > 3, "Events beside the Binding")
            eventually(told.exists, "the command")
        else:
            assert error == "this fgpu rehearses (--rehearse, --wall-clock): it binds nothing"
            assert [c["result"] for c in fgpu.summary()["poolCommands"]] == ["waiting"]
        fgpu.stop()  # whatever was queued has been sent by then
        assert writes or (api.fault_hits() == [0, 0, 0, 1] and not told.exists())  # 1: the test's own
    finally:
        api.stop()


def test_wall_clock__no_time__refused_with_an_example():
    p = subprocess.run([str(BINARY), "serve", "--wall-clock", "yesterday"], capture_output=True, text=True,
                       timeout=PATIENCE_S)
    assert p.returncode == 2 and '--wall-clock takes a time such as 2026-03-28T18:59:50Z, not "yesterday"' in p.stderr
