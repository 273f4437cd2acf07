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
LENGTHS = (3, 8, 100, 1001)
NAMES = ["twelve", *(f"twelve_{name}" for name in list(TWELVE)[1:])]


def packed(*numbers):
    return struct.pack(f"{len(numbers)}q", *numbers)


def flat(results):
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


def a_call(number, args, nresults):
    """What a caller reads."""
    parts = [packed(number, len(args), nresults)]
    for arg in map(np.asarray, args):
        of = tensor(arg)
        parts += [packed(of.code, of.bits, arg.ndim, *arg.shape), arg.tobytes()]
    return b"".join(parts)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library; calls of it, and what plain functions give."""
    folder = tmp_path_factory.mktemp("twelve")
    functions = {name: (function, given) for name, (function, given, _) in TWELVE.items()}
    first, given = functions.pop("pointwise")
    path = pycompile.export(
        first, str(folder / "twelve"), given, functions=functions, blas=str(numpys_blas())
    )
    (folder / "names.h").write_text("".join(f"F({name})\n" for name in NAMES))
    declared = "".join(
        f"    fn {n}(a: *const DLTensor, b: i32, c: *mut DLTensor, d: i32) -> c_int;\n"
        for name in NAMES
        for n in (name, f"{name}_shapes")
    )
    pairs = "".join(f"    ({name}, {name}_shapes),\n" for name in NAMES)
    (folder / "names.rs").write_text(
        f'extern "C" {{\n{declared}}}\nstatic FUNCTIONS: [(Function, Function); {len(NAMES)}] = [\n{pairs}];\n'
    )
    given, wanted = [], []
    for number, (function, _, make) in enumerate(TWELVE.values()):
        for n in LENGTHS:
            args = make(np.random.default_rng(n), n)
            results = flat(function(*args))
            given.append(a_call(number, args, len(results)))
            wanted.append(packed(0))
            wanted += [packed(r.ndim, *r.shape) + r.tobytes() for r in results]
    return path, packed(len(given)) + b"".join(given), b"".join(wanted)


def in_c(folder):
    needs("cc")
    flags = ["-I", folder, "-L", folder, "-ltwelve", f"-Wl,-rpath,{folder}"]
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
    path, given, wanted = library
    done = subprocess.run([built(path.parent)], input=given, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == wanted
