"""What is logged, changed while the program runs."""

from __future__ import annotations

from types import TracebackType

from pycompile import _C


class Logs:
    """What `set_logs` gives: `previous` says what was logged before; a `with` block returns to it."""

    def __init__(self, previous: str) -> None:
        self.previous = previous

    def __enter__(self) -> Logs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C.log_configure(self.previous)

    def __repr__(self) -> str:
        return f"<logs, before: {self.previous!r}>"


def set_logs(*channels: str) -> Logs:
    """Logs these channels from now on and no others, as PYCOMPILE_LOGS does from the start.

    `set_logs("graph_breaks", "graph:cse")` and `set_logs("graph_breaks,graph:cse")` are the same;
    without arguments nothing is logged. The channels are recompiles, graph_breaks, guards, bytecode,
    graph (graph:PASS, graph:all), schedule, output_code, perf_hints (told when the program ends),
    cache, and all; another name is a ValueError, and changes nothing.

    The result keeps what was logged before in `previous`, which `set_logs` takes; as the manager of
    a `with` block it goes back to that at the end.
    """
    for name in channels:
        if not isinstance(name, str):
            raise TypeError(f"the channels of set_logs are str, not {type(name).__name__!r}")
    previous = _C.log_spec()
    _C.log_configure(",".join(channels))
    return Logs(previous)
