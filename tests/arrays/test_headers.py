"""Reading headers and scalars, making arrays, views and scalars."""

import gc
import sys

import numpy as np
import pytest

from pycompile import _C

TYPES = "?bhilBHILefdFD"


def names(flags):
    bits = {1: "C", 2: "F", 4: "W", 8: "A", 16: "O"}
    return "".join(name for bit, name in bits.items() if flags & bit)


@pytest.mark.parametrize("char", TYPES)
def test_dtypes_are_taken(char):
    dtype, rank, _ = _C.test_array_read(np.zeros((2, 3), char))
    assert (dtype, rank) == (TYPES.index(char), 2)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (np.zeros(3, ">f8"), "foreign byte order"),
        (np.zeros(3, "q"), "unsupported dtype"),
        (np.zeros(3, "g"), "unsupported dtype"),
        (np.zeros(3, "O"), "unsupported dtype"),
        (np.zeros(3, "M8[s]"), "unsupported dtype"),
        (np.zeros(3, [("a", "i4")]), "unsupported dtype"),
        (np.zeros(3, np.dtype("f8", metadata={"a": 1})), "dtype with metadata"),
        (np.zeros((1,) * 9), "too many axes"),
        (np.ma.zeros(3), "subclass of ndarray"),
        (np.zeros((2, 2)).view(np.matrix), "subclass of ndarray"),
        ([1, 2], "not an array"),
        (np.float64(1), "not an array"),
    ],
)
def test_what_is_not_taken(value, why):
    assert _C.test_array_read(value) == why


def test_unpickled_arrays_are_taken():
    import pickle

    a = pickle.loads(pickle.dumps(np.arange(3.0)))
    assert _C.test_array_read(a)[0] == TYPES.index("d")


def test_flags():
    a = np.zeros((3, 4))
    assert names(_C.test_array_read(a)[2]) == "CWAO"
    assert names(_C.test_array_read(a.T)[2]) == "FWA"
    assert names(_C.test_array_read(a[:, 1:])[2]) == "WA"
    a.flags.writeable = False
    assert names(_C.test_array_read(a)[2]) == "CAO"
    odd = np.zeros(17, "u1")[1:].view("f8")
    assert "A" not in names(_C.test_array_read(odd)[2])


def test_result_of_broadcast_arrays_is_not_for_writing():
    a, _ = np.broadcast_arrays(np.zeros(3), np.zeros((2, 3)))
    assert "W" not in names(_C.test_array_read(a)[2])


@pytest.mark.parametrize("char", TYPES)
def test_scalars(char):
    for value in (0, 1, 3):
        x = np.dtype(char).type(value)
        same, plain = _C.test_array_box(x)
        assert type(same) is type(x)
        assert same == x
        assert type(plain) is type(x.item())
        assert plain == x.item()


def test_extreme_scalars():
    for x in (np.int64(-(2**63)), np.uint64(2**64 - 1), np.float16(65504), np.complex64(1 - 2j)):
        same, plain = _C.test_array_box(x)
        assert same == x
        assert plain == x.item()
    assert np.isnan(_C.test_array_box(np.float32("nan"))[1])
    assert np.signbit(_C.test_array_box(np.float64(-0.0))[0])


def test_other_scalars_are_not_taken():
    for x in (np.longdouble(1), np.datetime64(1, "s"), np.str_("a"), 1.0, np.longlong(1)):
        assert _C.test_array_box(x) is None


def test_fresh_arrays_own_their_data():
    for shape in ((), (0,), (3,), (2, 3), (5, 0, 2), (300, 300)):
        a = _C.test_array_new("f8", shape)
        b = np.empty(shape)
        assert (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
        assert a.flags.owndata
        assert a.flags.writeable
        assert a.base is None


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 2), (3, 1), (1, 1), (2, 0, 3), (64, 65, 66)])
def test_axis_order_is_kept(shape):
    import itertools

    for order in itertools.permutations(range(len(shape))):
        like = np.empty([shape[i] for i in order], "f4").transpose(np.argsort(order))
        a = _C.test_array_new("f4", like.shape, like.strides)
        assert a.flags.c_contiguous == like.flags.c_contiguous
        assert a.flags.f_contiguous == like.flags.f_contiguous
        long = [i for i in range(len(shape)) if shape[i] > 1]
        if 0 not in shape:
            assert [a.strides[i] for i in long] == [like.strides[i] for i in long]


def test_order_of_strides_that_are_not_dense():
    a = _C.test_array_new("f8", (4, 5, 6), (8, 1000, 100))
    assert a.strides == (8, 4 * 6 * 8, 4 * 8)


def test_impossible_size_is_numpys_error():
    with pytest.raises(ValueError, match="too big|too large"):
        _C.test_array_new("f8", (2**40, 2**40))


def test_views_chain_as_numpy_chains_them():
    a = np.arange(24.0).reshape(4, 6).copy()
    view = _C.array_view(a, "f8", (2, 3), (48, 16), 8)
    assert np.array_equal(view, a[:2, 1::2])
    assert view.base is a
    again = _C.array_view(view, "f8", (3,), (16,), 0)
    assert again.base is a
    assert not again.flags.owndata
    assert again.flags.writeable
    a.flags.writeable = False
    assert not _C.array_view(a, "f8", (1,), (8,), 0).flags.writeable


def test_views_keep_the_owner_alive():
    a = np.ones(1000)
    before = sys.getrefcount(a)
    view = _C.array_view(a, "f8", (10,), (8,), 0)
    assert sys.getrefcount(a) == before + 1
    del view
    assert sys.getrefcount(a) == before
    view = _C.array_view(np.ones(1000), "f8", (10,), (8,), 0)
    gc.collect()
    assert view.sum() == 10


def test_references_are_balanced():
    dtype = np.dtype("f4")
    before = sys.getrefcount(dtype)
    for _ in range(100):
        _C.test_array_new("f4", (3,))
        _C.test_array_box(np.float32(1))
        _C.test_array_read(np.zeros(3, "f4"))
    assert abs(sys.getrefcount(dtype) - before) <= 2
