"""Loads the network of a run, or one that `python -m tandem.convert export` wrote, into PyTorch.

    net = TandemNet.load("best.safetensors", depth=6)  # cube3: 54 stickers of 6 colours
    values = net(states)                            # (n, positions) integers -> (n, outputs)

A state is what Tandem's network reads: for cube3 the facelets U R F D L B as 0 to 5, for npuzzle
the numbers of the tiles, for lights_out the cells. A file of `--format safetensors` has `depth`, `norm`
and `activation` as metadata.
"""

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"relu": F.relu, "leaky_relu": F.leaky_relu}
EPSILON = 1e-5


class Layer(nn.Module):
    """A linear layer and its normalisation, which the names of its tensors show."""

    def __init__(self, tensors):
        super().__init__()
        for name, tensor in tensors.items():
            if name.startswith("running"):
                self.register_buffer(name, tensor)
            else:
                self.register_parameter(name, nn.Parameter(tensor))

    def forward(self, x):
        x = F.linear(x, self.weight, self.bias)
        if hasattr(self, "running_mean"):
            return F.batch_norm(x, self.running_mean, self.running_var, self.norm_weight,
                                self.norm_bias, self.training, eps=EPSILON)
        if hasattr(self, "norm_bias"):
            return F.layer_norm(x, x.shape[-1:], self.norm_weight, self.norm_bias, EPSILON)
        if hasattr(self, "norm_weight"):
            return F.rms_norm(x, x.shape[-1:], self.norm_weight, EPSILON)
        return x


class TandemNet(nn.Module):
    def __init__(self, state, depth, activation="relu"):
        super().__init__()
        self.depth = depth
        self.activation = ACTIVATIONS[activation]
        layers = {}
        for name, tensor in state.items():
            layer, part = name.split(".")
            layers.setdefault(layer, {})[part] = tensor
        for name, tensors in layers.items():
            self.add_module(name, Layer(tensors))
        self.hidden = sum(name.startswith("hidden") for name in layers)
        self.blocks = sum(name.endswith("_first") for name in layers)  # none in an mlp

    @classmethod
    def load(cls, path, depth, activation="relu"):
        if str(path).endswith(".safetensors"):
            from safetensors.torch import load_file
            # A checkpoint also has the state that a run resumes from.
            state = {name: tensor for name, tensor in load_file(path).items() if not name.startswith("resume.")}
        else:
            state = torch.load(path, weights_only=True)
        return cls(state, depth, activation).eval()

    def forward(self, states):
        x = F.one_hot(states.long(), self.depth).flatten(1).float()
        if hasattr(self, "input"):  # network.input_layer: linear
            x = self.input(x)
        for number in range(self.hidden):
            x = self.activation(getattr(self, f"hidden{number}")(x))
        for block in range(self.blocks):
            inner = self.activation(getattr(self, f"block{block}_first")(x))
            x = self.activation(getattr(self, f"block{block}_second")(inner) + x)
        return self.output(x)
