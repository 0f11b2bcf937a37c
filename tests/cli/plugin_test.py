"""A puzzle of someone else's: installs Tandem into a temporary folder, builds examples/pancake
against it, and checks, trains and solves it."""

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
        guide = (SOURCE / "docs" / "puzzles.md").read_text().replace("\n", " ")
        self.assertIn("in 5 steps and %d lines: %d of C++, %d of CMake, %d of config and 4 commands"
                      % (sum(counts) + 4, *counts), guide)


class Plugin(CliTest):
    def setUp(self):
        super().setUp()
        self.example = self.folder / "pancake"
        shutil.copytree(SOURCE / "examples" / "pancake", self.example)
        self.prefix = self.folder / "installed"
        self.run_tool("cmake", "--install", TANDEM.parent, "--prefix", self.prefix)
        self.run_tool("cmake", "-S", self.example, "-B", self.example / "build",
                      f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Release")
        self.run_tool("cmake", "--build", self.example / "build")
        self.plugin = self.example / "build" / "libpancake.so"

    def run_tool(self, *command):
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def run_installed(self, *args, code=0):
        result = subprocess.run([self.prefix / "bin" / "tandem", *map(str, args)], text=True,
                                capture_output=True, cwd=self.example, timeout=300)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr

    def test_an_installed_tandem_checks_trains_and_solves_it(self):
        plugin = ("--plugin", self.plugin)
        self.assertRegex(self.run_installed("check-domain", "pancake", *plugin)[0],
                         r"pancake: (\d+) of \1 promises kept\n$")
        self.assertIn("pancake", self.run_installed("domains", *plugin)[0])
        stack = ("apply", "pancake", "--state", "7 6 5 4 3 2 1 0", "--moves", "f8")
        self.assertEqual(self.run_installed(*stack, *plugin)[0], "0 1 2 3 4 5 6 7\n")
        self.refuses_without_the_plugin()
        self.refuses_what_is_no_plugin(self.refuses_another_version())
        if not (TANDEM.parent / "libtandem_torch.so").exists():
            self.skipTest("built without LibTorch: checked, but neither trained nor solved")
        self.run_installed("train", "pancake.yaml", "--out", "run", *plugin)
        solved = self.run_installed("solve", "--model", "run", "--states", "states.txt", *plugin)[0]
        self.assertEqual(solved.count('"solved":true'), 3, solved)
        self.assertIn("needs --plugin FILE", self.run_installed(
            "solve", "--model", "run", "--states", "states.txt", code=2)[1])

    def refuses_without_the_plugin(self):
        self.assertIn("one of a plug-in's needs --plugin FILE",
                      self.run_installed("check-domain", "pancake", code=2)[1])

    def refuses_another_version(self):
        """Returns the version that is not refused."""
        content = self.plugin.read_bytes()
        mark = b"tandem plug-in interface "
        at = content.index(mark) + len(mark)
        other = self.folder / "libother.so"
        other.write_bytes(content[:at] + b"x" + content[at + 1:])
        error = self.run_installed("domains", "--plugin", other, code=2)[1]
        self.assertRegex(error, r"built for version x\w+ of the plug-in interface, this program "
                                r"has version \w+: build it anew")
        return content[at:content.index(b";", at)].decode()

    def refuses_what_is_no_plugin(self, version):
        text = self.write("text.so", "no library")
        self.assertIn("text.so is no plug-in", self.run_installed("domains", "--plugin", text,
                                                                  code=2)[1])
        fake = self.write("fake.so", f"tandem plug-in interface {version};")
        self.assertIn("the plug-in cannot be loaded: ",
                      self.run_installed("domains", "--plugin", fake, code=2)[1])
        self.assertIn("missing.so", self.run_installed("domains", "--plugin", "missing.so",
                                                       code=2)[1])
        copy = self.folder / "libcopy.so"
        shutil.copy(self.plugin, copy)
        self.assertIn("two domains are registered as 'pancake'", self.run_installed(
            "domains", "--plugin", self.plugin, "--plugin", copy, code=2)[1])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
