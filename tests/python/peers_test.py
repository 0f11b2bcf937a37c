"""Runs the examples that take puzzles from other packages, with those packages from PyPI."""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import unittest

import tandem
from small_run import SOURCE, FolderTest

CAYLEYPY = "cayleypy==0.2.0"


class Peers(FolderTest):
    def run_example(self, python, name):
        """Returns the lines that it prints, a state and a solution each, which it has checked itself."""
        package = pathlib.Path(tandem.__file__).parents[1]
        result = subprocess.run([python, SOURCE / "examples" / "python" / name, self.folder / "run"],
                                capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(package)})
        self.assertEqual(result.returncode, 0, result.stderr)
        return re.findall(r"^\[[\d\s]+\] \S.*$", result.stdout, re.M)

    def test_a_graph_of_cayleypy(self):
        environment = self.folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = environment / "bin" / "python"
        packages = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                                  capture_output=True, text=True, check=True).stdout.strip()
        (pathlib.Path(packages) / "torch_here.pth").write_text(sysconfig.get_path("purelib"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", CAYLEYPY], check=True)
        self.assertEqual(len(self.run_example(python, "cayleypy_graph.py")), 5)

    def test_a_domain_of_deepxube(self):
        environment = self.folder / "environment"
        subprocess.run([SOURCE / "scripts" / "deepxube_env", environment], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(len(self.run_example(environment / "bin" / "python", "deepxube_domain.py")), 5)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
