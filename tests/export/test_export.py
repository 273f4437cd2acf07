"""Exported libraries: results in bits beside the plain functions', wrong calls, other languages."""

import ctypes
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import Array, _export_arguments
from pycompile.__main__ import main
from pycompile.exported.wrapper import _Tensor as Tensor
from pycompile.exported.wrapper import _tensor as tensor

sys.path.insert(0, str(Path(__file__).parent))

from exported_functions import FUNCTIONS, csr_product, export_all, pointwise, rooted  # noqa: E402


def loaded(path):
    """The wrapper that lies beside the library."""
    file = path.parent / f"{path.stem.removeprefix('lib')}.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))
        return export_all(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def library(path):
    return loaded(path)


def same(a, b):
    if isinstance(b, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, np.generic):
        return type(a) is type(b) and a.tobytes() == b.tobytes()
    if isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and (a is b or a == b)


def copies(values):
    return tuple(v.copy() if isinstance(v, np.ndarray) else v for v in values)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_plain_function(library, name):
    function, _, make = FUNCTIONS[name]
    rng = np.random.default_rng(1)
    for n in (3, 4, 8, 100, 4097):
        args = make(rng, n)
        plain = copies(args)
        assert same(getattr(library, name)(*args), function(*plain)), n
        assert same(args, plain), n


def test_threads_change_no_bit(path, library):
    here = ctypes.CDLL(str(path))
    function, _, make = FUNCTIONS["pointwise"]
    args = make(np.random.default_rng(2), 300_001)
    try:
        for threads in (4, 1, 2):
            here.all_set_threads(threads)
            assert same(library.pointwise(*args), function(*args))
    finally:
        here.all_set_threads(1)


def test_memory_comes_from_the_allocator_and_goes_back(path, library):
    here, c = ctypes.CDLL(str(path)), ctypes.CDLL(None)
    c.aligned_alloc.restype = ctypes.c_void_p
    held = set()

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def take(size, context):
        block = c.aligned_alloc(ctypes.c_size_t(64), ctypes.c_size_t(size))
        held.add(block)
        return block

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def give(block, context):
        held.remove(block)
        c.free(ctypes.c_void_p(block))

    here.all_set_allocator(take, give, None)
    try:
        for name in ("diffused", "swapped", "filtered_in_place"):
            getattr(library, name)(*FUNCTIONS[name][2](np.random.default_rng(2), 9000))
        assert not held
        none = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: None)
        here.all_set_allocator(none, give, None)
        with pytest.raises(MemoryError):
            library.swapped(np.ones(9000), np.ones(9000))
    finally:
        here.all_set_allocator(None, None, None)


def test_what_numpy_warns_of_is_a_status_with_its_text(library):
    with pytest.warns(
        RuntimeWarning, match=r"divide by zero encountered in divide \(.*functions.py:\d+\)"
    ):
        z, _ = library.pointwise(np.ones(3), np.array([1.0, 0, 2]), 1.0)
    assert z.tolist() == [2, math.inf, 1.5]


def test_what_the_program_raises_is_a_status_and_changes_nothing(library):
    line = rooted.__code__.co_firstlineno
    with pytest.raises(RuntimeError, match=r"exported_functions.py:\d+: ") as caught:
        library.rooted(np.array([1.0, -1]))
    assert line < int(re.search(r"py:(\d+)", str(caught.value))[1]) <= line + 2
    indptr = np.array([0, 2, 2])
    for k in (3, -4):
        with pytest.raises(RuntimeError, match="index out of bounds"):
            library.gathered(np.ones((3, 3), np.float32), np.array([0, k], np.int32))
    with pytest.raises(RuntimeError, match="index out of bounds"):
        library.csr_product(indptr, np.array([0, 7]), np.ones(2), np.ones(3))
    assert csr_product(indptr, np.array([0, 2]), np.ones(2), np.ones(3)).tolist() == [2, 0]


# ---- calls that are wrong ----


def wrong(rng, args, results):
    """Tensors of a call, one thing of which is wrong; what says how many there are."""
    ins, outs = [tensor(a) for a in args], [tensor(a) for a in results]
    counts = [len(ins), len(outs)]
    each = outs if rng.random() < 0.5 else ins
    number = int(rng.integers(len(each)))
    one = each[number]
    other = [t for t in ins + outs if t is not one and t.ndim == 1][int(rng.integers(3))]
    way = int(rng.integers(11))
    if one.ndim == 0 and way in (3, 4, 5, 9, 10):
        way = 0
    if way == 0:
        one.bits = int(rng.choice([b for b in (8, 16, 32, 64, 128) if b != one.bits]))
    elif way == 1:
        one.code = (one.code + 1) % 7
    elif way == 2:
        one.ndim = int(rng.choice([k for k in (-1, 0, 1, 2, 9) if k != one.ndim]))
    elif way == 3:
        one.shape[0] = int(
            rng.choice([-1, -(1 << 62), 1 << 45, one.shape[0] + 1, one.shape[0] - 1])
        )
    elif way == 4:
        one.shape = None
    elif way == 5:
        one.strides[0] = int(rng.choice([0, 2, -1, 1 << 61])) if each is ins else 0
    elif way == 6:
        one.data = None
    elif way == 7:
        one.data += int(rng.integers(1, 4))
    elif way == 8:
        one.device_type = 2
    elif way == 9:
        counts[int(rng.integers(2))] += int(rng.choice([-1, 1]))
    else:
        one, other = (outs[0], ins[0]) if rng.random() < 0.5 else (outs[1], outs[0])
        one.data = other.data + 8 * int(rng.integers(3))
    return ins, outs, counts


def test_a_wrong_call_gets_a_status_and_changes_nothing(path):
    call = ctypes.CDLL(str(path)).all
    rng = np.random.default_rng(4)
    n = 5
    for _ in range(1000):
        args = [rng.random(n), rng.random(n) + 1, np.array(2.0)]
        results = [np.zeros(n), np.zeros(n, np.float32)]
        before = copies(args)
        ins, outs, (nin, nout) = wrong(rng, args, results)
        status = call((Tensor * 4)(*ins), nin, (Tensor * 4)(*outs), nout)
        assert status == -1
        assert same(args, list(before)) and not any(r.any() for r in results)
    assert call(None, 3, None, 2) == -1


def test_arguments_that_are_written_share_no_memory(library):
    x = np.ones(9)
    with pytest.raises(ValueError, match="share memory"):
        library.masked(x[:5], x[4:])
    with pytest.raises(ValueError, match="elements in the same place"):
        library.filtered_in_place(np.lib.stride_tricks.as_strided(x, (9,), (0,)))
    assert (x == 1).all()


# ---- what cannot be exported ----


def reasons_of(function, *args, **more):
    with pytest.raises(pycompile.ExportError) as caught:
        pycompile.export(function, "/nowhere/none", args, **more)
    assert all(text in str(caught.value) for _, _, text in caught.value.reasons)
    line = function.__code__.co_firstlineno
    return [(at - line, text) for _, at, text in caught.value.reasons]


def test_all_reasons_come_at_once_with_their_lines():
    state = {}

    def many(x):
        y = np.sort(x) + 1
        state["y"] = 1
        return np.fft.fft(y).real

    found = reasons_of(many, Array(8))
    for line, text in ((1, "sort"), (2, "changes an object"), (3, "fft")):
        assert any(at == line and text in told for at, told in found), found

    def other(x):
        return np.sort(x) + 1, x + 1

    found = reasons_of(many, Array(8), functions={"other": other})
    assert sum("sort" in text for _, text in found) == 2


@pytest.mark.slow
def test_a_number_that_decides_is_a_reason_unless_it_is_given(tmp_path):
    def powers(x, n):
        return x * 2 if n > 2 else x.reshape(n, -1) + 1

    assert any("value decides" in text for _, text in reasons_of(powers, Array(8), int))
    made = loaded(pycompile.export(powers, str(tmp_path / "powers"), (Array(8), 2)))
    assert same(made.powers(np.arange(8.0)), np.arange(8.0).reshape(2, -1) + 1)


def test_reasons_behind_the_first_of_a_function_are_told():
    def broken(x):
        y = open(x)
        z = y.read() + x  # follows from the first
        with open("c") as file:
            u = x * 3 + file
        q = np.sort(x)
        eval("x")
        return q, z, u

    found = reasons_of(broken, Array(("n",)))
    assert [line for line, _ in found] == [1, 3, 6, 5]

    def left(x):
        while True:
            y = open(x)
            if y > 1:
                return x + 1

    assert [line for line, _ in reasons_of(left, Array(("n",)))] == [2]


def test_what_no_derivative_is_of_is_a_reason():
    def written(x):
        x[0] = 1
        return x.sum()

    def halved(x):
        return (x / 2 if len(x) > 50 else x + 1).sum()

    def several(x):
        return x * 2

    for function, text in (
        (written, "writes an argument"),
        (halved, "'n'"),
        (several, "one real number"),
    ):
        with pytest.raises(pycompile.ExportError, match=text) as caught:
            pycompile.export(pycompile.grad(function), "/nowhere/none", (Array(("n",)),))
        first = function.__code__.co_firstlineno
        assert first <= caught.value.reasons[0][1] <= first + 2
    with pytest.raises(pycompile.ExportError, match="give it"):
        pycompile.export(pycompile.grad(several), "/nowhere/none", (int,))


def test_arrays_in_containers_are_a_reason():
    def summed(*arrays):
        return sum(arrays) + 1

    def scaled(x, scales):
        return x * scales[0]

    assert "by themselves" in reasons_of(summed, Array(8), Array(8))[0][1]
    assert "by themselves" in reasons_of(scaled, Array(8), [Array(8)])[0][1]


def test_a_length_that_decides_is_a_reason():
    def halved(x):
        return x / 2 if len(x) > 50 else x + 1

    ((at, text),) = reasons_of(halved, Array(("n",)))
    assert at == 1 and "'n'" in text


def test_elementary_functions_have_numpys_bits(tmp_path, monkeypatch):
    needs("nm", "objdump")
    monkeypatch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))

    def elementary(x, y):
        s = 0.0
        for i in range(len(x)):
            s = np.exp(-s * s) + np.tanh(x[i])
        each = np.exp(x) * 2, np.log(np.abs(x[::2])), np.sin(x) + np.cos(x), np.tanh(x) + 1
        single = (
            np.exp(y) * 2,
            np.log(np.abs(y)),
            np.tanh(y) + 1,
            y**2.5 + 1,
            np.arctan2(y, y + 1) * 2,
        )
        pairs = x**3 + 1, np.abs(x) ** -1.5 * 2, np.arctan2(x, x * 2 - 1) * 2
        return s, np.exp(x.max()), *each, *single, *pairs

    given = Array(("n",)), Array(("n",), np.float32)
    made = loaded(pycompile.export(elementary, str(tmp_path / "own"), given))
    rng = np.random.default_rng(6)
    for n in (3, 7, 1000):
        x = rng.standard_normal(n) * rng.choice([1e-3, 1, 30, 300, 1000], n)
        if n > 7:
            x[100:103] = math.inf, -math.inf, 0.0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            y = np.where(x == 0.0, np.float32(math.nan), x.astype(np.float32))
            assert same(made.own(x, y), elementary(x, y)), n


@pytest.mark.slow
def test_functions_of_the_c_library_are_a_choice(tmp_path):
    def grown(x):
        return np.exp(x) + np.expm1(x)

    x = np.linspace(-3, 3, 1000)
    path = pycompile.export(grown, str(tmp_path / "grown"), (Array(("n",)),), elementary="libm")
    assert same(loaded(path).grown(x), np.exp(x) + [math.expm1(v) for v in x])
    try:
        exact = pycompile.export(grown, str(tmp_path / "exact"), (Array(("n",)),))
    except pycompile.ExportError as error:
        assert "elementary='libm'" in str(error)
    else:
        assert same(loaded(exact).exact(x), grown(x))


# ---- other languages ----

C = r"""
#include "all.h"
#include <stdio.h>

int main(void)
{
    double x[4] = {1, 2, 3, 4}, y[4] = {2, 2, 0.5, 8}, s = 2.5, z[4];
    float w[4];
    static const int64_t four = 4; /* what is equal is not written */
    int64_t room[2];
    DLTensor in[3] = {{x, {1, 0}, 1, {2, 64, 1}, (int64_t *)&four, NULL, 0},
                      {y, {1, 0}, 1, {2, 64, 1}, (int64_t *)&four, NULL, 0},
                      {&s, {1, 0}, 0, {2, 64, 1}, NULL, NULL, 0}};
    DLTensor out[2] = {{.data = z, .device = {1, 0}}, {.data = w, .device = {1, 0}}};
    out[0].shape = &room[0];
    out[1].shape = &room[1];
    if (all_abi() != ALL_ABI || all_shapes(in, 3, out, 2) != ALL_OK) return 1;
    out[0].shape = out[1].shape = (int64_t *)&four;
    if (all(in, 3, out, 2) != ALL_OK) return 2;
    for (int i = 0; i < 4; i++) printf("%a %a\n", z[i], (double)w[i]);
    in[1].dtype.bits = 32;
    if (all(in, 3, out, 2) != ALL_WRONG) return 3;
    printf("%s\n", all_error());
    all_set_threads(3);
    all_set_threads(1);
    return 0;
}
"""


def printed(text):
    *lines, error = text.splitlines()
    z, w = pointwise(np.array([1.0, 2, 3, 4]), np.array([2, 2, 0.5, 8]), 2.5)
    found = [[float.fromhex(word) for word in line.split()] for line in lines]
    assert found == [[a, b] for a, b in zip(z.tolist(), w.tolist())]
    assert error == "argument y is of dtype (2, 32, 1), not (2, 64, 1)"


def ran(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def numpys_blas():
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    blas = next(iter(folder.glob("libscipy_openblas*.so*")), None)
    if blas is None:
        pytest.skip("NumPy has no BLAS of its own here")
    return blas


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
        if subprocess.run([program, "--version"], capture_output=True).returncode != 0:
            pytest.skip(f"{program} does not run")  # a shim without a version


def test_a_program_in_c_calls_it(path, tmp_path):
    needs("cc", "pkg-config")
    (tmp_path / "main.c").write_text(C)
    where = os.environ | {"PKG_CONFIG_PATH": str(path.parent)}
    flags = ran("pkg-config", "--cflags", "--libs", "all", env=where).split()
    ran("cc", "-Wall", "-Werror", tmp_path / "main.c", "-o", tmp_path / "main", *flags)
    printed(ran(tmp_path / "main"))
    needed = ran("readelf", "-d", path)
    assert set(re.findall(r"NEEDED.*\[(\w+)", needed)) <= {"ld", "libc", "libm", "libpthread"}


# What a header of ABI 1 says.  It stays as it is, whatever the libraries of today are.
ABI_1 = """
#include <stdint.h>
typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data; DLDevice device; int32_t ndim; DLDataType dtype;
    int64_t *shape, *strides; uint64_t byte_offset;
} DLTensor;
enum { ALL_ABI = 1, ALL_OK = 0, ALL_WARNED = 1, ALL_WRONG = -1, ALL_MEMORY = -2, ALL_RAISED = -3 };
int all(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);
int all_shapes(const DLTensor *in, int32_t nin, DLTensor *out, int32_t nout);
const char *all_error(void);
int all_abi(void);
void all_set_threads(int count);
"""


def test_a_program_of_the_first_abi_calls_it(path, tmp_path):
    needs("cc")
    (tmp_path / "main.c").write_text(C.replace('#include "all.h"', ABI_1))
    flags = [f"-L{path.parent}", "-lall", f"-Wl,-rpath,{path.parent}"]
    ran("cc", "-Wall", "-Werror", tmp_path / "main.c", "-o", tmp_path / "main", *flags)
    printed(ran(tmp_path / "main"))


def test_the_wrapper_of_another_abi_loads_nothing(path, tmp_path):
    for end in ("liball.so", "all.py"):
        shutil.copy(path.parent / end, tmp_path)
    text = (tmp_path / "all.py").read_text()
    assert text.count("'all_abi', 1") == 1
    (tmp_path / "all.py").write_text(text.replace("'all_abi', 1", "'all_abi', 2"))
    with pytest.raises(ImportError, match="of ABI 1, and its wrapper of 2"):
        loaded(tmp_path / "liball.so")


@pytest.mark.slow
def test_the_program_of_the_page_runs(tmp_path, monkeypatch):
    needs("cc", "pkg-config")
    page = (Path(pycompile.__file__).parent.parent / "docs" / "export.md").read_text()
    monkeypatch.chdir(tmp_path)
    names = {}
    for text in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(compile(text, "export.md", "exec"), names)
    main, allocated = re.findall(r"```c\n(.*?)```", page, re.S)
    at = main.index("int main")
    (tmp_path / "main.c").write_text(f"#include <stdlib.h>\n{main[:at]}{allocated}{main[at:]}")
    ran("sh", "-c", re.search(r"```sh\n(cc .*?)```", page, re.S)[1])
    assert ran("./main") == "0.5 2 3.5, 6\n"


@pytest.mark.slow
def test_products_are_those_of_the_blas_that_is_named(tmp_path):
    blas = numpys_blas()

    def products(a, b, v, stack):
        hidden = np.maximum(a @ b - 1, 0)
        one = hidden, hidden @ v, a @ a.T + 0, v @ v + 0, (v @ b.T) * 1
        turned = stack.swapaxes(-1, -2)
        return (
            *one,
            stack @ b + 0,
            stack @ turned + 0,
            turned[:, None] @ stack + 0,
            b.T @ turned + 0,
        )

    lengths = Array(("n", "k")), Array(("k", "m")), Array(("m",)), Array((3, "n", "k"))
    made = loaded(pycompile.export(products, str(tmp_path / "products"), lengths, blas=str(blas)))
    rng = np.random.default_rng(5)
    for n, k, m in ((2, 3, 4), (5, 1, 7), (100, 50, 60), (1, 9, 3), (65, 129, 1)):
        args = rng.random((n, k)), rng.random((k, m)), rng.random(m), rng.random((3, n, k))
        assert same(made.products(*args), products(*args)), (n, k, m)
    assert reasons_of(products, *lengths)[0][1].startswith("a product of matrices is the BLAS's")


@pytest.mark.slow
def test_transforms_of_lengths_with_small_factors(tmp_path):
    def there(x):
        return np.fft.rfft(x)

    def back_to(n):
        return lambda z: np.fft.irfft(z, n)

    lengths = 1, 2, 3, 5, 36, 250, 486, 1024
    functions = {f"there{n}": (there, (Array((2, n)),)) for n in lengths}
    functions |= {f"back{n}": (back_to(n), (Array(n // 2 + 1, complex),)) for n in lengths}
    made = loaded(pycompile.export(there, str(tmp_path / "fft"), (Array(8),), functions=functions))
    for n in lengths:
        rng = np.random.default_rng(n)
        x, z = rng.standard_normal((2, n)), rng.standard_normal(n // 2 * 2 + 2).view(complex)
        assert same(getattr(made, f"there{n}")(x), there(x)), n
        assert same(getattr(made, f"back{n}")(z), np.fft.irfft(z, n)), n
    assert "rfft is a call" in reasons_of(there, Array(14))[0][1]


@pytest.mark.slow
def test_equations_are_the_lapacks(tmp_path, monkeypatch):
    blas = numpys_blas()
    monkeypatch.chdir(blas.parent)

    def solved(a, b, c):
        positive = np.linalg.cholesky(a @ a.T + c.T @ c)
        return np.linalg.solve(a, b) + 0, np.linalg.solve(a, c.T), np.linalg.inv(a), positive

    given = Array((5, 5)), Array(5), Array((3, 5))
    here = f"./{blas.name}"
    made = loaded(pycompile.export(solved, str(tmp_path / "solved"), given, blas=here))
    args = [np.random.default_rng(8).standard_normal(each.shape) for each in given]
    assert same(made.solved(*args), solved(*args))
    with pytest.raises(RuntimeError, match="singular"):
        made.solved(np.zeros((5, 5)), *args[1:])
    assert any("the LAPACK's" in text for _, text in reasons_of(solved, *given))


@pytest.mark.slow
def test_the_command_line_exports(tmp_path):
    text = "def price(x, y, r):\n    return x @ y * r\n\ndef scaled(x, r):\n    return x * r\n"
    (tmp_path / "prices.py").write_text(text)
    command = [sys.executable, "-m", "pycompile", "export", "prices:price"]
    given = ["--args", "f64[n, 2], f64[2], float", "--blas", str(numpys_blas())]
    also = ["--also", "same=prices:price", "--also", "scaled=prices:scaled(i32[n], 2.5)"]
    ran(*command, *given, *also, "-o", "pricer", cwd=tmp_path)
    made = loaded(tmp_path / "libpricer.so")
    assert made.pricer(np.ones((3, 2)), np.arange(2.0), 2.0).tolist() == [2, 2, 2]
    assert made.same(np.ones((3, 2)), np.arange(2.0), 2.0).tolist() == [2, 2, 2]
    assert made.scaled(np.ones(3, np.int32)).tolist() == [2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere:f", "--args", "f64[n]"], "nowhere:f: No module named 'nowhere'"),
        (["math", "--args", "f64[n]"], "a function is named as module:function, not 'math'"),
        (["math:sine", "--args", "f64[n]"], "math:sine: module 'math' has no attribute 'sine'"),
        (["textwrap:dedent", "--args", "f65[n]"], "'f65' not understood"),
        (["textwrap:dedent", "--args", "f64", "--also", "f"], "named as name=module:function"),
        (["math:sin", "--args", "f64"], "no function of Python"),
    ],
)
def test_the_command_line_says_what_is_wrong_with_it(arguments, told, capsys):
    assert main(["export", *arguments, "-o", "/nowhere/none"]) == 1
    assert told in capsys.readouterr().err


def test_arguments_are_named_as_a_shell_has_them():
    values = _export_arguments.of_text("f64[n], 2.5, -3, None, True, 'mean'")[1:]
    assert values == (2.5, -3, None, True, "mean")
    assert _export_arguments.of_text("") == ()
    assert _export_arguments.of_text("f32, int, bool,uint8 ") == (np.float32, int, bool, np.uint8)
    array, number = _export_arguments.of_text("i8[n, 3], f64")
    assert (array.shape, array.dtype, number) == (("n", 3), np.int8, np.float64)
    for wrong in "f65", "f64[n", "f64 n", "f64[n],":
        with pytest.raises(TypeError):
            _export_arguments.of_text(wrong)
