"""What API servers may answer to the first list (contract.md 5.2 to 5.4), by WatchList and in pages: afterwards fgpu
knows exactly what is there, and follows. The README of this folder says which row is tested where."""
import pytest

from lab import NEXT_PAGE, PAGE, WATCH, WATCH_LIST, Lab, bookmark, each_in_a_lab, error_event, event, follows
from objects import milli
from processes import eventually, in_threads


def fails(rule, status, **more):
    return {**rule, "action": "fail", "status": status, **more}


def start_and_check(lab, faults):
    """Two pods are there when fgpu starts; one must not be counted twice, and none that only half arrived."""
    for _ in range(2):
        lab.api.pod(milli(100), nodeName=lab.node)
    lab.start(*faults)
    lab.await_free(800, "both pods to be charged")
    assert lab.api.fault_hits() == [f.get("times", 1) for f in faults]
    follows(lab)
    assert lab.relists() == 0, "one list, once it was complete, is enough"


WATCH_LIST_WAYS = {
    # the server is in trouble: WatchList again
    "429": [fails(WATCH_LIST, 429)],
    "429 with Retry-After": [fails(WATCH_LIST, 429, retryAfter=1)],
    "500": [fails(WATCH_LIST, 500)],
    "500 with Retry-After": [fails(WATCH_LIST, 500, retryAfter=1)],
    "503 with Retry-After": [fails(WATCH_LIST, 503, retryAfter=1)],
    "504": [fails(WATCH_LIST, 504)],
    "401": [fails(WATCH_LIST, 401)],
    "connection closed": [{**WATCH_LIST, "action": "close-before", "times": 2}],
    "410": [fails(WATCH_LIST, 410)],
    # not offered: pages
    "422": [fails(WATCH_LIST, 422), {**PAGE, "action": "pass"}],
    "400": [fails(WATCH_LIST, 400), {**PAGE, "action": "pass"}],
    "405": [fails(WATCH_LIST, 405), {**PAGE, "action": "pass"}],
    "no right to watch yet": [fails(WATCH_LIST, 403), {**PAGE, "action": "pass"}],
    "not understood": [{**WATCH_LIST, "inject": bookmark(1)}, {**PAGE, "action": "pass"}],
    # broken on the way: pages
    "ends before its bookmark": [{**WATCH_LIST, "afterBytes": 600, "then": "end"}, {**PAGE, "action": "pass"}],
    "ends before anything": [{**WATCH_LIST, "then": "end"}, {**PAGE, "action": "pass"}],
    "cut within a line": [{**WATCH_LIST, "afterBytes": 600, "then": "cut"}, {**PAGE, "action": "pass"}],
    "ERROR 410": [{**WATCH_LIST, "inject": error_event(410, "Expired"), "then": "end"}, {**PAGE, "action": "pass"}],
    "ERROR 500": [{**WATCH_LIST, "inject": error_event(500, "InternalError"), "then": "end"},
                  {**PAGE, "action": "pass"}],
    "garbage": [{**WATCH_LIST, "inject": "<html>502 Bad Gateway</html>\n", "then": "end"}, {**PAGE, "action": "pass"}],
    # odd, but sound
    "split at every byte": [{**WATCH_LIST, "splitBytes": 1}],
    "blank lines": [{**WATCH_LIST, "inject": "\n \r\n"}],
}

PAGE_WAYS = {
    "429": [fails(PAGE, 429)],
    "429 with Retry-After": [fails(PAGE, 429, retryAfter=1)],
    "500": [fails(PAGE, 500)],
    "503 with Retry-After": [fails(PAGE, 503, retryAfter=1)],
    "504": [fails(PAGE, 504)],
    "401": [fails(PAGE, 401)],
    "410": [fails(PAGE, 410)],
    "403, then granted": [fails(PAGE, 403)],
    "cut within an item": [{**PAGE, "afterBytes": 600, "then": "cut"}],
    "ends within an item": [{**PAGE, "afterBytes": 600, "then": "end"}],
    "ends before anything": [{**PAGE, "then": "end"}],
    "not JSON": [{**PAGE, "inject": "<html>", "then": "end"}],
    "another document": [{**PAGE, "inject": '{"kind":"APIVersions"}', "then": "end"}],
    "items null, then right": [{**PAGE, "inject": '{"metadata":{"continue":""},"items":null}', "then": "end"}],
    "split at every byte": [{**PAGE, "splitBytes": 1}],
}


def test_first_list__watch_list_in_every_way__complete_in_the_end(tmp_path):
    each_in_a_lab(tmp_path, WATCH_LIST_WAYS, start_and_check)


def test_first_list__pages_in_every_way__complete_in_the_end(tmp_path):
    each_in_a_lab(tmp_path, PAGE_WAYS, start_and_check, watch_list="refused")


@pytest.fixture
def lab_of(tmp_path):
    labs = []

    def make(watch_list="offered"):
        labs.append(Lab(tmp_path, watch_list))
        return labs[-1]
    yield make
    for lab in labs:
        lab.stop()


def test_continue_token_expired__list_starts_over(lab_of):
    """410 in the middle of a list in pages: nothing of the first half may be left."""
    lab = lab_of("refused")
    pods = []
    in_threads(4, lambda _: pods.extend(lab.api.pod(milli(1), nodeName=lab.node) for _ in range(130)))
    lab.start(fails(NEXT_PAGE, 410), {**PAGE, "action": "pass", "times": -1})
    lab.await_free(480, "520 pods to be charged")
    assert lab.api.fault_hits()[0] == 1
    assert lab.api.fault_hits()[1] == 3, "two first pages, one second page"
    # The token is forgotten for real, by a compaction between the pages, and a pod goes meanwhile.
    lab.api.faults({**NEXT_PAGE, "action": "pass", "delayMs": 700}, fails(WATCH_LIST, 422, times=-1),
                   {**PAGE, "action": "pass", "times": -1}, fails(WATCH, 410), clear=True, dropWatches=True)
    eventually(lambda: lab.api.fault_hits()[2] >= 1, "the first page")
    lab.api.delete_pod(pods[0])
    lab.api.faults(compact=True)
    lab.await_free(481, "the deleted pod to be forgotten")


def test_watch_list__deletion_before_its_end__not_counted(lab_of):
    """An object of the list may change, or go, while the list is being sent."""
    lab = lab_of()
    kept, gone = (lab.api.pod(milli(100), nodeName=lab.node) for _ in range(2))
    lab.start({**WATCH_LIST, "inject": event("ADDED", ghost(lab, "ghost")) + event("DELETED", ghost(lab, "ghost"))})
    lab.await_free(800)
    assert not [p for p in lab.fgpu.state()["pending"] if p["name"] == "ghost"]
    lab.api.delete_pod(gone)
    lab.await_free(900)
    assert lab.fgpu.allocations(kept)


def ghost(lab, name):
    return {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default", "uid": "u-" + name, "resourceVersion": "2"},
            "spec": {"nodeName": lab.node, "containers": [
                {"name": "c", "resources": {"limits": {"fgpu.io/gpu-milli": "300"}}}]}, "status": {}}


@pytest.mark.parametrize("watch_list", ["offered", "refused"])
def test_large_objects_and_null_fields__taken_in(lab_of, watch_list):
    """A line, or an item, of 2 MiB; and null where a list or map could be."""
    lab = lab_of(watch_list)

    def big(mib):
        return lab.api.pod(milli(100), nodeName=lab.node, containers=[
            {"name": "c", "image": "i", "env": [{"name": "X", "value": "v" * (mib << 20)}],
             "resources": {"limits": {"fgpu.io/gpu-milli": "100"}}}])
    big(2)
    lab.api.pod(milli(100), nodeName=lab.node, initContainers=None)
    lab.start()
    lab.await_free(800, "what was there")
    pod = big(2)
    lab.await_free(700, "what came")
    lab.api.delete_pod(pod)
    lab.await_free(800)
    assert lab.relists() == 0


def test_large_page__comes_compressed__also_in_pieces_and_cut(lab_of):
    """Of 2 MiB of the same letter some kilobytes are left: a plain page would not get through what is cut here."""
    lab = lab_of("refused")
    for _ in range(2):
        lab.api.pod(milli(100), nodeName=lab.node, containers=[
            {"name": "c", "image": "i", "env": [{"name": "X", "value": "v" * (1 << 20)}],
             "resources": {"limits": {"fgpu.io/gpu-milli": "100"}}}])
    lab.start({**PAGE, "afterBytes": 3000, "then": "cut"},
              {**PAGE, "afterBytes": 100000, "then": "cut", "splitBytes": 7, "times": -1})
    lab.await_free(800)
    assert lab.api.fault_hits() == [1, 1]
    lab.api.faults(clear=True)
    follows(lab)
