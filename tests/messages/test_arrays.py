"""What is said of arrays: of other dtypes, their attributes, and the memory that they share."""

import numpy as np
import pytest

import pycompile
from tests.differential import check
from tests.reports import breaks, line_of_code, said_first

SIGNED = np.linspace(-1.0, 1.0, 3000)
X = np.linspace(1.0, 2.0, 3000)


# ---- arrays that are not compiled ----


def dates(t, x):
    y = np.sqrt(x * x) + 1
    return y[1:] / (t[1:] - t[:-1]).astype(float)  # here


def fields(r):
    y = np.sqrt(r["a"]) + r["b"]
    return y * 2


def objects(x, o):
    return np.sqrt(x * x) + o.sum()


def test_arrays_of_other_dtypes_are_told_by_what_they_are():
    t = np.datetime64("2020-01-01", "s") + np.arange(3000)
    items = breaks(dates, t, SIGNED)
    assert {item["code"] for item in items} == {"PC0035"}
    assert {item["hint"] for item in items} == {
        "Compute on its integers, taken before the array code: x.view(np.int64)."
    }
    items = breaks(fields, np.ones(3000, [("a", "f8"), ("b", "f8")]))
    assert items and all("Take its fields before" in item["hint"] for item in items)
    items = breaks(objects, SIGNED, np.array([1, 2.5], object))
    assert {item["code"] for item in items} == {"PC0033"}


# ---- attributes of arrays that are not compiled ----


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("array", "code"),
    [(X.view(Sub), "PC0007"), (np.ma.masked_array(X, X > 1.5), "PC0039")],
)
@pytest.mark.parametrize(
    "reads",
    [lambda x: x.ndim, lambda x: x.T, lambda x: x.size, lambda x: x.flat, lambda x: x.shape[0]],
)
def test_an_attribute_of_an_array_of_another_class(array, code, reads):
    found = breaks(lambda x, y: (y + 1, reads(x)), array, X)
    assert found and {item["code"] for item in found} == {code}, found
    assert all("getset_descriptor" not in item["detail"] for item in found)


# ---- attributes of arrays ----


def resizes(a, buffer):
    x = np.sqrt(a) * 2 + 1
    buffer.resize(buffer.shape)
    return x * buffer + 1


def reads_the_method(a, buffer):
    resize = buffer.resize
    x = np.sqrt(a) * 2 + 1
    resize(buffer.shape)
    return x * buffer + 1


def of_the_selection(a, buffer):
    x = a[a > 0]
    x.resize(3)
    return x * 2 + buffer[:3]


@pytest.mark.parametrize("function", [resizes, reads_the_method, of_the_selection])
def test_a_method_of_an_array_without_a_rule(function):
    made = pycompile.explain(function)(np.arange(100.0), np.ones(100))
    item = made.breaks[0]
    assert item["code"] == "PC0002" and item["detail"] == "method 'resize' of an array", item
    assert item["hint"] == "Call it before or after the array code."


def resized_before(a, buffer):
    buffer.resize(buffer.shape)
    x = np.sqrt(a) * 2 + 1
    return x * buffer + 1


def test_a_method_before_the_array_code_leaves_one_graph():
    made = pycompile.explain(resized_before)(np.arange(100.0), np.ones(100))
    assert len(made.graphs) == 1


def base_of_a_view(x):
    y = x[1:][1:]
    return y * 2, y.base


def test_an_attribute_without_a_rule():
    made = pycompile.explain(base_of_a_view)(np.ones(100)[1:])
    assert made.breaks[0]["code"] == "PC0010"
    assert "without a rule, or one that" in " ".join(str(made).split())


# ---- arrays that share memory ----


def reflects(a, copies=False):
    r = a.copy()
    for k in range(4):
        column = r[k:, k].copy() if copies else r[k:, k]
        id(k)
        v = column / np.sqrt(column @ column)
        part = r[k:, k:].copy()
        r[k:, k:] = part - 2 * np.outer(v, v @ part)
    return r


@pytest.mark.slow
def test_the_arrays_that_overlap_are_named():
    a = np.sin(np.arange(30.0)).reshape(6, 5)
    item = next(i for i in pycompile.explain(reflects)(a).breaks if i["code"] == "PC0019")
    assert "'r'" in item["detail"] and "'column'" in item["detail"], item
    assert "where it is taken: row = x[k].copy()" in item["hint"]
    codes = {i["code"] for i in pycompile.explain(reflects)(a, True).breaks}
    assert "PC0019" not in codes, codes


def adds_to_first(pair, b):
    pair[0][1:] += b[:-1]
    return b * 2


def test_arrays_in_a_list_that_overlap():
    a = np.arange(9.0)
    item = next(
        i for i in pycompile.explain(adds_to_first)([a], a[:]).breaks if i["code"] == "PC0019"
    )
    assert "an array in 'pair'" in item["detail"] and "'b'" in item["detail"], item


# ---- the memory of an array ----


def reads_its_memory(x):
    y = np.sqrt(x) + 1
    return y.data[3] + y


def reads_an_element(x):
    y = np.sqrt(x) + 1
    return y[3] + y


def test_the_memory_of_an_array():
    text, hint = said_first(reads_its_memory, X)
    assert "attribute 'data' of an array" in text and "x[i]" in hint, (text, hint)
    check(reads_an_element, X, whole=True)


# ---- dtypes that meet ----


def adds_products(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]  # here
    return s


def adds_products_from_float64(x, y):
    s = np.float64(0.0)
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def test_dtypes_that_meet_are_named():
    args = np.linspace(1.0, 2.0, 20000), np.linspace(1.0, 2.0, 20000, dtype=np.float32)
    text, _ = said_first(adds_products, *args)
    line = line_of_code(adds_products)
    words = (
        "'s' begins as Python's number and becomes a numpy.float64, in a loop that computes with"
    )
    assert f"{words} numpy.float32, too, line {line} (begin with np.float64(...))" in text, text
    assert not breaks(adds_products_from_float64, *args)
    check(adds_products_from_float64, *args)
