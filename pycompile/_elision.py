"""Asks NumPy whether its operators write into temporaries: see csrc/arrays/elision.c.  A module of its
own, since the first capture asks and all else in _steps is rarely wanted."""

from __future__ import annotations

from typing import Any

import numpy as np


def _elides(size: int) -> bool:
    """Whether the sum of a temporary of so many bytes lies where the temporary lay."""
    made = []

    def fresh() -> Any:
        array = np.zeros(size // 8)
        made.append(array.__array_interface__["data"][0])
        return array

    result = fresh() + 1.0
    return bool(result.__array_interface__["data"][0] == made[0])


def elision_bytes() -> int:
    """The least power of two from which NumPy's operators write into a temporary operand, in bytes; 0
    where they never do."""
    usual = 1 << 18  # of every NumPy so far; another one is found below
    if _elides(usual) and not _elides(usual // 2):
        return usual
    return next((size for size in (1 << n for n in range(5, 21)) if _elides(size)), 0)
