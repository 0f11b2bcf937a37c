"""Tests the event files of a run with a reader of its own, and with TensorBoard's if it is installed.

The reader follows the descriptions of the formats: TFRecord, CRC-32C (RFC 3720, bit by bit) and
protobuf's wire format.
"""

import json
import os
import struct
import sys
import unittest

from harness import CliTest

EVENT_STEP, EVENT_FILE_VERSION, EVENT_SUMMARY, EVENT_SESSION_LOG = 2, 3, 5, 7
VALUE_TAG, VALUE_SIMPLE, VALUE_TENSOR, VALUE_METADATA = 1, 2, 8, 9


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(message):
    """The fields of a protobuf message: a dictionary from number to the list of values."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(wire_type) or varint()
            value = message[at:at + size]
            assert len(value) == size
            at += size
            if wire_type == 1:
                value, = struct.unpack("<d", value)
            elif wire_type == 5:
                value, = struct.unpack("<f", value)
        found.setdefault(number, []).append(value)
    return found


def records(data):
    at = 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert masked(crc32c(data[at:at + 8])) == length_crc
        payload = data[at + 12:at + 12 + length]
        payload_crc, = struct.unpack_from("<I", data, at + 12 + length)
        assert masked(crc32c(payload)) == payload_crc
        yield fields(payload)
        at += 12 + length + 4


class TensorBoard(CliTest):
    def train(self, *args):
        return self.train_small("--set", "validation.every_updates=2", "--set",
                                "validation.states=20", *args)

    def event_files(self, run):
        return sorted(run.glob("events.out.tfevents.*"))

    def scalars(self, run):
        """Returns {tag: {step: value}} as TensorBoard shows it."""
        shown = {}
        for path in self.event_files(run):
            for number, event in enumerate(records(path.read_bytes())):
                step = event.get(EVENT_STEP, [0])[0]
                if number == 0:
                    self.assertEqual(event[EVENT_FILE_VERSION], [b"brain.Event:2"])
                elif EVENT_SESSION_LOG in event:
                    self.assertEqual(fields(event[EVENT_SESSION_LOG][0]), {1: [1]})  # START
                    for values in shown.values():
                        for later in [s for s in values if s >= step]:
                            del values[later]
                for summary in event.get(EVENT_SUMMARY, []):
                    for value in map(fields, fields(summary).get(1, [])):
                        if VALUE_SIMPLE in value:
                            tag = value[VALUE_TAG][0].decode()
                            self.assertNotIn(step, shown.setdefault(tag, {}))
                            shown[tag][step] = value[VALUE_SIMPLE][0]
        return shown

    def metrics(self, run):
        return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]

    def check_tag(self, values, lines, number_in):
        """The values of a tag are those of the lines that have them, at the right iterations."""
        expected = {5 * (line["update"] + 1): number_in(line) for line in lines
                    if number_in(line) is not None}
        self.assertTrue(expected)
        self.assertEqual(sorted(values), sorted(expected))
        for step, number in expected.items():
            self.assertAlmostEqual(values[step], number, delta=1e-6 * abs(number) + 1e-12)

    def test_shows_the_figures_of_metrics_jsonl(self):
        run = self.train()
        lines, shown = self.metrics(run), self.scalars(run)
        self.check_tag(shown["train/loss"], lines, lambda line: line["loss"])
        self.check_tag(shown["train/learning_rate"], lines, lambda line: line["learning_rate"])
        self.check_tag(shown["train/ctgs/mean"], lines, lambda line: line["label_mean"])
        self.check_tag(shown["train/ctgs/max"], lines, lambda line: 8)
        self.check_tag(shown["idle/main"], lines, lambda line: line["idle_main"])
        self.check_tag(shown["policy_lag/updates"], lines, lambda line: line["lag_updates"])
        self.check_tag(shown["memory/peak_rss_bytes"], lines, lambda line: line["peak_rss_bytes"])
        self.check_tag(shown["time/update_s"], lines, lambda line: line["update_s"])
        for side in "train", "generate":
            key = f"{side}_examples_per_s"
            self.check_tag(shown[f"rate/{key}"], lines, lambda line: line[key])
        self.check_tag(shown["val/greedy/solved"], lines,
                       lambda line: 100 * line["solve_rate"] if "solve_rate" in line else None)
        for length in 1, 8:
            self.check_tag(
                shown[f"val/walk_length_error_by_length/{length}"], lines,
                lambda line: line.get("walk_length_error_by_length", {}).get(str(length)))
            solved = [100 * line["solve_rate_by_length"][str(length)] for line in lines
                      if "solve_rate_by_length" in line]
            self.assertEqual(list(shown[f"val/greedy/solved_by_length/{length}"].values()),
                             [struct.unpack("<f", struct.pack("<f", rate))[0] for rate in solved])
        numbers = {key for line in lines for key, value in line.items()
                   if isinstance(value, (int, float))}
        self.assertEqual(len([tag for tag in shown if "_by_length" not in tag]), len(numbers))

    def test_has_the_config_as_text(self):
        run = self.train()
        path, = self.event_files(run)
        texts = {}
        for event in records(path.read_bytes()):
            for summary in event.get(EVENT_SUMMARY, []):
                for value in map(fields, fields(summary)[1]):
                    if VALUE_METADATA not in value:
                        continue
                    plugin = fields(fields(value[VALUE_METADATA][0])[1][0])
                    self.assertEqual(plugin[1], [b"text"])
                    texts[value[VALUE_TAG][0]] = fields(value[VALUE_TENSOR][0])[8][0].decode()
        self.assertEqual(texts, {b"config": f"```yaml\n{(run / 'config.yaml').read_text()}```\n"})

    def test_a_resumed_run_continues_the_steps_in_a_new_file(self):
        run = self.train()
        # As after a kill: metrics.jsonl and the events are ahead of the checkpoint.
        killed = self.train_killed_after_its_checkpoint()
        self.run_tandem("train", "--resume", killed, "--set", "train.max_updates=6")
        self.assertEqual(len(self.event_files(killed)), 2)
        self.check_tag(self.scalars(killed)["train/loss"], self.metrics(killed),
                       lambda line: line["loss"])
        self.assertEqual(list(self.scalars(killed)["train/loss"])[:4],
                         list(self.scalars(run)["train/loss"]))

    def train_killed_after_its_checkpoint(self):
        """A run of 4 updates that has only the checkpoint of 2."""
        killed = self.folder / "killed"
        stopped = ["train", self.folder / "small.yaml", "--out", killed, "--set",
                   "validation.every_updates=2", "--set", "validation.states=20"]
        self.run_tandem(*stopped, "--set", "train.max_updates=2")
        checkpoint = (killed / "checkpoint.safetensors").read_bytes()
        self.run_tandem("train", "--resume", killed, "--set", "train.max_updates=4")
        (killed / "checkpoint.safetensors").write_bytes(checkpoint)
        first, second = self.event_files(killed)
        first.write_bytes(first.read_bytes() + second.read_bytes())
        second.unlink()
        return killed

    def test_tensorboards_own_reader_reads_it(self):
        try:
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        except ImportError:
            if "TENSORBOARD_REQUIRED" in os.environ:
                raise
            self.skipTest("TensorBoard is not installed (scripts/check_long installs it)")
        run = self.train()
        self.run_tandem("train", "--resume", run, "--set", "train.max_updates=6")
        events = EventAccumulator(str(run))
        events.Reload()
        ours = self.scalars(run)
        self.assertEqual(sorted(events.Tags()["scalars"]), sorted(ours))
        for tag, values in ours.items():
            self.assertEqual({e.step: e.value for e in events.Scalars(tag)}, values)
        self.assertEqual(events.Tags()["tensors"], ["config"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
