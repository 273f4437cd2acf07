"""Whole programs as people write them, plain and compiled: python -m benchmarks.programs.

One file is one program.  To add one, write `benchmarks/programs/NAME.py`: a docstring of one line, and

    from benchmarks.programs import compiled

    SIZES = (10, 200)     # each call has a size between these; as many below 45 as above

    @compiled             # @pycompile.compile, or nothing in a plain run
    def work(data): ...

    def main(rng, size):  # one call: makes its data, returns what it found
        return work(rng.normal(size=size))

For the same `rng` and `size`, `main` returns the same bits each time: no times, no ids, no sets.  A
call takes some 1 ms in the mean; a program says so where it is another kind:

    CALLS = 1000              # how many calls a run makes, by default 100
    def sizes(rng, count):    # the sizes in order, instead of SIZES: where their order is the point

Then `python -m benchmarks.programs --only NAME` runs it, and so does tests/test_benchmark_programs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CALLS = 100

decorator: Callable[[Any], Any] | None = None  # set before a program is imported


def compiled(function: Any) -> Any:
    """What programs write in place of @pycompile.compile."""
    return function if decorator is None else decorator(function)
