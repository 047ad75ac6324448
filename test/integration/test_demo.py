"""The stories of `fgpu demo --scenario`: every claim of every scene must come true, quickly too."""
import re
import subprocess

import pytest

from processes import BINARY, PATIENCE_S, SANITIZER, die_with_parent


def demo(*args):
    p = subprocess.run([str(BINARY), "demo", *args], capture_output=True, text=True, timeout=3 * PATIENCE_S,
                       preexec_fn=die_with_parent)
    assert not SANITIZER.search(p.stderr), p.stderr[-6000:]
    return p


def names():
    return [line.split()[0] for line in demo("--scenario", "list").stdout.splitlines()]


@pytest.mark.parametrize("name", names())
def test_scenario__told_fast__every_claim_came_true(name):
    p = demo("--scenario", name, "--for", "2")
    assert p.returncode == 0, p.stdout[-3000:] + p.stderr[-3000:]
    assert "\n0 invariant violations\n" in p.stdout
    last = re.fullmatch(rf"{name}: (\d+) scenes, (\d+) claims, all came true", p.stdout.splitlines()[-1])
    assert last and int(last[1]) >= 3 and int(last[2]) >= 5, p.stdout[-500:]
    assert len(re.findall(r"^\d\d:\d\d  ", p.stdout, re.M)) >= int(last[1]) + int(last[2])


def test_scenario__unknown__says_which_there_are():
    p = demo("--scenario", "nobody")
    assert p.returncode == 2 and p.stdout == ""
    assert 'there is no scenario "nobody"' in p.stderr
    assert [line.split()[0] for line in p.stderr.splitlines()[1:]] == names()


def test_scenario__with_nodes_of_ones_own__refused():
    p = demo("--scenario", "vgpu", "--nodes", "3")
    assert p.returncode == 2 and "has its own nodes" in p.stderr
