"""NumPy functions written in NumPy, and functions of Python's library that are C, written in Python:
followed by capture as though the program had called them.

Each has its original's signature and gives its very bits, shapes, dtypes and errors.  Those of NumPy's
are named by rows of csrc/capture/numpy/numpy_functions.def; for the others `TABLE` maps the original to
it.  What an original accepts and its decomposition does not follow ends in a graph break, so the original
runs.
"""

from __future__ import annotations

from pycompile.decompositions.copying import TABLE as _COPYING
from pycompile.decompositions.functions import TABLE as _FUNCTIONS
from pycompile.decompositions.iteration import TABLE as _ITERATION
from pycompile.decompositions.models import TABLE as _MODELS

TABLE = {**_COPYING, **_MODELS, **_FUNCTIONS, **_ITERATION}
