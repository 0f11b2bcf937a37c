"""Tests `tandem evaluate`: its tables, its files, and errors about runs, checkpoints and states."""

import json
import shutil
import signal
import subprocess
import sys
import unittest

from harness import SOLVED, SOURCE, TANDEM, CliTest

TILES = """\
domain: {name: npuzzle, size: 3}
network: {width: 32, blocks: 1}
generate: {max_scramble: 12}
train: {batch_size: 200, iterations_per_update: 20, max_updates: 5}
validation: {every_updates: 2, states: 20}
checkpoint: {keep_every: 2}
search: {beam_width: 200, max_length: 60}
"""
STATES = [("1 2 3 4 5 6 7 8 0", 0), ("1 2 3 4 5 6 7 0 8", 1), ("1 2 3 4 5 6 0 7 8", 2),
          ("1 2 3 4 0 5 7 8 6", 2)]

NETWORK_KEYS = ["name", "file", "iterations", "examples", "trained_s", "states", "solved",
                "solve_rate", "mean_length", "nodes", "nodes_per_s", "seconds", "mean_s",
                "slowest_s"]
OPTIMAL_KEYS = ["with_optimal", "optimal", "share_optimal", "mean_optimal", "value_error",
                "by_length"]


class Evaluate(CliTest):
    def train(self, *args, config=TILES, name="run"):
        self.run_tandem("train", self.write(f"{name}.yaml", config), "--out", name, "--device",
                        "cpu", *args)
        return self.folder / name

    def states(self, with_optimal=True):
        lines = [{"state": state, "optimal": optimal} if with_optimal else {"state": state}
                 for state, optimal in STATES]
        return self.write("states.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def error_of(self, *args):
        out, error = self.run_tandem("evaluate", *args, code=2)
        self.assertEqual(out, "")
        return error

    def test_says_if_two_names_are_the_same_network(self):
        run = self.train()
        shutil.copy(run / "checkpoint.safetensors", run / "best.safetensors")
        out, log = self.run_tandem("evaluate", run, "--states", self.states(), "--checkpoints",
                                   "best,last")
        self.assertEqual(log.count("last is the same network as best"), 1)
        self.assertRegex(out.splitlines()[1], r"^best ")

    def test_evaluates_every_checkpoint_and_names_the_one_that_solves_best(self):
        run = self.train()
        self.assertEqual(sorted(p.name for p in run.glob("checkpoint-*")),
                         ["checkpoint-2.safetensors", "checkpoint-4.safetensors"])
        out, log = self.run_tandem("evaluate", run, "--states", self.states(), "--checkpoints",
                                   "all", "--untrained", "--json", "results.json")
        table = out.splitlines()
        self.assertRegex(table[0], r"^network +iterations +solved +% +mean length +% optimal +value "
                                   r"error +nodes +nodes/s +mean s +slowest s$")
        names = ["untrained", "update 2", "update 4", "last"]
        self.assertEqual([line[:9].rstrip() for line in table[1:5]], names)
        self.assertIn("[4/4] last: solved 4 of 4", log)
        self.assertIn("4 states are few to choose a network by: use at least 100", log)

        results = json.loads((self.folder / "results.json").read_text())
        self.assertEqual(list(results), ["schema", "run", "domain", "states", "search", "beam_width",
                                         "networks", "best"])
        self.assertEqual((results["schema"], results["domain"], results["search"],
                          results["beam_width"]), (1, "npuzzle:3", "beam", 200))
        networks = results["networks"]
        self.assertEqual([n["name"] for n in networks], names)
        self.assertEqual([n["iterations"] for n in networks], [0, 40, 80, 100])
        self.assertEqual([n["examples"] for n in networks], [0, 8000, 16000, 20000])
        seconds = [n["trained_s"] for n in networks]
        self.assertEqual(seconds, sorted(seconds))
        for network in networks:
            self.assertEqual(list(network), NETWORK_KEYS + OPTIMAL_KEYS)
            self.assertEqual((network["states"], network["with_optimal"]), (4, 4))
            self.assertGreaterEqual(network["slowest_s"], 0)
            self.assertEqual([(n["length"], n["states"]) for n in network["by_length"]],
                             [(0, 1), (1, 1), (2, 2)])
        self.assertEqual(len({n["value_error"] for n in networks}), 4)  # each has its own weights
        best = next(n for n in networks if n["name"] == results["best"])
        self.assertIn(f"best by solving: {best['name']}, which solves {best['solved']} of 4", out)
        self.assertEqual(best["solved"], max(n["solved"] for n in networks))

    def test_evaluates_the_last_network_and_leaves_out_what_is_unknown(self):
        run = self.train()
        before = sorted(p.name for p in run.iterdir())
        states = self.states(with_optimal=False)
        out, _ = self.run_tandem("evaluate", run, "--states", states, "--limit", 2, "--json",
                                 "results.json", "--search", "astar", "--weight", 0.5)
        self.assertNotIn("optimal", out)
        self.assertNotIn("value error", out)
        self.assertNotIn("best by solving", out)
        results = json.loads((self.folder / "results.json").read_text())
        self.assertEqual((results["search"], results["weight"], results["best"]),
                         ("astar", 0.5, "last"))
        self.assertEqual([list(n) for n in results["networks"]], [NETWORK_KEYS])
        self.assertEqual(results["networks"][0]["states"], 2)
        self.assertEqual(sorted(p.name for p in run.iterdir()), before)

    def test_an_unsolved_state_is_a_result(self):
        run = self.train()
        out, _ = self.run_tandem("evaluate", run, "--states", self.states(), "--set",
                                 "search.max_length=1")
        self.assertIn("2 of 4", out)

    def test_a_policy_is_evaluated_without_estimates(self):
        run = self.train("--set", "network.head=policy", "--set", "generate.target=policy")
        out, _ = self.run_tandem("evaluate", run, "--states", self.states(), "--json",
                                 "results.json")
        self.assertIn("% optimal", out)
        self.assertNotIn("value error", out)
        network = json.loads((self.folder / "results.json").read_text())["networks"][0]
        self.assertEqual(network["with_optimal"], 4)
        self.assertNotIn("value_error", network)

    def test_anytime_beam_is_described_by_its_time(self):
        run = self.train()
        _, log = self.run_tandem("evaluate", run, "--states", self.states(), "--search",
                                 "anytime_beam", "--set", "search.max_seconds=0.2")
        self.assertIn("anytime beam search with width 200 within 200 ms", log)

    def test_a_run_without_kept_checkpoints_says_so(self):
        run = self.train(config=TILES.replace("keep_every: 2", "keep_every: 0"))
        _, log = self.run_tandem("evaluate", run, "--states", self.states(), "--checkpoints", "all")
        self.assertIn("has kept no earlier networks", log)
        self.assertIn("checkpoint.keep_every", log)

    def test_a_resumed_run_keeps_networks_of_its_own_updates_only(self):
        config = TILES.replace("max_updates: 5", "max_updates: 4")
        run = self.train(config=config)
        stale = run / "checkpoint-6.safetensors"
        shutil.copy(run / "checkpoint-4.safetensors", stale)
        self.run_tandem("train", "--resume", run, "--set", "train.max_updates=5", "--set",
                        "checkpoint.keep_every=5")
        self.assertEqual(sorted(p.name for p in run.glob("checkpoint-*")),
                         ["checkpoint-2.safetensors", "checkpoint-4.safetensors", "checkpoint-5.safetensors"])

    def test_rejects_what_it_cannot_evaluate(self):
        run = self.train()
        states = self.states()
        self.assertIn("nowhere: no such folder", self.error_of("nowhere", "--states", states))
        self.assertIn("nothing.txt", self.error_of(run, "--states", "nothing.txt"))
        empty = self.write("empty.txt", "\n")
        self.assertIn("no state found; expected", self.error_of(run, "--states", empty))
        cubes = self.write("cubes.txt", SOLVED + "\n")
        error = self.error_of(run, "--states", cubes)
        self.assertIn("cubes.txt:1: ", error)
        self.assertIn("Expected states of npuzzle:3, the puzzle of", error)
        self.assertIn("--checkpoints later: expected last, best or an existing file",
                      self.error_of(run, "--states", states, "--checkpoints", "last,later"))
        self.assertIn("no/results.json",
                      self.error_of(run, "--states", states, "--json", "no/results.json"))
        self.assertIn("--json states.jsonl: this is the file of the states",
                      self.error_of(run, "--states", states, "--json", "states.jsonl"))
        self.assertIn(f"--json {run}/config.yaml: a run writes this file into its folder",
                      self.error_of(run, "--states", states, "--json", run / "config.yaml"))

    def test_rejects_checkpoints_that_do_not_fit_before_the_first_search(self):
        run = self.train()
        states = self.states()
        wide = self.train("--set", "network.width=48", name="wide")
        error = self.error_of(run, "--states", states, "--checkpoints", wide / "checkpoint.safetensors")
        self.assertIn("wide/checkpoint.safetensors", error)
        self.assertNotIn("[1/", error)
        larger = self.train("--set", "domain.size=4", "--set", "validation.every_updates=0",
                            name="larger")
        error = self.error_of(run, "--states", states, "--checkpoints", larger / "checkpoint.safetensors")
        self.assertIn("larger/checkpoint.safetensors", error)
        self.assertIn("npuzzle:4", error)
        (run / "checkpoint-2.safetensors").write_bytes(b"torn")
        error = self.error_of(run, "--states", states, "--checkpoints", "all")
        self.assertIn("checkpoint-2.safetensors: not a safetensors file", error)

    def test_the_best_network_can_be_evaluated_if_the_last_one_is_damaged(self):
        run, states = self.train(), self.states()
        for damaged in (b"torn", (run / "checkpoint.safetensors").read_bytes()[:-2000]):
            (run / "checkpoint.safetensors").write_bytes(damaged)
            for which in ("last", "all"):
                error = self.error_of(run, "--states", states, "--checkpoints", which)
                self.assertIn("checkpoint.safetensors: ", error)
                self.assertIn(". Use --checkpoints best, the network that solved most", error)
            self.run_tandem("evaluate", run, "--states", states, "--checkpoints", "best")

    def test_a_run_with_only_earlier_checkpoints_has_no_network_to_evaluate(self):
        run, states = self.train(), self.states()
        (run / "checkpoint.safetensors").rename(run / "previous-1.safetensors")
        for file in [*run.glob("checkpoint-*.safetensors"), *run.glob("best*.safetensors")]:
            file.unlink()
        for which in (("all",), ("all", "--untrained")):
            error = self.error_of(run, "--states", states, "--checkpoints", *which)
            self.assertIn("run has no checkpoint.safetensors.", error)

    def test_a_checkpoint_of_another_run_has_no_place_in_the_training(self):
        run, other = self.train(), self.train("--seed", 2, name="other")
        states, file = self.states(), other / "checkpoint.safetensors"
        self.run_tandem("evaluate", run, "--states", states, "--checkpoints", file, "--json", "a.json")
        network = json.loads((self.folder / "a.json").read_text())["networks"][0]
        self.assertEqual((network["examples"], network["trained_s"]), (None, None))

    def test_ctrl_c_reports_what_is_done_and_writes_no_file(self):
        config = TILES.replace("name: npuzzle, size: 3", "name: cube3")
        run = self.train(config=config)
        hard = json.loads((SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()[0])
        states = self.write("states.txt", f"{SOLVED}\n{hard['state']}\n")
        program = subprocess.Popen(
            [TANDEM, "evaluate", run, "--states", states, "--checkpoints", "all", "--beam-width",
             "100000", "--set", "search.max_length=100000", "--json", self.folder / "results.json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = ""
        while "networks on 2 states" not in line:  # from then on it handles signals
            line = program.stderr.readline()
            self.assertNotEqual(line, "")
        program.send_signal(signal.SIGINT)
        out, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 130, error)
        self.assertIn("stopped after 0 of 3 networks; no file was written", error)
        if out:  # unless the signal came before the solved cube was counted
            self.assertRegex(out, r"update 2 \(stopped\) +40 +1 of 1 ")
        self.assertNotIn("best by solving", out)
        self.assertEqual(list(self.folder.glob("results.json*")), [])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
