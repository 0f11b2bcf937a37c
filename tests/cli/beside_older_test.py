"""Tests bench/beside_older, with little work and this program in place of the older one."""

import json
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest

SMALL = """\
domain: {name: cube3, input: pieces}
network: {width: 16, blocks: 1, norm: layer}
train: {batch_size: 100, iterations_per_update: 5, max_updates: 20}
"""


class BesideOlder(CliTest):
    def test_both_programs_train_and_search_and_the_file_has_the_ratios(self):
        older = self.folder / "older"
        (older / "build/release").mkdir(parents=True)
        (older / "build/release/tandem").symlink_to(TANDEM.resolve())
        (older / "configs").mkdir()
        (older / "configs/quickstart.yaml").write_text(SMALL)
        file = self.folder / "results.json"
        result = subprocess.run(
            [sys.executable, SOURCE / "bench/beside_older", "--older", older, "--json", file, "--tandem",
             TANDEM, "--seconds", "60", "--beam", "16", "--rounds", "1", "--set", "network.width=16",
             "--set", "train.batch_size=100", "--set", "train.iterations_per_update=5", "--set",
             "train.max_updates=20"],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        results = json.loads(file.read_text())["results"]
        self.assertEqual([each["net"] for each in results],
                         ["train quickstart", "train the older quickstart", "beam nodes", "beam cubes"])
        for each in results:
            self.assertGreater(each["tandem"], 0)
            self.assertAlmostEqual(each["ratio"], each["tandem"] / each["older"])


if __name__ == "__main__":
    unittest.main()
