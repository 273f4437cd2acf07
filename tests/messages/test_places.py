"""What is said of a break fits the place where it is said, and what its hint says to do can be done there."""

import contextlib
import enum
import math
import os
import re
import threading
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import (
    breaks,
    line_of_code,
    only_break,
)

X = np.linspace(1.0, 2.0, 3000)
MANY = np.linspace(1.0, 2.0, 30000)


def made(text, name):
    """The function of a source text."""
    names = {"np": np}
    exec(text, names)
    return names[name]


def until_close(x):
    error = 10.0
    while error > 1e-3:  # here
        y = np.sqrt(x)
        error = np.abs(y - x).max()
        x = y[:]  # a view is not carried to the next turn
    return x


# ---- what the program raises anyway ----


def two(a, b):
    return a + b


def closed(k):
    def inner(a, b):
        return a + b + k

    return inner


CLOSED = closed(3)


class Plain:
    pass


PLAIN = Plain()


def wrong_keyword(x):
    return two(np.sqrt(x) + 1, c=3)


def wrong_keyword_of_numpy(x):
    return np.add(np.sqrt(x), 1, axxis=3)


def too_few_for_a_closure(x):
    return CLOSED(np.sqrt(x) + 1)


def not_callable(x):
    return PLAIN(np.sqrt(x) + 1)


def no_attribute(x):
    return math.squirt(np.sqrt(x) + 1)


def no_order(x):
    return np.sqrt(x) + (3 < "a")


RAISES = [
    wrong_keyword,
    wrong_keyword_of_numpy,
    too_few_for_a_closure,
    not_callable,
    no_attribute,
    no_order,
]


@pytest.mark.parametrize("function", RAISES)
def test_what_raises_anyway_is_said_to_raise(function):
    with pytest.raises((TypeError, AttributeError)) as caught:
        function(X)
    item = only_break(function, X)
    told = f"{type(caught.value).__name__} is raised here: {caught.value}"
    assert (item["code"], item["detail"]) == ("PC0014", told)
    assert item["hint"].startswith("The program raises this in plain Python too")


@pytest.mark.parametrize("function", RAISES)
def test_fullgraph_and_explain_name_one_reason(function):
    """What explain shows as the program's own error is no graph break under fullgraph."""
    error = pycompile.explain(function)(X).error
    with pytest.raises((TypeError, AttributeError)) as caught:
        pycompile.compile(function, fullgraph=True)(X)
    assert (type(caught.value), str(caught.value)) == (type(error), str(error))


@pytest.mark.parametrize("function", [too_few_for_a_closure, not_callable])
def test_what_raises_is_handled_in_the_graph(function):
    def handles(x):
        y = np.sqrt(x) + 1
        try:
            return function(y)
        except TypeError as error:
            return y * 2, str(error)

    compiled = pycompile.compile(handles, fullgraph=True)
    (y, text), (plain_y, plain_text) = compiled(X), handles(X)
    assert np.array_equal(y, plain_y) and text == plain_text
    assert compiled.stats()["plan_runs"] == 1


def breaks_in_a_callee(y):
    try:
        return y + threading.get_ident()
    except ValueError:
        return y


def keeps_the_error(x):
    y = np.sqrt(x) + 1
    try:
        raise ValueError("no", y.ndim)
    except ValueError as error:
        return y, error


def keeps_the_callee_s_error(x):
    y = np.sqrt(x) + 1
    try:
        wrong_keyword(x)
    except TypeError as error:
        return y, error


@pytest.mark.parametrize(
    "function",
    [
        lambda x: breaks_in_a_callee(np.sqrt(x) + 1) * 2,
        keeps_the_error,
        keeps_the_callee_s_error,
        until_close,
    ],
)
def test_fullgraph_names_the_first_break_of_explain(function):
    first = pycompile.explain(function)(X).breaks[0]
    with pytest.raises(pycompile.GraphBreakError) as caught:
        pycompile.compile(function, fullgraph=True)(X)
    error = caught.value
    assert (error.code, error.file, error.line) == (first["code"], first["file"], first["line"])
    assert _explain_text.reason(first) in str(error) and first["hint"] in str(error)


# ---- other places of a code that its hint does not fit ----


def number_out_of_data(x):
    y = np.sqrt(x) + 1
    for i in range(int(y[3])):
        y = np.append(y, i)
    return y


def selection(x):
    y = x * 2
    for v in y[y > 3.99]:
        y = y + v
    return y


def makes_an_object(x):
    y = np.sqrt(x) + 1
    return y * 2, Slow()


class Slow:
    def __del__(self):
        pass


def repeats(x):
    return np.sqrt(x) * len([0, 1] * 20000)


@pytest.mark.parametrize(
    ("function", "code", "says", "not_said"),
    [
        (number_out_of_data, "PC0045", "pass it as an argument", "a[mask]"),
        (selection, "PC0045", "np.where(mask, a, 0)", "pass it as an argument"),
        (makes_an_object, "PC0003", "makes the object", "compiled by itself"),
        (repeats, "PC0013", "np.tile", "unroll"),
    ],
)
def test_the_hint_fits_the_place(function, code, says, not_said):
    hints = {item["hint"] for item in breaks(function, X, code=code)}
    assert len(hints) == 1
    (hint,) = hints
    assert says in hint and not_said not in hint


# ---- a function that a break has left on the stack ----


def shape_after_a_break(x, y):
    z = np.sqrt(x) + 1
    return np.full(np.broadcast(x, y).shape, 1.5) + z * y


def function_as_argument(x, function):
    return function((len(x),), 1.5) + np.sqrt(x)


def test_only_the_argument_is_blamed():
    found = breaks(shape_after_a_break, X, X[:2, None])
    assert {item["detail"].split("'")[1] for item in found} == {"broadcast", "shape"}
    assert not any("full" in item["detail"] for item in found)


def test_a_library_function_as_an_argument_is_followed():
    compiled = pycompile.compile(function_as_argument, fullgraph=True)
    for function in (np.full, np.full, lambda shape, value: np.ones(shape) * value):
        wanted = function_as_argument(X, function)
        assert np.array_equal(compiled(X, function), wanted)
    assert compiled.stats()["plan_runs"] == 3


# ---- generators and context managers whose users break ----


def three(x):
    for i in range(3):
        yield np.sqrt(x) + i


def asks_for_an_id(x):
    total = 0
    for y in three(x):
        total = total + y * 2
        id(total)  # here
    return total


def asks_for_no_id(x):
    total = 0
    for y in three(x):
        total = total + y * 2
    return total


@contextlib.contextmanager
def rooted(x):
    yield np.sqrt(x) + 1


def asks_in_a_with(x):
    with rooted(x) as y:
        z = y * 2
        id(z)  # here
    return z + 1


def asks_for_none_in_a_with(x):
    with rooted(x) as y:
        z = y * 2
    return z + 1


@contextlib.contextmanager
def asked(x):
    y = np.sqrt(x) + 1
    id(y)
    yield y


def enters_what_asks(x):
    with asked(x) as y:
        z = y * 2
    return z + 1


@pytest.mark.parametrize("function", [asks_for_an_id, asks_in_a_with])
def test_a_generator_in_use_names_the_break(function):
    (item,) = breaks(function, MANY, code="PC0020")
    line = line_of_code(function)
    assert f"in use where the graph ends, line {line}: the address of an object" in item["detail"]
    assert "Consume" not in item["hint"] and "the break that is named here" in item["hint"]


def asks_numpy_in_a_with(x):
    with rooted(x) as y:
        e = np.geterr()["divide"]  # here: what breaks is in a file of NumPy's
        z = y * 2
    return z + 1, e


def takes_a_side_that_asks_numpy(x):
    y = np.sqrt(x) + 1
    if y[0] > 0:
        e = np.geterr()["divide"]  # here
    else:
        e = None
    return y * 2, e


def asks_numpy_in_a_loop(x):
    s, i = 0.0, 0
    while s < 30.0:
        s += x[i]
        i += 1
        np.geterr()  # here
    return s


@pytest.mark.parametrize(
    "function, code",
    [(asks_numpy_in_a_with, "PC0020"), (takes_a_side_that_asks_numpy, "PC0006"),
     (asks_numpy_in_a_loop, "PC0006")],
)  # fmt: skip
def test_lines_in_details_are_of_the_program_s_file(function, code):
    line = line_of_code(function)
    found = [
        item for item in breaks(function, MANY, code=code) if "_get_extobj_dict" in item["detail"]
    ]
    lines = [re.findall(r"line (\d+)", item["detail"]) for item in found]
    assert any(lines)
    for last in (numbers[-1] for numbers in lines if numbers):
        assert int(last) == line


@pytest.mark.parametrize("function", [asks_for_no_id, asks_for_none_in_a_with])
def test_without_the_break_a_generator_is_followed(function):
    check(function, MANY, whole=True)


@pytest.mark.parametrize("function", [asks_in_a_with, enters_what_asks])
def test_contextlib_s_generator_is_told_as_one(function):
    found = breaks(function, MANY, code="PC0012")
    assert found
    for item in found:
        assert "see that break" in item["hint"] and "Iterate over a range" not in item["hint"]


def goes_through(parts):
    total = 0
    for y in parts:
        total = total + np.sqrt(y)
    return total


def test_a_generator_that_is_passed_in():
    (item,) = breaks(goes_through, (v for v in (MANY, MANY)), code="PC0012")
    assert "list(x)" in item["hint"]
    check(goes_through, [MANY, MANY], whole=True)


# ---- what may be changed, where plans do not hold ----


class Kind(enum.Flag):
    A = 1
    B = 2
    C = 4
    D = 8


def by_kind(x, kind):
    y = np.sqrt(x)
    if Kind.A in kind:
        y = y * 2
    if kind & Kind.B:
        y = y + 2
    return y * y + 1


def by_turn(x, names):
    y = np.sqrt(x)
    for i, name in enumerate(names):
        id(y)
        y = y + np.zeros(i + 1).sum()
        y = y + {"a": 1, "b": 2}.get(name, i)
    return y


def warning_of(function, calls):
    compiled = pycompile.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for args in calls:
            compiled(*args)
    return " ".join(item.message.details for item in caught)


def test_members_of_an_enum_are_not_made_anew():
    text = warning_of(by_kind, [(MANY, Kind(i % 16)) for i in range(60)])
    assert "pass fewer members" in text and "made anew" not in text, text


def test_the_item_of_a_loop_is_not_passed():
    text = warning_of(by_turn, [(MANY, "abcdefghijklmnopqrst")])
    assert "change what breaks in the loop that gives it" in text, text
    assert "pass fewer" not in text and "raise the option" not in text, text


# ---- functions without array work ----


def reads_lines(path):
    with open(path) as file:
        count = file.seek(0, 2)
    return count, len(os.listdir("."))


def computes_and_asks(x):
    y = np.sqrt(x) + 1
    return y * 2, id(y)


def test_what_only_sets_things_up_has_nothing_to_change():
    text = " ".join(str(pycompile.explain(reads_lines)(__file__)).split())
    assert "break PC0002" in text and "hint:" not in text, text
    assert "nothing has to change: there is no array work before these breaks" in text, text
    text = str(pycompile.explain(computes_and_asks)(MANY))
    assert "hint: Compare with `is`" in text and "nothing has to change" not in text, text
