"""Kept loops that change lists of numbers: as tables, as stacks."""

import heapq
import signal
from collections import deque

import numpy as np
import pytest

import pycompile
from pycompile import _C
from tests.differential import check, observe

RNG = np.random.default_rng(7)
X = RNG.standard_normal(300).round(2)
START = np.concatenate([[0], np.cumsum(RNG.integers(0, 5, 120))])
TARGET = RNG.integers(0, 120, START[-1])


def flood(start, target, seen):
    stack = [0]
    count = 0
    while stack:
        at = stack.pop()
        if seen[at]:
            continue
        seen[at] = 1
        count += 1
        for k in range(start[at], start[at + 1]):
            stack.append(target[k])
    return count, stack


def table(coins, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for c in range(len(coins)):
        for total in range(coins[c], amount + 1):
            ways[total] = (ways[total] + ways[total - coins[c]]) % 1_000_007
    return ways


def rising(x):
    tops = [x[0]]
    for i in range(1, len(x)):
        while len(tops) > 0 and tops[-1] < x[i]:
            tops.pop()
        tops.append(x[i])
    return tops


def python_floats(x):
    stack = [1.5]
    for i in range(len(x)):
        stack.append(float(x[i]) + stack[-1])
        if len(stack) > 20:
            stack.pop()
            stack.pop(-1)
    return stack


def pairs(x):
    stack = [(0, 0.5)]
    total = 0.0
    while stack and len(stack) < 400:
        i, w = stack.pop()
        total += w
        for k in range(2):
            if 2 * i + k + 1 < len(x):
                stack.append((2 * i + k + 1, w + float(x[i])))
    return total, stack


def from_the_end(x):
    ring = [0, 1, 2, 3, 4]
    for i in range(len(x)):
        ring[-1 - i % 5] = ring[i % 5 - 5] + i
    return ring


def swapped(x):
    order = [3, 1, 2, 5, 4, 0]
    for i in range(len(x)):
        k = i % 5
        if order[k] > order[k + 1]:
            order[k], order[k + 1] = order[k + 1], order[k]
    return order


def left_inside(x):
    stack = [0]
    for i in range(len(x)):
        stack.append(i)
        if x[i] > 2.0:
            return stack, i
        if x[i] > 1.0:
            stack.pop()
    return stack


def by_a_function(x):
    def push(stack, v):
        stack.append(v)
        return len(stack)

    stack, n = [0], 0
    for i in range(len(x)):
        n += push(stack, i)
        if n % 3 == 0:
            stack.pop()
    return stack, n


def small_numbers(x):
    y, tops = x.astype(np.float32), [np.float32(0)]
    for i in range(len(x)):
        if tops[-1] < y[i]:
            tops[-1] = y[i]
        else:
            tops.append(y[i] + tops[-1])
    return tops


def side_exits(x):
    stack, seen = [0], []
    for i in range(len(x)):
        stack.append(i)
        stack[i // 2] += 1
        if x[i] > 2.2:
            seen.append(repr((i, len(stack))))
    return stack, seen


@pytest.mark.parametrize(
    "function",
    [
        rising,
        python_floats,
        pairs,
        from_the_end,
        swapped,
        left_inside,
        by_a_function,
        small_numbers,
        side_exits,
    ],
    ids=lambda function: function.__name__,
)
def test_lists(function):
    check(function, X, also=((X[:1],), (X[::2],), (np.full(9, np.nan),), (X[:70],)))


def test_a_stack_of_ints_of_both_classes():
    seen = np.zeros(120, int)
    check(flood, START, TARGET, seen, also=((np.zeros(121, int), TARGET, seen.copy()),))


def test_a_table():
    check(table, np.array([1, 2, 5, 10]), 300, also=((np.array([7]), 300), (np.zeros(0, int), 300)))


def changes(x, items):
    for i in range(len(x)):
        items[i % len(items)] = items[i % 3] + i
        if x[i] > 0.5 or len(items) < 5:
            items.append(i)
        elif x[i] < -1:
            items.pop()
    return len(x)


BIG, OTHER = 10**6, 10**9


@pytest.mark.parametrize(
    "items",
    [
        [1, 2, 3],
        [BIG, 5, OTHER, 7, 8],
        [True, 2, 3],
        [1, 2**70, 3],
        [1, 2.0, 3],
        [2.5, -0.0, 1e300],
        ["a", 1, 2],
        [],
        [2**63 - 1] * 3,
        [np.int64(3), 4, 5],
        [np.float32(3), np.float32(4), np.float32(5)],
        [(1, 2), (3, 4), (5, 6)],
    ],
    ids=repr,
)
def test_a_list_from_outside(items):
    compiled = pycompile.compile(changes)
    for before in ([1, 2, 3, 4], items, [BIG, OTHER, 3], items):
        plain, ours = list(before), list(before)
        alias = ours
        a, b = observe(changes, (X, plain), {}), observe(compiled, (X, ours), {})
        assert alias is ours and repr(plain) == repr(ours)
        assert [type(v) for v in plain] == [type(v) for v in ours]
        kept = [[v is w for v, w in zip(now, before, strict=False)] for now in (plain, ours)]
        assert kept[0] == kept[1]
        assert repr(a.raised) == repr(b.raised)
    assert compiled.stats()["plan_runs"] >= 1


def test_items_stay_the_same_objects():
    def rotate(x, items):
        for i in range(len(x)):
            items[i % 7], items[i % 5] = items[i % 5], items[i % 7]
            if x[i] > 2:
                items[0] = items[1] + 1
        return len(x)

    before = [10**6 + i for i in range(9)]
    plain, ours = list(before), list(before)
    compiled = pycompile.compile(rotate)
    rotate(X, plain), compiled(X, ours)
    assert compiled.stats()["plan_runs"] == 1
    assert plain == ours
    assert [[v is w for w in before] for v in plain] == [[v is w for w in before] for v in ours]


def two_names(x, a, b):
    for i in range(len(x)):
        a[i % len(a)] = i
        b[i % len(b)] = b[(i + 1) % len(b)] + 1
    return a[0]


def read_and_changed(x, a, b):
    for i in range(len(x)):
        a[i % len(a)] = b[(i * 3) % len(b)] + 1
    return len(a)


@pytest.mark.parametrize("function", [two_names, read_and_changed])
def test_two_names_of_one_list(function):
    for order in ((False, True, False), (True, False, True)):
        compiled = pycompile.compile(function)
        for same in order:
            lists = [list(range(9)) for _ in range(4)]
            a, b, c, d = lists
            if same:
                b, d = a, c
            assert function(X, a, b) == compiled(X, c, d)
            assert (a, b) == (c, d)


class Holder:
    def __init__(self):
        self.items = [1, 2, 3]

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()


def held(x, holder):
    total = 0
    for i in range(len(x)):
        holder.push(i)
        if x[i] > 0:
            total += holder.pop()
    return total


def test_a_list_that_an_object_holds():
    compiled = pycompile.compile(held)
    for n in (300, 40, 1, 0):
        a, b = Holder(), Holder()
        kept = b.items
        assert held(X[:n], a) == compiled(X[:n], b)
        assert b.items is kept and a.items == kept


def pops(x, items):
    for i in range(len(x)):
        x[i] += items.pop()
    return x


def test_pop_of_an_empty_list():
    """The writes before it are done, and the exception has its line."""
    for count in (300, 20, 0):
        check(pops, X.copy(), [1.5] * count, captured=False)


def stores(x, items, k):
    for i in range(len(x)):
        items[i * k] = i
    return items


def test_an_index_that_is_out_of_range():
    for k in (1, 2, -1, -2):
        check(stores, X[:50], list(range(60)), k, captured=False)


def overflows(x, items):
    for i in range(len(x)):
        items[0] = items[0] * 3 + 1
        items.append(i)
    return items


def test_an_int_that_grows():
    check(overflows, X[:60], [1], also=((X[:10], [2]),), captured=False)


def caught(x, items):
    count = 0
    for _ in range(len(x)):
        try:
            items.pop()
        except IndexError:
            count += 1
    return count, items


def test_an_exception_that_is_caught():
    check(caught, X, [1] * 20, captured=False)
    check(caught, X, [1] * 400, captured=False)


def test_items_that_leave():
    def last(x, items):
        at = None
        for i in range(len(x)):
            at = items.pop()
            items.append(i)
            items.append(i + 1)
        return at

    for items in ([10**9], [2.5]):
        check(last, X[:1], list(items), captured=False)
        compiled = pycompile.compile(last)
        compiled(X, list(items))
        assert compiled(X[:1], list(items)) is items[0]


@pytest.mark.slow
@pytest.mark.parametrize("variants", [1, 2, 3])
def test_each_variant(variants):
    _C.test_variants(variants)
    try:
        for function in (rising, python_floats, pairs, from_the_end, side_exits):
            assert repr(function(X)) == repr(pycompile.compile(function)(X))
            pycompile.reset()
    finally:
        _C.test_variants(0)


def test_a_signal():
    caught = []

    def handler(*_):
        caught.append(True)
        raise KeyboardInterrupt

    def endless(items):
        while len(items) > 0:
            items.append(items.pop() + 1)
            if len(items) > 1:
                items.pop()
        return items

    before = signal.signal(signal.SIGALRM, handler)
    items = [0]
    try:
        compiled = pycompile.compile(endless, mode="wait")
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            compiled(items)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caught and len(items) <= 2


def test_lists_of_no_numbers_are_left_to_python():
    def texts(x, items):
        for i in range(len(x)):
            items[i % 3] = str(i)
        return items

    check(texts, X[:50], ["a", "b", "c"], captured=False)


def test_a_stack_that_begins_empty():
    def floats(x):
        tops = []
        for i in range(len(x)):
            while tops and tops[-1] < x[i]:
                tops.pop()
            tops.append(x[i])
        return tops

    def indices(x, spans):
        open_ = []
        for i in range(len(x)):
            while len(open_) and x[open_[-1]] <= x[i]:
                open_.pop()
            spans[i] = i - open_[-1] if open_ else i + 1
            open_.append(i)
        return spans

    def never(x):
        items = []
        for i in range(len(x)):
            if items:
                x[i] += items.pop()
        return x, items

    check(floats, X, also=((X[:1],), (np.full(9, np.nan),)), whole=True)
    check(indices, X, np.zeros(300, int))
    check(never, X)


def heap_of_ints(x):
    heap, taken = [5], []
    for i in range(len(x)):
        heapq.heappush(heap, (i * 7919) % 101)
        if x[i] > 0.3:
            taken.append(heapq.heappop(heap))
    return taken, heap


def heap_of_floats(x):
    heap = [0.5]
    total = 0.0
    for i in range(len(x)):
        heapq.heappush(heap, float(x[i]))
        if i % 3 == 2:
            total = total * 0.9 + heapq.heappop(heap)
    return total, heap


def heap_of_elements(x, heap):
    for i in range(len(x)):
        if x[i] < 0:
            heapq.heappush(heap, x[i])
        elif len(heap) > 1:
            heapq.heapreplace(heap, x[i])
    return heap


def test_heaps():
    """Of numbers, with equal ones and NaNs, in CPython's order."""
    nans = X.copy()
    nans[::7] = np.nan
    for function in (heap_of_ints, heap_of_floats):
        check(function, X, also=((X[:1],), (nans,), (np.ones(40),)))
    check(heap_of_elements, X, [np.float64(0.5), np.float64(2.5)], also=((nans, []), (X, [1.5])))


def nearest_first(start, target, weight, distance, source):
    heap = [(0.0, source)]
    distance[source] = 0.0
    while heap:
        d, at = heapq.heappop(heap)
        if d > distance[at]:
            continue
        for k in range(start[at], start[at + 1]):
            new = d + weight[k]
            if new < distance[target[k]]:
                distance[target[k]] = new
                heapq.heappush(heap, (new, target[k]))
    return distance


def merged_runs(x, heap):
    """What stays on it stays the same object."""
    given, order = list(heap), []
    heapq.heapify(heap)
    for i in range(len(x)):
        value, place = heapq.heappop(heap)
        order.append(place)
        if x[i] > 0:
            heapq.heappush(heap, (value + float(x[i]), i % 5))
        else:
            heapq.heappush(heap, (value, place + 1))
    return order, heap, [any(item is one for one in given) for item in heap]


def ordered_pairs(x):
    counts = [0, 0, 0, 0, 0, 0]
    least, at = x[0], 0
    for i in range(len(x)):
        if (x[i], i % 7) < (least, at):
            least, at = x[i], i % 7
        counts[0] += (x[i], i % 7) <= (least, at)
        counts[1] += (x[i], i % 7) == (least, at)
        counts[2] += (i % 3, x[i]) != (i % 4, least)
        counts[3] += (i % 3, i % 2) > (1, 0)
        if not (i % 3, x[i]) >= (1, 0.0):
            counts[4] += 1
    return least, at, counts


def test_heaps_of_tuples():
    weights = np.random.default_rng(3).integers(0, 9, len(TARGET)) / 2
    nans = np.where(np.arange(len(TARGET)) % 50 == 7, np.nan, weights)
    far = np.full(121, np.inf)
    check(nearest_first, START, TARGET, weights, far, 3, also=((START, TARGET, nans, far, 0),))
    pairs = [(float(k % 4), k) for k in range(9)]
    check(merged_runs, X, pairs, also=((X[:30], [(np.nan, 1), *pairs]), (-abs(X), [(1.5, 0)])))


def test_orders_of_tuples():
    check(ordered_pairs, X, also=((X[:1],), (np.where(X > 1, np.nan, X),), (np.ones(50),)))


# ---- queues ----


def walked(start, target, far, queue):
    while queue:
        at = queue.pop(0)
        for k in range(start[at], start[at + 1]):
            if far[target[k]] < 0:
                far[target[k]] = far[at] + 1
                queue.append(target[k])
    return far


def from_the_front(start, target, far):
    queue = [0]
    far[0] = 0
    return walked(start, target, far, queue), queue


def over_a_deque(start, target, far):
    queue = deque([0])
    far[0] = 0
    while queue:
        at = queue.popleft()
        for k in range(start[at], start[at + 1]):
            if far[target[k]] < 0:
                far[target[k]] = far[at] + 1
                queue.append(target[k])
    return far, queue


@pytest.mark.parametrize("function", [from_the_front, over_a_deque])
def test_a_search_by_breadth(function):
    far = np.full(120, -1)
    none = np.zeros(2, int)
    check(function, START, TARGET, far, also=((none, TARGET, far[:1].copy()),), whole=True)


def largest_of_last(x, n):
    """What is left in the queue falls."""
    queue = deque()
    out = np.empty(len(x))
    for i in range(len(x)):
        while queue and x[queue[-1]] <= x[i]:
            queue.pop()
        queue.append(i)
        if queue[0] <= i - n:
            queue.popleft()
        out[i] = x[queue[0]] + len(queue)
    return out, queue


def round_and_round(work, turns):
    """Few items that pass through the queue often: those taken make room."""
    queue = [(k, 1) for k in range(4)]
    for i in range(turns):
        k, step = queue.pop(0)
        work[k] += step
        queue.append((k, step + i % 3))
        queue[0] = queue[-1]
        if i % 5 == 0:
            queue.append((i % 4, 0))
        if len(queue) > 9:
            queue.pop()
    return work, queue


def test_queues_that_last():
    check(largest_of_last, X, 7, also=((X[:1], 7), (X[:0], 7), (X, 1)), whole=True)
    check(round_and_round, np.zeros(4, int), 5000, also=((np.zeros(4, int), 1),))


def shifts(x, items):
    for i in range(len(x)):
        if x[i] > 2:
            items.append(i)
        x[i] += items.pop(0)
    return x


def lefts(x, queue):
    for i in range(len(x)):
        queue.append(i)
        x[i] += queue.popleft()
        if x[i] > 250:
            queue.popleft()
    return x


def test_a_queue_that_is_empty():
    """The writes before it are done, and the exception has its line."""
    for count in (400, 20, 0):
        check(shifts, X.copy(), [1.5] * count, captured=False)
        check(shifts, X.copy(), [10**6 + k for k in range(count)], captured=False)
    for items in (deque(), deque([1, 2]), deque([1, 2], maxlen=2), deque("ab")):
        check(lefts, X.copy(), items, captured=False)


def test_items_leave_a_queue_as_they_came():
    def first(x, items):
        for i in range(len(x)):
            items.pop(0)
            items.append(i)
            x[i] += 1
        return items

    def left(x, items):
        for i in range(len(x)):
            items.popleft()
            items.append(i)
            x[i] += 1
        return items

    for kind in (list, deque):
        function = first if kind is list else left
        before = [10**6 + i for i in range(300)]
        plain, ours = kind(before), kind(before)
        compiled = pycompile.compile(function)
        function(X[:290].copy(), plain), compiled(X[:290].copy(), ours)
        assert compiled.stats()["plan_runs"] == 1 and plain == ours
        assert all(ours[i] is before[290 + i] for i in range(10))


def passed(x, queue):
    n = 0
    while queue and n < 400:
        at = queue.popleft()
        n += 1
        if x[at % 300] > 0.1:
            queue.append(at + 1)
            queue.append(2 * at % 1000)
    return n


def stacked(x, items):
    n = 0
    while items and n < 400:
        n += 1
        x[items.pop()] += n
    return n


@pytest.mark.parametrize("kind, function", [(deque, passed), (list, stacked)])
def test_a_plan_of_all_lengths(kind, function):
    """It is kept, also where the second length has shown that they vary."""
    compiled = pycompile.compile(function)
    for n in (30, 3, 40, 7, 60, 8):
        plain, ours = kind(range(n)), kind(range(n))
        assert function(X.copy(), plain) == compiled(X.copy(), ours) and plain == ours
    stats = compiled.stats()
    assert stats["plan_runs"] == 6 and stats["deopts"] == 0
    full = deque(range(30), 30)
    assert kind is list or passed(X, full.copy()) == compiled(X, full)


def test_a_deque_that_leaves():
    def filled(x):
        queue = deque()
        for i in range(len(x)):
            queue.append(x[i])
        queue.append(1.5)
        return queue

    check(filled, X, also=((X[:0],),))


def both_ends(start, target, far):
    queue = deque([0])
    far[0] = 0
    while queue:
        at = queue.popleft()
        for k in range(start[at], start[at + 1]):
            if far[at] + k % 2 < far[target[k]]:
                far[target[k]] = far[at] + k % 2
                if k % 2:
                    queue.append(target[k])
                else:
                    queue.appendleft(target[k])
    return far


def before_the_first(x, items):
    for i in range(len(x)):
        items.insert(0, i)
        if x[i] > 0:
            items.append(items.pop(0))
            x[i] += items[1] + items[-2]
    return x, items


def test_items_before_the_first():
    check(both_ends, START, TARGET, np.full(120, 10**6))
    check(before_the_first, X, [1], also=((X, [10**6, 3]), (X[:0], [])), captured=False)
