"""Differences that NumPy's own tests found, made small."""

import sys

import numpy as np
import pytest
from differential import check

import pycompile

X = np.array([-0.75, -2.0, 2.5])


def test_builtins_of_another_frame():
    """eval(text, {"__builtins__": {}}, mapping) calls a Python method in a frame without builtins."""

    class Names:
        def __getitem__(self, name):
            return X[: len(name)] * 2.0 + abs(-1) + sum([1, 2])

    names = Names()

    def f(x):
        return eval("abc", {"__builtins__": {}}, names) + x

    compiled = pycompile.compile(Names.__getitem__)
    Names.__getitem__ = compiled
    for _ in range(2):
        assert np.array_equal(f(1.0), X * 2.0 + 5.0)


@pytest.mark.parametrize(
    "text",
    [
        "x[rows] + x.sum()",
        "np.take(x, rows) + np.sort(x) * 2.0",
        "np.where(x > 0.0, x, -x).real + np.median(x)",
        "np.concatenate([x, x[::-1]]) * float(x[0])",
        "np.add.reduce(x[rows]) * int(rows[1])",
        "x.flat[rows] + np.full(3, x.max())",
        "np.log2(np.vstack([x, x * x]) + 5.0)[0][rows]",
        "np.nanmax(x) + np.arange(3) * x",
    ],
)
def test_a_caller_without_builtins(text):
    """Nothing of ours is imported by the running frame's __import__, which is not there."""
    rows = np.array([2, 0, 1])
    f = eval(f"lambda x, rows: {text}")
    expected = f(X, rows)
    compiled = pycompile.compile(f)
    space = {"__builtins__": {}, "f": compiled, "x": X, "rows": rows}
    for _ in range(2):
        assert np.array_equal(eval("f(x, rows)", space), expected)
    assert compiled.stats()["plan_runs"] > 0


def test_numpy_bools_are_one_object_each():
    def f(x):
        yes, no = x[0] < x[1], x[1] < x[0]
        return (yes | no) is yes, (yes & no) is np.False_, no is yes, yes is True, x * 2

    check(f, np.arange(4.0))


def test_clip_with_one_bound_raises():
    def f(x, way):
        y = x + 1.0
        if way == 0:
            return np.clip(y, 2)
        if way == 1:
            return np.clip(y, 1, 2, max=3)
        if way == 2:
            return np.clip(y, None, 2)
        return np.clip(y, min=2)

    for way in range(4):
        check(f, np.arange(4.0), way)


def test_calls_of_constants_warn_every_time():
    def f(x):
        return np.isnan(np.mean([])), np.std([]), np.log([-1.0, 0.0]), x * 2.0

    check(f, np.arange(4.0), captured=False)


def test_errors_of_a_foreign_ufunc_s_loop():
    from numpy._core import _umath_tests

    def f(x):
        return _umath_tests.always_error(x + 1.0, x) * 2.0

    def unary(x):
        return _umath_tests.always_error_unary(x + 1.0) * 2.0

    for function in (f, unary):
        check(function, np.arange(3.0), captured=False)
        check(function, np.arange(300000.0), captured=False)


@pytest.mark.slow
def test_bools_of_any_byte():
    """A byte that is not 0 is true, in vectors and in what is left of them; copies keep the bytes."""

    def f(d):
        sums = d.sum(), d[::2].sum(), d[::-2].sum(), np.count_nonzero(d[::3]), d[1::2].mean()
        arrays = d[::2] + 1, d[::2] & d[1::2], np.cumsum(d[::2]), d[::2].astype(np.uint8), ~d[::2]
        return *sums, *arrays, np.where(d[::2], 1.0, 2.0), d[::2].copy().view(np.uint8)

    def loop(d):
        total = 0
        for i in range(len(d)):
            if d[i]:
                total += 1
        return total

    for length in (1, 7, 200, 4099):
        check(f, np.frombuffer(b"\xff\x02" * length, dtype=bool))
        check(loop, np.frombuffer(b"\xff\x02" * length, dtype=bool), captured=False)


def test_positional_out():
    """out= by position is written, whether the function is a step, has a rule or does not say."""
    calls = {
        "take": lambda x, o: np.take(x, [1, 0], 0, o[:2]),
        "median": lambda x, o: np.median(x, 0, o[0]),
        "nansum": lambda x, o: np.nansum(x, 0, None, o[0]),
        "choose": lambda x, o: np.choose([0, 1, 0, 1], [x[0], x[1]], o[0]),
        "ndarray.choose": lambda x, o: np.array([0, 1, 0, 1]).choose([x[0], x[1]], o[0]),
        "ndarray.compress": lambda x, o: x.compress([True, False, True], 0, o[:2]),
        "ndarray.take": lambda x, o: x.take([1, 0], 0, o[:2]),
        "dot": lambda x, o: np.dot(x, x.T, o[:, :3].copy()),
        "stack": lambda x, o: np.stack([x[0], x[1], x[2]], 0, o),
        "cumsum": lambda x, o: np.cumsum(x, 0, None, o),
        "clip": lambda x, o: x.clip(1, 5, o),
        "any": lambda x, o: x.any(0, np.zeros(4, bool)),
        "conj": lambda x, o: x.conj(o),
        "quantile": lambda x, o: np.quantile(x, 0.5, 0, o[0]),
        "fft": lambda x, o: np.fft.fft(x, None, -1, None, np.zeros((3, 4), complex)),
        "reduceat": lambda x, o: np.add.reduceat(x, [0, 1], 0, None, o[:2]),
        "partition": lambda x, o: o.partition(1, 0),
    }
    for name, call in calls.items():

        def f(x, o, call=call):
            y = x * 2.0
            r = call(y, o)
            return r, y, o, r is o

        f.__name__ = name
        check(f, np.arange(12.0).reshape(3, 4), np.zeros((3, 4)))

    def conjugate(a):
        out = np.empty_like(a)
        res = a.conjugate(out)
        return out, res is out, a.conj(out) is out

    check(conjugate, np.array([1 - 1j, 1 + 1j, 23 + 23.0j]))


def test_what_takes_no_keywords():
    def f(x, way):
        y = x + 1.0
        try:
            match way:
                case 0:
                    return y, np.where(x, x=x, y=x)
                case 1:
                    return y, np.where(condition=x, x=x, y=y)
                case 2:
                    return y, np.concatenate(arrays=[x, y])
                case 3:
                    return y, x.swapaxes(axis1=0, axis2=0)
                case 4:
                    return y, np.matmul(x1=x, x2=y)
                case 5:
                    return y, x.dot(b=y)
                case 6:
                    return y, np.reshape(a=x, shape=(3, 1))
                case 7:
                    return y, np.astype(x=x, dtype=int)
                case _:
                    return y, x.conj(out=y)
        except TypeError:
            return y, "refused"

    for way in range(9):
        check(f, np.arange(3.0), way)


def test_integers_become_the_dtype_asked_for():
    """Not by way of the dtype that NumPy would choose for the list."""

    def f(x):
        return np.array([9923372036854775807, 104783749223640], dtype=np.uint64), x + 1

    check(f, np.arange(3.0))

    def g(x, value, dtype):
        y = x + 1
        try:
            return y, np.array([value], dtype=dtype)
        except OverflowError as error:
            return y, str(error)

    for letter in np.typecodes["AllInteger"]:
        limits = np.iinfo(letter)
        for value in (limits.min - 1, limits.min, limits.max, limits.max + 1):
            check(g, np.arange(3.0), value, np.dtype(letter), captured=False)


def test_numbers_with_fields_are_no_numbers():
    dtype = np.dtype(("i4", [("a", "<i2"), ("b", "<i2")]))

    def f(x):
        made = np.zeros(4, dtype)
        return x + 1, repr(made), made.dtype.fields is not None, made

    def g(x, fields):
        return x * 2.0, fields + 1, repr(fields), fields["a"]

    check(f, np.arange(3.0))
    check(g, np.arange(3.0), np.arange(4, dtype="i4").view(dtype))


def test_no_memory_for_it():
    """Nobody reads the array, but that it cannot be made is seen."""

    def f(x, way):
        y = x + 1
        try:
            if way == 0:
                np.empty(np.iinfo(np.intp).max, dtype=np.uint8)
            elif way == 1:
                np.array(np.broadcast_to(np.array(0, "uint8"), 2**62))
            elif way == 2:
                np.broadcast_to(x[0], 2**50) + 1.0
            else:
                np.tile(x, 2**50)
        except MemoryError as error:
            return y, type(error), str(error)
        return y

    for way in range(4):
        check(f, np.zeros(1), way)


def test_astype_without_a_copy():
    def f(a):
        b = a.T
        same = [a.astype("f8", order=order, copy=False) is a for order in "KACF"]
        same += [b.astype("f8", order=order, copy=False) is b for order in "KACF"]
        return same, a.astype("f8", order="F", copy=False), a + 1

    square = np.arange(12.0).reshape(3, 4)
    for array in (square, square.T, square[::2, ::2], np.ones(3), np.ones((1, 4)), np.ones(())):
        check(f, array)


def test_lists_that_contain_themselves():
    def f(x, way):
        y = x + 1
        itself = []
        itself.append(itself)
        try:
            match way:
                case 0:
                    return y, np.array([itself, itself], dtype=object).shape
                case 1:
                    return y, np.array(itself, dtype=float)
                case 2:
                    return y, np.sort(itself)
                case 3:
                    return y, y[itself]
                case 4:
                    return y, np.ones(itself)
                case _:
                    return y, x + itself
        except (ValueError, TypeError, IndexError) as error:
            return y, type(error)

    for way in range(6):
        check(f, np.arange(3.0), way, captured=False)


def test_arguments_that_are_not_known_are_not_kept_alive():
    """An object without weak references, as object() is, would live as long as the plan."""

    def f(x):
        thing = object()
        before = sys.getrefcount(thing)
        array = np.array([thing, thing], dtype="O")
        del array
        return before, sys.getrefcount(thing), x + 1

    compiled = pycompile.compile(f)
    for _ in range(3):
        before, after, _ = compiled(np.arange(3.0))
        assert before == after


def test_smallest_integer_has_no_absolute_value():
    def f(x, smallest):
        return abs(smallest), abs(x[0]), np.abs(smallest), abs(x), -smallest, abs(np.int16(-32768))

    for letter in "bhilB":
        dtype = np.dtype(letter)
        smallest = np.iinfo(dtype).min
        check(f, np.array([smallest, 1], dtype), dtype.type(smallest), captured=False)


def test_which_scalars_are_the_same_object():
    def f(x, s):
        same = s.to_device("cpu") is s, s.conj() is s, s.real is s, s.copy() is s, s.T is s
        return same, s.squeeze() is s, s.round() is s, s.transpose() is s, s.view() is s, x * 2.0

    for scalar in (np.float64(2.0), np.complex128(1j), np.int64(3), np.float32(2), np.bool(1)):
        check(f, np.arange(3.0), scalar)


@pytest.mark.slow
def test_python_numbers_are_cast_to_dtype_as_their_kind_allows():
    def f(x, number, dtype):
        y = x + 1.0
        try:
            return (
                y,
                np.add(number, number, dtype=dtype),
                np.multiply(x[:1] > 9, number, dtype=dtype),
            )
        except TypeError as error:
            return y, str(error)

    for number in (True, 1, 1.5, 1j):
        for dtype in (bool, np.int8, np.uint8, np.float32, np.complex64):
            check(f, np.arange(3.0), number, np.dtype(dtype))


def test_ranges_of_one_element_of_computed_length():
    """The row has no stride, and its vectors must be C all the same."""

    def f(x, v):
        total = int(v * (v + 1) / 2)
        return np.sum(np.arange(1, v + 1, dtype=int)), total, x * 2.0

    check(f, np.arange(3.0), 1, also=((np.arange(3.0), 0), (np.arange(3.0), 40)))


def test_where_of_a_constant_condition():
    """What is not chosen is cast all the same, and warns."""

    def f(x, e):
        y = x + 1
        return np.where(True, x, e), np.where(False, 1e150, x), y

    check(f, np.ones(2, "f4"), 1e150, captured=False)
    check(f, np.ones(2, "f4"), 2.5, captured=False)


def test_the_error_of_a_method_of_c_code_names_the_class():
    """After a break the method is called as CPython has it on the stack: function and object."""

    def array(x):
        return (x * 2.0).swapaxes(axis1=0, axis2=0)

    def bound(x):
        method = (x * 2.0).swapaxes
        return method(axis1=0, axis2=0)

    def made(x):
        return [1].append(x=x.sum()), x * 2.0

    def text(x):
        return ",".join(x * 2.0, 1), x * 2.0

    def attribute(x):
        class Holder:
            pass

        holder = Holder()
        holder.swapaxes = (x * 2.0).swapaxes
        return holder.swapaxes(axis1=0, axis2=0)

    for function in (array, bound, made, text, attribute):
        assert isinstance(check(function, X, captured=False).raised, TypeError)


def test_a_tuple_that_numpy_made_is_another_one_in_each_run():
    def f(x):
        return np.broadcast_shapes((3, 1), (1, 4)), x * 2.0 + 1.0

    compiled = pycompile.compile(f)
    shapes = [compiled(X)[0] for _ in range(3)]
    assert shapes == [(3, 4)] * 3 and len(set(map(id, shapes))) == 3
