"""Converts networks for other programs, and from them.

    python -m tandem.convert export runs/my-run --format pytorch --out net.pt
    python -m tandem.convert export runs/my-run --format deepxube --out heur.pt --checkpoint best
    python -m tandem.convert import heur.pt --out runs/theirs --set domain.name=npuzzle --set domain.size=4

pytorch is a state dict that torch.load(FILE, weights_only=True) reads. safetensors has the same tensors, and
what they are for as metadata. deepxube is a heur.pt for DeepXube 0.3.2: its resnet_fc then gives the same
numbers for cube3, npuzzle and lights_out. import reads all three, and makes a folder that `tandem solve`,
`tandem evaluate`, tandem.Network and network.init_from take as they take that of a run.
"""

import argparse
import dataclasses
import io
import pathlib
import shlex
import sys
import tempfile
from collections.abc import Collection

import safetensors.torch
import torch
from safetensors.torch import load_file, save_file

import tandem
from tandem import _tandem
from tandem._config import settings_of
from tandem._files import write_file

State = dict[str, torch.Tensor]
EPSILON = 1e-5  # of batch normalisation

# For the names of Tandem's normalisations, the tensors of a layer that has them, and DeepXube's suffix.
NORM_PARTS = {"none": (), "rms": ("norm_weight",), "layer": ("norm_weight", "norm_bias"),
              "batch": ("norm_weight", "norm_bias", "running_mean", "running_var")}
NORM_SUFFIX = {"none": "", "batch": "_bn", "layer": "_ln"}


@dataclasses.dataclass
class DeepXubePuzzle:
    """How DeepXube feeds a puzzle to its resnet_fc."""

    domain: str  # its --domain: "npuzzle.4"
    # For each feature of its input, the number of Tandem's feature that it equals. None if its input is the
    # bytes of Tandem's input themselves, each 0 or 1.
    features: torch.Tensor | None
    actions: torch.Tensor  # for each of its actions, the number of Tandem's
    takes_q: bool = True  # it can load a Q net (--heur_type QFix) for this puzzle


# Why DeepXube has no counterpart of a puzzle, by the beginning of its name.
REASONS = {
    "cube3:": "DeepXube's networks read the colours of the stickers, and pieces and pairs of pieces are no weighted "
              "sums of colours. Train with domain.input: stickers.",
    "cube3_htm": "DeepXube's cube has quarter turns only.",
    "grid:": "DeepXube's grid has four moves and no walls.",
    "sokoban:": "DeepXube's networks read walls, boxes, player and goals as numbers of their own, and Tandem's read "
                "combinations such as a player on a goal.",
}


def deepxube_puzzle(domain: tandem.Domain) -> DeepXubePuzzle:
    """Raises ValueError that says why if a network for one program cannot give the numbers of the other."""
    positions, depth = domain.input_shape
    kind, _, argument = domain.name.partition(":")
    if domain.name == "cube3":
        # Their faces are U D L R B F, and ours U R F D L B. They number the stickers of a face column by column
        # from the left, each column from the bottom.
        face = [0, 3, 5, 1, 2, 4]
        features = torch.empty(positions * depth, dtype=torch.long)
        for sticker in range(positions):
            row, column = divmod(sticker % 9, 3)
            position = 9 * face[sticker // 9] + 3 * column + 2 - row
            for colour in range(depth):
                features[depth * position + face[colour]] = depth * sticker + colour
        names = [letter + turn for letter in "UDLRBF" for turn in ("'", "")]
        return DeepXubePuzzle("cube3", features, torch.tensor([domain.action_names.index(name) for name in names]))
    actions = torch.arange(domain.num_actions)
    is_square = domain.board is not None and domain.board[0] == domain.board[1]
    if kind == "npuzzle" and is_square:
        return DeepXubePuzzle(f"npuzzle.{argument}", torch.arange(positions * depth), actions, takes_q=False)
    if kind == "lights_out" and is_square:
        return DeepXubePuzzle(f"lightsout.{argument}", None, actions)
    reason = next((why for start, why in REASONS.items() if domain.name.startswith(start)),
                  "DeepXube has no such puzzle.")
    raise ValueError(f"the weights for {domain.name} cannot be exchanged with DeepXube: {reason}")


def some_of(names: Collection[str]) -> str:
    most = 8
    return (", ".join(list(names)[:most]) + (", ..." if len(names) > most else "")) or "none"


class Tensors:
    """The tensors of a file by name, without the prefix "module." that PyTorch's DataParallel adds. It remembers
    which were taken, so that a reader can refuse those that it does not know."""

    def __init__(self, entries: dict):
        self.left: State = {}
        for given, tensor in entries.items():
            name = str(given).removeprefix("module.")
            if not isinstance(tensor, torch.Tensor):
                raise ValueError(f"'{name}' is not a tensor, expected a state dict")
            if name.endswith(".num_batches_tracked"):  # only training needs it
                continue
            if not tensor.is_floating_point():
                raise ValueError(f"tensor '{name}' is {str(tensor.dtype).removeprefix('torch.')}, expected "
                                 "floating-point numbers such as float32")
            if name in self.left:
                raise ValueError(f"tensor '{name}' occurs twice, with the prefix 'module.' and without")
            self.left[name] = tensor.detach().cpu().float()
        self.all = dict(self.left)

    def take(self, name: str, *shape: int) -> torch.Tensor:
        if name not in self.all:
            raise ValueError(f"tensor '{name}' is missing; other tensors found: {some_of(self.left)}")
        self.left.pop(name, None)
        if shape and self.all[name].shape != shape:
            raise ValueError(f"tensor '{name}' has shape {list(self.all[name].shape)}, expected {list(shape)}")
        return self.all[name]

    def expect_none_left(self) -> None:
        if self.left:
            taken = [name for name in self.all if name not in self.left]
            raise ValueError(f"unknown tensors: {some_of(self.left)}; expected those of resnet_fc: {some_of(taken)}")


def block_layers(number: int) -> list[tuple[str, str]]:
    """Returns the names of the layers of a block, and DeepXube's names."""
    return [(f"block{number}_{half}", f"heur.1.blocks.{number}.0.layers.{i}")
            for i, half in enumerate(("first", "second"))]


def refuse_what_deepxube_lacks(network: dict[str, str]) -> None:
    norm = network["norm"]
    for key, is_wrong, why in [
        ("kind", network["kind"] != "resnet_fc", "this converts networks to DeepXube's resnet_fc."),
        ("head", network["head"] not in ("v", "q"),
         "DeepXube's heuristics are V nets and Q nets with an output per action."),
        ("stem_width", network["stem_width"] != "0", "DeepXube's resnet_fc has one layer before its blocks."),
        ("norm", norm not in NORM_SUFFIX, "DeepXube has no such normalisation."),
        ("norm", norm == "layer" and network["input_layer"] == "hidden",
         "DeepXube does not normalise its first layer, and layer normalisation cannot be folded into its weights. With "
         "network.input_layer linear, or network.norm batch or none, it could."),
        ("activation", network["activation"] != "relu", "DeepXube's resnet_fc uses ReLU."),
    ]:
        if is_wrong:
            raise ValueError(f"`network.{key}: {network[key]}`: {why} Export in the format pytorch or safetensors, or "
                             "train a network that DeepXube has.")


def to_deepxube(state: State, network: dict[str, str], puzzle: DeepXubePuzzle) -> tuple[str, State]:
    """Returns the --heur of DeepXube, such as "resnet_fc.200H_2B_bn", and the content of its heur.pt.

    DeepXube's first layer has neither normalisation nor activation. If the network's has both, batch
    normalisation is folded into it, and an extra residual block whose layers are 0 applies the activation:
    relu(x + 0).
    """
    refuse_what_deepxube_lacks(network)
    width, norm = int(network["width"]), network["norm"]
    hidden = network["input_layer"] == "hidden"
    first = "hidden0" if hidden else "input"
    weight, bias = state[f"{first}.weight"].double(), state[f"{first}.bias"].double()
    if hidden and norm == "batch":
        scale, shift, mean, var = (state[f"{first}.{part}"].double() for part in NORM_PARTS["batch"])
        factor = scale / torch.sqrt(var + EPSILON)
        weight, bias = weight * factor[:, None], (bias - mean) * factor + shift
    if puzzle.features is None:  # w0 (1 - x) + w1 x = w0 + (w1 - w0) x
        off, on = weight.view(width, -1, 2).unbind(2)
        weight, bias = on - off, bias + off.sum(1)
    else:
        weight = weight[:, puzzle.features]
    theirs = {"heur.0.weight": weight.float(), "heur.0.bias": bias.float()}

    neutral = {"weight": torch.zeros(width, width), "bias": torch.zeros(width), "norm_weight": torch.ones(width),
               "norm_bias": torch.zeros(width), "running_mean": torch.zeros(width), "running_var": torch.ones(width)}
    blocks = int(network["blocks"]) + hidden
    for block in range(blocks):
        for i, (_, name) in enumerate(block_layers(block)):
            ours = block_layers(block - hidden)[i][0]
            for part in ("weight", "bias", *NORM_PARTS[norm]):
                inner = part.removeprefix("norm_")
                module = 0 if part in ("weight", "bias") else 1
                theirs[f"{name}.{module}.{inner}"] = (neutral[part] if block < hidden else state[f"{ours}.{part}"])
            if norm == "batch":
                theirs[f"{name}.1.num_batches_tracked"] = torch.tensor(0)
    output = puzzle.actions if network["head"] == "q" else slice(None)
    for part in ("weight", "bias"):
        theirs[f"heur.2.{part}"] = state[f"output.{part}"][output]
    return f"resnet_fc.{width}H_{blocks}B{NORM_SUFFIX[norm]}", {name: t.clone() for name, t in theirs.items()}


def from_deepxube(tensors: Tensors, puzzle: DeepXubePuzzle, positions: int) -> tuple[dict[str, object], State]:
    """Returns the keys under `network` and the tensors of a heur.pt of DeepXube's resnet_fc. Weight normalisation
    becomes plain weights."""
    bias, output_bias = tensors.take("heur.0.bias"), tensors.take("heur.2.bias")
    width, outputs, actions = len(bias), len(output_bias), len(puzzle.actions)
    if outputs not in (1, actions):
        raise ValueError(f"the network has {outputs} outputs, expected 1 (V) or {actions} (Q: the actions of "
                         f"{puzzle.domain})")
    features = positions if puzzle.features is None else len(puzzle.features)
    weight = tensors.take("heur.0.weight", width, features)
    if puzzle.features is None:
        weight = torch.stack([torch.zeros_like(weight), weight], 2).flatten(1)
    else:
        weight = weight[:, torch.argsort(puzzle.features)]
    state = {"input.weight": weight, "input.bias": bias}

    first = block_layers(0)[0][1]
    norm = ("batch" if f"{first}.1.running_mean" in tensors.all else
            "layer" if f"{first}.1.weight" in tensors.all else "none")
    blocks = 0
    while f"{block_layers(blocks)[0][1]}.0.bias" in tensors.all:
        for ours, theirs in block_layers(blocks):
            parts = f"{theirs}.0.parametrizations.weight.original"
            if f"{parts}0" in tensors.all:  # the two parts that PyTorch's weight normalisation stores
                length, direction = tensors.take(f"{parts}0", width, 1), tensors.take(f"{parts}1", width, width)
                state[f"{ours}.weight"] = direction * (length / direction.norm(dim=1, keepdim=True))
            else:
                state[f"{ours}.weight"] = tensors.take(f"{theirs}.0.weight", width, width)
            state[f"{ours}.bias"] = tensors.take(f"{theirs}.0.bias", width)
            for part in NORM_PARTS[norm]:
                state[f"{ours}.{part}"] = tensors.take(f"{theirs}.1.{part.removeprefix('norm_')}", width)
        blocks += 1
    order = torch.argsort(puzzle.actions) if outputs > 1 else slice(None)
    state["output.weight"] = tensors.take("heur.2.weight", outputs, width)[order]
    state["output.bias"] = output_bias[order]
    tensors.expect_none_left()
    return {"kind": "resnet_fc", "head": "q" if outputs > 1 else "v", "width": width, "blocks": blocks, "norm": norm,
            "stem_width": 0, "input_layer": "linear"}, state


def from_tandem(tensors: Tensors, config: tandem.Config) -> tuple[dict[str, object], State]:
    """Returns the keys under `network` that Tandem's own tensors show, and the tensors. `config` decides the others,
    and all keys of networks other than a resnet_fc."""
    state = tensors.all
    if config["network.kind"] != "resnet_fc":
        return {}, state
    linear, stem = "input.weight" in state, "hidden1.weight" in state
    last = "input" if linear else "hidden1" if stem else "hidden0"
    width = len(tensors.take(f"{last}.bias"))
    stem_width = len(tensors.take("hidden0.bias")) if stem else 0
    # The widths are those of matrices in the file, and not only of biases, so that a small file makes no large
    # network.
    features = tensors.take("hidden0.weight" if stem else f"{last}.weight").shape[-1]
    tensors.take("hidden0.weight" if stem else f"{last}.weight", stem_width or width, features)
    if stem:
        tensors.take("hidden1.weight", width, stem_width)
    blocks = 0
    while f"block{blocks}_first.weight" in state:
        for ours, _ in block_layers(blocks):
            tensors.take(f"{ours}.weight", width, width)
        blocks += 1
    normalised = "block0_first" if linear else last
    parts = tuple(part for part in NORM_PARTS["batch"] if f"{normalised}.{part}" in state)
    norm = next((norm for norm, its in NORM_PARTS.items() if its == parts), config["network.norm"])
    outputs, head = len(tensors.take("output.bias")), config["network.head"]
    if outputs == 1 and head != "q_in":
        head = "v"
    if outputs > 1 and head == "v":
        head = "q"
    return {"head": head, "width": width, "blocks": blocks, "norm": norm, "stem_width": stem_width,
            "input_layer": "linear" if linear else "hidden"}, state


def read_weights(file: pathlib.Path) -> dict:
    """Reads a state dict. No code in the file is run."""
    if not file.is_file():
        raise ValueError(f"{file}: no such file")
    with file.open("rb") as opened:
        start = opened.read(9)
    try:
        if start[8:] == b"{":
            with safetensors.safe_open(file, "pt") as opened:
                metadata = opened.metadata() or {}
            if "tandem" in metadata:
                raise ValueError("this is a checkpoint of Tandem, expected weights without a run. Use it as it is: "
                                 "tandem solve --checkpoint, or network.init_from.")
            return load_file(file)
        if start.startswith((b"PK\3\4", b"\x80\2")):
            return dict(torch.load(file, map_location="cpu", weights_only=True))
    except Exception as error:
        raise ValueError(f"{file}: {str(error).splitlines()[0]}") from error
    raise ValueError(f"{file}: not a file of weights; expected one that torch.save wrote, or safetensors")


def pickled(state: dict) -> bytes:
    """Returns what torch.save writes."""
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def export_network(run: pathlib.Path, form: str, out: pathlib.Path, checkpoint: str) -> None:
    network = tandem.Network(run, checkpoint, settings={"device": "cpu"})  # checks the file
    names = {"last": "checkpoint.safetensors", "best": "best.safetensors"}
    file = run / names[checkpoint] if checkpoint in names else pathlib.Path(checkpoint)
    if out.exists() and out.resolve() == file.resolve():
        raise ValueError(f"--out {out}: this is the checkpoint to export")
    if out.exists() and out.resolve().parent == run.resolve():
        raise ValueError(f"--out {out}: a run writes this file into its folder")
    with safetensors.safe_open(file, "pt") as opened:
        state = {name: opened.get_tensor(name) for name in opened.keys() if not name.startswith("resume.")}
    config, domain = network.config, network.domain
    keys = {key: config[f"network.{key}"]
            for key in ("kind", "head", "width", "blocks", "norm", "stem_width", "activation", "input_layer")}
    if form == "deepxube":
        puzzle = deepxube_puzzle(domain)
        heur, theirs = to_deepxube(state, keys, puzzle)
        write_file(out, pickled(theirs))
        is_q = keys["head"] == "q"
        print(f"for DeepXube: --domain {puzzle.domain} --heur {heur} --heur_type {'QFix' if is_q else 'V'} "
              f"--heur_file {shlex.quote(str(out))}", file=sys.stderr)
        if is_q and not puzzle.takes_q:
            print(f"warning: DeepXube 0.3.2 has V nets only for {puzzle.domain}; a Q net needs a domain of your own in "
                  "./domains/ that also derives from HasFlatSGActsEnumFixedIn (docs/deepxube.md)", file=sys.stderr)
    elif form == "safetensors":
        positions, depth = domain.input_shape
        about = {"domain": domain.identity, "input_positions": positions, "input_depth": depth,
                 "iterations": network.iterations, **keys}
        metadata = {"format": "pt", **{f"tandem.{key}": str(value) for key, value in about.items()}}
        write_file(out, safetensors.torch.save(state, metadata))
    else:
        write_file(out, pickled(state))
    print(f"{out}: {describe(domain, keys)}", file=sys.stderr)


def import_network(file: pathlib.Path, out: pathlib.Path, config: pathlib.Path | None,
                   settings: dict[str, str]) -> None:
    given = config if config is not None else {}
    asked = tandem.load_config(given, settings)
    domain = tandem.Domain(asked.domain)
    entries = read_weights(file)
    theirs = any(str(name).removeprefix("module.") == "heur.0.weight" for name in entries)
    hint = "" if config is not None or "domain.name" in settings else (
        f", for {asked.domain}, the default puzzle. Name the puzzle with --config or --set domain.name.")
    puzzle = deepxube_puzzle(domain) if theirs else None
    try:
        tensors = Tensors(entries)
        keys, state = (from_deepxube(tensors, puzzle, domain.input_shape[0]) if puzzle is not None
                       else from_tandem(tensors, asked))
    except ValueError as error:
        raise ValueError(f"{file}: {error}{hint}") from error
    try:
        found = tandem.load_config(given, {**settings, **{f"network.{key}": value for key, value in keys.items()},
                                           "network.init_from": ""})
    except ValueError as error:
        raise ValueError(f"{file} describes the keys under `network`, so only other keys can be changed, with --config "
                         f"or --set: {error}") from error
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "weights.safetensors"
        save_file({name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in state.items()}, plain)
        try:
            _tandem.write_network(plain, str(file), found, out)
        except ValueError as error:
            raise ValueError(f"{error}{hint if str(file) in str(error) else ''}") from error
    keys = {key: found[f"network.{key}"]
            for key in ("kind", "head", "width", "blocks", "norm", "stem_width", "input_layer")}
    print(f"{out}: {describe(domain, keys)}\nnext: tandem solve --model {shlex.quote(str(out))} --states FILE",
          file=sys.stderr)


def describe(domain: tandem.Domain, keys: dict[str, str]) -> str:
    stem = f"{keys['stem_width']}-" if keys["stem_width"] != "0" else ""
    return (f"{domain.name}, {keys['kind']}, head {keys['head']}, {stem}{keys['width']} wide, {keys['blocks']} blocks, "
            f"norm {keys['norm']}, input_layer {keys['input_layer']}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tandem.convert", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    export = verbs.add_parser("export", help="write a trained network for another program")
    export.add_argument("run", type=pathlib.Path, help="folder of a run")
    export.add_argument("--format", required=True, choices=("pytorch", "safetensors", "deepxube"))
    export.add_argument("--out", required=True, type=pathlib.Path, help="file to write")
    export.add_argument("--checkpoint", default="last", help="last, best (by validation), or a checkpoint file")
    imports = verbs.add_parser("import", help="make a folder like that of a run from a network of another program")
    imports.add_argument("file", type=pathlib.Path, help="a state dict or a heur.pt")
    imports.add_argument("--out", required=True, type=pathlib.Path, help="folder to make")
    imports.add_argument("--config", type=pathlib.Path, help="YAML config with the puzzle; without it, defaults")
    imports.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the config")
    args = parser.parse_args(arguments)
    try:
        if args.verb == "export":
            export_network(args.run, args.format, args.out, args.checkpoint)
        else:
            settings = settings_of(args.set)
            import_network(args.file, args.out, args.config, settings)
    except (OSError, RuntimeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
