"""Tests bench/overlap, with little work."""

import json
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest


class Overlap(CliTest):
    def test_a_puzzle_is_chosen_and_both_modes_are_compared(self):
        file = self.folder / "overlap.json"
        result = subprocess.run(
            [sys.executable, SOURCE / "bench/overlap", "--json", file, "--tandem", TANDEM, "--seeds", "1",
             "--set", "train.max_updates=2", "--set", "train.batch_size=40"],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        [row] = json.loads(file.read_text())["results"]
        self.assertIn(f"{row['net']}: generating ", result.stdout)
        self.assertGreater(row["tandem"], 0)
        self.assertAlmostEqual(row["share_of_ideal"], row["tandem"] / row["ideal"])
        self.assertTrue(row["weights_equal"])


if __name__ == "__main__":
    unittest.main()
