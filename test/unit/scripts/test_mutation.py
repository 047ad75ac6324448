"""test/mutation: which changes are made of a source. Whether tests notice them, `scripts/mutants random` says, which takes long."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test/mutation"))

import changes  # noqa: E402
import sample  # noqa: E402

SOURCE = """
#define LIMIT 7
static const char text[] = "a < b";
static bool is_small(const struct x *a, int n)
{
    /* n < 3 */
    BUG_ON(a == NULL || n > 9);
    if (n < 3 && a->k) {
        LOG_INFO(a->log, "small", n + 1);
        return true;
    }
    for (int i = 0; i < n; i++) {
        a->sum += (int64_t)-i;
        count(a, "x");
    }
    return a->sum == LIMIT;
}
static int other(void)
{
    int unused = 4;

    switch (unused) {
    case 2:
        leave();
        break;
    }
    (void)unused;
    return 0;
}
"""


def made(kind):
    return [(c.old, " ".join(c.new.split())) for c in changes.changes_of("x.c", SOURCE) if c.kind == kind]


class Changes(unittest.TestCase):
    def test_each_kind__is_made_where_it_means_something(self):
        self.assertEqual(made("sign"), [("<", "<="), ("&&", "||"), ("<", "<="), ("+=", "-="), ("==", "!=")])
        self.assertEqual(made("condition"), [("(n < 3 && a->k)", "(!(n < 3 && a->k))")])
        self.assertEqual(made("statement"), [('a->sum += (int64_t)-i', ""), ('count(a, "x")', ""), ("leave()", "")])
        self.assertEqual(made("result"), [("true", "false"), ("a->sum == LIMIT", "!(a->sum == LIMIT)"), ("0", "-1")])
        self.assertEqual(made("constant"), [("3", "4"), ("3", "2"), ("0", "1"), ("4", "5"), ("4", "3"), ("2", "3"), ("2", "1"), ("0", "1")])

    def test_none__by_its_form__and_no_other(self):
        rows = [("int x = a->n < b ? a->n : b;", "<", "<=", True), ("int x = a[i + 1].n > f(b, c) ? f(b, c) : a[i + 1].n;", ">", ">=", True),
                ("int x = a < b ? b : a;", "<", "<=", True), ("return a - b < c ? a - b : c;", "<", "<=", True), ("int x = a < b ? a : c;", "<", "<=", False),
                ("int x = a > b ? a - b : 0;", ">", ">=", True), ("int x = a > b ? a - c : 0;", ">", ">=", False),
                ("int x = a > b ? a - b : 1;", ">", ">=", False), ("int x = a < b ? a : b + 1;", "<", "<=", False), ("int x = c + (a < b ? a : b);", "<", "<=", True), ("if (a < b) { x = a; }", "<", "<=", False),
                ("x = xcalloc(1, sizeof(*x));", "1", "2", True), ("x = xcalloc(1, sizeof(*x));", "1", "0", False),
                ("x = ARENA_ARRAY(a, n / 64 + 1, int);", "1", "2", True), ("x = ARENA_ARRAY(a, n / 64 + 1, int);", "64", "65", False),
                ("x = xmalloc(n - 1);", "1", "2", False), ("x = xmalloc(f(1) + n);", "1", "2", False), ("x = f(1, n);", "1", "2", False)]
        for line, old, new, is_none in rows:
            text = f"int f(void)\n{{\n    {line}\n}}\n"
            found = [c for c in changes.changes_of("x.c", text) if (c.old, c.new) == (old, new)]
            self.assertEqual([changes.why_equivalent(c, text) is not None for c in found], [is_none], line)

    def test_all_sources__each_change_is_one_and_leaves_the_lines_where_they_are(self):
        for path in ["src/core", "src/extender"]:
            for file in sample.sources_of([path]):
                text = (ROOT / file).read_text()
                for c in changes.changes_of(file, text):
                    changed = c.apply(text)
                    self.assertNotEqual(changed, text, c)
                    self.assertEqual(changed.count("\n"), text.count("\n"), c)

    def test_what_nobody_can_notice__is_a_change_that_is_made(self):
        texts, lines = {}, {}
        for (file, function, line, old, new), why in sample.Accepted().rows.items():
            self.assertTrue(why, file)
            if file not in texts:
                texts[file] = (ROOT / file).read_text()
                lines[file] = {
                    (changes.function_at(texts[file], c.at), sample.line_of(texts[file], c)[1], sample.one_line(c.old), sample.one_line(c.new))
                    for c in changes.changes_of(file, texts[file])
                }
            self.assertIn((function, line, old, new), lines[file], f"{file}, {function}(): no such line any more: correct test/mutation/equivalent.txt")


if __name__ == "__main__":
    unittest.main()
