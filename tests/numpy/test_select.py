"""What a mask selects, and stores by a mask: arrays/select.c against NumPy."""

import numpy as np
import pytest
from differential import check

from pycompile import _C

RNG = np.random.default_rng(3)
DTYPES = [
    "?",
    "u1",
    "i2",
    "f2",
    "i4",
    "f4",
    "f8",
    "i8",
    "c8",
    "c16",
    "f8,i4",
    "S3",
    ">f8",
    "O",
    "M8[s]",
]
LENGTHS = [0, 1, 7, 8, 9, 63, 64, 1000, 9001]


def elements(shape, dtype):
    numbers = RNG.integers(-100, 100, shape)
    return numbers.astype("i8").astype(dtype) if dtype != "f8,i4" else numbers.astype(dtype)


def same(made, wanted):
    assert type(made) is type(wanted)
    assert made.dtype == wanted.dtype
    assert (made.shape, made.strides) == (wanted.shape, wanted.strides)
    assert made.flags == wanted.flags
    assert made.base is None
    assert (
        made.tolist() == wanted.tolist()
        if made.dtype.hasobject
        else made.tobytes() == wanted.tobytes()
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("share", [0.0, 0.002, 0.03, 0.5, 0.97, 1.0])
def test_selecting(dtype, share):
    for length in LENGTHS:
        x = elements(length, dtype)
        mask = RNG.random(length) < share
        same(_C.array_select(x, mask), x[mask])


@pytest.mark.parametrize("order", ["C", "F"])
def test_axes(order):
    x = np.array(RNG.standard_normal((20, 30, 4)), order=order)
    for mask in (RNG.random(20) < 0.5, RNG.random((20, 30)) < 0.5, RNG.random((20, 30, 4)) < 0.5):
        for by in (mask, np.asfortranarray(mask), mask[::-1]):
            made, wanted = _C.array_select(x, by), x[by]
            assert made.tobytes() == wanted.tobytes()
            assert made.strides == wanted.strides
    none = np.zeros((0, 3, 5))
    same(_C.array_select(none, np.zeros((0, 3), bool)), none[np.zeros((0, 3), bool)])


@pytest.mark.parametrize("dtype", ["u4", "u8"])
@pytest.mark.parametrize("around", [0, 1, 9])
def test_each_mask_of_eight(dtype, around):
    """In vectors, which ask that as many elements are still to come, and between stretches of none."""
    after = np.ones(16, bool)
    x = RNG.integers(0, 1 << 8 * np.dtype(dtype).itemsize, 48 + around, dtype=dtype, endpoint=False)
    for bits in range(256):
        eight = np.array([bits >> e & 1 for e in range(8)], bool)
        mask = np.concatenate([np.zeros(around, bool), eight, np.zeros(16, bool), eight, after])
        same(_C.array_select(x, mask), x[mask])


def test_bytes_that_are_no_bools():
    x = np.arange(100.0)
    mask = np.arange(100, dtype="u1").view(bool)
    assert _C.array_select(x, mask).tobytes() == x[mask].tobytes()


def test_what_numpy_does():
    x = np.arange(10.0)
    assert _C.array_select(x, 3) == 3.0
    assert _C.array_select(x, slice(2, 4)).base is x
    assert _C.array_select(x, np.array([1, -1])).tolist() == [1.0, 9.0]
    assert type(_C.array_select(np.ma.masked_equal(x, 3), x > 5)) is np.ma.MaskedArray
    for by in (np.ones(11, bool), np.array([10]), (0, 0)):
        with pytest.raises(IndexError) as plain:
            x[by]
        with pytest.raises(IndexError) as ours:
            _C.array_select(x, by)
        assert str(ours.value) == str(plain.value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_storing(dtype):
    for length in LENGTHS:
        x = elements(length, dtype)
        mask = RNG.random(length) < 0.4
        for values in (elements(int(mask.sum()), dtype), elements((), dtype)):
            made, wanted = x.copy(), x.copy()
            _C.array_store(made, mask, values)
            wanted[mask] = values
            assert made.tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="read-only"):
        frozen = np.zeros(3)
        frozen.flags.writeable = False
        _C.array_store(frozen, np.ones(3, bool), np.ones(3))
    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment cannot assign"):
        _C.array_store(np.zeros(3), np.ones(3, bool), np.ones(2))


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_text_at_any_address(size):
    """Text is aligned to a byte, whatever its length."""
    text = bytes(RNG.integers(97, 122, size * 50 + 1).astype("u1"))
    x = np.frombuffer(bytearray(text), f"S{size}", offset=1)
    assert x.flags.aligned and x.ctypes.data % 2 == 1
    mask = RNG.random(50) < 0.4
    same(_C.array_select(x, mask), x[mask])
    made, wanted = x.copy(), x.copy()
    _C.array_store(made, mask, x[: mask.sum()])
    wanted[mask] = x[: mask.sum()]
    assert (made == wanted).all()
    values = x[: mask.sum()].copy()
    wanted[mask] = values
    _C.array_store(x, mask, values)
    assert (x == wanted).all()


def test_storing_into_shared_memory():
    """The mask or the values are the array itself: NumPy's."""
    for shift in (0, 4):
        mask = np.arange(24) % 3 == 0
        values = np.zeros(int(mask.sum()), bool)
        made, wanted = mask.copy(), mask.copy()
        _C.array_store(made, made, values)
        wanted[wanted] = values
        assert (made == wanted).all()
        made, wanted = np.arange(12.0), np.arange(12.0)
        by = np.arange(12) % 2 == 0
        _C.array_store(made, by, made[shift : shift + 6])
        wanted[by] = wanted[shift : shift + 6]
        assert (made == wanted).all()


def reduced(x, mask):
    return x[mask].sum(), (x[mask] * 2 + 1).mean(), x[mask].max() if mask.any() else 0


def stored(x, mask):
    y = x * 2
    y[mask] = np.arange(mask.sum()) * 1.5
    return y


@pytest.mark.parametrize("function", [reduced, stored])
def test_programs(function):
    x = RNG.standard_normal((100, 700))
    check(function, x, x > 0.3)
    check(function, x[::2], x[1::2] > 2)
    check(function, x, np.zeros(x.shape, bool))


def test_a_plan_pays():
    """A read by a mask is work that a plan saves."""
    import pycompile

    @pycompile.compile
    def total(x, mask):
        return x[mask].sum()

    x = RNG.standard_normal(100_000)
    total(x, x > 0)
    assert pycompile.explain(total)(x, x > 0).graphs


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16", "S3"])
@pytest.mark.parametrize("n", [(1 << 15) - 1, 1 << 15, (1 << 15) + 1, 1_000_003])
def test_blocks_for_threads(dtype, n):
    x = elements(n, dtype)
    for mask in (RNG.random(n) < 0.5, RNG.random(n) < 0.01, np.arange(n) == n - 1, np.ones(n, "?")):
        selected, expected = _C.array_select(x, mask), x[mask]
        assert selected.dtype == expected.dtype and selected.tobytes() == expected.tobytes()


def test_odd_bytes_in_one_block():
    """A mask whose bytes are not all 0 or 1 is NumPy's, wherever they are."""
    x = elements(200_000, "f8")
    mask = np.zeros(200_000, np.uint8)
    mask[[3, 70_000, 199_999]] = 1, 2, 1
    assert _C.array_select(x, mask.view("?")).tobytes() == x[mask.view("?")].tobytes()


def test_rows_in_blocks():
    x = elements((70_000, 3), "f4")
    mask = RNG.random(70_000) < 0.3
    assert _C.array_select(x, mask).tobytes() == x[mask].tobytes()
