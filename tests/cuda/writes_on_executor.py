"""In-place writes to CuPy arrays in compiled functions, against NumPy: results, and all memory around what is
written.

test_cuda.py runs this file in a process of its own, in the folder where it has built the executor."""

import numpy as np
import pytest
from deviceless import breaks, cp, device, host, once, values

import pycompile


def check_writes(function, *args):
    """`function(xp, ...)` compiled, twice, on device arrays, and plain on NumPy's, with all arguments compared."""
    plain, given, wholes = [], [], []
    for arg in args:
        if isinstance(arg, np.ndarray):
            whole = arg if arg.base is None else arg.base
            pair = [whole.copy(order="K"), whole.copy(order="K")]
            offset = arg.ctypes.data - whole.ctypes.data
            parts = [np.ndarray(arg.shape, arg.dtype, w, offset, arg.strides) for w in pair]
            wholes.append(pair)
            plain.append(parts[0])
            given.append(device(parts[1]))
        else:
            plain.append(arg)
            given.append(arg)
    compiled = once(lambda *args: function(cp, *args))
    for _ in range(2):
        made, wanted = compiled(*given), function(np, *plain)
        made, wanted = (made, wanted) if isinstance(made, tuple) else ((made,), (wanted,))
        for a, b in zip(made, wanted, strict=True):
            if b is None:
                assert a is None
                continue
            assert [a is arg for arg in given] == [b is arg for arg in plain]
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(host(a), b)
        for a, b in wholes:
            np.testing.assert_array_equal(a, b)


def adds(xp, x, y):
    x += y
    return x


def chain(xp, x, y):
    x *= 2
    x += y
    x -= x * 0.5
    return x + 1, x


def parts(xp, x, y):
    x[1:] += y[:-1]
    return y * 2


def stores(xp, x, y):
    x[:, 1:-1] = y[:, :-2] + y[:, 2:]


def swapped(xp, x, y):
    z = x * 2
    x[...] = y
    y[...] = z
    return z


def exchanged(xp, x, y):
    t = x + 0
    x[:] = y
    y[:] = t


def crossed(xp, x, y):
    x += y
    y += x
    return x, y


def shifted(xp, x, y):
    x[1:] += x[:-1]
    return y + 1


def copied_within(xp, x, y):
    x[1:] = x[:-1]
    y[:-1] = y[1:]


def reversed_within(xp, x, y):
    x[...] = x[::-1]
    y[:, ::-1] -= y


def transposed(xp, x, y):
    x.T[...] = y.T * 2
    y.T[1:] += 1


def transposed_beside(xp, x, y):
    x.T[1:] = y.T[:-1]
    y.T[...] += 1


def numbers(xp, x, y):
    x[...] = 2
    y[1] = 0.5
    return y[1]


def elements(xp, x, y):
    x[1, 2] = 7.5
    y[0, -1] += 2


def rows(xp, x, y):
    x[...] = y[0]
    y[2:] = y[:1] * 3


def reduced(xp, x, y):
    x -= x.max(axis=1, keepdims=True)
    y[0] = y.sum(axis=0)


def softmax(xp, x, y):
    x -= x.max(axis=1, keepdims=True)
    xp.floor(x, out=x)
    x -= x.sum(axis=1, keepdims=True)


def outputs(xp, x, y):
    z = xp.add(x, y, out=x)
    xp.floor(y, y)
    return z


def outputs_of_views(xp, x, y):
    xp.multiply(x[::2], 3, out=x[::2])
    xp.maximum(y[:, 1:], y[:, :-1], out=y[:, 1:])


def filled(xp, x, y):
    y.fill(3)
    return x.fill(-0.5)


def fresh(xp, x, y):
    z = x + y
    z[1:] = 5
    w = x * y
    w += x
    w[0] = z[1]
    return z, w, z.T, w[1:]


def fresh_read(xp, x, y):
    z = x + y
    before = z * 2
    z[:, 1] = before[:, 0]
    return z.max(axis=1), before, z[1:] * 2


def views_of_written(xp, x, y):
    part = x[1:]
    part += 1
    return x, part, x[0], y


def read_behind(xp, x, y):
    """By a function that reads parts of the array: what was written, not what its memory holds."""
    x += y
    return xp.diff(x), xp.diff(x, 2, axis=0), xp.clip(x, -1, 1), xp.where(x > 0, x, y)


ALL = [
    adds, read_behind, chain, parts, stores, swapped, exchanged, crossed, shifted, copied_within, reversed_within, transposed,
    transposed_beside, numbers, elements, rows, outputs, outputs_of_views, filled, fresh, fresh_read, views_of_written,
]  # fmt: skip
EXACT = [reduced, softmax]


def pairs(shape, dtype):
    """Two arrays of one shape, in several layouts, each in memory of its own."""
    x, y = values(shape, dtype), values(shape, dtype, 2)
    yield x, y
    yield np.asfortranarray(x), y
    wide = np.zeros((2 * shape[0] + 3, 2 * shape[1] + 3), dtype)
    gaps = wide[3::2, 3::2]
    gaps[...] = x
    back = wide.copy()[::-1, ::-1][1 : 1 + shape[0], 2 : 2 + shape[1]]
    back[...] = y
    yield gaps, back
    yield gaps, np.asfortranarray(y)
    yield y, wide.copy()[1 : 1 + shape[0], 1 : 1 + shape[1]]


@pytest.mark.parametrize("function", ALL)
def test_writes(function):
    for shape in ((5, 6), (33, 64)):
        for x, y in pairs(shape, "f4"):
            check_writes(function, x, y)


@pytest.mark.parametrize("function", EXACT)
def test_writes_of_reductions(function):
    for shape in ((5, 6), (33, 64), (3, 5000)):
        for x, y in pairs(shape, "i8") if function is reduced else pairs(shape, "f8"):
            check_writes(function, np.rint(x), np.rint(y))


def quotient(xp, x, y):
    x[1, 3] = y.sum() / 98


def mean(xp, x, y):
    x[0, 0] = y.mean()


def rows_of_quotient(xp, x, y):
    x[:2] = y.max() / 3 + 1


def added_to_element(xp, x, y):
    x[0, 1] += y.max()


def scaled_by_sum(xp, x, y):
    total = y.sum() * 2
    x *= total
    y[0] = total - 1
    return total


def one_value_twice(xp, x, y):
    value = x.min() - y.sum() / 7
    x[0] = value
    y[:, 1] = value * value
    return value + 1


def element_of_both(xp, x, y):
    x[2, 2] = x[0, 0] * y[1, 1] - x[1, 2]
    y[...] = y.sum(axis=0) / 4


def number_of_each_element(xp, x, y):
    number = xp.rint(xp.broadcast_to(x.max(), y.shape))
    y[...] = number
    return number * 2


OF_NUMBERS = [
    number_of_each_element,
    quotient,
    mean,
    rows_of_quotient,
    added_to_element,
    scaled_by_sum,
    one_value_twice,
    element_of_both,
]


@pytest.mark.parametrize("function", OF_NUMBERS)
def test_stores_of_what_a_reduction_gives(function):
    """The kernel that stores it takes the value that another kernel has made."""
    for shape in ((5, 6), (3, 30_000)):
        for x, y in pairs(shape, "f8"):
            check_writes(function, np.rint(x * 4), np.rint(y * 4))


@pytest.mark.parametrize("function", ALL)
def test_writes_of_halves(function):
    for x, y in pairs((5, 6), "f2"):
        check_writes(function, x, y)


def test_a_kernel_that_runs_before_the_number_is_made():
    def function(xp, x, y, z):
        double = x * 2
        z[...] = -y[0, 0]  # converted; what reads it converts it back
        return double - z

    for number in (3.0, 4.0):
        check_writes(
            function,
            values((5, 6)),
            np.rint(values((5, 6), seed=int(number)) * 4),
            np.array(number, "f2"),
        )


def test_one_axis_and_none():
    def function(xp, x, y):
        x[1:] -= x[:-1]
        y += 1

    for n in (2, 7, 5000):
        check_writes(function, values((n,)), np.array(3.0))


def test_numbers_of_the_program():
    def function(xp, x, y, a, n):
        x[1:] = a
        y[...] = n

    for a in (1.5, float("inf"), 3, True):
        for x, y in (
            (values((4, 6)), values((4, 6), "i4")),
            (values((4, 6), "f2"), values((4, 6), "f2").T),
            (values((4, 6))[:, ::2], values((4, 6), "f8").T),
        ):
            check_writes(function, x, y, a, 7)


def test_a_stored_zero_is_positive_where_cupy_clears_memory():
    """CuPy's fill clears contiguous memory for every number that equals 0."""

    def store(x, y, a):
        x[1:] = a
        y[:, 1:] = a

    def fixed(x, y, a):
        x[1:] = -0.0
        y[:, 1:] = -0.0

    for function in (store, fixed):
        x, y = np.ones((3, 4)), np.ones((3, 4))
        compiled = once(function)
        for _ in range(2):
            compiled(device(x), device(y), -0.0)
            assert not np.signbit(x).any()
            assert np.signbit(y[:, 1:]).all()
            assert (x[1:] == 0).all()


def test_casts():
    def into_floats(xp, x, n):
        x += n
        n[...] = x + n

    def into_integers(xp, x, n):
        n[...] = x
        x *= n > 2

    for dtype in ("i1", "i4", "?", "f2", "f4"):
        check_writes(into_floats, values((4, 5)), values((4, 5), dtype))
    for dtype in ("i2", "i8", "?", "f2", "f8"):
        check_writes(into_integers, values((4, 5)) * 3, values((4, 5), dtype))


def test_many_arrays():
    def adam(xp, items):
        for p, g, m, v in items:
            m *= 0.5
            m += g * 0.5
            v *= 0.25
            v += g * g
            p -= m / (v + 1)

    made = [tuple(values((k + 3, 4), seed=4 * k + i) for i in range(4)) for k in range(6)]
    plain = [tuple(a.copy() for a in group) for group in made]
    given = [tuple(device(a) for a in group) for group in made]
    compiled = once(lambda items: adam(cp, items))
    for _ in range(3):
        compiled(given)
        adam(np, plain)
        for one, other in zip(made, plain, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_number_is_rounded_to_a_half_once():
    def store(xp, x):
        x[1:] = 1 + 2**-11 + 2**-40  # as float32 it lies halfway

    check_writes(store, np.zeros((3, 4), "f2"))


def written_and_cast(xp, x, y):
    x[...] = y * 2
    y[:] -= 1
    return x.astype("f8"), y.astype("i4")


def test_a_cast_keeps_the_layout_of_what_was_written():
    for shape in ((5, 6), (3, 1)):
        for x, y in pairs(shape, "f4"):
            given = device(x.copy("K")), device(y.copy("K"))
            compiled = once(lambda x, y: written_and_cast(cp, x, y))
            for made, wanted in zip(compiled(*given), written_and_cast(np, x, y), strict=True):
                assert made.strides == wanted.strides or 1 in shape
                np.testing.assert_array_equal(host(made), wanted)


def test_writes_beside_kernels_launched_together():
    def function(xp, *arrays):
        made = []
        for p, g, h in zip(arrays[::3], arrays[1::3], arrays[2::3], strict=True):
            made += [p * 2, xp.sqrt(xp.abs(h)) + 1, g - 1]
            p -= g * 0.5
            made.append(p + g)
        return tuple(made)

    for shapes in ([(40, 3)] * 6, [(k + 1,) for k in range(7)]):
        arrays = [values(shape, "f8", k) for k, shape in enumerate(shapes) for _ in range(3)]
        check_writes(function, *[a.copy() for a in arrays])


def test_overlapping_arguments_are_left_to_cupy():
    def function(x, y):
        x += y
        return x

    whole = values((20,))
    assert "PC00" in breaks(function, device(whole[1:11]), device(whole[:10]))
    compiled = once(function)
    x, y = values((10,)), values((10,), seed=2)
    for _ in range(2):
        wanted = x + y
        compiled(device(x), device(y))
        np.testing.assert_array_equal(x, wanted)
    before = whole.copy()
    with pytest.raises((pycompile.GraphBreakError, cp.cuda.runtime.CUDARuntimeError)):
        compiled(device(whole[1:11]), device(whole[:10]))  # CuPy, which has no device
    np.testing.assert_array_equal(whole, before)


def test_effects(capsys):
    class Holder:
        pass

    holder, kept = Holder(), []

    def before(x, y):
        print(end="")
        x += 1
        y[1:] += 2

    def behind(x, y):
        x += 1
        y[1:] += 2
        print(end="")

    def between(x, y):
        x += 1
        print(end="")
        y += 1

    def stored(x, y):
        x += 1
        kept.append(x[0])
        holder.view = y[1:]
        holder.view += 2
        holder.whole = y

    with capsys.disabled():  # a text file, whose `write` runs no code of the program
        for function in (before, behind, stored):
            x, y = values((4, 5)), values((4, 5), seed=2)
            wanted = x.copy(), y.copy()
            given = device(x), device(y)
            compiled = once(function)
            for _ in range(2):
                compiled(*given)
                wanted[0][...] += 1
                wanted[1][1:] += 2
                np.testing.assert_array_equal(x, wanted[0])
                np.testing.assert_array_equal(y, wanted[1])
        assert "a write, behind an effect that follows another, of a CuPy array" in breaks(
            between, *given
        )
    assert holder.whole is given[1]
    assert holder.view.base is given[1]
    np.testing.assert_array_equal(host(kept[0]), x[0])


def second_write(x):
    x[0] = 1
    x[1] = 2


def read_elsewhere(x):
    x[0] = 1
    return x.sum()


def read_number(x):
    element = x[0, 0]
    element[...] = 1.5
    return element < 2


def integer_of_float(x):
    n = x.astype("i4")
    n += 1.5


def float_into_integers(x):
    n = x.astype("i4")
    n[...] = 1.5


def spread_out(x):
    y = cp.broadcast_to(x[0], x.shape)
    y += 1


def power(x):
    x **= 2


def product(x):
    x @= x


def misfit(x):
    x[0] += x


def written_by_host(x):
    x[0] = np.ones(4)


def masked(xp, x, y):
    x[y > 0] = 0.5
    return x * 2


def masked_by_itself(xp, x, y):
    x[x < 0] = 0
    x[x > y] = 1


def masked_part(xp, x, y):
    part = x[1:, ::2]
    part[part < 0.25] = -1


def masked_by_number(xp, x, y, a):
    x[y > a] = a
    return x


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("function", [masked, masked_by_itself, masked_part])
def test_stores_by_masks(function, dtype):
    check_writes(function, values((5, 6), dtype), values((5, 6), dtype, 2))
    check_writes(function, values((6, 5), dtype).T, values((5, 6), dtype, 2))


def test_numbers_stored_by_masks():
    check_writes(masked_by_number, values((5, 6)), values((5, 6), seed=2), 0.25)
    check_writes(masked_by_number, values((50,), "i8"), values((50,), "i8", 2), 7)


def mask_of_rows(x):
    x[x[:, 0] > 0] = 1


def array_by_mask(x):
    x[x > 0] = x[0]


def number_that_may_not_fit(x):
    x.astype("i1")[x > 0] = 300


@pytest.mark.parametrize(
    "function, told",
    [
        (second_write, "a second write, to another part, of a CuPy array"),
        (read_elsewhere, "a read, where another part was written, of a CuPy array"),
        (read_number, "a read, where a number of the host was stored, of a CuPy array"),
        (mask_of_rows, "a part, not by known numbers and slices, of a CuPy array"),
        (array_by_mask, "a part, not by known numbers and slices, of a CuPy array"),
        (number_that_may_not_fit, "a part, not by known numbers and slices, of a CuPy array"),
        (integer_of_float, "float64 written in place into int32"),
        (float_into_integers, "a number stored in an array of int32"),
        (spread_out, "a write to elements that share memory of a CuPy array"),
        (power, "this operator in place of a CuPy array"),
        (product, "this operator in place of a CuPy array"),
        (misfit, "PC00"),
        (written_by_host, "no array of the device"),
    ],
)  # fmt: skip
def test_breaks(function, told):
    assert told in breaks(function, device(values((4, 4))))


def test_a_number_is_read_before_it_is_written():
    """An array without axes, in memory since it is written, by a kernel that another value's reader precedes."""

    @once
    def function(x, y):
        first, steps = x + x, y[1:] - y[:-1]
        span = x.max() - x.min()
        was = span.astype("f4")
        span[...] = steps.mean(axis=-1, keepdims=True)
        return first, steps, span, was

    for _ in range(2):
        *_, span, was = function(device(np.arange(5.0)), device(np.arange(4.0) * 3))
    assert (host(span), host(was)) == (3, 4)
