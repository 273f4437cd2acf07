"""What is said of loops over whole arrays that end by a value of one, or hand arrays on, is so; what a hint
says to do makes the loop one plan."""

import numpy as np
import pytest

from pycompile import _explain_text
from tests.differential import check
from tests.reports import (
    breaks,
    line_of_code,
)

X = np.linspace(1.0, 2.0, 3000)


# ---- loops that end by a value of one ----
def converges(x):
    for _ in range(200):
        new = np.cos(x)
        if np.abs(new - x).max() < 1e-9:
            break
        x = new
    return x


def calls_one(x):
    return converges(np.sqrt(x) + 1) * 2


def hands_on_a_view(x):
    while np.abs(x).max() > 1e-3:
        x = (np.sin(x) / 2)[:]
    return x


def calls_one_that_is_none(x):
    return hands_on_a_view(np.sqrt(x) + 1) * 2


FEW = np.linspace(0.0, 1.0, 30)


def test_a_loop_of_a_called_function_may_be_a_plan_by_itself():
    (item,) = breaks(calls_one, FEW)
    assert item["detail"] == "it ends a loop, in a function that is called"
    assert "compiled by itself" in item["hint"] and "between the turns" not in item["hint"]
    assert not breaks(converges, FEW)


def test_of_one_that_is_none_its_own_reason_is_told():
    for item in breaks(calls_one_that_is_none, FEW):
        assert "each turn is captured by itself" in item["hint"]
        assert "in a function that is called" not in item["detail"]


def returns_what_it_made_late(x):
    for _ in range(200):
        y = np.cos(x)
        if y.max() < 0:  # here
            return None
        new = np.sin(y)
        if np.abs(new - x).max() < 1e-9:
            return new
        x = new
    return x


def breaks_before_it_is_made(x):
    for _ in range(200):
        y = np.cos(x)
        if y.max() < 0:  # here
            break
        new = np.sin(y)
        if np.abs(new - x).max() < 1e-9:
            return new
        x = new
    return x


def stores_before_the_test(x):
    for _ in range(200):
        y = np.cos(x)
        if y.max() < 0:
            return None
        old = x
        x = np.sin(y)
        if np.abs(x - old).max() < 1e-9:
            return x
    return x


@pytest.mark.parametrize("function", [returns_what_it_made_late, breaks_before_it_is_made])
def test_a_variable_that_is_set_behind_the_first_exit_is_named(function):
    line = line_of_code(function)
    (item,) = [item for item in breaks(function, FEW, code="PC0006") if item["line"] == line]
    assert "'new', which is read behind the loop, is not set on every way" in item["detail"]
    assert "stores to that before the test" in item["hint"]


def test_without_it_the_loop_is_one_plan():
    assert not breaks(stores_before_the_test, FEW)
    check(stores_before_the_test, FEW, whole=True)


def begins_with_a_float(x, r=0.1):
    for _ in range(50):
        new = r - (x / (1 + r)).sum() * 1e-3
        if abs(new - r) < 1e-10:
            return new
        r = new
    return r


def begins_with_numpy_s_float(x, r=0.1):
    r = np.float64(r)
    for _ in range(50):
        new = r - (x / (1 + r)).sum() * 1e-3
        if abs(new - r) < 1e-10:
            return new
        r = new
    return r


def test_a_number_that_changes_its_class_is_named():
    (item,) = breaks(begins_with_a_float, FEW, code="PC0006")
    assert "'r' is float before the loop and of another class behind a turn" in item["detail"]
    assert "begin with np.float64(r)" in item["hint"]
    assert not breaks(begins_with_numpy_s_float, FEW)
    check(begins_with_numpy_s_float, FEW, whole=True)


# ---- branches within a side ----


def makes_a_list_on_one_side(x):
    if x[0] > 100:
        return None
    out = [1]
    while out:
        k = out.pop()
        if k < 5 and x[k] > 0:  # here
            out.append(k + 1)
    return k


def test_a_branch_within_a_side_is_told_as_one():
    found = breaks(makes_a_list_on_one_side, FEW, code="PC0006")
    (item,) = [item for item in found if "if x[0]" in item["stack"]]
    line = line_of_code(makes_a_list_on_one_side)
    assert item["detail"].startswith(f"one side has the branch of line {line}: its sides change")


# ---- loops that hand on arrays ----


def steps(y, end):
    """A solver: the step is chosen by the error."""
    t, h, times = 0.0, 0.01, []
    while t < end:  # here
        h = min(h, end - t)
        better = y + h * np.tanh(y) - h * h / 2 * y
        error = np.max(np.abs(better - (y + h * y)))
        if error <= 0.01:
            t += h
            y = better
            times.append(t)
        h *= min(5, max(0.2, 0.9 * (0.01 / (error + 1e-30)) ** 0.2))
    return y, times


@pytest.mark.slow
def test_a_loop_over_arrays_is_none_that_would_stay_one():
    """Even where the graph begins at its test, and has seen numbers only."""
    found = breaks(steps, X, 2.0)
    ends = [item for item in found if item["line"] == line_of_code(steps)]
    assert ends
    for item in ends:
        assert "did not stay a loop" not in _explain_text.reason(item), item["detail"]
        assert "`while` loops stay loops" not in item["hint"], item["hint"]
