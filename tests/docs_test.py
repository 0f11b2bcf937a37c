"""Runs the commands and snippets of the README, CONTRIBUTING and the pages in docs/, and checks links.

Every `sh` block is run as it is, in order, in a folder where `tandem` is a program that adds small
settings (SMALL). A block that cannot be run here has a comment above it that says why:

    <!-- not run: needs a GPU -->

Of such a block, the test checks that the targets, presets, scripts and options that it names exist.
To keep `make test` short, only the pages in SHORT are run in full there. Of the other pages, commands that
need a trained network have their options checked, and configs are read with `tandem config`. With --long,
every page is run in full.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "cli"))
from harness import SOURCE, TANDEM, CliTest, load_script  # noqa: E402

# The README comes first: the other pages use the run that it trains.
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")),
         *(SOURCE / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"))]
SHORT = {"README.md", "files.md", "puzzles.md", "python.md", "reliability.md", "scale-out.md", "tutorial.md"}

TRAIN_IN_SMALL = ["--set", "train.max_updates=2", "--set", "train.iterations_per_update=3",
                  "--set", "train.batch_size=50", "--set", "network.width=32"]
SOLVE_IN_SMALL = ["--set", "search.beam_width=16", "--set", "search.max_length=3",
                  "--set", "search.max_nodes=1000"]
SMALL = {"train": TRAIN_IN_SMALL, "compare": ["--set", "validation.states=20", *TRAIN_IN_SMALL],
         "solve": SOLVE_IN_SMALL, "evaluate": SOLVE_IN_SMALL, "report": SOLVE_IN_SMALL}
SMALL_PYTHON = """
import os
import tempfile
import tandem

folder = tempfile.TemporaryDirectory()
os.symlink(os.path.abspath("configs"), folder.name + "/configs")
os.chdir(folder.name)

def in_small(call):
    small = {"train.max_updates": 2, "train.iterations_per_update": 3, "train.batch_size": 50,
             "train.max_seconds": 0, "network.width": 32, "validation.states": 20}
    return lambda config, folder, settings=None, **more: call(config, folder, small, **more)

tandem.train, tandem.Training = in_small(tandem.train), in_small(tandem.Training)
make_examples = tandem.Examples
tandem.Examples = lambda *args, **more: make_examples(
    *args, **{**more, "batch_size": 50, "batches_per_update": 3, "updates": 2})
"""
# Keys whose choices have to be explained on a page.
CHOICES = {"search.method": "docs/guide/solve.md", "backend": "docs/guide/train.md",
           **{key: "docs/guide/train.md" for key in (
               "generate.target", "generate.search", "generate.backup", "network.head", "network.norm",
               "network.activation", "optimizer.schedule", "pipeline.mode")}}
# What cannot be run without a run, a set of shards or LibTorch.
NEEDS_RUN = {"compare", "evaluate", "export", "generate", "import", "metrics", "report", "shards", "solve",
             "train"}

# Names in the text that look like keys: files, and places where a failure can be injected.
NOT_KEYS = {"checkpoint.safetensors", "checkpoint.write", "replay.write", "report.html", "pipeline.cc", "pipeline.h",
            "search.cc"}

BLOCK = re.compile(r"^( *)(?:<!-- not run: (?P<reason>\S.*?) -->\n *)?```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
                   re.M | re.S)


# --- the program that blocks call as `tandem` ---------------------------------------------------------

def run_small(args):
    """Runs the command with small settings. A network of two updates need not solve anything."""
    small = list(SMALL.get(args[0], [])) if args else []
    if "--resume" in args or "--help" in args:
        small = []
    if args and args[0] in ("solve", "evaluate", "report") and "--states" in args and "--limit" not in args:
        small += ["--limit", "2"]
    code = subprocess.run([TANDEM, *args, *small], stdin=subprocess.DEVNULL).returncode
    return 0 if code == 1 and args[0] in ("solve", "evaluate") else code


@functools.cache
def help_of(command):
    result = subprocess.run([TANDEM, command, "--help"], capture_output=True, text=True)
    if result.returncode != 0:
        raise ValueError(f"no command {command}")
    return result.stdout


def unknown_options(args):
    """The options that the command does not have."""
    options = {word.partition("=")[0] for word in args[1:] if word.startswith("--")}
    return sorted(option for option in options - {"--help"}
                  if not re.search(rf"{option}\b", help_of(args[0])))


def check_only(args):
    """Runs the command if it needs no run. Otherwise checks its options and its config."""
    if not args or args[0] not in NEEDS_RUN and "--model" not in args:
        return subprocess.run([TANDEM, *args], stdin=subprocess.DEVNULL).returncode
    if unknown := unknown_options(args):
        print(f"tandem {args[0]} has no option {', '.join(unknown)}", file=sys.stderr)
        return 2
    if args[0] in ("train", "compare", "generate") and "--resume" not in args:
        settings = [word for i, word in enumerate(args) if "--set" in (word, args[i - 1])]
        return subprocess.run([TANDEM, "config", args[1], *settings], stdout=subprocess.DEVNULL).returncode
    return 0


# --- pages ------------------------------------------------------------------------------------------

def blocks(page):
    """The page's code blocks, as (line, reason, language, text)."""
    text = page.read_text()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        yield line, match["reason"], match["language"], textwrap.dedent(match["text"])


def without_code(page):
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(text):
    """The words of each command of an `sh` block, without leading VARIABLE=VALUE."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.match(r"[A-Z]+=", words[0]):
            words.pop(0)
        if words:
            yield words


class Docs(CliTest):
    every_page = False

    def setUp(self):
        super().setUp()
        for name in ("configs", "data", "examples"):
            (self.folder / name).symlink_to(SOURCE / name)
        for name in ("bin", "build/release"):
            (self.folder / name).mkdir(parents=True)
            program = self.folder / name / "tandem"
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" --as-tandem "$@"\n')
            program.chmod(0o755)

    # Runs of each kind of block.

    def run_sh(self, text, in_full):
        mode = "run" if in_full else "check"
        environment = {**os.environ, "HOME": str(self.folder), "DOCS_TEST_MODE": mode,
                       "TANDEM": str(TANDEM.resolve()),
                       "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-2000:])

    def load_yaml(self, text):
        name = re.match(r"# (\S+\.yaml)\n", text)
        path = self.write(name[1] if name else "snippet.yaml", text)
        if re.search(r"^generators:", text, re.M):
            self.run_tandem("domains", f"permutation:{path}")
        else:
            self.run_tandem("config", path)

    def compile_cpp(self, text):
        """A whole snippet must compile; any other must be a part of a file in examples/."""
        if "#include" not in text:
            return self.find_in_examples(text, "*.cc")
        path = self.write("snippet.cc", text)
        headers = [SOURCE / "include", SOURCE / "src", TANDEM.parent / "include"]
        if not (headers[-1] / "tandem" / "interface_version.h").exists():
            version = self.folder / "include" / "tandem" / "interface_version.h"
            version.parent.mkdir(parents=True, exist_ok=True)
            version.write_text('#define TANDEM_INTERFACE_VERSION ""\n#define TANDEM_STANDARD_LIBRARY ""\n')
            headers.append(self.folder / "include")
        result = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Werror",
                                 *(f"-I{header}" for header in headers), path],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def find_in_examples(self, text, names):
        """Lines are compared without their indentation, and empty lines do not count."""
        def lines(text):
            return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
        files = [lines(path.read_text()) for path in (SOURCE / "examples").rglob(names)]
        self.assertTrue(any(lines(text) in file for file in files),
                        f"no file {names} of examples/ has this snippet, and it is not whole")

    def run_python(self, text, in_full):
        """The snippets of a page are parts of one program, which is run as far as this snippet."""
        compile(text, "snippet.py", "exec")
        self.program += text
        if not in_full:
            return
        text = self.program
        path = f"{SOURCE / 'examples' / 'pytorch'}:{TANDEM.resolve().parent / 'python'}"
        environment = {**os.environ, "PYTHONPATH": path}
        uses_tandem = re.search(r"^(import|from) tandem\b", text, re.M)
        python = self.python_with_torch() if uses_tandem or "torch" in text else sys.executable
        if uses_tandem:
            text = SMALL_PYTHON + text
            found = subprocess.run([python, "-c", "import tandem"], env=environment, capture_output=True)
            if found.returncode != 0:
                self.skipTest("the Python package is not built")
        result = subprocess.run([python, "-c", text], cwd=self.folder, env=environment, capture_output=True,
                                text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)

    # Checks of blocks that are not run.

    def check_script(self, path, words):
        """The script exists, and its text or that of what scripts share has every option of the command."""
        script = SOURCE / path
        self.assertTrue(os.access(script, os.X_OK), script)
        text = "".join(each.read_text() for each in (script, SOURCE / "scripts/common.py", *script.parent.glob("*.py")))
        for option in [word.partition("=")[0] for word in words if word.startswith("--")]:
            self.assertIn(option, text)

    def check_preset(self, words):
        listing = ["cmake", "--list-presets=all"]
        presets = subprocess.run(listing, cwd=SOURCE, check=True, capture_output=True, text=True)
        self.assertIn(f'"{words[words.index("--preset") + 1]}"', presets.stdout)

    def check_command(self, words):
        programs = [word.split("/")[-1] for word in words]
        if programs[0] in ("exec", "torchrun"):  # which start another program
            words = words[programs.index("tandem"):]
        path, program = words[0], words[0].split("/")[-1]
        if program == "tandem":
            self.assertEqual(unknown_options(words[1:]), [])
        elif program == "make":
            for target in [word for word in words[1:] if "=" not in word]:
                subprocess.run(["make", "-n", target], cwd=SOURCE, check=True, capture_output=True)
        elif program in ("cmake", "ctest"):
            if "--preset" in words:
                self.check_preset(words)
        elif path.startswith(("scripts/", "bench/")):
            self.check_script(path, words[1:])
        elif program == "gpu_suite":
            self.check_script("scripts/gpu_suite", words[1:])
        elif path.startswith("build/release/"):
            lists = [SOURCE / folder / "CMakeLists.txt" for folder in ("tests", "bench")]
            self.assertRegex("".join(path.read_text() for path in lists), rf"\b{program}\b")
        elif program not in ("export", "pip", "python3", "sudo", "docker"):
            self.fail(f"this test does not know the kind of command of `{words[0]}`")

    def check_block(self, reason, language, text, in_full):
        if reason:
            self.assertEqual(language, "sh", "only sh blocks may be marked as not run")
            for words in commands(text):
                self.check_command(words)
        elif language == "sh":
            self.assertNotRegex(text, r"(?m)^\s*(sudo|apt|apt-get|pip|curl|wget|git|rm) ",
                                "mark this block with <!-- not run: REASON -->")
            self.run_sh(text, in_full)
        elif language == "yaml":
            self.load_yaml(text)
        elif language == "cpp":
            self.compile_cpp(text)
        elif language == "cmake":
            self.find_in_examples(text, "CMakeLists.txt")
        elif language == "python":
            self.run_python(text, in_full)
        else:
            self.assertIn(language, ("", "text"), "this test does not know the language")

    # Tests.

    def test_every_block_runs_or_says_why_not(self):
        ran = 0
        for page in PAGES:
            fences = len(re.findall(r"^ *```\w*$", page.read_text(), re.M))
            found = list(blocks(page))
            self.assertEqual(fences, 2 * len(found), f"{page.name}: a code block has no end, or no start")
            in_full = self.every_page or page.name in SHORT
            self.program = ""
            for line, reason, language, text in found:
                with self.subTest(f"{page.name}:{line}"):
                    self.check_block(reason, language, text, in_full)
                    ran += 1
        self.assertGreater(ran, 50)

    def test_commands_that_do_not_exist_fail(self):
        for text in ("tandem solve --model runs/first --no-such-option",
                     "tandem train configs/quickstart.yaml --set train.no_such_key=1",
                     "make test", "tandem no-such-command"):
            with self.subTest(text), self.assertRaises(AssertionError):
                self.check_block(None, "sh", text + "\n", in_full=False)

    def test_blocks_call_the_program_by_its_name(self):
        """The README says how to put it into PATH."""
        for page in PAGES:
            for line, _, language, text in blocks(page):
                with self.subTest(f"{page.name}:{line}"):
                    self.assertFalse(language == "sh" and "build/release/tandem" in text)

    def test_no_page_has_a_placeholder(self):
        for page in PAGES:
            with self.subTest(page.name):
                self.assertEqual(re.findall(r"^[A-Z_]{8,}$", page.read_text(), re.M), [])

    def test_every_activity_is_explained(self):
        names = re.search(r"kNames = \{(.*?)\};", (SOURCE / "src/base/timeline.cc").read_text(), re.S)[1]
        table = (SOURCE / "docs/reference/files.md").read_text().partition("## Activities")[2].partition("\n## ")[0]
        explained = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.M)))
        self.assertEqual(sorted(explained), sorted(set(re.findall(r'"(\w+)"', names)) - {"unnamed"}))

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

    def test_every_key_exists(self):
        """A key in backticks, such as `train.batch_size`, is one that the program accepts."""
        listing = json.loads(self.run_tandem("config", "--reference", "--json")[0])
        keys = {key["key"] for key in listing}
        keys |= {f"domain.{key}" for key in ("size", "discs", "file", "input")}
        sections = "|".join({key.partition(".")[0] for key in keys if "." in key})
        found = 0
        for page in PAGES:
            named = re.findall(rf"`((?:{sections})\.[a-z0-9_]+)(?![\w*(]|\.[a-z])[^`]*`", without_code(page))
            for key in named:
                found += 1
                with self.subTest(f"{page.name}: {key}"):
                    self.assertTrue(key in keys or key in NOT_KEYS, "no such key")
        self.assertGreater(found, 150)

    def test_every_choice_is_on_the_page_about_its_key(self):
        listing = json.loads(self.run_tandem("config", "--reference", "--json")[0])
        expected = {key["key"]: key["expected"] for key in listing}
        for key, page in CHOICES.items():
            code = re.findall(r"`(?:[a-z_.]+(?:: |=)|--search )?(\w+)`", without_code(SOURCE / page))
            names = expected[key].removeprefix("one of ").split(", ")
            self.assertGreater(len(names), 1, key)
            for name in names:
                with self.subTest(f"{page}: {key}: {name}"):
                    self.assertIn(name, code)

    def test_every_puzzle_and_config_is_on_its_page(self):
        domains = re.findall(r"^(\w+)", self.run_tandem("domains")[0], re.M)
        self.assertGreater(len(domains), 5)
        configs = [path.name for path in (SOURCE / "configs").glob("*.yaml")]
        self.assertGreater(len(configs), 10)
        for page, names in {"docs/guide/puzzles.md": domains, "docs/guide/train.md": configs}.items():
            text = (SOURCE / page).read_text()
            for name in names:
                with self.subTest(f"{page}: {name}"):
                    self.assertRegex(text, rf"\b{re.escape(name)}\b")

    def test_tables_of_measurements_are_those_of_their_files(self):
        results = load_script("results")
        self.assertEqual(list(results.errors()), [])
        for page in results.PAGES:
            with self.subTest(page.name):
                self.assertTrue(results.TABLE.search(page.read_text()))
                self.assertEqual(page.read_text(), results.written(page), "run scripts/results")

    def test_commands_of_measurements_exist(self):
        """Commands of files with `commit` are for the program of that commit, so they are not checked."""
        keys = {key["key"] for key in json.loads(self.run_tandem("config", "--reference", "--json")[0])}
        checked = 0
        for path in (SOURCE / "results").rglob("*.json"):
            content = json.loads(path.read_text())
            if "commit" in content:
                continue
            listed = content["command"] if isinstance(content["command"], list) else [content["command"]]
            for words in commands("\n".join(listed).replace(" && ", "\n").replace("; ", "\n")):
                if not (words[0] == "tandem" or words[0].startswith(("bench/", "scripts/", "build/release/"))):
                    continue
                checked += 1
                with self.subTest(f"{path.name}: {' '.join(words)}"):
                    self.check_command(words)
                    for word in [value for option, value in zip(words, words[1:]) if option in ("--set", "--set-search")]:
                        self.assertIn(word.partition("=")[0], keys | {"domain.input", "domain.file"})
        self.assertGreater(checked, 50)

    def test_a_measurement_without_a_field_is_named(self):
        results = load_script("results")
        results.ROOT, results.RESULTS = self.folder, self.folder / "results"
        row = {"what": "training", "unit": "examples/s"}
        for name, content in {"speed/whole.json": {"date": "2026-11-28", "rows": [{**row, "other_name": "PyTorch"}]},
                              "speed/row.json": {"date": "2026-11-28", "rows": [row]},
                              "gpu/date.json": {"date": "yesterday", "rows": [row]},
                              "gpu/rows.json": {"date": "2026-11-28"}}.items():
            (results.RESULTS / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(f"results/{name}", json.dumps({"command": "make bench", "machine": "EPYC", **content}))
        self.assertEqual(list(results.errors()), [
            "results/gpu/date.json: date: expected YYYY-MM-DD, found 'yesterday'",
            "results/gpu/rows.json: lacks rows",
            "results/speed/row.json: a row lacks other_name"])

    def test_pages_have_no_dates(self):
        """A date belongs into a file of results/, beside what was measured then."""
        results = load_script("results")
        for page in [*results.PAGES, SOURCE / "docs" / "deepxube.md"]:
            with self.subTest(page.name):
                self.assertEqual(re.findall(results.DATE, page.read_text()), [])

    def test_files_of_measurements_are_linked(self):
        text = "".join(page.read_text() for page in PAGES)
        for path in (SOURCE / "results").rglob("*.json"):
            if path.parent.name != "gpu_suite":
                with self.subTest(path.name):
                    self.assertIn(str(path.relative_to(SOURCE)), text)

    def test_the_site_lists_every_page(self):
        listed = set(re.findall(r"^(\S+\.md)$", (SOURCE / "scripts/docs/contents.md").read_text(), re.M))
        generated = {name for name in listed if name.startswith("reference/")}
        pages = {str(page.relative_to(SOURCE)) for page in PAGES} - {"README.md"} | {"data/README.md"}
        self.assertEqual(listed - generated, pages)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-tandem"]:
        sys.exit((run_small if os.environ["DOCS_TEST_MODE"] == "run" else check_only)(sys.argv[2:]))
    if "--long" in sys.argv:
        sys.argv.remove("--long")
        Docs.every_page = True
    sys.exit(unittest.main(verbosity=2))
