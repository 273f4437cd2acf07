"""Times of gradients: `value_and_grad` over the plain and the compiled primal, and JAX's
`jit(value_and_grad)` where it is installed and the program has a form for it.  `make bench` ends with it.

    python -m benchmarks.derivatives [--write docs/derivatives.md] [NAME ...]

All of them take turns, each for a moment; the least of a call's times counts.  `first` is the first call,
of pycompile with an empty disk cache.  The programs are in derivative_programs.py.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import math
import os
import select
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("PYCOMPILE_WAIT", "1")  # times of plans, not of what comes before them

import pycompile  # noqa: E402
from benchmarks import loops_c  # noqa: E402
from benchmarks.derivative_programs import PROGRAMS  # noqa: E402

JAX_MOST = 60  # seconds that it may take to compile a program and run it
WARM_CALLS, WARM = (
    12,
    3.0,
)  # seconds: a gradient that is asked for again and again becomes one graph
ROUNDS, MOMENT = 6, 0.15  # seconds of each in a round
BEGIN, END = "<!-- measured -->", "<!-- end -->"

Call = Callable[[], Any]


def best(call: Call, seconds: float = MOMENT) -> float:
    least, end = math.inf, time.perf_counter() + seconds
    while least == math.inf or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


# ---- JAX, in a process of its own ----


def jax_of(f: Callable[..., Any], args: tuple[Any, ...]) -> Call:
    """The same source with JAX's array library."""
    import jax

    jax.config.update("jax_enable_x64", True)
    other = types.FunctionType(f.__code__, {**f.__globals__, "np": jax.numpy})
    static = tuple(i for i, arg in enumerate(args) if isinstance(arg, int))
    compiled = jax.jit(jax.value_and_grad(other), static_argnums=static)
    return lambda: jax.block_until_ready(compiled(*args))


def serve_jax(name: str) -> None:
    """Prints how long the first call takes, and a time whenever it is asked for one."""
    f, args = PROGRAMS[name]
    call = jax_of(f, args)
    print(best(call, 0.0), flush=True)
    for _ in range(WARM_CALLS):
        best(call, 0.0)
    for _ in sys.stdin:
        print(best(call), flush=True)


class Jax:
    """`first` is None where JAX is not installed, has no form for the source, or takes too long."""

    def __init__(self, name: str) -> None:
        words = [sys.executable, "-m", "benchmarks.derivatives", "--jax", name]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(words, text=True, stdin=pipe, stdout=pipe, stderr=nowhere)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.asked, self.told = self.process.stdin, self.process.stdout
        line = self.told.readline() if select.select([self.told], [], [], JAX_MOST)[0] else ""
        self.first = float(line) if line else None

    def time(self) -> float:
        self.asked.write("\n")
        self.asked.flush()
        return float(self.told.readline())


@contextlib.contextmanager
def jax(name: str) -> Iterator[Jax]:
    peer = Jax(name)
    try:
        yield peer
    finally:
        peer.process.kill()
        peer.process.communicate()


# ---- adjoints by hand, in C ----


def by_hand(name: str, args: tuple[Any, ...]) -> tuple[Call, Any] | None:
    """A call that gives the value, and the gradient that it writes; None: not in derivatives.c."""
    function = getattr(c_library(), name, None)
    if function is None:
        return None
    function.restype = ctypes.c_double
    gradient, work = np.empty_like(args[0]), np.empty(100_000)
    given = [part for arg in args for part in loops_c.prepared(arg)]
    given += [ctypes.c_void_p(each.ctypes.data) for each in (gradient, work)]
    return lambda *_, keep=(args, work): function(*given), gradient


@functools.cache
def c_library() -> ctypes.CDLL:
    return loops_c.compiled(Path(__file__).with_suffix(".c"))


# ---- rows ----


class Row(NamedTuple):
    name: str
    plain: float
    compiled: float
    gradient: float
    first: float
    jax: float | None
    jax_first: float | None
    c: float | None

    def cells(self) -> list[str]:
        ours, peer = self.gradient, self.jax
        times = [milliseconds(x) for x in (self.plain, self.compiled, ours, peer)]
        ratios = [f"{ours / self.plain:.2f}", f"{ours / self.compiled:.2f}"]
        over = "-" if peer is None else f"{ours / peer:.2f}"
        over_c = "-" if self.c is None else f"{ours / self.c:.2f}"
        firsts = ["-" if x is None else f"{x:.2f}" for x in (self.first, self.jax_first)]
        return [self.name, *times, *ratios, over, over_c, *firsts]


HEAD = ["program", "plain", "compiled", "gradient", "JAX", "/plain", "/compiled", "/JAX"]
HEAD += ["/C", "first", "JAX's"]


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f}"


def measure(name: str) -> Row:
    f, args = PROGRAMS[name]
    fast, gradient = pycompile.compile(f, mode="wait"), pycompile.value_and_grad(f)
    first = best(lambda: gradient(*args), 0.0)
    calls: list[Call] = [lambda: f(*args), lambda: fast(*args), lambda: gradient(*args)]
    for _ in range(WARM_CALLS):
        fast(*args)
    best(calls[-1], min(max(WARM, 5 * first), 4 * WARM))
    hand = by_hand(name, args)
    if hand is not None:
        value, found = gradient(*args)
        assert np.isclose(hand[0](), value) and np.allclose(hand[1], found)
        calls.append(hand[0])
    least = [math.inf] * len(calls)
    peer_least = math.inf
    with jax(name) as peer:
        for _ in range(ROUNDS):
            least = [min(was, best(call)) for was, call in zip(least, calls, strict=True)]
            if peer.first is not None:
                peer_least = min(peer_least, peer.time())
    c = least.pop() if hand is not None else None
    return Row(name, *least, first, None if peer.first is None else peer_least, peer.first, c)


def said(rows: list[Row]) -> str:
    """What the rows come to."""
    over_plain = statistics.geometric_mean(row.gradient / row.plain for row in rows)
    text = f"{len(rows)} programs: {over_plain:.2f} of the plain primal in the geometric mean"
    peers = [row for row in rows if row.jax is not None]
    if peers:
        over = [row.gradient / row.jax for row in peers if row.jax is not None]
        slower = [row.name for row, ratio in zip(peers, over, strict=True) if ratio > 1]
        text += f"; of JAX's time {statistics.geometric_mean(over):.2f} in {len(peers)} that it has"
        text += f", more than 1 in {', '.join(slower) or 'none'}"
    by_c = [f"{row.name} {row.gradient / row.c:.2f}" for row in rows if row.c is not None]
    if by_c:
        text += f"; of value and adjoint by hand in C (/C): {', '.join(by_c)}"
    return text


def markdown(rows: list[Row]) -> str:
    lines = [" | ".join(HEAD), " | ".join(["---", *["--:"] * (len(HEAD) - 1)])]
    lines += [" | ".join(row.cells()) for row in rows]
    table = "\n".join(f"| {line} |" for line in lines)
    load = f"{os.getloadavg()[0]:.0f} on {os.cpu_count()}"
    which = f"NumPy {np.__version__}, {len(os.sched_getaffinity(0))} CPU, a load of {load}"
    text = textwrap.fill(f"{said(rows).replace('_', ' ')} ({which}).", 108)
    return f"{table}\n\n{text}\n"


def write(file: Path, rows: list[Row]) -> None:
    before, rest = file.read_text().split(BEGIN)
    file.write_text(f"{before}{BEGIN}\n\n{markdown(rows)}\n{END}{rest.split(END, 1)[1]}")


def line(cells: list[str]) -> str:
    return f"{cells[0]:18}" + "".join(f"{cell:>10}" for cell in cells[1:])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.derivatives", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", metavar="FILE", type=Path, help="a page that has the table")
    parser.add_argument("--jax", metavar="NAME", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.jax:
        serve_jax(chosen.jax)
        return
    rows = []
    print(line(HEAD))
    for name in chosen.names or PROGRAMS:
        rows.append(measure(name))
        print(line(rows[-1].cells()), flush=True)
    print(said(rows))
    if chosen.write:
        write(chosen.write, rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pycompile-bench-") as folder:
        if "--jax" not in sys.argv:
            os.environ["PYCOMPILE_CACHE_DIR"] = folder
        main()
