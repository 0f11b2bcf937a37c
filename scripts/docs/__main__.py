"""Builds the documentation site from README.md, CONTRIBUTING.md and docs/, with Sphinx.

    python3 scripts/docs build/release/tandem [--out build/docs]

The pages stay as GitHub shows them. This script copies them into build/docs_source and adds:

- the navigation (contents.md),
- a reference of config keys and of commands, printed by the program,
- a reference of the public headers, from their comments, read by Doxygen,
- a page with the text of each source file that a page links to, so that the site needs no repository.

A link that leads nowhere, a heading that does not exist, or a page that contents.md does not list, fails.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".cu": "cuda", ".py": "python", ".yaml": "yaml", ".yml": "yaml",
             ".json": "json", ".jsonl": "json", ".txt": "text"}
FENCE = "`" * 6
# What Breathe shows of a header: everything but what is private, and the variables of its namespace.
SECTIONS = ("briefdescription detaileddescription innernamespace innerclass public-type public-func "
            "public-attrib public-static-func public-static-attrib protected-func func typedef enum define")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, **options)


def output(*words):
    return run(*words, capture_output=True).stdout


def pages():
    """The Markdown files of the site, relative to the repository."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
                                    "CODE_OF_CONDUCT.md")]
    found = [*top, ROOT / "data" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page.relative_to(ROOT) for page in found]


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.sources = set()
        shutil.rmtree(folder, ignore_errors=True)

    def write(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def place(self, path):
        """Where the site has a page of the repository: the README is its first page."""
        return pathlib.Path("index.md") if str(path) == "README.md" else path

    def link(self, page, known, match):
        """The link, changed if the site has its target in another place."""
        before, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = pathlib.Path(os.path.normpath(page.parent / target))
        if not (ROOT / path).exists():
            sys.exit(f"{page}: the link to {target} leads nowhere")
        if (ROOT / path).is_dir() and path / "README.md" in known:
            path = path / "README.md"
        if path not in known:
            if path.parts[:2] == ("docs", "images"):
                return match[0]
            self.sources.add(path)
            path = pathlib.Path("source") / f"{path}.md"
        return f"{before}({os.path.relpath(self.place(path), self.place(page).parent)}{anchor})"

    def add_pages(self):
        known = set(pages())
        for page in known:
            parts = re.split(r"(^ *```.*?^ *```$)", (ROOT / page).read_text(), flags=re.M | re.S)
            for i in range(0, len(parts), 2):  # without the code blocks
                parts[i] = re.sub(r"(!?\[(?:[^][]|\[[^]]*\])*\])\(([^)#\s]+)(#[^)\s]*)?\)",
                                  lambda match, page=page: self.link(page, known, match), parts[i])
            text = "".join(parts)
            if str(page) == "README.md":
                # Sphinx takes the navigation from the first page.
                text += "\n" + (HERE / "contents.md").read_text()
            self.write(self.place(page), text)
        shutil.copytree(ROOT / "docs" / "images", self.folder / "docs" / "images")

    def add_sources(self):
        for path in sorted(self.sources):
            file = ROOT / path
            head = "---\norphan: true\nnosearch: true\n---\n"
            if file.is_dir():
                names = sorted(child.name + "/" * child.is_dir() for child in file.iterdir()
                               if child.name[0] not in "._")
                body = "".join(f"- `{name}`\n" for name in names)
            else:
                text = file.read_text()
                language = LANGUAGES.get(file.suffix, "text")
                if text.startswith("#!"):
                    language = "python" if "python" in text.split("\n")[0] else "bash"
                body = f"{FENCE}{{code-block}} {language}\n:force:\n\n{text.rstrip()}\n{FENCE}\n"
            self.write(f"source/{path}.md", f"{head}# {path}\n\n{body}")

    def add_config_reference(self, tandem):
        text = ["# Config keys\n\nThe output of `tandem config --reference`. A config needs only the keys that "
                "differ from the\ndefaults. Keys marked **try first** are the ones to start with.\n"]
        section = None
        for key in json.loads(output(tandem, "config", "--reference", "--json")):
            name = key["key"].partition(".")[0]
            if name != section:
                section = name
                text.append(f"\n## {section}\n")
            first = "**Try first.** " if key["try_first"] else ""
            meaning = re.sub(r"([*_<])", r"\\\1", key["meaning"])
            meaning = re.sub(r"`[^`]*`", lambda code: code[0].replace("\\", ""), meaning)
            question, *choices = meaning.split("\n")
            items = "".join(f"  {choice}\n" for choice in choices) + ("\n" if choices else "")
            text.append(f"\n[`{key['key']}`]{{#{key['key'].replace('.', '-')}}}\n: {first}{question}\n\n{items}"
                        f"  Default: `{json.dumps(key['default'])}`. Accepted: {key['expected']}.\n")
        self.write("reference/config.md", "".join(text))

    def add_commands(self, tandem):
        overall = output(tandem, "--help")
        names = re.findall(r"^  ([a-z-]+) ", overall.partition("Subcommands:")[2], re.M)
        if len(names) < 10:
            sys.exit("`tandem --help` lists too few commands")
        text = ["# Commands\n\nThe output of `tandem COMMAND --help`.\n"]
        for name in ["", *names]:
            help_text = output(tandem, *name.split(), "--help").replace(f"Usage: {tandem}", "Usage: tandem")
            heading = f"tandem {name}".strip()
            text.append(f"\n## {heading}\n\n{FENCE}text\n{help_text.rstrip()}\n{FENCE}\n")
        self.write("reference/commands.md", "".join(text))

    def add_headers(self, xml):
        headers = [path for path in sorted((ROOT / "include" / "tandem").glob("*.h"))
                   if path.name != "struct_members.h"]  # checks of what puzzle.h and game.h list
        doxyfile = (HERE / "Doxyfile").read_text()
        inputs = " ".join(str(path) for path in headers)
        xml.mkdir(parents=True, exist_ok=True)
        run("doxygen", "-", cwd=ROOT,
            input=f"{doxyfile}\nINPUT = {inputs}\nOUTPUT_DIRECTORY = {xml}\nSTRIP_FROM_PATH = {ROOT}/include\n")
        text = ["# C++ headers\n\nThe headers of component `domain`, from their comments. "
                "[Puzzles](../docs/guide/puzzles.md#add-your-own) says\nhow to use them, and "
                "[Python and C++](../docs/guide/python.md#use-tandem-from-c) which ones a program needs to train.\n"]
        for path in headers:
            intro = re.match(r"(?://.*\n)*", path.read_text())[0]
            intro = re.sub(r"^// ?", "", intro, flags=re.M)
            text.append(f"\n## tandem/{path.name}\n\n{intro}\n"
                        f"{FENCE}{{doxygenfile}} {path.name}\n"
                        f":sections: {SECTIONS}\n{FENCE}\n")
        self.write("reference/cpp.md", "".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tandem", type=pathlib.Path, help="the built program")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "docs")
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / "build" / "docs_env" / "bin" / "python",
                        help="a Python that has Sphinx (DOCS=yes scripts/setup)")
    args = parser.parse_args()
    out = args.out.resolve()
    tandem = args.tandem.resolve()
    new, source, xml = (out.with_name(out.name + end) for end in ("_new", "_source", "_xml"))

    if out.exists() and any(out.iterdir()) and not (out / "objects.inv").exists():
        parser.error(f"--out {out}: expected no folder, an empty one, or an earlier site")
    shutil.rmtree(new, ignore_errors=True)  # of a build that failed
    site = Site(source)
    site.add_pages()
    site.add_sources()
    site.add_config_reference(tandem)
    site.add_commands(tandem)
    site.add_headers(xml)
    environment = {**os.environ, "TANDEM_DOXYGEN_XML": str(xml / "xml")}
    build = [args.python, "-m", "sphinx", "--builder", "html", "--conf-dir", HERE, "--fail-on-warning",
             "--keep-going", "--quiet", "--doctree-dir", out.with_name(out.name + "_doctrees"), source, new]
    if subprocess.run([str(word) for word in build], env=environment).returncode != 0:
        sys.exit("the site has the errors above")
    shutil.rmtree(out, ignore_errors=True)
    new.rename(out)
    print(f"built {out}/index.html")


if __name__ == "__main__":
    main()
