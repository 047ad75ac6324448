"""What the README says of the tour is so."""
import json
import pathlib
import re
import subprocess

from objects import milli
from processes import Cluster, eventually

README = (pathlib.Path(__file__).parents[2] / "README.md").read_text()


def test_the_curl_line__as_it_stands__gets_the_answer_that_kube_scheduler_gets(tmp_path):
    line = re.search(r"`(curl [^`]*/v1/filter [^`]*)`", README).group(1)
    with Cluster(tmp_path).ready() as cluster:
        node = cluster.node()
        line = line.replace("localhost:9443", "%s:%d" % cluster.fgpu.verbs).replace("NODE", node, 1)
        assert node in line
        got = subprocess.run(["/bin/sh", "-c", line], check=True, capture_output=True, text=True).stdout
        assert json.loads(got)["NodeNames"] == [node]


def test_nobody_calls__fgpu_finds_faults__it_writes_events_and_changes_no_pod_and_no_node(tmp_path):
    def objects():
        return [(o["metadata"]["name"], o["metadata"]["resourceVersion"])
                for kind in ("nodes", "pods") for o in cluster.api.list(kind)]

    with Cluster(tmp_path) as cluster:
        cluster.api.node(annotations={"fgpu.io/gpus": "{"})
        cluster.api.pod(milli(1500))  # malformed
        cluster.api.pod(milli(300), annotations={"fgpu.io/assignment": "{}"}, nodeName=cluster.api.node())
        before = objects()
        events = eventually(lambda: cluster.api.call("GET", "/apis/events.k8s.io/v1/events").json["items"], "Events")
        assert {"GPUInventoryInvalid", "GPURequestInvalid"} & {e["reason"] for e in events}
        cluster.quiet()
        assert objects() == before
