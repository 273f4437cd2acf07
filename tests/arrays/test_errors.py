"""errstate as plans see it, and the hardware's flags."""

import contextvars
import threading

import numpy as np
import pytest

from pycompile import _C

DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8


def test_mask():
    assert _C.test_error_mask() == DIVIDE | OVERFLOW | INVALID
    with np.errstate(all="ignore"):
        assert _C.test_error_mask() == 0
        with np.errstate(under="call", divide="log"):
            assert _C.test_error_mask() == UNDERFLOW | DIVIDE
        assert _C.test_error_mask() == 0
    assert _C.test_error_mask() == DIVIDE | OVERFLOW | INVALID


def test_mask_follows_many_states():
    for mode in ("ignore", "warn", "raise", "call", "print", "log") * 3:
        with np.errstate(all=mode):
            assert _C.test_error_mask() == (0 if mode == "ignore" else 15)
            with np.errstate(invalid="ignore"):
                assert _C.test_error_mask() == (0 if mode == "ignore" else 7)


def test_mask_is_per_context():
    seen = []
    with np.errstate(all="ignore"):
        thread = threading.Thread(target=lambda: seen.append(_C.test_error_mask()))
        thread.start()
        thread.join()
        seen.append(contextvars.copy_context().run(_C.test_error_mask))
    assert seen == [11, 0]


def test_raising():
    before = np.geterr()
    state = _C.test_errors_raise(np.geterr)
    assert state == {"divide": "raise", "over": "raise", "under": "ignore", "invalid": "raise"}
    assert np.geterr() == before
    with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        _C.test_errors_raise(lambda: np.ones(2) / 0)
    assert np.geterr() == before


def test_raising_keeps_what_is_ignored():
    with np.errstate(all="ignore", over="print"):
        assert _C.test_errors_raise(np.geterr) == {
            "divide": "ignore", "over": "raise", "under": "ignore", "invalid": "ignore",
        }  # fmt: skip
        assert np.isinf(_C.test_errors_raise(lambda: np.ones(1) / 0))


def test_raising_keeps_call_and_buffer_size():
    def call(*_):
        raise AssertionError

    with np.errstate(call=call):
        assert _C.test_errors_raise(np.geterrcall) is call
    assert _C.test_errors_raise(np.getbufsize) == np.getbufsize()


def test_hardware_flags():
    assert _C.test_fp_flags(1, 2) == (0, 0)
    assert _C.test_fp_flags(1, 0) == (DIVIDE, 0)
    assert _C.test_fp_flags(0, 0) == (INVALID, 0)
    assert _C.test_fp_flags(1e300, 1e-300) == (OVERFLOW, 0)
    assert _C.test_fp_flags(1e-300, 1e300) == (UNDERFLOW, 0)
