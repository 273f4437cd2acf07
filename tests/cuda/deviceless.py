"""CuPy arrays without a device: their memory is NumPy's, and the driver made for the tests (executor.cpp)
executes kernels on the CPU.  CuPy itself makes views and needs no kernel for them, so these are compared
with CuPy's own; what kernels compute is compared with NumPy's.  Products stay calls, which tests replace:
products_on_executor.py has those by cuBLASLt, which is one that was made for the tests, too."""

import ctypes
import os

FOLDER = os.getcwd()
for name in ("libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13"):
    CUBLASLT = ctypes.CDLL(os.path.join(FOLDER, name), mode=ctypes.RTLD_GLOBAL)


def product_number(name):
    """One of the numbers of the cuBLASLt, to be read or set."""
    return ctypes.c_int.in_dll(CUBLASLT, "products_" + name)


product_number("refused").value = 1

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402
from cupy.cuda import memory  # noqa: E402

import pycompile  # noqa: E402
from pycompile import _C  # noqa: E402


def pointer(owner, address, size):
    return memory.MemoryPointer(memory.UnownedMemory(address, size, owner, 0), 0)


def allocate(size):
    owner = np.full(size + 64, 0xAB, "u1")
    address = owner.ctypes.data + -owner.ctypes.data % 64
    return pointer(owner, address, size)


def device(array):
    """A CuPy array over the memory of NumPy's."""
    base = array if array.base is None else array.base
    low = base.ctypes.data
    made = pointer(base, low, base.nbytes) + (array.ctypes.data - low)
    return cp.ndarray(array.shape, array.dtype, made, strides=array.strides)


cp.cuda.set_allocator(allocate)
assert _C.test_cupy_without_device(device(np.ones(1)))
_C.test_cuda_graphs(1)  # the executor's times say nothing of a device's


def host(array):
    """A copy of what a CuPy array holds."""
    assert type(array) is cp.ndarray
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    data = (ctypes.c_ubyte * (high - low + array.itemsize)).from_address(array.data.ptr + low)
    whole = np.ndarray(array.shape, array.dtype, data, -low, array.strides)
    return whole.copy()


def values(shape, dtype="f4", seed=1):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -50, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def header(array):
    """What a program sees of an array besides its elements and its place."""
    flags = array.flags
    return (
        array.dtype,
        array.shape,
        array.strides,
        array.size,
        flags.c_contiguous,
        flags.f_contiguous,
        flags.owndata,
        array._index_32_bits,
    )


def once(function):
    """In one plan, for each of many layouts."""
    return pycompile.compile(function, fullgraph=True, options={"recompile_limit": 1000})


def check(function, *args, exact=True):
    """`function(xp, ...)` compiled on device arrays and plain on NumPy's."""
    given = [device(a) if isinstance(a, np.ndarray) else a for a in args]
    compiled = once(lambda *args: function(cp, *args))
    compiled(*given)
    made, wanted = compiled(*given), function(np, *args)
    made, wanted = (made, wanted) if isinstance(made, tuple) else ((made,), (wanted,))
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted, strict=True):
        b = np.asarray(b)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert header(a) == header(cp.ndarray(b.shape, b.dtype))  # CuPy's results are in C order
        if exact or b.dtype.kind in "biu":
            np.testing.assert_array_equal(host(a), b)
        else:
            epsilon = np.finfo(b.dtype).eps
            np.testing.assert_allclose(
                host(a), b, rtol=64 * epsilon, atol=64 * epsilon * (1 + np.abs(b).max())
            )


def breaks(function, *args):
    """Of the first capture: CuPy itself cannot run what follows a break, without a device."""
    with pytest.raises(pycompile.GraphBreakError) as caught:
        pycompile.compile(function, fullgraph=True)(*args)
    return str(caught.value)
