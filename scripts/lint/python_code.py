"""Checks the Python code with pyflakes: imports and variables that nothing uses, names that do not exist.

A finding in a line with the comment `noqa` is left out.
"""

import re
import shutil
import subprocess
import sys

from clang import SOURCE, files_of_git


def is_python(path):
    """Whether a file has Python code: by its extension or, if it has none, by its first line."""
    if path.is_symlink() or not path.is_file():
        return False
    if path.suffix:
        return path.suffix == ".py"
    with open(path, "rb") as file:
        return re.match(rb"#!.*python", file.readline(100)) is not None


def is_excused(finding):
    """Whether the line of a finding, FILE:LINE:COLUMN MESSAGE, has the comment `noqa`."""
    place = re.match(r"(.+?):(\d+):", finding)
    if place is None:
        return False
    lines = (SOURCE / place[1]).read_text().splitlines()
    return "# noqa" in lines[int(place[2]) - 1]


def check(_build):
    tool = shutil.which("pyflakes3") or shutil.which("pyflakes")
    if tool is None:
        sys.exit("pyflakes is not installed; `make lint` installs it on Debian")
    files = [path for path in files_of_git() if is_python(path)]
    result = subprocess.run([tool, *files], cwd=SOURCE, capture_output=True, text=True)
    found = [line for line in result.stdout.splitlines() if not is_excused(line)]
    print("".join(f"{line}\n" for line in found) + result.stderr, end="")
    if found or result.stderr:
        print("python: the findings are above")
        return False
    print(f"python: {len(files)} files are clean")
    return True


if __name__ == "__main__":
    sys.exit(0 if check(None) else 1)
