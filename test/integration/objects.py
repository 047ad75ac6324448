"""Objects as a user or a node agent would write them, and the reading of what fgpu wrote into them."""
import itertools
import json

GIB = 1024
MEM_MIB = 80 * GIB

_numbers = itertools.count(1)


def unique(prefix):
    """A name that no other test of this run uses."""
    return f"{prefix}-{next(_numbers)}"


def device(node, index, mem_mib=MEM_MIB, **more):
    return {"uuid": f"GPU-{node}-{index}", "index": index, "minor": index, "model": "NVIDIA-A100-SXM4-80GB",
            "memMib": mem_mib, "healthy": True, **more}


def inventory(devices):
    return {"fgpu.io/gpus": json.dumps({"v": 1, "gpus": devices})}


def node_object(name, gpus=4, mem_mib=MEM_MIB, annotations=None, labels=None, **changes):
    """`gpus` is a number, or a list of device objects."""
    if isinstance(gpus, int):
        gpus = [device(name, i, mem_mib) for i in range(gpus)]
    return {"metadata": {"name": name, "labels": labels or {},
                         "annotations": {**(inventory(gpus) if gpus else {}), **(annotations or {})}},
            "spec": {}, "status": {"allocatable": {"cpu": "64", "memory": "512Gi"}}, **changes}


def pod_object(name, namespace="default", limits=None, annotations=None, **spec):
    container = {"name": "main", "image": "example.com/demo",
                 "resources": {"limits": {k: str(v) for k, v in (limits or {}).items()}}}
    return {"metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
            "spec": {"schedulerName": "fgpu-test", "containers": [container], **spec}}


def milli(n):
    return {"fgpu.io/gpu-milli": n}


def mem(n):
    return {"fgpu.io/gpu-memory-mib": n}


def whole(n):
    return {"fgpu.io/gpu-count": n}


def uid(pod):
    return pod["metadata"]["uid"]


def node_name(pod):
    return pod["spec"].get("nodeName")


def pod_path(pod):
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def assignment(pod):
    text = pod["metadata"].get("annotations", {}).get("fgpu.io/assignment")
    return json.loads(text) if text else None


def devices_of(pod):
    """[(index, milli, memMib)] of the app containers, as fgpu wrote them."""
    return [(d["index"], d["milli"], d["memMib"]) for c in assignment(pod)["containers"] if not c.get("init")
            for d in c["devices"]]


def is_over(pod):
    return pod["status"].get("phase") in ("Succeeded", "Failed")
