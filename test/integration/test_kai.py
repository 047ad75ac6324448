"""Pods that ask as in Run:ai and KAI-Scheduler: what they are given, charged and refused, through edits, restarts and
changes of the configuration."""
import json

import pytest

from configured import START, Configured
from judge import check_no_overcommit, same_as_objects
from objects import assignment, milli, node_name, pod_object, pod_path
from processes import HEAD, eventually, run

CONFIG = START + "dialects: {kai: serve}\n"
MEM_MIB = 81559  # seen as 81500


@pytest.fixture
def kai(emptied):
    return emptied


def fraction(f, **more):
    return {"gpu-fraction": f, **{"gpu-fraction-" + k.replace("_", "-"): v for k, v in more.items()}}


def place(c, annotations, nodes):
    pod = c.api.pod(annotations=annotations)
    assert c.fgpu.schedule(pod, nodes)
    return pod


def test_eighths__share_one_gpu_and_the_ninth_waits(kai):
    node = kai.node(gpus=1, mem_mib=MEM_MIB)
    for _ in range(8):
        place(kai, fraction("0.125"), [node])
    assert sorted(kai.fgpu.charged_loads(node)) == [(1000, 8 * 10187)]
    assert kai.fgpu.reasons(pod_object("p", annotations=fraction("0.125")), [node]) == \
        {node: "too few GPUs with enough free compute"}
    check_no_overcommit(kai.api)


def test_sixteen_sharers__no_more(kai):
    node = kai.node(gpus=1, mem_mib=MEM_MIB)
    for _ in range(16):
        place(kai, fraction("0.01"), [node])
    assert kai.fgpu.reasons(pod_object("p", annotations=fraction("0.01")), [node]) == \
        {node: "GPUs with room already have the maximum number of sharers"}


def test_amounts__rounded_as_kai_does__and_handed_over(kai):
    node = kai.node(gpus=3, mem_mib=MEM_MIB)
    memory = place(kai, {"gpu-memory": "20480"}, [node])
    pair = place(kai, fraction("0.5", num_devices="2"), [node])
    third = place(kai, fraction("0.333"), [node])
    eventually(lambda: same_as_objects(kai), "the same sums")
    check_no_overcommit(kai.api)
    of = {name: [(d["milli"], d["memMib"]) for x in assignment(kai.api.get_pod(p))["containers"] for d in x["devices"]]
          for name, p in (("memory", memory), ("pair", pair), ("third", third))}
    assert of == {"memory": [(260, 20480)], "pair": [(500, 40750)] * 2, "third": [(333, 27139)]}
    written = kai.api.get_pod(memory)["metadata"]["annotations"]
    assert written["fgpu.io/mps-pinned-device-mem-limit.c0"] == "0=20480M"
    assert written["fgpu.io/mps-active-thread-percentage.c0"] == "26"
    assert len(kai.api.get_pod(pair)["metadata"]["annotations"]["fgpu.io/visible-devices.c0"].split(",")) == 2


def test_beside_native_shares__one_ledger(kai):
    node = kai.node(gpus=1, mem_mib=MEM_MIB)
    place(kai, fraction("0.5"), [node])
    native = kai.api.pod(milli(400))
    assert kai.fgpu.schedule(native, [node]) == node
    assert kai.fgpu.fits(pod_object("p", annotations=fraction("0.101")), [node]) == []
    assert kai.fgpu.fits(pod_object("p", annotations=fraction("0.1")), [node]) == [node]
    eventually(lambda: same_as_objects(kai), "the same sums")


FRACTION = "annotation gpu-fraction is not possible"
REFUSED = {
    **{f: (fraction(f), {}, FRACTION) for f in
       ("NaN", "0", "0.0", "1", "1.0", "1.5", "0,5", "1e-1", "-0.5", "+.5", "", " 0.5", "0.5 ", "0.1234", "50%", "500m",
        "0x1p-1", "Inf", "٠.٥")},
    "no memory": ({"gpu-memory": "0"}, {}, "annotation gpu-memory is not possible"),
    "memory with a unit": ({"gpu-memory": "4Gi"}, {}, "annotation gpu-memory is not possible"),
    "a PiB": ({"gpu-memory": str(2 ** 30)}, {}, "GPU request is larger than any machine"),
    "both": ({"gpu-fraction": "0.5", "gpu-memory": "5"}, {}, "use annotation gpu-fraction or gpu-memory but not both"),
    "devices of nothing": ({"gpu-fraction-num-devices": "2"}, {}, "use annotation gpu-fraction or gpu-memory"),
    "no devices": (fraction("0.5", num_devices="0"), {}, "number of GPUs is not possible"),
    "nobody": (fraction("0.5", container_name="x"), {}, "annotation gpu-fraction-container-name names no container"),
    "whole GPUs": (fraction("0.5"), {"nvidia.com/gpu": 1}, "GPUs are requested in two vocabularies"),
    "shares": (fraction("0.5"), milli(100), "GPUs are requested in two vocabularies"),
    "native annotations": ({**fraction("0.5"), "fgpu.io/gpu-fraction": "0.5"}, {}, "GPUs are requested in two vocabularies"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible__refused_everywhere_with_one_reason(kai, name):
    annotations, limits, reason = REFUSED[name]
    nodes = ["nobody-knows-it", "nor-this"]
    r = kai.fgpu.filter(pod_object("p", limits=limits, annotations=annotations), nodes)
    assert r["NodeNames"] == [] and r["FailedNodes"] == {}
    assert set(r["FailedAndUnresolvableNodes"]) == set(nodes)
    assert all(text.startswith(reason) for text in r["FailedAndUnresolvableNodes"].values()), r


def test_edited_after_binding__the_charge_is_what_its_record_says(kai):
    node = kai.node(gpus=1, mem_mib=MEM_MIB)
    pod = place(kai, fraction("0.5"), [node])
    for change in {"gpu-fraction": "0.1"}, {"gpu-fraction": "0.75"}, {"gpu-fraction": "NaN"}, {"gpu-fraction": None}:
        kai.api.patch(pod_path(pod), {"metadata": {"annotations": change}})
        kai.settle()
        assert sorted(kai.fgpu.charged_loads(node))[0][0] == 500, f"the charge after {change}"
        assert kai.fgpu.fits(pod_object("p", annotations=fraction("0.501")), [node]) == []
        assert kai.fgpu.fits(pod_object("p", annotations=fraction("0.5")), [node]) == [node]


def bound_past_us(kai, annotations, node):
    """Annotations of a pod that nobody saw unbound are no request (design.md 3.1, rule 8)."""
    pod = kai.api.pod(annotations=annotations, schedulerName="kai-scheduler")
    kai.api.bind_behind_our_back(pod, node)
    return pod


def test_bound_past_fgpu__counts_on_every_gpu(kai):
    node = kai.node(gpus=2, mem_mib=MEM_MIB)
    bound_past_us(kai, fraction("0.25"), node)
    eventually(lambda: sorted(kai.fgpu.charged_loads(node)) == [(250, 20375)] * 2, "the foreign pod on both GPUs")
    assert {a["state"] for g in kai.fgpu.node_state(node)["gpus"] for a in g["allocations"]} == {"foreign"}


def test_item14_annotations_of_a_pod_with_a_preset_node__are_no_request(kai):
    node = kai.node(gpus=2, mem_mib=MEM_MIB)
    kai.api.pod(annotations=fraction("0.25"), nodeName=node)
    bound_past_us(kai, fraction("0.5"), node)
    eventually(lambda: sorted(kai.fgpu.charged_loads(node)) == [(500, 40750)] * 2, "the pod that was seen unbound, and no other")


def test_item14_served_from_now_on__pods_that_run_count(kai):
    configured = Configured(kai)
    node = kai.node(gpus=2, mem_mib=MEM_MIB)
    configured.effective(START)
    try:
        pod = kai.api.pod(annotations=fraction("0.25"), nodeName=node)
        kai.settle()
        assert sorted(kai.fgpu.charged_loads(node)) == [(0, 0)] * 2
    finally:
        configured.effective(CONFIG)
    eventually(lambda: sorted(kai.fgpu.charged_loads(node)) == [(250, 20375)] * 2, "what the new configuration reads")
    kai.api.delete_pod(pod)


def whatif(c, tmp_path, body):
    path = tmp_path / "fgpu.yaml"
    path.write_text(HEAD + body)
    r = run("whatif", "--config", path, "--server", c.fgpu.ops_url, "-o", "json")
    assert (r.returncode, r.stderr) == (0, "")
    return json.loads(r.stdout)


def test_memory_only_free__takes_no_compute_and_whatif_reads_it_back(kai, tmp_path):
    configured = Configured(kai)
    body = CONFIG + "devices: {memoryOnly: free}\n"
    configured.effective(body)
    try:
        node = kai.node(gpus=1, mem_mib=MEM_MIB)
        half, memory = place(kai, fraction("0.5"), [node]), place(kai, {"gpu-memory": "20480"}, [node])
        eventually(lambda: sorted(kai.fgpu.charged_loads(node)) == [(0, 40750 + 20480)], "memory alone")
        assert kai.fgpu.fits(pod_object("p", annotations=fraction("0.3")), [node]) == []
        same, shared = whatif(kai, tmp_path, body), whatif(kai, tmp_path, CONFIG)
        assert same["before"] == same["after"] and same["before"] == shared["before"]
        # running pods are charged what their records say, whatever a configuration would read today
        assert same["podsChargedOtherwise"] == 0 and shared["podsChargedOtherwise"] == 0
        assert shared["before"]["idleMilli"] == shared["after"]["idleMilli"]
        kai.api.delete_pod(half)
        kai.api.delete_pod(memory)
    finally:
        configured.effective(CONFIG)


def test_no_longer_served__running_pods_keep_what_they_have(kai):
    configured = Configured(kai)
    node = kai.node(gpus=1, mem_mib=MEM_MIB)
    pod = place(kai, fraction("0.5"), [node])
    waiting = kai.api.pod(annotations=fraction("0.25"))
    configured.effective(START)
    try:
        assert kai.fgpu.fits(waiting, [node, "any"]) == [node, "any"]  # it asks for nothing
        eventually(lambda: sorted(kai.fgpu.charged_loads(node)) == [(500, 40750)], "the same charge")
        assert kai.fgpu.fits(pod_object("p", limits=milli(501)), [node]) == []
    finally:
        configured.effective(CONFIG)
    eventually(lambda: sorted(kai.fgpu.charged_loads(node)) == [(500, 40750)] and same_as_objects(kai), "the same charge again")
    assert node_name(kai.api.get_pod(pod)) == node


def test_restart__same_state_and_same_sums(kai):
    nodes = [kai.node(gpus=2, mem_mib=MEM_MIB) for _ in range(2)]
    for annotations in (fraction("0.5"), fraction("0.125"), fraction("0.999"), {"gpu-memory": "4096"},
                        {"gpu-memory": "4096", "gpu-fraction-num-devices": "2"}):
        place(kai, annotations, nodes)
    bound_past_us(kai, fraction("0.1"), nodes[1])
    kai.api.pod(annotations=fraction("NaN"))
    kai.settle()
    eventually(lambda: same_as_objects(kai), "the same sums")
    before = kai.fgpu.content()
    kai.fgpu.kill()
    kai.restarted()
    eventually(lambda: kai.fgpu.content() == before, "the same /state")
    kai.fgpu.ready()
    assert same_as_objects(kai)
