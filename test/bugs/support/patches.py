"""The bugs of the bank (test/bugs/*.py, test/sim/bug_bank.py), their patches, and whether every known defect is accounted for.

A bug has a name, of (the numbers of its defects), what (is wrong), and changes: file, function or table in it ("": anywhere), a text that is there
once, and what that becomes. test: who catches it; none: the world does. For few: sanitize (the change is compiled with sanitizers, and these files
as they are), profile (another build), tries (a race that a run may miss), slow (not in the sample), program and define (the test starts that program,
whose path is the macro)."""
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
GO = ["e2e", "e2e/chart", "nri"]  # modules below test
OF_PEERS = [f"P{n}" for n in range(1, 26)]  # as the peers' defects are numbered in the bank


class Wrong(Exception):
    pass


def module(path):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def load():
    """(bugs, listed): listed are (number, reason) of those that are not put back."""
    bugs, listed = list(module(ROOT / "test/sim/bug_bank.py").BUGS), []
    for path in sorted((ROOT / "test/bugs").glob("*.py")):
        area = module(path)
        bugs += [{**bug, "area": path.stem} for bug in getattr(area, "BUGS", [])]
        listed += getattr(area, "LISTED", [])
    return bugs, listed


def numbers(bug):
    return [n.strip() for n in bug["of"].split(",")]


def definition(text, name):
    """(begin, end) of the function or table `name`; of a file that has neither: all of it, if the name is empty."""
    if name == "":
        return 0, len(text)
    found = [m for m in re.finditer(rf"^(?:[\w}}].*?[ *])?{name}(?:\[[^\n]*|\((?:[^;]*?)\)\n\{{)", text, re.M)]
    if len(found) != 1:
        raise Wrong(f"{len(found)} definitions of {name}")
    end = re.compile(r"^\};?$", re.M).search(text, found[0].end())
    return found[0].start(), end.end()


def changed(bug):
    """The changed texts by file."""
    texts = {}
    for file, function, before, after in bug["changes"]:
        text = texts.get(file) or (ROOT / file).read_text()
        try:
            begin, end = definition(text, function)
        except Wrong as e:
            raise Wrong(f"{bug['name']}: {e} in {file}") from None
        body = text[begin:end]
        if body.count(before) != 1:
            raise Wrong(f"{bug['name']}: the patch of {function or 'the text'} in {file} does not apply any more "
                        f"({body.count(before)} places)")
        texts[file] = text[:begin] + body.replace(before, after) + text[end:]
    return texts


def place_of(test):
    """The file of the test of that name."""
    if test.startswith("Test"):
        folder, wanted = ROOT / "test", rf"^func {test}\("
        files = [f for module in GO for f in sorted((folder / module).glob("*_test.go"))]
    elif test.startswith("test_"):
        folder, wanted = ROOT / "test/integration", rf"^def {test}\("
        files = sorted(folder.glob("test_*.py"))
    else:
        folder, wanted = ROOT / "test/unit", rf"^static void {test}\("
        files = sorted(folder.glob("*/test_*.c"))
    found = [f for f in files if test in (text := text_of(f)) and re.search(wanted, text, re.M)]
    if len(found) != 1:
        raise Wrong(f"{len(found)} files of {folder.relative_to(ROOT)} have the test {test}")
    return found[0]


_texts = {}


def text_of(path):
    if path not in _texts:
        _texts[path] = path.read_text()
    return _texts[path]


def rows():
    """{number: its row}"""
    return {row[1]: row[0] for row in re.finditer(r"^\| ([BKHF]\d+) \|.*$", (ROOT / "src/spec/defects.md").read_text(), re.M)}


def check(bugs, listed):
    """What is wrong with the bank, a line each."""
    wrong, row = [], rows()
    for bug in bugs:
        try:
            changed(bug)
            if "test" in bug:
                place_of(bug["test"])
        except Wrong as e:
            wrong.append(str(e))
        of = [row[n] for n in numbers(bug) if n in row]
        if "test" in bug and of and not any(f"`{bug['test']}`" in text for text in of):
            wrong.append(f"{bug['name']}: the row of {bug['of']} in src/spec/defects.md does not name {bug['test']}")
    names = [bug["name"] for bug in bugs]
    wrong += [f"two bugs are called {name}" for name in sorted(set(names)) if names.count(name) > 1]
    put_back = {n for bug in bugs for n in numbers(bug)}
    without = [n for n, _ in listed]
    known = {*row, *OF_PEERS}
    wrong += [f"{n} of src/spec/defects.md is neither put back nor listed with a reason (test/bugs)"
              for n in [*row, *OF_PEERS] if n not in put_back and n not in without]
    wrong += [f"{n} is listed as not put back, but a bug is of it" for n in without if n in put_back]
    wrong += [f"{n} is listed and no row of src/spec/defects.md" for n in without if n not in known]
    return wrong
