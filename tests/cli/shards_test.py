"""Tests examples on disk: `tandem generate`, `tandem shards`, and training from shards."""

import json
import os
import resource
import signal
import subprocess
import sys
import unittest

from harness import TANDEM, CliTest
from trace_test import Trace, overlap

CONFIG = """\
domain: {name: npuzzle, size: 3}
network: {width: 32, blocks: 1}
generate: {max_scramble: 20}
train: {batch_size: 100, iterations_per_update: 5, max_updates: 20}
validation: {every_updates: 0}
"""


class Shards(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("puzzle.yaml", CONFIG)
        self.shards = self.folder / "shards"

    def generate(self, *args, out=None, code=0):
        return self.run_tandem("generate", self.config, "--examples", 2000, "--chunk-rows", 256,
                               "--shard-chunks", 3, "--out", out or self.shards, *args, code=code)

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def from_shards(self, *sets):
        return [word for key in ("data.source=shards", f"data.path={self.shards}") + sets
                for word in ("--set", key)]

    def train(self, name, *sets, code=0):
        run = self.folder / name
        _, messages = self.run_tandem("train", self.config, "--out", run, *self.from_shards(*sets),
                                      code=code)
        return run, messages

    def alter(self, name, at):
        path = self.shards / name
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)


class Generating(Shards):
    def test_reports_what_it_generates(self):
        _, messages = self.generate()
        self.assertIn("2,000 examples of npuzzle:3 in 3 shards, 25.4 KiB before compression", messages)
        self.assertIn("for two chunks of 256 rows", messages)
        self.assertIn("examples/s", messages)
        self.assertEqual(sorted(self.contents(self.shards)),
                         [f"shard-00000{i}.tandem" for i in range(3)])

    def test_two_processes_write_the_same_shards_as_one(self):
        together = self.folder / "together"
        self.generate()
        processes = [
            subprocess.Popen([TANDEM, "generate", self.config, "--examples", "2000", "--chunk-rows",
                              "256", "--shard-chunks", "3", "--rank", str(i), "--world-size", "2", "--out",
                              together],
                             stderr=subprocess.DEVNULL) for i in range(2)]
        self.assertEqual([process.wait(timeout=60) for process in processes], [0, 0])
        self.assertEqual(self.contents(together), self.contents(self.shards))
        self.assertIn("all shards already exist", self.generate()[1])

    def test_continues_after_a_kill(self):
        args = [TANDEM, "generate", self.config, "--examples", "100000000", "--chunk-rows", "20000",
                "--shard-chunks", "5", "--out", self.shards]
        process = subprocess.Popen(args, stderr=subprocess.DEVNULL)
        self.wait_until(lambda: len(list(self.shards.glob("*.tandem"))) >= 3, process)
        process.kill()
        process.wait()
        before = self.contents(self.shards)
        process = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
        self.wait_until(lambda: len(list(self.shards.glob("*.tandem"))) >= len(before) + 3, process)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("run the same command again", messages)
        after = self.contents(self.shards)
        self.assertFalse([name for name in after if name.endswith(".partial")])
        for name, content in before.items():
            if name.endswith(".tandem"):
                self.assertEqual(after[name], content)

    def test_bad_input_is_exit_code_2(self):
        _, error = self.generate("--rank", "2", "--world-size", "2", code=2)
        self.assertIn("--rank 2: expected less than --world-size, 2", error)
        self.assertIn("expected none or zstd", self.generate("--compression", "zip", code=2)[1])
        self.generate()
        _, error = self.generate("--seed", "5", code=2)
        self.assertIn("seed is 1 there and 5 here", error)

    def test_two_processes_with_different_seeds_do_not_share_a_folder(self):
        self.generate("--rank", 0, "--world-size", 2)
        before = self.contents(self.shards)
        _, error = self.generate("--rank", 1, "--world-size", 2, "--seed", 2, code=2)
        self.assertIn("shard-000000.tandem belongs to a different set: seed is 1 there and 2 here", error)
        _, error = self.run_tandem("generate", self.config, "--examples", 100, "--out", self.shards,
                                   code=2)
        self.assertIn("belongs to a different set", error)
        self.assertEqual(self.contents(self.shards), before)

    def test_network_targets_need_init_from(self):
        _, error = self.generate("--set", "generate.target=value_iteration", code=2)
        self.assertIn("`network.init_from` must name a run", error)

    def test_a_curriculum_is_rejected(self):
        _, error = self.generate("--set", "generate.target=value_iteration", "--set",
                                 "generate.search=greedy", "--set", "generate.curriculum=true", code=2)
        self.assertIn("a set of examples has no updates. Add --set generate.curriculum=false", error)

    def test_a_network_gives_the_same_labels_in_two_processes(self):
        run = self.folder / "run"
        self.run_tandem("train", self.config, "--out", run, "--set", "train.max_updates=1")
        labels = ("--set", "generate.target=value_iteration", "--set", f"network.init_from={run}")
        self.generate(*labels)
        together = self.folder / "together"
        for i in (1, 0):
            self.generate(*labels, "--rank", str(i), "--world-size", "2", out=together)
        self.assertEqual(self.contents(together), self.contents(self.shards))

    def test_own_solutions_and_hindsight_of_a_q_net_mask_actions(self):
        run = self.folder / "run"
        of_grid = ("--set", "domain.name=grid", "--set", "domain.size=6", "--set", "network.head=q")
        self.run_tandem("train", self.config, "--out", run, "--set", "train.max_updates=1", *of_grid)
        labels = (*of_grid, "--set", "generate.search=greedy", "--set", "generate.search_iterations=10",
                  "--set", f"network.init_from={run}")
        for sets in (["generate.target=own_solutions"],
                     ["generate.target=value_iteration", "generate.hindsight=true",
                      "pipeline.mode=sync_main", "replay.updates=1"]):
            folder = self.folder / sets[0]
            self.generate(*labels, *(word for key in sets for word in ("--set", key)), out=folder)
            listed = json.loads(self.run_tandem("shards", folder, "--json")[0])
            self.assertIn("weight", listed["columns"])

    def test_labels_of_a_network_name_the_instruction_set(self):
        run = self.folder / "run"
        self.run_tandem("train", self.config, "--out", run, "--set", "train.max_updates=1")
        self.generate("--set", "generate.target=value_iteration", "--set",
                      f"network.init_from={run}", "--set", "generate.program=tensor")
        provenance = json.loads(self.run_tandem("shards", self.shards, "--json")[0])["provenance"]
        self.assertIn(provenance["instruction_set"], ["AVX512", "AVX2", "DEFAULT", "ZVECTOR", "VSX"])
        # The puzzle's own code generates, whatever the key says.
        self.assertEqual(provenance["generate.chunk_rows"], "4096")

    def test_a_file_size_limit_is_reported(self):
        program = subprocess.run(
            [TANDEM, "generate", self.config, "--examples", "2000", "--out", self.shards],
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))
        self.assertEqual(program.returncode, 1)
        self.assertIn("shard-000000.tandem: File too large", program.stderr)


class Listing(Shards):
    def test_reports_pipes_as_damage_and_shows_names_that_are_not_utf8(self):
        self.generate()
        (self.shards / "shard-000001.tandem").unlink()
        os.mkfifo(self.shards / "shard-000001.tandem")
        (self.shards / os.fsdecode(b"shard-\xff.tandem")).write_bytes(b"")
        out, _ = self.run_tandem("shards", self.shards, "--json", code=1)
        listed = json.loads(out)
        self.assertIn("it is a pipe", listed["shards"][1]["problems"][0])
        self.assertEqual(listed["strays"], ["shard-\ufffd.tandem"])
        self.assertIn("it is a pipe", self.generate(code=2)[1])

    def test_lists_and_verifies(self):
        self.generate("--compression", "zstd")
        out, _ = self.run_tandem("shards", self.shards)
        self.assertIn("2,000 examples of npuzzle:3, target walk_length", out)
        self.assertIn("shard-000002.tandem  rows 1,536 to 1,999", out)
        self.assertIn("0 of 3 shards missing, 0 damaged", out)
        listed = json.loads(self.run_tandem("shards", self.shards, "--json", "--list")[0])
        self.assertEqual(listed["domain"], "npuzzle:3")
        self.assertEqual([shard["rows"] for shard in listed["shards"]], [768, 768, 464])

    def test_names_what_is_damaged_and_missing(self):
        self.generate()
        self.alter("shard-000001.tandem", -1)
        (self.shards / "shard-000002.tandem").unlink()
        out, _ = self.run_tandem("shards", self.shards, code=1)
        self.assertIn("shard-000001.tandem, chunk 2: its hash does not match its contents", out)
        self.assertIn("1 of 3 shards missing, 1 damaged", out)
        found = json.loads(self.run_tandem("shards", self.shards, "--json", code=1)[0])["shards"]
        self.assertEqual([len(shard["problems"]) for shard in found], [0, 1, 1])

    def test_writes_a_truncated_shard_again_and_reports_extra_data(self):
        self.generate()
        whole = self.contents(self.shards)
        torn = self.shards / "shard-000001.tandem"
        torn.write_bytes(torn.read_bytes()[:-100])
        _, messages = self.generate()
        self.assertIn("shard-000001.tandem is incomplete; generating it again", messages)
        self.assertEqual(self.contents(self.shards), whole)

        torn.write_bytes(whole["shard-000000.tandem"])
        _, messages = self.generate()
        self.assertIn("shard-000001.tandem holds shard 0 of the set; generating it again", messages)
        self.assertEqual(self.contents(self.shards), whole)

        torn.write_bytes(torn.read_bytes() + b"more")
        out, _ = self.run_tandem("shards", self.shards, code=1)
        self.assertIn("shard-000001.tandem: the file has data after its last chunk", out)

    def test_reports_stray_shards(self):
        self.generate()
        stray = self.shards / "shard-000099.tandem"
        stray.write_bytes((self.shards / "shard-000000.tandem").read_bytes())
        told = "shard-000099.tandem is not one of the set's 3 shards (000000 to 000002) and is ignored"
        self.assertIn(told, self.generate()[1])
        self.assertIn(told, self.run_tandem("shards", self.shards)[0])
        listed = json.loads(self.run_tandem("shards", self.shards, "--json")[0])
        self.assertEqual(listed["strays"], [stray.name])
        self.assertIn(told, self.train("run")[1])

    def test_rejects_a_set_that_is_too_large(self):
        for examples, args, code, message in [
                (1_000_001, ["--chunk-rows", 1, "--shard-chunks", 1], 2, "1,000,001 shards, expected"),
                (10**15, ["--chunk-rows", 2**28], 1, "and the file system has")]:
            _, error = self.run_tandem("generate", self.config, "--examples", examples, *args,
                                       "--out", self.folder / "large", code=code)
            self.assertIn(message, error)
            self.assertFalse((self.folder / "large").exists())

    def test_names_the_option_that_makes_a_chunk_smaller_if_memory_is_short(self):
        rows = 250_000_000  # a chunk of 3.0 GiB
        _, error = self.run_tandem("generate", self.config, "--examples", rows, "--chunk-rows", rows,
                                   "--out", self.folder / "large", code=1, memory=3 << 30)
        self.assertIn("not enough memory for a buffer of 3.0 GiB; lower --chunk-rows", error)
        self.assertNotIn("train.batch_size", error)

    def test_rejects_a_set_too_small_for_one_walk(self):
        _, error = self.run_tandem("generate", self.config, "--examples", 19, "--out",
                                   self.folder / "small", code=2)
        self.assertIn("--examples 19: expected at least the 20 examples of a walk. Lower "
                      "generate.max_scramble, or", error)
        self.assertFalse((self.folder / "small").exists())

    def test_a_folder_without_shards_is_bad_input(self):
        self.assertIn("holds no shards", self.run_tandem("shards", self.folder, code=2)[1])


class Training(Shards):
    def test_reports_what_it_reads_and_how_fast(self):
        self.generate()
        run, messages = self.train("run")
        # The run is so short that it may not show what limits it.
        self.assertRegex(messages, "for chunks of shards|handing over chunks is the bottleneck|no bottleneck is known")
        self.assertIn("2,000 examples, target walk_length; an update takes 0.25 epochs of them", messages)
        self.assertIn("disk reads", messages)
        self.assertEqual(json.loads((run / "summary.json").read_text())["data"]["epochs"], 5)

    def test_reports_the_rows_that_are_generated_live(self):
        self.generate()
        _, messages = self.train("run", "data.live_share=0.3")
        self.assertIn("30 rows of each batch are generated during the run", messages)

    def test_warns_if_shards_differ_from_the_config(self):
        self.generate()
        _, messages = self.train("mixed", "data.live_share=0.3", "generate.max_scramble=5")
        self.assertIn("generate.max_scramble is 20 for the shards and 5 for the rows "
                      "that are generated during the run", messages)
        _, messages = self.train("labels", "generate.target=value_iteration")
        self.assertIn("the shards were labelled with target walk_length, but generate.target is "
                      "value_iteration, which is not used", messages)

    def test_the_trace_shows_the_stages_of_the_first_epochs(self):
        self.generate()
        run, _ = self.train("run", "profile.trace_updates=12",
                            "train.max_updates=60")
        trace = Trace(run / "trace.json")
        self.assertEqual(set(range(3)) - set(trace.numbered("disk", "epoch")), set())
        self.assertEqual(set(trace.numbered("disk", "chunk")), set(range(8)))
        names = {(trace.tracks[span["tid"]], span["name"]) for span in trace.spans}
        for expected in [("disk", "disk_load"), ("transfer", "gpu_transfer"),
                         ("main", "gpu_queue_wait"), ("main", "train")]:
            self.assertIn(expected, names)
        trains = trace.numbered("main", "train")
        self.assertEqual(max(trains), 11)  # 12 updates of 500 rows
        loads = [span for span in trace.of("disk") if span["name"] == "disk_load"]
        self.assertTrue(any(overlap(load, train) > 0 for load in loads
                            for train in trains.values()))

    def test_damage_ends_the_run(self):
        self.generate()
        self.alter("shard-000000.tandem", -5)
        _, messages = self.train("stopped", code=1)
        self.assertIn("shard-000000.tandem, chunk 2: ", messages)

    def test_a_missing_or_swapped_shard_ends_the_run(self):
        self.generate()
        (self.shards / "shard-000000.tandem").write_bytes(
            (self.shards / "shard-000001.tandem").read_bytes())
        _, messages = self.train("stopped", code=1)
        self.assertIn("shard-000000.tandem holds shard 1 of the set", messages)

    def test_resume_after_a_kill_in_an_epoch_gives_the_same_weights(self):
        self.generate()
        whole, _ = self.train("whole", "train.max_updates=400", "checkpoint.every_updates=7")
        process = subprocess.Popen(
            [TANDEM, "train", self.config, "--out", self.folder / "killed",
             *map(str, self.from_shards("train.max_updates=400", "checkpoint.every_updates=7"))],
            stderr=subprocess.DEVNULL, env={**os.environ, "TANDEM_FAULT": "train.step:hang:700"})
        self.wait_until((self.folder / "killed" / "checkpoint.safetensors").exists, process)
        process.kill()
        process.wait()
        self.run_tandem("train", "--resume", self.folder / "killed")
        sha = [json.loads((run / "summary.json").read_text())["weights_sha256"]
               for run in (whole, self.folder / "killed")]
        self.assertEqual(sha[0], sha[1])

    def test_reports_contradicting_keys(self):
        _, error = self.run_tandem("train", self.config, "--set", "data.source=shards", code=2)
        self.assertIn("`data.source: shards` (--set data.source=shards) contradicts `data.path: null`",
                      error)
        self.generate("--compression", "zstd")
        for sets, message in [(("replay.updates=2",), "replay keeps rows that are generated"),
                              (("data.live_share=1",), "no row of a batch would come from the shards"),
                              (("domain.size=4",), "expected npuzzle:4")]:
            self.assertIn(message, self.train("refused", *sets, code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
