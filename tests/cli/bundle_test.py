"""Tests the bundle for other machines and the suite that runs there. They run on the CPU with small
settings, and with stub programs in place of Tandem's."""

import fnmatch
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest, load_script

# Libraries that the other machine or its LibTorch provides.
ELSEWHERE = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so.*"
                       r"|lib(torch|c10|cudart|gomp).*)$")

CUDA = "" if (TANDEM.parent / "libtandem_cuda.so").exists() else "no"


class Bundle(CliTest):
    def make_bundle(self, code=0, **environment):
        result = subprocess.run([SOURCE / "scripts/bundle", self.folder / "made"],
                                capture_output=True, text=True,
                                env={**os.environ, "BUILD": str(TANDEM.parent), "CUDA": CUDA,
                                     **environment})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stderr

    def libraries_wanted(self, folder):
        files = [*(folder / "bin").iterdir(), *(folder / "lib").iterdir()]
        said = subprocess.run(["readelf", "-d", *files], capture_output=True, text=True).stdout
        return set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))

    def test_runs_without_the_build_folder(self):
        path = f"{self.python_with_torch().parent}:{os.environ['PATH']}"
        self.make_bundle(STALE="yes")
        bundle = self.folder / "moved"
        shutil.move(self.folder / "made", bundle)
        wanted = self.libraries_wanted(bundle)
        self.assertIn("libzstd.so.1", wanted)
        missing = {name for name in wanted - set(os.listdir(bundle / "lib"))
                   if not ELSEWHERE.match(name)}
        self.assertEqual(missing, set())
        kept = self.folder / "kept"
        result = subprocess.run([bundle / "gpu_suite", "--device", "cpu", "--small",
                                 "--updates", "3", "--out", kept / "suite.json", "--keep", kept],
                                cwd=self.folder, capture_output=True, text=True, timeout=400,
                                env={**os.environ, "PATH": path})
        suite = json.loads((kept / "suite.json").read_text())
        steps = {step["step"]: step for step in suite["steps"]}
        of_cuda = re.compile("tests |.* benchmark$")  # not built everywhere
        failed = [step for name, step in steps.items() if step["outcome"] != "passed" and
                  not (of_cuda.match(name) and step["outcome"].startswith("not started"))]
        self.assertEqual(failed, [], result.stderr)
        self.assertEqual(steps["quickstart"]["figures"]["summary"]["updates"], 3)
        for name in ("solve", "solve-tensor-gpu", "solve-tensor-reference", "solve-domain-reference"):
            self.assertEqual(len(steps[name]["figures"]["cubes"]), 1)
        self.assertGreater(steps["shards"]["figures"]["summary"]["data"]["epochs"], 0)
        of_rank, of_plain = ({key for line in steps[name]["figures"]["last_updates"]
                              for key in json.loads(line)} for name in ("one-rank", "plain-again"))
        self.assertIn("world_size", of_rank - of_plain)
        self.assertEqual(set(steps["modes"]["figures"]["runs"]),
                         {"sequential-seed1", "async-seed1", "sync-main-seed1"})
        self.assertEqual(set(steps["deepcubea"]["figures"]["runs"]),
                         {"sequential-seed1", "async-seed1"})
        self.assertEqual(len(steps["modes"]["figures"]["compare"]["rows"]), 3)
        self.assertEqual([each["net"] for each in steps["pytorch"]["figures"]["results"]],
                         ["train 16H_0B_layer", "beam 16H_0B_layer"])
        self.assertEqual(sorted([*suite["kept"], "suite.json"]), sorted(os.listdir(kept)))
        for name in ("deepcubea-async-traced-trace.json.gz", "modes-async-seed1-trace.json.gz"):
            self.assertTrue(json.loads(gzip.decompress((kept / name).read_bytes()))["traceEvents"])
        log = gzip.decompress((kept / "suite.log.gz").read_bytes()).decode()
        self.assertEqual(re.findall("^=== (.*?): ", log, re.M), list(steps))

    def test_keeps_a_folder_that_is_not_a_bundle(self):
        (self.folder / "made").mkdir()
        self.write("made/precious.txt", "x")
        self.assertIn("is not empty, and not a bundle", self.make_bundle(code=1, STALE="yes"))
        self.assertEqual(os.listdir(self.folder / "made"), ["precious.txt"])

    def make_build_without_cuda(self):
        (self.folder / "build").mkdir()
        for name in ("tandem", "train_bench", "domain_bench", "libtandem.so", "libtandem_torch.so"):
            self.write(f"build/{name}", "")

    def test_rejects_a_build_without_cuda_unless_asked_for(self):
        self.make_build_without_cuda()
        build = {"BUILD": str(self.folder / "build"), "STALE": "yes"}
        said = self.make_bundle(code=1, **build, CUDA="")
        self.assertIn("libtandem_cuda.so is missing", said)
        self.assertIn("CUDA=no", said)
        self.make_bundle(**build, CUDA="no")
        self.assertNotIn("cuda_test", os.listdir(self.folder / "made"))

    def test_rejects_a_build_that_is_out_of_date(self):
        self.make_build_without_cuda()
        self.write("build/source.cc", "")
        self.write("build/build.ninja", "rule link\n  command = true\n"
                                        "build tandem train_bench domain_bench: link source.cc\n")
        said = self.make_bundle(code=1, BUILD=str(self.folder / "build"), CUDA="no")
        self.assertIn("sources have changed", said)


class Suite(CliTest):
    """The suite with stub programs of a few lines each."""

    def setUp(self):
        super().setUp()
        shutil.copy(SOURCE / "scripts/gpu_suite", self.folder)
        self.write("commit", "0")
        self.program("cuda_test", "exit 0")

    def program(self, name, lines):
        (self.folder / name).parent.mkdir(exist_ok=True)
        self.write(name, "#!/bin/sh\n" + lines + "\n").chmod(0o755)

    def start(self, only, *args, variables=None):
        return subprocess.Popen([self.folder / "gpu_suite", "--only", only, "--out",
                                 self.folder / "suite.json", "--keep", self.folder / "kept", *args],
                                stdout=subprocess.PIPE, text=True,
                                env={**os.environ, **(variables or {})})

    def run_suite(self, only, *args, code=1, variables=None):
        with self.start(only, *args, variables=variables) as suite:
            said, _ = suite.communicate(timeout=60)
        self.assertEqual(suite.returncode, code, said)
        return self.steps()

    def steps(self):
        steps = json.loads((self.folder / "suite.json").read_text())["steps"]
        return {step["step"]: step for step in steps}

    def assert_ended(self, pid_file):
        pid = int((self.folder / pid_file).read_text())

        def ended():  # init may not have reaped it yet
            try:
                return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
            except (FileNotFoundError, ProcessLookupError):
                return True
        self.wait_until(ended)

    def test_runs_only_what_is_asked_for(self):
        self.program("tandem", "exit 0")
        self.assertEqual(list(self.run_suite("deepcubea", code=0)),
                         ["load", "deepcubea", "deepcubea-sequential-traced", "deepcubea-async-traced"])
        self.assertEqual(list(self.run_suite("modes", "--device", "cpu", code=0)), ["modes"])
        self.run_suite("modes,nothing", code=2)

    def test_three_calls_make_all_steps_within_a_quarter_of_an_hour(self):
        self.program("tandem", "exit 0")
        self.program("gpu_bench", "exit 0")
        self.program("bench/beside_pytorch", "exit 0")
        self.program("bench/beside_deepxube", "exit 0")
        self.program("programs/deepxube", "exit 0")
        path = f"{self.folder / 'programs'}:{os.environ['PATH']}"
        steps = []
        for call in ("1", "2", "3"):
            subprocess.run([self.folder / "gpu_suite", "--call", call, "--device", "cpu", "--out",
                            self.folder / "suite.json"], check=True, capture_output=True,
                           env={**os.environ, "PATH": path})
            steps += self.steps()
        self.assertEqual(steps, ["tests device", "tests passes", "tests steps", "tests permute",
                                 "tests runs", "step benchmark", "evaluation benchmark",
                                 "kernel benchmark", "generation benchmark", "beam benchmark",
                                 "deepcubea", "deepcubea-sequential-traced",
                                 "deepcubea-async-traced", "plain", "one-rank", "plain-again",
                                 "one-rank-again", "modes", "overlap", "wide",
                                 "deepcubea-autograd", "generate", "shards", "shards-in-memory",
                                 "deepcubea-tensor", "quickstart-tensor", "four-million",
                                 "solve-tensor-gpu", "solve-tensor-reference",
                                 "solve-domain-reference", "cube3_gpu", "solve-published",
                                 "quickstart", "solve", "pytorch", "deepxube"])
        suite = load_script("gpu_suite")
        out = ["--out", str(self.folder / "suite.json")]
        most = sum(suite.parse_options([*out, "--call", str(call)]).seconds + 2 * suite.GRACE
                   for call in suite.CALLS)
        self.assertLessEqual(most, (15 - 2.5) * 60)
        self.assertEqual(suite.parse_options([*out, "--call", "1", "--seconds", "60"]).seconds, 60)
        self.assertEqual(suite.parse_options(out).only,
                         [step.__name__ for _, call in suite.CALLS.values() for step in call])

    def test_leaves_out_deepxube_if_path_does_not_have_it(self):
        path = {"PATH": str(pathlib.Path(sys.executable).parent)}
        self.assertEqual(self.run_suite("deepxube", "--device", "cpu", code=0, variables=path), {})
        self.assertIn("deepxube", json.loads((self.folder / "suite.json").read_text())["left_out"])

    def test_runs_the_deepxube_that_path_has(self):
        self.program("programs/deepxube", "exit 0")
        self.program("bench/beside_deepxube", 'echo "$@"')
        path = {"PATH": f"{self.folder / 'programs'}:{os.environ['PATH']}"}
        step = self.run_suite("deepxube", "--device", "cpu", code=0, variables=path)["deepxube"]
        self.assertIn(f"--deepxube {self.folder / 'programs'} ", step["output"])
        self.assertIn("--device cpu ", step["output"])

    def test_every_test_is_in_one_group(self):
        suite = load_script("gpu_suite")
        positive = [which for group, which in suite.TESTS.items() if group != "device"]
        self.assertEqual(suite.TESTS["device"], "-" + ":".join(positive))
        tests = "".join(path.read_text() for path in (SOURCE / "tests/gpu").glob("*.cc"))
        names = [f"{suite}.{test}" for suite, test in re.findall(r"^TEST_[FP]\((\w+), (\w+)\)",
                                                                 tests, re.M)]
        for which in ":".join(positive).split(":"):
            pattern = which.removeprefix("Every/")
            self.assertTrue(fnmatch.filter(names, pattern), f"no test has a name like {which}")

    def test_reads_benchmarks_of_a_program_that_was_stopped(self):
        self.program("cuda_test", "exit 0")
        self.program("gpu_bench", """for word; do out=${word#--benchmark_out=}; done
            printf '{
  "context": {"caches": [
      {
        "level": 1
      }
    ]},
  "benchmarks": [
    {
      "name": "TrainingStep/net:1/rows:10000/way:3/real_time",
      "FLOP/s": 6e14
    },
    {
      "name": "ProductsOfAStep/net:1/rows:10000/real_time",
      "FLOP/s": 8e14
    },
    {
      "name": "TrainingSt' > "$out"
            kill -SEGV $$""")
        step = self.run_suite("benchmarks")["step benchmark"]
        self.assertEqual(step["outcome"], "exit -11")
        self.assertEqual(step["figures"]["shares"], {"TrainingStep/net:1/rows:10000/way:3": 0.75})
        suite = load_script("gpu_suite")
        self.assertEqual(suite.benchmarks_of('{"benchmarks": [')["benchmarks"], [])
        with self.assertRaises(ValueError):
            suite.benchmarks_of('{"context"')

    def test_reads_tests_of_a_program_that_crashed(self):
        self.program("cuda_test", """case $1 in *list*) exit 0;; esac
            echo '[ RUN      ] Cuda.First'; echo '[       OK ] Cuda.First (3 ms)'
            echo '[ RUN      ] Cuda.Second'; echo '[  FAILED  ] Cuda.Second (3 ms)'
            echo '[ RUN      ] Cuda.Third'; kill -SEGV $$""")
        step = self.run_suite("tests")["tests device"]
        self.assertEqual(step["figures"], {"passed": ["Cuda.First"], "failed": ["Cuda.Second"],
                                           "last": ["Cuda.Third"]})
        log = gzip.decompress((self.folder / "kept/suite.log.gz").read_bytes()).decode()
        self.assertEqual(log.count("[ RUN      ] Cuda.Third"), 5)

    def test_shares_compare_a_step_with_its_own_products(self):
        self.program("cuda_test", "exit 0")
        self.program("gpu_bench", """for word; do out=${word#--benchmark_out=}; done
            echo '{"benchmarks": [
              {"name": "TrainingStep/net:1/rows:10000/way:3/real_time", "FLOP/s": 6e14},
              {"name": "TrainingStep/net:1/rows:1000/way:3/real_time", "error_occurred": true},
              {"name": "ProductsOfAStep/net:1/rows:10000/real_time", "FLOP/s": 8e14},
              {"name": "ProductsOfAStep/net:0/rows:10000/real_time", "FLOP/s": 1e14},
              {"name": "Evaluation/net:1/copy:2/real_time", "FLOP/s": 2e14},
              {"name": "ProductsOfAnEvaluation/net:1/real_time", "FLOP/s": 8e14}]}' > "$out" """)
        steps = self.run_suite("benchmarks")
        self.assertEqual(steps["step benchmark"]["figures"]["shares"],
                         {"TrainingStep/net:1/rows:10000/way:3": 0.75,
                          "Evaluation/net:1/copy:2": 0.25})

    def test_skipped_tests_and_benchmarks_are_failures(self):
        self.program("cuda_test", """case $1 in *list*) exit 0;; esac
            for word; do out=${word#--gtest_output=json:}; done
            echo '{"testsuites": [{"testsuite": [{"name": "Copies", "result": "SKIPPED"}]}]}' \\
              > "$out" """)
        self.program("gpu_bench", """for word; do out=${word#--benchmark_out=}; done
            echo '{"benchmarks": [{"name": "Apply", "error_occurred": true}]}' > "$out" """)
        steps = self.run_suite("tests,benchmarks")
        self.assertEqual(steps["tests device"]["outcome"], "passed, 1 skipped")
        self.assertEqual(steps["kernel benchmark"]["figures"]["skipped"], ["Apply"])
        self.assertEqual(steps["step benchmark"]["outcome"], "passed, 1 skipped")
        self.run_suite("tests,benchmarks", "--device", "cpu", code=0)

    # A stub comparison: one run is done, and the second run never ends.
    COMPARE = """while [ "$1" != --out ]; do shift; done
        mkdir -p "$2/async-seed1" "$2/sequential-seed1"
        echo "$2" > FOLDER/out; echo weights > "$2/async-seed1/checkpoint.safetensors"
        echo weights > "$2/sequential-seed1/checkpoint.safetensors"
        echo '{"updates": 7}' > "$2/async-seed1/summary.json"
        echo '{"update": 3}' > "$2/sequential-seed1/metrics.jsonl"
        echo done > "$2/async-seed1.log"; echo at work > "$2/sequential-seed1.log"
        echo comparing >&2
        sleep 1000 & echo $! > FOLDER/child.new
        mv FOLDER/child.new FOLDER/child
        wait"""

    # Python runs this when it starts. An hour passes once the stub comparison has written its files.
    CLOCK = """import os, time
real = time.monotonic
time.monotonic = lambda: real() + 3600 * os.path.exists("FOLDER/child")
"""

    def test_writes_a_run_s_figures_and_deletes_its_checkpoint_while_the_next_one_trains(self):
        self.program("tandem", self.COMPARE.replace("FOLDER", str(self.folder)))
        with self.start("deepcubea", "--device", "cpu") as suite:
            figures = {}

            def has_figures():
                if (self.folder / "suite.json").exists():
                    figures.update(self.steps()["deepcubea"].get("figures", {}))
                return figures
            self.wait_until(has_figures, suite)
            self.assertEqual(list(figures["runs"]), ["async-seed1"])
            self.assertEqual(figures["runs"]["async-seed1"]["summary"]["updates"], 7)
            runs = pathlib.Path((self.folder / "out").read_text().strip())
            self.assertFalse((runs / "async-seed1/checkpoint.safetensors").exists())
            self.assertTrue((runs / "sequential-seed1/checkpoint.safetensors").exists())
            suite.send_signal(signal.SIGTERM)
            suite.communicate(timeout=60)
        self.assertEqual(list(self.steps()["deepcubea"]["figures"]["runs"]),
                         ["async-seed1", "sequential-seed1"])

    def test_keeps_results_from_before_time_ran_out(self):
        self.program("tandem", self.COMPARE.replace("FOLDER", str(self.folder)))
        self.write("sitecustomize.py", self.CLOCK.replace("FOLDER", str(self.folder)))
        steps = self.run_suite("modes,deepcubea", variables={"PYTHONPATH": str(self.folder)})
        modes = steps["modes"]
        self.assertRegex(modes["outcome"], r"^stopped after \d+ s")
        self.assertIn("comparing", modes["output"])
        runs = modes["figures"]["runs"]
        self.assertEqual(runs["async-seed1"]["summary"]["updates"], 7)
        self.assertIn('"update": 3', runs["sequential-seed1"]["last_updates"][0])
        self.assertIn("at work", runs["sequential-seed1"]["log"])
        self.assertEqual(os.listdir(self.folder / "kept"), ["suite.log.gz"])
        self.assertEqual(steps["deepcubea"]["outcome"], "not run: out of time")
        self.assert_ended("child")

    def test_keeps_results_and_leaves_no_process_if_terminated(self):
        self.program("tandem", self.COMPARE.replace("FOLDER", str(self.folder)))
        with self.start("modes,deepcubea") as suite:
            child = self.folder / "child"
            self.wait_until(lambda: child.exists() and child.read_text(), suite)
            suite.send_signal(signal.SIGTERM)
            suite.communicate(timeout=60)
        self.assertEqual(suite.returncode, 1)
        steps = self.steps()
        self.assertEqual(steps["modes"]["outcome"], "exit -15")
        self.assertEqual(steps["modes"]["figures"]["runs"]["async-seed1"]["summary"]["updates"], 7)
        self.assertEqual(steps["deepcubea"]["outcome"], "not run: out of time")
        self.assert_ended("child")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
