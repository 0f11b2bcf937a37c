"""Converts collections of Sokoban levels, and solved levels, to text that Sokoban programs read.

    python -m tandem.sokoban levels.slc --out levels.xsb
    python -m tandem.sokoban levels.xsb --runs --out levels.txt
    python -m tandem.sokoban solved.jsonl --out solved.xsb

Reads XML (SLC), XSB, run lengths (4#|#@$.#|4#), and the JSON lines that `tandem solve` takes and writes, whose
solutions follow their levels in LURD. Writes XSB, or run lengths with --runs; `tandem solve --states` takes
both. Exit code 2: a file cannot be read; the message names it.
"""

import argparse
import json
import pathlib
import re
from xml.etree import ElementTree

CELLS = r"[\d# @$.+*_|-]*"
ROW = re.compile(f"{CELLS}#{CELLS}(?<!\\d)")


def text_of(path: pathlib.Path) -> str:
    """Returns the levels of a file as text. Raises ValueError if it is not XML or JSON, as its beginning says."""
    text = path.read_text("utf-8", errors="replace")
    if text.lstrip("\ufeff \r\n").startswith("<"):
        levels = [{"id": level.get("Id"), "state": [row.text or "" for row in level.iter("L")]}
                  for level in ElementTree.fromstring(path.read_bytes()).iter("Level")]
    elif text.startswith("{"):
        levels = [json.loads(line) for line in text.splitlines()]
    else:
        return text
    blocks = []
    for number, level in enumerate(levels, 1):
        state = level["state"] if isinstance(level["state"], str) else "\n".join(level["state"])
        solution = f"Solution: {level['moves']}\n" if level.get("moves") else ""
        blocks.append(f"{state}\nTitle: {level.get('id', number)}\n{solution}")
    return "\n".join(blocks)


def convert(text: str, runs: bool = False) -> str:
    """Returns levels in XSB, or in run lengths. Lines that are no rows of a level stay as they are."""
    lines = []
    for line in map(str.rstrip, text.splitlines()):
        if ROW.fullmatch(line):
            if long := re.search(r"\d{7,}", line):
                raise ValueError(f"a run of {long[0]} cells, expected at most 999999")
            line = re.sub(r"(\d+)(\D)", lambda run: int(run[1]) * run[2], line)
            line = line.replace("_", " ").replace("-", " ").replace("|", "\n")
        if runs and ROW.fullmatch(line.replace("\n", "|")):
            line = re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", line.replace(" ", "-"))
        lines.append(line + "\n")
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tandem.sokoban", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--runs", action="store_true", help="write run lengths")
    parser.add_argument("--out", type=pathlib.Path, help="file to write (default: standard output)")
    args = parser.parse_args()
    try:
        text = convert(text_of(args.file), args.runs)
    except (OSError, KeyError, TypeError, ValueError, ElementTree.ParseError) as error:
        parser.error(f"{args.file}: {error}")
    if not args.out:
        print(text, end="")
        return
    from tandem._files import write_file  # the functions above work without the package's extension
    try:
        write_file(args.out, text)
    except OSError as error:
        parser.error(f"--out {args.out}: {error.strerror}")


if __name__ == "__main__":
    main()
