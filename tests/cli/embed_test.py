"""Tests the installed tree: a program that uses puzzles without LibTorch, examples/embed, and what the
installed headers include."""

import json
import re
import shutil
import subprocess
import sys
import unittest

from harness import SOURCE, TANDEM, CliTest

PUZZLES = """\
#include <tandem/domain.h>
#include <tandem/picture.h>
#include <tandem/registry.h>

#include <iostream>
#include <vector>

int main() {
  const auto cube = tandem::MakeDomain("cube3");
  std::vector<std::uint8_t> state(cube->spec().state_size);
  cube->WriteGoals(tandem::Rows(std::span(state)));
  std::cout << cube->spec().num_actions() << " " << tandem::IsGoal(*cube, state) << " "
            << cube->Draw(state).cells.size() << "\\n";
}
"""


class Installed(CliTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "installed"
        self.run_tool("cmake", "--install", TANDEM.parent, "--prefix", self.prefix)
        self.has_torch = (TANDEM.parent / "libtandem_torch.so").exists()

    def run_tool(self, *command, code=0):
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                                cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def configure(self, project, code=0):
        return self.run_tool("cmake", "-S", project, "-B", project / "build",
                             f"-DCMAKE_PREFIX_PATH={self.prefix}", code=code)

    def project(self, name, source, components):
        folder = self.folder / name
        folder.mkdir()
        (folder / "main.cc").write_text(source)
        (folder / "CMakeLists.txt").write_text(f"""\
cmake_minimum_required(VERSION 3.25)
project({name} LANGUAGES CXX)
find_package(Tandem REQUIRED COMPONENTS {components})
add_executable({name} main.cc)
target_link_libraries({name} PRIVATE Tandem::{components})
""")
        return folder

    def test_component_domain_makes_and_draws_puzzles(self):
        project = self.project("puzzles", PUZZLES, "domain")
        self.configure(project)
        self.run_tool("cmake", "--build", project / "build")
        program = project / "build" / "puzzles"
        self.assertEqual(self.run_tool(program), "12 1 54\n")
        needed = self.run_tool("readelf", "-d", program)
        self.assertIn("libtandem.so", needed)
        self.assertNotIn("torch", needed)

    def test_an_unknown_component_is_an_error(self):
        message = self.configure(self.project("other", PUZZLES, "moon"), code=1)
        self.assertIn("there is no component moon; expected domain or torch",
                      " ".join(message.split()))

    def test_a_missing_library_or_libtorch_is_named(self):
        project = self.project("trains", PUZZLES, "torch")
        if self.has_torch:
            library = next(self.prefix.rglob("libtandem_torch.so"))
            result = subprocess.run(
                ["env", "LIBTORCH=/nowhere", "cmake", "-S", project, "-B", project / "build",
                 f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn("/nowhere/lib/libtorch_cpu.so does not exist",
                          " ".join(result.stderr.split()))
            library.unlink()
        self.assertIn("this Tandem was built without LibTorch",
                      " ".join(self.configure(project, code=1).split()))

    def test_installed_headers_include_only_each_other_and_not_all_of_libtorch(self):
        include = self.prefix / "include"
        folders = [include, include / "tandem-torch"]
        headers = [path for path in include.rglob("*.h")]
        self.assertTrue(headers)
        for path in headers:
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
                found = [folder for folder in folders if (folder / name).exists()]
                self.assertTrue(found, f"{path} includes {name}, which is not installed")
                if path.parent.name == "tandem":
                    self.assertEqual(found[0], include, f"{path} includes {name}")
            self.assertNotIn("torch/torch.h", path.read_text())

    def test_the_example_trains_a_network_of_its_own(self):
        if not self.has_torch:
            self.skipTest("built without LibTorch")
        project = self.folder / "embed"
        shutil.copytree(SOURCE / "examples" / "embed", project)
        self.configure(project)
        self.run_tool("cmake", "--build", project / "build")
        program = project / "build" / "embed"
        out = self.run_tool(program, project / "embed.yaml", "run")
        self.assertRegex(out, r"20 updates, 200000 examples, loss [\d.]+\n"
                              r"solves [\d.]+ % of the validation states\n")
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        # One hidden layer of 128 units between 9 x 9 features and one output.
        self.assertEqual(summary["parameters"], 81 * 128 + 128 + 128 + 1)
        self.assertGreater(summary["validation"]["solve_rate"], summary["at_start"]["solve_rate"])
        self.assertIn("run", self.run_tool(program, project / "embed.yaml", "run", code=2))
        # The program `tandem` does not have this network.
        _, error = self.run_tandem("train", project / "embed.yaml", "--out", "other", code=2)
        self.assertIn("perceptron", error)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
