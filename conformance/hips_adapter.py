"""A pytest plugin: HIPS autograd's package with its derivatives replaced by ours.

`autograd.numpy` becomes NumPy and what takes derivatives becomes pycompile's; its vector spaces and
its `check_grads`, which compares with differences, stay as they are.  HIPS_AUTOGRAD is the folder of
its source distribution (conformance/hips.py).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pycompile

FOLDER = Path(os.environ["HIPS_AUTOGRAD"])


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    out, pullback = pycompile.vjp(fun, x)
    return lambda g: pullback(g)[0], out


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    return lambda v: pycompile.jvp(fun, (x,), (v,))


def _by_argnum(ours: Callable[..., Any]) -> Callable[..., Any]:
    """autograd calls it argnum, and takes a list, too."""

    def made(fun: Callable[..., Any], argnum: int | Sequence[int] = 0) -> Callable[..., Any]:
        return ours(fun, argnum if isinstance(argnum, int) else tuple(argnum))  # type: ignore[no-any-return]

    return made


def _of_number(ours: Callable[..., Any]) -> Callable[..., Any]:
    """autograd's gradients are also of arrays of one element."""

    def made(fun: Callable[..., Any], argnum: Any = 0) -> Callable[..., Any]:
        def number(*args: Any, **kwargs: Any) -> Any:
            out = fun(*args, **kwargs)
            return out.reshape(()) if isinstance(out, np.ndarray) and out.size == 1 else out

        return ours(number, argnum)  # type: ignore[no-any-return]

    return _by_argnum(made)


def _grad_and_aux(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    return pycompile.grad(fun, argnum, has_aux=True)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """autograd's inverse of np.diagonal."""
    if not (offset == 0 and axis1 == -1 and axis2 == -2):
        raise NotImplementedError
    out = np.zeros((*D.shape, D.shape[-1]), D.dtype)
    i = np.arange(D.shape[-1])
    out[..., i, i] = D
    return out


def _adapt() -> None:
    # What autograd.numpy has beside NumPy's functions of today.
    vars(np).update(make_diagonal=make_diagonal, row_stack=np.vstack)
    vars(np.linalg).update(
        _dot=lambda a, b: np.einsum("...ij,...jk->...ik", a, b), T=lambda a: np.swapaxes(a, -1, -2)
    )
    sys.path.insert(0, str(FOLDER))
    for name in ("", ".random", ".linalg", ".fft"):
        sys.modules[f"autograd.numpy{name}"] = importlib.import_module(f"numpy{name}")
    core: Any = importlib.import_module("autograd.core")
    core.make_vjp, core.make_jvp = make_vjp, make_jvp
    autograd: Any = importlib.import_module("autograd")
    autograd.numpy = np
    path = FOLDER / "autograd" / "numpy" / "numpy_vspaces.py"
    spec = importlib.util.spec_from_file_location("autograd_vspaces", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    operators: Any = importlib.import_module("autograd.differential_operators")
    operators._make_vjp, operators._make_jvp = make_vjp, make_jvp
    unary_to_nary = importlib.import_module("autograd.wrap_util").unary_to_nary
    ours = {
        "make_vjp": unary_to_nary(make_vjp),
        "make_jvp": unary_to_nary(make_jvp),
        "grad": _of_number(pycompile.grad),
        "value_and_grad": _of_number(pycompile.value_and_grad),
        "jacobian": _by_argnum(pycompile.jacrev),
        "hessian": _by_argnum(pycompile.hessian),
        "grad_and_aux": _grad_and_aux,
        "checkpoint": pycompile.checkpoint,
        "tuple": tuple,
        "list": list,
        "dict": dict,
        "isinstance": isinstance,
        "type": type,
    }
    for there in (autograd, operators, importlib.import_module("autograd.builtins")):
        for name, thing in ours.items():
            if hasattr(there, name):
                setattr(there, name, thing)


_adapt()
