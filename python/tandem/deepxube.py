"""Reads DeepXube's problems and results, and writes them.

    python -m tandem.deepxube read problems.pkl --domain cube3 --out states.jsonl
    python -m tandem.deepxube write results.jsonl --domain cube3 --out results.pkl

read makes the file that `tandem solve --states` takes, from what `deepxube problem_inst` or `deepxube solve`
wrote; solutions become `solution`. write makes a results.pkl of DeepXube 0.3.2 from what `tandem solve --out`
wrote, or a file of problems from states: `deepxube solve --file` takes both. The puzzles are cube3, npuzzle:N,
lights_out:N and sokoban:10. Reading runs no code of the file: only NumPy's arrays and DeepXube's states, goals
and actions are made, and these as plain records. Exit code 2: wrong input; the message names the file.
"""

import argparse
import json
import pathlib
import pickle
import sys
import types

import numpy as np

import tandem
from tandem import convert
from tandem._files import write_file

ARRAYS = {"_reconstruct", "_frombuffer", "ndarray", "dtype", "scalar"}
# By the kind of a puzzle: DeepXube's module, and what its names of classes begin with.
CLASSES = {"cube3": ("cube3", "Cube3"), "npuzzle": ("npuzzle", "NP"), "lights_out": ("lightsout", "LO"),
           "sokoban": ("sokoban", "Sk")}
RESULT_KEYS = {"state", "solved", "moves", "cost", "expanded", "seconds", "nodes"}  # of `tandem solve --out`


class Record:
    """A state, goal or action of DeepXube."""

    def __setstate__(self, state):
        for part in state if isinstance(state, tuple) else (state,):
            self.__dict__.update(part or {})


class Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if module.startswith("deepxube.domains."):
            return Record
        if module.split(".")[0] == "numpy" and name in ARRAYS:
            return super().find_class(module, name)
        raise ValueError(f"it holds {module}.{name}, expected only arrays and DeepXube's states, goals and actions")


class Puzzle:
    """A puzzle in both programs."""

    def __init__(self, domain: str):
        kind = domain.partition(":")[0]
        if kind not in CLASSES:
            raise ValueError(f"--domain {domain}: expected one of {', '.join(CLASSES)}, which both programs have")
        module, self.prefix = CLASSES[kind]
        self.module = f"deepxube.domains.{module}"
        self.domain = tandem.Domain(domain)
        self.is_sokoban = kind == "sokoban"
        rows, columns = self.domain.board or (0, 0)
        if rows != columns or (self.is_sokoban and rows != 10):
            raise ValueError(f"--domain {domain}: DeepXube's boards are square, and those of Sokoban have 10 rows")
        self.field = "colors" if kind == "cube3" else "tiles"
        # By their numbers of positions, values and actions: ours.
        self.positions, self.values = np.arange(self.domain.state_size), np.arange(256)
        self.actions = np.arange(self.domain.num_actions)
        if kind == "cube3":
            pair = convert.deepxube_puzzle(self.domain)
            features = pair.features.reshape(-1, 6).numpy()  # by their position and colour
            self.positions, self.values, self.actions = features[:, 0] // 6, features[0] % 6, pair.actions.numpy()

    def parse(self, state: Record, goal: Record) -> np.ndarray:
        """Returns our state. Raises ValueError if the puzzle has no such state, or if its goal differs."""
        if self.is_sokoban:
            return self.domain.parse(level(state.walls, state.boxes, goal.boxes, state.agent))
        ours = np.empty((2, len(self.positions)), np.uint8)
        theirs = [np.asarray(getattr(each, self.field), int) for each in (state, goal)]
        ours[:, self.positions] = self.values[np.stack(theirs)]
        if not np.array_equal(ours[1], self.domain.goals()[0]):
            raise ValueError("its goal is another one")
        self.domain.check_states(ours[:1])
        return ours[0]

    def fields(self, state: np.ndarray) -> tuple[dict, dict]:
        """Returns what DeepXube keeps of a state and of its goal."""
        if self.is_sokoban:
            cells = np.array([list(row) for row in self.domain.format(state).split("\n")])
            (agent,) = np.argwhere(np.isin(cells, ["@", "+"]))
            return ({"agent": agent, "boxes": np.isin(cells, ["$", "*"]), "walls": cells == "#", "hash": None},
                    {"boxes": np.isin(cells, [".", "*", "+"])})
        theirs = [np.argsort(self.values)[each[self.positions]].astype(np.uint8)
                  for each in (state, self.domain.goals()[0])]
        return {self.field: theirs[0], "hash": None}, {self.field: theirs[1]}


def level(walls: np.ndarray, boxes: np.ndarray, goals: np.ndarray, player: np.ndarray) -> str:
    """Returns a level of Sokoban as text."""
    cells = np.where(walls, "#", np.where(goals, np.where(boxes, "*", "."), np.where(boxes, "$", " ")))
    row, column = player
    cells[row, column] = "+" if goals[row, column] else "@"
    return "\n".join("".join(row) for row in cells)


def read(path: pathlib.Path, puzzle: Puzzle) -> list[dict]:
    """Returns lines for `tandem solve --states`. Raises ValueError, which names the problem."""
    with open(path, "rb") as file:
        try:
            data = Reader(file).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError) as error:
            raise ValueError(f"{path}: not a file of DeepXube's problems: {error}") from None
    if not isinstance(data, dict) or not {"states", "goals"} <= data.keys():
        raise ValueError(f"{path}: expected the keys states and goals, as DeepXube writes them")
    lines = []
    for i, (state, goal) in enumerate(zip(data["states"], data["goals"])):
        try:
            lines.append({"id": i, "state": puzzle.domain.format(puzzle.parse(state, goal))})
            if len(data.get("solved", ())) > i and data["solved"][i]:
                actions = [puzzle.actions[each.action] for each in data["actions"][i]]
                lines[-1]["solution"] = " ".join(puzzle.domain.action_names[action] for action in actions)
        except (AttributeError, IndexError, ValueError) as error:
            raise ValueError(f"{path}: problem {i} is not one of {puzzle.domain.name}: {error}") from None
    return lines


class Maker:
    """Makes objects that pickle writes as DeepXube's, and pickles them."""

    def __init__(self, puzzle: Puzzle):
        self.puzzle = puzzle
        self.modules = {name: types.ModuleType(name) for name in ("deepxube", "deepxube.domains", puzzle.module)}

    def make(self, kind: str, fields: dict) -> object:
        name = self.puzzle.prefix + kind
        module = self.modules[self.puzzle.module]
        if not hasattr(module, name):
            setattr(module, name, type(name, (), {"__slots__": tuple(fields), "__module__": self.puzzle.module}))
        made = getattr(module, name)()
        for field, value in fields.items():
            setattr(made, field, value)
        return made

    def state(self, ours: np.ndarray) -> object:
        return self.make("State", self.puzzle.fields(ours)[0])

    def goal(self, ours: np.ndarray) -> object:
        return self.make("Goal", self.puzzle.fields(ours)[1])

    def action(self, ours: int) -> object:
        size = {"dim": round(self.puzzle.domain.state_size**0.5)} if self.puzzle.prefix == "LO" else {}
        return self.make("Action", {"action": int(np.flatnonzero(self.puzzle.actions == ours)[0])} | size)

    def dumps(self, data: dict) -> bytes:
        before = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update(self.modules)  # pickle looks the classes up there
        try:
            return pickle.dumps(data)
        finally:
            for name, module in before.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module


def result(maker: Maker, state: np.ndarray, line: dict) -> dict:
    """Returns what DeepXube's results have of one state."""
    domain = maker.puzzle.domain
    actions = domain.parse_actions(line["moves"]) if line["solved"] else []
    path = [state]
    for action in actions:
        path.append(domain.apply(path[-1], action))
    return {"actions": list(map(maker.action, actions)) if line["solved"] else None,
            "states_on_path": list(map(maker.state, path)) if line["solved"] else None,
            "path_costs": line["cost"] if line["solved"] else np.inf,
            "iterations": line["expanded"], "times": line["seconds"],
            "itrs/sec": line["expanded"] / max(line["seconds"], 1e-9),
            "num_nodes_generated": line["nodes"], "solved": line["solved"]}


def pickled(puzzle: Puzzle, lines: list[dict]) -> bytes:
    """Returns the file of DeepXube that holds the lines."""
    maker = Maker(puzzle)
    states = [puzzle.domain.parse(line["state"]) for line in lines]
    data = {"states": list(map(maker.state, states)), "goals": list(map(maker.goal, states))}
    if any("solved" in line for line in lines):
        results = [result(maker, state, line) for state, line in zip(states, lines)]
        data |= {key: [each[key] for each in results] for key in results[0]}
    return maker.dumps(data)


def results_in(path: pathlib.Path) -> list[dict]:
    """Returns the lines that `tandem solve --out` wrote. Raises ValueError, which names the line."""
    lines = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        try:
            lines.append(json.loads(text))
            needed = {"state"} if "solved" not in lines[-1] else RESULT_KEYS
            if missing := needed - lines[-1].keys():
                raise ValueError(f"expected the key {sorted(missing)[0]}")
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: {error}") from None
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tandem.deepxube", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["read", "write"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--domain", required=True, metavar="NAME[:ARG]", help="puzzle, such as npuzzle:4")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file to write")
    args = parser.parse_args()
    try:
        puzzle = Puzzle(args.domain)
        if args.command == "read":
            lines = read(args.file, puzzle)
            write_file(args.out, "".join(json.dumps(line) + "\n" for line in lines))
        else:
            lines = results_in(args.file)
            write_file(args.out, pickled(puzzle, lines))
    except (OSError, KeyError, TypeError, ValueError) as error:
        parser.error(str(error))
    print(f"{args.out}: {len(lines)} states of {args.domain}")


if __name__ == "__main__":
    main()
