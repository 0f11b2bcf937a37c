"""Rebuilds the network of a run in PyTorch, evaluates a state with it, and compares with Tandem:

rebuild_in_pytorch.py RUN [MOVES]
"""

import pathlib
import sys

import torch

import tandem

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pytorch"))
from tandem_net import TandemNet  # noqa: E402

run = pathlib.Path(sys.argv[1])
network = tandem.Network(run, settings={"inference.precision": "fp32"})
domain = network.domain
state = domain.play(domain.goals()[0], sys.argv[2] if len(sys.argv) > 2 else "")

positions, depth = domain.input_shape
net = TandemNet.load(run / "checkpoint.safetensors", depth, activation=network.config["network.activation"])
with torch.no_grad():
    estimate = net(torch.from_numpy(domain.encode(state))[None])[0, 0].item()
print(f"{domain.format(state)}: PyTorch {estimate:.3f}, Tandem {network.evaluate(state):.3f}")
