"""A layer includes only layers listed before it (docs/design.md), domains only the public headers,
and LibTorch stays above the line."""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[1]
LAYERS = ["base", "archive", "domain", "buffer", "config", "compare", "search", "generate",
          "shards", "pipeline", "nn", "train", "run"]
WITHOUT_LIBTORCH = LAYERS[:LAYERS.index("nn")]


def includes(path):
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


def sources(folder):
    return [p for p in (SOURCE / folder).rglob("*") if p.suffix in (".h", ".cc", ".cu")]


class Layers(unittest.TestCase):
    def test_each_layer_is_a_folder(self):
        self.assertEqual(sorted(p.name for p in (SOURCE / "src").iterdir() if p.is_dir()),
                         sorted(LAYERS))

    def test_layers_include_only_lower_ones(self):
        for number, layer in enumerate(LAYERS):
            for path in sources(f"src/{layer}"):
                for header in includes(path):
                    folder = header.split("/")[0]
                    if folder in LAYERS:
                        self.assertIn(folder, LAYERS[:number + 1], f"{path}: {header}")
                    self.assertNotEqual(folder, "apps", f"{path}: {header}")

    def test_lower_layers_do_without_libtorch(self):
        for layer in WITHOUT_LIBTORCH:
            for path in sources(f"src/{layer}"):
                for header in includes(path):
                    self.assertNotRegex(header, "^(torch|ATen|c10|caffe2)/", str(path))

    def test_domains_and_public_headers_use_the_public_headers_alone(self):
        for path in sources("domains") + sources("include"):
            for header in includes(path):
                shared = path.is_relative_to(SOURCE / "domains") and header.startswith(
                    ("board/", "cube/", f"{path.parent.name}/", "yaml-cpp/"))
                self.assertTrue(header.startswith("tandem/") or "/" not in header or shared,
                                f"{path}: {header}")

    def test_no_header_includes_all_of_torch(self):
        for path in sources("src"):
            self.assertNotIn("torch/torch.h", includes(path), str(path))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
