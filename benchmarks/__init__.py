"""Benchmarks: `python -m benchmarks [--peers numpy,numba,jax,torch,numexpr] [--json FILE] [--quick]`.

Plans are made at the first call, so that what is timed behind it is compiled code.
"""

import os

os.environ.setdefault("PYCOMPILE_WAIT", "1")
