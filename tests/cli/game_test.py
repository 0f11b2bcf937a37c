"""Tests games of two players on the command line."""

import json
import os
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest
from common import free_port  # harness adds scripts/ to the path

SMALL = """\
domain: {name: tic_tac_toe}
generate: {target: self_play, simulations: 8, max_scramble: 9}
network: {head: vp, width: 32, blocks: 1}
train: {batch_size: 90, iterations_per_update: 3, max_updates: 4, threads: 1}
inference: {threads: 1}
validation: {every_updates: 0}
search: {method: gumbel, simulations: 100}
"""


class Games(CliTest):
    def start(self, *args, environment=None):
        program = subprocess.Popen([TANDEM, *map(str, args)], cwd=self.folder, env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: program.poll() is None and program.kill())
        return program

    def train(self, *args, code=0):
        config = self.write("small.yaml", SMALL)
        return self.run_tandem("train", config, "--out", self.folder / "run", *args, code=code)[1]

    def solve(self, states, *args, code=0):
        self.write("states.txt", "\n".join(states) + "\n")
        self.printed, _ = self.run_tandem("solve", "--model", "run", "--states", "states.txt", "--out",
                                          "out.jsonl", *args, code=code)
        return [json.loads(line) for line in (self.folder / "out.jsonl").read_text().splitlines()]

    def test_games_keep_their_promises_and_have_pictures(self):
        for game in ("connect_four", "othello:6", "othello:8", "tic_tac_toe"):
            out, _ = self.run_tandem("check-domain", game)
            self.assertIn("symmetries that keep the start map games to games", out)
        picture, _ = self.run_tandem("show", "tic_tac_toe", "--state", "X.O/.../...")
        self.assertIn("X", picture)

    def test_solve_plays_to_the_end_and_begins_with_the_best_move(self):
        self.train()
        wins, full = self.solve(["XX./OO./...", "XOX/XOO/OX."])
        self.assertEqual((wins["moves"], wins["ended"]), ("c1", "solved"))
        self.assertEqual(full["moves"], "c3")
        first, = self.solve(["XX./.O./..."], "--set", "search.max_length=1", "--set",
                            "search.simulations=2000")
        self.assertEqual((first["solved"], first["moves"], first["best"]["moves"], first["ended"]),
                         (True, "c1", "c1", "length limit"))
        self.assertIn("played        1 of 1\nmean length   1.00\n", self.printed)

    def test_evaluate_counts_positions_whose_value_the_move_keeps_by_stones(self):
        self.train()
        lines = [{"state": "XX./OO./...", "best_moves": "c1", "stones": 4},
                 {"state": "XX./.O./...", "best_moves": "c1", "stones": 3},
                 {"state": "XX./OOX/O..", "best_moves": "b3", "stones": 6}]  # c1 wins
        self.write("known.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        out, log = self.run_tandem("evaluate", "run", "--states", "known.jsonl", "--untrained", "--json",
                                   "out.json", "--set", "search.simulations=2000")
        self.assertIn("last: kept the value of 2 of 3 in ", log)
        self.assertRegex(out, r"^network +iterations +kept +% +nodes ")
        self.assertRegex(out, r"\nstones +states +% kept\n3 +1 +100\.0\n4 +1 +100\.0\n6 +1 +0\.0\n")
        self.assertRegex(out, r"\nbest by solving: \w+, which keeps the value of 2 of 3 states( \(|\n)")
        last = json.loads((self.folder / "out.json").read_text())["networks"][-1]
        self.assertEqual((last["solved"], last["by_stones"][2]), (2, {"stones": 6, "states": 1, "solved": 0}))
        self.write("states.txt", "XX./OO./...\n")
        error = self.run_tandem("evaluate", "run", "--states", "states.txt", code=2)[1]
        self.assertIn("state 1: a position of a game needs `best_moves`", error)
        self.write("known.jsonl", '{"state": "XX./OO./...", "best_moves": "c1"}\n')  # without `stones`
        out, _ = self.run_tandem("evaluate", "run", "--states", "known.jsonl", "--json", "run/evaluation.json")
        self.assertRegex(out, r"^network +iterations +kept ")
        self.run_tandem("report", "run")
        page = (self.folder / "run" / "report.html").read_text()
        for expected in ("positions whose value the move keeps", "A game has no puzzle to solve."):
            self.assertIn(expected, page)
        for wrong in ("solved in", "stimated cost", "has `optimal`"):
            self.assertNotIn(wrong, page)

    def test_play_against_the_network(self):
        self.train()
        out, _ = self.run_tandem("play", "tic_tac_toe", "--model", "run", "--state", "XX./OO./...",
                                 stdin="hint\nreply\nreply\nundo\nc1\n")
        self.assertIn("best move c1\nthe network moves c1\n", out)
        self.assertEqual(out.count("the first player has won after 1 move"), 2)
        self.assertIn("the game is over", out)
        self.assertNotIn("cost", out)
        out, _ = self.run_tandem("play", "tic_tac_toe", "--model", "run", "--set", "search.at_most=0.5",
                                 stdin="reply\nstate\n")
        self.assertIn("the game does not end with at most what is allowed", out)
        self.assertIn("\n.../.../...\n", out)  # the game goes on
        out, _ = self.run_tandem("play", "npuzzle:3", stdin="reply\n")
        self.assertIn("reply: a puzzle has no other player", out)

    def test_wrong_combinations_say_what_to_set(self):
        for setting, expected in (
                ("network.head=v", "Set network.head to vp"),
                ("validation.every_updates=5", "Set validation.every_updates to 0"),
                ("pipeline.mode=sync_main", "Set replay.updates to at least 1"),
                ("generate.search=greedy", "this target chooses its states itself"),
                ("domain.name=cube2", "`generate.target: self_play` is for games of two players"),
                ("generate.target=walk_length", "Set generate.target to self_play")):
            self.assertIn(expected, " ".join(self.train("--set", setting, code=2).split()), setting)
        self.train()
        self.write("states.txt", "XX./OO./...\n")
        error = self.run_tandem("solve", "--model", "run", "--states", "states.txt", "--set",
                                "search.method=beam", code=2)[1]
        self.assertIn("Set search.method to gumbel or puct", error)

    def test_shards_of_games_train_a_network(self):
        self.train()
        self.run_tandem("generate", "small.yaml", "--set", "network.init_from=run", "--examples", "900",
                        "--out", "shards")
        self.run_tandem("train", "small.yaml", "--out", "other", "--set", "data.source=shards", "--set",
                        "data.path=shards")

    def test_other_processes_play_the_games_of_a_run(self):
        config = self.write("small.yaml", SMALL)
        trainer = self.start("train", config, "--out", "run", "--set", "data.source=stream", "--set",
                             "data.stream_rows=90")
        self.wait_until((self.folder / "run" / "stream").exists, trainer)
        player = self.start("generate", "--follow", "run", "--workers", "1")
        self.assertEqual(trainer.wait(timeout=120), 0)
        self.assertEqual(player.wait(timeout=120), 0)
        lines = (self.folder / "run" / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(sum(json.loads(line)["stream_rows"] for line in lines), 4 * 3 * 90)

    def test_two_ranks_share_the_games_and_learn_like_one_process(self):
        config = self.write("small.yaml", SMALL)
        shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        for ranks in (1, 2):  # with the same games; ranks compare their weights after each update
            processes = [self.start("train", config, "--out", f"of{ranks}", "--set",
                                    f"train.batch_size={180 // ranks}", environment={
                                        **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks == 2 else None)
                         for rank in range(ranks)]
            for process in processes:
                self.assertEqual(process.wait(timeout=120), 0)
        losses = [[json.loads(line)["loss"] for line in (self.folder / run / "metrics.jsonl").read_text().splitlines()]
                  for run in ("of1", "of2")]
        for one, two in zip(*losses):
            self.assertLess(abs(one - two), 0.02 * one)

    def test_game_strength_measures_a_small_run(self):
        config = self.write("four.yaml", SMALL.replace("tic_tac_toe", "connect_four"))
        self.run_tandem("train", config, "--out", "four", "--set", "checkpoint.keep_every=2")
        script = SOURCE / "scripts" / "game_strength"
        result = subprocess.run(
            [self.python_with_torch(), script, "four", "--positions", "20", "--openings", "3", "--simulations",
             "8", "--opponent", "four/checkpoint-2.safetensors", "--build", TANDEM.parent, "--values",
             "values.jsonl", "--json", "out.json"],
            cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads((self.folder / "out.json").read_text())
        self.assertEqual(found["positions"]["count"], 20)
        self.run_tandem("evaluate", "four", "--states", "values.jsonl", "--json", "kept.json", "--set",
                        "search.simulations=8")
        evaluated, = json.loads((self.folder / "kept.json").read_text())["networks"]
        self.assertEqual({str(each["stones"]): {"positions": each["states"],
                                                "kept": round(each["solved"] / each["states"], 4)}
                          for each in evaluated["by_stones"]}, found["positions"]["trained"]["by_stones"])
        for name in ("trained", "untrained", "no_network"):
            stones = found["positions"][name]["by_stones"]
            self.assertEqual(sum(each["positions"] for each in stones.values()), 20)
        for match in found["matches"].values():
            self.assertEqual(match["won"] + match["drawn"] + match["lost"], match["games"])
            self.assertLessEqual(match["elo_low"], match["elo_high"])
        self.train()
        refused = subprocess.run([self.python_with_torch(), script, "run", "--build", TANDEM.parent],
                                 cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("the run is of tic_tac_toe. Add --positions 0", refused.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
