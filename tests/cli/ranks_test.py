"""Tests training over several ranks: equal weights, stops, resuming, and ranks that are killed.

`ranks_test.py --kills N` kills a random rank of N runs at a random moment, and checks that each run
resumes and ends with the weights of a run that nobody disturbed.

`ranks_test.py --seeds N` compares the loss curves of two ranks with those of one process with twice the
batch, over 50 updates and N seeds.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import unittest
import uuid

from harness import SOURCE, TANDEM, CliTest
from common import free_port  # harness adds scripts/ to the path

TORCHRUN = SOURCE / ".venv" / "bin" / "torchrun"

# Several threads on a busy machine would take longer, and change nothing.
CONFIG = """\
network: {width: 32, blocks: 1, norm: layer}
generate: {target: walk_length, max_scramble: 8, workers: 1}
train: {batch_size: 100, iterations_per_update: 5, max_updates: 6, threads: 1}
inference: {threads: 1}
validation: {every_updates: 0}
checkpoint: {every_updates: 1}
device: cpu
"""


class RanksTest(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("config.yaml", CONFIG)

    def start(self, number, *args, variables=None):
        """Starts ranks without torchrun, so that rank 0 holds the store. `variables` holds more
        environment variables for some ranks."""
        environment = {**os.environ, "WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(free_port())}
        ranks = [subprocess.Popen([TANDEM, "train", *map(str, args)], cwd=self.folder, text=True,
                                  stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank),
                                       **(variables or {}).get(rank, {})})
                 for rank in range(number)]
        for rank in ranks:
            self.addCleanup(self.end, rank)
        return ranks

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def errors_of(self, ranks, *codes):
        """Waits for the ranks and returns their standard error."""
        errors = [rank.communicate(timeout=120)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], list(codes), "\n".join(errors))
        return errors

    def train(self, number, folder, *args):
        self.errors_of(self.start(number, self.config, "--out", folder, *args), *[0] * number)
        return self.summary(folder)

    def summary(self, folder):
        return json.loads((self.folder / folder / "summary.json").read_text())

    def metrics(self, folder):
        lines = (self.folder / folder / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def train_threads(self, folder):
        config, _ = self.run_tandem("config", f"{folder}/config.yaml", "--json")
        return json.loads(config)["train"]["threads"]

    def has_metrics(self, folder, lines=1):
        file = self.folder / folder / "metrics.jsonl"
        return file.exists() and file.read_text().count("\n") >= lines

    def train_with_kill(self, folder, rank, updates, moment=None):
        """Trains with torchrun, and kills a rank of the first start once `moment` is true."""
        if not TORCHRUN.exists():
            self.skipTest(f"{TORCHRUN} does not exist")
        mark = str(uuid.uuid4())
        torchrun = subprocess.Popen(
            [TORCHRUN, "--nproc-per-node", "2", "--max-restarts", "3", "--rdzv-backend", "c10d",
             "--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--no-python", TANDEM, "train",
             self.config, "--out", folder, "--set", f"train.max_updates={updates}"],
            cwd=self.folder, text=True, stderr=subprocess.STDOUT, stdout=subprocess.PIPE,
            env={**os.environ, "TANDEM_TEST_MARK": mark})
        self.addCleanup(self.end, torchrun)
        self.wait_until(moment or (lambda: self.has_metrics(folder)), torchrun)
        os.kill(self.process_of(mark, rank), signal.SIGKILL)
        output, _ = torchrun.communicate(timeout=120)
        self.assertEqual(torchrun.returncode, 0, output)
        return output

    def process_of(self, mark, rank):
        """Returns the process of a rank that torchrun started with this mark in its environment."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                variables = (folder / "environ").read_bytes().split(b"\0")
                if f"TANDEM_TEST_MARK={mark}".encode() in variables and \
                        f"RANK={rank}".encode() in variables:
                    return int(folder.name)
        self.fail(f"rank {rank} does not run")


class EqualWeights(RanksTest):
    def test_two_runs_of_two_ranks_end_with_equal_weights(self):
        first, second = self.train(2, "a"), self.train(2, "b")
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])
        self.assertEqual(first["examples"], 2 * 6 * 5 * 100)
        self.assertEqual(first["ranks"]["world_size"], 2)
        self.assertEqual(len(first["ranks"]["generate_s"]), 2)
        line = self.metrics("a")[0]
        self.assertEqual(line["world_size"], 2)
        self.assertEqual(line["examples"], 2 * 5 * 100)

    def test_progress_counts_the_examples_of_all_ranks(self):
        shown, _ = self.errors_of(self.start(2, self.config, "--out", "run", "--set",
                                             "train.max_updates=1"), 0, 0)
        rate = re.findall(r"([0-9,]+) examples/s  loss .* left", shown)[-1]  # after the last iteration
        self.assertGreaterEqual(int(rate.replace(",", "")), int(self.summary("run")["examples_per_s"]))

    def test_one_rank_equals_the_plain_run(self):
        for backend, precision in (("cpu", "fp32"), ("reference", "fp32"), ("gpu", "fp32"), ("gpu", "bf16")):
            for head in ("v", "q"):  # walks label two actions of a Q net, so its rows have weights
                with self.subTest(backend=backend, precision=precision, head=head):
                    options = ("--set", f"backend={backend}", "--set", f"network.head={head}",
                               "--set", f"train.precision={precision}")
                    ranks = self.train(1, f"ranks-{backend}-{precision}-{head}", *options)
                    plain = f"plain-{backend}-{precision}-{head}"
                    self.run_tandem("train", self.config, "--out", plain, *options)
                    self.assertEqual(ranks["weights_sha256"], self.summary(plain)["weights_sha256"])

    def test_two_ranks_learn_like_one_with_twice_the_batch(self):
        for head in ("v", "q"):
            with self.subTest(head):
                option = ("--set", f"network.head={head}")
                self.train(2, f"two-{head}", *option)
                self.run_tandem("train", self.config, "--out", f"one-{head}", "--set",
                                "train.batch_size=200", *option)
                for one, two in zip(self.metrics(f"one-{head}"), self.metrics(f"two-{head}")):
                    self.assertLess(abs(one["loss"] - two["loss"]), 0.1 * one["loss"])
                    if head == "v":  # the same walks, and so the same labels
                        self.assertEqual(one["examples"], two["examples"])

    def test_batch_norm_keeps_equal_statistics(self):
        summary = self.train(2, "a", "--set", "network.norm=batch", "--set", "train.ema_decay=0.9",
                             "--set", "generate.target=value_iteration")
        self.assertEqual(summary["updates"], 6)  # the ranks compare their weights after each update


class Stops(RanksTest):
    def test_a_signal_to_one_rank_stops_all_and_another_number_resumes(self):
        ranks = self.start(2, self.config, "--out", "run", "--set", "train.max_updates=100000",
                           "--set", "optimizer.schedule=constant")
        self.wait_until(lambda: self.has_metrics("run"), ranks[0])
        ranks[1].send_signal(signal.SIGTERM)
        self.errors_of(ranks, 0, 143)
        done = self.summary("run")
        self.assertEqual(done["ended_by"], "stopped")
        for number in (3, 1):
            more = done["updates"] + 2
            self.errors_of(self.start(number, "--resume", "run", "--set",
                                      f"train.max_updates={more}"), *[0] * number)
            done = self.summary("run")
            self.assertEqual(done["updates"], more)

    def test_automatic_threads_of_a_resumed_run_share_the_cores(self):
        options = ("--set", "optimizer.schedule=constant", "--set", "train.threads=auto", "--set")
        self.train(2, "run", *options, "train.max_updates=2")
        begun = self.train_threads("run")
        self.errors_of(self.start(2, "--resume", "run", "--set", "train.threads=auto", "--set",
                                  "train.max_updates=3"), 0, 0)
        self.assertEqual(self.train_threads("run"), begun)

    def test_a_time_limit_stops_all_ranks(self):
        summary = self.train(2, "run", "--set", "train.max_updates=1000000", "--set",
                             "train.max_seconds=2")
        self.assertEqual(summary["ended_by"], "max_seconds")


class Refusals(RanksTest):
    def test_what_ranks_cannot_do_is_refused_with_the_key(self):
        for option in ("train.max_updates=auto", "replay.updates=2", "generate.program=tensor"):
            with self.subTest(option):
                more = ("--set", "train.max_seconds=60") if "auto" in option else ()
                ranks = self.start(1, self.config, "--out", "run", "--set", option, *more)
                (errors,) = self.errors_of(ranks, 2)
                self.assertIn(option.split("=")[0], errors)
                self.assertIn("not supported with several ranks", errors)

    def test_a_run_that_follows_the_clock_is_not_resumed_with_several_ranks(self):
        # One process stops it after an update, before its plan ends.
        run = subprocess.Popen([TANDEM, "train", self.config, "--out", "run", "--set", "train.max_updates=auto",
                                "--set", "train.max_seconds=60", "--set", "optimizer.schedule=linear"],
                               cwd=self.folder, stderr=subprocess.DEVNULL)
        self.wait_until(lambda: self.has_metrics("run"), run)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 143)
        for errors in self.errors_of(self.start(2, "--resume", "run"), 2, 2):
            self.assertIn("`train.max_updates: auto` is not supported with several ranks", errors)

    def test_a_folder_that_the_first_start_refused_is_refused_again(self):
        self.run_tandem("train", self.config, "--out", "run")
        restarted = {"TORCHELASTIC_RESTART_COUNT": "1"}
        ranks = self.start(1, self.config, "--out", "run", variables={0: restarted})
        (errors,) = self.errors_of(ranks, 2)
        self.assertIn("not an empty folder", errors)

    def test_a_port_that_is_taken_is_one_message(self):
        with socket.create_server(("", 0)) as taken:
            port = taken.getsockname()[1]
            ranks = self.start(1, self.config, "--out", "run", variables={0: {"MASTER_PORT": str(port)}})
            (errors,) = self.errors_of(ranks, 1)
        self.assertIn(f"127.0.0.1:{port} (MASTER_ADDR:MASTER_PORT)", errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_a_wrong_environment_is_refused(self):
        result = subprocess.run([TANDEM, "train", self.config], cwd=self.folder, text=True,
                                capture_output=True, env={**os.environ, "RANK": "0"})
        self.assertEqual(result.returncode, 2)
        self.assertIn("WORLD_SIZE is not set", result.stderr)


class Failures(RanksTest):
    def test_a_rank_that_fails_ends_the_others_which_repeat_its_error(self):
        for fault, stage in (("simulator:error:30", "generating rows"),
                             ("train.step:error:13", "training")):
            with self.subTest(fault):
                ranks = self.start(3, self.config, "--out", fault.replace(":", "-"), "--set",
                                   "train.max_updates=100000",
                                   variables={1: {"TANDEM_FAULT": fault}})
                first, failed, last = self.errors_of(ranks, 1, 1, 1)
                cause = f"{stage}: injected failure at {fault.split(':')[0]}"
                self.assertIn(cause, failed)
                for errors in (first, last):
                    self.assertRegex(errors, rf"rank 1 \(process {ranks[1].pid} on .*{cause}")

    @unittest.skipUnless("avx2" in pathlib.Path("/proc/cpuinfo").read_text(), "needs AVX2")
    def test_a_rank_whose_weights_differ_is_named(self):
        """LibTorch rounds differently without vector instructions."""
        ranks = self.start(2, self.config, "--out", "run", "--set", "backend=reference",
                           variables={1: {"ATEN_CPU_CAPABILITY": "default"}})
        for errors in self.errors_of(ranks, 1, 1):
            self.assertIn(f"the weights of rank 1 (process {ranks[1].pid}", errors)


class Kills(RanksTest):
    def test_a_killed_rank_is_named_by_the_others(self):
        for killed in (1, 0):
            with self.subTest(killed):
                folder = f"run-{killed}"
                ranks = self.start(3, self.config, "--out", folder, "--set",
                                   "train.max_updates=100000")
                self.wait_until(lambda: self.has_metrics(folder), ranks[0])
                ranks[killed].kill()
                left = [rank for rank in ranks if rank is not ranks[killed]]
                for errors in self.errors_of(left, 1, 1):
                    self.assertTrue(f"rank {killed} (process {ranks[killed].pid}" in errors, errors)

    def test_torchrun_starts_the_ranks_again_and_they_end_with_the_same_weights(self):
        expected = self.train(2, "whole", "--set", "train.max_updates=200")
        self.train_with_kill("killed", rank=1, updates=200)
        self.assertEqual(self.summary("killed")["weights_sha256"], expected["weights_sha256"])


class ManyKills(RanksTest):
    """Only with --kills."""

    kills = 0

    def test_many_kills(self):
        if self.kills == 0:
            self.skipTest("needs --kills N")
        updates = 200
        expected = self.train(2, "whole", "--set", f"train.max_updates={updates}")
        for i in range(self.kills):
            chance = random.Random(i)
            rank, after = chance.randrange(2), chance.randrange(1, updates * 3 // 4)
            folder = f"killed-{i}"
            self.train_with_kill(folder, rank, updates,
                                 lambda f=folder, n=after: self.has_metrics(f, n))
            self.assertEqual(self.summary(folder)["weights_sha256"], expected["weights_sha256"],
                             f"kill {i}: rank {rank} after update {after}")
            print(f"kill {i}: rank {rank} after update {after}: equal weights", flush=True)


class LossCurves(RanksTest):
    """Only with --seeds."""

    seeds = 0

    def losses(self, number, norm, seed):
        folder = f"{norm}-{number}-{seed}"
        options = ("--seed", seed, "--set", f"network.norm={norm}", "--set", "train.max_updates=50",
                   "--set", "checkpoint.every_updates=1000")
        if number == 1:
            self.run_tandem("train", self.config, "--out", folder, "--set", "train.batch_size=200",
                            *options)
        else:
            self.train(number, folder, *options)
        return [line["loss"] for line in self.metrics(folder)]

    def test_two_ranks_follow_the_curve_of_one_with_twice_the_batch(self):
        """With the same seed, the curves differ by less than those of different seeds do, on average over
        the updates."""
        if self.seeds == 1:
            self.fail("--seeds 1: expected 2 or more")
        if self.seeds == 0:
            self.skipTest("needs --seeds N")
        found = []
        for norm in ("layer", "none"):
            one, two = ([self.losses(number, norm, seed) for seed in range(1, self.seeds + 1)]
                        for number in (1, 2))
            self.assertEqual({len(curve) for curve in one + two}, {50})
            spread = statistics.mean(max(losses) - min(losses) for losses in zip(*one))
            gap = statistics.mean(abs(a - b) for losses in zip(one, two) for a, b in zip(*losses))
            found.append(f"norm {norm} {gap:.4f} ({spread:.4f})")
            self.assertLess(gap, spread)
            self.assertLess(two[0][-1], two[0][0] / 2)  # they learn
        print(f"distance of the loss curves (spread of {self.seeds} seeds): {', '.join(found)}")


LONG = {"--kills": (ManyKills, "kills", "ManyKills.test_many_kills"),
        "--seeds": (LossCurves, "seeds",
                    "LossCurves.test_two_ranks_follow_the_curve_of_one_with_twice_the_batch")}

if __name__ == "__main__":
    for option, (case, attribute, test) in LONG.items():
        if option in sys.argv:
            at = sys.argv.index(option)
            setattr(case, attribute, int(sys.argv[at + 1]))
            del sys.argv[at:at + 2]
            sys.argv.append(test)
    unittest.main()
