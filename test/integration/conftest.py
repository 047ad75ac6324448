"""Fixtures. Most tests share one API server and one fgpu, because a started fgpu answers with errors for some
seconds if the one before was killed (src/decisions/0005, 0091). Tests that break or restart things take a cluster of
their own; those are started ahead so that their start overlaps with other tests.
"""
import collections
import os
import socket
import tempfile

# Hypothesis keeps tables in a folder; not in the working copy.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "fgpu-hypothesis"))

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from configured import START, Configured  # noqa: E402
from lab import Lab  # noqa: E402
from objects import milli, pod_object  # noqa: E402
from processes import PATIENCE_S, Cluster  # noqa: E402

# Every run tries the same examples: a failure here is everybody's failure, not one machine's luck. The fixtures are
# shared by all examples on purpose.
settings.register_profile("fgpu", deadline=None, derandomize=True, database=None, max_examples=60,
                          suppress_health_check=list(HealthCheck))
settings.load_profile("fgpu")

SPARES = 2
# Tests with an unknown outcome wait for it.
SPARE_CONFIG = "clientConnection:\n  bindDeadline: 2s\n"


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Leaves the outcome where fixtures find it, so that logs are shown only for what failed."""
    report = (yield).get_result()
    setattr(item, "report_" + report.when, report)


class Shared:
    """The cluster that most tests use; a new one if a test killed it."""

    def __init__(self, directory):
        self.directory, self.cluster, self.slow_clients = directory, None, []

    def get(self):
        if self.cluster is not None and not self.cluster.alive():
            self.cluster.kill()
            self.cluster = None
        if self.cluster is None:
            self.cluster = Cluster(self.directory).ready()
            self.connect_slow_clients()
        return self.cluster

    def connect_slow_clients(self):
        """Callers that fall silent in the middle of a request; the first tests run beside them, test_http sees how
        they end."""
        self.disconnect_slow_clients()
        head = "POST /v1/filter HTTP/1.1\r\nHost: a\r\n"
        for text in ["", "P", "POST /v1/fil", head, head + "Content-Length: 1000\r\n\r\n",
                     head + "Content-Length: 1000\r\n\r\n{\"Pod\""] * 8:
            s = socket.create_connection(self.cluster.fgpu.verbs, timeout=PATIENCE_S)
            s.sendall(text.encode())
            self.slow_clients.append((text, s))

    def disconnect_slow_clients(self):
        for _, s in self.slow_clients:
            s.close()
        self.slow_clients = []

    def stop(self):
        self.disconnect_slow_clients()
        if self.cluster is not None:
            self.cluster.stop()


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    s = Shared(tmp_path_factory.mktemp("shared"))
    yield s
    s.stop()


@pytest.fixture
def cluster(shared, request):
    c = shared.get()
    yield c
    report = getattr(request.node, "report_call", None)
    if report is not None and report.failed:
        print(c.fgpu.log()[-1500:])
    c.check()
    c.clear()


@pytest.fixture
def api(cluster):
    return cluster.api


@pytest.fixture
def fgpu(cluster):
    return cluster.fgpu


@pytest.fixture(scope="session")
def spares(tmp_path_factory):
    waiting = collections.deque()
    for _ in range(SPARES):
        waiting.append(Cluster(tmp_path_factory.mktemp("own"), SPARE_CONFIG))

    def take():
        waiting.append(Cluster(tmp_path_factory.mktemp("own"), SPARE_CONFIG))
        return waiting.popleft().ready()
    yield take
    for c in waiting:
        c.stop()


@pytest.fixture
def own(spares):
    """A cluster for one test, empty and ready. What the test leaves running is stopped as an admin would."""
    c = spares()
    yield c
    c.stop()


@pytest.fixture(scope="module")
def own_of_module(spares):
    c = spares()
    yield c
    c.stop()


@pytest.fixture(scope="module")
def cluster_of_module(request, tmp_path_factory):
    """One cluster for all tests of a module that has its own configuration: what the module calls CONFIG."""
    with Cluster(tmp_path_factory.mktemp("module"), request.module.CONFIG) as c:
        yield c


@pytest.fixture
def emptied(cluster_of_module):
    """The same; what a test leaves in it is removed."""
    yield cluster_of_module
    cluster_of_module.check()
    cluster_of_module.clear()


@pytest.fixture(scope="module")
def configured_cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("configured"), START) as c:
        yield c


@pytest.fixture
def configured(configured_cluster):
    """A cluster whose configuration the test may change; every test begins with the same."""
    c = Configured(configured_cluster)
    c.effective(START)
    yield c
    c.cluster.check()
    c.cluster.clear()


@pytest.fixture
def lab(tmp_path):
    """An API server that misbehaves as told; its fgpu is started by the test."""
    lab = Lab(tmp_path)
    yield lab
    lab.stop()


@pytest.fixture
def still_served(cluster):
    """After the test, fgpu must place and bind an ordinary pod, and everything else must be as before."""
    api, fgpu = cluster.api, cluster.fgpu
    node = cluster.node(gpus=2)
    held = api.pod(milli(300))
    assert fgpu.schedule(held, [node]) == node
    cluster.quiet()
    before = fgpu.content()
    generation = fgpu.generation()
    yield node
    assert fgpu.generation() == generation, "the ledger changed"
    after = fgpu.content()
    assert after == before, {k: (before[k], after[k]) for k in before if before[k] != after[k]}
    assert fgpu.fits(pod_object("next", limits=milli(700)), [node]) == [node]
    assert fgpu.schedule(api.pod(milli(700)), [node]) == node
