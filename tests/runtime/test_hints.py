"""What perf_hints tells at the end, once; what the log tells of plans that do not pay."""

import threading
import warnings

import numpy as np
import pytest
from varied_functions import ONES, Color, chosen, named, scaled, work

import pycompile
from pycompile import _C, _hints


def hint_of(function, *calls, **options):
    """What perf_hints would tell of a function after these calls."""
    compiled = pycompile.compile(function, options={"plan_always": True, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        for arguments in calls:
            compiled(*arguments)
    (record,) = (r for r in _C.hints() if r["function"] == function.__qualname__ and r["compiles"])
    return _hints.describe(record)


def test_a_hint_is_given_once():
    """… for what varies at two places of a function."""

    def labels(x, name):
        y = np.exp(x) * 2 + x
        upper = name.upper()
        threading.get_ident()
        return upper, np.exp(y) + len(name), {name: y.sum()}

    text = hint_of(labels, *((ONES, f"n{i}") for i in range(4)))
    assert text.count("no plan held because") == 2
    assert text.count("use fewer texts") == 1


@pytest.mark.usefixtures("a_plan_for_each_shape")
@pytest.mark.parametrize(
    ("function", "values", "text"),
    [
        (
            work,
            [(ONES[:n],) for n in (5, 6, 7)],
            "2 times no plan held because x.shape[0] varied: 5",
        ),
        (work, [(ONES[:n],) for n in (5, 6, 7)], "varied: 5, 6, 7 (varied_functions.py:"),
        (work, [(ONES[:n],) for n in range(1, 20)], "varied: 1, 2, 3, 4, 5, ... (varied_functions"),
        (work, [(ONES,), (np.float32(ONES),)], "because x.dtype varied: float64, float32 ("),
        (work, [(ONES,), (ONES[:9].T.copy().T,)], "    hint: pad arrays to a few shapes"),
        (work, [(ONES,), (ONES.T.copy().T,)], "because x.flags.c_contiguous, now not ("),
        (scaled, [(ONES, 1), (ONES, 5)], "1 time no plan held because n <= 3, now 5 ("),
        (scaled, [(ONES, 1), (ONES, 2.0)], "because type(n) varied: int, float ("),
        (chosen, [(ONES, {"b"}), (ONES, {"c"})], "because s varied: {'b'}, {'c'} ("),
        (chosen, [(ONES, ["b"]), (ONES, ["b", "c"])], "because len(s) varied: 1, 2 ("),
        (
            chosen,
            [(ONES, {"b": 1}), (ONES, {"c": 1})],
            "because keys of s varied: ('b',), ('c',) (",
        ),
        (named, [(ONES, Color.RED), (ONES, Color.BLUE)], "s varied: Color.RED, Color.BLUE ("),
    ],
)
def test_hints_say_what_varied(function, values, text):
    pycompile.reset()
    told = hint_of(function, *values)
    assert text in told, told
    pycompile.reset()
    assert all(record["varied"] == [] for record in _C.hints())


def test_hints_keep_values_of_the_environment_to_themselves(monkeypatch):
    pycompile.reset()
    monkeypatch.setenv("SECRET", "very secret")
    told = hint_of(chosen, (ONES, {"very secret"}), (ONES, {"b"}))
    assert "secret" not in told and "a value out of the environment" in told


@pytest.mark.parametrize("letters", range(40, 80, 3))
def test_hints_cut_names_between_characters(letters):
    name = "x" * (letters % 2) + "\u00fc" * letters
    scope = {"np": np}
    exec(f"def many({name}):\n    return np.sqrt({name}.T) * 2", scope)
    function = scope["many"]
    function.__qualname__ = name
    pycompile.reset()
    compiled = pycompile.compile(function, options={"plan_always": True})
    for n in (3, 4):
        compiled(np.ones(n))
    found = [text for r in _C.hints() for row in r["varied"] for text in (row[0], *row[3])]
    assert any(text.startswith(name[:60]) for text in found)
    assert not any("\ufffd" in text for text in found)


def logged(caplog, channel, function, *calls):
    """What goes to the log, and the warnings."""
    compiled = pycompile.compile(function, options={"plan_always": False})
    pycompile.set_logs(channel)
    try:
        with warnings.catch_warnings(record=True) as caught, caplog.at_level("DEBUG"):
            warnings.simplefilter("always")
            for arguments in calls:
                compiled(*arguments)
    finally:
        pycompile.set_logs()
    return "\n".join(record.getMessage() for record in caplog.records), caught


def one_operation(x):
    return x + 1


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_a_limit_that_loses_little_is_told_in_the_log_alone(caplog):
    calls = [(np.ones(3 + n),) for n in range(12)]
    told, caught = logged(caplog, "recompiles", one_operation, *calls)
    assert caught == []
    assert "8 plans of this place have not paid yet" in told and "now 11 (" in told


def library_call(x):
    return np.linalg.svd(x)


def division(x):
    return divmod(x, 7)


def product(x):
    return x @ x.T


def numbers_alone(x):
    return len(x) * 3 + x.ndim


def elements(x):
    return x[0] * 2


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (library_call, "its array work is calls of library functions"),
        (division, "its array work is calls of library functions (divmod)"),
        (product, "its array work is calls of library functions (matmul)"),
        (numbers_alone, "it has no array work that a plan saves"),
        (elements, "its work on single numbers takes less time than a plan would"),
    ],
)
def test_what_is_not_worth_a_plan_is_told_by_explain_and_the_log(caplog, function, why):
    x = {library_call: np.ones((3, 3)), product: np.ones((200, 200))}.get(function, np.ones(3))
    told, caught = logged(caplog, "perf_hints", function, (x,))
    assert caught == [] and f"left to CPython: {why}" in told
    found = pycompile.explain(function, options={"plan_always": False})(x)
    flat = " ".join(str(found).split())
    assert f"left to CPython: {why}" in flat and f"left to CPython: {why}" in found.verbose()


def test_a_hint_is_logged_once(caplog):
    calls = [(np.ones(3 + n)[::-1],) for n in range(6)]
    told, _ = logged(caplog, "perf_hints", numbers_alone, *calls)
    assert told.count("numbers_alone") == 1, told
    caplog.clear()
    pycompile.reset()
    told, _ = logged(caplog, "perf_hints", numbers_alone, *calls)
    assert told.count("numbers_alone") == 1, told


def test_hints_by_turns_are_logged_once_each(caplog):
    def two_places(x):
        y = np.sqrt(x)
        _C.hints()  # a break
        return np.log(y - 2) + y

    x = np.linspace(10.0, 20.0, 3000)
    calls = [(v,) for _ in range(8) for v in (x, -x, x / 100)]
    with np.errstate(all="ignore"):
        pycompile.compile(two_places)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told, _ = logged(caplog, "perf_hints", two_places, *calls)
    lines = [line for line in told.splitlines() if "was undone" in line]
    assert len(lines) == len(set(lines)) == 2, told


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 run left a graph, 1 deopt, 1 recompile, 1 place given up\n  1 time at line 4"),
        (2, "2 runs left a graph, 2 deopts, 2 recompiles, 2 places given up\n  2 times at line 4"),
    ],
)
def test_hints_count_in_english(count, text):
    counts = dict.fromkeys(("breaks", "deopts", "recompiles", "given_up"), count)
    places = [(4, count, "PC0002", "a call", "", "")]
    record = {"function": "f", "file": "f.py", "line": 3, "places": places, "varied": []} | counts
    assert text in _hints.describe(record | {"undone_seconds": 0.0})
