"""Random whole array programs for test_array_fuzz.py: 20 to 60 statements over arrays and scalars, and
in one of four some of chained operators over arrays of about 256 KiB, where NumPy begins to write
into temporaries.

A program is written while it runs plain: each statement is drawn from what the shapes and dtypes at
hand allow, tried, and kept when NumPy does it without an error.  So programs run to their end, and
what is compared is values: bits, layout, sharing, writes through views.
"""

from __future__ import annotations

import contextlib
import random
import resource
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

DTYPES = ("f8", "f8", "f8", "f4", "i8", "i4", "u1", "?", "c16", "f2")
SHAPES: tuple[tuple[int, ...], ...] = (
    (4,),
    (3, 4),
    (3, 1),
    (1, 4),
    (2, 3, 4),
    (5,),
    (4, 4),
    (0,),
    (),
)
LIMIT = 400  # elements of one array

# Arrays around the 256 KiB from which NumPy's operators write into temporaries: shapes of f8, which
# other dtypes have with more or fewer rows.
LARGE_DTYPES = ("f8", "f8", "f8", "f8", "c16", "c16", "f4", "i8", "?", "f2")
LARGE_SHAPES: tuple[tuple[int, ...], ...] = (
    (181, 181),
    (182, 182),
    (182, 182),
    (256, 256),
    (32, 32, 32),
    (128, 256),
    (32768,),
    (150, 3, 80),
)
LARGE_LAYOUTS = ("C", "C", "F", "F", "strided", "beside the former", "reversed", "axes")
LARGE_LIMIT = 1 << 18

UNARY = ("negative", "abs", "sign", "square", "rint", "floor", "ceil", "sin", "cos", "tanh", "exp2")
UNARY += ("isnan", "isfinite", "logical_not", "arctan", "sqrt", "conj", "positive", "expm1", "cbrt")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "fmax", "hypot", "arctan2", "divide")
BINARY += ("less", "greater_equal", "equal", "not_equal", "logical_and", "logical_xor")
BINARY += ("floor_divide", "remainder", "bitwise_and", "bitwise_or", "left_shift", "power", "fmod")
REDUCE = (
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "any",
    "all",
    "argmax",
    "argmin",
    "std",
    "ptp",
    "var",
)
SCAN = ("cumsum", "cumprod")
AUGMENTED = ("+=", "-=", "*=", "=", "=")


SPECIAL = (np.nan, np.inf, -np.inf, -0.0, -np.nan, 0.0)
LAYOUTS = ("C", "C", "C", "F", "strided", "reversed", "reversed rows", "unaligned", "read-only")
LAYOUTS += ("repeated", "mirror of the former", "part of the former", "the former")
LAYOUTS += ("strided", "beside the former", "beside the former")


def source(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Input data: tame, and in one of four a few special values."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "iu":
        array = np.asarray(rng.integers(0, 6, shape)).astype(dtype)
        extremes: tuple[Any, ...] = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    else:
        values = rng.normal(size=shape)
        if kind == "c":
            values = values + 1j * rng.normal(size=shape)
        array = np.asarray(values).astype(dtype)
        limits = np.finfo(dtype)
        extremes = (*SPECIAL, limits.smallest_subnormal, -limits.tiny / 2, limits.max)
        if kind == "c":
            extremes += (complex(-0.0, -0.0), complex(np.inf, np.nan), complex(0.0, -np.inf))
    if array.size and seed % 4 == 0:
        for _ in range(1 + seed // 4 % 3):
            array.flat[rng.integers(array.size)] = extremes[rng.integers(len(extremes))]
    return array


def laid_out(array: np.ndarray, how: str, former: np.ndarray | None) -> np.ndarray:
    """The same values in another layout, or else memory of the argument before."""
    if how == "F" and array.ndim > 1:
        return np.asfortranarray(array)
    if how == "axes" and array.ndim:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)
    if how == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if how == "reversed" and array.ndim:
        return array[::-1].copy()[::-1]
    if how == "reversed rows" and array.ndim:
        return array[..., ::-1].copy()[..., ::-1]
    if how == "unaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)
        moved = np.ndarray(array.shape, array.dtype, raw, 1 if array.size else 0)
        moved[...] = array
        return moved
    if how == "read-only":
        array.flags.writeable = False
    if how == "repeated" and array.ndim and array.size:
        return np.broadcast_to(array[:1], array.shape)
    if former is not None and former.ndim:
        whole = former.base
        if how == "beside the former" and isinstance(whole, np.ndarray) and whole.size:
            if former.strides[-1] == 2 * whole.strides[-1]:  # a strided one: it takes every other
                return whole[..., 1::2]
        if how == "mirror of the former":
            return former[::-1]
        if how == "part of the former":
            return former[..., 1:]
    return former if how == "the former" and former is not None else array


class Program:
    """Statements, and the names they bound with the values they have in a plain run."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.scope: dict[str, Any] = {"np": np}
        self.lines: list[str] = []
        self.arrays: list[str] = []
        self.scalars: list[str] = []
        self.inputs: list[tuple[tuple[int, ...], str, int, str]] = []
        self.count = 0
        self.limit = LIMIT

    # ---- draws ----

    def pick(self, choices: Any) -> Any:
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def array(self) -> str:
        return str(self.pick(self.arrays))

    def like(self, name: str) -> str:
        """An array that broadcasts with it."""
        shape = np.shape(self.scope[name])
        fit = [other for other in self.arrays if _broadcasts(shape, np.shape(self.scope[other]))]
        return str(self.pick(fit))

    def operand(self, name: str) -> str:
        if self.draw(st.integers(0, 3)):
            return self.like(name)
        return str(self.pick(["2", "0.5", "-1", "3", "True", *self.scalars]))

    def index(self, name: str) -> str:
        """A subscript that is basic, an array of integers, or a mask."""
        value = self.scope[name]
        if value.ndim == 0:
            return str(self.pick(("...", "()", "None")))
        n = value.shape[0]
        basic = ["1:", ":-1", "::2", "::-1", "...", "None", "...,None", "-2:", "1:1", ":2"]
        if n:
            basic += ["0", "-1", "[0, -1]", "np.array([0, 0, -1])"]
        if value.ndim > 1:
            basic += [":, 1:", ":, ::-1", "..., None, :", ":, None", "..., :1"]
            if n and value.shape[1]:
                basic += [":, 0", "0, -1", "..., -1", "[0, -1], 0", ":, [0, -1]"]
        masks = [f"{name} > 0", f"{name} != {name}"]
        if value.dtype.kind == "c":
            masks = [f"{name} == {name}"]
        return str(self.pick(basic + masks))

    # ---- one statement ----

    def try_(self, text: str, kind: str = "") -> bool:
        """Runs it and keeps it when NumPy does."""
        scope = dict(self.scope)
        with warnings.catch_warnings(), np.errstate(all="ignore"), _little_memory():
            warnings.simplefilter("ignore")
            try:
                exec(text, scope)
            except Exception:
                return False
        if kind:
            name = text.partition(" = ")[0]
            value = scope[name]
            if kind == "array" and (type(value) is not np.ndarray or value.size > self.limit):
                return False
        self.scope = scope
        self.lines.append(text)
        if kind == "array":
            self.arrays.append(name)
        elif kind == "scalar":
            self.scalars.append(name)
        return True

    def bind(self, expression: str) -> None:
        self.count += 1
        self.try_(f"a{self.count} = {expression}", "array")

    def statement(self) -> None:
        kinds = (
            self.unary,
            self.binary,
            self.binary,
            self.operator,
            self.view,
            self.view,
            self.write,
            self.write,
            self.masked,
            self.masked,
            self.inplace,
            self.inplace,
            self.branch,
            self.branch,
            self.reduce,
            self.scan,
            self.number,
            self.join,
            self.layout,
            self.select,
            self.cast,
            self.product,
            self.order,
        )
        self.pick(kinds)()

    def unary(self) -> None:
        self.bind(f"np.{self.pick(UNARY)}({self.array()})")

    def binary(self) -> None:
        name = self.array()
        if not self.draw(st.integers(0, 20)):  # not a NaN's sign, see Comparison
            self.bind(f"np.copysign({name}, np.nan_to_num({self.like(name)}))")
            return
        self.bind(f"np.{self.pick(BINARY)}({name}, {self.operand(name)})")

    def operator(self) -> None:
        name = self.array()
        other = self.operand(name)
        text = f"{name} {self.pick(('+', '-', '*', '/', '**', '//', '%', '<', '&'))} {other}"
        self.bind(text if self.draw(st.booleans()) else f"({text}) * {self.operand(name)}")

    def term(self, rng: random.Random, depth: int) -> str:
        """An expression of arrays and of temporaries that operators may write into."""
        if depth == 0:
            forms = ("{0}", "{0}", "{0}", "{0}.T", "{0}.T", "{0}.T", "{0}[...]", "{0}.conj()", "2")
            whole = [name for name in self.arrays if self.scope[name].size > 1 << 14]
            return rng.choice(forms).format(rng.choice(whole))
        if rng.random() < 0.15:
            form = rng.choice(("(-{0})", "({0} ** 2)", "np.cos({0})", "{0}.copy()", "{0}.T"))
            return form.format(self.term(rng, depth - 1))
        signs = ("+", "+", "+", "-", "-", "*", "*", "*", "*", "/", "//", "&", "<<", "<")
        left, right = self.term(rng, rng.randrange(depth)), self.term(rng, depth - 1)
        if rng.random() < 0.5:
            left, right = right, left
        return f"({left} {rng.choice(signs)} {right})"

    def chain(self) -> None:
        """Drawn by one number: chains of draws are alike in most examples."""
        rng = random.Random(self.draw(st.integers(0, 1 << 40)))
        for _ in range(10):
            before = self.count
            self.bind(self.term(rng, rng.randint(1, 4)))
            if f"a{before + 1}" in self.arrays:
                return

    def large_statement(self) -> None:
        if self.draw(st.integers(0, 5)):
            return self.chain()
        if self.draw(st.booleans()):
            return self.view()
        return self.bind(f"{self.array()}.{self.pick(('sum', 'mean', 'max'))}(axis=0)")

    def view(self) -> None:
        name = self.array()
        if self.scope[name].dtype.kind == "c" and self.draw(st.booleans()):
            self.bind(f"{name}.{self.pick(('real', 'imag'))}")
            return
        self.bind(f"{name}[{self.index(name)}]")

    def write(self) -> None:
        name = self.array()
        value = self.operand(name)
        self.try_(f"{name}[{self.index(name)}] {self.pick(AUGMENTED)} {value}")

    def masked(self) -> None:
        """A store by a mask, mostly of what the same mask selects."""
        name = self.array()
        mask = f"{self.array()} {self.pick(('>', '<=', '!='))} {self.pick(('0', '1', '3'))}"
        if self.draw(st.integers(0, 3)):
            self.count += 1
            self.try_(f"m{self.count} = {mask}", "mask")
            mask = f"m{self.count}"
        if self.draw(st.integers(0, 3)) == 0:
            self.try_(f"{name}[{mask}] {self.pick(AUGMENTED)} {self.operand(name)}")
            return
        terms = [
            f"{name}[{mask}]",
            f"{self.like(name)}[{mask}]",
            "2",
            "0.5",
            f"{name}[{mask}] ** 2",
        ]
        sign = self.pick(("+", "-", "*", "/", "//", "&"))
        value = f"{self.pick(terms[:2])} {sign} {self.pick(terms)}"
        form = self.pick(
            (
                "{0}[{1}] = {2}",
                "{0}[{1}] += {2}",
                "{0}[{1}] *= {2}",
                "t = {2}; t += 1; {0}[{1}] = t",
            )
        )
        self.try_(form.format(name, mask, value))

    def inplace(self) -> None:
        name = self.array()
        if self.draw(st.booleans()):
            self.try_(f"{name} {self.pick(('+=', '-=', '*='))} {self.operand(name)}")
        else:
            self.try_(
                f"np.{self.pick(BINARY)}({name}, {self.operand(name)}, out={self.like(name)})"
            )

    def stored(self) -> str:
        """A write, perhaps at a place that only the run tells."""
        name = self.array()
        place, number = f"{self.array()}.argmax() % len({name})", f"{name}[0]"
        forms = (
            f"{name}[{self.index(name)}] {self.pick(AUGMENTED)} {self.operand(name)}",
            f"{name} {self.pick(('+=', '-=', '*='))} {self.operand(name)}",
            f"np.{self.pick(BINARY)}({name}, {self.operand(name)}, out={self.like(name)})",
            f"p = {place}; {name}[[0, p]] = {name}[[p, 0]]",
            f"p = {place}; {name}[p] = {self.pick((number, '2', f'{name}[-1]'))}",
            f"p = {place}; {name}[0], {name}[p] = {name}[p].copy(), {name}[0].copy()",
        )
        return str(self.pick(forms))

    def branch(self) -> None:
        """Writes on one side of a branch on an array's value, or on both."""
        self.count += 1
        name, test = self.array(), f"c{self.count}"
        forms = ("{0}.sum() > 2", "{0}.max() <= 1", "({0} > 0).any()", "{0}.ravel()[0] != 1")
        if not self.try_(f"{test} = {self.pick(forms).format(name)}", "test"):
            return
        for side in self.pick((("", "not "), ("",), ("not ",))):
            self.try_(
                f"if {side}{test}: {'; '.join(self.stored() for _ in range(self.pick((1, 1, 2))))}"
            )

    def reduce(self) -> None:
        axis = self.pick(
            ("", "axis=0", "axis=-1", "axis=-1, keepdims=True", "axis=0, keepdims=True")
        )
        text = f"{self.array()}.{self.pick(REDUCE)}({axis})"
        if text.startswith("ptp") or ".ptp(" in text:
            text = f"np.ptp({text.partition('.')[0]}{', ' + axis if axis else ''})"
        self.bind(text if axis else f"np.asarray({text})")

    def scan(self) -> None:
        self.bind(f"{self.array()}.{self.pick(SCAN)}({self.pick(('', 'axis=0', 'axis=-1'))})")

    def number(self) -> None:
        name = self.array()
        self.count += 1
        forms = (f"float({name}.sum())", f"{name}.max()", f"{name}.shape[0]", f"{name}.ravel()[0]")
        forms += (
            f"len({name})",
            f"{name}.mean()",
            f"int({name}.size)",
            f"{name}.ravel()[-1].item()",
        )
        self.try_(f"s{self.count} = {self.pick(forms)}", "scalar")

    def join(self) -> None:
        name = self.array()
        how = self.pick(("concatenate", "stack", "vstack", "hstack"))
        self.bind(f"np.{how}([{name}, {self.like(name)}])")

    def layout(self) -> None:
        name = self.array()
        forms = (
            "T",
            "reshape(-1)",
            "ravel()",
            "copy()",
            "reshape(-1, 1)",
            "squeeze()",
            "flatten()",
        )
        forms += (
            "swapaxes(0, -1)",
            "reshape(2, -1)",
            "repeat(2)",
            "transpose()",
            "copy(order='F')",
        )
        calls = ("np.flip({0})", "np.roll({0}, 1)", "np.expand_dims({0}, 0)", "np.tile({0}, 2)")
        calls += ("np.broadcast_to({0}, (2,) + {0}.shape)", "np.atleast_2d({0})", "np.rot90({0})")
        calls += ("np.moveaxis({0}, 0, -1)", "np.diff({0})", "np.pad({0}, 1)", "np.triu({0})")
        if self.draw(st.booleans()):
            self.bind(f"{name}.{self.pick(forms)}")
        else:
            self.bind(self.pick(calls).format(name))

    def select(self) -> None:
        name = self.array()
        forms = ("np.where({0} > 0, {0}, {1})", "np.clip({0}, -1, {2})", "np.where({0}, {1}, 0)")
        forms += (
            "np.take({0}, [0, -1])",
            "np.nonzero({0})[0]",
            "np.compress({0}.ravel() > 0, {0})",
        )
        forms += ("{0}[{0} > 0]", "np.choose({0} > 0, [{0}, {1}])", "np.select([{0} > 0], [{1}])")
        text = self.pick(forms).format(name, self.operand(name), self.pick(("1", "2.5")))
        self.bind(text)

    def cast(self) -> None:
        self.bind(f"{self.array()}.astype('{self.pick(DTYPES)}')")

    def product(self) -> None:
        a, b = self.array(), self.array()
        forms = ("{0} @ {1}", "np.dot({0}, {1})", "np.outer({0}, {1})", "np.inner({0}, {0})")
        self.bind(self.pick((*forms, "np.einsum('i,i->i', {0}, {0})", "{0} @ {0}.T")).format(a, b))

    def order(self) -> None:
        forms = ("np.sort({0})", "np.argsort({0}, kind='stable')", "np.sort({0}, axis=0)")
        forms += (
            "np.unique({0})",
            "np.searchsorted(np.sort({0}), {0})",
            "np.cumsum({0}[::-1])[::-1]",
        )
        self.bind(self.pick(forms).format(self.array()))


@contextlib.contextmanager
def _little_memory() -> Iterator[None]:
    """A MemoryError where 2 GiB more are asked for: an outer product of large arrays, which is too
    large to be kept anyway, would take what the machine has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


Recipe = tuple[tuple[int, ...], str, int, str]


def small_inputs(program: Program) -> list[Recipe]:
    """Shape, dtype, seed and layout of each argument."""
    return [
        (
            program.pick(SHAPES[:5] if i < 2 else SHAPES),
            program.pick(DTYPES),
            program.draw(st.integers(0, 80)),
            program.pick(LAYOUTS),
        )
        for i in range(program.draw(st.integers(2, 4)))
    ]


def large_inputs(program: Program) -> list[Recipe]:
    """The same, of one shape in bytes, and mostly of one dtype."""
    program.limit = LARGE_LIMIT
    rng = random.Random(program.draw(st.integers(0, 1 << 40)))
    shape, usual = rng.choice(LARGE_SHAPES), rng.choice(LARGE_DTYPES)
    inputs: list[Recipe] = []
    for _ in range(rng.randint(2, 3)):
        dtype = usual if rng.random() < 0.75 else rng.choice(LARGE_DTYPES)
        seed = rng.randint(0, 80) if rng.random() < 0.2 else 1 + 4 * rng.randint(0, 80)
        inputs.append((shape, dtype, seed, rng.choice(LARGE_LAYOUTS)))
    return inputs


@st.composite
def array_programs(draw: Callable[[Any], Any]) -> tuple[str, list[tuple[Any, ...]]]:
    """(text of a function f, how its arguments are made: shape, dtype, seed, layout)."""
    program = Program(draw)
    large = draw(st.integers(0, 3)) == 0
    inputs = large_inputs(program) if large else small_inputs(program)
    for i, recipe in enumerate(inputs):
        program.inputs.append(recipe)
        program.arrays.append(f"x{i}")
    program.scope |= zip(program.arrays, arguments(program.inputs))
    wanted = draw(st.integers(3, 8) if large else st.integers(20, 60))
    for _ in range(3 * wanted):
        if len(program.lines) >= wanted:
            break
        if large:
            program.large_statement()
        else:
            program.statement()
    names = ", ".join([*program.arrays, *program.scalars])
    body = "\n    ".join(program.lines)
    inputs = ", ".join(f"x{i}" for i in range(len(program.inputs)))
    return f"def f({inputs}):\n    {body}\n    return {names}\n", program.inputs


def arguments(recipes: list[tuple[Any, ...]]) -> tuple[np.ndarray, ...]:
    """Fresh arguments as the program wants them."""
    made: list[np.ndarray] = []
    for shape, dtype, seed, how in recipes:
        made.append(laid_out(source(shape, dtype, seed), how, made[-1] if made else None))
    return tuple(made)
