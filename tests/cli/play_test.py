"""Tests `tandem play` without a network, through a pipe and through a terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
import unittest

from harness import AFTER_R, SOLVED, TANDEM, CliTest


class Play(CliTest):
    def play(self, lines, *args, code=0):
        """Returns the output after the header, up to the status line of the first picture."""
        result = subprocess.run([TANDEM, "play", *map(str, args)], input=lines, timeout=120,
                                capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def states(self, lines, *args):
        """What each line `state` printed, of a cube."""
        return re.findall(r"^[URFDLB]{54}$", self.play(lines, *args), re.M)

    def test_the_first_picture_is_that_of_show(self):
        for args in (["cube3"], ["npuzzle:4", "--random", 30, "--seed", 4],
                     ["sokoban:7", "--random", 20], ["cube3", "--state", AFTER_R],
                     ["cube3", "--scramble", "R U"]):
            picture = self.run_tandem("show", *args)[0].split("\n\n")[0]
            self.assertIn(f"\n\n{picture}\n", self.play("", *args))

    def test_moves_change_the_state_and_are_counted(self):
        out = self.play("1 2\n\n02\n", "hanoi:3", "--state", "0 0 0", code=0)
        self.assertIn("move 1 is '1', expected one of 01 02 10 12 20 21; `help` lists", out)
        self.assertTrue(out.endswith("1 move, cost 1\n"), out)
        out = self.play("dr\nr\nl l\n", "grid:5", "--state", "#####\n#@  #\n#   #\n#  .#\n#####")
        self.assertEqual(re.findall(r"cost (.*)", out), ["0", "1.41421", "2.41421", "4.41421"])
        self.assertEqual(self.states("R\nstate\n", "cube3"), [AFTER_R])
        self.assertNotIn("> ", out)
        self.assertNotIn("\x1b", out)

    def test_says_when_it_is_solved(self):
        out = self.play("R'\n", "cube3", "--state", AFTER_R)
        self.assertTrue(out.endswith("solved in 1 move, cost 1\n"), out)
        self.assertIn("this is a goal; `scramble` makes a puzzle", self.play("", "cube3"))

    def test_a_move_that_does_not_apply_says_so_and_keeps_what_was_made(self):
        start = "1 2 3 4 5 6 7 8 0"
        out = self.play("D D D R\nstate\n", "npuzzle:3", "--state", start)
        self.assertIn("2 moves, cost 2\nmove 3, D, does not apply here; the moves after it "
                      "were not made\n", out)
        self.assertTrue(out.endswith("1 2 0 4 5 3 7 8 6\n"), out)
        out = self.play("U\nstate\n", "npuzzle:3", "--state", start)
        self.assertTrue(out.endswith(f"move 1, U, does not apply here\n{start}\n"), out)

    def test_a_command_with_the_name_of_a_move_is_typed_with_a_colon(self):
        path = self.write("ring.yaml", """\
goal: [0, 1, 2]
generators:
  undo: (0 1 2)
  help: (0 1)
""")
        out = self.play("undo\nstate\n:undo\nstate\n:help\n", f"permutation:{path}")
        self.assertIn("; `:help` lists the commands", out)
        self.assertEqual(re.findall(r"^\d \d \d$", out, re.M)[-2:], ["2 0 1", "0 1 2"], out)
        self.assertIn("  :undo [N]     undo the last move", out)
        self.assertIn("  state         print", out)

    def test_an_unknown_move_leaves_the_state_unchanged(self):
        self.assertEqual(self.states("R\nU X\nstate\n", "cube3"), [AFTER_R])

    def test_undo_and_reset_restore_earlier_states(self):
        self.assertEqual(self.states("R\nU\nundo\nstate\nU U\nundo 2\nstate\nundo 99\nstate\n",
                                     "cube3"), [AFTER_R, AFTER_R, SOLVED])
        self.assertEqual(self.states("U R F\nreset\nstate\n", "cube3", "--state", AFTER_R),
                         [AFTER_R])
        self.assertIn("nothing to undo", self.play("undo\n", "cube3"))

    def test_undo_takes_back_what_no_move_can(self):
        level = "#####\n#@$.#\n#####"
        out = self.play("r\nundo\nstate\n", "sokoban:5", "--state", level)
        self.assertIn("solved in 1 move", out)
        self.assertTrue(out.endswith(level + "\n#####\n#####\n"), out)

    def test_scrambles_are_those_of_show(self):
        out = self.play("R\nscramble 25\nstate\nscramble 25\nstate\n", "cube3", "--seed", 6)
        states = re.findall(r"^[URFDLB]{54}$", out, re.M)
        shown = self.run_tandem("show", "cube3", "--random", 25, "--seed", 6)[0].splitlines()[-1]
        self.assertEqual(states[0], shown)
        self.assertNotEqual(states[1], shown)
        begun = self.states("state\nscramble 25\nstate\n", "cube3", "--seed", 6, "--random", 25)
        self.assertEqual(begun, states)
        self.assertEqual(out.count("0 moves, cost 0"), 2)

    def test_errors_name_the_command_and_what_was_expected(self):
        for line, message in [("undo x", "undo: found 'x', expected a whole number from 1"),
                              ("scramble 0", "scramble: found '0', expected a whole number"),
                              ("reset 3", "reset: found '3' after the command, expected nothing"),
                              ("hint", "no network is loaded; start with --model"),
                              ("solve", "no network is loaded"),
                              ("hlep", "move 1 is 'hlep', expected one of U U' D")]:
            self.assertIn(message, self.play(f"  {line} \r\n", "cube3"))

    def test_a_message_escapes_bytes_that_are_no_text(self):
        result = subprocess.run([TANDEM, "play", "cube3"], input=b"R\0x\n\x9b\xff\n\x1b[2J\nR\nstate\n",
                                capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 0)
        out = result.stdout.decode()  # fails if the output is not UTF-8
        for shown in ("move 2 is '\\x00x', expected one of", "move 1 is '\ufffd\ufffd', expected",
                      "move 1 is '\\x1b[2J', expected"):
            self.assertIn(shown, out)
        self.assertTrue(out.endswith(AFTER_R + "\n"), out)

    def test_help_lists_the_commands(self):
        out = self.play("help\n", "cube3")
        for word in ("undo [N]", "scramble [N]", "reset", "hint", "solve", "state", "quit"):
            self.assertIn(f"  {word} ", out)

    def test_quit_ignores_the_rest_of_the_input(self):
        self.assertEqual(self.states("quit\nstate\n", "cube3"), [])
        self.assertEqual(self.states("R\nstate", "cube3"), [AFTER_R])  # no line feed at the end

    def test_bad_usage_is_exit_code_2(self):
        for args, message in [(["cub3"], "did you mean 'cube3'?"),
                              (["cube3", "--state", "UUU"], "a cube has 54 facelets, found 3"),
                              (["cube3", "--set", "seed=1"], "expected --model with them"),
                              ([], "domain is required")]:
            self.assertIn(message, self.run_tandem("play", *args, code=2)[1])


class Terminal(CliTest):
    """On a terminal there is a prompt, and Ctrl-C and Ctrl-D leave."""

    def start(self):
        try:
            controller, terminal = pty.openpty()
        except OSError as error:  # for example in a root without /dev/pts
            self.skipTest(f"no terminal: {error}")
        colours = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        program = subprocess.Popen([TANDEM, "play", "hanoi:3"], stdin=terminal, stdout=terminal,
                                   stderr=terminal, cwd=self.folder,
                                   env={**colours, "TERM": "xterm"})
        os.close(terminal)
        self.addCleanup(os.close, controller)
        self.addCleanup(program.kill)
        return controller, program

    def read_until(self, controller, end):
        seen = b""
        while not seen.endswith(end):
            seen += os.read(controller, 4096)
        return seen.decode()

    def test_prompts_and_leaves_at_the_end_of_the_input(self):
        controller, program = self.start()
        self.assertIn("\x1b[48;2;", self.read_until(controller, b"> "))
        os.write(controller, b"20\n")
        self.assertIn("1 move, cost 1", self.read_until(controller, b"> "))
        os.write(controller, b"\x04")
        self.assertEqual(program.wait(timeout=60), 0)

    def test_ctrl_c_leaves(self):
        controller, program = self.start()
        self.read_until(controller, b"> ")
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(timeout=60), 130)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
