"""Runs the examples in examples/python and the notebooks."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import tandem
from small_run import SMALL, SOURCE, FolderTest

EXAMPLES = SOURCE / "examples" / "python"
NOTEBOOKS = SOURCE / "examples" / "notebooks"


def has(module):
    """Whether the module is installed; set-up installs all of them into .venv."""
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


class Examples(FolderTest):
    def run_example(self, name, *args):
        result = subprocess.run([sys.executable, EXAMPLES / name, *map(str, args)],
                                capture_output=True, text=True, timeout=300, cwd=self.folder,
                                env={**os.environ, "MPLBACKEND": "agg"})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    @unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
    def test_plot_run_draws_updates_and_evaluated_networks(self):
        tandem.train(SMALL, self.folder / "run")
        network = {"trained_s": 1, "examples": 100, "solve_rate": 0.5, "share_optimal": None}
        (self.folder / "evaluation.json").write_text(json.dumps({"networks": [network]}))
        for options in ((), ("--evaluation", "evaluation.json", "--over-examples")):
            self.run_example("plot_run.py", self.folder / "run", "curve.svg", *options)
            lines = re.findall(r'<path d="(M [^"]*)" clip-path', (self.folder / "curve.svg").read_text())
            points = [[float(x) for x in re.findall(r"[ML] (\S+)", line)] for line in lines]
            self.assertEqual(max(map(len, points)), 6)  # the losses of all updates
            for line in points:
                self.assertEqual(line, sorted(set(line)))

    def test_rebuild_in_pytorch_finds_the_same_estimate(self):
        tandem.train(SMALL, self.folder / "run")
        out = self.run_example("rebuild_in_pytorch.py", self.folder / "run", "R U F'")
        theirs, ours = map(float, re.search(r"PyTorch (\S+), Tandem (\S+)", out).groups())
        self.assertAlmostEqual(theirs, ours, delta=2e-3)

    def test_own_puzzle_solves_every_row(self):
        out = self.run_example("own_puzzle.py", self.folder / "run")
        self.assertEqual(len(re.findall(r"^\[[\d ]+\] (?:turn\d ?)+$", out, re.M)), 5, out)

    def test_mirrored_tiles_solves_and_compares_with_the_best_known(self):
        tandem.train(SMALL | {"domain": {"name": "npuzzle", "size": 3}}, self.folder / "run")
        (self.folder / "states.jsonl").write_text(
            '{"state": "1 2 3 4 5 6 7 0 8", "optimal": 1}\n{"state": "1 2 3 4 5 6 0 7 8", "best_known": 2}\n')
        out = self.run_example("mirrored_tiles.py", self.folder / "run", self.folder / "states.jsonl",
                               "beam_width=100")
        self.assertRegex(out, r"^solved 2 of 2, .*\nmean length 1\.50, 1\.000 times the best known")

    def test_a_competition_goes_from_its_files_to_a_submission(self):
        moves = {"f": [1, 2, 3, 0, 4, 5], "g": [0, 1, 3, 4, 5, 2]}
        inverses = {"-f": [3, 0, 1, 2, 4, 5], "-g": [0, 1, 5, 2, 3, 4]}
        (self.folder / "puzzle_info.json").write_text(
            json.dumps({"central_state": list(range(6)), "generators": moves | inverses}))
        (self.folder / "test.csv").write_text('initial_state_id,initial_state\n7,"1,2,3,0,4,5"\n9,"0,1,2,3,4,5"\n')
        (self.folder / "puzzle_info.csv").write_text(f'puzzle_type,allowed_moves\nsix,"{moves}"\n')
        (self.folder / "puzzles.csv").write_text(
            "id,puzzle_type,solution_state,initial_state,num_wildcards\n"
            "2,two,A;B,B;A,0\n3,six,A;A;B;B;C;C,A;B;B;A;C;C,0\n"
            "5,six,A;A;B;B;C;C,A;B;B;A;C;C,2\n4,six,A;B;A;B;A;B,B;A;B;A;A;B,0\n")
        (self.folder / "sample.csv").write_text("initial_state_id,path\n7,f.-f.-f\n9,f.-f\n")
        (self.folder / "santa.csv").write_text("id,moves\n2,t\n3,f\n5,f.f\n4,UNSOLVED\n")
        small = ("network.width=64", "train.max_updates=5", "train.max_seconds=0", "train.batch_size=200",
                 "train.iterations_per_update=10", "search.beam_width=100")
        for definition, test, sample, path in (
                ("puzzle_info.json", "test.csv", "sample.csv", r"^initial_state_id,path\s+7,-f\s+9,\s*$"),
                ("puzzle_info.csv#six", "puzzles.csv", "santa.csv", r"^id,moves\s+2,t\s+3,-f\s+5,\s+4,UNSOLVED\s*$"),
                ("puzzle_info.csv#4", "puzzles.csv", "out.csv", r"^id,moves\s+2,t\s+3,-f\s+5,\s+4,-?[fg]\S*\s*$")):
            run = definition.partition(".")[2]
            self.run_example("competition.py", "train", definition, run, *small)
            self.run_example("competition.py", "solve", run, test, sample, "out.csv")
            self.assertRegex((self.folder / "out.csv").read_text(), path)
        out = self.run_example("competition.py", "solve", "json", "test.csv", "sample.csv", "out.csv", "rows=0:1")
        self.assertIn("1 of 1 solved, 1 lines improved: 3 moves before, 1 now", out)


@unittest.skipUnless(has("nbclient") and has("ipykernel") and has("matplotlib"),
                     "nbclient, ipykernel or matplotlib is not installed")
class Notebook(FolderTest):
    def test_cube2_trains_plots_and_draws_a_solution(self):
        import nbformat
        from nbclient import NotebookClient
        path = NOTEBOOKS / "cube2.ipynb"
        notebook = nbformat.read(path, as_version=4)
        before = {name: os.environ.get(name)
                  for name in ("TANDEM_SMALL", "TMPDIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
        os.environ.update(dict.fromkeys(before, str(self.folder)), TANDEM_SMALL="1")
        try:
            NotebookClient(notebook, timeout=300, kernel_name="python3",
                           resources={"metadata": {"path": str(path.parent)}}).execute()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        images = [output for output in outputs if "image/png" in output.get("data", {})]
        self.assertEqual(len(images), 4)
        self.assertTrue(any("image/svg+xml" in output.get("data", {}) for output in outputs))
        self.assertIn("<tandem.Solution of ", "".join(o.get("text", "") for o in outputs))
        self.assertTrue((next(pathlib.Path(self.folder).glob("*/cube2")) / "summary.json").exists())


class CellsOfNotebooks(FolderTest):
    @unittest.skipUnless(has("matplotlib"), "matplotlib is not installed")
    def test_transformer_trains_and_solves(self):
        cells = json.loads((NOTEBOOKS / "transformer.ipynb").read_text())["cells"]
        program = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                                cwd=self.folder, env={**os.environ, "TANDEM_SMALL": "1", "MPLBACKEND": "agg"})
        self.assertEqual(result.returncode, 0, result.stderr)
        solutions = result.stdout.splitlines()
        self.assertEqual(len(solutions), 5, result.stdout)
        for moves in solutions:  # a ball of 3 moves and a beam of 100 states reach 4 moves without a network
            self.assertRegex(moves, r"^([URF]'? ?)*$")

    def test_stored_notebooks_have_no_outputs(self):
        for path in NOTEBOOKS.glob("*.ipynb"):
            cells = json.loads(path.read_text())["cells"]
            self.assertEqual([cell["outputs"] for cell in cells if cell.get("outputs")], [], path.name)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
