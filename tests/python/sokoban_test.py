"""Tests tandem.sokoban: levels in XML, XSB, run lengths and JSON lines become text that Tandem reads."""

import contextlib
import io
import json
import sys
import unittest
from unittest import mock

import tandem
from small_run import FolderTest
from tandem import sokoban

LEVEL = "  ####\n###  #\n#@$ .#\n######"
XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE SokobanLevels SYSTEM "SokobanLev.dtd">
<SokobanLevels><LevelCollection><Level Id="First" Width="6" Height="4">
<L>  ####</L><L>###  #</L><L>#@$ .#</L><L>######</L></Level></LevelCollection></SokobanLevels>
"""
RUNS = "2-4#\n3#2-#\n#@$-.#\n6#\nTitle: First\n"


class Sokoban(FolderTest):
    def converted(self, name, text, *options):
        path = self.folder / name
        path.write_text(text)
        printed = io.StringIO()
        with mock.patch.object(sys, "argv", ["sokoban", str(path), *options]), contextlib.redirect_stdout(printed):
            sokoban.main()
        return printed.getvalue()

    def test_converts_xml_to_xsb_and_run_lengths_and_back(self):
        xsb = self.converted("levels.slc", XML)
        self.assertEqual(xsb, f"{LEVEL}\nTitle: First\n")
        self.assertEqual(self.converted("levels.slc", XML, "--runs"), RUNS)
        self.assertEqual(self.converted("levels.txt", RUNS), xsb)
        self.assertEqual(self.converted("levels.txt", "; 1\n2-4#|3#2-#|#@$-.#|6#\n"), f"; 1\n{LEVEL}\n")
        domain = tandem.Domain("sokoban:6")
        self.assertEqual(domain.parse(LEVEL).tolist(), domain.parse("2-4#|3#2-#|#@$-.#|6#").tolist())

    def test_writes_a_solution_in_lurd_below_its_level(self):
        solved = json.dumps({"id": 1, "state": LEVEL, "moves": "RR"})
        unsolved = json.dumps({"state": LEVEL.split("\n"), "moves": None})
        self.assertEqual(self.converted("solved.jsonl", f"{solved}\n{unsolved}\n"),
                         f"{LEVEL}\nTitle: 1\nSolution: RR\n\n{LEVEL}\nTitle: 2\n")

    def test_names_a_file_that_is_not_what_it_seems(self):
        for text in ("<Level>", '{"state": ', "99999999999999999999#"):
            printed = io.StringIO()
            with contextlib.redirect_stderr(printed), self.assertRaises(SystemExit) as ended:
                self.converted("levels.xsb", text)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn("levels.xsb: ", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
