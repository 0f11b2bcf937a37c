"""The program as a user meets it: what it prints, the files it leaves, its exit codes."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import unittest

from harness import AFTER_R, SMALL, SOLVED, SOURCE, TANDEM, CliTest


class Help(CliTest):
    def test_help_tells_the_commands(self):
        out, _ = self.run_tandem("--help")
        for word in ("train", "solve", "config", "domains", "configs/quickstart.yaml", "Exit codes"):
            self.assertIn(word, out)
        for command in ("train", "solve", "config", "domains"):
            self.assertIn("Usage", self.run_tandem(command, "--help")[0])

    def test_version(self):
        self.assertRegex(self.run_tandem("--version")[0], r"^tandem \d+\.\d+\.\d+\n$")

    def test_bad_usage_is_exit_code_2(self):
        self.run_tandem(code=2)
        self.run_tandem("fly", code=2)
        self.run_tandem("train", code=2)
        self.run_tandem("solve", "--model", "x", code=2)
        self.run_tandem("train", "x.yaml", "--fast", code=2)

    def test_bad_usage_is_told_as_other_errors_are(self):
        for args, message in [
                ([], "expected a command: train, "),
                (["trian"], "unknown command `trian`; did you mean `train`? (see `tandem --help`)"),
                (["juggle"], "unknown command `juggle`; the commands are train, "),
                (["--versio"], "unknown option `--versio`; did you mean `--version`?"),
                (["train"], "expected a config, such as configs/quickstart.yaml, or --resume RUN_DIR"),
                (["compare"], "compare: config is required (see `tandem compare --help`)"),
                (["train", "--fast"], "train: unknown option `--fast`; the options are --help, "),
                (["train", "x", "--sed=4"], "train: unknown option `--sed=4`; did you mean "),
                (["--seed", "4", "train", "x"], "train: `--seed` stands before the command"),
                (["train", "x", "y"], "train: one argument too many: `y`"),
                (["solve", "--model"], "solve: --model: 1 required RUN_DIR missing"),
        ]:
            out, error = self.run_tandem(*args, code=2)
            self.assertEqual(out, "")
            self.assertIn("tandem: " + message, error)
            self.assertEqual(error.count("\n"), 1)

    def test_loads_libtorch_only_where_it_is_needed(self):
        linked = subprocess.run(["ldd", TANDEM], capture_output=True, text=True, check=True).stdout
        self.assertIn("libtandem.so", linked)
        self.assertNotIn("torch", linked)


class Domains(CliTest):
    def test_lists_and_shows(self):
        self.assertIn("cube3", self.run_tandem("domains")[0])
        out, _ = self.run_tandem("domains", "cube3")
        self.assertIn("U U' D D' L L' R R' B B' F F'", out)
        self.assertIn("L L L  F F F  R R R  B B B", out)
        self.assertNotIn("\x1b", out)

    def test_a_puzzle_may_have_a_parameter(self):
        listed = self.run_tandem("domains")[0]
        self.assertIn("npuzzle[:SIZE]  ", listed)
        self.assertIn("cube2[:INPUT]  ", listed)
        out, _ = self.run_tandem("domains", "npuzzle:4")
        self.assertIn("npuzzle:4: ", out)
        self.assertIn("a whole number from 3 to 7 (default 4)", out)
        self.assertIn(" 13 14 15  .\n", out)
        _, error = self.run_tandem("domains", "npuzzle:9", code=2)
        self.assertIn("npuzzle: size is 9, expected a whole number from 3 to 7", error)
        self.assertIn("cube3: input is 4, expected stickers or pieces",
                      self.run_tandem("domains", "cube3:4", code=2)[1])

    def test_names_the_nearest(self):
        self.assertIn("did you mean 'cube3'?", self.run_tandem("domains", "cub3", code=2)[1])


class Config(CliTest):
    def test_the_reference_is_a_config(self):
        reference, _ = self.run_tandem("config", "--reference")
        self.assertIn("  # examples in one iteration\n  batch_size: 1000 ", reference)
        shown, _ = self.run_tandem("config", self.write("reference.yaml", reference))
        self.assertEqual(shown, self.run_tandem("config", self.write("empty.yaml", ""))[0])

    def test_the_reference_tells_a_puzzles_key_as_a_comment(self):
        reference, _ = self.run_tandem("config", "--reference")
        self.assertIn("  # size: 4 ", reference)
        chosen = reference.replace("# size: 4", "size: 5").replace("name: cube3", "name: npuzzle")
        shown, _ = self.run_tandem("config", self.write("chosen.yaml", chosen))
        self.assertIn("  name: npuzzle\n  size: 5\n", shown)

    def test_checks_a_config_and_shows_it_in_full(self):
        config = self.write("small.yaml", SMALL)
        shown, _ = self.run_tandem("config", config, "--set", "seed=9")
        self.assertIn("  max_scramble: 8\n", shown)
        self.assertIn("  threads: auto\n", shown)
        self.assertIn("seed: 9\n", shown)
        again = self.run_tandem("config", self.write("again.yaml", shown))[0]
        self.assertEqual(again, shown)
        wrong = self.write("wrong.yaml", "train:\n  batchsize: 5\n")
        _, error = self.run_tandem("config", wrong, code=2)
        self.assertIn("wrong.yaml:2: unknown key `train.batchsize`; did you mean", error)

    def test_by_itself_it_says_what_it_can_do(self):
        _, error = self.run_tandem("config", code=2)
        self.assertIn("--reference", error)
        self.run_tandem("config", "x.yaml", "--reference", code=2)


class Train(CliTest):
    def test_the_later_of_set_and_seed_wins(self):
        run = self.train_small("--seed", 7, "--set", "seed=8")
        self.assertIn("seed: 8\n", (run / "config.yaml").read_text())

    def test_leaves_a_run(self):
        run = self.train_small()
        self.assertEqual(sorted(os.listdir(run)),
                         ["best.pt", "checkpoint.pt", "config.yaml", "metrics.jsonl", "summary.json"])
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual(summary["schema"], 1)
        self.assertEqual(summary["examples"], 2000)
        self.assertAlmostEqual(summary["examples_per_s"], 2000 / summary["wall_s"], places=3)
        self.assertRegex(summary["weights_sha256"], "^[0-9a-f]{64}$")
        self.assertEqual(len((run / "metrics.jsonl").read_text().splitlines()), 4)

    def test_the_saved_config_gives_the_same_weights(self):
        run = self.train_small("--seed", 5, "--mode", "sequential")
        again = self.folder / "again"
        self.run_tandem("train", run / "config.yaml", "--out", again)
        first, second = (json.loads((r / "summary.json").read_text()) for r in (run, again))
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])
        self.assertEqual(second["mode"], "sequential")

    def test_python_reads_the_checkpoint(self):
        run = self.train_small()
        read = self.run_python_with_torch("""
            import hashlib, sys, torch
            checkpoint = torch.load(sys.argv[1], weights_only=True)
            digest = hashlib.sha256()
            for name, tensor in checkpoint["model"].items():
                shape = "[" + ", ".join(map(str, tensor.shape)) + "]"
                dtype = str(tensor.dtype).removeprefix("torch.")
                digest.update(b"".join(t.encode() + b"\\0" for t in (name, dtype, shape)))
                digest.update(tensor.contiguous().numpy().tobytes())
            print(digest.hexdigest(), checkpoint["updates"])
            """, run / "checkpoint.pt")
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual(read.split(), [summary["weights_sha256"], "4"])

    def test_a_run_that_finds_no_memory_leaves_nothing(self):
        config = self.write("small.yaml", SMALL)
        _, error = self.run_tandem("train", config, "--out", "run", "--set",
                                   "train.iterations_per_update=40000000", code=1,
                                   memory=8 << 30)
        self.assertIn("lower train.batch_size", error)
        self.assertFalse((self.folder / "run").exists())

    def test_refuses_a_folder_that_holds_something(self):
        config = self.write("small.yaml", SMALL)
        (self.folder / "full").mkdir()
        self.write("full/precious.txt", "x")
        _, error = self.run_tandem("train", config, "--out", "full", code=2)
        self.assertIn("not an empty folder", error)
        self.assertEqual(os.listdir(self.folder / "full"), ["precious.txt"])

    def test_a_wrong_config_is_named_and_leaves_nothing(self):
        config = self.write("wrong.yaml", "train:\n  batchsize: 5\n")
        _, error = self.run_tandem("train", config, "--out", "run", code=2)
        self.assertIn("wrong.yaml:2: unknown key `train.batchsize`; did you mean "
                      "`train.batch_size`?", error)
        self.assertFalse((self.folder / "run").exists())
        _, error = self.run_tandem("train", config, "--set", "seed", code=2)
        self.assertIn("expected KEY=VALUE", error)
        self.run_tandem("train", "missing.yaml", code=2)

    def test_an_unknown_device_or_domain_leaves_nothing(self):
        config = self.write("small.yaml", SMALL)
        for wrong in (["--device", "cuda:77"], ["--device", "tpu"], ["--set", "domain.name=cub"],
                      ["--set", "domain.size=4"]):
            self.run_tandem("train", config, "--out", "run", *wrong, code=2)
            self.assertFalse((self.folder / "run").exists(), wrong)

    def test_the_run_that_measures_speed_is_not_shown_as_the_run(self):
        config = self.write("small.yaml", SMALL)
        _, log = self.run_tandem("train", config, "--out", "run", "--set", "train.max_updates=auto",
                                 "--set", "train.max_seconds=2", "--set",
                                 "diagnose.timing_breakdown=true")
        self.assertIn("measuring how many updates fit", log)
        self.assertEqual(log.count("timing: the device is waited for"), 1)
        self.assertEqual(log.count("timing: iteration 0, ms:"), 1)
        self.assertLess(log.index("measuring how many"), log.index("timing: the device"))

    def test_a_loss_that_is_not_finite_is_exit_code_1(self):
        config = self.write("small.yaml", SMALL)
        _, error = self.run_tandem("train", config, "--out", "run", "--set",
                                   "optimizer.learning_rate=10", "--set", "network.norm=none",
                                   "--set", "network.blocks=40", "--set", "train.max_updates=50",
                                   "--set", "train.precision=fp32", code=1)
        self.assertIn("lower optimizer.learning_rate", error)


class Resume(CliTest):
    def test_a_run_with_a_constant_rate_can_do_more_and_its_config_gives_it_again(self):
        run = self.train_small()
        self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6")
        again = self.folder / "again"
        self.run_tandem("train", run / "config.yaml", "--out", again)
        first, second = (json.loads((r / "summary.json").read_text()) for r in (run, again))
        self.assertEqual(first["updates"], 6)
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])

    def test_a_schedule_that_has_fallen_does_not_rise_again(self):
        for schedule in ("linear", "cosine"):
            config = self.write("small.yaml", SMALL)
            run = self.folder / schedule
            self.run_tandem("train", config, "--out", run, "--set",
                            f"optimizer.schedule={schedule}")
            saved = (run / "config.yaml").read_text()
            _, error = self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6",
                                       code=2)
            self.assertIn(f"train.max_updates: it stays 4 for this run, whose learning rate falls "
                          f"by the {schedule} schedule", error)
            self.assertEqual((run / "config.yaml").read_text(), saved)
            _, error = self.run_tandem("train", "--resume", run, code=2)
            self.assertIn(f"has done all its 4 updates; a new run with `--set network.init_from=",
                          error)

    def test_a_falling_schedule_goes_on_where_a_time_limit_cut_it_off(self):
        config = self.write("small.yaml", SMALL)
        run = self.folder / "run"
        falling = ["--set", "optimizer.schedule=linear"]
        self.run_tandem("train", config, "--out", run, *falling, "--set", "train.max_seconds=1e-9")
        self.run_tandem("train", "--resume", run, "--set", "train.max_seconds=0")
        self.run_tandem("train", config, "--out", self.folder / "whole", *falling)
        cut, whole = (json.loads((self.folder / r / "summary.json").read_text())
                      for r in ("run", "whole"))
        self.assertEqual(cut["weights_sha256"], whole["weights_sha256"])


class Signals(CliTest):
    def stop_with(self, number, code):
        config = self.write("long.yaml", SMALL)
        run = self.folder / "run"
        program = subprocess.Popen(
            [TANDEM, "train", config, "--out", run, "--set", "train.max_updates=1000000"],
            stderr=subprocess.PIPE, text=True)
        metrics = run / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while not metrics.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        program.send_signal(number)
        _, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, code, error)
        self.assertEqual(json.loads((run / "summary.json").read_text())["ended_by"], "stopped")
        states = self.write("states.txt", SOLVED + "\n")
        self.run_tandem("solve", "--model", run, "--states", states)

    def test_an_interrupted_last_update_is_no_finished_run(self):
        config = self.write("long.yaml", SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run, "--set", "train.max_updates=1", "--set",
                        "train.iterations_per_update=20000", "--set", "train.max_seconds=1")
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual((summary["ended_by"], summary["updates"]), ("max_seconds", 0))
        self.assertGreater(summary["iterations"], 0)

    def test_ctrl_c_keeps_a_checkpoint(self):
        self.stop_with(signal.SIGINT, 130)

    def test_termination_keeps_a_checkpoint(self):
        self.stop_with(signal.SIGTERM, 143)


class Terminal(CliTest):
    def test_shows_a_bar(self):
        try:
            for fd in pty.openpty():
                os.close(fd)
        except OSError as error:
            self.skipTest(f"no terminal to show it on: {error}")
        config = self.write("small.yaml", SMALL)
        shown = []

        def read(fd):
            data = os.read(fd, 1024)
            shown.append(data)
            return data

        stdout = os.dup(1)
        try:  # pty.spawn copies the child's terminal to our standard output
            with open(os.devnull, "wb") as sink:
                os.dup2(sink.fileno(), 1)
                status = pty.spawn([str(TANDEM), "train", str(config), "--out",
                                    str(self.folder / "run")], read)
        finally:
            os.dup2(stdout, 1)
        text = b"".join(shown).decode()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertRegex(text, r"\[#+\] 100 %")
        self.assertIn("next: tandem solve", text)


class Solve(CliTest):
    def test_solves_shallow_cubes_and_reports_a_bad_line(self):
        run = self.train_small()
        states = self.write("states.jsonl", "\n".join([
            json.dumps({"id": "turned", "state": AFTER_R, "optimal": 1}),
            json.dumps({"id": 8, "state": AFTER_R[1:]}),
            json.dumps({"state": SOLVED}),
            "{not json", ""]))
        out = self.folder / "results.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, "--out", out, code=2)
        self.assertIn("solved        2 of 4", text)
        results = [json.loads(line) for line in out.read_text().splitlines()]
        turned, short, solved, broken = results
        self.assertEqual((turned["id"], turned["solved"], turned["moves"], turned["length"],
                          turned["optimal"], turned["error"]),
                         ("turned", True, "R'", 1, 1, None))
        self.assertEqual(turned["nodes"], 12)
        self.assertGreater(turned["seconds"], 0)
        self.assertEqual((short["id"], short["solved"], short["moves"]), (8, False, None))
        self.assertIn("states.jsonl:2: a cube has 54 facelets, found 53", short["error"])
        self.assertEqual((solved["solved"], solved["moves"], solved["length"]), (True, "", 0))
        self.assertIn("states.jsonl:4: not a JSON object", broken["error"])

    def test_says_what_is_wrong_with_an_impossible_cube_and_solves_the_others(self):
        run = self.train_small()
        flipped = SOLVED[:7] + "F" + SOLVED[8:19] + "U" + SOLVED[20:]
        states = self.write("states.txt", f"{AFTER_R}\n{flipped}\n{SOLVED}\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["solved"] for r in results], [True, False, True])
        self.assertIn("states.txt:2: one edge is flipped", results[1]["error"])

    def test_solves_a_puzzle_with_a_parameter(self):
        config = self.write("puzzle.yaml", "domain: {name: npuzzle, size: 3}\n" + SMALL)
        run = self.folder / "run"
        _, log = self.run_tandem("train", config, "--out", run)
        self.assertIn("npuzzle:3: walk_length targets", log)
        self.assertIn("  name: npuzzle\n  size: 3\n", (run / "config.yaml").read_text())
        states = self.write("states.txt",
                            "1 2 3 4 0 5 7 8 6\n2 1 3 4 5 6 7 8 0\n1 2 3 4 5 6 7 8 0\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["moves"] for r in results], ["L U", None, ""])
        self.assertIn("states.txt:2: two tiles are swapped", results[1]["error"])

    def test_reads_plain_text_and_writes_json_lines_to_a_pipe(self):
        run = self.train_small()
        states = self.write("states.txt", f"# two cubes\n{AFTER_R}\n\n{SOLVED}\n{SOLVED}\n")
        text, summary = self.run_tandem("solve", "--model", run, "--states", states, "--limit", 2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["id"] for r in results], [2, 4])
        self.assertIn("solved        2 of 2", summary)

    def test_an_unsolved_state_is_exit_code_1(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1, "--set",
                                  "search.max_length=2", "--set", "search.beam_width=8", code=1)
        self.assertIn("no solution of at most 2 moves", json.loads(text)["error"])

    def test_astar_solves_and_tells_what_it_took(self):
        run = self.train_small()
        states = self.write("states.jsonl", json.dumps({"state": AFTER_R, "optimal": 1}))
        text, announced = self.run_tandem("solve", "--model", run, "--states", states, "--search",
                                          "astar", "--weight", "0.5", "--set",
                                          "search.max_nodes=5000")
        self.assertIn("A*: weight 0.5, 1,000 states at a time; at most 5,000 nodes, which take",
                      announced)
        self.assertRegex(announced, r"memory +\d+ bytes a node stored")
        result = json.loads(text)
        self.assertEqual((result["moves"], result["cost"], result["ended"], result["best"]),
                         ("R'", 1.0, "solved", None))
        self.assertEqual((result["nodes"], result["expanded"]), (12, 1))
        self.assertGreater(result["bytes_per_node"], 54)

    def test_astar_tells_how_close_it_came(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        out = self.folder / "results.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1,
                                  "--search", "astar", "--set", "search.max_nodes=200", "--set",
                                  "search.batch=10", "--out", out, code=1)
        self.assertRegex(text, r"no solution found with 200 nodes .*; best: h=\d+\.\d\d, after \d+ ")
        self.assertIn("not solved    1: 1 at the node limit", text)
        result = json.loads(out.read_text())
        self.assertEqual((result["ended"], result["stored"]), ("node limit", 200))
        self.assertEqual(len(result["best"]["moves"].split()), result["best"]["length"])
        self.assertGreaterEqual(result["best"]["estimate"], 0)

    def test_results_keep_the_order_of_the_states(self):
        run = self.train_small()
        hard = json.loads((SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()[0])
        states = self.write("states.txt", f"{hard['state']}\n{AFTER_R}\nno cube\n{SOLVED}\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, "--search", "astar",
                                  "--set", "search.instances=3", "--set", "search.max_nodes=2000",
                                  code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["id"] for r in results], [1, 2, 3, 4])
        self.assertEqual([r["solved"] for r in results], [False, True, False, True])

    def test_beam_search_ends_at_its_time_limit(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1,
                                  "--beam-width", 8, "--set", "search.max_length=100000", "--set",
                                  "search.max_seconds=0.05", code=1)
        self.assertEqual(json.loads(text)["ended"], "time limit")

    def test_ctrl_c_ends_a_wide_beam_soon_and_keeps_what_was_solved(self):
        run = self.train_small()
        ten = (SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()
        states = self.write("states.txt", f"{SOLVED}\n{json.loads(ten[0])['state']}\n")
        program = subprocess.Popen(
            [TANDEM, "solve", "--model", run, "--states", states, "--beam-width", "300000",
             "--set", "search.max_length=100000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = program.stdout.readline()  # by now it heeds signals
        time.sleep(2)
        asked = time.monotonic()
        program.send_signal(signal.SIGINT)
        _, error = program.communicate(timeout=60)
        self.assertTrue(json.loads(first)["solved"])
        self.assertEqual(program.returncode, 130, error)
        self.assertIn("stopped after 1 of 2 states", error)
        self.assertLess(time.monotonic() - asked, 10)  # about 1 s where nothing else runs

    def test_a_failure_keeps_what_was_solved(self):
        run = self.train_small()
        hard = json.loads((SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()[0])
        states = self.write("states.txt", f"{AFTER_R}\n{hard['state']}\n{SOLVED}\n")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--set", "device=cpu",
                                   "--beam-width", 30_000_000, "--set", "search.max_length=1000",
                                   "--out", "results.jsonl", code=1, memory=3 << 30)
        self.assertIn("failed after 1 of 3 states; the others have no result", error)
        self.assertIn("out of memory", error)
        results = (self.folder / "results.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["moves"] for line in results], ["R'"])

    def test_a_search_that_is_none_is_named(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--search",
                                   "depth-first", code=2)
        self.assertIn("--search depth-first: `search.method` is 'depth-first', expected one of "
                      "beam, astar", error)

    def test_bytes_that_are_no_text_are_an_error_of_their_line(self):
        run = self.train_small()
        states = self.folder / "odd.txt"
        states.write_bytes(b"\xef\xbb\xbf" + SOLVED.encode() + b"\n\xff\xfe\n" +
                           "\u00e9".encode() + b"U" * 52 + b"\n" + SOLVED.encode() + b"\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["solved"] for r in results], [True, False, False, True])
        self.assertIn("facelet 1 is the byte 195", results[2]["error"])

    def test_checks_out_and_limit_before_it_works(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        solve = ["solve", "--model", run, "--states", states]
        self.assertIn("is the file of the states",
                      self.run_tandem(*solve, "--out", states, code=2)[1])
        self.assertEqual(states.read_text(), SOLVED + "\n")
        self.assertIn("No such file", self.run_tandem(*solve, "--out", "no/r.jsonl", code=2)[1])
        self.run_tandem(*solve, "--limit", 0, code=2)
        self.run_tandem(*solve, "--limit", -1, code=2)

    def test_output_that_cannot_be_written_is_exit_code_1(self):
        with open("/dev/full", "wb") as full:
            program = subprocess.run([TANDEM, "domains"], stdout=full, stderr=subprocess.PIPE,
                                     text=True)
        self.assertEqual(program.returncode, 1)
        self.assertIn("cannot write standard output", program.stderr)

    def test_damaged_weights_are_named(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        data = bytearray((run / "checkpoint.pt").read_bytes())
        at = data.index(b"data/0") + 2000  # inside the first tensor
        data[at] ^= 1
        (run / "checkpoint.pt").write_bytes(data)
        _, error = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        self.assertIn("checkpoint.pt", error)

    def test_says_what_is_no_run_and_what_is_no_state(self):
        states = self.write("states.txt", SOLVED)
        _, error = self.run_tandem("solve", "--model", "nowhere", "--states", states, code=2)
        self.assertIn("there is no folder nowhere", error)
        run = self.train_small()
        empty = self.write("empty.txt", "\n# nothing\n")
        self.assertIn("holds no state",
                      self.run_tandem("solve", "--model", run, "--states", empty, code=2)[1])
        (run / "checkpoint.pt").write_bytes(b"torn")
        self.assertIn("checkpoint.pt is no file of tensors",
                      self.run_tandem("solve", "--model", run, "--states", states, code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
