"""Programs that once could be told from plain, most of them found by test_stress.py."""

import collections
import functools
import math
import re
import warnings

import numpy as np
import pytest
from differential import check

import pycompile

X = np.array([-0.75, -2.0, 2.5])


def unused_sqrt(x, s):
    x1 = np.sqrt(x)  # noqa: F841
    return x * 2


def unused_write(x, s):
    x1 = np.maximum(x, s)
    x2 = x1[1:, None]
    x2 *= 1e308
    return x


@pytest.mark.parametrize("function", [unused_sqrt, unused_write])
def test_what_nobody_uses_still_warns(function):
    assert check(function, X, 3.0, captured=False).warned


def spread(x, y):
    return x + y, (x * 2).sum(axis=-1), y - x


@pytest.mark.parametrize("dtype", ["f8", "i2", "b1"])
def test_rows_without_elements(dtype):
    check(spread, np.ones((3, 0), dtype), np.ones((3, 1), "f4"), captured=False)
    check(spread, np.ones(0, dtype), np.ones((3, 1), "i2"), captured=False)
    check(spread, np.ones((0, 3), dtype), np.ones(3, "i2"), captured=False)


def view_of_written(x, y):
    x[:] = y + 1
    z = x[:-1]
    z *= 2
    print()
    return z


def test_a_view_made_after_a_write_is_of_the_very_memory():
    check(view_of_written, X, X + 1)


def reduced(x, axis):
    return x.prod(axis=axis)


def test_a_bool_is_no_axis():
    check(reduced, np.ones((2, 3)), 1, also=((np.ones((2, 3)), True),))


def one_element(x, y):
    z = x * 2
    z[0] = y
    return z


def test_one_element_takes_no_sequence():
    check(one_element, X, np.array([1.5]), also=((X, np.array(1.5)), (X, [1.5])))


def complex_scalars(x, c):
    d = 2 * c
    return x + d * c, d - c


def test_python_complex_numbers():
    check(complex_scalars, X, 1j, also=((X, 2.0), (X, 1 - 2j), (X, 3)))


def unused_int(x, y):
    a = int(x.max())  # noqa: F841
    return y * 2


def test_a_conversion_that_nobody_uses_still_fails():
    check(unused_int, X, X, also=((X * np.nan, X),))


G = 1.0


def namespace_by_dict(x, c):
    y = x * 2
    globals()["G"] = c
    return y + G


def test_globals_changed_by_their_dict():
    check(namespace_by_dict, X, 1.5, also=((X, 2.5),))


def scaled(x, s):
    return x * s


def test_the_scalar_operand_of_an_empty_array_is_cast():
    empty = np.empty(0, np.float16)
    assert check(scaled, empty, 1e308, captured=False).warned
    check(scaled, empty, 2.0, captured=False)


def divided(x, y):
    a = x.max()
    return y / y, a, x * 2


def test_loops_of_ufuncs_leave_the_flags_of_others():
    x, y = np.ones(3, np.float32), np.array([3, 0.75, 0], np.float32)
    assert check(divided, x, y, captured=False).warned
    check(divided, x, x)


def converted(x):
    y = x + 1
    return float(y.sum()), int(y.max()), bool(y.min()), y


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "?", "F", "D"])
def test_scalars_of_every_dtype_as_python_scalars(dtype):
    check(converted, np.ones(3, dtype), captured=False)


def truth(x):
    y = x * 2
    return bool(y.sum()), bool(y[0]), y if y[1] else x


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "?", "F", "D"])
def test_truth_of_every_dtype(dtype):
    check(truth, np.ones(3, dtype), captured=False)


def stored_scalar(x, s):
    y = x * 1
    y[0] = s
    y[1:] = s
    return y


@pytest.mark.parametrize("dtype", ["i2", "u1", "u8", "i8", "f4"])
def test_scalars_stored_in_integers_must_fit(dtype):
    x = np.arange(3).astype(dtype)
    values = (
        2,
        70000.0,
        -1.5,
        300,
        1e30,
        np.float64(70000),
        np.int64(300),
        np.int64(-1),
        True,
        2.5,
    )
    check(stored_scalar, x, 1, also=tuple((x, value) for value in values), captured=False)


def stored_in_loop(x, y):
    for i in range(1, len(x)):
        x[i] = 1.5 * x[i - 1] + y[i]
    return x


def test_results_stored_in_integers_must_fit():
    x = np.array([1, 30000, 3], np.int16)
    check(stored_in_loop, x, x, captured=False)


def negated(x, s):
    return x * 2, -s, x + -s


def test_negative_complex_numbers():
    check(negated, X, 1j, also=((X, 2.5), (X, 3), (X, True)))


def root(x, s):
    y = x * 2
    return y + math.sqrt(s)


def test_a_complex_scalar_taken_as_real_warns_at_its_line():
    check(root, X, np.complex64(1 + 2j), also=((X, 2.0), (X, np.float32(2)), (X, np.complex128(2))))


def test_code_that_goes_away_during_its_own_call():
    def first(x, change):
        y = x * 2
        change()
        return y + 1

    def second(x, change):
        return x * 3

    compiled = pycompile.compile(first)
    nothing = lambda: None  # noqa: E731
    compiled(X, nothing)
    compiled(X, nothing)

    def change():
        first.__code__ = second.__code__
        assert compiled(X, nothing).tobytes() == (X * 3).tobytes()

    assert compiled(X, change).tobytes() == (X * 2 + 1).tobytes()
    assert compiled(X, nothing).tobytes() == (X * 3).tobytes()


def test_a_list_on_the_stack_at_an_entry_becomes_a_tuple():
    def f(x, n):
        def three(a, *more, z):
            return a * len(more) + z

        return three(x, *(n, pycompile.graph_break(), 2), z=x.sum())

    check(f, np.arange(4.0), 3)


def test_a_tuple_added_to_a_set_from_outside_stays_a_tuple():
    seen = set()

    def f(x, n):
        key = (n, len(x))
        seen.add(key)
        return x + 1

    compiled = pycompile.compile(f)
    for _ in range(3):
        compiled(X, 2)
    assert seen == {(2, len(X))}


def test_a_reshape_that_copies_a_view_reads_the_copy_from_its_start():
    def f(x):
        y = x + 1.0
        return np.cumsum(y[::-1]), y[::-1].ravel(), y[1:, ::-1].reshape(-1), x.T.ravel()[1:]

    check(f, np.arange(12.0).reshape(3, 4), whole=True)


def test_signs_of_nan_are_those_of_the_operations_written():
    def f(x, y):
        return x * -1.0, x / -1.0, x - (-y), (-x) * (-y), (-x) / (-y), x + (-y), -(x - y)

    for dtype in ("f4", "f8", "c8", "c16"):  # of two NaN, which one wins depends on the place
        x = np.array([np.nan, -np.nan, np.inf, 1.0] * 5, dtype)
        y = np.array([1.0, 2.0, np.inf, -np.nan] * 5, dtype)
        with np.errstate(all="ignore"):
            check(f, x, y, whole=True)


def test_ravel_is_a_view_of_what_was_written():
    def f(x):
        a = (x + 1)[:, 0]
        a[-2:] -= 2
        return a, a.ravel()

    check(f, np.arange(4.0).reshape(1, 4), whole=True)


def test_a_loop_that_changes_a_list_is_unrolled():
    def f(x):
        kept = [x, x + 1]
        for i in range(3):
            x[i] += 1.0
            kept.reverse()
        return kept, x

    check(f, np.arange(4.0))


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape) - 2.0


def test_an_array_of_unknown_length_added_to_a_row():
    def f(x):
        a = np.unique(x)
        b = np.outer(x, x)
        b[0] += a
        np.add(b[1], a, out=b[2])
        return b

    check(f, counted(4), captured=False)


@pytest.mark.parametrize("function", [np.cbrt, np.negative, np.arctan, np.isnan])
def test_a_cast_operand_is_iterated_in_its_own_order(function):
    def f(x, y):
        return function(x), function(y), np.power(x, y), np.add(x, y * 1.0)

    for dtype in ("u1", "f4", "i8"):
        x = np.asfortranarray(np.arange(12).reshape(3, 4).astype(dtype))[:, None]
        with np.errstate(all="ignore"):
            check(f, x, x.T)


def test_a_view_of_all_of_a_result_is_another_object():
    def f(x):
        a = x.argmax(axis=0, keepdims=True)
        b = a.swapaxes(0, -1)
        b[-1] = 7
        return a, b

    check(f, counted(4), whole=True)


def test_what_is_broadcast_from_a_written_array_is_read_only():
    def f(x):
        x[0] = 5
        wide = np.broadcast_to(x, (2,) + x.shape)
        return wide, wide[0], wide.flags.writeable

    check(f, counted(3), whole=True)
    check(f, counted(1, 4), whole=True)


def test_dot_with_a_number_adds_to_zeros():
    def f(x, s):
        return np.dot(s, x), np.dot(x, s), x.dot(-2.0)

    check(f, np.array([[0.0, -0.0, 1.0]]), np.asarray(-1.0))
    check(f, np.array([0, 1, 2]), np.asarray(-1))


def test_what_an_index_array_gives_stays_the_array_it_is_when_written():
    def f(x, y):
        a = x[:, [0, -1]]  # NumPy's result is a view of a transposed array
        a += y
        b = x[:, [0, -1]]
        b[:, ::-1] = b
        c = (y > 0).any(axis=-1, keepdims=True)[:, [0, 0]]
        np.less(x[:, :2], y, out=c)
        return a, b, c

    check(f, counted(3, 4), counted(3, 1), whole=True)


def test_what_was_assigned_is_what_it_was_then():
    def f(x, y):
        a = y + 1
        x[:] = a
        a += 5
        b = y[[1, 0, 1]]
        y[:] = b
        b -= 7
        return a, b

    check(f, counted(3), counted(3), whole=True)


def test_a_view_that_is_written_and_assigned_elsewhere():
    def f(x, y):
        a = x.ravel()
        a[::2] = y[0, :2]
        y[::-1] = a
        a -= 3
        return a

    check(f, counted(1, 4)[::-1].copy()[::-1], counted(1, 4) * 2, whole=True)


def test_a_product_with_itself_of_a_written_array_with_gaps():
    def f(x):
        x[-1] = 0.1
        return np.inner(x, x), np.dot(x[0], x[0].T)

    wide = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("f4")
    check(f, wide[..., ::2], whole=True)


def test_what_nonzero_gives_is_written_in_place():
    def f(x):
        a = np.nonzero(x)[0]
        a += a
        return a

    check(f, counted(3, 4), captured=False)


def test_a_number_of_an_array_written_in_place_afterwards():
    def f(x, y):
        total = np.asarray(x.sum())
        total *= total
        return total, y / total, (y + 1) / total

    check(f, np.arange(4.0), np.arange(5.0), whole=True)


def test_a_slice_of_nothing_has_the_strides_of_step_one():
    def f(x):
        return x + 1, x[1:1], x[3:1:2], x[1:1][::2], x[:, 2:2:-1]

    check(f, counted(4, 3)[::-1], whole=True)


def test_a_ufunc_that_warns_of_a_third_operand():
    def f(x, y):
        return np.maximum(x, y), np.minimum(x, y)

    x = np.asfortranarray(counted(3, 4).astype("f2"))
    check(f, x, x[::-1], whole=True)


@pytest.mark.parametrize("dtype", ["f2", "c8"])
def test_sums_beside_what_no_vector_holds(dtype):
    def f(x, y):
        a = np.arctan(x)
        return a.astype(dtype), a.mean(), np.arctan(y), y.conj(), x.sum(), x.var()

    rng = np.random.default_rng(3)
    for shape in ((2, 3, 4), (5, 37), (3, 300)):
        check(f, rng.normal(size=shape).astype("f4"), np.ones(shape, dtype), whole=True)


def test_a_written_view_that_is_operand_and_output_of_a_step():
    def f(x):
        a = (x + 1)[::-1]
        b = np.unique(x)  # of unknown length
        a += b
        np.not_equal(a, b + 2, out=a)
        np.add(a, b, out=a)
        return a

    check(f, counted(4), captured=False)


@pytest.mark.parametrize("function", [np.abs, lambda x: np.copysign(x, 1.0)])
def test_products_of_absolute_values_keep_the_sign_of_nan(function):
    def f(x):
        a = function(x + 0)
        return a * a, a**2

    for dtype in ("f8", "f4"):
        check(f, np.array([-np.nan, np.nan, -1.0], dtype), whole=True)


def test_a_cast_beside_what_runs_backwards():
    def f(a, b):
        return np.arctan2(a, b[::-1]), np.arctan2(a, b) + 1

    rng = np.random.default_rng(0)
    check(f, rng.integers(1, 6, (2, 1)), rng.normal(size=12))


def code_after_a_call(function):
    function()
    return function.__code__


def test_the_code_of_a_function_that_was_called():
    def f(x, function):
        return x + 1, code_after_a_call(function)

    def one():
        return 1

    check(f, X, one, captured=False)


def test_methods_that_are_none_block_what_is_inherited():
    class Equal:
        def __eq__(self, other):
            return True

        def __add__(self, other):
            return 1

    class Blocked(Equal):
        __ne__ = None
        __iadd__ = None

    def f(x, left, right):
        if left != right:
            return x + 1
        return x * 2

    def g(x, left):
        left += 1
        return x * left

    check(f, X, Equal(), Equal(), captured=False)
    check(f, X, Equal(), Blocked(), captured=False)
    check(g, X, Equal(), captured=False)
    check(g, X, Blocked(), captured=False)


def test_a_pattern_names_an_attribute_twice():
    class Pair:
        __match_args__ = ("a", "a")
        a = 1

    def f(x, pair):
        match pair:
            case Pair(y, z):
                return x * y, z
        return x + 1

    check(f, X, Pair(), captured=False)


def test_what_an_iterator_of_the_program_returns():
    class Ends:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration(42)

    def f(x):
        def numbers():
            last = yield from Ends()
            yield last

        return [x * number for number in numbers()]

    check(f, X)


def test_a_range_backwards_is_a_range():
    def f(x):
        it = reversed(range(10, 20, 3))
        first = next(it)
        return x * first, it, list(reversed(range(0))), list(reversed(range(7, -7, -2)))

    check(f, X)


def test_a_wrapper_has_the_annotations_of_what_it_wraps():
    def f(x):
        def inner():
            return 1

        @functools.wraps(inner)
        def outer():
            return inner()

        return x * outer(), outer.__annotations__ is inner.__annotations__

    check(f, X, captured=False)


def test_a_cell_as_self():
    class Base:
        def method(self, x):
            return x + 1, super()

    compiled = pycompile.compile(Base.method)
    (cell,) = compiled.__closure__
    for function in (Base.method, compiled):
        with pytest.raises(TypeError):
            function(cell, X)


def test_a_length_hint_is_asked_for():
    asked = []

    class Walked:
        def __init__(self):
            self.left = 2

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

        def __length_hint__(self):
            asked.append(1)
            return 2

    def f(x):
        return x * len(list(Walked())), len(asked)

    compiled = pycompile.compile(f)
    f(X), compiled(X), compiled(X)
    assert len(asked) == 3


class Counted:
    """Says when it is asked for its length, which list() and its like do."""

    def __init__(self, length=2):
        self.length = length

    def __iter__(self):
        return iter([1, 2])

    def __len__(self):
        print("length")
        if self.length is None:
            raise TypeError("nobody sees this")
        if self.length == "none":
            raise ValueError("no length")
        return self.length


class CountedList(list):
    def __len__(self):
        print("length of a list")
        return 5


def extended(items):
    out = [0]
    out.extend(items)
    return out


def extended_in_place(items):
    out = [0]
    out += items
    return out


def star(*items):
    return items


@pytest.mark.parametrize(
    "items", [Counted(), Counted(None), Counted("none"), Counted(-1), CountedList([1, 2])]
)
@pytest.mark.parametrize(
    "take",
    [
        list,
        tuple,
        sorted,
        extended,
        extended_in_place,
        lambda items: [*items, 3],
        lambda items: star(*items),
        set,
        sum,
        lambda items: [item + 1 for item in items],
    ],
)
def test_a_length_is_asked_for_where_cpython_does(take, items):
    def f(x, items):
        y = x + 1
        return take(items), y * 2

    check(f, X, items, captured=False)


def test_a_class_gets_a_length_hint_later():
    class Walked:
        def __iter__(self):
            return iter([1, 2])

    asked = []

    def hint(self):
        asked.append(self)
        return 2

    def f(x, items):
        return x + 1, list(items)

    check(f, X, Walked(), whole=True)
    compiled = pycompile.compile(f)
    compiled(X, Walked())
    Walked.__length_hint__ = hint
    compiled(X, Walked())
    assert len(asked) == 1


def test_builtins_of_a_function_cannot_be_set():
    def f(x, function):
        y = x * 2
        try:
            function.__builtins__ = 2
        except AttributeError:
            y = x * 3
        return y

    check(f, X, lambda: 1, captured=False)


def test_a_plan_keeps_no_bound_method_of_c_alive():
    import array
    import weakref

    class Held(array.array):
        pass

    def f(x, held):
        text = held.tobytes()
        return x + len(text)

    compiled = pycompile.compile(f)
    held = Held("d", [1.0, 2.0])
    for _ in range(3):
        compiled(X, held)
    gone = weakref.ref(held)
    del held
    assert gone() is None


def test_a_method_of_a_deque_whose_argument_breaks():
    def f(x):
        b = collections.deque([x], maxlen=2)
        c = collections.Counter("aba")
        push, common = b.append, c.most_common
        b.appendleft((x * 2, pycompile.graph_break())[0])
        push(x + 1)
        c.update(pycompile.graph_break() or "b")
        return list(b), common(1), c

    check(f, counted(4))


@pytest.mark.parametrize("other", [lambda x: x, lambda x: x * 2])
def test_is_of_what_a_branch_chose(other):
    def f(x, y):
        z = y + 1
        chosen, made = y if (x > 0).any() else other(x), z if (x > 0).any() else other(x)
        return x + 1, chosen is y, made is z

    check(f, X, counted(3))
    check(f, np.array([-1.0, -2.0, -3.0]), counted(3))


def test_tuples_are_new_at_each_run_of_a_plan():
    def f(x, n):
        log = []
        for i in range(3):
            x = x + i
            log += [divmod(n, 3), x.shape, x.strides, (0.5).as_integer_ratio(), (1, 2)]
            pycompile.graph_break()
        return x, log

    check(f, counted(3), 5)


def test_a_pattern_that_warns_does_so_where_it_is_compiled():
    def f(x):
        return x * len(re.findall("[[a]", "[a"))

    def g(x):
        re.purge()
        return f(x)

    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        for function in (g, pycompile.compile(g), pycompile.compile(g)):
            function(X)
    assert [(w.category, w.filename) for w in log] == [(FutureWarning, __file__)] * 3


def test_a_member_that_is_null_is_no_attribute():
    import io
    import pickle

    def f(x, pickler):
        return x + hasattr(pickler, "dispatch_table")

    compiled = pycompile.compile(f)
    pickler = pickle.Pickler(io.BytesIO())
    for _ in range(2):
        assert np.array_equal(compiled(X, pickler), f(X, pickler))


def test_an_iterator_over_a_list_that_grew_in_the_plan():
    def f(x, found):
        for i in range(4):
            found.append(i)
        walked = iter(found)
        next(walked)
        return x + next(walked), list(map(int, walked)), walked

    def g(x, found):
        for i in range(4):
            found.append(i)
        walked = iter(found)
        return x + next(walked), walked

    check(f, X, [], captured=False)
    compiled = pycompile.compile(g)
    for _ in range(3):
        assert list(compiled(X, [])[1]) == [1, 2, 3]


@pytest.mark.parametrize("function", [np.fmax, np.fmin])
def test_zeros_of_fmax_beside_a_broadcast_and_a_cast(function):
    def f(x, y, n):
        backwards = function(np.ceil(x[:, ::-1]), x)
        return function(np.ceil(x), y), function(n, y), function(x.T, x.T[::-1]), backwards

    rng = np.random.default_rng(1)
    x, y = (rng.choice([0.0, -0.0, 1.0], shape) for shape in ((5, 7), 7))
    check(f, x, y, rng.integers(0, 2, (2, 5, 7)))


def test_a_recurrence_of_scalars_is_looked_through_once():
    def f(x, a, b):
        for _ in range(60):
            a, b = b, a + b * 0.5
        return x * a + b

    def g(x, a, b):
        if x.sum() > 0:
            for _ in range(60):
                a, b = b, a + b * 0.5
        return x * a + b

    check(f, X, 1.0, 2.0)
    check(g, X, 1.0, 2.0)


def test_a_ring_of_contexts():
    def f(x):
        try:
            try:
                raise ValueError(1)
            except ValueError as error:
                error.__context__ = error
                raise TypeError(2) from None
        except TypeError as error:
            y = x + len(error.args)
        return y

    def g(x):
        try:
            f(x)
            raise KeyError(1)
        except KeyError as error:
            return x * len(error.args)

    check(f, X, captured=False)
    check(g, X, captured=False)


def test_keys_of_comparisons_leave_with_what_they_compare():
    def f(x):
        make = functools.cmp_to_key(lambda a, b: b - a)
        keys = [make(i) for i in range(3)]
        return x + 1, keys, make

    compiled = pycompile.compile(f)
    for _ in range(3):
        _, keys, make = compiled(X)
        assert [key.obj for key in sorted(keys)] == [2, 1, 0]
        assert sorted([1, 3, 2], key=make) == [3, 2, 1]


def test_an_empty_array_that_is_flipped_keeps_its_stride():
    def f(x, y):
        return np.flip(x), y + 1

    check(f, np.zeros((3, 2))[:0, 0], X)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_loops_of_numpy_see_all_equal_elements(dtype):
    """np.square of one complex number has other bits than of four equal ones."""
    rng = np.random.default_rng(5)
    z = (rng.normal(size=64) + 1j * rng.normal(size=64)).astype(dtype)

    def f(x):
        return np.square(x), np.square(x) + 1

    for number in z:
        check(f, np.broadcast_to(number, (4,)))


@pytest.mark.parametrize("divisor", [3, -3, 0, -1, np.int64(5), np.array(7, "u1")])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8"])
def test_integers_divided_by_one(dtype, divisor):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 0, 1, 7, 100] * 12, dtype)

    def f(x, d):
        return x // d, (x // d + 1) % 5

    check(f, x, divisor, captured=False)
    check(f, x[::-2], divisor, captured=False)


def test_what_squeeze_gives_depends_on_how_many_were_picked():
    def f(x):
        picked = x[x > 0]
        column = picked.reshape(-1, 1)
        pairs = x[:3, None] * picked
        squeezed, flat = pairs.squeeze(), np.ascontiguousarray(column.T)
        squeezed += 1
        return picked, column, pairs, squeezed, flat, picked.squeeze(), np.asarray(picked)

    for positive in (3, 1, 0, 2, 1):
        check(f, np.where(np.arange(4) < positive, 2.0, -1.0), captured=positive > 1)


NUMBERS = re.compile(r"(?P<fill>[*_])?(?P<width>\d+)?")


def test_what_a_pure_call_gives_is_a_new_dict_each_time():
    def parse(x, text):
        found = NUMBERS.match(text).groupdict()
        was = dict(found)
        found["fill"] = found["fill"] or " "
        found["seen"] = True
        return x + len(found), was, found

    for text in ("12", "12", "*3", "12"):
        check(parse, X, text, captured=False)


def test_what_a_pure_call_gives_is_a_new_iterator_each_time():
    def parts(x, text):
        return x, [found.group() for found in NUMBERS.finditer(text)]

    for _ in range(2):
        check(parts, X, "*1_2", captured=False)


def sum_of_choices(x, y):
    return np.where(x > 0, x / y, y * x).sum(axis=1), x


def test_a_choice_of_what_takes_two_registers():
    """Sums take eight elements at a time: of float64 they are several registers, which asm has no
    operand for."""
    x = np.random.default_rng(0).standard_normal((5, 99))
    check(sum_of_choices, x, x + 9, whole=True)


def test_text_that_is_compared_with_what_a_jump_brings():
    """What stands before the comparison is a constant in one of two ways only."""

    def f(x, mode, other, chosen):
        if (other if chosen else "b") == mode:
            return x + 1
        return x * 3

    for other in ("a", 3):
        calls = [(X, mode, other, chosen) for chosen in (True, False) for mode in "abcab"]
        calls += [(X, 3, other, True), (X, "a", "a", True)]
        check(f, *calls[0], also=tuple(calls[1:]))


def test_a_file_whose_name_has_no_utf8():
    """As os.fsdecode gives it: a byte that is no UTF-8 becomes a lone surrogate."""
    namespace = {}
    source = "def f(x):\n    y = x + 1\n    return eval('2') * y"
    exec(compile(source, "caf\udce9.py", "exec"), namespace)
    check(namespace["f"], X, breaks=["PC0002"])


def test_an_int_of_more_than_64_bits_is_compared():
    def function(x, n):
        wide = 2**63
        y = x * 2.0
        if wide > n:
            y = y + 1.0
        return (
            y,
            n == wide,
            n != -wide,
            -wide <= n,
            n >= wide,
            n < wide,
            True < wide,
            n + 0.5 < wide,
        )

    check(
        function, np.arange(3.0), 1, also=((np.arange(3.0), -(2**63)), (np.arange(3.0), 2**63 - 1))
    )


@pytest.mark.parametrize("p", [np.arange(1), np.arange(5), np.arange(1.0)])
def test_what_a_bool_selects_as_a_number(p):
    def truth(p, i):
        return 1 if p[i] != i else 2

    def number(p, i):
        return int(p[i])

    for function in (truth, number):
        check(function, p, True, also=((p, False), (p, 0)), captured=False)


def test_a_filled_array_that_a_kept_loop_only_reads():
    def vector(x):
        y, s = np.full(10, 2.0), 0.0
        for i in range(len(x)):
            s += y[i] * x[i]
        return s

    def row(x):
        y, s = np.ones((10, 3)), 0.0
        for i in range(len(x)):
            if x[i] > 0.0:
                for j in range(3):
                    s += y[i, j] * x[i]
        return s

    def through(x):
        y, s = np.ones(3), 0.0
        for v in y:
            s += v * x[0]
        z = y[::-1]
        for i in range(3):
            s += z[i] + x[i]
        return s

    def both(x):
        y, s = np.full(10, 3.0), 0.0
        for i in range(len(x)):
            s += y[i]
        return s, y + x, y

    for function in (vector, row, through, both):
        check(function, np.linspace(-1.0, 2.0, 10), also=((np.ones(10),),))


KINDS = {"int": "1", "float": "0.5", "float64": "s", "int64": "n", "None": "None"}


@pytest.mark.parametrize("made", ["[{}]", "({}, 2)", "{{'a': {}}}"])
@pytest.mark.parametrize("outer", ["int", "float64", "None"])
def test_containers_of_branches_in_branches(outer, made):
    """The inner branch leaves one of two classes, so the outer one's containers do not merge."""
    for first in KINDS:
        for second in KINDS:
            items = [made.format(KINDS[kind]) for kind in (outer, first, second)]
            text = (
                "def chosen(x):\n"
                "    s = x.sum(); n = np.count_nonzero(x > 0)\n"
                f"    if s > 10: return {items[0]}\n"
                f"    elif s > 5: return {items[1]}\n"
                f"    return {items[2]}\n"
            )
            names = {"np": np}
            exec(text, names)
            also = ((np.array([6.0, 1.0]),), (np.array([1.0, 1.0]),))
            check(names["chosen"], np.array([6.0, 6.0]), also=also, captured=False)


def test_complex_scalars_are_multiplied_as_scalars():
    for step in range(40):
        w = np.exp(0.1j * step)

        def squared(a, w=w):
            return a + w * w

        def operator_and_ufunc(a):
            return a[0] * a[1], np.multiply(a[0], a[1])

        check(squared, np.zeros(3, complex))
        if step < 20:
            check(operator_and_ufunc, np.array([w, w * 1.7 - 0.3j]), captured=False)
