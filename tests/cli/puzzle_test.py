"""Tests the subcommands that need no network: show, apply, domains and check-domain."""

import json
import sys
import unittest
import xml.etree.ElementTree

from harness import AFTER_R, SOLVED, CliTest


class Show(CliTest):
    def test_draws_and_ends_with_the_state(self):
        out, _ = self.run_tandem("show", "cube3", "--scramble", "R")
        self.assertIn("L L L  F F D  R R R  U B B\n", out)
        self.assertEqual(out.splitlines()[-1], AFTER_R)
        self.assertNotIn("\x1b", out)
        self.assertEqual(self.run_tandem("show", "cube3")[0].splitlines()[-1], SOLVED)

    def test_faces_of_a_megaminx_are_compact_pentagons(self):
        lines = self.run_tandem("show", "permutation:megaminx")[0].splitlines()
        self.assertEqual([line[:7].rstrip() for line in lines[:5]],
                         [" F F F", " F   F", " F F F", "  F F", "   F"])

    def test_writes_an_svg(self):
        self.run_tandem("show", "npuzzle:3", "1 2 3 4 5 6 7 0 8", "--svg", "board.svg")
        root = xml.etree.ElementTree.parse(self.folder / "board.svg").getroot()
        texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(texts, ["1", "2", "3", "4", "5", "6", "7", "8"])

    def test_an_svg_does_not_replace_the_file_of_the_puzzle(self):
        rules = "goal: [0, 1, 2, 3]\ngenerators: {a: (0 1)(2 3)}\n"
        file = self.write("my.yaml", rules)
        (self.folder / "link.svg").symlink_to(file)
        for svg, puzzle in (("my.yaml", "my.yaml"), (file, "my.yaml"), ("link.svg", "my.yaml:pieces")):
            _, error = self.run_tandem("show", f"permutation:{puzzle}", "--svg", svg, code=2)
            self.assertIn(f"--svg {svg}: this is the file of the puzzle; choose another file", error)
        self.assertEqual(file.read_text(), rules)

    def test_random_states_depend_only_on_the_seed(self):
        once, again, other = (
            self.run_tandem("show", "npuzzle:4", "--random", "30", "--seed", seed)[0]
            for seed in (1, 1, 2))
        self.assertEqual(once, again)
        self.assertNotEqual(once, other)

    def test_errors_name_the_mistake(self):
        for args, message in [
                (["show", "cube3", "--scramble", "R X"], "move 2 is 'X', expected one of U U' "),
                (["show", "cube3", "--random", "3", "--seed", "-1"],
                 "--seed: expected a whole number from 0 to 18446744073709551615, found '-1'"),
                (["show", "cube3", "UUU"], "a cube has 54 facelets, found 3"),
                (["show", "cube3", SOLVED, "--random", "3"], "expected no STATE with it"),
        ]:
            self.assertIn(message, self.run_tandem(*args, code=2)[1])


class Apply(CliTest):
    def test_prints_only_the_state(self):
        self.assertEqual(self.run_tandem("apply", "cube3", "--state", SOLVED, "--moves", "R")[0],
                         AFTER_R + "\n")
        self.assertEqual(self.run_tandem("apply", "cube3", "--state", AFTER_R, "--moves", "R'")[0],
                         SOLVED + "\n")

    def test_starts_at_the_goal_without_a_state(self):
        self.assertEqual(self.run_tandem("apply", "cube3", "--moves", "R")[0], AFTER_R + "\n")

    def test_the_first_move_that_does_not_apply_is_named(self):
        goal = "1 2 3 4 5 6 7 8 0"
        out, error = self.run_tandem("apply", "npuzzle:3", "--state", goal, "--moves", "R L U",
                                     code=2)
        self.assertEqual(out, "")
        self.assertIn(f"move 3, U, does not apply in the state {goal}", error)
        _, error = self.run_tandem("show", "npuzzle:3", "--scramble", "U", code=2)
        self.assertIn("move 1, U, does not apply", error)

    def test_a_board_with_the_blank_first_says_how_it_was_read(self):
        out, error = self.run_tandem("apply", "npuzzle:4", "--state",
                                     "1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "--moves", "R")
        self.assertEqual(out, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0\n")
        self.assertIn("the goal is 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; the board is turned", error)

    def test_cubes_read_half_turns_and_slices(self):
        checkerboard, _ = self.run_tandem("show", "cube3", "--scramble", "M2 E2 S2")
        self.assertEqual(checkerboard.splitlines()[-1],
                         "UDUDUDUDURLRLRLRLRFBFBFBFBFDUDUDUDUDLRLRLRLRLBFBFBFBFB")


class StateAsJson(CliTest):
    def state_of(self, *args):
        return json.loads(self.run_tandem(*args, "--json")[0])

    def test_show_and_apply_print_the_state_and_whether_it_is_solved(self):
        solved = {"domain": "cube3", "state": SOLVED, "solved": True}
        after_r = {"domain": "cube3", "state": AFTER_R, "solved": False}
        self.assertEqual(self.state_of("show", "cube3"), solved)
        self.assertEqual(self.state_of("show", "cube3", "--scramble", "R"), after_r)
        self.assertEqual(self.state_of("apply", "cube3", "--state", SOLVED, "--moves", "R"), after_r)
        self.assertEqual(self.state_of("apply", "cube3", "--state", AFTER_R, "--moves", "R'"), solved)


class Domains(CliTest):
    def test_json_describes_every_puzzle(self):
        facts = {each["name"]: each for each in json.loads(self.run_tandem("domains", "--json")[0])}
        self.assertEqual(facts["cube3"]["state_size"], 54)
        self.assertEqual(facts["npuzzle"]["parameter"]["default"], "4")
        self.assertTrue(facts["npuzzle"]["masks_actions"])
        one = json.loads(self.run_tandem("domains", "cube3", "--json")[0])
        self.assertEqual(one, facts["cube3"])
        self.assertEqual([one["actions"][i] for i in one["inverse_actions"][:2]], ["U'", "U"])


class CheckDomain(CliTest):
    def test_all_promises_are_kept(self):
        out, _ = self.run_tandem("check-domain", "npuzzle:3")
        self.assertNotIn("WRONG", out)
        self.assertRegex(out, r"npuzzle:3: (\d+) of \1 promises kept\n$")
        self.assertIn("million actions per second", out)

    def test_json_has_every_promise_and_the_rates(self):
        text, _ = self.run_tandem("check-domain", "npuzzle:3")
        report = json.loads(self.run_tandem("check-domain", "npuzzle:3", "--json")[0])
        self.assertEqual(report["domain"], "npuzzle:3")
        self.assertTrue(all(each["kept"] for each in report["promises"]))
        self.assertEqual([f"ok     {each['promise']}" for each in report["promises"]],
                         [line for line in text.splitlines() if line.startswith("ok ")])
        self.assertGreater(report["actions_per_s"], 0)
        self.assertGreater(report["children_per_s"], 0)

    def test_an_unknown_puzzle_is_bad_input(self):
        self.assertIn("did you mean 'cube3'?", self.run_tandem("check-domain", "cub3", code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
