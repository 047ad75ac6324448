"""--help of every command of every executable: exit code 0, what it does, its options, an example; nothing that is only in
the source tree. The commands are those that the executables list themselves, so that none can be missing here."""
import re
import subprocess

import pytest

from processes import BINARY
from test_node_ops import PROGRAM as AGENT

PROGRAMS = {"fgpu": BINARY, "fgpu-demo": BINARY.parent / "fgpu-demo"}
# What an admin with an installed package does not have or need not know.
OF_PROGRAMMERS = re.compile(r"\b(include|src|test)/|\.[ch]\b|\bstruct |\benum |\bRFC \d")


def output(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60)


def commands():
    for name, binary in PROGRAMS.items():
        for line in output(binary, "--help").stdout.splitlines():
            if line.startswith("  "):
                yield name, line.split()[0]


COMMANDS = list(commands())


def test_commands__of_both_executables__are_found():
    assert len(COMMANDS) > 12 and ("fgpu", "serve") in COMMANDS and ("fgpu-demo", "apiserver") in COMMANDS


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("program,command", COMMANDS)
def test_help__of_each_command__says_what_it_does_its_options_and_an_example(program, command, flag):
    r = output(PROGRAMS[program], command, flag)
    assert (r.returncode, r.stderr) == (0, "")
    assert r.stdout.startswith(f"Usage: fgpu {command}")
    assert re.search(r"\n\n[A-Z][^\n]{20,}", r.stdout), "what it does"
    examples = r.stdout.split("\nExample", 1)[1]
    assert re.search(rf"\n  (\w+=\S+ )?fgpu {command}\b", examples)
    assert not OF_PROGRAMMERS.search(r.stdout), OF_PROGRAMMERS.search(r.stdout)
    assert max(map(len, r.stdout.splitlines())) <= 120


def test_help__of_the_agent__says_what_it_does_its_options_and_an_example():
    for flag in ("--help", "-h"):
        r = output(AGENT, flag)
        assert (r.returncode, r.stderr) == (0, "") and r.stdout.startswith("Usage: fgpu-node")
        assert "\n  fgpu-node --" in r.stdout.split("\nExample", 1)[1]
        assert not OF_PROGRAMMERS.search(r.stdout)


def test_wrong_usage__of_each_command__names_a_help_that_exists():
    for program, command in COMMANDS:
        r = output(PROGRAMS[program], command, "--no-such-option")
        assert r.returncode == 2 and f"fgpu {command} --help explains it" in r.stderr, (command, r.stderr)
