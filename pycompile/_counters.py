"""What compiling has come to in this process, as a dict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pycompile import _C


def _totals() -> dict[str, Any]:
    """Since the process began; they only grow."""
    made, cache, compiler = _C.compile_counts(), _C.cache_info(), _C.toolchain_info()
    return {
        "compiles": made["captures"] - made["postponed"],
        "plans": made["plans"],
        "twins": made["twins"],
        "recompiles": made["recompiles"],
        "graph_breaks": made["breaks"],
        "cache_hits": cache["hits"] + _C.code_info()["memory_hits"],
        "cache_misses": cache["misses"],
        "seconds": made["capture_seconds"],
        "compiler_runs": compiler["compiled"] + compiler["failed"],
        "compiler_seconds": compiler["seconds"],
    }


def _less(now: Any, before: Any) -> Any:
    if not isinstance(now, dict):
        return now - before
    left = {key: count - before.get(key, 0) for key, count in now.items()}
    return {key: count for key, count in left.items() if count}


class Counters(Mapping[str, Any]):
    """A mapping of counts since the process began, or since `reset()`: of all functions, all threads.

    compiles          attempts to make a plan, those that came to none included
    plans             plans that were made
    twins             those for the lengths at which another plan runs most (docs/shapes.md)
    recompiles        a dict: how many compiles came of which failed guard, by function and place
    graph_breaks      a dict: how many breaks captures have met, by code and text
    cache_hits        kernels that were found, in memory or on disk
    cache_misses      kernels that were not
    seconds           spent in compiles, waiting for the C compiler included
    compiler_runs     of the C compiler, those in the background included
    compiler_seconds  that they took
    """

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}

    def reset(self) -> None:
        """Counts from 0 again.  Plans and what `stats()` counts stay: `pycompile.reset()`."""
        self._before = _totals()

    def _now(self) -> dict[str, Any]:
        before = self._before
        return {
            key: _less(count, before.get(key, {} if isinstance(count, dict) else 0))
            for key, count in _totals().items()
        }

    def __getitem__(self, name: str) -> Any:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_totals())

    def __len__(self) -> int:
        return len(_totals())

    def __repr__(self) -> str:
        return repr(self._now())


counters = Counters()
