"""Shows runs in TensorBoard: writes the figures of a run as events, into its folder.

    python -m tandem.tensorboard runs/quickstart            # then: tensorboard --logdir runs
    python -m tandem.tensorboard --follow runs/quickstart   # adds what the run does, until Ctrl-C

The events are the numbers of metrics.jsonl, and config.yaml as a text. Steps count iterations, and the loss,
the labels and the solved share have DeepXube's tags. Events of an earlier call are replaced. Needs the
packages torch and tensorboard. Exit code 2: a folder is not that of a run.
"""

import argparse
import itertools
import json
import pathlib
import re
import time
from collections.abc import Iterator

TAGS = {
    "loss": "train/loss",
    "learning_rate": "train/learning_rate",
    "label_mean": "train/ctgs/mean",
    "label_min": "train/ctgs/min",
    "label_max": "train/ctgs/max",
    "solve_rate": "val/{search}/solved",
    "solve_rate_by_length": "val/{search}/solved_by_length",
    "examples_per_s": "rate/examples_per_s",
    "train_examples_per_s": "rate/train_examples_per_s",
    "generate_examples_per_s": "rate/generate_examples_per_s",
    "idle_main": "idle/main",
    "idle_generator": "idle/generator",
    "lag_updates": "policy_lag/updates",
    "target_age_iterations": "policy_lag/iterations",
    "peak_rss_bytes": "memory/peak_rss_bytes",
}


def tag_of(key: str) -> str:
    """Returns the tag of a key of metrics.jsonl: errors, seconds and the rest have a group each."""
    group = "val" if "_error" in key else "time" if key.endswith("_s") else "run"
    return TAGS.get(key, f"{group}/{key}")


def figures_of(line: dict, search: str) -> Iterator[tuple[str, float]]:
    """Yields the tag and value of each number in a line of metrics.jsonl."""
    for key, value in line.items():
        values = value if isinstance(value, dict) else {"": value}
        for length, number in values.items():
            if isinstance(number, (int, float)):
                tag = tag_of(key).format(search=search) + (f"/{length}" if length else "")
                yield tag, 100 * number if key.startswith("solve_rate") else number


class Run:
    """The events of one run."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.config = (folder / "config.yaml").read_text()
        width = re.search(r"^validation:(?:\n .*)*?\n +beam_width: (\d+)", self.config, re.M)
        self.search = "beam" if width and int(width[1]) > 0 else "greedy"
        self.begin()

    def begin(self) -> None:
        from torch.utils.tensorboard import SummaryWriter

        for earlier in self.folder.glob("events.out.tfevents.*"):
            earlier.unlink()
        self.writer = SummaryWriter(self.folder)
        self.writer.add_text("config", f"```yaml\n{self.config}```")
        self.shown: list[dict[str, float]] = []  # the figures of each line

    def show(self) -> None:
        """Adds what metrics.jsonl has and the events do not. If the run was resumed from an earlier checkpoint
        and lines have gone, begins again."""
        whole_lines = (self.folder / "metrics.jsonl").read_text().rpartition("\n")[0].splitlines()
        lines = [json.loads(line) for line in whole_lines]
        figures = [dict(figures_of(line, self.search)) for line in lines]
        if len(figures) < len(self.shown) or any(
                old.items() - new.items() for old, new in zip(self.shown, figures)):
            self.writer.close()
            self.begin()
        steps = itertools.accumulate(line["iterations"] for line in lines)
        for step, new, old in itertools.zip_longest(steps, figures, self.shown, fillvalue={}):
            for tag in new.keys() - old.keys():
                self.writer.add_scalar(tag, new[tag], step)
        self.shown = figures
        self.writer.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tandem.tensorboard", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN", help="folder of a run")
    parser.add_argument("--follow", action="store_true", help="look for new figures every 10 seconds")
    args = parser.parse_args()
    for folder in args.runs:
        if not (folder / "metrics.jsonl").exists():
            parser.error(f"{folder} is not the folder of a run: expected it to have metrics.jsonl")
    try:
        runs = [Run(folder) for folder in args.runs]
    except ImportError as error:
        parser.error(f"{error}; install the packages torch and tensorboard")
    try:
        while True:
            for run in runs:
                run.show()
            if not args.follow:
                return
            time.sleep(10)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
