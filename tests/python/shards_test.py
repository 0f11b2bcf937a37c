"""Tests tandem.write_shards and tandem.read_shards."""

import sys
import unittest

import numpy as np

import tandem
from small_run import SMALL, FolderTest

CUBE = tandem.Domain("cube2")


def examples(rows):
    """States of known scramble lengths, and the lengths."""
    lengths = np.arange(rows) % 9
    return CUBE.encode(CUBE.scramble(rows, lengths, seed=2)), lengths.astype(np.float32)


class Shards(FolderTest):
    def write(self, name, *columns, **options):
        tandem.write_shards(self.folder / name, CUBE, *columns, **options)
        return self.folder / name

    def test_rows_come_back_as_they_were_written(self):
        inputs, targets = examples(1000)
        for compress in (False, True):
            folder = self.write(f"set{compress}", inputs, targets, chunk_rows=300, chunks_per_shard=2,
                                compress=compress)
            chunks = list(tandem.read_shards(folder))
            self.assertEqual([len(rows.inputs) for rows in chunks], [300, 300, 300, 100])
            np.testing.assert_array_equal(np.concatenate([rows.inputs for rows in chunks]), inputs)
            np.testing.assert_array_equal(np.concatenate([rows.targets for rows in chunks])[:, 0], targets)
            self.assertTrue(all(rows.weights is None for rows in chunks))

    def test_weights_come_back_too(self):
        inputs, _ = examples(50)
        targets = np.random.default_rng(1).random((50, CUBE.num_actions), dtype=np.float32)
        weights = (targets > 0.5).astype(np.float32)
        [rows] = tandem.read_shards(self.write("q", inputs, targets, weights, head="q"))
        np.testing.assert_array_equal(rows.targets, targets)
        np.testing.assert_array_equal(rows.weights, weights)

    def test_a_run_trains_on_written_rows(self):
        folder = self.write("set", *examples(2000), chunk_rows=500)
        settings = {"data.source": "shards", "data.path": folder, "validation.every_updates": 0}
        result = tandem.train(SMALL, self.folder / "run", settings)
        self.assertEqual(result.examples, 6 * 5 * 100)
        self.assertLess(result.final_loss, 20)

    def test_rows_that_cannot_be_trained_on_are_named_and_nothing_is_written(self):
        inputs, targets = examples(30)
        wrong = inputs.copy()
        wrong[7, 3] = 6
        bad = targets.copy()
        bad[12] = np.nan
        for columns, message in [((wrong, targets), "inputs: row 7 has 6, expected a number below 6"),
                                 ((inputs, bad), "targets: row 12 has nan, expected a finite number"),
                                 ((inputs, targets[:20]), "`targets` has 20 rows of 1 numbers, expected 30 rows of 1"),
                                 ((inputs[:, :5], targets), "`inputs` has 30 rows of 5 numbers, expected 30 rows of 24"),
                                 ((inputs[:0], targets[:0]), "`inputs` has no rows"),
                                 ((inputs.astype(int), targets), "inputs: expected uint8")]:
            with self.subTest(message=message), self.assertRaisesRegex(ValueError, message):
                self.write("wrong", *columns)
            self.assertFalse((self.folder / "wrong").exists())
        with self.assertRaisesRegex(ValueError, "head: expected v, q, q_in, policy or vp, found heart"):
            self.write("wrong", inputs, targets, head="heart")
        for head, outputs in ("policy", CUBE.num_actions), ("vp", CUBE.num_actions + 1):
            with self.assertRaisesRegex(ValueError, f"weights: labels for head {head} cannot have any"):
                self.write("wrong", inputs, np.ones((30, outputs)), np.ones((30, outputs)), head=head)
        with self.assertRaisesRegex(ValueError, "chunk_rows: expected 1 to 2147483647, found 0"):
            self.write("wrong", inputs, targets, chunk_rows=0)
        with self.assertRaisesRegex(ValueError, "chunks_per_shard: expected 1 to 1048576, found -1"):
            self.write("wrong", inputs, targets, chunks_per_shard=-1)

    def test_a_folder_that_is_in_use_is_refused(self):
        self.write("set", *examples(10))
        with self.assertRaisesRegex(ValueError, "is not an empty folder"):
            self.write("set", *examples(10))

    def test_a_damaged_chunk_is_named(self):
        folder = self.write("set", *examples(100))
        [file] = folder.iterdir()
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        with self.assertRaisesRegex(RuntimeError, file.name):
            list(tandem.read_shards(folder))
        with self.assertRaisesRegex(ValueError, "nowhere"):
            list(tandem.read_shards(self.folder / "nowhere"))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
