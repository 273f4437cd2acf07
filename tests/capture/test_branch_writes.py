"""Arrays from before a branch that its sides write: one graph, and nothing is written on the other side."""

import subprocess
import sys

import numpy as np
import pytest
from differential import MANY, check

X = np.linspace(-2.0, 3.0, 12)
M = np.arange(36.0).reshape(6, 6) % 7
WHOLE = {"fullgraph": True, "options": {"plan_always": True}}


def both(function, *args):
    """The branch as it is with these arguments, and the other way round."""
    for sign in (1.0, -1.0):
        given = [a * sign if isinstance(a, np.ndarray) else a for a in args]
        check(function, *given, whole=True, options=WHOLE)


def one_element(x):
    if x.sum() > 1:
        x[0] = 0.0
    return x * 2


def one_element_unread(x):
    if x.sum() > 1:
        x[0] = 0.0


def scaled(g, limit):
    norm = np.sqrt((g * g).sum())
    if norm > limit and g[0] < 0:
        g *= limit / norm
    return norm


def scaled_and_used(g, limit):
    norm = np.sqrt((g * g).sum())
    if norm > limit and g[0] < 0:
        g *= limit / norm
    return g + 1, norm


def both_sides(x):
    if x.sum() > 1:
        x[1:4] = x[5:8]
    else:
        x[::2] += 1.0
    return x.sum()


def both_sides_unread(x):
    if x.sum() > 1:
        x[1:4] = x[5:8] * 3
    else:
        x[::2] += 1.0


def write_before_and_behind(x):
    x[2] = 7.0
    if x.sum() > 1:
        x[3] = x[2] + 1
    x[4] = x[3]
    return x[2:5].sum()


def write_all_unread(x):
    x[2] = 7.0
    if x[0] > 1:
        x[3] = 8.0
    x[4] = 9.0
    x[3:5] += 1.0


def fresh(x):
    y = x * 2
    if x.sum() > 1:
        y[0] = 100.0
    return y


def fresh_view(x):
    y = x * 2
    v = y[2:]
    if x.sum() > 1:
        v[0] = 100.0
        y[3] = v[1] * 3
    return y, v


def view_of_argument(x):
    v = x[3:]
    if x.sum() > 1:
        v[0] = 100.0
    return v


def filled(x):
    y = np.zeros(4)
    if x.sum() > 1:
        y[1] = x.sum()
    return y


def nested(x):
    if x.sum() > 1:
        x[0] = 1.0
        if x[5] > 0:
            x[5] = 2.0
        else:
            x[6] = 3.0
    elif x[1] < 3:
        x[7] = 4.0
    return x + 1


def nested_unread(x):
    ready = x[5] > 0
    if x.sum() > 1:
        if ready:
            x[5] = 2.0
    if x[1] > 0:
        if ready:
            x[6] = 3.0


def several_times(x):
    if x.sum() > 1:
        x[0] = 1.0
        x += 1
        x[3] = x[0]
        x *= 2.0
    return x[::-1].copy()


def many_writes(x):
    if x.sum() > 1:
        x[0] = x[1]
        x[1] = x[2]
        x[2] = x[3]
        x[3] = x[4]
        x[4] = x[5]
        x[5] = x[6]
        x[6] = x[7]
        x[7] = x[8]
        x[8] = x[9]
        x[9] = x[10]


def many_branches(x):
    for i in range(20):
        if np.sin(x).sum() > i - 10:
            x[i % 5] = i
    return x[0]


def a_mask(x):
    if x.sum() > 1:
        x[x > 1] = -1.0
    return x.sum()


def an_index_array(x):
    if x.sum() > 1:
        x[np.array([3, 1])] = x[np.array([1, 3])]
    return x * 1


def an_argument_out(x):
    if x.sum() > 1:
        np.sqrt(np.abs(x), out=x)
    return x * 1


def sorted_in_place(x):
    if x.sum() > 1:
        x.sort()
    return x * 1


def rolled(x, other):
    if x.sum() > 1:
        x[:] = other
        other[:] = 0.0
    return x[0]


def exchanged(x, other):
    if x.sum() > 1:
        x[:], other[:] = other.copy(), x.copy()


def integers(x):
    k = x.astype(np.int64)
    if x.sum() > 1:
        k[2] = 5
        k //= 2
    return k


def left_as_a_choice(x, other):
    y = x
    if x.sum() > 1:
        x[0] = 9.0
        y = other
    return y


def compared_later(x):
    if x.sum() > 1:
        x[0] = 0.0
    if x.max() > 2:
        x[1] = 0.0
    return (x > 0).sum()


def printed(x):
    if x.sum() > 1:
        x[0] = 0.0
    print(x)
    return x * 2


def in_a_called_function(x):
    def clip(y):
        if y.max() > 2:
            y[y > 2] = 2.0

    clip(x)
    return x.mean()


ALL = [
    one_element,
    one_element_unread,
    both_sides,
    both_sides_unread,
    write_before_and_behind,
    write_all_unread,
    fresh,
    fresh_view,
    view_of_argument,
    filled,
    nested,
    nested_unread,
    several_times,
    many_writes,
    many_branches,
    a_mask,
    an_index_array,
    an_argument_out,
    sorted_in_place,
    integers,
    compared_later,
    printed,
    in_a_called_function,
]


@pytest.mark.parametrize("function", ALL)
def test_a_write_under_a_branch(function):
    both(function, X)


@pytest.mark.parametrize("function", [scaled, scaled_and_used])
def test_clipping_in_place(function):
    both(function, X, 2.0)


@pytest.mark.parametrize("function", [rolled, exchanged, left_as_a_choice])
def test_two_arrays(function):
    both(function, X, X[::-1].copy())


# ---- at places that only the run tells ----


def swap_by_lists(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    if p != k:
        a[[k, p]] = a[[p, k]]


def swap_by_lists_and_slices(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    if p != k:
        a[[k, p], :] = a[[p, k], :]
    return a[k].copy()


def swap_part_of_the_rows(a, k):
    p = k + np.argmax(np.abs(a[k:, k]))
    if p > k:
        a[[k, p], k:] = a[[p, k], k:]
    return a.sum(axis=0)


def swap_through_a_copy(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    if p != k:
        row = a[k].copy()
        a[k] = a[p]
        a[p] = row


def swap_two_copies(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    if p != k:
        a[k], a[p] = a[p].copy(), a[k].copy()


def swap_slices_of_rows(a, k):
    p = int(np.abs(a[k:, k]).argmax()) + k
    if p != k:
        row = a[p, k:].copy()
        a[p, k:] = a[k, k:]
        a[k, k:] = row
    return a * 2


def swap_columns(a, k):
    p = k + np.abs(a[k, k:]).argmax()
    if p != k:
        a[:, [k, p]] = a[:, [p, k]]


def swap_and_eliminate(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    if p != k:
        a[[k, p]] = a[[p, k]]
    a[k + 1 :, k] /= a[k, k]
    a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


def swap_without_a_branch(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    a[[k, p]] = a[[p, k]]


def swap_of_what_is_made_here(a, k):
    b = a * 2
    p = k + np.abs(b[k:, k]).argmax()
    if p != k:
        b[k], b[p] = b[p].copy(), b[k].copy()
    return b


def read_after_the_swap(a, k):
    p = k + np.abs(a[k:, k]).argmax()
    if p != k:
        row = a[p]
        a[p] = 1.0
        b = row.copy()
        a[k] = row
        return b
    return a[k].copy()


def swap_in_a_view(a, k):
    b = a[1:, ::2].T
    p = b[0].argmax()
    if p != k:
        b[:, [k, p]] = b[:, [p, k]]
        b[k % 3], b[p % 3] = b[p % 3].copy(), b[k % 3].copy()
    return b


SWAPS = [
    swap_in_a_view,
    swap_by_lists,
    swap_by_lists_and_slices,
    swap_part_of_the_rows,
    swap_through_a_copy,
    swap_two_copies,
    swap_slices_of_rows,
    swap_columns,
    swap_and_eliminate,
    swap_without_a_branch,
    swap_of_what_is_made_here,
    read_after_the_swap,
]


@pytest.mark.parametrize("function", SWAPS)
def test_a_swap_of_rows(function):
    for a in (M, M.T, np.eye(6) * 3, M.astype("f4"), np.asfortranarray(M)[::-1]):
        for k in (0, 2):
            check(function, a.copy(order="K"), k, whole=True, options=WHOLE)


def swap_elements(x, k):
    p = k + np.abs(x[k:]).argmax()
    if p != k:
        x[k], x[p] = x[p], x[k]


def swap_elements_and_places(x, places, k):
    p = k + x[k:].argmax()
    if p != k:
        x[[k, p]] = x[[p, k]]
        places[[k, p]] = places[[p, k]]
    return places[k]


def test_a_swap_of_elements():
    for x in (X, X[::-1].copy(), X.astype(np.int32)):
        check(swap_elements, x, 1, whole=True, options=WHOLE)
        check(swap_elements_and_places, x, np.arange(12), 1, whole=True, options=WHOLE)


def stores_by_a_key_that_changes(x, where):
    key = [where[0], where[1]]
    if x.sum() > 1:
        x[key] = x[::-1][key]
        key[0] = 3
        where[0] = 5
    return key


def stores_by_an_array(x, where):
    if x.sum() > 1:
        x[where] = 1.0
        where += 1


@pytest.mark.parametrize("function", [stores_by_a_key_that_changes, stores_by_an_array])
def test_the_key_is_as_it_was_at_the_store(function):
    for x in (X, -X):
        check(function, x, np.array([4, 1]), options=WHOLE)


@pytest.mark.parametrize("number", [7, -7, 2**40])
def test_an_index_that_is_none(number):
    def store(x, at):
        p = at[0]
        if x.sum() > 1:
            x[1] = 5.0
            x[p] = x[0]
            x[[p, 0]] = x[[0, p]]

    check(store, X[:6].copy(), np.array([2]), whole=True, options=WHOLE)
    check(store, X[:6] + 9, np.array([number]), options=WHOLE)
    assert check(store, X[:6] + 9, np.array([number])).raised is not None


def test_read_only_arrays_and_arrays_that_overlap():
    for x in (X, -X):
        fixed = x.copy()
        fixed.flags.writeable = False
        check(one_element, fixed, captured=False)
        both_of_one = x.copy()
        check(rolled, both_of_one[:6], both_of_one[3:9], captured=False)


UNTOUCHED = """
import ctypes, mmap
import numpy as np
import pycompile

memory = mmap.mmap(-1, mmap.PAGESIZE)
x = np.frombuffer(memory, np.float64)
x[:] = -1.0
address = ctypes.c_void_p(x.ctypes.data)

def f(x, y):
    y[0] = 1.0
    p = x.argmax()
    if x.sum() > 1:
        x[0] = 0.0
        x *= 2
        x[p] = 3.0
        x[[0, p]] = x[[p, 0]]
    y[1] = x[1]
    return y + x[:2]

compiled = pycompile.compile(f, fullgraph=True, options={"plan_always": True})
compiled(x, np.zeros(2))
assert ctypes.CDLL(None).mprotect(address, mmap.PAGESIZE, mmap.PROT_READ) == 0
for _ in range(3):  # a write, were it of what is there, would be the end
    assert compiled(x, np.zeros(2)).tolist() == [0.0, -2.0]
assert compiled.stats()["plan_runs"] == 4
print("untouched")
"""


def test_nothing_is_written_where_the_side_is_not_taken():
    done = subprocess.run([sys.executable, "-c", UNTOUCHED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "untouched\n"), done.stderr


def test_an_effect_under_an_earlier_condition_needs_both():
    def told(x):
        ready = bool(x[0] > 0)
        if x.sum() > 1:
            if ready:
                print("ready")
        return x * 2

    for x in (X, -X, X + 9, np.abs(X) * -1):
        check(told, x, whole=True, options=WHOLE)


def reads_at_a_place(a, b, which):
    p = which.argmax()
    return (
        a[p] * 2,
        a[p] + b,
        b @ a[p],
        a[p, ::-1] @ b,
        a[p, :, 1] @ b[0],
        a[p, :, 1] - b[0],
        a[p].T > 0,
    )


def test_a_view_at_a_place_is_read_as_it_lies():
    rng = np.random.default_rng(11)
    a, b, which = rng.normal(size=(4, 9, 9)), rng.normal(size=(9, 9)), np.array([1, 3, 2])
    for lies in (a, np.asfortranarray(a), a[..., ::-1], a.transpose(0, 2, 1)):
        check(reads_at_a_place, lies, b, which, captured=False, options=MANY)
