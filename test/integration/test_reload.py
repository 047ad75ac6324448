"""A new configuration while everything runs: SIGHUP, a changed file, a swapped folder; good, bad and cold ones."""
import os
import re
import signal
import threading

import pytest

from configured import START, Configured
from objects import milli, pod_object
from processes import HEAD, Cluster, Connection, eventually, request


@pytest.fixture(scope="module")
def configured_cluster(tmp_path_factory):
    """fgpu as in a pod, so that Events about itself have an object."""
    own = {"POD_NAME": "fgpu-0", "POD_NAMESPACE": "fgpu-system", "POD_UID": "0-1"}
    os.environ.update(own)
    try:
        c = Cluster(tmp_path_factory.mktemp("reload"), START)
    finally:
        for name in own:
            del os.environ[name]
    yield c.ready()
    c.stop()


@pytest.fixture
def api(configured):
    return configured.cluster.api


@pytest.fixture
def fgpu(configured):
    return configured.fgpu


def test_start__no_reload_yet__configz_says_where_values_come_from(own):
    c = Configured(own)
    z = c.configz()
    assert (z["generation"], z["lastReload"], z["lastError"]) == (1, None, None)
    assert z["file"] == str(c.path)
    assert z["origins"]["clientConnection.bindDeadline"] == f"{c.path}:4:3"
    assert z["origins"]["packing.candidates"] == "default"
    assert z["origins"]["serving.verbsAddress"] == "flag --verbs-address"
    assert c.metric("last_reload_successful") == 1
    assert c.metric("hash") == int(z["hash"][:12], 16)
    # /configz and a file never disagree: what it shows is a configuration file
    assert z["componentconfig"]["packing"]["candidates"] == 100


def test_sighup__hot_keys_changed__the_next_call_goes_by_them(configured, fgpu):
    names = [configured.cluster.node(gpus=1) for _ in range(5)]
    pod = pod_object("p", limits=milli(100))
    assert len(fgpu.fits(pod, names)) == 5
    before = configured.configz()
    z = configured.reload(START + "packing: {candidates: 2, hold: 0s}\nlogging: {verbosity: 4}\n")
    assert z["lastReload"]["outcome"] == "in_effect"
    assert z["generation"] == before["generation"] + 1 and z["hash"] != before["hash"]
    assert z["componentconfig"]["packing"]["candidates"] == 2
    assert z["origins"]["packing.candidates"] == f"{configured.path}:4:11"
    assert len(fgpu.fits(pod, names)) == 2
    log = fgpu.log()
    assert '"Configuration change" key="packing.candidates" from="100" to="2" applies="at once"' in log
    assert '"Filtered"' in log  # verbosity 4
    assert fgpu.state()["metadata"]["config"] == {"hash": z["hash"], "generation": z["generation"]}
    assert configured.metric("generation") == z["generation"]


def test_sighup__nothing_changed__said_so(configured):
    z = configured.hup()
    assert z["lastReload"]["outcome"] == "unchanged"
    assert configured.hup()["generation"] == z["generation"]


def test_sighup__limit_of_bodies__holds_for_the_next_request(configured, fgpu):
    node = configured.cluster.node(gpus=1)
    large = pod_object("p", limits=milli(100), annotations={"note": "x" * 100000})
    assert fgpu.fits(large, [node]) == [node]
    configured.effective(START + "limits: {bodyBytes: 64Ki, bytesInFlight: 1Mi}\n")
    assert fgpu.filter(large, [node])["Error"]
    assert fgpu.fits(pod_object("p", limits=milli(100)), [node]) == [node]
    configured.effective(START)
    assert fgpu.fits(large, [node]) == [node]


def test_sighup__no_file_was_given__said_and_survived(cluster):
    cluster.fgpu.process.send_signal(signal.SIGHUP)
    eventually(lambda: "--config was not given" in cluster.fgpu.log(), "the warning")
    assert request(cluster.fgpu.ops, "GET", "/configz").json["file"] is None


def test_sighup__invalid_file__the_old_one_stays_and_the_place_is_named(configured, fgpu):
    good = configured.effective(START + "packing: {candidates: 3}\n")
    for body, message in [("packing:\n  candidtes: 1\n", ":4:3: unknown key 'candidtes' in packing"),
                          ("packing: {candidates: -1}\n", ":3:23: packing.candidates: -1 is out of range"),
                          ("packing: [\n", ":4:1: "), ("", None)]:
        z = configured.reload(body, HEAD if message else "")
        assert z["lastReload"]["outcome"] == "invalid"
        assert z["lastError"].startswith(str(configured.path) + (message or ":1:1: the file is empty"))
        assert (z["hash"], z["componentconfig"]) == (good["hash"], good["componentconfig"])
        assert z["lastReload"]["hash"] != good["hash"]
        assert configured.metric("last_reload_successful") == 0
        assert f'"The configuration file is not valid; the old configuration stays" err="{z["lastError"][:40]}' \
            in fgpu.log().replace("\\", "")
    configured.path.unlink()
    z = configured.hup()
    assert z["lastReload"]["outcome"] == "invalid" and "No such file" in z["lastError"]
    assert z["hash"] == good["hash"]
    assert request(fgpu.health, "GET", "/readyz").status == 200
    z = configured.reload(START + "packing: {candidates: 3}\n")
    assert (z["lastReload"]["outcome"], z["lastError"]) == ("unchanged", None)
    assert configured.metric("last_reload_successful") == 1


def test_rejected_and_in_effect_again__told_by_events_on_our_own_pod(configured, api):
    def events(reason):
        found = [e for e in api.call("GET", "/apis/events.k8s.io/v1/events").json["items"] if e["reason"] == reason]
        assert all((e["regarding"]["namespace"], e["regarding"]["name"]) == ("fgpu-system", "fgpu-0") for e in found)
        return {e["note"]: e["type"] for e in found}
    configured.reload("told: 1\n")
    note = f"The configuration file is not valid; the old one stays: {configured.path}:3:1: unknown key 'told'"
    eventually(lambda: [t for n, t in events("ConfigRejected").items() if n.startswith(note)] == ["Warning"], "an Event")
    hash_ = configured.effective(START + "packing: {candidates: 77}\n")["hash"]
    note = f"The configuration with hash {hash_} is in effect"
    eventually(lambda: events("ConfigReloaded").get(note) == "Normal", "an Event")


def test_sighup__cold_key__all_of_the_file_waits_for_a_restart(configured, fgpu):
    before = configured.configz()
    z = configured.reload(START + "packing: {candidates: 7}\nlimits: {connections: 100}\n"
                                  "logging: {format: json}\n")
    assert z["lastReload"]["outcome"] == "needs_restart"
    assert z["lastReload"]["needsRestart"] == "logging.format, limits.connections"
    assert (z["hash"], z["componentconfig"]) == (before["hash"], before["componentconfig"])
    assert configured.metric("last_reload_successful") == 0
    assert 'needsRestart="logging.format, limits.connections"' in fgpu.log()
    assert re.search('key="packing.candidates" from="[0-9]+" to="7" applies="after a restart"', fgpu.log())
    # A flag wins over the file, so a file that says otherwise changes nothing.
    z = configured.effective(START + "packing: {candidates: 7}\nserving: {verbsAddress: '127.0.0.1:1'}\n")
    assert z["componentconfig"]["packing"]["candidates"] == 7
    assert z["componentconfig"]["serving"]["verbsAddress"] == "127.0.0.1:0"


def test_file_changed__no_signal__takes_effect(configured):
    configured.write(START + "packing: {candidates: 11}\n")
    eventually(lambda: configured.configz()["componentconfig"]["packing"]["candidates"] == 11, "the new file")
    # Not atomically, with the same length and time stamp.
    stat = configured.path.stat()
    configured.path.write_text(configured.path.read_text().replace("11", "12"))
    os.utime(configured.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    eventually(lambda: configured.configz()["componentconfig"]["packing"]["candidates"] == 12, "the new content")
    configured.write("packing: nonsense\n")
    eventually(lambda: configured.configz()["lastReload"]["outcome"] == "invalid", "the bad file")
    n = configured.reloads()["invalid"]
    configured.write(START + "packing: {candidates: 12}\n")
    eventually(lambda: configured.configz()["lastReload"]["outcome"] == "unchanged", "the good file")
    assert configured.reloads()["invalid"] == n  # a bad file is reported once, not at every look


def test_configmap_volume__data_link_swapped__takes_effect(configured):
    volume = configured.path.parent

    def publish(version, body):
        (volume / version).mkdir()
        (volume / version / "fgpu.yaml").write_text(HEAD + body)
        (volume / "..data_tmp").symlink_to(version)
        (volume / "..data_tmp").rename(volume / "..data")

    publish("..v1", START)
    link = volume / "link"
    link.symlink_to("..data/fgpu.yaml")
    link.rename(configured.path)
    for i in (2, 3):
        publish(f"..v{i}", START + f"packing: {{candidates: {20 + i}}}\n")
        eventually(lambda: configured.configz()["componentconfig"]["packing"]["candidates"] == 20 + i, "the swap")
    configured.path.unlink()


def vgpu(units):
    return f"resources:\n  compute:\n  - {{name: fgpu.io/gpu-milli, unitsPerGPU: 1000}}\n" \
           f"  - {{name: example.com/vgpu, unitsPerGPU: {units}}}\n"


def test_new_resource_name__pods_that_run_already_count_before_the_first_answer(configured, api, fgpu):
    node = configured.cluster.node(gpus=1)
    api.pod({"example.com/vgpu": 80}, nodeName=node)
    asking = pod_object("p", limits={"example.com/vgpu": 30})
    assert fgpu.fits(asking, [node]) == [node]  # not ours: as good as any
    api.faults({"method": "GET", "path": "/api/v1/*", "action": "pass", "delayMs": 300, "times": 2})
    z = configured.reload(START + vgpu(100))
    assert z["lastReload"]["outcome"] == "waiting"
    assert z["lastReload"]["hash"] != z["hash"]
    # Either still not ours, or the running pod counts; never ours on a GPU that looks free.
    answers = []
    while configured.configz()["hash"] == z["hash"]:
        answers.append(fgpu.fits(asking, [node]))
    answers.append(fgpu.fits(asking, [node]))
    assert answers[-1] == [] and answers == sorted(answers, reverse=True)
    assert fgpu.fits(pod_object("p", limits={"example.com/vgpu": 20}), [node]) == [node]
    assert configured.configz()["lastReload"]["outcome"] == "in_effect"
    assert configured.metric("waiting") == 0


def test_units_changed__charge_of_a_running_pod__never_falls(configured, api, fgpu):
    configured.effective(START + vgpu(100))
    node = configured.cluster.node(gpus=2)
    bound, foreign = api.pod({"example.com/vgpu": 40}), api.pod({"example.com/vgpu": 10}, nodeName=node)
    assert fgpu.schedule(bound, [node]) == node
    configured.cluster.settle()

    def charged():
        return sorted(fgpu.charged(node))
    assert charged() == [100, 400 + 100]
    for units, theirs in [(1000, 100), (50, 200), (100, 200)]:  # ours has a signed record, theirs has none
        configured.effective(START + vgpu(units))
        assert charged() == [theirs, 400 + theirs]
    configured.effective(START)  # the name means nothing any more, but the pods still run
    assert charged() == [200, 400 + 200]
    # A pod that comes now is read by what holds now.
    configured.effective(START + vgpu(1000))
    pod = api.pod({"example.com/vgpu": 100})
    assert fgpu.schedule(pod, [node]) == node
    configured.cluster.settle()
    assert charged() == [200, 400 + 200 + 100]
    for p in (bound, foreign, pod):
        api.delete_pod(p)
    configured.cluster.settle()
    assert charged() == [0, 0]


def test_reserve_and_templates_changed__nodes_are_described_anew(configured, api, fgpu):
    pool = {"example.com/pool": "a"}
    plain = api.node(gpus=0, annotations={}, **{})
    api.patch(f"/api/v1/nodes/{plain}", {"metadata": {"labels": pool}})
    node = configured.cluster.node(gpus=1)
    template = "nodeTemplates: [{label: example.com/pool=a, gpus: 2, memory: 40Gi}]\n"
    configured.effective(START + template)
    assert [g["memMib"]["capacity"] for g in fgpu.node_state(plain)["gpus"]] == [40960, 40960]
    configured.effective(START + template + "devices: {memoryReserve: 1Gi}\n")
    assert [g["memMib"]["capacity"] for g in fgpu.node_state(plain)["gpus"]] == [39936, 39936]
    assert [g["memMib"]["capacity"] for g in fgpu.node_state(node)["gpus"]] == [80 * 1024 - 1024]
    held = api.pod(milli(500))
    assert fgpu.schedule(held, [plain]) == plain
    configured.effective(START)  # the template is gone; what the pod holds stays shown and closed
    assert [a["milli"] for _, _, a in fgpu.allocations(held)] == [500]
    assert fgpu.fits(pod_object("p", limits=milli(100)), [plain]) == []


def test_sighup__api_server_down__answered_and_waits_where_it_must(configured, api, fgpu):
    down = {"method": "GET", "path": "/api/v1/*", "action": "fail", "status": 503, "times": -1}
    api.faults(down, dropWatches=True)
    z = configured.reload(START + "packing: {candidates: 5}\n")
    assert (z["lastReload"]["outcome"], z["componentconfig"]["packing"]["candidates"]) == ("in_effect", 5)
    z = configured.reload(START + "packing: {candidates: 6}\ndevices: {maxSharers: 3}\n")
    assert z["lastReload"]["outcome"] == "waiting"
    assert configured.metric("waiting") == 1 and configured.metric("last_reload_successful") == 1
    # A later file takes the place of the one that waits, a bad one does not.
    assert configured.reload("nonsense: 1\n")["lastReload"]["outcome"] == "invalid"
    assert configured.metric("waiting") == 1
    z = configured.reload(START + "packing: {candidates: 7}\ndevices: {maxSharers: 3}\n")
    assert z["lastReload"]["outcome"] == "waiting"
    assert z["componentconfig"]["packing"]["candidates"] == 5  # as a whole or not at all
    api.faults(clear=True)
    eventually(lambda: configured.configz()["hash"] == z["lastReload"]["hash"], "the lists")
    z = configured.configz()
    assert z["componentconfig"]["packing"]["candidates"] == 7
    assert z["componentconfig"]["devices"]["maxSharers"] == 3
    assert configured.metric("waiting") == 0


def test_fifty_reloads__under_calls__every_answer_belongs_to_one_configuration(configured, api, fgpu):
    """One configuration answers one node, the emptiest; the other three, the fullest first; half the changes also
    need the lists."""
    names = [configured.cluster.node(gpus=1) for _ in range(4)]
    for i, name in enumerate(names):
        if i > 0:
            assert fgpu.schedule(api.pod(milli(200 * i)), [name]) == name
    configured.cluster.settle()
    common = START + "devices: {maxSharers: %d}\n"
    one = common + "packing: {candidates: 1, nodeStrategy: spread, hold: 0s}\n"
    three = common + "packing: {candidates: 3, nodeStrategy: binpack, hold: 0s}\nlogging: {verbosity: 1}\n"
    configured.effective(one % 16)
    answers = {(names[0],), (names[3], names[2], names[1])}
    pod, seen, calls, errors, over = pod_object("p", limits=milli(100)), set(), [0], [], threading.Event()
    bound = 0

    def ask():
        try:
            with Connection(fgpu) as c:
                while not over.is_set():
                    reply = c.post("filter", {"Pod": pod, "NodeNames": names}).json
                    assert not reply["Error"], reply
                    seen.add(tuple(reply["NodeNames"]))
                    c.post("prioritize", {"Pod": pod, "NodeNames": names})
                    calls[0] += 1
        except BaseException as e:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(e)

    def bind():
        nonlocal bound
        try:
            while not over.is_set():
                p = api.pod(milli(10))
                error = fgpu.bind(p, names[0])  # refused where a second file came since the look at the pod (decision 0110)
                assert error == "" or error.startswith("another configuration is being taken into use"), error
                bound += error == ""
                api.delete_pod(p)
        except BaseException as e:  # noqa: BLE001
            errors.append(e)
    threads = [threading.Thread(target=ask) for _ in range(3)] + [threading.Thread(target=bind)]
    for t in threads:
        t.start()
    try:
        for i in range(50):
            configured.effective((three if i % 2 else one) % (16 if i % 4 < 2 else 17))
    finally:
        over.set()
        for t in threads:
            t.join()
    assert not errors, errors[0]
    assert seen == answers, seen - answers
    assert calls[0] > 50 and bound > 0
    assert configured.configz()["generation"] > 50
