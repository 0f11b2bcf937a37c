"""Runs Tandem and DeepXube for the benchmarks beside_deepxube and astar_beside_deepxube."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, cwd, seconds=None, allowed=(0,)):
    """Runs a command and returns its output. Ends this program if the exit code is not one of
    `allowed`. If `seconds` pass, ends the command and returns what it has printed."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=seconds)
    except subprocess.TimeoutExpired as stopped:
        print(f"stopped after {seconds} s: {' '.join(words[:2])}", file=sys.stderr)
        return (stopped.stdout or b"").decode()
    if result.returncode not in allowed:
        sys.exit(f"{' '.join(words)}\nended with {result.returncode}:\n{result.stdout[-3000:]}")
    return result.stdout


def deepxube_folder():
    """Installs DeepXube if necessary. Returns the folder of its programs."""
    folder = subprocess.run([ROOT / "scripts/deepxube_env"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    return ROOT / folder / "bin"


def cores():
    return len(os.sched_getaffinity(0))


def write_json(path, results, settings):
    path.write_text(json.dumps({"results": results, "settings": settings}, indent=2) + "\n")
    print(path.read_text(), end="")


def add_common_options(parser):
    parser.add_argument("--json", type=pathlib.Path, required=True, help="file to write")
    parser.add_argument("--tandem", type=pathlib.Path, default=ROOT / "build/release/tandem",
                        help="program to measure (default: build/release/tandem)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="key of Tandem's config; may be repeated")


def settings_of(args):
    """Returns --set, as words of a command line of Tandem."""
    return [word for setting in args.set for word in ("--set", setting)]
