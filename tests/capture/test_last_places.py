"""What breaks a graph is told to be moved behind the array code only where that is possible."""

import numpy as np
import pytest

from tests.differential import check
from tests.reports import breaks, line_of_code

X = np.linspace(1.0, 2.0, 3000)
NOTHING = "Nothing has to change: no array code of the function comes after it."


def prints_last(x):
    y = np.sqrt(x) + 1
    print(y.dtype)  # here


def prints_twice_and_returns(x):
    y = np.sqrt(x) + 1
    print(y.dtype, y.shape)  # here
    print("done", y.shape, sep=", ")
    return y


def prints_last_of_all_in_a_loop(x):
    y = np.sqrt(x) + 1
    for name in ("first", "second"):
        print(name, y.dtype)  # here
    return y


def report(y):
    z = y * 2
    print(z.dtype)  # here


def prints_last_in_a_call(x):
    report(np.sqrt(x) + 1)


def calls_last(x):
    y = np.sqrt(x) + 1
    return y, open("/dev/null")  # here


def prints_before(x):
    y = np.sqrt(x) + 1
    print(y.dtype)  # here
    return y * 2


def prints_in_a_loop(x):
    for _ in range(3):
        x = np.sqrt(x) + 1
        print(x.dtype)  # here
    return x


def prints_before_in_a_call(x):
    y = np.sqrt(x) + 1
    report(y)
    return y - 1


def prints_on_one_side(x, n):
    y = np.sqrt(x) + 1
    if n > 3:
        print(y.dtype)  # here
    else:
        y = y * 2
    return y + 1


def hints(function, *args, code):
    line = line_of_code(report if "in_a_call" in function.__name__ else function)
    found = [item for item in breaks(function, *args, code=code) if item["line"] == line]
    assert found
    return {item["hint"] for item in found}


@pytest.mark.parametrize(
    ("function", "code", "way"),
    [
        (prints_last, "PC0021", "show it in the caller"),
        (prints_twice_and_returns, "PC0021", "show it in the caller"),
        (prints_last_of_all_in_a_loop, "PC0021", "show it in the caller"),
        (prints_last_in_a_call, "PC0021", "show it in the caller"),
        (calls_last, "PC0002", "make the call in the caller"),
    ],
)
def test_last(capsys, function, code, way):
    (hint,) = hints(function, X, code=code)
    assert hint.startswith(NOTHING) and way in hint, hint


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (prints_before, (X,)),
        (prints_in_a_loop, (X,)),
        (prints_before_in_a_call, (X,)),
        (prints_on_one_side, (X, 5)),
    ],
)
def test_not_last(capsys, function, args):
    assert hints(function, *args, code="PC0021") == {"Print, log or warn after the array code."}


def test_shown_in_the_caller_is_no_break(capsys):
    def returns(x):
        y = np.sqrt(x) + 1
        return y.dtype, y

    check(returns, X, whole=True)
