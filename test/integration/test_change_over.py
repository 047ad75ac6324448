"""Pools of nodes that share a card change over step by step: the real binary, the simulated API server, commands that
write down what they are told. Which moment opens what is tested elsewhere (test/unit/cmd/test_change_over.c)."""
import pytest

from configured import START
from objects import milli, unique
from processes import Cluster, eventually, run

CLOSED = "the node pool takes no new pods now"
GIB = 1024


class Card:
    """A 16 GB card: by day two machines with 8 GB each, by night one with all of it."""

    def __init__(self, configured, directory, start=START):
        self.start = start
        self.configured, self.api, self.fgpu = configured, configured.cluster.api, configured.fgpu
        self.label, self.diary = unique("card"), directory / "diary"  # the label is the name of the group, too
        self.day = [self.machine("day", 8) for _ in range(2)]
        self.night = [self.machine("night", 16)]
        self.fails = {}

    def machine(self, pool, gib):
        name = self.configured.cluster.node(gpus=1, mem_mib=gib * GIB)
        self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {
            self.label: pool, "fgpu.io/host-group": self.label, "fgpu.io/host-gpu-memory": "16Gi"}}})
        return name

    def stops(self, pool, state):
        """The file that makes this command fail."""
        return self.diary.with_name(f"{pool}.{state}.fails")

    def pools(self, day, night, more=""):
        script = (f"echo $0 $1 >> {self.diary}; test ! -e {self.diary.parent}/$0.$1.fails || "
                  "{ echo no hypervisor >&2; exit 3; }")
        return self.start + f"changeOvers: [{{name: {self.label}, pools: [day, night]{more}}}]\nnodePools:\n" + "".join(
            f"- name: {name}\n  nodeSelector: {{{self.label}: {name}}}\n  state: {state}\n"
            f"  command: [/bin/sh, -c, '{script}']\n" for name, state in (("day", day), ("night", night)))

    def by_day(self):
        self.configured.effective(self.pools("open", "closed"))

    def by_night(self):
        self.configured.effective(self.pools("closed", "open"))

    def told(self):
        return self.diary.read_text().splitlines() if self.diary.exists() else []

    def group(self):
        groups = self.fgpu.summary()["changeOvers"]
        assert [g["group"] for g in groups] == [self.label]  # none before the first look
        return groups[0]

    def at(self, step, opens):
        def check():
            g = self.group()
            assert (g["step"], g["opens"]) == (step, opens), g
            return g
        return eventually(check, f"the step {step} to {opens}")

    def taken_gib(self):
        """What the machines on which anything runs have of the card, by what the API server says."""
        runs = {p["spec"].get("nodeName") for p in self.api.list("pods")}
        return 8 * len(runs & set(self.day)) + 16 * len(runs & set(self.night))

    def check(self):
        assert self.taken_gib() <= 16
        open_pools = {pool for pool, names in (("day", self.day), ("night", self.night))
                      if any(not self.fgpu.node_state(n)["closed"] for n in names)}
        assert len(open_pools) <= 1, open_pools


@pytest.fixture
def card(configured, tmp_path):
    return Card(configured, tmp_path)


def test_change_over__day_to_night_and_back__in_order_and_never_more_than_the_card(card):
    api, fgpu = card.api, card.fgpu
    card.by_day()
    card.at("open", "day")
    assert card.told() == ["night closed", "day open"]
    desktop, training = api.pod(milli(300)), api.pod(milli(1000))
    card.configured.cluster.settle()
    assert fgpu.bind(desktop, card.day[0]) == ""
    card.by_night()
    g = card.at("waiting", "night")
    m = desktop["metadata"]
    assert (g["podCount"], g["open"], g["failed"]) == (1, "", "")
    assert g["pods"] == [{"namespace": "default", "pod": m["name"], "uid": m["uid"], "node": card.day[0],
                          "eviction": ""}]
    assert fgpu.reasons(training, card.day + card.night) == dict.fromkeys(card.day + card.night, CLOSED)
    assert CLOSED in fgpu.bind(training, card.night[0])
    assert card.told() == ["night closed", "day open"]  # nothing is run while somebody is waited for
    metrics = fgpu.metrics()
    assert metrics['fgpu_change_overs{step="waiting"}'] == 1 and metrics['fgpu_change_overs{step="open"}'] == 0
    assert metrics["fgpu_change_over_longest_seconds"] > 0
    table = run("state", "--server", fgpu.ops_url).stdout
    assert f"Change-over: {card.label}  to night: waiting since {g['since']}; waits for 1 pod: default/{m['name']} on {card.day[0]}\n" in table
    card.check()
    api.delete_pod(desktop)
    card.at("open", "night")
    assert card.told() == ["night closed", "day open", "day closed", "night open"]
    assert fgpu.bind(training, card.night[0]) == ""
    card.check()
    assert f"{card.label}  night is open since {card.group()['since']}" in run("state", "--server", fgpu.ops_url).stdout
    assert fgpu.metrics()["fgpu_change_over_longest_seconds"] == 0
    assert fgpu.audit()["driftByCause"] == {}
    # back, and before it is done to the night again: whoever runs there is not in the way, and nothing was undone
    card.by_day()
    assert card.at("waiting", "day")["podCount"] == 1
    card.by_night()
    card.at("open", "night")
    assert len(card.told()) == 4
    card.check()


def test_change_over__a_command_fails__what_follows_waits_and_is_told(card):
    api, fgpu = card.api, card.fgpu
    card.by_day()
    card.at("open", "day")
    card.stops("day", "closed").touch()
    card.by_night()
    g = eventually(lambda: (lambda g: g["failed"] and g)(card.group()), "the failure")
    assert (g["step"], g["failed"], g["error"]) == ("close_commands", "day", "ended with exit code 3: no hypervisor")
    waits = api.pod(milli(100))
    assert fgpu.reasons(waits, card.day + card.night) == dict.fromkeys(card.day + card.night, CLOSED)
    assert "night open" not in card.told()
    assert 'the command of day with \\"closed\\" failed' in fgpu.log()
    assert "the command of day fails: ended with exit code 3: no hypervisor" in run("state", "--server", fgpu.ops_url).stdout
    # back: the day is resumed, whatever became of its machines
    card.by_day()
    card.at("open", "day")
    assert card.told()[-1] == "day open"
    assert fgpu.bind(waits, card.day[0]) == ""
    card.check()


def test_change_over__fgpu_ends_in_the_middle__goes_on_from_what_it_sees(tmp_path):
    start = "clientConnection: {bindDeadline: 2s, holdOff: 0s}\n"
    with Cluster(tmp_path, start) as cluster:
        card = Card(Plain(cluster), tmp_path, start)
        cluster.fgpu.stop()
        cluster.config = card.pools("open", "closed")
        cluster.restarted().ready()
        card.fgpu = cluster.fgpu
        card.at("open", "day")
        desktop, training = card.api.pod(milli(300)), card.api.pod(milli(1000))
        cluster.settle()
        assert card.fgpu.bind(desktop, card.day[1]) == ""
        cluster.fgpu.kill()
        cluster.config = card.pools("closed", "open")
        card.fgpu = cluster.restarted().ready()
        card.at("waiting", "night")
        assert card.fgpu.reasons(training, card.night) == {card.night[0]: CLOSED}
        card.stops("night", "open").touch()
        card.api.delete_pod(desktop)
        eventually(lambda: card.group()["failed"] == "night", "the failure")
        cluster.fgpu.kill()
        card.stops("night", "open").unlink()
        card.fgpu = cluster.restarted().ready()
        card.at("open", "night")
        assert card.told()[-2:] == ["day closed", "night open"]
        assert card.fgpu.bind(training, card.night[0]) == ""
        card.check()


def test_change_over__drain__evicts_by_the_api_only_whom_fgpu_bound(card):
    """One pod of ours, whose eviction a PodDisruptionBudget forbids at first; one that somebody else bound, with a copy of
    our record; one of ours on a machine that is in no pool."""
    api, fgpu = card.api, card.fgpu
    fgpu.expect_incidents()
    card.by_day()
    card.at("open", "day")
    elsewhere = card.configured.cluster.node(gpus=1)
    ours, spared, theirs = (api.pod(milli(300)) for _ in range(3))
    card.configured.cluster.settle()
    assert fgpu.bind(ours, card.day[0]) == "" and fgpu.bind(spared, elsewhere) == ""
    record = api.get_pod(ours)["metadata"]["annotations"]["fgpu.io/assignment"]
    api.bind_behind_our_back(theirs, card.day[1], {"fgpu.io/assignment": record})
    eventually(lambda: fgpu.states_of(theirs) == {"foreign"}, "the pod that somebody else bound")
    api.faults({"method": "POST", "path": "*/eviction", "times": -1, "action": "fail", "status": 429})
    # not before the time is up
    card.configured.effective(card.pools("closed", "open", ", drain: evict, evictAfter: 24h"))
    assert card.at("waiting", "night")["podCount"] == 2
    card.configured.effective(card.pools("closed", "open", ", drain: evict, evictAfter: 0s"))
    held = eventually(lambda: [p for p in card.group()["pods"] if p["eviction"]], "the refusal")
    assert [p["pod"] for p in held] == [ours["metadata"]["name"]]
    assert "the API server refuses it for now" in held[0]["eviction"]
    assert "not evicted: the API server refuses it for now" in run("state", "--server", fgpu.ops_url).stdout
    assert fgpu.metrics()['fgpu_evictions_total{result="held"}'] >= 1
    api.faults(clear=True)
    eventually(lambda: "deletionTimestamp" in api.get_pod(ours)["metadata"], "the eviction")
    metrics = eventually(lambda: (lambda m: m['fgpu_evictions_total{result="accepted"}'] == 1 and m)(fgpu.metrics()), "the answer")
    assert metrics['fgpu_evictions_total{result="forbidden"}'] == 0
    api.delete_pod(ours)  # its kubelet
    eventually(lambda: card.group()["podCount"] == 1, "the pod to be gone")
    for pod in (theirs, spared):
        assert "deletionTimestamp" not in api.get_pod(pod)["metadata"]
    assert card.at("waiting", "night")["pods"][0]["pod"] == theirs["metadata"]["name"]
    card.check()
    api.delete_pod(theirs)
    card.at("open", "night")
    assert "deletionTimestamp" not in api.get_pod(spared)["metadata"]
    metrics = fgpu.metrics()  # nobody else was asked for
    assert [metrics[f'fgpu_evictions_total{{result="{r}"}}'] for r in ("accepted", "gone")] == [1, 0]


class Plain:
    """What Card needs of a Configured."""

    def __init__(self, cluster):
        self.cluster, self.fgpu = cluster, cluster.fgpu


def test_change_over__several_pools_are_to_be_open__none_is_and_why_is_told(card):
    card.by_day()
    card.at("open", "day")
    card.configured.effective(card.pools("open", "open"))
    g = card.at("conflict", "")
    assert g["open"] == ""
    eventually(lambda: card.fgpu.summary()["closedNodes"] >= 3, "the nodes to be closed")
    assert "several of its pools open now" in card.fgpu.log()
    assert card.told() == ["night closed", "day open"]
    card.by_day()
    card.at("open", "day")
    assert card.told() == ["night closed", "day open"]


@pytest.mark.parametrize("body, error", [
    ("changeOvers: [{name: a, pools: [x, y]}]", "no element of nodePools has the name y"),
    ("changeOvers: [{name: a, pools: [x, x]}]", "x belongs to the group a already"),
    ("changeOvers: [{name: a, pools: [x]}]", "1 in it; give at least 2"),
    ("changeOvers: [{pools: [x, x]}]", "'name' is missing"),
])
def test_check_config__groups_that_make_no_sense__refused_with_the_place(tmp_path, body, error):
    path = tmp_path / "fgpu.yaml"
    path.write_text("apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n"
                    "nodePools: [{name: x, nodeSelector: {p: x}, state: open}]\n" + body + "\n")
    r = run("check-config", path)
    assert r.returncode == 3 and error in r.stderr + r.stdout, r
