"""What a break says to do fits the place where it is told, and it says what kept capture."""

import array
import inspect
import math
import threading
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import breaks, line_of_code

X = np.linspace(1.0, 2.0, 3000)
LONG = np.linspace(1.0, 2.0, 20000)


def only(function, *args, code=None):
    (item,) = breaks(function, *args, code=code)
    return item


# ---- a branch that ends a loop ----


def until_close(x):
    error = 10.0
    while error > 1e-3:  # here
        y = np.sqrt(x)
        error = np.abs(y - x).max()
        x = y[:]  # a view is not carried to the next turn
    return x


def until_break(x):
    while True:
        y = np.sqrt(x)
        error = np.abs(y - x).max()
        x = y[:]  # a view is not carried to the next turn
        if error < 1e-3:  # here
            break
    return x


def until_return(x):
    for i in range(50):
        y = np.sqrt(x)
        if np.abs(y - x).max() < 1e-3:  # here
            return y, i
        x = y[:]
    raise ValueError("no convergence")


def inner_break(x):
    for _ in range(3):
        for _ in range(50):
            y = np.sqrt(x)
            if np.abs(y - x).max() < 1e-3:  # here
                break
            x = y[:]
        x = x * 3
    return x


def branch_in_a_loop(x):
    for _ in range(3):
        x = np.sqrt(x)
        if x.sum() > 3:  # here
            x = x[:-1]
    return x


def with_sides(x):
    y = np.sqrt(x) + 1
    if y.sum() > 3:  # here
        y = y[:10]
    return y * 2


@pytest.mark.parametrize("function", [until_close, until_break, until_return, inner_break])
def test_a_test_that_ends_a_loop_is_told_nothing_of_sides(function):
    item = only(function, X)
    assert item["code"] == "PC0006" and item["user"][1] == line_of_code(function, "# here")
    assert "np.where" not in item["hint"] and "sides" not in item["hint"]
    assert "each turn is captured by itself" in item["hint"] and "it ends a loop" in item["detail"]


def skips_turns(x, z, out):
    for t in range(len(z)):
        x = np.sqrt(x)
        if np.isnan(z[t]):  # here
            out.append(x)
            continue
        x = x + (z[t] - x[0]) * x
        out.append(x)
    return out


def test_a_test_that_skips_the_rest_of_a_turn():
    z = np.linspace(1.0, 2.0, 8)
    z[3] = np.nan
    item = breaks(skips_turns, X, z, [])[0]
    assert item["code"] == "PC0006" and item["user"][1] == line_of_code(skips_turns, "# here")
    assert "the rest of the turn" in item["hint"] and "sides" not in item["hint"]


def leaves_with_a_note(x, notes):
    for i in range(len(x)):
        if x[i] > 1.9:  # here
            notes["found"] = i
            return x
        x[i] *= 1.0001
    return None


def leaves_for_a_slice(x, notes):
    for i in range(len(x)):
        if x[i] > 1.9:  # here
            z = x[i:] * 2
            break
        x[i] *= 1.0001
    else:
        z = x[:10] * 3
    return z.sum()


def leaves_by_two_ways(x, notes):
    for i in range(len(x)):
        if x[i] < 0.5:
            break
        if x[i] > 1.9:  # here
            notes.clear()
            break
        x[i] *= 1.0001
    return x.sum()


def leaves_a_while(x, notes):
    i = 0
    while i < len(x):
        if x[i] > 1.9:  # here
            notes.clear()
            break
        i += 1
    return x * 2


@pytest.mark.parametrize(
    "function", [leaves_with_a_note, leaves_for_a_slice, leaves_by_two_ways, leaves_a_while]
)
def test_a_way_out_of_a_loop_is_told_where_it_is_taken(function):
    item = breaks(function, X.copy(), {}, code="PC0006")[0]
    assert item["user"][1] == line_of_code(function, "# here")


def chooses_turns(x, z, out):
    for t in range(len(z)):
        x = np.sqrt(x)
        x = np.where(np.isnan(z[t]), x, x + (z[t] - x[0]) * x)
        out.append(x)
    return out


def test_what_the_hint_says_of_turns_makes_a_graph():
    z = np.linspace(1.0, 2.0, 8)
    z[3] = np.nan
    compiled = pycompile.compile(chooses_turns, fullgraph=True)
    assert np.array_equal(compiled(X, z, []), skips_turns(X, z, []))


def test_the_array_code_of_a_turn_in_a_function_of_its_own_is_one_graph():
    """What the hint of PC0044 says to do about a loop with a break that has to stay."""

    def turn(x, k):
        y = np.tanh(x * k) + x
        return y * 2 + 1 - x

    def loop(x, turn):
        total = 0
        for k in range(4):
            x = turn(x, k)
            total += hash(array.array("d", [k]).tobytes())
        return x, total

    item = next(
        one
        for record in pycompile.explain(loop)(X, turn).records
        for one in record["breaks"]
        if one["code"] == "PC0044"
    )
    assert "call a compiled function with the iteration's array code" in item["hint"]
    compiled = pycompile.compile(turn, fullgraph=True)
    seen, total = loop(X, compiled)
    plain, same = loop(X, turn)
    assert np.array_equal(seen, plain) and total == same
    assert compiled.stats()["plan_runs"] == 4


def test_nothing_is_said_of_plans_that_are_not_there():
    """A turn of few numbers is none."""

    def halves(x):
        while x[0] > 1e-3:
            x = (x / 2)[:]
        return x

    item = only(halves, X[:2])
    assert item["detail"] == "it ends a loop, whose turns compute with whole arrays"


# ---- an exception that is raised and handled ----


def raises_and_handles(x):
    y = np.sqrt(x) + 1
    try:
        if y.min() < 3:  # here
            raise ValueError("too small")
        z = np.log(y)
    except ValueError:
        z = y * 2
    return z + y


def chooses(x):
    y = np.sqrt(x) + 1
    if y.min() < 3:
        z = y * 2
    else:
        z = np.log(y)
    return z + y


def too_small(y):
    if y.min() < 3:  # here
        raise ValueError("too small")


def handles_the_callee_s(x):
    y = np.sqrt(x) + 1
    try:
        too_small(y)
        z = np.log(y)
    except ValueError:
        z = y * 2
    return z + y


@pytest.mark.parametrize(
    ("function", "place"),
    [(raises_and_handles, raises_and_handles), (handles_the_callee_s, too_small)],
)
def test_a_side_that_raises_into_a_handler(function, place):
    line = line_of_code(place, "# here")
    item = only(function, X)
    assert item["code"] == "PC0006" and item["user"][1] == line
    told = "one side raises, inside a `try` or `with`: ValueError is raised here"
    assert item["detail"].startswith(told) and item["detail"].endswith(f", line {line + 1}")
    assert "leaves the graph" not in item["detail"] and "np.where" not in item["hint"]
    assert "`if` and `else`" in item["hint"]


def test_choosing_in_place_of_raising_makes_a_graph():
    compiled = pycompile.compile(chooses, fullgraph=True)
    assert np.array_equal(compiled(X), raises_and_handles(X))


def scaled(x):
    for i in range(3):
        if x[i] > 5:
            raise ValueError("too large")
        yield x * i


def sums_scaled(x):
    total = 0
    for v in scaled(x):
        total = total + v
    return total


def test_a_generator_that_may_raise_is_one_graph():
    """The handler that Python puts around a generator's body handles nothing of the program's."""
    compiled = pycompile.compile(sums_scaled, fullgraph=True)
    assert np.array_equal(compiled(X), sums_scaled(X)) and compiled.stats()["plan_runs"] == 1
    with pytest.raises(ValueError, match="too large") as caught:
        compiled(X * 9)
    assert caught.traceback[-1].lineno == line_of_code(scaled, "raise") - 1


@pytest.mark.parametrize("function", [with_sides, branch_in_a_loop])
def test_a_branch_with_sides_is_told_of_them(function):
    assert "np.where" in only(function, X)["hint"]


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
    item = only(function, X)
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
        y = y * 2 + i
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
    a[k] = a[k] * 2
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


# ---- keys out of the data ----


def counts_the_best(x):
    y, found = np.sqrt(x) + 1, {}
    for k in (y.argmax(), y.argmin()):
        found.setdefault(k, []).append(1)
    return y, found


def item_of_a_list(x):
    y = np.sqrt(x) + 1
    return [x, y][int(y[0]) - 1] * 2


def slice_of_a_list(x):
    y = np.sqrt(x) + 1
    return y * len([x, y, x][: int(y[0])])


@pytest.mark.parametrize("function", [counts_the_best, item_of_a_list, slice_of_a_list])
def test_a_key_out_of_the_data_is_the_reason(function):
    item = breaks(function, X)[0]
    assert item["code"] == "PC0050" and "Index by" not in item["hint"]
    assert "np.bincount" in item["hint"] and "pass it as an argument" in item["hint"]


def keeps_the_last():
    kept = []

    def keeps(x):
        y = np.sqrt(x) + 1
        kept.append(y)
        del kept[:-1]
        return y * 2

    return keeps


def test_a_list_that_is_appended_to_is_told_as_one():
    item = only(keeps_the_last(), X)
    assert item["code"] == "PC0054" and item["detail"] == "a subscript of list"
    assert "A plan can append to a list" in item["hint"] and "slices" not in item["hint"]


def sums_a_generator(parts):
    return sum(np.sqrt(v) for v in parts)


def test_a_generator_expression_has_a_line():
    explanation = pycompile.explain(sums_a_generator)(iter([X, X]))
    line = line_of_code(sums_a_generator, "sum(")
    rows = {row["function"]: row["line"] for row in _explain_text.functions(explanation)}
    assert rows["sums_a_generator.<locals>.<genexpr>"] == line


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


# ---- a loop that did not stay a loop ----


def inner_loop(x, y):
    for i in range(1, len(x)):
        k = 0
        while k < 3:
            y[i] += np.median(x[i])  # here
            k += 1


def calls_numpy(x, y):
    for i in range(1, len(x)):
        y[i] = np.median(x[i]) + y[i - 1]  # here


def inner_slice(x, y):
    for i in range(1, len(x)):
        for k in range(2):
            y[i] = x[k:3].std()  # here


def writes_a_view(x, y):
    z = y[1:]
    for i in range(1, len(z)):  # here
        z[i] = z[i - 1] + x[i]


def while_loop(x, y):
    i = 0
    while i < len(x):
        y[i] = x[i : i + 1].std()  # here
        i += 1


def slice_of_both_axes(x, y):
    table = x.reshape(2, -1)
    for i in range(1, len(x)):
        y[i] = table[:, i:].sum()  # here


def computed_slice_of_both_axes(x, y):
    table = x.reshape(2, -1)
    for i in range(1, len(x)):
        y[i] = (table[:, i:] * 2.0).sum()  # here


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (inner_loop, "a call of 'median', line {}"),
        (calls_numpy, "a call of 'median', line {}"),
        (inner_slice, "'std' of a part of an array, line {}"),
        (writes_a_view, "it writes elements of 'z', which is a view"),
        (while_loop, "'std' of a part of an array, line {}"),
        (slice_of_both_axes, "'sum' of a part of an array, line {}"),
        (computed_slice_of_both_axes, "'sum' of rows that are computed, line {}"),
    ],
)
def test_it_says_what_kept_a_loop_from_staying_one(function, why):
    x = LONG[:5000]
    item = breaks(function, x, x.copy(), code="PC0013")[0]
    wanted = "did not stay a loop: " + why.format(line_of_code(function, "# here"))
    assert wanted in item["detail"], item["detail"]
    assert item["user"][2] == function.__name__


def calls_numpy_inside(x, y):
    for i in range(1, len(x)):
        for k in range(2):
            y[i] += np.median(x[i - k])  # here


def prints(x, y):
    for i in range(1, len(x)):
        y[i] += x[i]
        if y[i] > 1e9:
            print(y[i])  # here


def inserts(x, y):
    found = []
    for i in range(1, len(x)):
        y[i] += x[i]
        found.insert(0, i)


def narrow(x, y):
    z = np.full(len(x), 3, np.float16)
    for i in range(1, len(x)):
        z[i] = z[i - 1] + z[i]  # here


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (inserts, "it changes an object other than arrays: 'found' (list)"),
        (narrow, "the operation 'add' on a numpy.float16, line {}"),
    ],
)
def test_what_keeps_a_loop_is_named(function, why):
    item = breaks(function, LONG[:5000], LONG[:5000].copy())[0]
    line = line_of_code(function, "# here") if "{}" in why else 0
    assert "did not stay a loop: " + why.format(line) in item["detail"], item["detail"]


def test_an_outer_loop_is_told_what_kept_the_inner_one():
    x = LONG[:5000]
    item = only(calls_numpy_inside, x, x.copy(), code="PC0013")
    wanted = f"did not stay a loop: a call of 'median', line {line_of_code(calls_numpy_inside, '# here')}"
    assert wanted in item["detail"], item["detail"]


def text_on_one_side(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.5:  # here
            s = "a"
        else:
            s = 1.0
    return s


def list_on_one_side(x):
    found = []
    for i in range(len(x)):
        if x[i] > 1.5:  # here
            found.insert(0, i)
    return found


def library_on_one_side(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.5:
            s = np.median(x[i])  # here
        x[i] = s


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (text_on_one_side, "'s' is str on one side and float on the other"),
        (list_on_one_side, "its sides change an object from before the branch"),
    ],
)
def test_a_branch_in_such_a_loop_is_told_of_the_loop(function, why):
    """… and not of its sides, which are alike in a loop that stays one."""
    item = breaks(function, LONG[:5000].copy())[0]
    line = line_of_code(function, "# here")
    assert f"did not stay a loop: the branch of line {line}: {why}" in item["detail"], item[
        "detail"
    ]
    assert "change what is named here" in item["hint"]


@pytest.mark.parametrize(
    ("function", "args", "why"),
    [
        (prints, 2, "print to an object that may run code"),
        (library_on_one_side, 1, "a call of 'median'"),
    ],
)
def test_a_side_for_which_a_loop_is_left_is_told(function, args, why):
    item = breaks(function, *(LONG[:5000].copy() for _ in range(args)))[0]
    assert (item["code"], item["detail"]) == ("PC0052", why)
    assert item["line"] == line_of_code(function, "# here")
    assert "Nothing has to change where that side is rare" in item["hint"]


def a_file(x):
    y = np.sqrt(x) + 1
    if y.sum() > 3:
        open("/dev/null").close()  # here
    return y * 2


def test_a_branch_is_told_what_keeps_its_sides_apart():
    found = breaks(a_file, X)[0]
    assert found["detail"].endswith(f", line {line_of_code(a_file, '# here')}")
    assert "'open'" in found["detail"]


# ---- an attempt that is given up ----


def kept(x, y):
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def through_kept(x, y):
    z = np.sqrt(x) + 1
    return kept(z, y) * 2


def test_a_function_that_stays_a_loop_has_no_break():
    assert not breaks(through_kept, LONG, LONG.copy())
    check(through_kept, LONG, LONG.copy(), whole=True)


def test_explain_says_what_it_counts():
    """The loop makes ten turns; two captures met the break."""
    text = str(pycompile.explain(until_close)(X))
    (item,) = breaks(until_close, X)
    assert item["captures"] > 1
    assert f"(in {item['captures']} captures)" in text and " times)" not in text


# ---- several functions on one line ----


# fmt: off
def two_lambdas(x):
    first, second = (lambda v: v + id(v)), (lambda v: v * id(v))
    return first(np.sqrt(x) + 1), second(np.sqrt(x) + 2)


def one_lambda(x):
    first = lambda v: v + id(v)  # noqa: E731
    return first(np.sqrt(x) + 1)
# fmt: on


def test_a_column_tells_lambdas_of_one_line_apart():
    line = inspect.getsourcelines(two_lambdas)[0][1]
    columns = [i + 1 for i in range(len(line)) if line.startswith("lambda", i)]
    wanted = {f"two_lambdas.<locals>.<lambda> (column {column})" for column in columns}
    explanation = pycompile.explain(two_lambdas)(X)
    assert {item["frames"][0][2] for item in explanation.breaks} == wanted
    assert {item["user"][2] for item in breaks(two_lambdas, X)} == wanted
    rows = {row["function"]: row for row in _explain_text.functions(explanation)}
    assert rows.keys() == wanted | {"two_lambdas"}
    assert all(rows[name]["plans"] >= 1 and rows[name]["breaks"] for name in wanted)
    with pytest.raises(pycompile.GraphBreakError, match=r"<lambda> \(column \d+\)"):
        pycompile.compile(two_lambdas, fullgraph=True)(X)


def test_no_column_where_the_line_says_it():
    names = {item["frames"][0][2] for item in pycompile.explain(one_lambda)(X).breaks}
    assert names == {"one_lambda.<locals>.<lambda>"}
