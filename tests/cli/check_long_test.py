"""Tests that scripts/check_long keeps the results of the parts that it does not run."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from harness import load_script


class CheckLong(unittest.TestCase):
    def setUp(self):
        self.script = load_script("check_long")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script.LOGS = pathlib.Path(folder.name) / "logs"
        self.script.REPORT = self.script.LOGS / "report.md"
        step = self.script.Step
        self.script.PARTS = {
            "first": lambda: [step("says", "echo 3 runs passed", "runs passed"), step("quiet", "true")],
            "second": lambda: [step("breaks", "sh -c 'echo 1 | cat; exit 3'"), step("goes on", "true")]}

    def run_parts(self, *parts):
        with mock.patch.object(sys, "argv", ["check_long", *parts]):
            return self.script.main()

    def rows(self):
        return {tuple(cells[1:3]): cells[-2] for cells in
                ([cell.strip() for cell in line.replace("\\|", "/").split("|")]
                 for line in self.script.REPORT.read_text().splitlines() if line.startswith("| "))}

    def test_a_part_replaces_its_own_rows_only(self):
        self.assertEqual(self.run_parts("second"), 1)
        self.assertIn("Not run yet: first.", self.script.REPORT.read_text())
        failed = self.rows()
        self.assertEqual(failed["second", "breaks"], "**failed**")
        self.assertEqual(failed["second", "goes on"], "passed")
        self.assertEqual(self.run_parts("first"), 0)
        self.assertEqual(self.rows(), failed | {("first", "says"): "passed: 3 runs passed",
                                                ("first", "quiet"): "passed"})
        self.assertNotIn("Not run yet", self.script.REPORT.read_text())
        self.assertLess(self.script.REPORT.read_text().index("| first |"),
                        self.script.REPORT.read_text().index("| second |"))

    def test_writes_its_report_into_the_build_folder(self):
        self.assertEqual(load_script("check_long").REPORT, pathlib.Path("build/check_long/report.md"))

    def test_runs_everything_without_arguments(self):
        self.assertEqual(self.run_parts(), 1)
        self.assertEqual(len(self.rows()), 5)  # with the heading


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
