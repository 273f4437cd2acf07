"""Turns of repeats write inputs themselves: what a run leaves that a later turn ends."""

import numpy as np
from differential import check

from tests.reports import turns_in_place

RNG = np.random.default_rng(3)
AT = RNG.integers(0, 6, 5)


def spreads(a, b, at):
    for k in range(len(at)):
        a[k:, k:] += b[at[k], k:] / at[0]
        b[k] = a[k] * 2


def squares(rows=6, columns=6, dtype="f8"):
    return RNG.standard_normal((2, rows, columns)).astype(dtype)


def changed(at, place, value):
    at = at.copy()
    at[place] = value
    return at


def test_an_undo_restores_what_was_written():
    a, b = squares()
    at = changed(AT, 0, 3)
    late = changed(at, -1, 6)  # an index error in the last turn
    others = (
        (a, b, late),
        (a, b, changed(at, 0, 0)),  # a warning
        (np.zeros((6, 6)), np.ones((6, 6)), late),
        (np.asfortranarray(a), b[:, ::-1], late),
        (a[::-1], np.repeat(b, 2, axis=0)[::2], late),
        (a[:, :0], b[:, :0], at),
    )
    check(spreads, a, b, at, whole=True)
    for arguments in others:
        check(spreads, a, b, at, captured=False, also=(arguments,))
    check(spreads, a, a, at, captured=False, also=((a[:5], a[1:], changed(at, -1, 4)),))
    for dtype in ("f4", "c16"):
        a, b = squares(dtype=dtype)
        check(spreads, a, b, at, captured=False, also=((a, b, late),))


def pivots(a, back):
    for k in range(len(a) - 1):
        at, s = k, 0.0
        for i in range(k + 1, len(a)):
            if abs(a[i, k]) > abs(a[at, k]):
                at = i
        a[[k, at]] = a[[at, k]]
        for j in range(3):
            s += a[k - back[j], k]
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:]) * s


def test_kept_loops_in_turns_give_up():
    """By a negative index, one out of bounds, an infinity; and a flag that is ignored."""
    a, _ = squares()
    back = np.array([0, 0, -1])
    infinite, tiny = a.copy(), a * 1e-160
    infinite[4, 2], infinite[3, 3] = np.inf, -np.inf
    also = ((a, np.array([0, 3, 4])), (a, np.array([0, 0, -3])), (infinite, back), (tiny, back))
    check(pivots, a, back, whole=True)
    for arguments in also:
        check(pivots, a, back, captured=False, also=(arguments,))


def by_parity(a, out, at):
    for i in range(len(at)):
        if i % 2:
            out[i] = np.exp(a[at[i]])
        else:
            out[i] = a[at[i]] * 2


def by_data(a, out, at):
    for i in range(len(at)):
        if a[at[i], 0] > 0:
            out[i] = np.exp(a[at[i]])
        else:
            out[i] = np.tanh(out[i - 1])


def in_one_arm(a, out, at):
    for i in range(len(at)):
        if a[at[i], 0] > 0:
            out[i] = np.exp(a[i])


def in_arms_of_arms(a, out, at):
    for i in range(len(at)):
        before = out[i] + 1
        if a[at[i], 0] > 1:
            out[i] = np.exp(a[i])
        elif a[i, 0] > 0:
            out[i] = out[i - 1]
        elif a[i, 1] > 0:
            out[i] = np.tanh(a[i])
            out[i - 1] = out[i] * before
        else:
            out[i] = out[i][::-1]
        out[i] += before * out[i - 1].sum()
        if a[i, 2] > 0:
            out[i - 1] = before
        else:
            out[i - 1] = np.sin(out[i - 1])


def old_row_after_arms(a, out, at):
    for i in range(len(at)):
        old = out[i - 1]
        kept = old.copy()
        if a[at[i], 0] > 0:
            out[i - 1] = np.exp(a[i])
        else:
            out[i - 1] = kept[::-1]
        out[i] += kept * old


def turns_in_arms(a, out, at):
    for i in range(len(at)):
        if a[at[i], 0] > 0:
            for j in range(2):
                out[i] = np.exp(out[i] * 0.1) + out[j]
        else:
            out[i] = np.tanh(out[i - 1])


def test_arms_write_in_place():
    """Both arms of a branch, arms in arms, what reads older versions; with an undo in the middle."""
    a, out = squares(rows=9)
    at = np.arange(9)
    late = changed(at, 6, 9)
    for function in (by_parity, by_data, in_one_arm, in_arms_of_arms, turns_in_arms):
        assert turns_in_place(function, a, out.copy(), at), function
    for function in (
        by_parity,
        by_data,
        in_one_arm,
        in_arms_of_arms,
        turns_in_arms,
        old_row_after_arms,
    ):
        also = ((a, out, late), (-a, out, at), (out, out, at), (a[::-1], out.T.copy().T, late))
        check(function, a, out, at, captured=False, also=also)
