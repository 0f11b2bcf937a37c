"""Tests bench/beside_open_spiel, with little work."""

import json
import pathlib
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest


class BesideOpenSpiel(CliTest):
    def test_both_programs_train_the_same_network_and_the_file_has_the_ratios(self):
        installed = SOURCE / "build/open_spiel/bin/python"
        python = installed if installed.exists() else pathlib.Path(sys.executable)
        needed = "import open_spiel, jax, flax, optax, chex, orbax.checkpoint"
        if subprocess.run([python, "-c", needed], capture_output=True).returncode != 0:
            self.skipTest(f"{python} has no open_spiel, or not what its AlphaZero needs")
        file = self.folder / "results.json"
        result = subprocess.run(
            [sys.executable, SOURCE / "bench/beside_open_spiel", "--json", file, "--tandem", TANDEM,
             "--python", python, "--simulations", "2", "--seconds", "3", "--rounds", "1", "--actors", "1",
             "--set", "train.iterations_per_update=4"],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        content = json.loads(file.read_text())
        self.assertEqual(content["settings"]["parameters"], {"open_spiel": 429320, "tandem": 429320})
        self.assertEqual([each["what"] for each in content["results"]], ["generation", "end to end"])
        for each in content["results"]:
            self.assertGreater(each["open_spiel"], 0)
            self.assertAlmostEqual(each["ratio"], each["tandem"] / each["open_spiel"])


if __name__ == "__main__":
    unittest.main()
