"""Finds clang's tools, and the sources that they check."""

import functools
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = "14"  # Debian 12's; other versions format and find other things


@functools.cache
def find_tool(name):
    """The path of the tool. If it has another version, prints that and returns None. If it is not installed, ends
    the program."""
    path = shutil.which(f"{name}-{VERSION}") or shutil.which(name)
    if path is None:
        sys.exit(f"{name} is not installed; `make lint` installs it on Debian")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)", version)
    if found is None or found[1] != VERSION:
        print(f"{name}: not run, since {path} is not version {VERSION}, Debian 12's, which the sources are "
              "written for")
        return None
    return path


def files_of_git(*patterns):
    """Every file that git tracks or would track. `patterns` such as *.h choose some of them."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
                            cwd=SOURCE, capture_output=True, text=True)
    if listed.returncode != 0:
        sys.exit(f"git cannot list the sources: {listed.stderr.strip()}")
    return [path for name in listed.stdout.splitlines() if (path := SOURCE / name).exists()]


def sources():
    return files_of_git("*.h", "*.cc", "*.cu")
