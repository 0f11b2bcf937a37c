"""Tests tandem.convert: PyTorch and DeepXube's resnet_fc give the numbers of Tandem, and networks come back.
scripts/check_deepxube does the same with DeepXube itself."""

import contextlib
import io
import json
import random
import sys
import unittest

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import tandem
from small_run import SMALL, SOURCE, FolderTest
from tandem import convert

sys.path.insert(0, str(SOURCE / "examples" / "pytorch"))
from tandem_net import TandemNet  # noqa: E402

LIGHTS = {"domain.name": "lights_out", "domain.size": 4, "network.norm": "batch", "network.width": 24,
          "network.blocks": 2}
FP32 = {"inference.precision": "fp32", "device": "cpu"}
KEYS = {"kind": "resnet_fc", "head": "v", "width": "8", "blocks": "2", "norm": "batch", "stem_width": "0",
        "activation": "relu", "input_layer": "hidden"}

# Tandem's input: 5 positions of depth 3. DeepXube's, here: the same features in another order.
SHUFFLED = convert.DeepXubePuzzle("shuffled", torch.tensor([4, 3, 5, 13, 14, 12, 0, 2, 1, 8, 6, 7, 10, 9, 11]),
                                  torch.tensor([2, 0, 3, 1]))


def random_state(norm="batch", input_layer="hidden", head="v", features=15, width=8, blocks=2):
    """Returns a network in which no part is neutral: the normalisation has weights and statistics."""
    state = {}

    def add(name, rows, columns, has_norm):
        state[f"{name}.weight"] = torch.randn(rows, columns) / columns**0.5
        state[f"{name}.bias"] = torch.randn(rows)
        for part in convert.NORM_PARTS[norm] if has_norm else ():
            state[f"{name}.{part}"] = torch.rand(rows) + 0.5

    hidden = input_layer == "hidden"
    add("hidden0" if hidden else "input", width, features, hidden)
    for block in range(blocks):
        add(f"block{block}_first", width, width, True)
        add(f"block{block}_second", width, width, True)
    add("output", 1 if head == "v" else 4, width, False)
    return state


def deepxube_forward(state, x):
    """DeepXube's resnet_fc (heuristics/resnet_fc.py, nnet/pytorch_models.py of version 0.3.2)."""
    def linear(name, x):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def norm(name, x):
        if f"{name}.weight" not in state:
            return x
        if f"{name}.running_mean" in state:
            return torch.nn.functional.batch_norm(x, state[f"{name}.running_mean"], state[f"{name}.running_var"],
                                                  state[f"{name}.weight"], state[f"{name}.bias"])
        return torch.nn.functional.group_norm(x, 1, state[f"{name}.weight"], state[f"{name}.bias"])

    x = linear("heur.0", x)
    for block in range(sum(name.endswith("layers.0.0.weight") for name in state)):
        layer = f"heur.1.blocks.{block}.0.layers."
        inner = norm(layer + "0.1", linear(layer + "0.0", x)).relu()
        x = (norm(layer + "1.1", linear(layer + "1.0", inner)) + x).relu()
    return linear("heur.2", x)


def error_of(action):
    try:
        action()
    except ValueError as error:
        return str(error)
    return "accepted"


class DeepXube(unittest.TestCase):
    NETWORKS = [("none", "hidden"), ("batch", "hidden"), ("none", "linear"), ("batch", "linear"), ("layer", "linear")]

    def setUp(self):
        torch.manual_seed(1)
        self.states = torch.randint(0, 3, (40, 5))
        self.features = torch.nn.functional.one_hot(self.states, 3).flatten(1).float()

    def test_its_forward_pass_gives_the_same_outputs_and_the_network_comes_back(self):
        for norm, input_layer in self.NETWORKS:
            for head in "vq":
                with self.subTest(norm=norm, input_layer=input_layer, head=head):
                    state = random_state(norm, input_layer, head)
                    expected = TandemNet(state, 3).eval()(self.states)
                    keys = {**KEYS, "norm": norm, "input_layer": input_layer, "head": head}
                    _, theirs = convert.to_deepxube(state, keys, SHUFFLED)
                    found = deepxube_forward(theirs, self.features[:, SHUFFLED.features])
                    in_order = expected[:, SHUFFLED.actions] if head == "q" else expected
                    torch.testing.assert_close(found, in_order, rtol=1e-4, atol=1e-4)

                    prefixed = {f"module.{name}": tensor for name, tensor in theirs.items()}  # by DataParallel
                    shown, back = convert.from_deepxube(convert.Tensors(prefixed), SHUFFLED, 5)
                    blocks = 2 if input_layer == "linear" else 3
                    self.assertEqual(shown, {"kind": "resnet_fc", "head": head, "width": 8, "blocks": blocks,
                                             "norm": norm, "stem_width": 0, "input_layer": "linear"})
                    torch.testing.assert_close(TandemNet(back, 3).eval()(self.states), expected, rtol=1e-4, atol=1e-4)

    def test_the_name_has_the_block_that_applies_the_activation(self):
        names = [convert.to_deepxube(random_state(norm, layer), {**KEYS, "norm": norm, "input_layer": layer},
                                     SHUFFLED)[0] for norm, layer in self.NETWORKS]
        self.assertEqual(names, ["resnet_fc.8H_3B", "resnet_fc.8H_3B_bn", "resnet_fc.8H_2B", "resnet_fc.8H_2B_bn",
                                 "resnet_fc.8H_2B_ln"])

    def test_input_of_two_values_takes_half_the_columns(self):
        puzzle = convert.DeepXubePuzzle("raw", None, torch.arange(4))
        state = random_state(features=12)
        states = torch.randint(0, 2, (40, 6))
        expected = TandemNet(state, 2).eval()(states)
        theirs = convert.to_deepxube(state, KEYS, puzzle)[1]
        torch.testing.assert_close(deepxube_forward(theirs, states.float()), expected, rtol=1e-4, atol=1e-4)
        back = convert.from_deepxube(convert.Tensors(theirs), puzzle, 6)[1]
        torch.testing.assert_close(TandemNet(back, 2).eval()(states), expected, rtol=1e-4, atol=1e-4)

    def test_what_deepxube_lacks_is_refused(self):
        for key, value in [("norm", "layer"), ("norm", "rms"), ("stem_width", "9"), ("activation", "leaky_relu"),
                           ("head", "policy"), ("kind", "mlp")]:
            error = error_of(lambda: convert.to_deepxube({}, {**KEYS, key: value}, SHUFFLED))
            self.assertTrue(error.startswith(f"`network.{key}: {value}`: "), error)

    def test_weight_normalisation_becomes_plain_weights(self):
        state = random_state("none", "linear")
        theirs = convert.to_deepxube(state, {**KEYS, "norm": "none", "input_layer": "linear"}, SHUFFLED)[1]
        for name in [name for name in theirs if "layers" in name and name.endswith(".weight")]:
            weight = theirs.pop(name)
            parts = name.removesuffix("weight") + "parametrizations.weight.original"
            theirs[parts + "0"], theirs[parts + "1"] = weight.norm(dim=1, keepdim=True), weight * 3
        back = convert.from_deepxube(convert.Tensors(theirs), SHUFFLED, 5)[1]
        for name, tensor in state.items():
            torch.testing.assert_close(back[name], tensor)

    def test_errors_name_the_tensor_that_does_not_fit(self):
        theirs = convert.to_deepxube(random_state("batch", "linear", "q"),
                                     {**KEYS, "input_layer": "linear", "head": "q"}, SHUFFLED)[1]

        def error(name, tensor):
            changed = {**theirs, name: tensor}
            if tensor is None:
                del changed[name]
            return error_of(lambda: convert.from_deepxube(convert.Tensors(changed), SHUFFLED, 5))

        layer = "heur.1.blocks.1.0.layers.1"
        self.assertEqual(error(f"{layer}.1.num_batches_tracked", None), "accepted")
        self.assertEqual(error(f"{layer}.1.running_var", None), f"tensor '{layer}.1.running_var' is missing; other "
                         "tensors found: heur.2.weight")
        self.assertEqual(error("heur.0.weight", torch.zeros(8, 14)),
                         "tensor 'heur.0.weight' has shape [8, 14], expected [8, 15]")
        self.assertEqual(error("heur.2.bias", torch.zeros(3)),
                         "the network has 3 outputs, expected 1 (V) or 4 (Q: the actions of shuffled)")
        self.assertEqual(error("heur.3.weight", torch.zeros(1)),
                         "unknown tensors: heur.3.weight; expected those of resnet_fc: "
                         + ", ".join([name for name in theirs if not name.endswith("num_batches_tracked")][:8])
                         + ", ...")
        self.assertEqual(error("heur.2.bias", torch.zeros(4, dtype=torch.int64)),
                         "tensor 'heur.2.bias' is int64, expected floating-point numbers such as float32")
        self.assertEqual(error("module.heur.2.bias", torch.zeros(4)),
                         "tensor 'heur.2.bias' occurs twice, with the prefix 'module.' and without")

    def test_actions_of_cube3_begin_with_the_turn_back(self):
        cube = tandem.Domain("cube3")
        self.assertEqual([cube.action_names[a] for a in convert.deepxube_puzzle(cube).actions],
                         "U' U D' D L' L R' R B' B F' F".split())

    def test_puzzles_that_deepxube_lacks_are_refused_with_the_reason(self):
        self.assertEqual(convert.deepxube_puzzle(tandem.Domain("npuzzle:5")).domain, "npuzzle.5")
        self.assertEqual(convert.deepxube_puzzle(tandem.Domain("lights_out:7")).domain, "lightsout.7")
        for name, reason in [("cube3:pieces", "domain.input: stickers"), ("cube3_htm", "quarter turns only"),
                             ("sokoban:10", "numbers of their own"), ("hanoi:4", "no such puzzle")]:
            self.assertIn(reason, error_of(lambda: convert.deepxube_puzzle(tandem.Domain(name))))


class Tandem(unittest.TestCase):
    def test_the_weights_show_the_keys_of_the_network(self):
        for norm in convert.NORM_PARTS:
            for input_layer in ("hidden", "linear"):
                for head in ("v", "q", "policy"):
                    state = random_state(norm, input_layer, head)
                    asked = {"network.head": "policy", "generate.target": "policy"} if head == "policy" else {}
                    keys, _ = convert.from_tandem(convert.Tensors(state), tandem.load_config({}, asked))
                    self.assertEqual(keys, {"head": head, "width": 8, "blocks": 2, "norm": norm, "stem_width": 0,
                                            "input_layer": input_layer})

    def test_a_long_bias_does_not_make_a_large_network(self):
        for blocks in (0, 2):
            state = {**random_state("none", blocks=blocks), "hidden0.bias": torch.zeros(1 << 20)}
            error = error_of(lambda: convert.from_tandem(convert.Tensors(state), tandem.load_config({})))
            self.assertRegex(error, r"tensor 'hidden0.weight' has shape \[8, 15\], expected \[1048576, 15\]")


class Files(FolderTest):
    def train(self, **settings):
        changes = {**LIGHTS, **{key.replace("__", "."): value for key, value in settings.items()}}
        tandem.train({**SMALL, "domain": {}}, self.folder / "run", changes)
        return self.folder / "run"

    def convert(self, *words, code=0):
        """Returns what the program writes to standard error."""
        log = io.StringIO()
        with contextlib.redirect_stderr(log):
            try:
                convert.main([str(word) for word in words])
                found = 0
            except SystemExit as ended:
                found = ended.code
        self.assertEqual(found, code, log.getvalue())
        return log.getvalue()

    def export(self, run, form, *words):
        out = self.folder / f"net.{form}"
        return out, self.convert("export", run, "--format", form, "--out", out, *words)

    def config(self):
        path = self.folder / "config.yaml"
        path.write_text("domain: {name: lights_out, size: 4}\n")
        return path

    def assert_equals_tandem(self, run, values):
        network = tandem.Network(run, settings=FP32)
        states = network.domain.scramble(300, 10)
        found = values(network.domain, torch.from_numpy(network.domain.encode(states)))
        expected = network.evaluate(states)
        self.assertGreater(expected.std(), 0.01)
        np.testing.assert_allclose(found.detach()[:, 0].numpy(), expected, rtol=1e-3, atol=1e-3)

    def test_pytorch_computes_the_estimates_of_each_kind_of_network(self):
        for settings in ({}, {"network__norm": "layer", "network__stem_width": 40},
                         {"network__kind": "mlp", "network__stem_width": 40}):
            run = self.train(**settings)
            for form in ("pytorch", "safetensors"):
                weights, _ = self.export(run, form)
                self.assert_equals_tandem(run, lambda domain, inputs: TandemNet.load(weights, 2)(inputs))
            for file in list(run.iterdir()):
                file.unlink()

    def test_deepxube_computes_the_estimates_of_tandem(self):
        run = self.train()
        weights, _ = self.export(run, "deepxube")
        self.assert_equals_tandem(run, lambda domain, inputs: deepxube_forward(
            torch.load(weights, weights_only=True), inputs.float()))

    def test_deepxube_computes_the_estimates_of_cube3_from_its_own_stickers_and_colours(self):
        run = self.folder / "run"
        tandem.train(SMALL, run, {"domain.name": "cube3", "network.norm": "batch"})
        weights, log = self.export(run, "deepxube")
        self.assertIn("--domain cube3 --heur resnet_fc.32H_2B_bn --heur_type V", log)

        def values(_, inputs):
            # Their faces are U D L R B F, and ours U R F D L B; their stickers go up the columns from the left.
            ours = inputs.long().view(-1, 6, 3, 3)
            colours = torch.tensor([0, 3, 5, 1, 2, 4])[ours]
            theirs = colours[:, [0, 3, 4, 1, 5, 2]].flip(2).transpose(2, 3).flatten(1)
            return deepxube_forward(torch.load(weights, weights_only=True),
                                    torch.nn.functional.one_hot(theirs, 6).flatten(1).float())

        self.assert_equals_tandem(run, values)

    def test_safetensors_library_reads_every_file_of_a_run(self):
        run = self.train()
        best = load_file(run / "best.safetensors")
        self.assertIn("output.weight", best)
        self.assertFalse([name for name in best if name.startswith("resume.")])
        whole = load_file(run / "checkpoint.safetensors")
        self.assertLessEqual(best.keys(), whole.keys())
        self.assertIn("resume.optimizer.mean.output.weight", whole)
        with safe_open(run / "checkpoint.safetensors", "pt") as opened:
            content = json.loads(opened.metadata()["tandem"])
        self.assertEqual(content["domain"], "lights_out:4")
        self.assertEqual(content["resume"]["counters"]["updates"], SMALL["train"]["max_updates"])

    def test_safetensors_say_what_they_are_for(self):
        weights, _ = self.export(self.train(), "safetensors")
        with safe_open(weights, "pt") as opened:
            metadata = opened.metadata()
        self.assertEqual({key: metadata[f"tandem.{key}"] for key in ("domain", "norm", "input_depth")},
                         {"domain": "lights_out:4", "norm": "batch", "input_depth": "2"})

    def test_imported_network_estimates_as_the_one_exported(self):
        run = self.train()
        network = tandem.Network(run, settings=FP32)
        states = network.domain.scramble(100, 8)
        for form in ("pytorch", "safetensors", "deepxube"):
            weights, _ = self.export(run, form)
            folder = self.folder / f"from-{form}"
            self.assertIn("24 wide", self.convert("import", weights, "--config", self.config(), "--out", folder))
            imported = tandem.Network(folder, settings=FP32)
            np.testing.assert_allclose(imported.evaluate(states), network.evaluate(states), rtol=1e-3, atol=1e-3)
            self.assertEqual(json.loads((folder / "import.json").read_text())["file"], str(weights))

    def test_the_state_dict_that_a_module_saves_is_read(self):
        weights, _ = self.export(self.train(), "pytorch")
        state = torch.load(weights, weights_only=True)
        module = torch.nn.Module()
        for name, tensor in state.items():  # its state dict has an attribute, which torch.save writes too
            layer, part = name.split(".")
            if not hasattr(module, layer):
                module.add_module(layer, torch.nn.Module())
            getattr(module, layer).register_buffer(part, tensor)
        torch.save(module.state_dict(), self.folder / "saved.pt")
        self.convert("import", self.folder / "saved.pt", "--config", self.config(), "--out", self.folder / "imported")
        back = load_file(self.folder / "imported" / "checkpoint.safetensors")
        self.assertEqual(back.keys(), state.keys())
        self.assertTrue(all(torch.equal(back[name], state[name]) for name in state))

    def test_training_continues_from_an_imported_network(self):
        weights, _ = self.export(self.train(), "deepxube")
        self.convert("import", weights, "--config", self.config(), "--out", self.folder / "theirs")
        tandem.train({**SMALL, "domain": {}}, self.folder / "more",
                     {**LIGHTS, "network.input_layer": "linear", "network.blocks": 3,
                      "network.init_from": self.folder / "theirs"})
        self.assertIn("no state to resume", error_of(lambda: tandem.resume(self.folder / "theirs")))

    def test_a_network_for_another_puzzle_is_refused_with_the_shape(self):
        weights, _ = self.export(self.train(), "deepxube")
        error = self.convert("import", weights, "--out", self.folder / "cube", code=2)
        self.assertIn("tensor 'heur.0.weight' has shape [24, 16], expected [24, 324], for cube3:stickers, the default "
                      "puzzle. Name the puzzle with --config or --set domain.name.", error)
        weights, _ = self.export(self.folder / "run", "pytorch")
        error = self.convert("import", weights, "--out", self.folder / "cube", code=2)
        self.assertIn("tensor 'hidden0.weight' is float32 of shape [24, 32], expected float32 of shape [24, 324], for "
                      "cube3:stickers", error)
        self.assertFalse((self.folder / "cube").exists())

    def test_a_config_that_does_not_fit_the_network_is_refused_with_both_origins(self):
        weights, _ = self.export(self.train(), "deepxube")
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("domain: {name: lights_out, size: 4}\nsearch: {method: q_star}\n")
        words = ["import", weights, "--config", wrong, "--set", "network.head=q", "--out", self.folder / "x"]
        error = self.convert(*words, code=2)
        self.assertRegex(error, r"`search.method: q_star` \(\S*wrong.yaml:\d+\)")
        self.assertIn("`network.head: v`", error)
        self.assertIn(f"{weights} describes the keys under `network`, so only other keys can be changed", error)
        self.assertIn("--set seed: expected KEY=VALUE", self.convert(*words, "--set", "seed", code=2))
        self.convert(*words, "--set", "search.method=beam")

    def test_errors_name_the_file_and_what_to_do(self):
        run = self.train()
        x = self.folder / "x"
        error = self.convert("import", run / "checkpoint.safetensors", "--out", x, code=2)
        self.assertIn("checkpoint of Tandem", error)
        text = self.folder / "text"
        text.write_text("hello, world")
        self.assertIn("text: not a file of weights", self.convert("import", text, "--out", x, code=2))
        text.write_bytes(b"PK\3\4torn")
        self.assertIn("text: ", self.convert("import", text, "--out", x, code=2))
        torch.save(random.Random(1), text)  # weights_only: no code in the file is run
        self.assertIn("text: ", self.convert("import", text, "--out", x, code=2))
        save_file({"output.bias": torch.full((1,), float("nan"))}, text)
        self.assertIn("text: tensor 'hidden0.bias' is missing", self.convert("import", text, "--out", x, code=2))
        for name, why in [("checkpoint.safetensors", "this is the checkpoint to export"),
                          ("config.yaml", "a run writes this file into its folder")]:
            self.assertIn(why, self.convert("export", run, "--format", "pytorch", "--out", run / name, code=2))
        content = bytearray((run / "checkpoint.safetensors").read_bytes())
        content[len(content) // 2] ^= 1
        (run / "checkpoint.safetensors").write_bytes(content)
        self.assertIn("its hash does not match", self.convert("export", run, "--format", "pytorch", "--out", x, code=2))
        self.assertFalse(x.exists())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
