"""Tests bench/beside_pytorch, with little work."""

import json
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest


class BesidePyTorch(CliTest):
    def test_both_programs_train_and_search_and_the_file_has_the_ratios(self):
        python = self.python_with_torch()
        file = self.folder / "results.json"
        result = subprocess.run(
            [sys.executable, SOURCE / "bench/beside_pytorch", "--json", file, "--tandem", TANDEM,
             "--python", python, "--nets", "16H_1B_layer", "--batch", "100", "--seconds", "3",
             "--beam", "64", "--depth", "3", "--puzzles", "1", "--rounds", "1", "--set",
             "train.threads=1"],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        results = json.loads(file.read_text())["results"]
        self.assertEqual([each["net"] for each in results],
                         ["train 16H_1B_layer", "beam 16H_1B_layer"])
        for each in results:
            self.assertGreater(each["tandem"], 0)
            self.assertGreater(each["pytorch"], 0)
            self.assertAlmostEqual(each["ratio"], each["tandem"] / each["pytorch"])
            self.assertEqual(each["least"], 2)


if __name__ == "__main__":
    unittest.main()
