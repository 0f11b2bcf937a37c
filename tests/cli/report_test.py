"""Tests `tandem report`: each section of the page has data, and the page loads nothing."""

import html.parser
import json
import os
import re
import sys
import unittest

from harness import CliTest

TILES = """\
domain: {name: npuzzle, size: 3}
network: {width: 32, blocks: 1}
generate: {max_scramble: 12}
train: {batch_size: 200, iterations_per_update: 20, max_updates: 5}
validation: {every_updates: 2, states: 20}
search: {beam_width: 200, max_length: 60}
"""
STATES = [("1 2 3 4 5 6 7 0 8", 1), ("1 2 3 4 5 6 0 7 8", 2), ("1 2 3 4 0 5 7 8 6", 2)]
VOID = {"meta", "input", "br"}


class Page(html.parser.HTMLParser):
    """Collects the sections of a page: their text, the number of each element, and labels of charts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.section = [], None
        self.text, self.count, self.labels, self.links = {}, {}, {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "section":
            self.section = attributes["id"]
            self.text[self.section], self.count[self.section] = "", {}
            self.labels[self.section] = []
        self.links += [attributes[name] for name in ("src", "href", "data") if name in attributes]
        if self.section is not None:
            count = self.count[self.section]
            count[tag] = count.get(tag, 0) + 1
            if tag == "svg" and "aria-label" in attributes:
                self.labels[self.section].append(attributes["aria-label"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open}"
        self.open.pop()
        if tag == "section":
            self.section = None

    def handle_data(self, data):
        if self.section is not None:
            self.text[self.section] += data


class Report(CliTest):
    def train(self, *args, config=TILES, name="run"):
        self.run_tandem("train", self.write(f"{name}.yaml", config), "--out", name, "--device",
                        "cpu", *args)
        return self.folder / name

    def page(self, file):
        text = file.read_text()
        page = Page(text)
        self.assertEqual(page.open, [])
        self.assertEqual(page.links, [])
        self.assertNotRegex(text.replace('xmlns="http://www.w3.org/2000/svg"', ""),
                            r"https?://|@import|url\(")
        self.assertEqual(list(page.text), ["learning", "values", "overlap", "puzzle"])
        return page

    def states(self):
        return self.write("states.jsonl", "".join(
            json.dumps({"state": state, "optimal": optimal}) + "\n" for state, optimal in STATES))

    def test_every_section_has_data(self):
        run = self.train()
        out, _ = self.run_tandem("report", run)
        self.assertEqual(out.strip(), str(run / "report.html"))
        page = self.page(run / "report.html")
        self.assertIn("% of the states", page.labels["learning"])
        self.assertIn("loss of training", page.labels["learning"])
        self.assertEqual(page.labels["values"], ["error of the estimates (root mean square)"])
        summary = json.loads((run / "summary.json").read_text())
        sentence = summary["bottleneck"]
        self.assertIn("bottleneck", sentence)
        self.assertIn(sentence[0].upper() + sentence[1:] + ".", page.text["overlap"])
        self.assertIn(summary["learning"][1:], (run / "report.html").read_text())
        self.assertEqual(page.labels["overlap"][0], "% of each update's time")
        self.assertIn("when the last updates were", page.labels["overlap"][1])
        self.assertEqual(page.count["overlap"]["rect"], 2 * 5)  # two bars for each update

        moves = int(re.search(r"solved in (\d+) move", page.text["puzzle"])[1])
        self.assertEqual(page.count["puzzle"]["figure"], moves + 1)
        self.assertEqual(page.count["puzzle"]["button"], 3)
        self.assertIn(f"Move {moves} of {moves}: ", page.text["puzzle"])
        self.assertRegex(page.text["puzzle"], r"Estimated cost to the goal: \d+\.\d\d")
        self.assertIn("Estimated cost to the goal: 0.00", page.text["puzzle"])  # of the goal

    def test_states_give_estimates_by_length_and_later_reports_keep_them(self):
        run = self.train()
        for args in (("--states", self.states()), ("--no-puzzle",)):
            self.run_tandem("report", run, *args, "--out", "page.html")
            page = self.page(self.folder / "page.html")
            self.assertEqual(page.labels["values"],
                             ["estimated length", "% of the states of a length"])
            self.assertIn("3 states of", page.text["values"])
            self.assertIn("solved by the search", page.text["learning"])
        by_length = json.loads((run / "evaluation.json").read_text())["networks"][0]["by_length"]
        self.assertEqual([each["length"] for each in by_length], [1, 2])

    def test_an_unfinished_run_is_shown_as_far_as_it_is(self):
        run = self.train()
        (run / "summary.json").unlink()
        lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
        (run / "metrics.jsonl").write_text("".join(lines[:3]) + lines[3][:20])
        self.run_tandem("report", run, "--no-puzzle")
        page = self.page(run / "report.html")
        self.assertIn("has not finished", page.text["overlap"])
        self.assertNotIn("LibTorch", page.text["puzzle"])
        self.assertIn("--no-puzzle", page.text["puzzle"])

    def test_updates_without_a_line_are_counted(self):
        run = self.train()
        lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
        (run / "metrics.jsonl").write_text("".join(lines[2:]))
        self.run_tandem("report", run, "--no-puzzle")
        self.assertIn("<dt>updates</dt><dd>5</dd>", (run / "report.html").read_text())

    def test_files_of_newer_versions_are_refused(self):
        run = self.train()
        self.run_tandem("report", run, "--no-puzzle", "--states", self.states())
        for name in ("evaluation.json", "summary.json"):
            content = (run / name).read_text()
            (run / name).write_text(json.dumps({**json.loads(content), "schema": 2}))
            _, error = self.run_tandem("report", run, "--no-puzzle", code=2)
            self.assertIn(f"{name}: its layout has number 2, expected at most 1", error)
            (run / name).write_text(content)

    def test_a_puzzle_that_is_too_hard_is_replaced_by_an_easier_one(self):
        run = self.train()
        self.run_tandem("report", run, "--random", 40, "--set", "search.max_length=1")
        self.assertIn("solved in 1 move (", self.page(run / "report.html").text["puzzle"])

    def test_a_run_without_a_checkpoint_has_a_page_without_a_puzzle(self):
        run = self.train()
        (run / "checkpoint.safetensors").unlink()
        _, log = self.run_tandem("report", run)
        self.assertIn("the report has no solved puzzle: ", log)
        page = self.page(run / "report.html")
        self.assertIn("No puzzle was solved: ", page.text["puzzle"])
        self.assertNotIn("figure", page.count["puzzle"])

    def test_wrong_options_are_refused_before_any_work(self):
        run = self.train()
        for args, message in [(("--set", "foo=1"), "unknown key `foo`"),
                              (("--set", "search.method=zzz"), "`search.method` is 'zzz'"),
                              (("--beam-width", "abc"), "--beam-width abc: `search.beam_width` is 'abc'"),
                              (("--limit", 3), "--limit requires --states")]:
            for more in ((), ("--no-puzzle",)):
                _, error = self.run_tandem("report", run, *args, *more, code=2)
                self.assertIn(message, error)
            self.assertFalse((run / "report.html").exists(), args)

    def test_a_page_of_a_damaged_network_says_why_it_solves_no_puzzle(self):
        run = self.train()
        (run / "checkpoint.safetensors").write_bytes((run / "checkpoint.safetensors").read_bytes()[:1000])
        _, warnings = self.run_tandem("report", run)
        self.assertIn("the report has no solved puzzle: ", warnings)
        self.assertIn("No puzzle was solved: ", self.page(run / "report.html").text["puzzle"])

    def test_errors_name_the_file(self):
        _, error = self.run_tandem("report", "nowhere", code=2)
        self.assertIn("nowhere: no such folder; expected the folder of a run", error)
        run = self.train()
        _, error = self.run_tandem("report", run, "--out", "/nowhere/page.html", code=2)
        self.assertIn("/nowhere/page.html", error)
        for name, message in (("config.yaml", "a run writes this file into its folder"),
                              ("evaluation.json", "this is the evaluation that the report shows")):
            _, error = self.run_tandem("report", run, "--no-puzzle", "--out", run / name, code=2)
            self.assertIn(f"--out {run / name}: {message}", error)
        self.assertIn("npuzzle", (run / "config.yaml").read_text())
        (run / "evaluation.json").write_text("{}")
        _, error = self.run_tandem("report", run, "--no-puzzle", code=2)
        self.assertIn("evaluation.json: ", error)
        for file in ("evaluation.json", "summary.json", "config.yaml"):
            (run / file).unlink(missing_ok=True)
            os.mkfifo(run / file)  # nobody writes it, so reading it would block
            _, error = self.run_tandem("report", run, "--no-puzzle", code=2)
            self.assertIn(f"{file}: it is a pipe or a device", error)
            (run / file).unlink()


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
