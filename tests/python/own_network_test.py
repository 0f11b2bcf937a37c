"""Tests tandem.register_network: runs train networks that are written in PyTorch, and searches use them."""

import copy
import json
import signal
import subprocess
import sys
import threading
import unittest

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

import tandem
from small_run import SMALL, SOURCE, FolderTest, network_in_pytorch


class Net(nn.Module):
    """A network with batch normalisation, which counts its batches in int64."""

    def __init__(self, positions, depth, outputs):
        super().__init__()
        self.register_buffer("first", torch.arange(positions, dtype=torch.int32) * depth, persistent=False)
        self.embed = nn.EmbeddingBag(positions * depth, 32, mode="sum")
        self.norm = nn.BatchNorm1d(32)
        self.output = nn.Linear(32, outputs)

    def forward(self, inputs):  # (n, positions) of uint8
        return self.output(torch.relu(self.norm(self.embed(inputs + self.first))))


tandem.register_network("net", Net)
NET = {**SMALL, "network": {"kind": "net"}}


def weights(file):
    return {name: tensor for name, tensor in load_file(file).items() if not name.startswith("resume.")}


def sha256(folder):
    return json.loads((folder / "summary.json").read_text())["weights_sha256"]


class Training(FolderTest):
    def train(self, name, settings=None, config=NET):
        tandem.train(config, self.folder / name, settings)
        return sha256(self.folder / name)

    def equals_built_in(self, settings):
        """Trains a built-in network, and the same one as a module that begins with its weights."""
        config = {**SMALL, "backend": "reference"}
        settings = {"train.max_updates": 50, "validation.every_updates": 0, **settings}
        tandem.Training(config, self.folder / "built_in", settings).close()
        depth = tandem.Domain(settings.get("domain.name", "cube2")).input_shape[1]
        start = network_in_pytorch(self.folder / "built_in" / "checkpoint.safetensors", depth)
        tandem.register_network("same", lambda *_: copy.deepcopy(start))
        tandem.resume(self.folder / "built_in")
        self.train("module", {**settings, "network.kind": "same"}, config)
        built_in = weights(self.folder / "built_in" / "checkpoint.safetensors")
        module = weights(self.folder / "module" / "checkpoint.safetensors")
        self.assertEqual(list(built_in), list(module))
        self.assertFalse(torch.equal(start.output.weight, built_in["output.weight"]))
        for name, tensor in built_in.items():
            torch.testing.assert_close(module[name], tensor, rtol=0, atol=0, msg=name)
        self.assertEqual(sha256(self.folder / "module"), sha256(self.folder / "built_in"))

    def test_a_module_gets_the_weights_of_the_built_in_network_that_computes_the_same(self):
        self.equals_built_in({"generate.target": "walk_length", "network.norm": "batch"})

    def test_labels_of_a_module_are_those_of_the_built_in_network_that_computes_the_same(self):
        # With two values of a position, inference copies compute the first layer as training does.
        self.equals_built_in({"domain.name": "lights_out", "domain.size": 3, "network.norm": "layer",
                              "generate.target": "value_iteration"})

    def test_every_mode_trains_and_validates(self):
        labelled = {"generate.target": "value_iteration"}
        searched = {**labelled, "generate.search": "greedy", "replay.updates": 2}
        for mode, settings in (("sequential", labelled), ("async", labelled), ("sync_main", searched)):
            with self.subTest(mode):
                self.train(mode, {"pipeline.mode": mode, **settings})
                summary = json.loads((self.folder / mode / "summary.json").read_text())
                self.assertIsNotNone(summary["final_loss"])
                self.assertTrue((self.folder / mode / "best.safetensors").exists())

    def test_async_gives_the_weights_of_sequential_with_its_lag(self):
        labelled = {"generate.target": "value_iteration"}
        sequential = self.train("sequential", {**labelled, "pipeline.mode": "sequential", "pipeline.policy_lag": 1})
        self.assertEqual(self.train("async", {**labelled, "pipeline.mode": "async"}), sequential)

    def test_every_head_trains_and_solves(self):
        for head in ("v", "q", "q_in", "policy", "vp"):
            with self.subTest(head):
                target = "policy" if head == "policy" else "walk_length"
                self.train(head, {"network.head": head, "generate.target": target})
                network = tandem.Network(self.folder / head, settings={"search.beam_width": 4096})
                states = network.domain.scramble(4, 4)
                self.assertTrue(all(solution.solved for solution in network.solve(states)))
                if head != "v":
                    self.assertEqual(network.evaluate_actions(states).shape, (4, 6))

    def test_every_target_trains(self):
        searches = {"generate.search": "astar", "generate.search_iterations": 10}
        found = set()
        for number, settings in enumerate((
                {"generate.target": "capped_value_iteration"},
                {"generate.target": "q_learning", "network.head": "q"},
                {"generate.target": "own_solutions", "generate.search": "greedy"},
                {"generate.target": "value_iteration", **searches},
                {"generate.target": "value_iteration", **searches, "generate.backup": "lhbl"},
                {"generate.target": "value_iteration", "generate.program": "tensor"})):
            with self.subTest(settings=settings):
                found.add(self.train(str(number), settings))
        self.assertEqual(len(found), 6)

    def test_average_parts_of_batches_and_bf16_train(self):
        found = {self.train("plain"), self.train("average", {"train.ema_decay": 0.9, "train.accumulation_steps": 2}),
                 self.train("bf16", {"train.precision": "bf16", "inference.precision": "bf16"})}
        self.assertEqual(len(found), 3)

    def test_precision_is_fp32_unless_it_is_set(self):
        self.train("auto", {"train.precision": "auto", "inference.precision": "auto"})
        config = tandem.Network(self.folder / "auto").config
        self.assertEqual((config["train.precision"], config["inference.precision"]), ("fp32", "fp32"))
        self.assertEqual(config["backend"], "reference")

    def test_a_resumed_run_gives_the_weights_of_an_uninterrupted_one(self):
        settings = {"train.ema_decay": 0.9}
        whole = self.train("whole", settings)
        with tandem.Training(NET, self.folder / "parts", settings) as run:
            run.run_update()
            run.run_update()
        tandem.resume(self.folder / "parts")
        self.assertEqual(sha256(self.folder / "parts"), whole)

    def test_initial_weights_depend_on_the_seed_alone(self):
        def initial(name, seed):
            tandem.Training(NET, self.folder / name, {"seed": seed}).close()
            return weights(self.folder / name / "checkpoint.safetensors")["output.weight"]

        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = initial("first", 5)
        self.assertTrue(torch.equal(torch.get_rng_state(), before))
        torch.manual_seed(2)
        self.assertTrue(torch.equal(initial("again", 5), first))
        self.assertFalse(torch.equal(initial("other", 6), first))

    def test_frozen_parameters_and_buffers_outside_the_state_dict_stay(self):
        class Frozen(Net):
            def __init__(self, *shape):
                super().__init__(*shape)
                self.embed.weight.requires_grad_(False)

        tandem.register_network("frozen", Frozen)
        with tandem.Training(NET, self.folder / "run", {"network.kind": "frozen"}) as run:
            before = weights(self.folder / "run" / "checkpoint.safetensors")
            run.run_update()
        after = weights(self.folder / "run" / "checkpoint.safetensors")
        self.assertTrue(torch.equal(before["embed.weight"], after["embed.weight"]))
        self.assertFalse(torch.equal(before["output.weight"], after["output.weight"]))
        self.assertNotIn("first", after)

    def test_other_threads_run_python_while_a_forward_pass_waits(self):
        started, passed = threading.Event(), threading.Event()
        of_first_fill = evaluations = 0
        counts = True

        class Waits(Net):
            def forward(self, inputs):
                nonlocal of_first_fill, evaluations
                if not self.training or len(inputs) <= 2:
                    evaluations += 1
                    if not counts and evaluations > of_first_fill and started.wait(60):
                        passed.set()
                elif counts:
                    of_first_fill = of_first_fill or evaluations
                elif not started.is_set():
                    started.set()
                    if not passed.wait(60):
                        raise TimeoutError("the evaluation did not run beside this step")
                return super().forward(inputs)

        tandem.register_network("waits", Waits)
        settings = {"network.kind": "waits", "validation.every_updates": 0, "generate.target": "value_iteration"}
        self.train("counted", settings | {"pipeline.mode": "sequential", "train.max_updates": 1})
        counts, evaluations = False, 0
        self.train("run", settings | {"pipeline.mode": "async"})
        self.assertTrue(passed.is_set())


    def test_the_handler_of_a_signal_that_meets_a_forward_pass_cannot_close_the_run(self):
        class Signals(Net):
            def forward(self, inputs):
                if self.training and run is not None and not errors:
                    signal.raise_signal(signal.SIGTERM)
                return super().forward(inputs)

        def close(*_):
            try:
                run.close()
            except RuntimeError as error:
                errors.append(str(error))

        run = None
        errors = []
        before = signal.signal(signal.SIGTERM, close)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        tandem.register_network("signals", Signals)
        with tandem.Training(NET, self.folder / "run", {"network.kind": "signals"}) as run:
            self.assertEqual(run.run_update().updates, 1)
        self.assertIn("the run is at work, and a method of a puzzle or a network cannot wait", errors[0])


class Use(FolderTest):
    def setUp(self):
        super().setUp()
        tandem.train(NET, self.folder / "run")
        self.network = tandem.Network(self.folder / "run")

    def test_a_checkpoint_is_a_state_dict_of_the_module(self):
        net = Net(*self.network.domain.input_shape, 1)
        net.load_state_dict(weights(self.folder / "run" / "checkpoint.safetensors"))
        self.assertEqual(net.norm.num_batches_tracked.item(), self.network.iterations)
        states = self.network.domain.scramble(300, 10)
        with torch.no_grad():
            expected = net.eval()(torch.from_numpy(self.network.domain.encode(states)))[:, 0]
        np.testing.assert_allclose(self.network.evaluate(states), expected, rtol=1e-5, atol=1e-5)

    def test_searches_use_it(self):
        states = self.network.domain.scramble(3, 4)
        for method in ("beam", "astar", "greedy", "bidirectional_beam", "ida_star"):
            with self.subTest(method):
                network = tandem.Network(self.folder / "run", settings={"search.method": method})
                for solution in network.solve(states):
                    self.assertGreater(solution.nodes, 0)
                    if method != "greedy":
                        self.assertTrue(solution.solved, solution.failure)

    def test_a_program_that_did_not_register_it_is_told_to(self):
        code = f"import tandem; tandem.Network({str(self.folder / 'run')!r})"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("`network.kind` is 'net', expected one of resnet_fc", result.stderr)
        self.assertIn("is known after tandem.register_network", result.stderr)

    def test_a_program_that_ends_with_a_network_in_use_ends_cleanly(self):
        code = ("import sys, tandem; sys.path.insert(0, sys.argv[2]); from own_network_test import Net\n"
                "class Mine(Net): pass\n"
                "tandem.register_network('net', Mine)\n"
                "network = tandem.Network(sys.argv[1])\n"
                "Mine.network = network\n"
                "print(network.evaluate(network.domain.goals()).shape)\n")
        result = subprocess.run([sys.executable, "-c", code, self.folder / "run", SOURCE / "tests" / "python"],
                                capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "(1,)\n", ""))


class Summed(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, inputs):
        return self.net(inputs).sum(1)


class Errors(FolderTest):
    def train(self, name, factory):
        tandem.register_network(name, factory)
        tandem.train(NET, self.folder / name, {"network.kind": name})

    def rejects(self, message, factory):
        with self.assertRaisesRegex(ValueError, message):
            self.train("wrong", factory)
        self.assertFalse((self.folder / "wrong" / "checkpoint.safetensors").exists())

    def test_a_name_of_tandem_or_with_other_letters_is_a_value_error(self):
        for name in ("resnet_fc", "mlp"):
            with self.assertRaisesRegex(ValueError, "Tandem has a network of this name"):
                tandem.register_network(name, Net)
        with self.assertRaisesRegex(ValueError, "expected a name of letters, digits and _"):
            tandem.register_network("my net", Net)
        with self.assertRaisesRegex(TypeError, "expected a function or class"):
            tandem.register_network("wrong", Net(3, 2, 1))

    def test_a_new_registration_of_a_name_counts_for_later_runs(self):
        self.train("again", Net)
        tandem.register_network("again", lambda *shape: nn.Sequential(Net(*shape)))
        tandem.train(NET, self.folder / "nested", {"network.kind": "again"})
        self.assertIn("0.output.weight", weights(self.folder / "nested" / "checkpoint.safetensors"))

    def test_a_factory_that_returns_no_module_is_a_value_error(self):
        self.rejects("the factory returned a dict, expected a torch.nn.Module", lambda *_: {})

    def test_outputs_of_another_shape_or_type_are_a_value_error(self):
        self.rejects(r"forward returned a tensor of shape \(2, 7\) for 2 states, expected \(2, 1\)",
                     lambda positions, depth, outputs: Net(positions, depth, 7))

        class Pair(Net):
            def forward(self, inputs):
                return super().forward(inputs), None

        self.rejects("forward returned a tuple, expected a torch.Tensor", Pair)

    def test_one_output_may_have_no_column(self):
        class Flat(Net):
            def forward(self, inputs):
                return super().forward(inputs)[:, 0]

        self.train("flat", Flat)

    def test_tensors_that_cannot_be_trained_are_value_errors(self):
        def with_extra(change):
            def factory(*shape):
                net = Net(*shape)
                change(net)
                return net
            return factory

        def share(net):
            net.more = net.output

        self.rejects("'embed.weight' is of torch.float64, expected torch.float32", lambda *shape: Net(*shape).double())
        self.rejects("'output.weight' and 'more.weight' are the same tensor", with_extra(share))
        self.rejects("its outputs do not depend on the parameter 'unused'",
                     with_extra(lambda net: net.register_parameter("unused", nn.Parameter(torch.zeros(3)))))
        self.rejects("it has no parameters to train", lambda *shape: Net(*shape).requires_grad_(False))
        self.rejects("'mask' is of torch.bool, expected torch.float32, or torch.int64 for a buffer",
                     with_extra(lambda net: net.register_buffer("mask", torch.ones(2) > 0)))
        self.rejects("the gradient of 'embed.weight' is sparse",
                     with_extra(lambda net: setattr(net.embed, "sparse", True)))
        self.rejects("has no shape yet", lambda *_: nn.Sequential(nn.Flatten(), nn.LazyLinear(1)))

    def test_a_buffer_that_is_replaced_is_a_value_error(self):
        class Replaces(Net):
            def __init__(self, *shape):
                super().__init__(*shape)
                self.register_buffer("seen", torch.zeros(()))

            def forward(self, inputs):
                self.seen = self.seen + len(inputs)
                return super().forward(inputs)

        self.rejects("forward replaced the buffer 'seen'", Replaces)

    def test_a_factory_that_makes_another_network_each_time_is_a_value_error(self):
        widths = iter(range(1, 100))
        self.rejects("returned a module with other tensors than before",
                     lambda positions, depth, outputs: Summed(Net(positions, depth, next(widths))))

    def test_what_the_factory_raises_is_a_runtime_error_with_its_traceback(self):
        def factory(*_):
            raise KeyError("no such layer")

        with self.assertRaisesRegex(RuntimeError, "(?s)network 'raises'.*in factory.*no such layer"):
            self.train("raises", factory)

    def test_what_the_module_raises_ends_the_run_and_the_run_can_be_resumed(self):
        fails = []

        class Fails(Net):
            def forward(self, inputs):
                if fails and self.training:
                    raise ArithmeticError("the module failed")
                return super().forward(inputs)

        tandem.register_network("fails", Fails)
        run = tandem.Training(NET, self.folder / "run", {"network.kind": "fails"})
        run.run_update()
        fails.append(True)
        with self.assertRaisesRegex(RuntimeError, "(?s)network 'fails'.*ArithmeticError: the module failed"):
            run.run_update()
        fails.clear()
        self.assertEqual(tandem.resume(self.folder / "run").updates, 6)

    def test_other_backends_are_refused(self):
        tandem.register_network("net", Net)
        with self.assertRaisesRegex(ValueError, "cpu and gpu compute networks of kinds resnet_fc and mlp only"):
            tandem.train(NET, self.folder / "run", {"backend": "cpu"})


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
