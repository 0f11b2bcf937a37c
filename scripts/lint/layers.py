"""Checks what each layer includes.

A layer includes only layers listed before it (docs/design.md), domains include only the public
headers, and no layer below `nn` includes LibTorch.
"""

import re
import sys

from clang import SOURCE

LAYERS = ["base", "domain", "config", "data", "report", "search", "generate", "pipeline",
          "nn", "cuda", "ranks", "tensor", "loaders", "train"]
WITHOUT_LIBTORCH = LAYERS[:LAYERS.index("nn")]

LIBTORCH = ("torch", "ATen", "c10", "caffe2")


def includes(path):
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


def sources(folder):
    return [p for p in (SOURCE / folder).rglob("*") if p.suffix in (".h", ".cc", ".cu")]


def layer_of(name):
    """Returns the layer of a file, given as "folder/name"; None if it is in no layer."""
    folder = name.split("/")[0]
    return folder if folder in LAYERS else None


def layer_folder(path):
    """Returns the folder of src/ in which a source of it lies, perhaps in a folder of that one."""
    return path.relative_to(SOURCE / "src").parts[0]


def wrong_layers():
    """Yields a sentence for each folder of src/ that is in no layer, and each layer without files."""
    layers = {layer_folder(p) for p in sources("src")}
    for name in sorted(layers ^ set(LAYERS)):
        yield f"src/{name}: the folders of src/ and the list of layers in {__file__} differ"


def wrong_includes_of_layers():
    for path in sources("src"):
        layer = layer_of(layer_folder(path))
        if layer is None:
            continue  # wrong_layers reports it
        allowed = LAYERS[:LAYERS.index(layer) + 1]
        for header in includes(path):
            folder = header.split("/")[0]
            owner = layer_of(header)
            if folder == "apps" or (owner is not None and owner not in allowed):
                yield f"{path}: {header} belongs to a higher layer"
            if folder in LIBTORCH and layer in WITHOUT_LIBTORCH:
                yield f"{path}: {header} is LibTorch's, which only nn and above may include"
            if header == "torch/torch.h":
                yield f"{path}: {header} takes 15 s to compile; include what is needed"


def wrong_includes_of_domains():
    for path in sources("domains") + sources("games") + sources("include"):
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
