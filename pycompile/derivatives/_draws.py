"""Random draws in a function that is differentiated.  A draw ends the graph; NumPy or Python does it,
once, in the forward pass, and what it gives depends on nothing that is differentiated."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from pycompile._errors import DerivativeError
from pycompile.derivatives import _tape, _trees

_STREAMS = (np.random.Generator, np.random.RandomState, random.Random)


class _Again(threading.local):
    """Does a pullback run the function once more?  It would draw other numbers."""

    count = 0


again = _Again()


def noted(function: Callable[..., Any], args: Sequence[Any], result: Any) -> None:
    """A call that ended a graph, as it returns.  `args` are all of its arguments."""
    tapes = _tape.tapes()
    if not tapes or not _draws(function, args):
        return
    if again.count:
        raise DerivativeError(
            "the function of a checkpoint draws random numbers, and would draw others in the pullback: "
            "draw them before, and make them arguments"
        )
    code = sys._getframe(1).f_code
    given = [each for each in args if not isinstance(each, _STREAMS)]
    for tape in tapes:
        if all(_is_constant(tape, value, code) for _, value in _trees.leaves(given)):
            for _, value in _trees.leaves(result):
                tape.know_constant(value)


def _draws(function: Any, args: Sequence[Any]) -> bool:
    """A method of a stream, bound or with the stream as its first argument."""
    if isinstance(getattr(function, "__self__", None), _STREAMS):
        return True
    name = getattr(function, "__name__", "")
    return (
        bool(args)
        and isinstance(args[0], _STREAMS)
        and getattr(type(args[0]), name, None) is function
    )


def _is_constant(tape: _tape.Tape, value: Any, code: CodeType) -> bool:
    if not _tape.is_number(value) or any(value is known for known in code.co_consts):
        return True
    return tape.find(value) == (True, None)
