"""Tests that runs and shards of a puzzle file are rejected after its rules change."""

import sys
import unittest

from harness import CliTest


class Rules(CliTest):
    RULES = "goal: [1, 2, 3, 4]\ngenerators: {L: \"(0 3 2 1)\", X: \"(0 1)\"}\n"

    def setUp(self):
        super().setUp()
        self.write("my.yaml", self.RULES)
        self.write("config.yaml", """\
domain: {name: permutation, file: my.yaml}
network: {width: 16, blocks: 1}
generate: {max_scramble: 5}
train: {batch_size: 50, iterations_per_update: 4, max_updates: 4}
""")
        self.write("states.txt", "2 1 3 4\n")
        self.run_tandem("train", "config.yaml", "--out", "run", "--set", "train.max_updates=2")
        self.generate = ("generate", "config.yaml", "--examples", 100, "--out", "shards")
        self.run_tandem(*self.generate)

    def test_rejects_other_rules(self):
        self.write("my.yaml", self.RULES.replace("(0 1)", "(1 2)"))
        both = r"(run|shard).*made for permutation:(/\S+/)?my\.yaml with other rules "
        for args in (("solve", "--model", "run", "--states", "states.txt"),
                     ("train", "--resume", "run", "--set", "train.max_updates=3"),
                     ("train", "config.yaml", "--out", "other", "--set", "network.init_from=run"),
                     ("train", "config.yaml", "--out", "stored", "--set", "data.source=shards",
                      "--set", "data.path=shards"),
                     self.generate):
            self.assertRegex(self.run_tandem(*args, code=2)[1], both)

    def test_accepts_the_same_rules_with_another_summary(self):
        self.write("my.yaml", "summary: the same\n" + self.RULES)
        self.run_tandem("solve", "--model", "run", "--states", "states.txt")
        self.run_tandem("train", "--resume", "run", "--set", "train.max_updates=3")
        self.run_tandem(*self.generate)

    def test_a_run_resumes_after_its_puzzle_has_moved(self):
        (self.folder / "my.yaml").rename(self.folder / "moved.yaml")
        resume = ("train", "--resume", "run", "--set", "train.max_updates=3")
        _, error = self.run_tandem(*resume, code=2)
        self.assertRegex(error, "run/config.yaml:.*my.yaml")
        self.run_tandem(*resume, "--set", "domain.file=moved.yaml")
        self.run_tandem("train", "--resume", "run", "--set", "train.max_updates=4")  # knows the place
        self.write("moved.yaml", self.RULES.replace("(0 1)", "(1 2)"))
        _, error = self.run_tandem("train", "--resume", "run", "--set", "train.max_updates=5", "--set",
                                   "domain.file=moved.yaml", code=2)
        self.assertIn("with other rules", error)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
