"""What happens on 409, a timeout, a lost reply: a read never proves that a write will not land, so nothing is released
before it is proven that nothing can land any more."""
import pytest

from judge import check_no_overcommit
from objects import assignment, devices_of, milli, node_name, pod_object, pod_path, whole
from processes import eventually, in_threads


def binding(pod, action, times=1, **more):
    """A fault rule for the Bindings of one pod."""
    return {"method": "POST", "path": pod_path(pod) + "/binding", "times": times, "action": action, **more}


def get(pod, action, times=-1, **more):
    return {"method": "GET", "path": pod_path(pod), "times": times, "action": action, **more}


@pytest.fixture
def one_gpu(cluster, api):
    """A node with one GPU, and a whole-GPU pod to bind there."""
    return cluster.node(gpus=1), api.pod(whole(1))


def hold(pod, status, times=-1):
    """The Bindings of one pod are with etcd, which the API server cannot reach: `status` is answered, 0 is nothing."""
    return binding(pod, "commit-late", times=times, status=status)


def await_seen(cluster, api, fgpu):
    """Events come in order: once a later pod is seen, fgpu knows all pods that there are, and bind need not ask for them."""
    later = api.pod(milli(1))
    assert fgpu.bind(later, cluster.node(gpus=1)) == ""
    eventually(lambda: fgpu.states_of(later) == {"bound"})


def is_free(fgpu, node):
    return fgpu.fits(pod_object("probe", limits=whole(1)), [node]) == [node]


def check_released(api, fgpu, pod, node):
    eventually(lambda: is_free(fgpu, node), "the reservation to be released")
    assert node_name(api.get_pod(pod)) is None
    other = api.pod(whole(1))
    assert fgpu.bind(other, node) == ""


@pytest.mark.parametrize("faults", [
    [("fail", {"status": 503, "retryAfter": 1})],
    [("fail", {"status": 429, "retryAfter": 0})],
    [("fail", {"status": 500, "retryAfter": 0}), ("fail", {"status": 504, "retryAfter": 0})],
    [("fail", {"status": 401})],
], ids=["503", "429", "500 then 504", "401 once"])
def test_bind__answer_that_asks_for_a_retry__retried_and_bound(api, fgpu, one_gpu, faults):
    node, pod = one_gpu
    api.faults(*[binding(pod, action, **more) for action, more in faults])
    assert fgpu.bind(pod, node) == ""
    assert node_name(api.get_pod(pod)) == node
    assert api.fault_hits() == [1] * len(faults)
    eventually(lambda: fgpu.states_of(pod) == {"bound"})


@pytest.mark.parametrize("action", ["close-after", "fail-after"], ids=["connection lost", "504 after the write"])
def test_bind__reply_lost_after_the_write__found_out_and_success(api, fgpu, one_gpu, action):
    """The bind itself finds out: the watch does not tell."""
    node, pod = one_gpu
    unseen = {"action": "swallow", "event": "MODIFIED", "path": f"*/{pod['metadata']['name']}", "times": -1}
    api.faults(binding(pod, action, status=504), unseen)
    assert fgpu.bind(pod, node) == ""
    assert len(devices_of(api.get_pod(pod))) == 1
    eventually(lambda: fgpu.states_of(pod) == {"bound"})
    assert len(fgpu.allocations(pod)) == 1


def test_bind__definitive_refusals__error_and_released(cluster, api, fgpu):
    for status in (400, 403, 404, 422):
        node, pod = cluster.node(gpus=1), api.pod(whole(1))
        api.faults(binding(pod, "fail", times=-1, status=status), clear=True)
        error = fgpu.bind(pod, node)
        assert error != "" and pod["metadata"]["name"] not in error and node not in error, error  # a constant text
        assert api.fault_hits()[0] == 1
        check_released(api, fgpu, pod, node)


def test_bind__500_without_a_hint__answer_is_the_truth(cluster, api, fgpu):
    """It also stands for a write that the API server itself did not see the end of."""
    for action in ("fail", "fail-after"):
        node, pod = cluster.node(gpus=1), api.pod(whole(1))
        api.faults(binding(pod, action, status=500), clear=True)
        error = fgpu.bind(pod, node)
        assert (node_name(api.get_pod(pod)) == node) == (error == "")
        if error:
            check_released(api, fgpu, pod, node)
    check_no_overcommit(api)


def test_bind__bound_elsewhere_meanwhile__error_and_released(cluster, api, fgpu, one_gpu):
    node, pod = one_gpu
    elsewhere = cluster.node(gpus=1)
    api.bind_behind_our_back(pod, elsewhere)
    assert fgpu.bind(pod, node) != ""
    eventually(lambda: is_free(fgpu, node) and fgpu.states_of(pod) == {"foreign"})
    assert node_name(api.get_pod(pod)) == elsewhere


def test_bind__409_bound_to_the_same_node_by_somebody_else__not_taken_for_ours(api, fgpu, one_gpu):
    """The pod is there, but not by our write: its devices are not those we chose."""
    node, pod = one_gpu
    api.bind_behind_our_back(pod, node)
    assert fgpu.bind(pod, node) != ""
    cluster_pod = api.get_pod(pod)
    assert assignment(cluster_pod) is None
    eventually(lambda: fgpu.states_of(pod) == {"foreign"})
    assert not is_free(fgpu, node)


def test_bind__409_because_our_first_try_arrived__success(cluster, api, fgpu, one_gpu):
    """The first Binding is written but its reply is lost; so is the first look at the pod."""
    node, pod = one_gpu
    await_seen(cluster, api, fgpu)
    api.faults(binding(pod, "fail-after", status=503, retryAfter=0), get(pod, "fail", times=1, status=503))
    assert fgpu.bind(pod, node) == ""
    api.faults(clear=True)  # the watch may have told before any look
    assert node_name(api.get_pod(pod)) == node
    assert len(fgpu.allocations(pod)) == 1


def test_bind__pod_deleted_between_filter_and_bind__error_and_released(api, fgpu, one_gpu):
    node, pod = one_gpu
    assert fgpu.fits(pod, [node]) == [node]
    api.delete_pod(pod)
    assert fgpu.bind(pod, node) != ""
    eventually(lambda: is_free(fgpu, node), "the reservation to be released")


def test_bind__replaced_by_a_pod_of_the_same_name__refused(api, fgpu, one_gpu):
    node, pod = one_gpu
    api.delete_pod(pod)
    second = api.pod(whole(1), name=pod["metadata"]["name"])
    assert fgpu.bind(pod, node) != ""
    assert node_name(api.get_pod(second)) is None
    eventually(lambda: is_free(fgpu, node), "the reservation to be released")
    assert fgpu.bind(second, node) == ""


def test_bind__two_pods_race_for_the_last_slice__exactly_one(api, fgpu, one_gpu):
    node, _ = one_gpu
    pods = [api.pod(milli(600)) for _ in range(2)]
    answers = in_threads(2, lambda i: fgpu.bind(pods[i], node))
    assert sorted(a == "" for a in answers) == [False, True]
    assert sum(node_name(api.get_pod(p)) is not None for p in pods) == 1


def test_bind__one_pod_to_two_nodes_at_once__one_binding(cluster, api, fgpu):
    nodes = [cluster.node(gpus=1) for _ in range(8)]
    for _ in range(5):
        pod = api.pod(milli(100))
        answers = in_threads(8, lambda i: fgpu.bind(pod, nodes[i]))
        assert answers.count("") == 1
        assert node_name(api.get_pod(pod)) == nodes[answers.index("")]
        eventually(lambda: fgpu.states_of(pod) == {"bound"})
        assert len(fgpu.allocations(pod)) == 1
    check_no_overcommit(api)


HOSTILE = ["../default", "default/pods/victim/binding?", "victim/../victim", "victim?dryRun=All", "victim#", "victim%2f",
           "..", ".", "/", "", " ", "victim\r\nX-A: b", "victim\n", "VICTIM", "victim/binding", "x" * 100000, "\u202e",
           "victim\\", "%", "&timeout=1s"]


def test_bind__hostile_names__error_and_nothing_written(cluster, api, fgpu):
    """Names become parts of a path to the API server."""
    node = cluster.node(gpus=1)
    victim = api.pod(milli(100), name="victim")
    fields = {"PodName": "victim", "PodNamespace": "default", "PodUID": victim["metadata"]["uid"], "Node": node}
    before = [o["metadata"] for kind in ("pods", "nodes") for o in api.list(kind)]
    for key in fields:
        for text in HOSTILE:
            reply = fgpu.post("bind", {**fields, key: text})
            assert reply["Error"], (key, text)
            assert len(reply["Error"]) < 1000
    assert [o["metadata"] for kind in ("pods", "nodes") for o in api.list(kind)] == before
    assert fgpu.post("bind", fields)["Error"] == ""


def test_bind__scheduling_gates__error_and_charged_until_the_pod_changes(api, fgpu, one_gpu):
    """A 409, and nobody decides by its text; kube-scheduler does not bind such a pod."""
    node, _ = one_gpu
    pod = api.pod(whole(1), schedulingGates=[{"name": "example.com/wait"}])
    assert fgpu.bind(pod, node) != ""
    assert fgpu.states_of(pod) == {"reserved"}
    api.patch_pod(pod, {"spec": {"schedulingGates": None}})
    eventually(lambda: is_free(fgpu, node))


@pytest.mark.parametrize("status", [0, 409, 500, 503, 504], ids=["lost", "409", "500", "503", "504"])
def test_item1__binding_lands_late__given_once(cluster, api, fgpu, status):
    """Whatever was answered, and however long ago: it is still charged when it lands."""
    node, pod, rival = cluster.node(gpus=1), api.pod(whole(1)), api.pod(whole(1))
    api.faults(hold(pod, status))
    assert fgpu.bind(pod, node) != ""
    assert not is_free(fgpu, node) and fgpu.bind(rival, node) != ""
    api.faults(binding(pod, "fail", times=-1, status=503), clear=True)
    assert api.faults(commit=True)["landed"] > 0
    eventually(lambda: fgpu.states_of(pod) == {"bound"}, "the late write to be seen")
    assert node_name(api.get_pod(pod)) == node and fgpu.bind(rival, node) != ""
    check_no_overcommit(api)


@pytest.mark.parametrize("status", [0, 409, 500], ids=["lost", "409", "500"])
def test_item1__pod_gets_a_new_version__released_and_the_late_write_fails(cluster, api, fgpu, status):
    """As when kube-scheduler notes the failure in the pod's status. The GET is never answered: the watch tells."""
    node, pod, rival = cluster.node(gpus=1), api.pod(whole(1)), api.pod(whole(1))
    await_seen(cluster, api, fgpu)
    api.faults(hold(pod, status), get(pod, "fail", status=503))
    assert fgpu.bind(pod, node) != ""
    assert not is_free(fgpu, node)
    api.patch_pod(pod, {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}, "/status")
    eventually(lambda: is_free(fgpu, node), "a version that no Binding carried to prove that none can land")
    assert fgpu.bind(rival, node) == ""
    before = api.faults()["landed"]
    assert api.faults(commit=True)["landed"] == before
    api.faults(clear=True)
    assert node_name(api.get_pod(pod)) is None
    check_no_overcommit(api)


def test_item1__many_at_once_queue_for_long__each_gpu_once(cluster, api, fgpu):
    """190 binds at once, each Binding 2.4 s, 64 connections: the last ones leave late, and land after their callers were
    told that nothing is known. What counts is when they left, not when they were queued. A rival for each GPU asks from
    that answer on, all the time."""
    n, rival_threads, answered = 190, 4, set()
    nodes = [cluster.node(gpus=1) for _ in range(n)]
    pods = [api.pod(whole(1)) for _ in range(n)]
    rivals = [api.pod(whole(1)) for _ in range(n)]
    names = {p["metadata"]["name"]: i for i, p in enumerate(pods + rivals)}
    eventually(lambda: fgpu.node_state(nodes[-1]) is not None, "the nodes to be known")
    api.faults({"method": "POST", "path": "*/binding", "times": n, "action": "pass", "delayMs": 2400})

    def contested():
        """GPUs that nobody is seen to have."""
        taken = {names[p["metadata"]["name"]] % n for p in api.list("pods") if p["metadata"]["name"] in names and node_name(p)}
        return [i for i in range(n) if i not in taken]

    def work(i):
        if i < n:
            fgpu.bind(pods[i], nodes[i])
            answered.add(i)
            return
        while waiting := contested():
            for j in [j for j in waiting[i - n::rival_threads] if j in answered]:
                fgpu.bind(rivals[j], nodes[j])
    in_threads(n + rival_threads, work)
    eventually(lambda: api.faults(clear=True)["delayed"] == 0, "the last Binding to land")
    check_no_overcommit(api)


# With the watch broken: not on the shared cluster, whose reflectors would back off ever longer.

def test_bind__outcome_unknown__charged_until_proof(own):
    """Neither the Binding's reply nor the look at the pod comes back: the caller gets an error in time, the device
    stays charged. Once the API server answers again, what was never written is written: the same Binding goes on, and
    nothing but the truth ends it. All at once, to wait only once."""
    api, fgpu = own.api, own.fgpu
    ways = {"lost before the write": ("close-before", "bound"), "lost after the write": ("close-after", "bound"),
            "504 before the write": ("fail", "bound"), "lost, then deleted": ("close-after", "gone")}
    pods = {name: (own.node(gpus=1), api.pod(whole(1))) for name in ways}
    for name, (action, _) in ways.items():
        pod = pods[name][1]
        api.faults(binding(pod, action, times=-1, status=504, retryAfter=1), get(pod, "close-before"))
    # The watch would tell as well; it is silent here.
    api.faults({"method": "GET", "path": "/api/v1/pods", "times": -1, "action": "fail", "status": 503},
               dropWatches=True)

    def work(i):
        node, pod = pods[list(ways)[i]]
        assert fgpu.bind(pod, node) != ""
        assert not is_free(fgpu, node)
        assert fgpu.states_of(pod) == {"reserved"}
    in_threads(len(ways), work)
    api.delete_pod(pods["lost, then deleted"][1])
    api.faults(clear=True)
    for name, (_, truth) in ways.items():
        node, pod = pods[name]
        if truth == "bound":
            eventually(lambda: fgpu.states_of(pod) == {"bound"}, f"{name}: the pod to be found bound")
            assert node_name(api.get_pod(pod)) == node and not is_free(fgpu, node)
        else:
            eventually(lambda: is_free(fgpu, node), f"{name}: the pod to be found gone")
    check_no_overcommit(api)


def test_api_server_away_and_back__binds_fail_then_work(own):
    """How fast a closed port answers decides nothing: refused at once, the bind tries until its deadline and nothing was
    sent; cut late, nobody knows, and the same Binding goes on. Either way a bind works once the server is back."""
    api, fgpu = own.api, own.fgpu
    node, pod = own.node(gpus=1), api.pod(whole(1))
    other = api.pod(milli(100))
    own.settle()
    api.faults({"times": -1, "action": "close-before"}, dropWatches=True)
    try:
        assert is_free(fgpu, node)  # filter goes on from the ledger
        assert fgpu.bind(pod, node) != ""
        assert fgpu.states_of(pod) in ({"reserved"}, set())
    finally:
        api.faults(clear=True)
    eventually(lambda: fgpu.bind(pod, node) == "", "a bind to work again")
    eventually(lambda: fgpu.states_of(pod) == {"bound"}, "the watch to be back")
    assert node_name(api.get_pod(pod)) == node
    assert fgpu.fits(other, [node]) == []
