"""What a ufunc would compute in, and its own loop."""

import numpy as np
import pytest

from pycompile import _C

F4, F8, I4, I8, U1, B = (np.dtype(c) for c in ("f4", "f8", "i4", "i8", "u1", "?"))


@pytest.mark.parametrize(
    ("ufunc", "operands", "result"),
    [
        (np.add, (F4, F4), (F4, F4, F4)),
        (np.add, (F4, float), (F4, F4, F4)),
        (np.add, (F4, I4), (F8, F8, F8)),
        (np.add, (U1, int), (U1, U1, U1)),
        (np.add, (int, int), (I8, I8, I8)),
        (np.add, (int, float), (F8, F8, F8)),
        (np.add, (B, bool), (B, B, B)),
        (np.true_divide, (I4, I4), (F8, F8, F8)),
        (np.less, (F4, float), (F4, F4, B)),
        (np.exp, (I4,), (F8, F8)),
        (np.sqrt, (complex,), (np.dtype("c16"),) * 2),
        (np.divmod, (I4, int), (I4,) * 4),
        (np.subtract, (B, B), None),
        (np.bitwise_and, (F4, F4), None),
        (np.add, (np.dtype("g"), F4), None),
    ],
)
def test_resolution(ufunc, operands, result):
    if any(isinstance(o, np.dtype) and o.char == "g" for o in operands):
        with pytest.raises(TypeError):
            _C.test_ufunc_resolve(ufunc, operands)
    else:
        assert _C.test_ufunc_resolve(ufunc, operands) == result


def test_resolution_agrees_with_calls():
    values = {
        F4: np.ones(2, F4),
        I4: np.ones(2, I4),
        U1: np.ones(2, U1),
        B: np.ones(2, B),
        int: 1,
        float: 1.0,
    }
    for ufunc in (np.add, np.multiply, np.power, np.arctan2, np.maximum, np.hypot, np.less_equal):
        for a in values:
            for b in values:
                resolved = _C.test_ufunc_resolve(ufunc, (a, b))
                if resolved is None:
                    with pytest.raises(TypeError):
                        ufunc(values[a], values[b])
                else:
                    assert np.asarray(ufunc(values[a], values[b])).dtype == resolved[-1]


@pytest.mark.parametrize("ufunc", [np.exp, np.tanh, np.log1p, np.cbrt, np.sin])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_own_loop_has_the_same_bits(ufunc, dtype):
    x = np.linspace(0.1, 3, 1001).astype(dtype)
    y = np.empty_like(x)
    assert _C.test_ufunc_loop(ufunc, x, y)[0] == 0
    assert y.tobytes() == ufunc(x).tobytes()
    z = np.empty(2002, dtype)[::2]
    assert _C.test_ufunc_loop(ufunc, x[::-1], z)[0] == 0
    assert z.tobytes() == ufunc(x[::-1]).tobytes()


def test_scipy_loop():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(-2, 2, 101)
    y = np.empty_like(x)
    assert _C.test_ufunc_loop(special.erf, x, y)[0] == 0
    assert y.tobytes() == special.erf(x).tobytes()


def test_no_such_loop():
    x = np.ones(3, "i4")
    assert _C.test_ufunc_loop(np.exp, x, np.empty(3, "f4")) is None  # exp(int32) is float64
    assert _C.test_ufunc_loop(np.add, x, x) is None
    assert _C.test_ufunc_loop(np.matmul, x, x) is None
