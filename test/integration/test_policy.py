"""Policy: limits of tenants, settings of single nodes, rules of packing, while the configuration changes and room comes and goes."""
import pytest

from configured import BINPACK, START, Configured
from objects import MEM_MIB, mem, milli, pod_object, whole
from processes import eventually, request

LIMIT = "the tenant of the namespace would pass its GPU limit"


@pytest.fixture
def cluster(configured):
    return configured.cluster


def tenants(*rows):
    return START + "tenants:\n" + "".join(f"- {{{r}}}\n" for r in rows)


def plugin(n):
    return {"nvidia.com/gpu": n}


def explained(fgpu, pod):
    path = f"/v1/explain?pod={pod['metadata']['namespace']}/{pod['metadata']['name']}"
    return eventually(lambda: (lambda e: e["outcome"] == "waiting" and e["text"])(request(fgpu.ops, "GET", path).json), "the watch")


def shown(fgpu):
    return {t["name"]: t for t in fgpu.summary()["tenants"]}


def test_tenant__limit_reached__refused_by_filter_and_by_bind(configured, api, fgpu):
    nodes = [configured.cluster.node(gpus=2) for _ in range(2)]
    configured.effective(tenants("name: red, namespaces: [red-*], gpuShare: 25%, memory: 50%"))
    a, b, c = (api.pod(milli(600), namespace=n) for n in ("red-a", "red-b", "blue"))
    assert fgpu.schedule(a, nodes)
    # 1000 of 4000 milli, and 600 are taken, whether the Binding has been seen or not
    assert set(fgpu.reasons(b, nodes).values()) == {LIMIT}
    assert fgpu.bind(b, nodes[1]) == LIMIT
    assert fgpu.fits(c, nodes) and fgpu.bind(c, nodes[1]) == ""
    red = shown(fgpu)["red"]
    assert red == {"name": "red", "pods": 1, "milli": {"charged": 600, "limit": 1000},
                   "memMib": {"charged": MEM_MIB * 6 // 10, "limit": 2 * MEM_MIB}, "overLimit": False}
    m = fgpu.metrics()
    assert m['fgpu_tenant_milli{tenant="red",kind="charged"}'] == 600
    assert m['fgpu_tenant_milli{tenant="red",kind="limit"}'] == 1000
    assert m['fgpu_filter_verdicts_total{verdict="tenant_limit"}'] >= 2


def test_tenant__limit_behind_a_lack_of_room__explain_names_both(configured, api, fgpu):
    node = configured.cluster.node(gpus=1)
    configured.effective(tenants("name: red, namespaces: [red], milli: 500, memory: 4Gi", "name: free, namespaces: [free]"))
    assert fgpu.bind(api.pod(milli(900)), node) == ""
    waits = api.pod(milli(600), namespace="red")
    assert LIMIT not in fgpu.reasons(waits, [node])[node]
    text = explained(fgpu, waits)
    assert "its tenant red holds 0 of at most 500 milli and 0 of at most 4096 MiB" in text, text
    assert "tenant" not in explained(fgpu, api.pod(milli(600)))
    assert "tenant" not in explained(fgpu, api.pod(milli(600), namespace="free"))


def test_tenant__whole_gpus__count_with_all_they_have(configured, api, fgpu):
    node = configured.cluster.node(gpus=4)
    configured.effective(tenants("name: red, namespaces: [red], milli: 1500"))
    pod = api.pod(whole(2), namespace="red")
    assert fgpu.reasons(pod, [node]) == {node: LIMIT}
    configured.effective(tenants("name: red, namespaces: [red], milli: 2000"))
    assert fgpu.bind(pod, node) == ""


def test_tenant__pod_of_it_gone__room_for_the_next(configured, api, fgpu):
    node = configured.cluster.node(gpus=4)
    configured.effective(tenants("name: red, namespaces: [red], milli: 500"))
    first, second = api.pod(milli(400), namespace="red"), api.pod(milli(400), namespace="red")
    assert fgpu.bind(first, node) == ""
    assert fgpu.reasons(second, [node]) == {node: LIMIT}
    api.delete_pod(first)
    eventually(lambda: fgpu.fits(second, [node]), "room once the pod has gone")
    assert fgpu.bind(second, node) == ""


def test_tenant__limit_raised__kube_scheduler_is_woken(own):
    """The first wake is for those whom a process before this one may have refused."""
    configured, fgpu = Configured(own), own.fgpu
    node = own.node(gpus=4)
    configured.effective(tenants("name: red, namespaces: [red], milli: 500"))
    eventually(lambda: fgpu.wakes() == 1, "the wake after the start")
    pod = own.api.pod(milli(600), namespace="red")
    assert fgpu.reasons(pod, [node]) == {node: LIMIT}
    assert fgpu.wakes() == 1
    configured.effective(tenants("name: red, namespaces: [red], milli: 900"))
    eventually(lambda: fgpu.wakes() == 2, "a wake after the limit was raised")
    assert fgpu.bind(pod, node) == ""


def test_tenant__limit_below_what_it_holds__shown_and_nobody_leaves(configured, api, fgpu):
    node = configured.cluster.node(gpus=4)
    pods = [api.pod(milli(500), namespace="red") for _ in range(3)]
    for p in pods[:2]:
        assert fgpu.bind(p, node) == ""
    z = configured.reload(tenants("name: red, namespaces: [red], milli: 700"))
    assert z["lastReload"]["outcome"] == "in_effect"  # at once, without a relist
    assert shown(fgpu)["red"]["overLimit"]
    assert fgpu.reasons(pods[2], [node]) == {node: LIMIT}
    assert len(fgpu.node_state(node)["gpus"][0]["allocations"]) + len(
        fgpu.node_state(node)["gpus"][1]["allocations"]) == 2
    assert fgpu.fits(pod_object("other", limits=milli(500)), [node]) == [node]
    configured.effective(START)
    assert shown(fgpu) == {}
    assert fgpu.metrics()['fgpu_tenant_milli{tenant="red",kind="charged"}'] == 0
    assert fgpu.bind(pods[2], node) == ""


def test_tenant__whole_gpus_of_a_plugin__count_as_gpus(configured, api, fgpu):
    node = configured.cluster.node(gpus=4, status={"allocatable": {"nvidia.com/gpu": "4"}})
    configured.effective(tenants("name: red, namespaces: [red], milli: 1500"))
    assert fgpu.reasons(api.pod(plugin(2), namespace="red"), [node]) == {node: LIMIT}
    assert fgpu.bind(api.pod(plugin(1), namespace="red"), node) == ""
    assert shown(fgpu)["red"]["milli"] == {"charged": 1000, "limit": 1500}


# ---- settings of single nodes ----

def test_overrides__changed_while_running__the_nodes_they_select_and_no_others(configured, api, fgpu):
    pooled = configured.cluster.node(gpus=1, labels={"pool": "x"})
    plain = configured.cluster.node(gpus=1)
    pods = [api.pod(milli(700)) for _ in range(2)]
    assert fgpu.bind(pods[0], pooled) == ""
    assert fgpu.bind(pods[1], pooled) != ""
    configured.effective(START + "devices:\n  overrides:\n  - nodeSelector: {pool: x}\n"
                                 "    memoryReserve: 1Gi\n    overcommit: {compute: 1.5, memory: 2}\n")
    gpu = fgpu.node_state(pooled)["gpus"][0]
    assert (gpu["milli"]["capacity"], gpu["memMib"]["capacity"]) == (1500, 2 * (MEM_MIB - 1024))
    gpu = fgpu.node_state(plain)["gpus"][0]
    assert (gpu["milli"]["capacity"], gpu["memMib"]["capacity"]) == (1000, MEM_MIB)
    assert fgpu.bind(pods[1], pooled) == ""
    configured.effective(START)
    gpu = fgpu.node_state(pooled)["gpus"][0]
    assert gpu["overCommitted"] and gpu["milli"]["free"] == -400
    third = api.pod(milli(1))
    assert fgpu.fits(third, [pooled, plain]) == [plain]
    api.delete_pod(pods[0])
    eventually(lambda: pooled in fgpu.fits(third, [pooled, plain]), "the GPU to be open again")


def test_overrides__memory_only__compute_is_what_the_node_says(own):
    configured, api, fgpu = Configured(own), own.api, own.fgpu
    free = own.node(gpus=1, labels={"pool": "free"})
    plain = own.node(gpus=1)
    own.config = START + "devices: {overrides: [{nodeSelector: {pool: free}, memoryOnly: free}]}\n"
    configured.effective(own.config)
    quarter = MEM_MIB // 4
    limits, note = mem(quarter), {"fgpu.io/gpu-memory": f"{quarter}Mi"}
    for pod, node in [(api.pod(limits), free), (api.pod(annotations=note), free), (api.pod(limits), plain),
                      (api.pod(annotations=note), plain)]:
        assert fgpu.schedule(pod, [node]) == node
    assert fgpu.bind(api.pod({**milli(500), **mem(1)}), plain) == ""
    more = pod_object("more", limits=mem(1))
    assert fgpu.fits(more, [free, plain]) == [free]  # no compute is left on the other

    def charged():
        return [own.fgpu.node_state(n)["gpus"][0]["milli"]["charged"] for n in (free, plain)]
    assert charged() == [0, 1000]
    assert [fgpu.node_state(n)["memoryOnly"] for n in (free, plain)] == ["free", "share"]
    own.fgpu.kill()
    fgpu = own.restarted().ready()
    assert charged() == [0, 1000]
    assert fgpu.fits(more, [free, plain]) == [free]
    # the other way round: running pods keep what their records say
    own.config = START + "devices: {memoryOnly: free, overrides: [{nodeSelector: {pool: free}, memoryOnly: share}]}\n"
    Configured(own).effective(own.config)
    assert charged() == [0, 1000]
    own.fgpu.kill()
    fgpu = own.restarted().ready()
    assert charged() == [0, 1000]
    assert fgpu.audit()["result"] == "clean"


def test_overcommit__raised_for_all__after_a_relist(configured, api, fgpu):
    node = configured.cluster.node(gpus=1)
    pods = [api.pod(milli(900)) for _ in range(2)]
    assert fgpu.bind(pods[0], node) == ""
    assert fgpu.bind(pods[1], node) != ""
    configured.effective(START + "devices: {overcommit: {compute: 1.8, memory: 1.8}}\n")
    assert fgpu.bind(pods[1], node) == ""
    assert fgpu.audit()["result"] == "clean"


# ---- rules of packing ----

def rules(*rows):
    return START + f"packing: {{{BINPACK}, rules: [{', '.join(f'{{{r}}}' for r in rows)}]}}\n"


def gpu_of(fgpu, pod):
    return [uuid for _, uuid, _ in fgpu.allocations(pod)]


def best(fgpu, pod, nodes):
    scores = fgpu.prioritize(pod, fgpu.fits(pod, nodes))
    return max(scores, key=scores.get)


def test_rules__changed_while_running__filter_prioritize_and_bind_go_by_them(configured, api, fgpu):
    full, empty = (configured.cluster.node(gpus=2) for _ in range(2))
    configured.effective(rules())
    assert fgpu.bind(api.pod(milli(300)), full) == ""
    in_team, other = (pod_object("p", namespace=n, limits=milli(100)) for n in ("team-a", "other"))
    assert best(fgpu, in_team, [full, empty]) == full
    configured.effective(rules("namespaces: [team-*], nodeStrategy: spread, deviceStrategy: spread"))
    assert best(fgpu, in_team, [full, empty]) == empty
    assert best(fgpu, other, [full, empty]) == full
    a, b = api.pod(milli(100), namespace="team-a"), api.pod(milli(100), namespace="other")
    assert fgpu.bind(a, full) == "" and fgpu.bind(b, full) == ""
    assert gpu_of(fgpu, a) != gpu_of(fgpu, b)  # by the rule onto the empty GPU
    configured.effective(rules())
    assert best(fgpu, in_team, [full, empty]) == full


def test_rules__of_nodes_and_of_pods__order_of_the_rules(configured, api, fgpu):
    fast, slow = configured.cluster.node(gpus=1, labels={"pool": "fast"}), configured.cluster.node(gpus=1)
    assert fgpu.bind(api.pod(milli(300)), slow) == ""
    gold = pod_object("p", limits=milli(100))
    gold["metadata"]["labels"] = {"tier": "gold"}
    plain = pod_object("p", limits=milli(100))
    configured.effective(rules("podSelector: {tier: gold}, nodeSelector: {pool: fast}, "
                               "nodeStrategy: [binpack, tight-fit]"))
    assert best(fgpu, gold, [fast, slow]) == fast  # its rule before all others, whatever the scores
    assert best(fgpu, plain, [fast, slow]) == slow
    z = configured.effective(START + "packing: {nodeStrategy: {spread: 0.7, binpack: 0.3}}\n")
    assert z["componentconfig"]["packing"]["nodeStrategy"] == {"spread": "0.7", "binpack": "0.3"}
    eventually(lambda: best(fgpu, plain, [fast, slow]) == fast, "weights to be in effect")
    assert fgpu.audit()["result"] == "clean"
