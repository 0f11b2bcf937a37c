"""Checks that every source is formatted as clang-format writes it (.clang-format). With --fix, formats them."""

import subprocess
import sys

from clang import SOURCE, find_tool, sources


def check(_build):
    files = sources()
    clang_format = find_tool("clang-format")
    if clang_format is None:
        return True
    result = subprocess.run([clang_format, "--dry-run", "-Werror", *files], cwd=SOURCE)
    if result.returncode != 0:
        print("formatting: run `make format`")
        return False
    print(f"formatting: {len(files)} files are formatted")
    return True


def fix():
    clang_format = find_tool("clang-format")
    return clang_format is not None and subprocess.run([clang_format, "-i", *sources()], cwd=SOURCE).returncode == 0


if __name__ == "__main__":
    sys.exit(0 if (fix() if "--fix" in sys.argv else check(None)) else 1)
