"""Completion: what the program offers, and what really stands on the line after TAB in bash, zsh and fish."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from processes import BINARY

# What the shells run as `fgpu`: it answers questions of completion, and prints its words otherwise.
STAND_IN = """#!/bin/sh
[ "$1" = __complete ] && exec {binary} "$@"
printf 'got'; printf '<%s>' "$@"; echo .
"""


def offered(*words):
    """The words, with what they mean, and whether files may follow."""
    r = subprocess.run([BINARY, "__complete", *words], capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, "")
    *lines, directive = r.stdout.splitlines()
    return dict((line.split("\t", 1) + [""])[:2] for line in lines), {":0": True, ":4": False}[directive]


def commands():
    lines = subprocess.run([BINARY, "--help"], capture_output=True, text=True, timeout=60).stdout.splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


def test_commands__are_those_of_help():
    words, files = offered("")
    assert list(words) == commands() and not files and all(words.values())
    assert list(offered("sta")[0]) == ["state"]


def options_of_help(command):
    text = subprocess.run([BINARY, command, "--help"], capture_output=True, text=True, timeout=60).stdout
    return re.findall(r"^  (?:-\w, )?(--[\w-]+|-\w)(?=[ \[\n]).*$", text, re.M)


@pytest.mark.parametrize("command", [c for c in commands()])
def test_options__are_those_of_help(command):
    assert sorted(offered(command, "-")[0]) == sorted(options_of_help(command) + ["--help"])


def test_values__choices_names_and_files():
    assert list(offered("state", "-o", "")[0]) == ["table", "json"]
    assert list(offered("state", "--output=j")[0]) == ["--output=json"]
    assert list(offered("serve", "--wait=")[0]) == ["--wait=true", "--wait=false"]
    strategies = offered("sim", "--strategy", "")[0]
    assert "binpack" in strategies and "all" in strategies and all(strategies.values())
    assert "binpack,fgd" in offered("sim", "--strategy", "binpack,f")[0]
    assert "runai" in offered("demo", "--scenario", "")[0]  # asked of fgpu-demo
    assert offered("serve", "--config", "") == ({}, True)
    assert offered("serve", "--context", "") == ({}, False)
    assert offered("check-config", "") == ({}, True)
    assert list(offered("completion", "")[0]) == ["bash", "zsh", "fish"]
    assert offered("no-such-command", "") == ({}, False)


def test_completion__unknown_shell__is_refused():
    r = subprocess.run([BINARY, "completion", "tcsh"], capture_output=True, text=True, timeout=60)
    assert r.returncode == 2 and "bash, zsh or fish" in r.stderr


# ---- in the shells ----

# How it starts, its file of first commands, and what it writes when it listens to keys. zsh on a busy machine sometimes waits without
# having written its prompt; that it takes pasted text it always says first.
START = {
    "bash": (["bash", "--noprofile", "--rcfile", "first", "-i"], "first", r"ready> ",
             "PS1='ready> '; bind 'set enable-bracketed-paste off'; source <(fgpu_complete bash)\n"),
    "zsh": (["zsh", "--no-global-rcs", "-i"], ".zshrc", re.escape("\x1b[?2004h"),
            "zstyle ':completion:*' menu no; autoload -U compinit; compinit -D -u; source <(fgpu_complete zsh)\n"),
    "fish": (["fish", "--no-config", "-i", "--init-command", "source first"], "first", r"ready> ",
             "function fish_prompt; printf 'ready> '; end; fgpu_complete fish | source\n"),
}


class Terminal:
    def __init__(self, argv, folder):
        env = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "dumb",
               "LC_ALL": "C.UTF-8"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, env)
        self.text = ""

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            if select.select([self.fd], [], [], 1)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
        self.text = self.text[found.end():]
        return found

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)  # the shell gets SIGHUP
        os.waitpid(self.pid, 0)


@pytest.fixture(params=sorted(START))
def shell(request, tmp_path):
    name = request.param
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed; scripts/install-deps does it")
    for program, text in {"fgpu": STAND_IN.format(binary=BINARY),
                          "fgpu_complete": f"#!/bin/sh\nexec {BINARY} completion \"$@\"\n"}.items():
        (tmp_path / program).write_text(text)
        (tmp_path / program).chmod(0o755)
    (tmp_path / "only file.yaml").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.json").write_text("")
    argv, file, listens, first = START[name]
    (tmp_path / file).write_text(first)
    terminal = Terminal(argv, tmp_path)
    terminal.wait_for(listens)
    yield terminal
    terminal.close()


@pytest.mark.parametrize("typed,got", [
    ("fgpu sta\t--dec\t", ["state", "--decisions"]),
    ("fgpu frag -o js\t", ["frag", "-o", "json"]),
    ("fgpu frag --output=js\t", ["frag", "--output=json"]),
    ("fgpu sim --strategy binpack,fg\t", ["sim", "--strategy", "binpack,fgd"]),
    ("fgpu demo --scenario met\t", ["demo", "--scenario", "metagpu"]),
    ("fgpu serve --config sub/\t", ["serve", "--config", "sub/a.json"]),
    ("fgpu check-config onl\t", ["check-config", "only file.yaml"]),
])
def test_tab__in_the_shell__completes(shell, typed, got):
    shell.type(typed + "\n")
    assert shell.wait_for(r"got((?:<[^>]*>)+)\.")[1] == "".join(f"<{w}>" for w in got)
