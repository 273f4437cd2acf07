"""`check(f, *args)`: runs a function plain and compiled and compares everything that can be seen.

Compared, for each call: the result (type, bits with NaN payloads, dtype, shape, strides, flags), the
arguments afterwards, which of them are one object and which share memory, the exception (type, text,
traceback with lines, columns and function names, cause, context), warnings, what was printed, and
NumPy's error state.  Each side gets its own copy of the arguments, with the same layout and the same
sharing.

A function that silently ran in CPython would pass all of this, so `check` also asks for the records
of the compile: by default at least one plan must have been made and have run.
"""

from __future__ import annotations

import array
import collections
import contextlib
import copy
import datetime
import decimal
import dis
import enum
import fractions
import functools
import io
import random
import re
import struct
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pycompile
from pycompile import _C

# ---- copies of arguments ----

_SHARED = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.CodeType,
    np.ufunc,
    np.dtype,
    enum.Enum,
)
_ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(Ellipsis),
    type(NotImplemented),
    range,
)


def _owner(array: np.ndarray) -> np.ndarray:
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def _copy_array(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """The same layout over a copy of the memory; arrays over one memory share its copy."""
    if array.dtype.hasobject or type(array) is not np.ndarray:
        return copy.deepcopy(array, memo)
    owner = _owner(array)
    low, high = np.lib.array_utils.byte_bounds(owner)
    if id(owner) not in memo:
        if owner.base is None and (owner.flags.c_contiguous or owner.flags.f_contiguous):
            memo[id(owner)] = owner.copy(order="K")
        else:  # memory that is not NumPy's own, or with gaps
            raw = np.zeros(high - low, np.uint8)
            start = owner.__array_interface__["data"][0] - low
            view = np.ndarray(owner.shape, owner.dtype, raw, start, owner.strides)
            view[...] = owner
            memo[id(owner)] = view
        memo[id(owner)].flags.writeable = owner.flags.writeable
    if array is owner:
        return memo[id(owner)]
    new_owner = memo[id(owner)]
    flat = _owner(new_owner)
    raw = flat.ravel(order="K").view(np.uint8) if flat.size else flat.view(np.uint8)
    base = flat.__array_interface__["data"][0]
    shift = new_owner.__array_interface__["data"][0] - base
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0] + shift
    if array.size == 0:
        offset = 0
    raw.flags.writeable = True
    new = np.ndarray(array.shape, array.dtype, raw, offset, array.strides)
    new.flags.writeable = array.flags.writeable
    return new


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy that keeps the memory layout of arrays and who shares what."""
    if isinstance(value, _ATOMS) or isinstance(value, _SHARED) or isinstance(value, np.generic):
        return value
    if id(value) in memo:
        return memo[id(value)]
    kind = type(value)
    if isinstance(value, np.ndarray):
        new = _copy_array(value, memo)
    elif kind is list:
        new = memo[id(value)] = []
        new.extend(copied(item, memo) for item in value)
    elif kind is dict:
        new = memo[id(value)] = {}
        new.update((copied(key, memo), copied(item, memo)) for key, item in value.items())
    elif kind is tuple:
        new = tuple(copied(item, memo) for item in value)
    elif (
        kind.__module__ != "builtins"
        and (hasattr(value, "__dict__") or isinstance(value, (list, dict)))
        and kind.__reduce__ is object.__reduce__
        and not isinstance(value, (tuple, set, frozenset))
    ):
        new = memo[id(value)] = kind.__new__(kind)
        if isinstance(value, list):
            list.extend(new, copied(list.copy(value), memo))
        elif isinstance(value, dict):
            dict.update(new, copied(dict(dict.items(value)), memo))
        for name, item in getattr(value, "__dict__", {}).items():
            object.__setattr__(new, name, copied(item, memo))
    else:
        new = copy.deepcopy(value, memo)
    memo[id(value)] = new
    memo.setdefault("keep", []).append(value)  # type: ignore[call-overload]
    return new


# ---- one observed call ----


@dataclass
class Seen:
    """All that a call let us see."""

    result: Any = None
    args: Any = None
    raised: BaseException | None = None
    warned: list[tuple[Any, ...]] = field(default_factory=list)
    printed: str = ""
    errstate: dict[str, str] = field(default_factory=dict)


def observe(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Seen:
    """Calls `function`; the arguments are kept as they are afterwards."""
    seen = Seen(args=(args, kwargs))
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            seen.result = function(*args, **kwargs)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            seen.raised = error
    seen.warned = [
        (w.category, getattr(w.message, "details", str(w.message)), w.filename, w.lineno)
        for w in caught
    ]
    seen.printed = out.getvalue()
    seen.errstate = np.geterr()
    return seen


def _load_that_failed(code: types.CodeType, at: int, error: UnboundLocalError) -> int:
    """Once warm, 3.11 does two instructions in one, and tells the place of the first for both."""
    here, behind = (
        [(i.opname, i.argval) for i in dis.get_instructions(code) if i.offset == 2 * k]
        for k in (at, at + 1)
    )
    loads = [("LOAD_FAST", error.args[0].split("'")[1])]
    return at + 1 if here != loads and behind == loads else at


def positions(error: BaseException) -> list[tuple[Any, ...]]:
    """(file, function, line, column) of each frame of the traceback below `observe`."""
    found = []
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    while trace is not None:
        code, at = trace.tb_frame.f_code, trace.tb_lasti // 2
        places = list(code.co_positions())
        if sys.version_info < (3, 12) and isinstance(error, UnboundLocalError):
            at = _load_that_failed(code, at, error)
        line = trace.tb_lineno if at == trace.tb_lasti // 2 else places[at][0]
        column = places[at][2] if at >= 0 else None
        found.append((code.co_filename, code.co_name, line, column))
        trace = trace.tb_next
    return found


# ---- comparison ----


def same_bits(a: Any, b: Any) -> bool:
    """Equal Python floats and complexes to the bit."""
    if isinstance(a, complex):
        return struct.pack("dd", a.real, a.imag) == struct.pack("dd", b.real, b.imag)
    return struct.pack("d", a) == struct.pack("d", b)


def array_flags(array: np.ndarray) -> dict[str, bool]:
    names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
    return {name: array.flags[name] for name in names}


def memory(array: np.ndarray | np.generic, one_nan: bool = False) -> np.ndarray:
    """The bytes of the elements in order; those that x87's long double leaves unset are 0."""
    if one_nan and array.dtype.kind in "fc":
        parts = np.array(array).reshape(-1).view(array.real.dtype)
        parts[np.isnan(parts)] = np.nan
        array = parts
    found = np.frombuffer(array.tobytes(), np.uint8)
    if array.dtype.char in "gG" and np.finfo(np.longdouble).nmant == 63:
        found = found.reshape(-1, np.dtype("g").itemsize).copy()
        found[:, 10:] = 0
    return found.reshape(-1)


_VALUES = (
    slice,
    np.dtype,
    type,
    types.ModuleType,
    types.CodeType,
    types.GenericAlias,
    types.UnionType,
    np.ufunc,
    enum.Enum,
    re.Pattern,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    fractions.Fraction,
    bytearray,
)


def _cells(function: Any) -> list[Any]:
    """What is in the closure; a cell of its own stands for what is empty."""
    return [getattr(cell, "cell_contents", _EMPTY) for cell in function.__closure__ or ()]


def _frame(frame: Any) -> Any:
    """Where a generator is suspended, and its locals; None: it has ended."""
    return frame and (frame.f_code, frame.f_lineno, frame.f_lasti, dict(frame.f_locals))


_EMPTY = "an empty cell or slot"
# What an object of the type is made of, besides its attributes.
_PARTS: dict[type, Callable[[Any], Any]] = {
    types.FunctionType: lambda f: [
        (f.__name__, f.__qualname__, f.__module__, f.__code__, f.__doc__),
        (f.__defaults__, f.__kwdefaults__, _cells(f)),
    ],
    types.MethodType: lambda m: (m.__func__, m.__self__),
    types.BuiltinFunctionType: lambda f: (f.__name__, f.__self__),
    types.MethodWrapperType: lambda f: (f.__name__, f.__self__),
    types.MappingProxyType: dict,
    types.CellType: lambda c: getattr(c, "cell_contents", _EMPTY),
    types.GeneratorType: lambda g: (g.gi_code, _frame(g.gi_frame), g.gi_yieldfrom),
    types.CoroutineType: lambda c: (c.cr_code, _frame(c.cr_frame), c.cr_await),
    types.AsyncGeneratorType: lambda g: (g.ag_code, _frame(g.ag_frame), g.ag_await),
    types.TracebackType: lambda t: (t.tb_lasti, t.tb_lineno, t.tb_frame.f_code, t.tb_next),
    property: lambda p: (p.fget, p.fset, p.fdel, p.__doc__),
    staticmethod: lambda m: m.__func__,
    classmethod: lambda m: m.__func__,
    super: lambda s: (s.__thisclass__, s.__self__, s.__self_class__),
    functools.partial: lambda p: (p.func, p.args, p.keywords),
    collections.deque: lambda d: (d.maxlen, list(d)),
    array.array: lambda a: (a.typecode, a.tobytes()),
    memoryview: lambda m: (m.format, m.shape, m.strides, m.readonly, m.tobytes()),
    weakref.ref: lambda r: r(),
    re.Match: lambda m: (m.re, m.string, m.pos, m.endpos, m.regs),
    io.StringIO: lambda f: f.closed or (f.getvalue(), f.tell()),
    io.BytesIO: lambda f: f.closed or (f.getvalue(), f.tell()),
    np.flatiter: lambda f: (f.base, f.index),
    BaseException: lambda e: (e.args, str(e), e.__cause__, e.__suppress_context__),
    type({}.keys()): list,
    type({}.values()): list,
    type({}.items()): list,
}


def parts_of(value: Any) -> Any:
    """The parts of a value of a type that has its row, or of an iterator; None: of no such type."""
    for kind, parts in _PARTS.items():
        if isinstance(value, kind):
            return (kind.__name__, parts(value))
    if isinstance(value, collections.abc.Iterator) and type(value).__module__ in (
        "builtins",
        "itertools",
        "collections",
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ("iterator", value.__reduce__())
    return None


def _slot(member: Any, value: Any) -> Any:
    try:
        return member.__get__(value)
    except AttributeError:
        return _EMPTY


def _hashes_by_value(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_hashes_by_value, value))
    return isinstance(value, (*_ATOMS, np.generic)) and value not in (None, ..., NotImplemented)


class Comparison:
    """Walks two observations side by side and collects the differences as lines.

    one_nan: NaNs are all alike.  Which of two NaNs a sum or product keeps depends in NumPy on where
    they stand: of nine sums nan + -nan the last is -nan, since compilers exchange operands.
    """

    def __init__(self, one_nan: bool = False) -> None:
        self.one_nan = one_nan
        self.lines: list[str] = []
        self.pairs: dict[tuple[int, int], str] = {}
        self.left: dict[int, int] = {}  # id -> number, in order of first sight
        self.right: dict[int, int] = {}
        self.arrays: list[tuple[str, np.ndarray, np.ndarray]] = []
        self.made: list[Any] = []  # kept: an id must not come twice

    def differ(self, path: str, what: str, a: Any, b: Any) -> None:
        self.lines.append(f"{path}: {what}: plain {a!r}, compiled {b!r}")

    def equal(self, path: str, what: str, a: Any, b: Any) -> None:
        if a != b:
            self.differ(path, what, a, b)

    def compare(self, path: str, a: Any, b: Any) -> None:
        if type(a) is not type(b):
            return self.differ(path, "type", type(a), type(b))
        if isinstance(a, (float, complex)) and not isinstance(a, np.generic):
            if not same_bits(a, b) and not (self.one_nan and a != a and b != b):
                self.differ(path, "bits", a, b)
            return None
        if isinstance(a, _ATOMS) and not isinstance(a, np.generic):
            return self.equal(path, "value", a, b)
        if isinstance(a, np.generic) and a.dtype != object:
            self.equal(path, "dtype", a.dtype, b.dtype)
            if a.dtype != b.dtype or self.memory(a) != self.memory(b):
                self.differ(path, "bits", a, b)
            return None
        self.identity(path, a, b)
        if (id(a), id(b)) in self.pairs:
            return None
        self.pairs[id(a), id(b)] = path
        return self.compare_object(path, a, b)

    def identity(self, path: str, a: Any, b: Any) -> None:
        """Objects must be seen again at the same places on both sides."""
        if isinstance(a, tuple) and not a:
            return
        first = self.left.setdefault(id(a), len(self.left))
        second = self.right.setdefault(id(b), len(self.right))
        self.equal(path, "identity (which object it is, by first sight)", first, second)

    def compare_object(self, path: str, a: Any, b: Any) -> None:
        if a is b:
            return
        known = self.contents(path, a, b)
        if not self.attributes(path, a, b) and not known:
            raise TypeError(f"{path}: cannot compare two objects of {type(a)}")

    def contents(self, path: str, a: Any, b: Any) -> bool:
        """What is in them besides attributes; False: their type is not known."""
        if isinstance(a, np.ndarray):
            self.compare_array(path, a, b)
        elif isinstance(a, (list, tuple)):
            if isinstance(a, list):  # not as a derived class's methods have it
                a, b = list.copy(a), list.copy(b)
            self.equal(path, "length", len(a), len(b))
            for i, (x, y) in enumerate(zip(a, b)):
                self.compare(f"{path}[{i}]", x, y)
        elif isinstance(a, dict):
            if type(a).__iter__ is dict.__iter__ and type(a) is not collections.defaultdict:
                a, b = dict(dict.items(a)), dict(dict.items(b))
            self.equal(path, "keys", list(map(repr, a)), list(map(repr, b)))
            for key, x, y in zip(a, a.values(), b.values()):
                self.compare(f"{path}[{key!r}]", x, y)
            if isinstance(a, collections.defaultdict):
                self.compare(f"{path}.default_factory", a.default_factory, b.default_factory)
        elif isinstance(a, (set, frozenset)):
            self.compare_sets(path, a, b)
        elif isinstance(a, _VALUES):
            self.equal(path, "value", a, b)
        elif isinstance(a, np.random.Generator):
            self.stream(path, a.bit_generator.state, b.bit_generator.state)
        elif isinstance(a, np.random.BitGenerator):
            self.stream(path, a.state, b.state)
        elif isinstance(a, np.random.RandomState):
            self.stream(path, a.get_state(legacy=False), b.get_state(legacy=False))
        elif isinstance(a, random.Random):
            self.stream(path, a.getstate(), b.getstate())
        else:
            parts = parts_of(a), parts_of(b)
            if parts[0] is None or parts[1] is None:
                return type(a) is object
            self.made += parts
            self.compare(f"{path}<{type(a).__name__}>", *parts)
        return True

    def attributes(self, path: str, a: Any, b: Any) -> bool:
        """What is in their dicts and slots; False: they have neither."""
        if isinstance(a, (type, types.ModuleType)):
            return False
        found = False
        if hasattr(a, "__dict__"):
            self.made += (dict(vars(a)), dict(vars(b)))
            self.compare(f"{path}.__dict__", *self.made[-2:])
            found = True
        for class_ in type(a).__mro__:
            slots = vars(class_).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                found = True
                member = vars(class_).get(name)
                if type(member) is not types.MemberDescriptorType:
                    continue  # __dict__ and __weakref__, or replaced since
                values = [_slot(member, value) for value in (a, b)]
                self.made += values
                self.compare(f"{path}.{name}", *values)
        return found

    def compare_sets(self, path: str, a: Any, b: Any) -> None:
        """In the order of walking them, but for what hashes by its address."""
        kinds = [sorted(type(v).__name__ for v in value) for value in (a, b)]
        self.equal(path, "types of the elements", *kinds)
        plain = [[v for v in value if _hashes_by_value(v)] for value in (a, b)]
        if len(plain[0]) == len(a):
            self.made += plain
            self.compare(f"{path}<elements>", *plain)
        else:
            self.equal(path, "elements", *map(set, plain))

    def compare_array(self, path: str, a: np.ndarray, b: np.ndarray) -> None:
        for what in ("dtype", "shape", "strides"):
            self.equal(path, what, getattr(a, what), getattr(b, what))
        self.equal(path, "flags", array_flags(a), array_flags(b))
        self.equal(path, "base is None", a.base is None, b.base is None)
        if a.dtype != b.dtype or a.shape != b.shape:
            return
        self.arrays.append((path, a, b))
        if a.dtype.hasobject:
            self.made += (a.tolist(), b.tolist())
            self.compare(f"{path}.tolist()", *self.made[-2:])
        elif self.memory(a) != self.memory(b):
            self.bits(path, a, b)

    def memory(self, value: np.ndarray | np.generic) -> bytes:
        return memory(value, self.one_nan).tobytes()

    def stream(self, path: str, a: Any, b: Any) -> None:
        """Generators that go on alike."""
        if repr(a) != repr(b):
            self.differ(path, "state", a, b)

    def bits(self, path: str, a: np.ndarray, b: np.ndarray) -> None:
        size = a.dtype.itemsize
        x, y = (memory(v, self.one_nan).reshape(-1, size) for v in (a, b))
        wrong = np.flatnonzero((x != y).any(axis=1))
        where = tuple(int(i) for i in np.unravel_index(wrong[0], a.shape)) if a.ndim else ()
        what = f"bits of {len(wrong)} of {a.size} elements, first at {where}"
        self.differ(path, what, a[where], b[where])

    def sharing(self) -> None:
        """Arrays that overlap on one side overlap alike on the other."""
        sides = [[arrays[side] for arrays in self.arrays] for side in (1, 2)]
        for i, k in sorted({pair for side in sides for pair in _overlapping(side)}):
            (path, a, b), (other, c, d) = self.arrays[i], self.arrays[k]
            self.equal(f"{path} and {other}", "memory shared", _distance(a, c), _distance(b, d))

    def exceptions(
        self, path: str, a: BaseException | None, b: BaseException | None, depth: int = 0
    ) -> None:
        if a is None or b is None:
            if a is not b:
                self.differ(path, "exception", a, b)
            return
        self.equal(path, "type", type(a), type(b))
        self.equal(path, "text", str(a), str(b))
        self.equal(
            path,
            "traceback",
            positions(a) if depth == 0 else None,
            positions(b) if depth == 0 else None,
        )
        self.equal(path, "notes", getattr(a, "__notes__", None), getattr(b, "__notes__", None))
        self.equal(path, "suppress", a.__suppress_context__, b.__suppress_context__)
        if depth < 3:
            self.exceptions(f"{path}.__cause__", a.__cause__, b.__cause__, depth + 1)
            self.exceptions(f"{path}.__context__", a.__context__, b.__context__, depth + 1)


def _overlapping(arrays: list[np.ndarray]) -> Iterator[tuple[int, int]]:
    """The pairs (later, earlier) whose memory may overlap, by a sweep over where each begins."""
    spans = [(*np.lib.array_utils.byte_bounds(a), i) for i, a in enumerate(arrays) if a.size]
    open_: list[tuple[int, int]] = []
    for low, high, i in sorted(spans):
        open_ = [(end, k) for end, k in open_ if end > low]
        for _, k in open_:
            if arrays[i] is not arrays[k]:
                yield max(i, k), min(i, k)
        open_.append((high, i))


def _distance(a: np.ndarray, b: np.ndarray) -> int | None:
    """The bytes between two arrays that overlap, None where they do not."""
    if a is b or not np.may_share_memory(a, b):
        return None
    return a.__array_interface__["data"][0] - b.__array_interface__["data"][0]


def differences(plain: Seen, compiled: Seen, one_nan: bool = False) -> list[str]:
    """All that differs between two observations, as lines."""
    walk = Comparison(one_nan)
    walk.exceptions("exception", plain.raised, compiled.raised)
    walk.compare("arguments", plain.args, compiled.args)
    walk.compare("result", plain.result, compiled.result)
    walk.sharing()
    walk.equal("warnings", "list", plain.warned, compiled.warned)
    walk.equal("stdout", "text", plain.printed, compiled.printed)
    walk.equal("np.geterr()", "value", plain.errstate, compiled.errstate)
    return walk.lines


# ---- the check ----


def compiled_calls(compiled: Any) -> int:
    """How many plans of the function have run to their end."""
    return int(compiled.stats()["plan_runs"])


def refused(records: list[dict[str, Any]]) -> list[str]:
    """What lowering or code generation refused, and errors: there is to be no such program."""
    breaks = [item for record in records for item in record.get("breaks") or ()]
    failed = [str(record.get("why")) for record in records if record["kind"] == "failed"]
    return [f"{item['code']}: {item['detail']}" for item in breaks if item["code"] == "PC0027"] + [
        why for why in failed if "Error" in why
    ]


MANY = {"options": {"recompile_limit": 100}}  # plans of one function, each for other arguments


def check(
    function: Any,
    *args: Any,
    calls: int = 2,
    also: tuple[tuple[Any, ...], ...] = (),
    captured: bool = True,
    whole: bool = False,
    breaks: list[str] | None = None,
    exits: list[str] | None = None,
    options: dict[str, Any] | None = None,
    one_nan: bool = False,
    **kwargs: Any,
) -> Seen:
    """Asserts that `function` compiled cannot be told from `function` plain, and that lowering
    refused no graph of it.

    calls     how often it is called with these arguments: cold first, then warm.
    also      further tuples of arguments, each called twice afterwards with the same compiled function.
    captured  at least one plan must have been made and have run (False: not asked).
    whole     no graph break at all.
    breaks    the codes of the graph breaks of the first call, in order.
    exits     how the plans of the first call leave, in order: "return", "break", "branch", "ways".
    one_nan   NaNs are all alike, as in Comparison.
    options   for pycompile.compile.  All other keywords are for the function.

    Returns what the last compiled call let us see.
    """
    pycompile.reset()
    compiled = pycompile.compile(function, **(options or {}))
    _C.report_begin()
    try:
        seen = _compare_calls(function, compiled, args, kwargs, calls, one_nan)
    finally:
        records = _C.report_end()
    codes = [item["code"] for record in records for item in record.get("breaks") or ()]
    left = [record["exit"] for record in records if record["kind"] == "plan"]
    _C.report_begin()
    try:
        for other in also:
            seen = _compare_calls(function, compiled, other, kwargs, 2, one_nan)
    finally:
        later = _C.report_end()
    name, told = getattr(function, "__name__", repr(function)), "".join(map(_brief, records))
    assert not refused([*records, *later]), f"{name}: {refused([*records, *later])}{told}"
    if captured:
        assert any(r["kind"] == "plan" for r in records), f"{name}: no plan was made{told}"
        # A run that ends in what the program is told of is undone, and CPython's tells it.
        stats = compiled.stats()
        ran = stats["plan_runs"] + (stats["deopts"] if seen.raised or seen.warned else 0)
        assert ran > 0, f"{name}: no plan has run: {stats}{told}"
    if whole:
        assert not codes, f"{name}: graph breaks{told}"
    if breaks is not None:
        assert codes == breaks, f"{name}: graph breaks {codes}, wanted {breaks}{told}"
    if exits is not None:
        assert left == exits, f"{name}: exits {left}, wanted {exits}{told}"
    return seen


def check_whole(function: Any, *args: Any, also: tuple[tuple[Any, ...], ...] = ()) -> None:
    """The same of a function that a single plan runs, from its first line to its return."""
    check(function, *args, also=also, whole=True, exits=["return"], options=MANY)


def _brief(record: dict[str, Any]) -> str:
    """One record, for the message of a failed check."""
    found = f"\n  {record['kind']} at line {record['line']}, leaves by {record.get('exit')}"
    found += "".join(
        f"\n    {key}: {record[key]}" for key in ("why", "recompile") if record.get(key)
    )
    for item in record.get("breaks") or ():
        found += f"\n    {item['code']} at line {item['line']}: {item['text']}: {item['detail']}"
    return found


def _compare_calls(
    function: Any, compiled: Any, args: Any, kwargs: Any, calls: int, one_nan: bool
) -> Seen:
    for call in range(calls):
        mine, yours = copied((args, kwargs), {}), copied((args, kwargs), {})
        plain = observe(function, *mine)
        seen = observe(compiled, *yours)
        lines = differences(plain, seen, one_nan)
        if lines:
            name = getattr(function, "__name__", repr(function))
            text = "\n  ".join(lines)
            raise AssertionError(
                f"{name}, call {call + 1}: compiled differs from plain\n  {text}"
            ) from seen.raised
    return seen
