"""Runs Tandem and DeepXube for the benchmarks beside_deepxube and astar_beside_deepxube."""

import json
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, cwd, seconds=None, allowed=(0,)):
    """Runs a command and returns its output. Ends this program if the exit code is not one of
    `allowed`. If `seconds` pass, ends the command and returns what it has printed."""
    words = [str(word) for word in command]
    # DeepXube starts processes of its own, which form a group with it. Without buffers, what it has
    # printed is not lost when it is ended.
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True,
                               env={**os.environ, "PYTHONUNBUFFERED": "1"})
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
        sys.exit(f"{' '.join(words)}\nended with {process.returncode}:\n{output[-3000:]}")
    return output


def deepxube_folder():
    """Installs DeepXube if necessary. Returns the folder of its programs."""
    folder = subprocess.run([ROOT / "scripts/deepxube_env"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    return ROOT / folder / "bin"


def cores():
    return len(os.sched_getaffinity(0))


def rate(lines):
    """Examples per second of the lines of metrics.jsonl, without the first update."""
    return sum(l["examples"] for l in lines[1:]) / (lines[-1]["elapsed_s"] - lines[0]["elapsed_s"])


def examples_per_second(run):
    """Returns the rate of a run of Tandem, which must have at least three updates."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    if len(lines) < 3:
        raise SystemExit(f"{run} finished {len(lines)} updates, expected at least 3; raise --seconds")
    return rate(lines)


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
