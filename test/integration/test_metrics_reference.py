"""manifests/metrics.md: every metric of fgpu and fgpu-node, as the executables say it themselves."""
import pathlib
import re

from processes import eventually, request, run
from test_node_ops import start  # noqa: F401, a fixture

MANIFESTS = pathlib.Path(__file__).resolve().parents[2] / "manifests"
PAGE = MANIFESTS / "metrics.md"


def rows():
    """By name: type and unit, labels, meaning, when to worry."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            found.setdefault(cells[0].strip("`"), []).append(cells[1:])
    return found


def assert_documented(exposition):
    """Every family of an exposition is on the page, with its type and its labels."""
    page = rows()
    for name, type_ in re.findall(r"^# TYPE (\S+) (\S+)$", exposition, re.M):
        assert name in page, f"{name}: `fgpu metrics-reference > manifests/metrics.md`"
        assert any(cells[0].split(",")[0] == type_ for cells in page[name]), name
    for name, labels in re.findall(r"^([a-z0-9_]+)\{(.*)\} ", exposition, re.M):
        family = next(n for n in (name, re.sub(r"_(bucket|sum|count)$", "", name)) if n in page)
        keys = set(re.findall(r'(\w+)="', labels)) - {"le"}
        assert all(f"`{k}`: " in page[family][0][1] for k in keys), (family, keys)


def test_page__is_what_the_command_prints():
    assert PAGE.read_text() == run("metrics-reference").stdout, "`fgpu metrics-reference > manifests/metrics.md`"


def test_page__every_row__has_a_meaning_explained_labels_and_no_name_twice_in_a_program():
    for name, several in rows().items():
        assert len(several) == (2 if name.startswith("process_") else 1), name
        for type_unit, labels, meaning, _ in several:
            assert re.match(r"(counter|gauge|histogram)(, .+)?$", type_unit)
            assert len(meaning) > 15 and meaning.endswith("."), name
            assert all(part.split(":")[1].strip() for part in labels.split("; ") if part.startswith("`")), (name, labels)
        assert name.endswith("_total") == several[0][0].startswith("counter"), name


def test_metrics_of_fgpu__are_on_the_page(fgpu):
    assert_documented(request(fgpu.ops, "GET", "/metrics").body.decode())


def test_metrics_of_the_agent__are_on_the_page(start):  # noqa: F811
    agent = start("--ops-address", "127.0.0.1:0")
    assert_documented(eventually(lambda: "fgpu_node_gpu_healthy{" in (t := agent.get("/metrics")[1]) and t, "the GPUs"))


def assert_followed_from_0(exposition, alerts):
    """What Prometheus first sees as 1 has not risen for it: counters whose rise is an alert are there before they first rise."""
    followed = re.findall(r"increase\((\w+)(?:\{([^}]*)\})?\[", (MANIFESTS / "monitoring" / alerts).read_text())
    assert followed
    for name, matchers in followed:
        series = re.findall(rf"^{name}(?:\{{(.*)\}})? ", exposition, re.M)
        assert series, name
        for label, values in re.findall(r'(\w+)=~?"([^"]*)"', matchers):
            for value in values.split("|"):
                assert any(f'{label}="{value}"' in labels for labels in series), (name, label, value)


def test_counters_of_alerts__are_there_before_they_rise(fgpu):
    assert_followed_from_0(request(fgpu.ops, "GET", "/metrics").body.decode(), "alerts.yaml")


def test_counters_of_alerts_of_the_agent__are_there_before_they_rise(start):  # noqa: F811
    agent = start("--ops-address", "127.0.0.1:0")
    exposition = eventually(lambda: "fgpu_node_gpu_healthy{" in (t := agent.get("/metrics")[1]) and t, "the GPUs")
    assert_followed_from_0(exposition, "node-alerts.yaml")
