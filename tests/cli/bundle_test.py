"""The bundle for other machines, and the suite that runs there, in small and on the CPU."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest


class Bundle(CliTest):
    def run_script(self, *command, **environment):
        result = subprocess.run([str(word) for word in command], cwd=self.folder, timeout=300,
                                capture_output=True, text=True, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_runs_by_itself(self):
        path = f"{self.python_with_torch().parent}:{os.environ['PATH']}"
        self.run_script(SOURCE / "scripts/bundle", self.folder / "made", BUILD=str(TANDEM.parent))
        bundle = self.folder / "moved"
        shutil.move(self.folder / "made", bundle)
        self.assertRegex(self.run_script(bundle / "tandem", "--version", PATH=path), r"^tandem \d")
        out = self.folder / "suite.json"
        self.run_script(bundle / "gpu_suite", "--device", "cpu", "--small", "--out", out,
                        PATH=path)
        suite = json.loads(out.read_text())
        steps = {step["step"]: step for step in suite["steps"]}
        self.assertEqual({step["outcome"] for step in suite["steps"]}, {"passed"})
        self.assertEqual(steps["quickstart"]["figures"]["updates"], 3)
        self.assertEqual(len(steps["modes"]["figures"]["rows"]), 2)

    def test_leaves_a_folder_that_is_no_bundle_alone(self):
        (self.folder / "mine").mkdir()
        self.write("mine/precious.txt", "x")
        result = subprocess.run([SOURCE / "scripts/bundle", self.folder / "mine"],
                                env={**os.environ, "BUILD": str(TANDEM.parent)},
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not empty, and no bundle", result.stderr)
        self.assertEqual(os.listdir(self.folder / "mine"), ["precious.txt"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
