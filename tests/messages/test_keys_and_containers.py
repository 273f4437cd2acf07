"""What is said of keys, and of containers that are empty, long, or vary."""

import bisect
import heapq
from collections import Counter, defaultdict

import numpy as np
import pytest

import pycompile
from pycompile import _explain_text
from tests.differential import check
from tests.reports import (
    breaks,
    line_of_code,
    only_break,
    said_first,
    said_here,
)

X = np.linspace(1.0, 2.0, 3000)


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
    item = only_break(keeps_the_last(), X)
    assert item["code"] == "PC0054" and item["detail"] == "a subscript of list"
    assert "A plan can append to a list" in item["hint"] and "slices" not in item["hint"]


def sums_a_generator(parts):
    return sum(np.sqrt(v) for v in parts)


def test_a_generator_expression_has_a_line():
    explanation = pycompile.explain(sums_a_generator)(iter([X, X]))
    line = line_of_code(sums_a_generator, "sum(")
    rows = {row["function"]: row["line"] for row in _explain_text.functions(explanation)}
    assert rows["sums_a_generator.<locals>.<genexpr>"] == line


# ---- keys that are text already ----


def keyed_by_text(x, b):
    y = np.sqrt(x) + 1
    return {str(int(b[0])): y}


def stored_by_text(x, b):
    y, found = np.sqrt(x) + 1, {}
    found[f"{b[0]}"] = y
    return found


def keyed_by_text_and_a_number(x, b):
    y = np.sqrt(x) + 1
    return {(str(b[0]), 1): y}


def text_in_a_set(x, b):
    y = np.sqrt(x) + 1
    return y, {str(int(b[0]))}


def key_from_the_caller(x, key):
    y = np.sqrt(x) + 1
    return {key: y, (key, 1): y}, {key}


@pytest.mark.parametrize(
    "function", [keyed_by_text, stored_by_text, keyed_by_text_and_a_number, text_in_a_set]
)
def test_a_key_of_text_that_the_run_makes(function):
    text, hint = said_first(function, X, np.array([3, 4]))
    assert "that is only known when the code runs" in text, text
    assert "key dicts by text" not in hint and "Make the key in the caller" in hint, hint
    check(key_from_the_caller, X, "3", whole=True)


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
    text, hint = said_here(function, X)
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


# ---- heaps ----


def waits(service):
    free = [(0.0, "a"), (0.0, "b")]
    total = 0.0
    for duration in service:
        begin, name = heapq.heappop(free)
        total += begin
        heapq.heappush(free, (begin + duration, name))  # here
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
