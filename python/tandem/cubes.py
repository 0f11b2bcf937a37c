"""Converts states of cube3 from and to the formats of DeepCubeA and DeepXube.

    python -m tandem.cubes --to deepcubea UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB
    python -m tandem.cubes --from deepxube --states theirs.jsonl --out ours.jsonl

facelets is Tandem's own format, 54 letters. deepcubea is the numbers of 54 stickers, 0 to 53. deepxube is 54
colours, 0 to 5. The last two number the faces U D L R B F, and the stickers of each face column by column from
the bottom. A file has one state per line, or JSON lines with `state`. Exit code 2: wrong input; the message
names the file and line.
"""

import argparse
import json
import pathlib

import numpy as np

import tandem
from tandem import convert
from tandem._files import write_file

FORMATS = ("facelets", "deepcubea", "deepxube")


class Converter:
    def __init__(self):
        self.cube = tandem.Domain("cube3")
        # For each of their positions and colours: ours.
        features = convert.deepxube_puzzle(self.cube).features.reshape(-1, 6).numpy()
        self.positions, self.colours = features[:, 0] // 6, features[0] % 6
        # Stickers of one piece are those that the same faces move. Each centre is a piece of its own.
        places = np.arange(54, dtype=np.uint8)
        moved = [self.cube.apply(places, action) != places for action in range(self.cube.num_actions)]
        names = [tuple(column) if any(column) else i for i, column in enumerate(np.array(moved).T)]
        self.pieces = [[j for j in range(54) if names[j] == names[i]] for i in range(54)]
        self.solved = self.cube.goals()[0]
        self.stickers = {self.key(self.solved, i): i for i in range(54)}

    def key(self, state: np.ndarray, at: int) -> tuple:
        """Identifies a sticker: its colour does not, but with the colours of its piece it does."""
        return state[at], frozenset(state[self.pieces[at]])

    def write(self, state: np.ndarray, form: str) -> np.ndarray:
        """Returns the numbers of a state in another program's format."""
        if form == "deepxube":
            return np.argsort(self.colours)[state[self.positions]]
        ours = np.array([self.stickers[self.key(state, i)] for i in range(54)])
        return np.argsort(self.positions)[ours[self.positions]]

    def read(self, text: str, form: str) -> np.ndarray:
        """Returns a state. Raises ValueError if no turns lead from it to the solved cube."""
        if form == "facelets":
            return self.cube.parse(text)
        words, most = text.split(), 53 if form == "deepcubea" else 5
        if len(words) != 54:
            raise ValueError(f"expected 54 numbers separated by spaces, found {len(words)}")
        for i, word in enumerate(words):
            if not word.isascii() or not word.isdigit() or int(word) > most:
                raise ValueError(f"number {i + 1} is '{word}', expected a whole number from 0 to {most}")
        numbers = np.array(words, int)
        state = np.empty(54, np.uint8)
        state[self.positions] = self.colours[numbers // 9 if form == "deepcubea" else numbers]
        facelets = "".join("URFDLB"[colour] for colour in state)
        try:
            self.cube.parse(facelets)
        except ValueError as error:
            raise ValueError(f"{error} (the facelets are those of the state in Tandem's notation, {facelets})") from None
        if form == "deepcubea" and (wrong := np.flatnonzero(self.write(state, form) != numbers)).size:
            raise ValueError(f"number {wrong[0] + 1} is sticker {numbers[wrong[0]]}, but the colours of its piece "
                             f"are those of sticker {self.write(state, form)[wrong[0]]}")
        return state

    def convert(self, text: str, source: str, target: str) -> str:
        state = self.read(text, source)
        return self.cube.format(state) if target == "facelets" else " ".join(map(str, self.write(state, target)))

    def convert_line(self, line: str, source: str, target: str) -> str:
        """Converts a line of a file. Other entries of a JSON object stay as they are."""
        if not line.startswith("{"):
            return self.convert(line, source, target)
        try:
            row = json.loads(line)
            state = row["state"]
            text = state if isinstance(state, str) else " ".join(map(str, state))
        except (KeyError, TypeError, ValueError):
            raise ValueError("expected a JSON object with `state`, which is a string or an array of numbers") from None
        return json.dumps(row | {"state": self.convert(text, source, target)}, separators=(",", ":"))


def convert_file(path: pathlib.Path, source: str, target: str) -> str:
    converter, lines = Converter(), []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            lines.append(converter.convert_line(line.strip(), source, target) + "\n")
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
    if not lines:
        raise ValueError(f"{path}: no state found; expected one state per line, or JSON lines with `state`")
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tandem.cubes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    states = parser.add_mutually_exclusive_group(required=True)
    states.add_argument("state", nargs="?", help="state to convert")
    states.add_argument("--states", type=pathlib.Path, metavar="FILE", help="convert a file instead")
    parser.add_argument("--from", dest="source", choices=FORMATS, default="facelets")
    parser.add_argument("--to", dest="target", choices=FORMATS, default="facelets")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="default: standard output")
    args = parser.parse_args()
    try:
        if args.out and args.states and args.out.exists() and args.out.samefile(args.states):
            raise ValueError(f"--out {args.out}: this is the file of the states; choose another file")
        text = (convert_file(args.states, args.source, args.target) if args.states else
                Converter().convert(args.state, args.source, args.target) + "\n")
        if args.out:
            write_file(args.out, text)
        else:
            print(text, end="")
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
