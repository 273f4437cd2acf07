"""What exported functions cost beside their kernels: the twelve of tests/export, called from C.

`overhead` is a call of a library whose kernels and calls of other libraries do nothing: checks,
sizes, memory, the order of steps, results. `call` is the same call with them. `load` is of the
library with all twelve, without a BLAS unless --blas names one, and of a process of its own.

    python -m benchmarks.export [--blas PATH] [--only NAME]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import pycompile

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "export")]

from test_twelve import a_call, flat, numpys_blas  # noqa: E402
from twelve import TWELVE  # noqa: E402

USES_BLAS = ("mlp", "attention", "gradient")
KERNEL = re.compile(
    r"^((?:turn\d+|exported\d+_(?:careful_)?k\d+(?:_bounded)?)\([^;{]*\)\n\{)", re.M
)
CALL = "int failed = call->call(run, call);"


def emptied(folder: Path) -> None:
    """The sources of a library that is about to be compiled: kernels and calls do nothing."""
    for file in folder.glob("exported*.c"):
        text, found = KERNEL.subn(r"\1\n    return 0;", file.read_text())
        assert found, file
        file.write_text(text)
    library = folder / "library.c"
    text = library.read_text()
    assert CALL in text
    library.write_text(text.replace(CALL, "int failed = 0;"))


def exported(folder: Path, names: list[str], blas: str | None) -> Path:
    """A library `twelve` of these functions."""
    functions = {name: TWELVE[name][:2] for name in names}
    first, given = TWELVE["pointwise"][:2]
    functions.pop("pointwise", None)
    return pycompile.export(first, str(folder / "twelve"), given, functions=functions, blas=blas)


def emptied_library(folder: Path, names: list[str], blas: str | None) -> Path:
    """The same, by a C compiler that empties its sources first."""
    compiler, script = os.environ.get("CC", "cc"), folder / "cc"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *library.c*) PYTHONPATH={ROOT} {sys.executable} -P -c '
        f'"import pathlib, benchmarks.export as e; e.emptied(pathlib.Path())" || exit 1;; esac\n'
        f'exec {compiler} "$@"\n'
    )
    script.chmod(0o700)
    os.environ["CC"] = str(script)
    try:
        return exported(folder, names, blas)
    finally:
        os.environ["CC"] = compiler


def measured(program: Path, library: Path, name: str, n: int) -> list[float]:
    """Nanoseconds of loading, of the first call, of a later one."""
    function, _, make = TWELVE[name]
    args = make(np.random.default_rng(n), n)
    given = a_call(0, args, len(flat(function(*args))))
    symbol = "twelve" if name == "pointwise" else f"twelve_{name}"
    done = subprocess.run([program, library, symbol], input=given, capture_output=True, check=True)
    return [float(each) for each in done.stdout.split()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.export", description=__doc__)
    parser.add_argument("--only", default="", help="functions whose name has this in it")
    parser.add_argument("--blas", help="the path of a BLAS; without it NumPy's own")
    chosen = parser.parse_args()
    names = [name for name in TWELVE if chosen.only in name]
    with tempfile.TemporaryDirectory() as work:
        return table(Path(work), names, chosen.blas)


def table(work: Path, names: list[str], blas: str | None) -> int:
    program = work / "program"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["cc", "-O2", source, "-o", program, "-ldl"], check=True)
    plain = [name for name in names if name not in USES_BLAS]
    with_blas = [name for name in names if name in USES_BLAS]
    print(f"{'function':<14}{'overhead':>10}{'call':>10}{'load':>10}{'first':>10}", flush=True)
    for group, by in ((plain, None), (with_blas, blas or str(numpys_blas()))):
        if not group:
            continue
        (work / f"empty{by is None}").mkdir()
        whole = exported(work / f"whole{by is None}", group, by)
        empty = emptied_library(work / f"empty{by is None}", group, by)
        for name in group:
            row: list[Any] = [measured(program, empty, name, 3)[2]]
            loaded, first, call = measured(program, whole, name, 3)
            row += [call, loaded, first]
            columns = [
                f"{row[0]:.0f} ns",
                f"{call:.0f} ns",
                f"{loaded / 1e6:.2f} ms",
                f"{first / 1e6:.3f} ms",
            ]
            print(f"{name:<14}" + "".join(f"{each:>10}" for each in columns), flush=True)
        print(f"  {whole.stat().st_size / 1024:.0f} KiB{' with a BLAS beside it' if by else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
