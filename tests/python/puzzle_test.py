"""Tests puzzles that are written in Python with NumPy."""

import faulthandler
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
import weakref

import numpy as np

import tandem
from small_run import SMALL, FolderTest


class Lights:
    """Lights Out on a 3x3 board. Its actions are rows of a matrix that are added modulo 2."""

    name = "python_lights"
    state_size = 9
    depth = 2
    board = (3, 3)
    action_names = [f"b{i}" for i in range(9)]
    inverse_actions = list(range(9))

    def __init__(self):
        cells = [divmod(i, 3) for i in range(9)]
        self.buttons = np.array([[abs(r - y) + abs(c - x) <= 1 for y, x in cells] for r, c in cells],
                                np.uint8)
        self.threads = set()

    def goal(self):
        return np.zeros(9, np.uint8)

    def apply(self, states, actions):
        self.threads.add(threading.get_ident())
        return states ^ self.buttons[actions]

    def expand(self, states):
        return states[:, None] ^ self.buttons

    def is_goal(self, states):
        return ~states.any(axis=1)


class Row:
    """A walker on a row of cells, who may only go right. Its state is a number, shown one-hot."""

    name = "python_row"
    state_size = 1
    positions = 8
    depth = 2
    action_names = ["right"]
    action_costs = [2.5]

    def goal(self):
        return np.array([7], np.uint8)

    def apply(self, states, actions):
        return np.minimum(states + 1, 7).astype(np.uint8)

    def applicable(self, states):
        return states < 7

    def is_goal(self, states):
        return states[:, 0] == 7

    def encode(self, states):
        return np.eye(8, dtype=np.uint8)[states[:, 0]]

    def step_back(self, states, randoms):
        return np.where(states[:, 0] > 0, 0, -1), np.maximum(states, 1) - 1

    def format(self, state):
        return f"cell {state[0]}"

    def parse(self, text):
        cell = int(text.removeprefix("cell "))
        if cell > 7:
            raise ValueError(f"there is no cell {cell}")
        return np.array([cell], np.uint8)


def with_(puzzle, **members):
    """Returns a puzzle of this class with some members changed."""
    return type(puzzle.__name__, (puzzle,), members)()


class Batches(unittest.TestCase):
    def test_it_agrees_with_the_puzzle_in_cpp(self):
        ours = tandem.register_domain(Lights())
        theirs = tandem.Domain("lights_out:3")
        states = theirs.scramble(600, 5)
        np.testing.assert_array_equal(ours.expand(states), theirs.expand(states))
        buttons = np.arange(600) % 9
        np.testing.assert_array_equal(ours.apply(states, buttons), theirs.apply(states, buttons))
        np.testing.assert_array_equal(ours.is_goal(states), theirs.is_goal(states))
        np.testing.assert_array_equal(ours.encode(states), theirs.encode(states))
        self.assertEqual(ours.board, theirs.board)

    def test_methods_that_may_be_missing_have_defaults(self):
        class Plain(Lights):
            name = "python_plain"
            expand = None  # hides the method of the base class
            encode = None

        domain = tandem.register_domain(Plain())
        states = domain.scramble(50, 4)
        expected = tandem.Domain("lights_out:3").expand(states)
        np.testing.assert_array_equal(domain.expand(states), expected)
        self.assertTrue(domain.applicable(states).all())
        self.assertEqual(domain.format(domain.goals()[0]), "0 0 0 0 0 0 0 0 0")
        self.assertEqual(domain.action_costs, [1.0] * 9)

    def test_methods_get_at_least_one_state(self):
        class NeverEmpty(Lights):
            name = "python_never_empty"

            def apply(self, states, actions):
                assert len(states) > 0
                return super().apply(states, actions)

            def is_goal(self, states):
                assert len(states) > 0
                return super().is_goal(states)

            expand = None

        puzzle = tandem.register_domain(NeverEmpty())
        none = np.zeros((0, 9), np.uint8)
        self.assertEqual(puzzle.apply(none, 0).shape, (0, 9))
        self.assertEqual(puzzle.expand(none).shape, (0, 9, 9))
        self.assertEqual(puzzle.is_goal(none).shape, (0,))
        solved = tandem.solve(puzzle, puzzle.scramble(20, 5), lambda inputs: inputs.sum(axis=1), beam_width=4)
        self.assertTrue(any(solution.solved for solution in solved))

    def test_a_puzzle_without_inverses_steps_back_by_itself(self):
        domain = tandem.register_domain(Row())
        np.testing.assert_array_equal(domain.scramble(5, [0, 1, 2, 6, 7])[:, 0], [7, 6, 5, 1, 0])
        np.testing.assert_array_equal(domain.applicable(domain.scramble(2, [0, 1])), [[False], [True]])
        self.assertEqual(domain.input_shape, (8, 2))
        self.assertEqual(domain.action_costs, [2.5])
        self.assertEqual(domain.format(domain.parse("cell 3")), "cell 3")
        with self.assertRaisesRegex(ValueError, "there is no cell 9"):
            domain.parse("cell 9")

    def test_states_are_checked_by_the_parse_of_the_puzzle(self):
        domain = tandem.register_domain(Row())
        self.assertIsNone(domain.check_states(np.arange(8, dtype=np.uint8)[:, None]))
        with self.assertRaisesRegex(ValueError, "row 1 is not a state of python_row: there is no cell 8"):
            domain.check_states(np.array([[7], [8]], np.uint8))
        lights = tandem.register_domain(Lights())
        with self.assertRaisesRegex(ValueError, "number 4 is '2', expected a whole number from 0 to 1"):
            lights.text(np.array([0, 0, 0, 2, 0, 0, 0, 0, 0], np.uint8))

    def test_a_puzzle_with_several_goals_per_problem_names_them(self):
        class Marker(Lights):
            """Moves a marker on a ring. It may stop at either of two places that a problem has."""

            name = "python_marker"
            state_size = 3
            depth = 12
            board = None
            action_names = ["left", "right"]
            inverse_actions = [1, 0]
            expand = property()

            def goal(self):
                return np.array([4, 4, 9], np.uint8)

            def draw_goals(self, seeds):
                places = np.stack([seeds % 12, (seeds % 12 + 1 + seeds // 12 % 11) % 12], axis=1)
                return np.concatenate([places[:, :1], places], axis=1).astype(np.uint8)

            def apply(self, states, actions):
                moved = states.copy()
                moved[:, 0] = (states[:, 0] + np.where(actions == 1, 1, 11)) % 12
                return moved

            def is_goal(self, states):
                return (states[:, :1] == states[:, 1:]).any(axis=1)

        with self.assertRaisesRegex(RuntimeError, "all_goals lacks"):
            tandem.register_domain(Marker())

        class Complete(Marker):
            name = "python_complete_marker"

            def all_goals(self, goal):
                goals = np.stack([goal, goal])
                goals[:, 0] = goal[1:]
                return goals

        domain = tandem.register_domain(Complete())
        self.assertTrue(domain.is_goal(domain.goals(5)).all())

    def test_ctrl_c_in_a_method_raises_keyboard_interrupt(self):
        class Interrupted(Lights):
            name = "python_interrupted"
            at = 0  # the call that Ctrl-C meets

            def is_goal(self, states):
                self.at -= 1
                if self.at == 0:
                    signal.raise_signal(signal.SIGINT)
                return super().is_goal(states)

        puzzle = Interrupted()
        domain = tandem.register_domain(puzzle, check=False)
        for call in (lambda: domain.is_goal(domain.goals()), domain.check,
                     lambda: tandem.register_domain(puzzle)):
            puzzle.at = 1
            with self.assertRaises(KeyboardInterrupt):
                call()
        self.assertEqual(domain.check(), [])

    def test_a_class_in_place_of_an_object_is_named(self):
        with self.assertRaisesRegex(ValueError, r"puzzle: found the class Lights, expected an object of it: Lights\(\)"):
            tandem.register_domain(Lights)

    def test_ctrl_c_ends_work_on_many_states(self):
        class Slow(Lights):
            name = "python_slow"
            calls = 0

            def expand(self, states):
                self.calls += 1
                if self.calls == 1:
                    os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)
                return super().expand(states)

        puzzle = Slow()
        domain = tandem.register_domain(puzzle, check=False)
        with self.assertRaises(KeyboardInterrupt):
            domain.expand(np.zeros((1_000_000, 9), np.uint8))
        self.assertLess(puzzle.calls, 256)

    def test_an_array_that_a_method_keeps_stays_as_it_was(self):
        kept = []

        class Keeps(Lights):
            name = "python_keeps"

            def is_goal(self, states):
                kept.append((states, states.copy()))
                return super().is_goal(states)

        domain = tandem.register_domain(Keeps())
        for _ in range(20):
            domain.is_goal(domain.scramble(1000, 9))
        for array, copy in kept:
            np.testing.assert_array_equal(array, copy)


class Blocks(FolderTest):
    """The numbers of states with which Tandem calls the methods of a puzzle."""

    METHODS = ("apply", "expand", "is_goal", "encode", "applicable", "step_back", "draw_goals")

    def counted(self, puzzle):
        """Returns a puzzle of this class and a dictionary of the numbers of states by method."""
        sizes = {}

        def count(name):
            def method(self, states, *rest):
                sizes.setdefault(name, []).append(len(states))
                return getattr(puzzle, name)(self, states, *rest)
            return method

        names = [name for name in self.METHODS if getattr(puzzle, name, None) is not None]
        return with_(puzzle, **{name: count(name) for name in names}), sizes

    def expect_large(self, sizes, *methods):
        """Nine in ten states must be in calls with at least 1,000 states."""
        for name in methods:
            large = sum(size for size in sizes[name] if size >= 1000)
            self.assertGreater(large, 0.9 * sum(sizes[name]), (name, sizes[name]))

    def sizes_of_run(self, puzzle, **generate):
        puzzle, sizes = self.counted(puzzle)
        tandem.register_domain(puzzle, check=False)
        config = {**SMALL, "domain": {"name": puzzle.name}, "validation": {"every_updates": 0},
                  "train": {**SMALL["train"], "batch_size": 5000, "iterations_per_update": 8, "max_updates": 2},
                  "generate": {"max_scramble": 8, "workers": 2, **generate}}
        tandem.train(config, self.folder / puzzle.name)
        return sizes

    def test_walks_of_a_run_advance_in_blocks_of_a_thousand(self):
        sizes = self.sizes_of_run(Lights, target="walk_length")
        self.assertGreaterEqual(min(sizes["apply"]), 1000)
        self.assertEqual(sum(sizes["apply"]), 2 * 40_000)  # each step is a row

    def test_value_iteration_calls_each_method_with_thousands_of_states(self):
        sizes = self.sizes_of_run(Lights, target="value_iteration")
        self.expect_large(sizes, "expand", "is_goal")
        self.assertGreater(sum(sizes["apply"]) / len(sizes["apply"]), 1000)

    def test_a_search_links_its_tree_by_one_call(self):
        searches = {"search": "astar", "search_iterations": 10, "backup": "lhbl"}
        sizes = self.sizes_of_run(Lights, target="value_iteration", **searches)
        trees = 2 * 40_000 // 10
        self.assertLess(len(sizes["apply"]), 2 * trees)
        self.assertGreater(sum(sizes["apply"]), 10 * trees)

    def test_a_puzzle_without_expand_makes_children_in_blocks(self):
        class Plain(Lights):
            name = "python_plain_blocks"
            expand = None

        sizes = self.sizes_of_run(Plain, target="value_iteration")
        self.expect_large(sizes, "is_goal")
        self.assertGreater(sum(sizes["apply"]) / len(sizes["apply"]), 1000)

    def test_a_puzzle_without_inverses_steps_back_in_blocks(self):
        sizes = self.sizes_of_run(Row, target="value_iteration")
        self.expect_large(sizes, "encode", "is_goal")
        self.assertGreater(sum(sizes["step_back"]) / len(sizes["step_back"]), 1000)

    def test_scrambles_of_a_program_advance_in_blocks(self):
        puzzle, sizes = self.counted(Lights)
        tandem.register_domain(puzzle, check=False).scramble(5000, 9)
        self.assertGreaterEqual(min(sizes["apply"]), 1000)
        self.assertEqual(sum(sizes["apply"]), 45_000)

    def test_rows_do_not_depend_on_the_size_of_blocks(self):
        puzzle = tandem.register_domain(Lights(), check=False)
        lengths = np.arange(5000) % 10
        np.testing.assert_array_equal(puzzle.scramble(5000, lengths, seed=3),
                                      tandem.Domain("lights_out:3").scramble(5000, lengths, seed=3))


class Training(FolderTest):
    def test_worker_threads_train_a_network_that_solves(self):
        puzzle = Lights()
        tandem.register_domain(puzzle, check=False)
        config = {**SMALL, "domain": {"name": puzzle.name},
                  "generate": {"max_scramble": 9, "workers": 2, "target": "value_iteration"}}
        puzzle.threads.clear()
        result = tandem.train(config, self.folder / "run")
        self.assertEqual(result.updates, 6)
        self.assertTrue(puzzle.threads - {threading.get_ident()})
        network = tandem.Network(self.folder / "run", settings={"search.beam_width": 512})
        states = network.domain.scramble(10, 9)
        for state, solution in zip(states, network.solve(states)):
            self.assertTrue(solution.solved, solution.failure)
            self.assertFalse(network.domain.play(state, solution.moves).any())

    def test_ctrl_c_reaches_python_if_the_puzzle_fails_after_it(self):
        class Fails(Lights):
            name = "python_fails"
            fails = False

            def expand(self, states):
                if self.fails:
                    os.kill(os.getpid(), signal.SIGINT)
                    raise ValueError("broken")
                return super().expand(states)

        puzzle = Fails()
        tandem.register_domain(puzzle)
        tandem.train({**SMALL, "domain": {"name": puzzle.name}}, self.folder / "run")
        network = tandem.Network(self.folder / "run")
        states = network.domain.scramble(1, 3)
        puzzle.fails = True
        errors = []
        with self.assertRaises(KeyboardInterrupt):
            try:
                network.solve(states)
            except RuntimeError as error:
                errors.append(error)
            self.assertEqual(len(errors), 1)

    def test_a_puzzle_that_uses_the_network_that_is_searching_is_told_so(self):
        class Curious(Lights):
            name = "python_curious"
            network = None
            errors = []

            def ask(self, states):
                if self.network is None:
                    return
                try:
                    self.network.evaluate(states)
                except RuntimeError as error:
                    self.errors.append(str(error))

            def is_goal(self, states):  # called by the thread that searches
                self.ask(states)
                return super().is_goal(states)

            def expand(self, states):  # called by workers too
                self.ask(states)
                return super().expand(states)

        puzzle = Curious()
        tandem.register_domain(puzzle)
        tandem.train({**SMALL, "domain": {"name": puzzle.name}}, self.folder / "run")
        network = tandem.Network(self.folder / "run")
        states = network.domain.scramble(1, 3)
        faulthandler.dump_traceback_later(100, exit=True)  # the call may wait forever
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        puzzle.network = network
        network.solve(states)
        puzzle.network = None
        self.assertTrue(puzzle.errors)
        self.assertIn("the network is in use", puzzle.errors[0])
        self.assertEqual(network.evaluate(states).shape, (1,))

    def test_a_puzzle_that_closes_the_run_at_work_is_told_so(self):
        class Closes(Lights):
            name = "python_closes"
            run = None
            errors = {}

            def close(self):
                if self.run is not None:
                    try:
                        self.run.close()
                    except RuntimeError as error:
                        self.errors[threading.get_ident()] = str(error)

            def is_goal(self, states):  # called by the main thread, which validates
                self.close()
                return super().is_goal(states)

            def expand(self, states):  # called by workers too
                self.close()
                return super().expand(states)

        puzzle = Closes()
        tandem.register_domain(puzzle)
        faulthandler.dump_traceback_later(100, exit=True)  # the call may wait forever
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        run = tandem.Training({**SMALL, "domain": {"name": puzzle.name}}, self.folder / "run",
                              {"generate.target": "value_iteration", "validation.every_updates": 1})
        puzzle.run = run
        self.assertEqual(run.run_update().updates, 1)
        puzzle.run = None
        self.assertGreater(len(puzzle.errors), 1)
        self.assertIn(threading.get_ident(), puzzle.errors)
        for error in puzzle.errors.values():
            self.assertIn("the run is at work, and a method of a puzzle", error)
        self.assertFalse(run.closed)
        run.close()

    def test_a_run_that_is_collected_in_its_own_thread_ends(self):
        dropped = threading.Event()
        collected_in = []

        class Collects(Lights):
            name = "python_collects"
            rows = 0

            def expand(self, states):  # each row of a fill once
                self.rows += len(states)
                if self.rows > 500:  # the fill beside the first update
                    dropped.wait(60)
                    gc.collect()
                return super().expand(states)

        puzzle = Collects()
        tandem.register_domain(puzzle, check=False)
        faulthandler.dump_traceback_later(100, exit=True)  # the thread may wait for itself
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        run = tandem.Training({**SMALL, "domain": {"name": puzzle.name}}, self.folder / "run",
                              {"generate.target": "value_iteration", "validation.every_updates": 0})
        run.run_update()
        run.itself = run
        weakref.finalize(run, lambda: collected_in.append(threading.get_ident()))
        gc.disable()  # expand collects, in another thread
        self.addCleanup(gc.enable)
        del run
        dropped.set()
        while True:
            try:
                tandem.Training.resume(self.folder / "run").close()
                break
            except ValueError as error:  # the threads of the run have not ended
                self.assertIn("is training in this folder", str(error))
                time.sleep(0.01)
        self.assertEqual(len(collected_in), 1)
        self.assertNotIn(threading.get_ident(), collected_in)

    def test_the_same_config_trains_the_weights_of_the_puzzle_in_cpp(self):
        tandem.register_domain(Lights())
        hashes = set()
        for domain in ({"name": "python_lights"}, {"name": "lights_out", "size": 3}):
            config = {**SMALL, "domain": domain}
            hashes.add(tandem.train(config, self.folder / domain["name"]).weights_sha256)
        self.assertEqual(len(hashes), 1)

    def test_an_exception_in_a_worker_ends_the_run_with_its_traceback(self):
        class Breaks(Lights):
            name = "python_breaks"
            left = 30

            def apply(self, states, actions):
                self.left -= 1
                if self.left == 0:
                    raise ZeroDivisionError("out of buttons")
                return super().apply(states, actions)

        tandem.register_domain(Breaks(), check=False)
        config = {**SMALL, "domain": {"name": "python_breaks"}}
        with self.assertRaisesRegex(RuntimeError, "(?s)python_breaks.*apply failed.*out of buttons"):
            tandem.train(config, self.folder / "run")
        self.assertTrue((self.folder / "run" / "checkpoint.safetensors").exists())

    def test_a_program_with_such_a_puzzle_ends_cleanly_during_a_run(self):
        code = ("import sys, json\n"
                "from puzzle_test import Lights\n"
                "import tandem\n"
                "tandem.register_domain(Lights())\n"
                "run = tandem.Training(json.loads(sys.argv[1]), sys.argv[2])\n"
                "run.run_update()\n"
                "print('updated')\n")
        config = json.dumps({**SMALL, "domain": {"name": "python_lights"}})
        result = subprocess.run([sys.executable, "-c", code, config, str(self.folder / "run")],
                                capture_output=True, text=True, timeout=120,
                                cwd=pathlib.Path(__file__).parent)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "updated\n", ""))


    def test_a_script_whose_variables_hold_its_puzzle_ends_without_messages(self):
        code = ("from puzzle_test import Lights\n"
                "import tandem\n"
                "class Mine(Lights):\n"
                "    name = 'python_mine'\n"
                "    def goal(self):\n"
                "        return super().goal()\n"
                "puzzle = Mine()\n"
                "domain = tandem.register_domain(puzzle)\n"
                "puzzle.domain = domain\n"
                "other = tandem.Domain('python_mine')\n")
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                timeout=120, cwd=pathlib.Path(__file__).parent)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


class Registering(unittest.TestCase):
    def refused(self, error, message, puzzle):
        with self.assertRaisesRegex(error, message):
            tandem.register_domain(puzzle)

    def test_a_missing_or_wrong_member_is_a_value_error(self):
        self.refused(ValueError, "no `name`", object())
        self.refused(ValueError, "'a b', expected letters", with_(Lights, name="a b"))
        self.refused(ValueError, "`state_size` is 'x'", with_(Lights, state_size="x"))
        self.refused(ValueError, "no method `is_goal`", with_(Lights, is_goal=property()))
        self.refused(ValueError, "step_back", with_(Lights, inverse_actions=None))
        self.refused(ValueError, "needs a method `encode`", with_(Lights, positions=3))
        self.refused(ValueError, "state_size is 0, expected 1 to", with_(Lights, state_size=0))
        self.refused(ValueError, "input.depth must be 1 to 256", with_(Lights, depth=257))
        self.refused(ValueError, "2 inverse_actions", with_(Lights, inverse_actions=[0, 1]))

    def test_a_misspelled_optional_member_is_named_in_a_warning(self):
        def method(self, states):
            return states

        for wrong, meant, value in [("encod", "encode", method), ("aplicable", "applicable", method),
                                    ("action_cost", "action_costs", [1.0] * 9),
                                    ("versoin", "version", "2"), ("symmetrys", "symmetries", [])]:
            with self.assertWarnsRegex(UserWarning, f"member `{wrong}`; did you mean `{meant}`") as caught:
                tandem.register_domain(with_(Lights, **{wrong: value}), check=False)
            self.assertEqual(caught.filename, __file__)

    def test_other_members_give_no_warning(self):
        def helper(self):
            return 0

        # `position` is near the attribute `positions`, but is a method; Lights has an `apply`.
        puzzle = with_(Lights, position=helper, aply=helper, moves=[1, 2], _encod=helper, encode=None,
                       encoder=helper)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tandem.register_domain(puzzle, check=False)

    def test_an_error_in_a_property_is_raised(self):
        def fail(self):
            raise OSError("no such table")

        self.refused(OSError, "no such table", with_(Lights, depth=property(fail)))
        self.refused(OSError, "no such table", with_(Lights, encode=property(fail)))

    def test_a_name_of_tandem_is_taken(self):
        self.refused(ValueError, "cube3.*choose another", with_(Lights, name="cube3"))

    def test_a_broken_promise_is_named_before_anything_trains(self):
        self.refused(RuntimeError, "breaks a promise",
                     with_(Lights, inverse_actions=[(a + 1) % 9 for a in range(9)]))

    def test_a_result_of_another_type_or_shape_is_named(self):
        wrong = with_(Lights, is_goal=lambda self, states: states.sum(axis=1))
        domain = tandem.register_domain(wrong, check=False)
        with self.assertRaisesRegex(RuntimeError, "is_goal returned an array of uint64 with shape"):
            domain.is_goal(domain.goals(4))
        wrong = with_(Lights, apply=lambda self, states, actions: None)
        domain = tandem.register_domain(wrong, check=False)
        with self.assertRaisesRegex(RuntimeError, r"apply returned an object of type NoneType, "
                                                  r"expected an array of bool or uint8 with shape \(1, 9\)"):
            domain.apply(domain.goals(), 3)
        wrong = with_(Lights, goal=lambda self: np.zeros(8, np.uint8))
        domain = tandem.register_domain(wrong, check=False)
        with self.assertRaisesRegex(RuntimeError, r"shape \(8,\), expected bool or uint8 with shape \(9,\)"):
            domain.goals()

    def test_a_puzzle_of_the_same_name_replaces_the_one_before(self):
        tandem.register_domain(with_(Lights, version="1"))
        tandem.register_domain(with_(Lights, version="2"))
        self.assertEqual(tandem.Domain("python_lights").identity, "python_lights@2")

    def test_a_replaced_puzzle_is_freed(self):
        puzzle = Lights()
        freed = weakref.ref(puzzle)
        tandem.register_domain(puzzle)
        del puzzle
        tandem.register_domain(Lights())
        gc.collect()
        self.assertIsNone(freed())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
