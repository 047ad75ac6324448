"""scripts/check-unused-symbols on a tree of two modules and a test, made for it: that it passes here says something only if it can fail."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts/check-unused-symbols"
loader = importlib.machinery.SourceFileLoader("check_unused_symbols", str(SCRIPT))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(check)

FILES = {
    "include/a/a.h": "int a_shared(void); int a_tested(void); int a_alone(void); extern int a_number;",
    "src/a/a.c": "int a_shared(void) { return 1; } int a_tested(void) { return 2; } static int mine(void) { return 3; }"
                 "int a_own(void) { return mine(); }",
    "src/b/b.c": "int a_shared(void); int main(void) { return a_shared(); }",
    "src/b/m.pb-c.c": "int m__pack_to_buffer(void) { return 4; }",
    "test/unit/a/test_a.c": "int a_tested(void); int test(void) { return a_tested(); }",
}
OBJECTS = {
    "src/a/a.c": "CMakeFiles/a.dir/src/a/a.c.o",
    "src/b/b.c": "CMakeFiles/b.dir/src/b/b.c.o",
    "src/b/m.pb-c.c": "CMakeFiles/b.dir/src/b/m.pb-c.c.o",
    "test/unit/a/test_a.c": "test/unit/CMakeFiles/test_a.dir/a/test_a.c.o",
}


class CheckUnusedSymbols(unittest.TestCase):
    def run_check(self, changed=(), accepted=(), arguments=(), gone=()):
        """Returns the exit code and what was printed."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**FILES, **dict(changed)}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            for source, made in OBJECTS.items():
                target = root / "build/dev" / made
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cc", "-c", root / source, "-o", target], check=True)
            for name in gone:
                (root / name).unlink()
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = check.main(root, list(arguments), accepted)
            return code, said.getvalue()

    OWN = ("src/a/a.c", "int a_shared(void) { return 1; } int a_tested(void) { return 2; }")

    def test_only_its_own_file_uses_it__named_with_the_file(self):
        code, said = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("src/a/a.c: a_own\n", said)
        self.assertNotIn("mine", said)
        self.assertNotIn("a_shared", said)
        self.assertNotIn("main", said)
        self.assertNotIn("m__pack_to_buffer", said)

    def test_data_that_nobody_uses__named(self):
        code, said = self.run_check([("src/a/a.c", self.OWN[1] + " int a_number = 3;")])
        self.assertEqual(code, 1)
        self.assertIn("src/a/a.c: a_number\n", said)

    def test_all_are_used__passes(self):
        code, said = self.run_check([self.OWN])
        self.assertEqual(code, 0, said)
        self.assertNotIn("a_tested", said)

    def test_only_a_test_uses_it__listed_on_request(self):
        code, said = self.run_check([self.OWN], arguments=["--tests"])
        self.assertEqual(code, 0, said)
        self.assertIn("src/a/a.c: a_tested\n", said)

    def test_only_a_test_uses_it_and_no_header_declares_it__wrong(self):
        code, said = self.run_check([self.OWN, ("include/a/a.h", "int a_shared(void);")])
        self.assertEqual(code, 1)
        self.assertIn("src/a/a.c: a_tested\n", said)

    def test_two_sources_define_it__named_with_both(self):
        code, said = self.run_check([self.OWN, ("src/b/b.c", FILES["src/b/b.c"] + " int a_tested(void) { return 5; }")])
        self.assertEqual(code, 1)
        self.assertIn("a_tested: src/a/a.c and src/b/b.c\n", said)

    def test_object_of_a_source_that_has_gone__uses_nothing(self):
        code, said = self.run_check([self.OWN], gone=["src/b/b.c"])
        self.assertEqual(code, 1)
        self.assertIn("src/a/a.c: a_shared\n", said)

    def test_accepted__passes_until_it_is_used(self):
        self.assertEqual(self.run_check(accepted=["a_own"])[0], 0)
        code, said = self.run_check([self.OWN], accepted=["a_own"])
        self.assertEqual(code, 1)
        self.assertIn("take them out of ACCEPTED:\n    a_own", said)

    def test_nothing_was_built__fails(self):
        self.assertEqual(self.run_check(arguments=["/nonexistent"])[0], 1)


unittest.main()
