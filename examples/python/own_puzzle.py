"""Trains on a puzzle that is written in Python, and solves it: own_puzzle.py RUN

Pancakes: the numbers 0 to 7 in a row. An action turns the first 2, 3, ... or 8 of them round, and the
goal is the sorted row.
"""

import sys

import numpy as np

import tandem

SIZE = 8


class Pancakes:
    name = "python_pancakes"
    summary = f"sort {SIZE} pancakes by turning the uppermost ones round"
    state_size = SIZE
    depth = SIZE  # each number of a state is below 8
    action_names = [f"turn{count}" for count in range(2, SIZE + 1)]
    inverse_actions = list(range(SIZE - 1))  # each action undoes itself

    def __init__(self):
        # orders[a][i] is the place from which action a takes the pancake for place i.
        places = np.arange(SIZE)
        self.orders = np.array([np.r_[places[:n][::-1], places[n:]] for n in range(2, SIZE + 1)])

    def goal(self):
        return np.arange(SIZE, dtype=np.uint8)

    def apply(self, states, actions):
        return np.take_along_axis(states, self.orders[actions], axis=1)

    def expand(self, states):
        return states[:, self.orders]

    def is_goal(self, states):
        return (states == self.goal()).all(axis=1)


def main():
    pancakes = tandem.register_domain(Pancakes())
    config = {
        "domain": {"name": pancakes.name},
        "generate": {"target": "walk_length", "max_scramble": 9},
        "network": {"width": 64, "blocks": 1, "norm": "layer"},
        "train": {"batch_size": 200, "iterations_per_update": 20, "max_updates": 15},
    }
    print(tandem.train(config, sys.argv[1]))
    network = tandem.Network(sys.argv[1], settings={"search.beam_width": 256})
    states = pancakes.scramble(5, 20, seed=1)
    for state, solution in zip(states, network.solve(states)):
        print(state, solution.moves if solution.solved else solution.failure)


if __name__ == "__main__":
    main()
