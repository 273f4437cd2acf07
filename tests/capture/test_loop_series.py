"""Lists of numbers, bytes and text that loops read: arrays that are made of them in each run."""

import math
import threading

import numpy as np
import pytest

import pycompile
from tests.differential import check, check_whole


def common(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table


def knapsack(weights, values, best):
    for i in range(len(weights)):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[: len(best) - w] + values[i])
    return best


def weighted(numbers, at, out):
    s = 0
    for i in range(len(at)):
        s += numbers[at[i]] * 3
        out[i] = numbers[-1 - i]
    return s, out


def checksum(data, x):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b << 16 | a


def side_by_side(data, x):
    s = 0
    for i, (byte, v) in enumerate(zip(data, x)):
        s += byte * v - i
    for byte in reversed(data):
        s = s * 0.5 + byte
    return s


def runs(data, x):
    found, start = [], 0
    for i in range(1, len(data) + 1):
        if i == len(data) or data[i] != data[start]:
            found.append((data[start], i - start))
            start = i
    return found


BYTES = [b"abracadabra" * 9, b"aaab" * 40, bytes(range(256))]


def test_elements_of_bytes():
    check_whole(
        common, b"abcde" * 7, b"badce" * 6, also=((b"", b"xy"), (b"x", b"y"), (b"ab", b"ba"))
    )


def test_elements_of_lists():
    rng = np.random.default_rng(3)
    cases = [
        (rng.integers(0, 20, n).tolist(), rng.integers(-9, 99, n).tolist(), np.zeros(90, np.int64))
        for n in (30, 12, 1)
    ]
    check_whole(knapsack, *cases[0], also=tuple(cases[1:]))


INTS = [3, -7, 2**40, 0] * 20
FLOATS = [0.5, -0.0, math.inf, 1e-310, -3.25] * 16
PLACES = np.arange(-40, 40)


@pytest.mark.parametrize("numbers", [INTS, FLOATS])
def test_indices_and_classes(numbers):
    """Indices from the end, other lengths, an index out of bounds in the middle, items of other classes."""
    out = np.zeros(len(PLACES))
    others = [
        numbers[:40] * 3,
        numbers[:50],
        [*numbers[:60], *[True] * 20],
        [*numbers[:79], 2**70],
        [*numbers[:79], 1.5 if numbers is INTS else 1],
        [*numbers[:79], None],
        [*numbers[:79], math.nan],
        [],
    ]
    also = tuple((other, PLACES, out) for other in others)
    check(weighted, numbers, PLACES, out, also=also)


@pytest.mark.parametrize("function", [checksum, side_by_side, runs])
def test_bytes_gone_through(function):
    x = np.linspace(-1, 1, 70)
    check(function, BYTES[0], x, also=tuple((data, x) for data in [*BYTES, b"", b"x"]))


def test_lists_gone_through():
    x = np.linspace(-1, 1, 70)
    check(side_by_side, INTS, x, also=((INTS[:70], x), (FLOATS, x), ([], x), ([True] * 80, x)))


def test_a_list_that_changes():
    """What one call changes in the list, the next one sees, and nothing is written to it."""

    def scaled(numbers, x):
        s = 0.0
        for i in range(len(x)):
            s += numbers[i % 10] * x[i]
        numbers[3] = s
        numbers.append(s)
        return s

    x = np.linspace(0, 1, 50)
    check(scaled, [1.0, 2.0] * 6, x, calls=4)
    numbers, plain = [1.0, 2.0] * 6, [1.0, 2.0] * 6
    compiled = pycompile.compile(scaled)
    for _ in range(4):
        assert compiled(numbers, x) == scaled(plain, x) and numbers == plain


def test_one_list_twice():
    check_whole(weighted_pairs, INTS, INTS, np.zeros(80), also=((INTS, INTS[:], np.zeros(80)),))


def weighted_pairs(a, b, x):
    for i in range(len(x)):
        x[i] = a[i] - b[len(b) - 1 - i]
    return a is b, x


def test_other_uses():
    """A list that is also used in other ways is opened, or the graph ends there."""

    def mixed(numbers, x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * numbers[i % 5]
        return s, sum(numbers), sorted(numbers), numbers[1:3], 3 in numbers, numbers == [1], numbers

    def before(numbers, x):
        total = sum(numbers) if numbers else 0
        for i in range(len(x)):
            x[i] += numbers[i % 5] * total
        return x, max(numbers)

    x = np.linspace(0, 1, 60)
    check(mixed, INTS[:9], x, also=((INTS[:9], x), (FLOATS[:6], x)))
    check(before, INTS[:9], x, also=((INTS[:9], x), (FLOATS[:6], x)))


def palindromes(s, t):
    n = len(s)
    table = np.zeros((n, n), bool)
    for i in range(n - 1):
        table[i, i] = True
        table[i, i + 1] = s[i] == s[i + 1]
    for length in range(3, n + 1):
        for i in range(n - length + 1):
            table[i, i + length - 1] = table[i + 1, i + length - 2] and s[i] == s[i + length - 1]
    return table


def letters(s, t):
    counts = np.zeros(5, np.int64)
    for i in range(min(len(s), len(t))):
        c = s[i]
        counts[0] += c == "a"
        counts[1] += c != t[-1 - i]
        counts[2] += c < t[i] if "b" <= c else 7
        counts[3] += c == "é"
        if not c or c > "x":
            counts[4] += i
    return counts


def vowels(s, t):
    n = 0
    for i, (c, d) in enumerate(zip(s, t)):
        if c == "a" or c == "e" or d == "o":
            n += i
    return n


TEXTS = [
    ("abracadabra" * 9, "notarato" * 12),
    ("zyé" * 30, "aé\U0001f600" * 40),
    ("\U0001f600a" * 50, "ax" * 50),
    ("", "x"),
    ("x", ""),
]


@pytest.mark.parametrize("function", [palindromes, letters, vowels])
def test_letters(function):
    """Text of one, two and four bytes a letter."""
    check(function, *TEXTS[0], also=tuple(TEXTS[1:]))


def test_letters_that_leave():
    def kept(s, x):
        found, last = [], ""
        for i in range(len(x)):
            if s[i % len(s)] == "b":
                last = s[i % len(s)]
                found.append(last)
        return found, last, last is s[1], s.upper(), s[2:4]

    check(kept, "abcb" * 5, np.zeros(30), captured=False)
    check(kept, "abcb" * 50, np.zeros(300), captured=False)


def extended(numbers, found, x):
    for i in range(len(x)):
        if i < len(numbers):
            found.append(numbers[i] + i)
    return found


def stored(numbers, found, x):
    found[0] = 7
    for i in range(len(x)):
        x[i] = numbers[i % len(numbers)]
    found.append(3)
    return x, numbers[0]


@pytest.mark.parametrize("function", [extended, stored])
def test_a_list_that_is_another_argument(function):
    """Apart when the plan is made, and then one list, which grows while it is read."""
    same = INTS[:30]
    check(function, INTS[:30], INTS[:30], np.zeros(50), also=((same, same, np.zeros(50)),))
    apart = (INTS[:30], INTS[:30], np.zeros(50))
    check(function, same, same, np.zeros(50), also=(apart,), captured=False)


# ---- what it costs ----


def few_of_many(numbers, at):
    s = 0
    for i in range(len(at)):
        s += numbers[at[i]]
    return s


def test_lists_that_are_longer_than_the_loops_pay_for_are_left():
    """To read all of a list for a few of its items is no plan's work, whichever came first."""
    few, long = np.arange(20) * 3, list(range(100_000))
    compiled = pycompile.compile(few_of_many, mode="wait")
    for _ in range(2):
        assert compiled(long[:70], few) == few_of_many(long, few)
    runs = compiled.stats()["plan_runs"]
    assert runs == 2
    for _ in range(3):
        assert compiled(long, few) == few_of_many(long, few)
    stats = compiled.stats()
    assert (stats["plan_runs"], stats["deopts"]) == (runs, 0)
    many = np.arange(50_000)
    for _ in range(2):
        assert compiled(long, many) == few_of_many(long, many)
    assert compiled.stats()["plan_runs"] == runs + 2


def test_threads_with_lists_of_their_own():
    """What one thread's run reads is not what another one has read meanwhile."""

    def counted(numbers, at, out):
        s = 0
        for i in range(len(at)):
            s += numbers[at[i]]
            out[i] = s
        return s

    compiled = pycompile.compile(counted, mode="wait")
    at = np.arange(60_000) % 80
    lists = [[k * 1000 + i for i in range(80)] for k in range(2)]
    wanted = [counted(numbers, at, np.zeros(len(at), np.int64)) for numbers in lists]
    compiled(lists[0], at, np.zeros(len(at), np.int64))
    before = compiled.stats()
    wrong = []

    def work(k):
        out = np.zeros(len(at), np.int64)
        wrong.extend(k for _ in range(40) if compiled(lists[k], at, out) != wanted[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = compiled.stats()
    assert not wrong
    assert (after["deopts"], after["plan_runs"]) == (0, before["plan_runs"] + 80)


# ---- items as objects ----


def largest(numbers, at):
    m = numbers[0]
    for i in range(len(at)):
        if numbers[at[i]] > m:
            m = numbers[at[i]]
    return m


def largest_by_max(numbers, at):
    m = numbers[0]
    for i in range(len(at)):
        m = max(m, numbers[at[i]])
    return m


def appended(numbers, at):
    found = []
    for i in range(len(at)):
        item = numbers[at[i]]
        if item != 3:
            found.append(item)
    return found


def carried_on(numbers, at):
    s, last = 0.5, numbers[1]
    for i in range(len(at)):
        s += last * 2
        last = numbers[at[i]]
    return last, s


def kept_in_a_dict(numbers, at):
    found, last = {}, None
    for i in range(len(at)):
        last = numbers[at[i]]
    found["last"] = last
    return found["last"], [last]


def the_same_by_functions(numbers, at):
    s = 0.0
    for i in range(len(at)):
        s += at[i] * numbers[at[i]]
    return abs(numbers[at[3]]), round(numbers[at[4]], 9), numbers[at[5]] % 10**15, s


def raised(numbers, at):
    s = 0
    for i in range(len(at)):
        s += numbers[at[i]]
    try:
        raise ValueError(numbers[at[2]])
    except ValueError as error:
        return error.args


def left_by_a_break(numbers, at):
    s = 0
    for i in range(len(at)):
        item = numbers[at[i]]
        s += item
        if s > 30_000:
            break
    return item, s


def compared_as_objects(numbers, at):
    n = 0
    for i in range(len(at)):
        item = numbers[at[i]]
        if (item,) == (numbers[5],) or item in (numbers[5], 7) or item is numbers[2]:
            n += 1
    return n


LEAVING = [largest, largest_by_max, appended, carried_on, kept_in_a_dict, the_same_by_functions]
LEAVING += [raised, left_by_a_break, compared_as_objects]
LARGE = [1000 * i + 7 for i in range(12)]
REAL = [i + 0.1 for i in range(5)] + [math.nan] + [i + 0.1 for i in range(6)]


def objects(result, numbers):
    """The result, with the places of its objects in the list."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [
        objects(part, numbers)
        if isinstance(part, list)
        else ([k for k, item in enumerate(numbers) if item is part], repr(part))
        for part in parts
    ]


@pytest.mark.parametrize("function", LEAVING)
def test_items_that_leave_are_those_of_the_list(function):
    at = np.arange(90) % 12
    for numbers in (LARGE, REAL[:5] + REAL[6:] + [6.5], REAL):
        compiled = pycompile.compile(function, mode="wait", options={"plan_always": False})
        wanted = objects(function(numbers, at), numbers)
        for _ in range(2):
            assert objects(compiled(numbers, at), numbers) == wanted


def test_what_is_computed_of_items_leaves():
    """A list is not opened for what is computed of its items alone, in the list that the loop makes."""

    def sums(numbers, at):
        s, found = 0, []
        for i in range(len(at)):
            s += numbers[at[i]]
            found.append(s)
            if numbers[at[i]] > 5:
                found.append(numbers[at[i]] * 2)
        return s, found

    check_whole(sums, LARGE, np.arange(90) % 12, also=((LARGE[:9], np.arange(40) % 9),))


def test_an_item_as_a_key_of_an_array():
    def stored(numbers, at, out):
        for i in range(1):
            out[numbers[i]] = out[len(at) - i]
            for k in range(1, len(at)):
                if max(out[k - 1], at[k]) != numbers[k % 5] and at[-k] < 5000:
                    return k
        return out

    at, out = np.arange(12), np.arange(40.0)
    check(stored, [7, 3, 30, 2, 9], at, out, also=(([1, 3, 30, 2, 9], at[:7], out),))
