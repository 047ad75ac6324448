"""The unit tests of the dev build as programs that can be linked with another object: which sources are in them, how long they take.

Nothing of the build is changed: a changed source is compiled beside it, and its object stands before the archives, so that the linker has no
reason to take the archive's own. That object alone has the checks of the sanitizers."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MUTANTS_BUILD", ROOT / "build/dev"))  # a copy stays as it is while others build
# What is changed, and it alone, is compiled with these: reading past an end and forgetting memory is noticed, as in the asan build.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
ENVIRONMENT = {"ASAN_OPTIONS": "handle_segv=2:hard_rss_limit_mb=6000", "UBSAN_OPTIONS": "print_stacktrace=0"}
SECONDS_MORE = 20  # that a run may take beyond four times what it takes unchanged; of CPU time, a tenth of it


class Failed(Exception):
    pass


def run(argv, cpu_s, wall_s, cwd=BUILD, more=None):
    """Did it end well? Everything it started ends with it."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    p = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True, preexec_fn=limits, env={**os.environ, **ENVIRONMENT, **(more or {})})
    try:
        rc = p.wait(wall_s)
    except subprocess.TimeoutExpired:
        rc = -1
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()
    return rc == 0


class Program:
    def __init__(self, name, link):
        self.name, self.link = name, link  # link: argv without "-o PATH"
        self.sources, self.seconds = [], 1.0
        self.is_sound = None  # does it pass with a source that is only compiled otherwise? None: not tried
        self.with_arena = True  # of the sanitizer's; False: it is too slow by that

    @property
    def path(self):
        return BUILD / "test/unit" / self.name

    def own_hash(self):
        """Of what is the test's own, not fgpu's."""
        h = hashlib.sha256()
        for a in self.link:
            if a.endswith(".o") or "libunit_support" in a:
                h.update((BUILD / a).read_bytes())
        return h.hexdigest()[:16]

    def link_with(self, objects, to, *flags):
        at = next(i for i, a in enumerate(self.link) if a.endswith(".o"))
        argv = [*self.link[:at + 1], *objects, *self.link[at + 1:], SANITIZE[0], "-s", "-o", str(to), *flags]
        return subprocess.run(argv, cwd=BUILD, capture_output=True, text=True)

    def passes(self, objects, to):
        """Not to link is to fail, too: a symbol is missing."""
        if self.link_with(objects, to).returncode != 0:
            return False
        more = self.seconds * 4
        busy = max(1, os.getloadavg()[0] / (os.cpu_count() or 1))  # others use the machine, too; CPU time is what tells an endless loop
        return run([str(to)], more + SECONDS_MORE / 10, (more + SECONDS_MORE) * busy)


def compile_commands():
    """{source: argv without its output, warnings and debugging}"""
    commands = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if not source.is_relative_to(ROOT / "src"):
            continue
        argv = [a for a in shlex.split(entry["command"]) if not re.fullmatch(r"(\S*/)?ccache|-W(?!p,|l,).*|-g\d?|-O\d|-MD", a)]
        for option in ("-o", "-c", "-MT", "-MF"):
            while option in argv:
                del argv[argv.index(option):argv.index(option) + 2]
        commands[str(source.relative_to(ROOT))] = (argv, entry["output"] if "output" in entry else entry["command"].split(" -o ")[1].split()[0])
    return commands


def links():
    said = subprocess.run(["ninja", "-t", "commands"], cwd=BUILD, check=True, capture_output=True, text=True).stdout
    for line in said.splitlines():
        m = re.search(r" -o test/unit/(test_\w+) ", line)
        if m is None or m.group(1).startswith(("test_base", "test_cmd_node", "test_node", "test_nri", "test_nvml")):
            continue
        argv = shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
        del argv[argv.index("-o"):argv.index("-o") + 2]
        yield m.group(1), [a for a in argv if a != "ccache"]


def seconds_of_tests():
    """{program: seconds}, as ctest has noted them; so many as there are."""
    costs = BUILD / "Testing/Temporary/CTestCostData.txt"
    rows = (line.split() for line in costs.read_text().splitlines()) if costs.exists() else ()
    return {f"test_{row[0].replace('/', '_')}": float(row[2]) for row in rows if len(row) == 3}


def load(folder, jobs, say):
    """All programs that have some source of core or extender, as they are now; which is kept in `folder`."""
    seconds = seconds_of_tests()
    commands = compile_commands()
    of_member = {}
    for source, (_, output) in commands.items():
        m = re.match(r"CMakeFiles/(\w+)\.dir/", output)
        if m is not None:
            of_member.setdefault((f"lib{m.group(1)}.a", pathlib.Path(output).name), []).append(source)
    kept_at = folder / "programs.json"
    kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    programs = [Program(*x) for x in links()]
    missing = [p.name for p in programs if not p.path.exists()]
    if missing:
        raise Failed(f"not built: {' '.join(missing[:3])} ...: run scripts/build dev")

    def look(p):
        stamp = p.path.stat().st_mtime_ns
        known = kept.get(p.name)
        if known is None or known["stamp"] != stamp:
            to = folder / f"look-{p.name}"
            said = p.link_with([], to, "-Wl,-t,-t").stdout
            members = re.findall(r"^\(.*?(lib\w+\.a)\)?\(?(\S+?\.o)\)?$", said, re.M)
            sources = sorted({s for m in members for s in of_member.get(m, []) if s.startswith(("src/core/", "src/extender/"))})
            to.unlink(missing_ok=True)
            known = {"stamp": stamp, "sources": sources}
        p.sources, p.seconds = known["sources"], seconds.get(p.name, p.seconds)
        return p.name, known

    new = sum(p.name not in kept or kept[p.name]["stamp"] != p.path.stat().st_mtime_ns for p in programs)
    if new:
        say(f"looking at what is in {new} unit tests")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        kept = dict(pool.map(look, programs))
    kept_at.write_text(json.dumps(kept, indent=1))
    return [p for p in programs if p.sources], commands
