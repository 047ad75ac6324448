"""The scenarios of `fgpu demo --scenario`: every claim of every scene must come true, quickly too; and how fgpu finds
fgpu-demo, the program that tells them."""
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import pytest

from processes import BINARY, PATIENCE_S, ROOT, SANITIZER, die_with_parent, eventually, request


def run(binary, *args, cwd=None):
    p = subprocess.run([str(binary), *args], capture_output=True, text=True, timeout=3 * PATIENCE_S, cwd=cwd,
                       preexec_fn=die_with_parent)
    assert not SANITIZER.search(p.stderr), p.stderr[-6000:]
    return p


def demo(*args):
    return run(BINARY, "demo", *args)


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


@pytest.mark.parametrize("command, option, value", [("demo", "--nodes", "0"), ("demo", "--for", "abc"), ("demo", "--speed", "0"),
                                                    ("apiserver", "--nodes", "-1"), ("apiserver", "--port", "99999")])
def test_fgpu_demo__value_out_of_range__the_option_is_named(command, option, value):
    p = run(BINARY, command, option, value)
    assert p.returncode == 2 and f'fgpu {command}: {option}: "{value}" is ' in p.stderr, p.stderr


@pytest.mark.parametrize("command", ["demo", "apiserver"])
def test_fgpu_demo__not_installed__says_where_it_was_looked_for_and_what_to_do(tmp_path, command):
    alone = shutil.copy(BINARY, tmp_path / "fgpu")
    p = run(alone, command, "--help")
    assert p.returncode == 1 and p.stdout == ""
    assert p.stderr.startswith(f"fgpu {command}: fgpu-demo is not installed: there is no {tmp_path}/fgpu-demo")
    assert "scripts/build" in p.stderr, "the remedy"
    assert run(alone, "check-config", str(ROOT / "config/fgpu.yaml")).returncode == 0, "everything else needs fgpu alone"


def test_fgpu_demo__cannot_be_run__says_why(tmp_path):
    alone = shutil.copy(BINARY, tmp_path / "fgpu")
    (tmp_path / "fgpu-demo").write_text("not a program")
    p = run(alone, "demo", "--help")
    assert p.returncode == 1 and p.stdout == ""
    assert p.stderr.startswith(f"fgpu demo: cannot run {tmp_path}/fgpu-demo: Permission denied"), p.stderr


@pytest.mark.parametrize("put", [os.symlink, os.link, shutil.copy])
def test_fgpu_demo__is_fgpu_itself__refused(tmp_path, put):
    """fgpu would start itself, for ever."""
    alone = shutil.copy(BINARY, tmp_path / "fgpu")
    put(alone, tmp_path / "fgpu-demo")
    p = subprocess.run([alone, "demo", "--help"], capture_output=True, text=True, timeout=PATIENCE_S, preexec_fn=die_with_parent)
    assert p.returncode == 1 and p.stdout == ""
    assert p.stderr == (f"fgpu demo: {tmp_path}/fgpu-demo is fgpu itself, not the demonstration; scripts/build makes the "
                        "program that belongs there\n")


def test_fgpu_demo__fgpu_called_through_a_link__found_beside_the_file_itself(tmp_path, monkeypatch):
    """As with /usr/local/bin/fgpu -> /opt/fgpu/bin/fgpu. PATH, the caller's folder and that of the link are not asked."""
    for folder in ("link", "caller", "path"):
        decoy = tmp_path / folder / "fgpu-demo"
        decoy.parent.mkdir()
        decoy.write_text("#!/bin/sh\necho decoy\n")
        decoy.chmod(0o755)
    (tmp_path / "link/fgpu").symlink_to(BINARY)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:{os.environ['PATH']}")
    p = run(tmp_path / "link/fgpu", "demo", "--scenario", "list", cwd=tmp_path / "caller")
    assert p.returncode == 0 and p.stdout == run(BINARY.with_name("fgpu-demo"), "demo", "--scenario", "list").stdout


def test_fgpu_demo__called_itself__takes_the_same_commands():
    fgpu_demo = BINARY.with_name("fgpu-demo")
    for args in (["demo", "--help"], ["apiserver", "--help"], ["demo", "--nodes", "0"], ["apiserver", "--port", "70000"]):
        p, q = run(BINARY, *args), run(fgpu_demo, *args)
        assert (p.returncode, p.stdout, p.stderr) == (q.returncode, q.stdout, q.stderr)
    assert run(BINARY, "--version").stdout == run(fgpu_demo, "--version").stdout
    assert run(fgpu_demo, "serve").returncode == 2, "the product's commands are fgpu's"


# ---- the web page of a demonstration ----

XDG_OPEN = r"""#!/usr/bin/python3
import os, sys
folder = os.path.dirname(sys.argv[0])
open(folder + "/blocked", "w").write(next(line for line in open("/proc/self/status") if line.startswith("SigBlk")))
open(folder + "/opened", "a").write(" ".join(sys.argv[1:]) + "\n")
"""


class Played:
    """fgpu demo in a terminal, with a stand-in for xdg-open that writes down what it was asked for."""

    def __init__(self, folder, *args, terminal=True, **env):
        (folder / "xdg-open").write_text(XDG_OPEN)
        (folder / "xdg-open").chmod(0o755)
        self.opened_file = folder / "opened"
        kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
        reader, writer = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen([str(BINARY), "demo", *args], stdin=subprocess.DEVNULL, stdout=writer,
                                        stderr=subprocess.DEVNULL, preexec_fn=die_with_parent,
                                        env={**kept, "PATH": f"{folder}:{kept['PATH']}", "TERM": "xterm", **env})
        os.close(writer)
        self.output, self.text = reader, ""

    def read_until(self, pattern):
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < end and self.read(), self.text
        return found

    def read(self):
        try:
            got = os.read(self.output, 65536)
        except OSError:  # the terminal of a program that has ended
            got = b""
        self.text += got.decode(errors="replace")
        return got

    def opened(self):
        return self.opened_file.read_text().split() if self.opened_file.exists() else []

    def end(self):
        self.process.send_signal(signal.SIGINT)
        end = time.monotonic() + PATIENCE_S
        while self.read():
            assert time.monotonic() < end, "it goes on after Ctrl-C"
        os.close(self.output)
        assert self.process.wait(PATIENCE_S) == 0, self.text[-2000:]


ADDRESS = r"web page of this demonstration: (http://127\.0\.0\.1:(\d+)/)"


def test_page__in_a_terminal_with_a_display__is_opened_and_goes_on_until_ctrl_c(tmp_path):
    played = Played(tmp_path, DISPLAY=":99")
    url, port = played.read_until(ADDRESS).groups()
    played.read_until("Ctrl-C ends the demonstration")
    eventually(lambda: played.opened() == [url.rstrip("/")], "the browser")
    assert int((tmp_path / "blocked").read_text()[7:], 16) == 0, "it hears signals"
    page = request(("127.0.0.1", int(port)), "GET", "/", headers={"Accept": "text/html"})
    assert page.status == 200 and page.body.lower().startswith(b"<!doctype html")
    played.read_until(r"00:0\d  8 nodes")  # and not "00:05 of 01:00"
    played.end()


@pytest.mark.parametrize("args,env,terminal", [
    (("--no-browser",), {"DISPLAY": ":99"}, True),
    ((), {}, True),
    ((), {"DISPLAY": ":99"}, False),
])
def test_page__not_asked_for_or_nobody_would_see_it__only_its_address(tmp_path, args, env, terminal):
    played = Played(tmp_path, *args, terminal=terminal, **env)
    played.read_until(ADDRESS)
    played.read_until(r" of 01:00" if terminal else r"0 s: compute")
    played.end()
    assert played.opened() == [] and "Ctrl-C" not in played.text
