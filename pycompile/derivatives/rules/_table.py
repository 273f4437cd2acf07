"""Where the rules are, and which functions need none."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from pycompile import _calls, _steps


class NoRule(Exception):
    """A function that has a rule was called in a way for which there is none: _plan.py says where."""


RULES: dict[Any, dict[str, Callable[..., Any]]] = {}

# What only moves elements: where to is found by moving numbers, zeros being new elements.
MOVES: set[Any] = {
    np.stack,
    np.vstack,
    np.hstack,
    np.dstack,
    np.column_stack,
    np.concatenate,
    np.append,
    np.block,
    np.insert,
    np.delete,
    np.compress,
    np.extract,
    np.resize,
    np.choose,
    np.flip,
    np.fliplr,
    np.flipud,
    np.ravel,
    np.reshape,
    np.transpose,
    np.swapaxes,
    np.moveaxis,
    np.rollaxis,
    np.squeeze,
    np.expand_dims,
    np.atleast_1d,
    np.atleast_2d,
    np.atleast_3d,
    np.diagonal,
    np.copy,
    np.asarray,
    np.array,
    np.ascontiguousarray,
    np.asfortranarray,
    _steps.concatenate,
    _calls.join_rows,
    _calls.join_columns,
}

# Those among them whose arguments may be numbers that are placed among the elements.
JOINS: set[Any] = {
    np.stack,
    np.vstack,
    np.hstack,
    np.dstack,
    np.column_stack,
    np.concatenate,
    np.append,
    np.block,
    np.insert,
    np.choose,
    np.array,
    np.asarray,
    _steps.concatenate,
    _calls.join_rows,
    _calls.join_columns,
}

# What writes elements of another argument, as they are, into the first one: that argument's place and name.
FILLS: dict[Any, tuple[int, str]] = {
    np.copyto: (1, "src"),
    np.put: (2, "v"),
    np.putmask: (2, "values"),
    np.place: (2, "vals"),
    np.put_along_axis: (2, "values"),
    np.fill_diagonal: (1, "val"),
    np.ndarray.fill: (1, "value"),
    _calls.flat_set: (2, "value"),
}

# What is no function of its arguments' values, or has no derivative but zero by definition.
ZERO: set[Any] = {
    round,
    np.argsort,
    np.argpartition,
    np.argmax,
    np.argmin,
    np.argwhere,
    np.nonzero,
    np.flatnonzero,
    np.count_nonzero,
    np.searchsorted,
    np.digitize,
    np.eye,
    np.identity,
    np.zeros,
    np.ones,
    np.empty,
    np.zeros_like,
    np.ones_like,
    np.empty_like,
    np.floor,
    round,
    np.round,
    np.around,
    np.fix,
    np.isclose,
    np.allclose,
    np.array_equal,
    np.any,
    np.all,
    np.lexsort,
    np.isin,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    np.linalg.matrix_rank,
    np.indices,
    np.shape,
    np.rint,
    np.ceil,
    np.trunc,
}


def rule(function: Any, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The rule of `function` for the arguments of these names."""

    def add(back: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES.setdefault(function, {})[name] = back
        return back

    return add


class _Functions:
    """A set of functions that may be asked about what has no hash."""

    def __init__(self, functions: Collection[Any]) -> None:
        self.functions = functions

    def __contains__(self, function: Any) -> bool:
        try:
            return function in self.functions
        except TypeError:
            return False


ZERO_SET, MOVES_SET, FILLS_SET = _Functions(ZERO), _Functions(MOVES), _Functions(FILLS)
