"""Tests games of two players: tandem.Domain of a game, and games that are written in Python."""

import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np

import tandem
from small_run import SOURCE, FolderTest

sys.path.insert(0, str(SOURCE / "examples" / "python"))
from own_game import Nim  # noqa: E402


def flat(inputs):
    """Knows nothing: every position of tic-tac-toe is a draw, and every move equally probable."""
    return np.hstack([np.ones((len(inputs), 1)), np.zeros((len(inputs), 9))])


class Games(unittest.TestCase):
    def setUp(self):
        self.game = tandem.Domain("tic_tac_toe")

    def test_says_whose_turn_it_is_and_who_has_won(self):
        states = np.array([self.game.parse(text) for text in
                           ("XX./OO./...", "XXX/OO./...", "XOX/XOO/OXX", "XX./O../...")])
        np.testing.assert_array_equal(self.game.players(states), [0, 1, 1, 1])
        np.testing.assert_array_equal(self.game.outcomes(states), [0, 1, 2, 0])
        np.testing.assert_array_equal(self.game.is_goal(states), [False, True, True, False])
        self.assertEqual(self.game.applicable(states).sum(axis=1).tolist(), [5, 0, 0, 6])

    def test_a_puzzle_has_no_players(self):
        cube = tandem.Domain("cube2")
        with self.assertRaisesRegex(ValueError, "cube2 is a puzzle, expected a game of two players"):
            cube.players(cube.goals(1))

    def test_solve_finds_the_winning_move_by_a_function(self):
        state = self.game.parse("XX./OO./...")
        for method in ("gumbel", "puct"):
            solution, = tandem.solve(self.game, state, flat, head="vp", method=method, simulations=100)
            self.assertEqual(solution.moves, "c1")
            self.assertEqual(solution.best_actions, solution.actions[:1])
            first, = tandem.solve(self.game, self.game.goals(1), flat, head="vp", method=method,
                                  simulations=50, max_length=1)
            self.assertEqual((first.solved, len(first.actions)), (True, 1))


    def test_a_function_evaluates_each_position_once(self):
        seen = []

        def counted(inputs):
            seen.extend(map(bytes, inputs))
            return flat(inputs)
        tandem.solve(self.game, self.game.goals(1), counted, head="vp", method="puct", simulations=50,
                     max_length=1)
        self.assertEqual(len(seen), 50)


class InPython(FolderTest):
    def test_a_game_in_python_keeps_its_promises(self):
        nim = tandem.register_domain(Nim())
        self.assertEqual(nim.check(), [])
        np.testing.assert_array_equal(nim.outcomes(np.array([[0, 0], [3, 1]], dtype=np.uint8)), [1, 0])

    def test_a_wrong_game_is_refused(self):
        class NoPlayers(Nim):
            name = "nim_without_players"
            players = None
        with self.assertRaisesRegex(ValueError, "game 'nim_without_players' has no method `players`"):
            tandem.register_domain(NoPlayers())

        class OnePlayer(Nim):
            name = "nim_of_one"

            def players(self, states):
                return 0 * states[:, 1]
        with self.assertRaisesRegex(RuntimeError, "the players take turns"):
            tandem.register_domain(OnePlayer())

        class WrongOutcomes(Nim):
            name = "nim_with_outcomes"

            def outcomes(self, states):
                return 4 + 0 * states[:, 1]
        with self.assertRaisesRegex(RuntimeError, "outcomes returned 4, expected 0 to 3"):
            tandem.register_domain(WrongOutcomes())

        class WrongSymmetry(Nim):
            name = "nim_mirrored"
            symmetries = [([0, 1], [0, 0, 1])]
        with self.assertRaisesRegex(ValueError, "symmetry 1 is not a permutation"):
            tandem.register_domain(WrongSymmetry())

    def test_the_example_takes_two_matches_of_ten(self):
        example = pathlib.Path(SOURCE) / "examples" / "python" / "own_game.py"
        result = subprocess.run([sys.executable, example, self.folder / "run"], capture_output=True,
                                text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, re.compile(r"^take2( take\d)+$", re.M))


if __name__ == "__main__":
    unittest.main()
