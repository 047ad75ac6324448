"""GPU models that find no room: the node is left out, and the process says that it is not well."""
import pytest

from objects import device
from processes import Cluster, eventually, request

DEVICES = 64  # the most of a node
MODELS = 65535  # the most of a cluster, at a time


def liar(api, n):
    """A node whose GPUs are all of models that nobody else has."""
    gpus = [{**device(f"liar-{n}", i, 1024), "model": f"made-up-{n}-{i}"} for i in range(DEVICES)]
    return api.node(gpus, name=f"liar-{n}")


@pytest.fixture
def alone(tmp_path):
    c = Cluster(tmp_path)
    yield c
    c.stop()


def test_models_without_room__livez_fails_with_the_remedy_until_others_go(alone):
    f, api = alone.fgpu, alone.api
    for n in range(MODELS // DEVICES):
        liar(api, n)
    last = alone.node(gpus=[{**device("full", 0, 1024), "model": "one"}])
    assert f.node_state(last)["gpus"] and request(f.health, "GET", "/livez").status == 200
    out = liar(api, MODELS)
    eventually(lambda: request(f.health, "GET", "/livez").status == 500, "a failing /livez")
    reason = request(f.health, "GET", "/livez/inventories").body.decode()
    assert "GPU models" in reason and "correct or remove" in reason
    assert not f.node_state(out)["gpus"] and "too many different GPU models" in f.node_state(out)["note"]
    # It answers for all others.
    eventually(lambda: request(f.health, "GET", "/readyz").status == 200, "a process that is ready")
    api.delete_node("liar-0")
    api.delete_node(out)
    eventually(lambda: request(f.health, "GET", "/livez").status == 200, "a /livez that is well again")
