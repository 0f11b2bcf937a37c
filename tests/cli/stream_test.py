"""Tests generators apart from trainers: `tandem generate --follow` and data.source: stream."""

import collections
import json
import os
import signal
import subprocess
import unittest

from harness import TANDEM, CliTest

CONFIG = """\
domain: {name: npuzzle, size: 3}
network: {width: 32, blocks: 1}
generate: {max_scramble: 20, target: value_iteration, workers: 1}
data: {source: stream, stream_rows: 100, stream_shards: 6}
train: {batch_size: 100, iterations_per_update: 5, max_updates: 48, threads: 1}
inference: {threads: 1}
checkpoint: {every_updates: 4}
validation: {every_updates: 0}
"""


class Streams(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("puzzle.yaml", CONFIG)
        self.run_folder = self.folder / "run"
        self.stream = self.run_folder / "stream"
        self.logs = []

    def start(self, *args):
        """Starts the program. Its output goes to files, which the program has as .out and .err."""
        number = len(self.logs)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with open(out, "w") as to, open(err, "w") as messages:
            program = subprocess.Popen([TANDEM, *map(str, args)], stdout=to, stderr=messages)
        program.out, program.err = out, err
        self.logs.append(program)
        self.addCleanup(lambda: program.poll() is None and program.kill())
        return program

    def start_trainer(self, *sets):
        words = [word for key in sets for word in ("--set", key)]
        return self.start("train", self.config, "--out", self.run_folder, *words)

    def start_generator(self, name, *args):
        return self.start("generate", "--follow", self.run_folder, "--name", name, "--workers", 1, *args)

    def finish(self, program, code=0):
        self.assertEqual(program.wait(timeout=120), code, program.err.read_text())
        return program.err.read_text()

    def lines_of(self, name):
        path = self.run_folder / name
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines(keepends=True)
                if line.endswith("\n")]

    def updates(self):
        return len(self.lines_of("metrics.jsonl"))

    def written(self, program):
        return program.out.read_text().splitlines()

    def any_shard(self):
        """The bytes of a shard of the stream, and its name."""
        found = []

        def read():
            for path in [*self.stream.glob("rows-*.tandem"), *self.stream.glob("used/*.tandem")]:
                try:
                    found.append((path.name, path.read_bytes()))
                except FileNotFoundError:  # the trainer has moved it
                    pass
            return bool(found)

        self.wait_until(read)
        return found[0]

    def check_rows(self):
        """Checks that no row was used twice and that none was lost after its shard had appeared."""
        ledger = self.lines_of("shards.jsonl")
        names = [line["shard"] for line in ledger]
        self.assertEqual(len(names), len(set(names)), "a shard was used twice")
        end = -1
        for line in sorted(ledger, key=lambda line: line["first_row"]):
            self.assertGreaterEqual(line["first_row"], end, "two shards have the same rows")
            end = line["first_row"] + line["rows"]
        waiting = {path.name for path in self.stream.glob("rows-*.tandem")}
        self.assertFalse(waiting & set(names))
        appeared = {name for program in self.logs for name in self.written(program)}
        self.assertEqual(appeared - waiting - set(names), set(), "shards are lost")
        used = sum(line["stream_rows"] for line in self.lines_of("metrics.jsonl"))
        whole = sum(line["rows_used"] for line in ledger)
        self.assertIn(used - whole, range(100), "the rows of one shard that was used in part")
        return used


class Following(Streams):
    def test_rows_are_used_once_whatever_is_killed(self):
        trainer = self.start_trainer()
        checkpoint = self.run_folder / "checkpoint.safetensors"
        self.wait_until(checkpoint.exists, trainer)
        began = checkpoint.stat().st_mtime_ns
        first, second = self.start_generator("first"), self.start_generator("second")
        name, content = self.any_shard()
        torn = f"rows-{99 << 36:019}-100-v0-torn.tandem"
        (self.stream / torn).write_bytes(content[:1000])
        copy = f"rows-{98 << 36:019}-100-v0-copy.tandem"
        (self.stream / copy).write_bytes(content)
        (self.stream / "shard-000000.tandem").write_text("not a shard")
        self.wait_until(lambda: len(self.written(second)) >= 3, second)
        second.kill()
        self.wait_until(lambda: self.updates() >= 7 and checkpoint.stat().st_mtime_ns > began, trainer)
        trainer.kill()
        trainer.wait()
        again = self.start_generator("second")
        self.wait_until(lambda: len(list(self.stream.glob("rows-*.tandem"))) >= 6, again)
        trainer = self.start("train", "--resume", self.run_folder)
        messages = self.finish(trainer)
        for generator in (first, again):
            self.assertIn("the run has ended", self.finish(generator))

        self.assertEqual(self.check_rows(), 48 * 500)
        rejected = {path.name for path in self.stream.glob("rejected/*")}
        self.assertEqual(rejected, {torn, copy, "shard-000000.tandem"})
        warnings = "".join(program.err.read_text() for program in self.logs)
        self.assertIn(f"{torn}: the file is incomplete: it ends inside the header", warnings)
        self.assertIn(f"{copy} does not belong to this run: stream.", warnings)
        self.assertIn("stream: ", messages)
        self.assertEqual(list(self.stream.glob("used/*")), [])
        whole = json.loads((self.run_folder / "summary.json").read_text())
        summary = whole["stream"]
        since = [line["stream_rows"] for line in self.lines_of("metrics.jsonl")
                 if line["update"] >= whole["since_update"]]
        self.assertEqual(summary["rows"], sum(since))
        self.assertEqual(summary["rows"], sum(summary["rows_by_generator"].values()))
        self.assertGreater(whole["since_update"], 0)
        self.assertEqual(set(summary["rows_by_generator"]), {"first", "second"})
        starts = collections.Counter(path.read_text().strip()
                                     for path in self.stream.glob("generators/*"))
        self.assertEqual(starts, {"first": 1, "second": 2})

    def test_a_run_with_live_rows_waits_for_nobody(self):
        self.finish(self.start_trainer("data.live_share=0.5", "train.max_updates=3"))
        self.assertEqual([line["examples"] for line in self.lines_of("metrics.jsonl")], [250] * 3)

    def test_live_rows_are_mixed_with_those_of_generators(self):
        # The trainer waits for no rows, so on a busy machine it uses few of the generator's, which get old.
        trainer = self.start_trainer("data.live_share=0.5", "train.max_updates=100000", "data.max_lag=100000")
        generator = self.start_generator("only")
        self.wait_until(
            lambda: any(0 < line.get("stream_rows", 0) <= 250 for line in self.lines_of("metrics.jsonl")),
            trainer)
        trainer.send_signal(signal.SIGINT)
        self.finish(trainer, code=130)
        for line in self.lines_of("metrics.jsonl")[:-1]:  # the last update may have been stopped
            self.assertEqual(line["examples"], 250 + line.get("stream_rows", 0))
        generator.send_signal(signal.SIGTERM)
        self.assertIn("the run goes on without this generator", self.finish(generator, code=143))
        self.assertEqual(list(self.stream.glob("*.partial")), [])
        self.check_rows()

    def test_a_trainer_that_waits_for_rows_can_be_stopped_and_resumed(self):
        trainer = self.start_trainer("train.max_updates=2")
        self.wait_until((self.run_folder / "published" / "manifest.json").exists, trainer)
        trainer.send_signal(signal.SIGINT)
        self.finish(trainer, code=130)
        trainer = self.start("train", "--resume", self.run_folder)
        generator = self.start_generator("late")
        self.finish(trainer)
        self.finish(generator)
        self.assertEqual(self.check_rows(), 2 * 500)

    def test_searches_and_q_learning_follow_too(self):
        for number, sets in enumerate((("generate.search=greedy", "generate.search_iterations=7"),
                                       ("generate.target=q_learning", "network.head=q"))):
            with self.subTest(sets):
                self.run_folder = self.folder / f"run{number}"
                self.stream = self.run_folder / "stream"
                self.logs.clear()
                trainer = self.start_trainer("train.max_updates=2", *sets)
                generator = self.start_generator("a")
                self.finish(trainer)
                self.finish(generator)
                self.check_rows()


class Refusing(Streams):
    def test_bad_input_is_exit_code_2(self):
        error = self.run_tandem("generate", "--follow", self.run_folder, "--name", "a b", code=2)[1]
        self.assertIn("--name a b: expected 1 to 60 letters", error)
        error = self.run_tandem("generate", "--follow", self.config, code=2)[1]
        self.assertIn("this is not a folder; expected the folder of a run", error)
        error = self.run_tandem("generate", self.config, "--follow", self.run_folder, code=2)[1]
        self.assertIn("config excludes --follow", error)
        for option, value in [("--compression", "zstd"), ("--world-size", 2), ("--chunk-rows", 100),
                              ("--shard-chunks", 2)]:
            error = self.run_tandem("generate", "--follow", self.run_folder, option, value, code=2)[1]
            self.assertRegex(error, f"{option} excludes --follow|--follow excludes {option}")
        error = self.run_tandem("generate", "--follow", self.run_folder, "--world-size", 2, "--rank", 0,
                                code=2)[1]
        self.assertIn("excludes", error)
        error = self.run_tandem("train", self.config, "--set", "generate.target=walk_length", code=2)[1]
        self.assertIn("the run can make them itself", error)

    def test_a_run_that_cannot_begin_leaves_no_folder(self):
        self.run_tandem("train", self.config, "--out", self.run_folder, "--set", "validation.every_updates=1",
                        "--set", "validation.file=missing.jsonl", code=2)
        self.assertFalse(self.run_folder.exists())

    def test_a_run_without_a_stream_cannot_be_followed(self):
        self.finish(self.start_trainer("data.source=live", "train.max_updates=1"))
        error = self.run_tandem("generate", "--follow", self.run_folder, code=2)[1]
        self.assertIn("the run has `data.source: live`, so it takes no rows", error)
        (self.run_folder / "config.yaml").unlink()
        os.mkfifo(self.run_folder / "config.yaml")  # nobody writes it, so reading it would block
        error = self.run_tandem("generate", "--follow", self.run_folder, code=2)[1]
        self.assertIn("config.yaml: it is a pipe or a device", error)

    def test_a_generator_that_is_stopped_while_it_waits_says_that_there_is_no_run(self):
        generator = self.start_generator("early")
        self.wait_until(lambda: "waiting for" in generator.err.read_text(), generator)
        generator.send_signal(signal.SIGTERM)
        log = self.finish(generator, code=143)
        self.assertIn("never appeared, so nothing was generated", log)
        self.assertNotIn("the run goes on", log)

    def test_a_generator_may_not_change_the_rows(self):
        self.finish(self.start_trainer("data.live_share=0.5", "train.max_updates=1"))
        manifest = self.run_folder / "published" / "manifest.json"
        published = json.loads(manifest.read_text())
        self.assertTrue(published["ended"])
        manifest.write_text(json.dumps({**published, "ended": False}))
        error = self.finish(self.start_generator("a", "--set", "generate.max_scramble=3"), code=2)
        self.assertIn("--set may not change which rows the run gets", error)
        manifest.write_text(json.dumps({**published, "ended": False, "version": 7}))
        error = self.finish(self.start_generator("a"), code=2)
        self.assertIn("weights-7.safetensors", error)
        manifest.write_text("{")
        self.assertIn("not the manifest of a run", self.finish(self.start_generator("a"), code=2))

    def test_a_second_run_cannot_take_the_shards_of_the_first(self):
        trainer = self.start_trainer()
        self.wait_until((self.run_folder / "published" / "manifest.json").exists, trainer)
        other = self.folder / "other"
        error = self.run_tandem("train", self.config, "--out", other, "--set", f"data.path={self.stream}",
                                code=2)[1]
        self.assertIn("another run takes the shards of this stream; set data.path to another folder", error)
        self.assertFalse(other.exists())
        trainer.send_signal(signal.SIGINT)
        self.finish(trainer, code=130)

    def test_a_folder_with_shards_of_another_run_is_refused(self):
        self.finish(self.start_trainer("data.live_share=0.5", "train.max_updates=1"))
        (self.stream / f"rows-{0:019}-100-v0-a.tandem").write_bytes(b"")
        error = self.run_tandem("train", self.config, "--out", self.folder / "other", "--set",
                                f"data.path={self.stream}", code=2)[1]
        self.assertIn("holds 1 shard of an earlier run", error)


if __name__ == "__main__":
    unittest.main()
