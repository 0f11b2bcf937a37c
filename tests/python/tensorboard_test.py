"""Tests tandem.tensorboard with TensorBoard's own reader."""

import json
import sys
import unittest
from unittest import mock

import tandem
from small_run import SMALL, FolderTest
from tandem import tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

VALIDATED = {"validation.every_updates": 2, "validation.states": 20}


class TensorBoard(FolderTest):
    def setUp(self):
        super().setUp()
        self.run = self.folder / "run"
        self.config = tandem.load_config(SMALL, VALIDATED)
        tandem.train(self.config, self.run)

    def lines(self):
        return [json.loads(line) for line in (self.run / "metrics.jsonl").read_text().splitlines()]

    def events(self):
        """What TensorBoard reads in the run's folder."""
        events = EventAccumulator(str(self.run))
        events.Reload()
        return events

    def check_tag(self, tag, number_of):
        """The values of a tag are those of the lines that have them, at the right iterations."""
        per_update = int(self.config["train.iterations_per_update"])
        expected = {per_update * (line["update"] + 1): number for line in self.lines()
                    if (number := number_of(line)) is not None}
        shown = {event.step: event.value for event in self.events().Scalars(tag)}
        self.assertTrue(expected)
        self.assertEqual(shown.keys(), expected.keys())
        for step, number in expected.items():
            self.assertAlmostEqual(shown[step], number, delta=1e-6 * abs(number) + 1e-12)

    def test_shows_every_number_of_metrics_jsonl(self):
        tensorboard.Run(self.run).show()
        self.check_tag("train/loss", lambda line: line["loss"])
        self.check_tag("train/ctgs/max", lambda line: line["label_max"])
        self.check_tag("time/update_s", lambda line: line["update_s"])
        self.check_tag("idle/main", lambda line: line["idle_main"])
        self.check_tag("val/greedy/solved", lambda line: 100 * line["solve_rate"] if "solve_rate" in line else None)
        self.check_tag("val/walk_length_error_by_length/1",
                       lambda line: line.get("walk_length_error_by_length", {}).get("1"))
        numbers = {key for line in self.lines() for key, value in line.items() if isinstance(value, (int, float))}
        tags = [tag for tag in self.events().Tags()["scalars"] if "_by_length" not in tag]
        self.assertEqual(len(tags), len(numbers))

    def test_has_the_config_as_text(self):
        tensorboard.Run(self.run).show()
        (event,) = self.events().Tensors("config/text_summary")
        (text,) = event.tensor_proto.string_val
        self.assertIn((self.run / "config.yaml").read_text(), text.decode())

    def test_names_the_search_that_validates(self):
        beam = self.folder / "beam"
        tandem.train(tandem.load_config(self.config, {"validation.beam_width": 8}), beam)
        for folder, search in ((self.run, "greedy"), (beam, "beam")):
            run = tensorboard.Run(folder)
            run.show()
            self.assertEqual(run.search, search)

    def test_follows_a_run_and_one_that_goes_back(self):
        metrics = self.run / "metrics.jsonl"
        whole = metrics.read_text()
        first, *others = whole.splitlines(keepends=True)
        metrics.write_text(first + others[0][:40])  # a line that is being written
        run = tensorboard.Run(self.run)
        run.show()
        self.assertEqual(len(self.events().Scalars("train/loss")), 1)
        metrics.write_text(whole)
        run.show()
        self.check_tag("train/loss", lambda line: line["loss"])
        other = json.loads(first) | {"loss": 7.5}
        metrics.write_text(json.dumps(other) + "\n")
        run.show()
        self.check_tag("train/loss", lambda line: 7.5)
        self.assertEqual(len(list(self.run.glob("events.out.tfevents.*"))), 1)

    def test_a_folder_without_a_run_is_named(self):
        with self.assertRaises(SystemExit) as ended, mock.patch("sys.argv", ["tensorboard", str(self.folder)]):
            tensorboard.main()
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
