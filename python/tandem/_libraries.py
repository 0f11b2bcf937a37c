"""Loads the libraries of PyTorch, which Tandem's extension is linked to.

The wheel has no copy of them. Importing torch loads them, and the extension then finds them loaded.
"""

import os
import sys

from tandem._torch_version import TORCH  # made by the build

# Idle threads of OpenMP spin, which costs more than it gains while generation shares the cores
# (results/other/openmp_spin.json). OpenMP reads this when torch is loaded. A user's own setting stays.
if "torch" not in sys.modules and "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import torch  # noqa: E402

if torch.__version__.split("+")[0] != TORCH:
    raise ImportError(f"tandem was built for torch {TORCH} and found {torch.__version__}. "
                      f"Install that version: pip install torch=={TORCH}")
