"""Tandem trains neural heuristics for puzzles, and solves puzzles with them.

    import tandem

    cube = tandem.Domain("cube2")
    result = tandem.train({"domain": {"name": "cube2"}}, "runs/cube2", on_update=print)
    network = tandem.Network("runs/cube2")
    print(network.solve(cube.scramble(1, 20)))

Wrong arguments raise ValueError, and work that fails raises RuntimeError, with the messages of the
program `tandem`. Warnings go to standard error.
"""

from tandem import _libraries  # noqa: F401  (loads LibTorch before the extension needs it)
from tandem._tandem import (Config, Domain, Progress, Solution, TrainingResult, config_reference,
                            domain_names, load_plugin)
from tandem._config import load_config
from tandem._own_network import register_network  # first, so that at exit runs end before their networks
from tandem._examples import Batch, Examples
from tandem._network import Network
from tandem._puzzle import Game, Puzzle, register_domain
from tandem._shards import Rows, read_shards, write_shards
from tandem._solve import solve
from tandem._training import Training, resume, train

__all__ = ["Batch", "Config", "Domain", "Examples", "Game", "Network", "Progress", "Puzzle", "Rows", "Solution",
           "Training", "TrainingResult", "config_reference", "domain_names", "load_config", "load_plugin",
           "read_shards", "register_domain", "register_network", "resume", "solve", "train", "write_shards"]
