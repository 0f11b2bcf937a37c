"""Trains on a domain of DeepXube, and checks the solutions with DeepXube: deepxube_domain.py RUN

The adapter takes any domain whose actions are fixed and whose states and actions go through NumPy
(NextStateNPActsEnumFixed), such as cube3, npuzzle and lightsout. Needs `pip install deepxube==0.3.2`.
"""

import sys

import numpy as np
from deepxube.base.domain import NextStateNPActsEnumFixed
from deepxube.domains.lightsout import LightsOut

import tandem


class FromDeepXube:
    """Makes a puzzle for tandem.register_domain. A state is the row that the domain's _states_to_np makes of
    it, as bytes below `depth`. Actions are reversible: inverse_actions[i] undoes action i."""

    def __init__(self, domain: NextStateNPActsEnumFixed, name: str, depth: int, inverse_actions: list[int]):
        self.domain = domain
        self.name = name
        self.depth = depth
        self.actions = domain.get_actions_fixed()
        self.action_names = [f"a{number}" for number in range(len(self.actions))]
        self.inverse_actions = inverse_actions
        [start], [self.goal_object] = domain.sample_goalstate_goal_pairs(1)
        self.goal_row = domain._states_to_np([start])[0][0].astype(np.uint8)
        self.state_size = len(self.goal_row)

    def goal(self):
        return self.goal_row

    def apply(self, states, actions):
        moved, _ = self.domain._next_state_np([states], [self.actions[action] for action in actions])
        return moved[0].astype(np.uint8)

    def is_goal(self, states):
        return np.array(self.domain.is_solved(self.domain._np_to_states([states]), [self.goal_object] * len(states)))


def main():
    deepxube = LightsOut(dim=4)
    lights = tandem.register_domain(FromDeepXube(deepxube, "deepxube_lights", 2, list(range(16))))
    tandem.train({
        "domain": {"name": lights.name},
        "generate": {"max_scramble": 12},
        "network": {"width": 64, "blocks": 1, "norm": "layer"},
        "train": {"batch_size": 100, "iterations_per_update": 10, "max_updates": 6},
    }, sys.argv[1])
    states = lights.scramble(5, 6, seed=1)
    for state, solution in zip(states, tandem.Network(sys.argv[1]).solve(states)):
        theirs = deepxube._np_to_states([state[None]])
        for action in solution.actions:
            theirs, _ = deepxube.next_state(theirs, [deepxube.get_actions_fixed()[action]])
        assert solution.solved and not theirs[0].tiles.any()
        print(state, solution.moves)


if __name__ == "__main__":
    main()
