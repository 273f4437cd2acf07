"""What keeps a loop over elements from staying one is named with its line, and what the message says to do
keeps the loop."""

import numpy as np
import pytest

import pycompile
from tests.differential import check
from tests.reports import (
    breaks,
    details,
    keeps_loop,
    line_of_code,
    stays,
)

RNG = np.random.default_rng(7)
F64, F32 = RNG.random(3000), RNG.random(3000).astype(np.float32)
I32 = RNG.integers(0, 90, 3000).astype(np.int32)
U8 = (RNG.random((60, 70)) < 0.3).astype(np.uint8)
CHAIN = np.append(np.arange(1, 3000), -1)
ROWS = np.ones((3000, 4), np.int32)
EACH = np.arange(3000, dtype=np.int32)


# ---- a number that changes its type ----


def neighbours(a):
    out = np.zeros(a.shape, np.int64)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = 0
            for k in range(-1, 2):
                if k != 0:
                    s += a[(i + k) % a.shape[0], j]
            if s == 1 or (s == 2 and a[i, j] == 1):
                out[i, j] = 1
    return out


def far_neighbours(a):
    out = np.zeros(a.shape, np.int64)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = 0
            for k in range(-9, 10):
                if k != 0:
                    s += a[(i + k) % a.shape[0], j]  # here
            if s == 1 or (s == 2 and a[i, j] == 1):
                out[i, j] = 1
    return out


def neighbours_of_one_type(a):
    out = np.zeros(a.shape, np.int64)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = np.uint8(0)
            for k in range(-1, 2):
                if k != 0:
                    s += a[(i + k) % a.shape[0], j]
            if s == 1 or (s == 2 and a[i, j] == 1):
                out[i, j] = 1
    return out


def neighbours_as_ints(a):
    out = np.zeros(a.shape, np.int64)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = 0
            for k in range(-1, 2):
                if k != 0:
                    s += int(a[(i + k) % a.shape[0], j])
            if s == 1 or (s == 2 and a[i, j] == 1):
                out[i, j] = 1
    return out


def sums_int32(a):
    s = 0
    for i in range(len(a)):
        s += a[i]  # here
    return s


def sums_from_int32(a):
    s = np.int32(0)
    for i in range(len(a)):
        s += a[i]
    return s


def sums_ints(a):
    s = 0
    for i in range(len(a)):
        s += int(a[i])
    return s


def largest(a):
    best = 0
    for i in range(len(a)):
        if a[i] > best:  # here
            best = a[i]
    return best


def largest_of_one_type(a):
    best = np.int32(0)
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
    return best


def sums_float32(a):
    s = 0.1  # no float32
    for i in range(len(a)):  # here
        s += a[i]
    return s


def sums_from_float32(a):
    s = np.float32(0)
    for i in range(len(a)):
        s += a[i]
    return s


def sums_products(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


def sums_products_of_float64(a, b):
    s = np.float64(0)
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


def largest_step(a):
    d = 0.0
    for i in range(1, len(a)):
        d = max(d, abs(a[i] - a[i - 1]))  # here
    return d


def largest_step_of_one_type(a):
    d = np.float64(0)
    for i in range(1, len(a)):
        d = max(d, abs(a[i] - a[i - 1]))
    return d


def follows(following):
    i, n = 0, 0
    while i >= 0:
        n += 5 % (i + 1)  # here
        i = following[i]
    return n


def follows_ints(following):
    i, n = 0, 0
    while i >= 0:
        n += 1
        i = int(following[i])
    return n


def follows_from_int64(following):
    i, n = np.int64(0), 0
    while i >= 0:
        n += 1
        i = following[i]
    return n


# ---- a store that would convert ----


def stores_one(a):
    out = np.zeros(len(a), np.uint8)
    for i in range(len(a)):
        if a[i] > 0.5:
            out[i] = 1
    return out


def stores_computed(a):
    out = np.zeros(len(a), np.uint8)
    for i in range(len(a)):
        out[i] = i * 7 % 256
    return out


def stores_floats(a):
    out = np.zeros(len(a), np.int32)
    for i in range(len(a)):
        out[i] = a[i] * 100  # here
    return out


def stores_floats_converted(a):
    out = np.zeros(len(a), np.int32)
    for i in range(len(a)):
        out[i] = np.int32(a[i] * 100)
    return out


def adds_the_index(a):
    out = np.zeros(len(a), np.int32)
    for i in range(len(a)):
        out[i] = a[i] + i  # here
    return out


def adds_ints(a):
    out = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        out[i] = int(a[i]) + i
    return out.astype(np.int32)


# ---- what the loop goes over, and what is in it ----


def counts_elements(a):
    s = 0.0
    for x in a:
        if x > 0.5:
            s += x
    return s


def finds(a):
    for i, x in enumerate(a):
        if x > 2:
            return i
    return -1


def sums_pairs(a):
    s = 0.0
    for x, y in zip(a, a[1:], strict=False):
        s += x * y
    return s


def sums_with_a_list(a):
    s = 0.0
    for x, y in zip(a, [1.0, 0.5] * 40):  # here
        if x > 0.5:
            s += x * y
    return s


def sums_a_list(a):
    s = 0.0
    for x in a.tolist():
        s += x
    return s


def divides(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        v = a[i] - 0.5
        try:
            out[i] = 1 / v
        except ZeroDivisionError:
            out[i] = 0
    return out


def has_two_reasons(x):
    total = 0.0
    for i in range(len(x)):
        element = x[i]
        total += element
        del element
        total += len(f"{i}") * x[i]  # here
    return total


def divides_quietly(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        with np.errstate(divide="ignore"):  # here
            out[i] = 1 / a[i]
    return out


def divides_where_it_can(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        v = a[i] - 0.5
        out[i] = 0.0 if v == 0 else 1 / v
    return out


REASONS = [
    (sums_float32, (F32,), "'s' is Python's float before it and a numpy.float32 in it", False),
    (sums_products, (F32, F64), "'s' begins as Python's number", False),
    (
        largest_step,
        (F64.astype("f4"),),
        "a call of 'max' whose numbers are not all of one type",
        True,
    ),
    (
        follows,
        (CHAIN,),
        "after some branches 'i' is Python's int, after others a numpy.int64",
        True,
    ),
    (sums_with_a_list, (F64,), "goes over other things than the elements of arrays", False),
    (divides_quietly, (F64,), "it contains a with block", True),
    (has_two_reasons, (F64,), "and text that is made, line", True),
]


def test_stores_of_another_dtype():
    stays(stores_floats, F64)


@pytest.mark.parametrize(
    ("function", "args", "words", "lined"), [pytest.param(*r, id=r[0].__name__) for r in REASONS]
)
def test_the_reason(function, args, words, lined):
    found = breaks(function, *args)
    text = " | ".join(item["detail"] for item in found)
    # PC0052: there is a side (3.11 finds more of them) at which the loop can be left
    side = any(item["code"] == "PC0052" for item in found)
    assert (side or "did not stay a loop" in text) and words in text, text
    assert "one side has a store" not in text and "a length that" not in text, text
    if lined:
        here = line_of_code(function, "# here")
        assert f"line {here}" in text or any(item["line"] == here for item in found), text


FOLLOWED = [
    (neighbours, U8),
    (far_neighbours, U8),
    (sums_int32, I32),
    (largest, I32),
    (adds_the_index, I32),
    (neighbours_of_one_type, U8),
    (neighbours_as_ints, U8),
    (sums_from_int32, I32),
    (sums_ints, I32),
    (largest_of_one_type, I32),
    (sums_from_float32, F32),
    (largest_step, F64),
    (largest_step_of_one_type, F64),
    (follows_ints, CHAIN),
    (follows_from_int64, CHAIN),
    (stores_one, F64),
    (stores_computed, F64),
    (stores_floats_converted, F64),
    (adds_ints, I32),
    (counts_elements, F64),
    (finds, F64),
    (sums_pairs, F64),
    (divides_where_it_can, F64),
    (divides, F64),
]


@pytest.mark.parametrize(
    ("function", "x"), [pytest.param(*row, id=row[0].__name__) for row in FOLLOWED]
)
def test_what_the_reason_says_keeps_the_loop(function, x):
    explanation = pycompile.explain(function)(x)
    assert not explanation.breaks and "loop" in str(explanation.graphs[0])
    check(function, x, whole=True)


def test_a_start_of_more_bits_keeps_the_loop():
    explanation = pycompile.explain(sums_products_of_float64)(F32, F64)
    assert not explanation.breaks
    check(sums_products_of_float64, F32, F64, whole=True)


def test_a_number_of_two_classes_is_no_length():
    """Told as what it is, and the hint makes one graph."""

    def adds_some(a):
        s = 0.0
        for (x,) in list(a):
            if x > 0.5:
                s += x  # here
        return s

    def adds_some_floats(a):
        s = 0.0
        for (x,) in a:
            if x > 0.5:
                s += float(x)
        return s

    text = details(adds_some, F64[:30, None])
    assert (
        "'s' is Python's number, after others a numpy.float64 (begin with np.float64(...))" in text
    )
    check(adds_some_floats, F64[:30, None], whole=True)


def test_a_list_of_a_library_function_is_told_as_that():
    found = breaks(sums_a_list, F64)
    assert [item["detail"] for item in found] == ["list that a library function returns"]
    assert "range(len(a))" in found[0]["hint"] and "list(x)" not in found[0]["hint"]


# ---- consequences, and places that are told in a user's words ----


def both(m, x):
    n = 0
    for i in range(len(m)):
        ok = m[i] and i % 3  # here
        if ok:
            n += 1
    return n


def both_as_bools(m, x):
    n = 0
    for i in range(len(m)):
        ok = bool(m[i]) and i % 3 != 0
        if ok:
            n += 1
    return n


def test_a_value_of_two_types_is_no_getitem():
    text = details(both, F64 < 0.5, F64)
    line = line_of_code(both, "# here")
    assert (
        "getitem" not in text
        and f"on each way: bool(...), int(...), float(...)), line {line}" in text
    )
    assert "a value that is int after some branches and numpy.bool after others" in text
    assert not pycompile.explain(both_as_bools)(F64 < 0.5, F64).breaks
    check(both_as_bools, F64 < 0.5, F64, whole=True)


def test_a_dict_comprehension_is_told_in_words():
    def doubled(x):
        return {i: float(v) for i, v in enumerate(x * 2)}

    found = breaks(doubled, F64)
    text = " | ".join(item["detail"] for item in found)
    assert "MAP_ADD" not in text and "range(len(" not in text, text
    turns = [item for item in found if item["code"] in ("PC0001", "PC0046")]
    assert len(turns) == 2
    for item in turns:  # of the loop that Python runs; 3.11 calls a function for it
        assert "see what is said of" in item["hint"], item


def test_a_loop_that_calls_a_function_of_arrays_stays_one():
    def step(y, i):
        return y * 0.5 + i

    def steps(x):
        for i in range(3000):
            x = step(x, i)
        return x

    stays(steps, F64)


def fills_a_stack(a):
    seen = np.zeros(len(a), bool)
    n = 0
    for i in range(len(a)):
        stack = [i]
        while stack:
            k = stack.pop()
            if a[k] > 0.5 and not seen[k]:
                seen[k] = True
                n += 1
                stack.extend([k // 2, k // 3])
    return n


def test_turns_of_a_loop_that_python_runs_are_told_as_that():
    found = breaks(fills_a_stack, F64)
    text = " | ".join(item["detail"] for item in found)
    assert "truth of" not in text, text
    for item in found:
        assert not item["hint"].startswith("Pass few different values"), item


def letters(a, b):
    same = 0
    for i in range(len(a)):
        if a[i] == b[i]:  # here
            same += 1
    return same


def test_letters_of_a_text_are_read_as_those_of_an_array():
    texts = ("ACTTGGCA" * 200, "ACTAGGCT" * 200)
    check(letters, *texts, whole=True)
    codes = [np.frombuffer(text.encode(), np.uint8) for text in texts]
    assert letters(*codes) == letters(*texts)
    check(letters, *codes, whole=True)


class Length:
    def __init__(self, metres):
        self.metres = metres

    def __array__(self, dtype=None, copy=None):
        return self.metres * 1.0


def test_an_object_with_array_is_told_to_be_called():
    def adds(x):
        return np.asarray(Length(x)) + np.sqrt(x)

    def calls(x):
        return Length(x).__array__() + np.sqrt(x)

    found = breaks(adds, F64)
    assert found and all("x.__array__()" in item["hint"] for item in found), found
    check(calls, F64, whole=True)


def test_an_array_without_a_name_is_told_without_one():
    def counts(a):
        h = np.zeros(90, np.int64)
        for v in a[1:]:
            h[v] += 1
        return h

    assert "range(len(" not in details(counts, I32)

    def counts_by_index(a):
        h = np.zeros(90, np.int64)
        for i in range(1, len(a)):
            h[a[i]] += 1
        return h

    check(counts_by_index, I32, whole=True)


def adds_complex(a):
    s = 0
    for v in a:
        s += v
    return s


def adds_complex_pairs(a):
    s = 0
    for i in range(len(a)):
        for j in range(3):
            s = s + a[i] * a[j]
    return s


@pytest.mark.parametrize("function", [adds_complex, adds_complex_pairs])
def test_numbers_are_not_unrolled_by_the_hundred(function):
    """Each would be a step, or a loop of its own for the C compiler."""
    found = pycompile.explain(function)((np.arange(500) * (1 + 2j)).astype(np.complex64))
    assert found.kernels < 100
    assert any("more than 512 instructions" in one["detail"] for one in found.to_dict()["breaks"])


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    d[:, 0] = np.arange(len(a) + 1)
    d[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            c = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + c)
    return d


def adds_remainders(a):
    out = np.zeros(len(a), np.int32)
    for i in range(len(a)):
        out[i] = a[i] + i % 7
    return out


def adds_one_of_two(a):
    out = np.zeros(len(a), np.int32)
    for i in range(len(a)):
        k = 2000000000 if a[i] > 3 else -5
        out[i] = a[i] + k  # overflows, with a warning
    return out


def adds_one_of_two_large(a):
    out = np.zeros(len(a), np.int32)
    for i in range(len(a)):
        k = 3000000000 if a[i] > 3 else -5
        out[i] = a[i] + k
    return out


FEW = np.arange(300, dtype=np.int32) % 11


def test_ints_of_known_bounds_may_meet_narrower_ones():
    letters = np.arange(150, dtype=np.uint8)
    check(edit_distance, letters % 4, letters * 7 % 5)
    assert "'c' is Python's int" not in str(pycompile.explain(edit_distance)(letters, letters % 3))
    check(adds_remainders, FEW)
    check(adds_one_of_two, FEW)
    check(adds_one_of_two, FEW * 200000000)
    assert "'k' is Python's int" not in str(pycompile.explain(adds_one_of_two)(FEW))


def test_ints_that_do_not_fit_raise():
    with pytest.raises(OverflowError):
        adds_one_of_two_large(FEW)
    with pytest.raises(OverflowError):
        pycompile.compile(adds_one_of_two_large)(FEW)


# ---- what else a loop changes ----


class Generator:
    def __init__(self, seed):
        self.seed = seed

    def next(self):
        self.seed = (self.seed * 1103515245 + 12345) % 2147483648
        return self.seed


class Labelled(Generator):
    def next(self):
        self.label = "drawn"  # here
        return super().next()


class Slots:
    __slots__ = ("seed",)

    def __init__(self, seed):
        self.seed = seed

    next = Generator.next


def draws_of_its_own(x, kind):
    g = kind(1)
    for i in range(len(x)):
        x[i] = g.next() / 2147483648


def draws_of_another(x, g):
    for i in range(len(x)):
        x[i] = g.next() / 2147483648


def draws_of_a_number(x, seed):
    for i in range(len(x)):
        seed = (seed * 1103515245 + 12345) % 2147483648
        x[i] = seed / 2147483648


LAST = 0


def keeps_last(value):
    global LAST
    LAST = value  # here


def stores_a_global(x, _):
    for i in range(len(x)):
        x[i] = i
        keeps_last(i)


def stores_a_cell(x, total):
    def adds(value):
        nonlocal total
        total += value  # here
        return total

    for i in range(len(x)):
        x[i] = adds(x[i])
    return total


def inserts_deep(x, lists):
    for i in range(len(x)):
        lists[0].insert(1, x[i])  # here


@pytest.mark.parametrize(
    ("function", "argument", "what", "where"),
    [
        (draws_of_its_own, Labelled, "the attribute 'label' of 'self' (Labelled)", Labelled.next),
        (
            draws_of_another,
            Labelled(3),
            "the attribute 'label' of 'self' (Labelled)",
            Labelled.next,
        ),
        (stores_a_global, None, "the global variable 'LAST'", keeps_last),
        (stores_a_cell, 0.0, "the variable 'total' of an enclosing function", stores_a_cell),
        (inserts_deep, [[0.0]], "an object other than arrays: list", inserts_deep),
    ],
)
def test_what_a_loop_changes_is_named_with_its_line(function, argument, what, where):
    text = details(function, F64.copy(), argument)
    assert f"did not stay a loop: it changes {what}, line {line_of_code(where)}" in text, text


@pytest.mark.slow
def test_numbers_and_attributes_that_hold_one_stay_in_the_loop():
    check(draws_of_a_number, F64.copy(), 3, whole=True)
    for kind in (Generator, Slots):
        check(draws_of_its_own, F64.copy(), kind, whole=True)
        check(draws_of_another, F64[:300].copy(), kind(3), whole=True)
    check(stores_a_cell, F64[:300].copy(), 0.5, captured=False)


# ---- loops that change whole arrays ----


def sums_waves(x, n):
    out = np.zeros_like(x)
    for k in range(n):
        out += x[k % 50] * np.sin(x * k)  # here
    return out


def sums_waves_inside(x, n):
    for _ in range(3):
        out = np.zeros_like(x)
        for k in range(n):
            out += x[k % 50] * np.sin(x * k)  # here
    return out


def steps(x, n):
    y = x
    for _ in range(n):
        y = y + 0.01 * x[0] * np.cos(y)  # here
    return y


def swaps(x, n):
    a, b = x[:10], x[10:20]
    s = 0.0
    for i in range(n):
        s += x[i % 3000]
        a, b = b, a
    return a, s


def test_a_loop_that_changes_whole_arrays_is_one():
    stays(sums_waves, F64[:50], 2000)
    stays(sums_waves_inside, F64[:50], 2000)


def test_where_a_loop_only_stores_an_array_the_hint_is_that_of_loops():
    (item,) = breaks(swaps, F64, 20000, code="PC0013")
    assert "which holds an array before it, another one behind each turn" in item["detail"], item
    assert "change what is named here" in item["hint"]


def smooths(u, n):
    for _ in range(n):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u = v  # here
    return u


def sums_into_all(x, n):
    out = np.zeros_like(x)
    for k in range(n):
        out[:] = out + np.sin(x * k)  # here
    return out


@pytest.mark.parametrize("function", [smooths, sums_into_all, steps])
def test_turns_that_compute_with_whole_arrays_stay_a_loop(function):
    x = F64[:300].reshape(20, 15)
    stays(function, x, 2000)
    check(function, x, 20, also=((x, 200),))


def counts_labels(x, labels):
    c = {"a": 0.0, "b": 0.0}
    for v, label in zip(x, labels, strict=False):
        c[label] += v
    return c


def test_all_that_keeps_a_loop_over_elements_is_told():
    text = details(counts_labels, F64[:500], ["a", "b"] * 250)
    assert "(write `for i in range(len(x))`, and x[i]); and it writes elements of 'c'" in text, text
    check(counts_labels, F64[:500], ["a", "b"] * 250, captured=False)


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


def adds_to_elements(a):
    for i in range(len(a)):
        a[i] += i  # here
    return a


def converts(a):
    for i in range(len(a)):
        a[i] = a[i] ^ np.int32(i)  # here
    return a


def adds_computed(a):
    for i in range(len(a)):
        a[i] = a[i] + int(i * 2)  # here
    return a


@pytest.mark.parametrize(
    ("function", "array"),
    [
        (adds_to_rows, ROWS),
        (adds_to_parts_of_rows, ROWS),
        (adds_to_elements, EACH),
        (converts, EACH),
        (adds_computed, EACH),
    ],
)
def test_an_int_that_fits_keeps_the_loop(function, array):
    check(function, array, whole=True)
    check(function, array[:300].astype(np.int8), captured=False)  # NumPy raises


def adds_in_place(a):
    for i in range(len(a)):
        a[i] += np.int64(i)  # here
    return a


def test_an_operator_in_place_on_a_row_of_narrower_ints():
    stays(adds_in_place, ROWS.copy())
    check(adds_to_rows_remedied, ROWS, whole=True)


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


@pytest.mark.parametrize("function", [finds_the_largest, raises_to_a_power])
def test_functions_of_rows_stay_in_the_loop(function):
    stays(function, np.linspace(1.0, 2.0, 4000).reshape(1000, 4))


# ---- arrays that a function makes which a loop calls ----


def averages(x, a):
    y = np.zeros_like(x)
    for i in range(1, len(x)):  # here
        y[i] = a * y[i - 1] + (1 - a) * x[i]
    return y


def sums_what_is_smoothed(n):
    total = 0.0
    for k in range(n):
        x = np.sin(np.arange(500.0) * k)
        total += averages(x, 0.9).sum() + (x * x + 2 * x).mean()
    return total


@pytest.mark.slow
def test_the_array_of_a_called_function_is_one_of_the_plan():
    report = pycompile.explain(sums_what_is_smoothed)(40)
    assert (len(report.graphs), report.breaks) == (1, [])


# ---- operations whose arrays are all whole ones ----


def rows_less_a_multiple(q, v):
    for j in range(len(q)):
        q[j, 1:] -= q[j, 0] * v


def rows_less_a_multiple_of_a_part(q, v):
    for j in range(len(q)):
        q[j, 1:] -= q[j, 0] * v[:]


def test_an_operation_of_whole_arrays():
    q, v = np.ones((900, 12)), np.arange(11.0)
    stays(rows_less_a_multiple, q, v)
    assert keeps_loop(rows_less_a_multiple_of_a_part, q.copy(), v)
