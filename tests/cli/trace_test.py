"""Tests trace.json, read as a viewer reads it."""

import json
import sys
import unittest
from collections import defaultdict

from harness import CliTest


class Trace:
    def __init__(self, path):
        events = json.loads(path.read_text())["traceEvents"]
        self.tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.spans = [e for e in events if e["ph"] == "X"]
        self.starts = {e["id"]: e for e in events if e["ph"] == "s"}
        self.ends = {e["id"]: e for e in events if e["ph"] == "f"}

    def of(self, track):
        return [e for e in self.spans if self.tracks[e["tid"]] == track]

    def numbered(self, track, name):
        return {e["args"]["number"]: e for e in self.of(track) if e["name"] == name}


def end(span):
    return span["ts"] + span["dur"]


def overlap(one, other):
    return min(end(one), end(other)) - max(one["ts"], other["ts"])


# Times are whole nanoseconds, written as microseconds.
ROUNDING = 0.002


class TraceTest(CliTest):
    def trace(self, *sets):
        words = [word for key in ("profile.trace_updates=5",) + sets for word in ("--set", key)]
        run = self.train_small(*words)
        return Trace(run / "trace.json")

    def check_nesting(self, trace):
        by_track = defaultdict(list)
        for span in trace.spans:
            by_track[span["tid"]].append(span)
        self.assertGreaterEqual(len(by_track), 3)
        for spans in by_track.values():
            open_spans = []
            for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
                while open_spans and end(open_spans[-1]) <= span["ts"] + ROUNDING:
                    open_spans.pop()
                if open_spans:
                    self.assertLessEqual(end(span), end(open_spans[-1]) + ROUNDING,
                                         (span, open_spans[-1]))
                open_spans.append(span)

    def check_arrows(self, trace):
        self.assertEqual(trace.starts.keys(), trace.ends.keys())
        fills = trace.numbered("generator", "fill")
        trainings = trace.numbered("main", "train")
        for number, start in trace.starts.items():
            finish = trace.ends[number]
            self.assertLess(start["ts"], finish["ts"])
            for arrow, span in ((start, fills[number]), (finish, trainings[number])):
                self.assertEqual(arrow["tid"], span["tid"])
                self.assertGreaterEqual(arrow["ts"], span["ts"] - ROUNDING)
                self.assertLessEqual(arrow["ts"], end(span) + ROUNDING)

    def test_spans_nest_and_arrows_connect(self):
        for target in ("walk_length", "value_iteration"):
            with self.subTest(target):
                trace = self.trace("generate.target=" + target, "optimizer.max_grad_norm=1")
                self.check_nesting(trace)
                self.check_arrows(trace)
                self.assertEqual(sorted(trace.starts), [0, 1, 2, 3])
                self.assertLessEqual({"main", "generator", "prefetch"}, set(trace.tracks.values()))
                names = {track: {e["name"] for e in trace.of(track)}
                         for track in ("main", "generator", "prefetch")}
                self.assertLessEqual(
                    {"set_up", "update", "train", "iteration", "forward", "backward", "optimizer",
                     "clip_gradients", "wait_for_rows", "wait_for_batch", "keep_state"},
                    names["main"])
                self.assertLessEqual({"gather", "host_to_device"}, names["prefetch"])
                if target == "value_iteration":
                    self.assertLessEqual({"fill", "evaluate"}, names["generator"])
                    self.assertIn("back_up", {span["name"] for span in trace.spans})
            self.forget_run()

    def forget_run(self):
        (self.folder / "run").rename(self.folder / f"run-{len(list(self.folder.iterdir()))}")

    def test_async_fills_the_next_buffer_while_it_trains(self):
        # The training is long, because the generator thread may get a core late on a busy machine.
        trace = self.trace("generate.target=value_iteration", "network.width=512", "network.blocks=4",
                           "train.batch_size=250", "train.iterations_per_update=15")
        fills = trace.numbered("generator", "fill")
        trainings = trace.numbered("main", "train")
        for k in range(3):
            self.assertLessEqual(trace.starts[k]["ts"], trainings[k]["ts"])
        self.assertTrue(any(fills[k + 1]["ts"] < end(trainings[k]) for k in range(3)))

    def test_sequential_does_not_overlap(self):
        trace = self.trace("pipeline.mode=sequential")
        self.check_nesting(trace)
        self.check_arrows(trace)
        fills = trace.numbered("generator", "fill")
        trainings = trace.numbered("main", "train")
        for k in range(3):
            # Do not compare with the end of the fill, because the buffer is handed over slightly earlier.
            self.assertLessEqual(trace.starts[k]["ts"], trainings[k]["ts"])
            self.assertLessEqual(end(trainings[k]), fills[k + 1]["ts"])

    def test_a_range_of_updates_is_traced(self):
        trace = self.trace("profile.trace_from=1", "profile.trace_updates=2")
        self.assertEqual(sorted(trace.numbered("main", "update")), [1, 2])
        self.assertEqual(sorted(trace.numbered("main", "iteration")), list(range(5, 15)))
        self.check_nesting(trace)
        self.check_arrows(trace)

    def test_warns_if_the_run_ends_before_the_traced_updates(self):
        config = self.write("small.yaml", "train: {batch_size: 50, iterations_per_update: 2}\n")
        _, log = self.run_tandem("train", config, "--out", "run", "--set", "train.max_updates=2",
                                 "--set", "profile.trace_updates=5", "--set", "profile.trace_from=50")
        self.assertIn("no trace: the run ended before update 50, `profile.trace_from`", log)
        self.assertFalse((self.folder / "run" / "trace.json").exists())

    def test_warns_once_if_the_run_resumes_after_the_traced_updates(self):
        run = self.train_small()
        _, log = self.run_tandem("train", "--resume", run, "--set", "train.max_updates=9", "--set",
                                 "profile.trace_updates=2")
        self.assertEqual(log.count("no trace: the run resumed after the 2 updates from update 0"), 1)
        self.assertFalse((run / "trace.json").exists())

    def test_reports_the_size(self):
        config = self.write("small.yaml", "train: {batch_size: 50, iterations_per_update: 2}\n")
        run = self.folder / "run"
        _, log = self.run_tandem("train", config, "--out", run, "--set", "train.max_updates=1",
                                 "--set", "profile.trace_updates=5")
        self.assertRegex(log, r"run/trace.json: \d+(\.\d+)? \w+ of trace")

    def test_without_the_key_there_is_no_file(self):
        self.assertFalse((self.train_small() / "trace.json").exists())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
