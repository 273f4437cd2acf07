"""Programs of the fuzzers of arrays and loops, differentiated, for derivatives/test_fuzz.py: the value has
plain's bits, and the gradient is right wherever the function is smooth enough around its arguments for
differences to tell.  In float32 it is that of the same program in float64.  One graph gives the bits that a
tape gives.  What is refused with a DerivativeError is no fault."""

from __future__ import annotations

import copy
import random
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import array_programs
import nest_programs
import numpy as np
import repeat_programs
import turn_programs
from differences import copied, inner, laid_like, same, scalar, weights_of
from differential import memory

import pycompile
from pycompile.derivatives import _repeated, _trees

LAYOUTS = ("C", "F", "strided", "reversed", "reversed rows")


def drawn(seed: int) -> Callable[[Any], Any]:
    """What array_programs.py draws by, without hypothesis."""
    rng = random.Random(seed)

    def draw(strategy: Any) -> Any:
        bounds = [int(number) for number in re.findall(r"-?\d+", repr(strategy))]
        return rng.randint(*bounds) if bounds else rng.random() < 0.5

    return draw


def array_program(number: int) -> tuple[str, list[Any]]:
    """Some statements over two to four arrays, most of them of doubles of tame values."""
    program = array_programs.Program(drawn(number))
    for i, (shape, dtype, seed, how) in enumerate(array_programs.small_inputs(program)):
        dtype = {"f4": "f8", "f2": "f8"}.get(dtype, dtype)
        how = how if how in LAYOUTS else "C"
        program.inputs.append((shape, "f8" if i == 0 else dtype, 4 * seed + 1, how))
        program.arrays.append(f"x{i}")
    given = list(array_programs.arguments(program.inputs))
    program.scope |= zip(program.arrays, copy.deepcopy(given))
    for _ in range(program.draw(array_programs.st.integers(4, 14))):
        program.statement()
    body = "\n    ".join(["pass", *program.lines])
    body = re.sub("'f[24]'", "'f8'", body)  # which differences of small steps do not see
    params = ", ".join(f"x{i}" for i in range(len(given)))
    results = ", ".join([*program.arrays, *program.scalars])
    return f"def f({params}):\n    {body}\n    return {results}\n", given


def loop_program(number: int) -> tuple[str, list[Any]]:
    """Nests over elements, loops over arrays, turns of whole statements; their planes are of floats."""
    module = (nest_programs, repeat_programs, turn_programs)[number % 3]
    given = [
        arg.astype("f8") if isinstance(arg, np.ndarray) and arg.ndim == 2 else arg
        for arg in module.arguments(number)
    ]
    return module.program(number), given


def program(number: int) -> tuple[str, list[Any]]:
    return (array_program if number % 2 else loop_program)(number // 2)


def is_active(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128)


def actives(args: Sequence[Any]) -> list[int]:
    return [i for i, value in enumerate(args) if is_active(value) and value.size]


# Results of these (np.arctan of uint8) do not show small steps; narrow_differ compares them, too.
ROUNDED = np.dtype("f2").char + np.dtype("f4").char + np.dtype("c8").char


class Differences:
    """The derivative along a line, and whether differences tell it."""

    def __init__(self, f: Callable[[float], float]) -> None:
        self.f = f
        self.value = f(0.0)

    def slopes(self, h: float) -> tuple[float, float]:
        up, down = self.f(h), self.f(-h)
        return (up - self.value) / h, (self.value - down) / h

    def derivative(self) -> tuple[float, float] | None:
        """It and its error; None near a jump or a kink, or where the numbers are too large."""
        found = []
        for h in (1e-4, 1e-5, 1e-6):
            right, left = self.slopes(h)
            noise = 1e-15 * abs(self.value) / h
            size = max(1.0, abs(right), abs(left))
            if (
                not np.isfinite([right, left]).all()
                or abs(right - left) > 1e3 * h * size + 4 * noise
            ):
                return None
            found.append((0.5 * (right + left), size))
        (a, size), (b, _), (c, _) = found
        error = 4 * max(abs(a - b), abs(b - c)) + 1e-7 * size + 1e-9 * abs(self.value)
        return (b, error) if error < 1e-3 * size else None


def along(f: Any, args: Sequence[Any], active: Sequence[int], directions: Sequence[Any]) -> Any:
    def at(t: float) -> float:
        moved = copied(list(args))
        for number, d in zip(active, directions, strict=True):
            moved[number] = laid_like(args[number] + t * d, args[number])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return float(scalar(f(*moved), ROUNDED))

    return at


def in_part(f: Any, args: Sequence[Any], active: Sequence[int]) -> Any:
    """f of some of its arguments, at these others."""

    def part(*values: Any) -> Any:
        rest = copied(list(args))
        for number, value in zip(active, values, strict=True):
            rest[number] = value
        return f(*rest)

    return part


def differ(f: Any, args: Sequence[Any], seed: int) -> str:
    """What is wrong; "" where nothing is, "refused", "unknown" where there is nothing to compare."""
    active = actives(args)
    if not active:
        return "unknown"

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = f(*copied(list(args)))
        except Exception:
            return "unknown"
        try:
            out, pullback = pycompile.vjp(
                in_part(f, args, active), *copied([args[i] for i in active])
            )
            weights = weights_of(out, ROUNDED)
            gradient = pullback(weights) if expected is not None else None
        except pycompile.DerivativeError:
            return "refused"
    if not same(out, expected):
        return f"the result is {out}, and plain's {expected}"
    rng = np.random.default_rng(seed)
    told = "unknown"
    for _ in range(2):
        directions = [rng.standard_normal(args[i].shape) for i in active]
        wanted = Differences(along(f, args, active, directions)).derivative()
        found = inner(gradient, directions) if gradient is not None else 0.0
        if wanted is None or not np.isfinite(found):
            continue
        told = ""
        if abs(found - wanted[0]) > wanted[1] + 1e-5 * max(1.0, abs(wanted[0])):
            return f"the derivative is {found}, and by differences {wanted[0]} +- {wanted[1]}"
    return told


NARROW = {"f8": "f4", "c16": "c8"}


def rounded(args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The arguments in single precision, and the same numbers in double."""
    small = [
        value.astype(NARROW[value.dtype.str[1:]], order="K") if is_active(value) else value
        for value in copied(list(args))
    ]
    pairs = zip(small, args, strict=True)
    return small, [one.astype(was.dtype) if is_active(was) else one for one, was in pairs]


def nearby(args: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """Arguments a few units in the last place of a float32 away."""
    out = copied(list(args))
    for value in out:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            value *= 1 + 3e-7 * rng.choice((-1.0, 1.0), value.shape)
    return out


def gradient_of(f: Any, args: Sequence[Any], active: Sequence[int]) -> tuple[Any, list[Any]]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        out, pullback = pycompile.vjp(in_part(f, args, active), *copied([args[i] for i in active]))
        return out, list(pullback(weights_of(out)))


def size_of(*values: Any) -> float:
    """The largest number in arrays, NaN where one is none."""
    return float(np.max([np.max(np.abs(value), initial=1e-30) for value in values]))


def apart(one: Any, other: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return size_of(np.asarray(one, np.result_type(other)) - other)


def agree(one: Any, other: Any) -> bool:
    """Did both precisions go the same way?"""
    for (_, a), (_, b) in zip(_trees.leaves(one), _trees.leaves(other), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:  # they have other numbers in common
            return False
        if b.dtype.kind in "fc" and not apart(a, b) < 1e-5 * size_of(b):
            return False
        if b.dtype.kind not in "fc" and not np.array_equal(a, b):
            return False
    return True


def narrow(text: str) -> str:
    return re.sub("'(f8|c16)'", lambda found: f"'{NARROW[found[1]]}'", text)


def narrow_differ(in_single: Any, in_double: Any, args: Sequence[Any], seed: int) -> str:
    """Of a program's two precisions; what is wrong, as `differ` tells it."""
    active = actives(args)
    if not active:
        return "unknown"
    small, large = rounded(args)
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            plain = in_single(*copied(small))
        except Exception:
            return "unknown"
    try:
        out, found = gradient_of(in_single, small, active)
        expected, wanted = gradient_of(in_double, large, active)
        again = [gradient_of(in_single, nearby(small, rng), active)[1] for _ in range(2)]
        again += [gradient_of(in_double, nearby(large, rng), active)[1]]
    except pycompile.DerivativeError:
        return "refused"
    if not same(out, plain):
        return f"the result is {out}, and plain's {plain}"
    if not agree(out, expected):
        return "unknown"
    size = size_of(1.0, *wanted)  # 1: of the cotangents, whose sums may cancel
    for i, got, right, one, other, third in zip(active, found, wanted, *again, strict=True):
        if got.dtype != small[i].dtype:
            return f"the gradient of float32 is {got.dtype}"
        # How far single precision lets the gradient of these numbers move.
        spread = max(apart(one, got), apart(other, got)) + apart(third, right)
        if apart(got, right) > 1e-4 * size + 4 * spread:
            return f"the gradient is {got}, and in double precision {right}"
    return ""


def total_of(f: Any) -> Any:
    """f, of one real number: the sum of what it gives."""

    def total(*args: Any) -> Any:
        out = f(*args)
        value = 0.0
        for each in out if isinstance(out, (tuple, list)) else (out,):
            value = value + np.sum(np.real(each)) * 1.0
        return value

    return total


def repeated_differ(f: Any, args: Sequence[Any]) -> str:
    """Of a gradient by a tape, and as one graph; what is wrong, as `differ` tells it."""
    active = actives(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            by_tape = pycompile.value_and_grad(total_of(f), active)
            expected = by_tape(*copied(list(args)))
        except Exception:
            return "unknown"
        kind, function, rest = by_tape.derivative_of
        found = _repeated.Repeated(kind, function, rest).call(copied(list(args)), {})
    pairs = zip(_trees.leaves(found), _trees.leaves(expected), strict=True)
    for (place, one), (_, other) in pairs:
        bits = [memory(np.asarray(each), one_nan=True).tobytes() for each in (one, other)]
        if not same(one, other) and (type(one) is not type(other) or bits[0] != bits[1]):
            return f"in one graph{place} is {one}, and by the tape {other}"
    return ""
