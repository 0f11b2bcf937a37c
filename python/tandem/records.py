"""Keeps the shortest known solutions of states in a file that can be shared: a record.

    python -m tandem.records add record.jsonl results.jsonl --model runs/my-run --set search.beam_width=4096
    python -m tandem.records merge mine.jsonl theirs.jsonl --out both.jsonl

add appends what `tandem solve --out results.jsonl` solved. merge keeps, for each state, the cheapest of the
solutions. Both replay every solution that they read, and write nothing if one is wrong. merge prints how many
states each puzzle has, and their mean cost; without --out it only checks and prints.

A record has one JSON object a line:

    {"puzzle": "cube3", "state": "UUR...", "moves": "R U' F2", "cost": 3.0, "source": {...}}

puzzle is a name that tandem.Domain takes; a permutation puzzle has the hash of its definition behind `@`.
state and moves are in the puzzle's notation. source is free; add writes the hash of the weights, how the
search was set (--set repeats what `tandem solve` was given) and what it took. Exit code 2: a line is wrong; the message names the file, line and reason.
"""

import argparse
import collections
import functools
import json
import os
import pathlib
import sys
from collections.abc import Iterator

import safetensors

import tandem

SEARCH_KEYS = ("method", "beam_width", "weight", "ball_radius", "inverse")


@functools.cache
def open_puzzle(puzzle: str) -> tandem.Domain:
    """Returns the puzzle of a line. Raises ValueError if it does not exist, or if its moves or goal differ."""
    domain = tandem.Domain(puzzle.partition("@")[0])
    if "@" in puzzle and domain.identity != puzzle:
        raise ValueError(f"puzzle {puzzle}: found {domain.identity}, whose moves or goal differ")
    return domain


def check(line: dict) -> None:
    """Replays the solution of a line. Raises ValueError if it does not lead to the goal at its cost."""
    if missing := {"puzzle", "state", "moves", "cost"} - line.keys():
        raise ValueError(f"expected the key {sorted(missing)[0]}")
    domain = open_puzzle(line["puzzle"])
    state = domain.parse(line["state"])
    if not domain.is_goal(domain.play(state, line["moves"])).all():
        raise ValueError(f"the moves {line['moves']} do not lead to a goal")
    cost = sum(domain.action_costs[action] for action in domain.parse_actions(line["moves"]))
    if abs(cost - line["cost"]) > 1e-4 * max(cost, 1):
        raise ValueError(f"cost {line['cost']:g}, but the moves cost {cost:g}")


def read(path: str | os.PathLike, **more: object) -> Iterator[dict]:
    """Yields the lines of a record, each with the keys `more`. Raises ValueError, which names the line."""
    for number, text in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        try:
            line = json.loads(text) | more
            if line.get("solved", True):
                check(line)
                yield line
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: {error}") from None


def add(record: str | os.PathLike, results: str | os.PathLike, model: str | os.PathLike,
        settings: dict[str, str] | None = None) -> int:
    """Appends what `tandem solve --out results` solved with the run `model`, and returns how many lines."""
    folder = pathlib.Path(model)
    config = tandem.Config.from_file(folder / "config.yaml", settings or {})
    with safetensors.safe_open(folder / "checkpoint.safetensors", "np") as file:
        weights = file.metadata()["weights_sha256"]
    source = {"weights": weights} | {key: config[f"search.{key}"] for key in SEARCH_KEYS}
    puzzle = tandem.Domain(config.domain).identity.removesuffix(":pieces")
    lines = []
    for line in read(results, puzzle=puzzle):
        kept = {key: line[key] for key in ("puzzle", "state", "moves", "cost")}
        lines.append(kept | {"source": source | {key: line[key] for key in ("nodes", "seconds")}})
    with open(record, "a") as file:
        file.write(text_of(lines))
    return len(lines)


def merge(records: list[str | os.PathLike]) -> list[dict]:
    """Returns the cheapest line of each state, in the order in which the states come first."""
    best: dict[tuple[str, bytes], dict] = {}
    for record in records:
        for line in read(record):
            key = line["puzzle"], open_puzzle(line["puzzle"]).parse(line["state"]).tobytes()
            if key not in best or line["cost"] < best[key]["cost"]:
                best[key] = line
    return list(best.values())


def text_of(lines: list[dict]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tandem.records", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add")
    adding.add_argument("record")
    adding.add_argument("results")
    adding.add_argument("--model", required=True, help="folder of the run that solved them")
    adding.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="as `tandem solve` was given; may be repeated")
    merging = commands.add_parser("merge")
    merging.add_argument("records", nargs="+", metavar="record")
    merging.add_argument("--out", help="file to write")
    args = parser.parse_args()
    try:
        if args.command == "add":
            settings = dict(text.split("=", 1) for text in args.set)
            print(f"{args.record}: added {add(args.record, args.results, args.model, settings)} solutions")
            return
        lines = merge(args.records)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    costs = collections.defaultdict(list)
    for line in lines:
        costs[line["puzzle"]].append(line["cost"])
    for puzzle, each in costs.items():
        print(f"{puzzle}: {len(each)} states, mean cost {sum(each) / len(each):.2f}")
    if args.out:
        pathlib.Path(args.out).write_text(text_of(lines))


if __name__ == "__main__":
    sys.exit(main())
