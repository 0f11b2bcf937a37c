"""Solves the states of a competition on Kaggle, from its files to a submission:

    competition.py train puzzle_info.json RUN [KEY=VALUE ...]
    competition.py solve RUN test.csv submission.csv [KEY=VALUE ...]

`puzzle_info.json` has `central_state` and `generators`, as in the competitions of CayleyPy. For Santa 2023, whose
`puzzle_info.csv` has the moves of all puzzles by type, write `train puzzle_info.csv:cube_2/2/2 RUN`. The first column
of `test.csv` is an id, and the column `initial_state` has the labels, separated by `,` or `;`. `submission.csv` gets
the ids and the moves, joined by `.`. Each solution was replayed. A state that was not solved is named and left out.
KEY=VALUE changes the config, such as train.max_seconds=600 or search.beam_width=65536.
"""

import ast
import csv
import json
import pathlib
import sys

import tandem

CONFIG = {
    "generate": {"target": "walk_length", "max_scramble": 30},
    "network": {"width": 1024, "blocks": 0, "norm": "layer"},
    "optimizer": {"schedule": "linear"},
    "train": {"batch_size": 2000, "iterations_per_update": 50, "max_updates": "auto", "max_seconds": 120},
    "search": {"method": "beam", "beam_width": 4096, "max_length": 200},
}


def rows_of(path):
    csv.field_size_limit(sys.maxsize)  # some puzzles have long moves
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def santa_puzzle(table, kind, out):
    """Writes a puzzle of Santa 2023, whose goal is that of its first state, and returns the file."""
    moves = next((ast.literal_eval(row["allowed_moves"]) for row in rows_of(table) if row["puzzle_type"] == kind), None)
    goal = next((row["solution_state"] for row in rows_of(table.with_name("puzzles.csv")) if row["puzzle_type"] == kind),
                None)
    if moves is None or goal is None:
        sys.exit(f"{table}: there is no puzzle {kind} here and in puzzles.csv")
    generators = {name: {"moves": array, "inverse": f"-{name}"} for name, array in moves.items()}
    out.write_text(json.dumps({"goal": goal.split(";"), "generators": generators}))
    return out


def train(definition, run, settings):
    path, _, kind = definition.partition(":")
    file = santa_puzzle(pathlib.Path(path), kind, pathlib.Path(f"{run}.yaml")) if kind else pathlib.Path(path)
    tandem.train({"domain": {"name": "permutation", "file": file.absolute()}} | CONFIG, run, settings)


def solve(run, test, submission, settings):
    network = tandem.Network(run, settings=settings)
    domain = network.domain
    rows = rows_of(test)
    states = [domain.parse(row["initial_state"].replace(",", " ").replace(";", " ")) for row in rows]
    unsolved = []
    with open(submission, "w", newline="") as file:
        writer = csv.writer(file)
        id_column = next(iter(rows[0]))
        writer.writerow([id_column, "path"])
        for row, state, solution in zip(rows, states, network.solve(states)):
            if not solution.solved:
                unsolved.append(row[id_column])
                continue
            for action in solution.actions:
                state = domain.apply(state, action)
            assert domain.is_goal(state).all()
            writer.writerow([row[id_column], ".".join(domain.action_names[action] for action in solution.actions)])
    print(f"{len(rows) - len(unsolved)} of {len(rows)} solved" + (f"; not solved: {unsolved}" if unsolved else ""))


def main():
    words = [word for word in sys.argv[1:] if "=" not in word]
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    if words[:1] == ["train"] and len(words) == 3:
        train(*words[1:], settings)
    elif words[:1] == ["solve"] and len(words) == 4:
        solve(*words[1:], settings)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
