"""Trains on a graph of CayleyPy, and checks the solutions with CayleyPy: cayleypy_graph.py RUN

A graph of permutations becomes a file that Tandem's domain `permutation` reads, so it runs at the speed of
the puzzles in C++. Needs `pip install cayleypy`.
"""

import json
import pathlib
import sys

import cayleypy
import numpy as np

import tandem


def write_puzzle(graph: cayleypy.CayleyGraphDef, file: pathlib.Path):
    """Both programs write a move as an array: position i receives what is at position array[i]."""
    generators = zip(graph.generator_names, graph.generators_permutations)
    file.write_text(json.dumps({"goal": list(map(int, graph.central_state)),
                                "generators": {name: list(map(int, array)) for name, array in generators}}))


def main():
    graph = cayleypy.PermutationGroups.lrx(8)
    run = pathlib.Path(sys.argv[1])
    file = run.with_suffix(".yaml")
    write_puzzle(graph, file)
    tandem.train({
        "domain": {"name": "permutation", "file": file},
        "generate": {"max_scramble": 28},
        "network": {"width": 64, "blocks": 1, "norm": "layer"},
        "train": {"batch_size": 200, "iterations_per_update": 20, "max_updates": 30},
    }, run)
    network = tandem.Network(run)
    states = network.domain.scramble(5, 28, seed=1)
    for state, solution in zip(states, network.solve(states)):
        names = [network.domain.action_names[action] for action in solution.actions]
        path = [graph.generator_names.index(name) for name in names]
        end = cayleypy.CayleyGraph(graph, device="cpu").apply_path(state.astype(np.int64), path)
        assert solution.solved and end.flatten().tolist() == graph.central_state
        print(state, solution.moves)


if __name__ == "__main__":
    main()
