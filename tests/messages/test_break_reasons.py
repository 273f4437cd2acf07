"""What a graph break says: its code, the line where it happened, and words of the reason.

Each program has one obvious cause, on the line marked `# here`; no break is told of another line
unless its code is in `also`, and no reason is doubled.
"""

import asyncio
import contextlib
import inspect
import io
import json
import os
import queue
import random
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C, _explain, _explain_text
from tests.reports import line_of_code

X = np.linspace(1.0, 2.0, 20000)
LOCK = threading.Lock()
STRINGS = np.array(["a", "b"])
OBJECTS = np.array([1, 2], object)
DATES = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])
SMALL = np.arange(10.0)
VECTORIZED = np.vectorize(lambda v: v + 1 if v > 1.5 else v - 1)


class Sub(np.ndarray):
    pass


class Slotted:
    __slots__ = ("ident",)

    def note(self):
        self.ident = threading.get_ident()


class Model:
    @property
    def key(self):
        return id(self)

    def __getattr__(self, name):
        return threading.get_ident()


PROGRAMS = []


def program(code, words, *args, also=()):
    def add(function):
        PROGRAMS.append(pytest.param(function, code, words, args, also, id=function.__name__))
        return function

    return add


@program("PC0030", "the address of an object", X)
def the_id(x):
    y = np.sqrt(x) + 1
    key = id(y)  # here
    return y * 2, key


@program("PC0002", "call of 'get_ident'", X)
def opaque_c_function(x):
    y = np.sqrt(x) + 1
    ident = threading.get_ident()  # here
    return y * 2, ident


@program("PC0002", "call of 'open'", X, also=("PC0002", "PC0010"))
def open_file(x):
    y = np.sqrt(x) + 1
    file = open(os.devnull)  # here
    file.close()
    return y * 2


@program("PC0050", "where a list is changed", X)
def pops_at_an_element(x):
    items = [np.sqrt(x) + 1, x * 2, x * 3]
    y = items.pop(int(x.argmax()) % 2)  # here
    return y * items[0]


@program("PC0045", "how often a sequence is repeated", X)
def repeats_by_an_element(x):
    y = np.sqrt(x) + 1
    items = [y] * int(x[0])  # here
    return items[0] * 2 + y


@program("PC0045", "an end of a range", X)
def ranges_by_an_element(x):
    y = np.sqrt(x) + 1
    for _ in range(x.argmax()):  # here
        y = y * 2
        break
    return y


@program("PC0022", "_thread.lock", X, also=("PC0002",))
def with_lock(x):
    y = np.sqrt(x) + 1
    with LOCK:  # here
        y = y * 2
    return y


@program("PC0020", "leaves the graph unfinished", X)
def generator_leaves(x):
    y = np.sqrt(x) + 1
    return y, (v * 2 for v in (y, y + 1))  # here


@program("PC0020", "a coroutine", X, also=("PC0002",))
def coroutine(x):
    async def one():
        return 1

    y = np.sqrt(x) + 1
    return y * asyncio.run(one())  # here


@program("PC0033", "an array of Python objects", X, OBJECTS)
def objects(x, o):
    y = np.sqrt(x) + 1
    z = o + 1  # here
    return y * 2, z


@program("PC0034", "strings", X, STRINGS)
def strings(x, s):
    y = np.sqrt(x) + 1
    return y * 2, s == "a"  # here


@program("PC0035", "dates", X, DATES)
def dates(x, d):
    y = np.sqrt(x) + 1
    span = d[1]  # here
    return y * 2, span


@program("PC0007", "a subclass of ndarray: an operand: Sub", X.view(Sub))
def subclass(x):
    return np.sqrt(x)  # here


@program("PC0039", "call of 'masked_where'", X)
def made_masked(x):
    y = np.sqrt(x) + 1
    return np.ma.masked_where(y > 2, y)  # here


@program("PC0048", "an order or an equality", X)
def ordered(x):
    y = np.sqrt(x) + 1
    return sorted([y.sum(), y.max(), 3.0])[1] * y  # here


@program("PC0039", "a masked array", MASKED)
def masked(x):
    return x * 2  # here


@program("PC0038", "byte order: an operand", X.astype(">f8"))
def swapped(x):
    return np.sqrt(x)  # here


@program("PC0009", "more than 8 dimensions", np.ones((2,) * 9))
def nine_dimensions(x):
    return x * 2  # here


@program("PC0043", "each element", X)
def vectorized(x):
    y = np.sqrt(x) + 1
    return VECTORIZED(y) * 2  # here


@program("PC0002", "call of 'eval'", X)
def evaluates(x):
    y = np.sqrt(x) + 1
    z = eval("y * 2")  # here
    return z + 1


@program("PC0002", "call of 'get_ident'", X)
def try_finally(x):
    y = np.sqrt(x) + 1
    try:
        ident = threading.get_ident()  # here
    finally:
        y = y * 2
    return y, ident


@program("PC0029", "time.time", X)
def clock(x):
    y = np.sqrt(x) + 1
    now = time.time()  # here
    return y * 2, now


@program("PC0029", "random.random", X)
def random_number(x):
    y = np.sqrt(x) + 1
    return y * random.random()  # here


@program("PC0031", "locals()", X)
def local_names(x):
    y = np.sqrt(x) + 1
    names = locals()  # here
    return y * 2, len(names)


@program("PC0005", "pycompile.graph_break()", X)
def asked_for(x):
    y = np.sqrt(x) + 1
    pycompile.graph_break()  # here
    return y * 2


@program("PC0013", "more than 4096 instructions", X)
def long_loop(x):
    y = np.sqrt(x) + 1
    for i in range(10000):  # here
        y = (y + np.cos(y) * i)[::-1]
    return y[:3]


@program("PC0045", "the length of a range", X)
def range_out_of_data(x):
    y = np.sqrt(x) + 1
    for i in range(int(y[3])):  # here
        y = np.append(y, i)
    return y


@program("PC0045", "iteration over an array", SMALL)
def iteration_over_a_choice(x):
    y = x * 2
    for v in y[y > 9]:  # here
        y = y + v
    return y


@program("PC0045", "a branch on it", SMALL)
def branch_on_a_length(x):
    y = x[x > 4]
    n = len(y)
    if n % 2 == 0 and y.size > 3:  # here
        return y * 2
    return y


@program("PC0045", "it ends a loop", SMALL, also=("PC0045",))
def loop_until_a_length(x):
    while len(x) > 2:  # here
        x = x[x > x.mean()]
    return x


@program("PC0045", "a comparison of it", SMALL)
def comparison_of_a_shape(x):
    y = x[x > 4]
    if y.shape == (3,):  # here
        return x * 2
    return x


@program("PC0045", "iteration over an array", SMALL, also=("PC0044", "PC0045"))
def counted_iteration_over_a_choice(x):
    y = x * 2
    for i, v in enumerate(y[y > 9]):  # here
        y = y + v * i
    return y


@program("PC0006", "do not come together", SMALL)
def branch_on_a_value_and_a_length(x):
    y = x[x > 4]
    if y.sum() > len(y):  # here
        return y * 2
    return x


@program("PC0006", "do not come together", X)
def other_shapes(x):
    y = np.sqrt(x) + 1
    if y.sum() > 3:  # here
        y = y[:10]
    return y * 2


@program("PC0012", "iteration over generator", X, (v for v in (X, X)))
def generator_from_outside(x, values):
    y = np.sqrt(x) + 1
    for v in values:  # here
        y = y + v
    return y


@program("PC0030", "the address of an object", X, [X, X + 1])
def break_in_a_loop(x, values):
    y = np.sqrt(x) + 1
    for v in values:
        y = y + id(v) % 2  # here
    return y


@program("PC0003", "'Slow', which has __del__", X, also=("PC0028",))
def finalizer(x):
    y = np.sqrt(x) + 1
    return y * 2, Slow()  # here


class Slow:
    def __del__(self):
        pass


@program(
    "PC0049",
    "whose own elements share memory",
    np.lib.stride_tricks.as_strided(X.copy(), (5, 3), (0, 8)),
)
def writes_what_is_shared(x):
    x += 1  # here
    return np.sqrt(x) * 2


@program("PC0008", "M8[s]", X)
def makes_dates(x):
    return (np.sqrt(x) + 1).astype("M8[s]")  # here


@program("PC0015", "numpy.save", X)
def saves(x):
    y = np.sqrt(x) + 1
    np.save(os.devnull, y)  # here
    return y * 2


@program("PC0032", "class statement", X)
def makes_a_class(x):
    y = np.sqrt(x) + 1

    class Local:  # here
        rate = 2

    return y * Local.rate


def told(function, *calls):
    """The breaks that explain would show, of all the calls of one compiled function."""
    pycompile.reset()
    compiled = pycompile.compile(function)
    _C.report_begin()
    try:
        for call in calls:
            compiled(*call)
    finally:
        records = _C.report_end()
    found = _explain.Explanation("f", records)
    return _explain_text.found_breaks(found)


@pytest.mark.parametrize(("function", "code", "words", "args", "also"), PROGRAMS)
def test_reason(function, code, words, args, also):
    lines, first = inspect.getsourcelines(function)
    here = first + next(i for i, line in enumerate(lines) if "# here" in line)
    found = told(function, args)
    assert found
    right = [item for item in found if item["code"] == code and item["user"][1] == here]
    assert right, found
    reason = _explain_text.reason(right[0])
    assert words in reason
    assert reason.count(words) == 1
    for item in found:
        assert item["user"][0] == __file__
        assert item in right or item["code"] in also, item
        assert "object at 0x" not in str(item) and item["detail"] != ""


# ---- a visible effect ----


def announces():
    print("half way")


def writes_around(x, out, show):
    out[0] = 1
    show()
    out += x  # here
    return out


def test_a_break_behind_an_effect_names_the_effect_and_its_line():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found = told(writes_around, (X, X.copy(), announces))
    assert printed.getvalue() == "half way\n"
    (item,) = [item for item in found if item["code"] == "PC0021"]
    assert item["user"][1] == line_of_code(writes_around, "# here")
    place = f"print at {__file__}:{line_of_code(announces, 'print')}"
    assert item["detail"].startswith(place), item["detail"]


# ---- a break inside of a call ----


def innermost(y):
    return id(y)  # the cause


def middle(y):
    z = y + 1
    return innermost(z)  # through here


def outermost(x):
    y = np.sqrt(x) + 1
    return y, middle(y)  # from here


def line_of(text):
    lines, first = inspect.getsourcelines(inspect.getmodule(line_of))
    return 1 + next(i for i, line in enumerate(lines) if line.rstrip().endswith("# " + text))


PLACES = [
    (line_of("the cause"), "innermost", "return id(y)  # the cause"),
    (line_of("through here"), "middle", "return innermost(z)  # through here"),
    (line_of("from here"), "outermost", "return y, middle(y)  # from here"),
]


def test_the_call_carries_the_inner_break():
    item = pycompile.explain(outermost)(X).breaks[0]
    assert item["code"] == "PC0030" and item["detail"] is None
    assert (item["file"], item["line"]) == (__file__, PLACES[0][0])
    assert item["frames"] == [(__file__, line, name) for line, name, _ in PLACES]
    wanted = [f"  {__file__}:{line} in {name}: {text}" for line, name, text in PLACES]
    assert item["stack"].splitlines() == wanted


def test_fullgraph_says_it_too():
    with pytest.raises(pycompile.GraphBreakError) as info:
        pycompile.compile(outermost, fullgraph=True)(X)
    head, *rest = str(info.value).splitlines()
    assert head == f"PC0030: the address of an object: id() ({__file__}:{PLACES[0][0]})"
    wanted = [f"  {__file__}:{line} in {name}: {text}" for line, name, text in PLACES]
    assert rest[:3] == wanted and rest[3].startswith("  hint: ")
    assert (info.value.code, info.value.line) == ("PC0030", PLACES[0][0])


def in_try(x):
    y = np.sqrt(x) + 1
    try:
        return y, id(y)  # in a try
    except Exception:
        return None


def in_with(x):
    with np.errstate(all="ignore"):
        y = np.sqrt(x) + 1
        return y, id(y)  # in a with


def in_loop(x):
    y = np.sqrt(x) + 1
    for step in range(3):
        y = y + step
        id(y)  # in a loop
    return y


@pycompile.compile(fullgraph=True)
def decorated(x):
    y = np.sqrt(x) + 1

    return y, id(y)  # behind a decorator


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (decorated, "behind a decorator"),
        (outermost, "from here"),
        (in_try, "in a try"),
        (in_with, "in a with"),
        (in_loop, "in a loop"),
    ],
)
def test_fullgraph_s_traceback_ends_at_the_break(function, text):
    compiled = pycompile.compile(function, fullgraph=True)
    for _ in range(2):
        with pytest.raises(pycompile.GraphBreakError) as info:
            compiled(X)
        line = line_of(text)
        assert info.traceback[-1].lineno + 1 == line, str(info.getrepr())
        assert f":{line} in {compiled.__name__}: " in str(info.value)
    del info
    arguments = [sys.getrefcount(X)]
    for _ in range(3):
        with contextlib.suppress(pycompile.GraphBreakError):
            compiled(X)
        arguments.append(sys.getrefcount(X))
    assert len(set(arguments)) == 1  # the frame is gone with all that it held


def test_it_is_told_once():
    text = str(pycompile.explain(outermost)(X))
    assert text.count("PC0030") == 1 and "PC0003" not in text and "which has a break" not in text


def in_a_library(x):
    y = np.sqrt(x) + 1
    return y, json.dumps({"a": 1}), queue.Queue()


@pytest.mark.parametrize("file", ["json", "queue.py"])
def test_a_break_in_a_library_is_told_at_the_user_s_line(file):
    found = [i for i in told(in_a_library, (X,)) if file in i["file"]]
    line = in_a_library.__code__.co_firstlineno + 2
    assert found and {i["user"] for i in found} == {(__file__, line, "in_a_library")}


def test_a_recursion_is_one_line_of_the_stack():
    def deeper(n, x):
        return x if n == 0 else deeper(n - 1, x * 1.01)

    stack = pycompile.explain(lambda x: deeper(400, x))(X).breaks[0]["stack"]
    assert " times)" in stack and len(stack.splitlines()) < 8


# ---- no other reasons than the one ----


def code_behind_a_break(x, n):
    y = np.sqrt(x) + 1
    key = id(y)  # here
    z = np.roll(y, n) * 2 + np.roll(x, -1).astype("f8")
    for k in range(3):
        z = z + k * n
    return z[:n] * (int(n) + 2), key


def breaks_in_a_loop(x, n):
    keys = []
    for k in range(n):
        y = np.roll(x, k) * 2 + n
        keys.append(id(y))  # here
        x = y.astype("f8") + k
    return x, len(keys)


@pytest.mark.parametrize("function", [code_behind_a_break, breaks_in_a_loop])
def test_a_break_brings_no_others(function):
    """No unsupported dtype of float64 arrays, no iteration over ints, no rule that np.roll has not."""
    found = told(function, (X, 3), (X * 2, 3), (X, 4))
    lines = {item["user"][1] for item in found if item["code"] == "PC0030"}
    assert lines == {line_of_code(function)}
    others = {item["code"] for item in found} - {"PC0030", "PC0044"}
    assert not others, found


def test_explain_has_names_where_the_graph_has_numbers():
    """Numbers of objects and of stack entries are for golden files."""
    text = pycompile.explain(breaks_in_a_loop)(X, 3).verbose()
    guards = [line for line in text.splitlines() if " is " in line or " == " in line]
    assert guards and not any("@" in line or "stack[" in line for line in guards), guards
    assert "stack[" not in text


# ---- numbers that vary


def ranges(x, n):
    for i in range(n):
        x = np.cos(x) + i
    return x


def shapes(x, n):
    return (np.sqrt(x) + 1).reshape(n, -1) * 2


def slices(x, n):
    return (np.sqrt(x) + 1)[:n] * 2


def branches(x, n):
    return np.sqrt(x) * 2 if n % 5 == 0 else np.sqrt(x) + 1


@pytest.mark.parametrize("function", [ranges, shapes, slices, branches])
def test_a_number_that_varies_is_none_out_of_an_array(function):
    found = told(function, *((X, n) for n in (2, 4, 5, 8, 10)))
    assert {item["code"] for item in found} <= {"PC0046"}, found


def test_a_mask_is_no_matter_of_dtypes():
    def choose(x):
        y = x[x > 1.5]
        for v in y:
            x = x + v
        return x + y.sum()

    assert {item["code"] for item in told(choose, (SMALL,))} == {"PC0045"}


# ---- fullgraph and the program's own errors ----


def takes_two(a, b):
    return a + b


def checks(x):
    if x.ndim == 1:
        raise TypeError("no vectors", x.ndim)
    return x + 1


def name(x):
    return np.sqrt(x) * 2 + undefined_thing  # noqa: F821


def keyword_of_ufunc(x):
    return np.sqrt(x, foo=3) * 2


def axis_of_ufunc(x):
    return np.add(x, 1, axis=0) * 2


def axis_of_sum(x):
    return np.sum(x * 2, axis=5)


def argument_of_sum(x):
    return np.sum(x * 2, axes=0)


def reshaped(x):
    return (x * 2).reshape(2, 2) + 1


def no_matrix(x):
    return np.linalg.inv(x * 2) + 1


def no_square(x):
    return np.linalg.inv(np.outer(x[:50], x)[:2]) + 1


def reshaped_inside(x):
    return np.sqrt(x) + reshaped(x)


def attribute_of_array(x):
    return (x + 1).summ()


def argument(x):
    return takes_two(np.sqrt(x)) * 2


def raised(x):
    y = np.sqrt(x) + 1
    raise ValueError("here", y.ndim)


def raised_inside(x):
    return checks(np.sqrt(x) + 1) * 2


def missing_key(x):
    return np.sqrt(x) * {"a": 1}["b"]


def unbound(x):
    if x.ndim == 2:
        y = 3
    return np.sqrt(x) * y


def raised_again(x):
    try:
        return np.sqrt(x) + int("no")
    except ValueError as error:
        raise KeyError("after") from error


def quantile_of_nothing(x):
    y = np.sqrt(x)
    return y, np.quantile(y[:0], [0.2, 0.5], axis=0)


def effect_first(x):
    SEEN.append(x.shape)
    return np.sqrt(x) + undefined_thing  # noqa: F821


SEEN = []


def outcome(function):
    SEEN.clear()
    with pytest.raises(Exception) as caught:  # noqa: PT011 (whatever it is)
        function(X)
    error, lines = caught.value, []
    trace = error.__traceback__.tb_next  # without this frame
    while trace is not None:
        lines.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return type(error), str(error), repr(error.__cause__), lines, list(SEEN)


@pytest.mark.parametrize(
    "function",
    [
        name,
        keyword_of_ufunc,
        axis_of_ufunc,
        axis_of_sum,
        argument_of_sum,
        reshaped,
        reshaped_inside,
        no_matrix,
        no_square,
        attribute_of_array,
        argument,
        raised,
        raised_inside,
        missing_key,
        unbound,
        raised_again,
        effect_first,
        quantile_of_nothing,
    ],
)
def test_fullgraph_lets_the_programs_own_error_through(function):
    compiled = pycompile.compile(function, fullgraph=True)
    for _ in range(3):
        assert outcome(compiled) == outcome(function)


def test_fullgraph_raises_where_the_program_goes_on():
    def handled(x):
        y = np.sqrt(x) + 1
        try:
            return y + int("no")
        except ValueError:
            return y, threading.get_ident()

    def kept(x):
        try:
            raise KeyError("here")
        except KeyError as error:
            return np.sqrt(x) + 1, error

    for function, code in ((handled, "PC0002"), (kept, "PC0014")):
        with pytest.raises(pycompile.GraphBreakError, match=code):
            pycompile.compile(function, fullgraph=True)(X)


def test_an_error_that_is_fixed_is_a_graph_again():
    def scaled(x, other):
        return np.sqrt(x) * 2 + other.factor

    class Other:
        pass

    compiled = pycompile.compile(scaled, fullgraph=True)
    other = Other()
    with pytest.raises(AttributeError, match="has no attribute 'factor'"):
        compiled(X, other)
    other.factor = 3.0
    assert np.array_equal(compiled(X, other), scaled(X, other))
    assert compiled.stats()["plan_runs"] == 1


def test_a_break_by_an_exception_names_its_text():
    found = pycompile.explain(name)(X).breaks
    assert [item["code"] for item in found] == ["PC0014"]
    assert found[0]["detail"] == "NameError is raised here: name 'undefined_thing' is not defined"


def of_nothing(x):
    return x * 2 + np.percentile(x[:0] + 1, 50)


def beyond_all(x):
    return np.percentile(np.sqrt(x), 150)


def nothing_handled(x):
    y = np.sqrt(x) + 1
    try:
        return y * np.percentile(y[:0], 50)
    except IndexError:
        return y * 3


def test_what_numpy_raises_of_nothing_is_handled_in_the_graph():
    compiled = pycompile.compile(nothing_handled, fullgraph=True)
    assert np.array_equal(compiled(X), nothing_handled(X))
    assert compiled.stats()["plan_runs"] == 1


@pytest.mark.parametrize(
    ("function", "code", "detail"),
    [
        (axis_of_sum, "PC0014", "AxisError is raised here: axis 5 is out of bounds for array"),
        (argument_of_sum, "PC0014", "TypeError is raised here: sum() got an unexpected keyword"),
        (reshaped, "PC0014", "ValueError is raised here: cannot reshape array of size "),
        (no_square, "PC0014", "LinAlgError is raised here: Last 2 dimensions of the array must"),
        (of_nothing, "PC0014", "IndexError is raised here: index -1 is out of bounds for axis 0"),
        (beyond_all, "PC0017", "ValueError: Percentiles must be in the range"),
    ],
)
def test_what_numpy_refuses_is_told_in_its_words(function, code, detail):
    (item,) = pycompile.explain(function)(X).breaks
    assert item["code"] == code and item["detail"].startswith(detail)
    assert "between two graphs" not in item["hint"]


def test_keywords_of_ufuncs_are_no_errors():
    def where(x):
        return np.sqrt(x, where=x > 1.5, out=np.ones_like(x)) * 2

    compiled = pycompile.compile(where)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(compiled(X), where(X))
        without = pycompile.compile(lambda x: np.sqrt(x, casting="safe", where=True, order="C"))
        assert np.array_equal(without(X), np.sqrt(X))


def test_an_attribute_that_a_module_has_not():
    def misspelt(x):
        return np.sqrtt(x) * 2

    with pytest.raises(pycompile.GraphBreakError, match="module 'numpy' has no 'sqrtt' of its own"):
        pycompile.compile(misspelt, fullgraph=True)(X)
