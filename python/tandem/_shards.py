"""Examples on disk, from and for other programs."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing

from tandem import _tandem


class Rows(NamedTuple):
    """Training examples: one row each."""

    inputs: np.ndarray          # what the network reads, uint8 of shape (n, positions)
    targets: np.ndarray         # what it should return, float32 of shape (n, outputs)
    weights: np.ndarray | None  # the weight of each output in the loss, as `targets`; None: all are 1


def read_shards(folder: str | os.PathLike) -> Iterator[Rows]:
    """Reads a set of shards chunk by chunk, in the order of its rows, and verifies each chunk.

    Raises ValueError if the folder has no shards, and RuntimeError if a shard is missing or damaged.
    """
    reader = _tandem.ShardReader(folder)
    for chunk in range(reader.num_chunks):
        inputs, targets, *weights = reader.chunk(chunk)
        yield Rows(inputs, targets, weights[0] if weights else None)


def write_shards(folder: str | os.PathLike, domain: _tandem.Domain | str, inputs: numpy.typing.ArrayLike,
                 targets: numpy.typing.ArrayLike, weights: numpy.typing.ArrayLike | None = None, *,
                 head: str = "v", chunk_rows: int = 262_144, chunks_per_shard: int = 4,
                 compress: bool = False) -> None:
    """Writes examples as a set of shards, on which `data.source: shards` trains.

        tandem.write_shards("shards/mine", cube, cube.encode(states), costs)

    folder: a new or empty folder.
    domain: the tandem.Domain, or its name.
    inputs: uint8 of shape (n, positions), as `Domain.encode` returns them.
    targets: labels, of shape (n, outputs), or (n,) for one output. They depend on `head`: "v" has the
        cost-to-go; "q" for each action its cost plus the cost-to-go of its child; "policy" the probability
        of each action; "vp" both, the cost-to-go first.
    weights: the weight of each output in the loss, of the shape of `targets`; 0 leaves an output out. Only for
        the heads v and q.
    chunk_rows, chunks_per_shard: the rows of a chunk, which is read at once, and the chunks of a file.
    compress: whether to compress chunks.

    Raises ValueError that names the first row that cannot be trained on; nothing is written then.
    """
    if isinstance(domain, str):
        domain = _tandem.Domain(domain)
    inputs = np.ascontiguousarray(inputs)
    depth = domain.input_shape[1]
    if inputs.dtype != np.uint8 or inputs.ndim != 2:
        raise ValueError(f"inputs: expected uint8 of shape (n, positions), found {inputs.dtype} of shape "
                         f"{inputs.shape}")
    _check("inputs", inputs, inputs < depth, f"a number below {depth}")
    targets = _labels("targets", targets)
    weights = None if weights is None else _labels("weights", weights)
    _tandem.write_shards(folder, domain, inputs, targets, weights, head, chunk_rows, chunks_per_shard, compress)


def _labels(name, values):
    values = np.ascontiguousarray(values, dtype=np.float32)
    if values.ndim == 1:
        values = values[:, None]
    _check(name, values, np.isfinite(values) & (values >= 0), "a finite number of at least 0")
    return values


def _check(name, array, is_valid, expected):
    if not is_valid.all():
        row = int(np.argmin(is_valid.all(axis=tuple(range(1, array.ndim)))))
        raise ValueError(f"{name}: row {row} has {array[row][~is_valid[row]][0]}, expected {expected}")
