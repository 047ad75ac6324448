"""fgpu sim: what it says equals a slow oracle, and what it reads is checked."""
import csv
import json
import math
import pathlib
import statistics
import subprocess
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st

from objects import milli
from packing_oracle import SCORES, replay
from processes import BINARY

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "packing"
PLOT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "plot-packing"
PUBLISHED = list(SCORES)
NUMBERS = ["a100", "a130", "allocation_pct", "first_refusal_pct", "refused_1pp_pct", "refused_pct"]


def sim(*args):
    return subprocess.run([str(BINARY), "sim", *map(str, args)], capture_output=True, text=True, timeout=300)


def result(*args):
    r = sim(*args, "-o", "json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)["strategies"]


def files(folder, nodes, pods, ranks, rows):
    """The input of fgpu sim; returns its arguments."""
    folder.mkdir(exist_ok=True)
    (folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
        f"n{i},{n['cpu']},{n['mem']},{len(n['free'])},{n['model']}\n" for i, n in enumerate(nodes)))
    (folder / "pods.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + "".join(
        f"p{i},{p['cpu']},{p['mem']},{p['n']},{p['milli']},{'|'.join(p['models'])}\n" for i, p in enumerate(pods)))
    (folder / "arrivals.txt").write_text("node_rank " + " ".join(map(str, ranks)) + "\npod_row "
                                         + " ".join(map(str, rows)) + "\n")
    return ["--nodes", folder / "nodes.csv", "--pods", folder / "pods.csv", "--arrivals", folder / "arrivals.txt"]


def read_small():
    with open(DATA / "small_nodes.csv") as f:
        nodes = [{"cpu": int(r["cpu_milli"]), "mem": int(r["memory_mib"]), "model": r["model"],
                  "free": [1000] * int(r["gpu"])} for r in csv.DictReader(f)]
    with open(DATA / "small_pods.csv") as f:
        pods = [{"cpu": int(r["cpu_milli"]), "mem": int(r["memory_mib"]), "n": int(r["num_gpu"]),
                 "milli": int(r["gpu_milli"]), "models": tuple(filter(None, r["gpu_spec"].split("|")))}
                for r in csv.DictReader(f)]
    ranks, rows = ([int(w) for w in line.split()[1:]] for line in (DATA / "small_arrivals.txt").open())
    return nodes, pods, ranks, rows


SMALL = ["--nodes", DATA / "small_nodes.csv", "--pods", DATA / "small_pods.csv",
         "--arrivals", DATA / "small_arrivals.txt"]


def check(got, want, name):
    for key in NUMBERS:
        assert (got[key] is None) == (want[key] is None), (name, key, got, want)
        assert want[key] is None or got[key] == pytest.approx(want[key], abs=0.00006), (name, key, got, want)
    assert got["refused_by_class"] == want["refused_by_class"], (name, got, want)


def test_fill__small_trace__as_the_oracle():
    nodes, pods, ranks, rows = read_small()
    got = result(*SMALL, "--strategy", ",".join(PUBLISHED))
    assert list(got) == PUBLISHED
    for name in PUBLISHED:
        check(got[name], replay(name, nodes, pods, ranks, rows), name)
        assert got[name]["decisions"] == len(rows) and got[name]["ns_per_decision"] > 0
    assert len({got[name]["a100"] for name in PUBLISHED}) > 1  # the trace tells strategies apart


NODE = st.builds(lambda cpu, mem, n, model: {"cpu": cpu, "mem": mem, "free": [1000] * n, "model": model},
                 st.sampled_from([16000, 32000, 64000, 96000, 128000]), st.sampled_from([32768, 131072, 524288]),
                 st.sampled_from([0, 1, 2, 4, 8]), st.sampled_from(["A", "B", "C"]))
MODELS = st.sampled_from([(), (), (), ("A",), ("A", "B"), ("C",)])
POD = st.one_of(
    st.builds(lambda cpu, mem, milli, models: {"cpu": cpu, "mem": mem, "n": 1, "milli": milli, "models": models},
              st.sampled_from([0, 500, 2000, 4000, 12000]), st.sampled_from([0, 4096, 16384]),
              st.sampled_from([1, 100, 190, 300, 500, 810, 999, 1000]), MODELS),
    st.builds(lambda cpu, mem, n, models: {"cpu": cpu, "mem": mem, "n": n, "milli": 1000, "models": models},
              st.sampled_from([4000, 16000, 40000]), st.sampled_from([8192, 65536]), st.sampled_from([1, 2, 4, 8]),
              MODELS),
    st.builds(lambda cpu, mem: {"cpu": cpu, "mem": mem, "n": 0, "milli": 0, "models": ()},
              st.sampled_from([1000, 8000, 32000]), st.sampled_from([1024, 65536])))


@st.composite
def traces(draw):
    nodes = draw(st.lists(NODE, min_size=1, max_size=6).filter(lambda nodes: any(n["free"] for n in nodes)))
    pods = draw(st.lists(POD, min_size=1, max_size=12))
    return (nodes, pods, draw(st.permutations(range(len(nodes)))),
            draw(st.lists(st.integers(0, len(pods) - 1), min_size=1, max_size=70)))


@settings(max_examples=25)
@given(trace=traces())
def test_fill__random_traces__as_the_oracle(trace, tmp_path):
    got = result(*files(tmp_path / "trace", *trace), "--strategy", ",".join(PUBLISHED))
    for name in PUBLISHED:
        check(got[name], replay(name, *trace), name)


def without_times(o):
    if isinstance(o, dict):
        return {k: without_times(v) for k, v in o.items() if k != "ns_per_decision"}
    return [without_times(v) for v in o] if isinstance(o, list) else o


@pytest.mark.parametrize("mode", ["fill", "steady"])
def test_seed__drawn_twice__the_same_again(mode):
    args = [*SMALL[:4], "--strategy", "fgd,best-fit,tight-fit", "--mode", mode, "--mix", "learned", "--seed"]
    first, again, other = (without_times(result(*args, s)) for s in ("5,6", "5,6", "6,5"))
    assert first == again
    assert [r["arrivals"] for r in first["fgd"]["runs"]] == ["seed 5", "seed 6"]
    assert first["fgd"]["runs"][0]["allocation_pct"] == other["fgd"]["runs"][1]["allocation_pct"]
    assert first["fgd"]["worst"]["allocation_pct"] == min(r["allocation_pct"] for r in first["fgd"]["runs"])


def test_fill__no_arrivals_given__drawn_up_to_130_percent():
    for r in result(*SMALL[:4], "--strategy", "best-fit", "--seed", "1,2,3,4,5")["best-fit"]["runs"]:
        asked = r["allocation_pct"] / (100 - r["refused_pct"]) * 100
        assert 126 < asked < 158  # of 26 GPUs: the last pod is let in by what it takes of one, and may take eight


def test_steady__half_and_double_load__allocated_and_refused_accordingly(tmp_path):
    pods = [{"cpu": 0, "mem": 0, "n": 1, "milli": 100, "models": ()}]
    nodes = [{"cpu": 64000, "mem": 65536, "free": [1000] * 8, "model": "A"}] * 5
    args = files(tmp_path, nodes, pods, range(5), [0])[:4] + ["--mode", "steady", "--strategy", "best-fit", "--seed", "1,2,3"]
    light, heavy = (result(*args, "--load", load)["best-fit"] for load in (0.5, 2))
    assert light["refused_pct"] == 0 and light["allocation_pct"] == pytest.approx(50, abs=4)
    # Twice as much as there is: 400 servers lose half of it, and little of them stands idle.
    assert heavy["refused_pct"] == pytest.approx(50, abs=4) and 98 < heavy["allocation_pct"] <= 100


def test_timed__nobody_leaves__as_filling_up(tmp_path):
    rows = read_small()[3]
    node_rank = " ".join(map(str, range(len(read_small()[0]))))
    (tmp_path / "arrivals.txt").write_text(f"node_rank {node_rank}\npod_row {' '.join(map(str, rows))}\n")
    (tmp_path / "stays.csv").write_text("arrive_ms,depart_ms,pod_row\n" + "".join(f"{i},,{r}\n" for i, r in enumerate(rows)))
    args = [*SMALL[:4], "--strategy", ",".join(PUBLISHED)]
    fill = result(*args, "--arrivals", tmp_path / "arrivals.txt")
    timed = result(*args, "--mode", "timed", "--arrivals", tmp_path / "stays.csv", "--jobs", "1")
    for name in PUBLISHED:
        for key in ("refused_pct", "refused_by_class", "arrived_by_class", "decisions"):
            assert timed[name][key] == fill[name][key]


def scores_of(path):
    """{decision: (row of the pod, {row of a node: score, None: it does not fit})}, in order."""
    ret = {}
    with open(path, encoding="utf-8", newline="") as f:
        for r in csv.DictReader(f):
            pod, scores = ret.setdefault(int(r["decision"]), (int(r["pod"]), {}))
            assert (r["verdict"] == "fits") == (r["score"] != "") and pod == int(r["pod"]) and int(r["node"]) not in scores
            scores[int(r["node"])] = int(r["score"]) if r["score"] else None
    return ret


@pytest.mark.parametrize("strategy", ["rsp", "fgd", "tight-fit", "dot-product"])
def test_scores__of_every_node__explain_every_choice(strategy, tmp_path):
    nodes, pods, _, rows = read_small()
    (tmp_path / "arrivals.txt").write_text(f"node_rank {' '.join(map(str, range(len(nodes))))}\npod_row {' '.join(map(str, rows))}\n")
    (tmp_path / "stays.csv").write_text("arrive_ms,depart_ms,pod_row\n" + "".join(f"{i},,{r}\n" for i, r in enumerate(rows)))
    args = [*SMALL[:4], "--strategy", strategy]
    quiet = result(*args, "--arrivals", tmp_path / "arrivals.txt")
    assert without_times(result(*args, "--arrivals", tmp_path / "arrivals.txt", "--scores", tmp_path / "fill.csv")) == without_times(quiet)
    result(*args, "--mode", "timed", "--arrivals", tmp_path / "stays.csv", "--scores", tmp_path / "timed.csv", "--placements", tmp_path / "places.csv")
    assert (tmp_path / "timed.csv").read_text() == (tmp_path / "fill.csv").read_text()
    said = scores_of(tmp_path / "timed.csv")
    with open(tmp_path / "places.csv", encoding="utf-8", newline="") as f:
        places = [int(r["node"]) if r["node"] else None for r in csv.DictReader(f)]
    assert len(places) == len(rows) and None in places
    cpu = [n["cpu"] for n in nodes]
    for i, (row, place) in enumerate(zip(rows, places)):
        pod, scores = said.get(i, (row, {}))
        fits = {n: s for n, s in scores.items() if s is not None}
        assert pod == row and place == (min(fits, key=lambda n: (-fits[n], n)) if fits else None)
        assert set(scores) <= {n for n, left in enumerate(cpu) if left >= pods[row]["cpu"]}
        if place is not None:
            cpu[place] -= pods[row]["cpu"]


def test_scores__in_use__are_told_of_every_decision(tmp_path):
    got = result(*SMALL[:4], "--strategy", "rsp", "--mode", "steady", "--seed", "3", "--scores", tmp_path / "scores.csv")
    said = scores_of(tmp_path / "scores.csv")
    assert max(said) < got["rsp"]["decisions"] <= len(said) + 20 and len(said) > 100  # a few are of pods that no node has the cores for
    assert any(s is not None for _, scores in said.values() for s in scores.values())


def test_scores__cannot_be_written__named(tmp_path):
    r = sim(*SMALL, "--strategy", "fgd", "--scores", tmp_path)
    assert (r.returncode, r.stderr) == (1, f"fgpu sim: {tmp_path}: Is a directory\n")
    r = sim(*SMALL, "--strategy", "fgd", "--scores", "/dev/full")
    assert r.returncode == 1 and "/dev/full: could not be written: No space left on device" in r.stderr


@pytest.mark.parametrize("mode", ["fill", "timed"])
def test_arrivals__the_same_order_twice__refused(mode, tmp_path):
    first, again, other = (tmp_path / n for n in ("first", "again", "other"))
    nodes, _, ranks, rows = read_small()
    for path, order in (first, rows), (again, rows), (other, [*rows[:-2], rows[-1], rows[-2]]):
        if mode == "fill":
            path.write_text(f"node_rank {' '.join(map(str, ranks))}\npod_row {' '.join(map(str, order))}\n")
        else:
            path.write_text("arrive_ms,depart_ms,pod_row\n" + "".join(f"{i},,{r}\n" for i, r in enumerate(order)))
    args = [*SMALL[:4], "--strategy", "fgd", "--mode", mode, "--arrivals", first, "--arrivals"]
    assert sim(*args, other).returncode == 0
    r = sim(*args, again)
    assert (r.returncode, r.stdout) == (2, "") and f"fgpu sim: --arrivals {first} and --arrivals {again} are the same order" in r.stderr
    r = sim(*args, other, "--arrivals", other)
    assert r.returncode == 2 and f"fgpu sim: --arrivals {other} and --arrivals {other} are the same order" in r.stderr


def test_arrivals__in_use__one_seed_for_each_file():
    args = [*SMALL[:4], "--strategy", "fgd", "--mode", "steady", *SMALL[4:], *SMALL[4:], "--seed", "3,4"]
    both = result(*args)["fgd"]["runs"]
    assert without_times(both[0]) != without_times(both[1])  # two draws, whatever the ranks


@pytest.mark.parametrize("which", ["nodes.csv", "pods.csv", "arrivals.txt"])
@pytest.mark.parametrize("way", ["name", "path", "symlink", "hard link"])
def test_scores__one_of_the_input_files__refused_and_left_as_it_is(which, way, tmp_path):
    args = files(tmp_path, *read_small())
    before, target = (tmp_path / which).read_bytes(), tmp_path / which
    if way == "path":
        target = tmp_path / ".." / tmp_path.name / which
    elif way == "symlink":
        (target := tmp_path / "link").symlink_to(tmp_path / which)
    elif way == "hard link":
        (target := tmp_path / "link").hardlink_to(tmp_path / which)
    r = sim(*args, "--strategy", "fgd", "--scores", target)
    option = {"nodes.csv": "nodes", "pods.csv": "pods", "arrivals.txt": "arrivals"}[which]
    assert r.returncode == 2 and f"--scores {target} is the file of --{option}, and would be overwritten; give another one" in r.stderr
    assert (tmp_path / which).read_bytes() == before


def test_placements__an_input_or_the_file_of_the_scores__refused(tmp_path):
    stays, out = tmp_path / "stays.csv", tmp_path / "out.csv"
    stays.write_text("arrive_ms,depart_ms,pod_row\n5,,0\n")
    args = [*SMALL[:4], "--strategy", "fgd", "--mode", "timed", "--arrivals", stays]
    r = sim(*args, "--placements", stays)
    assert r.returncode == 2 and f"--placements {stays} is the file of --arrivals" in r.stderr
    for _ in range(2):  # it is not there at first
        r = sim(*args, "--placements", out, "--scores", tmp_path / "." / "out.csv")
        assert r.returncode == 2 and f"--placements {out} is the file of --scores" in r.stderr
        assert not out.exists() or out.read_text() == ""
        out.write_text("")


def test_scores__where_standard_output_goes__refused(tmp_path):
    with open(tmp_path / "out", "w") as out:
        r = subprocess.run([BINARY, "sim", *SMALL, "--strategy", "fgd", "--scores", tmp_path / "out"], stdout=out,
                           stderr=subprocess.PIPE, text=True, timeout=300)
    assert r.returncode == 2 and f"--scores {tmp_path / 'out'} is the file of standard output" in r.stderr


def test_timed__warm_up_after_the_last__named(tmp_path):
    (tmp_path / "stays.csv").write_text("arrive_ms,depart_ms,pod_row\n5,,0\n")
    r = sim(*SMALL[:4], "--strategy", "fgd", "--mode", "timed", "--arrivals", tmp_path / "stays.csv", "--warm-up", "6")
    assert r.returncode == 1 and "stays.csv: the last pod arrives at 5 ms, so nothing is left after --warm-up" in r.stderr


def test_table__several_orders__means_and_worst(tmp_path):
    r = sim(*SMALL, "--strategy", "best-fit,fgd")
    lines = r.stdout.splitlines()
    assert r.returncode == 0 and lines[0].split()[:3] == ["strategy", "a100", "a130"]
    assert [line.split()[0] for line in lines[1:3]] == ["best-fit", "fgd"]
    r = sim(*SMALL[:4], "--strategy", "best-fit", "--seed", "1,2")
    assert [line.split()[0] for line in r.stdout.splitlines()[1:3]] == ["best-fit", "worst"]


def test_table__several_strategies_and_seeds__says_which_differences_may_be_chance():
    args = [*SMALL[:4], "--strategy", "fgd,tight-fit,spread", "--mode", "steady", "--seed", "1,2,3,4,5"]
    runs = {s: [r["refused_pct"] for r in cell["runs"]] for s, cell in result(*args).items()}
    least = min(runs, key=lambda s: statistics.mean(runs[s]))
    wanted = {}
    for s in runs.keys() - {least}:
        more = [a - b for a, b in zip(runs[s], runs[least])]
        mean, margin = statistics.mean(more), 2.776 * statistics.stdev(more) / math.sqrt(5)
        wanted[s] = f"{mean:+.2f} ± {margin:.2f}" + ("" if mean > margin else " may be chance")
    text = sim(*args).stdout.split("\n\n")[-1].splitlines()
    assert text[0].startswith(f"{least} refuses least.") and len({"may be chance" in w for w in wanted.values()}) == 2
    assert {name: " ".join(rest) for name, *rest in map(str.split, text[1:])} == wanted


def test_table__one_run__cannot_tell_chance():
    assert "several seeds, as --seed 1,2," in sim(*SMALL[:4], "--strategy", "fgd,spread").stdout
    assert "one run" not in sim(*SMALL[:4], "--strategy", "fgd").stdout
    nobody = sim(*SMALL[:4], "--strategy", "fgd,tight-fit", "--mode", "steady", "--load", "0.01", "--seed", "1,2").stdout
    assert nobody.endswith("  tight-fit          +0.00 ± 0.00  the same\n")


def test_state__two_gpus_of_eight_taken__goes_on_from_there(own, tmp_path):
    names = [own.node(gpus=4) for _ in range(2)]
    for _ in range(2):
        assert own.fgpu.schedule(own.api.pod(milli(1000)), names)
    saved = tmp_path / "state.json"
    saved.write_text(json.dumps(own.fgpu.state()))
    pods = tmp_path / "pods.csv"
    pods.write_text(PODS + "p,100,100,1,500\n")
    # 130 % of eight GPUs are 10.4; two are taken, so 16 halves arrive and 12 of them fit.
    r = result("--state", saved, "--pods", pods, "--strategy", "tight-fit,fgd")
    for name in ("tight-fit", "fgd"):
        assert r[name]["decisions"] == 16 and r[name]["refused_by_class"]["shared"] == 4
        assert r[name]["a100"] == r[name]["allocation_pct"] == 100
        assert r[name]["first_refusal_pct"] == pytest.approx(106.25) and r[name]["refused_pct"] == 25
    steady = result("--state", saved, "--pods", pods, "--strategy", "fgd", "--mode", "steady", "--load", "0.2")["fgd"]
    assert steady["refused_pct"] == 0 and 35 < steady["allocation_pct"] < 60  # what stood there stays
    r = sim("--state", saved, "--nodes", "x", "--pods", pods, "--strategy", "fgd")
    assert r.returncode == 2 and "--state already has the nodes" in r.stderr
    saved.write_text("{}")
    r = sim("--state", saved, "--pods", pods, "--strategy", "fgd")
    assert r.returncode == 1 and r.stderr.startswith(f"fgpu sim: {saved}: ")


def plot(folder, *args):
    curves = sim(*args, "--curves")
    assert curves.returncode == 0, curves.stderr
    return subprocess.run([str(PLOT), str(folder)], input=curves.stdout, capture_output=True, text=True, timeout=60)


def test_svg__every_mode__well_formed_and_complete(tmp_path):
    svg = "{http://www.w3.org/2000/svg}"
    assert plot(tmp_path / "fill", *SMALL, "--strategy", "fgd,best-fit").returncode == 0
    assert plot(tmp_path / "steady", *SMALL[:4], "--strategy", "fgd", "--mode", "steady").returncode == 0
    assert [p.name for p in (tmp_path / "steady").iterdir()] == ["refusals.svg"]
    for name, paths in [("allocation", 4), ("fragmentation", 4), ("refusals", 2)]:
        root = ElementTree.parse(tmp_path / "fill" / f"{name}.svg").getroot()
        assert root.tag == svg + "svg" and len(root.findall(svg + "path")) == paths  # lines, and one each in the legend
        assert {"fgd", "best-fit"} < {t.text for t in root.findall(svg + "text")}
        assert "nan" not in ElementTree.tostring(root, "unicode") and "inf" not in ElementTree.tostring(root, "unicode")
    assert len(root.findall(svg + "rect")) == 2 * 4
    r = plot(DATA / "README.md", *SMALL, "--strategy", "fgd")
    assert r.returncode == 1 and f"{DATA}/README.md" in r.stderr
    r = sim(*SMALL, "--strategy", "fgd", "--svg", "pictures")
    assert r.returncode == 2 and "scripts/plot-packing pictures" in r.stderr


def test_curves__of_several_orders__means_that_end_where_the_numbers_say(tmp_path):
    one = result(*SMALL, "--strategy", "fgd", "--curves")["fgd"]
    first, second, both = (result(*SMALL[:4], "--strategy", "fgd", "--curves", "--seed", s)["fgd"]["allocation_curve"] for s in ("1", "2", "1,2"))
    assert one["allocation_curve"][-1] is not None and len(one["allocation_curve"]) == len(one["fragmentation_curve"])
    assert one["allocation_curve"][100] == one["a100"] and len(both) == max(len(first), len(second))
    pairs = [(a, b, c) for a, b, c in zip(first, second, both) if a is not None and b is not None]
    assert len(pairs) > 2 and all(c == pytest.approx((a + b) / 2, abs=0.0002) for a, b, c in pairs)
    assert "allocation_curve" not in result(*SMALL, "--strategy", "fgd")["fgd"]
    assert "allocation_curve" not in result(*SMALL[:4], "--strategy", "fgd", "--mode", "steady", "--curves")["fgd"]


NODES, PODS = "sn,cpu_milli,memory_mib,gpu,model\n", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"


@pytest.mark.parametrize("nodes,pods,arrivals,says", [
    ("", PODS, "", "nodes.csv: empty; the first line must name the columns"),
    ("sn,cpu_milli,memory_mib,model\n", PODS, "", "nodes.csv:1: no column \"gpu\" in the header; add it"),
    (NODES + "a,1,1,1\n", PODS, "", "nodes.csv:2: 4 fields, but the header names 5 columns"),
    (NODES + "a,1,1,x,m\n", PODS, "", "nodes.csv:2: column gpu: \"x\" is not a whole number from 0 to 64; write how"),
    (NODES + ",1,1,1,m\n", PODS, "", "nodes.csv:2: column sn is empty; write the name of the node"),
    (NODES + "a,1,1,0,m\n", PODS, "", "nodes.csv: no node has a GPU; nothing can be packed"),
    (NODES + "a,1,1,1,m\n", PODS, "", "pods.csv: no pods"),
    (NODES + "a,1,1,1,m\n", PODS + "\np,-1,1,1,1\n", "", "pods.csv:3: column cpu_milli: \"-1\" is not a whole number"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,0\n", "", "pods.csv:2: column gpu_milli is 0, but num_gpu is 1"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1001\n", "", "pods.csv:2: column gpu_milli: \"1001\" is not a whole"),
    (NODES + "a,1,1,1,m\n", PODS + "\"p,1,1,1,1\n", "", "pods.csv:2: field 1 has a quote that does not end it"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1\n", "rank 0\n", "arrivals.txt:1: must begin with node_rank"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1\n", "node_rank 0 0\n", "arrivals.txt:1: more than 1 numbers"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1\n", "node_rank\n", "arrivals.txt:1: 0 ranks for 1 nodes"),
    (NODES + "a,1,1,1,m\nb,1,1,1,m\n", PODS + "p,1,1,1,1\n", "node_rank 1 1\n", "arrivals.txt:1: rank 1 comes twice"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1\n", "node_rank 0\n", "arrivals.txt:2: must begin with pod_row"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1\n", "node_rank 0\npod_row\n", "arrivals.txt:2: nobody arrives"),
    (NODES + "a,1,1,1,m\n", PODS + "p,1,1,1,1\n", "node_rank 0\npod_row 0 1\n",
     "arrivals.txt:2: pod_row, number 2: \"1\" is not a number from 0 to 0"),
])
def test_input__wrong__named_with_its_place(nodes, pods, arrivals, says, tmp_path):
    paths = [tmp_path / n for n in ("nodes.csv", "pods.csv", "arrivals.txt")]
    for path, text in zip(paths, (nodes, pods, arrivals)):
        path.write_text(text)
    r = sim("--nodes", paths[0], "--pods", paths[1], "--arrivals", paths[2], "--strategy", "fgd")
    assert r.returncode == 1 and r.stdout == "" and f"fgpu sim: {tmp_path}/{says}" in r.stderr


@pytest.mark.parametrize("args,says", [
    ([], "--nodes FILE is missing"),
    (["--nodes", "a"], "--pods FILE is missing"),
    (["--nodes", "a", "--pods", "b"], "--strategy NAME is missing"),
    (["--strategy", "bestfit"], "no strategy \"bestfit\"; there are binpack, spread,"),
    (["--strategy", "fgd,fgd"], "strategy fgd is given twice"),
    (["--mode", "full"], "--mode \"full\" is none of fill, steady and timed"),
    ([*SMALL[:4], "--strategy", "fgd", "--mode", "timed"], "--mode timed needs --arrivals FILE"),
    ([*SMALL[:4], "--strategy", "fgd", "--warm-up", "5"], "--warm-up needs --mode timed"),
    ([*SMALL[:4], "--strategy", "fgd", "--placements", "x"], "--placements needs --mode timed"),
    ([*SMALL[:4], "--strategy", "fgd,rsp", "--scores", "x"], "--scores is of one replay; give one strategy and one order or seed"),
    ([*SMALL[:4], "--strategy", "fgd", "--seed", "1,2", "--scores", "x"], "--scores is of one replay"),
    (["--state", "s", "--pods", "p", "--strategy", "fgd", "--scores", "x"], "--scores names nodes by their row; give --nodes FILE"),
    (["--warm-up", "-1"], "--warm-up \"-1\" is not a whole number from 0 to"),
    (["--jobs", "x"], "--jobs \"x\" is not a whole number from 0 to 1024"),
    (["--load", "0"], "--load \"0\" is not a number from 0.01 to 10"),
    (["--load", "nan"], "--load \"nan\" is not a number"),
    (["--seed", "x"], "--seed \"x\" is not a whole number"),
    (["--mix", "x"], "--mix \"x\" is neither given nor learned"),
    (["-o", "x"], "-o \"x\" is neither table nor json"),
    (["--seed", "1,2,1"], "--seed 1 is given twice; both would be the same run, so give other seeds"),
    (["--seed", "7", "--seed", "07"], "--seed 7 is given twice"),
    ([*SMALL, "--strategy", "fgd", "--seed", "5"], "--seed changes nothing beside --arrivals, which says who arrives; leave one of the two out"),
    ([*SMALL, "--strategy", "fgd", "--mode", "timed", "--seed", "5"], "--seed changes nothing beside --arrivals"),
    ([*SMALL, "--strategy", "fgd", "--mode", "steady", "--seed", "5,6"], "--mode steady draws the pods from the seed; give one seed for each file of --arrivals, here 1"),
    ([*SMALL, *SMALL[4:], "--strategy", "fgd", "--mode", "steady"], "give one seed for each file of --arrivals, here 2"),
    (["--strategy", "rsp,all"], "strategy rsp is given twice"),
    (["--pods", "a", "--pods", "b"], "--pods is given twice; one file is possible"),
    (["--scores", "a", "--scores", "b"], "--scores is given twice; one file is possible"),
    ([*SMALL, "--strategy", "fgd", "--scores", "-"], "--scores - : the report goes to standard output; give a file, or ./- for one of this name"),
    ([*SMALL, "--strategy", "fgd", "--mode", "timed", "--placements", "-"], "--placements - : the report goes to standard output"),
    (["--what"], "unknown option --what"),
    (["x", "--nodes", "a"], "unexpected \"x\""),
    (["--pods"], "--pods needs a value"),
])
def test_usage__wrong__exit_2_and_the_reason(args, says):
    r = sim(*args)
    assert r.returncode == 2 and says in r.stderr


def test_input__missing_file__named(tmp_path):
    r = sim("--nodes", tmp_path / "none", *SMALL[2:], "--strategy", "fgd")
    assert (r.returncode, r.stderr) == (1, f"fgpu sim: {tmp_path}/none: No such file or directory\n")
    r = sim("--nodes", tmp_path, *SMALL[2:], "--strategy", "fgd")
    assert (r.returncode, r.stderr) == (1, f"fgpu sim: {tmp_path}: Is a directory\n")
