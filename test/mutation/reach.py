"""Which lines of core and extender each unit test reaches, so that a change is judged by all tests that can notice it, and by no other.

Made once (scripts/mutants random --reach) and renewed for tests that were built since: the sources are compiled with gcov's counters beside the
build, linked into the unit tests, and each of these is run once. It is of the sources as they were then: `stale` says which have changed."""
import concurrent.futures
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import programs

SECONDS_MAX = 300  # of one test


def hash_of(source):
    return hashlib.sha256((programs.ROOT / source).read_bytes()).hexdigest()[:16]


def object_of(folder, source):
    return folder / "objects" / (source.replace("/", "__") + ".o")


def compile_one(folder, source, argv):
    out = object_of(folder, source)
    stamp = out.with_suffix(".hash")
    now = hash_of(source)
    if out.exists() and stamp.exists() and stamp.read_text() == now:
        return
    subprocess.run([*argv, "-w", "-O0", "--coverage", "-fprofile-abs-path", "-o", str(out), "-c", str(programs.ROOT / source)],
                   check=True, cwd=programs.BUILD)
    stamp.write_text(now)


def archives(folder, commands, sources):
    """{name of an archive of the build: the one with counters} What is not asked of is in it as it is."""
    of, made = {}, {}
    for source, (_, output) in commands.items():
        target = re.match(r"CMakeFiles/(\w+)\.dir/", output)
        if target is not None and source.startswith(("src/core/", "src/extender/")):
            of.setdefault(f"lib{target.group(1)}.a", []).append(str(object_of(folder, source) if source in sources else programs.BUILD / output))
    for name, objects in of.items():
        made[name] = folder / name
        made[name].unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", str(made[name]), *objects], check=True)
    return made


def lines_of(folder, run_at):
    """{source: lines that the run has reached}, and beside it all lines that have code."""
    found = []
    for data in run_at.rglob("*.gcda"):
        notes = data.with_suffix(".gcno")
        if not notes.exists():
            notes.symlink_to(folder / "objects" / notes.name)
        found.append(data.name)
    reached, code = {}, {}
    if not found:
        return reached, code
    where = next(run_at.rglob("*.gcda")).parent
    subprocess.run(["gcov", "--json-format", *found], cwd=where, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for text in where.glob("*.gcov.json.gz"):
        for f in json.loads(gzip.decompress(text.read_bytes()))["files"]:
            path = pathlib.Path(f["file"])
            if path.is_relative_to(programs.ROOT / "src") and path.suffix == ".c":
                source = str(path.relative_to(programs.ROOT))
                reached.setdefault(source, set()).update(x["line_number"] for x in f["lines"] if x["count"] > 0)
                code.setdefault(source, set()).update(x["line_number"] for x in f["lines"])
    return reached, code


class Reach:
    def __init__(self, folder):
        self.folder = folder / "reach"
        self.at = self.folder / "reach.json"
        self.known = json.loads(self.at.read_text()) if self.at.exists() else {"programs": {}, "code": {}, "hash": {}}
        self.lines = {}

    def make(self, all_programs, commands, sources, jobs, say):
        (self.folder / "objects").mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda s: compile_one(self.folder, s, commands[s][0]), sources))
        with_counters = archives(self.folder, commands, set(sources))
        hashes = {s: hash_of(s) for s in sources}
        changed = {s for s in sources if self.known["hash"].get(s) != hashes[s]}
        due = [p for p in all_programs if changed & set(p.sources)
               or self.known["programs"].get(p.name, {}).get("own") != p.own_hash()]
        for p in due:
            self.known["programs"].pop(p.name, None)
        self.known["hash"] = hashes
        say(f"running {len(due)} unit tests with counters")

        def look(p):
            to, run_at = self.folder / p.name, self.folder / f"run-{p.name}"
            argv = [str(with_counters.get(a, a)) for a in p.link]
            r = subprocess.run([*argv, "--coverage", "-o", str(to)], cwd=programs.BUILD, capture_output=True, text=True)
            if r.returncode != 0:
                raise programs.Failed(f"{p.name} does not link with counters: {r.stderr[-500:]}")
            shutil.rmtree(run_at, ignore_errors=True)
            passed = programs.run([str(to)], SECONDS_MAX, SECONDS_MAX, more={"GCOV_PREFIX": str(run_at)})
            reached, code = lines_of(self.folder, run_at)
            say(f"{p.name}: {sum(len(n) for n in reached.values())} lines")
            shutil.rmtree(run_at, ignore_errors=True)
            to.unlink()
            return p, passed, reached, code

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for p, passed, reached, code in pool.map(look, due):
                if not passed:
                    say(f"{p.name} fails with counters; what it reached counts all the same")
                self.known["programs"][p.name] = {"own": p.own_hash(),
                                                  "lines": {s: sorted(n) for s, n in reached.items() if n}}
                self.known["code"].update({s: sorted(n) for s, n in code.items()})
                self.at.write_text(json.dumps(self.known))
        self.lines = {}

    def is_of(self, source):
        """Is it known of the source as it is now?"""
        return self.known["hash"].get(source) == hash_of(source)

    def reaches(self, program, source, first, last):
        """Does the program reach one of these lines, or else the statement that they go on with?"""
        key = program, source
        if key not in self.lines:
            self.lines[key] = set(self.known["programs"].get(program, {}).get("lines", {}).get(source, ()))
        code = [n for n in self.known["code"].get(source, ()) if n <= last]
        begin = max((n for n in code if n <= first), default=first)
        return any(n in self.lines[key] for n in code if n >= begin)

    def nobody(self, sources):
        """(source, line) that has code and that no program reaches."""
        for source in sources:
            reached = set()
            for p in self.known["programs"].values():
                reached.update(p["lines"].get(source, ()))
            for n in self.known["code"].get(source, ()):
                if n not in reached:
                    yield source, n
