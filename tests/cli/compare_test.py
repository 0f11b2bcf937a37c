"""Tests `tandem compare`: its runs, its report and its files."""

import json
import signal
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

from harness import SMALL, TANDEM, CliTest

CONFIG = SMALL.replace("max_scramble: 8", "max_scramble: 8, target: value_iteration") + \
    "backend: reference\nvalidation: {every_updates: 2, states: 20}\n"


class Compare(CliTest):
    def compare(self, *args, config=CONFIG, **options):
        return self.run_tandem("compare", self.write("small.yaml", config), *args, **options)

    def test_modes_do_the_same_work(self):
        out, log = self.compare("--seeds", "1,2", "--out", "all", "--json", "figures.json")
        self.assertIn("[4/4] ", log)
        for measure in ("updates/s", "% workers idle", "ideal speed-up", "busiest side",
                        "% solved, equal"):
            self.assertIn(measure, out)
        self.assertRegex(out, r"weights as the first's +equal +equal\n")
        self.assertIn("`final loss` cannot be compared: ", out)  # with value iteration
        self.assertIn("`-` in `% GPU idle`: only traced updates on a GPU show it", out)
        self.assertRegex(out, r"\nin short: .*; all of this may be chance\n")
        self.assertRegex(out, r"async against sequential: .*as fast .*2 seeds; such a difference "
                              r"arises by chance in (50|100)\.0 % of cases.*; no verdict, because "
                              r"it takes at least 5 seeds")

        figures = json.loads((self.folder / "figures.json").read_text())
        self.assertEqual(figures, json.loads((self.folder / "all/compare.json").read_text()))
        self.assertEqual(figures["seeds"], ["1", "2"])
        first, second = figures["rows"]
        self.assertEqual((first["mode"], second["mode"]), ("sequential", "async"))
        self.assertEqual(first["speed_up"], {"median": 1.0, "least": 1.0, "most": 1.0})
        self.assertIsNone(first["ideal_speed_up"])
        self.assertGreater(second["ideal_speed_up"]["median"], 0)
        bounds = second["ideal_bound_by"].split(", ")
        self.assertLessEqual(set(bounds), {"generator", "training", "cores"})
        self.assertEqual(len(bounds), len(set(bounds)))
        for row in (first, second):
            self.assertEqual(row["lag_updates"]["median"], 0.75)  # 0, 1, 1, 1
            for share in ("idle_workers", "idle_main", "solve_rate_equal_iterations", "busy_share"):
                self.assertTrue(0 <= row[share]["least"] <= row[share]["most"] <= 1, share)

        drawn = xml.parse(self.folder / "all/compare.svg").getroot()
        titles = [e.text for e in drawn.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(sum(title.startswith("fill ") for title in titles), 2 * 4)
        self.assertEqual(sum(title.startswith("update ") for title in titles), 2 * 4)

    def test_a_schedule_favours_a_run_only_over_another_one(self):
        warning = "favour the run that ends first"
        decreasing = ("--set", "optimizer.schedule=linear", "--seeds", "1")
        self.assertIn(warning, self.compare("--out", "two", *decreasing)[0])
        self.assertNotIn(warning, self.compare("--out", "one", "--modes", "async", *decreasing)[0])

    def test_does_not_take_itself_for_a_rank(self):
        self.compare("--modes", "async", "--out", "all",
                     variables={"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "x"})

    def test_async_fills_while_it_trains(self):
        # Updates are long enough for the generator thread to start during training, even on a busy
        # machine.
        self.compare("--out", "all", "--set", "train.iterations_per_update=15", "--set",
                     "train.batch_size=250", "--set", "network.width=512", "--set", "network.blocks=4")

        def stretches(mode):
            lines = (self.folder / f"all/{mode}-seed1/metrics.jsonl").read_text().splitlines()
            updates = [json.loads(line) for line in lines]
            return [(u["generate_began_s"], u["train_began_s"], u["train_began_s"] + u["train_s"])
                    for u in updates]
        for mode, overlaps in (("async", True), ("sequential", False)):
            updates = stretches(mode)
            fills_beside = [fill_began < trained for (_, _, trained), (fill_began, _, _)
                            in zip(updates, updates[1:])]
            self.assertEqual(any(fills_beside), overlaps, mode)

    def test_losses_of_walk_lengths_can_be_compared(self):
        out, _ = self.compare("--out", "all", "--set", "generate.target=walk_length")
        self.assertNotIn("cannot be compared", out)
        out, _ = self.compare("--modes", "async", "--vary", "network.head=v,q", "--out", "heads",
                              "--set", "generate.target=walk_length")
        self.assertIn("`final loss` cannot be compared: ", out)

    def test_any_key_may_vary(self):
        out, _ = self.compare("--modes", "async", "--vary", "prefetch.enabled=true,false", "--vary",
                              "prefetch.copy_stream=true,false", "--out", "all")
        self.assertRegex(out, r"weights as the first's +equal +equal +equal +equal\n")
        self.assertIn("async prefetch.enabled=false prefetch.copy_stream=false", out)
        self.assertIn("no verdict, because it takes at least 5 seeds", out)

    def test_reports_bad_input_before_the_first_run(self):
        for args, message in [
                (["--modes", "async,fast"], "--modes fast: `pipeline.mode` is 'fast', expected one "),
                (["--modes", "async,async"], "--modes async,async: `async` is listed twice"),
                (["--vary", "seed=1,2"], "--vary seed=1,2: use --seeds instead"),
                (["--vary", "pipeline.mode=async,sequential"], "use --modes instead"),
                (["--json", "missing/figures.json"], "cannot write missing/figures.json: No such file"),
                (["--json", "/proc/figures.json"], "cannot write /proc/figures.json: "),
                (["--json", "."], "cannot write .: Is a directory"),
                (["--vary", "prefetch.depth=1"], "expected two values or more"),
                (["--vary", "prefetch.depth=1,1"], "--vary prefetch.depth: 1,1: `1` is listed twice"),
                (["--json", "small.yaml"], "--json small.yaml: this is the config; choose another file"),
                (["--json", "all/compare.svg"], "this is also the file of --out; choose another file"),
                (["--vary", "prefetch.deep=1,2"], "unknown key `prefetch.deep`"),
                (["--seeds", "1,x"], "--seeds 1,x: expected whole numbers from 0 to"),
                (["--seeds", "1,01,001"], "--seeds 1,01,001: 1 is listed twice"),
                (["--set", "train.max_updates=auto", "--set", "train.max_seconds=5"],
                 "`train.max_updates` is auto, expected a number"),
                (["--modes", "sync_main"], "sync_main"),
        ]:
            _, error = self.compare("--out", "all", *args, code=2)
            self.assertIn(message, error)
            self.assertFalse((self.folder / "all").exists(), args)

    def test_rejects_a_folder_that_is_not_empty(self):
        (self.folder / "full").mkdir()
        for taken in (self.write("empty.txt", ""), self.write("file.txt", "x"),
                      self.write("full/precious.txt", "x").parent):
            _, error = self.compare("--out", taken, code=2)
            self.assertIn(f"{taken} exists and is not an empty folder", error)
        _, error = self.compare("--out", self.folder / "file.txt" / "within", code=2)
        self.assertIn("cannot create", error)

    def test_shows_the_log_of_a_failed_run(self):
        _, error = self.compare("--modes", "sequential", "--out", "all", "--set",
                                "optimizer.learning_rate=10", "--set", "network.norm=none", "--set",
                                "network.blocks=40", "--set", "train.max_updates=50", "--set",
                                "train.precision=fp32", code=1)
        self.assertIn("the run sequential-seed1 failed with exit code 1", error)
        self.assertIn("lower optimizer.learning_rate", error)

    def test_ctrl_c_ends_it_and_keeps_the_runs(self):
        config = self.write("long.yaml", CONFIG.replace("max_updates: 4", "max_updates: 100000"))
        # A supervisor may ignore the signal that says that a child has ended, and its children inherit that.
        program = subprocess.Popen([TANDEM, "compare", config, "--out", self.folder / "all"],
                                   stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        metrics = self.folder / "all/sequential-seed1/metrics.jsonl"
        self.wait_until(metrics.exists, program)
        program.send_signal(signal.SIGINT)
        _, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 130, error)
        self.assertIn("stopped; the runs so far are in", error)
        summary = json.loads((self.folder / "all/sequential-seed1/summary.json").read_text())
        self.assertEqual(summary["ended_by"], "stopped")

    def test_a_kill_ends_the_current_run_too(self):
        config = self.write("long.yaml", CONFIG.replace("max_updates: 4", "max_updates: 100000"))
        program = subprocess.Popen([TANDEM, "compare", config, "--out", self.folder / "all"],
                                   stderr=subprocess.DEVNULL)
        run = self.folder / "all/sequential-seed1"
        self.wait_until((run / "metrics.jsonl").exists, program)
        program.kill()
        program.wait()
        self.wait_until((run / "summary.json").exists)  # its own child has saved what it learned
        self.assertEqual(json.loads((run / "summary.json").read_text())["ended_by"], "stopped")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
