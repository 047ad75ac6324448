"""Random lives of a small cluster: whatever the order of creations, binds, ends, bypasses, lost replies and cut
watches, no device is over-committed by us, and at every quiet point /state says for every GPU what the API objects
say, by the judge's own arithmetic."""
import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import (RuleBasedStateMachine, initialize, invariant, precondition, rule,
                                 run_state_machine_as_test)

from judge import check_no_overcommit, loads, loads_in_state
from objects import device, inventory, mem, milli, node_name, whole
from processes import eventually

LIMITS = [milli(100), milli(300), milli(600), milli(1000), mem(8192), mem(65536), whole(1),
          {"fgpu.io/gpu-milli": 400, "fgpu.io/gpu-count": 2}, {"fgpu.io/gpu-milli": 100, "fgpu.io/gpu-memory-mib": 40000}]


@pytest.fixture
def machine(own):
    api, fgpu = own.api, own.fgpu

    class LivesOfACluster(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            own.clear()
            self.pending, self.bound = [], []

        @initialize(gpus=st.integers(1, 3))
        def nodes(self, gpus):
            self.nodes = [own.node(gpus=gpus) for _ in range(2)]

        @rule(limits=st.sampled_from(LIMITS))
        def create(self, limits):
            self.pending.append(api.pod(limits))

        @rule(limits=st.sampled_from(LIMITS), data=st.data())
        def bypass(self, limits, data):
            """Somebody else puts a pod on a node; its devices are unknown."""
            self.bound.append(api.pod(limits, nodeName=data.draw(st.sampled_from(self.nodes))))

        @precondition(lambda self: self.pending)
        @rule(data=st.data(), fault=st.sampled_from([None, None, None, "close-after", "fail-after"]))
        def schedule(self, data, fault):
            pod = data.draw(st.sampled_from(self.pending))
            names = fgpu.fits(pod, self.nodes)
            if not names:
                return
            if fault:
                api.faults({"method": "POST", "path": "*/binding", "times": 1, "action": fault, "status": 500},
                           clear=True)
            error = fgpu.bind(pod, data.draw(st.sampled_from(names)))
            assert (error == "") == (node_name(api.get_pod(pod)) is not None)
            if error == "":
                self.pending.remove(pod)
                self.bound.append(pod)

        @precondition(lambda self: self.bound)
        @rule(data=st.data(), how=st.sampled_from(["delete", "leave", "Succeeded", "Failed"]))
        def end(self, data, how):
            pod = data.draw(st.sampled_from(self.bound))
            if how == "leave":
                api.delete_pod(pod, grace_s=30)  # terminating, so still charged
                return
            self.bound.remove(pod)
            if how == "delete":
                api.delete_pod(pod)
            else:
                api.set_phase(pod, how)

        @precondition(lambda self: self.pending)
        @rule(data=st.data())
        def give_up(self, data):
            pod = data.draw(st.sampled_from(self.pending))
            self.pending.remove(pod)
            api.delete_pod(pod)

        @rule(data=st.data(), healthy=st.booleans())
        def change_node(self, data, healthy):
            node = data.draw(st.sampled_from(self.nodes))
            gpus = [device(node, g["index"], healthy=healthy) for g in fgpu.node_state(node)["gpus"]]
            api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": inventory(gpus)}})

        @precondition(lambda self: self.bound)
        @rule(data=st.data(), compact=st.booleans(), limits=st.sampled_from(LIMITS))
        def change_while_not_watched(self, data, compact, limits):
            api.faults(dropWatches=True)
            gone = data.draw(st.sampled_from(self.bound))
            self.bound.remove(gone)
            api.delete_pod(gone)
            self.pending.append(api.pod(limits))
            if compact:
                api.faults(compact=True)
            # Both watches deliver something before they are cut again: one that ends at once counts as an error,
            # and the pauses between those grow to half a minute.
            own.settle()
            api.delete_node(own.node(gpus=1))

        @rule()
        def quiet(self):
            """Nobody writes: the ledger must arrive at what the objects say."""
            want = loads(api.list("nodes"), api.list("pods"))
            eventually(lambda: loads_in_state(fgpu.state()) == want, f"the ledger to say {want}")
            eventually(lambda: len(fgpu.state()["pending"]) == len(self.pending), "every pending pod")

        @invariant()
        def sound(self):
            if hasattr(self, "nodes"):
                check_no_overcommit(api)

        def teardown(self):
            if hasattr(self, "nodes"):
                self.quiet()
    return LivesOfACluster


def test_random_lives__never_over_committed_and_ledger_exact(machine):
    # Not shrunk: every try of a failing life waits until patience ends.
    run_state_machine_as_test(machine, settings=settings(max_examples=30, stateful_step_count=25,
                                                         phases=[Phase.generate]))
