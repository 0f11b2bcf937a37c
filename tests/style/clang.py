"""What the tests of style share: clang's tools, in the one version whose taste the sources follow,
and the sources."""

import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = "14"  # Debian 12's; another version formats and finds other things
SKIPPED = 77  # ctest's code for it, in tests/CMakeLists.txt


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def find_tool(name):
    """The path of clang's tool, of the right version; ends the test where there is none."""
    path = shutil.which(f"{name}-{VERSION}") or shutil.which(name)
    if path is None:
        skip(f"{name} is not installed; scripts/setup installs it on Debian")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)", told)
    if found is None or found[1] != VERSION:
        skip(f"{path} is of another version than {VERSION}, with which the sources are kept")
    return path


def sources():
    """Every .h, .cc and .cu in git or new, not ignored."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                             "*.h", "*.cc", "*.cu"], cwd=SOURCE, capture_output=True, text=True)
    if listed.returncode != 0:
        skip(f"git does not list the sources: {listed.stderr.strip()}")
    return [path for name in listed.stdout.splitlines() if (path := SOURCE / name).exists()]
