"""Tests tandem.records: solutions are added, replayed, merged, and refused if they are wrong."""

import contextlib
import io
import json
import sys
import unittest
from unittest import mock

import tandem
from small_run import SMALL, FolderTest
from tandem import records


class Records(FolderTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "run"
        tandem.train(SMALL, self.model)
        self.domain = tandem.Network(self.model).domain
        self.states = self.domain.scramble(3, [1, 2, 3], seed=1)

    def write(self, name, *lines):
        path = self.folder / name
        path.write_text(records.text_of(lines))
        return path

    def line(self, state, moves, **more):
        cost = float(len(moves.split()))
        return {"puzzle": "cube2", "state": self.domain.format(state), "moves": moves, "cost": cost} | more

    def test_adds_what_a_search_solved_and_keeps_the_cheapest(self):
        (solution,) = tandem.solve(self.domain, self.states[1:2], lambda inputs: [0.0] * len(inputs), method="astar")
        solved = self.line(self.states[1], solution.moves, solved=True, nodes=5, seconds=0.1)
        results = self.write("results.jsonl", solved, {"solved": False, "state": "?", "moves": ""})
        record = self.write("record.jsonl", self.line(self.states[1], f"R R' {solution.moves}"))
        self.assertEqual(records.add(record, results, self.model, {"search.beam_width": "77"}), 1)
        (best,) = records.merge([record, record])
        self.assertEqual(best["moves"], solution.moves)
        self.assertEqual(best["source"]["beam_width"], "77")
        self.assertEqual(len(best["source"]["weights"]), 64)
        with self.assertRaisesRegex(ValueError, "record.jsonl: expected the key nodes"):
            records.add(record, record, self.model)

    def test_the_input_of_the_network_makes_no_other_puzzle(self):
        results = self.write("results.jsonl", self.line(self.domain.goals()[0], "R R'", nodes=5, seconds=0.1))
        record = self.folder / "record.jsonl"
        for kind in ("pieces", "pairs"):
            tandem.train(SMALL, self.folder / kind, {"domain.input": kind, "train.max_updates": 1})
            self.assertEqual(records.add(record, results, self.folder / kind), 1)
        self.assertEqual({json.loads(line)["puzzle"] for line in record.read_text().splitlines()},
                         {self.domain.identity})

    def test_names_the_line_that_is_wrong(self):
        good = self.line(self.states[0], "R R'")
        goal = self.domain.format(self.domain.goals()[0])
        for wrong, message in [({"state": goal, "moves": "R"}, "do not lead to a goal"),
                               ({"state": goal, "moves": "R R R R", "cost": 3.0}, "cost 3, but the moves cost 4"),
                               ({"puzzle": "cube2@5"}, "whose moves or goal differ"),
                               ({"puzzle": "cube9"}, "cube9"), ({"state": "UU"}, "24")]:
            path = self.write("wrong.jsonl", good | {"state": goal}, good | wrong)
            with self.subTest(message), self.assertRaisesRegex(ValueError, f"wrong.jsonl:2: .*{message}"):
                records.merge([path])
        path.write_text('{"puzzle": "cube2"}\n')
        with self.assertRaisesRegex(ValueError, "wrong.jsonl:1: expected the key cost"):
            records.merge([path])

    def test_imports_a_submission_and_a_table_of_public_results(self):
        (self.folder / "puzzle_info.json").write_text(
            '{"central_state": [0, 1, 2], "generators": {"f": [1, 2, 0], "-f": [2, 0, 1], '
            '"s": [1, 0, 2]}}')
        (self.folder / "test.csv").write_text('initial_state_id,initial_state,comment\n4,"1,2,0",one\n6,"2,0,1",two\n')
        (self.folder / "submission.csv").write_text("initial_state_id,path\n4,f.f\n6,-s.s.f\n6,f\n")
        table = self.folder / "best_solutions.tsv"
        table.write_text("puzzle_id\tsolution_length\tsolution\tauthor_name\tcompetition\n"
                         "4\t1\t'-f\tAnn\tmine\n0\t1\tx\tBob\tother\n")
        record = self.folder / "record.jsonl"
        more = ("--puzzle", f"permutation:{self.folder}/puzzle_info.json", "--states", str(self.folder / "test.csv"))
        for path, words in ((self.folder / "submission.csv", more), (table, (*more, "--competition", "mine"))):
            with mock.patch.object(sys, "argv", ["records", "import", str(record), str(path), *words]), \
                    contextlib.redirect_stdout(io.StringIO()):
                records.main()
        best = records.merge([record])
        self.assertEqual([(line["moves"], line["cost"]) for line in best], [("-f", 1.0), ("f", 1.0)])
        self.assertEqual(best[0]["source"], {"author_name": "Ann"})
        with self.assertRaisesRegex(ValueError, "best_solutions.tsv:3: .*test.csv has no state 0"):
            records.import_table(record, table, more[1], more[3])

    def test_command_writes_the_merged_record_and_refuses_a_wrong_one(self):
        goal = self.domain.goals()[0]
        a = self.write("a.jsonl", self.line(goal, "R R'"))
        b = self.write("b.jsonl", self.line(goal, ""))
        out = self.folder / "out.jsonl"
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", ["records", "merge", str(a), str(b), "--out", str(out)]), \
                contextlib.redirect_stdout(printed):
            records.main()
        self.assertEqual(printed.getvalue(), "cube2: 1 states, mean cost 0.00\n")
        self.assertEqual(json.loads(out.read_text())["moves"], "")
        self.assertEqual(sorted(self.folder.glob("*.jsonl*")), [a, b, out])
        with mock.patch.object(sys, "argv", ["records", "merge", str(a), "--out", str(self.folder / "none" / "x")]), \
                contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
            records.main()
        self.assertEqual(ended.exception.code, 2)
        wrong = self.write("wrong.jsonl", self.line(goal, "R"))
        with mock.patch.object(sys, "argv", ["records", "merge", str(wrong), "--out", str(out)]), \
                contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
            records.main()
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
