"""What a call of a library must not do: wrong lines, growth, hangs, silent conversions, names that clash."""

import ctypes
import math
import os
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import Array, Dim, _export_functions

sys.path.insert(0, str(Path(__file__).parent))

from test_export import loaded, reasons_of, same  # noqa: E402

N = ("n",)


def later(x, y, turns):
    for _ in range(turns):
        x = x * 0.5 + 1
    return x / y


later.asked = "an attribute of the program's"


def kept(x, turns):
    for _ in range(turns):
        y = x * 0.5
        s = 0.0
        for i in range(300):
            s = 0.5 * s + y[i]
        x = y + s
    return x


def divided(x, y):
    x /= y


def selected_twice(x):
    y = x[:, 1]
    z = y[y > 0.5]
    return z, z


def constants(x):
    return x + 1, 1e999, -0.0, b"a", None, (1, "n")


def doubled(x):
    return x[::-1].copy()


def filled(x, n):
    return np.full(n, x)


def beside(x, k):
    return np.full(k, x[0]) + k, x[:k] + 1, x[k:] * 2


def squared(x, k):
    return x * (0.5 * k * k)


def grown(x, k):
    out = np.empty(len(x))
    for i in range(len(x)):
        k = k * 3.0
        out[i] = k
    return out


def powered(x, k):
    return x * k**2.0 + k**-3.0 + 1.5**k


def chosen(x, k):
    if k > 0:
        x = x * math.exp(-k)
    return x + k, x * (k if k < 2 else 1.5)


def rows_above(x):
    return x[x.sum(axis=1) > 1]


FUNCTIONS = {
    "squared": (squared, (Array(N), float)),
    "grown": (grown, (Array(N), float)),
    "powered": (powered, (Array(N), float)),
    "chosen": (chosen, (Array(N), float)),
    "rows_above": (rows_above, (Array(("n", "m")),)),
    "filled": (filled, (float, int)),
    "beside": (beside, (Array(N), int)),
    "later": (later, (Array((4,)), Array((4,)), int)),
    "kept": (kept, (Array((300,)), int)),
    "divided": (divided, (Array((8,)), Array((8,)))),
    "selected_twice": (selected_twice, (Array(("n", 3)),)),
    "constants": (constants, (Array(N),)),
    "doubled": (doubled, (Array((3,), np.complex64),)),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))
        folder = tmp_path_factory.mktemp("a folder")
        return pycompile.export(doubled, str(folder / "commit"), (Array(N),), functions=FUNCTIONS)


@pytest.fixture(scope="module")
def library(path):
    return loaded(path)


def test_a_warning_names_its_line(library):
    x, y = np.ones(4), np.array([1.0, 0, 1, 1])
    at = later.__code__.co_firstlineno + 3
    with pytest.warns(RuntimeWarning, match=rf"divide by zero encountered in divide \(.*:{at}\)"):
        library.later(x, y, 3)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        library.divided(np.ones(8), np.arange(8.0))


def most_held(here, call):
    """The most bytes that the library had at once."""
    c = ctypes.CDLL(None)
    c.aligned_alloc.restype = ctypes.c_void_p
    held, most = {}, 0

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def take(size, context):
        nonlocal most
        block = c.aligned_alloc(ctypes.c_size_t(64), ctypes.c_size_t(size))
        held[block] = size
        most = max(most, sum(held.values()))
        return block

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def give(block, context):
        del held[block]
        c.free(ctypes.c_void_p(block))

    here.commit_set_allocator(take, give, None)
    try:
        call()
    finally:
        here.commit_set_allocator(None, None, None)
    assert not held
    return most


def test_memory_does_not_grow_with_turns(path, library):
    here = ctypes.CDLL(str(path))
    x = np.random.default_rng(1).random(300)
    found, wanted = [], []
    for turns in (4, 60):
        found.append(most_held(here, lambda turns=turns: wanted.append(library.kept(x, turns))))
        assert same(wanted[-1], kept(x, turns))
    assert found[0] == found[1]


FORKED = """
import ctypes, os, signal, sys
sys.path.insert(0, sys.argv[1])
import commit, numpy as np
x = np.random.default_rng(0).random(200_001)
here = ctypes.CDLL(sys.argv[1] + "/libcommit.so")
here.commit_set_threads(4)
for _ in range(20):
    wanted = commit.commit(x).tobytes()
for _ in range(4):
    child = os.fork()
    signal.alarm(20)
    if child == 0:
        assert commit.commit(x).tobytes() == wanted
        here.commit_set_threads(3)
        assert commit.commit(x).tobytes() == wanted
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert commit.commit(x).tobytes() == wanted
"""


def test_a_forked_process_has_threads_of_its_own(path):
    ran = subprocess.run(
        [sys.executable, "-c", FORKED, str(path.parent)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_the_wrapper_converts_nothing(library):
    x, y = np.ones(4), np.ones(4)
    closed = np.ones(8)
    closed.flags.writeable = False
    with pytest.raises(ValueError, match="byte order"):
        library.later(np.ones(4, ">f8"), y, 1)
    with pytest.raises(ValueError, match="read-only"):
        library.divided(closed, closed)
    for args in (([1.0] * 4, y, 1), (x, y, 2.7), (x, y, 2.0), (x, y, "1")):
        with pytest.raises(TypeError):
            library.later(*args)
    assert same(library.later(x, y, np.int8(2)), later(x, y, 2))
    half = np.zeros(8, np.float32)[1:7].view(np.complex64)  # as NumPy aligns it
    assert same(library.doubled(half), half[::-1])


def test_constants_come_back_as_they_are(library):
    def odd(x):
        return x + 1, ...

    found = library.constants(np.ones(3))
    assert same(found, constants(np.ones(3))) and math.copysign(1, found[2]) == -1
    assert any("Ellipsis" in text for _, text in reasons_of(odd, Array(N)))


def test_what_a_mask_selects_may_be_returned_twice(library):
    def summed(x):
        return x[x > 0.5].sum()

    assert any("has to be returned" in text for _, text in reasons_of(summed, Array(N)))
    x = np.random.default_rng(3).random((50, 3))
    assert same(library.selected_twice(x), selected_twice(x))


def test_an_int_may_be_a_length(library):
    for n in (1, 5, 1000):
        x = np.arange(n) + 0.5
        assert same(library.filled(2.5, n), filled(2.5, n))
        for k in (0, n - 1, n, n + 3):
            assert same(library.beside(x, k), beside(x, k))
    for k in (-1, 1 << 61):
        with pytest.raises((ValueError, MemoryError)):
            library.beside(np.ones(4), k)
    for n in (-1, 1 << 61, (1 << 63) - 1):
        with pytest.raises((ValueError, MemoryError)):
            library.filled(2.5, n)


@pytest.mark.parametrize("function", [squared, grown], ids=lambda function: function.__name__)
def test_pythons_floats_overflow_without_a_warning(library, function):
    x = np.ones(20)
    for k in (2.0, 1e200, 1e300, math.inf):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert same(getattr(library, function.__name__)(x, k), function(x, k))
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply \\("):
        library.squared(x * 1e300, 1e5)


def test_powers_of_what_is_not_finite(library):
    compiled = pycompile.compile(powered)
    for k in (2.0, -0.5, math.inf, -math.inf, math.nan, -math.nan):
        wanted = powered(np.ones(3), k)
        assert same(library.powered(np.ones(3), k), wanted), k
        assert same(compiled(np.ones(3), k), wanted), k
    assert compiled.stats()["deopts"] == 0
    for k in (0.0, 1e200):
        with pytest.raises(RuntimeError, match="what the program raises here"):
            library.powered(np.ones(3), k)
        with pytest.raises((ZeroDivisionError, OverflowError)):
            compiled(np.ones(3), k)


def test_a_float_may_decide(library):
    x = np.arange(9) - 3.5
    for k in (0.5, 2.0, 700.0, 0.0, -0.0, -1.0, math.inf, math.nan):
        assert same(library.chosen(x, k), chosen(x, k)), k


def test_rows_that_a_mask_selects_of_any_width(library):
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 300):
        for m in (1, 2, 5):
            x = rng.standard_normal((n, m))
            assert same(library.rows_above(x), rows_above(x))


def test_the_header_tells_how_long_axes_are(path):
    text = path.with_name("commit.h").read_text()
    assert "Lengths: n 1 or more, m 1 or more" in text and "Lengths: n 1 or more  */" not in text


def test_reasons_name_what_was_called():
    def many(x):
        y = x.reshape(2, 4)
        return np.unique(x), np.nonzero(x > 0)[0], x.astype(int).mean(), y[y > 0]

    found = "\n".join(text for _, text in reasons_of(many, Array(8)))
    for name in ("unique is", "nonzero is", "np.add.reduce is", "array[mask] is"):
        assert name in found
    assert "neither array nor number" not in found
    ((_, text),) = reasons_of(lambda x: x[::2], Array(8))
    assert "computes nothing" in text
    ((_, text),) = reasons_of(lambda x: np.median(x), Array(N))
    assert "dynamic" not in text and "in this call" not in text


@pytest.mark.parametrize("name", ["exp", "warn", "int", "template"])
def test_a_name_of_c_or_its_library_is_refused(name):
    with pytest.raises(ValueError, match=f"{name!r} is .* C"):
        pycompile.export(doubled, f"/nowhere/{name}", (Array(N),))


def test_what_stands_for_arguments_is_a_tuple():
    for args, functions in (
        (Array(N), {}),
        ((Array(N),), {"a": (doubled,)}),
        ((Array(N),), {1: doubled}),
    ):
        with pytest.raises((TypeError, ValueError), match="tuple|name"):
            pycompile.export(doubled, "/nowhere/none", args, functions=functions)


def test_names_do_not_clash(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))
    given = (Array((Dim("n */ int x; /*"),)),)
    for functions in (
        ("error", "abi", "shapes", "set_threads"),
        ("a", "a_shapes"),
        ("\u00e9",),
        ("_build",),
    ):
        with pytest.raises(ValueError):
            pycompile.export(
                doubled, "/nowhere/none", given, functions=dict.fromkeys(functions, doubled)
            )
    functions = dict.fromkeys(("tensor", "np", "len", "UPPER_VERSION", "a", "a_careful"), doubled)
    folder = tmp_path / "a folder"
    made = loaded(
        pycompile.export(doubled, str(folder / "fail_DLPACK"), given, functions=functions)
    )
    for name in ("fail_DLPACK", *functions):
        assert getattr(made, name)(np.ones(3)).tolist() == [1, 1, 1]
    flags = [f"-I{folder}", f"-L{folder}", "-lfail_DLPACK", f"-Wl,-rpath,{folder}"]
    if shutil.which("pkg-config") is not None:
        where = os.environ | {"PKG_CONFIG_PATH": str(folder)}
        command = ["pkg-config", "--cflags", "--libs", "fail_DLPACK"]
        said = subprocess.run(command, capture_output=True, text=True, env=where, check=True)
        flags = shlex.split(said.stdout)
    (tmp_path / "main.c").write_text(
        '#include "fail_DLPACK.h"\nint main(void) { return fail_DLPACK_abi() != FAIL_DLPACK_ABI; }\n'
    )
    main = str(tmp_path / "main")
    subprocess.run(["cc", "-Wall", "-Werror", f"{main}.c", "-o", main, *flags], check=True)
    assert subprocess.run([main]).returncode == 0


LISTING = """
  10:\tjmp    14 <f+0x4>
  12:\tnop
  14:\txchg   %ax,%ax
  16:\tmov    0x0(%rip),%rax        # 40 <table>
  1d:\tret
"""


@pytest.fixture
def numpys_library(monkeypatch):
    """A file in which a function jumps to padding, and reads a table."""
    monkeypatch.setattr(_export_functions, "_ran", lambda *command: LISTING)
    made = object.__new__(_export_functions._NumPy)
    made.file, made.addresses, made.names = "f.so", [0x10, 0x40, 0x48], ["f", "table", "end"]
    made.relocated = []
    return made


def test_a_jump_to_padding_has_its_target(numpys_library):
    lines = "\n".join(numpys_library.function(0x10, [], set())).split("\n")
    assert "jmp .Lat14" in lines
    assert ".Lat14:" in lines


def test_addresses_are_not_copied(numpys_library):
    numpys_library.relocated = [0x40]
    with pytest.raises(_export_functions._NotCopied):
        list(numpys_library.function(0x10, [], set()))
