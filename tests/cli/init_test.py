"""Tests `tandem init`: configs to start from."""

import json
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
            unwrapped = " ".join(line.strip(" #") for line in starter.splitlines())
            for key in keys:
                if key["try_first"]:
                    self.assertIn(key["meaning"], unwrapped)
                    self.assertRegex(starter, rf"(?m)^  {key['key'].split('.')[1]}: ")
            self.assertLessEqual(max(map(len, starter.splitlines())), 80)

    def test_takes_its_values_from_the_nearest_config(self):
        for puzzle, size, max_scramble, method in [("npuzzle:5", 5, 100, "astar"),
                                                   ("cube2_htm", None, 20, "astar"),
                                                   ("lights_out", 7, 22, "beam")]:
            shown = self.shown(self.write("starter.yaml", self.run_tandem("init", puzzle)[0]))
            self.assertEqual(shown["domain"].get("size"), size)
            self.assertEqual(shown["generate"]["max_scramble"], max_scramble)
            self.assertEqual(shown["search"]["method"], method)
            self.assertEqual(shown["optimizer"]["schedule"], "linear")
        self.assertIn("with the settings of cube2.yaml",
                      " ".join(self.run_tandem("init", "cube2_htm")[0].split("\n# ")))

    def test_the_config_trains(self):
        for number, puzzle in enumerate(("cube3", "npuzzle:4", "sokoban")):
            _, log = self.run_tandem("init", puzzle, "--out", f"{number}.yaml")
            self.assertEqual(log, f"next: tandem train {number}.yaml\n")
            self.run_tandem("train", f"{number}.yaml", "--out", f"run{number}", *IN_SMALL)

    def test_keeps_a_file_that_exists(self):
        self.write("mine.yaml", "seed: 5\n")
        _, error = self.run_tandem("init", "cube3", "--out", "mine.yaml", code=2)
        self.assertIn("--out mine.yaml: the file exists and may have your changes; choose another "
                      "name, or remove it", error)
        self.assertEqual((self.folder / "mine.yaml").read_text(), "seed: 5\n")

    def test_an_unknown_puzzle_is_bad_input(self):
        self.assertIn("did you mean 'cube3'?", self.run_tandem("init", "cub3", code=2)[1])
        self.assertIn("expected a whole number from 3 to 7",
                      self.run_tandem("init", "npuzzle:9", code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
