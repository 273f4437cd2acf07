"""Unmodified NumPy code as fused native kernels.

@pycompile.compile
def f(x, bias):
    return np.tanh(x + bias).sum(axis=1)
"""

from pycompile._api import (
    cache_info,
    compile,
    disable,
    graph_break,
    is_compiling,
    list_backends,
    register_backend,
    reset,
)
from pycompile._C import Graph
from pycompile._errors import BackendError, GraphBreakError, PycompileError, PycompileWarning
from pycompile._explain import Explanation, explain
from pycompile._version import __version__

__all__ = [
    "BackendError",
    "Explanation",
    "Graph",
    "GraphBreakError",
    "PycompileError",
    "PycompileWarning",
    "__version__",
    "cache_info",
    "compile",
    "disable",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "register_backend",
    "reset",
]
