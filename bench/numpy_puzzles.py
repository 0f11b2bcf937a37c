"""Puzzles in NumPy that benchmarks compare with the same puzzles of others. The import registers them."""

import numpy as np

import tandem


class Lights:
    name = "numpy_lights"
    state_size = 25
    depth = 2
    action_names = [f"b{button}" for button in range(25)]
    inverse_actions = list(range(25))
    cells = np.indices((5, 5)).reshape(2, 25)
    buttons = (np.abs(cells[:, :, None] - cells[:, None]).sum(axis=0) <= 1).astype(np.uint8)

    def goal(self):
        return np.zeros(25, np.uint8)

    def apply(self, states, actions):
        return states ^ self.buttons[actions]

    def is_goal(self, states):
        return ~states.any(axis=1)


class Pancakes:
    name = "numpy_pancakes"
    state_size = 20
    depth = 20
    action_names = [f"f{n}" for n in range(2, 21)]
    inverse_actions = list(range(19))
    flips = np.array([[*range(n)][::-1] + [*range(n, 20)] for n in range(2, 21)])

    def goal(self):
        return np.arange(20, dtype=np.uint8)

    def apply(self, states, actions):
        return np.take_along_axis(states, self.flips[actions], axis=1)

    def is_goal(self, states):
        return (states == self.goal()).all(axis=1)


tandem.register_domain(Lights())
tandem.register_domain(Pancakes())
