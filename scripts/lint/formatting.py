"""Checks that every source is formatted as clang-format writes it (.clang-format)."""

import subprocess

from clang import SOURCE, find_tool, sources


def check(_build):
    files = sources()
    result = subprocess.run([find_tool("clang-format"), "--dry-run", "-Werror", *files], cwd=SOURCE)
    if result.returncode != 0:
        print("formatting: run `make format`")
        return False
    print(f"formatting: {len(files)} files are formatted")
    return True
