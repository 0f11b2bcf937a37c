"""Tests `tandem completion`, with bash and, if it is installed, with zsh."""

import re
import shutil
import subprocess
import sys
import unittest

from harness import CliTest

# Calls the function as bash does when Tab is pressed at the end of the words.
COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tandem
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Bash(CliTest):
    def setUp(self):
        super().setUp()
        self.script = self.write("tandem.bash", self.run_tandem("completion", "bash")[0])

    def complete(self, *words):
        """The words that are offered for the last of `words`."""
        result = subprocess.run(["bash", "-c", COMPLETE, "bash", self.script, *words],
                                capture_output=True, text=True, check=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_offers_every_subcommand(self):
        listed = re.search(r"Subcommands:\n(.*?)\n\n", self.run_tandem("--help")[0], re.S)[1]
        commands = re.findall(r"^  (\S+)", listed, re.M)
        self.assertIn("completion", commands)
        self.assertEqual(self.complete("tandem", ""), [*commands, "--help", "--version"])
        self.assertEqual(self.complete("tandem", "sol"), ["solve"])

    def test_offers_the_options_of_a_subcommand(self):
        self.assertEqual(self.complete("tandem", "train", "--re"), ["--resume"])
        for command in "train", "solve", "compare", "generate", "play":
            options = self.run_tandem(command, "--help")[0].split("\nOptions:\n")[1]
            described = re.findall(r"^  (?:-\w,)?(--[a-z-]+)", options.split("\n\n")[0], re.M)
            self.assertIn("--plugin", described)
            self.assertEqual(self.complete("tandem", command, "-"), described)

    def test_offers_puzzles_and_shells_as_first_arguments_only(self):
        self.assertEqual(self.complete("tandem", "show", "npu"), ["npuzzle"])
        self.assertEqual(self.complete("tandem", "init", "lights"), ["lights_out"])
        self.assertEqual(self.complete("tandem", "completion", ""), ["bash", "zsh"])
        self.assertEqual(self.complete("tandem", "show", "cube3", "cu"), [])
        self.assertEqual(self.complete("tandem", "train", ""), [])  # bash then offers files


class Zsh(CliTest):
    def test_describes_commands_and_options(self):
        script, _ = self.run_tandem("completion", "zsh")
        self.assertTrue(script.startswith("#compdef tandem\n"))
        self.assertIn("\n    'train:Train a network from a YAML config'\n", script)
        self.assertIn("'--resume[Continue a run that was stopped or killed]:RUN_DIR:_files'", script)
        self.assertIn("until it ends]:RUN:_files'", script)
        self.assertIn("'1:CONFIG:_files'", script)
        self.assertRegex(script, r"'1:NAME\[\\:ARG\]:\(cube2 .* sokoban\)'")

    def test_zsh_can_parse_it(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        script = self.write("_tandem", self.run_tandem("completion", "zsh")[0])
        subprocess.run(["zsh", "-n", script], check=True)


class Unknown(CliTest):
    def test_another_shell_is_bad_usage(self):
        _, error = self.run_tandem("completion", "fish", code=2)
        self.assertIn("completion: shell: expected bash or zsh, not fish", error)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
