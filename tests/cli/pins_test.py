"""Tests scripts/pins with a few pins of each kind, and that Tandem accepts the configs of all of them."""

import contextlib
import io
import json
import unittest
from unittest import mock

from harness import TANDEM, CliTest, load_script
from common import sets  # harness adds scripts/ to the path

pins = load_script("pins")

# The network of these searches and rows is a run, which is pinned with them.
SOME = ["runs/shards", "rows/value_iteration/v/greedy", "solves/tiles/beam/v/plain", "text/help/solve",
        "text/configs/cube2"]
NOT_KEYS = {"config", "network", "puzzle", "ranks", "resume_after", "shards"}


class Pins(CliTest):
    def pins(self, *words, only=SOME, code=0):
        """Runs the script and returns what it prints and the pins that it writes."""
        file = self.folder / "found.json"
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), \
                self.assertRaises(SystemExit) as end:
            pins.main(["--tandem", str(TANDEM), "--only", ",".join(only), "--out", str(file),
                       *map(str, words)])
        self.assertEqual(end.exception.code, code, output.getvalue())
        return output.getvalue(), json.loads(file.read_text()) if file.exists() else {}

    def test_every_kind_gives_equal_pins_twice(self):
        _, first = self.pins()
        self.assertEqual({name.split("/")[0] for name in first}, {"runs", "rows", "solves", "text"})
        self.assertIn("runs/tiles_v", first)
        output, second = self.pins("--against", self.write("first.json", json.dumps(first)))
        self.assertEqual(first, second)
        self.assertIn(f"all {len(first)} pins are equal", output)

    def test_a_changed_config_is_found(self):
        only = ["runs/walks_async", "rows/policy", "text/help"]
        _, before = self.pins(only=only)
        file = self.write("before.json", json.dumps(before))
        with mock.patch.dict(pins.RUNS, {"walks_async": {**pins.RUNS["walks_async"], "seed": 12}}), \
                mock.patch.dict(pins.ROWS, {"policy/policy/none/one_step": {
                    **pins.ROWS["policy/policy/none/one_step"], "generate.max_scramble": 11}}):
            output, _ = self.pins("--against", file, only=only, code=1)
        self.assertIn("different: runs/walks_async\n", output)
        self.assertIn("-summary weights_sha256 = ", output)
        self.assertIn("+summary weights_sha256 = ", output)
        self.assertIn("different: rows/policy/policy/none/one_step\n", output)
        self.assertIn(f"2 of {len(before)} pins differ", output)

    def test_texts_that_changed_in_the_same_lines_share_a_diff(self):
        only = ["text/configs/cube2", "text/configs/cube4", "text/help/shards"]
        _, before = self.pins(only=only)
        for name in only[:2]:
            before[name] = before[name].replace("data.source: ", "data.origin: ")
        output, _ = self.pins("--against", self.write("before.json", json.dumps(before)), only=only, code=1)
        self.assertIn("different: text/configs/cube2, text/configs/cube4\n", output)
        self.assertEqual(output.count("\n-data.origin: "), 1)
        self.assertEqual(output.count("\n+data.source: "), 1)
        self.assertIn("2 of 3 pins differ", output)

    def test_pins_that_only_one_side_has_are_listed_and_do_not_count(self):
        only = ["text/help/show", "text/help/apply"]
        _, before = self.pins(only=only)
        before["text/help/apply/old"] = before.pop("text/help/apply")
        output, _ = self.pins("--against", self.write("before.json", json.dumps(before)), only=only)
        self.assertIn("only in the file: text/help/apply/old\n", output)
        self.assertIn("not in the file: text/help/apply\n", output)
        self.assertIn("all 1 pins are equal", output)

    def test_a_command_that_fails_is_named_and_the_other_pins_are_made(self):
        with mock.patch.dict(pins.RUNS, {"walks_async": {"train.batch_size": 0}}):
            output, made = self.pins(only=["runs/walks_async", "text/help/show"], code=1)
        self.assertIn("train.batch_size", output)
        self.assertIn("failed: runs/walks_async\n", output)
        self.assertEqual(list(made), ["text/help/show"])

    def test_an_unknown_name_is_refused(self):
        output, _ = self.pins(only=["rows/walks"], code=2)
        self.assertIn("--only rows/walks: no pin has this name", output)

    # The other tests make a few pins only.
    def test_tandem_accepts_the_config_of_every_pin(self):
        empty = self.write("empty.yaml", "{}\n")
        for name, (_, settings) in pins.cases_of(TANDEM).items():
            of_network = {**pins.COMMON, **pins.RUNS[settings["network"]]} if "puzzle" in settings else {}
            words = sets({key: value for key, value in {**of_network, **settings}.items()
                          if key not in NOT_KEYS})
            if "command" not in settings:
                with self.subTest(name):
                    self.run_tandem("config", settings.get("config", empty), *words)


if __name__ == "__main__":
    unittest.main()
