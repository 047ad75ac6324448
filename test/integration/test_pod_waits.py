"""The Event GPUPodWaits, as it stands at the API server: after a while, once, and again only for other kinds of reasons; its
text says the truth and names no other pod."""
import re
from datetime import datetime, timedelta

import pytest

from configured import Configured
from objects import device, milli, unique, whole
from processes import Cluster, eventually

CONFIG = "packing: {hold: 0s}\nevents: {podWaitsAfter: 500ms}\n"
COUNT = re.compile(r"(?:: |, )(\d+) ([a-z][^,;]*)")


def notes(api, pod):
    """Of the Events about this pod, oldest first."""
    found = [e for e in api.call("GET", "/apis/events.k8s.io/v1/events").json["items"]
             if e["regarding"].get("uid") == pod["metadata"]["uid"] and e["reason"] == "GPUPodWaits"]
    assert all("series" not in e and e["type"] == "Normal" and e["regarding"]["name"] == pod["metadata"]["name"] for e in found)
    return [e["note"] for e in sorted(found, key=lambda e: int(e["metadata"]["resourceVersion"]))]


def told(api, pod, n=1):
    return eventually(lambda: (lambda f: len(f) >= n and f)(notes(api, pod)), "the Event")


def refused(cluster, nodes, limits, **more):
    """A pod in a namespace of its own that kube-scheduler has asked about, and that no node takes."""
    pod = cluster.api.pod(limits, namespace=unique("tenant"), **more)
    eventually(lambda: any(p["uid"] == pod["metadata"]["uid"] for p in cluster.fgpu.state()["pending"]), "the watch")
    return pod, cluster.fgpu.reasons(pod, nodes)


def key(pod):
    return pod["metadata"]["namespace"] + "/" + pod["metadata"]["name"]


def refused_since(fgpu, pod):
    return next(p["refused"]["since"] for p in fgpu.state()["pending"] if p["uid"] == pod["metadata"]["uid"])


def counts(note):
    return {text: int(n) for n, text in COUNT.findall(re.split(r'; nearest|\. "fgpu explain', note)[0])}


def test_pod_waits__refused_for_the_time__one_event_whose_counts_and_amounts_are_true(emptied):
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=1) for _ in range(2)] + [emptied.node(gpus=0)]
    held = [api.pod(milli(m), namespace=unique("other")) for m in (900, 700)]
    for pod in held:
        assert fgpu.schedule(pod, nodes[:2]) in nodes
    emptied.settle()
    waits, by_node = refused(emptied, nodes, milli(500))
    since = datetime.fromisoformat(refused_since(fgpu, waits))
    (note,) = told(api, waits)
    (event,) = api.call("GET", "/apis/events.k8s.io/v1/events").json["items"]
    assert datetime.fromisoformat(event["eventTime"]) - since >= timedelta(milliseconds=500)
    assert note.startswith("0/3 nodes have GPUs for it: ")
    assert counts(note) == {text: list(by_node.values()).count(text) for text in by_node.values()}
    assert sum(counts(note).values()) == 3
    node = next(n for n in nodes[:2] if fgpu.free_milli(n) == 300)
    gib = -((81920 * 700 // 1000 + 81920 * 500 // 1000 - 81920) * 10 // -1024)
    assert (f"; nearest is {node}: GPU 0 lacks 200 milli of compute and {gib // 10}.{gib % 10} GiB of memory. "
            f'"fgpu explain pod/{key(waits)}" says more') in note
    # /v1/explain says who would have to end; the tenant is not told
    assert all(p["metadata"][k] not in note for p in held for k in ("name", "namespace"))


def test_pod_waits__other_numbers__nothing__other_kinds__told_again(emptied):
    """Pods are looked at in turn: when `last` has been told of two changes, `waits` has been looked at between them."""
    api, fgpu = emptied.api, emptied.fgpu
    nodes = [emptied.node(gpus=1)]
    assert fgpu.schedule(api.pod(milli(900)), nodes) == nodes[0]
    emptied.settle()
    waits, by_node = refused(emptied, nodes, whole(9))
    (first,) = told(api, waits)
    last, _ = refused(emptied, nodes, milli(500), annotations={"fgpu.io/gpu-model": device("n", 0)["model"]})
    told(api, last)
    for n, other in enumerate([{"model": "NVIDIA-H100"}, {"healthy": False}]):
        name = unique("node")
        nodes.append(emptied.node(gpus=[device(name, 0, **other)], name=name))
        told(api, last, n + 2)
    assert notes(api, waits) == [first]
    assert set(fgpu.reasons(waits, nodes).values()) == set(by_node.values())  # other numbers, the same reason
    nodes.append(emptied.node(gpus=0))
    second = told(api, waits, 2)[1]
    assert sum(counts(second).values()) == len(nodes) and counts(second).keys() > counts(first).keys()


@pytest.fixture
def without_events(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("without"), "events: {podWaitsAfter: 0s}\n") as c:
        yield c


def test_pod_waits__off_then_a_time__told_at_once_but_not_of_a_pod_with_room(without_events):
    """Pods that nobody was told about come first, those refused for longest before the others."""
    c = without_events
    nodes = [c.node(gpus=1)]
    (has_room, _), (waits, _) = refused(c, nodes, whole(2)), refused(c, nodes, whole(3))
    nodes.append(c.node(gpus=2))
    Configured(c).effective("events: {podWaitsAfter: 300ms}\n")
    (note,) = told(c.api, waits)
    assert sum(counts(note).values()) == len(nodes) and notes(c.api, has_room) == []
