"""What is said of places that are given up, and of loops that were unrolled: the loop's own reason
comes first, and explain() tells of what the program has lost."""

import warnings

import numpy as np
import pytest

import pycompile

OPTIONS = {"plan_always": False}


@pytest.fixture(autouse=True)
def afresh():
    pycompile.reset()
    yield
    pycompile.reset()


def told(compiled, calls):
    """The calls' warnings of pycompile's."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for args in calls:
            compiled(*args)
    return [w.message.details for w in seen if w.category is pycompile.PycompileWarning]


def filtered(x, taps):
    for k in range(1, len(taps)):
        x[k:] += taps[k] * x[:-k]
    return x


def curve(x):
    return np.exp(x) * 2 + x


def one_line(explained):
    return " ".join(str(explained).split())


REASON = "did not stay a loop: arithmetic on rows of other numbers than floats"


def test_the_warning_names_the_reason_of_the_loop_that_was_unrolled():
    compiled = pycompile.compile(filtered, options={**OPTIONS, "recompile_limit": 2})
    calls = [(np.arange(2000).astype("c8"), np.ones(64 + n, "c8")) for n in range(4)]
    (text,) = told(compiled, calls)
    assert REASON in text and text.index(REASON) < text.index("because taps.shape[0] == ")


def test_explain_names_it_where_there_are_many_kernels():
    text = one_line(
        pycompile.explain(filtered, options=OPTIONS)(
            np.arange(2000).astype("c8"), np.ones(64, "c8")
        )
    )
    assert "so many kernels" in text and REASON in text


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_a_short_loop_over_whole_arrays_is_not_blamed():
    def smooth(x):
        for _ in range(3):
            x = np.exp(-x) * x
        return x

    compiled = pycompile.compile(smooth, options={**OPTIONS, "recompile_limit": 2})
    (text,) = told(compiled, [(np.ones(50000 + n),) for n in range(4)])
    assert "did not stay a loop" not in text and "because x.shape[0] == " in text


def test_what_is_not_worth_a_plan_names_the_loop_that_was_unrolled():
    def stored(x):
        a = np.zeros(len(x), np.int32)
        for i in range(len(x)):
            a[i] = x[i] * 2
        return a

    why = pycompile.explain(stored, options=OPTIONS)(np.ones(99)).records[0]["why"]
    assert "did not stay a loop: " in why and "int32" in why.split("; unrolled, ")[0]


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_explain_says_what_was_given_up_why_and_the_remedy():
    compiled = pycompile.compile(curve, options={**OPTIONS, "recompile_limit": 3})
    told(compiled, [(np.ones(20000 + n),) for n in range(6)])
    explained = pycompile.explain(compiled)(np.ones(20000))
    text = one_line(explained)
    assert "given up before this call, which made plans anew: " in text
    assert "curve" in text and "3 plans of this place have not paid yet" in text
    assert "because x.shape[0] == 20002, 20001, 20000, now 20003" in text
    assert "pad arrays" in text and "raise the option recompile_limit" in text
    assert len(explained.lost) == 1 and explained.to_dict()["lost"] == explained.lost
    again = pycompile.explain(compiled)(np.ones(20000))
    assert again.lost == [] and "given up" not in str(again)


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_recompiles_in_all_have_a_limit_that_is_told_once():
    def several(x, y):
        a = np.exp(x) * 2
        pycompile.graph_break()
        return a.sum() + np.exp(y) * 2

    options = {**OPTIONS, "recompile_limit": 100, "accumulated_recompile_limit": 3}
    compiled = pycompile.compile(several, options=options)
    calls = [(np.ones(20000 + n), np.ones(30000 + n)) for n in range(5)]
    (text,) = told(compiled, calls)
    assert compiled.stats()["recompiles"] == 3
    assert "as often as a function may be compiled again" in text and ".shape[0] == " in text
    assert text.endswith("; or raise the option accumulated_recompile_limit")
    with pytest.raises(pycompile.GraphBreakError, match="3 recompiles of the function"):
        whole = pycompile.compile(curve, fullgraph=True, options=options)
        for n in range(5):
            whole(np.ones(20000 + n))


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_explain_says_it_of_functions_that_are_called():
    def inner(x):
        y = np.exp(x) * 2 + x
        return y, id(y)

    def outer(x):
        return inner(x * 2 + 1)[0] + 1

    alone = pycompile.compile(inner, options={**OPTIONS, "recompile_limit": 3})
    told(alone, [(np.ones(20000 + n),) for n in range(6)])
    (text,) = pycompile.explain(outer, options=OPTIONS)(np.ones(20000)).lost
    assert "inner" in text


def test_nothing_is_said_where_no_place_is_given_up():
    compiled = pycompile.compile(curve, options=OPTIONS)
    compiled(np.ones(20000))
    explained = pycompile.explain(compiled)(np.ones(20000))
    assert explained.lost == [] and "given up" not in str(explained)
