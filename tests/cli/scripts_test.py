"""Tests what the scripts and the Python benchmarks share: their options, how they use runs that are there
already, and how they judge goals."""

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from harness import SOURCE, TANDEM, CliTest, load_script
import common  # harness adds scripts/ to the path

NEED_PACKAGE = {"bench/loop", "bench/own_network", "bench/rotations", "scripts/game_strength"}  # `import tandem`
NEED_TORCH = {"bench/pytorch_walks.py"} | NEED_PACKAGE
PACKAGE = TANDEM.parent / "python"
NOT_STARTED = {"scripts/common.py", "bench/common.py", "bench/numpy_puzzles.py", "bench/rank_runs.py",  # modules
               "scripts/deepxube_numbers.py"}  # needs DeepXube


def programs():
    """Every script and Python benchmark."""
    for folder in ("scripts", "bench"):
        for path in sorted((SOURCE / folder).iterdir()):
            name = str(path.relative_to(SOURCE))
            is_program = path.is_file() and (path.suffix == ".py" or path.read_bytes().startswith(b"#!"))
            can_start = name not in NEED_PACKAGE or PACKAGE.exists()
            if is_program and can_start and name not in NOT_STARTED:
                yield name


class Options(CliTest):
    def start(self, name, *args):
        path = SOURCE / name
        command = [self.python_with_torch(), path] if name in NEED_TORCH else \
            [sys.executable, path] if path.suffix == ".py" else [path]
        return subprocess.run([*command, *args], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE)})

    def test_every_program_has_help(self):
        for name in programs():
            with self.subTest(name):
                result = self.start(name, "--help")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater(len(result.stdout.splitlines()), 3)

    def test_every_program_refuses_an_unknown_option(self):
        for name in programs():
            with self.subTest(name):
                result = self.start(name, "--no-such-option")
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertNotIn("Traceback", result.stderr)

    def test_no_program_defines_the_option_tandem_itself(self):
        for name in programs():
            with self.subTest(name):
                self.assertNotIn('add_argument("--tandem"', (SOURCE / name).read_text())


class Elsewhere(unittest.TestCase):
    """Checks what runs on other machines only."""

    def test_the_steps_of_the_container_are_two_lines_which_fresh_root_runs(self):
        lines = (SOURCE / "Containerfile").read_text().splitlines()
        steps = [line for line in lines if line.startswith("RUN ")]
        self.assertEqual(len(steps), 2)
        self.assertFalse([line for line in lines if line.endswith("\\")])
        self.assertTrue(steps[1].startswith("RUN CUDA=$CUDA make "))  # fresh_root hands CUDA on
        script = (SOURCE / "scripts/fresh_root").read_text()
        for part in ("sed -n 's/^RUN //p' Containerfile", 'inside "${steps[0]}"', "${steps[1]} && ", " CUDA; do"):
            self.assertIn(part, script)

    def test_hosted_jobs_name_scripts_and_targets_that_exist(self):
        text = (SOURCE / ".github/workflows/ci.yml").read_text()
        commands = re.findall(r"^ *(?:- )?run: (.*)$", text, re.M)
        targets = re.findall(r"^([a-z-]+):", (SOURCE / "Makefile").read_text(), re.M)
        for program, *words in map(str.split, commands):
            if program == "make":
                self.assertLessEqual(set(words), set(targets))
            elif "/" in program:
                self.assertTrue(os.access(SOURCE / program, os.X_OK), program)
        self.assertLessEqual({".ci/run", "make test", "scripts/wheel --here", "scripts/try_wheel"}, set(commands))
        for image in re.findall(r"^ *image: (.*)$", text, re.M):
            self.assertLessEqual({"debian:13", "ubuntu:22.04", "ubuntu:24.04"}, set(json.loads(image)))


class MakePuzzles(CliTest):
    def test_the_files_of_puzzles_are_what_it_writes(self):
        subprocess.run([sys.executable, SOURCE / "scripts/make_puzzles", "--out", self.folder], check=True)
        written = {path.name: path.read_text() for path in self.folder.iterdir()}
        self.assertEqual(written, {path.name: path.read_text() for path in (SOURCE / "puzzles").iterdir()})


class CheckSolutions(CliTest):
    def check(self, *results, code=0):
        """Checks a file with these results of `tandem solve`, and returns what was printed."""
        file = self.write("solved.jsonl", "".join(json.dumps(each) + "\n" for each in results))
        done = subprocess.run([sys.executable, SOURCE / "scripts/check_solutions", file],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def result(self, length, **more):
        return {"id": 1, "solved": True, "length": length, "seconds": 0.5, **more}

    def test_states_without_a_known_optimal_length_are_only_counted(self):
        said = self.check(self.result(4), self.result(6, optimal=6), self.result(8, optimal=6))
        self.assertIn("all 3 solved, mean length 6.00, 1 optimal", said)

    def test_a_solution_shorter_than_optimal_is_an_error(self):
        self.assertIn("shorter than optimal", self.check(self.result(4, optimal=6), code=1))

    def test_an_unsolved_state_is_an_error(self):
        unsolved = {"id": 2, "solved": False, "length": None, "seconds": 1}
        self.assertIn("only 1 of 2 states solved", self.check(self.result(4), unsolved, code=1))


class CheckCollections(CliTest):
    def test_counts_what_passes_and_names_what_is_refused(self):
        self.write("moves.gap", "A:=(1,2,3);\n")
        self.write("broken.gap", "A:=(1,1);\n")
        self.write("puzzle_info.csv", "puzzle_type,allowed_moves\ntwo,\"{'x': [1, 0]}\"\n")
        self.write("puzzles.csv", "id,puzzle_type,solution_state\n0,two,A;B\n1,two,A;B\n")
        self.write("levels.xsb", "#####\n#@$.#\n#####\n\n####\n# .#\n####\n")
        script = [sys.executable, SOURCE / "scripts/check_collections", self.folder, "--tandem", TANDEM]
        done = subprocess.run([*script, "--json", self.folder / "out"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        puzzles, levels = json.loads((self.folder / "out").read_text())
        self.assertEqual((puzzles["of"], puzzles["passed"]), (4, 3))
        self.assertEqual(puzzles["refused"], [f"permutation:{self.folder}/broken.gap"])
        self.assertEqual((levels["of"], levels["fit"], levels["passed"], levels["refused"]), (2, 1, 1, []))
        self.assertIn("levels.xsb: level 5 refused: ", done.stdout)


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name) / "run"

    def end_run(self, ended_by, settings=None):
        self.run_folder.mkdir()
        (self.run_folder / "summary.json").write_text(json.dumps({"ended_by": ended_by}))
        if settings is not None:
            common.settings_file(self.run_folder).write_text(json.dumps(settings))

    def refuses(self, text, *args, **options):
        with self.assertRaises(common.Failed) as caught:
            common.is_trained(self.run_folder, *args, **options)
        self.assertIn(text, str(caught.exception))

    def test_a_run_without_a_summary_is_not_complete(self):
        self.assertFalse(common.is_trained(self.run_folder, []))

    def test_a_run_that_was_stopped_is_refused(self):
        self.end_run("stopped", [])
        self.refuses("the run was stopped before its end", [])

    def test_a_run_with_other_settings_is_refused(self):
        self.end_run("max_seconds", ["seed=1"])
        self.assertTrue(common.is_trained(self.run_folder, ["seed=1"]))
        self.refuses("Expected: none. Found: seed=1.", [])
        self.refuses("Expected: seed=2. Found: seed=1.", ["seed=2"])

    def test_a_harmless_setting_may_be_there_but_not_be_missing(self):
        self.end_run("max_seconds", ["seed=1", "keep=1"])
        self.assertTrue(common.is_trained(self.run_folder, ["seed=1"], harmless=["keep=1"]))
        self.assertTrue(common.is_trained(self.run_folder, ["seed=1", "keep=1"], harmless=["keep=1"]))
        common.settings_file(self.run_folder).write_text('["seed=1"]')
        self.refuses("Found: seed=1.", ["seed=1", "keep=1"], harmless=["keep=1"])

    def test_a_run_whose_settings_are_unknown_is_refused(self):
        self.end_run("max_seconds")
        self.refuses("run.settings.json is missing", [])

    def test_a_program_that_is_missing_is_named(self):
        with self.assertRaises(common.Failed) as caught:
            common.run("/no/such/program", "train")
        self.assertIn("/no/such/program: cannot be started (No such file or directory)", str(caught.exception))

    def test_settings_become_words_of_a_command_line(self):
        self.assertEqual(common.sets(["a=1", "b=2"]), ["--set", "a=1", "--set", "b=2"])
        self.assertEqual(common.sets({"a": 1, "b": "x"}), ["--set", "a=1", "--set", "b=x"])


class Goals(unittest.TestCase):
    def judge(self, *args):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = common.judge(*args)
        return code, printed.getvalue()

    def test_a_missed_goal_is_exit_code_3(self):
        self.assertEqual(self.judge([("train", 2.5, 2), ("beam", 1.9, 2), ("other", 1.0, None)]),
                         (3, "train: 2.5, goal at least 2: met\nbeam: 1.9, goal at least 2: missed\n"))

    def test_goals_that_are_met_are_exit_code_0(self):
        self.assertEqual(self.judge([("train", 2, 2)])[0], 0)

    def test_goals_do_not_count_with_other_settings(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--batch-size", type=int, default=10)
        args = parser.parse_args(["--batch-size", "20"])
        code, printed = self.judge([("train", 1, 2)], common.differing(parser, args, "batch_size"))
        self.assertEqual(code, 0)
        self.assertIn("train: 1, goal at least 2: missed\n", printed)
        self.assertIn("differ from their defaults: --batch-size\n", printed)


class CompareMethods(CliTest):
    def compare(self, *args):
        return subprocess.run([sys.executable, SOURCE / "scripts/compare_methods", "--tandem", TANDEM, "--out",
                               self.folder / "out", "--networks", "v", "--seconds", "4", "--limit", "2",
                               "--search-seconds", "1", "--nodes", "1000", *args],
                              capture_output=True, text=True, timeout=300)

    def test_searches_of_another_width_are_added_to_those_of_the_first(self):
        for width in ("2048", "16"):
            result = self.compare("--width", width)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        found = json.loads((self.folder / "out/methods.json").read_text())
        self.assertEqual(list(found["training"]), ["v"])
        settings = {(row["search"], row["setting"]) for row in found["searches"]}
        self.assertEqual(settings, {("beam", "width 2,048"), ("beam", "width 16"), ("astar", "weight 0.2"),
                                    ("bidirectional_beam", "width 2,048"), ("bidirectional_beam", "width 16")})
        self.assertEqual(len(found["searches"]), 2 * 6 + 2)
        names = {path.name for path in (self.folder / "out").glob("v_beam_ball*.json")}
        self.assertEqual(names, {"v_beam_ball.json", "v_beam_ball_width_16.json", "v_beam_ball_inverse.json",
                                 "v_beam_ball_inverse_width_16.json"})
        refused = self.compare("--seconds", "5")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("was trained with other settings", refused.stderr)

    def test_the_width_is_in_the_name_if_it_is_not_the_default(self):
        script = load_script("compare_methods")
        args = argparse.Namespace(out=self.folder)
        usual = script.path_of(args, "q", "beam", "", script.setting_of("beam", 2048 * 8, 0.2))
        wide = script.path_of(args, "q", "beam", "", script.setting_of("beam", 4096 * 8, 0.2))
        self.assertEqual([usual.name, wide.name], ["q_beam.json", "q_beam_width_32768.json"])


if __name__ == "__main__":
    unittest.main()
