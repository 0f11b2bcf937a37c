"""Tests tandem.Domain: batches of states as NumPy arrays."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

import numpy as np
import torch

import tandem
from small_run import SOURCE, FolderTest


def lights_after(states, buttons, size):
    """Presses buttons[i] in row i of `states`, from the rules of Lights Out alone."""
    boards = states.reshape(-1, size, size).copy()
    for board, button in zip(boards, buttons):
        row, column = divmod(int(button), size)
        for r, c in ((row, column), (row - 1, column), (row + 1, column), (row, column - 1),
                     (row, column + 1)):
            if 0 <= r < size and 0 <= c < size:
                board[r, c] ^= 1
    return boards.reshape(states.shape)


class Batches(unittest.TestCase):
    def setUp(self):
        self.lights = tandem.Domain("lights_out:4")
        self.cube = tandem.Domain("cube2")

    def test_apply_presses_one_button_in_each_state(self):
        states = self.lights.scramble(500, 7, seed=3)
        buttons = np.arange(500) % 16
        after = self.lights.apply(states, buttons)
        np.testing.assert_array_equal(after, lights_after(states, buttons, 4))
        self.assertEqual(after.dtype, np.uint8)

    def test_apply_leaves_its_argument_as_it_was(self):
        states = self.cube.goals(3)
        before = states.copy()
        self.assertFalse(np.array_equal(self.cube.apply(states, 0), before))
        np.testing.assert_array_equal(states, before)

    def test_expand_makes_the_child_of_every_action(self):
        states = self.lights.scramble(300, 9)
        children = self.lights.expand(states)
        self.assertEqual(children.shape, (300, 16, 16))
        for button in range(16):
            np.testing.assert_array_equal(children[:, button],
                                          lights_after(states, [button] * 300, 4))

    def test_a_single_state_has_no_batch_axis(self):
        state = self.cube.goals()[0]
        self.assertEqual(self.cube.apply(state, 2).shape, (24,))
        self.assertEqual(self.cube.expand(state).shape, (6, 24))
        self.assertEqual(self.cube.encode(state).shape, (24,))
        self.assertEqual(self.cube.is_goal(state).shape, ())
        self.assertTrue(self.cube.is_goal(state))

    def test_an_array_that_is_not_contiguous_is_read_by_its_strides(self):
        states = self.cube.scramble(10, 5)
        np.testing.assert_array_equal(self.cube.apply(states[::2], 1),
                                      self.cube.apply(states, 1)[::2])
        reversed_columns = np.ascontiguousarray(states[:, ::-1])
        np.testing.assert_array_equal(self.cube.apply(reversed_columns[:, ::-1], 1),
                                      self.cube.apply(states, 1))

    def test_inverse_actions_undo_a_sequence_of_moves(self):
        states = self.cube.scramble(20, 30)
        names = self.cube.action_names
        undo = " ".join(names[self.cube.inverse_actions[a]]
                        for a in reversed(self.cube.parse_actions("R U F'")))
        turned = self.cube.play(states, "R U F'")
        self.assertFalse(np.array_equal(turned, states))
        np.testing.assert_array_equal(self.cube.play(turned, undo), states)

    def test_a_batch_of_no_states_gives_empty_arrays(self):
        none = np.empty((0, 24), np.uint8)
        self.assertEqual(self.cube.expand(none).shape, (0, 6, 24))
        self.assertEqual(self.cube.is_goal(none).shape, (0,))
        self.assertEqual(self.cube.apply(self.cube.goals(0), []).shape, (0, 24))
        self.assertEqual(self.cube.scramble(0, []).shape, (0, 24))
        with self.assertRaisesRegex(ValueError, "actions: .*expected one whole number, or 1"):
            self.cube.apply(self.cube.goals(1), [])


class Scrambles(unittest.TestCase):
    def setUp(self):
        self.cube = tandem.Domain("cube2")

    def test_a_walk_depends_on_seed_and_row_only(self):
        many = self.cube.scramble(1000, 12, seed=5)
        np.testing.assert_array_equal(many[:7], self.cube.scramble(7, 12, seed=5))
        self.assertFalse(np.array_equal(many, self.cube.scramble(1000, 12, seed=6)))

    def test_each_walk_has_its_own_length(self):
        goal = self.cube.goals()[0]
        states = self.cube.scramble(3, [0, 1, 2])
        children = {child.tobytes() for child in self.cube.expand(goal)}
        np.testing.assert_array_equal(states[0], goal)
        self.assertIn(states[1].tobytes(), children)
        # No step goes straight back, so after two steps the cube is not solved.
        self.assertFalse(self.cube.is_goal(states[2]))

    def test_a_wrong_number_of_lengths_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "length: .*expected one whole number, or 3"):
            self.cube.scramble(3, [1, 2])


    def test_more_states_than_memory_can_hold_are_an_error(self):
        tiles = tandem.Domain("npuzzle:4")  # 2^60 states of 16 bytes: 2^64, which is 0 in 64 bits
        for count in (2**60, 2**60 + 1, 2**64 - 1):
            with self.assertRaisesRegex(ValueError, f"count: found {count}, expected at most"):
                tiles.goals(count)
            with self.assertRaisesRegex(ValueError, f"count: found {count}, expected at most"):
                tiles.scramble(count, 1)
        with self.assertRaisesRegex(MemoryError, rf"shape \({2**58}, 16\)"):
            tiles.goals(2**58)


class Interrupts(unittest.TestCase):
    """Signals during methods that work on many states."""

    def setUp(self):
        self.cube = tandem.Domain("cube3")

    def interrupt_soon(self):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    def test_ctrl_c_ends_long_work(self):
        states = self.cube.scramble(20_000, 5)
        moves = "R U " * 1_000_000
        # Without a signal, each takes a minute at least.
        for name, call in [("walks", lambda: self.cube.scramble(1_000_000, 1_000_000)),
                           ("moves", lambda: self.cube.play(states, moves))]:
            with self.subTest(name):
                with self.assertRaises(KeyboardInterrupt):
                    self.interrupt_soon()
                    call()

    def test_a_handler_that_does_not_raise_leaves_the_result_whole(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda *_: calls.append("mine"))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.interrupt_soon()
        while not calls:
            states = self.cube.scramble(400_000, 1000)
        self.assertEqual(calls, ["mine"])
        np.testing.assert_array_equal(states[-3:], self.cube.scramble(400_000, 1000)[-3:])


class Sharing(unittest.TestCase):
    def test_torch_shares_the_memory_of_a_result(self):
        states = tandem.Domain("cube2").goals(2)
        for share in (torch.from_numpy, torch.from_dlpack):
            share(states)[1, 3] = 5
            self.assertEqual(states[1, 3], 5)
            states[1, 3] = 0

    def test_a_torch_tensor_can_be_passed(self):
        cube = tandem.Domain("cube2")
        goals = cube.goals(2)
        np.testing.assert_array_equal(cube.apply(torch.from_numpy(goals), 1), cube.apply(goals, 1))

    def test_a_result_outlives_its_domain(self):
        cube = tandem.Domain("cube2")
        states = cube.scramble(1000, 3)
        copy = states.copy()
        del cube
        np.testing.assert_array_equal(states, copy)


class Pictures(unittest.TestCase):
    def test_a_solved_cube_has_as_many_pixels_of_each_colour(self):
        cube = tandem.Domain("cube2")
        image = cube.render(cube.goals()[0], scale=10)
        self.assertEqual(image.dtype, np.uint8)
        colours, counts = np.unique(image.reshape(-1, 3), axis=0, return_counts=True)
        stickers = counts[~(colours == 255).all(axis=1)]
        self.assertEqual(stickers.tolist(), [4 * 9 * 9] * 6)  # one of ten pixels is a line

    def test_a_batch_is_rendered_as_its_states_are(self):
        cube = tandem.Domain("cube2")
        states = cube.scramble(3, 5)
        images = cube.render(states, scale=2)
        self.assertEqual(images.shape[0], 3)
        np.testing.assert_array_equal(images[1], cube.render(states[1], scale=2))

    def test_svg_and_text_show_the_tiles(self):
        puzzle = tandem.Domain("npuzzle:3")
        state = puzzle.goals()[0]
        self.assertIn("<svg", puzzle.svg(state))
        for tile in "12345678":
            self.assertIn(tile, puzzle.text(state))


class Texts(unittest.TestCase):
    def test_parse_says_which_goal_it_understood(self):
        korf = "14 13 15 7 11 12 9 5 6 0 2 1 4 8 10 3"  # 0 1 2 3 ... is its goal
        with self.assertWarnsRegex(UserWarning, "goal"):
            state = tandem.Domain("npuzzle:4").parse(korf)
        self.assertEqual(state[0], 13)  # turned by 180 degrees, 16 - 3

    def test_parse_reads_what_format_writes(self):
        for name in ("cube2", "cube3", "npuzzle:4", "lights_out:5", "grid:5"):
            domain = tandem.Domain(name)
            for state in domain.scramble(5, 6):
                np.testing.assert_array_equal(domain.parse(domain.format(state)), state)

    def test_a_wrong_state_is_a_value_error(self):
        with self.assertRaisesRegex(ValueError, "24 facelets, found 3"):
            tandem.Domain("cube2").parse("abc")


class Errors(unittest.TestCase):
    def setUp(self):
        self.cube = tandem.Domain("cube2")

    def test_an_unknown_name_suggests_the_nearest(self):
        with self.assertRaisesRegex(ValueError, "did you mean 'cube2'"):
            tandem.Domain("cub2")

    def test_another_type_or_shape_is_named(self):
        states = self.cube.goals(3)
        with self.assertRaisesRegex(ValueError, r"int64 with shape \(3, 24\), expected uint8"):
            self.cube.is_goal(states.astype(np.int64))
        with self.assertRaisesRegex(ValueError, r"shape \(3, 23\), expected .*\(n, 24\)"):
            self.cube.encode(states[:, :23])

    def test_an_array_of_texts_or_objects_is_named(self):
        states = self.cube.scramble(3, 2)
        for wrong, found in [(states.astype(str), "str96"), (states.astype(object), "object"),
                             (b"UUUU", "bytes32")]:
            with self.assertRaisesRegex(ValueError, f"states: found an array of {found}"):
                self.cube.is_goal(wrong)
        with self.assertRaisesRegex(ValueError, "actions: found an array of str32 with shape"):
            self.cube.apply(states, "U")
        with self.assertRaisesRegex(ValueError, "actions: found 18446744073709551615 at index 0"):
            self.cube.apply(states, np.uint64(2**64 - 1))

    def test_an_action_that_does_not_exist_is_named(self):
        with self.assertRaisesRegex(ValueError, "actions: found 6 at index 1, expected 0 to 5"):
            self.cube.apply(self.cube.goals(2), [0, 6])

    def test_bytes_that_are_no_state_cannot_be_encoded(self):
        with self.assertRaisesRegex(ValueError, "encoded with the number 200, expected less"):
            self.cube.encode(np.full(24, 200, np.uint8))


class WrongStates(unittest.TestCase):
    """Bytes that are no state, in each puzzle."""

    PUZZLES = ["cube2", "cube2:pieces", "cube3", "cube3:pairs", "grid:5", "hanoi:3", "lights_out:3",
               "npuzzle:3", "permutation:cube4", "permutation:lrx", "sokoban:5"]

    def setUp(self):
        self.tiles = tandem.Domain("npuzzle:3")

    def test_methods_that_read_or_show_states_name_what_is_wrong(self):
        for name in self.PUZZLES:
            domain = tandem.Domain(name)
            wrong = np.full(domain.state_size, 255, np.uint8)
            for method in (domain.format, domain.svg, domain.text, domain.render, domain.check_states):
                with self.subTest(name=name, method=method.__name__):
                    with self.assertRaisesRegex(ValueError, f"row 0 is not a state of {name}: .*expected"):
                        method(wrong)

    def test_methods_without_a_check_survive_any_bytes(self):
        for name in self.PUZZLES:
            domain = tandem.Domain(name)
            for byte in range(256):
                states = np.full((3, domain.state_size), byte, np.uint8)
                self.assertEqual(domain.expand(states).shape[0], 3)
                self.assertEqual(domain.apply(states, 0).shape, states.shape)
                self.assertEqual(domain.play(states, domain.action_names[0]).shape, states.shape)
                self.assertEqual(domain.applicable(states).shape, (3, domain.num_actions))
                self.assertEqual(domain.is_goal(states).shape, (3,))

    def test_the_first_of_many_wrong_rows_is_named(self):
        states = self.tiles.scramble(20_000, 30)
        self.assertIsNone(self.tiles.check_states(states))
        states[777:] = 1
        with self.assertRaisesRegex(ValueError, "states: row 777 is not a state of npuzzle:3: tile 1 "
                                                "occurs twice.*the blank, 0, is missing"):
            self.tiles.check_states(states)

    def test_a_board_that_no_moves_solve_is_not_a_state(self):
        swapped = self.tiles.goals()[0]
        swapped[:2] = swapped[1::-1].copy()
        with self.assertRaisesRegex(ValueError, "two tiles are swapped"):
            self.tiles.check_states(swapped)

    def test_pieces_that_do_not_exist_cannot_be_encoded(self):
        cube = tandem.Domain("cube3:pairs")
        with self.assertRaisesRegex(ValueError, "encoded with the number 24, expected less than 24"):
            cube.encode(np.full(54, 255, np.uint8))


class Properties(unittest.TestCase):
    def test_a_domain_describes_itself(self):
        lights = tandem.Domain("lights_out:4")
        self.assertEqual(lights.state_size, 16)
        self.assertEqual(lights.input_shape, (16, 2))
        self.assertEqual(lights.board, (4, 4))
        self.assertEqual(lights.num_actions, 16)
        self.assertEqual(lights.action_costs, [1.0] * 16)
        self.assertIn("lights_out", tandem.domain_names())

    def test_a_shipped_domain_keeps_every_promise(self):
        self.assertEqual(tandem.Domain("npuzzle:3").check(states=30), [])


class Plugin(FolderTest):
    def test_a_plugin_adds_its_puzzle(self):
        build = pathlib.Path(tandem.__file__).parents[2]
        library = self.folder / "libpancake.so"
        subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-I", SOURCE / "include", "-I", build / "include",
                        SOURCE / "examples" / "pancake" / "pancake.cc", "-o", library, "-L", build, "-ltandem"],
                       check=True)
        self.assertEqual(tandem.load_plugin(library), ["pancake"])
        stack = tandem.Domain("pancake")
        self.assertEqual(stack.check(states=30), [])
        self.assertEqual(tandem.load_config({"domain": {"name": "pancake"}}).domain, "pancake")

    def test_a_file_that_is_no_plugin_is_refused(self):
        with self.assertRaisesRegex(ValueError, "is not a plug-in"):
            tandem.load_plugin(__file__)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
