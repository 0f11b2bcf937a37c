"""Tests help, usage errors, `tandem domains` and `tandem config`."""

import json
import subprocess
import sys
import unittest

from harness import SMALL, SOLVED, SOURCE, TANDEM, CliTest


class Help(CliTest):
    def test_help_lists_the_commands(self):
        out, _ = self.run_tandem("--help")
        for word in ("train", "solve", "config", "domains", "configs/quickstart.yaml", "Exit codes"):
            self.assertIn(word, out)
        for command in ("train", "solve", "config", "domains"):
            self.assertIn("Usage", self.run_tandem(command, "--help")[0])

    def test_version_prints_the_version(self):
        self.assertRegex(self.run_tandem("--version")[0], r"^tandem \d+\.\d+\.\d+\n$")

    def test_bad_usage_is_exit_code_2(self):
        self.run_tandem(code=2)
        self.run_tandem("fly", code=2)
        self.run_tandem("train", code=2)
        self.run_tandem("solve", "--model", "x", code=2)
        self.run_tandem("train", "x.yaml", "--fast", code=2)

    def test_usage_errors_have_the_form_of_other_errors(self):
        for args, message in [
                ([], "expected a command: train, "),
                (["trian"], "unknown command `trian`; did you mean `train`? (see `tandem --help`)"),
                (["juggle"], "unknown command `juggle`; the commands are train, "),
                (["--versio"], "unknown option `--versio`; did you mean `--version`?"),
                (["train"], "expected a config, such as configs/quickstart.yaml, or --resume RUN_DIR"),
                (["compare"], "compare: config is required (see `tandem compare --help`)"),
                (["train", "--fast"], "train: unknown option `--fast`; the options are --help, "),
                (["train", "x", "--sed=4"], "train: unknown option `--sed=4`; did you mean "),
                (["--seed", "4", "train", "x"], "train: `--seed` comes before the command"),
                (["train", "x", "y"], "train: unexpected argument `y`"),
                (["solve", "--model"], "solve: --model: 1 required RUN_DIR missing"),
        ]:
            out, error = self.run_tandem(*args, code=2)
            self.assertEqual(out, "")
            self.assertIn("tandem: " + message, error)
            self.assertEqual(error.count("\n"), 1)

    def test_an_output_file_that_cannot_be_created_is_bad_usage(self):
        self.assertIn("cannot write /nowhere/cube",
                      self.run_tandem("show", "cube3", "--svg", "/nowhere/cube.svg", code=2)[1])

    def test_an_empty_value_is_bad_usage(self):
        for args, message in [
                (["train", "x.yaml", "--out", ""], "train: --out: expected a folder, found nothing"),
                (["train", ""], "train: config: expected a config, found nothing"),
                (["train", "--resume", ""], "--resume: expected the folder of a run, found nothing"),
                (["solve", "--model", "", "--states", "x"], "--model: expected the folder of a run, found"),
                (["solve", "--model", "x", "--states", ""], "--states: expected a file, found nothing"),
                (["evaluate", "x", "--states", "x", "--json", ""], "--json: expected a file, found"),
                (["generate", "--follow", ""], "--follow: expected the folder of a run, found nothing"),
                (["show", "cube3", ""], "show: --state: expected a state, found nothing"),
                (["domains", ""], "domains: name: expected a puzzle, found nothing"),
                (["domains", "--plugin", ""], "domains: --plugin: expected a file, found nothing"),
        ]:
            with self.subTest(args):
                out, error = self.run_tandem(*args, code=2)
                self.assertEqual(out, "")
                self.assertIn(message, error)

    def test_an_empty_list_of_moves_is_a_value(self):
        self.assertEqual(self.run_tandem("apply", "cube3", "--state", SOLVED, "--moves", "")[0],
                         SOLVED + "\n")
        self.run_tandem("show", "cube3", "--scramble", "")

    def test_full_standard_output_is_named_with_the_reason(self):
        # The reference does not fit into the buffer of standard output, a list of puzzles does.
        for args in (["domains"], ["config", "--reference"], ["play", "cube3"], ["--help"]):
            with self.subTest(args), open("/dev/full", "wb") as full:
                program = subprocess.run([TANDEM, *args], stdin=subprocess.DEVNULL, stdout=full,
                                         stderr=subprocess.PIPE, text=True)
                self.assertEqual(program.returncode, 1)
                self.assertEqual(program.stderr, "tandem: cannot write standard output: "
                                                 "No space left on device\n")

    def test_help_has_the_exit_code_of_a_closed_pipe(self):
        for command in ([], ["train"], ["generate"], ["solve"], ["evaluate"]):
            self.assertRegex(self.run_tandem(*command, "--help")[0], r"141 stopped because the\s+reader")

    def test_loads_libtorch_only_where_it_is_needed(self):
        linked = subprocess.run(["ldd", TANDEM], capture_output=True, text=True, check=True).stdout
        self.assertIn("libtandem.so", linked)
        self.assertNotIn("torch", linked)


class Configs(CliTest):
    def test_says_why_libtorch_cannot_be_loaded_with_little_memory(self):
        (self.folder / "config.yaml").write_text(self.run_tandem("init", "cube3")[0])
        for mebibytes in range(320, 440, 20):  # too little for its code, its data, or its threads
            with self.subTest(mebibytes=mebibytes):
                _, error = self.run_tandem("train", "config.yaml", "--out", "run", code=None,
                                           memory=mebibytes << 20)
                # The system's loader ends a program itself if it has no room for thread-local data.
                self.assertRegex(error, "LibTorch, which cannot be loaded|out of memory|thread-local data")
                self.assertNotIn("terminate called", error)
                self.assertFalse((self.folder / "run").exists())

    def test_deepcubea_refreshes_the_target_network_by_its_loss(self):
        shown, _ = self.run_tandem("config", SOURCE / "configs" / "deepcubea.yaml")
        self.assertIn("loss_thresh: 0.06", shown)


class Domains(CliTest):
    def test_domains_lists_puzzles_and_describes_one(self):
        self.assertIn("cube3", self.run_tandem("domains")[0])
        out, _ = self.run_tandem("domains", "cube3")
        self.assertIn("U U' D D' L L' R R' B B' F F'", out)
        self.assertIn("L L L  F F F  R R R  B B B", out)
        self.assertNotIn("\x1b", out)

    def test_a_puzzle_may_have_a_parameter(self):
        listed = self.run_tandem("domains")[0]
        self.assertIn("npuzzle[:SIZE]  ", listed)
        self.assertIn("cube2[:INPUT]  ", listed)
        self.assertIn("permutation[:FILE]  your own puzzle: a YAML file", listed)
        out, _ = self.run_tandem("domains", "npuzzle:4")
        self.assertIn("npuzzle:4: ", out)
        self.assertIn("a whole number from 2 to 7, or sides that differ: 3x5 (default 4)", out)
        self.assertIn(" 13 14 15  .\n", out)
        _, error = self.run_tandem("domains", "npuzzle:9", code=2)
        self.assertIn("npuzzle: size is 9, expected a whole number from 2 to 7, or sides that differ: 3x5", error)
        self.assertIn("cube3: input is 4, expected stickers, pieces or pairs",
                      self.run_tandem("domains", "cube3:4", code=2)[1])

    def test_an_unknown_word_suggests_the_nearest(self):
        self.assertIn("did you mean 'cube3'?", self.run_tandem("domains", "cub3", code=2)[1])
        self.assertIn("did you mean 'permutation:cube4'?",
                      self.run_tandem("domains", "cube4", code=2)[1])


class Config(CliTest):
    def test_the_reference_is_a_config(self):
        reference, _ = self.run_tandem("config", "--reference")
        self.assertIn("  # [try first] Number of examples per iteration.\n  batch_size: 1000 ", reference)
        shown, _ = self.run_tandem("config", self.write("reference.yaml", reference))
        self.assertEqual(shown, self.run_tandem("config", self.write("empty.yaml", "{}"))[0])

    def test_a_message_sends_no_escape_sequences_of_a_file_to_the_terminal(self):
        self.write("title.yaml", '"\\e]0;title\\a": 1\n')
        _, error = self.run_tandem("config", "title.yaml", code=2)
        self.assertNotIn("\x1b", error)
        self.assertIn("unknown key `\\x1b]0;title\\x07`", error)

    def test_warns_of_an_empty_config(self):
        for text in "", "# seed: 1\n":
            _, warning = self.run_tandem("config", self.write("empty.yaml", text))
            self.assertIn("empty.yaml: the config is empty, so every key has its default; the puzzle "
                          "is cube3:stickers. To silence this warning, write {} into the file", warning)
        self.assertEqual("", self.run_tandem("config", self.write("meant.yaml", "{}"))[1])
        self.assertIn("byte 1 is NUL", self.run_tandem("config", self.write("nul.yaml", "\0" * 9),
                                                       code=2)[1])

    def test_config_names_keys_without_effect(self):
        _, warning = self.run_tandem("config", self.write("empty.yaml", "{}"), "--set", "optimizer.decay=0.5")
        self.assertIn("`optimizer.decay: 0.5` has no effect", warning)

    def test_the_reference_has_keys_of_puzzles_as_comments(self):
        reference, _ = self.run_tandem("config", "--reference")
        self.assertIn("  # size: 4 ", reference)
        chosen = reference.replace("# size: 4", "size: 5").replace("name: cube3", "name: npuzzle")
        shown, _ = self.run_tandem("config", self.write("chosen.yaml", chosen))
        self.assertIn("  name: npuzzle\n  size: 5\n", shown)

    def test_checks_a_config_and_shows_it_in_full(self):
        config = self.write("small.yaml", SMALL)
        shown, _ = self.run_tandem("config", config, "--set", "seed=9")
        self.assertIn("  max_scramble: 8\n", shown)
        self.assertIn("  workers: auto\n", shown)
        self.assertIn("seed: 9\n", shown)
        again = self.run_tandem("config", self.write("again.yaml", shown))[0]
        self.assertEqual(again, shown)
        wrong = self.write("wrong.yaml", "train:\n  batchsize: 5\n")
        _, error = self.run_tandem("config", wrong, code=2)
        self.assertIn("wrong.yaml:2: unknown key `train.batchsize`; did you mean", error)
        _, error = self.run_tandem("config", config, "--set", "=5", code=2)
        self.assertIn("--set =5: expected KEY=VALUE, such as train.batch_size=1000", error)

    def test_reads_a_config_from_a_pipe(self):
        self.assertIn("seed: 9\n", self.run_tandem("config", "/dev/stdin", stdin="seed: 9\n")[0])

    def test_refuses_a_pipe_for_a_config_that_is_read_more_than_once(self):
        one_rank = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        for command, variables in (("compare", None), ("train", one_rank)):
            _, error = self.run_tandem(command, "/dev/stdin", stdin="seed: 9\n", code=2, variables=variables)
            self.assertIn("/dev/stdin: ", error)
            self.assertIn("pipe", error)

    def test_json_has_typed_values(self):
        config = self.write("small.yaml", SMALL)
        shown = json.loads(self.run_tandem("config", config, "--json", "--set", "seed=9")[0])
        self.assertEqual(shown["seed"], 9)
        self.assertEqual(shown["generate"]["max_scramble"], 8)
        self.assertEqual(shown["optimizer"]["learning_rate"], 0.001)
        self.assertIs(shown["prefetch"]["enabled"], True)
        self.assertIs(shown["pipeline"]["loss_thresh"], None)
        self.assertEqual(shown["generate"]["workers"], "auto")

    def test_names_that_look_like_numbers_are_texts_in_json(self):
        config = self.write("names.yaml", SMALL + "validation: {file: 007}\n")
        shown = json.loads(self.run_tandem("config", config, "--json", "--set", "network.init_from=true")[0])
        self.assertEqual((shown["validation"]["file"], shown["network"]["init_from"]), ("007", "true"))
        self.assertIs(shown["data"]["path"], None)
        sized = json.loads(self.run_tandem("config", config, "--json", "--set", "domain.name=npuzzle")[0])
        self.assertEqual(sized["domain"]["size"], 4)
        sides = json.loads(self.run_tandem("config", config, "--json", "--set", "domain.name=npuzzle",
                                           "--set", "domain.size=3x5")[0])
        self.assertEqual(sides["domain"]["size"], "3x5")

    def test_json_of_the_reference_describes_every_key(self):
        keys = json.loads(self.run_tandem("config", "--reference", "--json")[0])
        self.assertEqual(sum(key["try_first"] for key in keys), 10)
        by_name = {key["key"]: key for key in keys}
        self.assertEqual(by_name["train.batch_size"],
                         {"key": "train.batch_size", "default": 1000,
                          "meaning": "Number of examples per iteration.",
                          "expected": "a whole number from 1 to 16,777,216", "try_first": True})

    def test_without_arguments_it_says_what_it_expects(self):
        _, error = self.run_tandem("config", code=2)
        self.assertIn("--reference", error)
        self.run_tandem("config", "x.yaml", "--reference", code=2)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
