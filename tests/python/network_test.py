"""Tests tandem.Network: the network of a run evaluates and solves."""

import faulthandler
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


FP32 = {"inference.precision": "fp32"}


class TrainedRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        tandem.train(SMALL, cls.folder / "v")
        tandem.train(SMALL, cls.folder / "q", {"network.head": "q"})

    def test_evaluate_agrees_with_the_network_rebuilt_in_pytorch(self):
        network = tandem.Network(self.folder / "v", settings=FP32)
        states = network.domain.scramble(300, 10)
        net = network_in_pytorch(self.folder / "v" / "checkpoint.safetensors", depth=6)
        with torch.no_grad():
            expected = net(torch.from_numpy(network.domain.encode(states)))[:, 0].numpy()
        found = network.evaluate(states)
        self.assertEqual(found.dtype, np.float32)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        self.assertGreater(found.std(), 0)
        np.testing.assert_allclose(network.evaluate(states[7]), found[7], rtol=1e-4)

    def test_evaluation_in_small_slices_gives_the_same_estimates(self):
        whole = tandem.Network(self.folder / "v", settings=FP32)
        sliced = tandem.Network(self.folder / "v", settings={**FP32, "inference.batch_size": 7})
        states = whole.domain.scramble(50, 10)
        np.testing.assert_allclose(sliced.evaluate(states), whole.evaluate(states), rtol=1e-4)

    def test_a_q_net_has_a_value_for_each_action(self):
        network = tandem.Network(self.folder / "q", settings=FP32)
        states = network.domain.scramble(20, 5)
        values = network.evaluate_actions(states)
        self.assertEqual(values.shape, (20, 6))
        net = network_in_pytorch(self.folder / "q" / "checkpoint.safetensors", depth=6)
        with torch.no_grad():
            expected = net(torch.from_numpy(network.domain.encode(states))).numpy()
        np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(network.evaluate(states), values.min(axis=1), rtol=1e-4)

    def test_a_v_net_has_no_values_of_actions(self):
        network = tandem.Network(self.folder / "v")
        with self.assertRaisesRegex(ValueError, "head v"):
            network.evaluate_actions(network.domain.goals())

    def test_a_policy_has_no_estimates(self):
        run = self.folder / "policy"
        tandem.train(SMALL, run, {"network.head": "policy", "generate.target": "policy"})
        network = tandem.Network(run)
        with self.assertRaisesRegex(ValueError, "is a policy, which estimates no costs"):
            network.evaluate(network.domain.goals())
        self.assertEqual(network.evaluate_actions(network.domain.goals()).shape, (1, 6))

    def test_solutions_lead_to_the_goal(self):
        network = tandem.Network(self.folder / "v", settings={"search.beam_width": 4096})
        states = network.domain.scramble(8, 6)
        solutions = network.solve(states)
        self.assertEqual(len(solutions), 8)
        for state, solution in zip(states, solutions):
            self.assertTrue(solution.solved, solution.failure)
            self.assertTrue(network.domain.is_goal(network.domain.play(state, solution.moves)))
            self.assertEqual(len(solution.actions), solution.length)
            self.assertEqual(solution.cost, solution.length)
            self.assertEqual(solution.ended, "solved")

    def test_a_search_that_fails_says_why(self):
        network = tandem.Network(self.folder / "v", settings={"search.max_nodes": 10})
        solution = network.solve(network.domain.scramble(1, 12))[0]
        self.assertFalse(solution.solved)
        self.assertEqual(solution.ended, "node limit")
        self.assertIn("search.max_nodes", solution.failure)

    def test_threads_share_a_network(self):
        network = tandem.Network(self.folder / "v")
        states = network.domain.scramble(200, 10)
        expected = network.evaluate(states)
        found = [None] * 4

        def evaluate(number):
            found[number] = [network.evaluate(states) for _ in range(5)]

        threads = [threading.Thread(target=evaluate, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for values in sum(found, []):
            np.testing.assert_array_equal(values, expected)

    def test_the_handler_of_a_signal_may_use_the_network_that_it_interrupts(self):
        network = tandem.Network(self.folder / "v", settings={"inference.batch_size": 7})
        states = network.domain.scramble(60_000, 3)
        found = []

        def handle(*_):
            found.append(network.evaluate(network.domain.goals()))

        before = signal.signal(signal.SIGALRM, handle)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        faulthandler.dump_traceback_later(100, exit=True)  # the handler may wait forever
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        self.assertEqual(network.evaluate(states).shape, (60_000,))
        np.testing.assert_allclose(found, [network.evaluate(network.domain.goals())], rtol=1e-4)

    def test_a_domain_outlives_its_network(self):
        domain = tandem.Network(self.folder / "v").domain
        self.assertTrue(domain.is_goal(domain.goals()).all())

    def test_the_best_checkpoint_can_be_chosen(self):
        self.assertIn(tandem.Network(self.folder / "v", checkpoint="best").iterations, (15, 30))
        self.assertEqual(tandem.Network(self.folder / "v").iterations, 30)

    def test_a_missing_run_or_checkpoint_is_a_value_error(self):
        with self.assertRaisesRegex(ValueError, "no such folder"):
            tandem.Network(self.folder / "nothing")
        with self.assertRaisesRegex(ValueError, "expected last, best or an existing file"):
            tandem.Network(self.folder / "v", checkpoint="worst")

    def test_bytes_that_are_no_state_are_a_value_error(self):
        network = tandem.Network(self.folder / "v")
        states = network.domain.goals(3)
        states[2, 5] = 6
        with self.assertRaisesRegex(ValueError, "states: row 2 is not a state of cube2: facelet 6 is"):
            network.solve(states)
        with self.assertRaisesRegex(ValueError, "encoded with the number 6, expected less than 6"):
            network.evaluate(states)

    def test_states_of_another_shape_are_named(self):
        network = tandem.Network(self.folder / "v")
        with self.assertRaisesRegex(ValueError, r"shape \(2, 3\), expected uint8"):
            network.evaluate(np.zeros((2, 3), np.uint8))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
