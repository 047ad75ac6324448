"""How watches end, and what may come in them (contract.md 5.2 to 5.4): no change is lost, and there is a fresh list
exactly where one is due. The README of this folder says which row is tested where."""
from lab import (PODS, PAGE, PROBE, WATCH, WATCH_LIST, bookmark, each_in_a_lab, error_event, event, finish, follows)
from objects import milli, pod_object, pod_path
from processes import ApiServer, eventually


def fails(code, **more):
    return {**WATCH, "action": "fail", "status": code, **more}


def ends_with(text):
    return {**WATCH, "inject": text, "then": "end"}


def error_watch(code, reason, retry_after_s=None):
    return ends_with(error_event(code, reason, retry_after_s))


# (what the next watches meet, whether a list is due)
WAYS = {
    # 410 in its forms; that of a list is in test_api_lists.py
    "410": ([fails(410)], True),
    "ERROR 410 in a 200": ([error_watch(410, "Expired")], True),
    "ERROR 410, said as Gone": ([error_watch(410, "Gone")], True),
    # the server is in trouble
    "429": ([fails(429)], False),
    "429 with Retry-After": ([fails(429, retryAfter=2)], False),
    "ERROR 429 in a 200": ([error_watch(429, "TooManyRequests", 1)], False),
    "401": ([fails(401)], False),
    "500": ([fails(500)], True),
    "503 with Retry-After": ([fails(503, retryAfter=1)], True),
    "504": ([fails(504)], True),
    "ERROR 500 in a 200": ([error_watch(500, "InternalError")], True),
    "403": ([fails(403)], True),
    "400": ([fails(400)], True),
    "closed without a reply": ([{**WATCH, "action": "close-before", "times": 2}], False),
    # the body
    "ends at once, without an event": ([{**WATCH, "then": "end"}], True),
    "ends after a bookmark": ([ends_with(bookmark(3))], False),
    "ends within a line": ([{**WATCH, "afterBytes": 40, "then": "end"}], True),
    "cut within a line": ([{**WATCH, "afterBytes": 40, "then": "cut"}], False),
    "split at every byte": ([{**WATCH, "splitBytes": 1}], False),
    "split into odd pieces": ([{**WATCH, "splitBytes": 7}], False),
    "garbage": ([ends_with("<html>\n")], True),
    "unknown type of event": ([ends_with(event("RENAMED", {}))], True),
    "no type": ([ends_with('{"object":{}}\n')], True),
    "duplicate key": ([ends_with('{"type":"ADDED","type":"DELETED","object":{}}\n')], True),
    "object without a name": ([ends_with(event("ADDED", {"metadata": {"resourceVersion": "9"}}))], True),
    "bookmark without resourceVersion": ([ends_with(event("BOOKMARK", {"metadata": {}}))], True),
}


def play(lab, way):
    """A pod comes, and one goes, while no watch is open that works."""
    faults, lists = way
    goes = lab.api.pod(milli(100), nodeName=lab.node)
    lab.start()
    lab.await_free(900)
    lab.api.faults(*faults, {**PROBE, "action": "pass", "delayMs": 200}, dropWatches=True)
    lab.api.pod(milli(200), nodeName=lab.node)
    lab.api.delete_pod(goes)
    lab.await_free(800, "what happened meanwhile")
    eventually(lambda: lab.api.fault_hits()[:len(faults)] == [f.get("times", 1) for f in faults],
               "the faults to be met")
    follows(lab)
    assert lab.relists() == (1 if lists else 0)


def test_watch_ends_in_every_way__nothing_lost_and_lists_where_due(tmp_path):
    each_in_a_lab(tmp_path, WAYS, play)


def reconnect(lab, *faults):
    """The next watch from the cursor has these faults."""
    lab.api.faults(*faults, clear=True, dropWatches=True)


def test_compacted_history__error_410_and_a_list(lab):
    """The real thing: our cursor is older than what the server remembers."""
    goes = lab.api.pod(milli(100), nodeName=lab.node)
    lab.start()
    lab.await_free(900)
    reconnect(lab, {**WATCH, "action": "pass", "delayMs": 400})
    lab.api.delete_pod(goes)
    lab.api.node()
    lab.api.faults(compact=True)
    lab.await_free(1000, "the deleted pod to be swept")
    assert lab.relists() == 1
    follows(lab)


def test_store_restored_from_a_backup__cursor_of_the_future_is_noticed(lab):
    """Where the API server starts over with an older store, a watch from our cursor is accepted and silent."""
    for _ in range(30):
        lab.api.delete_pod(lab.api.pod(milli(1)))
    old = lab.api.pod(milli(100), nodeName=lab.node)
    lab.start()
    lab.await_free(900)
    lab.api.stop()
    api = ApiServer(lab.directory, port=lab.api.address[1])
    lab.api = api
    api.node(gpus=1, name=lab.node)
    new = api.pod(milli(300), nodeName=lab.node)
    lab.await_free(700, "the restored state")
    assert not lab.fgpu.allocations(old) and lab.fgpu.allocations(new)
    assert lab.relists() == 1
    follows(lab)


def test_completed_pod__leaves_the_selection_and_is_freed_once(lab):
    """It arrives as DELETED with its old content, in phase Running; then its object goes too."""
    pod, other = (lab.api.pod(milli(300), nodeName=lab.node) for _ in range(2))
    lab.start()
    lab.await_free(400)
    finish(lab, pod)
    lab.await_free(700, "the completed pod's share")
    lab.api.patch(pod_path(pod), {"metadata": {"labels": {"a": "b"}}})
    lab.api.delete_pod(pod)
    follows(lab)
    assert lab.free_milli() == 700 and lab.fgpu.allocations(other)


def test_null_fields__are_empty_ones(lab):
    """Go writes null for nil slices and maps."""
    lab.start()
    lab.await_listed()
    bare = {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": "bare", "namespace": "default", "uid": "u-bare", "resourceVersion": "3", "labels": None,
                         "annotations": None, "deletionTimestamp": None, "ownerReferences": None},
            "spec": {"nodeName": lab.node, "containers": None, "initContainers": None}, "status": None}
    half = {**bare, "metadata": {**bare["metadata"], "name": "half", "uid": "u-half"},
            "spec": {"nodeName": lab.node, "containers": [
                {"name": "a", "resources": None}, {"name": "b", "resources": {"limits": None, "requests": None}},
                {"name": "c", "resources": {"limits": {"fgpu.io/gpu-milli": "250"}, "requests": None}}]}}
    reconnect(lab, {**WATCH, "inject": event("ADDED", bare) + event("ADDED", half) + bookmark(3)})
    lab.await_free(750, "the pod with a demand")
    assert lab.relists() == 0
    follows(lab)


def test_repeated_and_late_events__change_nothing(lab):
    """A watch from an older version repeats what we know; facts are keyed by UID."""
    pod = lab.api.pod(milli(300), nodeName=lab.node)
    lab.start()
    lab.await_free(700)
    seen = {"kind": "Pod", "apiVersion": "v1", **lab.api.get_pod(pod)}
    reconnect(lab, {**WATCH, "inject": event("MODIFIED", seen) + event("ADDED", seen)})
    follows(lab)
    assert lab.free_milli() == 700
    reconnect(lab, {**WATCH, "inject": event("DELETED", seen)})
    lab.await_free(1000, "the deletion")
    reconnect(lab, {**WATCH, "inject": event("DELETED", seen)})
    follows(lab)
    assert lab.free_milli() == 1000


def test_unreadable_object__counts_for_the_most_and_the_watch_goes_on(lab):
    """One object beyond our limits must not hide all others."""
    lab.start()
    lab.await_listed()
    odd = pod_object("odd", nodeName=lab.node)
    odd["metadata"].update({"uid": "u-odd", "resourceVersion": "3", "labels": 7})
    reconnect(lab, {**WATCH, "inject": event("ADDED", odd)})
    lab.await_free(0, "the unreadable pod to hold the whole GPU")
    other = lab.api.node(gpus=1)
    pod = lab.api.pod(milli(100), nodeName=other)
    lab.await_free(900, "others to be seen", node=other)
    reconnect(lab, {**WATCH, "inject": event("DELETED", {**odd, "spec": {}})})
    lab.await_free(1000, "it to be gone")
    assert lab.fgpu.allocations(pod)
    assert lab.relists() == 0


def test_bookmark_moves_the_cursor__the_next_watch_starts_there(lab):
    lab.start()
    lab.await_listed()
    reconnect(lab, {**WATCH, "inject": bookmark(2), "then": "end"},
              {**WATCH, "query": "watch=true*&resourceVersion=2", "action": "pass"})
    eventually(lambda: lab.api.fault_hits() == [1, 1], "a watch from the bookmark")
    follows(lab)


def test_api_server_away_for_a_while__probes_then_goes_on_without_a_list(lab):
    lab.start()
    lab.await_listed()
    # The list of one object by which contact is checked has no resourceVersion, and is none of this.
    reconnect(lab, {**PODS, "query": "*resourceVersion=*", "times": 2, "action": "fail", "status": 429},
              {**PROBE, "action": "pass"}, {**WATCH, "action": "pass"})
    follows(lab)
    assert lab.api.fault_hits() == [2, 1, 1]
    assert lab.relists() == 0


def test_relist__watch_list_refused_meanwhile__pages(lab):
    """The feature gate was switched off, say by a downgrade: 422 in the life of one fgpu."""
    lab.start()
    lab.await_listed()
    lab.api.faults(watchList="refused")
    reconnect(lab, fails(410), {**WATCH_LIST, "action": "pass"}, {**PAGE, "action": "pass"})
    follows(lab)
    eventually(lambda: lab.api.fault_hits() == [1, 1, 1], "pages")
    assert lab.relists() == 1
