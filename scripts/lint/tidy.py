"""Runs the checks of .clang-tidy over the code of src, domains, apps and python.

clang-tidy checks the sources that include no LibTorch, and the headers that they include. It reads
eight sources of a library as one file, which takes a quarter of the time. For a source that includes
LibTorch it would need 40 s, because it also walks through all of LibTorch's declarations. clangd runs the same checks on the declarations of a single file, in 7 s. It gets the
headers that clang-tidy has not seen as files of their own. It leaves out a few checks that are slow
or unreliable in an editor, such as bugprone-use-after-move.

Clean files are skipped until their text, one of our headers that they include, their compiler flags or
the checks change: BUILD_DIR/tidy/clean holds an empty file for each clean state.
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
from layers import LIBTORCH, includes

TOGETHER = 8  # sources
FOLDERS = ("src", "domains", "games", "apps", "python")
# What clang cannot use: warnings as errors, since it would then stop at options that only GCC knows, and GCC's
# precompiled headers. Nor the macro of nanobind whose value is a name with a minus sign.
ONLY_GCC = re.compile(r" -Werror(?= )| -Winvalid-pch| -include \S+/cmake_pch\.hxx| -DNB_BACKEND_PYPI=\S+")
# clangd's line for a finding. Checks without a group are compiler errors, because clang 14 cannot read all of
# GCC 12's <ranges>. The sources for clang-tidy must do without it: `make fuzz` compiles them with clang.
FINDING = re.compile(
    r"^E\[[^]]*\] \[([a-z]+-[\w,.-]+|-Wthread-safety[\w-]*|pp_file_not_found)\] Line (\d+): (.*)", re.M)


# Code that GPUs run too: it uses plain arrays and products of int, against the checks for other code.
DEVICE_CODE = {SOURCE / "src" / name
               for name in ("domain/permute_tile.h", "nn/gpu/backward_passes.h", "nn/gpu/device_pass.h",
                            "nn/gpu/layer_passes.h", "nn/gpu/output_passes.h")}


def with_headers(path, seen):
    """Adds to `seen` the file and all files of ours that it includes."""
    if path in seen:
        return seen
    seen.add(path)
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        for folder in (SOURCE / "src", SOURCE / "include", SOURCE, SOURCE / "domains",
                       SOURCE / "python/src"):
            if (folder / name).exists():
                with_headers(folder / name, seen)
                break
    return seen


def commands(build):
    """The compiler's command for each source, in the form that clang understands."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if (path.suffix == ".cc" and path.is_relative_to(SOURCE)
                and path.relative_to(SOURCE).parts[0] in FOLDERS):
            command = ONLY_GCC.sub("", entry["command"]) + " -Wno-unknown-warning-option -Wthread-safety"
            found[path] = entry | {"command": command}
    return found


def add_header(entries, header, source):
    """Adds a command that checks the header as if it were a source, made from a source's command."""
    path, command = str(source), entries[source]["command"]
    entries[header] = entries[source] | {
        "file": str(header), "command": command.replace(f"-c {path}", f"-x c++ -c {header}")}


def divide(entries):
    """Returns the sources for clang-tidy and the files for clangd, and adds commands for headers."""
    used = {path: with_headers(path, set()) for path in entries}
    needs_libtorch = {
        file for files in used.values() for file in files
        if any(name.split("/")[0] in LIBTORCH for name in includes(file))}
    for_tidy = [path for path in entries if not used[path] & needs_libtorch]
    for_clangd = [path for path in entries if used[path] & needs_libtorch]
    seen = set().union(*(used[path] for path in for_tidy))
    for source in list(for_clangd):
        for header in sorted(used[source] - seen - {source} - DEVICE_CODE):
            seen.add(header)
            add_header(entries, header, source)
            for_clangd.append(header)
    return for_tidy, for_clangd


def unite(folder, entries, sources):
    """Writes files that include up to TOGETHER of the sources of a library each, as a unity build has
    them, adds their commands, and returns them."""
    libraries = {}
    for path in sources:
        libraries.setdefault(re.search(r"CMakeFiles/(\S+?)\.dir", entries[path]["command"])[1], []).append(path)
    united = []
    for library, members in sorted(libraries.items()):
        for first in range(0, len(members), TOGETHER):
            some = members[first:first + TOGETHER]
            united.append(folder / f"{library}_{first // TOGETHER}.cc")
            united[-1].write_text("".join(f'#include "{path}"\n' for path in some))
            command = entries[some[0]]["command"].replace(f"-c {some[0]}", f"-c {united[-1]}")
            entries[united[-1]] = entries[some[0]] | {"file": str(united[-1]), "command": command}
    return united


def tidy(folder, path):
    """What clang-tidy finds in the file and its headers, errors of clang included."""
    result = subprocess.run([find_tool("clang-tidy"), "-p", folder, "--quiet",
                             "--checks=-bugprone-suspicious-include", path], capture_output=True, text=True)
    parts = re.split(r"^(?=(?:\S+:\d+:\d+: )?(?:error|warning): )", result.stdout, flags=re.M)
    return [result.stderr] if result.returncode != 0 and not result.stdout else [p for p in parts if p]


def clangd(folder, path):
    """What clangd finds in the file alone. It tries to complete code in the first line only."""
    result = subprocess.run(
        [find_tool("clangd"), f"--compile-commands-dir={folder}", f"--check={path}",
         "--check-lines=1-1", "--clang-tidy", "--enable-config=0", "--log=error"],
        capture_output=True, text=True)
    if result.returncode < 0:
        return [result.stderr]
    return [f"{path}:{line}: error: {message} [{check}]\n"
            for check, line, message in FINDING.findall(result.stderr)]


def key_of(run, path, command):
    digest = hashlib.sha256(f"{VERSION} {run.__name__} {command}".encode())
    for file in [SOURCE / ".clang-tidy", *sorted(with_headers(path, set()))]:
        digest.update(f"\0{file}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def check(build):
    if None in (find_tool("clang-tidy"), find_tool("clangd")):
        return True
    folder = build / "tidy"
    clean = folder / "clean"
    clean.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    entries = commands(build)
    for_tidy, for_clangd = divide(entries)
    num_files = len(for_tidy) + len(for_clangd)
    for_tidy = unite(folder, entries, for_tidy)
    (folder / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    jobs = [(clangd, path) for path in for_clangd] + [(tidy, path) for path in for_tidy]
    stamps = {job: clean / key_of(*job, entries[job[1]]["command"]) for job in jobs}
    to_check = [job for job, stamp in stamps.items() if not stamp.exists()]

    def findings_of(job):
        run, path = job
        found = run(folder, path)
        if not found:
            stamps[job].touch()
        return found

    shown = set()  # a finding in a header appears with each file that includes it
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(findings_of, to_check):
            print("".join(text for text in found if text not in shown), end="", flush=True)
            shown.update(found)
    for stamp in set(clean.iterdir()) - set(stamps.values()):
        stamp.unlink()
    seconds = time.monotonic() - began
    if shown:
        print("tidy: the findings are above; .clang-tidy lists the checks")
        return False
    print(f"tidy: {num_files} files are clean; {len(to_check)} of {len(jobs)} groups had changed ({seconds:.0f} s)")
    return True
