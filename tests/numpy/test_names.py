"""np.r_ and its kin, machine limits, iterators over indices, attributes and methods of scalars."""

import numpy as np
import pytest
from differential import check
from numpy_cases import array, function

import pycompile

DTYPES = "? b B h i l L e f d F D".split()

JOINED = [
    ("np.r_[x[0], y[0]]", "np.r_[x, y]", "np.r_[x[0], 0, 1, y[0]]", "np.r_[x[0], 2.5]"),
    ("np.c_[x[0], y[0]]", "np.c_[x, y]", "np.c_[x[0]]", "np.c_[x[0], [1, 2, 3, 4]]"),
    (
        "np.r_['0,2', x[0], y[0]]",
        "np.r_['0,2,0', x[0], y[0]]",
        "np.r_['1', x, y]",
        "np.r_['-1,3', x]",
    ),
    ("np.r_[0:5, x[0]]", "np.r_[-1:1:6j, x[0]]", "np.r_[x[0, 0], x[0, 1]]", "np.r_[x[::-1, ::2]]"),
    (
        "z = np.r_[x[0], y[0]]",
        "z.flags.owndata, z.base is None",
        "z[1:] + 1",
        "z is np.r_[x[0], y[0]]",
    ),
]
GRIDS = [
    (
        "np.mgrid[0:3, 0:2] + x[0, 0]",
        "np.mgrid[0:3]",
        "np.mgrid[-1:1:5j]",
        "np.mgrid[0:1:3j, 0:4:2]",
    ),
    (
        "a, b = np.ogrid[0:3, 0:4]",
        "a * x.sum(1, keepdims=True) + b",
        "a.strides, b.strides",
        "a.base is None",
    ),
    (
        "np.ogrid[0:3]",
        "np.ogrid[0:1:4j]",
        "np.mgrid[1.5:4:0.5, 0:2]",
        "np.mgrid[0:len(x), 0:x.shape[1]]",
    ),
    ("np.mgrid[0:3, 0:2] is np.mgrid[0:3, 0:2]", "i, j = np.mgrid[0:3, 0:4]", "x[i, j] + y"),
    (
        "np.s_[1:3]",
        "np.s_[..., ::2]",
        "np.index_exp[1:3]",
        "np.index_exp[0, 1:]",
        "x[np.s_[1:, ::2]] + 1",
    ),
]
LIMITS = [
    ("np.finfo('f2').eps * x", "np.finfo('f4').max", "np.finfo(np.float16).tiny + x"),
    (
        "i = np.iinfo(np.int16)",
        "i.min, i.max, i.bits, i.dtype, i.kind",
        "x * 2",
        "i is np.iinfo(np.int16)",
    ),
    (
        "np.finfo(np.complex64) is np.finfo(np.float32)",
        "isinstance(np.iinfo('u1'), np.iinfo)",
        "x + 1",
    ),
    (
        "f = np.finfo(float)",
        "f.bits, f.dtype, f.resolution, f.epsneg, f.precision",
        "x + f.smallest_subnormal",
    ),
    (
        "f = np.finfo(np.float32)",
        "f.nmant, f.nexp, f.iexp, f.machep, f.negep, f.min, f.smallest_normal",
        "x + 1",
    ),
    ("np.iinfo(np.uint64).max, np.iinfo(np.int64).min, np.iinfo(3).max", "x + 1"),
    ("np.issubdtype(x.dtype, np.floating), np.issubdtype(x.dtype, np.integer)", "x + 1"),
    (
        "np.issubdtype('f4', np.number), np.issubdtype(int, np.signedinteger), np.issubdtype(x.dtype, y.dtype)",
        "x + 1",
    ),
    ("x * (2 if np.issubdtype(x.dtype, np.inexact) else 3)",),
    ("hasattr(np.finfo(float), 'nothing'), hasattr(np.iinfo(int), 'bits')", "x + 1"),
]
WALKS = [
    ("[i for i in np.ndindex(2, 2)], list(np.ndindex((2, 1, 2)))", "x + 1"),
    (
        "[x[i] + 1 for i in np.ndindex(x.shape)]",
        "list(np.ndindex()), list(np.ndindex(0, 3)), list(np.ndindex(3))",
    ),
    ("[(i, v * 2) for i, v in np.ndenumerate(x[:2, :2])]", "list(np.ndenumerate(x[:0]))", "x + 1"),
    ("sum(v for _, v in np.ndenumerate(x))", "dict(np.ndenumerate(x[1, ::-1]))"),
    ("list(np.ndenumerate(3)), list(np.ndenumerate([1, 2]))", "x * 2"),
    ("np.fromiter((v * 2 for v in [1, 2, 3]), float)", "np.fromiter(range(5), x.dtype)", "x + 1"),
    ("np.fromiter(x[0], x.dtype)", "np.fromiter((v for v in x[0]), 'D')"),
    (
        "np.fromfunction(lambda i, j: i + j, (3, 4)) + x",
        "np.fromfunction(lambda i: i * 2, (3,), dtype=int)",
    ),
    (
        "np.fromfunction(lambda i, j: i == j, (3, 3))",
        "np.fromfunction(lambda i, j, k=1: i * k, (2, 2), k=3)",
        "x + 1",
    ),
    ("np.fromfunction(lambda i, j: 5, (2, 2))", "x + 1"),
]
LAYOUTS = [
    (
        "np.asfortranarray(x)",
        "np.asfortranarray(x.T) is x.T",
        "np.asfortranarray(x[0]) + 1",
        "np.asfortranarray(x, 'D')",
    ),
    (
        "z = x.T.copy('F')",
        "np.asfortranarray(z) is z",
        "np.asfortranarray(x[::2, ::-1])",
        "np.asfortranarray([[1, 2], [3, 4]])",
    ),
    (
        "np.asfortranarray(x[0, 0])",
        "np.asfortranarray(3.5)",
        "np.asfortranarray(x[:0])",
        "np.asfortranarray(x, 'D').flags.f_contiguous",
    ),
    ("x.device, x[0].device, (x + 1).device", "x[0, 0].base is None", "x * 2"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lines", JOINED + GRIDS + LAYOUTS, ids=lambda lines: lines[0])
def test_results(lines, dtype):
    check(function(*lines), array(dtype), array(dtype, seed=1), calls=2)


@pytest.mark.parametrize("dtype", "i4 f8".split())
@pytest.mark.parametrize("lines", LIMITS + WALKS, ids=lambda lines: lines[0])
def test_numbers(lines, dtype):
    check(function(*lines), array(dtype), array(dtype, seed=1), calls=2, whole=True)


REFUSED = [
    "np.fromiter([], 'f4')",
    "np.finfo(x.dtype).eps",
    "np.r_[x, y[0]]",
    "np.r_['a', x]",
    "np.r_['x', 'y']",
    "np.r_['r', x[0]]",
    "np.r_['x[0], y[0]']",
    "np.c_['c', x[0]]",
    "np.r_[x, '1']",
    "np.mgrid[0:3, 1]",
    "np.ogrid['a']",
    "np.mgrid[0:2**62, 0:2**62]",
    "np.iinfo(float)",
    "np.iinfo(x.dtype)",
    "np.finfo(int)",
    "np.finfo(None)",
    "np.finfo('nothing')",
    "np.finfo(float).nothing",
    "np.iinfo(int).nothing",
    "np.issubdtype(x, float)",
    "np.issubdtype('nothing', float)",
    "np.ndindex(-1)",
    "list(np.ndindex(2.5))",
    "np.fromiter([1, 2], float, 3)",
    "np.fromiter([1, 2], float, count=1)",
    "np.fromiter([[1, 2], [3, 4]], float)",
    "np.fromiter([300, 1], 'u1')",
    "np.fromiter(x, float)",
    "np.fromiter([1.5, 2], int)",
    "np.fromiter([np.int64(300), np.float64(2.5)], 'u1')",
    "np.fromiter([1j], float)",
    "np.fromiter(['a'], 'U1')",
    "np.fromfunction(lambda i, j: i / j, (2, 2))",
    "np.fromfunction(lambda i: i, 3)",
    "np.fromfunction(len, (2, 2))",
    "np.asfortranarray('a')",
    "np.asfortranarray([[1], [2, 3]])",
    "x.hex()",
    "x.is_integer()",
    "hasattr(x, 'hex'), hasattr(x, 'bit_count'), hasattr(x[0, 0], 'hex'), hasattr(x[0, 0], 'bit_count')",
    "type(np.ndindex(2)), type(np.ndenumerate(x))",
    "np.ndindex(2)",
    "np.ndenumerate(x)",
    "next(iter(np.ndenumerate(x[:0])))",
    "np.vectorize(lambda v: v * 2)(x)",
    "np.vectorize(lambda v, w: v + w, otypes='d')(x, y[0])",
    "np.frompyfunc(lambda v: v + 1, 1, 1)(x)",
    "np.from_dlpack(x)",
]


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("line", REFUSED)
def test_what_numpy_refuses_or_does_itself(line, dtype):
    x, y = array(dtype), array(dtype, seed=1)
    check(function("y + 1", line), x, y, captured=False)
    names = {"np": np}
    text = f"def case(x, y):\n try: r = {line}\n except Exception as e: r = type(e), str(e)\n return r, y + 1"
    exec(compile(text, "<case>", "exec"), names)
    check(names["case"], x, y, captured=False)


SCALARS = [
    "e.as_integer_ratio()",
    "e.is_integer()",
    "e.hex()",
    "e.base",
    "e.device",
    "e.bit_count()",
    "e.is_integer() + 1",
    "e.bit_count() * 2",
    "e.hex().upper()",
    "e.as_integer_ratio()[0]",
]


@pytest.mark.parametrize("dtype", "? b Q i e f d D".split())
@pytest.mark.parametrize("line", SCALARS)
def test_scalars(line, dtype):
    kind = np.dtype(dtype).kind
    values = {"f": [0.5, -3.0, 0.1, 6e4, np.inf, np.nan, -0.0, 1e300], "b": [True, False]}.get(
        kind, [3, 0, 100]
    )
    with np.errstate(over="ignore"):
        numbers = np.array(values, dtype)
    for number in numbers:
        x = np.full((2, 2), number)
        check(function("e = x[0, 0]", line, "x + y"), x, x, captured=False)
        check(function(f"x.dtype.type({values[0]}).{line[2:]}", "x + y"), x, x, captured=False)


def test_a_base():
    owner = array("f8")
    check(
        function("x.base is None, x[1:].base is x, x.T.base is x, x[1:][::2].base is x", "x + 1"),
        owner,
        owner,
    )
    check(function("x.base", "x + 1"), owner[1:], owner, captured=False)
    check(
        function("x.base is y, x[1:].base is y, x.base is None", "x + 1"),
        owner[1:],
        owner,
        captured=False,
    )
    check(
        function("(x + y).base, x.copy().base, np.zeros(3).base", "x.sum(0).base"),
        owner,
        owner[::-1],
    )
    check(
        function("z = x + y", "z[1:].base is z, z.T.base is z, z.base is None"),
        owner,
        owner,
        captured=False,
    )
    check(
        function("x.base is None", "x + 1"),
        owner,
        owner,
        also=((owner[::2], owner[::2]),),
        captured=False,
    )
    held = np.frombuffer(bytearray(96)).reshape(3, 4)
    check(
        function("x.base is None, x[1:].base is x", "x + 1"),
        owner,
        owner,
        also=((held, held),),
        captured=False,
    )
    lines = ("z = np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))", "z.base is x", "z + 1")
    check(function(*lines), owner, owner, captured=False)


def test_a_base_that_is_another_array_now():
    def case(x):
        return x * 2, x.base is None

    compiled = pycompile.compile(case)
    owner = array("f8")
    for x in (owner, owner[:], owner, np.ndarray((3, 4), "f8", bytes(96))):
        assert compiled(x)[1] is case(x)[1]


def test_limits_of_a_number_and_of_a_dtype_that_is_told():
    def limits(x, dtype):
        return x + np.finfo(dtype).eps, np.finfo(dtype).dtype

    check(
        limits, array("f4"), np.float32, also=((array("f4"), np.dtype("f8")), (array("f8"), "f4"))
    )

    def whole(x, number):
        return x + 1, np.iinfo(number).max, np.iinfo(number).dtype

    check(whole, array("f4"), np.uint8(3), also=((array("f4"), np.int16(3)), (array("f4"), 7)))


def test_each_iinfo_is_an_object_of_its_own():
    def case(x):
        return np.iinfo("i4"), x * 2

    compiled = pycompile.compile(case)
    first, second = compiled(array("f8"))[0], compiled(array("f8"))[0]
    first.bits = 3
    assert first is not second and (second.bits, second.max) == (32, 2**31 - 1)
    assert compiled.stats()["plan_runs"] > 0


def test_finfo_may_be_changed_behind_a_plan():
    def case(x):
        return x + np.finfo("f4").eps

    check(case, array("f4"))
    compiled = pycompile.compile(case)
    x, info = array("f4"), np.finfo("f4")
    compiled(x), compiled(x)
    kept = info.eps
    try:
        info.eps = np.float32(0.5)
        assert (compiled(x) == x + np.float32(0.5)).all()
    finally:
        info.eps = kept


def test_slices_that_the_run_tells():
    def case(x):
        n = int(x[0, 0])
        return np.r_[0:n], np.mgrid[0:n, 0:2].sum(), x * 2, np.r_[0 : float(x[0, 1]) : 2]

    check(case, array("f8"), also=((array("f8", seed=1) + 2,), (array("f8", seed=2) + 5,)))


def test_a_grid_that_is_an_argument():
    def case(x, joiner):
        return joiner[x[0], x[1]] + 1

    class Twice:
        def __getitem__(self, key):
            return key[0] * 2

    x = array("f8")
    compiled = pycompile.compile(case)
    for joiner in (np.r_, np.c_, Twice(), np.r_, np.s_):
        if joiner is np.s_:
            with pytest.raises(TypeError):
                case(x, joiner)
            continue
        assert (compiled(x, joiner) == case(x, joiner)).all()


def test_a_regular_matrix_for_the_trial():
    check(function("np.linalg.tensorinv(x.reshape(6, 2, 3), 1)"), array("f8", (6, 6)), array("f8"))
    check(function("np.linalg.tensorinv(x, 2)"), array("f4", (2, 3, 3, 2)), array("f8"))
    singular = np.ones((4, 4))
    check(
        function("np.linalg.tensorinv(x.reshape(4, 2, 2), 1)"), singular, singular, captured=False
    )
