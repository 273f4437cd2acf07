"""What is said of lengths and indices that the values of an array make, or the caller knows."""

import math
import re
import warnings

import numpy as np
import pytest

import pycompile
from tests.differential import check
from tests.reports import breaks, line_of_code, said, said_here, stays

MANY = np.linspace(1.0, 2.0, 30000)


def made(text, name):
    """The function of a source text."""
    names = {"np": np}
    exec(text, names)
    return names[name]


SIGNED = np.linspace(-1.0, 1.0, 3000)
X = np.linspace(1.0, 2.0, 3000)


# ---- lengths that the numbers of an array make ----


def repeats(x, counts):
    rows = np.repeat(np.arange(len(counts)), counts)
    out = np.zeros(len(counts))
    np.add.at(out, rows, np.sqrt(x) + 1)  # here
    return out * 2 + 1


def repeats_and_multiplies(x, counts):
    return (np.sqrt(x) + 1) * np.repeat(np.arange(len(counts)), counts)


def repeats_by_method(x, counts):
    return np.sqrt(x) + 1, (x[: len(counts)] + 1).repeat(repeats=counts) * 2


def tiles(x, counts):
    return np.sqrt(x) + 1, np.tile(np.arange(5.0), counts[:2] // 100) * 2


def pads(x, counts):
    return np.sqrt(x) + 1, np.pad(np.arange(5.0), counts[:2]) * 2


COUNTS = np.full(100, 300)


def test_no_length_of_a_stand_in_is_told():
    (item,) = breaks(repeats, MANY, COUNTS)
    assert item["line"] == line_of_code(repeats)
    assert item["code"] != "PC0017" and "broadcast" not in item["detail"], item


@pytest.mark.parametrize("function", [repeats_and_multiplies, repeats_by_method, tiles, pads])
def test_a_length_out_of_an_array_is_no_error(function):
    compiled = pycompile.compile(function)
    for _ in range(3):
        got, wanted = compiled(MANY, COUNTS), function(MANY, COUNTS)
        assert np.array_equal(got[1], wanted[1]) and np.array_equal(got[0], wanted[0])
    assert compiled.stats()["deopts"] == 0 and compiled.stats()["plan_runs"] == 3
    check(function, MANY, COUNTS, whole=True)


# ---- lengths ----


def counted(x, found):
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            found[m] = x[i]
            m += 1
    return np.sqrt(found[:m]) + 1  # here


def counted_and_masked(x, found):
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            found[m] = x[i]
            m += 1
    return np.where(np.arange(len(found)) < m, np.sqrt(found) + 1, 0)


def test_what_the_function_counts_is_not_to_come_from_the_caller():
    text, hint = said(counted, SIGNED, np.zeros(3000))
    assert text.endswith("a bound of a slice") and "caller" not in hint
    assert "np.where(np.arange(len(x)) < m, x, 0)" in hint
    check(counted_and_masked, SIGNED, np.zeros(3000), whole=True)


def made_by_a_count(x, found):
    m = 0
    for i in range(len(x)):
        if x[i] > 0:
            found[m] = x[i]
            m += 1
    return [0.0] * m, np.sqrt(found)


def test_a_list_that_is_counted_has_no_mask():
    _, hint = said(made_by_a_count, SIGNED, np.zeros(3000))
    assert "caller" not in hint and "np.where" not in hint and "return the number" in hint


def of_the_argument(x):
    y = np.sqrt(x * x) + 1
    return y[: int(x[-1] * 9)] * 2


def test_what_the_caller_can_compute_is_told_so():
    assert "Compute the number in the caller" in said(of_the_argument, SIGNED)[1]


def goes_through_places(x):
    s = 0.0
    for j in np.flatnonzero(x > 0):
        s += x[j]
    return s


def goes_through_different(x):
    y = np.sqrt(x * x) + 1
    for v in np.unique(np.round(x)):
        y = y + v
    return y


def test_a_mask_is_named_where_there_is_one():
    assert "np.where(mask, a, 0)" in said(goes_through_places, SIGNED)[1]
    items = breaks(goes_through_different, SIGNED, code="PC0045")
    assert items and not any("mask" in item["hint"] for item in items)


# ---- arrays of a length that only the run knows ----


def doubles_rows(points, key):
    found = np.unique(key)  # here
    ordered = found[::-1]
    out = []
    for row in ordered:
        out.append(row * 2 + points[0, 0])
    return out


def test_where_an_unknown_length_comes_from():
    made = pycompile.explain(doubles_rows)(np.ones((60, 2)), np.arange(60.0) % 7)
    item = next(i for i in made.breaks if i["code"] == "PC0045")
    line = line_of_code(doubles_rows)
    assert item["detail"] == f"iteration over an array, of a length that line {line} decides", item


def sorts_by_two_keys(points):
    p = points[np.lexsort((points[:, 1], points[:, 0]))]
    out = []
    for q in p:
        out.append(q * 2)
    return out


def sorts_by_keys(keys, axis=-1):
    order = np.lexsort(keys, axis)
    return order * 2, order.shape, order.dtype


def test_the_shape_of_what_lexsort_gives_is_known():
    points = np.sin(np.arange(120.0)).reshape(60, 2).round(1)
    check(sorts_by_two_keys, points, whole=True)
    for keys in (points, (points, points[::-1]), (points[:, 0], points[:, 1].astype(int))):
        check(sorts_by_keys, keys, whole=True)
    check(sorts_by_keys, (points, points[::-1]), 0, whole=True)
    for keys, axis in (((points[0], points[:, 0]), -1), ((), -1), (points, 2), (points[:0], -1)):
        check(sorts_by_keys, keys, axis, captured=False)


# ---- what a library function refuses because of a stand-in ----


def reshapes(x):
    return np.arange(30).reshape(int(x[0]) + 2, 10) + 1, x + 1  # here


def test_a_shape_of_the_data_is_not_told_as_refused():
    text, _ = said_here(reshapes, X)
    assert "refuses" not in text and "only known when the code runs" in text, text


# ---- indices, items and lengths ----


def reads_the_best_row(a):
    b = a * 2
    row = b[b[0].argmax()]
    return np.maximum(row, b)


def reads_the_best_row_by_an_array(a):
    b = a * 2
    k = b[0].argmax()
    return np.maximum(b[[k]][0], b)


SQUARE = np.random.default_rng(1).random((60, 60)) + 1


def test_a_row_out_of_the_data_is_told_how_to_be_read():
    (item,) = breaks(reads_the_best_row, SQUARE)
    assert item["code"] == "PC0050" and "x[[k]][0] to read" in item["hint"]
    check(reads_the_best_row_by_an_array, SQUARE, whole=True)


def reads_a_match(x, found):
    y = np.sqrt(x) + 1
    return y * len(found[1])  # here


def reads_a_group(x, group):
    y = np.sqrt(x) + 1
    return y * len(group)


def test_an_item_of_an_unknown_object_is_told_as_that():
    (item,) = breaks(reads_a_match, MANY, re.match("(a+)", "aab"))
    assert item["code"] == "PC0016" and "re.Match" in item["detail"]
    assert "slices" not in item["hint"] and "pass it" in item["hint"]
    check(reads_a_group, MANY, "aa", whole=True)


def sizes_by_numpy(x):
    n = int(np.sqrt(len(x)))
    return (np.sqrt(x) + 1)[:n] * 2, x + 1


def sizes_by_python(x):
    n = int(math.sqrt(len(x)))
    return (np.sqrt(x) + 1)[:n] * 2, x + 1


def test_a_length_by_numpy_of_a_number_is_no_mask():
    (item,) = breaks(sizes_by_numpy, MANY, code="PC0045")
    assert "math.sqrt" in item["hint"] and "mask" not in item["hint"]
    check(sizes_by_python, MANY, whole=True)


def turns_by_the_data(x):
    y = np.sqrt(x) + 1
    for _ in range(int(np.sum(x > 1.9999))):
        y = y + 1
    return y


def grows_by_the_data(x):
    y = np.sqrt(x) + 1
    for _ in range(int(np.sum(x > 1.9999))):
        y = np.append(y, 1)
    return y


def test_turns_by_the_data():
    stays(turns_by_the_data, MANY)
    (item,) = breaks(grows_by_the_data, MANY, code="PC0045")
    assert "stay a loop" not in item["detail"] and "caller" in item["hint"]


def appends_an_object(x):
    y = np.sqrt(x) + 1
    return np.diff(y, append=object()) * 2


def test_a_call_is_named_once():
    item = breaks(appends_an_object, MANY)[0]
    assert item["detail"].count("call of 'diff'") == 1, item


# ---- an index out of the data ----


def scales_the_best(a):
    k = a[0].argmax()
    a[k] *= 2
    return a


def scales_from_the_best(x):
    k = int(x.argmax())
    x[k : k + 3] += 1
    return x * 2


def doubles_the_best(a):
    k = a[0].argmax()
    a[k] = np.abs(a[k])
    return a


def swaps_with_the_best(a):
    k = a[0].argmax()
    row = a[k].copy()
    a[k] = a[0]
    a[0] = row
    return a * 2


def of_what_is_made(a):
    b = a * 2
    k = b[0].argmax()
    return b[k].copy() + b


def eliminates(a):
    for k in range(len(a) - 1):
        i = k + np.argmax(np.abs(a[k:, k]))
        if i != k:
            a[[k, i]] = a[[i, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


@pytest.mark.parametrize(
    "function",
    [
        scales_the_best,
        scales_from_the_best,
        doubles_the_best,
    ],
)
def test_an_index_out_of_the_data_is_the_reason(function):
    square = np.random.default_rng(1).standard_normal((60, 60))
    found = breaks(function, X.copy() if function is scales_from_the_best else square)
    assert found[0]["code"] == "PC0050" and "x[[k]] *= 2" in found[0]["hint"]
    for item in found[1:]:  # the write that the first one left to CPython
        assert item["code"] == "PC0019" and "the break before this one" in item["hint"]


@pytest.mark.parametrize("function", [swaps_with_the_best, of_what_is_made])
def test_a_copy_of_a_row_at_such_an_index_is_none(function):
    assert not breaks(function, np.random.default_rng(1).standard_normal((60, 60)))


def test_what_a_hint_says_of_an_index_makes_a_graph():
    def scales(a):
        k = a[0].argmax()
        a[[k]] *= 2
        return a * 2 + 1

    def swaps(a):
        k = a[0].argmax()
        a[[0, k]] = a[[k, 0]]
        return a * 2 + 1

    def masks(x):
        k = x.argmax()
        return np.where(np.arange(len(x)) < k, 0, x) * 2

    square = np.random.default_rng(1).standard_normal((60, 60))
    for function, x in ((scales, square), (swaps, square), (masks, X)):
        compiled = pycompile.compile(function, fullgraph=True)
        assert np.array_equal(compiled(x.copy()), function(x.copy()))


def test_no_break_of_an_elimination_speaks_of_lengths_or_arguments():
    square = np.random.default_rng(1).standard_normal((20, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        found = breaks(eliminates, square)
    assert "PC0045" not in {item["code"] for item in found}
    assert not any("Pass arrays" in item["hint"] for item in found)
