"""`continue`, `break` and `else` around loops inside of loops; and loops in turns of a loop that is none: what is
found where its turns are followed one by one says nothing about the loops in them."""

import numpy as np
import pytest

import pycompile
from tests.differential import check
from tests.reports import breaks

RNG = np.random.default_rng(3)
N = 400
DEG = RNG.integers(0, 5, N)
PTR = np.concatenate([[0], np.cumsum(DEG)])
COL = RNG.integers(0, N, PTR[-1])
GRAPH = (PTR, COL, DEG, np.full(N, 1 / N), np.full(N, 1 / N), N)


@pycompile.disable
def opaque(log, *values):
    log.append(values)


# ---- whole ----


def range_until_it_breaks(ptr, col, deg, rank, new, n):
    for turn in range(100):  # noqa: B007
        for i in range(n):
            if deg[i] == 0:
                continue
            s = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                s += rank[col[k]]
            new[i] = 0.15 + 0.5 * s / deg[i]
        d = 0.0
        for i in range(n):
            d += abs(new[i] - rank[i])
            rank[i] = new[i]
        if d < 1e-6:
            break
    return turn


def while_it_moves(ptr, col, deg, rank, new, n):
    d = 1.0
    while d > 1e-6:
        d = 0.0
        for i in range(n):
            new[i] = 0.15 / n
        for i in range(n):
            if deg[i] == 0:
                continue
            share = 0.85 * rank[i] / deg[i]
            for k in range(ptr[i], ptr[i + 1]):
                new[col[k]] += share
        for i in range(n):
            d += abs(new[i] - rank[i])
            rank[i] = new[i]
    return d


def continues_behind_the_inner_loop(ptr, col, deg, rank, new, n):
    total = 0.0
    for i in range(n):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += rank[col[k]] * k
        if s < 2.0:
            new[i] = -1.0
            continue
        for k in range(ptr[i], ptr[i + 1]):
            new[i] += s / (1 + col[k])
        total += new[i]
    return total


def breaks_out_of_both(ptr, col, deg, rank, new, n):
    found = -1
    for i in range(n):
        if deg[i] < 2:
            continue
        for k in range(ptr[i], ptr[i + 1]):
            if col[k] == i + 3:
                found = k
                break
            new[i] += rank[col[k]]
        if found >= 0:
            break
    return found


def inner_else(ptr, col, deg, rank, new, n):
    count = 0
    for i in range(n):
        if deg[i] == 0:
            continue
        for k in range(ptr[i], ptr[i + 1]):
            if col[k] % 7 == 0:
                break
            new[i] += rank[col[k]]
        else:
            count += 1
            continue
        new[i] = -new[i]
    else:
        count += 1000
    return count


def outer_else_is_skipped(ptr, col, deg, rank, new, n):
    count = 0
    for i in range(n):
        for k in range(ptr[i], ptr[i + 1]):
            if col[k] == 0:
                continue
            if col[k] > 380:
                break
            new[i] += rank[col[k]]
        else:
            continue
        count += 1
        if count > 3:
            break
    else:
        count = -count
    return count


def inner_while(ptr, col, deg, rank, new, n):
    for i in range(n):
        if deg[i] == 0:
            continue
        k = ptr[i]
        while k < ptr[i + 1]:
            if col[k] % 5 == 0:
                k += 1
                continue
            if col[k] % 11 == 3:
                break
            new[i] += rank[col[k]]
            k += 1
        else:
            new[i] *= 0.5
    return new


def while_in_while(ptr, col, deg, rank, new, n):
    i = 0
    while True:
        if i >= n:
            break
        if deg[i] == 0:
            i += 1
            continue
        k = ptr[i]
        while True:
            if k == ptr[i + 1]:
                break
            new[i] += rank[col[k]]
            k += 1
        i += 1
    return i


def three_deep(ptr, col, deg, rank, new, n):
    paths = 0
    for i in range(n):
        if deg[i] == 0:
            continue
        for k in range(ptr[i], ptr[i + 1]):
            j = col[k]
            if deg[j] == 0 or j == i:
                continue
            for m in range(ptr[j], ptr[j + 1]):
                if col[m] == i:
                    break
                if col[m] == j:
                    continue
                paths += 1
                new[i] += rank[col[m]]
            else:
                new[j] -= 1.0
    return paths


def two_continues(ptr, col, deg, rank, new, n):
    for turn in range(5):
        if turn == 3:
            continue
        for i in range(n):
            if deg[i] == 0:
                continue
            if rank[i] < 0.001:
                continue
            for k in range(ptr[i], ptr[i + 1]):
                if col[k] == i:
                    continue
                new[col[k]] += rank[i] / deg[i]
        for i in range(n):
            if new[i] > 1.0:
                new[i] = 1.0
                continue
            rank[i] = new[i]
    return turn


def returns_from_within(ptr, col, deg, rank, new, n):
    for i in range(n):
        if deg[i] == 0:
            continue
        for k in range(ptr[i], ptr[i + 1]):
            if col[k] == i + 11:
                return k
            new[i] += rank[col[k]]
    return -1


WHOLE = [
    range_until_it_breaks,
    while_it_moves,
    continues_behind_the_inner_loop,
    breaks_out_of_both,
    inner_else,
    outer_else_is_skipped,
    inner_while,
    while_in_while,
    three_deep,
    two_continues,
    returns_from_within,
]


@pytest.mark.parametrize("function", WHOLE)
def test_whole(function):
    check(function, *GRAPH, whole=True)


# ---- a plan for each turn ----


def while_whole_arrays_differ(ptr, col, deg, rank, new, n):
    d = 1.0
    while d > 1e-6:
        for i in range(n):
            if deg[i] == 0:
                continue
            s = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                s += rank[col[k]]
            new[i] = 0.15 + 0.5 * s / deg[i]
        d = np.abs(new - rank).sum()
        for i in range(n):
            rank[i] = new[i]
    return rank, d


def new_array_in_each_turn(ptr, col, deg, rank, new, n):
    for turn in range(100):  # noqa: B007
        new = np.zeros(n)
        for i in range(n):
            if deg[i] == 0:
                continue
            share = 0.85 * rank[i] / deg[i]
            for k in range(ptr[i], ptr[i + 1]):
                new[col[k]] += share
        d = 0.0
        for i in range(n):
            new[i] += 0.15 / n
            d += abs(new[i] - rank[i])
        rank = new
        if d < 1e-6:
            break
    return rank, turn


def swaps(ptr, col, deg, rank, new, n):
    d = 1.0
    while d > 1e-6:
        for i in range(n):
            if deg[i] == 0:
                new[i] = 0.0
                continue
            s = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                s += rank[col[k]]
            new[i] = 0.15 + 0.5 * s / deg[i]
        d = 0.0
        for i in range(n):
            d += abs(new[i] - rank[i])
        rank, new = new, rank
    return rank


def swaps_and_passes(ptr, col, deg, rank, new, n):
    d = 1.0
    while d > 1e-6:
        for i in range(n):
            if deg[i] == 0:
                continue
            s = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                s += rank[col[k]]
            new[i] = 0.15 + 0.5 * s / deg[i]
        d = 0.0
        for i in range(n):
            d += abs(new[i] - rank[i])
        rank, new = new, rank
    return rank


def always_behind_the_inner_loop(ptr, col, deg, rank, new, n):
    log = []
    i = 0
    while i < n:
        for k in range(ptr[i], ptr[i + 1]):
            new[i] += rank[col[k]]
        opaque(log, i, new[i])
        i += 1
    return log


IN_TURNS = [while_whole_arrays_differ, new_array_in_each_turn, swaps, swaps_and_passes]


@pytest.mark.parametrize("function", [*IN_TURNS, always_behind_the_inner_loop])
def test_turns(function):
    check(function, *GRAPH)


@pytest.mark.parametrize("function", IN_TURNS)
def test_loops_in_turns_stay_loops(function):
    # an end of a range that is known only when the code runs would end the graph of a turn
    assert {"PC0045", "PC0046"}.isdisjoint(item["code"] for item in breaks(function, *GRAPH))


@pytest.mark.parametrize("function", [swaps_and_passes, always_behind_the_inner_loop])
def test_what_all_turns_do_is_no_side(function):
    assert breaks(function, *GRAPH, code="PC0052") == []
