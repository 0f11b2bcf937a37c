"""Solves sliding tiles by the mean of two estimates: that of a state and that of its mirror image.

    mirrored_tiles.py RUN states.jsonl [rows=0:10] [KEY=VALUE ...]

A board that is mirrored at its diagonal and whose tiles are renamed needs as many moves as before. A network does
not know that, and far from the goal, where its walks never came, its two estimates err in different ways.

RUN is a run of `tandem train` on `npuzzle`. A line of states.jsonl has `state` and, if it is known, `optimal` or
`best_known`. rows=FIRST:END takes some of the lines, and KEY=VALUE are keys of `search`, such as beam_width=16384.
"""

import ast
import json
import sys
import time

import numpy as np

import tandem


def mirrored(states):
    size = int(states.shape[1] ** 0.5)
    places = np.arange(size * size).reshape(size, size).T.ravel()
    names = np.concatenate([[0], places[:-1] + 1]).astype(np.uint8)  # tile t belongs to place t - 1
    return names[states[:, places]]


def main(run, file, *options):
    options = dict(option.split("=", 1) for option in options)
    first, end = map(int, options.pop("rows", "0:1000000").split(":"))
    network = tandem.Network(run)
    search = {"method": "beam", "max_length": 600, "ball_radius": 14}
    search |= {key: ast.literal_eval(value) for key, value in options.items()}
    with open(file) as lines:
        problems = [json.loads(line) for line in lines][first:end]
    goal = network.domain.format(network.domain.goals()[0])
    states = np.stack([network.domain.parse(f"{problem['state']} -> {goal}") for problem in problems])
    began = time.monotonic()
    solutions = tandem.solve(network.domain, states,
                             lambda inputs: (network.evaluate(inputs) + network.evaluate(mirrored(inputs))) / 2,
                             **search)
    seconds = (time.monotonic() - began) / len(states)
    solved = [(solution.length, problem.get("optimal", problem.get("best_known")))
              for solution, problem in zip(solutions, problems) if solution.solved]
    print(f"solved {len(solved)} of {len(states)}, {seconds:.2f} s each")
    if solved and all(known for _, known in solved):
        length, known = np.mean(solved, axis=0)
        print(f"mean length {length:.2f}, {length / known:.3f} times the best known")


if __name__ == "__main__":
    main(*sys.argv[1:])
