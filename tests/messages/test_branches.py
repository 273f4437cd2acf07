"""What is said of branches on values: of those that end a loop, that raise, whose sides differ, draw or print."""

import array
import sys
import warnings

import numpy as np
import pytest

import pycompile
from tests.differential import check
from tests.reports import breaks, line_of_code, only_break, said, said_first, stays

X = np.linspace(1.0, 2.0, 3000)
ROWS = np.random.default_rng(0).normal(size=(60, 60))
SIGNED = np.linspace(-1.0, 1.0, 3000)
MANY = np.linspace(1.0, 2.0, 30000)


def made(text, name):
    """The function of a source text."""
    names = {"np": np}
    exec(text, names)
    return names[name]


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
    item = only_break(function, X)
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

    item = only_break(halves, X[:2])
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
    item = only_break(function, X)
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
    assert "np.where" in only_break(function, X)["hint"]


# ---- sides that change arrays only ----


def swaps_rows(a):
    a, p = a.copy(), np.arange(len(a))
    for k in range(len(a) - 1):
        m = k + np.argmax(np.abs(a[k:, k]))
        if m != k:
            a[[k, m]] = a[[m, k]]  # here
            p[[k, m]] = p[[m, k]]
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:])
    return a, p


def writes_what_a_function_made(x):
    rows = np.eye(50)
    m = np.argmax(x[:30])
    if m != 1:
        rows[[1, m], :1] = rows[[m, 1], :1]
    return rows + 1


def writes_a_copy_of_it(x):
    rows = np.eye(50).copy()
    m = np.argmax(x[:30])
    if m != 1:
        rows[[1, m], :1] = rows[[m, 1], :1]
    return rows + 1


@pytest.mark.slow
def test_rows_are_swapped_in_a_loop():
    stays(swaps_rows, ROWS)


def test_an_array_that_may_share_its_memory_is_to_be_copied():
    text, hint = said_first(writes_what_a_function_made, X)
    assert text.endswith("one side changes an object from before the branch: 'rows' (an array)")
    assert "other than arrays" not in hint and "Write to a copy" in hint, hint
    assert not breaks(writes_a_copy_of_it, X)
    check(writes_a_copy_of_it, X)


# ---- what the sides of a branch leave ----


def none_after_some(x, t):
    y = np.sqrt(x)
    if y[0] > t:  # here
        r = 1
    elif y[1] > t:
        r = -1
    else:
        r = None
    return r


def none_in_a_tuple(x, t):
    y = np.sqrt(x)
    if y[0] > t:  # here
        return y, 1
    if y[1] > t:
        return y, None
    return y, -1


def none_in_a_tuple_after_some(x, t):
    y = np.sqrt(x)
    if y[0] > t:  # here
        return 1, y
    if y[1] > t:
        return -1, y
    return None, y


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (none_after_some, "is int, after others it is of another class"),  # 'r' itself on 3.11
        (none_in_a_tuple, "item 1 of what is returned is int on one side and NoneType"),
        (none_in_a_tuple_after_some, "after some branches item 0 of what is returned is int"),
    ],
)
def test_what_the_sides_leave(function, words):
    item = breaks(function, X, 1.5)[0]
    assert item["code"] == "PC0006" and words in item["detail"], item
    assert item["line"] == line_of_code(function)
    check(function, X, 1.5, also=[(X, 0.5)])


# ---- who runs the loop ----


class Ring:
    def __init__(self, n):
        self.items, self.next, self.full = np.zeros(n), 0, False

    def push(self, x):
        self.items[self.next] = x
        self.next = (self.next + 1) % len(self.items)
        self.full |= self.next == 0

    def view(self):
        return (
            np.concatenate([self.items[self.next :], self.items[: self.next]])
            if self.full
            else self.items[: self.next]
        )


def sums_of_windows(ring, x):
    total = 0.0
    for v in x:
        ring.push(v)
        w = ring.view()
        total += np.sqrt(w * w + 1).sum()
    return total


@pytest.mark.slow
def test_the_loop_is_around_the_branch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        made = pycompile.explain(sums_of_windows)(Ring(50), np.arange(200.0))
    hints = [item["hint"] for item in made.breaks if item["code"] == "PC0046"]
    assert hints and all("a loop around this" in hint for hint in hints), made.breaks


# ---- draws in a part that may not run ----


def draws_on_one_side(x, rng):
    y = np.sqrt(x * x) + 1
    if y.sum() > 10:
        y = y + rng.normal()  # here
    return y * 2


def draws_before(x, rng):
    y = np.sqrt(x * x) + 1
    r = rng.normal()
    if y.sum() > 10:
        y = y + r
    return y * 2


def draws_by_a_number(x, t):
    y = np.sqrt(x * x) + 1
    if t > 0.5:
        z = np.random.normal(size=3)  # here
    else:
        z = np.zeros(3)
    return y * 2, z


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "args"),
    [(draws_on_one_side, (SIGNED, rng())), (draws_by_a_number, (SIGNED, np.float64(0.75)))],
)
def test_a_draw_on_one_side_is_told_as_that(function, args):
    text, hint = said(function, *args)
    assert text.startswith("branch on a value that is only known when the code runs"), text
    line = line_of_code(function, "# here")
    assert text.endswith(f": one side draws a random number, line {line}"), text
    assert "draw before the branch" in hint
    with pytest.raises(pycompile.GraphBreakError, match=f"draws a random number, line {line}"):
        pycompile.compile(function, fullgraph=True)(*args)


def test_a_draw_before_the_branch_is_no_break():
    check(draws_before, SIGNED, rng(), whole=True)


def walks(rng, n):
    t = 0.0
    for _ in range(n):
        if rng.triangular(0.0, 0.5, 1.0) < 0.5:  # here
            t += 1.5
        else:
            t -= 1.0
    return t


def walks_by_an_array(rng, n):
    t, r = 0.0, rng.triangular(0.0, 0.5, 1.0, size=n)
    for i in range(n):
        if r[i] < 0.5:
            t += 1.5
        else:
            t -= 1.0
    return t


def test_a_draw_in_a_loop_is_told_as_that():
    text, hint = said(walks, rng(), 3000)
    assert f"a draw of a random number, line {line_of_code(walks, '# here')}" in text, text
    assert "value of an array" not in text and "Draw them before the loop" in hint
    assert walks(rng(), 3000) == walks_by_an_array(rng(), 3000)
    check(walks_by_an_array, rng(), 3000, whole=True)


# ---- branches and loops ----


def returns_before_a_loop(x, tolerance):
    if np.abs(x).max() < tolerance:  # here
        return x
    while True:
        y = np.sqrt(x) + 1
        if np.abs(x - y).max() < 1e-3:  # inner
            break
        x = y
    return x * 2


def test_a_return_before_a_loop_ends_no_loop():
    for item in breaks(returns_before_a_loop, MANY, 0.1, code="PC0006"):
        before = item["line"] == line_of_code(returns_before_a_loop)
        assert item["detail"].startswith("it ends a loop") == (not before), item
        if before:
            line = line_of_code(returns_before_a_loop, "# inner")
            assert item["detail"].endswith(f"ends by the value of an array, line {line}")
            assert "nothing has to change" in item["hint"]


class Shows:
    def show(self, x):
        print("x", end="")  # here
        return x * 2


def shows_in_a_comprehension(x):
    shows, y = Shows(), np.sqrt(x)
    return [shows.show(y) for _ in range(2)]


def shows_in_a_loop(x):
    shows, y, out = Shows(), np.sqrt(x), []
    for _ in range(2):
        out.append(shows.show(y))
    return out


def shows_in_a_try(x):
    try:
        return Shows().show(np.sqrt(x))
    except ValueError:
        return x


def test_a_print_in_a_comprehension_is_in_no_try():
    found = breaks(shows_in_a_comprehension, MANY, code="PC0021")
    if sys.version_info >= (3, 12):
        assert found and "a comprehension of 'shows_in_a_comprehension'" in found[0]["detail"]
    assert not any("try" in item["detail"] for item in found)
    check(shows_in_a_loop, MANY, whole=True)


def test_a_print_in_a_call_from_a_try_names_the_caller():
    item = breaks(shows_in_a_try, MANY, code="PC0021")[0]
    assert "a call from a try or with block of 'shows_in_a_try', line" in item["detail"]
