"""What is told to be changed where no plan holds fits where the value comes from: nothing is to be
passed that is no argument, and what is told helps.  No bytes of arrays are shown."""

import warnings

import numpy as np
import pytest

import pycompile
from tests.differential import check

X = np.linspace(1.0, 2.0, 20000)


def told(function, *args, limit=2):
    """What is said of places that are given up, in one call."""
    pycompile.reset()
    compiled = pycompile.compile(function, dynamic=False, options={"recompile_limit": limit})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(*args)
    return " | ".join(item.message.details for item in caught)


def lists_of_other_lengths(x, n):
    total = np.float64(0)
    for k in range(n):
        items = [float(i) for i in range(k % 7)]
        pycompile.graph_break()
        total += (x * len(items)).sum() + np.sqrt(x).sum()
    return total


def an_argument_that_is_assigned(x, n):
    items = n  # a local, as the argument is from its second value on
    for k in range(n):
        n = [0] * k
        pycompile.graph_break()
        x = np.sqrt(x) + len(n)
    return x, items


def numbers_of_other_types(x, n):
    best = 0
    for _ in range(n):
        pycompile.graph_break()
        x = np.sqrt(x) + best
        best = x.max()
    return x


def numbers_of_one_type(x, n):
    best = np.float64(0)
    for _ in range(n):
        pycompile.graph_break()
        x = np.sqrt(x) + best
        best = x.max()
    return x


def boards(x, n):
    seen = set()
    for _ in range(n):
        x = np.sqrt(x) + 1
        key = x[:40].tobytes()
        pycompile.graph_break()
        x = np.sqrt(x) * 2
        if key in seen:
            break
        seen.add(key)
    return x


def turn(x):
    x = np.sqrt(x) + 1
    return np.sqrt(x) * 2, x[:40].tobytes()


def boards_in_a_plain_loop(x, n):
    step, seen = pycompile.compile(turn, options={"recompile_limit": 1}), set()
    for _ in range(n):
        x, key = step(x)
        if key in seen:
            break
        seen.add(key)
    return x


@pytest.mark.parametrize(
    ("function", "name", "remedy"),
    [
        (lists_of_other_lengths, "len(items)", "keep it at a few lengths"),
        (an_argument_that_is_assigned, "len(n)", "keep it at a few lengths"),
        (numbers_of_other_types, "best", "give it one type from its first value on"),
        (boards, "seen", "a function of the array code that does without it"),
    ],
)
def test_locals_are_not_passed(function, name, remedy):
    text = told(function, X, 30, limit=1 if function is numbers_of_other_types else 2)
    reason, _, remedies = text.partition(". To have it compiled: ")
    assert name in reason and remedy in remedies, text
    assert "pass " not in remedies, text


def test_a_number_of_one_type_keeps_its_plan():
    assert told(numbers_of_one_type, X, 30, limit=1) == ""
    check(numbers_of_one_type, X, 30)


def test_array_code_by_itself_keeps_its_plan():
    pycompile.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = boards_in_a_plain_loop(X, 30)
    assert np.array_equal(found, boards(X, 30))


def lengths(x, items):
    return np.sqrt(x) + len(items)


def lengths_in_a_list(x, items):
    return np.sqrt(x) + len(items[0])


@pytest.mark.parametrize("function", [lengths, lengths_in_a_list])
def test_arguments_are_passed(function):
    pycompile.reset()
    compiled = pycompile.compile(function, options={"recompile_limit": 2})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(9):
            items = [0] * n
            compiled(X, items if function is lengths else [items])
    assert "pass fewer lengths" in caught[0].message.details, caught[0].message


def test_bytes_of_arrays_are_not_shown():
    text = told(boards, X, 30)
    assert "\\x" not in text and "<320 bytes>" in text, text


def test_bytes_that_are_text_are_shown():
    def named(x, name):
        return np.sqrt(x) * 2 if name == b"first" else np.sqrt(x) + len(name)

    pycompile.reset()
    compiled = pycompile.compile(named, options={"recompile_limit": 2})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in (b"first", b"second", b"third", b"a\0\xff", (b"a\0\xff", 1)):
            compiled(X, name)
    text = caught[0].message.details
    assert "b'first'" in text and "\\x" not in text, text


def shrinks(x):
    for _ in range(len(x) - 1):
        x = 0.5 * (x[:-1] + x[1:]) * 1.01
        x = np.maximum(x, 0.1)
    return x


def shrinks_beside_another(x, n):
    v = np.maximum(n - x, 0)
    s = x
    for _ in range(len(x) - 1):
        v = 0.5 * (v[:-1] + v[1:])
        s = s[:-1] * 1.01
        np.maximum(v, n - s, out=v)
    return v


def shrinks_and_prints(x, n):
    for _ in range(n):
        x = np.sqrt(x[:-1] + x[1:])
        pycompile.graph_break()
        x = np.maximum(x, 0.1) * 2
    return x


def grows(x):
    out = x[:1]
    for _ in range(600):
        out = np.sqrt(np.concatenate([out, x[:1]])) + 1
    return out


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (shrinks, (X[:1000],)),
        (shrinks_beside_another, (X[:400], 1.0)),
        (shrinks_and_prints, (X, 30)),
        (grows, (X,)),
    ],
)
def test_shapes_that_a_loop_changes(function, args):
    text = told(function, *args, limit=8)
    assert ".shape[0] ==" in text and "To have it compiled: keep an array of one length" in text
    assert "recompile_limit" not in text and "x[mask]" not in text, text


def shrinks_in_place(x):
    w = x.copy()
    for m in range(len(x) - 1, 0, -1):
        w[:m] = np.maximum(0.5 * (w[:m] + w[1 : m + 1]) * 1.01, 0.1)
    return w[:1]


@pytest.mark.parametrize(
    ("function", "options"), [(shrinks, {"unroll": 10**6}), (shrinks_in_place, {})]
)
def test_what_is_said_of_loops_that_change_shapes_helps(function, options):
    pycompile.reset()
    compiled = pycompile.compile(function, options=options)
    for _ in range(3):
        compiled(X[:1000])
    assert compiled.stats()["given_up"] == 0 and compiled.stats()["plans"] == 1
    assert compiled(X[:1000]).tobytes() == shrinks(X[:1000]).tobytes()


def squares_a_selection(x):
    for _ in range(30):
        x = x[x > x[0]]
        pycompile.graph_break()
        x = np.sqrt(x) * np.sqrt(x) + 1
    return x


def test_a_selection_that_a_loop_makes_is_told_as_one():
    text = told(squares_a_selection, X)
    assert "np.where(mask, x, 0)" in text and "from turn to turn" not in text, text
