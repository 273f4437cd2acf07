"""Unmodified NumPy code as fused native kernels.

@pycompile.compile
def f(x, bias):
    return np.tanh(x + bias).sum(axis=1)
"""

from __future__ import annotations

from pycompile._version import __version__

TYPE_CHECKING = False  # as in typing, which programs that we run should not find imported
if TYPE_CHECKING:
    from typing import Any

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
    from pycompile._counters import counters
    from pycompile._errors import (
        BackendError,
        DerivativeError,
        DimensionError,
        ExportError,
        GraphBreakError,
        JobError,
        PycompileError,
        PycompileWarning,
        RecompileError,
    )
    from pycompile._explain import Explanation, explain
    from pycompile._export import export
    from pycompile._image import Image
    from pycompile._logs import set_logs
    from pycompile._precompile import Array
    from pycompile._shapes import Dim, mark_dynamic
    from pycompile._stance import set_stance
    from pycompile.derivatives import (
        checkpoint,
        custom_jvp,
        custom_vjp,
        grad,
        hessian,
        jacfwd,
        jacrev,
        jvp,
        stop_gradient,
        value_and_grad,
        vjp,
        vmap,
    )

__all__ = [
    "Array",
    "BackendError",
    "DerivativeError",
    "Dim",
    "DimensionError",
    "Explanation",
    "ExportError",
    "Graph",
    "GraphBreakError",
    "Image",
    "JobError",
    "PycompileError",
    "PycompileWarning",
    "RecompileError",
    "__version__",
    "cache_info",
    "checkpoint",
    "compile",
    "counters",
    "custom_jvp",
    "custom_vjp",
    "disable",
    "explain",
    "export",
    "grad",
    "graph_break",
    "hessian",
    "is_compiling",
    "jacfwd",
    "jacrev",
    "jvp",
    "list_backends",
    "mark_dynamic",
    "register_backend",
    "reset",
    "set_logs",
    "set_stance",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]

# Names are imported when they are first used: `python -m pycompile run` starts programs that never
# import NumPy without it.
_HOMES = {
    "Array": "_precompile",
    "BackendError": "_errors",
    "DerivativeError": "_errors",
    "Dim": "_shapes",
    "DimensionError": "_errors",
    "Explanation": "_explain",
    "ExportError": "_errors",
    "Graph": "_C",
    "GraphBreakError": "_errors",
    "Image": "_image",
    "JobError": "_errors",
    "PycompileError": "_errors",
    "PycompileWarning": "_errors",
    "RecompileError": "_errors",
    "counters": "_counters",
    "mark_dynamic": "_shapes",
    "explain": "_explain",
    "export": "_export",
    "set_logs": "_logs",
    "set_stance": "_stance",
    "grad": "derivatives",
    "hessian": "derivatives",
    "jacfwd": "derivatives",
    "jacrev": "derivatives",
    "jvp": "derivatives",
    "value_and_grad": "derivatives",
    "vjp": "derivatives",
    "checkpoint": "derivatives",
    "custom_jvp": "derivatives",
    "custom_vjp": "derivatives",
    "stop_gradient": "derivatives",
    "vmap": "derivatives",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    home = importlib.import_module(f"{__name__}.{_HOMES.get(name, '_api')}")
    for each in __all__:
        if _HOMES.get(each, "_api") == home.__name__.rpartition(".")[2] and each != "__version__":
            globals()[each] = getattr(home, each)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
