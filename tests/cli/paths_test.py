"""Tests that runs can be used from any folder, and that the files of puzzles may move."""

import json
import os
import sys
import unittest

from harness import SMALL, CliTest

RULES = "goal: [1, 2, 3, 4]\ngenerators: {L: \"(0 3 2 1)\", X: \"(0 1)\"}\n"
CONFIG = """\
domain: {name: permutation, file: my.yaml}
network: {width: 16, blocks: 1}
generate: {max_scramble: 5}
train: {batch_size: 50, iterations_per_update: 4, max_updates: 2}
validation: {file: held.jsonl}
"""


class Paths(CliTest):
    def setUp(self):
        super().setUp()
        self.write("my.yaml", RULES)
        self.write("config.yaml", CONFIG)
        self.write("held.jsonl", '{"id": 0, "state": "2 1 3 4", "optimal": 1}\n')
        self.write("states.txt", "2 1 3 4\n")
        self.run_tandem("train", "config.yaml", "--out", "run")

    def elsewhere(self, *args, code=0):
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        self.home, self.folder = self.folder, other
        try:
            return self.run_tandem(*args, code=code)
        finally:
            self.folder = self.home

    def test_a_run_can_be_used_from_another_folder(self):
        self.elsewhere("solve", "--model", "../run", "--states", "../states.txt")
        self.elsewhere("train", "--resume", "../run", "--set", "train.max_updates=3")

    def test_the_file_of_a_puzzle_may_move(self):
        moved = self.folder / "moved.yaml"
        os.rename(self.folder / "my.yaml", moved)
        solve = ("solve", "--model", "run", "--states", "states.txt")
        self.assertIn("my.yaml cannot be read", self.run_tandem(*solve, code=2)[1])
        self.run_tandem(*solve, "--set", f"domain.file={moved}")
        moved.write_text(RULES.replace("(0 1)", "(1 2)"))
        self.assertIn(f"made for permutation:{self.folder / 'my.yaml'}, expected permutation:",
                      self.run_tandem(*solve, "--set", f"domain.file={moved}", code=2)[1])


class ShippedFiles(CliTest):
    def domain_of(self, config):
        return json.loads(self.run_tandem("config", config, "--json")[0])["domain"]["name"]

    def test_what_comes_with_tandem_is_named_without_folder_and_ending(self):
        self.assertEqual(self.domain_of("puzzle8"), "npuzzle")
        self.write("config.yaml", "domain: {name: npuzzle, size: 3}\n" + SMALL)
        self.run_tandem("train", "config.yaml", "--out", "run")
        self.assertIn("4 of 4", self.run_tandem("solve", "--model", "run", "--states", "puzzle8_solved",
                                                "--limit", 4)[1])

    def test_a_file_of_ones_own_comes_first(self):
        self.write("puzzle8", "domain: {name: cube2}\n")
        self.assertEqual(self.domain_of("puzzle8"), "cube2")

    def test_an_unknown_name_is_said_as_it_was_written(self):
        self.assertIn("puzzle88", self.run_tandem("config", "puzzle88", code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
