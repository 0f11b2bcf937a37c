"""Tests plug-ins: installs Tandem into a temporary folder, builds examples/pancake against it, and
checks, trains and solves the puzzle."""

import json
import re
import shutil
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest


class Guide(unittest.TestCase):
    def test_counts_the_lines(self):
        def lines(name):
            text = (SOURCE / "examples" / "pancake" / name).read_text()
            return len([line for line in text.splitlines() if line and not line.startswith("# ")
                        and line != "#"])

        code = len((SOURCE / "examples" / "pancake" / "pancake.cc").read_text().splitlines())
        counts = code, lines("CMakeLists.txt"), lines("pancake.yaml")
        guide = (SOURCE / "docs" / "guide" / "puzzles.md").read_text().replace("\n", " ")
        self.assertIn("takes 5 steps: a C++ file of %d lines, %d lines of CMake, %d lines of config and 4 "
                      "commands" % counts, guide)


class Members(CliTest):
    """A member of a puzzle's struct that Tandem cannot call is a compile error."""

    def compile(self, *puzzles):
        """Returns the compiler's output for structs with the required members and these."""
        source = ["#include <tandem/puzzle.h>"]
        for number, members in enumerate(puzzles):
            apply = "" if " Apply(" in members else "static void Apply(State& s, int) { s[0] ^= 1; }"
            source.append(f"""\
struct P{number} {{
  static constexpr int kActions = 1;
  static constexpr int kDepth = 2;
  using State = std::array<std::uint8_t, 2>;
  static State Goal() {{ return {{}}; }}
  static bool IsGoal(const State& s) {{ return s == Goal(); }}
  {apply}
  {members}
}};
TANDEM_REGISTER_PUZZLE(p{number}, P{number});""")
        file = self.write("puzzles.cc", "\n".join(source))
        result = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
                                 "-I", SOURCE / "include", "-I", TANDEM.parent / "include", file],
                                text=True, capture_output=True)
        self.assertEqual(result.returncode == 0, result.stderr == "", result.stderr)
        return result.stderr

    def test_members_that_tandem_can_call_compile(self):
        self.assertEqual("", self.compile(
            "", "static bool Apply(State&, int) { return false; }",
            """State Goal(std::uint64_t seed) const { return {std::uint8_t(seed % 2)}; }
               double Cost(int) const { return 2; }
               static const char* ActionName(int) { return "x"; }
               static int StepBack(State&, std::uint64_t) { return 0; }
               static const char* Validate(const State&) { return ""; }
               std::string Format(State) const { return ""; }
               static State Parse(std::string_view) { return {}; }
               tandem::Picture Draw(const State&) const { return {}; }""",
            # Helpers may have any name if the member itself exists.
            """static float Cost(int action) { return Costs()[action]; }
               static std::array<float, 1> Costs() { return {2}; }
               static State Goal(std::uint64_t seed) { return DrawGoal(seed); }
               static State DrawGoal(std::uint64_t) { return {}; }"""))

    def test_a_state_that_is_no_array_of_bytes_fails_with_what_was_expected(self):
        for state in ("std::vector<std::uint8_t>", "std::array<int, 2>"):
            file = self.write("puzzle.cc", f"""#include <tandem/puzzle.h>
struct Puzzle {{
  static constexpr int kActions = 1;
  static constexpr int kDepth = 2;
  using State = {state};
  static State Goal() {{ return {{}}; }}
  static bool IsGoal(const State&) {{ return true; }}
  static void Apply(State&, int) {{}}
}};
TANDEM_REGISTER_PUZZLE(puzzle, Puzzle);""")
            result = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-I", SOURCE / "include",
                                     "-I", TANDEM.parent / "include", file], text=True,
                                    capture_output=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("State is not an array of bytes: expected `using State = std::array",
                          result.stderr)

    def test_a_required_member_that_is_missing_or_not_const_fails_with_what_was_expected(self):
        members = {
            "kActions": "static constexpr int kActions = 1;",
            "kDepth": "static constexpr int kDepth = 2;",
            "State": "using State = std::array<std::uint8_t, 2>;",
            "Goal": "static std::array<std::uint8_t, 2> Goal() { return {}; }",
            "IsGoal": "static bool IsGoal(const std::array<std::uint8_t, 2>&) { return true; }",
            "Apply": "static void Apply(std::array<std::uint8_t, 2>&, int) {}"}
        for name, member in members.items():
            changes = [""] + ([member.replace("static ", "")] if "(" in member else [])
            for change in changes:
                puzzle = "\n".join({**members, name: change}.values())
                file = self.write("puzzle.cc", "#include <tandem/puzzle.h>\nstruct Puzzle {\n" + puzzle +
                                  "\n};\nTANDEM_REGISTER_PUZZLE(puzzle, Puzzle);")
                result = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-I", SOURCE / "include",
                                         "-I", TANDEM.parent / "include", file], text=True,
                                        capture_output=True)
                first = next(line for line in result.stderr.splitlines() if "error:" in line)
                self.assertIn(f"{name} is missing", first)

    def test_other_members_fail_with_what_was_expected(self):
        neither = " is neither static nor const, but many threads call it: expected `"
        otherwise = " has the wrong signature: expected `"
        wrong = {
            "float Cost(int) { return 2; }": "Cost" + neither + "float Cost(int action)`",
            "static float Cost(const State&, int) { return 2; }": "Cost" + otherwise,
            "float Cost = 2;": "Cost" + otherwise,
            "std::string ActionName(int) { return {}; }": "ActionName" + neither,
            "static int ActionName(int) { return 0; }": "ActionName" + otherwise,
            "int Inverse(int) { return 0; }": "Inverse" + neither,
            "std::optional<int> StepBack(State&, std::uint64_t) { return 0; }": "StepBack" + neither,
            "static int StepBack(State&) { return 0; }": "StepBack" + otherwise,
            "static int StepBack(State, std::uint64_t) { return 0; }":
                "StepBack takes the state by value",
            "std::string Validate(const State&) { return {}; }": "Validate" + neither,
            "static bool Validate(const State&) { return true; }": "Validate" + otherwise,
            "std::string Format(const State&) { return {}; }": "Format" + neither,
            "static std::string Format(State&) { return {}; }": "Format" + otherwise,
            "static bool Parse(std::string_view, State&) { return true; }": "Parse" + otherwise,
            "static std::string Draw(const State&) { return {}; }": "Draw" + otherwise,
            "State Goal(std::uint64_t) { return {}; }": "Goal of a seed" + neither,
            "static State Goal(std::string) { return {}; }":
                "has a second Goal, which Tandem does not call: expected `State Goal(",
            "static void Encode(const State&) {}": "has Encode, which Tandem does not call",
            "static bool Mask(const State&, int) { return true; }":
                "has Mask, which Tandem does not call",
            "static void MoveGoals(State&, const State&) {}":
                "has MoveGoals, which Tandem does not call",
            "static int Apply(State&, int) { return 1; }": "Apply returns neither void nor bool",
            "static void Apply(State, int) {}": "Apply takes the state by value",
            "static float Costs(int) { return 2; }":
                "has Costs, which Tandem does not use: expected Cost (tandem/puzzle.h and game.h",
            "static std::string action_name(int) { return {}; }": "expected ActionName",
            "static int InverseAction(int) { return 0; }": "expected Inverse ",
            "static int Stepback(State&, std::uint64_t) { return 0; }": "expected StepBack",
            "static std::string Fault(const State&) { return {}; }": "expected Validate",
            "static std::string ToString(const State&) { return {}; }": "expected Format",
            "static State FromString(std::string_view) { return {}; }": "expected Parse",
            "static tandem::Picture draw(const State&) { return {}; }": "expected Draw",
            "static constexpr const char* kSummery = \"a puzzle\";": "expected kSummary",
            "static constexpr int kVersion = 2;": "kVersion is not a string",
            "static constexpr int kBoard = 2;": "kBoard is not a shape",
            "static State DrawGoal(std::uint64_t) { return {}; }":
                "expected `State Goal(std::uint64_t seed)`",
        }
        said = self.compile(*wrong)
        failed = re.findall("error: static.assert.* failed.*", said)
        self.assertEqual(len(failed), len(wrong), "\n".join(failed))
        for error, (members, message) in zip(failed, wrong.items()):
            self.assertIn(message, error, members)


class WrongGame(CliTest):
    MEMBERS = {
        "kActions": "static constexpr int kActions = 1;",
        "kDepth": "static constexpr int kDepth = 2;",
        "State": "using State = std::array<std::uint8_t, 2>;",
        "Start": "static std::array<std::uint8_t, 2> Start() { return {}; }",
        "Player": "static int Player(const std::array<std::uint8_t, 2>&) { return 0; }",
        "Result": "static std::optional<int> Result(const std::array<std::uint8_t, 2>&) { return 1; }",
        "Apply": "static bool Apply(std::array<std::uint8_t, 2>&, int) { return true; }"}

    def first_error(self, members):
        file = self.write("game.cc", "#include <tandem/game.h>\nstruct Game {\n" + "\n".join(members) +
                          "\n};\nTANDEM_REGISTER_GAME(game, Game);")
        result = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-I", SOURCE / "include", "-I",
                                 TANDEM.parent / "include", file], text=True, capture_output=True)
        return next((line for line in result.stderr.splitlines() if "error:" in line), "")

    def test_a_required_member_that_is_missing_fails_with_what_was_expected(self):
        self.assertEqual(self.first_error(self.MEMBERS.values()), "")
        for name in self.MEMBERS:
            self.assertIn(f"{name} is missing", self.first_error({**self.MEMBERS, name: ""}.values()))

    def test_other_members_fail_with_what_was_expected(self):
        for member, message in {
                "static void Encode(const State&, std::uint8_t*) {}": "has Encode without",
                "static constexpr int kInputs = 2;": "Encode cannot be called",
                "static constexpr int kSymmetries = 2;": "has kSymmetries: expected `static int Image(",
                "static constexpr int kInput = 2;": "expected kInputs",
                "std::string Format(const State&) { return {}; }": "Format is neither static nor const",
                "static std::string actionName(int) { return {}; }": "expected ActionName"}.items():
            self.assertIn(message, self.first_error([*self.MEMBERS.values(), member]), member)


class BuiltPlugin(CliTest):
    name = ""  # of the folder in examples/, and of the puzzle

    def setUp(self):
        super().setUp()
        self.example = self.folder / self.name
        shutil.copytree(SOURCE / "examples" / self.name, self.example)
        self.prefix = self.folder / "installed"
        self.run_tool("cmake", "--install", TANDEM.parent, "--prefix", self.prefix)
        self.run_tool("cmake", "-S", self.example, "-B", self.example / "build",
                      f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Release")
        self.run_tool("cmake", "--build", self.example / "build")
        self.plugin = self.example / "build" / f"lib{self.name}.so"

    def run_tool(self, *command):
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def run_installed(self, *args, code=0):
        result = subprocess.run([self.prefix / "bin" / "tandem", *map(str, args)], text=True,
                                capture_output=True, cwd=self.example, timeout=300)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr


class Plugin(BuiltPlugin):
    name = "pancake"

    def test_an_installed_tandem_checks_trains_and_solves_it(self):
        plugin = ("--plugin", self.plugin)
        self.assertRegex(self.run_installed("check-domain", "pancake", *plugin)[0],
                         r"pancake: (\d+) of \1 promises kept\n$")
        self.assertIn("pancake", self.run_installed("domains", *plugin)[0])
        stack = ("apply", "pancake", "--state", "7 6 5 4 3 2 1 0", "--moves", "f8")
        self.assertEqual(self.run_installed(*stack, *plugin)[0], "0 1 2 3 4 5 6 7\n")
        self.rejects_the_run_without_the_plugin()
        self.rejects_a_file_that_is_not_a_plugin(self.rejects_another_interface_version())
        self.rejects_another_standard_library()
        if not (TANDEM.parent / "libtandem_torch.so").exists():
            self.skipTest("built without LibTorch: checked, but neither trained nor solved")
        next_command = f"next: tandem train starter.yaml --plugin {self.plugin}\n"
        self.assertIn(next_command, self.run_installed("init", "pancake", "--out", "starter.yaml", *plugin)[1])
        _, log = self.run_installed("train", "pancake.yaml", "--out", "run", *plugin)
        self.assertIn(f"next: tandem solve --model run --states FILE --plugin {self.plugin}\n", log)
        solved = self.run_installed("solve", "--model", "run", "--states", "states.txt", *plugin)[0]
        self.assertEqual(solved.count('"solved":true'), 3, solved)
        self.assertIn("--plugin FILE", self.run_installed(
            "solve", "--model", "run", "--states", "states.txt", code=2)[1])

    def rejects_the_run_without_the_plugin(self):
        self.assertIn("--plugin FILE",
                      self.run_installed("check-domain", "pancake", code=2)[1])

    def rejects_another_interface_version(self):
        """Returns the version that the program accepts."""
        content = self.plugin.read_bytes()
        mark = b"tandem plug-in interface "
        at = content.index(mark) + len(mark)
        other = self.folder / "libother.so"
        other.write_bytes(content[:at] + b"x" + content[at + 1:])
        error = self.run_installed("domains", "--plugin", other, code=2)[1]
        self.assertRegex(error, r"built for version x\w+ of the plug-in interface, but this "
                                r"program has version \w+. Build the plug-in again")
        return content[at:content.index(b";", at)].decode()

    def compile(self, name, source, *flags):
        """Builds a plug-in from one source file."""
        file = self.folder / f"lib{name}.so"
        self.run_tool("c++", "-std=c++20", "-shared", "-fPIC", *flags, "-I",
                      self.prefix / "include", self.write(f"{name}.cc", source), "-o", file)
        return file

    def rejects_another_standard_library(self):
        source = (self.example / "pancake.cc").read_text()
        for flag, found in {
                "-D_GLIBCXX_DEBUG":
                    "libstdc++ with _GLIBCXX_USE_CXX11_ABI=1 and _GLIBCXX_DEBUG, pointers of 8 bytes",
                "-D_GLIBCXX_USE_CXX11_ABI=0":
                    "libstdc++ with _GLIBCXX_USE_CXX11_ABI=0, pointers of 8 bytes"}.items():
            other = self.compile("other", source, flag)
            self.assertIn(
                f"another standard library than this program: found {found}; expected libstdc++ with "
                "_GLIBCXX_USE_CXX11_ABI=1, pointers of 8 bytes. Build the plug-in again",
                self.run_installed("domains", "--plugin", other, code=2)[1])

    PUZZLE = """\
#include <tandem/puzzle.h>
#include <atomic>
#include <stdexcept>
struct Lamps {
  static constexpr int kActions = 3;
  static constexpr int kDepth = 2;
  using State = std::array<std::uint8_t, 3>;
  static State Goal() { return {}; }
  static bool IsGoal(const State& state) { return state == Goal(); }
  static void Apply(State& state, int action) { %s state[action] ^= 1; }
  %s
};
TANDEM_REGISTER_PUZZLE(lamps, Lamps);
"""
    LAMPS = """\
domain: {name: lamps}
generate: {max_scramble: 3, workers: 2}
network: {width: 16, blocks: 1}
train: {batch_size: 1000, iterations_per_update: 2, max_updates: 4}
"""

    def test_rejects_a_puzzle_that_breaks_a_promise(self):
        config = self.write("lamps.yaml", self.LAMPS)
        plugin = self.compile("lamps", self.PUZZLE % (
            "", "static int Inverse(int action) { return (action + 1) % 3; }"))
        commands = [("generate", config, "--examples", 100, "--out", "shards")]
        if (TANDEM.parent / "libtandem_torch.so").exists():
            commands.append(("train", config, "--out", "run"))
        for command in commands:
            error = self.run_installed(*command, "--plugin", plugin, code=1)[1]
            self.assertIn(
                f"puzzle 'lamps' of {plugin} breaks a promise: inverse actions undo their actions: "
                "action 0 in state 0 0 0: 1 does not undo it, but leads to state 1 1 0. Correct the puzzle; "
                f"`tandem check-domain lamps --plugin {plugin}` checks every promise", error)
        self.assertFalse((self.example / "run").exists())
        self.assertFalse((self.example / "shards").exists())

    def test_names_a_plugin_whose_variables_throw_when_it_is_loaded(self):
        throws = "\nstatic const bool broken = []() -> bool { throw std::runtime_error(\"no lamps\"); }();\n"
        plugin = self.compile("throws", self.PUZZLE % ("", "") + throws)
        error = self.run_installed("domains", "--plugin", plugin, code=2)[1]
        self.assertEqual(error, f"tandem: the plug-in {plugin} cannot be loaded: no lamps\n")

    def test_loads_a_plugin_once_and_does_not_overwrite_it(self):
        plugin = self.compile("lamps", self.PUZZLE % ("", ""))
        twice = ("--plugin", plugin, "--plugin", plugin)
        self.run_installed("show", "lamps", *twice)
        error = self.run_installed("show", "lamps", *twice, "--svg", plugin, code=2)[1]
        self.assertIn("this is a plug-in; choose another file", error)

    def test_a_run_ended_by_an_exception_of_a_puzzle_can_resume(self):
        if not (TANDEM.parent / "libtandem_torch.so").exists():
            self.skipTest("built without LibTorch")
        config = self.write("lamps.yaml", self.LAMPS)
        # The quick check makes fewer calls, and 200 updates make 400,000.
        breaks = ("static std::atomic<int> calls = 0;"
                  "if (calls++ > 150'000) throw std::out_of_range(\"a lamp is broken\");")
        broken = self.compile("broken", self.PUZZLE % (breaks, ""))
        whole = self.compile("whole", self.PUZZLE % ("", ""))
        updates = ("--set", "train.max_updates=200", "--set", "checkpoint.every_updates=1000")
        error = self.run_installed("train", config, "--out", "run", *updates, "--plugin", broken,
                                   code=1)[1]
        self.assertIn("a lamp is broken", error)
        self.run_installed("train", "--resume", "run", "--plugin", whole)
        self.run_installed("train", config, "--out", "other", *updates, "--plugin", whole)
        weights = [json.loads((self.example / run / "summary.json").read_text())["weights_sha256"]
                   for run in ("run", "other")]
        self.assertEqual(*weights)

    def rejects_a_file_that_is_not_a_plugin(self, version):
        text = self.write("text.so", "no library")
        self.assertIn("text.so is not a plug-in: expected a shared library",
                      self.run_installed("domains", "--plugin", text, code=2)[1])
        fake = self.write("fake.so", f"\x7fELF tandem plug-in interface {version};")
        self.assertIn("the plug-in cannot be loaded: ",
                      self.run_installed("domains", "--plugin", fake, code=2)[1])
        self.assertIn("missing.so", self.run_installed("domains", "--plugin", "missing.so",
                                                       code=2)[1])
        copy = self.folder / "libcopy.so"
        shutil.copy(self.plugin, copy)
        self.assertIn("two domains are registered as 'pancake'", self.run_installed(
            "domains", "--plugin", self.plugin, "--plugin", copy, code=2)[1])


class GamePlugin(BuiltPlugin):
    name = "nim"

    def test_an_installed_tandem_checks_trains_and_plays_it(self):
        plugin = ("--plugin", self.plugin)
        self.assertRegex(self.run_installed("check-domain", "nim", *plugin)[0],
                         r"nim: (\d+) of \1 promises kept\n$")
        self.run_installed("train", "nim.yaml", "--out", "run", *plugin)
        (self.example / "states.txt").write_text("6 0\n7 1\n")
        self.run_installed("solve", "--model", "run", "--states", "states.txt", "--out", "out.jsonl", *plugin)
        first = [json.loads(line)["moves"].split()[0] for line in (self.example / "out.jsonl").read_text().splitlines()]
        self.assertEqual(first, ["take2", "take3"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
