"""Trained networks."""

import os

from tandem import _tandem
from tandem._config import Settings, settings_as_text


class Network(_tandem.Network):
    """The network of a run, which estimates and solves states of its puzzle.

    run: the folder of a run, as `tandem.train` or `tandem train` writes it.
    checkpoint: "last", "best" (by validation), or the path of a checkpoint.
    settings: changes to the config of the run, such as {"search.beam_width": 10000}.

    Several threads may share a network; they take turns. Raises ValueError if the folder has no such
    network.
    """

    def __init__(self, run: str | os.PathLike, checkpoint: str | os.PathLike = "last",
                 settings: Settings | None = None):
        super().__init__(run, os.fspath(checkpoint), settings_as_text(settings))

    def __repr__(self) -> str:
        return f"<tandem.Network for {self.domain.name}, {self.iterations} iterations>"
