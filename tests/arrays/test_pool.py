"""Large fresh arrays: owned as NumPy's are, their memory reused."""

import gc
import os
import threading
import tracemalloc

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

from pycompile import _C

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _empty_pool():
    gc.collect()
    _C.pool_clear()
    yield
    _C.pool_set_limit(1 << 30)
    _C.pool_clear()


def large(mib=1):
    return _C.test_array_new("u1", (mib * MIB,))


def test_it_is_an_ordinary_array():
    a = large()
    assert get_handler_name(a) == "pycompile_pool"
    assert a.flags.owndata
    assert a.base is None
    assert a.ctypes.data % 64 == 0
    a[:] = 1
    assert a.sum() == MIB
    assert get_handler_name(a.copy()) != "pycompile_pool"


def test_small_arrays_are_numpys():
    assert get_handler_name(_C.test_array_new("u1", (1000,))) != "pycompile_pool"


def test_memory_comes_back():
    a = large()
    address = a.ctypes.data
    assert _C.pool_held() == 0
    del a
    assert _C.pool_held() >= MIB
    a = large()
    assert a.ctypes.data == address
    assert _C.pool_held() == 0


def test_live_arrays_are_apart():
    arrays = [large() for _ in range(10)]
    for i, a in enumerate(arrays):
        a[:] = i
    assert [int(a[0]) for a in arrays] == list(range(10))
    assert [int(a[-1]) for a in arrays] == list(range(10))


@pytest.mark.parametrize("size", [0, 1, 1000, MIB - 1, MIB + 1, 5 * MIB, 100 * MIB])
def test_resize(size):
    a = large()
    a[:] = np.arange(MIB) % 251
    a.resize(size, refcheck=False)
    kept = min(size, MIB)
    assert np.array_equal(a[:kept], np.arange(kept) % 251)
    assert not a[kept:].any()
    assert a.flags.owndata
    del a
    assert np.array_equal(large(2)[:0], [])


def test_limit():
    _C.pool_set_limit(4 * MIB)
    arrays = [large() for _ in range(8)]
    newest = arrays[-1].ctypes.data
    while arrays:
        arrays.pop(0)
    assert MIB <= _C.pool_held() <= 4 * MIB
    assert large().ctypes.data == newest
    held = _C.pool_held()
    del arrays
    large(16)
    assert _C.pool_held() <= held + 2 * MIB
    _C.pool_set_limit(0)
    assert _C.pool_held() == 0
    large()
    assert _C.pool_held() == 0


def test_kept_is_what_the_program_has_held_lately():
    """Forty sizes, one after the other: not one block for each is kept."""
    for mib in list(range(20, 60)) * 2:
        large(mib)
    assert _C.pool_held() <= 64 * MIB
    arrays = [large(40) for _ in range(3)]
    del arrays
    assert _C.pool_held() >= 120 * MIB  # a loop that has as many again finds them
    for _ in range(1000):
        large(20)
    assert _C.pool_held() <= 64 * MIB  # one that has one of them at a time does not need the others


def test_a_larger_block_serves():
    """Within two size classes: a third of it is unused at most."""
    address = large(100).ctypes.data
    assert large(86).ctypes.data == address
    assert large(64).ctypes.data != address


def test_rest():
    """What was neither taken nor given for a second goes back."""
    a = large(30)
    large(40)
    rests, clock = _C.pool_rests(2**64 - 1)
    assert not rests and _C.pool_held() >= 40 * MIB
    large(40)
    rests, clock = _C.pool_rests(clock)
    assert not rests and _C.pool_held() >= 40 * MIB
    assert _C.pool_rests(clock)[0] is False and _C.pool_held() == 0
    del a
    clock = _C.pool_rests(0)[1]
    assert _C.pool_rests(clock)[0] is True and _C.pool_held() == 0


def test_other_sizes_are_not_mixed_up():
    sizes = [300_000, 400_000, 500_000, 999_999, MIB, 3 * MIB]
    for size in sizes * 3:
        a = _C.test_array_new("u1", (size,))
        a[:] = 7
        assert a.nbytes == size
        del a


def test_views_and_pickles_survive():
    import pickle

    a = large()
    a[:] = 3
    view = a[5:]
    copy = pickle.loads(pickle.dumps(a))
    del a
    b = large()
    b[:] = 4
    assert set(np.unique(view)) == set(np.unique(copy)) == {3}


def test_threads():
    def work(number):
        for _ in range(200):
            a = _C.test_array_new("u4", (80_000,))
            a[:] = number
            assert (a == number).all()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_fork():
    a = large()
    a[:] = 5
    child = os.fork()
    if child == 0:
        ok = int(a[-1]) == 5
        del a
        ok = ok and large().size == MIB
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_tracemalloc_sees_it():
    tracemalloc.start()
    try:
        a = large(8)
        domain = np.lib.tracemalloc_domain
        traces = [t.size for t in tracemalloc.take_snapshot().traces if t.domain == domain]
        assert 8 * MIB in traces
        del a
        traces = [t.size for t in tracemalloc.take_snapshot().traces if t.domain == domain]
        assert 8 * MIB not in traces
    finally:
        tracemalloc.stop()
