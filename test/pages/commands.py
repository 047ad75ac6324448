"""The command lines of the pages for people: README.md, and all of manifests/ and config/.

A command is a line of an indented or fenced block, or a span in the text (`kubectl get pods`), that begins with one of PROGRAMS.
Each is exactly one of these (plan):
  local     runs against the program itself (test/integration/test_pages.py)
  cluster   runs on a real control plane (test/e2e/pages)
  both      makes files that lines of both kinds read
  mention   a program with the name of one of its commands and nothing else, as `helm uninstall`: that command must exist
  object    is YAML of a Kubernetes object: applied on the real control plane, as its reader does
  cannot    is in CANNOT_RUN (page_tables.py), with the reason
Anything else is an error. Blocks that hold no commands must be YAML, or stand in NOT_COMMANDS.

    commands.py            every command, and what it is
    commands.py --cluster  JSON for test/e2e/pages: pages in their order, each with its commands
"""
import functools
import json
import pathlib
import re
import subprocess
import sys

import yaml

import page_tables as tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKES_FILES = re.compile(r"(fgpu signing-key|openssl genpkey|manifests/mtls/certificates\.sh|cp|mkdir|chmod|cat) ")


def pages():
    return [ROOT / "README.md", *sorted(ROOT.glob("manifests/**/*.md")), *sorted(ROOT.glob("config/**/*.md"))]


def name_of(page):
    return str(page.relative_to(ROOT))


def parts(text):
    """The parts of a page in their order: (None, prose), or (info, [lines]) of a block. An indented block follows an empty line."""
    found, prose = [], []
    lines = text.splitlines()
    i = 0

    def block(info, body):
        found.append((None, "\n".join(prose)))
        prose.clear()
        found.append((info, undented(body)))

    while i < len(lines):
        line = lines[i]
        i += 1
        if m := re.match(r"\s*```(\w*)", line):
            body = []
            while not re.match(r"\s*```", lines[i]):
                body.append(lines[i])
                i += 1
            block(m[1], body)
            i += 1
        elif re.match(r" {4}", line) and (i == 1 or not lines[i - 2].strip()):
            body = [line]
            while i < len(lines) and (re.match(r" {4}", lines[i]) or not lines[i].strip()):
                body.append(lines[i])
                i += 1
            while not body[-1].strip():
                body.pop()
            block("", body)
        else:
            prose.append(line)
    return [*found, (None, "\n".join(prose))]


def undented(lines):
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[indent:] for line in lines]


def begins_with_a_program(line):
    words = line.split()
    return bool(words) and (words[0] in tables.PROGRAMS or re.fullmatch(r"scripts/[\w-]+", words[0]) is not None)


@functools.cache
def complete(text):
    """Whether a shell would read no further line: quotes and here-documents are closed, and no backslash is at the end."""
    here = re.search(r"<<-?'?(\w+)'?", text)
    if here and not re.search(rf"^{here[1]}$", text, re.M):
        return False
    return not text.endswith("\\") and subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode == 0


def statements(lines):
    """The lines of a block as a shell reads them, comments apart."""
    found, text = [], ""
    for line in lines:
        if not text and (not line.strip() or line.startswith("#")):
            continue
        text += line
        if complete(text):
            found.append(re.sub(r"\s+# .*$", "", text) if "\n" not in text else text)
            text = ""
        else:
            text += "\n"
    return found + ([text] if text else [])


def normal(text):
    """One line, single blanks: so CANNOT_RUN and its like name a command."""
    return " ".join(text.replace("\\\n", " ").split())


def spans(prose):
    """The code spans of a text; a `|` in a table is written `\\|`."""
    return [normal(s).replace("\\|", "|") for p in re.split(r"\n\s*\n", prose) for s in re.findall(r"`([^`]+)`", p)]


def commands_of(page):
    """[(text as a shell reads it, whether it is in a block)] in the order of the page."""
    found = []
    for info, content in parts(page.read_text()):
        if info is None:
            found += [(s, False) for s in spans(content) if begins_with_a_program(s) and len(s.split()) > 1 and s not in tables.NOT_COMMANDS]
        elif is_commands(info, content):
            found += [(s, True) for s in statements(content)]
        elif is_object("\n".join(content)):
            found.append(("\n".join(content), True))
    return found


def is_object(text):
    """Whether it is YAML of an object that an API server keeps."""
    first = re.match(r"apiVersion: (\S+)\nkind: ", text)
    return bool(first) and not first[1].startswith(("fgpu.io/", "kubescheduler.", "kustomize."))


def is_commands(info, lines):
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return info not in ("yaml", "text") and begins_with_a_program(first) and first not in tables.NOT_COMMANDS


def wrong_blocks(page):
    """Blocks of which nobody knows what they are, and commands that hide in a block of another kind."""
    for info, lines in parts(page.read_text()):
        if info is None:
            continue
        if is_commands(info, lines):
            yield from (f"no program that is known: {s}" for s in statements(lines) if not begins_with_a_program(s))
            continue
        if info == "text" or lines[0] in tables.NOT_COMMANDS:
            continue
        yield from (f"a command in a block that is none: {line}" for line in lines if begins_with_a_program(line))
        try:
            if isinstance(yaml.safe_load("\n".join(lines)), (dict, list)):
                continue
        except yaml.YAMLError:
            pass
        yield f"neither commands nor YAML, and not in NOT_COMMANDS: {lines[0]}"


def kind_of(text, in_block):
    if is_object(text):
        return "object"
    text = normal(text)
    words = text.split()
    program = words[0].removeprefix("build/release/")
    if text in tables.CANNOT_RUN:
        return "cannot"
    if text == "kubectl fgpu" and not in_block:
        return "mention"
    if text.startswith("kubectl fgpu"):
        return "local"
    if not in_block and len(words) == 2 and re.fullmatch(r"[a-z][a-z-]*", words[1]) and program in ("fgpu", "fgpu-demo", "kubectl", "helm"):
        return "mention"
    if program in ("fgpu-node", "fgpu-demo") or text.startswith("fgpu serve"):
        return "mention"
    if MAKES_FILES.match(text):
        return "both"
    if program in ("kubectl", "helm"):
        return "cluster"
    if program in ("fgpu", "curl", "openssl", "source", "date"):
        return "local"
    return "unknown"


def plan():
    """[(page, text, kind)] of every command of every page."""
    return [(name_of(p), text, kind_of(text, in_block)) for p in pages() for text, in_block in commands_of(p)]


def filled(text, place):
    """The command with a value for each placeholder. `place` is "local" or "cluster"."""
    for pattern, value in tables.PLACEHOLDERS[place]:
        text = re.sub(pattern, value, text, flags=re.M)
    return text


def short(text, kind):
    """The name of a command in page_tables.py."""
    return normal(text) if kind != "object" else " ".join(text.split()[:6])


def in_order(page):
    place = -len(tables.FIRST) + tables.FIRST.index(page) if page in tables.FIRST else 1 if page in tables.LAST else 0
    return place, page


def for_cluster():
    """What test/e2e/pages runs."""
    out = []
    everything = plan()
    for page in sorted({p for p, _, _ in everything}, key=in_order):
        lines = []
        for _, text, kind in (x for x in everything if x[0] == page):
            name = short(text, kind)
            before, after = tables.AROUND.get(name, ("", ""))
            if kind == "object":
                lines.append({"text": name, "run": f"kubectl apply -f - <<'END'\n{filled(text, 'cluster')}\nEND", "before": before, "after": after})
            elif kind in ("cluster", "both"):
                lines.append({"text": name, "run": filled(text, "cluster"), "before": before, "after": after})
            elif kind == "mention" and text.split()[0] in ("kubectl", "helm"):
                lines.append({"text": name, "run": f"{name} --help", "before": "", "after": ""})
        if any(line["run"].split()[0] in ("kubectl", "helm") for line in lines):
            out.append({"page": page, "lines": lines})
    return out


if __name__ == "__main__":
    if sys.argv[1:] == ["--cluster"]:
        print(json.dumps(for_cluster(), indent=1))
    else:
        for page, text, kind in plan():
            print(f"{kind:8} {page}: {normal(text)}")
