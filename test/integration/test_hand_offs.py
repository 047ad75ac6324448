"""Hand-offs: what the Binding says to the program that makes devices visible on a node, which pods a node cannot serve, and what is
required of the container runtime where fgpu-node runs."""
import json

import pytest

from configured import START, Configured
from objects import device, milli, unique
from processes import eventually

POOLS = START + """devices:
  handOff: agent
  overrides:
  - {nodeSelector: {pool: cdi}, handOff: nvidia-cdi}
  - {nodeSelector: {pool: kai}, handOff: kai-fractioning}
  - {nodeSelector: {pool: sm}, handOff: kai-sm-sharing}
  - {nodeSelector: {pool: downward}, handOff: downward-api}
"""
REQUIRED = "required-plugins.noderesource.dev"
NAME_LONG = "name of a container is too long for the hand-off of the node"


@pytest.fixture
def api(configured):
    return configured.cluster.api


@pytest.fixture
def pools(configured):
    configured.effective(POOLS)
    names = {p: configured.cluster.node(gpus=1, labels={"pool": p}) for p in ("agent", "cdi", "kai", "sm", "downward")}
    configured.cluster.settle()
    return names


def written_by_agent(name):
    return {"fgpu.io/gpus": json.dumps({"v": 1, "by": "fgpu-node", "gpus": [device(name, 0)]})}


def named(api, *containers, annotations=None):
    """A pod with a hundred milli in each of these containers, beside one that has none."""
    return api.pod({}, annotations, containers=[
        {"name": name, "image": "example.com/demo", "resources": {"limits": {"fgpu.io/gpu-milli": "100"}}} for name in containers
    ] + [{"name": "s" * 63, "image": "example.com/demo"}])


def answer(api, pod):
    """What stands in the pod but the record and the annotations of the request."""
    a = api.get_pod(pod)["metadata"]["annotations"]
    assert a.pop("fgpu.io/assignment")
    return a


def bound(configured, pod, node):
    configured.cluster.settle()
    assert configured.fgpu.schedule(pod, [node]) == node
    return answer(configured.cluster.api, pod)


def test_hand_off__each__the_keys_of_its_program_and_no_others(configured, api, pools):
    gpu = {p: f"GPU-{pools[p]}-0" for p in pools}
    kai = {"nvidia.com/container.main.gpu-memory.request": "8192Mi", "nvidia.com/container.main.gpu-memory.limit": "8192Mi",
           "nvidia.com/container.main.gpu-compute.portion": "0.1"}
    expected = {
        "agent": {REQUIRED: '["fgpu"]'},
        "cdi": {"nvidia.cdi.k8s.io/container.main": "nvidia.com/gpu=" + gpu["cdi"]},
        "kai": {**kai, "nvidia.com/container.main.gpus.devices": gpu["kai"],
                "nvidia.com/container.main.gpu-compute.mode": "time-slicing"},
        "sm": {**kai, "nvidia.com/container.main.gpus.devices": gpu["sm"],
               "nvidia.com/container.main.gpu-compute.mode": "sm-sharing"},
        "downward": {"fgpu.io/visible-devices.c0": gpu["downward"], "fgpu.io/mps-active-thread-percentage.c0": "10",
                     "fgpu.io/mps-pinned-device-mem-limit.c0": "0=8192M"}}
    for pool, want in expected.items():
        assert bound(configured, named(api, "main"), pools[pool]) == want, pool
        hand_off = {"cdi": "nvidia-cdi", "kai": "kai-fractioning", "sm": "kai-sm-sharing", "downward": "downward-api"}
        assert configured.fgpu.node_state(pools[pool])["handOff"] == hand_off.get(pool, "agent")
    assert configured.fgpu.audit()["result"] == "clean"


def test_hand_off__carried_keys__overwritten_with_nothing(configured, api, pools):
    carried = {"nvidia.cdi.k8s.io/container.main": "nvidia.com/gpu=all", "nvidia.cdi.k8s.io/pod": "nvidia.com/gpu=all",
               "nvidia.com/container.main.gpus.devices": "all", "nvidia.com/container.other.gpu-memory.limit": "1Ti",
               "fgpu.io/visible-devices.c9": "GPU-stale", "nvidia.com/mine": "stays"}
    a = bound(configured, named(api, "main", annotations=carried), pools["cdi"])
    assert a == {"nvidia.cdi.k8s.io/container.main": f"nvidia.com/gpu=GPU-{pools['cdi']}-0", "nvidia.cdi.k8s.io/pod": "",
                 "nvidia.com/container.main.gpus.devices": "", "nvidia.com/container.other.gpu-memory.limit": "",
                 "fgpu.io/visible-devices.c9": "", "nvidia.com/mine": "stays"}
    a = bound(configured, named(api, "main", annotations=carried), pools["agent"])
    assert {k: v for k, v in a.items() if v} == {"nvidia.com/mine": "stays", REQUIRED: '["fgpu"]'}


def test_hand_off__pod_that_asks_for_nothing__keys_of_others_stay(configured, api, pools):
    configured.effective(POOLS + "serving: {bindsAllPods: true}\n")
    pod = api.pod({}, {"nvidia.cdi.k8s.io/container.main": "nvidia.com/gpu=all", "fgpu.io/visible-devices.c0": "GPU-stale"})
    configured.cluster.settle()
    assert configured.fgpu.bind(pod, pools["cdi"]) == ""
    a = eventually(lambda: (lambda p: p["spec"].get("nodeName") and p["metadata"]["annotations"])(api.get_pod(pod)), "the pod to be bound")
    assert a == {"nvidia.cdi.k8s.io/container.main": "nvidia.com/gpu=all", "fgpu.io/visible-devices.c0": ""}


def test_hand_off__long_name__refused_by_filter_with_a_reason(configured, api, pools):
    everywhere = list(pools.values())
    # Pods that ask for the same, so that what is remembered of one must not answer for another.
    for n, refused in ((33, ()), (34, ("kai", "sm")), (53, ("kai", "sm")), (54, ("cdi", "kai", "sm")), (63, ("cdi", "kai", "sm")),
                       (33, ())):
        pod = named(api, "m" * n)
        configured.cluster.settle()
        assert set(configured.fgpu.fits(pod, everywhere)) == {pools[p] for p in pools if p not in refused}, n
        for p in refused:
            assert configured.fgpu.reasons(pod, [pools[p]]) == {pools[p]: NAME_LONG}
            assert configured.fgpu.bind(pod, pools[p]) == NAME_LONG
        assert configured.fgpu.bind(pod, pools[next(p for p in ("kai", "cdi", "agent") if p not in refused)]) == ""
        keys = answer(api, pod)
        assert all(len(key.split("/")[-1]) <= 63 for key in keys), keys


def test_hand_off__kai_on_a_node_with_mig__refused_with_a_note(configured, api):
    configured.effective(START + "devices: {handOff: kai-fractioning}\n")
    name = unique("mixed")
    mixed = configured.cluster.node(gpus=[device(name, 0), device(name, 1, mig=[])])
    plain = configured.cluster.node(gpus=1)
    pod = named(api, "main")
    configured.cluster.settle()
    assert configured.fgpu.fits(pod, [mixed, plain]) == [plain]
    assert configured.fgpu.reasons(pod, [mixed]) == {mixed: "hand-off of the node does not fit its GPUs: see the note in /state"}
    assert configured.fgpu.node_state(mixed)["handOffUnfit"] is True
    assert "kai-sm-sharing" in configured.fgpu.node_state(mixed)["note"]
    assert configured.fgpu.audit()["result"] == "clean"


def test_hand_off__changed__running_pods_keep_theirs(configured, api):
    configured.effective(START)
    node = configured.cluster.node(gpus=1)
    first, second = named(api, "main"), named(api, "main")
    before = bound(configured, first, node)
    assert "fgpu.io/visible-devices.c0" in before
    configured.effective(START + "devices: {handOff: nvidia-cdi}\n")
    assert list(bound(configured, second, node)) == ["nvidia.cdi.k8s.io/container.main"]
    assert answer(api, first) == before
    assert configured.fgpu.node_state(node)["gpus"][0]["milli"]["charged"] == 200


def test_required_plugins__where_the_agent_writes__merged_with_the_pods_own(configured, api):
    configured.effective(START)
    name = unique("with-agent")
    agent = configured.cluster.node(name=name, gpus=0, annotations=written_by_agent(name))
    plain = configured.cluster.node(gpus=1)
    configured.cluster.settle()
    assert configured.fgpu.node_state(agent)["needsAgent"] is True
    assert "needsAgent" not in configured.fgpu.node_state(plain)
    for carried, want in (
            ({}, {REQUIRED: '["fgpu"]'}),
            ({REQUIRED: "[a, 'b']"}, {REQUIRED: '["a","b","fgpu"]'}),
            ({REQUIRED: "- a\n- 10-fgpu\n"}, {REQUIRED: '["a","10-fgpu"]'}),
            ({REQUIRED: "{nonsense: [", REQUIRED + "/container.main": "[]"},
             {REQUIRED: '["fgpu"]', REQUIRED + "/container.main": '["fgpu"]'})):
        a = bound(configured, named(api, "main", annotations=carried), agent)
        assert {k: v for k, v in a.items() if k.startswith(REQUIRED)} == want
        a = bound(configured, named(api, "main", annotations=carried), plain)
        assert {k: v for k, v in a.items() if k.startswith(REQUIRED)} == carried
    assert REQUIRED not in api.get_pod(configured.cluster.api.pod(milli(1)))["metadata"].get("annotations", {})


def test_required_plugins__changed_while_a_bind_is_under_way__the_new_list_is_kept(own):
    """The Binding replaces exactly the pod that was decided for: a list that came meanwhile is not lost."""
    configured, api = Configured(own), own.api
    name = unique("with-agent")
    node = own.node(name=name, gpus=0, annotations=written_by_agent(name))
    pod = named(api, "main", annotations={REQUIRED: "[a]"})
    own.settle()
    api.patch_pod(pod, {"metadata": {"annotations": {REQUIRED: "[b]"}}})
    first = configured.fgpu.bind(pod, node)  # whether fgpu has seen the new list by now is chance
    if first:
        assert "was changed" in first
        own.settle()
        assert configured.fgpu.bind(pod, node) == ""  # as kube-scheduler tries again
    assert answer(api, pod)[REQUIRED] == '["b","fgpu"]'
