"""Trial calls, by which capture learns what a step gives.

A trial fills the holes of a call's templates (_calls.py) with stand-ins of the same types, makes the call,
and describes what came back.  What goes to it is a `Trial`, what comes of it a `StepValue`; both are laid
down in csrc/capture/numpy/step_values.def.  What is known of the function that is tried are its traits
(csrc/capture/numpy/numpy_traits.def), which its row of numpy_functions.def lists.
"""

from __future__ import annotations

import collections
import functools
import inspect
import math
import operator
import sys
import types
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pycompile._C import NumpyFunction, StepValue
from pycompile._calls import (
    CONTAINERS,
    PROMISED,
    Call,
    CloseStream,
    Draw,
    DrawCall,
    Get,
    Hole,
    Lookup,
    Token,
    Unexpected,
    Unpack,
    address_of,
    bit_generators,
    fill,
    generator_like,
    generators,
    of_module,
    strided_memory,
)
from pycompile._device_types import by_rule
from pycompile._filters import warnings_as

MOST_ELEMENTS = 1 << 22
MOST_ITEMS = 16  # of a container whose items are results of their own
_ARRAY, _OPAQUE, _OBJECT = StepValue.ARRAY, StepValue.OPAQUE, StepValue.OBJECT
_NONE = StepValue.NONE
_FIELDS = StepValue.__match_args__[1:]
_UNUSED = (None,) * len(_FIELDS[5:])  # behind dtype, shape, strides, writeable and owns
_KINDS = {bool: np.dtype("?"), int: np.dtype("i8"), float: np.dtype("f8"), complex: np.dtype("c16")}
_NUMBERS = (bool, int, float, complex)
_ATOMS = (*_NUMBERS, str, bytes, type(None), np.generic)
_CONSTANT = (*_NUMBERS, str, bytes, type(None), type, np.dtype, np.finfo)


def _tame():
    """Classes whose instances are called, asked and combined by NumPy's code alone."""
    names = "Polynomial Chebyshev Legendre Hermite HermiteE Laguerre"
    return (np.poly1d, *of_module("numpy.polynomial", names))


class Refused(Exception):
    """NumPy refuses the shapes, dtypes or axes: the program gets this error, whatever the elements are."""


def _value(form, **fields):
    """A StepValue with these fields."""
    return StepValue((form, *map(fields.get, _FIELDS)))


def _stand_in(dtype, shape, strides):
    """An array of the type, over memory of its own: zeros."""
    array = np.zeros(shape, dtype)
    return array if array.strides == strides else strided_memory(dtype, shape, strides)


def _make_likely(array, changed, function):
    """Elements on which most functions work: ones, but integers, which may be indices, stay zeros.  Of these
    polyfit would make NaNs, of which LAPACK complains to the program's output."""
    if function is np.polyfit and not changed:
        array[...] = 1 + np.arange(array.size).reshape(array.shape)
        return
    kind = array.dtype.kind
    if not changed and kind in "fc" and array.ndim >= 2 and array.shape[-1] == array.shape[-2]:
        array[...] = np.eye(array.shape[-1], dtype=array.dtype)  # regular, for linear algebra
    elif kind in "fcb":
        array[...] = 1


def _number(value):
    dtype = value.dtype
    if value.form == StepValue.SCALAR:
        return dtype.type(dtype.kind in "fcb")
    if value.sample is not None:
        return value.sample
    return {"b": True, "i": 1, "f": 1.0, "c": 1j}[dtype.kind]


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


def _has_only(container, kinds):
    """Whether all items are of these classes: of a list of 10,000 it is known at the speed of C."""
    return all(issubclass(kind, kinds) for kind in set(map(type, container)))


def _arrays_of(result):
    """The arrays within an object."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, list | tuple):
        if _has_only(result, _ATOMS):
            return []
        return [array for item in result for array in _arrays_of(item)]
    return [
        array for item in getattr(result, "__dict__", {}).values() for array in _arrays_of(item)
    ]


def is_tame(sample):
    """Whether all that is done with such an object runs NumPy's and Python's code alone."""
    if type(sample) in (list, tuple, set, frozenset):
        return _has_only(sample, _ATOMS) or all(map(is_tame, sample))
    if type(sample) in (dict, collections.Counter):
        return all(map(is_tame, sample)) and all(map(is_tame, sample.values()))
    if type(sample) is np.ndarray:
        return sample.dtype.kind in "biufc"
    return (
        type(sample) in (*_tame(), Token, *generators(), *bit_generators())
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


def _array(result):
    """A new array."""
    writeable, owns = bool(result.flags.writeable), bool(result.flags.owndata)
    return StepValue(
        (_ARRAY, result.dtype, result.shape, result.strides, writeable, owns, *_UNUSED)
    )


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
            offset=address_of(result) - address_of(holes[views[0]]),
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
    if value.form not in PROMISED:
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
    if value.form in CONTAINERS:
        return any(map(_is_called, value.items))
    return value.form not in (StepValue.HOLE, StepValue.VIEW, _NONE, StepValue.CONSTANT)


def _shown(value):
    """The holes that are given themselves, or whose memory is."""
    if value.form in CONTAINERS:
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
        return len(value.items) > 1 and all(item.form in PROMISED for item in value.items)
    return value.form in PROMISED


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


def _frozen(asked, holes):
    """The holes, but arrays that the call is not known to change are read-only; None: there are none."""
    frozen = list(holes)
    for number, hole in enumerate(holes):
        if number not in asked.changed and type(hole) is np.ndarray and hole.flags.writeable:
            frozen[number] = hole.view()
            frozen[number].flags.writeable = False
    return None if all(mine is hole for mine, hole in zip(frozen, holes)) else frozen


def _is_new(result, holes):
    """Whether it is made of arrays and numbers that show nothing of the arguments' memory."""
    if isinstance(result, tuple | list):
        numbers = (*_NUMBERS, np.generic)
        if _has_only(result, numbers) and not any(isinstance(hole, numbers) for hole in holes):
            return True
        return all(_is_new(item, holes) for item in result)
    if type(result) is np.ndarray:
        return not any(isinstance(hole, np.ndarray) and _shows(result, hole) for hole in holes)
    return isinstance(result, (*_NUMBERS, np.generic)) and all(result is not hole for hole in holes)


def _on_read_only(asked, frozen):
    """(what the call gives of read-only arrays, whether it raises).

    The exception is not given: a local that held it would make a cycle of it and of the frames below,
    the program's among them.
    """
    try:
        return asked.function(*fill(asked.args, frozen), **fill(asked.kwargs, frozen)), False
    except np.linalg.LinAlgError:
        raise
    except Exception:
        return None, True


def _called(asked, holes):
    """What the call gives.  It must not change an array that it is not known to change: on read-only
    ones it works as well.  Where that gives something new, it is what the call gives on others, too."""

    def call():
        return asked.function(*fill(asked.args, holes), **fill(asked.kwargs, holes))

    frozen = _frozen(asked, holes)
    if frozen is None:
        return call()
    if asked.changed or asked.traits & NumpyFunction.MINDS_FLAGS:
        result = call()
        raised = _on_read_only(asked, frozen)[1]
    else:
        result, raised = _on_read_only(asked, frozen)
        if raised or not _is_new(result, frozen):
            result = call()  # which perhaps raises as well
    if raised:
        raise Unexpected("a call that changes an argument")
    return result


def _tried(asked, holes, samples):
    """The call with these holes; once more with other elements where they make no regular matrix."""
    if isinstance(asked.function, (Lookup, Get)) and holes:  # without, all is known
        return asked.function.sample()
    if isinstance(asked.function, CloseStream):
        return asked.function.sample()
    if isinstance(asked.function, Unpack):
        return asked.function.sample(*holes)
    try:
        return _called(asked, holes)
    except np.linalg.LinAlgError:
        numbers = np.random.Generator(np.random.PCG64(1))
        for number, hole in enumerate(holes):
            known = type(hole) is np.ndarray and number not in asked.changed
            if known and hole.dtype.kind in "iufc":
                if number in samples:  # which other trials take too
                    holes[number] = hole = hole.copy("K")
                writeable = hole.flags.writeable
                hole.flags.writeable = True
                if hole.dtype.kind in "fc":
                    hole[...] = numbers.uniform(1, 2, hole.shape)
                else:  # perhaps indices
                    hole[...] = np.arange(hole.size).reshape(hole.shape) % 2
                hole.flags.writeable = writeable
        return _called(asked, holes)


def _of_arguments(asked):
    """(what stands in the holes, numbers of those that are samples, whether a number's class is open)"""
    holes, samples, elements, loose = [], set(), 0, False
    for number, value in enumerate(asked.values):
        if value.form == _ARRAY:
            elements += math.prod(value.shape)
            if elements > MOST_ELEMENTS:
                raise Unexpected("arguments that are too large to try")
            array = _stand_in(value.dtype, value.shape, value.strides)
            _make_likely(array, number in asked.changed, asked.function)
            array.flags.writeable = value.writeable
            holes.append(array)
        elif value.form == StepValue.DEVICE:
            holes.append(_on_device(value))
        elif value.form == _OPAQUE:
            sample = value.sample
            if isinstance(sample, (*_NUMBERS, np.generic)) and asked.traits & NumpyFunction.GENERIC:
                loose = True
            elif not isinstance(sample, (Token, *generators())):
                samples.add(number)
            if number in asked.changed and type(sample) is not np.ndarray:
                raise Unexpected("a change of an object that is no array")
            if isinstance(sample, generators()):
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
    return result


def _look_at_flags(asked):
    """Raises where whether the call copies depends on values, or on who owns an argument's memory."""
    if asked.traits & NumpyFunction.MINDS_FLAGS:
        required = asked.kwargs.get("requirements") or [*asked.args[2:3], ""][0] or ()
        if any(str(flag).upper() in ("O", "OWNDATA") for flag in required):
            raise Unexpected("whether it copies depends on who owns the memory")
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
    if opaque and value.form in CONTAINERS and not _is_called(value):
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


# ---- what earlier trials have found ----

_KEYED = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    type,
    np.ufunc,
    type(np.sum),
)
_FOUND = 256  # trials that are remembered
_found: dict[Any, Any] = {}  # what decides a trial -> what it gave


def _dtype_key(dtype):
    if dtype.kind not in "biufc":
        raise TypeError("a dtype with parts of its own")
    return dtype.char, dtype.str  # of those that are equal some have names of their own


def _template_key(template):
    """Equal for templates that are filled alike; TypeError: that cannot be told."""
    kind = type(template)
    if kind is Hole:
        return Hole, template.number
    if kind is tuple or kind is list:
        return kind, *map(_template_key, template)
    if kind is dict:
        return dict, *((key, _template_key(item)) for key, item in template.items())
    if kind is slice:
        return slice, *map(_template_key, (template.start, template.stop, template.step))
    if kind is float:
        return float, template.hex()  # 0.0 == -0.0
    if isinstance(template, np.dtype):
        return np.dtype, _dtype_key(template)
    if kind in (bool, int, str, bytes, type(None), type):
        return kind, template
    raise TypeError("an object that may change")


def _key(asked):
    """What decides the outcome of a trial; None: more than can be told from types and constants."""
    if type(asked.function) not in _KEYED:
        return None
    try:
        values = []
        for value in asked.values:
            if value.form not in (_ARRAY, StepValue.SCALAR, StepValue.PYTHON):
                return None
            values.append((value.form, _dtype_key(value.dtype), *value[2:5], value.sample))
        function, args, kwargs = asked.function, asked.args, asked.kwargs
        rest = asked.changed, asked.opaque, asked.untyped, asked.direct
        return function, *map(_template_key, (args, kwargs)), tuple(values), rest
    except TypeError:
        return None


def _is_light(value):
    """Whether it keeps no large sample alive, and none that shows what the trial was made on."""
    if value.form in CONTAINERS:
        return all(map(_is_light, value.items))
    if value.form == _OPAQUE:
        return not value.views and value.sample.size <= 1024
    return value.form in (*PROMISED, StepValue.HOLE, StepValue.VIEW, _NONE)


def forget():
    """Gives back what is remembered of trials."""
    _found.clear()


def trial(asked):
    """(StepValue, callable), or Unexpected or Refused: of the call with stand-ins for its values.

    Where a `Call` would add nothing (`direct`: it need not fill containers) the callable is the function
    itself.  A function is captured again and again, for other shapes, behind each break: of calls that
    types and constants decide it is remembered what they gave.
    """
    if asked.fresh:
        return _trial_of_new(asked), asked.function
    key = _key(asked)
    found = _found.get(key) if key is not None else None
    if found is None:
        found = _trial_made(asked)
        if key is not None and _is_light(found[0]):
            if len(_found) >= _FOUND:
                _found.clear()
            _found[key] = found
    value, callable_ = found
    # A method's object is another one each time that a program gets it (np.add.accumulate).
    return value, callable_ if isinstance(callable_, Call) else asked.function


def _trial_made(asked):
    """What the trial gives when it is made."""
    function, changed = asked.function, asked.changed
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
    kind = DrawCall if isinstance(function, Draw) else Call
    own = tuple(number for number in changed if number in samples)
    return value, kind(function, asked.args, asked.kwargs, value, changed, own)
