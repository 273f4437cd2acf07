"""What is said of numbers, keys and lengths that are known only when the code runs is true of them, and
of the code that computes them."""

import bisect
import heapq
import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import breaks, line_of_code

X = np.linspace(1.0, 2.0, 3000)
U = np.arange(3000, dtype=np.uint64)


def said(function, *args):
    """The only break's reason and hint, which names the line `# here`."""
    (item,) = breaks(function, *args)
    assert item["line"] == line_of_code(function), item
    return _explain_text.reason(item), item["hint"]


# ---- ints that fit uint64 and not int64 ----

GOLDEN = 0x9E3779B97F4A7C15


def makes_a_uint64(x):
    return x + np.uint64(GOLDEN), np.float32(GOLDEN), np.bool_(GOLDEN), np.complex128(GOLDEN)


def makes_one_of_an_argument(x, k):
    return x ^ np.uint64(k), np.float64(k) + x


def multiplies_each(x):
    y = x.copy()
    for i in range(len(y)):
        y[i] = (y[i] & np.uint64(1)) * np.uint64(GOLDEN)
    return y


def compares_each(x):
    n = 0
    for i in range(len(x)):
        if x[i] ^ GOLDEN > GOLDEN:
            n += 1
    return n


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (makes_a_uint64, (U,)),
        (makes_one_of_an_argument, (U, 2**63)),
        (multiplies_each, (U,)),
        (compares_each, (U,)),
    ],
)
def test_ints_that_fit_uint64_are_numbers_of_numpy(function, args):
    check(function, *args, whole=True)


def test_a_float_of_a_longer_int():
    check(lambda x, k: np.float64(k) + x, X, 2**70, whole=True)
    check(lambda x, k: np.float32(k) + x, X, 2**1000)  # NumPy warns


def makes_an_int64(x, k):
    try:
        return x + 1, np.int64(GOLDEN)  # here
    except OverflowError:
        return x, k


def makes_one_of_a_negative(x, k):
    try:
        return x + 1, np.uint64(k)  # here
    except OverflowError:
        return x, k


@pytest.mark.parametrize(
    ("function", "name"), [(makes_an_int64, "int64"), (makes_one_of_a_negative, "uint64")]
)
def test_what_does_not_fit_a_dtype_is_told_with_its_name(function, name):
    found = [i for i in breaks(function, X, -5) if i["line"] == line_of_code(function)]
    assert found and found[0]["code"] == "PC0017", found
    assert found[0]["detail"].endswith(f"that does not fit {name}"), found
    check(function, X, -5)


# ---- keys of empty containers ----


def groups(x):
    table = defaultdict(list)
    table[int(x.sum()) % 3].append(1.0)  # here
    return table


def counts_by_default(x):
    table = defaultdict(int)
    table[int(x.sum()) % 3] += 1  # here
    return table


def counts(x):
    table = Counter()
    table[int(x.sum()) % 3] += 1  # here
    return table


@pytest.mark.parametrize("function", [groups, counts_by_default, counts])
def test_a_key_out_of_the_data_is_told_as_that(function):
    text, hint = said(function, X)
    assert "a key of a dict" in text and "depends on the data of an array" in text, text
    for word in ("NumPy itself refuses", "branch", "StopIteration"):
        assert word not in text
    assert "np.bincount" in hint
    check(function, X)


def looks_into_nothing(x):
    k, table, items = int(x.sum()) % 3, {}, ()
    return k in table, k not in items, table.get(k), table.get(k, x), k in set()


def looks_up_what_there_is(x, table):
    k = int(x.sum()) % 3
    return x * table[k] if k in table else x + 1


def test_nothing_is_in_an_empty_container():
    check(looks_into_nothing, X, whole=True)
    check(looks_up_what_there_is, X, {}, whole=True)


@pytest.mark.parametrize("empty", [{}, [], ()])
def test_an_item_of_an_empty_container(empty):
    check(lambda x, empty: (x + 1, empty[int(x.sum()) % 3]), X, empty)


# ---- what a library function refuses because of a stand-in ----


def reshapes(x):
    return np.arange(30).reshape(int(x[0]) + 2, 10) + 1, x + 1  # here


def test_a_shape_of_the_data_is_not_told_as_refused():
    text, _ = said(reshapes, X)
    assert "refuses" not in text and "only known when the code runs" in text, text


# ---- numbers of a class that is only known when the code runs ----

MIXED = {0: 1, 1: 2.5, 2: 3}


def scales_each(x, table):
    factor = table[int(x.sum()) % 3]
    y = x.copy()
    for i in range(len(y)):
        y[i] = factor * y[i]
    return y


def scales_each_by_a_float(x, table):
    factor = np.float64(table[int(x.sum()) % 3])
    y = x.copy()
    for i in range(len(y)):
        y[i] = factor * y[i]
    return y


def test_a_number_of_a_mixed_table_is_not_told_of_branches():
    item = breaks(scales_each, X, MIXED)[0]
    assert "a number whose class is only known when the code runs" in item["detail"], item
    assert "branch" not in item["detail"]
    check(scales_each, X, MIXED)
    check(scales_each_by_a_float, X, MIXED, whole=True)


# ---- containers that are long, or vary ----


def scales_by_items(items, x):
    y = np.sqrt(x)
    for item in items:  # here
        y = y + item
    return y


def scales_by_counted_items(items, x):
    y = np.sqrt(x)
    for k, item in enumerate(items):  # here
        y = y + item * k
    return y


def scales_backwards(items, x):
    y = np.sqrt(x)
    for item in reversed(items):  # here
        y = y + item
    return y


def scales_by_values(items, x):
    y = np.sqrt(x)
    for item in items.values():  # here
        y = y + item
    return y


def extends(items, x):
    y = np.sqrt(x)
    items.extend((1.0, 2.0))  # here
    return y


def is_in(items, x):
    y = np.sqrt(x)
    return y, 2.5 in items  # here


def takes_the_last(items, x):
    y = np.sqrt(x)
    return y * items[-1]  # here


def makes_an_array(items, x):
    y = np.sqrt(x)
    return y * np.array(items).sum()  # here


def compares_lists(items, x):
    y = np.sqrt(x)
    return y, items == [1.0]  # here


def entries(items):
    return {str(i): item for i, item in enumerate(items)}


OF_LISTS = [
    scales_by_items,
    scales_by_counted_items,
    scales_backwards,
    extends,
    is_in,
    takes_the_last,
    makes_an_array,
    compares_lists,
]


@pytest.mark.parametrize(
    ("function", "container"), [*((f, list) for f in OF_LISTS), (scales_by_values, entries)]
)
@pytest.mark.filterwarnings("ignore::pycompile.PycompileWarning")
def test_a_container_that_varies_is_told_as_that(function, container, caplog):
    compiled = pycompile.compile(function)
    caplog.set_level("INFO", logger="pycompile.graph_breaks")
    with pycompile.set_logs("graph_breaks"):
        for n in range(1, 12):
            compiled(container([0.5] * n), X)
    place = f":{line_of_code(function)})"
    told = [r.getMessage() for r in caplog.records if r.name == "pycompile.graph_breaks"]
    told = [text for text in told if place in text and "PC0044" not in text]
    assert told and "one plan serves all lengths" in told[0], caplog.text
    for text in told:
        assert text.startswith("PC0054") and "whose length or keys vary" in text, text


@pytest.mark.parametrize("container", [list, tuple])
def test_a_container_that_is_long_is_told_as_that(container):
    item = breaks(scales_by_items, container([0.5] * 11000), X[:2])[0]
    assert item["code"] == "PC0054" and item["line"] == line_of_code(scales_by_items), item


def adds_each(x):
    s = 0.0
    for item in x:
        s += item * 0.5
    return s


def test_one_plan_of_a_loop_over_arrays_serves_all_lengths():
    lengths = [(X[:n],) for n in range(2, 2000, 300)]
    check(adds_each, X, also=lengths, whole=True)
    assert pycompile.compile(adds_each).stats()["plans"] <= 2


# ---- attributes of arrays that are not compiled ----


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("array", "code"),
    [(X.view(Sub), "PC0007"), (np.ma.masked_array(X, X > 1.5), "PC0039")],
)
@pytest.mark.parametrize(
    "reads",
    [lambda x: x.ndim, lambda x: x.T, lambda x: x.size, lambda x: x.flat, lambda x: x.shape[0]],
)
def test_an_attribute_of_an_array_of_another_class(array, code, reads):
    found = breaks(lambda x, y: (y + 1, reads(x)), array, X)
    assert found and {item["code"] for item in found} == {code}, found
    assert all("getset_descriptor" not in item["detail"] for item in found)


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


# ---- heaps ----


def waits(service):
    free = [0.0, 0.0]
    total = 0.0
    for duration in service:
        begin = heapq.heappop(free)
        total += begin
        heapq.heappush(free, begin + duration)  # here
    return total


def heaps(x):
    y = np.sqrt(x)
    items = [y[0], y[1], y[2]]
    heapq.heapify(items)  # here
    return items, y * 2


def inserts(x):
    y = np.sqrt(x)
    items = [1.0, 1.1, 1.2]
    bisect.insort(items, float(y[5]))  # here
    return items, y * 2


@pytest.mark.parametrize(
    ("function", "name"), [(waits, "heappush"), (heaps, "heapify"), (inserts, "insort")]
)
def test_a_heap_is_not_told_by_what_its_code_does(function, name):
    found = [item for item in breaks(function, X[:50]) if item["line"] == line_of_code(function)]
    assert found
    for item in found:
        assert item["code"] == "PC0048" and item["detail"].startswith(f"call of '{name}"), item
        assert "np.searchsorted" in item["hint"]
    check(function, X[:50])


# ---- attributes of arrays ----


def resizes(a, buffer):
    x = np.sqrt(a) * 2 + 1
    buffer.resize(buffer.shape)
    return x * buffer + 1


def reads_the_method(a, buffer):
    resize = buffer.resize
    x = np.sqrt(a) * 2 + 1
    resize(buffer.shape)
    return x * buffer + 1


def of_the_selection(a, buffer):
    x = a[a > 0]
    x.resize(3)
    return x * 2 + buffer[:3]


@pytest.mark.parametrize("function", [resizes, reads_the_method, of_the_selection])
def test_a_method_of_an_array_without_a_rule(function):
    made = pycompile.explain(function)(np.arange(100.0), np.ones(100))
    item = made.breaks[0]
    assert item["code"] == "PC0002" and item["detail"] == "method 'resize' of an array", item
    assert item["hint"] == "Call it before or after the array code."


def resized_before(a, buffer):
    buffer.resize(buffer.shape)
    x = np.sqrt(a) * 2 + 1
    return x * buffer + 1


def test_a_method_before_the_array_code_leaves_one_graph():
    made = pycompile.explain(resized_before)(np.arange(100.0), np.ones(100))
    assert len(made.graphs) == 1


def base_of_a_view(x):
    y = x[1:][1:]
    return y * 2, y.base


def test_an_attribute_without_a_rule():
    made = pycompile.explain(base_of_a_view)(np.ones(100)[1:])
    assert made.breaks[0]["code"] == "PC0010"
    assert "without a rule, or one that" in " ".join(str(made).split())


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


def test_the_loop_is_around_the_branch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        made = pycompile.explain(sums_of_windows)(Ring(50), np.arange(200.0))
    hints = [item["hint"] for item in made.breaks if item["code"] == "PC0046"]
    assert hints and all("a loop around this" in hint for hint in hints), made.breaks


# ---- arrays that share memory ----


def reflects(a, copies=False):
    r = a.copy()
    for k in range(4):
        column = r[k:, k].copy() if copies else r[k:, k]
        id(k)
        v = column / np.sqrt(column @ column)
        part = r[k:, k:].copy()
        r[k:, k:] = part - 2 * np.outer(v, v @ part)
    return r


def test_the_arrays_that_overlap_are_named():
    a = np.sin(np.arange(30.0)).reshape(6, 5)
    item = next(i for i in pycompile.explain(reflects)(a).breaks if i["code"] == "PC0019")
    assert "'r'" in item["detail"] and "'column'" in item["detail"], item
    assert "where it is taken: row = x[k].copy()" in item["hint"]
    codes = {i["code"] for i in pycompile.explain(reflects)(a, True).breaks}
    assert "PC0019" not in codes, codes


def adds_to_first(pair, b):
    pair[0][1:] += b[:-1]
    return b * 2


def test_arrays_in_a_list_that_overlap():
    a = np.arange(9.0)
    item = next(
        i for i in pycompile.explain(adds_to_first)([a], a[:]).breaks if i["code"] == "PC0019"
    )
    assert "an array in 'pair'" in item["detail"] and "'b'" in item["detail"], item


# ---- C's long long ----


def counts_beyond(x):
    a = np.array([2**63])
    return np.sqrt(x) + a[0]


def counts_named(x):
    a = np.array([2**63], np.uint64)
    return np.sqrt(x) + a[0]


def scaled(x, a):
    return np.sqrt(x) + a * 2


def test_long_long_is_told_as_a_dtype_of_its_own():
    x = np.ones(2000)
    for function, args in ((counts_beyond, (x,)), (scaled, (x, np.ones(2000, np.ulonglong)))):
        item = pycompile.explain(function)(*args).breaks[0]
        assert item["code"] == "PC0055" and "dtype('uint64')" not in (item["detail"] or ""), item
    for function, args in ((counts_named, (x,)), (scaled, (x, np.ones(2000, np.uint64)))):
        assert not pycompile.explain(function)(*args).breaks


# ---- arrays of a length that only the run knows ----


def doubles_rows(points, key):
    found = np.unique(key)  # here
    ordered = found[::-1]
    out = []
    for row in ordered:
        out.append(row * 2 + points[0, 0])
    return out


def test_where_an_unknown_length_comes_from():
    made = pycompile.explain(doubles_rows)(np.ones((60, 2)), np.arange(60.0) % 7)
    item = next(i for i in made.breaks if i["code"] == "PC0045")
    line = line_of_code(doubles_rows)
    assert item["detail"] == f"iteration over an array, of a length that line {line} decides", item


def sorts_by_two_keys(points):
    p = points[np.lexsort((points[:, 1], points[:, 0]))]
    out = []
    for q in p:
        out.append(q * 2)
    return out


def sorts_by_keys(keys, axis=-1):
    order = np.lexsort(keys, axis)
    return order * 2, order.shape, order.dtype


def test_the_shape_of_what_lexsort_gives_is_known():
    points = np.sin(np.arange(120.0)).reshape(60, 2).round(1)
    check(sorts_by_two_keys, points, whole=True)
    for keys in (points, (points, points[::-1]), (points[:, 0], points[:, 1].astype(int))):
        check(sorts_by_keys, keys, whole=True)
    check(sorts_by_keys, (points, points[::-1]), 0, whole=True)
    for keys, axis in (((points[0], points[:, 0]), -1), ((), -1), (points, 2), (points[:0], -1)):
        check(sorts_by_keys, keys, axis, captured=False)
