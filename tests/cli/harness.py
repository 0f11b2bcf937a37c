"""Shared by the command-line tests: the program, the scripts, a temporary folder, and a small run."""

import importlib.machinery
import importlib.util
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TANDEM = pathlib.Path(os.environ["TANDEM"])
sys.path.insert(0, str(SOURCE / "scripts"))  # for scripts/common.py

SMALL = """\
network: {width: 32, blocks: 1}
generate: {max_scramble: 8}
train: {batch_size: 100, iterations_per_update: 5, max_updates: 4, threads: 1}
inference: {threads: 1}
search: {beam_width: 8192}
"""

SOLVED = "UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB"
AFTER_R = "UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB"


# A shell starts a job in the background with SIGINT ignored, which the programs would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


def load_script(name):
    """Returns the script scripts/NAME as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(SOURCE / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module  # dataclasses look their module up
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-cli-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_tandem(self, *args, code=0, memory=None, variables=None, stdin=None):
        """Runs the program with a limit on its address space, in bytes, with more environment
        variables, and with the text `stdin` in a pipe. Expects the exit code (None: any). Returns
        (stdout, stderr)."""
        limit = memory and (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)))
        result = subprocess.run([TANDEM, *map(str, args)], capture_output=True, text=True,
                                cwd=self.folder, timeout=120, preexec_fn=limit, input=stdin,
                                env={**os.environ, **(variables or {})})
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr

    def wait_until(self, condition, program=None):
        """Waits until another process has made condition() true. Fails after a minute, or if `program`
        ends first."""
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, "the condition is still false")
            if program is not None and program.poll() is not None:
                self.assertTrue(condition(), f"the program has ended: {program.returncode}")
            time.sleep(0.01)

    def python_with_torch(self):
        """Returns a Python that has torch: that of .venv if it exists, else this one. Skips the test
        if it has no torch."""
        installed = SOURCE / ".venv" / "bin" / "python"
        python = installed if installed.exists() else pathlib.Path(sys.executable)
        if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode != 0:
            self.skipTest(f"{python} has no torch")
        return python

    def run_python_with_torch(self, code, *args):
        """Runs the code and returns its output."""
        python = self.python_with_torch()
        result = subprocess.run([python, "-c", textwrap.dedent(code), *map(str, args)],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def train_small(self, *args):
        config = self.write("small.yaml", SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run, *args)
        return run
