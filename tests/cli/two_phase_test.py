"""Checks our facelets and turns against another program's solutions of published cubes."""

import importlib.util
import json
import sys
import unittest

from harness import SOLVED, SOURCE, CliTest


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class TwoPhase(CliTest):
    """Checks our facelets and turns against an independent solver: PyPI's kociemba, 1.2.1."""

    def check(self, cube, moves):
        after = self.run_tandem("apply", "cube3_htm", "--state", cube["state"], "--moves", moves)[0]
        self.assertEqual(after.strip(), SOLVED)
        self.assertGreaterEqual(len(moves.split()) + moves.count("2"), cube["optimal"])

    def test_stored_solutions_solve_our_cubes(self):
        cubes = rows_of(SOURCE / "data" / "cube3_ten.jsonl")
        solutions = rows_of(SOURCE / "tests" / "cli" / "two_phase.jsonl")
        self.assertEqual([cube["id"] for cube in cubes], [each["id"] for each in solutions])
        turned = {move for each in solutions for move in each["moves"].split()}
        self.assertEqual(len(turned), 18)
        for cube, solution in zip(cubes, solutions):
            with self.subTest(id=cube["id"]):
                self.check(cube, solution["moves"])

    @unittest.skipUnless(importlib.util.find_spec("kociemba"), "kociemba is not installed")
    def test_new_solutions_solve_our_cubes(self):
        import kociemba
        for cube in rows_of(SOURCE / "data" / "published" / "cube3.jsonl"):
            with self.subTest(id=cube["id"]):
                self.check(cube, kociemba.solve(cube["state"]))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
