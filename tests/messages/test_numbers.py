"""What is said of numbers: ints that fit no int64, C's long long, classes that only the run knows."""

import numpy as np
import pytest

import pycompile
from tests.differential import check
from tests.reports import (
    breaks,
    line_of_code,
    stays,
)

X = np.linspace(1.0, 2.0, 3000)
U = np.arange(3000, dtype=np.uint64)


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


def test_a_number_of_a_mixed_table_scales_elements():
    stays(scales_each, X, MIXED)
    check(scales_each_by_a_float, X, MIXED, whole=True)


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


# ---- ints of more than 64 bits ----

K = np.uint64(14695981039346656037)
U64 = np.arange(30000, dtype=np.uint64)


def hashes(x):
    h = 144066263297769815596495629667062367629
    for i in range(len(x)):
        h = h ^ int(x[i])  # here
    return h


def hashes_as_uint64(x):
    h = K
    for i in range(len(x)):
        h = h ^ x[i]
    return h


def masks_a_number(x):
    y = np.sqrt(x) + 1
    return y * 2, (int(x[1]) * 31) & 14695981039346656037  # here


@pytest.mark.parametrize("function", [hashes, masks_a_number])
def test_a_wide_int_is_told_as_one(function):
    item = breaks(function, U64)[0]
    assert "an int that does not fit int64" in item["detail"], item
    assert item["line"] == line_of_code(function) and "np.uint64(...)" in item["hint"]


def test_numbers_of_uint64_keep_the_loop():
    check(hashes_as_uint64, U64, whole=True)
