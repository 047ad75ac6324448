"""test/packing/mutants.py: every change can be made. Whether tests notice them, scripts/mutants says, which takes long."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test/packing"))

from mutants import MUTANTS  # noqa: E402


class Mutants(unittest.TestCase):
    def test_each_change__its_text_is_there_once_and_becomes_another(self):
        for file, rows in MUTANTS.items():
            text = (ROOT / file).read_text()
            for what, old, new in rows:
                self.assertEqual((text.count(old), old != new), (1, True), f"{file}: {what}: {old!r}")

    def test_all__have_a_description_of_their_own(self):
        for file, rows in MUTANTS.items():
            self.assertEqual(len({what for what, _, _ in rows}), len(rows), file)


if __name__ == "__main__":
    unittest.main()
