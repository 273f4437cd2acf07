"""A row: a world, what a function asks of it, and how it changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """`asked` is an expression over the world; `given` names what is passed to the function."""

    name: str
    world: str
    asked: str
    change: str
    given: str = ""
    whole: bool = True  # no graph break: the plan does what is asked


# Worlds that rows of several files have.
PLAIN = "class K: pass\na, b = K(), K()\n"
WITH_V = "class K:\n    def __init__(self): self.v = 1.0\nk = K()\n"
