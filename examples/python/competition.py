"""Solves the states of a competition on Kaggle, from its three files to a submission:

    competition.py train puzzle_info.json RUN [KEY=VALUE ...]
    competition.py solve RUN test.csv sample_submission.csv submission.csv [rows=0:50] [KEY=VALUE ...]

`puzzle_info.json` has `central_state` and `generators`, as in the competitions of CayleyPy; a file of Tandem or of GAP
does as well. For Santa 2023, write `puzzle_info.csv#cube_2/2/2`, with puzzles.csv in the same folder, and puzzles.csv
in place of test.csv.

solve takes the rows of `test.csv` whose state (the column `initial_state` or `permutation`) and goal are those of the
puzzle, or some of them, which rows=FIRST:END counts. It replays each solution and writes the sample with those lines
that became shorter, so the sample may also be an earlier submission. If a row has `num_wildcards`, its solution ends as
soon as at most that many labels are wrong. KEY=VALUE changes the config, such as train.max_seconds=600 or
search.beam_width=65536.
"""

import csv
import sys

import numpy as np

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


def state_in(domain, row):
    """The state of a row; None if the row is of another puzzle."""
    parsed = [domain.parse(row[column].replace(",", " ").replace(";", " "))
              for column in ("initial_state", "permutation", "solution_state") if row.get(column)]
    return parsed[0] if "solution_state" not in row or domain.is_goal(parsed[-1]).all() else None


def is_solved(domain, state, wildcards):
    if wildcards == 0:
        return domain.is_goal(state).all()
    goal, = domain.goals()
    return sum(a != b for a, b in zip(domain.format(state).split(), domain.format(goal).split())) <= wildcards


def replayed(domain, state, moves, wildcards):
    """The moves until the state is solved; None if they do not solve it."""
    for number, move in enumerate(moves):
        if is_solved(domain, state, wildcards):
            return moves[:number]
        if move not in domain.action_names:  # a move that undoes itself has one name here, and also -NAME in Santa 2023
            move = move.removeprefix("-")
        if move not in domain.action_names:
            return None
        state = domain.apply(state, domain.action_names.index(move))
    return moves if is_solved(domain, state, wildcards) else None


def solve(run, test, sample, submission, settings):
    first, _, end = settings.pop("rows", ":").partition(":")
    network = tandem.Network(run, settings=settings)
    domain = network.domain
    tasks = []
    for row in rows_of(test):
        try:
            state = state_in(domain, row)
        except ValueError:  # it has other labels
            continue
        if state is not None:
            tasks.append((next(iter(row.values())), state, int(row.get("num_wildcards") or 0)))
    tasks = tasks[int(first or 0):int(end or len(tasks))]
    if not tasks:
        sys.exit(f"{test}: no state has the labels and the goal of {domain.name}")
    lines = rows_of(sample)
    id_column, *_, moves_column = lines[0]
    line_of = {line[id_column]: line for line in lines}
    solved, shorter, before, after = 0, 0, 0, 0
    for (name, state, wildcards), solution in zip(tasks, network.solve(np.stack([state for _, state, _ in tasks]))):
        given = line_of[name][moves_column].split(".")
        known = replayed(domain, state, given, wildcards)
        before += 0 if known is None else len(given)
        if solution.solved:
            solved += 1
            moves = replayed(domain, state, [domain.action_names[action] for action in solution.actions], wildcards)
            known = moves if known is None else min(known, moves, key=len)
        if known is not None and known != given:
            shorter += 1
            line_of[name][moves_column] = ".".join(known)
        after += len(known or [])
    with open(submission, "w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    print(f"{solved} of {len(tasks)} solved, {shorter} lines improved: {before} moves before, {after} now")


def main():
    words = [word for word in sys.argv[1:] if "=" not in word]
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    if words[:1] == ["train"] and len(words) == 3:
        train(*words[1:], settings)
    elif words[:1] == ["solve"] and len(words) == 5:
        solve(*words[1:], settings)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
