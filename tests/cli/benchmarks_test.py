"""Runs Python benchmarks with little work. beside_pytorch and beside_open_spiel have tests of their own."""

import json
import os
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest
import common  # harness adds scripts/ to the path

PACKAGE = TANDEM.parent / "python"


class Benchmarks(CliTest):
    def results_of(self, name, *args, python=sys.executable):
        """Runs a benchmark and returns its results and its output. Its figures may miss their goals."""
        file = self.folder / f"{name}.json"
        result = subprocess.run([python, SOURCE / "bench" / name, *args, "--json", file], capture_output=True,
                                text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        self.assertIn(result.returncode, (0, common.MISSED), result.stdout + result.stderr)
        return json.loads(file.read_text())["results"], result.stdout

    def results_with_package(self, name, *args):
        if not PACKAGE.exists():
            self.skipTest("the Python package was not built")
        return self.results_of(name, *args, python=self.python_with_torch())

    def test_overlap_chooses_a_puzzle_and_compares_both_modes(self):
        [row], output = self.results_of("overlap", "--tandem", TANDEM, "--seeds", "1", "--set",
                                        "train.max_updates=2", "--set", "train.batch_size=40")
        self.assertIn(f"{row['net']}: generating ", output)
        self.assertGreater(row["tandem"], 0)
        self.assertAlmostEqual(row["share_of_ideal"], row["tandem"] / row["ideal"])
        self.assertTrue(row["weights_equal"])

    def test_beside_deepxube_measures_tandem_alone(self):
        [row], _ = self.results_of("beside_deepxube", "--tandem", TANDEM, "--only", "tandem", "--nets", "16H_1B_bn",
                                   "--iterations", "2", "--tandem-updates", "4", "--rounds", "1")
        self.assertGreater(row["tandem"], 0)
        self.assertIsNone(row["ratio"])

    def test_busy_neighbour_compares_a_run_with_itself_beside_another(self):
        [row], _ = self.results_of("busy_neighbour", "--tandem", TANDEM, "--norms", "layer", "--seconds", "6",
                                   "--rounds", "1", "--set", "network.width=16", "--set", "train.batch_size=50")
        self.assertAlmostEqual(row["ratio"], row["beside"] / row["alone"])

    def test_ranks_compares_two_with_one(self):
        if common.cores() < 2:
            self.skipTest("needs two cores")
        [row], _ = self.results_of("ranks", "--tandem", TANDEM, "--width", "16", "--batch-size", "50", "--seconds",
                                   "60", "--rounds", "1", "--set", "train.max_updates=5")
        self.assertGreater(row["ratio"], 0)

    def test_scale_predicts_from_what_it_measured(self):
        if common.cores() < 2:
            self.skipTest("needs two cores")
        rows, output = self.results_of("scale", "--tandem", TANDEM, "--width", "16", "--batch-size", "50", "--seconds",
                                       "60", "--rounds", "1", "--set", "train.max_updates=5")
        self.assertEqual([row["ranks"] for row in rows], [1, 2, 4])
        self.assertTrue(all(row["measured"] > 0 and row["predicted"] > 0 for row in rows), output)

    def test_rotations_searches_with_a_trained_network(self):
        run = self.train_small()
        rows, _ = self.results_with_package("rotations", run, "--limit", "1", "--beam-width", "8", "--positions", "1,2")
        self.assertEqual([(row["inverse"], row["positions"]) for row in rows],
                         [(False, 1), (False, 2), (True, 1), (True, 2)])

    def test_loop_compares_loops_of_python_with_runs(self):
        rows, _ = self.results_with_package("loop", "--updates", "3", "--rounds", "1")
        self.assertEqual([row["net"] for row in rows], ["resident", "async"])

    def test_python_puzzles_compares_numpy_with_cpp(self):
        rows, _ = self.results_with_package("python_puzzles", "--tandem", TANDEM, "--seconds", "5", "--rounds", "1")
        self.assertEqual([row["what"] for row in rows], ["walks of Lights Out", "training on pancakes"])

    def test_own_network_compares_a_module_with_the_built_in_network(self):
        rows, _ = self.results_with_package("own_network", "--width", "8", "--blocks", "1", "--batch", "20",
                                            "--repeats", "2", "--beam", "4", "--depth", "2")
        self.assertEqual([row["what"] for row in rows],
                         [f"{task}, 8H_1B_{norm}" for norm in ("layer", "batch") for task in ("train", "search")])


if __name__ == "__main__":
    unittest.main()
