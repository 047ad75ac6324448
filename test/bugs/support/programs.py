"""Programs of a build with a changed source in them: the object of it stands before the libraries, so that the linker has no reason to
take the library's own. The tree and the build stay as they are; all of it is made in build/bug-bank."""
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time

from patches import ROOT, Wrong, changed, place_of

OUT = ROOT / "build/bug-bank"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
ENVIRONMENT = {"ASAN_OPTIONS": "handle_segv=2", "PYTHONDONTWRITEBYTECODE": "1"}
SECONDS_MIN, TIMES_AS_LONG = 20, 10  # what a test may take with a bug, if it takes so long without; beyond it, it does not end
SECONDS_MAX = 600
# cmocka has a filter, and no way to set it from outside.
FILTER = """#include <stddef.h>
#include <stdlib.h>
void cmocka_set_test_filter(const char *pattern);
__attribute__((constructor)) static void set_filter(void)
{
    cmocka_set_test_filter(getenv("FGPU_ONE_TEST"));
}
"""


class Builder:
    """Programs of one profile."""

    def __init__(self, profile):
        self.build = ROOT / "build" / profile
        self.lines = {}
        OUT.mkdir(parents=True, exist_ok=True)

    def commands(self, target):
        """({source: how it is compiled}, how `target` is linked)"""
        if target not in self.lines:
            if not (self.build / target).exists():
                raise Wrong(f"there is no {self.build / target}: run scripts/build {self.build.name}")
            said = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target], check=True, text=True,
                                  capture_output=True).stdout.splitlines()
            compiled = {}
            for line in said:
                source = re.search(r" -c (\S+\.c)$", line)
                if source:
                    compiled[os.path.relpath(os.path.join(self.build, source[1]), ROOT)] = line
            self.lines[target] = compiled, next(line for line in reversed(said) if f"-o {target} " in line)
        return self.lines[target]

    def compile(self, line, place, *more):
        argv = shlex.split(line)
        argv[argv.index("-c") + 1] = str(place)
        argv[argv.index("-o") + 1] = str(place.with_suffix(".o"))
        for flag in ("-MD", "-MF", "-MT"):
            while flag in argv:
                at = argv.index(flag)
                del argv[at:at + (1 if flag == "-MD" else 2)]
        done = subprocess.run([*argv, *more, "-w"], cwd=self.build, text=True, capture_output=True)
        if done.returncode != 0:
            raise Wrong(f"{place.name} does not compile: {done.stderr.strip()[:2000]}")
        return place.with_suffix(".o")

    def program(self, target, name, bug=None, defines=None):
        """`target` with the bug (None: as it is), as a file of that name in OUT. defines: {source: (macro, text)}"""
        compiled, link = self.commands(target)
        folder = OUT / name
        folder.mkdir(exist_ok=True)
        sanitize = SANITIZE if bug is not None and "sanitize" in bug else []
        texts = {file: (ROOT / file).read_text() for file in (bug or {}).get("sanitize", [])}  # as they are
        objects = []
        for file, text in {**texts, **(changed(bug) if bug is not None else {})}.items():
            place = folder / pathlib.Path(file).name
            place.write_text(text)
            if file not in compiled:
                raise Wrong(f"{name}: {file} is not part of {target}")
            made = self.compile(compiled[file], place, f"-I{(ROOT / file).parent}", *sanitize)
            own = re.search(r" -o (\S+)", compiled[file])[1]
            if f" {own} " in link:  # of the program itself, and not of a library
                link = link.replace(f" {own} ", f" {made} ")
            else:
                objects.append(made)
        if target.startswith("test/unit/"):
            place = folder / "one_test.c"
            place.write_text(FILTER)
            objects.append(self.compile(f"cc -c {place} -o {place.with_suffix('.o')}", place))
        to = folder / pathlib.Path(target).name
        for source, (name_, value) in (defines or {}).items():  # the test, told another path
            place = folder / pathlib.Path(source).name
            place.write_text((ROOT / source).read_text())
            made = self.compile(compiled[source], place, f"-I{(ROOT / source).parent}", f"-U{name_}", f'-D{name_}="{value}"')
            link = re.sub(rf" \S+/{place.name}\.o ", f" {made} ", link)
        said = link.replace(f"-o {target} ", " ".join([*map(str, objects), *sanitize[:1], f"-o {to} "]))
        done = subprocess.run(said, cwd=self.build, shell=True, text=True, capture_output=True)
        if done.returncode != 0:
            raise Wrong(f"{name}: {target} does not link: {done.stderr.strip()[:2000]}")
        return to


def run(argv, seconds=SECONDS_MAX, cwd=ROOT, **env):
    """(exit status, what it said); status None: it does not end. Everything it started ends with it."""
    def no_core():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    p = subprocess.Popen(argv, cwd=cwd, preexec_fn=no_core, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         start_new_session=True, env={**os.environ, **ENVIRONMENT, **env}, text=True, errors="replace")
    try:
        said, _ = p.communicate(timeout=seconds)
        status = p.returncode
    except subprocess.TimeoutExpired:
        status, said = None, ""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()
    return status, said


def unit(program, test, seconds):
    """How the one test ends: "passes", or what it does instead. Wrong: it was not run."""
    status, said = run([program], seconds, FGPU_ONE_TEST=test)
    if status is None:
        return "does not end"
    if f"[ RUN      ] {test}" not in said:
        raise Wrong(f"{program.name} does not run {test}: {said[-500:]}")
    if status == 0:
        return "passes"
    return f"ends by {signal.Signals(-status).name}" if status < 0 else "fails"


def integration(fgpu, place, test, seconds):
    status, said = run(["/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{place}::{test}"],
                       seconds, FGPU_BIN=str(fgpu))
    if status not in (None, 0, 1):
        raise Wrong(f"pytest does not run {test}: {said[-500:]}")
    return "does not end" if status is None else "passes" if status == 0 else "fails"


def copy_tree(name, texts):
    """A copy of all tracked files, with these changed: tests in Go read manifests where they lie."""
    to = OUT / name
    shutil.rmtree(to, ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True, capture_output=True).stdout
    for file in filter(None, files.split("\0")):
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        if file in texts:
            (to / file).write_text(texts[file])
            (to / file).chmod((ROOT / file).stat().st_mode)
        elif (ROOT / file).exists():
            shutil.copy2(ROOT / file, to / file, follow_symlinks=False)
    return to


GO = 'exec go test -trimpath -count=1 -timeout 10m -v -run "^$1\\$"'
NRI = "v0.12.3"


def cached(*what):
    """Where the binaries of the real control plane are."""
    return subprocess.run([ROOT / "scripts/control-plane", *what], check=True, text=True, capture_output=True).stdout.split()[-1]


def go_test(command, where, test, seconds, **env):
    status, said = run(["bash", "-c", ". scripts/lib.sh && use_go && " + command, "go", test], seconds, where, **env)
    for line, how in (("PASS", "passes"), ("FAIL", "fails")):
        if f"--- {line}: {test} " in said:
            return how
    if status is None:
        return "does not end"
    raise Wrong(f"{test} is not run: {said[-1000:]}")


def go(tree, module, test, seconds):
    """A test that reads what is shipped, in a copy of the tree."""
    return go_test(f"cd {module} && {GO}", tree, test, seconds, FGPU_BIN=str(ROOT / "build/dev/fgpu"),
                   FGPU_CONTROL_PLANE=cached(), FGPU_CONTROLLERS=cached("--controllers"))


def nri(agent, test, seconds):
    """fgpu-node beside the newest NRI that needs no tags (test/nri/versions)."""
    build = ROOT / "build/dev/test"
    return go_test(f"cd test/nri && {GO} -modfile=versions/{NRI}.mod -tags nri_no_wasm", ROOT, test, seconds, FGPU_NRI_VERSION=NRI,
                   FGPU_NODE=str(agent), FGPU_FAKE_NVML=str(build / "nvml/libfake_nvml.so"), FGPU_NRI_PROBE=str(build / "nri/probe/nri_probe"))


class Tests:
    """Does the named test of a bug fail with it, and pass without?"""

    def __init__(self, profile):
        self.builder = Builder(profile)
        self.unchanged = {}

    def programs(self, bug):
        """(target, how its one test ends with a given program, within so many seconds)"""
        place = place_of(bug["test"])
        if place.parent == ROOT / "test/nri":
            return "fgpu-node", lambda program, s: nri(program, bug["test"], s)
        if place.suffix == ".go":
            return "tree", lambda tree, s: go(tree, place.parent.relative_to(ROOT), bug["test"], s)
        if place.suffix == ".py":
            return "fgpu", lambda program, s: integration(program, place.relative_to(ROOT), bug["test"], s)
        target = f"test/unit/test_{place.parent.name}_{place.stem.removeprefix('test_')}"
        return target, lambda program, s: unit(program, bug["test"], s)

    def with_bug(self, bug, target):
        if target == "tree":
            return copy_tree(bug["name"], changed(bug))
        if "program" in bug:  # the test starts another program, which has the bug
            other = self.builder.program(bug["program"], bug["name"], bug)
            source = str(place_of(bug["test"]).relative_to(ROOT))
            return self.builder.program(target, bug["name"], defines={source: (bug["define"], other)})
        made = self.builder.program(target, bug["name"], bug)
        for name in ("fgpu-demo", "fgpu-node") if target == "fgpu" else ():
            beside = made.with_name(name)
            beside.unlink(missing_ok=True)
            beside.symlink_to(self.builder.build / name)
        return made

    def caught(self, bug):
        """(caught?, what happened)"""
        target, ends = self.programs(bug)
        if target not in self.unchanged:
            self.unchanged[target] = (ROOT if target == "tree" else self.builder.build / target if "/" not in target
                                      else self.builder.program(target, f"unchanged-{self.builder.build.name}-{pathlib.Path(target).name}"))
        began = time.monotonic()
        without = ends(self.unchanged[target], SECONDS_MAX)
        took = time.monotonic() - began
        if without != "passes":
            return False, f"{bug['test']} {without} without it"
        with_it = self.with_bug(bug, target)
        for _ in range(bug.get("tries", 1)):  # a race need not be met at once
            how = ends(with_it, max(SECONDS_MIN, TIMES_AS_LONG * took))
            if how != "passes":
                break
        if target == "tree":
            shutil.rmtree(with_it)
        else:
            with_it.unlink()
        return how != "passes", f"{bug['test']} {how}" + (" with it" if how == "passes" else "")
