"""Tests `tandem export` and `tandem import`: PyTorch gives the numbers of Tandem, and networks come
back. scripts/check_deepxube does the same with DeepXube itself."""

import json
import random
import shutil
import struct
import unittest

from convert_test import MOVES, theirs_after
from harness import SOURCE, CliTest

# lights_out with 4 lights in a row; the other keys that the formats depend on vary.
CONFIG = """\
domain: {name: lights_out, size: 4}
network: {width: 24, blocks: 2, norm: batch}
generate: {max_scramble: 8, workers: 1}
train: {batch_size: 200, iterations_per_update: 10, max_updates: 3, threads: 1}
inference: {threads: 1, precision: fp32}
validation: {every_updates: 0}
"""
SIZE = 4
STATES = 1000

# Evaluates all children of each state, as a beam of width 1 does at its first step. Prints the
# least value of the children of each state. Arguments: module folder, weights, form, depth, JSON
# list of lists of children.
EVALUATE = """\
import json, sys, torch
sys.path.insert(0, sys.argv[1])
children = torch.tensor(json.load(open(sys.argv[5])))
n, actions, positions = children.shape
flat = children.view(n * actions, positions)
with torch.no_grad():
    if sys.argv[3] == "deepxube":
        state = torch.load(sys.argv[2], weights_only=True)
        linear = lambda name, x: x @ state[name + ".weight"].T + state[name + ".bias"]
        def norm(name, x):
            if name + ".running_mean" in state:
                x = (x - state[name + ".running_mean"]) / (state[name + ".running_var"] + 1e-5).sqrt()
            return x * state[name + ".weight"] + state[name + ".bias"] if name + ".weight" in state else x
        depth = int(sys.argv[4])
        x = torch.nn.functional.one_hot(flat, depth).flatten(1).float() if depth > 1 else flat.float()
        x = linear("heur.0", x)
        blocks = sum(name.endswith("layers.0.0.weight") for name in state)
        for block in range(blocks):
            layer = f"heur.1.blocks.{block}.0.layers."
            inner = norm(layer + "0.1", linear(layer + "0.0", x)).relu()
            x = (norm(layer + "1.1", linear(layer + "1.0", inner)) + x).relu()
        values = linear("heur.2", x)
    else:
        from tandem_net import TandemNet
        values = TandemNet.load(sys.argv[2], int(sys.argv[4]))(flat)
print(json.dumps(values.view(n, actions).amin(1).tolist()))
"""


def pressed(cells, press):
    """Returns Lights Out after a press."""
    cells = list(cells)
    row, column = divmod(press, SIZE)
    for r, c in ((row, column), (row - 1, column), (row + 1, column), (row, column - 1),
                 (row, column + 1)):
        if 0 <= r < SIZE and 0 <= c < SIZE:
            cells[SIZE * r + c] ^= 1
    return cells


class Export(CliTest):
    def train(self, config=CONFIG, *args):
        self.run_tandem("train", self.write("config.yaml", config), "--out", "run", "--device",
                        "cpu", *args)
        return self.folder / "run"

    def export(self, run, form, name=None):
        out = self.folder / (name or f"net.{form}")
        _, log = self.run_tandem("export", run, "--format", form, "--out", out)
        return out, log

    def lights(self):
        """Returns states of Lights Out that no single press solves."""
        draw = random.Random(7)
        states = []
        while len(states) < STATES:
            cells = [0] * SIZE**2
            for press in draw.sample(range(SIZE**2), draw.randint(3, 9)):
                cells = pressed(cells, press)
            if all(any(pressed(cells, p)) for p in range(SIZE**2)) and any(cells):
                states.append(cells)
        return states

    def estimates(self, run, lines):
        """Returns Tandem's least estimate of the children of each state."""
        states = self.write("states.txt", "\n".join(lines) + "\n")
        out = self.folder / "solved.jsonl"
        self.run_tandem("solve", "--model", run, "--states", states, "--out", out, "--beam-width", 1,
                        "--set", "search.max_length=1", "--set", "inference.precision=fp32",
                        "--set", "device=cpu", code=1)
        results = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([r["best"]["length"] for r in results], [1] * len(lines))
        return [r["best"]["estimate"] for r in results]

    def assert_equals_torch(self, estimates, weights, form, depth, children):
        file = self.write("children.json", json.dumps(children))
        theirs = json.loads(self.run_python_with_torch(EVALUATE, SOURCE / "examples/pytorch",
                                                       weights, form, depth, file))
        self.assertEqual(len(theirs), STATES)
        self.assertLess(max(abs(a - b) for a, b in zip(estimates, theirs)), 1e-5)
        self.assertGreater(max(theirs) - min(theirs), 0.1)  # they say something

    def check_lights(self, run, form, depth):
        weights, _ = self.export(run, form)
        states = self.lights()
        self.assert_equals_torch(self.estimates(run, [" ".join(map(str, s)) for s in states]),
                                 weights, form, depth,
                                 [[pressed(s, p) for p in range(SIZE**2)] for s in states])

    def test_pytorch_computes_the_estimates_of_tandem(self):
        self.check_lights(self.train(), "pytorch", 2)

    def test_pytorch_computes_a_network_with_a_stem_and_layer_normalisation(self):
        self.check_lights(self.train(CONFIG, "--set", "network.norm=layer", "--set",
                                     "network.stem_width=40"), "pytorch", 2)

    def test_pytorch_computes_a_network_without_residual_connections(self):
        run = self.train(CONFIG, "--set", "network.kind=mlp", "--set", "network.stem_width=40")
        self.check_lights(run, "pytorch", 2)
        _, error = self.run_tandem("export", run, "--format", "deepxube", "--out",
                                   self.folder / "heur.pt", code=2)
        self.assertIn("`network.kind: mlp`", error)
        self.assertFalse((self.folder / "heur.pt").exists())

    def test_deepxubes_network_computes_the_estimates_of_tandem(self):
        self.check_lights(self.train(), "deepxube", 1)

    def test_deepxubes_network_with_its_own_first_layer_computes_the_estimates(self):
        self.check_lights(self.train(CONFIG, "--set", "network.input_layer=linear"), "deepxube", 1)

    def test_deepxubes_stickers_and_colours_of_cube3_give_the_estimates(self):
        run = self.train(CONFIG.replace("{name: lights_out, size: 4}", "{name: cube3}"))
        weights, log = self.export(run, "deepxube")
        self.assertIn("--domain cube3 --heur resnet_fc.24H_3B_bn --heur_type V", log)
        draw = random.Random(3)
        theirs = [theirs_after(draw.choices(MOVES, k=25)) for _ in range(STATES)]
        numbers = self.write("theirs.txt", "".join(" ".join(map(str, s)) + "\n" for s in theirs))
        facelets, _ = self.run_tandem("convert", "--from", "deepcubea", "--states", numbers)
        children = [[[sticker // 9 for sticker in theirs_after([move], s)] for move in MOVES]
                    for s in theirs]
        self.assert_equals_torch(self.estimates(run, facelets.splitlines()), weights, "deepxube", 6,
                                 children)

    def test_safetensors_have_the_tensors_of_pytorch_and_say_what_they_are_for(self):
        run = self.train()
        content = self.export(run, "safetensors")[0].read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8:8 + length])
        metadata = header.pop("__metadata__")
        self.assertEqual(metadata["tandem.domain"], "lights_out:4")
        self.assertEqual(metadata["tandem.norm"], "batch")
        self.assertEqual(metadata["tandem.input_depth"], "2")
        pytorch, _ = self.export(run, "pytorch")
        shown = self.run_python_with_torch(
            """\
            import json, sys, torch
            state = torch.load(sys.argv[1], weights_only=True)
            print(json.dumps({name: [list(t.shape), t.flatten()[:3].tolist()] for name, t in
                              state.items()}))
            """, pytorch)
        for name, (shape, values) in json.loads(shown).items():
            entry = header.pop(name)
            self.assertEqual((entry["dtype"], entry["shape"]), ("F32", shape))
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            stored = struct.unpack(f"<{(end - begin) // 4}f", content[begin:end])
            self.assertEqual(list(stored[:3]), values)
        self.assertEqual(header, {})

    def test_imported_network_solves_and_evaluates_as_the_one_exported(self):
        run = self.train()
        states = self.lights()
        lines = [" ".join(map(str, s)) for s in states]
        expected = self.estimates(run, lines)
        for form in ("pytorch", "safetensors", "deepxube"):
            weights, _ = self.export(run, form)
            out, log = self.run_tandem("import", weights, "--config", "config.yaml", "--out",
                                       f"from-{form}")
            self.assertEqual(out, "")
            self.assertIn("24 wide", log)
            imported = self.estimates(self.folder / f"from-{form}", lines)
            self.assertLess(max(abs(a - b) for a, b in zip(expected, imported)), 1e-5)
            record = json.loads((self.folder / f"from-{form}" / "import.json").read_text())
            self.assertEqual(record["program"], "deepxube" if form == "deepxube" else "tandem")
        states = self.write("two.txt", "\n".join(lines[:2]) + "\n")
        _, log = self.run_tandem("evaluate", "from-deepxube", "--states", states)
        self.assertNotIn("not trained", log)

    def test_imports_the_state_dict_that_a_module_saves(self):
        weights, _ = self.export(self.train(), "pytorch")
        # The state_dict of a module has an attribute, which torch.save writes too.
        self.run_python_with_torch(
            """\
            import sys, torch
            module = torch.nn.Module()
            for name, tensor in torch.load(sys.argv[1], weights_only=True).items():
                *path, last = name.split(".")
                owner = module
                for part in path:
                    if part not in dict(owner.named_children()):
                        owner.add_module(part, torch.nn.Module())
                    owner = getattr(owner, part)
                owner.register_buffer(last, tensor)
            torch.save(module.state_dict(), sys.argv[2])
            """, weights, self.folder / "saved.pt")
        self.assertIn(b"_metadata", (self.folder / "saved.pt").read_bytes())
        self.run_tandem("import", "saved.pt", "--config", "config.yaml", "--out", "imported")
        imported, _ = self.export(self.folder / "imported", "pytorch", "imported.pt")
        same = self.run_python_with_torch(
            """\
            import sys, torch
            one, other = (torch.load(file, weights_only=True) for file in sys.argv[1:3])
            print(one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one))
            """, weights, imported)
        self.assertEqual(same.strip(), "True")

    def test_training_continues_from_an_imported_network(self):
        weights, _ = self.export(self.train(), "deepxube")
        self.run_tandem("import", weights, "--config", "config.yaml", "--out", "theirs")
        keys = ["network.input_layer=linear", "network.blocks=3", "network.init_from=theirs"]
        settings = [word for key in keys for word in ("--set", key)]
        self.run_tandem("train", "config.yaml", "--out", "more", "--device", "cpu", *settings)
        _, error = self.run_tandem("train", "--resume", "theirs", code=2)
        self.assertIn("no state to resume", error)

    def test_network_for_another_puzzle_is_refused_with_the_shape(self):
        weights, _ = self.export(self.train(), "deepxube")
        _, error = self.run_tandem("import", weights, "--out", "cube", code=2)
        self.assertIn("tensor 'heur.0.weight' has shape [24, 16], expected [24, 324], for cube3:stickers, "
                      "the default puzzle. Name the puzzle with --config or --set domain.name.", error)
        self.assertFalse((self.folder / "cube").exists())

    def test_a_config_that_does_not_fit_the_network_is_refused_with_both_origins(self):
        weights, _ = self.export(self.train(), "deepxube")
        wrong = self.write("wrong.yaml", CONFIG + "search: {method: q_star}\n")
        settings = ("--set", "network.head=q")  # which the weights are not
        _, error = self.run_tandem("import", weights, "--config", wrong, *settings, "--out", "x", code=2)
        self.assertRegex(error, r"`search.method: q_star` \(\S*wrong.yaml:\d+\)")
        self.assertIn(f"`network.head: v` ({weights})", error)
        self.assertIn(f"{weights} describes the keys under `network`, so only other keys can be changed", error)
        self.assertNotIn("x/config.yaml", error)
        self.run_tandem("import", weights, "--config", wrong, *settings, "--set", "search.method=beam",
                        "--out", "x")

    def test_errors_name_the_file_and_what_to_do(self):
        run = self.train()
        _, error = self.run_tandem("import", run / "checkpoint.pt", "--out", "x", code=2)
        self.assertIn("checkpoint of Tandem", error)
        _, error = self.run_tandem("import", self.write("text", "hello, world"), "--out", "x",
                                   code=2)
        self.assertIn("text: not a file of weights", error)
        _, error = self.run_tandem("export", run, "--format", "onnx", "--out", "x", code=2)
        self.assertIn("--format", error)
        _, error = self.run_tandem("export", run, "--format", "pytorch", "--out",
                                   run / "checkpoint.pt", code=2)
        self.assertIn("this is the checkpoint to export", error)
        _, error = self.run_tandem("export", run, "--format", "pytorch", "--out", run / "config.yaml",
                                   code=2)
        self.assertIn("a run writes this file into its folder", error)
        shutil.rmtree(run)
        run = self.train(CONFIG, "--set", "network.norm=layer")
        _, error = self.run_tandem("export", run, "--format", "deepxube", "--out", "x", code=2)
        self.assertIn("`network.norm: layer`", error)
        shutil.rmtree(run)
        pieces = CONFIG.replace("{name: lights_out, size: 4}", "{name: cube3, input: pieces}")
        _, error = self.run_tandem("export", self.train(pieces), "--format", "deepxube", "--out",
                                   "x", code=2)
        self.assertIn("domain.input: stickers", error)
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    unittest.main()
