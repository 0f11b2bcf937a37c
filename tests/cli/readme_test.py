"""Checks the README, CONTRIBUTING and the pages in docs/.

Runs every `tandem` command in their `sh` blocks with small settings. For other commands, checks that
what they name exists. Fails for a kind of command that it does not know, so no page shows an untested
command. Also checks every link.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest

# The README comes first: the other pages use the run that it trains.
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")),
         *(SOURCE / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"))]

TRAIN_IN_SMALL = ["--set", "train.max_updates=2", "--set", "train.iterations_per_update=3",
                  "--set", "train.batch_size=50", "--set", "network.width=32"]
SOLVE_IN_SMALL = ["--set", "search.beam_width=16", "--set", "search.max_length=3",
                  "--set", "search.max_nodes=1000"]


def blocks(page, language):
    """The texts of a page's code blocks in the language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(), re.M | re.S)


def commands(page):
    """The words of each command in the page's `sh` blocks, without leading VARIABLE=VALUE."""
    for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.match(r"[A-Z]+=", words[0]):
            words.pop(0)
        if words:
            yield words


def without_code(page):
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Readme(CliTest):
    def setUp(self):
        super().setUp()
        for name in ("configs", "data"):
            (self.folder / name).symlink_to(SOURCE / name)
        # The published test set is not part of the repository.
        shutil.copy(SOURCE / "data" / "cube3_ten.jsonl", self.folder / "cube3.jsonl")

    def write_configs(self, page):
        """Writes each YAML block that starts with `# NAME.yaml` to that file."""
        for text in blocks(page, "yaml"):
            if name := re.match(r"# (\S+\.yaml)\n", text):
                self.write(name[1], text)

    def run_in_copy(self, words):
        allowed = (0,)
        if words[1] == "train" and "--resume" not in words:
            words = words + TRAIN_IN_SMALL
        elif words[1] == "compare":
            words = words + TRAIN_IN_SMALL + ["--set", "validation.states=20"]
        elif words[1] in ("solve", "evaluate"):
            words = words + SOLVE_IN_SMALL + ([] if "--limit" in words else ["--limit", "2"])
            allowed = (0, 1)  # a net of two updates need not solve a cube
        result = subprocess.run([str(TANDEM)] + words[1:], cwd=self.folder, capture_output=True,
                                stdin=subprocess.DEVNULL, text=True, timeout=120)
        self.assertIn(result.returncode, allowed, result.stdout + result.stderr)

    def check_make(self, words):
        for target in words[1:]:
            if "=" not in target:
                subprocess.run(["make", "-n", target], cwd=SOURCE, check=True, capture_output=True)

    def check_preset(self, words):
        listing = ["cmake", "--list-presets=all"]
        presets = subprocess.run(listing, cwd=SOURCE, check=True, capture_output=True, text=True)
        self.assertIn(f'"{words[words.index("--preset") + 1]}"', presets.stdout)

    def check_script(self, path, words):
        """The script exists, and its text has every option that the command gives it."""
        script = SOURCE / path
        self.assertTrue(os.access(script, os.X_OK), script)
        for option in [word.partition("=")[0] for word in words if word.startswith("--")]:
            self.assertIn(option, script.read_text())

    def check_built_program(self, name):
        """CMake builds a test or a benchmark of that name."""
        lists = [SOURCE / folder / "CMakeLists.txt" for folder in ("tests", "bench")]
        self.assertRegex("".join(path.read_text() for path in lists), rf"\b{name}\b")

    def check_command(self, words):
        path, program = words[0], words[0].split("/")[-1]
        if program == "tandem":
            self.run_in_copy(words)
        elif program == "make":
            self.check_make(words)
        elif program in ("cmake", "ctest"):
            if "--preset" in words:
                self.check_preset(words)
        elif path.startswith(("scripts/", "bench/")):
            self.check_script(path, words[1:])
        elif program == "gpu_suite":
            self.check_script("scripts/gpu_suite", words[1:])
        elif path.startswith("build/release/"):
            self.check_built_program(program)
        elif program != "export":
            self.fail("this test does not know this kind of command")
        return program

    def test_every_command(self):
        seen = set()
        for page in PAGES:
            self.write_configs(page)
            for words in commands(page):
                with self.subTest(f"{page.name}: {' '.join(words)}"):
                    seen.add(self.check_command(words))
        self.assertLessEqual({"tandem", "make", "cmake", "ctest", "setup"}, seen)

    def test_no_page_has_a_placeholder(self):
        for page in PAGES:
            with self.subTest(page.name):
                self.assertEqual(re.findall(r"^[A-Z_]{8,}$", page.read_text(), re.M), [])

    def test_every_link_leads_somewhere(self):
        links = 0
        for page in PAGES:
            text = without_code(page)
            for path, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", text):
                links += 1
                with self.subTest(f"{page.name}: {path}#{anchor}"):
                    target = page.parent / path if path else page
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(target))
        self.assertGreater(links, 50)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
