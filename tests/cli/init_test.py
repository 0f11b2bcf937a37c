"""Tests `tandem init`: configs to start from."""

import json
import os
import subprocess
import sys
import unittest

from harness import CliTest

IN_SMALL = ["--set", "train.max_updates=1", "--set", "train.iterations_per_update=3", "--set",
            "train.batch_size=50", "--set", "network.width=32", "--set", "validation.states=10"]


class Init(CliTest):
    def shown(self, config):
        return json.loads(self.run_tandem("config", config, "--json")[0])

    def test_every_puzzle_gets_a_config_with_every_key_to_try_first(self):
        keys = json.loads(self.run_tandem("config", "--reference", "--json")[0])
        puzzles = json.loads(self.run_tandem("domains", "--json")[0])
        for puzzle in (each["name"] for each in puzzles):
            starter, _ = self.run_tandem("init", puzzle)
            shown = self.shown(self.write("starter.yaml", starter))
            self.assertEqual(shown["domain"]["name"], puzzle)
            unwrapped = " ".join(starter.replace("#", "").split())
            for key in keys:
                if key["try_first"]:
                    self.assertIn(" ".join(key["meaning"].split()), unwrapped)
                    self.assertRegex(starter, rf"(?m)^  {key['key'].split('.')[1]}: ")
            self.assertLessEqual(max(map(len, starter.splitlines())), 80)

    def test_takes_its_values_from_the_nearest_config(self):
        for puzzle, argument, key, value, config in [
                ("npuzzle", {"size": 4}, "generate.max_scramble", 120, "puzzle15"),
                ("npuzzle:6", {"size": 6}, "generate.max_scramble", 220, "puzzle35"),
                ("lights_out:9", {"size": 9}, "network.head", "policy", "lights_out7"),
                ("cube3", {"input": "pieces"}, "search.ball_radius", 6, "quickstart"),
                ("cube3:stickers", {"input": "stickers"}, "search.ball_radius", 6, "quickstart"),
                ("cube2_htm", {"input": "pieces"}, "search.method", "astar", "cube2_htm"),
                ("permutation:megaminx:pieces", {"file": "megaminx", "input": "pieces"}, "generate.max_scramble", 40,
                 "megaminx"),
                ("sokoban:8", {"size": 8}, "generate.target", "retrograde", "sokoban")]:
            with self.subTest(puzzle=puzzle):
                starter = self.run_tandem("init", puzzle)[0]
                shown = self.shown(self.write("starter.yaml", starter))
                section, name = key.split(".")
                self.assertEqual(shown["domain"], {"name": puzzle.split(":")[0], **argument})
                self.assertEqual(shown[section][name], value)
                self.assertIn(f"with the settings of {config}.yaml", " ".join(starter.split("\n# ")))

    def test_a_puzzle_that_no_config_is_for_gets_no_ball(self):
        self.write("swap.yaml", "goal: [0, 1, 2]\ngenerators: {a: (0 1), b: (1 2)}\n")
        starter = self.run_tandem("init", f"permutation:{self.folder}/swap.yaml")[0]
        self.assertIn("with the settings of quickstart.yaml", " ".join(starter.split("\n# ")))
        self.assertEqual(self.shown(self.write("starter.yaml", starter))["search"]["ball_radius"], 0)

    def test_the_config_trains(self):
        for number, puzzle in enumerate(("cube3", "npuzzle:4", "sokoban", "tic_tac_toe")):
            _, log = self.run_tandem("init", puzzle, "--out", f"{number}.yaml")
            self.assertEqual(log, f"next: tandem train {number}.yaml\n")
            self.run_tandem("train", f"{number}.yaml", "--out", f"run{number}", *IN_SMALL)

    def test_the_next_command_can_be_pasted_into_a_shell(self):
        _, log = self.run_tandem("init", "cube3", "--out", "my cube's.yaml")
        self.assertEqual(log, "next: tandem train 'my cube'\\''s.yaml'\n")

    def test_keeps_a_file_that_exists(self):
        self.write("mine.yaml", "seed: 5\n")
        _, error = self.run_tandem("init", "cube3", "--out", "mine.yaml", code=2)
        self.assertIn("--out mine.yaml: the file exists and may have your changes; choose another "
                      "name, or remove it", error)
        self.assertEqual((self.folder / "mine.yaml").read_text(), "seed: 5\n")

    def test_writes_into_a_pipe(self):
        os.mkfifo(self.folder / "pipe")
        reader = subprocess.Popen(["cat", self.folder / "pipe"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(reader.kill)
        _, log = self.run_tandem("init", "cube3", "--out", "pipe")
        self.assertIn("name: cube3", reader.communicate()[0])
        self.assertEqual(log, "")

    def test_an_unknown_puzzle_is_bad_input(self):
        self.assertIn("did you mean 'cube3'?", self.run_tandem("init", "cub3", code=2)[1])
        self.assertIn("expected a whole number from 2 to 7, or sides that differ: 3x5",
                      self.run_tandem("init", "npuzzle:9", code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
