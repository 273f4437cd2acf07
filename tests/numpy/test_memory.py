"""Which memory a result is, and what a write changes: views, copies and writes of other arrays."""

import numpy as np
import pytest
from differential import check

X = np.array([-0.75, -2.0, 2.5])


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape) - 2.0


def view_of_written(x, y):
    x[:] = y + 1
    z = x[:-1]
    z *= 2
    print()
    return z


def test_a_view_made_after_a_write_is_of_the_very_memory():
    check(view_of_written, X, X + 1)


def test_a_reshape_that_copies_a_view_reads_the_copy_from_its_start():
    def f(x):
        y = x + 1.0
        return np.cumsum(y[::-1]), y[::-1].ravel(), y[1:, ::-1].reshape(-1), x.T.ravel()[1:]

    check(f, np.arange(12.0).reshape(3, 4), whole=True)


def test_ravel_is_a_view_of_what_was_written():
    def f(x):
        a = (x + 1)[:, 0]
        a[-2:] -= 2
        return a, a.ravel()

    check(f, np.arange(4.0).reshape(1, 4), whole=True)


def test_an_array_of_unknown_length_added_to_a_row():
    def f(x):
        a = np.unique(x)
        b = np.outer(x, x)
        b[0] += a
        np.add(b[1], a, out=b[2])
        return b

    check(f, counted(4), captured=False)


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


def test_a_slice_of_nothing_has_the_strides_of_step_one():
    def f(x):
        return x + 1, x[1:1], x[3:1:2], x[1:1][::2], x[:, 2:2:-1]

    check(f, counted(4, 3)[::-1], whole=True)


def test_a_written_view_that_is_operand_and_output_of_a_step():
    def f(x):
        a = (x + 1)[::-1]
        b = np.unique(x)  # of unknown length
        a += b
        np.not_equal(a, b + 2, out=a)
        np.add(a, b, out=a)
        return a

    check(f, counted(4), captured=False)


def test_an_empty_array_that_is_flipped_keeps_its_stride():
    def f(x, y):
        return np.flip(x), y + 1

    check(f, np.zeros((3, 2))[:0, 0], X)


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


def store(key):
    """Stores at a place that only the run tells."""
    namespace = {"np": np}
    text = (
        f"def f(x, i, y):\n    z = y * 2\n    p = i.argmax()\n    x[{key}] = y\n\n    return z, x"
    )
    exec(text, namespace)
    return namespace["f"]


@pytest.mark.parametrize(
    "key",
    [
        "i",
        "p",
        "[0, p]",
        "np.array([0, 0, -1])",
        "p, 1:",
        "p, ::2, 0",
        "1:, [0, p]",
        "p, :, [0, 1]",
        "[0, 1], :, p",
        ":, [0, p], 1",
        "[p], [0, 1, 1]",
        "i, i",
        "1:, i",
    ],
)
def test_stores_of_arrays_that_fit_and_that_do_not(key):
    """What does not fit is raised where it is stored, and nothing is written."""
    names = {"np": np, "x": np.zeros((4, 5, 6)), "i": np.array([0, 1, 2]), "p": 2}
    fits = eval(f"x[{key}]", names).shape
    for shape in (
        fits,
        fits[1:],
        (fits[0] + 1, *fits[1:]),
        (7,),
        (1, *fits),
        (1,),
        (*fits[:-1], 1),
    ):
        y = counted(*shape)
        calls = [(np.zeros((4, 5, 6)), np.array(i), y) for i in ([0, 1, 2], [2, 1, 0], [1, 1, 3])]
        check(store(key), *calls[0], also=tuple(calls[1:]), captured=False)
