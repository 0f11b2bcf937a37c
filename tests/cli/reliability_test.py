"""Tests what a run does when something fails."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import SMALL, TANDEM, CliTest

# A run ends after twice this time. Less could be too short for work on a busy machine.
STALL = ("--set", "train.watchdog_seconds=6")

LABELLED = SMALL + "validation: {every_updates: 0}\ncheckpoint: {every_updates: 1}\n"


class Faults(CliTest):
    def train_with_fault(self, fault, *args):
        """Returns the exit code and the lines of standard error."""
        config = self.write("small.yaml", LABELLED)
        result = subprocess.run(
            [TANDEM, "train", config, "--out", "run", "--set", "generate.target=value_iteration", *args],
            capture_output=True, text=True, cwd=self.folder, timeout=120,
            env={**os.environ, "TANDEM_FAULT": fault})
        return result.returncode, result.stderr.splitlines()

    def expect_same_weights_after_resume(self):
        self.run_tandem("train", "--resume", "run")
        self.run_tandem("train", "small.yaml", "--out", "whole", "--set",
                        "generate.target=value_iteration")
        hashes = [json.loads((self.folder / run / "summary.json").read_text())["weights_sha256"]
                  for run in ("run", "whole")]
        self.assertEqual(*hashes)

    def test_a_failure_is_one_message_and_exit_code_1(self):
        for fault, message in (
                ("train.step:error:8", "update 1, training: injected failure at train.step"),
                ("metrics.write:full:2", "update 1, writing metrics: injected at metrics.write: "
                                         "No space left on device"),
                ("batch.load:bad_alloc:8", "update 1, making batches: out of memory; lower "),
                ("batch.load:unknown:8", "update 1, making batches: unknown exception")):
            with self.subTest(fault):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                shutil.rmtree(self.folder / "whole", ignore_errors=True)
                code, lines = self.train_with_fault(fault)
                self.assertEqual(code, 1)
                self.assertEqual([line.startswith("tandem: " + message) for line in lines
                                  if line.startswith("tandem: ")], [True], lines)
                self.assertTrue(lines[-1].startswith("tandem: "), lines)
                self.assertTrue(lines[-2].startswith("next: tandem train --resume "), lines)
                self.expect_same_weights_after_resume()

    def test_an_unknown_fault_is_an_error(self):
        code, lines = self.train_with_fault("nothing:error")
        self.assertEqual(code, 2)
        self.assertIn("checkpoint.write", lines[-1])

    def test_a_thread_that_does_not_return_is_reported_and_the_state_is_saved(self):
        code, lines = self.train_with_fault("evaluator:hang:3", *STALL)
        text = "\n".join(lines)
        self.assertEqual(code, 1, text)
        self.assertIn("no progress for 6 s in thread generator", text)
        self.assertIn("generator: evaluate for ", text)
        self.assertIn("waits for the generator to fill a buffer", text)
        self.assertIn("the process ends now", text)
        self.expect_same_weights_after_resume()

    def test_a_disk_that_does_not_answer_is_reported_and_the_state_is_saved(self):
        config = self.write("small.yaml", LABELLED)
        self.run_tandem("generate", config, "--set", "generate.target=walk_length", "--examples", "1000",
                        "--chunk-rows", "100", "--out", "shards")
        # An update takes 5 chunks. The checkpoint can only come from the save after the stall.
        shards = ("--set", "data.source=shards", "--set", "data.path=shards", "--set",
                  "checkpoint.every_updates=1000")
        code, lines = self.train_with_fault("shard.read:hang:9", *shards, *STALL)
        text = "\n".join(lines)
        self.assertEqual(code, 1, text)
        self.assertIn("no progress for 6 s in thread disk", text)
        self.assertIn("the process ends now", text)
        _, log = self.run_tandem("train", "--resume", "run")
        self.assertIn("continuing after update 1 of 4", log)
        self.run_tandem("train", config, "--out", "whole", "--set", "generate.target=value_iteration",
                        *shards)
        hashes = [json.loads((self.folder / run / "summary.json").read_text())["weights_sha256"]
                  for run in ("run", "whole")]
        self.assertEqual(*hashes)


class Damage(CliTest):
    def test_resume_skips_a_damaged_checkpoint(self):
        config = self.write("small.yaml", LABELLED)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run, "--set", "checkpoint.keep=2")
        before = json.loads((run / "summary.json").read_text())["weights_sha256"]
        (previous,) = run.glob("previous-*.safetensors")
        updates = previous.stem.removeprefix("previous-")
        content = bytearray((run / "checkpoint.safetensors").read_bytes())
        content[len(content) // 2] ^= 1
        (run / "checkpoint.safetensors").write_bytes(content)
        _, log = self.run_tandem("train", "--resume", run)
        self.assertIn("checkpoint.safetensors: damaged tensor file", log)
        self.assertIn(f"continuing from {previous} instead", log)
        self.assertIn(f"continuing after update {updates} of 4", log)
        self.assertEqual(json.loads((run / "summary.json").read_text())["weights_sha256"], before)

    def test_a_checkpoint_that_does_not_fit_on_the_disk_says_how_many_bytes_it_needs(self):
        if os.geteuid() != 0:
            self.skipTest("only root may mount a small disk")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("cannot mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        config = self.write("small.yaml", LABELLED)
        _, error = self.run_tandem("train", config, "--out", disk / "run", code=1)
        self.assertRegex(error, r"cannot write \S+/checkpoint.safetensors: it needs [0-9,]+ bytes \(.*\), and "
                         r"the file system has [0-9,]+ bytes \(.*\) free")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
