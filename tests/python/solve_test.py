"""Tests tandem.solve: searches guided by a network or a function of the caller."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import unittest

import numpy as np
import torch

import tandem
from small_run import SMALL, network_in_pytorch

METHODS = {"v": ["beam", "astar", "ida_star", "greedy", "bidirectional_beam"], "q": ["beam", "q_star", "greedy"],
           "policy": ["beam"]}


def limits(method):
    return {"max_nodes": 20_000} | ({"beam_width": 200} if "beam" in method else {})


def summary(solutions):
    return [(s.solved, s.actions, s.nodes, s.ended, s.failure) for s in solutions]


class GuidedSearch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.cube = tandem.Domain("cube2")
        cls.states = cls.cube.scramble(12, 5, seed=3)

    def test_the_same_estimates_give_the_same_searches_as_the_network_of_a_run(self):
        for head, methods in METHODS.items():
            targets = {"generate.target": "policy"} if head == "policy" else {}
            tandem.train(SMALL, self.folder / head, {"network.head": head, **targets})
            for method in methods:
                settings = {"search.method": method, **{f"search.{key}": value for key, value in limits(method).items()}}
                network = tandem.Network(self.folder / head, settings=settings)
                # The states of this puzzle are its inputs. Values of a policy are its logits up to a constant.
                estimate = {"v": network.evaluate, "q": network.evaluate_actions,
                            "policy": lambda inputs: -network.evaluate_actions(inputs)}[head]
                found = tandem.solve(self.cube, self.states, estimate, head=head, method=method, **limits(method))
                with self.subTest(head=head, method=method):
                    expected = network.solve(self.states)
                    self.assertEqual([s.solved for s in found], [s.solved for s in expected])
                    if head != "policy":  # its logarithms are rounded
                        self.assertEqual(summary(found), summary(expected))
                    self.assertTrue(method == "greedy" or any(s.solved for s in found))

    def test_moves_are_in_the_notation_of_the_puzzle(self):
        sokoban = tandem.Domain("sokoban:5")
        level = sokoban.parse("#####\n#@$.#\n#####")
        (solution,) = tandem.solve(sokoban, level[None], lambda inputs: np.zeros(len(inputs)), method="astar")
        self.assertEqual(solution.moves, "R")  # a push

    def test_a_module_of_pytorch_is_called_in_evaluation_mode_without_gradients(self):
        tandem.train(SMALL, self.folder / "module")
        net = network_in_pytorch(self.folder / "module" / "checkpoint.safetensors", depth=6)
        seen = []
        net.register_forward_hook(lambda *_: seen.append((net.training, torch.is_grad_enabled())))
        net.train()
        found = tandem.solve("cube2", self.states, net, method="astar")
        self.assertTrue(all(s.solved for s in found))
        self.assertEqual(set(seen), {(False, False)})
        self.assertTrue(net.training)

    def test_batch_size_limits_the_states_of_a_call(self):
        sizes = []

        def evaluate(inputs):
            sizes.append(len(inputs))
            return np.zeros(len(inputs))

        tandem.solve(self.cube, self.states[0], evaluate, batch_size=50, beam_width=100)
        self.assertLessEqual(max(sizes), 50)
        self.assertGreater(len(sizes), 1)

    def test_an_exception_of_the_function_ends_the_search_and_is_raised(self):
        def fail(inputs):
            raise LookupError("no estimate")

        with self.assertRaisesRegex(LookupError, "no estimate"):
            tandem.solve(self.cube, self.states, fail, beam_width=10)

    def test_wrong_results_and_arguments_are_named(self):
        with self.assertRaisesRegex(ValueError, r"returned an array of shape \(\d+, 2\), expected \(\d+,\) or"):
            tandem.solve(self.cube, self.states, lambda inputs: np.zeros((len(inputs), 2)), beam_width=10)
        with self.assertRaisesRegex(ValueError, r"expected \(\d+, 6\)"):
            tandem.solve(self.cube, self.states, lambda inputs: np.zeros(len(inputs)), head="q", beam_width=10)
        with self.assertRaisesRegex(RuntimeError, "NaN"):
            tandem.solve(self.cube, self.states, lambda inputs: np.full(len(inputs), np.nan), beam_width=10)
        with self.assertRaisesRegex(ValueError, "search.beam_widht"):
            tandem.solve(self.cube, self.states, np.zeros, beam_widht=3)
        with self.assertRaisesRegex(ValueError, "head: expected v, q, policy or vp, found 'q_in'"):
            tandem.solve(self.cube, self.states, np.zeros, head="q_in")
        with self.assertRaisesRegex(ValueError, "row 0"):
            tandem.solve(self.cube, self.states * 0 + 9, np.zeros)

    def test_ctrl_c_in_the_function_stops_the_search(self):
        calls = []

        def evaluate(inputs):
            if not calls:
                os.kill(os.getpid(), signal.SIGINT)
            calls.append(len(inputs))
            return np.random.default_rng(len(calls)).random(len(inputs))

        with self.assertRaises(KeyboardInterrupt):
            tandem.solve(self.cube, self.cube.scramble(50, 30), evaluate, beam_width=10, max_length=1000)
        self.assertLess(len(calls), 1000)
        self.assertEqual(threading.active_count(), 1)

    def test_a_puzzle_in_python_can_be_searched(self):
        class Line(tandem.Puzzle):
            name = "line_to_solve"
            state_size = 1
            depth = 30
            action_names = ["left", "right"]
            inverse_actions = [1, 0]

            def goal(self):
                return np.zeros(1, dtype=np.uint8)

            def apply(self, states, actions):
                step = np.where(actions == 0, -1, 1)[:, None]
                return ((states.astype(int) + step) % 30).astype(np.uint8)

            def is_goal(self, states):
                return states[:, 0] == 0

        line = tandem.register_domain(Line())
        start = np.array([[12]], dtype=np.uint8)
        [solution] = tandem.solve(line, start, lambda inputs: np.minimum(inputs[:, 0], 30 - inputs[:, 0]),
                                  method="astar")
        self.assertEqual(solution.actions, [0] * 12)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
