"""API servers that misbehave as told, each with an fgpu of its own in front.

What fgpu has read shows in /state long before it is ready (src/decisions/0005), so none of this waits for that.
"""
import json

from objects import milli, pod_path
from processes import ApiServer, Fgpu, eventually, in_threads

AT_ONCE = 6  # labs that run side by side

PODS = {"method": "GET", "path": "/api/v1/pods"}
WATCH_LIST = {**PODS, "query": "*sendInitialEvents=true*"}
WATCH = {**PODS, "query": "watch=true*&resourceVersion=*"}  # from a cursor
PAGE = {**PODS, "query": "limit=500&*"}
NEXT_PAGE = {**PODS, "query": "*&continue=*"}
PROBE = {**PODS, "query": "limit=1&*&resourceVersion=*"}


def status(code, reason, retry_after_s=None):
    details = {} if retry_after_s is None else {"details": {"retryAfterSeconds": retry_after_s}}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "as scripted",
            "reason": reason, **details, "code": code}


def event(kind, obj):
    return json.dumps({"type": kind, "object": obj}) + "\n"


def error_event(code, reason, retry_after_s=None):
    return event("ERROR", status(code, reason, retry_after_s))


def bookmark(version):
    """As kube-apiserver writes them: only the resourceVersion means something."""
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": str(version)},
                              "spec": {"containers": None}, "status": {}})


class Lab:
    """`watch_list`: how the API server takes sendInitialEvents."""

    def __init__(self, directory, watch_list="offered"):
        self.directory, self.fgpu = directory, None
        self.api = ApiServer(directory)
        self.api.faults(watchList=watch_list)
        self.node = self.api.node(gpus=1)

    def start(self, *faults):
        """With faults from the first request on."""
        self.api.faults(*faults)
        self.fgpu = Fgpu(self.api.url, self.directory)
        return self

    def free_milli(self, node=None):
        return self.fgpu.free_milli(node or self.node)

    def await_free(self, n, what=None, node=None):
        eventually(lambda: self.free_milli(node) == n, what or f"{n} milli to be free")

    def await_listed(self):
        """Nodes and pods, where no pod holds anything."""
        eventually(lambda: self.fgpu.state("?fields=summary")["metadata"]["podsResourceVersion"], "the pods to be listed")
        self.await_free(1000)

    def relists(self):
        return self.fgpu.metrics()['fgpu_relists_total{resource="pods"}']

    def stop(self):
        try:
            if self.fgpu is not None and self.fgpu.alive():
                self.fgpu.stop()
        finally:
            if self.api.alive():
                self.api.stop()


def each_in_a_lab(tmp_path, ways, play, watch_list="offered"):
    """play(lab, way) for every way, a few at a time. Failures name their way."""
    names = list(ways)

    def run(name):
        directory = tmp_path / "".join(c if c.isalnum() else "-" for c in name)
        directory.mkdir()
        lab = Lab(directory, watch_list)
        try:
            play(lab, ways[name])
        except Exception as e:
            raise AssertionError(f"{name}: {e}\n{lab.fgpu.log()[-1500:] if lab.fgpu else ''}") from e
        finally:
            lab.stop()
    for at in range(0, len(names), AT_ONCE):
        some = names[at:at + AT_ONCE]
        in_threads(len(some), lambda i: run(some[i]))


def follows(lab):
    """fgpu sees what happens now."""
    before = lab.free_milli()
    pod = lab.api.pod(milli(50), nodeName=lab.node)
    lab.await_free(before - 50, "a new pod to be charged")
    lab.api.delete_pod(pod)
    lab.await_free(before, "a deleted pod to be forgotten")


def finish(lab, pod):
    lab.api.patch(pod_path(pod) + "/status", {"status": {"phase": "Succeeded"}})
