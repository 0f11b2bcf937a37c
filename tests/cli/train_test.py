"""Tests `tandem train`: the files of a run, its ends, and resuming."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

from harness import SMALL, SOLVED, TANDEM, CliTest


class Train(CliTest):
    def test_the_later_of_set_and_seed_wins(self):
        run = self.train_small("--seed", 7, "--set", "seed=8")
        self.assertIn("seed: 8\n", (run / "config.yaml").read_text())

    def test_writes_every_file_of_a_run(self):
        run = self.train_small()
        self.assertEqual(sorted(os.listdir(run)),
                         [".lock", "best.safetensors", "checkpoint.safetensors", "config.yaml", "metrics.jsonl", "summary.json"])
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual(summary["schema"], 1)
        self.assertEqual(summary["examples"], 2000)
        self.assertAlmostEqual(summary["examples_per_s"] * summary["wall_s"] / 2000, 1, places=4)
        self.assertRegex(summary["weights_sha256"], "^[0-9a-f]{64}$")
        self.assertEqual(len((run / "metrics.jsonl").read_text().splitlines()), 4)

    def test_the_last_line_says_whether_the_network_learns(self):
        config = self.write("small.yaml", SMALL)
        _, log = self.run_tandem("train", config, "--out", self.folder / "run")
        self.assertRegex(log.splitlines()[-1], "^the network .*before training")
        self.assertNotIn("growing targets", log)
        _, log = self.run_tandem("train", config, "--out", self.folder / "growing", "--set",
                                 "generate.target=value_iteration", "--set",
                                 "validation.every_updates=0")
        self.assertIn("against growing targets", log)
        self.assertIn("  loss      rises when targets grow", log)
        self.assertIn("validation.every_updates is 0", log.splitlines()[-1])

    def test_async_and_sequential_agree_on_new_heads_and_targets_also_with_replay(self):
        config = self.write("small.yaml", SMALL)
        for name, sets in (("q_learning", ["network.head=q", "generate.target=capped_q_learning"]),
                           ("q_in", ["network.head=q_in", "generate.target=q_learning"]),
                           ("vp", ["network.head=vp"]), ("replay", ["network.head=vp",
                                                                    "replay.updates=2"])):
            hashes = []
            for mode in ("async", "sequential"):
                run = self.folder / f"{name}-{mode}"
                options = [option for text in [*sets, "pipeline.policy_lag=1"]
                           for option in ("--set", text)]
                self.run_tandem("train", config, "--mode", mode, "--out", run, *options)
                summary = json.loads((run / "summary.json").read_text())
                self.assertGreater(summary["final_loss"], 0)
                hashes.append(summary["weights_sha256"])
            self.assertEqual(*hashes)

    def test_the_saved_config_gives_the_same_weights(self):
        run = self.train_small("--seed", 5, "--mode", "sequential")
        again = self.folder / "again"
        self.run_tandem("train", run / "config.yaml", "--out", again)
        first, second = (json.loads((r / "summary.json").read_text()) for r in (run, again))
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])
        self.assertEqual(second["mode"], "sequential")

    def test_a_curriculum_is_shown_and_repeated_from_the_saved_config(self):
        config = self.write("small.yaml", SMALL)
        _, log = self.run_tandem("train", config, "--out", "run", "--set",
                                 "generate.target=value_iteration", "--set", "generate.search=greedy",
                                 "--set", "generate.search_iterations=10", "--set",
                                 "generate.curriculum=true")
        lines = [json.loads(line) for line in (self.folder / "run" / "metrics.jsonl").read_text().splitlines()]
        # Scrambles of 0 and 1 action are always solved, so the longest one doubles twice at least.
        self.assertEqual([line["longest_scramble"] for line in lines[:3]], [1, 2, 4])
        self.assertEqual(lines[0]["searches_solved"], 1)
        # The last line of the progress shows the update before the last one.
        self.assertRegex(log, r"100 %.*  scrambles up to 4, searches solve [0-9]+ %")
        longest = lines[3]["longest_scramble"]
        self.assertIn(f"curriculum: scrambles have up to {longest} of ", log)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertEqual(summary["longest_scramble"], longest)
        self.run_tandem("train", self.folder / "run" / "config.yaml", "--out", "again")
        again = json.loads((self.folder / "again" / "summary.json").read_text())
        self.assertEqual(summary["weights_sha256"], again["weights_sha256"])

    def test_weights_of_another_activation_are_rejected(self):
        run = self.train_small("--set", "network.activation=leaky_relu")
        _, error = self.run_tandem("train", self.folder / "small.yaml", "--out",
                                   self.folder / "other", "--set", f"network.init_from={run}",
                                   code=2)
        self.assertIn("trained with `network.activation: leaky_relu`, expected relu", error)

    def test_a_run_that_trains_nothing_fails_and_asks_for_more_time(self):
        _, log = self.run_tandem("train", self.write("small.yaml", SMALL), "--out", self.folder / "run",
                                 "--set", "train.max_seconds=0.001", code=1)
        self.assertIn("training 1 thread ", log)
        self.assertIn("nothing was trained: the time limit came before the first iteration; raise "
                      "train.max_seconds (now 0.001)", log)
        self.assertNotIn("next: ", log)
        self.assertNotIn("of CPU time", log)

    def test_a_missing_file_is_named_with_its_key(self):
        _, error = self.run_tandem("train", self.write("small.yaml", SMALL),
                                   "--out", self.folder / "run", "--set", "validation.file=/none", code=2)
        self.assertIn("--set validation.file=/none: `validation.file`: /none: no such file", error)
        self.assertFalse((self.folder / "run").exists())

    def test_convolutions_train_on_a_board_only(self):
        convolutions = ("--set", "network.kind=resnet_2d", "--set", "network.norm=batch", "--set",
                        "network.channels=8")
        run = self.folder / "run"
        _, log = self.run_tandem("train", self.write("small.yaml", SMALL), "--out", run, "--set",
                                 "domain.name=npuzzle", "--set", "domain.size=3", *convolutions)
        self.assertIn("V net of 8 channels, 1 residual block, and a layer of 32, batch", log)
        self.assertIn("  kind: resnet_2d\n", (run / "config.yaml").read_text())
        states = self.write("states.jsonl", '{"state": "1 2 3 4 5 6 7 0 8"}\n')
        out, _ = self.run_tandem("solve", "--model", run, "--states", states)
        self.assertTrue(json.loads(out)["solved"])
        _, error = self.run_tandem("train", self.folder / "small.yaml", "--out",
                                   self.folder / "cube", *convolutions, code=2)
        self.assertIn("resnet_2d needs a board", error)
        self.assertFalse((self.folder / "cube").exists())

    def test_hidden_layers_of_an_mlp_are_counted(self):
        _, log = self.run_tandem("train", self.write("small.yaml", SMALL), "--out", "run", "--set",
                                 "network.kind=mlp", "--set", "network.stem_width=16")
        self.assertIn("V net of 16-32, 3 hidden layers, layer normalisation", log)

    def test_python_reads_the_checkpoint(self):
        run = self.train_small()
        read = self.run_python_with_torch("""
            import hashlib, json, safetensors, sys
            from safetensors.torch import load_file
            with safetensors.safe_open(sys.argv[1], "pt") as opened:
                names, checkpoint = opened.offset_keys(), json.loads(opened.metadata()["tandem"])
            tensors = load_file(sys.argv[1])
            assert tensors.keys() == set(names)
            digest = hashlib.sha256()
            for name in names:
                if name.startswith("resume."):
                    continue
                tensor = tensors[name]
                shape = "[" + ", ".join(map(str, tensor.shape)) + "]"
                dtype = str(tensor.dtype).removeprefix("torch.")
                digest.update(b"".join(t.encode() + b"\\0" for t in (name, dtype, shape)))
                digest.update(tensor.contiguous().numpy().tobytes())
            print(digest.hexdigest(), checkpoint["updates"])
            """, run / "checkpoint.safetensors")
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual(read.split(), [summary["weights_sha256"], "4"])

    def test_a_run_without_enough_memory_leaves_no_folder(self):
        config = self.write("small.yaml", SMALL)
        _, error = self.run_tandem("train", config, "--out", "run", "--set",
                                   "train.iterations_per_update=40000000", "--set", "device=cpu", code=1,
                                   memory=8 << 30)
        self.assertIn("lower train.batch_size", error)
        self.assertFalse((self.folder / "run").exists())

    def test_rejects_an_output_folder_that_is_not_empty(self):
        config = self.write("small.yaml", SMALL)
        (self.folder / "full").mkdir()
        self.write("full/precious.txt", "x")
        _, error = self.run_tandem("train", config, "--out", "full", code=2)
        self.assertIn("not an empty folder", error)
        self.assertEqual(os.listdir(self.folder / "full"), ["precious.txt"])

    def test_a_wrong_config_is_reported_and_leaves_no_folder(self):
        config = self.write("wrong.yaml", "train:\n  batchsize: 5\n")
        _, error = self.run_tandem("train", config, "--out", "run", code=2)
        self.assertIn("wrong.yaml:2: unknown key `train.batchsize`; did you mean "
                      "`train.batch_size`?", error)
        self.assertFalse((self.folder / "run").exists())
        _, error = self.run_tandem("train", config, "--set", "seed", code=2)
        self.assertIn("expected KEY=VALUE", error)
        self.run_tandem("train", "missing.yaml", code=2)

    def test_an_unknown_device_or_domain_leaves_no_folder(self):
        config = self.write("small.yaml", SMALL)
        for wrong in (["--device", "cuda:77"], ["--device", "tpu"], ["--set", "domain.name=cub"],
                      ["--set", "domain.size=4"]):
            self.run_tandem("train", config, "--out", "run", *wrong, code=2)
            self.assertFalse((self.folder / "run").exists(), wrong)

    def test_calibration_is_not_reported_as_the_run(self):
        config = self.write("small.yaml", SMALL)
        _, log = self.run_tandem("train", config, "--out", "run", "--set", "train.max_updates=auto",
                                 "--set", "train.max_seconds=4", "--set",
                                 "profile.timing_breakdown=true")
        self.assertIn("measuring how many updates fit", log)
        self.assertEqual(log.count("timing: the run waits for the device"), 1)
        self.assertEqual(log.count("timing: iteration 0, ms:"), 1)
        self.assertLess(log.index("measuring how many"), log.index("timing: the run waits"))

    def test_timing_reports_iterations_and_does_not_change_the_config(self):
        run = self.folder / "run"
        config = self.write("small.yaml", SMALL)
        _, log = self.run_tandem("train", config, "--out", run, "--set",
                                 "profile.timing_breakdown=true", "--set", "train.max_updates=2",
                                 "--set", "train.iterations_per_update=110")
        means = re.findall(r"timing: mean of (\d+) iterations up to (\d+)", log)
        self.assertEqual(means, [("190", "199"), ("20", "219")])
        saved = (run / "config.yaml").read_text()
        self.assertIn("mode: async", saved)
        self.assertNotIn("enabled: false", saved)

    def test_a_loss_that_is_not_finite_is_exit_code_1(self):
        config = self.write("small.yaml", SMALL)
        _, error = self.run_tandem("train", config, "--out", "run", "--set",
                                   "optimizer.learning_rate=10", "--set", "network.norm=none",
                                   "--set", "network.blocks=40", "--set", "train.max_updates=50",
                                   "--set", "train.precision=fp32", code=1)
        self.assertIn("lower optimizer.learning_rate", error)


class Auto(CliTest):
    def saved(self, key):
        return re.search(rf"^  {key}: (.*)$", (self.folder / "run" / "config.yaml").read_text(),
                         re.MULTILINE).group(1)

    def test_threads_and_workers_follow_the_affinity_of_the_process(self):
        core = str(min(os.sched_getaffinity(0)))
        config = self.write("small.yaml", SMALL)
        subprocess.run(["taskset", "-c", core, TANDEM, "train", config, "--out", "run"], check=True,
                       cwd=self.folder, capture_output=True, timeout=120)
        self.assertEqual((self.saved("threads"), self.saved("workers")), ("1", "1"))

    def test_a_run_that_followed_the_clock_can_be_extended(self):
        config = self.write("small.yaml", SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run, "--set", "train.max_updates=auto", "--set",
                        "train.max_seconds=4")
        done = json.loads((run / "summary.json").read_text())["updates"]
        self.run_tandem("train", "--resume", run, "--set", f"train.max_updates={done + 3}", "--set",
                        "train.max_seconds=0")
        self.assertEqual(json.loads((run / "summary.json").read_text())["updates"], done + 3)
        self.assertEqual(self.saved("plan"), "null")

    def test_a_stopped_run_that_follows_the_clock_keeps_a_time_limit(self):
        config = self.write("small.yaml", SMALL)
        run = self.folder / "run"
        program = subprocess.Popen([TANDEM, "train", config, "--out", run, "--set", "train.max_updates=auto",
                                    "--set", "train.max_seconds=60"], stderr=subprocess.DEVNULL)
        metrics = run / "metrics.jsonl"
        self.wait_until(lambda: metrics.exists() and metrics.stat().st_size > 0, program)
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(timeout=60), 143)
        saved = (run / "config.yaml").read_text()
        _, error = self.run_tandem("train", "--resume", run, "--set", "train.max_seconds=0", code=2)
        self.assertIn("`train.max_seconds` is 0, expected more than 0, because the run began with "
                      "`train.max_updates: auto`", error)
        self.assertEqual((run / "config.yaml").read_text(), saved)

    def test_few_rows_of_long_walks_are_saved_as_a_number(self):
        config = self.write("small.yaml", SMALL)
        self.run_tandem("train", config, "--out", "run", "--set", "generate.max_scramble=80")
        saved = (self.folder / "run" / "config.yaml").read_text()
        self.assertEqual(re.findall(r"rows_per_walk: (.*)", saved), ["8"])

    def test_the_saved_config_repeats_a_run_that_follows_the_clock(self):
        config = self.write("small.yaml", SMALL + "optimizer: {schedule: linear}\n")
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run, "--set", "train.max_updates=auto", "--set",
                        "train.max_seconds=4")
        summary = json.loads((run / "summary.json").read_text())
        planned = int(self.saved("max_updates"))
        self.assertGreaterEqual(planned, summary["updates"])
        # The plan's clock does not limit the repetition, which may be slower.
        _, log = self.run_tandem("train", run / "config.yaml", "--out", "again", "--set",
                                 "train.max_seconds=0.1")
        self.assertIn("`train.max_seconds: 0.1` has no effect: train.plan says which updates the run does", log)
        again = json.loads((self.folder / "again" / "summary.json").read_text())
        self.assertEqual(again["updates"], planned)
        if summary["ended_by"] == "max_updates":
            self.assertEqual(again["updates"], summary["updates"])
            self.assertEqual(again["weights_sha256"], summary["weights_sha256"])
        # If the machine became slower in its last update, the run has done at least the updates before.
        first, second = ([json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
                         for folder in (run, self.folder / "again"))
        done = summary["updates"]
        for key in ("loss", "learning_rate"):
            self.assertEqual([line[key] for line in first[:done]], [line[key] for line in second[:done]])
        self.assertAlmostEqual(second[-1]["learning_rate"], 0.00002)  # the schedule ends with the run


class OpenMp(CliTest):
    """Settings of OpenMP with which LibTorch's bf16 products are wrong."""

    SETTINGS = ("OMP_DYNAMIC=true", "OMP_THREAD_LIMIT=1", "OMP_MAX_ACTIVE_LEVELS=0")

    def train_with(self, name, **variables):
        config = self.write("small.yaml", SMALL)
        command = [TANDEM, "train", config, "--out", name, "--set", "train.threads=2", "--set",
                   "train.precision=bf16"]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                                cwd=self.folder, timeout=120, env={**os.environ, **variables})
        weights = None
        if result.returncode == 0:
            summary = (self.folder / name / "summary.json").read_text()
            weights = json.loads(summary)["weights_sha256"]
        return weights, result.stderr

    def test_settings_in_the_environment_change_no_weights(self):
        expected, log = self.train_with("plain")
        self.assertIsNotNone(expected, log)
        for setting in self.SETTINGS:
            name, value = setting.split("=")
            weights, log = self.train_with(setting, **{name: value})
            self.assertEqual(weights, expected, log)
            self.assertIn(f"{name}: ignored", log)

    def test_settings_that_cannot_be_overridden_are_an_error(self):
        library = self.run_python_with_torch("""
            import pathlib, torch
            print(next((pathlib.Path(torch.__file__).parent / "lib").glob("libgomp*.so*")))
        """).strip()
        expected, log = self.train_with("plain")
        self.assertIsNotNone(expected, log)
        refused = set()
        for setting in self.SETTINGS:
            name, value = setting.split("=")
            # OpenMP reads its settings before the program can remove them.
            weights, log = self.train_with(setting, LD_PRELOAD=library, **{name: value})
            if weights is None:
                self.assertIn("OpenMP starts 1 of 2 threads", log)
                refused.add(setting)
            else:
                self.assertEqual(weights, expected, log)
        self.assertIn("OMP_THREAD_LIMIT=1", refused)


class Resume(CliTest):
    def test_a_run_with_a_constant_rate_can_be_extended_and_repeated(self):
        run = self.train_small()
        self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6")
        again = self.folder / "again"
        self.run_tandem("train", run / "config.yaml", "--out", again)
        first, second = (json.loads((r / "summary.json").read_text()) for r in (run, again))
        self.assertEqual(first["updates"], 6)
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])

    def test_rejects_an_edited_config(self):
        run = self.train_small()
        config = run / "config.yaml"
        saved = config.read_text()
        for key, before, after in (("optimizer.learning_rate", "learning_rate: 0.001",
                                    "learning_rate: 0.002"),
                                   ("seed", "seed: 1", "seed: 5"),
                                   ("train.batch_size", "batch_size: 100", "batch_size: 50")):
            edited = saved.replace(f"{before}\n", f"{after}\n", 1)
            self.assertNotEqual(edited, saved)
            config.write_text(edited)
            _, error = self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6",
                                       code=2)
            self.assertIn(f"{key} is {after.split()[1]} and was {before.split()[1]}", error)
        config.write_text(saved.replace("workers: ", "workers: 1 # "))
        self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6")

    def test_resume_finishes_a_run_killed_before_its_summary(self):
        run = self.train_small()
        summary = json.loads((run / "summary.json").read_text())
        (run / "summary.json").unlink()
        (run / "config.yaml").write_text("")  # a kill can leave the empty claim
        _, log = self.run_tandem("train", "--resume", run)
        self.assertEqual(log.count("config.yaml is empty; continuing with the config saved in "
                                   "checkpoint.safetensors"), 1)
        again = json.loads((run / "summary.json").read_text())
        self.assertEqual(again["weights_sha256"], summary["weights_sha256"])
        _, error = self.run_tandem("train", "--resume", run, code=2)
        self.assertIn("has done all its 4 updates", error)

    def test_resume_names_a_misspelled_key(self):
        run = self.train_small()
        _, error = self.run_tandem("train", "--resume", run, "--set", "train.max_update=9", code=2)
        self.assertIn("--set train.max_update=9: unknown key `train.max_update`; did you mean "
                      "`train.max_updates`?", error)

    def test_resume_without_a_checkpoint_continues_from_the_one_before(self):
        run = self.train_small("--set", "checkpoint.keep=2", "--set", "checkpoint.every_updates=1")
        whole = json.loads((run / "summary.json").read_text())["weights_sha256"]
        (run / "checkpoint.safetensors").unlink()
        _, error = self.run_tandem("train", "--resume", run)
        self.assertRegex(error, r"checkpoint.safetensors: no such file; continuing from \S+/previous-\d.safetensors instead")
        self.assertEqual(json.loads((run / "summary.json").read_text())["weights_sha256"], whole)

    def test_resume_refuses_fewer_updates_than_the_run_has_done(self):
        run = self.train_small()
        for killed in (False, True):
            if killed:
                (run / "summary.json").unlink()
            config = (run / "config.yaml").read_text()
            _, error = self.run_tandem("train", "--resume", run, "--set", "train.max_updates=3", code=2)
            self.assertIn("`train.max_updates` is 3, expected at least 4, the number of updates that "
                          "the run has done", error)
            self.assertEqual((run / "config.yaml").read_text(), config)

    def test_a_decreasing_schedule_cannot_be_extended(self):
        config = self.write("small.yaml", SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run, "--set", "optimizer.schedule=linear")
        saved = (run / "config.yaml").read_text()
        _, error = self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6", code=2)
        self.assertIn("train.max_updates must stay 4 in this run, because the linear schedule decreases the "
                      "learning rate", error)
        self.assertEqual((run / "config.yaml").read_text(), saved)
        _, error = self.run_tandem("train", "--resume", run, code=2)
        self.assertIn("the run has done all its 4 updates. To train further, start a new run "
                      "with `--set network.init_from=", error)

    def test_a_decreasing_schedule_continues_after_a_time_limit(self):
        config = self.write("small.yaml", SMALL)
        run = self.folder / "run"
        falling = ["--set", "optimizer.schedule=linear"]
        self.run_tandem("train", config, "--out", run, *falling, "--set", "train.max_seconds=1e-9", code=1)
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
        self.wait_until((run / "metrics.jsonl").exists, program)
        program.send_signal(number)
        _, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, code, error)
        self.assertEqual(json.loads((run / "summary.json").read_text())["ended_by"], "stopped")
        states = self.write("states.txt", SOLVED + "\n")
        self.run_tandem("solve", "--model", run, "--states", states)

    def test_an_interrupted_last_update_is_not_a_finished_run(self):
        config = self.write("long.yaml", SMALL)
        run = self.folder / "run"
        _, log = self.run_tandem("train", config, "--out", run, "--set", "train.max_updates=1", "--set",
                                 "train.batch_size=10", "--set", "train.iterations_per_update=20000",
                                 "--set", "network.width=1000", "--set", "train.max_seconds=4",
                                 "--set", "validation.every_updates=1")
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual((summary["ended_by"], summary["updates"]), ("max_seconds", 0))
        self.assertGreater(summary["iterations"], 0)
        self.assertNotIn("warning", log)
        last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
        self.assertEqual(last["solve_rate"], summary["validation"]["solve_rate"])
        # Its time is used, although the checkpoint is the state before the update.
        _, error = self.run_tandem("train", "--resume", run, code=2)
        self.assertIn("the run has used its", error)
        self.run_tandem("train", "--resume", run, "--set", f"train.max_seconds={summary['wall_s'] + 1}")

    def test_a_closed_pipe_keeps_a_checkpoint(self):
        config = self.write("long.yaml", SMALL)
        run = self.folder / "run"
        program = subprocess.Popen(
            [TANDEM, "train", config, "--out", run, "--set", "train.max_updates=1000000", "--set",
             "profile.timing_breakdown=true"], stderr=subprocess.PIPE)
        program.stderr.readline()
        program.stderr.close()
        self.assertEqual(program.wait(timeout=60), 128 + signal.SIGPIPE)
        self.assertEqual(json.loads((run / "summary.json").read_text())["ended_by"], "stopped")

    def test_ctrl_c_keeps_a_checkpoint(self):
        self.stop_with(signal.SIGINT, 130)

    def test_termination_keeps_a_checkpoint(self):
        self.stop_with(signal.SIGTERM, 143)


class Terminal(CliTest):
    def test_a_terminal_shows_a_progress_bar(self):
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
                # A terminal that cannot redraw a line (TERM=dumb) gets no bar.
                status = pty.spawn(["env", "TERM=xterm", str(TANDEM), "train", str(config),
                                    "--out", str(self.folder / "run")], read)
        finally:
            os.dup2(stdout, 1)
        text = b"".join(shown).decode()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertRegex(text, r"\[#+\] 100 %")
        self.assertIn("next: tandem solve", text)

    def train_on_a_terminal(self, columns):
        """Returns the lines that a run showed as its progress."""
        try:
            controller, terminal = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal to show it on: {error}")
        self.addCleanup(os.close, controller)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        config = self.write("small.yaml", SMALL)
        command = [TANDEM, "train", config, "--out", "run", "--set", "validation.every_updates=2"]
        program = subprocess.Popen(command, stderr=terminal, cwd=self.folder,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(terminal)
        self.addCleanup(program.kill)
        shown = b""
        while True:
            try:
                shown += os.read(controller, 4096)
            except OSError:  # the program has ended
                break
        self.assertEqual(program.wait(timeout=60), 0)
        lines = re.findall(r"\r\x1b\[K(\[[^\r\n]*)", shown.decode())
        self.assertTrue(lines)
        return lines

    def test_a_line_of_100_columns_shows_rate_loss_solve_rate_time_and_busy_shares(self):
        lines = self.train_on_a_terminal(100)
        self.assertLess(max(map(len, lines)), 100)
        self.assertRegex(lines[-1], r"^\[#{5,}\] 100 %  [\d,]+ ex/s  loss [\d.]+  "
                                    r"solved [\d.]+ %  [\d.]+ m?s left  gen \d+ %  train \d+ %$")

    def test_a_narrow_terminal_leaves_out_busy_shares_first(self):
        lines = self.train_on_a_terminal(60)
        self.assertLess(max(map(len, lines)), 60)
        self.assertRegex(lines[-1], "100 %  .*loss")
        self.assertNotIn("train", lines[-1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
