"""Checks the sources' layers, formatting and, with clang-tidy and clangd, their code.

Usage: python3 scripts/lint BUILD_DIR [layers|formatting|tidy ...]

All checks run, even if an earlier one finds something. Exit code 1: a check found something.
BUILD_DIR is a folder that CMake has configured; its compile_commands.json says how each source is
compiled.
"""

import pathlib
import sys

import formatting
import layers
import tidy

CHECKS = {"layers": layers.check, "formatting": formatting.check, "tidy": tidy.check}


def main():
    if len(sys.argv) < 2 or not (pathlib.Path(sys.argv[1]) / "compile_commands.json").exists():
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(CHECKS)
    if unknown := [name for name in names if name not in CHECKS]:
        sys.exit(f"unknown check: {', '.join(unknown)}; the checks are {', '.join(CHECKS)}")
    failed = [name for name in names if not CHECKS[name](build)]
    if failed:
        sys.exit(f"lint: {', '.join(failed)} failed")


if __name__ == "__main__":
    main()
