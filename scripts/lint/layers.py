"""Checks what each layer includes.

A layer includes only layers listed before it (docs/design.md), domains include only the public
headers, and no layer below `nn` includes LibTorch.
"""

import re
import sys

from clang import SOURCE

LAYERS = ["base", "archive", "domain", "buffer", "config", "compare", "search", "generate",
          "shards", "pipeline", "nn", "train", "run"]
WITHOUT_LIBTORCH = LAYERS[:LAYERS.index("nn")]

LIBTORCH = ("torch", "ATen", "c10", "caffe2")


def includes(path):
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


def sources(folder):
    return [p for p in (SOURCE / folder).rglob("*") if p.suffix in (".h", ".cc", ".cu")]


def wrong_layers():
    """Yields a sentence for each folder of src/ that is not in LAYERS, or the other way round."""
    folders = {p.name for p in (SOURCE / "src").iterdir() if p.is_dir()}
    for name in sorted(folders ^ set(LAYERS)):
        yield f"src/{name}: the folders of src/ and the list of layers in {__file__} differ"


def wrong_includes_of_layers():
    for number, layer in enumerate(LAYERS):
        allowed = LAYERS[:number + 1]
        for path in sources(f"src/{layer}"):
            for header in includes(path):
                folder = header.split("/")[0]
                if folder == "apps" or (folder in LAYERS and folder not in allowed):
                    yield f"{path}: {header} belongs to a higher layer"
                if folder in LIBTORCH and layer in WITHOUT_LIBTORCH:
                    yield f"{path}: {header} is LibTorch's, which only nn and above may include"
                if header == "torch/torch.h":
                    yield f"{path}: {header} takes 15 s to compile; include what is needed"


def wrong_includes_of_domains():
    for path in sources("domains") + sources("include"):
        for header in includes(path):
            shared = path.is_relative_to(SOURCE / "domains") and header.startswith(
                ("board/", "cube/", f"{path.parent.name}/", "yaml-cpp/"))
            if "/" in header and not header.startswith("tandem/") and not shared:
                yield f"{path}: {header} is not a public header"


def check(_build):
    found = [*wrong_layers(), *wrong_includes_of_layers(), *wrong_includes_of_domains()]
    for sentence in found:
        print(f"layers: {sentence}")
    if not found:
        print("layers: every file includes only what its layer may")
    return not found


if __name__ == "__main__":
    sys.exit(0 if check(None) else 1)
