"""Every source is as clang-format writes it (.clang-format)."""

import subprocess
import sys

from clang import SOURCE, find_tool, sources


def main():
    clang_format = find_tool("clang-format")
    files = sources()
    result = subprocess.run([clang_format, "--dry-run", "-Werror", *files], cwd=SOURCE)
    if result.returncode != 0:
        sys.exit("these are not formatted: `make format` does it")
    print(f"{len(files)} files are formatted")


if __name__ == "__main__":
    main()
