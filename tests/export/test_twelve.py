"""Twelve functions in one library, called from C, from C++ by CMake, and from Rust: plain's bits."""

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile.exported.wrapper import _tensor as tensor

sys.path.insert(0, str(Path(__file__).parent))

from test_export import needs, numpys_blas, ran  # noqa: E402
from twelve import TWELVE  # noqa: E402

CALLERS = Path(__file__).parent / "callers"
NAMES = ["twelve", *(f"twelve_{name}" for name in list(TWELVE)[1:])]


def packed(*numbers):
    return struct.pack(f"{len(numbers)}q", *numbers)


def a_call(number, args, nresults):
    """What a caller reads."""
    parts = [packed(number, len(args), nresults)]
    for arg in map(np.asarray, args):
        of = tensor(arg)
        parts += [packed(of.code, of.bits, arg.ndim, *arg.shape), arg.tobytes()]
    return b"".join(parts)


def exported(folder, **how):
    """The library in the folder, and its functions' names for the callers."""
    functions = {name: (function, given) for name, (function, given, _) in TWELVE.items()}
    first, given = functions.pop("pointwise")
    blas = str(numpys_blas())
    path = pycompile.export(
        first, str(folder / "twelve"), given, functions=functions, blas=blas, **how
    )
    (folder / "names.h").write_text("".join(f"F({name})\n" for name in NAMES))
    declared = "".join(
        f"    fn {each}(a: *const DLTensor, b: i32, c: *mut DLTensor, d: i32) -> c_int;\n"
        for name in NAMES
        for each in (name, f"{name}_shapes")
    )
    pairs = "".join(f"    ({name}, {name}_shapes),\n" for name in NAMES)
    table = f"static FUNCTIONS: [(Function, Function); {len(NAMES)}] = [\n{pairs}];\n"
    (folder / "names.rs").write_text(f'extern "C" {{\n{declared}}}\n{table}')
    return path


def calls(*lengths):
    """What a caller reads, and what it has to write."""
    given, wanted = [], []
    for number, (function, _, make) in enumerate(TWELVE.values()):
        for n in lengths:
            args = make(np.random.default_rng(n), n)
            results = flat(function(*args))
            given.append(a_call(number, args, len(results)))
            wanted.append(packed(0))
            wanted += [packed(r.ndim, *r.shape) + r.tobytes() for r in results]
    return packed(len(given)) + b"".join(given), b"".join(wanted)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    needs("nm", "objdump")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))
        return exported(tmp_path_factory.mktemp("twelve"))


def answered(command, given):
    done = subprocess.run(command, input=given, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def flat(results):
    """The arrays of the results, a list of gradients among them."""
    if isinstance(results, (tuple, list)):
        return [array for each in results for array in flat(each)]
    return [np.asarray(results)]


def in_c(folder, *flags):
    needs("cc")
    flags = [*flags, "-I", folder, "-L", folder, "-ltwelve", f"-Wl,-rpath,{folder}"]
    ran("cc", "-Wall", "-Werror", CALLERS / "caller.c", "-o", folder / "in_c", *flags)
    return folder / "in_c"


def in_cpp(folder):
    needs("c++", "cmake")
    build = folder / "build"
    include = f"-DCMAKE_CXX_FLAGS=-I{folder}"
    ran("cmake", "-S", CALLERS, "-B", build, f"-Dtwelve_DIR={folder}", include)
    ran("cmake", "--build", build)
    return build / "caller"


def in_rust(folder):
    needs("rustc")
    shutil.copy(CALLERS / "caller.rs", folder)
    linked = ["-L", folder, "-l", "twelve", "-C", f"link-arg=-Wl,-rpath,{folder}"]
    ran("rustc", folder / "caller.rs", "-o", folder / "in_rust", *linked)
    return folder / "in_rust"


@pytest.mark.slow
@pytest.mark.parametrize("built", [in_c, in_cpp, in_rust], ids=["c", "cpp", "rust"])
def test_callers_get_the_bits_of_the_plain_functions(built, library):
    given, wanted = calls(3, 8, 100, 1001)
    assert answered([built(library.parent)], given) == wanted


# Each of the 24 calls comes after so many wrong ones.
WRONG = "42"


@pytest.mark.slow
def test_a_thousand_wrong_calls_find_nothing_with_sanitizers(tmp_path, monkeypatch):
    needs("cc", "nm", "objdump")
    flags = "-O0 -fsanitize=address"
    (tmp_path / "cc").write_text(f'#!/bin/sh\nexec cc "$@" {flags}\n')
    (tmp_path / "cc").chmod(0o700)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    exported(tmp_path)
    given, wanted = calls(3, 30)
    assert answered([in_c(tmp_path, *flags.split()), WRONG], given) == wanted


@pytest.mark.slow
def test_a_thousand_wrong_calls_leave_nothing_behind(tmp_path, monkeypatch):
    needs("valgrind", "cc")
    monkeypatch.setenv("CC", str(Path(__file__).parent / "quick_cc.sh"))
    exported(tmp_path, cpu="x86-64-v2", elementary="libm")
    watched = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", in_c(tmp_path), WRONG]
    assert answered(watched, calls(3, 30)[0])
