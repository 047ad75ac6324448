"""Shadow strategies: reported, and of no influence on any answer."""
import signal

from configured import Configured
from objects import mem, milli, pod_object, whole
from processes import HEAD, eventually, request

BASE = "packing: {nodeStrategy: binpack, deviceStrategy: binpack, hold: 0s, candidates: 3%s}\n"
CONFIG = BASE % ""
SHADOW = ", candidate: {nodeStrategy: spread, deviceStrategy: spread}"


def answers(cluster, pods, names):
    """The bytes of every answer."""
    def body(verb, pod):
        args = {"Pod": pod, "Nodes": None, "NodeNames": names}
        return request(cluster.fgpu.verbs, "POST", f"/v1/{verb}", args).body
    return [(verb, body(verb, pod)) for pod in pods for verb in ("filter", "prioritize")]


def decisions(fgpu):
    m = fgpu.metrics()
    return {r: m.get(f'fgpu_candidate_decisions{{result="{r}"}}', 0) for r in ("same", "other_gpus", "other_node", "not_compared")}


def test_shadow__answers__bit_identical_with_and_without(emptied):
    fgpu, api = emptied.fgpu, emptied.api
    Configured(emptied).effective(CONFIG)
    names = [emptied.node(gpus=g) for g in (1, 2, 4, 4, 8)]
    for n in (100, 600, 300, 1000, 450):
        assert fgpu.schedule(api.pod(milli(n)), names)
    pods = [pod_object(f"p{i}", limits=limits) for i, limits in enumerate(
        [milli(n) for n in (1, 50, 333, 500, 700, 1000, 2000, 1500)] + [mem(n) for n in (1, 4096, 70000)] + [whole(1)])]
    said, before = fgpu.summary().get("shadow"), decisions(fgpu)
    without = answers(emptied, pods, names)
    assert fgpu.summary().get("shadow") == said and decisions(fgpu) == before  # nothing is compared
    Configured(emptied).effective(BASE % SHADOW)
    assert answers(emptied, pods, names) == without
    made = sum(b'"NodeNames":["' in a for verb, a in without if verb == "filter")

    def compared():
        s = fgpu.summary()
        return s["shadow"]["compared"] and s["shadow"]["decisions"] == made and s["candidate"] == s["shadow"] and s["shadow"]
    report = eventually(compared, "a comparison")
    assert (report["nodeStrategy"], report["deviceStrategy"]) == ("spread", "spread")
    assert report["against"] == {"nodeStrategy": "binpack", "deviceStrategy": "binpack"}
    assert report["otherNode"] > 0 and report["otherNode"] + report["otherGpus"] <= report["compared"]
    assert report["sampled"] == (report["compared"] < report["decisions"])
    counted = decisions(fgpu)
    assert counted["other_node"] >= report["otherNode"] and sum(counted.values()) == made


def test_shadow__unknown_strategy__refused(emptied):
    (emptied.directory / "fgpu.yaml").write_text(HEAD + "packing: {candidate: {nodeStrategy: best}}\n")
    before = emptied.fgpu.metrics()['fgpu_config_reloads_total{outcome="invalid"}']
    emptied.fgpu.process.send_signal(signal.SIGHUP)
    eventually(lambda: emptied.fgpu.metrics()['fgpu_config_reloads_total{outcome="invalid"}'] > before, "a refusal")


def test_shadow__rules_and_criteria__hold_on_both_sides(emptied):
    fgpu, api = emptied.fgpu, emptied.api
    names = [emptied.node(gpus=2, labels={"pool": "x"}) for _ in range(2)]
    assert fgpu.schedule(api.pod(milli(300)), names[:1])
    rules = (", rules: [{namespaces: [own], nodeStrategy: [binpack, tight-fit], deviceStrategy: binpack},"
             " {namespaces: [pooled], nodeSelector: {pool: x}, nodeStrategy: {binpack: 0.7, spread: 0.3}}]")
    Configured(emptied).effective(BASE % (rules + SHADOW))

    def compared(namespace, n):
        """The report after the nth comparison. A decision that comes while the last comparison rests is left out."""
        def offered():
            assert fgpu.fits(pod_object("p", namespace=namespace, limits=milli(100)), names)
            return eventually(lambda: (lambda c: c["compared"] == n and c)(
                fgpu.summary()["shadow"]), "a comparison", timeout_s=2)
        return eventually(offered, "a decision that is compared")

    def numbers(c):
        return [c["byRules"], c["otherNode"], c["otherGpus"]]
    assert numbers(compared("own", 1)) == [1, 0, 0]
    assert numbers(compared("pooled", 2)) == [2, 0, 1]  # the rule leaves the GPU to the candidate: spread
    assert numbers(compared("other", 3)) == [2, 1, 1]
    Configured(emptied).effective(BASE.replace("nodeStrategy: binpack", "nodeStrategy: {binpack: 1.05, spread: 0.3}") % SHADOW)
    c = compared("own", 1)
    assert c["against"]["nodeStrategy"] == "binpack 1.05, spread 0.3"
    assert (c["compared"], c["byRules"], c["otherNode"]) == (1, 0, 1)
