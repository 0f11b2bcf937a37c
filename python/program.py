#!python
"""The command `tandem` of an installed wheel. Runs the program in the package `tandem`, which takes LibTorch
from the package `torch`. Imports neither of them, since that takes a second."""

import importlib.util
import os
import pathlib
import sys


def folder_of(package):
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        sys.exit(f"tandem: the package {package} is missing for {sys.executable}; pip install {package}")
    return pathlib.Path(spec.origin).parent


tandem, torch = folder_of("tandem"), folder_of("torch")
if torch.parent != tandem.parent:  # the program looks for torch beside tandem only
    folders = [str(torch / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
program = tandem / "bin" / "tandem"
os.execv(program, [program, *sys.argv[1:]])
