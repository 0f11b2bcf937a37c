"""Checks python/tandem/_tandem.pyi, the types of the extension: it is what nanobind makes of the
extension. To renew it:

    PYTHONPATH=build/release/python .venv/bin/python tests/python/stubs_test.py --write
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from tandem import _tandem

STUB = pathlib.Path(__file__).resolve().parents[2] / "python" / "tandem" / "_tandem.pyi"


def made():
    with tempfile.TemporaryDirectory() as folder:
        stub = pathlib.Path(folder) / "_tandem.pyi"
        subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "tandem._tandem", "-o",
                        str(stub)], check=True)
        return stub.read_text()


class Stubs(unittest.TestCase):
    def test_the_stub_describes_the_extension(self):
        self.maxDiff = None
        self.assertEqual(STUB.read_text(), made(), f"renew {STUB}: see {__file__}")

    def test_the_extension_uses_the_stable_interface_and_lies_beside_its_stub(self):
        extension = pathlib.Path(_tandem.__file__)
        self.assertEqual(extension.name, "_tandem.abi3.so")
        self.assertTrue(extension.with_name("_tandem.pyi").exists())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        STUB.write_text(made())
    else:
        sys.exit(unittest.main(verbosity=2))
