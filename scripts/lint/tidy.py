"""Runs clang-tidy (.clang-tidy) over the sources of src, domains and apps that need no LibTorch.

LibTorch's headers would take clang-tidy 40 s for each source that includes them.

A file that was clean is skipped until it changes, or one of our headers that it includes, its
compiler flags or the checks: BUILD_DIR/tidy/clean holds an empty file for each clean state.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time

from clang import SOURCE, VERSION, find_tool

FOLDERS = ("src", "domains", "apps")
LIBTORCH = "torch/csrc/api/include"  # in the command of each source that includes LibTorch
UNREADABLE = "[clang-diagnostic-error]"  # clang 14 cannot read all of GCC 12's <ranges>
# The build may treat warnings as errors; clang-tidy would then stop at options that only GCC knows.
AS_ERRORS = re.compile(r" -Werror(?= )")


def commands(build, folder):
    """The compiler's command for each file to check, which `folder` gets as a database."""
    entries = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(SOURCE) or path.suffix != ".cc" or LIBTORCH in entry["command"]:
            continue
        if path.relative_to(SOURCE).parts[0] in FOLDERS:
            entries.append(entry | {"command": AS_ERRORS.sub("", entry["command"]) +
                                        " -Wno-unknown-warning-option"})
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return {pathlib.Path(entry["file"]): entry["command"] for entry in entries}


def with_headers(path, seen):
    """Adds to `seen` the file and all files of ours that it includes."""
    if path in seen:
        return
    seen.add(path)
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        for folder in (SOURCE / "src", SOURCE / "include", SOURCE, SOURCE / "domains"):
            if (folder / name).exists():
                with_headers(folder / name, seen)
                break


def key_of(path, command):
    files = set()
    with_headers(path, files)
    digest = hashlib.sha256(f"{VERSION} {command}".encode())
    for file in [SOURCE / ".clang-tidy", *sorted(files)]:
        digest.update(f"\0{file}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def findings_in(tool, folder, path, stamp):
    """What clang-tidy finds in the file; nothing if it is clean."""
    result = subprocess.run([tool, "-p", folder, "--quiet", path], capture_output=True, text=True)
    parts = re.split(r"^(?=(?:\S+:\d+:\d+: )?(?:error|warning): )", result.stdout, flags=re.M)
    found = [part for part in parts if part and UNREADABLE not in part.partition("\n")[0]]
    if result.returncode != 0 and not result.stdout:
        found = [result.stderr]
    if not found:
        stamp.touch()
    return found


def check(build):
    tool = find_tool("clang-tidy")
    folder = build / "tidy"
    clean = folder / "clean"
    clean.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    files = commands(build, folder)
    stamps = {path: clean / key_of(path, command) for path, command in files.items()}
    to_check = [path for path, stamp in stamps.items() if not stamp.exists()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda path: findings_in(tool, folder, path, stamps[path]), to_check))
    for stamp in set(clean.iterdir()) - set(stamps.values()):
        stamp.unlink()
    # A finding in a header appears with each file that includes it.
    print("".join(dict.fromkeys(sum(found, []))), end="")
    seconds = time.monotonic() - began
    if any(found):
        print("tidy: clang-tidy's findings are above; .clang-tidy lists the checks")
        return False
    print(f"tidy: {len(files)} files are clean; {len(to_check)} had changed ({seconds:.0f} s)")
    return True
