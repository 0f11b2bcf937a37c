"""Training runs."""

import atexit
import os
import weakref
from collections.abc import Callable, Mapping

from tandem import _tandem
from tandem._config import Settings, load_config, settings_as_text

OnUpdate = Callable[[_tandem.Progress], object] | None
ConfigLike = str | os.PathLike | Mapping | _tandem.Config

_running: "weakref.WeakSet[Training]" = weakref.WeakSet()


@atexit.register
def _close_all():
    """Ends all threads while there is still an interpreter that puzzles in Python can run in."""
    for run in list(_running):
        run.close()


class Training(_tandem.Training):
    """A training run, which does one update at a time.

        with tandem.Training("configs/cube2.yaml", "runs/cube2") as run:
            for progress in run:
                print(progress.updates, progress.loss)
        print(run.result)

    It writes the same folder as `tandem train`, and the same config gives the same weights.

    config, settings: as in `tandem.load_config`.
    folder: a new or empty folder.

    The constructor replaces what is `auto` in the config, which may take a few seconds. Leaving the
    `with` block ends the run, also early: it writes a checkpoint, from which `Training.resume`
    continues. Ctrl-C does so too, and raises KeyboardInterrupt. Raises ValueError if the run cannot
    be made as asked, and RuntimeError if it fails; a run that fails has saved the state before its
    update.
    """

    def __init__(self, config: ConfigLike, folder: str | os.PathLike,
                 settings: Settings | None = None):
        super().__init__(load_config(config, settings), folder)
        _running.add(self)

    @classmethod
    def resume(cls, folder: str | os.PathLike, settings: Settings | None = None) -> "Training":
        """Continues the run in `folder` from its newest checkpoint.

        settings: changes to the few keys that may change, such as {"train.max_updates": 200}.
        """
        run = cls.__new__(cls)
        _tandem.Training.__init__(run, folder, settings_as_text(settings))
        _running.add(run)
        return run

    def __iter__(self) -> "Training":
        return self

    def __next__(self) -> _tandem.Progress:
        progress = self.run_update()
        if progress is None:
            raise StopIteration
        return progress

    def __enter__(self) -> "Training":
        return self

    def __exit__(self, *_) -> None:
        if not self.closed:
            self.finish()

    def __repr__(self) -> str:
        return f"<tandem.Training in {self.folder}: {self.progress.updates} updates>"


def _check(on_update: OnUpdate) -> None:
    """Finds a wrong argument before the run makes its folder."""
    if on_update is not None and not callable(on_update):
        raise TypeError(f"on_update: found {on_update!r}, expected a function that takes a tandem.Progress, "
                        "or None")


def _run(training: Training, on_update: OnUpdate) -> _tandem.TrainingResult:
    with training as run:
        for progress in run:
            if on_update is not None:
                on_update(progress)
    assert run.result is not None  # a run that fails raises
    return run.result


def train(config: ConfigLike, folder: str | os.PathLike, settings: Settings | None = None,
          on_update: OnUpdate = None) -> _tandem.TrainingResult:
    """Trains a network from start to end, and returns its tandem.TrainingResult.

    config, settings: as in `tandem.load_config`.
    folder: a new or empty folder for the run.
    on_update: called with the tandem.Progress after each update.

    An exception in `on_update`, or Ctrl-C, ends the run, which then writes a checkpoint from which
    `tandem.resume` continues.
    """
    _check(on_update)
    return _run(Training(config, folder, settings), on_update)


def resume(folder: str | os.PathLike, settings: Settings | None = None,
           on_update: OnUpdate = None) -> _tandem.TrainingResult:
    """Continues the run in `folder` to its end, and returns its tandem.TrainingResult.

    On the CPU, the weights equal the weights of an uninterrupted run.
    """
    _check(on_update)
    return _run(Training.resume(folder, settings), on_update)
