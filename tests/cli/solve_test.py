"""Tests `tandem solve`: solutions, limits, and errors about states and runs."""

import gzip
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from harness import AFTER_R, SMALL, SOLVED, SOURCE, TANDEM, CliTest


class Solve(CliTest):
    def test_solves_shallow_cubes_and_reports_a_bad_line(self):
        run = self.train_small()
        states = self.write("states.jsonl", "\n".join([
            json.dumps({"id": "turned", "state": AFTER_R, "optimal": 1}),
            json.dumps({"id": 8, "state": AFTER_R[1:]}),
            json.dumps({"state": SOLVED}),
            "{not json", ""]))
        out = self.folder / "results.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, "--out", out, code=2)
        self.assertIn("solved        2 of 4\nnot a state   2 lines\nmean length   0.50\n"
                      "mean optimal  1.00, reached by 1 of 1, their mean 1.00\n", text)
        results = [json.loads(line) for line in out.read_text().splitlines()]
        turned, short, solved, broken = results
        self.assertEqual((turned["id"], turned["solved"], turned["moves"], turned["length"],
                          turned["optimal"], turned["error"]),
                         ("turned", True, "R'", 1, 1, None))
        self.assertEqual(turned["nodes"], 12)
        self.assertGreater(turned["seconds"], 0)
        self.assertEqual((short["id"], short["solved"], short["moves"]), (8, False, None))
        self.assertIn("states.jsonl:2: a cube has 54 facelets, found 53", short["error"])
        self.assertEqual((solved["solved"], solved["moves"], solved["length"]), (True, "", 0))
        self.assertIn("states.jsonl:4: expected a JSON object", broken["error"])

    def test_tensor_program_finds_the_solutions_of_the_puzzles_code(self):
        run = self.train_small()
        states = self.write("states.jsonl", "\n".join(
            json.dumps({"state": state}) for state in (AFTER_R, SOLVED)))

        def solve(program):
            out = self.folder / f"{program}.jsonl"
            self.run_tandem("solve", "--model", run, "--states", states, "--out", out,
                            "--set", f"search.program={program}")
            results = [json.loads(line) for line in out.read_text().splitlines()]
            return [(each["moves"], each["nodes"]) for each in results]

        self.assertEqual(solve("tensor"), [("R'", 12), ("", 0)])
        self.assertEqual(solve("tensor"), solve("domain"))
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--set",
                                   "search.program=tensor", "--set", "search.method=astar", code=2)
        self.assertIn("only beam search has a tensor program", error)

    def test_value_and_policy_solves_with_every_search(self):
        config = self.write("puzzle.yaml", "domain: {name: npuzzle, size: 3}\n" + SMALL)
        run = self.folder / "run"
        _, log = self.run_tandem("train", config, "--set", "network.head=vp", "--out", run)
        self.assertIn("  network   value and policy net of ", log)
        self.assertIn("error against walk lengths", log)
        states = self.write("states.txt", "1 2 3 4 0 5 7 8 6\n")
        for options in ((), ("--set", "search.policy_weight=1"), ("--search", "astar"),
                        ("--search", "astar", "--set", "search.policy_actions=2"),
                        ("--search", "anytime_beam", "--set", "search.max_seconds=5", "--set",
                         "search.policy_weight=1")):
            text, _ = self.run_tandem("solve", "--model", run, "--states", states, *options)
            self.assertTrue(json.loads(text)["solved"], options)
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--search", "astar",
                                   "--set", "search.policy_weight=1", code=2)
        self.assertIn("this search ranks states by cost and estimate alone", error)

    def test_puzzle_with_more_than_256_positions_and_labels_trains_and_solves(self):
        row = list(range(300))
        moves = {"L": row[1:] + row[:1], "X": [1, 0, *row[2:]]}
        for labels, positions in ((6, 300), (300, 600)):
            puzzle = {"goal": [i % labels for i in row], "generators": moves}
            self.write("row.yaml", json.dumps(puzzle))
            self.run_tandem("check-domain", "permutation:row.yaml")
            config = self.write("config.yaml", "domain: {name: permutation, file: row.yaml}\n" + SMALL)
            run = self.folder / str(labels)
            self.run_tandem("train", config, "--out", run)
            scrambled, _ = self.run_tandem("apply", "permutation:row.yaml", "--moves", "L L X L")
            text, _ = self.run_tandem("solve", "--model", run, "--states",
                                      self.write("states.txt", scrambled), "--search", "beam")
            self.assertLessEqual(json.loads(text)["length"], 4, labels)
            tensor = "generate.program=tensor"
            _, error = self.run_tandem("train", config, "--set", tensor, "--out", "other", code=2)
            self.assertIn(f"a state has {positions} bytes, and tensor programs take at most 256", error)

    def test_network_that_reads_the_pieces_of_a_file_trains_and_solves(self):
        config = self.write("config.yaml", "domain: {input: pieces, name: permutation, file: pyraminx}\n" + SMALL)
        self.run_tandem("train", config, "--out", "run")
        scrambled, _ = self.run_tandem("apply", "permutation:pyraminx", "--moves", "U R")
        text, _ = self.run_tandem("solve", "--model", "run", "--states", self.write("states.txt", scrambled))
        self.assertEqual(json.loads(text)["length"], 2)
        _, error = self.run_tandem("train", config, "--set", "domain.file=lrx", "--out", "other", code=2)
        self.assertIn("lrx:pieces: no two positions always move together", error)

    def test_reports_an_impossible_cube_and_solves_the_others(self):
        run = self.train_small()
        flipped = SOLVED[:7] + "F" + SOLVED[8:19] + "U" + SOLVED[20:]
        states = self.write("states.txt", f"{AFTER_R}\n{flipped}\n{SOLVED}\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["solved"] for r in results], [True, False, True])
        self.assertIn("states.txt:2: one edge is flipped", results[1]["error"])

    def test_solves_a_puzzle_with_a_parameter(self):
        config = self.write("puzzle.yaml", "domain: {name: npuzzle, size: 3}\n" + SMALL)
        run = self.folder / "run"
        _, log = self.run_tandem("train", config, "--out", run)
        self.assertIn("npuzzle:3: walk_length targets", log)
        self.assertIn("  name: npuzzle\n  size: 3\n", (run / "config.yaml").read_text())
        states = self.write("states.txt",
                            "1 2 3 4 0 5 7 8 6\n2 1 3 4 5 6 7 8 0\n1 2 3 4 5 6 7 8 0\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["moves"] for r in results], ["L U", None, ""])
        self.assertIn("states.txt:2: two tiles are swapped", results[1]["error"])

    def test_solves_a_scramble(self):
        run = self.train_small()
        text, _ = self.run_tandem("solve", "--model", run, "--scramble", "R2 R'")
        result = json.loads(text)
        self.assertEqual((result["state"], result["moves"]), (AFTER_R, "R'"))
        for options, found in (((), "neither"),
                               (("--scramble", "R", "--states", "states.txt"), "both")):
            _, error = self.run_tandem("solve", "--model", run, *options, code=2)
            self.assertIn(f"expected --states FILE or --scramble MOVES, found {found}", error)

    def test_moves_of_a_board_with_the_blank_first_are_named_as_it_was_written(self):
        config = self.write("puzzle.yaml", "domain: {name: npuzzle, size: 4}\n" + SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run)
        boards = ["1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "1 2 6 3 4 5 10 7 8 9 0 11 12 13 14 15"]
        states = self.write("states.txt", "\n".join(boards) + "\n")
        text, log = self.run_tandem("solve", "--model", run, "--states", states)
        self.assertIn("states.txt: 2 states: the goal is 0 1 2 3 4 5 6 7", log)
        for board, line in zip(boards, text.splitlines()):
            result = json.loads(line)
            self.assertEqual(result["state"], board)
            tiles = [int(tile) for tile in board.split()]
            for move in result["moves"].split():
                blank = tiles.index(0)
                tile = blank + {"U": 4, "D": -4, "L": 1, "R": -1}[move]
                tiles[blank], tiles[tile] = tiles[tile], 0
            self.assertEqual(tiles, list(range(16)))

    def test_a_solution_with_a_move_that_does_not_apply_is_an_error_of_its_line(self):
        config = self.write("puzzle.yaml", "domain: {name: npuzzle, size: 3}\n" + SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run)
        state = "1 2 3 4 5 6 7 0 8"
        states = self.write("states.jsonl", "\n".join(
            json.dumps({"state": state, "solution": moves}) for moves in ("U U L", "R L L")))
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        illegal, legal = [json.loads(line) for line in text.splitlines()]
        self.assertIn("states.jsonl:1: move 1, U, does not apply", illegal["error"])
        self.assertEqual(legal["moves"], "L")

    def test_reads_plain_text_and_writes_json_lines_to_a_pipe(self):
        run = self.train_small()
        states = self.write("states.txt", f"# two cubes\n{AFTER_R}\n\n{SOLVED}\n{SOLVED}\n")
        text, summary = self.run_tandem("solve", "--model", run, "--states", states, "--limit", 2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["id"] for r in results], [2, 4])
        self.assertIn("solved        2 of 2", summary)

    def test_an_unsolved_state_is_exit_code_1(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1, "--set",
                                  "search.max_length=2", "--set", "search.beam_width=8", code=1)
        self.assertIn("no solution of at most 2 moves", json.loads(text)["error"])

    def test_astar_solves_and_reports_its_memory(self):
        run = self.train_small()
        states = self.write("states.jsonl", json.dumps({"state": AFTER_R, "optimal": 1}))
        text, announced = self.run_tandem("solve", "--model", run, "--states", states, "--search",
                                          "astar", "--weight", "0.5", "--set",
                                          "search.max_nodes=5000")
        self.assertIn("A*: weight 0.5, up to 1,000 states at a time; at most 5,000 nodes, which take",
                      announced)
        self.assertRegex(announced, r"memory +\d+ bytes per stored node")
        result = json.loads(text)
        self.assertEqual((result["moves"], result["cost"], result["ended"], result["best"]),
                         ("R'", 1.0, "solved", None))
        self.assertEqual((result["nodes"], result["expanded"]), (12, 1))
        self.assertGreater(result["bytes_per_node"], 54)

    def test_a_ball_ends_searches_earlier(self):
        run = self.train_small()
        state, _ = self.run_tandem("apply", "cube3", "--state", SOLVED, "--moves", "R U F' L D B")
        states = self.write("states.txt", f"{AFTER_R}\n{state}")
        for search in ("beam", "astar"):
            text, log = self.run_tandem("solve", "--model", run, "--states", states, "--ball", 4,
                                        "--search", search, "--weight", 1)
            self.assertIn("ball around the goal: 11,206 states with a cost-to-go of at most 4", log)
            near, far = [json.loads(line) for line in text.splitlines()]
            self.assertEqual((near["nodes"], near["moves"]), (0, "R'"))
            self.assertEqual((far["length"], far["cost"]), (6, 6))
            if search == "beam":
                # Two depths of six, and no turn back.
                self.assertEqual(far["nodes"], 12 + 12 * 11)

    def test_astar_reports_the_best_state_reached(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        out = self.folder / "results.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1,
                                  "--search", "astar", "--set", "search.max_nodes=200", "--set",
                                  "search.batch=10", "--out", out, code=1)
        self.assertRegex(text, r"no solution found with 200 nodes \(search.max_nodes\); lower "
                               r"search.weight \(0.6\), or raise search.max_nodes; best: "
                               r"estimate \d+\.\d\d, after \d+ ")
        self.assertIn("not solved    1: 1 at the node limit", text)
        result = json.loads(out.read_text())
        self.assertEqual((result["ended"], result["stored"]), ("node limit", 200))
        self.assertEqual(len(result["best"]["moves"].split()), result["best"]["length"])
        self.assertGreaterEqual(result["best"]["estimate"], 0)

    def test_a_node_limit_ends_every_search_and_the_next_puzzle_begins(self):
        run = self.train_small()
        ten = (SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()
        states = self.write("states.jsonl", f"{ten[0]}\n{json.dumps({'state': AFTER_R})}\n")
        for search in ("beam", "anytime_beam", "bidirectional_beam", "greedy", "astar",
                       "ida_star"):
            text, log = self.run_tandem("solve", "--model", run, "--states", states, "--search",
                                        search, "--beam-width", 8, "--set", "search.max_nodes=500",
                                        "--set", "search.max_seconds=60", code=1)
            self.assertIn("not solved    1: 1 at the node limit", log, search)
            hard, easy = [json.loads(line) for line in text.splitlines()]
            self.assertEqual((hard["ended"], easy["moves"]), ("node limit", "R'"), search)
            self.assertIn("with 500 nodes (search.max_nodes); ", hard["error"])
            self.assertLessEqual(hard["stored" if search == "astar" else "nodes"], 500, search)
            if search != "bidirectional_beam":  # its best states may be of the inverse position
                self.assertIsNotNone(hard["best"], search)
        text, log = self.run_tandem("solve", "--model", run, "--states", states, "--set",
                                    "search.max_gib=0.0001", code=1)
        self.assertIn("not solved    1: 1 at the memory limit", log)
        hard, easy = [json.loads(line) for line in text.splitlines()]
        self.assertEqual((hard["ended"], easy["moves"]), ("memory limit", "R'"))

    def test_greedy_search_and_the_inverse_position_solve_a_shallow_cube(self):
        run = self.train_small()
        states = self.write("states.jsonl", json.dumps({"state": AFTER_R}))
        for option in ("--search=greedy", "--search=ida_star", "--search=bidirectional_beam",
                       "--inverse=true", "--inverse=auto"):
            text, _ = self.run_tandem("solve", "--model", run, "--states", states, option)
            result = json.loads(text)
            self.assertEqual((result["moves"], result["ended"]), ("R'", "solved"), option)

    def test_greedy_search_reports_its_length_limit(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1, "--search",
                                  "greedy", "--set", "search.max_length=3", code=1)
        result = json.loads(text)
        self.assertEqual((result["ended"], result["expanded"]), ("length limit", 3))
        self.assertIn("greedy search found no solution of at most 3 moves", result["error"])

    def test_an_allowed_cost_ends_the_search(self):
        run = self.train_small()
        state = json.loads((SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()[0])
        states = self.write("states.jsonl", json.dumps({"state": state["state"], "at_most": 3}))
        for args in (["--beam-width", 8], ["--search", "astar"], ["--at-most", 5],
                     ["--search", "greedy"], ["--search", "ida_star"]):
            text, _ = self.run_tandem("solve", "--model", run, "--states", states, *args, code=1)
            result = json.loads(text)
            self.assertEqual(result["ended"], "cost limit", args)
            self.assertIn("search.at_most", result["error"])

    def test_a_given_solution_bounds_the_search_and_must_be_one(self):
        run = self.train_small()
        states = self.write("states.jsonl", "\n".join(
            json.dumps({"state": AFTER_R, "solution": moves}) for moves in ("R R R", "R'", "R")))
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        longer, shortest, wrong = [json.loads(line) for line in text.splitlines()]
        self.assertEqual((longer["moves"], shortest["moves"]), ("R'", "R'"))
        self.assertIn("expected `solution` to lead from the state to the goal", wrong["error"])

    def test_the_inverse_needs_a_puzzle_of_permutations(self):
        config = self.write("puzzle.yaml", "domain: {name: npuzzle, size: 3}\n" + SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run)
        states = self.write("states.txt", "1 2 3 4 0 5 7 8 6\n")
        solve = ["solve", "--model", run, "--states", states, "--set"]
        _, error = self.run_tandem(*solve[:-1], "--search", "bidirectional_beam", code=2)
        self.assertIn("Set search.method to beam", error)
        _, error = self.run_tandem(*solve, "search.inverse=true", code=2)
        self.assertIn("search.inverse: npuzzle:3: only puzzles from a file of permutations", error)
        self.assertTrue(json.loads(self.run_tandem(*solve, "search.inverse=auto")[0])["solved"])

    def estimate_of_a_state(self, *models):
        """Returns what the networks estimate for a state, and the log. A* that may store only one
        state reports that state's estimate."""
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        text, log = self.run_tandem("solve", *models, "--states", ten, "--limit", 1, "--search",
                                    "astar", "--set", "search.max_nodes=1", "--set",
                                    "inference.precision=fp32", code=1)
        best = json.loads(text)["best"]
        self.assertEqual(best["length"], 0)
        self.assertGreater(best["estimate"], 0)  # negative estimates would be reported as 0
        return best["estimate"], log

    def test_several_networks_are_used_as_their_mean(self):
        config = self.write("small.yaml", SMALL.replace("max_updates: 4", "max_updates: 20") +
                            "optimizer: {learning_rate: 0.01}\ncheckpoint: {keep_every: 10}\n")
        first, second, q_run = (self.folder / name for name in ("first", "second", "q"))
        self.run_tandem("train", config, "--out", first, "--set", "seed=1")
        self.run_tandem("train", config, "--out", second, "--set", "seed=2", "--set",
                        "network.width=48")
        one, _ = self.estimate_of_a_state("--model", first)
        two, _ = self.estimate_of_a_state("--model", second)
        self.assertNotEqual(one, two)
        both, log = self.estimate_of_a_state("--model", first, "--model", second)
        self.assertAlmostEqual(both, (one + two) / 2, places=4)
        self.assertIn("using the mean of 2 networks", log)
        kept = first / "checkpoint-10.safetensors"
        early, _ = self.estimate_of_a_state("--model", first, "--checkpoint", kept)
        mixed, _ = self.estimate_of_a_state("--model", first, "--checkpoint", f"last,{kept}")
        self.assertAlmostEqual(mixed, (one + early) / 2, places=4)

        # Each network has the arithmetic that suits it.
        board = self.folder / "board"
        for folder, kind in (board / "fc", "resnet_fc"), (board / "conv", "resnet_2d"):
            self.run_tandem("train", config, "--out", folder, "--set", "domain.name=npuzzle", "--set",
                            "domain.size=3", "--set", f"network.kind={kind}", "--set", "network.norm=batch")
        _, log = self.run_tandem("solve", "--model", board / "fc", "--model", board / "conv", "--scramble", "D R")
        self.assertIn("using the mean of 2 networks", log)

        self.run_tandem("train", config, "--out", q_run, "--set", "network.head=q")
        states = self.write("states.txt", AFTER_R + "\n")
        solve = ["solve", "--states", states, "--model", first, "--model"]
        _, error = self.run_tandem(*solve, q_run, code=2)
        self.assertRegex(error, rf"--model {q_run}: its network is a q network for cube3\S*, expected a "
                                rf"v network for cube3\S*, as in {first}")
        _, error = self.run_tandem(*solve, second, "--checkpoint", kept, code=2)
        self.assertIn("a file is a network of one run, and there are several --model", error)

    def test_a_time_limit_names_the_key_to_change(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"

        def error(*args):
            text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1, "--set",
                                      "search.max_seconds=0.05", *args, code=1)
            return json.loads(text)["error"]
        self.assertRegex(error("--search", "astar", "--set", "search.batch=1"),
                         r"raise search.batch \(1\): the search generated only [\d,]+ nodes per second")
        self.assertIn("lower search.weight (0.6), or raise search.max_seconds",
                      error("--search", "astar"))
        self.assertTrue(error("--search", "astar", "--weight", 0).endswith(
            "(search.max_seconds); raise search.max_seconds"))
        self.assertIn("lower search.beam_width",
                      error("--beam-width", 8, "--set", "search.max_length=100000"))
        self.assertTrue(error("--search", "anytime_beam", "--set", "search.max_length=100000")
                        .endswith("(search.max_seconds); raise search.max_seconds"))

    def test_anytime_beam_solves_within_its_time_and_needs_a_limit(self):
        run = self.train_small()
        states = self.write("states.txt", AFTER_R + "\n")
        solve = ["solve", "--model", run, "--states", states, "--search", "anytime_beam"]
        self.assertIn("`search.method: anytime_beam` (--search anytime_beam) contradicts "
                      "`search.max_seconds: 0`", self.run_tandem(*solve, code=2)[1])
        text, _ = self.run_tandem(*solve, "--set", "search.max_seconds=5")
        result = json.loads(text)
        self.assertEqual((result["moves"], result["ended"]), ("R'", "solved"))

    def test_no_mean_time_without_a_search(self):
        run = self.train_small()
        states = self.write("states.txt", "no cube\n")
        _, summary = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        self.assertIn("not a state   1 line\n", summary)
        self.assertNotIn("mean time", summary)

    def test_results_keep_the_order_of_the_states(self):
        run = self.train_small()
        hard = json.loads((SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()[0])
        states = self.write("states.txt", f"{hard['state']}\n{AFTER_R}\nno cube\n{SOLVED}\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, "--search", "astar",
                                  "--set", "search.instances=3", "--set", "search.max_nodes=2000",
                                  code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["id"] for r in results], [1, 2, 3, 4])
        self.assertEqual([r["solved"] for r in results], [False, True, False, True])

    def test_beam_search_ends_at_its_time_limit(self):
        run = self.train_small()
        ten = SOURCE / "data" / "cube3_ten.jsonl"
        text, _ = self.run_tandem("solve", "--model", run, "--states", ten, "--limit", 1,
                                  "--beam-width", 8, "--set", "search.max_length=100000", "--set",
                                  "search.max_seconds=0.05", code=1)
        self.assertEqual(json.loads(text)["ended"], "time limit")

    def cpu_seconds(self, program):
        """The CPU time that all threads of a running program have taken."""
        fields = pathlib.Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_ctrl_c_ends_a_wide_beam_and_keeps_what_was_solved(self):
        run = self.train_small()
        ten = (SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()
        states = self.write("states.txt", f"{SOLVED}\n{json.loads(ten[0])['state']}\n")
        program = subprocess.Popen(
            [TANDEM, "solve", "--model", run, "--states", states, "--beam-width", "300000",
             "--set", "search.max_length=100000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = program.stdout.readline()  # by now it handles signals
        start = self.cpu_seconds(program)
        self.wait_until(lambda: self.cpu_seconds(program) > start + 2, program)  # the beam is wide
        program.send_signal(signal.SIGINT)
        _, error = program.communicate(timeout=60)
        self.assertTrue(json.loads(first)["solved"])
        self.assertEqual(program.returncode, 130, error)
        self.assertIn("stopped after 1 of 2 states", error)

    def test_a_failure_keeps_what_was_solved(self):
        run = self.train_small()
        hard = json.loads((SOURCE / "data" / "cube3_ten.jsonl").read_text().splitlines()[0])
        states = self.write("states.txt", f"{AFTER_R}\n{hard['state']}\n{SOLVED}\n")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--set", "device=cpu",
                                   "--beam-width", 30_000_000, "--set", "search.max_length=1000",
                                   "--out", "results.jsonl", code=1, memory=3 << 30)
        self.assertIn("failed after 1 of 3 states; the remaining states have no result", error)
        self.assertIn("out of memory", error)
        results = (self.folder / "results.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["moves"] for line in results], ["R'"])

    def test_closed_standard_output_does_not_reach_the_results(self):
        run = self.train_small()
        states = self.write("states.txt", f"{AFTER_R}\n{SOLVED}\n")
        out = self.folder / "results.jsonl"
        program = subprocess.run([TANDEM, "solve", "--model", run, "--states", states, "--out", out],
                                 stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1))
        results = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([result["moves"] for result in results], ["R'", ""])
        self.assertEqual(program.returncode, 1)
        self.assertIn("cannot write standard output", program.stderr)

    def test_a_full_disk_keeps_earlier_results_and_prints_the_later_ones(self):
        run = self.train_small()
        states = self.write("states.txt", f"{AFTER_R}\n{SOLVED}\n" * 5)
        out = self.folder / "results.jsonl"
        program = subprocess.run(
            [TANDEM, "solve", "--model", run, "--states", states, "--out", out],
            capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        results = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertGreater(len(results), 1)
        self.assertLess(len(results), 10)
        self.assertEqual(program.returncode, 1, program.stderr)
        self.assertIn(f"results.jsonl: File too large; it received the first {len(results)} "
                      "results", program.stderr)
        self.assertEqual(list(self.folder.glob("*.partial")), [])
        self.assertIn("1 moves in ", program.stdout)
        lines = program.stdout.splitlines()
        printed = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual([result["id"] for result in results + printed], list(range(1, 11)))
        self.assertEqual([result["solved"] for result in printed], [True] * len(printed))
        self.assertEqual(len(lines), 10)  # readable lines of the results in the file, then JSON lines

    def test_reads_states_from_a_pipe_and_rejects_one_in_place_of_a_checkpoint(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        out, _ = self.run_tandem("solve", "--model", run, "--states", "/dev/stdin",
                                 stdin=states.read_text())
        self.assertTrue(json.loads(out)["solved"])
        (run / "checkpoint.safetensors").unlink()
        os.mkfifo(run / "checkpoint.safetensors")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        self.assertIn("checkpoint.safetensors: it is a pipe", error)
        _, error = self.run_tandem("train", "--resume", run, code=2)
        self.assertIn("checkpoint.safetensors: it is a pipe", error)

    def test_python_reads_a_checkpoint_and_what_python_saves_is_read(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        self.run_python_with_torch("""
            import safetensors, sys
            from safetensors.torch import load_file, save_file
            with safetensors.safe_open(sys.argv[1], "pt") as opened:
                metadata = opened.metadata()
            del metadata["xxh3"]  # the hash of the file's bytes, which may now differ
            save_file(load_file(sys.argv[1]), sys.argv[1], metadata)
        """, run / "checkpoint.safetensors")
        self.run_tandem("solve", "--model", run, "--states", states)

    def test_rejects_an_unknown_search(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, "--search",
                                   "depth-first", code=2)
        self.assertIn("--search depth-first: `search.method` is 'depth-first', expected one of "
                      "beam, anytime_beam, astar", error)

    def test_states_of_another_puzzle_end_with_the_name_of_the_puzzle(self):
        run = self.train_small()
        states = self.write("tiles.txt", "1 2 3 4 0 5 7 8 6\n1 2 3 4 5 6 7 8 0\n")
        _, error = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        self.assertRegex(error, r"tiles.txt: 2 of 2 states cannot be read. Expected states of "
                                rf"cube3\S*, the puzzle of {run}\.")

    def test_bytes_that_are_not_text_are_an_error_of_their_line(self):
        run = self.train_small()
        states = self.folder / "odd.txt"
        states.write_bytes(b"\xef\xbb\xbf" + SOLVED.encode() + b"\n\xff\xfe\n" +
                           "\u00e9".encode() + b"U" * 52 + b"\n" + SOLVED.encode() + b"\n")
        text, _ = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        results = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([r["solved"] for r in results], [True, False, False, True])
        self.assertIn("facelet 1 is the byte 195", results[2]["error"])

    def test_states_that_are_compressed_or_in_utf_16_are_one_error(self):
        run = self.train_small()
        text = f"{SOLVED}\n{AFTER_R}\n"
        for content, what in [(gzip.compress(text.encode()), "it is compressed, expected text"),
                              (text.encode("utf-16"), "it is text in UTF-16, expected UTF-8")]:
            states = self.folder / "states"
            states.write_bytes(content)
            out, error = self.run_tandem("solve", "--model", run, "--states", states, code=2)
            self.assertEqual((out, error.count("\n")), ("", 1), error)
            self.assertIn(f"cannot read {states}: {what}", error)

    def test_says_if_the_network_was_not_needed(self):
        config = self.write("lights.yaml", "domain: {name: lights_out, size: 3}\n" + SMALL)
        run = self.folder / "run"
        self.run_tandem("train", config, "--out", run)
        states = self.write("states.txt", "1 0 1 0 1 0 1 0 1\n")
        _, log = self.run_tandem("solve", "--model", run, "--states", states)
        self.assertRegex(log, r"lights_out:3 has 512 states, and a search expanded \d+ of them on average: "
                              "the network was not needed")
        states = self.write("states.txt", "1 1 0 1 0 0 0 0 0\n")  # one move from the goal
        _, log = self.run_tandem("solve", "--model", run, "--states", states, "--search", "greedy", code=None)
        self.assertNotIn("was not needed", log)

    def test_checks_out_and_limit_before_solving(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        solve = ["solve", "--model", run, "--states", states]
        self.assertIn("this is the file of the states",
                      self.run_tandem(*solve, "--out", states, code=2)[1])
        self.assertEqual(states.read_text(), SOLVED + "\n")
        for name, why in [("checkpoint.safetensors", "this is a checkpoint"),
                          ("config.yaml", "a run writes this file into its folder"),
                          ("metrics.jsonl", "a run writes this file into its folder")]:
            before = (run / name).read_bytes()
            _, error = self.run_tandem(*solve, "--out", run / name, code=2)
            self.assertIn(f"--out {run / name}: {why}", error)
            self.assertEqual((run / name).read_bytes(), before)
        copy = shutil.copy(run / "checkpoint.safetensors", self.folder / "net.safetensors")
        _, error = self.run_tandem(*solve, "--checkpoint", copy, "--out", copy, code=2)
        self.assertIn("this is a checkpoint; choose another file", error)
        second = shutil.copytree(run, self.folder / "second")
        linked = self.folder / "linked.safetensors"
        linked.hardlink_to(second / "checkpoint.safetensors")
        _, error = self.run_tandem(*solve, "--model", second, "--out", linked, code=2)
        self.assertIn("this is a checkpoint; choose another file", error)
        self.run_tandem(*solve, "--out", run / "solved.jsonl")
        self.assertIn("No such file", self.run_tandem(*solve, "--out", "no/r.jsonl", code=2)[1])
        self.run_tandem(*solve, "--limit", 0, code=2)
        self.run_tandem(*solve, "--limit", -1, code=2)

    def test_output_that_cannot_be_written_is_exit_code_1(self):
        with open("/dev/full", "wb") as full:
            program = subprocess.run([TANDEM, "domains"], stdout=full, stderr=subprocess.PIPE,
                                     text=True)
        self.assertEqual(program.returncode, 1)
        self.assertIn("cannot write standard output", program.stderr)

    def test_rejects_damaged_weights(self):
        run = self.train_small()
        states = self.write("states.txt", SOLVED + "\n")
        data = bytearray((run / "checkpoint.safetensors").read_bytes())
        data[len(data) // 2] ^= 1  # inside a tensor
        (run / "checkpoint.safetensors").write_bytes(data)
        _, error = self.run_tandem("solve", "--model", run, "--states", states, code=2)
        self.assertIn("checkpoint.safetensors", error)

    def test_error_is_null_exactly_if_solved(self):
        run = self.train_small("--set", "domain.name=npuzzle", "--set", "domain.size=3")
        states = self.write("two_moves.txt", "1 2 3 4 0 6 7 5 8\n")
        solved = 0
        for nodes in range(3, 12):
            out = self.run_tandem("solve", "--model", run, "--states", states, "--search", "astar",
                                  "--weight", 1, "--set", f"search.max_nodes={nodes}",
                                  code=None)[0]
            result = json.loads(out)
            solved += result["solved"]
            self.assertEqual(result["solved"], result["error"] is None, result)
        self.assertGreater(solved, 0)

    def test_rejects_missing_runs_empty_files_and_damaged_checkpoints(self):
        states = self.write("states.txt", SOLVED)
        _, error = self.run_tandem("solve", "--model", "nowhere", "--states", states, code=2)
        self.assertIn("nowhere: no such folder", error)
        run = self.train_small()
        empty = self.write("empty.txt", "\n# nothing\n")
        self.assertIn("no state found; expected",
                      self.run_tandem("solve", "--model", run, "--states", empty, code=2)[1])
        (run / "checkpoint.safetensors").write_bytes(b"torn")
        self.assertIn("checkpoint.safetensors: not a safetensors file",
                      self.run_tandem("solve", "--model", run, "--states", states, code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
