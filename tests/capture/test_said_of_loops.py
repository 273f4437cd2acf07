"""What keeps a loop from staying one is true, and what the message says to do keeps it."""

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import breaks, keeps_loop, line_of_code

ROWS = np.ones((3000, 4), np.int32)
EACH = np.arange(3000, dtype=np.int32)


def loop_reason(function, *args):
    """What keeps the loop of the function from staying one, told with the line `# here`."""
    details = [item["detail"] for item in breaks(function, *args, code="PC0013")]
    assert len(details) == 1, details
    assert details[0].endswith(f", line {line_of_code(function)}"), details
    return details[0]


# ---- Python's ints that meet narrower ones ----


def adds_to_rows(a):
    for i in range(len(a)):
        a[i] = a[i] + i  # here
    return a


def adds_to_rows_remedied(a):
    for i in range(len(a)):
        a[i] = a[i] + np.int64(i)
    return a


def adds_to_parts_of_rows(a):
    for i in range(len(a)):
        a[i, 1:] = a[i, 1:] * i  # here
    return a


def adds_to_parts_of_rows_remedied(a):
    for i in range(len(a)):
        a[i, 1:] = a[i, 1:] * np.int64(i)
    return a


def adds_to_elements(a):
    for i in range(len(a)):
        a[i] += i  # here
    return a


def adds_to_elements_remedied(a):
    for i in range(len(a)):
        a[i] += np.int64(i)
    return a


def converts(a):
    for i in range(len(a)):
        a[i] = a[i] ^ np.int32(i)  # here
    return a


def converts_remedied(a):
    for i in range(len(a)):
        a[i] = a[i] ^ np.int64(i)
    return a


@pytest.mark.parametrize(
    ("function", "remedied", "array"),
    [
        (adds_to_rows, adds_to_rows_remedied, ROWS),
        (adds_to_parts_of_rows, adds_to_parts_of_rows_remedied, ROWS),
        (adds_to_elements, adds_to_elements_remedied, EACH),
        (converts, converts_remedied, EACH),
    ],
)
def test_an_int_that_may_not_fit(function, remedied, array):
    text = loop_reason(function, array.copy())
    assert "'i' is Python's int and meets a numpy.int32, which it may not fit" in text
    assert "(take np.int64(i) in its place)" in text and "of the other" not in text
    check(remedied, array, whole=True)
    assert np.array_equal(function(array.copy()), remedied(array.copy()))


def adds_computed(a):
    for i in range(len(a)):
        a[i] = a[i] + int(i * 2)  # here
    return a


def adds_computed_remedied(a):
    for i in range(len(a)):
        a[i] = a[i] + np.int64(i * 2)
    return a


def test_an_int_without_a_name_that_may_not_fit():
    text = loop_reason(adds_computed, EACH.copy())
    assert "Python's int is computed and meets a numpy.int32" in text
    assert "(take np.int64(...) of it)" in text
    check(adds_computed_remedied, EACH, whole=True)


def adds_in_place(a):
    for i in range(len(a)):
        a[i] += np.int64(i)  # here
    return a


def test_an_operator_in_place_on_a_row_of_narrower_ints():
    text = loop_reason(adds_in_place, ROWS.copy())
    assert "(write it without: a[i] = a[i] + ...)" in text
    check(adds_to_rows_remedied, ROWS, whole=True)


def test_a_part_at_an_index_that_a_loop_counts():
    (item,) = breaks(adds_to_rows, ROWS.copy(), code="PC0046")
    assert "a part of an array" in item["detail"] and "what is said of the loop" in item["hint"]
    assert "few different values" not in item["hint"]


# ---- functions of rows ----


def finds_the_largest(a):
    best = 0
    for i in range(len(a)):
        best += int(np.argmax(np.abs(a[i, 1:])))  # here
    return best


def raises_to_a_power(a):
    total = 0.0
    for i in range(len(a)):
        total += np.power(a[i, 1:] * 2, 2.5).sum()  # here
    return total


@pytest.mark.parametrize(
    ("function", "name"), [(finds_the_largest, "argmax"), (raises_to_a_power, "power")]
)
def test_a_function_of_rows_is_told_by_its_name(function, name):
    floats = np.linspace(1.0, 2.0, 4000).reshape(1000, 4)
    text = loop_reason(function, floats)
    assert f"a call of '{name}' on rows that are computed" in text
    check(function, floats)


# ---- arrays that a function makes which a loop calls ----


def smooths(x, a):
    y = np.zeros_like(x)
    for i in range(1, len(x)):  # here
        y[i] = a * y[i - 1] + (1 - a) * x[i]
    return y


def sums_what_is_smoothed(n):
    total = 0.0
    for k in range(n):
        x = np.sin(np.arange(500.0) * k)
        total += smooths(x, 0.9).sum() + (x * x + 2 * x).mean()
    return total


def test_the_array_of_a_called_function_is_named():
    text = " ".join(str(pycompile.explain(sums_what_is_smoothed)(40)).split())
    line = line_of_code(smooths)
    assert f"a store into 'y', an array that is made in the loop, line {line} of 'smooths'" in text
    assert "(compute with whole arrays; options={'unroll': ...} sets the budget)" in text, text


# ---- operations whose arrays are all whole ones ----


def rows_less_a_multiple(q, v):
    for j in range(len(q)):
        q[j, 1:] -= q[j, 0] * v


def rows_less_a_multiple_of_a_part(q, v):
    for j in range(len(q)):
        q[j, 1:] -= q[j, 0] * v[:]


def test_an_operation_of_whole_arrays():
    """What is advised keeps the loop."""
    q, v = np.ones((900, 12)), np.arange(11.0)
    told = _explain_text.verbose(pycompile.explain(rows_less_a_multiple)(q.copy(), v))
    assert "'multiply' of whole arrays, line" in told and "v[:] for v" in told
    assert not keeps_loop(rows_less_a_multiple, q.copy(), v)
    assert keeps_loop(rows_less_a_multiple_of_a_part, q.copy(), v)
    check(rows_less_a_multiple, q, v)
