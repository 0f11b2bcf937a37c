"""Puzzles that are written in Python with NumPy."""

from typing import Any, Protocol

import numpy as np

from tandem import _tandem


class Puzzle(Protocol):
    """What `tandem.register_domain` expects of a puzzle. Any object with these members will do; it
    need not derive from this class.

    A state is `state_size` bytes, and every method gets batches of them: uint8 of shape
    (n, state_size). The arrays are copies, which a method may change and return. Results must be
    uint8 (or bool) of exactly the shape that is noted. A member that is None counts as missing.

    name: letters, digits and _; configs name the puzzle by it. state_size: bytes of a state.
    depth: every number that the network reads is below it, at most 256.
    action_names: one word for each action.

    These attributes may be added:

    inverse_actions: for each action the index of the one that undoes it. Without it, the puzzle
        needs step_back(states, randoms) -> (actions, predecessors), which draws for each state a
        step that leads to it, by its number in `randoms` (uint64). The action is -1 if there is
        none.
    action_costs: the cost of each action, 0.000001 to 1000000. Without it, each costs 1.
    positions: length of an encoded state, if it is not state_size; see `encode`.
    board: (rows, columns), if the encoded state is a board.
    summary: one line of description. version: a text to change when the moves, costs or goal change,
        so that networks of the old puzzle are refused.

    These methods may be added:

    expand(states) -> (n, num_actions, state_size): the children. It saves calls of `apply`.
    encode(states) -> (n, positions), numbers below `depth`: what the network reads, if it is not the
        state itself.
    applicable(states) -> (n, num_actions): which actions apply. Without it, all do.
    draw_goals(seeds) -> (n, state_size): a goal for each of n seeds (uint64), if each problem has
        its own goal.
    all_goals(goal) -> (n, state_size): all goals of the problem of `goal`, one of them, if a problem
        may have several.
    parse(text) -> (state_size,), which raises ValueError for a wrong text, and format(state) -> str.
        Without them, a state is written as numbers.
    """

    name: str
    state_size: int
    depth: int
    action_names: list[str]

    def goal(self) -> np.ndarray:
        """Returns the goal, of shape (state_size,)."""

    def apply(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Returns the states after action actions[i] (uint16) in row i, of shape (n, state_size). An
        action that does not apply leaves its state unchanged."""

    def is_goal(self, states: np.ndarray) -> np.ndarray:
        """Returns which states are goals, of shape (n,)."""


class Game(Protocol):
    """What `tandem.register_domain` expects of a game of two players who take turns. The attributes and the
    optional methods `encode`, `parse` and `format` are those of `tandem.Puzzle`, with this one:

    symmetries: pairs (positions, actions) of lists, one for each symmetry of the board without the identity.
        Position p of the encoded state becomes position positions[p], and action a becomes actions[a].
    """

    name: str
    state_size: int
    depth: int
    action_names: list[str]

    def start(self) -> np.ndarray:
        """Returns the state in which a game begins, of shape (state_size,)."""

    def apply(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Returns the states after action actions[i] (uint16) in row i, of shape (n, state_size). An
        action that is not legal leaves its state unchanged."""

    def applicable(self, states: np.ndarray) -> np.ndarray:
        """Returns which actions are legal, of shape (n, num_actions); none once the game is over."""

    def players(self, states: np.ndarray) -> np.ndarray:
        """Returns whose turn it is, 0 or 1, of shape (n,). Each action changes it."""

    def outcomes(self, states: np.ndarray) -> np.ndarray:
        """Returns how each state stands for the player whose turn it is, or would be, of shape (n,): 0 while
        the game goes on, 1 for a loss, 2 for a draw and 3 for a win."""


def register_domain(puzzle: Any, check: bool = True) -> _tandem.Domain:
    """Adds a puzzle that is written in Python, and returns it as a tandem.Domain.

    puzzle: an object with the members of `tandem.Puzzle` or `tandem.Game`. Configs name it by `puzzle.name`.
    check: whether to check the promises of a domain on sampled states, which takes a moment.

    Tandem calls the puzzle from its worker threads, one call at a time, because only one thread at a
    time runs Python code. A puzzle of the same name replaces the one before, for runs that begin
    later. Register a puzzle before runs begin, and in each program that uses its networks.

    Warns if a member's name nearly matches a missing one: `encod` for `encode`.
    Raises ValueError if a member is missing or wrong, and RuntimeError if the puzzle breaks a
    promise. An exception in a property of the puzzle is raised as it is.
    """
    return _tandem.register_domain(puzzle, check)
