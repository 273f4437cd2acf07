"""Calls that a plan makes of whole functions, and the trial calls by which capture learns what they give.

A call's arguments are templates: plain objects, tuples, lists, dicts and slices of them, with a `Hole`
for each array or number that comes out of the graph.  A trial fills the holes with stand-ins of the
same types and describes what came back; `Call` fills them at run time.

What goes to a trial is a `Trial`, what comes of it a `StepValue`; both are laid down in
csrc/capture/numpy/step_values.def.  What is known of the function that is tried are its traits
(csrc/capture/numpy/numpy_traits.def), which its row of numpy_functions.def lists.
"""

from __future__ import annotations

import _thread
import collections
import contextlib
import copy
import functools
import inspect
import math
import operator
import sys
import threading
import types

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pycompile._C import NumpyFunction, StepValue, array_view
from pycompile._device_types import by_rule
from pycompile._filters import warnings_as

MOST_ELEMENTS = 1 << 22
MOST_ITEMS = 16  # of a container whose items are results of their own
_ARRAY, _OPAQUE, _OBJECT = StepValue.ARRAY, StepValue.OPAQUE, StepValue.OBJECT
_NONE = StepValue.NONE
_PROMISED = (_ARRAY, StepValue.DEVICE, StepValue.SCALAR, StepValue.PYTHON)
_CONTAINERS = (StepValue.TUPLE, StepValue.LIST, StepValue.NAMED)
_FIELDS = StepValue.__match_args__[1:]
_UNUSED = (None,) * len(_FIELDS[5:])  # behind dtype, shape, strides, writeable and owns
_KINDS = {bool: np.dtype("?"), int: np.dtype("i8"), float: np.dtype("f8"), complex: np.dtype("c16")}
_CONSTANT = (bool, int, float, complex, str, bytes, type(None), type, np.dtype, np.finfo)


def _of_submodule(module, names):
    """Classes of one of NumPy's submodules; none while nobody has imported it: then it has no instances."""
    found = sys.modules.get(module)
    return (
        tuple(vars(found)[name] for name in names.split() if name in vars(found)) if found else ()
    )


def _tame():
    """Classes whose instances are called, asked and combined by NumPy's code alone."""
    names = "Polynomial Chebyshev Legendre Hermite HermiteE Laguerre"
    return (np.poly1d, *_of_submodule("numpy.polynomial", names))


def partial(function, args, keywords):
    """functools.partial of these parts; runs no code of the function's."""
    return functools.partial(function, *args, **keywords)


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


class Refused(Exception):
    """NumPy refuses the shapes, dtypes or axes: the program gets this error, whatever the elements are."""


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
        if self.form in _CONTAINERS:
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
    elif form == _OPAQUE:
        if type(result) is not np.ndarray:
            raise Unexpected("no array")
        if result.dtype != check.dtype or result.ndim != check.rank:
            raise Unexpected("an array of another type")
        out.append(result)
    elif form == _OBJECT:
        out.append(result)
    elif form == _NONE:
        if result is not None:
            raise Unexpected("a result")
    elif form in _PROMISED:
        out.append(result)


def _memory(dtype, shape, strides):
    """An uninitialised array with these very strides."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides) if n)
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides) if n) + dtype.itemsize
    return np.ndarray(shape, dtype, np.zeros(high - low, np.uint8).data, -low, strides)


def _twin(array):
    """A copy laid out alike: NumPy's loops look at the strides of what they write."""
    copy = np.array(array, order="K", copy=True)
    if copy.strides == array.strides or not copy.size:
        return copy
    twin = _memory(array.dtype, array.shape, array.strides)
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


def _generators():
    return _of_submodule("numpy.random", "Generator RandomState")


def _bit_generators():
    return _of_submodule("numpy.random", "MT19937 PCG64 PCG64DXSM Philox SFC64")


class Token:
    """What a draw gives besides its result, and the next one takes."""


TOKEN = Token()


def _bits(generator):
    if type(generator) is np.random.Generator:
        bits = generator.bit_generator
    else:
        bits = generator._bit_generator
    if type(bits) not in _bit_generators():
        raise TypeError("a bit generator that is not NumPy's")
    return bits


def generator_like(generator):
    """A generator of the same kind, to be tried on."""
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


class _Left(threading.local):
    """The states in which the draws of this thread's run have left generators, by id; None where
    another thread has drawn between two of them.  Kept only where there are other threads."""

    def __init__(self):
        self.states = {}


_left = _Left()


def _is_as_left(generator):
    state = _left.states.get(id(generator))
    return state is not None and _same(state, _state(generator))


def _state(generator):
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
    lock = _bits(generator).lock
    return lock if isinstance(lock, _RLOCK) else contextlib.nullcontext()


_RLOCK = type(threading.RLock())


def restore(state, bits, generator, shared):
    """Puts the state back that the generator had before this thread drew, unless another one has
    drawn since: it would be given the same numbers again."""
    with _lock(generator):
        if shared and not _is_as_left(generator):
            return
        if type(generator) is np.random.Generator:
            bits.state = state
        else:
            generator.set_state(state)


# ---- trials ----


def _value(form, **fields):
    """A StepValue with these fields."""
    return StepValue((form, *map(fields.get, _FIELDS)))


def _stand_in(dtype, shape, strides):
    """An array of the type, over memory of its own: zeros."""
    array = np.zeros(shape, dtype)
    return array if array.strides == strides else _memory(dtype, shape, strides)


def _make_likely(array, changed):
    """Elements on which most functions work: ones, but integers, which may be indices, stay zeros."""
    kind = array.dtype.kind
    if not changed and kind in "fc" and array.ndim >= 2 and array.shape[-1] == array.shape[-2]:
        array[...] = np.eye(array.shape[-1], dtype=array.dtype)  # regular, for linear algebra
    elif kind in "fcb":
        array[...] = 1


def _number(value):
    dtype = value.dtype
    if value.form == StepValue.SCALAR:
        return dtype.type(dtype.kind in "fcb")
    return {"b": True, "i": 1, "f": 1.0, "c": 1j}[dtype.kind]


def _address(array):
    return array.__array_interface__["data"][0]


def _sample(array):
    """An array like it with elements: what comes next is tried on it."""
    if array.size:
        return array
    sample = np.zeros([max(1, n) for n in array.shape], array.dtype)
    if array.dtype.kind in "fcb":
        sample[...] = 1
    return sample


def _owner(array):
    """What the array is a view of, in the end."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # of a view that as_strided made
        if not isinstance(base, np.ndarray):
            return array
        array = base


def _shows(array, hole):
    """Whether it is a view of the hole's memory, or would be if it had elements."""
    if array.size and hole.size:
        return np.may_share_memory(array, hole)
    return _owner(array) is _owner(hole)


def _is_constant(result):
    """Whether it never changes."""
    if type(result) is tuple:
        return all(map(_is_constant, result))
    return isinstance(result, _CONSTANT)


def _is_silent(function, args, kwargs, holes=()):
    """Whether the call gives no warning and no floating-point error."""
    try:
        with warnings_as(0), np.errstate(all="raise"):
            function(*fill(args, holes), **fill(kwargs, holes))
    except Exception:
        return False
    return True


def _arrays_of(result):
    """The arrays within an object."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, list | tuple):
        return [array for item in result for array in _arrays_of(item)]
    return [
        array for item in getattr(result, "__dict__", {}).values() for array in _arrays_of(item)
    ]


def is_tame(sample):
    """Whether all that is done with such an object runs NumPy's and Python's code alone."""
    if type(sample) in (list, tuple, set, frozenset):
        return all(map(is_tame, sample))
    if type(sample) in (dict, collections.Counter):
        return all(map(is_tame, sample)) and all(map(is_tame, sample.values()))
    if type(sample) is np.ndarray:
        return sample.dtype.kind in "biufc"
    return (
        type(sample) in (*_tame(), Token, *_generators(), *_bit_generators())
        or isinstance(sample, _CONSTANT)
        or isinstance(sample, np.generic)
    )


def _object(result, holes, changed):
    """An object that is taken as it comes."""
    if not is_tame(result):
        raise Unexpected(f"a result of type {type(result).__name__}")
    views = [
        number
        for number, hole in enumerate(holes)
        if any(_shows(array, mine) for array in _arrays_of(result) for mine in _arrays_of(hole))
    ]
    if any(number in changed for number in views):
        raise Unexpected("a view of what was changed")
    return _value(_OBJECT, sample=result, views=views)


def _is_strided(view, array):
    """Made by as_strided, whose views have an object of its own for a base."""
    base = view.base
    return not isinstance(base, np.ndarray) and getattr(base, "base", None) is array


def part_of(window, dtype, shape, strides, offset, writeable):
    """A view of `window`, which is its base; `offset` in bytes."""
    view = array_view(window, dtype, shape, strides, offset)
    if not writeable:
        view.flags.writeable = False
    return view


def _array(result):
    """A new array."""
    shape, strides, owns = result.shape, result.strides, bool(result.flags.owndata)
    return StepValue((_ARRAY, result.dtype, shape, strides, None, owns, *_UNUSED))


def _is_on_device(thing):
    """Whether it is an array of CuPy's."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and type(thing) is cupy.ndarray


def _on_device(value):
    """A stand-in for an array on a device, with elements on which most functions work."""
    cupy = sys.modules["cupy"]
    dtype, shape, strides = value.dtype, value.shape, value.strides
    if dtype.kind in "fc":
        square = len(shape) == 2 and shape[0] == shape[1]
        array = cupy.eye(shape[0], dtype=dtype) if square else cupy.ones(shape, dtype)
    else:
        array = cupy.zeros(shape, dtype)
    if array.strides == strides:
        return array
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides) if n)
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides) if n) + dtype.itemsize
    memory = cupy.zeros(high - low, "u1").data - low
    return cupy.ndarray(shape, dtype, memory, strides)


def _device_array(result, holes):
    """A new array on a device."""
    begin = result.data.mem.ptr
    for hole in holes:
        if _is_on_device(hole) and hole.data.mem.ptr == begin:
            raise Unexpected("an argument itself, or a view of it")
    address = result.data.ptr
    return _value(
        StepValue.DEVICE,
        dtype=result.dtype,
        shape=result.shape,
        strides=result.strides,
        aligned=address % 16 == 0,
    )


def _describe(result, holes, changed, opaque, samples, always=False):
    kind = type(result)
    if _is_on_device(result):
        if opaque:
            raise Unexpected("a size that is known only when it runs")
        return _device_array(result, holes)
    for number, hole in enumerate(holes):
        number_is_it = isinstance(hole, np.generic) and not isinstance(hole, np.bool)
        if result is hole and (isinstance(hole, np.ndarray) or number_is_it):
            if number_is_it or always or number in changed or number not in samples:
                return _value(StepValue.HOLE, hole=number)
            # of another length it may be a view
            return _value(_OPAQUE, sample=_sample(result), views=[number])
    if kind is np.ndarray and result.dtype.kind in "biufc":
        if not result.dtype.isnative:
            raise Unexpected(f"an array of {result.dtype}")
        shows = _shows if opaque or samples else np.may_share_memory
        views = [
            number
            for number, hole in enumerate(holes)
            if isinstance(hole, np.ndarray) and shows(result, hole)
        ]
        if any(number in changed for number in views):
            raise Unexpected("a view of what was changed")
        if opaque or any(number in samples for number in views):
            return _value(_OPAQUE, sample=_sample(result), views=views)
        if not views:
            return _array(result)
        if len(views) > 1:
            raise Unexpected("a view of several arguments")
        return _value(
            StepValue.VIEW,
            hole=views[0],
            offset=_address(result) - _address(holes[views[0]]),
            writeable=bool(result.flags.writeable),
            maker=as_strided if _is_strided(result, holes[views[0]]) else None,
            dtype=result.dtype,
            shape=result.shape,
            strides=result.strides,
        )
    if isinstance(result, np.generic) and result.dtype.kind in "biufc":
        return _value(StepValue.SCALAR, dtype=result.dtype)
    if kind in _KINDS:
        return _value(StepValue.PYTHON, dtype=_KINDS[kind])
    named = issubclass(kind, tuple) and hasattr(kind, "_make")
    if (kind is tuple or kind is list or named) and len(result) <= MOST_ITEMS:
        items = [_describe(item, holes, changed, opaque, samples) for item in result]
        if named:
            return _value(StepValue.NAMED, items=items, type=kind)
        return _value(StepValue.TUPLE if kind is tuple else StepValue.LIST, items=items)
    if result is None:
        return _value(_NONE)
    return _object(result, holes, changed)


def _fresh(result, holes):
    """The description of a new array or number."""
    if type(result) is np.ndarray and result.base is None and result.dtype.kind in "biufc":
        return _array(result)
    value = _describe(result, holes, (), False, ())
    if value.form not in _PROMISED:
        raise Unexpected("no new array or number")
    return value


def _untyped(result, holes, changed):
    """Like `_describe`, where dtypes and classes of what comes are not sure either."""
    kind = type(result)
    if kind is tuple or issubclass(kind, tuple) and hasattr(kind, "_make"):
        items = [_untyped(item, holes, changed) for item in result]
        if kind is tuple:
            return _value(StepValue.TUPLE, items=items)
        return _value(StepValue.NAMED, items=items, type=kind)
    return _object(result, holes, changed)


def _is_called(value):
    """Something comes of the call at run time: it is there to be made and checked."""
    if value.form in _CONTAINERS:
        return any(map(_is_called, value.items))
    return value.form not in (StepValue.HOLE, StepValue.VIEW, _NONE, StepValue.CONSTANT)


def _shown(value):
    """The holes that are given themselves, or whose memory is."""
    if value.form in _CONTAINERS:
        return set().union(*map(_shown, value.items))
    return {value.hole} if value.form in (StepValue.HOLE, StepValue.VIEW) else set()


def _is_settled(value, asked, holes):
    """Whether what shows arguments depends on their types alone: no other one may be an axis or a flag."""
    shown = _shown(value) - set(asked.changed)
    if not shown or asked.traits & NumpyFunction.OF_DATA:
        return True
    return all(
        number in asked.changed or shown == {number} or _is_data(hole)
        for number, hole in enumerate(holes)
    )


def _is_data(hole):
    return isinstance(hole, np.ndarray) and hole.dtype.kind in "fc"


def _is_promised(value):
    """The plan itself can check what comes: one array or number, or several of them in a row."""
    if value.form in (StepValue.TUPLE, StepValue.LIST):
        return len(value.items) > 1 and all(item.form in _PROMISED for item in value.items)
    return value.form in _PROMISED


_NUMBERS = (bool, int, float, complex)  # of an array of several elements


def _takes(function, args, kwargs):
    """Whether there are parameters for these arguments, as far as can be told."""
    inner = getattr(function, "_implementation", function)
    if type(inner) is not types.FunctionType:
        return True  # functions in C take more than they say
    try:
        inspect.signature(inner).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _is_about_dimensions(error, values):
    """Whether an error of np.linalg comes from the checks that look at shapes alone."""
    checks = ("_assert_2d", "_assert_stacked_2d", "_assert_square", "_assert_stacked_square")
    frame = error.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    return frame.tb_frame.f_code.co_name in checks and all(v.form == _ARRAY for v in values)


def _refused(asked, error):
    """Whether any arguments of these types raise just this."""
    function, args, traits = asked.function, asked.args, asked.traits
    kind = type(error)
    if kind is TypeError and not _takes(function, args, asked.kwargs):
        return True
    if kind not in (ValueError, TypeError, IndexError, np.exceptions.AxisError) and not (
        isinstance(error, TypeError) and kind.__module__ == "numpy._core._exceptions"
    ):
        return kind is np.linalg.LinAlgError and _is_about_dimensions(error, asked.values)
    if error.__cause__ is not None or not (error.__context__ is None or error.__suppress_context__):
        return False
    if asked.values and all(v.form == _ARRAY and 0 in v.shape for v in asked.values):
        return True  # there are no elements on which it could depend
    name = getattr(function, "__name__", "")
    ufunc = isinstance(function, np.ufunc)
    elementwise = ufunc or getattr(operator, name, 0) is function
    if not elementwise and function not in _NUMBERS and not traits & NumpyFunction.BY_SHAPE:
        return False
    first = args[0].number if args and type(args[0]) is Hole else None
    for number, value in enumerate(asked.values):
        if value.form in (_OPAQUE, StepValue.DEVICE):
            return False
        if value.form != _ARRAY:  # a number
            if not elementwise:
                return False  # perhaps an axis or an index, or the error tells the number
            if value.dtype.kind not in "fc" and not ufunc:
                return False
            continue
        if not elementwise and not traits & NumpyFunction.OF_DATA:
            if number != first or traits & NumpyFunction.SHAPE_FIRST:
                return False
        if value.dtype.kind in "iu" and traits & NumpyFunction.INDEXES:
            return False
    return True


@functools.lru_cache(1024)
def out_position(function):
    """Where the function takes `out` among its positional arguments, or -1."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # it does not say
        return -1
    positional = [p.name for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]
    return positional.index("out") if "out" in positional else -1


def _writes(asked, holes):
    """Whether the call changes an array that it is not known to change: it is tried on read-only ones."""
    frozen = list(holes)
    for number, hole in enumerate(holes):
        if number not in asked.changed and type(hole) is np.ndarray and hole.flags.writeable:
            frozen[number] = hole.view()
            frozen[number].flags.writeable = False
    if all(mine is hole for mine, hole in zip(frozen, holes)):
        return False
    try:
        asked.function(*fill(asked.args, frozen), **fill(asked.kwargs, frozen))
    except Exception:
        return True
    return False


def _tried(asked, holes, samples):
    """The call with these holes; once more with other elements where they make no regular matrix."""
    function, args, kwargs = asked.function, asked.args, asked.kwargs
    if isinstance(function, (Lookup, Get)):
        return function.sample()
    try:
        return function(*fill(args, holes), **fill(kwargs, holes))
    except np.linalg.LinAlgError:
        numbers = np.random.Generator(np.random.PCG64(1))
        for number, hole in enumerate(holes):
            known = type(hole) is np.ndarray and number not in asked.changed
            if known and hole.dtype.kind in "fc":
                if number in samples:  # which other trials take too
                    holes[number] = hole = hole.copy("K")
                writeable = hole.flags.writeable
                hole.flags.writeable = True
                hole[...] = numbers.uniform(1, 2, hole.shape)
                hole.flags.writeable = writeable
        return function(*fill(args, holes), **fill(kwargs, holes))


def _of_arguments(asked):
    """(what stands in the holes, numbers of those that are samples, whether a number's class is open)"""
    holes, samples, elements, loose = [], set(), 0, False
    for number, value in enumerate(asked.values):
        if value.form == _ARRAY:
            elements += math.prod(value.shape)
            if elements > MOST_ELEMENTS:
                raise Unexpected("arguments that are too large to try")
            array = _stand_in(value.dtype, value.shape, value.strides)
            _make_likely(array, number in asked.changed)
            array.flags.writeable = value.writeable
            holes.append(array)
        elif value.form == StepValue.DEVICE:
            holes.append(_on_device(value))
        elif value.form == _OPAQUE:
            sample = value.sample
            if isinstance(sample, (*_NUMBERS, np.generic)) and asked.traits & NumpyFunction.GENERIC:
                loose = True
            elif not isinstance(sample, (Token, *_generators())):
                samples.add(number)
            if number in asked.changed and type(sample) is not np.ndarray:
                raise Unexpected("a change of an object that is no array")
            if isinstance(sample, _generators()):
                sample = generator_like(sample)  # a trial may set its state, to zeros
            holes.append(sample.copy() if number in asked.changed else sample)
        else:
            holes.append(_number(value))
    return holes, samples, loose


def _quietly(asked, holes, samples):
    """What the call gives; no warning is given, since only the types are wanted."""
    with warnings_as(1), np.errstate(all="ignore"):
        try:
            result = _tried(asked, holes, samples)
        except (ValueError, TypeError, IndexError) as error:
            if not _refused(asked, error):
                raise
            raise Refused(error) from None
        if _writes(asked, holes):
            raise Unexpected("a call that changes an argument")
    return result


def _look_at_flags(asked):
    """Raises where whether the call copies depends on values."""
    flags = asked.args[1:] if asked.traits & NumpyFunction.FLAGS else ()
    named = (asked.kwargs.get("copy"), asked.kwargs.get("subok"))
    if any(type(flag) is Hole for flag in (*flags, *named)):
        raise Unexpected("whether it copies depends on values")


def _is_known(result, asked, holes):
    """Whether the result is the same in each run."""
    if not _is_constant(result):
        return False
    if asked.traits & NumpyFunction.OF_TYPES:
        return True
    return not holes and _is_silent(asked.function, asked.args, asked.kwargs)


def _may_change(asked):
    """Whether the call may change its argument, depending on others."""
    flagged = asked.args[1:] or "copy" in asked.kwargs
    return asked.kwargs.get("overwrite_input") or (
        asked.traits & NumpyFunction.MAY_CHANGE and flagged
    )


def _of_lengths(asked):
    """Whether an array of integers says how long the result is."""
    if not asked.traits & NumpyFunction.LENGTHS:
        return False
    first = asked.args[0] if asked.args else None
    data = first.number if type(first) is Hole else None
    return any(
        value.form == _ARRAY and value.dtype.kind in "iub"
        for number, value in enumerate(asked.values)
        if number != data
    )


def _settled(result, asked, holes, samples):
    """The description of a result whose type is known."""
    always = bool(asked.traits & NumpyFunction.GIVES_ITSELF)
    opaque = (
        asked.opaque
        or _of_lengths(asked)
        or bool(samples - set(asked.changed))
        or any(value.form == _ARRAY and 0 in value.shape for value in asked.values)
    )
    with warnings_as(0):  # of flags that are looked at
        value = _describe(result, holes, asked.changed, opaque, samples, always)
    if opaque and value.form in _CONTAINERS and not _is_called(value):
        raise Unexpected("a number of results that depends on values")
    if not _is_settled(value, asked, holes):
        raise Unexpected("a view that depends on values")
    warns = not (asked.changed or _is_called(value))
    if warns and not _is_silent(asked.function, asked.args, asked.kwargs, holes):
        raise Unexpected("a call that warns")
    return value


@np.errstate(all="ignore")  # as a decorator it costs half of what it does in `with`
def _unnoticed(function, args, kwargs):
    """What the call gives, without warnings or floating-point events."""
    with warnings_as(1):
        return function(*args, **kwargs)


def _trial_of_new(asked):
    """The StepValue of a call that gives one new array or number, of a type that the arguments' types decide.

    Capturing x[i] is mostly this, so it does no more than it has to: no argument is a container with holes.
    """
    holes, elements = [], 0
    for value in asked.values:
        form, dtype, shape, strides = value[:4]
        if form == _ARRAY:
            elements += math.prod(shape)
            if elements > MOST_ELEMENTS:
                raise Unexpected("arguments that are too large to try")
            holes.append(_stand_in(dtype, shape, strides))
        else:
            holes.append(value.sample if form == _OPAQUE else _number(value))
    args = [holes[item.number] if type(item) is Hole else item for item in asked.args]
    kwargs = fill(asked.kwargs, holes) if asked.kwargs else {}
    return _fresh(_unnoticed(asked.function, args, kwargs), holes)


def trial(asked):
    """(StepValue, callable), or Unexpected or Refused: of the call with stand-ins for its values.

    Where a `Call` would add nothing (`direct`: it need not fill containers) the callable is the function
    itself.
    """
    function, changed = asked.function, asked.changed
    if asked.fresh:
        return _trial_of_new(asked), function
    known = by_rule(asked) if asked.direct else None
    if known is not None:
        return known, function
    holes, samples, loose = _of_arguments(asked)
    _look_at_flags(asked)
    result = _quietly(asked, holes, samples)
    if _is_known(result, asked, holes):
        return _value(StepValue.CONSTANT, sample=result), function
    if result is None and not (changed or asked.untyped or isinstance(function, Get)):
        raise Unexpected("no result")
    if _may_change(asked):
        raise Unexpected("a call that may change its argument")
    number = isinstance(result, (*_NUMBERS, np.generic))
    if (asked.untyped or loose) and (number or result is None or isinstance(result, str)):
        value, changed = _value(_OBJECT, sample=result, views=[]), ()
        if asked.direct:
            return value, function
    elif asked.untyped:
        value = _untyped(result, holes, changed)
    else:
        value = _settled(result, asked, holes, samples)
    if asked.direct and not changed and _is_promised(value):
        return value, function
    kind = DrawCall if type(function) is Draw else Call
    own = tuple(number for number in changed if number in samples)
    return value, kind(function, asked.args, asked.kwargs, value, changed, own)


# ---- what has no function of its own ----


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
            "data": (_address(result) + self.offset, False),
            "shape": self.shape,
            "strides": self.strides,
        }
        np.asarray(_Memory(place, result))[...] = value
        return result

    def __repr__(self):
        return f"WriteThrough({self.dtype}, {self.offset}, {self.shape}, {self.strides})"
