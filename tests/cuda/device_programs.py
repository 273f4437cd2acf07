"""Random programs over arrays on a device for device_fuzz.py, and what such a program means: NumPy's
arithmetic with CuPy's rules (`Array`), where elements are arrays of rank 0 over the same memory and
results are in C order.

A program is written while it runs so, for several sets of arguments at once: a statement is kept
where it is no error and where CuPy's result is known to the bit.  So sums are of numbers that add up
exactly in any order, and there is no zero with a sign, of which a maximum may be either.
"""

from __future__ import annotations

import contextlib
import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import ml_dtypes

    BFLOAT: Any = np.dtype(ml_dtypes.bfloat16)
except ImportError:  # then there are none in the programs
    BFLOAT = None

DTYPES = ("f8", "f8", "f4", "f4", "f4", "f2", "f2", "i4", "i8", "i2", "u1", "?")
if BFLOAT is not None:
    DTYPES += ("bf16", "bf16")
SETS = 3  # of arguments
LIMIT = 200_000  # elements of one array
NUMBERS = ("2", "0.5", "-1", "3", "1.5", "98", "True", "s0", "s1")


class Unsure(Exception):
    """NumPy and CuPy may differ here, or what comes depends on a launch."""


def dtype_of(name: str) -> Any:
    return BFLOAT if name == "bf16" else np.dtype(name)


# ---- arithmetic ----

DIGITS = {np.dtype("f8"): 53, np.dtype("f4"): 24, np.dtype("f2"): 11}
if BFLOAT is not None:
    DIGITS[BFLOAT] = 8


def is_float(array: np.ndarray) -> bool:
    return array.dtype in DIGITS


def sure(result: Any) -> np.ndarray:
    """The result of an operation, as an array in C order."""
    array = np.asarray(result, order="C")
    if is_float(array) and array.size:
        wide = array.astype("f8")
        small = (wide != 0) & (np.abs(wide) < (2.0**-24 if array.dtype == "f2" else 2.0**-100))
        if not np.isfinite(wide).all() or small.any() or (np.signbit(wide) & (wide == 0)).any():
            raise Unsure
    return array


def sure_sum(array: np.ndarray) -> None:
    """All partial sums are exact, in whatever order."""
    if not is_float(array):
        return
    wide = array.astype("f8")
    mantissa, exponent = np.frexp(wide[wide != 0])
    if mantissa.size == 0:
        return
    whole = (mantissa * 2.0**53).astype("i8")
    unit = (exponent - 53 + np.log2((whole & -whole).astype("f8"))).min()
    if np.abs(wide).sum() > 2.0 ** (unit + DIGITS[array.dtype]):
        raise Unsure


def converted(value: np.ndarray, dtype: Any) -> np.ndarray:
    if value.dtype == dtype:
        return value
    if np.dtype(dtype).kind in "iu" and is_float(value):
        limits = np.iinfo(dtype)
        whole = np.trunc(value.astype("f8"))
        if (whole < limits.min).any() or (whole > min(limits.max, 2**53)).any():
            raise Unsure
    with np.errstate(all="ignore"):
        return value.astype(dtype)


def raw(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(raw, value))
    return value.a if isinstance(value, Array) else value


def limited(*given: Any) -> None:
    """A column beside a row makes no huge array."""
    most = max(LIMIT, *map(np.size, given))
    if math.prod(np.broadcast_shapes(*map(np.shape, given))) > most:
        raise Unsure


WHOLE = ("floor", "rint", "sqrt")


def apply(name: str, *args: Any, out: Array | None = None) -> Array:
    given = [raw(a) for a in args]
    arrays = [a for a in given if isinstance(a, np.ndarray)]
    if not arrays:
        raise Unsure
    limited(*given)
    if any(a.dtype == BFLOAT for a in arrays):
        if any(a.dtype != BFLOAT for a in arrays) or any(isinstance(a, float) for a in given):
            raise Unsure
    integers = not any(is_float(a) for a in arrays)
    if name in ("floor_divide", "remainder"):
        divisor = np.asarray(given[1])
        if not integers or divisor.dtype.kind == "f" or (divisor <= 0).any():
            raise Unsure
    if name == "divide" and (np.asarray(given[1]) == 0).any():
        raise Unsure
    if name in WHOLE and integers:
        raise Unsure
    with np.errstate(all="ignore"):
        result = sure(getattr(np, name)(*given))
    if out is None:
        return Array(result)
    if not np.can_cast(result.dtype, out.a.dtype, "same_kind"):
        raise Unsure
    if np.broadcast_shapes(result.shape, out.a.shape) != out.a.shape:
        raise Unsure
    out.a[...] = converted(result, out.a.dtype)
    return out


class Array:
    """NumPy's array `a` with CuPy's rules."""

    def __init__(self, a: np.ndarray) -> None:
        self.a = a

    def __getitem__(self, key: Any) -> Array:
        key = raw(key)
        keys = key if isinstance(key, tuple) else (key,)
        made = self.a[key]
        if any(isinstance(k, np.ndarray) for k in keys):
            return Array(np.asarray(made, order="C"))
        return Array(made if isinstance(made, np.ndarray) else self.a[(*keys, ...)])

    def __setitem__(self, key: Any, value: Any) -> None:
        key, value = raw(key), raw(value)
        if isinstance(value, float) and not is_float(self.a):
            raise Unsure
        if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
            raise Unsure  # a zero's sign is lost where CuPy clears the memory
        if isinstance(key, np.ndarray) and key.dtype.kind in "iu":
            places = key.astype("i8") % max(len(self.a), 1)
            if np.unique(places).size != places.size:
                raise Unsure
        if isinstance(value, np.ndarray):
            value = sure(converted(value, self.a.dtype))
        self.a[key] = value

    def sum(self, axis: Any = None, keepdims: bool = False) -> Array:
        sure_sum(self.a)
        half = DIGITS.get(self.a.dtype, 24) < 24
        made = np.sum(self.a.astype("f4") if half else self.a, axis=axis, keepdims=keepdims)
        return Array(sure(made.astype(self.a.dtype) if half else made))

    def mean(self, axis: Any = None, keepdims: bool = False) -> Array:
        if self.a.dtype == BFLOAT:
            raise Unsure
        sure_sum(self.a)
        made = np.mean(self.a, axis=axis, keepdims=keepdims)
        return Array(sure(made))

    def prod(self, axis: Any = None, keepdims: bool = False) -> Array:
        if is_float(self.a):
            raise Unsure
        return Array(sure(np.prod(self.a, axis=axis, keepdims=keepdims)))

    def cumsum(self, axis: Any = None) -> Array:
        if self.a.dtype == BFLOAT or self.a.ndim == 0:
            raise Unsure
        sure_sum(self.a)
        return Array(sure(np.cumsum(self.a, axis=axis)))

    def astype(self, dtype: str) -> Array:
        if self.a.dtype == dtype:
            raise Unsure
        made = converted(self.a, np.dtype(dtype))
        sure(made)
        return Array(made)

    def fill(self, value: Any) -> None:
        self[...] = value

    @property
    def T(self) -> Array:
        return self if self.a.ndim < 2 else Array(self.a.T)


def _give_operators() -> None:
    operators = {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
        "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    }  # fmt: skip
    for sign, name in operators.items():
        setattr(Array, f"__{sign}__", lambda self, other, n=name: apply(n, self, other))
        setattr(Array, f"__r{sign}__", lambda self, other, n=name: apply(n, other, self))
        setattr(Array, f"__i{sign}__", lambda self, other, n=name: apply(n, self, other, out=self))
    compared = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    for sign, name in (compared | {"eq": "equal", "ne": "not_equal"}).items():
        setattr(Array, f"__{sign}__", lambda self, other, n=name: apply(n, self, other))
    for sign, name in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
        setattr(Array, f"__{sign}__", lambda self, n=name: apply(n, self))
    for name in ("max", "min", "any", "all", "argmax", "argmin"):
        setattr(Array, name, _reduction(name))
    for name in ("reshape", "ravel", "swapaxes", "copy"):
        setattr(Array, name, lambda self, *args, n=name: Array(getattr(self.a, n)(*args)))


def _reduction(name: str) -> Callable[..., Array]:
    def method(self: Array, axis: Any = None, keepdims: bool = False) -> Array:
        made = getattr(np, name)(self.a, axis=axis, keepdims=keepdims)
        return Array(np.asarray(made, order="C"))

    return method


_give_operators()


MOVED = ("expand_dims", "squeeze", "moveaxis", "flipud", "fliplr", "transpose", "ravel", "reshape")


class Plain:
    """What programs call `xp`."""

    where = staticmethod(lambda c, x, y: _where(c, x, y))
    take = staticmethod(
        lambda x, i, axis=None: Array(np.asarray(np.take(x.a, i.a, axis), order="C"))
    )
    broadcast_to = staticmethod(lambda x, shape: Array(np.broadcast_to(x.a, shape)))
    flip = staticmethod(lambda x, axis=None: Array(np.asarray(np.flip(x.a, axis))))
    cumsum = staticmethod(lambda x, axis=None: x.cumsum(axis))
    concatenate = staticmethod(lambda parts: Array(sure(np.concatenate(raw(parts)))))

    def __getattr__(self, name: str) -> Callable[..., Array]:
        if name in ("diff", "ptp"):
            return _differences(name)
        if name in MOVED:
            return lambda x, *args: _moved(name, x, *args)
        if name == "clip":
            return lambda x, low, high: apply("clip", x, low, high)
        return lambda *args, out=None: apply(name, *args, out=out)


def _moved(name: str, x: Array, *args: Any) -> Array:
    made = getattr(np, name)(x.a, *args)
    kept = name in ("squeeze", "moveaxis") and (made.shape, made.strides) == (
        x.a.shape,
        x.a.strides,
    )
    return x if kept else Array(made)


def _differences(name: str) -> Callable[..., Array]:
    def call(x: Array, *args: Any, **named: Any) -> Array:
        if x.a.dtype == BFLOAT or (name == "ptp" and x.a.dtype.kind in "?b"):
            raise Unsure
        with np.errstate(all="ignore"):
            return Array(sure(np.asarray(getattr(np, name)(x.a, *args, **named))))

    return call


def _where(condition: Array, x: Any, y: Any) -> Array:
    arrays = [raw(v) for v in (x, y) if isinstance(v, Array)]
    if any(a.dtype == BFLOAT for a in arrays):
        raise Unsure
    limited(condition.a, raw(x), raw(y))
    return Array(sure(np.where(condition.a, raw(x), raw(y))))


# ---- arguments ----

LAYOUTS = ("C", "C", "C", "C", "F", "strided", "reversed", "late", "wide", "axes")
SMALL = (
    (5,),
    (3, 4),
    (3, 4),
    (3, 1),
    (1, 4),
    (4,),
    (2, 3, 4),
    (4, 4),
    (),
    (7, 8),
    (8,),
    (40,),
    (98,),
)
ROWS = ((300,), (3, 300), (3, 1), (1, 300), (300, 3), (2, 3, 300), (3,), ())
LONG = ((40_003,), (40_003,), (3,), (2, 40_003), (), (9000, 3), (2, 3, 9000))

Recipe = tuple[tuple[int, ...], str, int, str]


@functools.lru_cache(256)  # a program begins anew for each statement that goes
def source(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Few binary digits and no zeros, so that sums are exact."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return np.asarray(rng.random(shape) < 0.5)
    count = int(np.prod(shape))
    values = np.asarray(rng.integers(1, 4 if count > 300 else 7, shape))
    if dtype[0] != "u":
        values = values * rng.choice([-1, 1, 1], shape)
    if dtype in ("f4", "f8") and seed % 2:
        values = values / 4
    return np.asarray(values).astype(dtype_of(dtype))


def laid_out(array: np.ndarray, how: str) -> np.ndarray:
    """The same values in another layout; the memory around them is of the array's base."""
    if how == "F":
        return np.asfortranarray(array)
    if how == "axes" and array.ndim:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)
    if how == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if how == "reversed" and array.ndim:
        return array[::-1].copy()[::-1]
    if how == "late":
        whole = np.zeros(array.size + 1, array.dtype)
        made = whole[1:].reshape(array.shape)
        made[...] = array
        return made
    if how == "wide" and array.ndim:
        whole = np.zeros(tuple(n + 2 for n in array.shape), array.dtype)
        made = whole[tuple(slice(1, n + 1) for n in array.shape)]
        made[...] = array
        return made
    return array


SIZES = False  # whether sets differ in lengths, too


def length_in(number: int, length: int) -> int:
    """What the length is in the set `number`: equal ones stay equal."""
    if not SIZES or length < 2:
        return length
    return (length, 2 * length + 1, max(length - 1, 2))[number]


def arguments(recipes: list[Recipe], number: int) -> list[Any]:
    """The set `number` of arguments: arrays, and two numbers."""
    arrays = [
        laid_out(
            source(tuple(length_in(number, n) for n in shape), dtype, seed + 100 * number).copy(),
            how,
        )
        for shape, dtype, seed, how in recipes
    ]
    return [*arrays, (1.5, -0.5, 2.5)[number], (3, 2, 5)[number]]


# ---- programs ----

BINARY = ("+", "-", "*", "+", "*", "/", "<", ">=", "!=", "&", "|", "//", "%")
UNARY = ("abs({0})", "-{0}", "xp.floor({0})", "xp.rint({0})", "xp.sqrt(abs({0}))", "xp.square({0})")
UNARY += ("xp.clip({0}, 0, 2)", "xp.where({0} > 1, {0}, 2)", "~{0}", "xp.maximum({0}, 1)")
REDUCED = ("sum", "sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "prod")
AXES = ("", "", "", "axis=0", "axis=-1", "axis=0, keepdims=True", "axis=-1, keepdims=True")
BEHIND = (
    "{0} / 98",
    "{0} / 3",
    "{0} * 2",
    "{0} + 1",
    "{0} - s0",
    "({0} + 1) / 7",
    "{0}",
    "{0} * s1",
)


# There is a kernel in each: CuPy, which the executor has not, runs a function without any.
HEAD = "def f({}, s0, s1):\n    first = x0 + x0\n"


@functools.lru_cache(1024)
def code_of(text: str) -> Any:
    return compile(text, "statement", "exec")


class Draft:
    """Statements that were kept, and the values of names in a run with each set of arguments."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        pick = self.rng.random()
        self.shapes = SMALL if pick < 0.8 else ROWS if pick < 0.94 else LONG
        usual = self.pick(DTYPES)  # other dtypes are other kernels: few of them share one
        self.recipes: list[Recipe] = [
            (
                self.pick(self.shapes),
                usual if self.rng.random() < 0.6 else self.pick(DTYPES),
                self.rng.randrange(100),
                self.pick(LAYOUTS),
            )
            for _ in range(self.rng.randint(2, 4))
        ]
        self.lines: list[str] = []
        self.count = 0
        self.begin()

    def begin(self) -> None:
        """With no statement."""
        self.arrays = [f"x{i}" for i in range(len(self.recipes))]
        self.scopes = []
        for number in range(SETS):
            *arrays, s0, s1 = arguments(self.recipes, number)
            scope = dict(zip(self.arrays, map(Array, arrays), strict=True))
            self.scopes.append({"xp": Plain(), "s0": s0, "s1": s1, **scope})

    def pick(self, choices: Any) -> Any:
        return choices[self.rng.randrange(len(choices))]

    # ---- one statement ----

    def runs(self, text: str) -> bool:
        code = code_of(text)
        try:
            for scope in self.scopes:
                exec(code, scope)
        except Exception:
            return False
        shapes = [{n: v.a.shape for n, v in s.items() if isinstance(v, Array)} for s in self.scopes]
        name = text.partition(" = ")[0]
        if name.isidentifier() and not all(isinstance(s[name], Array) for s in self.scopes):
            return False
        largest = max(v.a.size for v in self.scopes[0].values() if isinstance(v, Array))
        return largest <= LIMIT and (SIZES or all(shape == shapes[0] for shape in shapes))

    def try_(self, text: str) -> bool:
        """Runs it, and keeps it where that is sure."""
        if not self.runs(text):
            self.play(list(self.lines))  # it may have written
            return False
        self.lines.append(text)
        name = text.partition(" = ")[0]
        if name.isidentifier() and name not in self.arrays:
            self.arrays.append(name)
        return True

    def play(self, lines: list[str]) -> None:
        """Begins again with those of the lines that run."""
        self.lines = []
        self.begin()
        for text in lines:
            if not self.runs(text):
                return self.play([line for line in lines if line != text])
            self.lines.append(text)
            name = text.partition(" = ")[0]
            if name.isidentifier() and name not in self.arrays:
                self.arrays.append(name)

    def value(self, name: str) -> np.ndarray:
        made: np.ndarray = self.scopes[0][name].a
        return made

    # ---- expressions ----

    def array(self) -> str:
        return str(self.pick(self.arrays))

    def like(self, shape: tuple[int, ...]) -> str:
        """An array that broadcasts with the shape, and is no larger."""
        return str(
            self.pick([n for n in self.arrays if _fits(self.value(n).shape, shape)] or ["2"])
        )

    def index(self, name: str) -> str:
        value = self.value(name)
        if value.ndim == 0:
            return str(self.pick(("...", "()")))
        n = value.shape[0]
        keys = ["1:", ":-1", "::2", "::-1", "...", ":2", "0", "-1", f"{n // 2}", ":", "0:1"]
        if value.ndim > 1:
            keys += [":, 1:", ":, ::-1", "..., :1", ":, 0", "0, -1", "..., -1", "1:, :-1", "0, 0"]
            keys += ["0, 1:"]
        if value.ndim == 1:
            keys += ["0", "-1", "1"]
        return str(self.pick(keys))

    def reduced(self) -> str:
        text = f"{self.array()}.{self.pick(REDUCED)}({self.pick(AXES)})"
        return str(self.pick(BEHIND)).format(text)

    def leaf(self, shape: tuple[int, ...]) -> str:
        kind = self.rng.random()
        if kind < 0.5:
            return self.like(shape)
        if kind < 0.65:
            return str(self.pick(NUMBERS))
        if kind < 0.85:
            name = self.array()
            return f"{name}[{self.index(name)}]"
        return self.reduced()

    def term(self, shape: tuple[int, ...], depth: int) -> str:
        if depth == 0:
            return self.leaf(shape)
        if self.rng.random() < 0.25:
            return str(self.pick(UNARY)).format(f"({self.term(shape, depth - 1)})")
        left, right = self.term(shape, self.rng.randrange(depth)), self.term(shape, depth - 1)
        return f"({left} {self.pick(BINARY)} {right})"

    def shape_at(self, name: str, key: str) -> tuple[int, ...]:
        with contextlib.suppress(IndexError):
            return tuple(eval(f"x[{key}]", {"x": self.value(name)}).shape)
        return ()

    # ---- statements ----

    def bind(self, text: str) -> bool:
        self.count += 1
        return self.try_(f"a{self.count} = {text}")

    def computed(self) -> bool:
        return self.bind(self.term(self.value(self.array()).shape, self.rng.randint(1, 3)))

    def view(self) -> bool:
        name = self.array()
        forms = ("{0}[{1}]", "{0}[{1}]", "{0}.T", "{0}.reshape(-1)", "{0}.ravel()", "{0}.copy()")
        forms += (
            "xp.diff({0})",
            "{0}.swapaxes(0, -1)",
            "xp.flip({0})",
            "xp.broadcast_to({0}, (2,) + {0}.shape)",
        )
        text = str(self.pick(forms))
        if "shape)" in text:
            text = text.replace("{0}.shape", str(self.value(name).shape))
        return self.bind(text.format(name, self.index(name)))

    def cast(self) -> bool:
        return self.bind(f"{self.array()}.astype('{self.pick(('f8', 'f4', 'f2', 'i4', '?'))}')")

    def reduction(self) -> bool:
        return self.bind(self.reduced())

    def moved(self) -> bool:
        forms = (
            "expand_dims({0}, {1})",
            "expand_dims({0}, -1)",
            "squeeze({0})",
            "moveaxis({0}, 0, {1})",
        )
        forms += (
            "flipud({0})",
            "fliplr({0})",
            "transpose({0})",
            "ravel({0})",
            "reshape({0}, (-1, 1))",
        )
        name = self.array()
        if self.value(name).size > 1000:  # a large column beside a large row would be a huge array
            return False
        return self.bind("xp." + str(self.pick(forms)).format(name, self.pick("01")))

    def difference(self) -> bool:
        forms = (
            "diff({0})",
            "diff({0})",
            "diff({0}, axis=0)",
            "diff({0}, 2)",
            "ptp({0})",
            "ptp({0}, 0)",
        )
        return self.bind("xp." + str(self.pick(forms)).format(self.array()))

    def scan(self) -> bool:
        return self.bind(f"{self.array()}.cumsum({self.pick(('', '0', '-1'))})")

    def gather(self) -> bool:
        name, places = self.array(), self.integers()
        forms = ("{0}[{1}]", "{0}[{1}]", "{0}[:, {1}]", "xp.take({0}, {1}, 0)")
        return self.bind(str(self.pick(forms)).format(name, places))

    def integers(self) -> str:
        found = [n for n in self.arrays if self.value(n).dtype.kind in "iu" and self.value(n).ndim]
        return str(self.pick(found or self.arrays))

    def join(self) -> bool:
        return self.bind(f"xp.concatenate([{self.array()}, {self.array()}])")

    def store(self) -> bool:
        name = self.array()
        key = self.index(name)
        value = self.term(self.shape_at(name, key), self.rng.randint(0, 2))
        return self.try_(f"{name}[{key}] {self.pick(('=', '=', '=', '+=', '-=', '*='))} {value}")

    def store_reduced(self) -> bool:
        name = self.array()
        return self.try_(
            f"{name}[{self.index(name)}] {self.pick(('=', '=', '+=', '*='))} {self.reduced()}"
        )

    def store_masked(self) -> bool:
        name = self.array()
        mask = (
            f"{self.like(self.value(name).shape)} {self.pick(('>', '<=', '!='))} {self.pick('01')}"
        )
        value = self.pick((*NUMBERS, self.reduced()))
        return self.try_(f"{name}[{mask}] {self.pick(('=', '=', '+='))} {value}")

    def store_at(self) -> bool:
        name = self.array()
        return self.try_(f"{name}[{self.integers()}] = {self.term(self.value(name).shape, 1)}")

    def inplace(self) -> bool:
        name = self.array()
        value = self.term(self.value(name).shape, self.rng.randint(0, 2))
        return self.try_(f"{name} {self.pick(('+=', '-=', '*=', '/=', '&='))} {value}")

    def out(self) -> bool:
        name = self.array()
        a, b = self.like(self.value(name).shape), self.like(self.value(name).shape)
        forms = ("xp.add({1}, {2}, out={0})", "xp.multiply({1}, {2}, out={0})", "{0}.fill({3})")
        forms += ("xp.maximum({1}, {2}, out={0})", "xp.negative({1}, out={0})")
        return self.try_(str(self.pick(forms)).format(name, a, b, self.pick(NUMBERS)))

    def loop(self) -> bool:
        a, b = self.array(), self.array()
        c, d = self.like(self.value(a).shape), self.like(self.value(b).shape)
        forms = (
            "p -= q * 0.5",
            "p *= 2; p += q",
            "p[...] = q + 1",
            "p += q.max()",
            "p[0] = q.sum() / 3",
        )
        return self.try_(f"for p, q in (({a}, {c}), ({b}, {d})): {self.pick(forms)}")

    def statement(self) -> bool:
        kinds = (
            self.computed, self.computed, self.computed, self.view, self.view, self.cast, self.reduction,
            self.moved, self.difference,
            self.scan, self.gather, self.join, self.store, self.store, self.store, self.store_reduced,
            self.store_reduced, self.store_masked, self.store_at, self.inplace, self.inplace, self.out, self.loop,
        )  # fmt: skip
        return bool(self.pick(kinds)())

    def write(self, wanted: int) -> None:
        with np.errstate(all="ignore"):
            for _ in range(12 * wanted):
                if len(self.lines) >= wanted:
                    break
                self.statement()

    # ---- its text ----

    def text(self) -> str:
        names = [n for n in "pq" if all(isinstance(s.get(n), Array) for s in self.scopes)]
        results = ", ".join([*self.arrays, *names, "first"])
        inputs = ", ".join(f"x{i}" for i in range(len(self.recipes)))
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"{HEAD.format(inputs)}{body}    return {results},\n"

    def drop(self, at: int) -> None:
        """Without the statement `at`, and those that need it."""
        lines = self.lines[:at] + self.lines[at + 1 :]
        with np.errstate(all="ignore"), contextlib.suppress(RecursionError):
            self.play(lines)


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def draft(seed: int) -> Draft:
    """A program that is a function of its number."""
    made = Draft(seed)
    made.write(made.rng.choice((1, 2, 3, 5, 8, 12)))
    return made
