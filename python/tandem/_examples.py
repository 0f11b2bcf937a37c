"""Training examples for a loop of the caller."""

import atexit
import contextlib
import copy
import itertools
import os
import time
import weakref
from typing import Any, NamedTuple

import torch

from tandem import _tandem
from tandem._config import Settings, load_config
from tandem._solve import _device_of, _values
from tandem._training import ConfigLike

# Keys that must be the same where a loop goes on.
_KEYS_OF_ROWS = ("seed", "generate.target", "generate.max_scramble", "network.head", "train.batch_size",
                 "train.iterations_per_update")

_open: "weakref.WeakSet[Examples]" = weakref.WeakSet()


@atexit.register
def _close_all():
    """Ends all threads while there is still an interpreter in which they can call the network."""
    for examples in list(_open):
        examples.close()


class Batch(NamedTuple):
    """A batch of tandem.Examples, on its device."""

    inputs: torch.Tensor          # what the network reads, uint8 of shape (n, positions)
    targets: torch.Tensor         # what it should return, float32 of shape (n, outputs)
    weights: torch.Tensor | None  # the weight of each output in the loss, as `targets`; None: all are 1
    update: int                   # the update that the batch belongs to, from 0
    ends_update: bool             # whether it is the last batch of its update


class Stats(NamedTuple):
    """How long both sides of tandem.Examples waited, from its first batch to its last whole update."""

    seconds: float           # all of this time
    loop_waited: float       # share of it, 0 to 1, that the loop waited for batches
    generator_waited: float  # share of it, 0 to 1, that no buffer was being filled


class Examples:
    """Training examples for a loop of yours: batches that background threads make while it trains.

        examples = tandem.Examples({"domain": {"name": "cube3"}, "generate": {"target": "value_iteration"}},
                                   network=net, batch_size=10_000, batches_per_update=100)
        for batch in examples:
            loss = torch.nn.functional.mse_loss(net(batch.inputs), batch.targets)
            ...

    config, settings: as in `tandem.load_config`. The keys of `domain`, `generate`, `network.head`,
        `pipeline`, `inference.batch_size`, `prefetch` and `seed` count.
    network: a torch.nn.Module that gets what `Domain.encode` returns, uint8 of shape (n, positions), and
        returns float32 of shape (n, outputs). It is needed if it labels rows, as in value iteration.
    device: where the batches are; None: where the network's parameters are, or else the CPU.
    batch_size, batches_per_update: `train.batch_size` and `train.iterations_per_update`.
    updates: the number of updates after which the loop ends; None: it does not end.
    rank, world_size: the number of this process, and of those that train together. Each makes other rows.
        None: those of torch.distributed if it is initialised.

    The rows of the next update are made while the loop trains on those of the current one
    (`pipeline.mode: async`), or in between (`sequential`). A frozen copy of the network labels them. It is
    renewed when the first batch of an update is asked for: as in a training run, the rows of update k + 1
    are labelled by the network after update k - 1, or with `sequential` and lag 0 by the one after update
    k. Rows and order are those of a run with the same config, and repeat if the loop's weights do.

    Use it in one thread; `close` may be called in any. Leaving a `with` block closes it, as does deleting
    it. After Ctrl-C the loop may go on. Raises ValueError if an argument is wrong. An exception in the
    network is raised in the loop, which then ends.
    """

    def __init__(self, config: ConfigLike, network: torch.nn.Module | None = None, *,
                 device: torch.device | str | None = None, batch_size: int | None = None,
                 batches_per_update: int | None = None, updates: int | None = None, rank: int | None = None,
                 world_size: int | None = None, settings: Settings | None = None):
        sizes = {"train.batch_size": batch_size, "train.iterations_per_update": batches_per_update}
        self.config = load_config(config, {**(settings or {}),
                                           **{key: size for key, size in sizes.items() if size is not None}})
        self.domain = _tandem.Domain(self.config.domain)
        self.updates = updates
        self._rank = _rank(rank, world_size)
        self._batches = int(self.config["train.iterations_per_update"])
        self._is_async = self.config["pipeline.mode"] == "async"
        self._lag = 1 if self._is_async else int(self.config["pipeline.policy_lag"].replace("auto", "0"))
        self._network = self._frozen = None
        if _tandem.needs_network(self.config) and network is not None:
            self._network = _plain(network)
            self._frozen = _FrozenCopy(network, self.config["network.head"], self.domain.num_actions)
        self.device = _checked_device(device or ("cpu" if network is None else _device_of(network)))
        self._step = 0           # batches that the loop has got
        self._ready = -1         # the update whose buffer is there
        self._weights = None     # an update, the weights that label its rows, and those for the next one
        self._resumed = None     # an update, and the weights for the one after it
        self._scrambles = (1, 1)  # the lengths for the same two updates, if they grow
        self._times = _Times()
        self._open_source()
        _open.add(self)

    def __iter__(self) -> "Examples":
        return self

    def __next__(self) -> Batch:
        update, number = divmod(self._step, self._batches)
        if self.updates is not None and update >= self.updates:
            raise StopIteration
        with self._times:
            if self._ready != update:
                self._begin(update)
            columns = self._prefetch.take(update, number)
        self._step += 1
        return Batch(columns[0], columns[1], columns[2] if len(columns) > 2 else None, update,
                     number + 1 == self._batches)

    def _begin(self, update):
        """Gets the rows of an update, as src/pipeline does. Ctrl-C may end it anywhere, so each step is one
        that may be repeated."""
        if self._lag == 0 or self._weights is None:
            self._refresh(update)
        self._source.start(update)
        filled_s = self._source.wait(update)
        self._scrambles = (self._source.longest_scramble(update), self._source.longest_scramble(update + 1))
        self._times.count(filled_s)
        self._refresh(update)
        self._ready = update
        if self._is_async and update + 1 != self.updates:
            self._source.start(update + 1)

    def _refresh(self, update):
        """Copies the network, which has trained on `update` updates, if that is due."""
        if self._frozen is None:
            return
        if self._weights is None or self._weights[0] != update:
            older = None if self._weights is None else self._weights[2]
            if self._resumed is not None and self._resumed[0] == update:
                newer = self._resumed[1]
            elif older is None or update % int(self.config["pipeline.refresh_every"]) == 0:
                newer = {name: tensor.detach().clone() for name, tensor in _tensors(self._network)}
            else:
                newer = older
            self._weights = (update, newer if older is None else older, newer)
        self._frozen.load(self._weights[2])

    def _open_source(self):
        processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self._source = _tandem.ExampleSource(self.config, self._frozen, self._rank, processes, self._scrambles[0])
        depth = int(self.config["prefetch.depth"]) if self.config["prefetch.enabled"] == "true" else 0
        self._prefetch = _Prefetch(self._source, int(self.config["train.batch_size"]), self._batches, depth,
                                   self.device)

    @property
    def update(self) -> int:
        """The update of the next batch, from 0: how many updates the loop has ended."""
        return self._step // self._batches

    def state_dict(self) -> dict[str, Any]:
        """Returns what `load_state_dict` needs to go on after the last batch: its number, and the weights that
        label rows. The loop saves its network and its optimizer itself."""
        labels = after = None
        begun = self._ready == self.update
        if self._weights is not None:
            labels = self._weights[1 if begun else 2]
            if begun:
                after = self._weights[2]
            elif self._resumed is not None and self._resumed[0] == self.update:
                after = self._resumed[1]
        return {"batches": self._step, "longest_scramble": self._scrambles[0 if begun else 1],
                "labels": labels, "labels_after": after, "rows": self._rows()}

    def _rows(self):
        """What decides the rows, apart from the network."""
        return {"domain": self.domain.identity, **{key: self.config[key] for key in _KEYS_OF_ROWS}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where another object of the same arguments was: the same rows follow, if the loop has loaded
        its network too. Rows that are there are made again."""
        expected = {"batches", "longest_scramble", "labels", "labels_after", "rows"}
        if set(state) != expected:
            raise ValueError(f"state: found the keys {sorted(state)}, expected {sorted(expected)}")
        for key, own in self._rows().items():
            if state["rows"].get(key) != own:
                raise ValueError(f"state: its {key} is {state['rows'].get(key)}, expected {own}")
        labels, after = state["labels"], state["labels_after"]
        if self._frozen is not None and labels is not None:
            self._frozen.check(labels)
        self._source.close()
        self._step = state["batches"]
        self._scrambles = (state["longest_scramble"],) * 2
        self._ready = -1
        self._weights = self._resumed = None
        if self._frozen is not None and labels is not None:
            self._weights = (self.update - 1, labels, labels)
            self._resumed = None if after is None else (self.update, after)
            self._frozen.load(labels)
        self._times = _Times()
        self._open_source()

    def stats(self) -> Stats:
        """Returns the shares of the time that the loop and the generator have waited."""
        return self._times.stats()

    def close(self) -> None:
        """Ends the threads. Takes at most as long as the network takes for `inference.batch_size` states."""
        self._source.close()

    @property
    def closed(self) -> bool:
        """Whether the threads have ended."""
        return self._source.closed

    def __enter__(self) -> "Examples":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tandem.Examples of {self.domain.name}, {self._step} batches>"


class _FrozenCopy:
    """A copy of a network, which labels rows in another thread while the loop trains the network."""

    def __init__(self, network, head, num_actions):
        self._module = copy.deepcopy(_plain(network)).eval().requires_grad_(False)
        self._call = torch.compile(self._module) if hasattr(network, "_orig_mod") else self._module
        self._head, self._num_actions = head, num_actions
        self._device = _device_of(network)
        # A GPU evaluates on a stream of its own, after the copy of the weights.
        self._stream = torch.cuda.Stream(self._device) if self._device.type == "cuda" else None

    def check(self, weights):
        """Raises ValueError unless `weights` have the names and shapes of the network's."""
        own = {name: tensor.shape for name, tensor in _tensors(self._module)}
        found = {name: tensor.shape for name, tensor in weights.items()}
        if own != found:
            wrong = sorted(name for name in own.keys() | found.keys() if own.get(name) != found.get(name))
            raise ValueError(f"state: its weights are those of another network; the first to differ is {wrong[0]}")

    def load(self, weights):
        with torch.no_grad():
            for name, tensor in _tensors(self._module):
                tensor.copy_(weights[name])
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._device))

    def __call__(self, inputs):
        return _values(self._outputs, inputs, self._head, self._num_actions, "the network")

    def _outputs(self, inputs):
        on_stream = contextlib.nullcontext() if self._stream is None else torch.cuda.stream(self._stream)
        with torch.no_grad(), on_stream:
            return self._call(torch.from_numpy(inputs).to(self._device)).float().cpu()


class _Prefetch:
    """Gathers batches ahead of the loop, and copies them to the device.

    On the CPU, each batch is gathered into memory of its own. On a GPU, it is gathered into a ring of pinned
    memory and copied from there by a stream of its own, one batch ahead. Each step may be repeated after
    Ctrl-C, because a batch can be gathered again while its update lasts.
    """

    def __init__(self, source, batch_size, batches, depth, device):
        self._source, self._batches, self._depth, self._device = source, batches, depth, device
        self._columns = [((batch_size, width), getattr(torch, dtype)) for dtype, width in source.columns]
        self._gathered: dict[int, tuple] = {}  # by the number of the batch: its arrays, and when they are full
        self._copied: dict[int, tuple] = {}    # also on a GPU: its tensors, and the event of their copy
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)
            self._ring = [[torch.empty(shape, dtype=dtype, pin_memory=True) for shape, dtype in self._columns]
                          for _ in range(depth + 2)]
            self._ring_read = [torch.cuda.Event() for _ in self._ring]

    def take(self, update, number):
        """Returns the columns of batch `number` of an update whose buffer is there."""
        for ahead in range(number, min(number + self._depth + 1, self._batches)):
            if ahead not in self._gathered and ahead not in self._copied:
                self._gather(update, ahead)
        if self._device.type != "cuda":
            columns, gathered = self._gathered.pop(number)
            gathered.wait()
            return [column.to(self._device) for column in columns]
        for ahead in range(number, min(number + 2, number + self._depth + 1, self._batches)):
            if ahead not in self._copied:
                self._copy(ahead)
        columns, copied = self._copied.pop(number)
        training = torch.cuda.current_stream(self._device)
        training.wait_event(copied)
        for column in columns:
            column.record_stream(training)
        return columns

    def _gather(self, update, number):
        if self._device.type == "cuda":
            place = number % len(self._ring)
            self._ring_read[place].synchronize()
            columns = self._ring[place]
        else:
            columns = [torch.empty(shape, dtype=dtype) for shape, dtype in self._columns]
        gathered = self._source.gather(update, number, [column.numpy() for column in columns])
        self._gathered[number] = (columns, gathered)

    def _copy(self, number):
        columns, gathered = self._gathered.pop(number)
        gathered.wait()
        copied = self._ring_read[number % len(self._ring)]
        with torch.cuda.stream(self._stream):
            tensors = [column.to(self._device, non_blocking=True) for column in columns]
            copied.record()
        self._copied[number] = (tensors, copied)


class _Times:
    """The times at which buffers were there, and how long the loop and the fills had taken until then."""

    def __init__(self):
        self._entered = self._waited = 0.0
        self._marks = []  # the first, and the last

    def __enter__(self):
        self._entered = time.perf_counter()

    def __exit__(self, *_):
        self._waited += time.perf_counter() - self._entered

    def count(self, filled_s):
        now = time.perf_counter()
        self._marks[1:] = [(now, self._waited + now - self._entered, filled_s)]

    def stats(self):
        if len(self._marks) < 2:
            return Stats(0.0, 0.0, 0.0)
        seconds, waited, filled = (last - first for first, last in zip(*self._marks))
        return Stats(seconds, waited / seconds, max(0.0, 1 - filled / seconds))


def _checked_device(name):
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device: found {name!r}, expected cpu, cuda or cuda:N") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device: found {name!r}, but PyTorch finds {torch.cuda.device_count()} GPUs")
    return device


def _rank(rank, world_size):
    if rank is None and world_size is None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        return torch.distributed.get_rank() if distributed else 0
    if rank is None or world_size is None or not 0 <= rank < world_size:
        raise ValueError(f"rank: found {rank} of world_size {world_size}, expected 0 to world_size - 1")
    return rank


def _plain(network):
    """Returns the module that torch.compile and DistributedDataParallel have wrapped."""
    if not isinstance(network, torch.nn.Module):
        raise ValueError(f"network: expected a torch.nn.Module, found {type(network).__name__}")
    if hasattr(network, "_orig_mod"):
        return _plain(network._orig_mod)
    wrappers = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    return _plain(network.module) if isinstance(network, wrappers) else network


def _tensors(module):
    """Returns all parameters and buffers, also those that are not saved."""
    return itertools.chain(module.named_parameters(), module.named_buffers())
