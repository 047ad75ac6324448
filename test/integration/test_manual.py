"""The manual pages that the build writes: one for each command, without a word that mandoc stumbles over, and with every
word of --help."""
import re
import shutil
import subprocess

import pytest

from processes import BINARY
from test_help import PROGRAMS, commands
from test_node_ops import PROGRAM as AGENT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    for program in [*PROGRAMS.values(), AGENT]:
        subprocess.run([program, "man", folder], check=True, timeout=60)
    return folder


def words(text):
    return re.findall(r"[\w./:=-]+", text)


def rendered(path):
    text = subprocess.run(["mandoc", "-Tutf8", "-Owidth=1000", path], capture_output=True, text=True, check=True).stdout
    return re.sub(r".\x08", "", text)  # bold and underlined


def test_pages__there_is_one_for_each_command_the_programs_and_the_configuration(folder):
    names = {f"fgpu-{command}.1" for _, command in commands()}
    assert {p.name for p in folder.iterdir()} == names | {"fgpu.1", "fgpu-node.8", "fgpu.yaml.5"}


def test_pages__mandoc_finds_nothing(folder):
    r = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *sorted(folder.iterdir())], capture_output=True, text=True)
    assert r.stdout + r.stderr == ""


def test_pages__every_word_of_help_is_on_the_page(folder):
    pages = [(PROGRAMS[p], [c], f"fgpu-{c}.1") for p, c in commands()] + [(AGENT, [], "fgpu-node.8")]
    for program, arguments, page in pages:
        text = subprocess.run([program, *arguments, "--help"], capture_output=True, text=True, timeout=60).stdout
        on_page = set(words(rendered(folder / page)))
        headings = {"Usage:", "Usage", "Example:", "Examples:", "Exit", "codes:"}
        assert set(words(text)) - on_page - headings == set(), page


def test_page_of_the_configuration__has_every_key(folder):
    keys = subprocess.run([BINARY, "check-config", "--keys"], capture_output=True, text=True).stdout.splitlines()
    text = rendered(folder / "fgpu.yaml.5")
    assert len(keys) > 50
    for line in keys:
        assert all(part in text for part in line.split("  ")), line


def test_pages__are_installed(tmp_path):
    build = BINARY.parent
    if not (build / "cmake_install.cmake").exists():
        pytest.skip("the program under test is not in its build folder")
    subprocess.run(["cmake", "--install", build, "--prefix", tmp_path], check=True, capture_output=True, timeout=60)
    installed = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file() or p.is_symlink()}
    assert {"share/man/man1/fgpu.1", "share/man/man1/fgpu-state.1", "share/man/man5/fgpu.yaml.5",
            "share/bash-completion/completions/fgpu", "share/zsh/vendor-completions/_fgpu",
            "share/fish/vendor_completions.d/fgpu.fish"} <= installed
    assert not any("demo" in p or "fgpu-node" in p for p in installed)


assert shutil.which("mandoc"), "mandoc is missing; scripts/install-deps installs it"
