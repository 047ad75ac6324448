"""Small changes of a C source that a test should notice, found by its tokens.

Only bodies of functions are changed, a token or a statement at a time, and never the lines' numbers. Left alone is what no test is meant to
see: the arguments of BUG, BUG_ON and LOG_*, and what stands in preprocessor lines."""
import dataclasses
import functools
import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)[uUlLfF]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
""", re.X | re.S | re.M)

EXCHANGED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
             "+=": "-=", "-=": "+="}
SILENT = re.compile(r"BUG|BUG_ON|LOG_[A-Z0-9_]+|(STATIC|static)_assert|_Static_assert")
# Behind these a statement begins; so it does behind the ")" of if, for, while, and behind a label.
OPENERS = {"{", "}", ";", "else", "do"}
NO_CALL = {"return", "if", "for", "while", "switch", "do", "else", "case", "default", "goto", "break", "continue", "sizeof", "struct",
           "enum", "union", "static", "const", "unsigned", "signed", "_Atomic", "typedef"}


@dataclasses.dataclass(frozen=True)
class Change:
    file: str
    at: int  # offset in the file
    old: str
    new: str
    kind: str

    def apply(self, text):
        assert text[self.at:self.at + len(self.old)] == self.old
        return text[:self.at] + self.new + text[self.at + len(self.old):]


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    at: int
    match: int = -1  # of a bracket: the token of the other one


def tokens_of(text):
    tokens, open_ = [], []
    for m in TOKEN.finditer(text):
        if m.lastgroup == "skip":
            continue
        t = Token(m.lastgroup, m.group(), m.start())
        if t.text in "([{" and t.kind == "sign":
            open_.append(len(tokens))
        elif t.text in ")]}" and t.kind == "sign":
            other = open_.pop()
            t.match, tokens[other].match = other, len(tokens)
        tokens.append(t)
    assert not open_
    return tokens


def bodies_of(tokens):
    """(first token, last token, does it return bool) of each function's body, brackets left out."""
    depth, i, begin = 0, 0, 0
    while i < len(tokens):
        t = tokens[i]
        if t.text == "{" and t.kind == "sign":
            if tokens[i - 1].text == ")":
                yield i + 1, t.match - 1, any(x.text == "bool" for x in tokens[begin:tokens[i - 1].match])
            i = begin = t.match + 1
            continue
        if t.text in ";" and depth == 0:
            begin = i + 1
        i += 1


@functools.lru_cache
def functions_of(text):
    """(offset of the first token of its body, of the last, name) of each function."""
    tokens = tokens_of(text)
    return [(tokens[first].at, tokens[last].at, tokens[tokens[first - 2].match - 1].text) for first, last, _ in bodies_of(tokens)]


def function_at(text, at):
    return next((name for begin, end, name in functions_of(text) if begin <= at <= end), "")


def silent_in(tokens, first, last):
    """The tokens that no test is meant to see."""
    silent = set()
    for i in range(first, last):
        if tokens[i].kind == "word" and SILENT.fullmatch(tokens[i].text) and tokens[i + 1].text == "(":
            silent.update(range(i, tokens[i + 1].match + 1))
    return silent


def is_binary(tokens, i):
    before = tokens[i - 1]
    return before.kind in ("number", "text") or before.text in (")", "]") or \
        (before.kind == "word" and before.text not in ("return", "case", "else"))


def is_cast(tokens, i):
    """Does ")" end a cast, so that a sign behind it has one operand?"""
    inner = tokens[tokens[i].match + 1:i]
    return tokens[i].text == ")" and all(x.kind == "word" or x.text == "*" for x in inner) and \
        bool(re.search(r"_t$|^(int|unsigned|double|size_t|char|long)$", inner[-1].text if inner else ""))


def numbers(text):
    m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", text)
    if m is None:
        return []
    value = int(m.group(1), 0) if not re.fullmatch(r"0\d+", m.group(1)) else int(m.group(1), 8)
    return [f"{v}{m.group(2)}" for v in (value + 1, value - 1) if v >= 0]


def statement_begins(tokens, i):
    before = tokens[i - 1]
    if before.text in OPENERS:
        return True
    if before.text == ":" and tokens[i - 2].text != "?":
        return tokens[i - 3].text == "case" or tokens[i - 2].text == "default"
    return before.text == ")" and before.match > 0 and tokens[before.match - 1].text in ("if", "for", "while", "switch") and \
        tokens[before.match - 2].text != "}"


def end_of_statement(tokens, i, last):
    """Its ";"; None: what begins here is the last part of a for."""
    while i <= last and tokens[i].text != ";":
        if tokens[i].text in (")", "}"):
            return None
        i = tokens[i].match + 1 if tokens[i].text in ("(", "[", "{") else i + 1
    return i if i <= last else None


def is_expression(tokens, i, end):
    """A call or an assignment, and no declaration."""
    first = tokens[i]
    if first.text == "(" and tokens[i + 1].text == "void":
        return end > i + 4  # "(void)x" does nothing
    if first.text == "*" or first.text in ("++", "--"):
        return True
    if first.kind != "word" or first.text in NO_CALL:
        return False
    return i + 1 <= end and tokens[i + 1].text in ("(", ".", "->", "[", "=", "+=", "-=", "|=", "&=", "^=", "++", "--", "*=", "/=", "<<=", ">>=")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def changes_of(file, text):
    """Of one source, in the order of the text."""
    tokens = tokens_of(text)
    for first, last, is_bool in bodies_of(tokens):
        silent = silent_in(tokens, first, last)
        for i in range(first, last + 1):
            t = tokens[i]
            if i in silent:
                continue
            if t.text in EXCHANGED and is_binary(tokens, i) and not is_cast(tokens, i - 1):
                yield Change(file, t.at, t.text, EXCHANGED[t.text], "sign")
            if t.kind == "number":
                for new in numbers(t.text):
                    yield Change(file, t.at, t.text, new, "constant")
            if t.text in ("if", "while") and tokens[i + 1].text == "(":
                a, b = tokens[i + 1], tokens[tokens[i + 1].match]
                inner = text[a.at:b.at + 1]
                signs = {x.text for x in tokens[i + 2:tokens[i + 1].match]}
                if signs & {"==", "!="} and not signs & {"&&", "||"}:
                    continue  # the same as another sign
                yield Change(file, a.at, inner, f"(!{inner})", "condition")
            if t.text == "return" and tokens[i + 1].text != ";":
                yield from return_of(file, text, tokens, i, last, is_bool)
            if statement_begins(tokens, i):
                end = end_of_statement(tokens, i, last)
                if end is not None and is_expression(tokens, i, end):
                    old = text[t.at:tokens[end].at]
                    yield Change(file, t.at, old, blank(old), "statement")


def return_of(file, text, tokens, i, last, is_bool):
    end = end_of_statement(tokens, i + 1, last)
    assert end is not None
    at = tokens[i + 1].at
    old = text[at:tokens[end].at]
    if old in ("true", "false"):
        yield Change(file, at, old, "false" if old == "true" else "true", "result")
    elif is_bool:
        yield Change(file, at, old, f"!({old})", "result")
    elif old == "0" or re.fullmatch(r"-ERR_\w+", old):
        yield Change(file, at, old, "-1" if old == "0" else "0", "result")


# ---- changes that are none ----

OPERAND_SIGNS = {".", "->", "+", "-", "*", "/", "%", ")", "]", "(", "["}
MEMORY = {"xmalloc", "xcalloc", "xreallocarray", "arena_alloc", "arena_calloc", "ARENA_ARRAY"}


def is_operand(token):
    return token.kind in ("word", "number") and token.text != "return" or token.text in OPERAND_SIGNS


def operand(tokens, i, step):
    """The texts of what stands at `i` and goes on that way."""
    found = []
    while is_operand(tokens[i]):
        last = tokens[i].match if tokens[i].text in ("(", "[", ")", "]") else i
        if (last - i) * step < 0:
            break  # the bracket is of something larger
        found += [t.text for t in tokens[min(i, last):max(i, last) + 1]][::step]
        i = last + step
    return found[::step], i


def chooses_one_of_both(tokens, i):
    """x < y ? x : y, or x > y ? x - y : 0, whatever the sign and the order: where they are equal either is the same."""
    left, _ = operand(tokens, i - 1, -1)
    right, at = operand(tokens, i + 1, 1)
    if tokens[at].text != "?":
        return False
    first, at = operand(tokens, at + 1, 1)
    if tokens[at].text != ":":
        return False
    second, at = operand(tokens, at + 1, 1)
    same = [(left, right), (right, left)]
    for difference in (left + ["-"] + right, right + ["-"] + left):
        same += [(difference, ["0"]), (["0"], difference)]
    return tokens[at].text in (";", ",", ")", "}") and (first, second) in same


def asks_for_more_memory(tokens, i):
    """A number of elements, or what is added to it."""
    opened, at = i, i
    while at >= 0 and tokens[at].text not in (";", "{", "}"):
        if tokens[at].text == ")":
            at = tokens[at].match
        elif tokens[at].text == "(":
            opened = at
            break
        at -= 1
    return opened != i and tokens[opened - 1].text in MEMORY and tokens[i - 1].text in ("(", ",", "+") and tokens[i + 1].text in (",", ")")


def why_equivalent(change, text):
    """Of some changes their form tells that no test can notice them; None: it does not."""
    tokens = tokens_of(text)
    i = next(k for k, t in enumerate(tokens) if t.at == change.at)
    if change.kind == "sign" and change.old in ("<", "<=", ">", ">="):
        same = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[change.old] == change.new
        return "where both are equal either is the same" if same and chooses_one_of_both(tokens, i) else None
    grows = change.kind == "constant" and [int(x.rstrip("uUlL"), 0) for x in (change.old, change.new)]
    return "more memory than is needed" if grows and grows[1] > grows[0] and asks_for_more_memory(tokens, i) else None
