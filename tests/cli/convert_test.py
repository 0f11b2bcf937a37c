"""Tests `tandem convert`: cubes in the formats of DeepCubeA and DeepXube."""

import importlib.util
import json
import random
import sys
import unittest

from harness import AFTER_R, SOLVED, SOURCE, CliTest

# The turns of their simulators: a clockwise quarter turn moves the sticker at each position of a
# cycle to the next. Derived from DeepCubeA's environments/cube3.py; DeepXube's turns are the same.
THEIR_TURNS = {
    "U": [(0, 2, 8, 6), (1, 5, 7, 3), (20, 38, 29, 47), (23, 41, 32, 50), (26, 44, 35, 53)],
    "D": [(9, 11, 17, 15), (10, 14, 16, 12), (18, 45, 27, 36), (21, 48, 30, 39), (24, 51, 33, 42)],
    "L": [(0, 45, 9, 44), (1, 46, 10, 43), (2, 47, 11, 42), (18, 20, 26, 24), (19, 23, 25, 21)],
    "R": [(6, 38, 15, 51), (7, 37, 16, 52), (8, 36, 17, 53), (27, 29, 35, 33), (28, 32, 34, 30)],
    "B": [(2, 18, 15, 35), (5, 19, 12, 34), (8, 20, 9, 33), (36, 38, 44, 42), (37, 41, 43, 39)],
    "F": [(0, 29, 17, 24), (3, 28, 14, 25), (6, 27, 11, 26), (45, 47, 53, 51), (46, 50, 52, 48)],
}
MOVES = [face + back for face in THEIR_TURNS for back in ("", "'")]


def theirs_after(moves, state=range(54)):
    """Returns the sticker numbers after these moves, in their simulator."""
    state = list(state)
    for move in moves:
        before = list(state)
        for cycle in THEIR_TURNS[move[0]]:
            for a, b in zip(cycle, cycle[1:] + cycle[:1]):
                if move.endswith("'"):
                    a, b = b, a
                state[b] = before[a]
    return state


def text_of(numbers):
    return " ".join(map(str, numbers))


def scrambles():
    """Yields each single move, and longer sequences."""
    rng = random.Random(7)
    return [[move] for move in MOVES] + [rng.choices(MOVES, k=30) for _ in range(8)]


class Convert(CliTest):
    def convert(self, *args):
        return self.run_tandem("convert", *args)[0].rstrip("\n")

    def convert_lines(self, lines, *args):
        states = self.write("states.txt", "\n".join(lines) + "\n")
        return self.convert("--states", states, *args).splitlines()

    def test_scrambles_agree_with_the_other_simulators(self):
        ours, theirs = [], []
        for moves in scrambles():
            ours.append(self.run_tandem("apply", "cube3", "--state", SOLVED, "--moves",
                                        " ".join(moves))[0].strip())
            theirs.append(theirs_after(moves))
        stickers = [text_of(state) for state in theirs]
        colours = [text_of(sticker // 9 for sticker in state) for state in theirs]
        for form, lines in [("deepcubea", stickers), ("deepxube", colours)]:
            self.assertEqual(self.convert_lines(ours, "--to", form), lines)
            self.assertEqual(self.convert_lines(lines, "--from", form), ours)
        self.assertEqual(self.convert_lines(stickers, "--from", "deepcubea", "--to", "deepxube"),
                         colours)
        self.assertEqual(self.convert_lines(colours, "--from", "deepxube", "--to", "deepcubea"),
                         stickers)

    def test_converts_known_states(self):
        self.assertEqual(self.convert(SOLVED, "--to", "deepcubea"), text_of(range(54)))
        self.assertEqual(self.convert(text_of(i // 9 for i in range(54)), "--from", "deepxube"),
                         SOLVED)
        self.assertEqual(self.convert(text_of(theirs_after(["R"])), "--from", "deepcubea"), AFTER_R)

    def test_published_states_survive_a_round_trip(self):
        published = SOURCE / "data" / "cube3_ten.jsonl"
        before = [json.loads(line) for line in published.read_text().splitlines()]
        for form in ("deepcubea", "deepxube"):
            self.assertEqual(self.convert("--states", published, "--to", form, "--out", form), "")
            self.convert("--states", form, "--from", form, "--out", "ours")
            after = [json.loads(line)
                     for line in (self.folder / "ours").read_text().splitlines()]
            self.assertEqual(after, before)

    def test_reads_arrays_of_numbers(self):
        lines = [json.dumps({"id": 3, "state": theirs_after(["R"])})]
        self.assertEqual(self.convert_lines(lines, "--from", "deepcubea"),
                         [f'{{"id":3,"state":"{AFTER_R}"}}'])

    def test_errors_name_what_was_expected(self):
        swapped = [1, 0, *range(2, 54)]
        exchanged = [i // 9 for i in range(54)]
        exchanged[0], exchanged[9] = exchanged[9], exchanged[0]
        facelets = f"{SOLVED[:6]}D{SOLVED[7:33]}U{SOLVED[34:]}"
        for state, form, message in [
                ("0 1 2", "deepcubea", "expected 54 numbers separated by spaces, found 3"),
                ("6 " * 54, "deepxube", "number 1 is '6', expected a whole number from 0 to 5"),
                ("0 " * 54, "deepxube", "colour U is on 54 facelets, expected 9"),
                (text_of(swapped), "deepcubea",
                 "number 1 is sticker 1, but the colours of its piece are those of sticker 0"),
                (text_of(exchanged), "deepxube",
                 "the corner at UFL, facelets 7 19 39, shows D F L: on a real cube these colours go "
                 "the other way round; are two of them exchanged? (the facelets are those of the "
                 f"state in Tandem's notation, {facelets})"),
                ("UUU", "facelets", "a cube has 54 facelets, found 3"),
        ]:
            args = ["--from", form]
            self.assertIn(message, self.run_tandem("convert", state, *args, code=2)[1])
            self.write("states.txt", f"\n# two\n  \n {state} \r\n")
            error = self.run_tandem("convert", "--states", "states.txt", *args, "--out", "new",
                                    code=2)[1]
            self.assertIn(f"tandem: states.txt:4: {message}", error)
            self.assertFalse((self.folder / "new").exists())

    def test_does_not_replace_the_states(self):
        states = self.write("states.txt", SOLVED + "\n")
        _, error = self.run_tandem("convert", "--to", "deepxube", "--states", states, "--out",
                                   "states.txt", code=2)
        self.assertIn("--out states.txt: this is the file of the states; choose another file", error)
        self.assertEqual(states.read_text(), SOLVED + "\n")

    def test_names_lines_without_a_valid_state(self):
        for line in ('{"id": 1}', '{"state": 5}', '{"state": "'):
            self.write("states.txt", SOLVED + "\n" + line)
            self.assertIn("states.txt:2: expected a JSON object",
                          self.run_tandem("convert", "--states", "states.txt", code=2)[1])
        self.write("states.txt", "# none\n")
        self.assertIn("states.txt: no state found",
                      self.run_tandem("convert", "--states", "states.txt", code=2)[1])
        for args, found in ([], "neither"), ([SOLVED, "--states", "states.txt"], "both"):
            self.assertIn(f"expected a state or --states FILE, found {found}",
                          self.run_tandem("convert", *args, code=2)[1])


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
