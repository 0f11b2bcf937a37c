"""Checks the sources' layers and formatting, the C++ code with clang-tidy and clangd, and the Python
code with pyflakes.

    python3 scripts/lint build/lint                          all checks
    python3 scripts/lint build/lint layers python            these

All checks run, even if an earlier one finds something. Exit code 1: a check found something.
"""

import argparse
import pathlib
import sys

import formatting
import layers
import python_code
import tidy

CHECKS = {"layers": layers.check, "formatting": formatting.check, "python": python_code.check,
          "tidy": tidy.check}


def main():
    parser = argparse.ArgumentParser(prog="lint", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD_DIR",
                        help="folder that CMake has configured; its compile_commands.json says how each "
                             "source is compiled")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    args = parser.parse_args()
    if not (args.build / "compile_commands.json").exists():
        parser.error(f"{args.build} has no compile_commands.json; configure it with CMake")
    if unknown := [name for name in args.checks if name not in CHECKS]:
        parser.error(f"unknown check: {', '.join(unknown)}; the checks are {', '.join(CHECKS)}")
    build = args.build.resolve()
    failed = [name for name in args.checks or CHECKS if not CHECKS[name](build)]
    if failed:
        sys.exit(f"lint: {', '.join(failed)} failed")


if __name__ == "__main__":
    main()
