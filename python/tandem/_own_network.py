"""Networks that are written in Python with PyTorch."""

import atexit
import functools
import re
import weakref
from collections.abc import Callable, Iterator

import torch

from tandem import _tandem

Factory = Callable[[int, int, int], torch.nn.Module]

_factories: dict[str, Factory] = {}
_living: "weakref.WeakSet[OwnNetwork]" = weakref.WeakSet()


@atexit.register
def _release_modules():
    """C++ code holds a module, whose class holds the variables of the program, and those may hold that C++ code.
    Python does not see this cycle."""
    for net in list(_living):
        net.release()
    _factories.clear()
    _tried.cache_clear()


class WrongNetwork(ValueError):
    """A factory returned something that Tandem cannot train."""


def register_network(name: str, factory: Factory) -> None:
    """Adds a network that is written in PyTorch. `network.kind` then accepts its name.

        class Net(torch.nn.Module):
            def __init__(self, positions, depth, outputs):
                ...

        tandem.register_network("net", Net)
        tandem.train({"domain": {"name": "cube2"}, "network": {"kind": "net"}}, "runs/net")

    name: letters, digits and _. A network of the same name replaces the one before, for runs that begin
        later.
    factory: a function or class that returns a torch.nn.Module. It is called with the shape of the input,
        `positions` and `depth` (`Domain.input_shape`; with head q_in there are positions for the action
        too), and the number of outputs. Tandem makes several modules: for training, for the target
        network and for searches. Initial weights should come from PyTorch's random numbers, which
        Tandem seeds.

    The module gets a tensor of uint8 of shape (n, positions), with numbers below `depth`, and returns
    (n, outputs), or (n,) for one output. It is trained in training mode and evaluated in evaluation mode.
    Its state dict is what checkpoints contain, and parameters whose requires_grad is False stay as they are.
    Buffers must be changed in place.

    Register a network before runs begin, and in each program that uses it. Raises ValueError if Tandem has a
    network of this name. A module that cannot be trained is a ValueError when a run begins, and an exception
    in the module ends the run with RuntimeError.
    """
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(f"network {name!r}: expected a name of letters, digits and _ that begins with a letter")
    if not callable(factory) or isinstance(factory, torch.nn.Module):
        raise TypeError(f"network {name!r}: factory is {factory!r}, expected a function or class that returns a "
                        "torch.nn.Module")
    if name not in _factories:
        _tandem.add_network_kind(name)
    _factories[name] = factory


class OwnNetwork:
    """A module as Tandem's C++ code uses it."""

    def __init__(self, name: str, module: torch.nn.Module, outputs: int):
        self._name = name
        self._module = module
        self._outputs = outputs
        self._buffers = [(owner, key, buffer) for owner in module.modules()
                         for key, buffer in owner.named_buffers(recurse=False)]
        _living.add(self)

    def release(self) -> None:
        """Forgets the module. Later calls of `forward` fail."""
        del self._module, self._buffers

    def state(self) -> list[tuple[str, torch.Tensor, bool]]:
        """Returns the tensors of the state dict, with their names, and whether they are trained."""
        return [(key, tensor, tensor.requires_grad)
                for key, tensor in self._module.state_dict(keep_vars=True).items()]

    def other_buffers(self) -> list[torch.Tensor]:
        """Returns the buffers that are not in the state dict."""
        saved = {id(tensor) for _, tensor, _ in self.state()}
        return [buffer for _, _, buffer in self._buffers if id(buffer) not in saved]

    def forward(self, inputs: torch.Tensor, training: bool) -> torch.Tensor:
        if self._module.training != training:
            self._module.train(training)
        outputs = self._module(inputs)
        if not isinstance(outputs, torch.Tensor):
            raise WrongNetwork(f"network {self._name!r}: forward returned {_an(type(outputs).__name__)}, "
                               "expected a torch.Tensor")
        if self._outputs == 1 and outputs.shape == (len(inputs),):
            outputs = outputs[:, None]
        if outputs.shape != (len(inputs), self._outputs):
            raise WrongNetwork(f"network {self._name!r}: forward returned a tensor of shape {tuple(outputs.shape)} "
                               f"for {len(inputs)} states, expected {(len(inputs), self._outputs)}")
        for owner, key, buffer in self._buffers:
            if getattr(owner, key) is not buffer:
                raise WrongNetwork(f"network {self._name!r}: forward replaced the buffer {key!r}, which checkpoints "
                                   f"contain. Change it in place: self.{key}.copy_(...)")
        return outputs.float()


def make(name: str, positions: int, depth: int, outputs: int, seed: int) -> OwnNetwork:
    """Makes a network. Its initial weights depend on the seed, and PyTorch's random numbers do not change."""
    factory = _factories[name]
    expected = _tried(name, factory, positions, depth, outputs)
    net = _made(name, factory, positions, depth, outputs, seed)
    if _shapes(net) != expected:
        raise WrongNetwork(f"network {name!r}: the factory returned a module with other tensors than before, expected "
                           "equal names and shapes for equal arguments")
    return net


def _made(name, factory, positions, depth, outputs, seed):
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        module = factory(positions, depth, outputs)
    if not isinstance(module, torch.nn.Module):
        raise WrongNetwork(f"network {name!r}: the factory returned {_an(type(module).__name__)}, expected a "
                           "torch.nn.Module")
    for problem in _problems(module):
        raise WrongNetwork(f"network {name!r}: {problem}")
    return OwnNetwork(name, module, outputs)


def _problems(module: torch.nn.Module) -> Iterator[str]:
    """Says what keeps Tandem from training the module."""
    names: dict[int, str] = {}
    for key, tensor in module.state_dict(keep_vars=True).items():
        if not isinstance(tensor, torch.Tensor):
            yield f"{key!r} in its state dict is {_an(type(tensor).__name__)}, expected tensors only"
        elif torch.nn.parameter.is_lazy(tensor):
            yield f"{key!r} has no shape yet, expected layers that are not lazy"
        elif tensor.device.type != "cpu":
            yield f"{key!r} is on {tensor.device}, expected the CPU; Tandem moves the module to the run's device"
        elif tensor.dtype != torch.float32 and (tensor.requires_grad or tensor.dtype not in (torch.int32, torch.int64)):
            yield f"{key!r} is of {tensor.dtype}, expected torch.float32, or torch.int64 for a buffer"
        elif id(tensor) in names:
            yield f"{names[id(tensor)]!r} and {key!r} are the same tensor, expected one name for each"
        names[id(tensor)] = key
    if not any(parameter.requires_grad for parameter in module.parameters()):
        yield "it has no parameters to train"


@functools.lru_cache(maxsize=None)
def _tried(name, factory, positions, depth, outputs):
    """Makes a module and does a step of training with it, to find errors before a run begins. Returns the
    names and shapes of its tensors."""
    net = _made(name, factory, positions, depth, outputs, seed=0)
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        loss = net.forward(torch.zeros((2, positions), dtype=torch.uint8), training=True).sum()
        if loss.requires_grad:
            loss.backward()
    for key, tensor, is_trained in net.state():
        if is_trained and tensor.grad is None:
            raise WrongNetwork(f"network {name!r}: its outputs do not depend on the parameter {key!r}. Remove it, or set "
                               "its requires_grad to False.")
        if is_trained and tensor.grad.is_sparse:
            raise WrongNetwork(f"network {name!r}: the gradient of {key!r} is sparse, expected layers with sparse=False")
    return _shapes(net)


def _shapes(net):
    return [(key, tensor.shape, is_trained) for key, tensor, is_trained in net.state()]


def _an(noun):
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
