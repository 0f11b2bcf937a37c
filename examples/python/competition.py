"""Solves the states of a competition on Kaggle, from its files to a submission:

    competition.py train puzzle_info.json RUN [KEY=VALUE ...]
    competition.py solve RUN test.csv submission.csv [KEY=VALUE ...]

`puzzle_info.json` has `central_state` and `generators`, as in the competitions of CayleyPy. For Santa 2023, write
`train puzzle_info.csv#cube_2/2/2 RUN` with puzzles.csv in the same folder, and `solve RUN puzzles.csv submission.csv`,
which solves the states that have the goal of the run. The first column of `test.csv` is an id, and the column
`initial_state` has the labels, separated by `,` or `;`. `submission.csv` gets the ids and the moves, joined by `.`.
If a row has `num_wildcards`, its solution ends as soon as at most that many labels are wrong. Each was replayed. A state that was not solved is named and left out.
KEY=VALUE changes the config, such as train.max_seconds=600 or search.beam_width=65536.
"""

import csv
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


def train(definition, run, settings):
    tandem.train({"domain": {"name": "permutation", "file": definition}} | CONFIG, run, settings)


def state_in(domain, text):
    return domain.parse(text.replace(",", " ").replace(";", " "))


def has_goal(domain, row):
    """Whether the state of a row is one of this puzzle. The rows of Santa 2023 are of many, and have their goals."""
    try:
        return "solution_state" not in row or domain.is_goal(state_in(domain, row["solution_state"])).all()
    except ValueError:
        return False


def wrong_labels(domain, state):
    goal, = domain.goals()
    return sum(a != b for a, b in zip(domain.format(state).split(), domain.format(goal).split()))


def solve(run, test, submission, settings):
    network = tandem.Network(run, settings=settings)
    domain = network.domain
    rows = [row for row in rows_of(test) if has_goal(domain, row)]
    if not rows:
        sys.exit(f"{test}: no state has the goal of {domain.name}")
    states = [state_in(domain, row["initial_state"]) for row in rows]
    unsolved = []
    with open(submission, "w", newline="") as file:
        writer = csv.writer(file)
        id_column = next(iter(rows[0]))
        writer.writerow([id_column, "moves" if "solution_state" in rows[0] else "path"])
        for row, state, solution in zip(rows, states, network.solve(states)):
            if not solution.solved:
                unsolved.append(row[id_column])
                continue
            wildcards = int(row.get("num_wildcards", 0))
            moves = []
            for action in solution.actions:
                if wrong_labels(domain, state) <= wildcards:
                    break
                state = domain.apply(state, action)
                moves.append(domain.action_names[action])
            assert wrong_labels(domain, state) <= wildcards
            writer.writerow([row[id_column], ".".join(moves)])
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
