"""Tests tandem.deepxube: problems and results come back, and a file that would run code is refused."""

import contextlib
import io
import json
import os
import pickle
import sys
import unittest
from unittest import mock

import numpy as np

import tandem
from small_run import FolderTest
from tandem import deepxube


class Files(FolderTest):
    def run_command(self, *words):
        with mock.patch.object(sys, "argv", ["deepxube", *map(str, words)]), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as printed:
            try:
                deepxube.main()
            except SystemExit as ended:
                return ended.code, printed.getvalue()
        return 0, ""

    def test_states_and_solutions_come_back(self):
        for name in ["cube3", "npuzzle:3", "lights_out:3", "sokoban:10"]:
            domain = tandem.Domain(name)
            states = domain.scramble(3, [1, 2, 5], seed=2)
            lines = [{"id": i, "state": domain.format(state)} for i, state in enumerate(states)]
            given, made, back = (self.folder / file for file in ("given.jsonl", "made.pkl", "back.jsonl"))
            given.write_text("".join(json.dumps(line) + "\n" for line in lines))
            with self.subTest(name):
                self.assertEqual(self.run_command("write", given, "--domain", name, "--out", made), (0, ""))
                self.assertEqual(self.run_command("read", made, "--domain", name, "--out", back), (0, ""))
                self.assertEqual([json.loads(line) for line in back.read_text().splitlines()], lines)

    def test_results_have_what_deepxube_writes(self):
        cube = tandem.Domain("cube3")
        state = cube.play(cube.goals()[0], "R U'")
        solved = {"state": cube.format(state), "solved": True, "moves": "U R'", "cost": 2.0, "expanded": 4, "nodes": 9,
                  "seconds": 0.5}
        lines = [solved, solved | {"solved": False, "moves": None, "cost": None}]
        path = self.folder / "results.pkl"
        path.write_bytes(deepxube.pickled(deepxube.Puzzle("cube3"), lines))
        with open(path, "rb") as file:
            data = deepxube.Reader(file).load()
        self.assertEqual([each.action for each in data["actions"][0]], [1, 6])  # U1 and R-1
        self.assertEqual(data["states_on_path"][0][-1].colors.tolist(), [i // 9 for i in range(54)])
        self.assertEqual((data["solved"], data["path_costs"], data["itrs/sec"]), ([True, False], [2, np.inf], [8, 8]))
        read = deepxube.read(path, deepxube.Puzzle("cube3"))
        self.assertEqual([line.get("solution") for line in read], ["U R'", None])
        self.assertNotIn("deepxube.domains", sys.modules)

    def test_refuses_code_other_goals_and_other_files(self):
        puzzle = deepxube.Puzzle("npuzzle:3")
        path = self.folder / "bad.pkl"

        class Code:
            def __reduce__(self):
                return os.system, ("touch /tmp/never",)

        for content, message in [(pickle.dumps({"states": Code()}), "it holds posix.system"),
                                 (pickle.dumps([1]), "expected the keys states and goals"),
                                 (b"no pickle", "not a file of DeepXube's problems"),
                                 (pickle.dumps({"states": [None], "goals": [None]}), "problem 0 is not one of npuzzle:3")]:
            path.write_bytes(content)
            with self.subTest(message), self.assertRaisesRegex(ValueError, f"bad.pkl: .*{message}"):
                deepxube.read(path, puzzle)
        path.write_bytes(deepxube.pickled(deepxube.Puzzle("npuzzle:4"), [{"state": " ".join(map(str, range(16)))}]))
        code, printed = self.run_command("read", path, "--domain", "npuzzle:3", "--out", self.folder / "out")
        self.assertEqual(code, 2)
        self.assertIn("problem 0 is not one of npuzzle:3", printed)
        for text, message in [('{"state": "1 2"}\n{', "lines.jsonl:2: "), ('{"id": 1}', "1: expected the key state"),
                              ('{"state": "1 2", "solved": false}', "1: expected the key cost")]:
            (self.folder / "lines.jsonl").write_text(text)
            code, printed = self.run_command("write", self.folder / "lines.jsonl", "--domain", "npuzzle:3", "--out",
                                             self.folder / "out")
            self.assertEqual(code, 2)
            self.assertIn(message, printed)
        for name in ["hanoi", "npuzzle:3x5", "sokoban:9"]:
            self.assertEqual(self.run_command("read", path, "--domain", name, "--out", self.folder / "out")[0], 2)


if __name__ == "__main__":
    unittest.main()
