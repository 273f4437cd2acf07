"""Calls that a plan makes of whole functions, and the trial calls by which capture learns what they give.

A call's arguments are templates: plain objects, tuples, lists, dicts and slices of them, with a `Hole`
for each array or number that comes out of the graph.  A trial fills the holes with stand-ins of the
same types and describes what came back; `Call` fills them at run time.

What a trial describes, `form` first:

    ("array", dtype, shape, strides, owns) a fresh array; its type is a promise that the plan checks
    ("opaque", sample, views)              an array whose shape is known at run time only; `views`: the
                                           holes whose memory it shares
    ("scalar", dtype), ("python", dtype)   one number
    ("hole", number)                       the argument itself
    ("view", number, offset, dtype, shape, strides, writeable, maker)   a view of the argument's
                                           memory; `maker`: what makes it of the argument, shape,
                                           strides, subok and writeable where its base shows that
    ("none",)
    ("tuple", [..]), ("list", [..]), ("named", [..], class)
    ("constant", object)                   when nothing but constants goes in: no call at run time
    ("object", sample, views)              anything else that never changes, or is never changed
"""

from __future__ import annotations

import builtins
import collections
import functools
import inspect
import operator
import sys
import types

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pycompile._filters import warnings_as

MOST_ELEMENTS = 1 << 22
MOST_ITEMS = 16  # of a container whose items are results of their own
_PROMISED = ("array", "scalar", "python")
_CONTAINERS = {"tuple": tuple, "list": list, "named": None}
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
        return kind([fill(item, holes) for item in template])
    if kind is dict:
        return {key: fill(item, holes) for key, item in template.items()}
    if kind is slice:
        return slice(
            fill(template.start, holes), fill(template.stop, holes), fill(template.step, holes)
        )
    return template


def _spread(result, shape, out):
    """The leaves of a result, in order; checked where capture knows less than it should."""
    form = shape[0]
    if form in _CONTAINERS:
        kind = shape[2] if form == "named" else _CONTAINERS[form]
        if type(result) is not kind or len(result) != len(shape[1]):
            raise Unexpected("another number of results")
        for item, inner in zip(result, shape[1]):
            _spread(item, inner, out)
    elif form == "opaque":
        if type(result) is not np.ndarray:
            raise Unexpected("no array")
        if result.dtype != shape[1] or result.ndim != shape[2]:
            raise Unexpected("an array of another type")
        out.append(result)
    elif form == "object":
        out.append(result)
    elif form == "none":
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

    __slots__ = ("args", "changed", "function", "kwargs", "own", "shape")

    def __init__(self, function, args, kwargs, shape, changed, own):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.shape = shape  # of the result
        self.changed = changed  # holes that the function changes: it gets copies, which are results
        self.own = own  # of these, arrays that a call of the same plan made: no copies

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", "function")
        return f"{name}{self.args!r}{self.kwargs or ''}"

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
        _spread(result, self.shape, leaves)
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
        return TOKEN, getattr(generator, self.name)(*args, **kwargs)

    def save(self, saved, generator):
        """Notes how to put the generator's state back, once in a run."""
        bits = _bits(generator)
        if any(entry[3] is generator or entry[2] is bits for entry in saved):
            return
        if type(generator) is np.random.Generator:
            saved.append((set_bits, bits.state, bits, generator))
        else:
            saved.append((set_state, generator.get_state(legacy=False), bits, generator))

    def __repr__(self):
        return f"Draw({self.name})"


def set_bits(state, bits, generator):
    bits.state = state


def set_state(state, bits, generator):
    generator.set_state(state)


# ---- trials ----


def _stand_in(spec, ordinary):
    """An array of the type, over memory of its own.  Ones, but integers, which may be indices, zeros."""
    dtype, shape, strides, writeable = spec
    array = _memory(dtype, shape, strides)
    if not ordinary and array.ndim >= 2 and array.shape[-1] == array.shape[-2]:
        array[...] = np.eye(array.shape[-1], dtype=dtype)  # regular, for linear algebra
    elif dtype.kind in "fcb":
        array[...] = 1
    array.flags.writeable = writeable
    return array


def _number(spec):
    form, dtype = spec
    if form == "scalar":
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
    return ("object", result, views)


def _is_strided(view, array):
    """Made by as_strided, whose views have an object of its own for a base."""
    base = view.base
    return not isinstance(base, np.ndarray) and getattr(base, "base", None) is array


# What they give is the argument, whatever its shape and order are.
_GIVE_ITSELF = (np.asarray, np.asanyarray)


def _describe(result, holes, changed, opaque, samples, always=False):
    kind = type(result)
    for number, hole in enumerate(holes):
        number_is_it = isinstance(hole, np.generic) and not isinstance(hole, np.bool)
        if result is hole and (isinstance(hole, np.ndarray) or number_is_it):
            if number_is_it or always or number in changed or number not in samples:
                return ("hole", number)
            return ("opaque", _sample(result), [number])  # of another length it may be a view
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
            return ("opaque", _sample(result), views)
        if not views:
            owns = bool(result.flags.owndata)
            return ("array", result.dtype, result.shape, result.strides, owns)
        if len(views) > 1:
            raise Unexpected("a view of several arguments")
        offset = _address(result) - _address(holes[views[0]])
        return (
            "view",
            views[0],
            offset,
            result.dtype,
            result.shape,
            result.strides,
            bool(result.flags.writeable),
            as_strided if _is_strided(result, holes[views[0]]) else None,
        )
    if isinstance(result, np.generic) and result.dtype.kind in "biufc":
        return ("scalar", result.dtype)
    if kind in (bool, int, float, complex):
        return ("python", np.dtype({bool: "?", int: "i8", float: "f8", complex: "c16"}[kind]))
    named = issubclass(kind, tuple) and hasattr(kind, "_make")
    if (kind is tuple or kind is list or named) and len(result) <= MOST_ITEMS:
        items = [_describe(item, holes, changed, opaque, samples) for item in result]
        if named:
            return ("named", items, kind)
        return ("tuple" if kind is tuple else "list", items)
    if result is None:
        return ("none",)
    return _object(result, holes, changed)


def _untyped(result, holes, changed):
    """Like `_describe`, where dtypes and classes of what comes are not sure either."""
    kind = type(result)
    if kind is tuple or issubclass(kind, tuple) and hasattr(kind, "_make"):
        items = [_untyped(item, holes, changed) for item in result]
        return ("tuple", items) if kind is tuple else ("named", items, kind)
    return _object(result, holes, changed)


def _checked(shape):
    """A description as `Call` needs it, without what keeps samples alive."""
    if shape[0] in _CONTAINERS:
        return (shape[0], [_checked(item) for item in shape[1]], *shape[2:])
    if shape[0] == "opaque":
        return ("opaque", shape[1].dtype, shape[1].ndim)
    return shape[:1]


def _is_called(shape):
    """Something comes of the call at run time: it is there to be made and checked."""
    if shape[0] in _CONTAINERS:
        return any(map(_is_called, shape[1]))
    return shape[0] not in ("hole", "view", "none", "constant")


def _shown(shape):
    """The holes that are given themselves, or whose memory is."""
    if shape[0] in _CONTAINERS:
        return set().union(*map(_shown, shape[1]))
    return {shape[1]} if shape[0] in ("hole", "view") else set()


def _is_settled(shape, function, holes, changed):
    """Whether what shows arguments depends on their types alone: no other one may be an axis or a flag."""
    shown = _shown(shape) - set(changed)
    if not shown or any(function is one for one in _OF_DATA):
        return True
    return all(
        number in changed or shown == {number} or _is_data(hole)
        for number, hole in enumerate(holes)
    )


def _is_data(hole):
    return isinstance(hole, np.ndarray) and hole.dtype.kind in "fc"


def _is_promised(shape):
    """The plan itself can check what comes: one array or number, or several of them in a row."""
    if shape[0] in ("tuple", "list"):
        return len(shape[1]) > 1 and all(item[0] in _PROMISED for item in shape[1])
    return shape[0] in _PROMISED


_BY_SHAPE = frozenset(
    getattr(owner, name)
    for owner, names in (
        (
            np,
            "concatenate stack vstack hstack dstack column_stack block broadcast_to broadcast_arrays "
            "atleast_1d atleast_2d atleast_3d reshape ravel transpose swapaxes moveaxis rollaxis "
            "expand_dims squeeze flip roll rot90 split array_split hsplit vsplit dsplit "
            "dot vdot inner outer tensordot einsum kron cross trace diagonal where "
            "sum prod cumsum cumprod mean std var min max amin amax ptp argmin argmax any all "
            "count_nonzero median average sort argsort diff take tile zeros ones empty full "
            "zeros_like ones_like full_like empty_like delete insert append",
        ),
        (
            np.ndarray,
            "reshape ravel flatten transpose swapaxes squeeze sum prod cumsum cumprod mean std var min "
            "max argmin argmax any all dot trace diagonal sort argsort take item astype view",
        ),
        (
            operator,
            "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift neg pos invert lt "
            "le gt ge getitem iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor "
            "ilshift irshift setitem",
        ),
    )
    for name in names.split()
)


# What these give depends on the dtypes of arrays and on the kinds of numbers alone.
_OF_TYPES = (np.result_type, np.can_cast, np.common_type, np.iscomplexobj, np.isrealobj)

# All arrays that these take are data: none is an axis, a shape or an index.
_OF_DATA = tuple(
    getattr(np, name)
    for name in "concatenate stack vstack hstack dstack column_stack block broadcast_arrays atleast_1d "
    "atleast_2d atleast_3d meshgrid ix_ dot vdot inner outer tensordot einsum kron cross where append "
    "average".split()
) + (np.ndarray.dot,)

_NUMBERS = (bool, int, float, complex)  # of an array of several elements
# What they give is of a class that depends on the classes of their arguments.
_GENERIC = frozenset(
    getattr(owner, name)
    for owner, names in (
        (builtins, "abs max min pow divmod round"),
        (
            operator,
            "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift neg pos invert lt le eq "
            "ne gt ge iadd isub imul itruediv ifloordiv imod ipow",
        ),
        (np, "negative positive invert absolute"),
    )
    for name in names.split()
)


def _is_generic(function):
    try:
        return function in _GENERIC
    except TypeError:  # not hashable
        return False


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


def _is_about_dimensions(error, specs):
    """Whether an error of np.linalg comes from the checks that look at shapes alone."""
    checks = ("_assert_2d", "_assert_stacked_2d", "_assert_square", "_assert_stacked_square")
    frame = error.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    return frame.tb_frame.f_code.co_name in checks and all(len(spec) == 4 for spec in specs)


def _refused(function, args, kwargs, specs, error):
    """Whether any arguments of these types raise just this."""
    kind = type(error)
    if kind is TypeError and not _takes(function, args, kwargs):
        return True
    if kind not in (ValueError, TypeError, IndexError, np.exceptions.AxisError) and not (
        isinstance(error, TypeError) and kind.__module__ == "numpy._core._exceptions"
    ):
        return kind is np.linalg.LinAlgError and _is_about_dimensions(error, specs)
    if error.__cause__ is not None or not (error.__context__ is None or error.__suppress_context__):
        return False
    name = getattr(function, "__name__", "")
    elementwise = isinstance(function, np.ufunc) or getattr(operator, name, 0) is function
    if not elementwise and function not in _NUMBERS and function not in _BY_SHAPE:
        return False
    first = args[0].number if args and type(args[0]) is Hole else None
    for number, spec in enumerate(specs):
        if spec[0] == "sample":
            return False
        if len(spec) == 2 and not elementwise:
            return False  # perhaps an axis or an index, or the error tells the number
        if len(spec) == 2 and spec[1].kind not in "fc" and not isinstance(function, np.ufunc):
            return False
        if len(spec) == 4 and not elementwise and function not in _OF_DATA:
            if number != first or function in (np.zeros, np.ones, np.empty, np.full):
                return False
        if len(spec) == 4 and spec[0].kind in "iu" and not isinstance(function, np.ufunc):
            index = function in (operator.getitem, operator.setitem, np.take, np.ndarray.take)
            if index or function in (np.delete, np.insert):
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


def _writes(function, args, kwargs, holes, changed):
    """Whether the call changes an array that it is not known to change: it is tried on read-only ones."""
    frozen = list(holes)
    for number, hole in enumerate(holes):
        if number not in changed and type(hole) is np.ndarray and hole.flags.writeable:
            frozen[number] = hole.view()
            frozen[number].flags.writeable = False
    if all(mine is hole for mine, hole in zip(frozen, holes)):
        return False
    try:
        function(*fill(args, frozen), **fill(kwargs, frozen))
    except Exception:
        return True
    return False


def _tried(function, args, kwargs, holes, changed, samples):
    """The call with these holes; once more with other elements where they make no regular matrix."""
    try:
        return function(*fill(args, holes), **fill(kwargs, holes))
    except np.linalg.LinAlgError:
        numbers = np.random.Generator(np.random.PCG64(1))
        for number, hole in enumerate(holes):
            if type(hole) is np.ndarray and number not in changed and hole.dtype.kind in "fc":
                if number in samples:  # which other trials take too
                    holes[number] = hole = hole.copy("K")
                writeable = hole.flags.writeable
                hole.flags.writeable = True
                hole[...] = numbers.uniform(1, 2, hole.shape)
                hole.flags.writeable = writeable
        return function(*fill(args, holes), **fill(kwargs, holes))


def trial(function, args, kwargs, specs, changed, opaque, untyped, direct):
    """(description, callable), or Unexpected or Refused: of the call with stand-ins of these specs.

    A spec is ("sample", object) of an argument that is known at run time only, (dtype, shape, strides,
    writeable), or (form, dtype) of a number.  Where a `Call` would add nothing (`direct`: it need not
    fill containers) the callable is the function itself.
    """
    holes, samples, elements, loose = [], set(), 0, False
    for number, spec in enumerate(specs):
        if spec[0] == "sample":
            spec = spec[1]
            if isinstance(spec, (*_NUMBERS, np.generic)) and _is_generic(function):
                loose = True
            elif not isinstance(spec, (Token, *_generators())):
                samples.add(number)
            if number in changed and type(spec) is not np.ndarray:
                raise Unexpected("a change of an object that is no array")
            if isinstance(spec, _generators()):
                spec = generator_like(spec)  # a trial may set its state, to zeros
            holes.append(spec.copy() if number in changed else spec)
        elif len(spec) == 4:
            elements += int(np.prod(spec[1], dtype=object))
            if elements > MOST_ELEMENTS:
                raise Unexpected("arguments that are too large to try")
            ordinary = number in changed or spec[0].kind not in "fc"
            holes.append(_stand_in(spec, ordinary))
            opaque = opaque or 0 in spec[1]
        else:
            holes.append(_number(spec))
    opaque = opaque or bool(samples - set(changed))
    flags = args[1:] if function is np.ndarray.astype else ()
    if any(type(flag) is Hole for flag in (*flags, kwargs.get("copy"), kwargs.get("subok"))):
        raise Unexpected("whether it copies depends on values")
    with warnings_as(1), np.errstate(all="ignore"):
        try:
            if isinstance(function, (Lookup, Get)):
                result = function.sample()
            else:
                result = _tried(function, args, kwargs, holes, changed, samples)
        except (ValueError, TypeError, IndexError) as error:
            if not _refused(function, args, kwargs, specs, error):
                raise
            raise Refused(error) from None
        if _writes(function, args, kwargs, holes, changed):
            raise Unexpected("a call that changes an argument")
    if any(function is one for one in _OF_TYPES) and _is_constant(result):
        return ("constant", result), function
    if not holes and _is_constant(result) and _is_silent(function, args, kwargs):
        return ("constant", result), function
    if result is None and not (changed or untyped or isinstance(function, Get)):
        raise Unexpected("no result")
    if kwargs.get("overwrite_input") or (
        function is np.nan_to_num and (args[1:] or "copy" in kwargs)
    ):
        raise Unexpected("a call that may change its argument")
    number = isinstance(result, (*_NUMBERS, np.generic))
    if (untyped or loose) and (number or result is None or isinstance(result, str)):
        shape = ("object", result, [])
        return shape, function if direct else Call(function, args, kwargs, ("object",), (), ())
    if untyped:
        shape = _untyped(result, holes, changed)
    else:
        always = any(function is one for one in _GIVE_ITSELF)
        with warnings_as(0):  # of flags that are looked at
            shape = _describe(result, holes, changed, opaque, samples, always)
        if opaque and shape[0] in _CONTAINERS and not _is_called(shape):
            raise Unexpected("a number of results that depends on values")
        if not _is_settled(shape, function, holes, changed):
            raise Unexpected("a view that depends on values")
        if not (changed or _is_called(shape) or _is_silent(function, args, kwargs, holes)):
            raise Unexpected("a call that warns")
    if direct and not changed and _is_promised(shape):
        return shape, function
    kind = DrawCall if type(function) is Draw else Call
    own = tuple(number for number in changed if number in samples)
    return shape, kind(function, args, kwargs, _checked(shape), changed, own)


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
