"""Runs Tandem with several ranks for the benchmarks ranks and scale."""

import json
import os
import pathlib
import subprocess
import tempfile

import common

CONFIG = """\
domain: {{name: cube3, input: pieces}}
network: {{width: {width}, blocks: 2, norm: {norm}}}
generate: {{target: walk_length, max_scramble: 22, workers: 1}}
train: {{batch_size: {batch}, iterations_per_update: 20, max_updates: 1000000,
        max_seconds: {seconds}, threads: 1}}
inference: {{threads: 1}}
validation: {{every_updates: 0}}
checkpoint: {{every_updates: 1000000}}
device: cpu
"""


def add_options(parser):
    common.add_benchmark_options(parser)
    parser.add_argument("--width", type=int, default=256, help="default: %(default)s")
    parser.add_argument("--batch-size", type=int, default=2000, help="of each rank; default: %(default)s")
    parser.add_argument("--seconds", type=float, default=20, help="of each run")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")


def metrics_of(args, norm, cores):
    """Trains with one rank on each of `cores`, which may have a core more than once. Returns the updates,
    as in metrics.jsonl, and the summary."""
    with tempfile.TemporaryDirectory(prefix="tandem-bench-") as folder:
        folder = pathlib.Path(folder)
        (folder / "config.yaml").write_text(CONFIG.format(
            norm=norm, width=args.width, batch=args.batch_size, seconds=args.seconds))
        environment = dict(os.environ)
        if len(cores) > 1:
            environment |= {"WORLD_SIZE": str(len(cores)), "MASTER_ADDR": "127.0.0.1",
                            "MASTER_PORT": str(common.free_port())}
        ranks = []
        for rank, core in enumerate(cores):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank)} if len(cores) > 1 else {}
            ranks.append(subprocess.Popen(
                ["taskset", "-c", str(core), args.tandem, "train", "config.yaml", "--out",
                 "run", *common.sets(args.set)], cwd=folder, env=environment | own,
                stderr=subprocess.PIPE, text=True))
        errors = [rank.communicate()[1] for rank in ranks]
        if any(rank.returncode != 0 for rank in ranks):
            raise common.Failed("\n".join(errors))
        return common.updates_of(folder / "run"), json.loads((folder / "run/summary.json").read_text())
