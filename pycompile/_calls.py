"""Calls that a plan makes of whole functions.

A call's arguments are templates: plain objects, tuples, lists, dicts and slices of them, with a `Hole`
for each array or number that comes out of the graph.  `Call` fills them at run time; what comes of a
call capture has learnt by a trial (_trials.py).
"""

from __future__ import annotations

import _thread
import contextlib
import copy
import functools
import struct
import sys

import numpy as np

from pycompile._C import (
    StepValue,
    array_view,
    stream_close,
    stream_open,
    stream_restore,
    stream_state,
)

PROMISED = (StepValue.ARRAY, StepValue.DEVICE, StepValue.SCALAR, StepValue.PYTHON)
CONTAINERS = (StepValue.TUPLE, StepValue.LIST, StepValue.NAMED)


def of_module(module, names):
    """Classes of a module; none while nobody has imported it: then it has no instances."""
    found = sys.modules.get(module)
    return (
        tuple(vars(found)[name] for name in names.split() if name in vars(found)) if found else ()
    )


def partial(function, args, keywords):
    """functools.partial of these parts; runs no code of the function's."""
    return functools.partial(function, *args, **keywords)


def cast_into(array, out):
    """astype, where what comes of it is laid out as `out` is."""
    np.copyto(out, array, casting="unsafe")
    return out


class Lookup:
    """table[key], of a table of constants.  (These classes have no weak references: plans keep them.)"""

    __slots__ = ("table",)

    def __init__(self, table):
        self.table = table

    def __call__(self, key):
        return self.table[key]

    def sample(self):
        """What it may give."""
        return next(iter(self.table.values() if type(self.table) is dict else self.table))


class Get:
    """table.get(key, otherwise)"""

    __slots__ = ("otherwise", "table")

    def __init__(self, both):
        self.table, self.otherwise = both

    def __call__(self, key):
        return self.table.get(key, self.otherwise)

    def sample(self):
        return self.otherwise


class Unpack:
    """The items of an array that has so many."""

    __slots__ = ("count",)

    def __init__(self, count):
        self.count = count

    def __call__(self, array):
        if len(array) != self.count:
            raise ValueError("another number of items")
        return tuple(array)

    def sample(self, array):
        """What it gives for such an array of any length."""
        if not len(array):
            raise Unexpected("items of an empty array")
        return (array[0],) * self.count


class Contains:
    """key in table"""

    __slots__ = ("table",)

    def __init__(self, table):
        self.table = table

    def __call__(self, key):
        return key in self.table


class Keywords:
    """A function with arguments by keyword."""

    __slots__ = ("function", "keywords")

    def __init__(self, function, keywords):
        self.function, self.keywords = function, keywords

    def __call__(self, *args):
        return self.function(*args, **self.keywords)


class Hole:
    """Stands in a template for the number-th array or number out of the graph."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"_{self.number}"


class Unexpected(Exception):
    """A call gave something that its trial did not."""


def fill(template, holes):
    """The template with the holes filled."""
    kind = type(template)
    if kind is Hole:
        return holes[template.number]
    if kind is tuple or kind is list:
        return kind(
            [holes[x.number] if type(x) is Hole else fill(x, holes) for x in template]
        )  # most items are holes
    if kind is dict:
        return {key: fill(item, holes) for key, item in template.items()}
    if kind is slice:
        return slice(
            fill(template.start, holes), fill(template.stop, holes), fill(template.step, holes)
        )
    return template


class _Check:
    """What a plan looks at in what a call gives: a StepValue without what keeps samples alive."""

    __slots__ = ("dtype", "form", "items", "rank", "type")

    def __init__(self, value):
        self.form, self.type, self.dtype, self.rank, self.items = value.form, None, None, 0, None
        if self.form in CONTAINERS:
            self.items = [_Check(item) for item in value.items]
            kinds = {StepValue.TUPLE: tuple, StepValue.LIST: list, StepValue.NAMED: value.type}
            self.type = kinds[self.form]
        elif self.form == StepValue.OPAQUE:
            self.dtype, self.rank = value.sample.dtype, value.sample.ndim


def _spread(result, check, out):
    """The leaves of a result, in order; checked where capture knows less than it should."""
    form = check.form
    if check.items is not None:
        if type(result) is not check.type or len(result) != len(check.items):
            raise Unexpected("another number of results")
        for item, inner in zip(result, check.items):
            _spread(item, inner, out)
    elif form == StepValue.OPAQUE:
        if type(result) is not np.ndarray:
            raise Unexpected("no array")
        if result.dtype != check.dtype or result.ndim != check.rank:
            raise Unexpected("an array of another type")
        out.append(result)
    elif form == StepValue.OBJECT:
        out.append(result)
    elif form == StepValue.NONE:
        if result is not None:
            raise Unexpected("a result")
    elif form in PROMISED:
        out.append(result)


def strided_memory(dtype, shape, strides):
    """An uninitialised array with these very strides."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides) if n)
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides) if n) + dtype.itemsize
    return np.ndarray(shape, dtype, np.zeros(high - low, np.uint8).data, -low, strides)


def _twin(array):
    """A copy laid out alike: NumPy's loops look at the strides of what they write."""
    copy = np.array(array, order="K", copy=True)
    if copy.strides == array.strides or not copy.size:
        return copy
    twin = strided_memory(array.dtype, array.shape, array.strides)
    twin[...] = array
    return twin


def _plain(array):
    """The same elements in an array of its own."""
    return array if array.base is None else np.array(array, order="K", copy=True)


class Call:
    """What a plan calls: the function with its templates."""

    __slots__ = ("args", "changed", "check", "function", "kwargs", "own")

    def __init__(self, function, args, kwargs, value, changed, own):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.check = _Check(value)
        self.changed = changed  # holes that the function changes: it gets copies, which are results
        self.own = own  # of these, arrays that a call of the same plan made: no copies

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", "function")
        return f"{name}{self.args!r}{self.kwargs or ''}"

    def calling(self, function):
        """The same call of another function."""
        if function is self.function:
            return self
        other = copy.copy(self)
        other.function = function
        return other

    def __call__(self, *holes):
        if self.changed:
            mine = list(holes)
            for number in self.changed:
                if number not in self.own:
                    mine[number] = _twin(mine[number])
            holes = tuple(mine)
        args = fill(self.args, holes)
        kwargs = fill(self.kwargs, holes)
        result = self.function(*args, **kwargs)
        leaves = [
            holes[number] if number in self.own else _plain(holes[number])
            for number in self.changed
        ]
        _spread(result, self.check, leaves)
        return leaves[0] if len(leaves) == 1 else leaves


class DrawCall(Call):
    """A `Call` of a `Draw`."""

    __slots__ = ()

    def save(self, saved, *holes):
        """What a plan calls first, so that a deopt puts the generator's state back."""
        self.function.save(saved, fill(self.args[1], holes))


# ---- np.random: see csrc/capture/numpy/draws.c ----


def generators():
    return (*of_module("numpy.random", "Generator RandomState"), *of_module("random", "Random"))


def bit_generators():
    return of_module("numpy.random", "MT19937 PCG64 PCG64DXSM Philox SFC64")


@functools.cache
def _is_python(kind):
    return kind in of_module("random", "Random")


@functools.cache
def _is_of_numpy(kind):
    return kind in bit_generators()


class Token:
    """What a draw gives besides its result, and the next one takes."""


TOKEN = Token()


def _bits(generator):
    if _is_python(type(generator)):
        return generator
    if type(generator) is np.random.Generator:
        bits = generator.bit_generator
    else:
        bits = generator._bit_generator
    if not _is_of_numpy(type(bits)):
        raise TypeError("a bit generator that is not NumPy's")
    return bits


def generator_like(generator):
    """A generator of the same kind, to be tried on."""
    if _is_python(type(generator)):
        return type(generator)(0)
    return type(generator)(type(_bits(generator))(0))


class Draw:
    """Calls a method of a generator; gives a token and the result."""

    def __init__(self, name):
        self.name = name

    def __call__(self, token, generator, *args, **kwargs):
        method, number = getattr(generator, self.name), id(generator)
        if number not in _left.states:
            return TOKEN, method(*args, **kwargs)
        with _lock(generator):
            undisturbed = _is_as_left(generator)
            try:
                return TOKEN, method(*args, **kwargs)
            finally:
                _left.states[number] = _state(generator) if undisturbed else None

    def save(self, saved, generator):
        """Notes how to put the generator's state back, once in a run."""
        bits = _bits(generator)
        if any(entry[3] is generator or entry[2] is bits for entry in saved):
            return
        if not saved:  # a run begins
            _left.states.clear()
        state, shared = _state(generator), _thread._count() > 0
        saved.append((restore, state, bits, generator, shared))
        if shared:
            _left.states[id(generator)] = state

    def __repr__(self):
        return f"Draw({self.name})"


# ---- draws in kept loops: see csrc/arrays/streams.c ----


class OpenStream(Draw):
    """What a loop draws from: a copy of the generator's state."""

    def __init__(self):
        super().__init__("stream")

    def __call__(self, token, generator):
        return TOKEN, _opened(_bits(generator), generator)

    def save(self, saved, generator):
        bits = _bits(generator)
        if saved or _thread._count() > 0 or not _is_known(type(bits), type(generator)):
            super().save(saved, generator)
        else:
            _left.states.clear()
            saved.append((_restore_stream, _opened(bits, generator), bits, generator))


class CloseStream(Draw):
    """Behind the loop: puts the state into the generator that the draws have left."""

    def __init__(self):
        super().__init__("stream")

    def __call__(self, token, generator, stream):
        bits, number = _bits(generator), id(generator)
        with _lock(generator):
            undisturbed = number in _left.states and _is_as_left(generator)
            stream_close(stream, bits, generator)
            if number in _left.states:
                _left.states[number] = _state(generator) if undisturbed else None
        return TOKEN, 0

    def sample(self):
        """What it gives."""
        return TOKEN, 0


def _restore_stream(stream, bits, generator):
    """As `restore`, where there was no other thread."""
    with _lock(generator):
        stream_restore(stream, bits, generator)


def _opened(bits, generator):
    if not _is_known(type(bits), type(generator)):
        raise TypeError("a generator whose state is not known")
    with _lock(generator):
        return stream_open(bits, generator)


@functools.cache
def _is_known(kind, of):
    """Does the state lie in memory as streams.c has it?"""
    bits = kind(1)
    if bits.__class__ is of:  # Python's
        bits.gauss(0.0, 1.0)
        *key, at = bits.getstate()[1]
        return _read(bits, bits, "624Ii12xqd") == (*key, at, 1, bits.gauss_next)
    np.random.Generator(bits).integers(9, dtype=np.uint32)  # leaves half a number
    generator = of(bits)
    if of is np.random.RandomState:
        generator.standard_normal()  # leaves one of a pair
        if _read(bits, generator, "2512xqd") != (1, generator.get_state(legacy=False)["gauss"]):
            return False
    state = bits.state
    if kind is np.random.MT19937:
        seen = (*state["state"]["key"].tolist(), state["state"]["pos"])
        return _read(bits, generator, "624Ii") == seen
    half = (state["has_uint32"], state["uinteger"])
    if kind is np.random.SFC64:
        return _read(bits, generator, "4Q2472xiI") == (*state["state"]["state"].tolist(), *half)
    low, high, inc_low, inc_high, *rest = _read(bits, generator, "4Q2472xiI")
    numbers = (low | high << 64, inc_low | inc_high << 64)
    return numbers == tuple(state["state"].values()) and tuple(rest) == half


def _read(bits, generator, form):
    return struct.unpack_from("=" + form, stream_state(stream_open(bits, generator)))


class _Left(_thread._local):  # threading.local, whose module takes 2 ms to import
    """The states in which the draws of this thread's run have left generators, by id; None where
    another thread has drawn between two of them.  Kept only where there are other threads."""

    def __init__(self):
        self.states = {}


_left = _Left()


def _is_as_left(generator):
    state = _left.states.get(id(generator))
    return state is not None and _same(state, _state(generator))


def _state(generator):
    if _is_python(type(generator)):
        return generator.getstate()
    if type(generator) is np.random.Generator:
        return generator.bit_generator.state
    return generator.get_state(legacy=False)


def _same(state, other):
    if isinstance(state, dict):
        return state.keys() == other.keys() and all(_same(state[k], other[k]) for k in state)
    return bool(np.all(state == other))


def _lock(generator):
    """NumPy's lock, where a thread may take it twice; else a draw of another thread in the moment
    between this one's and the look at the state is not noticed."""
    lock = getattr(_bits(generator), "lock", None)  # of Python's the GIL is the lock
    return lock if isinstance(lock, _RLOCK) else contextlib.nullcontext()


_RLOCK = type(_thread.RLock())


def restore(state, bits, generator, shared):
    """Puts the state back that the generator had before this thread drew, unless another one has
    drawn since: it would be given the same numbers again."""
    with _lock(generator):
        if shared and not _is_as_left(generator):
            return
        if _is_python(type(generator)):
            generator.setstate(state)
        elif type(generator) is np.random.Generator:
            bits.state = state
        else:
            generator.set_state(state)


# ---- what has no function of its own ----


def part_of(window, dtype, shape, strides, offset, writeable):
    """A view of `window`, which is its base; `offset` in bytes."""
    view = array_view(window, dtype, shape, strides, offset)
    if not writeable:
        view.flags.writeable = False
    return view


def flat_get(array, key):
    """array.flat[key]"""
    return array.flat[key]


def flat_set(array, key, value):
    """array.flat[key] = value"""
    array.flat[key] = value


def set_attribute(array, name, value):
    """array.NAME = value"""
    setattr(array, name, value)


# As they were when this was imported: a program may give NumPy others.
_R, _C, _MGRID, _OGRID = np.r_, np.c_, np.mgrid, np.ogrid


def join_rows(key):
    """np.r_[key]"""
    return _R[key]


def join_columns(key):
    """np.c_[key]"""
    return _C[key]


def full_grid(key):
    """np.mgrid[key]"""
    return _MGRID[key]


def open_grid(key):
    """np.ogrid[key]"""
    return _OGRID[key]


def address_of(array):
    return array.__array_interface__["data"][0]


class _Memory:
    """Memory of an array, seen otherwise."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, interface, array):
        self.__array_interface__, self.array = interface, array


class WriteThrough:
    """Gives the array as it is after a write to memory of it that is seen as another dtype."""

    def __init__(self, dtype, offset, shape, strides):
        self.dtype, self.offset, self.shape, self.strides = dtype, offset, shape, strides

    def __call__(self, whole, value):
        result = _twin(whole)
        place = {
            "version": 3,
            "typestr": self.dtype.str,
            "data": (address_of(result) + self.offset, False),
            "shape": self.shape,
            "strides": self.strides,
        }
        np.asarray(_Memory(place, result))[...] = value
        return result

    def __repr__(self):
        return f"WriteThrough({self.dtype}, {self.offset}, {self.shape}, {self.strides})"
