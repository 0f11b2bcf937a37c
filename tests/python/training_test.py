"""Tests tandem.Training, train and resume: runs that are watched, stopped and resumed."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types
import unittest

import numpy as np
import torch
from safetensors import safe_open

import tandem
from small_run import SMALL, FolderTest

LONG = {"train.max_updates": 1_000_000, "train.iterations_per_update": 50}


class Watching(FolderTest):
    def test_the_callback_sees_every_update(self):
        seen = []
        result = tandem.train(SMALL, self.folder / "run", on_update=seen.append)
        self.assertEqual([progress.updates for progress in seen], [1, 2, 3, 4, 5, 6])
        self.assertEqual([progress.examples for progress in seen],
                         [500, 1000, 1500, 2000, 2500, 3000])
        self.assertIsNone(seen[1].solve_rate)
        self.assertGreaterEqual(seen[2].solve_rate, 0)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertEqual(result.weights_sha256, summary["weights_sha256"])
        self.assertEqual(result.final_loss, seen[-1].loss)
        self.assertEqual(result.solve_rate, seen[-1].solve_rate)
        lines = (self.folder / "run" / "metrics.jsonl").read_text().splitlines()
        for progress, line in zip(seen, lines, strict=True):
            self.assertAlmostEqual(progress.loss, json.loads(line)["loss"], places=3)

    @unittest.skipUnless("TANDEM" in os.environ, "TANDEM does not name the program")
    def test_the_program_gives_the_same_weights(self):
        config = self.folder / "small.yaml"
        config.write_text(tandem.load_config(SMALL).to_yaml())
        subprocess.run([os.environ["TANDEM"], "train", config, "--out", self.folder / "theirs"],
                       check=True, capture_output=True)
        theirs = json.loads((self.folder / "theirs" / "summary.json").read_text())
        ours = tandem.train(config, self.folder / "ours")
        self.assertEqual(ours.weights_sha256, theirs["weights_sha256"])

    def test_settings_change_the_config(self):
        result = tandem.train(SMALL, self.folder / "run", {"train.max_updates": 2})
        self.assertEqual(result.updates, 2)

    def test_settings_of_torch_do_not_change_the_weights(self):
        config = {**SMALL, "backend": "reference"}
        expected = tandem.train(config, self.folder / "plain").weights_sha256
        for name, mode in [("no_grad", torch.no_grad()), ("inference", torch.inference_mode()),
                           ("autocast", torch.autocast("cpu", dtype=torch.bfloat16))]:
            with mode:
                result = tandem.train(config, self.folder / name)
                states = tandem.Domain("cube2").scramble(3, 5)
                self.assertEqual(tandem.Network(self.folder / name).evaluate(states).shape, (3,))
            self.assertEqual(result.weights_sha256, expected, name)

    def test_another_default_type_of_tensors_is_a_value_error(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        with self.assertRaisesRegex(ValueError, "torch.set_default_dtype"):
            tandem.train(SMALL, self.folder / "run")


class CudaLibrary(unittest.TestCase):
    # Tandem opens this library if there is a driver. Nothing that Python opens for the extension is
    # visible to it, so it must find the rest of Tandem by itself.
    def test_loads_into_a_python_with_tandem(self):
        library = pathlib.Path(os.environ.get("TANDEM", "tandem")).with_name("libtandem_cuda.so")
        if not library.exists():
            self.skipTest(f"{library} was not built")
        done = subprocess.run([sys.executable, "-c",
                               "import ctypes, sys, tandem\nctypes.CDLL(sys.argv[1])", library],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class Ending(FolderTest):
    def test_a_run_that_was_left_early_resumes_with_the_same_weights(self):
        whole = tandem.train(SMALL, self.folder / "whole")
        with tandem.Training(SMALL, self.folder / "run") as run:
            for progress in run:
                if progress.updates == 3:
                    break
        self.assertEqual(run.result.updates, 3)
        resumed = tandem.resume(self.folder / "run")
        self.assertEqual(resumed.updates, 6)
        self.assertEqual(resumed.weights_sha256, whole.weights_sha256)

    def test_a_callback_that_cannot_be_called_is_refused_before_the_run_begins(self):
        for begin in (lambda: tandem.train(SMALL, self.folder / "run", on_update=5),
                      lambda: tandem.resume(self.folder / "run", on_update=5)):
            with self.assertRaisesRegex(TypeError, "on_update: found 5, expected a function"):
                begin()
        self.assertFalse((self.folder / "run").exists())

    def test_an_exception_in_the_callback_leaves_a_checkpoint(self):
        def fail(progress):
            if progress.updates == 2:
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            tandem.train(SMALL, self.folder / "run", on_update=fail)
        with tandem.Training.resume(self.folder / "run") as run:
            self.assertEqual(run.progress.updates, 2)
            self.assertEqual(run.run_update().updates, 3)

    def interrupt_soon(self, folder, once="metrics.jsonl"):
        """Sends SIGINT once the run has made a file."""
        def interrupt():
            deadline = time.monotonic() + 60
            while not (folder / once).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        self.addCleanup(thread.join)

    def test_ctrl_c_during_an_update_writes_a_checkpoint_and_raises(self):
        folder = self.folder / "run"
        self.interrupt_soon(folder)
        with self.assertRaises(KeyboardInterrupt):
            tandem.train(SMALL, folder, LONG)
        with safe_open(folder / "checkpoint.safetensors", "pt") as opened:
            checkpoint = json.loads(opened.metadata()["tandem"])
        self.assertGreater(checkpoint["iterations"], 0)
        with tandem.Training.resume(folder) as run:
            done = run.progress.updates
            self.assertEqual(run.run_update().updates, done + 1)

    def test_ctrl_c_before_the_first_update_leaves_no_folder(self):
        folder = self.folder / "run"
        self.interrupt_soon(folder, once="config.yaml")  # the claim of the folder
        with self.assertRaises(KeyboardInterrupt):
            tandem.train(SMALL, folder, {"train.max_updates": "auto", "train.max_seconds": 100})
        self.assertFalse(folder.exists())

    def test_close_ends_an_update_in_another_thread(self):
        run = tandem.Training(SMALL, self.folder / "run",
                              {**LONG, "train.iterations_per_update": 100_000})
        began = threading.Event()
        ended = []

        def update():
            began.set()
            try:
                run.run_update()
            except RuntimeError as error:  # closed before it began
                self.assertIn("the run is closed", str(error))
            ended.append(True)

        thread = threading.Thread(target=update)
        thread.start()
        began.wait()
        run.close()  # while the update runs, or just before it
        thread.join()
        self.assertEqual(len(ended), 1)
        self.assertLess(run.progress.iterations, 100_000)

    def test_a_closed_run_raises_instead_of_ending_as_a_complete_one_does(self):
        with tandem.Training(SMALL, self.folder / "run") as run:
            self.assertEqual(run.run_update().updates, 1)
            self.assertFalse(run.closed)
            run.close()
            self.assertTrue(run.closed)
            for method in (run.run_update, run.finish, run.__next__):
                with self.assertRaisesRegex(RuntimeError, "the run is closed"):
                    method()
        self.assertIsNone(run.result)

    def test_several_threads_may_close_a_run_during_an_update(self):
        run = tandem.Training(SMALL, self.folder / "run",
                              {**LONG, "train.iterations_per_update": 100_000})

        def update():
            try:
                run.run_update()
            except RuntimeError as error:  # closed before it began
                self.assertIn("the run is closed", str(error))

        threads = [threading.Thread(target=update)]
        threads += [threading.Thread(target=run.close) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertLess(run.progress.iterations, 100_000)
        run.close()  # raises nothing

    def test_a_handler_of_sigint_is_called_and_stays(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda *_: calls.append("mine"))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        folder = self.folder / "run"
        self.interrupt_soon(folder)
        result = tandem.train(SMALL, folder, LONG)  # the handler does not raise
        self.assertEqual(calls, ["mine"])
        self.assertLess(result.updates, 1_000_000)
        os.kill(os.getpid(), signal.SIGINT)
        self.assertEqual(calls, ["mine", "mine"])

    def test_the_handler_of_sigint_may_close_the_run(self):
        run = tandem.Training(SMALL, self.folder / "run", LONG)
        before = signal.signal(signal.SIGINT, lambda *_: run.close())
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.interrupt_soon(self.folder / "run")
        with self.assertRaisesRegex(RuntimeError, "the run is closed"):
            for _ in run:
                pass

    def test_sigint_with_its_default_action_ends_the_program_after_a_checkpoint(self):
        code = ("import json, os, signal, sys, tandem, threading\n"
                "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
                "run = tandem.Training(json.loads(sys.argv[1]), sys.argv[2])\n"
                "run.run_update()\n"
                "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
                "for progress in run:\n"
                "    pass\n"
                "print('went on')\n")
        config = {**SMALL, "train": {**SMALL["train"], "max_updates": 1_000_000,
                                     "iterations_per_update": 1000}}
        result = subprocess.run([sys.executable, "-c", code, json.dumps(config),
                                 str(self.folder / "run")], capture_output=True, text=True,
                                timeout=120)
        self.assertEqual((result.returncode, result.stdout), (-signal.SIGINT, ""))
        with tandem.Training.resume(self.folder / "run") as run:
            self.assertGreater(run.progress.updates, 0)

    def test_sigint_that_is_ignored_does_not_end_the_run(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        folder = self.folder / "run"
        self.interrupt_soon(folder)
        result = tandem.train(SMALL, folder, {"train.max_updates": 300})
        self.assertEqual(result.updates, 300)

    def test_stop_from_another_thread_ends_the_run(self):
        with tandem.Training(SMALL, self.folder / "run", LONG) as run:
            run.run_update()
            threading.Timer(0.05, run.stop).start()
            for _ in run:
                pass
        self.assertGreater(run.result.updates, 0)

    def test_other_python_threads_run_during_an_update(self):
        ticks = []
        done = threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks.append(time.monotonic())

        with tandem.Training(SMALL, self.folder / "run",
                             {**LONG, "train.iterations_per_update": 1000}) as run:
            run.run_update()
            thread = threading.Thread(target=tick)
            thread.start()
            begin = time.monotonic()
            run.run_update()
            end = time.monotonic()
            done.set()
            thread.join()
        during = [at for at in ticks if begin < at < end]
        self.assertGreater(len(during), 5, f"in {end - begin:.2f} s")

    def test_a_program_that_ends_during_a_run_ends_cleanly(self):
        code = ("import json, sys, tandem\n"
                "run = tandem.Training(json.loads(sys.argv[1]), sys.argv[2])\n"
                "run.run_update()\n"
                "print('updated')\n")
        result = subprocess.run([sys.executable, "-c", code, json.dumps(SMALL),
                                 str(self.folder / "run")], capture_output=True, text=True,
                                timeout=120)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "updated\n", ""))


class Errors(FolderTest):
    def test_an_unknown_key_is_a_value_error_that_suggests_another(self):
        with self.assertRaisesRegex(ValueError, "did you mean `train.batch_size`"):
            tandem.train({"train": {"batch_sise": 3}}, self.folder / "run")
        self.assertFalse((self.folder / "run").exists())

    def test_a_wrong_setting_is_a_value_error(self):
        with self.assertRaisesRegex(ValueError, "setting train.batch_size=0"):
            tandem.load_config(SMALL, {"train.batch_size": 0})

    def test_numbers_of_numpy_and_paths_are_values(self):
        settings = {"train.batch_size": np.int64(7), "train.max_seconds": np.float32(1.5),
                    "validation.file": pathlib.Path("/tmp/states.jsonl")}
        sections = {"train": {"batch_size": np.int64(7), "max_seconds": np.float32(1.5)},
                    "validation": {"file": pathlib.Path("/tmp/states.jsonl")}}
        for config in (tandem.load_config({}, settings), tandem.load_config(sections)):
            self.assertEqual(config["train.batch_size"], "7")
            self.assertEqual(config["train.max_seconds"], "1.5")
            self.assertEqual(config["validation.file"], "/tmp/states.jsonl")
        with self.assertRaisesRegex(ValueError, "of type set, expected a str, a number"):
            tandem.load_config({}, {"train.batch_size": {1, 2}})

    def test_any_mapping_is_a_config(self):
        train = types.MappingProxyType({"batch_size": 7})
        config = tandem.load_config(types.MappingProxyType({"train": train, "seed": 3}))
        self.assertEqual((config["train.batch_size"], config["seed"]), ("7", "3"))
        with self.assertRaisesRegex(ValueError, "train.batch_size: .* of type set, expected a str"):
            tandem.load_config({"train": types.MappingProxyType({"batch_size": {1, 2}})})

    def test_a_path_that_is_not_utf8_is_a_value_error_that_names_its_key(self):
        path = os.fsdecode(b"/tmp/\xff.jsonl")
        for wrong in (path, pathlib.Path(path)):
            with self.assertRaisesRegex(ValueError, "validation.file: .* has bytes that are not UTF-8"):
                tandem.load_config({}, {"validation.file": wrong})
            with self.assertRaisesRegex(ValueError, "validation.file: .* has bytes that are not UTF-8"):
                tandem.load_config({"validation": {"file": wrong}})

    def test_any_letter_may_be_part_of_a_value(self):
        name = "/tmp/\N{JIGSAW PUZZLE PIECE} \N{LINE SEPARATOR}\x7f \N{GREEK SMALL LETTER PI}.jsonl"
        config = tandem.load_config({"validation": {"file": name}})
        self.assertEqual(config["validation.file"], name)
        self.assertEqual(tandem.load_config(config)["validation.file"], name)

    def test_a_folder_that_is_not_empty_is_a_value_error(self):
        (self.folder / "mine").write_text("")
        with self.assertRaisesRegex(ValueError, "not an empty folder"):
            tandem.train(SMALL, self.folder)

    def test_a_complete_run_cannot_be_resumed(self):
        tandem.train(SMALL, self.folder / "run", {"train.max_updates": 1})
        with self.assertRaisesRegex(ValueError, "done all its 1 updates"):
            tandem.resume(self.folder / "run")

    def test_a_config_gives_the_value_of_each_key(self):
        config = tandem.load_config(SMALL, {"checkpoint.keep_every": 2})
        self.assertEqual(config["train.batch_size"], "100")
        self.assertEqual(config["checkpoint.keep_every"], "2")
        with self.assertRaisesRegex(ValueError, "no such key"):
            config["train.nothing"]


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
