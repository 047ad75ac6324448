import random
import unittest

import paired


class Paired(unittest.TestCase):
    def test_interval__between_order_statistics(self):
        # 15 values: two beyond each end happen in 0.7 % of all cases, three in 3.5 %.
        self.assertEqual(paired.interval(range(1, 16), 0.99), (3, 13))
        self.assertEqual(paired.interval(range(1, 16), 0.95), (4, 12))

    def test_interval__too_few__none(self):
        self.assertIsNone(paired.interval(range(7)))
        self.assertEqual(paired.interval(range(8)), (0, 7))

    def test_verdict__the_machine_was_busy_in_some_pairs__the_difference_is_seen(self):
        load = [1, 5, 2, 9, 1, 3, 8, 1, 2, 4, 1]
        v = paired.verdict(load, [1.1 * x for x in load])
        self.assertEqual(v["says"], "more")
        self.assertAlmostEqual(v["median"], 1.1)

    def test_verdict__signs_are_mixed__noise(self):
        self.assertEqual(paired.verdict([1] * 12, [1.5, 0.7] * 6)["says"], "noise")

    def test_verdict__nothing_measured__says_so(self):
        self.assertEqual(paired.verdict([0, 0], [1, 1])["says"], "not measurable")

    def test_verdict__equal_builds__rarely_called_different(self):
        r = random.Random(17)
        wrong = sum(paired.verdict([r.lognormvariate(0, 0.5) for _ in range(15)], [r.lognormvariate(0, 0.5) for _ in range(15)])["says"]
                    not in ("noise",) for _ in range(2000))
        self.assertLess(wrong, 40)  # 0.7 % of 2,000 are expected


if __name__ == "__main__":
    unittest.main()
