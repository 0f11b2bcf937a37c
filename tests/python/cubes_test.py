"""Tests tandem.cubes: cubes in the formats of DeepCubeA and DeepXube."""

import json
import random
import subprocess
import sys
import unittest

import tandem
from small_run import SOURCE, FolderTest
from tandem import cubes

CUBE = tandem.Domain("cube3")
SOLVED = CUBE.format(CUBE.goals()[0])

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


class Cubes(FolderTest):
    def convert(self, *args, code=0):
        """Returns what the command prints, or its message if it fails."""
        result = subprocess.run([sys.executable, "-m", "tandem.cubes", *map(str, args)], cwd=self.folder,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr if code else result.stdout

    def write(self, text):
        path = self.folder / "states.txt"
        path.write_text(text)
        return path

    def lines(self, states, source, target):
        return cubes.convert_file(self.write("\n".join(states) + "\n"), source, target).splitlines()

    def test_scrambles_agree_with_the_other_simulators(self):
        ours = [CUBE.format(CUBE.play(CUBE.goals()[0], " ".join(moves))) for moves in scrambles()]
        theirs = [theirs_after(moves) for moves in scrambles()]
        stickers = [text_of(state) for state in theirs]
        colours = [text_of(sticker // 9 for sticker in state) for state in theirs]
        for form, lines in [("deepcubea", stickers), ("deepxube", colours)]:
            self.assertEqual(self.lines(ours, "facelets", form), lines)
            self.assertEqual(self.lines(lines, form, "facelets"), ours)
        self.assertEqual(self.lines(stickers, "deepcubea", "deepxube"), colours)
        self.assertEqual(self.lines(colours, "deepxube", "deepcubea"), stickers)

    def test_published_states_survive_a_round_trip(self):
        published = SOURCE / "data" / "cube3_ten.jsonl"
        before = [json.loads(line) for line in published.read_text().splitlines()]
        for form in ("deepcubea", "deepxube"):
            self.assertEqual(self.convert("--states", published, "--to", form, "--out", form), "")
            after = self.convert("--states", form, "--from", form)
            self.assertEqual([json.loads(line) for line in after.splitlines()], before)

    def test_reads_arrays_of_numbers(self):
        after_r = CUBE.format(CUBE.play(CUBE.goals()[0], "R"))
        line = json.dumps({"id": 3, "state": theirs_after(["R"])})
        self.assertEqual(self.lines([line], "deepcubea", "facelets"), [f'{{"id":3,"state":"{after_r}"}}'])
        self.assertEqual(self.convert(after_r, "--to", "deepcubea"), text_of(theirs_after(["R"])) + "\n")

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
                ('{"id": 1}', "deepxube", "expected a JSON object"),
                ('{"state": 5}', "deepxube", "expected a JSON object")]:
            path = self.write(f"\n# two\n  \n {state} \r\n")
            with self.subTest(message), self.assertRaises(ValueError) as error:
                cubes.convert_file(path, form, "facelets")
            self.assertIn(f"{path}:4: {message}", str(error.exception))

    def test_command_refuses_what_it_cannot_convert_and_writes_nothing(self):
        states = self.write("0 1 2\n")
        self.assertIn("states.txt:1: expected 54", self.convert("--states", states, "--from", "deepxube", "--out",
                                                                "new", code=2))
        self.assertFalse((self.folder / "new").exists())
        self.write(SOLVED + "\n")
        self.assertIn("--out states.txt: this is the file of the states",
                      self.convert("--to", "deepxube", "--states", states, "--out", "states.txt", code=2))
        self.assertEqual(states.read_text(), SOLVED + "\n")
        self.write("# none\n")
        self.assertIn("no state found", self.convert("--states", states, code=2))
        self.assertIn("one of the arguments", self.convert(code=2))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
