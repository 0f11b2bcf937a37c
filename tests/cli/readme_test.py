"""Every command that README.md shows is run, in small; a kind of command that this test does not
know fails it, so that none is shown untested."""

import re
import shlex
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest

TRAIN_IN_SMALL = ["--set", "train.max_updates=2", "--set", "train.iterations_per_update=3",
                  "--set", "train.batch_size=50", "--set", "network.width=32"]
SOLVE_IN_SMALL = ["--set", "search.beam_width=16", "--set", "search.max_length=3",
                  "--set", "search.max_nodes=1000"]


def commands():
    blocks = re.findall(r"```sh\n(.*?)```", (SOURCE / "README.md").read_text(), re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


class Readme(CliTest):
    def setUp(self):
        super().setUp()
        for name in ("configs", "data"):
            (self.folder / name).symlink_to(SOURCE / name)

    def run_in_copy(self, words):
        allowed = (0,)
        if words[1] == "train" and "--resume" not in words:
            words = words + TRAIN_IN_SMALL
        elif words[1] == "compare":
            words = words + TRAIN_IN_SMALL + ["--set", "validation.states=20"]
        elif words[1] == "solve":
            words = words + SOLVE_IN_SMALL + ([] if "--limit" in words else ["--limit", "2"])
            allowed = (0, 1)  # a net of two updates need not solve a cube
        result = subprocess.run([str(TANDEM)] + words[1:], cwd=self.folder, capture_output=True,
                                stdin=subprocess.DEVNULL, text=True, timeout=120)
        self.assertIn(result.returncode, allowed, result.stdout + result.stderr)

    def check_make(self, words):
        for target in words[1:]:
            if "=" not in target:
                subprocess.run(["make", "-n", target], cwd=SOURCE, check=True, capture_output=True)

    def check_preset(self, words):
        listing = ["cmake", "--list-presets=all"]
        presets = subprocess.run(listing, cwd=SOURCE, check=True, capture_output=True, text=True)
        self.assertIn(f'"{words[words.index("--preset") + 1]}"', presets.stdout)

    def test_every_command(self):
        seen = set()
        for words in commands():
            with self.subTest(" ".join(words)):
                program = words[0].split("/")[-1]
                seen.add(program)
                if program == "tandem":
                    self.run_in_copy(words)
                elif program == "make":
                    self.check_make(words)
                elif program in ("cmake", "ctest"):
                    if "--preset" in words:
                        self.check_preset(words)
                elif words[0] == "scripts/setup":
                    self.assertTrue((SOURCE / words[0]).exists())
                else:
                    self.fail("a kind of command that nothing tests")
        self.assertLessEqual({"tandem", "make", "cmake", "ctest"}, seen)

    def test_holds_no_placeholder(self):
        text = (SOURCE / "README.md").read_text()
        self.assertEqual(re.findall(r"^[A-Z_]{8,}$", text, re.M), [])

    def test_every_file_that_is_linked_exists(self):
        text = (SOURCE / "README.md").read_text()
        for target in re.findall(r"\]\((?!http)([^)#]+)", text):
            self.assertTrue((SOURCE / target).exists(), target)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
