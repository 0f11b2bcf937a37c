"""Checks what the build needs: set-up names the Debian package of every system header, library and
tool that the build used, and the program can be built without any test or benchmark.

usage: build_test.py BUILD_DIR

The names come from the build itself (`ninja -t deps` and `ninja -t commands`), so only what has been
built is checked. Skipped with exit code 77 where there is no dpkg-query or no build by ninja."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else SOURCE / "build/release"
SKIPPED = 77
# A cmake of the user's own, say. Headers there are checked, since every compiler finds them.
TOOL_OF_THE_USER = re.compile(r"/usr/local/(?!include/)")


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def ninja(*arguments):
    # An absolute -f keeps ninja from updating the build file first.
    return output_of("ninja", "-C", BUILD, "-f", BUILD / "build.ninja", *arguments)


def linker_of(word):
    """The program that the compiler's option -fuse-ld names."""
    name = word.removeprefix("-fuse-ld=")
    return shutil.which(name) or shutil.which("ld." + name)


def files_in_command(command):
    """Every program that a command of the build starts, and every absolute path that it names."""
    words = shlex.split(command)
    starts = True
    for word in words:
        if word in ("&&", ";", "||"):
            starts = True
        elif word.startswith("-fuse-ld="):
            yield linker_of(word)
        elif word.startswith("/"):
            yield word
        elif starts and re.fullmatch(r"[\w.+-]+", word):
            yield shutil.which(word)
        starts = starts and ("=" in word or word in ("&&", ";", "||", ":"))


def files_of_the_build():
    """Headers, libraries, tools and CMake's modules that the build used, as real absolute paths."""
    named = {line.strip() for line in ninja("-t", "deps").splitlines() if line.startswith("    ")}
    inputs = ninja("-t", "query", "build.ninja").splitlines()
    named |= {line.strip(" |") for line in inputs}
    for command in ninja("-t", "commands").splitlines():
        named |= {file for file in files_in_command(command) if file}
    named |= {shutil.which("ninja"), shutil.which("make")}
    real = {pathlib.Path(name).resolve() for name in named if name and name.startswith("/")}
    return {path for path in real if path.is_file()}


def folders_of_their_own():
    """Folders that hold no Debian packages on purpose: the project, LibTorch and a CUDA toolkit."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    folders = {SOURCE, BUILD, SOURCE / ".venv"}
    for line in (SOURCE / ".venv/lib").glob("python3*/site-packages"):
        folders.add(line)
    if found := re.search(r"^CUDA_TOOLKIT_USED:INTERNAL=(/.*)$", cache, re.M):
        folders.add(pathlib.Path(found[1]))
    for rpath in re.findall(r"-Wl,-rpath,(/\S+)/lib\b", (BUILD / "build.ninja").read_text()):
        folders.add(pathlib.Path(rpath))  # LibTorch, also one that LIBTORCH names
    return {folder.resolve() for folder in folders}


def owners_of(paths):
    """The Debian packages that own each path; none for a path that no package owns."""
    owners = {str(path): set() for path in paths}
    # Packages may list a file of /usr/lib under its older name in /lib.
    asked = [*owners, *(path.removeprefix("/usr") for path in owners if path.startswith("/usr/"))]
    found = subprocess.run(["dpkg-query", "--search", *asked], capture_output=True, text=True).stdout
    for line in found.splitlines():
        packages, _, path = line.partition(": ")
        path = path if path in owners else "/usr" + path
        if path in owners and not packages.startswith("diversion"):
            owners[path] |= {package.split(":")[0] for package in packages.split(", ")}
    return owners


class Packages:
    """The installed Debian packages and what they require."""

    def __init__(self):
        fields = ("Package", "Status", "Depends", "Pre-Depends", "Provides", "Essential", "Priority")
        lines = output_of("dpkg-query", "--show", "--showformat",
                          "\t".join(f"${{{field}}}" for field in fields) + "\n")
        self.requires, self.providers, self.bare = {}, {}, set()
        for line in lines.splitlines():
            name, status, depends, pre_depends, provides, essential, priority = line.split("\t")
            if not status.endswith(" installed"):
                continue
            self.requires[name] = names_in(depends) + names_in(pre_depends)
            for virtual in names_in(provides):
                self.providers.setdefault(virtual, []).append(name)
            if essential == "yes" or priority == "required":
                self.bare.add(name)

    def installed_with(self, names):
        """A bare Debian's packages, the named ones, and all that they require. Where a package
        requires one of several, the first counts, as it does for apt."""
        reached, open_names = set(), [*names, *self.bare]
        while open_names:
            name = open_names.pop()
            if name in reached:
                continue
            reached.add(name)
            open_names += self.requires.get(name) or self.providers.get(name, [])
        return reached


def names_in(relation):
    """Names in a line such as `a (>= 1), b | c`: of each alternative, the first."""
    return [re.split(r"[\s(:|]", part.strip())[0] for part in relation.split(",") if part.strip()]


def set_up_names():
    return output_of(SOURCE / "scripts/setup", "--packages").split()


def not_named(names):
    """Files that the build used although no package of theirs comes with `names`: {file: owners}."""
    own = folders_of_their_own()
    files = {path for path in files_of_the_build() if not own & {path, *path.parents}}
    reached = Packages().installed_with(names)
    return {path: owners for path, owners in owners_of(files).items() if not owners & reached}


class SetUp(unittest.TestCase):
    def test_names_the_package_of_every_header_library_and_tool_of_the_build(self):
        problems = []
        for path, owners in sorted(not_named(set_up_names()).items()):
            if owners:
                advice = f"add {' or '.join(sorted(owners))} to `packages`"
            elif path.startswith("/usr/") and not TOOL_OF_THE_USER.match(path):
                advice = "no Debian package owns it"
            else:
                continue
            problems.append(f"{path}: the build used it, but set-up does not install it; {advice}")
        self.assertEqual(problems[:20], [], f"{len(problems)} files; see scripts/setup")

    def test_without_a_package_that_the_build_needs_names_its_files(self):
        names = [name for name in set_up_names() if name not in ("libcli11-dev", "ninja-build")]
        missing = not_named(names)
        self.assertIn({"ninja-build"}, missing.values())
        if any("/CLI/" in path for path in map(str, files_of_the_build())):
            self.assertIn({"libcli11-dev"}, missing.values())

    def test_a_package_that_requires_the_owner_is_enough(self):
        reached = Packages().installed_with(["g++"])
        self.assertIn("binutils", reached)
        self.assertNotIn("ninja-build", reached)


class MakeTrain(unittest.TestCase):
    def test_builds_only_the_program_and_its_libraries(self):
        environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
        said = subprocess.run(["make", "-C", SOURCE, "--dry-run", "PRESET=release", "train"],
                              capture_output=True, text=True, check=True, env=environment).stdout
        builds = re.findall(r"cmake --build .*", said)
        self.assertEqual(builds, ["cmake --build --preset release --target tandem"])

    def test_the_program_needs_no_test_and_no_benchmark(self):
        commands = ninja("-t", "commands", "tandem").splitlines()
        outside = [line for line in commands if re.search(r"(tests|bench)/CMakeFiles/", line)]
        self.assertEqual(outside, [])
        targets = ninja("-t", "targets", "all")
        for library in ("libtandem_torch.so", "libtandem_cuda.so"):
            if re.search(rf"^{library}:", targets, re.M):
                self.assertTrue(any(f"-o {library}" in line for line in commands), library)


if __name__ == "__main__":
    if shutil.which("dpkg-query") is None or not (BUILD / "build.ninja").exists():
        print("skipped: this needs dpkg-query and a build by ninja")
        sys.exit(SKIPPED)
    sys.exit(unittest.main(verbosity=2))
