"""The largest and smallest of negated integers: assemblers before CUDA 13.4 forget the minus of an operand of the
larger of three (csrc/runtime/cuda_ptx.c).  NumPy tells what is right."""

import numpy as np
import pytest

import pycompile

cp = pytest.importorskip("cupy")

try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no CUDA device", allow_module_level=True)

FORMS = {
    "second": lambda xp, a, b, c: xp.maximum(xp.maximum(a, -b), c),
    "all": lambda xp, a, b, c: xp.minimum(xp.minimum(-a, -b), -c),
    "mixed": lambda xp, a, b, c: xp.maximum(xp.minimum(xp.minimum(a, -b), c), -c),
    "from zero": lambda xp, a, b, c: xp.maximum(xp.maximum(a, 0 - b), c * -1),
    "inverted": lambda xp, a, b, c: xp.minimum(xp.minimum(a, ~b + 1), c),
    "what is left": lambda xp, a, b, c: xp.maximum(xp.maximum(a, a - (a + b)), c),
    "chosen": lambda xp, a, b, c: xp.where(xp.where(a > -b, a, -b) > c, xp.where(a > -b, a, -b), c),
    "reduced": lambda xp, a, b, c: (-a).max() + (0 - b).min(),
    "rows": lambda xp, a, b, c: (
        (-a.reshape(2, -1)).max(axis=0) - (b * -1).reshape(2, -1).min(axis=1)[0]
    ),
    "halved": lambda xp, a, b, c: (-a.astype("i8")).astype(a.dtype).max() + c,
    "in turn": lambda xp, a, b, c: (-a.cumsum()).astype("i4").max() + (-a.cumsum()).astype("i4"),
}


@pytest.mark.parametrize("dtype", ["i4", "i2", "i1", "i8"])
@pytest.mark.parametrize("form", FORMS)
def test_a_minus_is_not_forgotten(form, dtype):
    function = FORMS[form]
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-50, 50, 98).astype(dtype) for _ in range(3)]
    compiled = pycompile.compile(lambda *args: function(cp, *args), options={"plan_always": True})
    for _ in range(2):
        made = compiled(*map(cp.asarray, arrays))
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(np, *arrays))
    assert made.dtype == wanted.dtype
    np.testing.assert_array_equal(made.get(), wanted)
