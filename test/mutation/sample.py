"""scripts/mutants random [--seed N] [--count N] [--seconds S] [--least PERCENT] [--again] [--reach] [--tests SECONDS] [--jobs N] [PATH...]

Makes random changes of src/core (without strategies and forecast, which have a table of their own) and src/extender, or of PATH..., one at a
time: another sign or constant, a condition the other way round, a statement or a result left out. Each is compiled, and linked into the
unit tests of the dev build that have the file, which run until one fails: the nearest first, and --tests seconds of them (0: all). Says
of each what noticed it, and in the end how many were noticed. A PATH may have a line: src/core/ledger/grant.c:124.

--reach runs each unit test once with gcov's counters, which takes about ten minutes of CPU and is kept. From then on a change is judged by all
tests that reach its line, and by no other; --unreached lists the lines that none reaches. Without that --tests is 20.

A change whose object code is that of the original is none; nor is one that asks for more memory, or that chooses the other one of two that
are equal (why_equivalent in test/mutation/changes.py). A change that no test can notice for another reason is a line of
test/mutation/equivalent.txt. What was found out is kept in build/mutants: the same command goes on where it ended. --again looks
again at changes that nobody noticed. Exit code 1: fewer than --least of 100 were noticed, or something else is wrong."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

import changes
import programs
import reach

ROOT = programs.ROOT
KEPT = ROOT / "build/mutants"
LEFT_OUT = ("src/core/forecast/", "src/core/placement/strategies/")
ARENA = "src/base/arena.c"
JUDGED_MIN = 10  # however slow the machine is
SLOW_S = 4  # unit tests that take longer come last, where their name says nothing of the file


def say(text):
    print(text, flush=True)


def sources_of(paths):
    found = set()
    for path in paths:
        at = (ROOT / path.split(":")[0]).resolve()
        found.update(at.rglob("*.c") if at.is_dir() else [at])
    names = sorted(str(f.relative_to(ROOT)) for f in found)
    return [n for n in names if not n.startswith(LEFT_OUT)] if len(names) > 1 else names


def lines_asked(paths):
    """{source: lines that changes are asked of}"""
    asked = {}
    for path in paths:
        name, colon, line = path.partition(":")
        if colon:
            asked.setdefault(name, set()).add(int(line))
    return asked


def one_line(text):
    return " ".join(text.split())


def line_of(text, change):
    """(its number, what stands there)"""
    begin, end = text.rfind("\n", 0, change.at) + 1, (text + "\n").find("\n", change.at)
    return text.count("\n", 0, change.at) + 1, one_line(text[begin:end])


class Accepted:
    """test/mutation/equivalent.txt"""

    def __init__(self):
        self.rows = {}
        for line in (ROOT / "test/mutation/equivalent.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                file, function, where, old, new, why = (part.strip() for part in line.split(" ## "))
                self.rows[file, function, where, old, new] = why

    def why(self, change, text, line):
        return changes.why_equivalent(change, text) or self.rows.get((change.file, changes.function_at(text, change.at), line, one_line(change.old), one_line(change.new)))


class Judge:
    def __init__(self, jobs, tests_s):
        self.tests_s, self.reach = tests_s, reach.Reach(KEPT)
        self.programs, self.commands = programs.load(KEPT, jobs, say)
        self.lock = threading.Lock()
        self.originals = {}  # object code, by file
        self.kills = collections.Counter()  # (folder, program)
        # With the sanitizer an arena gives each object memory of its own, so that reading behind one is noticed.
        self.arena = self.compile(ARENA, (ROOT / ARENA).read_text(), KEPT, "-O1", *programs.SANITIZE, name="arena.o")

    def compile(self, file, text, folder, *flags, name="changed.o"):
        """The object, with the same names in it whatever the text; None."""
        at = folder / pathlib.Path(file).name
        at.write_text(text)
        argv, _ = self.commands[file]
        out = folder / name
        r = subprocess.run([*argv, "-w", "-g0", *flags, "-o", out.name, "-c", at.name, f"-iquote{(ROOT / file).parent}"], cwd=folder,
                           capture_output=True)
        return out if r.returncode == 0 else None

    def candidates(self, change, text):
        """The programs that may notice it, and for how many seconds they may run."""
        of_file = [p for p in self.programs if change.file in p.sources and p.is_sound is not False]
        if not self.reach.is_of(change.file):
            return of_file, 20 if self.tests_s is None else self.tests_s
        first, last = (text.count("\n", 0, at) + 1 for at in (change.at, change.at + len(change.old)))
        return [p for p in of_file if self.reach.reaches(p.name, change.file, first, last)], self.tests_s

    def in_order(self, change, text):
        """First those that are named like it, then who noticed most beside it, then the quick ones."""
        file = change.file
        words = set(re.split(r"[_/.]", file.removeprefix("src/").removesuffix(".c")))
        folder = str(pathlib.Path(file).parent)

        def key(p):
            common = len(words & set(p.name.split("_")))
            return (p.seconds > SLOW_S and common == 0, -common * 3 - self.kills[file, p.name] * 2 - min(self.kills[folder, p.name], 5) + p.seconds, p.name)
        found, seconds = self.candidates(change, text)
        left = seconds or math.inf
        for i, p in enumerate(sorted(found, key=key)):
            left -= p.seconds
            if left >= 0 or i == 0:
                yield p

    def passes(self, p, changed, folder):
        return p.passes([str(changed), *([str(self.arena)] if p.with_arena else [])], folder / "changed")

    def is_sound(self, p, file, text, folder):
        """Does the program pass without any change, in the same way? It may have to be another way then, see with_arena."""
        if p.is_sound is None:
            as_it_is = self.compile(file, text, folder, "-O1", *programs.SANITIZE, name="as_it_is.o")
            p.is_sound = self.passes(p, as_it_is, folder)
            if not p.is_sound:
                p.with_arena = False
                p.is_sound = self.passes(p, as_it_is, folder)
            if not p.is_sound:
                say(f"{p.name} fails without any change: left out")
        return p.is_sound

    def notices(self, p, changed, file, text, folder):
        with_arena = p.with_arena
        if self.passes(p, changed, folder) or not self.is_sound(p, file, text, folder):
            return False
        return p.with_arena == with_arena or not self.passes(p, changed, folder)

    def judge(self, change, folder):
        """(result, who noticed it)"""
        text = (ROOT / change.file).read_text()
        with self.lock:
            known = self.originals.get(change.file)
        if known is None:
            known = self.compile(change.file, text, folder, "-O2").read_bytes()
            with self.lock:
                self.originals[change.file] = known
        changed = self.compile(change.file, change.apply(text), folder, "-O2")
        if changed is None:
            return "broken", ""
        if changed.read_bytes() == known:
            return "same", ""
        changed = self.compile(change.file, change.apply(text), folder, "-O1", *programs.SANITIZE)
        for p in self.in_order(change, text):
            if self.notices(p, changed, change.file, text, folder):
                with self.lock:
                    self.kills[change.file, p.name] += 1
                    self.kills[str(pathlib.Path(change.file).parent), p.name] += 1
                return "noticed", p.name
        return "survived", ""


class Kept:
    """What is known of changes, a line each; the last one counts."""

    def __init__(self):
        self.at, self.known = KEPT / "results.jsonl", {}
        for line in self.at.read_text().splitlines() if self.at.exists() else []:
            row = json.loads(line)
            self.known[row["key"]] = row["result"], row["by"]

    @staticmethod
    def key(change, text):
        return hashlib.sha256(f"{change}\0{text}".encode()).hexdigest()[:16]

    def add(self, key, result):
        self.known[key] = result
        with self.at.open("a") as f:
            f.write(json.dumps({"key": key, "result": result[0], "by": result[1]}) + "\n")


def table(rows):
    """By folder: how many of each result, and what part was noticed of those that could be."""
    by = collections.defaultdict(collections.Counter)
    for change, result in rows:
        by[str(pathlib.Path(change.file).parent)][result] += 1
        by["all"][result] += 1
    say(f"{'folder':34} noticed survived equivalent does not compile   noticed of 100")
    for folder in [*sorted(set(by) - {"all"}), "all"]:
        c = by[folder]
        judged = c["noticed"] + c["survived"]
        say(f"{folder:34} {c['noticed']:7} {c['survived']:8} {c['same'] + c['equivalent']:10} {c['broken']:16} "
            f"{'' if judged == 0 else format(100 * c['noticed'] / judged, '16.0f')}")
    judged = by["all"]["noticed"] + by["all"]["survived"]
    return 100 * by["all"]["noticed"] / judged if judged else 0


def main(argv):
    parser = argparse.ArgumentParser(prog="scripts/mutants random", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="how many; 0: all there are")
    parser.add_argument("--seconds", type=int, default=0, help=f"begin none after so long, but {JUDGED_MIN} in any case; 0: no end")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--reach", action="store_true")
    parser.add_argument("--unreached", action="store_true")
    parser.add_argument("--tests", type=float, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("paths", nargs="*", default=["src/core", "src/extender"], metavar="PATH")
    o = parser.parse_args(argv)
    KEPT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        judge = Judge(o.jobs, o.tests)
    except programs.Failed as e:
        say(f"mutants: {e}")
        return 1
    accepted, kept = Accepted(), Kept()
    began_changing = time.monotonic()
    texts = {file: (ROOT / file).read_text() for file in sources_of(o.paths)}
    if o.reach:
        every = sources_of(["src/core", "src/extender"])
        judge.reach.make(judge.programs, judge.commands, every, o.jobs, say)
    if o.unreached:
        for source, line in judge.reach.nobody(texts):
            say(f"{source}:{line}: {one_line(texts[source].splitlines()[line - 1])}")
        return 0
    asked = lines_asked(o.paths)
    all_ = [c for file, text in texts.items() for c in changes.changes_of(file, text) if file not in asked or line_of(text, c)[0] in asked[file]]
    count = min(o.count or len(all_), len(all_))
    sample = random.Random(o.seed).sample(all_, count)
    say(f"{count} of {len(all_)} changes, seed {o.seed}")
    folders = [KEPT / f"worker{i}" for i in range(o.jobs)]
    for f in folders:
        f.mkdir(exist_ok=True)
    done, lock = [], threading.Lock()

    def work(c):
        key = Kept.key(c, texts[c.file])
        result = kept.known.get(key)
        if result is None or (o.again and result[0] == "survived"):
            if o.seconds and time.monotonic() - began_changing > o.seconds and len(done) >= JUDGED_MIN:
                return
            with lock:
                folder = folders.pop()
            try:
                result = judge.judge(c, folder)
            finally:
                with lock:
                    folders.append(folder)
            with lock:
                kept.add(key, result)
        number, line = line_of(texts[c.file], c)
        kind = "equivalent" if result[0] == "survived" and accepted.why(c, texts[c.file], line) else result[0]
        with lock:
            done.append((c, kind))
            what = one_line(c.new) or "nothing"
            say(f"[{len(done)}/{count}, {time.monotonic() - began:.0f} s] {c.file}:{number}: {one_line(c.old)} -> {what}: {kind}"
                f"{' by ' + result[1] if result[1] else ''}")

    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for _ in pool.map(work, sample):
            pass
    say("")
    for c, kind in sorted(done, key=lambda x: (x[0].file, x[0].at)):
        if kind == "survived":
            number, line = line_of(texts[c.file], c)
            say(f"survived: {c.file}:{number}: {one_line(c.old)} -> {one_line(c.new) or 'nothing'}\n    {line}")
    say("")
    rate = table(done)
    say(f"{len(done)} changes, seed {o.seed}, {time.monotonic() - began:.0f} s: {rate:.0f} of 100 noticed")
    return 1 if rate < o.least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
