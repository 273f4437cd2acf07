"""`explain(function)(*args)`: runs a function and tells what pycompile made of it.

The runtime adds a record (a dict) for each attempt to make a plan while reports are collected:
csrc/runtime/compile.c.  An Explanation is those records as text (_explain_text.py), as a dict and as
HTML (_html.py).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from pycompile import _C, _explain_text, _told
from pycompile._api import (
    _DEFAULTS,
    _SUSPENDS,
    _compile,
    _require_function,
    _settings,
    _switched_off,
)
from pycompile._backends import NATIVE

Record = dict[str, Any]


class Explanation:
    """What happened in one call: `print` gives a summary of one screen, `verbose()` everything;
    `to_dict()` is for programs, and a notebook shows it with its parts folded."""

    def __init__(
        self,
        name: str,
        records: list[Record],
        error: BaseException | None = None,
        aside: str | None = None,
        counts: list[Record] | None = None,
        seconds: Mapping[str, float] | None = None,
        so_far: Mapping[str, int] | None = None,
        more: str = "more: .verbose() has all; .breaks, .guards, .graphs, .to_dict()",
        lost: list[str] | None = None,
        derivatives: list[Record] | None = None,
    ) -> None:
        self.name = name
        self.records = records
        self.error = error
        self.aside = aside  # why the function is not compiled at all
        self.more = more  # the summary's last line: where the rest is told
        self.counts = counts or []  # of each function's code, as _C.hints() gives them
        self.so_far = dict(so_far or {})  # stats() of the function before the call
        self.lost = list(lost or ())  # what was said of places that had been given up before it
        self.derivatives = list(derivatives or ())  # of each graph: see _told.py
        self.seconds = dict(seconds or {})  # call, and plain and compiled where they were measured

    @property
    def graphs(self) -> list[_C.Graph]:
        """The graphs, after the passes, in order."""
        return [record["graph_object"] for record in self.records if record.get("graph_object")]

    @property
    def breaks(self) -> list[Record]:
        """The graph breaks, in order: code, text, detail, hint, the innermost file and line, and
        the frames that lead there, innermost first, as text (`stack`) and as `frames`."""
        return [item for record in self.records for item in record.get("breaks") or ()]

    @property
    def guards(self) -> list[str]:
        """The guards' texts, those of every plan."""
        return [text for record in self.records for text in record.get("guards") or ()]

    @property
    def kernels(self) -> int:
        """How many kernels were made."""
        return sum(_explain_text.kernel_count(record) for record in self.records)

    @property
    def functions(self) -> list[Record]:
        """A dict for each function that was captured, the user's first."""
        return _explain_text.functions(self)

    def times(self) -> list[str]:
        """Lines about the time: what was measured, or how to measure."""
        text = _explain_text.seconds
        compiling = sum(sum((r.get("seconds") or {}).values()) for r in self.records)
        plans = sum(counted["plan_seconds"] for counted in self.counts)
        lines = []
        if "compiled" in self.seconds:
            plain, compiled = self.seconds["plain"], self.seconds["compiled"]
            ratio = f"{plain / compiled:.3g} times as fast" if compiled else "too fast to tell"
            lines.append(f"plain {text(plain)}, compiled {text(compiled)}: {ratio}")
            if compiled > plain and plans:  # else Python has run them all
                lines.append(
                    "later calls that stay slower are left to Python, except under fullgraph or "
                    "plan_always, and where compiled loops take long"
                )
        if "call" in self.seconds and compiling:
            whole = f"call {text(self.seconds['call'])}, {text(compiling)} of it compiling"
            how = "" if lines else "; explain(f, runs=5)(...) compares with plain"
            lines.append(f"{whole}, {text(plans)} in plans{how}")
        elif compiling:
            lines.append(f"{text(compiling)} compiling, {text(plans)} in plans")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain dicts, lists and strings."""
        return {
            "function": self.name,
            "graphs": len(self.graphs),
            "breaks": self.breaks,
            "kernels": self.kernels,
            "bytes_moved": _explain_text.bytes_moved(self.records),
            "seconds": self.seconds,
            "so_far": self.so_far,
            "lost": self.lost,
            "functions": self.functions,
            "derivatives": self.derivatives,
            "error": None if self.error is None else f"{type(self.error).__name__}: {self.error}",
            "records": [
                {key: value for key, value in record.items() if key != "graph_object"}
                for record in self.records
            ],
        }

    def verbose(self) -> str:
        """Everything: for each attempt its breaks, graph, guards, kernels and times."""
        return _explain_text.verbose(self)

    def __format__(self, spec: str) -> str:
        if spec == "verbose":
            return self.verbose()
        return format(str(self), spec)

    def __str__(self) -> str:
        return _explain_text.summary(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from pycompile import _html

        return _html.explanation(self)


def explain(
    function: Callable[..., Any],
    /,
    *misplaced: Any,
    backend: str | Callable[..., Any] = NATIVE,
    dynamic: bool | Mapping[str, Any] | None = None,
    fullgraph: bool = False,
    mode: str | None = None,
    numerics: str | None = None,
    options: Mapping[str, Any] | None = None,
    runs: int = 0,
) -> Callable[..., Explanation]:
    """`explain(f)(*args)` compiles `f` afresh, calls it once with the arguments and tells of it.

    Plans and counts of all functions are dropped first, as by `reset()`: the next calls of others
    compile them again, with the code that the disk cache has.  What the running program had made of
    `f` until then is told, too (`so_far`, and a line of the text).  What has varied stays a symbol.

    The call is real: what it prints and writes, it prints and writes.  An exception of the function
    is kept in the Explanation's `error`.  With `runs=n`, the function is called `n` times more plain
    and `n` times more compiled, by turns, and the shortest of each is told; 0 is for no such calls.
    These calls get the same arguments, not copies: what a function has written into them, the next
    call finds there.  Where that matters, as when it sorts in place, explain one that makes copies:
    `explain(lambda x: f(x.copy()), runs=5)(x)`.  The other keywords are those of `compile`; what they
    do not say is as with a compiled `f`, but that a graph may break and that the compiler is waited for.
    """
    _require_function(function, "explain")
    if misplaced:
        name = getattr(function, "__name__", "f")
        raise TypeError(
            "pycompile.explain takes the function alone, and what it gives takes the arguments: "
            f"pycompile.explain({name})(...)"
        )
    _require_runs(runs)
    asked = _settings(backend, dynamic, fullgraph, mode, numerics, options)
    said = {name: value for name, value in asked.items() if value != _DEFAULTS.get(name)}
    settings = {**_DEFAULTS, **_own_settings(function), **said}

    def run(*args: Any, **kwargs: Any) -> Explanation:
        compiled = _compile(function, settings)
        so_far = _so_far(function, compiled)
        before = _C.hints()
        _C.reset(True)
        name = getattr(function, "__qualname__", None) or repr(function)
        error: BaseException | None = None
        seconds: dict[str, float] = {}
        reset = _C.hints()
        _told.begin()
        earlier = _C.report_begin()  # those of `python -m pycompile explain`, around this one
        began = perf_counter()
        try:
            compiled(*args, **kwargs)
        except Exception as raised:
            error = raised
        finally:
            seconds["call"] = perf_counter() - began
            counts = _since(reset, _C.hints())  # before the codes that are told of may die
            records = _C.report_end()[earlier:]
            derived = _told.end()
        kept = compiled is function or _switched_off()
        aside = plans_forbidden(settings)
        if kept and not getattr(function, "is_derivative", False):
            aside = _why_aside(function)
        if runs > 0 and error is None:
            plain = getattr(function, "__wrapped__", function)
            try:
                for key, call in (("plain", plain), ("compiled", compiled)) * runs:
                    began = perf_counter()
                    call(*args, **kwargs)
                    seconds[key] = min(seconds.get(key, float("inf")), perf_counter() - began)
            except Exception as raised:  # say, since the calls before have emptied a list
                error = raised
        lost = _lost(before, compiled, counts)
        return Explanation(
            name, records, error, aside, counts, seconds, so_far, lost=lost, derivatives=derived
        )

    return run


def _own_settings(function: Any) -> Record:
    """Those of a compiled function, or of the one in a method or a partial."""
    while not isinstance(function, _C.CompiledFunction):
        if isinstance(function, (types.MethodType, classmethod, staticmethod)):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            return {}
    own = function._options or {}
    return {name: value for name, value in own.items() if name not in ("fullgraph", "background")}


def _so_far(function: Any, compiled: Any) -> dict[str, int]:
    """The stats of a compiled function; of a plain one where something was lost under these settings,
    since earlier calls of explain() count as well."""
    if not isinstance(compiled, _C.CompiledFunction):
        return {}
    stats = compiled.stats()
    lost = any(stats[key] for key in ("given_up", "slower", "paused"))
    return stats if lost or isinstance(function, _C.CompiledFunction) else {}


def _lost(before: list[Record], compiled: Any, counts: list[Record]) -> list[str]:
    """What was said of the places that had been given up, of the function and of those that the call
    went through."""
    code = getattr(getattr(compiled, "__wrapped__", compiled), "__code__", None)
    places = {(row["file"], row["line"]) for row in counts}
    if code is not None:
        places.add((code.co_filename, code.co_firstlineno))
    told = [text for row in before if (row["file"], row["line"]) in places for text in row["lost"]]
    return list(dict.fromkeys(told))


def _require_runs(runs: Any) -> None:
    if isinstance(runs, bool) or not isinstance(runs, int):
        raise TypeError(f"runs must be an int, not {type(runs).__name__!r}")
    if runs < 0:
        raise ValueError(f"runs must be 0 (no comparison with plain Python) or more, not {runs}")


def _since(before: list[Record], after: list[Record]) -> list[Record]:
    """What was counted between two answers of _C.hints(), a row for each function."""
    rows: dict[Any, Record] = {}
    for sign, answer in ((1, after), (-1, before)):
        for counted in answer:
            key = counted["file"], counted["function"], counted["line"]
            row = rows.setdefault(key, dict(zip(("file", "function", "line"), key)))
            for name, value in counted.items():
                if name == "deopt_why":
                    row[name] = value if sign > 0 else row.get(name)
                elif name not in ("file", "function", "line", "places", "varied", "lost"):
                    row[name] = row.get(name, 0) + sign * value
    return [
        row for row in rows.values() if row["compiles"] or row["plan_runs"] or row["recompiles"]
    ]


def plans_forbidden(settings: Mapping[str, Any]) -> str | None:
    """Which setting says that no plan is made, if one does."""
    for name, default, variable, *_ in _C.config_describe():
        if name == "recompile_limit" and settings.get(name, default) == 0:
            return f"{name if settings.get(name) == 0 else variable} is 0"
    return None


def _why_aside(function: Any) -> str:
    """Why `compile` returned the function as it is."""
    if _switched_off():
        return "PYCOMPILE_DISABLE is set"
    if isinstance(function, _C.DisabledFunction):
        return "marked with pycompile.disable"
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & _SUSPENDS:
        return "a generator or coroutine function"
    return "no Python function with bytecode to follow"
