"""Learns a game that is written in Python by self-play, and shows the best first move: own_game.py RUN

Nim: a player takes one to three matches of a heap, and whoever takes the last one wins. A player who leaves a
multiple of four wins.
"""

import sys

import numpy as np

import tandem

MATCHES = 10


class Nim:
    name = "python_nim"
    summary = "take one to three matches; whoever takes the last one wins"
    state_size = 2  # the matches that are left, and the player whose turn it is
    depth = MATCHES + 1
    action_names = ["take1", "take2", "take3"]

    def start(self):
        return np.array([MATCHES, 0], dtype=np.uint8)

    def applicable(self, states):
        return states[:, :1] > np.arange(3)

    def apply(self, states, actions):
        taken = actions + 1
        legal = states[:, 0] >= taken
        states[legal, 0] -= taken[legal].astype(np.uint8)
        states[legal, 1] ^= 1
        return states

    def players(self, states):
        return states[:, 1]

    def outcomes(self, states):
        return np.where(states[:, 0] == 0, 1, 0).astype(np.uint8)  # the other player took the last one


def main():
    nim = tandem.register_domain(Nim())
    config = {
        "domain": {"name": nim.name},
        "generate": {"target": "self_play", "simulations": 8, "max_scramble": 10},
        "network": {"head": "vp", "width": 64, "blocks": 1, "norm": "layer"},
        "train": {"batch_size": 200, "iterations_per_update": 5, "max_updates": 8},
        "validation": {"every_updates": 0},
        "search": {"method": "gumbel", "simulations": 8},
    }
    print(tandem.train(config, sys.argv[1]))
    network = tandem.Network(sys.argv[1])
    print(network.solve(nim.goals(1))[0].moves)


if __name__ == "__main__":
    main()
