"""tandem play with a trained network: hints and solutions."""

import json
import signal
import subprocess
import sys
import unittest

from harness import AFTER_R, SMALL, TANDEM, CliTest

# Enough training for the network to find the goal from two moves away.
LEARNS = """\
domain: {name: npuzzle, size: 3}
network: {width: 64, blocks: 1}
generate: {max_scramble: 6}
train: {batch_size: 500, iterations_per_update: 50, max_updates: 6}
search: {beam_width: 512}
"""


class Advice(CliTest):
    def train(self, config, *args):
        path = self.write("config.yaml", config)
        run = self.folder / "run"
        self.run_tandem("train", path, "--out", run, *args)
        return run

    def play(self, lines, *args, code=0):
        result = subprocess.run([TANDEM, "play", *map(str, args)], input=lines, timeout=120,
                                capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def check_hints_lead_home(self, run):
        start = "1 2 3 4 0 5 7 8 6"
        out = self.play("hint\nL\nhint\nU\nhint\n", "npuzzle:3", "--model", run, "--state", start)
        hints = [line for line in out.splitlines() if "best move" in line or line == "this is a goal"]
        self.assertRegex(hints[0], r"^estimated cost to the goal \d+\.\d\d; best move L, then ")
        self.assertRegex(hints[1], r"; best move U, then 0\.00$")
        self.assertEqual(hints[2:], ["this is a goal"])

    def test_hints_of_a_v_net_lead_to_the_goal(self):
        self.check_hints_lead_home(self.train(LEARNS))

    def test_hints_of_a_q_net_lead_to_the_goal(self):
        self.check_hints_lead_home(
            self.train(LEARNS, "--set", "network.head=q", "--set",
                       "generate.target=capped_value_iteration"))

    def test_hints_of_a_sparse_q_net_lead_to_the_goal(self):
        self.check_hints_lead_home(self.train(LEARNS, "--set", "network.head=q"))

    def test_hints_of_a_q_net_with_the_action_as_input_lead_to_the_goal(self):
        self.check_hints_lead_home(self.train(LEARNS, "--set", "network.head=q_in", "--set",
                                              "train.max_updates=12"))

    def test_a_policy_hints_its_most_probable_move_and_solves(self):
        run = self.train(LEARNS, "--set", "network.head=policy", "--set", "generate.target=policy")
        out = self.play("hint\nL\nhint\nU\nhint\n", "npuzzle:3", "--model", run, "--state",
                        "1 2 3 4 0 5 7 8 6")
        hints = [line for line in out.splitlines() if "probable" in line or line == "this is a goal"]
        self.assertRegex(hints[0], r"^most probable move L, \d+ %$")
        self.assertRegex(hints[1], r"^most probable move U, \d+ %$")
        self.assertEqual(hints[-1], "this is a goal")
        states = self.write("states.txt", "1 2 3 4 0 5 7 8 6\n")
        out, _ = self.run_tandem("solve", "--model", run, "--states", states)
        self.assertEqual(json.loads(out)["moves"], "L U")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--search",
                                   "astar", code=2)
        self.assertIn("a policy gives only probabilities of actions", error)
        _, error = self.run_tandem("play", "npuzzle:3", "--model", run, "--set",
                                   "search.method=astar", code=2)
        self.assertIn("Set search.method to beam", error)

    def test_solve_does_not_change_the_state(self):
        run = self.train(SMALL)
        out = self.play("solve\nstate\n", "cube3", "--model", run, "--state", AFTER_R)
        self.assertTrue(out.endswith(f"1 move, cost 1: R'\n{AFTER_R}\n"), out)
        out = self.play("solve\n", "cube3", "--model", run, "--random", 40, "--set",
                        "search.max_length=2", "--set", "search.beam_width=8")
        self.assertIn("no solution of at most 2 moves found with beam width 8", out)

    def test_a_cube_name_matches_every_network_input(self):
        run = self.train("domain: {input: pieces}\n" + SMALL)
        out = self.play("hint\nstate\n", "cube3", "--model", run, "--state", AFTER_R)
        self.assertIn("best move R', then 0.00", out)
        self.assertTrue(out.endswith(AFTER_R + "\n"))

    def test_rejects_a_network_for_another_puzzle(self):
        run = self.train(SMALL)
        for wanted, message in [("npuzzle:3", "is for cube3, not for npuzzle:3"),
                                ("cube3:pieces", "is for cube3, not for cube3:pieces"),
                                ("cub3", "did you mean 'cube3'?")]:
            self.assertIn(message, self.run_tandem("play", wanted, "--model", run, code=2)[1])
        _, error = self.run_tandem("play", "cube3", "--model", "nowhere", code=2)
        self.assertIn("nowhere: no such folder", error)

    def test_ctrl_c_ends_only_the_search(self):
        run = self.train(SMALL)
        program = subprocess.Popen(
            [TANDEM, "play", "cube3", "--model", run, "--random", "100", "--set",
             "search.method=astar", "--set", "search.max_nodes=2000000000"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        program.stdin.write("solve\n")
        program.stdin.flush()
        self.assertIn("A*: ", program.stderr.readline())  # the search starts after this line
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate("U\n", timeout=60)
        self.assertRegex(out, r"(?s)stopped\n.*\n1 move, cost 1\n$")
        self.assertEqual(program.returncode, 0)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
