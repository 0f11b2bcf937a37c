"""Keeps the shortest known solutions of states in a file that can be shared: a record.

    python -m tandem.records add record.jsonl results.jsonl --model runs/my-run --set search.beam_width=4096
    python -m tandem.records import record.jsonl solutions.tsv --puzzle permutation:puzzle_info.json --states test.csv
    python -m tandem.records merge mine.jsonl theirs.jsonl --out both.jsonl

add appends what `tandem solve --out results.jsonl` solved. import appends the solutions of a table, whose first
column is the id of a state in test.csv: a submission (.csv), or a .tsv of CayleyPy's public results, such as
best_solutions.tsv, of which --competition chooses the rows. (Only their own App adds to those results.) merge
keeps, for each state, the cheapest of the solutions. All replay every solution that they read, and write nothing
if one is wrong. merge prints how many states each puzzle has, and their mean cost; without --out it only checks
and prints.

A record has one JSON object a line:

    {"puzzle": "cube3", "state": "UUR...", "moves": "R U' F2", "cost": 3.0, "source": {...}}

puzzle is a name that tandem.Domain takes; a permutation puzzle has the hash of its definition behind `@`.
state and moves are in the puzzle's notation. source is free; add writes the hash of the weights, how the
search was set (--set repeats what `tandem solve` was given) and what it took. Exit code 2: a line is wrong; the
message names the file, line and reason.
"""

import argparse
import collections
import csv
import functools
import json
import os
import pathlib
from collections.abc import Iterator

import safetensors

import tandem
from tandem._config import settings_of
from tandem._files import write_file

SEARCH_KEYS = ("method", "beam_width", "weight", "ball_radius", "inverse")
SOURCE_KEYS = ("author_name", "submitted_at", "model_sha256")  # of a public table


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
    puzzle = tandem.Domain(config.domain.removesuffix(":pieces").removesuffix(":pairs")).identity
    lines = []
    for line in read(results, puzzle=puzzle):
        if missing := {"nodes", "seconds"} - line.keys():
            raise ValueError(f"{results}: expected the key {sorted(missing)[0]} in each line, as `tandem solve` writes it")
        kept = {key: line[key] for key in ("puzzle", "state", "moves", "cost")}
        lines.append(kept | {"source": source | {key: line[key] for key in ("nodes", "seconds")}})
    append(record, lines)
    return len(lines)


def rows_of(table: str | os.PathLike) -> list[dict]:
    csv.field_size_limit(2**31 - 1)  # solutions may be long
    with open(table, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if str(table).endswith(".tsv") else ","))


def import_table(record: str | os.PathLike, table: str | os.PathLike, puzzle: str, states: str | os.PathLike,
                 competition: str | None = None) -> int:
    """Appends the solutions of a CSV or TSV file, whose moves are joined by `.`, and returns how many lines."""
    domain = open_puzzle(puzzle)
    state_of = {next(iter(row.values())): row.get("initial_state") or row.get("permutation", "")
                for row in rows_of(states)}
    lines = []
    for number, row in enumerate(rows_of(table), 2):
        if competition not in (None, row.get("competition")):
            continue
        try:
            if (name := next(iter(row.values()))) not in state_of:
                raise ValueError(f"{states} has no state {name}")
            moves = row.get("solution") or row.get("path") or row.get("moves") or ""
            # A spreadsheet marks text that begins with -. A move that undoes itself has one name here.
            moves = " ".join(move if move in domain.action_names else move.removeprefix("-")
                             for move in moves.removeprefix("'").replace(".", " ").split())
            state = domain.format(domain.parse(state_of[name].replace(",", " ").replace(";", " ")))
            cost = sum(domain.action_costs[action] for action in domain.parse_actions(moves))
            source = {key: row[key] for key in SOURCE_KEYS if row.get(key)}
            lines.append({"puzzle": domain.identity, "state": state, "moves": moves, "cost": cost, "source": source})
            check(lines[-1])
        except ValueError as error:
            raise ValueError(f"{table}:{number}: {error}") from None
    append(record, lines)
    return len(lines)


def merge(records: list[str | os.PathLike]) -> list[dict]:
    """Returns the cheapest line of each state, in the order in which the states come first."""
    best: dict[tuple[str, bytes], dict] = {}
    for record in records:
        for line in read(record):
            domain = open_puzzle(line["puzzle"])
            key = domain.identity.rpartition("@")[2], domain.parse(line["state"]).tobytes()
            if key not in best or line["cost"] < best[key]["cost"]:
                best[key] = line
    return list(best.values())


def append(record: str | os.PathLike, lines: list[dict]) -> None:
    """Adds lines to a record, all or none."""
    record = pathlib.Path(record)
    earlier = record.read_text() if record.is_file() else ""
    write_file(record, earlier + text_of(lines))


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
    importing = commands.add_parser("import")
    importing.add_argument("record")
    importing.add_argument("table")
    importing.add_argument("--puzzle", required=True, help="as tandem.Domain takes it")
    importing.add_argument("--states", required=True, help="the competition's test.csv")
    importing.add_argument("--competition", help="read only the rows of the table that name it")
    merging = commands.add_parser("merge")
    merging.add_argument("records", nargs="+", metavar="record")
    merging.add_argument("--out", help="file to write")
    args = parser.parse_args()
    try:
        if args.command == "add":
            settings = settings_of(args.set)
            print(f"{args.record}: added {add(args.record, args.results, args.model, settings)} solutions")
            return
        if args.command == "import":
            count = import_table(args.record, args.table, args.puzzle, args.states, args.competition)
            print(f"{args.record}: added {count} solutions")
            return
        lines = merge(args.records)
        if args.out:
            write_file(args.out, text_of(lines))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    costs = collections.defaultdict(list)
    for line in lines:
        costs[line["puzzle"]].append(line["cost"])
    for puzzle, each in costs.items():
        print(f"{puzzle}: {len(each)} states, mean cost {sum(each) / len(each):.2f}")


if __name__ == "__main__":
    main()
