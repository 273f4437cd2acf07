"""Gufuncs whose rows are divided among threads: the bits, layout and errors of NumPy's own calls."""

import threading
import warnings

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C, _divided

RNG = np.random.default_rng(5)
ONE_AXIS = ("fft", "ifft", "rfft", "irfft")
MANY_AXES = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
SHAPES = ((96, 200), (37, 20, 33), (1000, 17), (17, 1000), (1, 20000), (20000, 2), (3, 5, 40, 41))
# How rows are divided does not depend on the dtype.
DTYPES = ("f4", "f8", "c8", "c16", "i4", "g", ">f8")
TAKEN = [(dtype, 2) for dtype in DTYPES] + [(dtype, n) for dtype in ("f4", "c16") for n in (1, 3)]


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    _C.threads_set_count(request.param)
    yield request.param
    _C.threads_set_count(0)


def array(shape, dtype):
    made = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RNG.standard_normal(shape)
    return made.astype(dtype)


def layouts(x):
    return {
        "as made": x,
        "transposed": x.T,
        "backwards": x[::-1],
        "gaps": x[..., ::2],
        "columns first": np.asfortranarray(x),
        "broadcast": np.broadcast_to(x[:1], x.shape),
    }


def same(made, wanted):
    assert made.dtype == wanted.dtype and made.strides == wanted.strides
    if wanted.dtype.char in "gG":  # their elements have bytes that mean nothing
        assert np.array_equal(made, wanted)
    else:
        assert made.shape == wanted.shape and made.tobytes() == wanted.tobytes()


def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs), None
    except Exception as error:
        return None, (type(error), str(error))


@pytest.mark.parametrize("dtype, threads", TAKEN, indirect=["threads"])
@pytest.mark.parametrize("name", ONE_AXIS + MANY_AXES)
def test_the_same_as_numpy(name, dtype, threads):
    function = getattr(np.fft, name)
    divided = _divided.divided(function)
    assert divided is not function
    keywords = [{}, {"norm": "ortho"}]
    if name in ONE_AXIS:
        keywords += [{"axis": 0}, {"axis": 0, "n": 20}, {"n": 50, "norm": "forward"}, {"n": 0}]
    for shape in SHAPES[:: 1 if threads == 2 and dtype != "g" else 3]:
        for x in layouts(array(shape, "f8").astype(dtype)).values():
            for extra in keywords:
                wanted, error = outcome(function, x, **extra)
                made, its_error = outcome(divided, x, **extra)
                assert error == its_error
                if error is None:
                    same(made, wanted)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_rows_are_really_divided(dtype, monkeypatch):
    """The gufunc itself is called for nothing but what is not followed."""
    called = []

    class Counted(_divided._Gufunc):
        __slots__ = ()

        def __call__(self, *args, **kwargs):
            called.append(self.gufunc)
            before = args[0].copy()
            result = _C.gufunc_call(self.gufunc, args, kwargs)
            assert before.tobytes() == args[0].tobytes()
            return result

    monkeypatch.setattr(_divided, "_Gufunc", Counted)
    monkeypatch.setattr(_divided, "_twins", {})
    monkeypatch.setattr(_divided, "_divided", {})
    x = array((200, 300), dtype)
    same(_divided.divided(np.fft.fft2)(x), np.fft.fft2(x))
    assert len(called) == 2 and not isinstance(np.fft.fft2, Counted)


def test_out_of_a_function(threads):
    x, out = array((300, 100), "c16"), np.empty((300, 100), "c16")
    divided = _divided.divided(np.fft.fft)
    assert divided(x, out=out) is out
    same(out, np.fft.fft(x))
    assert divided(x, out=x) is x  # in place
    same(x, out)
    shifted = array(30200, "c16")
    mine, theirs = shifted.copy(), shifted.copy()  # overlapping by a row
    divided(mine[:-100].reshape(-1, 100), out=mine[100:].reshape(-1, 100))
    np.fft.fft(theirs[:-100].reshape(-1, 100), out=theirs[100:].reshape(-1, 100))
    same(mine, theirs)
    locked = np.empty((300, 100), "c16")
    locked.flags.writeable = False
    assert outcome(divided, x, out=locked) == outcome(np.fft.fft, x, out=locked)


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
def test_floating_point_errors(mode, threads):
    x = np.full((300, 100), 1e308)
    divided = _divided.divided(np.fft.fft)
    seen = []
    for function in (np.fft.fft, divided):
        with np.errstate(all=mode), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result, error = outcome(function, x)
        bits = None if result is None else result.tobytes()
        seen.append((bits, error, [str(w.message) for w in told]))
    assert seen[0] == seen[1]
    assert mode == "ignore" or seen[0][1] or seen[0][2]


def spectral(u, k):
    for _ in range(2):
        v = np.fft.fft2(u) * np.exp(-0.01 * k)
        u = np.fft.ifft2(v).real
        u = u + 0.01 * np.sin(u)
    return u


def along(x):
    y = np.fft.rfft(x * 2.0, axis=0)
    return np.fft.irfft(y * 0.5, n=x.shape[0], axis=0), np.abs(np.fft.fftn(x)) + 1.0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_in_plans(dtype):
    u, k = array((300, 200), dtype), RNG.uniform(0, 4, (300, 200)).astype(dtype)
    check(spectral, u, k)
    check(along, u)
    check(along, u.T)


def test_a_plan_tells_of_errors_as_numpy_does():
    def function(x):
        return np.fft.fft(x * 1.0) + 1.0

    x = np.full((300, 200), 1e308)
    compiled = pycompile.compile(function)
    for _ in range(2):
        with np.errstate(over="raise", invalid="raise"):
            assert outcome(compiled, x) == outcome(function, x)


def test_numpy_is_left_as_it_was():
    from numpy.fft import _pocketfft

    _divided.divided(np.fft.fft)
    assert isinstance(_pocketfft.pfu.fft, np.ufunc)
    assert np.fft.fft._implementation.__globals__ is vars(_pocketfft)


def test_steps_that_are_not_divided_are_themselves():
    assert _divided.divided_step(np.sort) is np.sort
    assert _divided.divided_step([]) == []
    with pytest.raises(TypeError, match="no ufunc"):
        _C.gufunc_call(len, (), {})


def test_states_of_threads_are_counted():
    first, second = _C._thread_states_made(), _C._thread_states_made()
    assert second == first + 1
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert _C._thread_states_made() > second + 1
