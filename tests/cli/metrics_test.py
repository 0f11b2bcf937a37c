"""Tests `tandem metrics`."""

import csv
import io
import json
import subprocess
import sys
import unittest

from harness import TANDEM, CliTest


class Metrics(CliTest):
    def setUp(self):
        super().setUp()
        (self.folder / "run").mkdir()

    def rows_of(self, *lines):
        """The rows that are printed for these lines of metrics.jsonl, as dictionaries."""
        self.write("run/metrics.jsonl", "".join(line + "\n" for line in lines))
        out, self.warnings = self.run_tandem("metrics", "run")
        return list(csv.DictReader(io.StringIO(out, newline="")))

    def test_has_a_row_per_line_and_a_column_per_key_in_order_of_appearance(self):
        rows = self.rows_of('{"update": 0, "loss": 31.7685}',
                            '{"update": 1, "loss": 19.0, "solve_rate": 0.15, "by": {"1": 2, "8": 0.5}}',
                            '{"update": 2, "main_forward_s": 1e-06, "loss": 12}')
        self.assertEqual(list(rows[0]),
                         ["update", "loss", "solve_rate", "by/1", "by/8", "main_forward_s"])
        self.assertEqual([list(row.values()) for row in rows],
                         [["0", "31.7685", "", "", "", ""], ["1", "19.0", "0.15", "2", "0.5", ""],
                          ["2", "12", "", "", "", "1e-06"]])

    def test_quotes_texts_that_need_it(self):
        texts = ['plain', 'a, b', 'say "x"', 'two\nlines']
        rows = self.rows_of(*(json.dumps({"a,b": text}) for text in texts))
        self.assertEqual([row["a,b"] for row in rows], texts)

    def test_leaves_out_a_half_written_line_with_a_warning(self):
        rows = self.rows_of('{"update": 0}', '{"upd')
        self.assertEqual(rows, [{"update": "0"}])
        self.assertIn("metrics.jsonl:2: expected a JSON object, found invalid JSON at byte 6; the line "
                      "is left out", self.warnings)

    def test_leaves_out_a_changed_line_with_a_warning(self):
        (self.folder / "run").rmdir()
        run = self.train_small()
        lines = (run / "metrics.jsonl").read_text().splitlines()
        rows = self.rows_of(lines[0], lines[1].replace('"update":1', '"update":7'), *lines[2:])
        self.assertEqual([row["update"] for row in rows], ["0", "2", "3"])
        self.assertNotIn("hash", rows[0])
        self.assertIn("metrics.jsonl:2: expected the line's hash to match; the line is left out",
                      self.warnings)

    def test_rejects_keys_that_are_far_longer_than_those_of_a_run(self):
        """Otherwise, each number of the list would have the whole key in its column's name."""
        line = json.dumps({"a" * 900: {"b" * 900: [0] * 1000}})
        self.write("run/metrics.jsonl", line + "\n")
        _, error = self.run_tandem("metrics", "run", code=2, memory=1 << 30)
        self.assertIn("metrics.jsonl:1: a key has more than 1000 bytes: aaaa", error)

    def test_lines_that_each_add_columns_take_memory_for_their_own_cells_only(self):
        rows = self.rows_of(*(json.dumps({f"key{i}": i}) for i in range(2000)))
        self.assertEqual(rows[1999]["key1999"], "1999")
        self.assertEqual([value for value in rows[1000].values() if value], ["1000"])

    def test_a_run_without_metrics_is_bad_input(self):
        _, error = self.run_tandem("metrics", "run", code=2)
        self.assertIn("run/metrics.jsonl: no such file; expected the folder of a run", error)

    def test_metrics_without_an_update_are_bad_input(self):
        for text in ("", "\n", '{"upd'):
            self.write("run/metrics.jsonl", text)
            out, error = self.run_tandem("metrics", "run", code=2)
            self.assertEqual(out, "")
            self.assertIn("run/metrics.jsonl: no updates found; expected one line per update", error)

    def test_does_not_replace_files_of_the_run(self):
        line = '{"update": 0}\n'
        self.write("run/metrics.jsonl", line)
        self.write("run/config.yaml", "{}\n")
        _, error = self.run_tandem("metrics", "run", "--csv", "run/metrics.jsonl", code=2)
        self.assertIn("--csv run/metrics.jsonl: this is the file of the metrics", error)
        for name in ("config.yaml", "summary.json", "checkpoint.safetensors", "best-3.safetensors", "previous-2.safetensors",
                     "checkpoint-10.safetensors", "shards.jsonl", "trace.json", "replay-4.bin",
                     "events.out.tfevents.1.host", "checkpoint-copy.safetensors"):
            _, error = self.run_tandem("metrics", "run", "--csv", f"run/{name}", code=2)
            self.assertIn(f"--csv run/{name}: a run writes this file into its folder", error)
        self.assertEqual((self.folder / "run/metrics.jsonl").read_text(), line)
        self.assertEqual((self.folder / "run/config.yaml").read_text(), "{}\n")
        for name in ("run/metrics.csv", "config.yaml", "/dev/null"):  # the last two are of no run
            self.run_tandem("metrics", "run", "--csv", name)
        self.run_tandem("metrics", "run", "--csv", "run/metrics.csv")  # and again

    def test_writes_to_a_pipe_and_to_the_standard_output_of_a_shell(self):
        self.write("run/metrics.jsonl", '{"update": 0}\n')
        table, _ = self.run_tandem("metrics", "run")
        self.assertEqual(self.run_tandem("metrics", "run", "--csv", "/dev/stdout")[0], table)
        script = f"""\
            (echo first; '{TANDEM}' metrics run --csv /dev/stdout; echo last) > both.txt
            '{TANDEM}' metrics run --csv >(cat > copy.csv); wait $!
            """
        subprocess.run(["bash", "-ec", script], cwd=self.folder, timeout=120, check=True)
        self.assertEqual((self.folder / "both.txt").read_text(), f"first\n{table}last\n")
        self.assertEqual((self.folder / "copy.csv").read_text(), table)

    def test_writes_a_file_with_the_figures_of_a_run(self):
        (self.folder / "run").rmdir()
        run = self.train_small("--set", "validation.every_updates=2")
        out, _ = self.run_tandem("metrics", run, "--csv", "figures.csv")
        self.assertEqual(out, "")
        with open(self.folder / "figures.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(len(rows), 4)
        for row, line in zip(rows, lines):
            self.assertEqual(float(row["loss"]), line["loss"])
        self.assertEqual(rows[0]["solve_rate"], "")
        self.assertEqual(float(rows[1]["solve_rate_by_length/8"]), lines[1]["solve_rate_by_length"]["8"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
