"""Functions that the scripts and the Python benchmarks share.

bench/common.py is a link to this file. scripts/bundle copies it for bench/beside_pytorch and
bench/beside_deepxube, so this file imports nothing else of the repository.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import shlex
import signal
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MISSED = 3  # exit code: everything ran, and a figure missed its goal


class Failed(SystemExit):
    """A command failed, or its result cannot be used. If nobody catches it, the script prints the
    message and ends with exit code 1."""


# --- The command line --------------------------------------------------------------------------------

def add_tandem_option(parser):
    parser.add_argument("--tandem", type=lambda path: pathlib.Path(path).absolute(), metavar="PROGRAM",
                        default=os.environ.get("TANDEM") or str(ROOT / "build/release/tandem"),
                        help="program to run (default: $TANDEM, or else build/release/tandem of this "
                             "repository)")


def add_json_option(parser):
    parser.add_argument("--json", type=pathlib.Path, help="file to write (default: build/NAME.json)",
                        default=(ROOT / "build" / pathlib.Path(sys.argv[0]).name).with_suffix(".json"))


def add_benchmark_options(parser):
    add_json_option(parser)
    add_tandem_option(parser)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="key of Tandem's config; may be repeated")


def sets(settings):
    """Returns settings as words of a command line of Tandem. `settings`: texts KEY=VALUE, or a dict."""
    if isinstance(settings, dict):
        settings = [f"{key}={value}" for key, value in settings.items()]
    return [word for setting in settings for word in ("--set", setting)]


def differing(parser, args, *names):
    """Returns those of the named options that do not have their default value."""
    return [name for name in names if getattr(args, name) != parser.get_default(name)]


# --- Running commands --------------------------------------------------------------------------------

def start(words, **options):
    try:
        return subprocess.Popen(words, text=True, **options)
    except OSError as error:
        raise Failed(f"{words[0]}: cannot be started ({error.strerror}). Build Tandem with `make program`, "
                     "or name the program with --tandem.") from error


def tandem(program, *words):
    """Prints a command of Tandem and runs it, with its output on the terminal."""
    command = [str(program), *map(str, words)]
    print("$ " + shlex.join(command), flush=True)
    if (code := start(command).wait()) != 0:
        raise Failed(f"`tandem {words[0]}` ended with exit code {code}")


def converter(program, module="convert"):
    """Returns the words that start a module of the package that was built with the program."""
    package = pathlib.Path(program).resolve().parent / "python"
    return ["env", f"PYTHONPATH={package}", ROOT / ".venv/bin/python", "-m", f"tandem.{module}"]


def plot_run(folder, evaluation, out, over_examples):
    """Draws the learning curve of a run with the networks of an evaluation. Needs matplotlib in .venv."""
    run(ROOT / ".venv/bin/python", ROOT / "examples/python/plot_run.py", folder, out, "--evaluation",
        evaluation, *(["--over-examples"] if over_examples else []))


def run(*command, cwd=None, seconds=None, allowed=(0,), variables=None):
    """Runs a command and returns its output and messages. Fails if the exit code is not one of
    `allowed`. If `seconds` pass, ends the command and returns what it has printed. The command gets
    `variables` in addition to this program's environment."""
    words = [str(word) for word in command]
    # DeepXube starts processes, which form a group with it. Without buffers, what it has
    # printed is not lost when it is ended.
    process = start(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={**os.environ, "PYTHONUNBUFFERED": "1", **(variables or {})})
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"stopped after {seconds:g} s: {' '.join(words[:2])}", file=sys.stderr)
        os.killpg(process.pid, signal.SIGTERM)
        return process.communicate()[0]
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    if process.returncode not in allowed:
        raise Failed(f"{shlex.join(words)}\nended with {process.returncode}:\n{output[-3000:]}")
    return output


def output_of(*command):
    """Runs a command and returns its output without its messages. Fails if its exit code is not 0."""
    words = [str(word) for word in command]
    process = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, messages = process.communicate()
    if process.returncode != 0:
        raise Failed(f"{shlex.join(words)}\nended with {process.returncode}:\n{messages[-3000:].strip()}")
    return output


def deepxube_folder():
    """Installs DeepXube if necessary. Returns the folder of its programs."""
    folder = start([str(ROOT / "scripts/deepxube_env")], stdout=subprocess.PIPE)
    output, _ = folder.communicate()
    if folder.returncode != 0:
        raise Failed("scripts/deepxube_env could not install DeepXube")
    return ROOT / output.strip() / "bin"


# --- Networks ----------------------------------------------------------------------------------------

@dataclasses.dataclass
class Net:
    name: str
    width: int
    blocks: int
    norm: str


def parse_net(name):
    """The network that a name such as 256H_2B_layer, or DeepXube's 200H_2B_bn, stands for."""
    match = re.fullmatch(r"(\d+)H_(\d+)B_(layer|batch|none|bn)", name)
    if not match:
        raise argparse.ArgumentTypeError(f"'{name}': expected a name such as 256H_2B_layer or 200H_2B_bn")
    return Net(name, int(match[1]), int(match[2]), "batch" if match[3] == "bn" else match[3])


def parse_nets(names):
    return [parse_net(name) for name in names.split(",")]


# --- Runs of Tandem ----------------------------------------------------------------------------------

def settings_file(run):
    return run.with_name(run.name + ".settings.json")


def is_trained(run, settings, harmless=()):
    """Returns whether the folder `run` has a complete run. Fails if the run was stopped before its end,
    or if it did not have these settings. It may also have those in `harmless`."""
    if not (run / "summary.json").is_file():
        return False
    if json.loads((run / "summary.json").read_text())["ended_by"] == "stopped":
        raise Failed(f"{run}: the run was stopped before its end. Continue it with "
                     f"`tandem train --resume {run}`, or delete it.")
    advice = f"Delete {run}, or choose another --out."
    if not settings_file(run).is_file():
        raise Failed(f"{settings_file(run)} is missing, so the settings of {run} are unknown. {advice}")
    had = json.loads(settings_file(run).read_text())
    if [each for each in had if each in settings or each not in harmless] != settings:
        raise Failed(f"{run} was trained with other settings. Expected: {', '.join(settings) or 'none'}. "
                     f"Found: {', '.join(had) or 'none'}. {advice}")
    return True


def train_new(program, config, run, settings):
    """Trains a new run, and writes its settings to a file beside it."""
    if not run.exists():  # else Tandem refuses to train, and the file describes the run that is there
        settings_file(run).write_text(json.dumps(settings) + "\n")
    tandem(program, "train", config, "--out", run, *sets(settings))


def updates_of(run):
    """Returns the lines of a run's metrics.jsonl, one for each update. Fails if there are fewer than
    three, which are too few for a rate."""
    updates = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    if len(updates) < 3:
        raise Failed(f"{run} finished {len(updates)} updates, expected at least 3; train for longer")
    return updates


def rate(updates):
    """Returns the examples per second of updates, without the first one, which starts cold."""
    seconds = updates[-1]["elapsed_s"] - updates[0]["elapsed_s"]
    return sum(update["examples"] for update in updates[1:]) / seconds


def examples_per_second(run):
    return rate(updates_of(run))


# --- Results of benchmarks ---------------------------------------------------------------------------

def write_json(path, results, settings):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"results": results, "settings": settings}, indent=2) + "\n")
    print(path.read_text(), end="")


def judge(goals, changed=()):
    """Prints figures beside their goals, and returns the benchmark's exit code. `goals`: (what, figure,
    goal), where the figure should be at least the goal; None: there is no goal. Goals hold for the default
    settings; if `changed` names options that differ, no goal counts as missed."""
    missed = False
    for what, figure, goal in goals:
        if goal is None:
            continue
        met = figure >= goal
        missed = missed or not met
        print(f"{what}: {figure:.3g}, goal at least {goal:g}: {'met' if met else 'missed'}", flush=True)
    if not changed:
        return MISSED if missed else 0
    options = ", ".join("--" + name.replace("_", "-") for name in changed)
    print(f"goals do not count, because these options differ from their defaults: {options}")
    return 0


# --- The machine -------------------------------------------------------------------------------------

def cores():
    return len(os.sched_getaffinity(0))


def free_port():
    """Returns a port that is free now and that the system gives to no other program, because it is
    below the ports of outgoing connections."""
    while True:
        port = random.randrange(20_000, 32_768)
        with socket.socket() as listening, contextlib.suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port
