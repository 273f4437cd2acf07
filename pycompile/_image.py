"""pycompile.Image: compiled code on its way to other processes.

An image has calls, as `f.precompile` takes them, and the code that this process has loaded when the
image is pickled.  In a worker it is called: it puts the code into the cache there, and makes the
plans of the calls, so that the first of them is as any other.

It also compares what the worker makes of the calls with what was made here.  That is said of plans
of a function that has no past (a twin with a code object of its own), since what a function was
called with decides about its next plans.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import pickle
import platform
import re
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pycompile import _C, __version__, _cache
from pycompile._errors import JobError

_log = logging.getLogger("pycompile.cache")
_SECTIONS = ("graph", "schedule")  # what is computed, and how
_OF_A_CPU = "schedule"
_SHARED = 50_000  # ns of work for which threads are started, and timed once in a process
# What is not compared: places in files, and the parts that threads take.
_ELSEWHERE = re.compile(r"  # (?:(?!  # ).)*\d$|, grain \d+", re.MULTILINE)


class _Call(NamedTuple):
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: dict[str, str]  # by section; empty: there is no plan


class Image:
    """Compiled code for other processes: workers that have it compile nothing at their first call.

    `image.precompile(f, *args, **kwargs)` adds a call.  Pickled, the image takes along all compiled
    code that this process has loaded.  Called in a worker, it makes the calls' plans there with that
    code; a worker of another kind of machine compiles for itself.  An image is an `initializer` of
    executors and pools, Ray's `worker_process_setup_hook`, and what `pycompile.dask.PycompilePlugin`
    takes.
    """

    __name__ = "pycompile.Image"  # Ray asks for it

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._place = f"process {os.getpid()} of {platform.node()}"
        self._versions = _versions()
        self._cpu: str = _C.cache_kind()["cpu"]
        self._code = b""
        self._folders: dict[str, None] = {}  # those that the cache had when code was made

    def precompile(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """As `function.precompile(*args, **kwargs)`, here and in each worker."""
        if not isinstance(function, _C.CompiledFunction):
            raise TypeError(f"an image takes what pycompile.compile gives, not {function!r}")
        made = _make_apart(function, args, kwargs)
        self._calls.append(_Call(function, args, kwargs, made))
        if folder := _C.cache_folder():
            self._folders[folder] = None
        return function.precompile(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        code, loaded = io.BytesIO(), _C.code_info()["entries"]
        try:
            taken = _cache.export_of(loaded, code, self._folders)
        except _cache.Refused:
            taken = 0
        if taken < len(loaded):
            _log.info("an image has %d of %d kernels: the cache lacks others", taken, len(loaded))
        said = {**vars(self), "_code": code.getvalue() or self._code, "_folders": {}}
        calls = said.pop("_calls")
        made = pickle.dumps({**said, "made": [call.made for call in calls]})
        return {"calls": [tuple(call[:3]) for call in calls], "sealed": _digest(made) + made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sealed: bytes = state["sealed"]
        if _digest(sealed[32:]) != sealed[:32]:
            raise pickle.UnpicklingError("the image is damaged")
        vars(self).update(pickle.loads(sealed[32:]))
        made = vars(self).pop("made")
        calls = zip(state["calls"], made)
        self._calls = [_Call(function, args, kwargs, of) for (function, args, kwargs), of in calls]

    def __call__(self, worker: str | None = None) -> None:
        """Puts the code into the cache and makes the calls' plans.

        Raises JobError where what this process makes of a call differs from what the image's has;
        `worker` names the process in its text.
        """
        if self._code:
            try:
                _cache.import_of(io.BytesIO(self._code), "the image")
            except (OSError, _cache.Refused) as reason:
                _log.info("an image is not taken: %s", reason)
        worker = worker or f"process {os.getpid()} of {platform.node()}"
        for call in self._calls:
            difference = self._difference(call)
            if difference:
                name = _name_of(call.function)
                versions = _other_versions(self._versions, _versions())
                raise JobError(worker, name, self._place, difference + versions)
            call.function.precompile(*call.args, **call.kwargs)
        _C.threads_helpers(_SHARED)

    def agree(self, communicator: Any) -> None:
        """Compares what the ranks of a communicator have made of their images' calls.

        Each rank calls it.  Where ranks differ, each raises JobError, which names the first rank that
        differs from rank 0: none of them begins a collective for which another does not come.
        """
        texts = _of_all_ranks(communicator, json.dumps(self._told()).encode())
        ranks = [json.loads(text) for text in texts]
        there, cpu, versions, names, made = ranks[0]
        for rank, (here, other_cpu, other_versions, others, other_made) in enumerate(ranks):
            found = [("its calls", _difference_of("names", "\n".join(names), "\n".join(others)))]
            calls = zip(names, made, other_made)
            found += [(name, _difference(a, b, cpu != other_cpu)) for name, a, b in calls]
            for name, difference in found:
                if difference:
                    difference += _other_versions(versions, other_versions)
                    raise JobError(f"rank {rank}, {here},", name, f"rank 0, {there}", difference)

    def _told(self) -> tuple[Any, ...]:
        """What is compared."""
        names = [_name_of(call.function) for call in self._calls]
        return self._place, self._cpu, self._versions, names, [call.made for call in self._calls]

    def _difference(self, call: _Call) -> str:
        """The first one between what is made of the call here and what was made there; or nothing."""
        if not isinstance(call.function, _C.CompiledFunction):
            return f"here it is {type(call.function).__name__!r}, which is not compiled"
        here = _make_apart(call.function, call.args, call.kwargs)
        return _difference(call.made, here, _C.cache_kind()["cpu"] != self._cpu)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2s(data).digest()


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


def _other_versions(there: dict[str, str], here: dict[str, str]) -> str:
    pairs = zip(there.items(), here.values())
    other = [f"{name} {then} there, {now} here" for (name, then), now in pairs if then != now]
    return f" ({'; '.join(other)})" if other else ""


def _versions() -> dict[str, str]:
    return {
        "pycompile": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }


def _make_apart(
    function: _C.CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, str]:
    """What a process makes of the call that has not seen the function before."""
    plain: Any = function.__wrapped__
    twin = types.FunctionType(
        plain.__code__.replace(),
        plain.__globals__,
        plain.__name__,
        plain.__defaults__,
        plain.__closure__,
    )
    twin.__kwdefaults__, twin.__qualname__ = plain.__kwdefaults__, plain.__qualname__
    earlier = _C.report_begin()
    try:
        function._compile(twin).precompile(*args, **kwargs)
    finally:
        records = _C.report_end()[earlier:]
    plans = [record for record in records if record["kind"] == "plan"]
    return {
        section: "\n".join(_ELSEWHERE.sub("", plan.get(section, "")) for plan in plans)
        for section in _SECTIONS
        if plans
    }


def _difference(there: dict[str, str], here: dict[str, str], another_cpu: bool) -> str:
    if not (there and here):  # one of them has no compiler
        return ""
    sections = [s for s in _SECTIONS if not (another_cpu and s == _OF_A_CPU)]
    return next(filter(None, (_difference_of(s, there[s], here[s]) for s in sections)), "")


def _difference_of(section: str, there: str, here: str) -> str:
    return f"{section}, {_first_difference(there, here)}" if there != here else ""


def _of_all_ranks(communicator: Any, text: bytes) -> list[bytes]:
    """The texts that the ranks have called this with, by rank."""
    import cupy

    def gathered(mine: Any) -> Any:
        every = cupy.empty(communicator._n_devices * mine.size, mine.dtype)
        communicator.all_gather(mine, every, mine.size)
        return every.get().reshape(-1, mine.size)

    lengths = gathered(cupy.asarray([len(text)])).ravel()
    padded = np.zeros(lengths.max(), "u1")
    padded[: len(text)] = np.frombuffer(text, "u1")
    every = gathered(cupy.asarray(padded))
    return [row[:length].tobytes() for row, length in zip(every, lengths)]


def _first_difference(there: str, here: str) -> str:
    lines = there.split("\n"), here.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(*lines)) if a != b), min(map(len, lines)))
    then, now = (side[at].strip() if at < len(side) else "nothing" for side in lines)
    return f"line {at + 1}: there `{then}`, here `{now}`"
