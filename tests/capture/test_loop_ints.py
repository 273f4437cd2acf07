"""Ints in kept loops: Python's beside NumPy's of each dtype, numbers of either class, Python's ints of 64
bits without a sign that a mask or a remainder brings back."""

import numpy as np
import pytest

from tests.differential import MANY, check, check_whole
from tests.reports import keeps_loop

RNG = np.random.default_rng(37)
U8 = RNG.integers(0, 256, 300).astype(np.uint8)
TABLE = (np.arange(256) * 16777619 % 2**32).astype(np.uint32)
MASK = 0xFFFFFFFFFFFFFFFF
SOME = [U8, U8[:1], U8[:0]]
WIDE = [0xCBF29CE484222325, 0, 1, 2**63 - 1, 2**63, MASK, -7]


# ---- Python's ints beside NumPy's ----


def crc_of_8_bits(data, poly):
    c = 0
    for b in data:
        c ^= b
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ poly
            else:
                c >>= 1
    return c


def crc_by_table(data, table):
    c = 0xFFFFFFFF
    for b in data:
        c = table[(c ^ int(b)) & 0xFF] ^ (c >> 8)
    return c


def adds_the_index(x):
    out = x.copy()
    for i in range(len(x)):
        out[i] = x[i] + i
    return out


def aligns(a, b, gap):
    score = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    best = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            hit = 2 if a[i - 1] == b[j - 1] else -1
            s = max(0, score[i - 1, j - 1] + hit, score[i - 1, j] + gap, score[i, j - 1] + gap)
            score[i, j] = s
            if s > best:
                best = s
    return score, best


def of_either_class(x, limit):
    best, least, last = 0, 100, 5
    for i in range(len(x)):
        if x[i] > limit:
            best = x[i]
        least = min(least, x[i])
        n = 1 if best < i * 50 else 2
        last = n + abs(best) // 3 + (least & 7) - (best >> 1)
    return best, least, last


def doubles_either(x, limit):
    s = 1
    for i in range(len(x)):
        if x[i] > limit:
            s = x[i]
        s = s + s
    return s


def negates(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        out[i] = -x[i] + abs(x[i])
    return out


def compares_with_each(x, limit):
    n = 0
    for i in range(len(x)):
        if x[i] < i * 3 or x[i] == 300:
            n += 1
        if x[i] > limit and x[i] != -1:
            n += 2
        if i - 200 <= x[i]:
            n += 4
    return n


def test_numpys_ints_compare_with_ints_that_they_do_not_hold():
    for dtype in (np.uint8, np.int8, np.int32, np.uint64, np.int64):
        for limit in (5, 1000, -1000):
            check(compares_with_each, (U8 % 100).astype(dtype), limit, captured=False, options=MANY)
    assert keeps_loop(compares_with_each, U8, 5)


def test_python_ints_meet_numpys():
    for data in SOME:
        check_whole(crc_of_8_bits, data, 0x8C)
        check(crc_by_table, data, TABLE, captured=False)
        for dtype in (np.uint8, np.int16, np.int32, np.uint32, np.uint64, np.int64):
            check(adds_the_index, (data % 50).astype(dtype), captured=False, options=MANY)
    assert keeps_loop(crc_of_8_bits, U8, 0x8C)
    assert keeps_loop(adds_the_index, U8.astype(np.int32))
    for poly in (256, -1):  # NumPy raises
        check(crc_of_8_bits, U8, poly, captured=False)
    check(crc_by_table, U8, TABLE[:40], captured=False)  # an IndexError in the middle
    long = np.zeros(400, np.uint8)  # an index that the dtype does not hold
    check(adds_the_index, long, captured=False)
    check(adds_the_index, long[:256] + np.uint8(3), captured=False)  # an overflow, which warns


def test_numbers_of_either_class_of_each_dtype():
    a, b = RNG.integers(0, 4, (2, 30))
    for dtype in (np.int64, np.int8, np.uint16):
        check_whole(aligns, a.astype(dtype), b.astype(dtype), -1)
    assert keeps_loop(aligns, a, b, -1)
    check(aligns, a[:0], b, -1, captured=False)
    check(aligns, a, b, 2**31, captured=False)
    for dtype in (np.uint8, np.int8, np.int32, np.uint32, np.int64):
        x = RNG.integers(0, 100, 60).astype(dtype)
        for limit in (50, 90, 99, 200):
            check(of_either_class, x, limit, captured=False, options=MANY)
            check(doubles_either, x[:7], limit, captured=False, options=MANY)
        check(of_either_class, x[:0], 5, captured=False)


def stores_one_of_a_list(x, ints, b):
    for _ in range(3):
        x[1] = ints[0] if x[1] <= 3 else b[1]
    return x[1]


def test_a_lists_int_that_numpys_dtype_does_not_hold():
    for dtype in (np.uint8, np.int8, np.uint32, np.uint64):
        for first in (-21, 7, 2**63 - 1):
            x, b = np.array([0.1, -3.0]), np.arange(5, 9).astype(dtype)
            check(stores_one_of_a_list, x, [first, -(2**63)], b, captured=False, options=MANY)


def test_negated_and_absolute_ints():
    for dtype in (np.int8, np.int32, np.uint8, np.uint64, np.int64):
        check(negates, np.arange(5).astype(dtype), captured=False, options=MANY)
    check(negates, np.array([1, -128], np.int8), captured=False)
    assert keeps_loop(negates, np.arange(200).astype(np.int32))


# ---- 64 bits without a sign ----


def fnv(data, h):
    for b in data:
        h = ((h ^ int(b)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def splitmix(data, x):
    out, of_float, of_int = np.empty(len(data), np.uint64), np.empty(len(data)), data.astype("i8")
    for i in range(len(data)):
        x = (x + 0x9E3779B97F4A7C15) & MASK
        z = x
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        z = z ^ (z >> 31)
        out[i] = z
        of_float[i] = z / 2**64
        of_int[i] = z % 1000
    return out, of_float, of_int, x


def rotates(data, s):
    t, other = 0, 77
    for i in range(len(data)):
        r = (s + other) & MASK
        other ^= s
        s = (((s << 55) | (s >> 9)) & MASK) ^ other ^ ((other << 14) & MASK)
        other = ((other << 36) | (other >> 28)) & MASK
        t += r >> 44
        data[i] = r & 255
    return s, other, t


def crc_of_64_bits(data, c):
    for b in data:
        c ^= int(b)
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ 0xC96C5795D7870F42
            else:
                c >>= 1
    return c


def compares(data, h):
    n, most, least = 0, 0, MASK
    for b in data:
        h = (h * 6364136223846793005 + int(b)) & MASK
        n += h > 2**63
        n += 100 * (h < 0) + (h >= -5) + (h == 2**64)
        most = max(most, h)
        least = min(least, h)
    return n, most, least, h


def overflows(data, h):
    for b in data:
        h = h * 3 + int(b)
    return h


def negates_and_inverts(data, h):
    for _ in data:
        h = (-h + ~h * 3 - 5) & MASK
    return h


def with_a_sign_again(data, h):
    for b in data:
        h = (h * 31 + int(b)) & MASK
        h = h - 2**64 if h >= 2**63 else h
    return h


def indexes(data, h):
    s = 0
    for _ in range(len(data)):
        h = (h * 2862933555777941757 + 3037000493) & MASK
        s += int(data[h % len(data)]) + int(data[h >> 57])
    return s


def indexes_too_far(data, h):
    s = 0
    for _ in range(len(data)):
        h = (h * 2862933555777941757 + 3037000493) & MASK
        s += int(data[h])
    return s


def divides(data, h):
    s, q = 0.0, 0
    for b in data:
        h = (h ^ (int(b) + (h << 6) + (h >> 2))) & MASK
        s += (h >> 12) / 3.0 + float(h) + (h // 7) % 11 + (h // (int(b) + 1)) % 5
        q ^= h // 2**63
    return s, q, h


def stores(data, h):
    single, signed = np.zeros(len(data), np.float32), np.zeros(len(data), np.int64)
    for i in range(len(data)):
        h = (h * 31 + 7) & MASK
        single[i] = h
        signed[i] = h >> 1
    return single, signed


def stores_too_much(data, h):
    signed = np.zeros(len(data), np.int64)
    for i in range(len(data)):
        h = (h * 31 + 7) & MASK
        signed[i] = h
    return signed


def is_read_behind(data, h):
    for b in data:
        h = ((h ^ int(b)) * 0x100000001B3) & MASK
    h ^= h >> 33
    return h % 1000, h >> 3, h & 0xFF, h * 3, float(h), h < 5, bool(h), f"{h:x}", -h, h | 1


def leaves(data, h):
    for i, b in enumerate(data):
        h = ((h ^ int(b)) * 0x100000001B3) & MASK
        if h % 97 == 0:
            return i, h
        if h % 91 == 0:
            break
    else:
        return -1, h
    return -2, h


def ends_in_an_error(data, h):
    for i in range(len(data) + 5):
        h = ((h ^ int(data[i])) * 0x100000001B3) & MASK
        if h < 2**40:
            raise ValueError(h)
    return h


def is_one_of_both(data, h):
    x = 0
    for b in data:
        x = h if b > 100 else 5
        h = (h * 3) & MASK
    return x, h


KEPT = [
    fnv,
    splitmix,
    rotates,
    crc_of_64_bits,
    compares,
    negates_and_inverts,
    indexes,
    divides,
    stores,
    leaves,
    is_one_of_both,
]
LEFT = [overflows, with_a_sign_again, indexes_too_far, stores_too_much, is_read_behind]


@pytest.mark.parametrize("function", KEPT)
def test_ints_of_64_bits_keep_the_loop(function):
    assert keeps_loop(function, U8, WIDE[0])


@pytest.mark.parametrize("function", [*KEPT, *LEFT, ends_in_an_error])
def test_ints_of_64_bits(function):
    for h in WIDE:
        check(function, U8.copy(), h, captured=False, options=MANY)
    for data in SOME[1:]:
        check(function, data.copy(), WIDE[0], captured=False, options=MANY)
        check(function, data.copy(), 9, captured=False, options=MANY)
    check(function, U8[:5].copy(), 2**64 + 5, captured=False, options=MANY)  # it has no node
