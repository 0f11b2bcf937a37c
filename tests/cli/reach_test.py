"""Tests scripts/reach: the benchmarks of docs/results.md, with little training."""

import argparse
import importlib.util
import json
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest, load_script

SCRIPT = SOURCE / "scripts" / "reach"


def least_moves(pegs, goal=2):
    """The fewest moves that bring a tower of discs, smallest first, to one peg."""
    if not pegs:
        return 0
    *smaller, largest = pegs
    if largest == goal:
        return least_moves(smaller, goal)
    return least_moves(smaller, 3 - largest - goal) + 2 ** len(smaller)


class Reach(CliTest):
    def reach(self, *args, code=0):
        result = subprocess.run([sys.executable, SCRIPT, "--tandem", TANDEM, *map(str, args)],
                                capture_output=True, text=True, timeout=300, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_trains_evaluates_and_prints_the_rows(self):
        out = self.folder / "out"
        printed = self.reach("lights_out5", "--out", out, "--seconds-scale", 0.9, "--limit", 4,
                             "--set", "train.max_updates=40", "--untrained", "--curves", "--set", "network.width=16", "--set",
                             "train.threads=1")
        self.assertIn("thresholds are not judged", printed)
        result = json.loads((out / "lights_out5.json").read_text())
        self.assertEqual(result["trained"]["states"], 4)
        self.assertEqual(result["trained"]["with_optimal"], 4)
        self.assertEqual(result["untrained"]["name"], "untrained")
        self.assertGreater(result["examples"], 0)
        curve = json.loads((out / "lights_out5.curve.json").read_text())
        names = [network["name"] for network in curve["networks"]]
        self.assertEqual(names[0], "untrained")
        # The last network has the name of a kept one if it was kept.
        self.assertRegex(names[-1], r"^last$|/checkpoint-\d+0\.safetensors$")
        self.assertIn("<svg", (out / "lights_out5.svg").read_text())
        self.assertEqual(json.loads((out / "lights_out5.settings.json").read_text())[:3],
                         ["train.max_updates=40", "network.width=16", "train.threads=1"])
        table = self.reach("--table", *sorted(out.glob("*.json")))  # which are not all results
        self.assertEqual([line.split(" | ")[0] for line in table.splitlines()],
                         ["| benchmark", "| ---", "| lights_out5", "| lights_out5, untrained"])
        self.assertIn(table, printed)

    def test_missing_states_are_an_error_before_training(self):
        (self.folder / "empty").mkdir()
        printed = self.reach("puzzle15", "--states", self.folder / "empty", "--out", "out", code=1)
        self.assertIn(f"puzzle15: no {self.folder}/empty/puzzle15.jsonl. Expected JSON lines", printed)
        self.assertIn("failed: puzzle15", printed)
        self.assertFalse((self.folder / "out" / "puzzle15").exists())

    def test_a_run_that_was_stopped_is_not_evaluated(self):
        run = self.folder / "out" / "lights_out5"
        run.mkdir(parents=True)
        (run / "summary.json").write_text('{"ended_by": "stopped"}')
        self.assertIn("the run was stopped before its end. Continue it with `tandem train --resume",
                      self.reach("lights_out5", "--out", "out", code=1))

    def test_a_run_with_other_settings_is_not_evaluated(self):
        run = self.folder / "out" / "lights_out5"
        run.mkdir(parents=True)
        (run / "summary.json").write_text('{"ended_by": "max_seconds"}')
        run.with_name("lights_out5.settings.json").write_text('["train.max_seconds=12"]')
        printed = self.reach("lights_out5", "--out", "out", code=1)
        self.assertIn("was trained with other settings. Expected: none. Found: train.max_seconds=12.", printed)

    def test_an_unknown_benchmark_is_an_error_that_names_all(self):
        self.assertIn("unknown benchmark puzzle16; expected some of cube3, ",
                      self.reach("puzzle16", code=2))

    def test_every_benchmark_has_a_config_with_a_time(self):
        listed = self.reach("--list").splitlines()
        script = load_script("reach")
        self.assertEqual(len(listed), len(script.BENCHMARKS) + len(script.COMPARISONS))

    def test_set_changes_the_time_of_a_benchmark(self):
        script = load_script("reach")
        benchmark = script.BENCHMARKS["hanoi"]
        arguments = argparse.Namespace(tandem=TANDEM, set=[])
        usual = script.seconds_of(benchmark, arguments)
        self.assertGreater(usual, 0)
        arguments.set = [f"train.max_seconds={usual + 7}"]
        self.assertEqual(script.seconds_of(benchmark, arguments), usual + 7)

    def test_a_ball_of_all_states_gives_the_optimal_lengths(self):
        out = self.folder / "out"
        self.reach("hanoi", "--out", out, "--limit", 3, "--set", "train.max_updates=20", "--set",
                   "network.width=16", "--set", "train.threads=1")
        for line in (out / "hanoi.states.jsonl").read_text().splitlines():
            state = json.loads(line)
            self.assertEqual(state["optimal"], least_moves([int(p) for p in state["state"].split()]))

    def test_a_threshold_that_was_missed_is_said(self):
        script = load_script("reach")
        benchmark = script.BENCHMARKS["puzzle15"]
        figures = {"states": 100, "solved": 100, "optimal": 97, "mean_s": 0.5}
        self.assertEqual([each.is_met(figures) for each in benchmark.thresholds], [False, True])
        figures["optimal"] = 98
        self.assertEqual([each.is_met(figures) for each in benchmark.thresholds], [True, True])


class PlainAStar(unittest.TestCase):
    LEVEL = "#######\n#  .  #\n# $   #\n# @   #\n#######"

    def test_weight_1_finds_a_shortest_solution_and_less_weight_expands_fewer_states(self):
        solve = load_script("reach").solve_sokoban
        length, generated = solve(self.LEVEL, 20_000, 1)
        self.assertEqual(length, 4)  # up, around the box, and right
        longer, fewer = solve(self.LEVEL, 20_000, 0.1)
        self.assertGreaterEqual(longer, length)
        self.assertLess(fewer, generated)

    def test_a_limit_on_states_ends_the_search(self):
        self.assertIsNone(load_script("reach").solve_sokoban(self.LEVEL, 3, 1)[0])


class States(unittest.TestCase):
    def test_optimal_presses_are_those_of_an_exhaustive_search(self):
        script = load_script("reach")
        size = 4  # has quiet patterns, and few enough states to search them all
        presses = {0: 0}
        level = [0]
        while level:
            found = []
            for lit in level:
                for cell in range(size * size):
                    child = lit ^ script.pressed(size, cell)
                    if child not in presses:
                        presses[child] = presses[lit] + 1
                        found.append(child)
            level = found
        for state in script.lights_out_states(None, size=size, count=50):
            lit = sum(int(bit) << cell for cell, bit in enumerate(state["state"].split()))
            self.assertEqual(state["optimal"], presses[lit])

    def test_plain_search_solves_a_level_with_the_fewest_moves(self):
        script = load_script("reach")
        level = "######\n#@   #\n# $  #\n#   .#\n######"
        # By hand: right, push down, then left and down to the other side of the box, and two pushes
        # to the right.
        self.assertEqual(script.solve_sokoban("#####\n#@$.#\n#####", 100, 1)[0], 1)
        self.assertEqual(script.solve_sokoban("#######\n#@ $ .#\n#######", 100, 1)[0], 3)
        length, generated = script.solve_sokoban(level, 1000, 1)
        self.assertEqual(length, 6)
        self.assertGreater(generated, length)
        self.assertIsNone(script.solve_sokoban(level, 3, 1)[0])
        self.assertIsNone(script.solve_sokoban("#####\n#$@.#\n#####", 100, 1)[0])


if __name__ == "__main__":
    unittest.main()
