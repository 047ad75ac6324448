"""The defects of other extenders, one test (or more) for each number, B1 to B15."""
import json
import signal
import socket
import subprocess

import pytest

from judge import check_no_overcommit
from objects import device, inventory, mem, milli, node_name, pod_object, unique, whole
from processes import BINARY, Cluster, ROOT, Connection, eventually, in_threads, request


def test_B1_bound_pod_claims_more_than_the_device_has__nothing_wraps(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    huge = api.pod(mem(500 * 1024), nodeName=node)
    eventually(lambda: fgpu.allocations(huge), "the pod to be charged")
    memory = fgpu.node_state(node)["gpus"][0]["memMib"]
    assert memory["charged"] == 500 * 1024 and memory["free"] == memory["capacity"] - memory["charged"] < 0
    for limits in (mem(500 * 1024), mem(1), milli(1), whole(1)):
        pod = api.pod(limits)
        assert fgpu.fits(pod, [node]) == []
        assert fgpu.bind(pod, node) != ""
    api.delete_pod(huge)
    eventually(lambda: fgpu.fits(pod_object("p", limits=whole(1)), [node]) == [node], "the device to be free")


def test_B1_many_bound_pods_beyond_64_bits__nothing_wraps(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pods = [api.pod(mem(2 ** 24), nodeName=node) for _ in range(20)] + [api.pod(mem(2 ** 62), nodeName=node)]
    eventually(lambda: all(fgpu.allocations(p) for p in pods), "all to be charged")
    gpu = fgpu.node_state(node)["gpus"][0]
    assert gpu["memMib"]["charged"] >= 20 * 2 ** 24
    assert fgpu.fits(pod_object("p", limits=mem(1)), [node]) == []


def test_B2_node_shrinks__shown_as_negative_and_closed(cluster, api, fgpu):
    node = cluster.node(gpus=2)
    pod = api.pod(mem(40960))
    assert fgpu.schedule(pod, [node]) == node
    shrunk = [device(node, i, 16384) for i in range(2)]
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": inventory(shrunk)}})
    eventually(lambda: min(g["memMib"]["free"] for g in fgpu.node_state(node)["gpus"]) == 16384 - 40960,
               "negative free memory")
    assert fgpu.fits(pod_object("p", limits=mem(20480)), [node]) == []
    assert fgpu.fits(pod_object("p", limits=whole(2)), [node]) == []
    assert fgpu.fits(pod_object("p", limits=mem(1024)), [node]) == [node]  # there is the other GPU
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": inventory(shrunk[:1])}})
    eventually(lambda: not fgpu.fits(pod_object("p", limits=whole(2)), [node]))


def test_B2_pod_without_a_gpu_request__not_failed_at_bind(tmp_path):
    cluster = Cluster(tmp_path, "serving: {bindsAllPods: true}\n").ready()
    api, fgpu, node = cluster.api, cluster.fgpu, cluster.node(gpus=1)
    for limits in ({"cpu": 1}, {"fgpu.io/gpu-milli": 0}, {}):
        pod = api.pod(limits)
        assert fgpu.fits(pod, [node]) == [node]
        assert fgpu.bind(pod, node) == ""
        assert node_name(api.get_pod(pod)) == node
    cluster.stop()


def test_B3_unequal_shapes_on_a_full_node__equal_answers(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    for milli_each in (600, 610):
        assert fgpu.fits(pod_object("p", limits=milli(milli_each)), [node]) == [node]
    assert fgpu.schedule(api.pod(milli(500)), [node]) == node
    for milli_each in (600, 610):
        assert fgpu.fits(pod_object("p", limits=milli(milli_each)), [node]) == []


def test_B4_pods_with_impossible_indexes_at_start__no_crash_and_counted_everywhere(own):
    """See test_gpu_requests for the records that arrive later, and test_restart for more of them at start."""
    node = own.node(gpus=4)
    for index in ("99", "-1", "4", "18446744073709551615"):
        own.api.pod(milli(100), nodeName=node, annotations={"fgpu.io/assignment":
                    '{"v":1,"id":"x","containers":[{"name":"main","init":false,"devices":[{"uuid":"","index":'
                    + index + ',"milli":100,"memMib":8192}]}]}'})
        own.api.pod(milli(100), annotations={"fgpu.io/assignment": index, "fgpu.io/gpu-index": index})
    own.fgpu.kill()
    f = own.restarted()
    # While it holds off, /state already shows what it has read. That it then serves: test_restart.
    eventually(lambda: f.node_state(node) and
               [g["milli"]["charged"] for g in f.node_state(node)["gpus"]] == [400] * 4, "every forged pod on every GPU")
    f.check()


def test_B5_before_the_first_list__error_and_not_ready(tmp_path):
    c = Cluster(tmp_path)
    try:
        c.fgpu.kill()
        node = c.api.node(gpus=1)
        c.api.pod(whole(1), nodeName=node)
        pod = c.api.pod(milli(100))
        c.api.faults({"method": "GET", "path": "/api/v1/pods", "times": -1, "action": "fail", "status": 503})
        f = c.restarted()
        for _ in range(3):
            assert f.filter(pod, [node])["Error"]
            assert f.bind(pod, node) != ""
            assert not any(x["Score"] for x in f.post("prioritize", {"Pod": pod, "NodeNames": [node]}))
        assert request(f.health, "GET", "/readyz").status == 500
        assert request(f.health, "GET", "/livez").status == 200
        assert f.state()["metadata"]["ready"] is False
        assert node_name(c.api.get_pod(pod)) is None
        c.api.faults(clear=True)
        # From here on every answer is Error, or the truth; never that the full node is free.
        eventually(lambda: f.filter(pod, [node])["Error"] == "" or f.filter(pod, [node])["NodeNames"])
        f.ready()
        assert f.fits(pod, [node]) == []
    finally:
        c.stop()


def test_B6_24_concurrent_callers__no_gpu_over_committed(cluster, api, fgpu):
    nodes = [cluster.node(gpus=2) for _ in range(3)]
    pods = [api.pod(milli(400)) for _ in range(24)]

    def one(i):
        names = fgpu.fits(pods[i], nodes)
        if not names:
            return False
        fgpu.prioritize(pods[i], names)
        return fgpu.bind(pods[i], names[i % len(names)]) == ""
    answers = in_threads(24, one)
    assert 0 < sum(answers) <= 12
    for pod, bound in zip(pods, answers):
        assert (node_name(api.get_pod(pod)) is not None) == bound, "the answer is not the truth"
    assert sum(load.milli for load in check_no_overcommit(api).values()) == 400 * sum(answers)
    for pod, bound in zip(pods, answers):  # whoever lost a race fits when asked again, as long as there is room
        if not bound:
            fgpu.schedule(pod, nodes)
    check_no_overcommit(api)
    assert sum(node_name(p) is not None for p in api.list("pods")) == 12


def test_B6_24_callers_aim_at_one_gpu__one_whole_pod(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pods = [api.pod(whole(1)) for _ in range(24)]
    answers = in_threads(24, lambda i: fgpu.bind(pods[i], node))
    assert answers.count("") == 1 and len(set(answers)) <= 3, "reasons are constant texts"
    check_no_overcommit(api)
    assert sum(node_name(p) is not None for p in api.list("pods")) == 1


@pytest.mark.parametrize("limits", [
    {"fgpu.io/gpu-count": 2 ** 32}, {"fgpu.io/gpu-memory-mib": 2 ** 32 + 1024}, {"fgpu.io/gpu-milli": 2 ** 32},
    {"fgpu.io/gpu-milli": 2 ** 32 + 100}, {"fgpu.io/gpu-count": 2 ** 64}, {"fgpu.io/gpu-memory-mib": 2 ** 64 + 1},
    {"fgpu.io/gpu-memory-mib": 2 ** 44}, {"nvidia.com/gpu": 2 ** 32}], ids=str)
def test_B7_more_than_32_bits__refused(cluster, api, fgpu, limits):
    node = cluster.node(gpus=1)
    pod = api.pod(limits)
    r = fgpu.filter(pod, [node])
    assert list(r["FailedAndUnresolvableNodes"]) == [node], r
    assert fgpu.bind(pod, node) != ""


def test_B8_second_bind_on_a_node__not_blocked_by_anything(cluster, api, fgpu):
    node = cluster.node(gpus=4, annotations={"hami.io/mutex.lock": "2026-11-20T08:00:00Z"})
    for _ in range(4):
        assert fgpu.schedule(api.pod(whole(1)), [node]) == node


def test_B9_pod_missing__error_at_once_and_others_served(fgpu):
    bodies = [{"Pod": None, "NodeNames": ["a"]}, {"NodeNames": ["a"]}, {"Pod": [], "NodeNames": ["a"]},
              {"Pod": None, "Nodes": {"items": []}, "NodeNames": None}, {"Pod": None}]
    with Connection(fgpu) as c:
        for body in bodies:
            assert c.post("filter", body).json["Error"]
            assert c.post("prioritize", body).json == []
        for body in ({"PodName": None}, {"PodName": "a", "PodNamespace": None, "PodUID": "u", "Node": "n"}):
            assert c.post("bind", body).json["Error"]
    for body in ({"Pod": {}, "NodeNames": ["a"]}, {"Pod": {"metadata": None, "spec": None}, "NodeNames": ["a"]},
                 {"Pod": {"spec": {"containers": None}}, "NodeNames": ["a"]}):
        assert fgpu.post("filter", body)["NodeNames"] == ["a"]  # asks for no GPU


def test_B10_names_missing_or_no_list__error(fgpu):
    pod = pod_object("p", limits=milli(1))
    for names in (None, {}, "a", 1, True, [None], [1], [["a"]]):
        assert fgpu.post("filter", {"Pod": pod, "NodeNames": names})["Error"], names
        assert fgpu.post("prioritize", {"Pod": pod, "NodeNames": names}) == [], names
    assert fgpu.post("filter", {"Pod": pod})["Error"]
    assert fgpu.post("filter", {"Pod": pod, "NodeNames": None, "Nodes": None})["Error"]
    assert fgpu.filter(pod, [])["NodeNames"] == []
    assert fgpu.post("prioritize", {"Pod": pod, "NodeNames": []}) == []


def test_B11_negative_request__refused(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    for limits in (milli(-300), mem(-1024), whole(-1), {"nvidia.com/gpu": -1}, milli("-1k")):
        pod = api.pod(limits)
        assert list(fgpu.filter(pod, [node])["FailedAndUnresolvableNodes"]) == [node], limits
        assert fgpu.bind(pod, node) != ""
    assert fgpu.fits(api.pod(whole(1)), [node]) == [node]


def test_B12_large_list_of_names__served_whole(fgpu):
    names = [f"a-rather-long-cloud-node-name-of-40-{i:06}" for i in range(50000)]
    body = json.dumps({"Pod": pod_object("p"), "NodeNames": names}).encode()
    assert len(body) > 2 << 20
    assert fgpu.post("filter", body)["NodeNames"] == names


def test_B13_failed_bind__pod_filtered_and_bound_again(cluster, api, fgpu):
    node = cluster.node(gpus=1)
    pod = api.pod(whole(1))
    api.faults({"method": "POST", "path": "*/binding", "times": 1, "action": "fail", "status": 403})
    assert fgpu.fits(pod, [node]) == [node]
    assert fgpu.bind(pod, node) != ""
    eventually(lambda: fgpu.fits(pod, [node]) == [node], "the reservation to be released")
    assert fgpu.bind(pod, node) == ""


def test_B14_unknown_node_in_state__served(cluster, fgpu):
    node = cluster.node(gpus=1)
    for name in (unique("nobody"), "", "../../etc/passwd", "%F0%9F%92%A9", "a" * 4000):
        r = request(fgpu.ops, "GET", "/state?node=" + name)
        assert r.status in (200, 400, 404), name
        if r.status == 200 and name:
            assert r.json["nodes"] == []
    assert fgpu.state("?node=" + node)["nodes"][0]["name"] == node


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_B14_first_signal__before_it_is_ready__ends_with_0(tmp_path, sig):
    c = Cluster(tmp_path)
    c.fgpu.stop(sig)
    c.stop()


def test_B14_sigterm__with_a_bind_on_its_way__ends_with_0_and_tells_the_truth(own):
    node = own.node(gpus=1)
    pod = own.api.pod(milli(100))
    own.api.faults({"method": "POST", "path": "*/binding", "times": -1, "action": "pass", "delayMs": 1000})
    answer = []

    def work(i):
        if i == 0:
            answer.append(own.fgpu.bind(pod, node))
        else:
            eventually(lambda: own.fgpu.allocations(pod), "the reservation")
            own.fgpu.process.send_signal(signal.SIGTERM)
            own.fgpu.process.send_signal(signal.SIGTERM)
            own.fgpu.end(0)
    in_threads(2, work)
    assert answer[0] != "" or node_name(own.api.get_pod(pod)) == node, "success without a Binding"


def test_B15_default_addresses__loopback_only(fgpu):
    """What the process really listens on, from the kernel's table."""
    inodes = set()
    fds = f"/proc/{fgpu.process.pid}/fd"
    for line in subprocess.run(["ls", "-l", fds], capture_output=True, text=True, check=True).stdout.splitlines():
        if "socket:[" in line:
            inodes.add(line.split("socket:[")[1].rstrip("]"))
    listening = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{fgpu.process.pid}/net/{table}") as f:
            for row in list(f)[1:]:
                fields = row.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    listening.append((table, fields[1].split(":")[0]))
    loopback = socket.inet_aton("127.0.0.1")[::-1].hex().upper()
    assert listening == [("tcp", loopback)] * 3
    config = (ROOT / "config/fgpu.yaml").read_text()
    for listener in ("verbsAddress", "opsAddress", "healthAddress"):
        assert f"{listener}: 127.0.0.1:" in config


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
@pytest.mark.parametrize("how", ["--verbs-address", "--ops-address", "verbsAddress", "opsAddress"])
def test_B15_other_address_without_tls__refused_at_start(tmp_path, how, address):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                          "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n")
    command = [str(BINARY), "serve", "--kubeconfig", str(kubeconfig)]
    if how.startswith("--"):
        command += [how, address]
    else:
        config = tmp_path / "fgpu.yaml"
        config.write_text(f'apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\nserving:\n  {how}: "{address}"\n')
        command += ["--config", str(config)]
    r = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert r.returncode in (2, 3), r.stderr
    assert "loopback" in r.stderr, r.stderr
