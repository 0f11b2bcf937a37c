"""Tandem's C++ code. Import tandem instead, which documents it."""

from collections.abc import Mapping
import os
import pathlib
from typing import overload

import numpy
import numpy.typing
from numpy.typing import NDArray


def domain_names() -> list[str]:
    """Returns the names that tandem.Domain accepts."""

def load_plugin(file: str | os.PathLike) -> list[str]:
    """
    Loads the puzzles of a plug-in, a shared library, and returns their names.

    tandem.Domain and configs then accept the names. Raises ValueError if the file is no plug-in for this version.
    """

class Domain:
    """
    A puzzle: its states, actions and goals, on batches of states.

    A state is `state_size` bytes. Every method that takes `states` takes an array of uint8 of shape (n, state_size), or
    one state of shape (state_size,), for which the first axis is missing in the result too. Results are new NumPy arrays
    (torch.from_numpy and torch.from_dlpack share their memory). Methods raise ValueError for arrays of another shape or
    type. They use all cores and release the GIL. States must come from the same domain; `check_states` checks them.
    """

    def __init__(self, name: str) -> None:
        """
        Creates a domain from NAME or NAME:ARGUMENT, such as "cube3" or "npuzzle:4".

        Raises ValueError if there is no domain of that name.
        """

    @property
    def name(self) -> str:
        """Name, with its argument: "npuzzle:4"."""

    @property
    def summary(self) -> str:
        """One line of description."""

    @property
    def identity(self) -> str:
        """Label of weights and examples: the name and a version of the rules."""

    @property
    def state_size(self) -> int:
        """Bytes per state."""

    @property
    def input_shape(self) -> tuple[int, int]:
        """
        (positions, depth): the network reads `positions` numbers, each below `depth`, one-hot.
        """

    @property
    def board(self) -> tuple[int, int] | None:
        """(rows, columns) if the input is a board, else None."""

    @property
    def num_actions(self) -> int:
        """Number of actions."""

    @property
    def action_names(self) -> list[str]:
        """Names of the actions, in their order."""

    @property
    def action_costs(self) -> list[float]:
        """Cost of each action."""

    @property
    def inverse_actions(self) -> list[int]:
        """
        The action that undoes each action; empty if some action has no inverse.
        """

    def goals(self, count: int = 1, seed: int = 0) -> NDArray[numpy.uint8]:
        """
        Returns `count` goal states, uint8 of shape (count, state_size).

        If each problem has its own goal, as in Sokoban, they are drawn by `seed`.
        """

    def scramble(self, count: int, length: int | numpy.typing.ArrayLike, seed: int = 0) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns the ends of `count` random walks from goals, uint8 of shape (count, state_size).

        `length` is the number of steps: one number, or one for each walk. A walk does not step straight back.
        State i depends on `seed`, i and its length only.
        """

    def apply(self, states: numpy.typing.ArrayLike, actions: int | numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns the states after an action each, in an array of the same shape.

        `actions` is one action for all states, or one for each. An action that does not apply leaves its state unchanged.
        """

    def play(self, states: numpy.typing.ArrayLike, moves: str) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns the states after a sequence of moves, such as "R U R'", in an array of the same shape.
        """

    def expand(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns the children of all states, uint8 of shape (n, num_actions, state_size).
        """

    def applicable(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.bool_]:
        """Returns which actions apply, bool of shape (n, num_actions)."""

    def is_goal(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.bool_]:
        """Returns which states are goals, bool of shape (n,)."""

    def players(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns whose turn it is in each state of a game, 0 or 1, of shape (n,).
        """

    def outcomes(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns how each state of a game stands for the player whose turn it is, or would be: 0 while the game
        goes on, 1 for a loss, 2 for a draw and 3 for a win, of shape (n,).
        """

    def encode(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns what the network reads, uint8 of shape (n, positions); see `input_shape`.
        """

    def check_states(self, states: numpy.typing.ArrayLike) -> None:
        """
        Raises ValueError that names the first row that is not a state of the puzzle, and says why.

        A state is what `parse` accepts. Check states from elsewhere once: `apply`, `expand`, `encode` and others do
        not check the bytes, and return arbitrary results for wrong ones.
        """

    def render(self, states: numpy.typing.ArrayLike, scale: int = 16) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Returns pictures of the states, uint8 of shape (n, height, width, 3), red, green and blue.

        A unit square has `scale` x `scale` pixels. Texts are not drawn: a cell with a text and without a
        colour gets a shade that depends on the text. `svg` draws texts too. Raises ValueError if some row is
        not a state; see `check_states`.
        """

    def parse(self, text: str) -> NDArray[numpy.uint8]:
        """
        Reads a state from text and returns it, uint8 of shape (state_size,).

        Raises ValueError that says what was found and what was expected. Warns if the
        text could also mean a state with another goal, and says how it was read.
        """

    def format(self, state: numpy.typing.ArrayLike) -> str:
        """Returns a state as text that `parse` reads."""

    def parse_actions(self, moves: str) -> list[int]:
        """Returns the indices of the actions in a text such as "R U R'"."""

    def svg(self, state: numpy.typing.ArrayLike) -> str:
        """Returns a picture of a state as an SVG document."""

    def text(self, state: numpy.typing.ArrayLike, colour: bool = False) -> str:
        """
        Returns a picture of a state as lines of text, with ANSI colours if `colour`.
        """

    def check(self, states: int = 300) -> list[tuple[str, str]]:
        """
        Checks the promises of a domain on sampled states.

        Returns the broken ones as pairs (promise, the state and action that break it).
        """

    def __repr__(self) -> str: ...

def register_domain(puzzle: object, check: bool) -> Domain:
    """Adds a puzzle; `tandem.register_domain` calls it."""

class Config:
    """A config, checked. `tandem.load_config` makes one."""

    @staticmethod
    def from_file(path: str | os.PathLike, settings: Mapping[str, str]) -> Config:
        """Reads a YAML file; `tandem.load_config` calls it."""

    @staticmethod
    def from_yaml(yaml: str, name: str, settings: Mapping[str, str]) -> Config:
        """Reads YAML, which messages call `name`; `tandem.load_config` calls it."""

    def __getitem__(self, key: str) -> str:
        """
        Returns the value of a key such as "train.batch_size", as text.

        Raises ValueError if there is no such key.
        """

    @property
    def domain(self) -> str:
        """The name of the puzzle, as tandem.Domain takes it."""

    def to_yaml(self) -> str:
        """Returns YAML that sets every key."""

    def __repr__(self) -> str: ...

def config_reference() -> str:
    """
    Returns a config that has every key with its default, meaning and values, as YAML.
    """

class Solution:
    """The outcome of the search for one state."""

    @property
    def solved(self) -> bool:
        """Whether it was solved."""

    @property
    def moves(self) -> str:
        """The names of the actions, separated by spaces."""

    @property
    def actions(self) -> list[int]:
        """The indices of the actions, from the state to a goal."""

    @property
    def best_actions(self) -> list[int]:
        """
        The actions of the best path that was found, if it was not solved; else empty. Of a game, the best move.
        """

    @property
    def length(self) -> int:
        """The number of actions; 0 if it was not solved."""

    @property
    def cost(self) -> float:
        """The cost of the actions."""

    @property
    def ended(self) -> str:
        """Why the search ended: "solved", or a limit such as "node limit"."""

    @property
    def failure(self) -> str:
        """
        Why there is no solution and which settings to change; empty if it was solved.
        """

    @property
    def nodes(self) -> int:
        """States generated."""

    @property
    def seconds(self) -> float:
        """Wall time, including work on states that were solved at the same time."""

    def __repr__(self) -> str: ...

def solve(domain: Domain, states: object, evaluate: object, config: Config) -> list[Solution]:
    """Solves states by a Python function; `tandem.solve` calls it."""

def needs_network(config: Config) -> bool:
    """Whether a network labels the rows of the config's target."""

class GatheredBatch:
    def wait(self) -> None:
        """Waits until the batch is in its arrays."""

class ExampleSource:
    """The buffers and threads of tandem.Examples."""

    def __init__(self, config: Config, evaluate: object | None, rank: int, processes: int, longest_scramble: int) -> None: ...

    @property
    def columns(self) -> list[tuple[str, int]]:
        """The columns of a row: the type and the number of its elements."""

    def longest_scramble(self, update: int) -> int:
        """The length that the scrambles of the curriculum have at an update."""

    def start(self, update: int) -> None:
        """Starts to fill the buffer of an update, unless that has begun."""

    def wait(self, update: int) -> float:
        """
        Waits for a fill that was started, and returns how long all fills took.
        """

    def gather(self, update: int, batch: int, columns: list[numpy.ndarray]) -> GatheredBatch:
        """Starts to gather a batch into arrays."""

    def close(self) -> None:
        """Ends the threads."""

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""

class Network:
    def __init__(self, run: str | os.PathLike, checkpoint: str, settings: Mapping[str, str]) -> None: ...

    @property
    def domain(self) -> Domain:
        """The tandem.Domain that it was trained on."""

    @property
    def config(self) -> Config:
        """The tandem.Config of the run, with the settings."""

    @property
    def iterations(self) -> int:
        """Training steps that it has had."""

    def evaluate(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32]:
        """
        Returns the estimated cost-to-go of each state, float32 of shape (n,).

        Raises ValueError if the network is a policy, which has no estimates.
        """

    def evaluate_actions(self, states: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float32]:
        """
        Returns a value for each action of each state, float32 of shape (n, num_actions). Less is better.

        For a Q net it is the action's cost plus the estimated cost-to-go of its child, and for a policy minus the
        logarithm of its probability. Raises ValueError if the network only estimates states (head v).
        """

    def solve(self, states: numpy.typing.ArrayLike) -> list[Solution]:
        """
        Searches for a solution of each state, as the keys under `search` say, and returns a tandem.Solution for each.

        Every solution is replayed to check it. Ctrl-C stops the search and raises KeyboardInterrupt. Raises ValueError if
        some row is not a state; see tandem.Domain.check_states.
        """

def write_network(weights: str | os.PathLike, source: str, config: Config, folder: str | os.PathLike) -> None:
    """
    Makes a run's folder from the tensors in a safetensors file; `tandem.convert` calls it.
    """

def add_network_kind(name: str) -> None:
    """Adds a kind of network; `tandem.register_network` calls it."""

class ShardReader:
    def __init__(self, folder: str | os.PathLike) -> None: ...

    @property
    def num_chunks(self) -> int:
        """The number of chunks."""

    def chunk(self, chunk: int) -> list:
        """Reads and verifies a chunk, and returns its columns."""

def write_shards(folder: str | os.PathLike, domain: Domain, inputs: numpy.ndarray, targets: numpy.ndarray, weights: numpy.ndarray | None, head: str, chunk_rows: int, chunks_per_shard: int, compress: bool) -> None:
    """Writes arrays as a set of shards; `tandem.write_shards` calls it."""

class Progress:
    """How far a training run is."""

    @property
    def updates(self) -> int:
        """Complete updates."""

    @property
    def iterations(self) -> int:
        """Training steps."""

    @property
    def examples(self) -> int:
        """Examples trained on."""

    @property
    def seconds(self) -> float:
        """Time since the run began."""

    @property
    def loss(self) -> float | None:
        """Loss of the last update, or None."""

    @property
    def solve_rate(self) -> float | None:
        """
        Share of the validation states that are solved, from 0 to 1; None before the first validation.
        """

    @property
    def value_error(self) -> float | None:
        """Error of the estimates in the last validation, or None."""

    def __repr__(self) -> str: ...

class TrainingResult:
    """What a training run has done."""

    @property
    def updates(self) -> int:
        """Complete updates."""

    @property
    def examples(self) -> int:
        """Examples trained on."""

    @property
    def seconds(self) -> float:
        """Time of the run."""

    @property
    def final_loss(self) -> float:
        """Loss of the last update."""

    @property
    def solve_rate(self) -> float | None:
        """Share of the validation states that are solved, from 0 to 1, or None."""

    @property
    def weights_sha256(self) -> str:
        """SHA-256 of the weights."""

    def __repr__(self) -> str: ...

class Training:
    @overload
    def __init__(self, config: Config, folder: str | os.PathLike) -> None: ...

    @overload
    def __init__(self, folder: str | os.PathLike, settings: Mapping[str, str]) -> None: ...

    def run_update(self) -> Progress | None:
        """
        Does the next update and returns the progress, or None if the run has ended.

        Raises RuntimeError after `close`.
        """

    def finish(self) -> TrainingResult | None:
        """
        Ends the run, also before its last update, and returns its tandem.TrainingResult.

        Validates the network, and writes the checkpoint and the summary. Returns None if the run has failed.
        Raises RuntimeError after `close`.
        """

    def stop(self) -> None:
        """Ends the run after the current step. May be called from any thread."""

    def close(self) -> None:
        """
        Ends the threads of the run without writing anything. The folder keeps the last checkpoint.

        The run cannot go on after this; `Training.resume` continues it.
        Raises RuntimeError in a method of a puzzle or a network during an update.
        """

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""

    @property
    def folder(self) -> pathlib.Path:
        """The folder of the run."""

    @property
    def progress(self) -> Progress:
        """The tandem.Progress of the run."""

    @property
    def result(self) -> TrainingResult | None:
        """The tandem.TrainingResult once the run has ended, else None."""
