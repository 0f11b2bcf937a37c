"""A small run for the tests of the Python package."""

import pathlib
import shutil
import signal
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

SMALL = {
    "domain": {"name": "cube2"},
    "generate": {"max_scramble": 8, "workers": 1},
    "network": {"width": 32, "blocks": 1},
    "train": {"batch_size": 100, "iterations_per_update": 5, "max_updates": 6, "threads": 1,
              "precision": "fp32"},
    "inference": {"threads": 1, "precision": "fp32"},
    "validation": {"every_updates": 3, "states": 50},
    "device": "cpu",
}

# A shell starts a job in the background with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-python-"))
        self.addCleanup(shutil.rmtree, self.folder)


def network_in_pytorch(checkpoint, depth):
    """Rebuilds the network of a checkpoint with examples/pytorch, without Tandem's code."""
    sys.path.insert(0, str(SOURCE / "examples" / "pytorch"))
    from tandem_net import TandemNet
    return TandemNet.load(checkpoint, depth)
