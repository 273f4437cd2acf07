"""Whether plans are made and used from now on, for the whole process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from pycompile import _C

F = TypeVar("F", bound=Callable[..., Any])


class Stance:
    """What `set_stance` gives: `previous` is the stance before; a `with` block returns to it."""

    def __init__(self, stance: str) -> None:
        self.stance = stance
        self.previous = _C.set_stance(stance)

    def __enter__(self) -> Stance:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C.set_stance(self.previous)

    def __call__(self, function: F) -> F:
        """As a decorator: the stance holds in the function's calls alone."""
        _C.set_stance(self.previous)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with Stance(self.stance):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<stance {self.stance!r}, before: {self.previous!r}>"


def set_stance(stance: str) -> Stance:
    """Says what becomes of calls for which there is no plan, from now on.

    "default"             plans are made where compiling pays, or as `mode` says.
    "force_eager"         compiled functions run in Python, whether there are plans or not.
    "eager_on_recompile"  plans that hold run; nothing is compiled, Python runs all else.
    "fail_on_recompile"   plans that hold run; where none does and one would be made, RecompileError.
    "eager_then_compile"  the first call of each function runs in Python, the next ones as ever.

    Used as a call, as the manager of a `with` block, which returns to the stance before, or as a
    decorator, for the calls of one function. The stance is one for all threads: a call in another
    thread changes it for this one, too. It counts from the next call of a compiled function on.

    Under "fail_on_recompile" nothing at all is compiled. RecompileError comes at a place that has
    plans, none of which holds, and where plans are made at the first call (`mode="wait"`, fullgraph,
    a backend of your own) also at one that has none. Python runs, as ever, what is not worth a plan,
    places that were given up for too many plans, and functions that have not earned theirs yet.
    The error comes before anything of the place has run, past the handlers of the function itself,
    and names function, line, guard, the values wanted and found, and what to change. What the
    function has done up to that place (nothing, where that is its start) stays done.

    Raises ValueError for another name and TypeError for what is no str; the stance stays then.
    """
    return Stance(stance)
