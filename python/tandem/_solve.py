"""Searches that are guided by a network or a function of the caller."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing
import torch

from tandem import _tandem
from tandem._config import load_config


def solve(domain: _tandem.Domain | str, states: numpy.typing.ArrayLike, evaluate: Callable[[Any], Any], *,
          head: str = "v", batch_size: int | None = None, **search: Any) -> list[_tandem.Solution]:
    """Searches for a solution of each state, guided by your own network or function.

        net = torch.nn.Sequential(...)
        tandem.solve("cube2", states, net, method="astar", weight=0.6)

    domain: a tandem.Domain or its name.
    states: uint8 of shape (n, state_size), or one state.
    evaluate: a torch.nn.Module or a function. It gets what `Domain.encode` returns, uint8 of shape
        (m, positions): a module as a tensor on the device of its parameters, a function as an array.
    head: what `evaluate` returns. "v": the cost-to-go of each state, of shape (m,) or (m, 1). "q": for
        each action its cost plus the cost-to-go of its child, of shape (m, num_actions). "policy": the
        logits of the actions, of that shape. "vp", for games: the cost-to-go and then the logits, of shape
        (m, 1 + num_actions). A module is in evaluation mode while it is called.
    batch_size: the most states in one call; None: 4,096.
    search: keys of `search` in a config, such as method="beam", beam_width=1000, ball_radius=3.

    The searches are those of `tandem solve`, and every solution is replayed to check it. Ctrl-C stops the
    search and raises KeyboardInterrupt. Raises ValueError if an argument is wrong or `evaluate` returns
    another shape, and RuntimeError if an estimate is NaN.
    """
    if isinstance(domain, str):
        domain = _tandem.Domain(domain)
    if head not in ("v", "q", "policy", "vp"):
        raise ValueError(f"head: expected v, q, policy or vp, found {head!r}")
    if search.get("program", "domain") != "domain":
        raise ValueError("program: `evaluate` is called from the CPU; expected domain")
    settings = {f"search.{key}": value for key, value in search.items()}
    if batch_size is not None:
        settings["inference.batch_size"] = batch_size
    target = {"generate": {"target": "policy"}} if head == "policy" else {}
    config = load_config({"network": {"head": head}, **target}, settings)
    with _function(evaluate) as function:
        return _tandem.solve(domain, states, lambda inputs: _values(function, inputs, head, domain.num_actions), config)


@contextlib.contextmanager
def _function(evaluate):
    """Gives a function of an array, which calls a module on its device, without gradients."""
    if not isinstance(evaluate, torch.nn.Module):
        yield evaluate
        return
    device = _device_of(evaluate)

    def call(inputs):
        with torch.inference_mode():
            return evaluate(torch.from_numpy(inputs).to(device)).float().cpu()

    was_training = evaluate.training
    evaluate.eval()
    try:
        yield call
    finally:
        evaluate.train(was_training)


def _device_of(module):
    """Returns the device of a module's parameters, or the CPU if it has none."""
    parameter = next(module.parameters(), None)
    return torch.device("cpu") if parameter is None else parameter.device


def _values(call, inputs, head, num_actions, name="`evaluate`"):
    """Returns what a search takes: costs, and minus the logarithm of the probability of each action."""
    width = {"v": 1, "vp": 1 + num_actions}.get(head, num_actions)
    values = np.asarray(call(inputs), dtype=np.float32)
    shapes = [(len(inputs), width)] + ([(len(inputs),)] if width == 1 else [])
    if values.shape not in shapes:
        raise ValueError(f"{name} returned an array of shape {values.shape}, expected "
                         f"{' or '.join(map(str, reversed(shapes)))}")
    values = np.ascontiguousarray(values.reshape(shapes[0]))
    if head == "vp":
        return np.hstack([values[:, :1], _surprisals(values[:, 1:])])
    return _surprisals(values) if head == "policy" else values


def _surprisals(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.log(np.exp(shifted).sum(axis=1, keepdims=True)) - shifted
