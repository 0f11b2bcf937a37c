"""Builds the wheel, installs it into a clean environment, and trains there. Takes as long as a build of
Tandem, and downloads torch from PyPI unless pip has it in its cache."""

import json
import os
import subprocess
import sys
import unittest

from small_run import SMALL, SOURCE, FolderTest

TRAINS = """\
import json, sys, tandem
result = tandem.train(json.loads(sys.argv[1]), "run")
network = tandem.Network("run")
solved = network.solve(network.domain.scramble(3, 4))
print(json.dumps({"file": tandem.__file__, "updates": result.updates,
                  "solved": [s.solved for s in solved]}))
"""


class Wheel(FolderTest):
    def run_tool(self, *command):
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("PYTHONPATH", "LIBTORCH", "LD_LIBRARY_PATH")}
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                                cwd=self.folder, env=clean)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_a_wheel_installs_into_a_clean_environment_and_trains(self):
        self.run_tool(sys.executable, "-m", "venv", "clean")
        python = self.folder / "clean" / "bin" / "python"
        self.run_tool(python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "wheels", SOURCE)
        wheel, = (self.folder / "wheels").glob("tandem_trainer-0.1.0-*.whl")
        self.run_tool(python, "-m", "pip", "install", wheel)
        found = json.loads(self.run_tool(python, "-c", TRAINS, json.dumps(SMALL)).splitlines()[-1])
        self.assertIn(str(self.folder), found["file"])
        self.assertEqual((found["updates"], found["solved"]), (6, [True] * 3))

        package = next((self.folder / "clean").glob("lib/python3*/site-packages/tandem"))
        program = self.folder / "clean" / "bin" / "tandem"
        self.run_tool(program, "train", "quickstart", "--out", "second", "--set", "train.max_seconds=5")
        self.run_tool(program, "solve", "--model", "second", "--states", "cube3_ten", "--limit", 1)
        self.assertTrue((package / "py.typed").exists())
        self.assertTrue((package / "_tandem.pyi").exists())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
