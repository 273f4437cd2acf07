"""Compiles the array work of a program, shows what came of it, or looks after installation and disk cache.

`run --help` and `explain --help` say more of the two.
"""

from __future__ import annotations

import sys

from pycompile import __version__

TYPE_CHECKING = False  # as in typing, which programs that we run should not find imported
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# What no compiled function has a value of its own of: csrc/config.def has the rest.
_ENVIRONMENT = (
    ("PYCOMPILE_LOGS", "channels of the log"),
    ("PYCOMPILE_TRACE", "a folder: what is compiled and run is written there"),
    ("PYCOMPILE_DISABLE", "1: compiled functions call the plain ones"),
    ("PYCOMPILE_CUDA_DEBUG", "1: waits for each kernel on a device, and tells which one fails"),
    ("PYCOMPILE_COMPILE_TIMEOUT", "seconds that the C compiler may take"),
    ("PYCOMPILE_CACHE", "0: no disk cache"),
    ("PYCOMPILE_CACHE_DIR", "where compiled code is kept"),
    ("PYCOMPILE_CACHE_BYTES", "how much of it"),
    ("CC", "the C compiler"),
    ("OMP_NUM_THREADS", "threads of the kernels, where PYCOMPILE_THREADS says nothing"),
)


def info() -> int:
    """Versions, compiler, CPU, cache, options and where they come from."""
    import os
    import platform

    import numpy

    from pycompile import _C, _cache

    found = _C.toolchain_info()
    problem = _C.toolchain_try()
    rows: list[tuple[str, Any]] = [
        ("pycompile", __version__),
        ("python", platform.python_version()),
        ("numpy", numpy.__version__),
        ("platform", platform.platform()),
        ("cpu", found["cpu"]),
        ("threads", found["threads"]),
        ("compiler", found["compiler"] or "none was found ($CC, cc, gcc, clang)"),
        ("version", found["version"] or "-"),
        ("compiles", f"no: {problem}" if problem else "yes, as tried just now"),
        ("flags", " ".join(found["flags"])),
        *_cache.rows(),
        *_cuda_rows(),
    ]
    _cache.print_table(rows)
    print("\noptions (default, environment variable)")
    for name, default, variable, text in _C.config_describe():
        value = f"{default!r}" + (
            f", {variable}={os.environ.get(variable, '')}" if variable else ""
        )
        print(f"  {name:<16} {value:<44} {text}")
    print("\nread from the environment alone")
    for variable, text in _ENVIRONMENT:
        value = f"{variable}={os.environ.get(variable, '')}"
        print(f"  {value:<44} {text}")
    return 0


def _cuda_rows() -> list[tuple[str, Any]]:
    """What is there for CuPy's arrays: devices, driver, NVRTC and cuBLASLt, or a line that says what is missing."""
    from pycompile import _C

    found = _C.cuda_info()
    rows: list[tuple[str, Any]] = [("cuda", problem) for problem in found["problems"]]
    if found["driver"]:
        rows.append(
            ("cuda driver", f"CUDA {found['driver'] // 1000}.{found['driver'] % 1000 // 10}")
        )
    rows += [("cuda device", f"{name}, sm_{version}") for name, version in found["devices"]]
    if found["nvrtc"][0]:
        rows.append(("nvrtc", f"{found['nvrtc'][0]}.{found['nvrtc'][1]}, {found['path']}"))
    if found["driver"]:
        version, place = _C.cublaslt_info()
        rows.append(("cublaslt", f"{version}, {place}" if version else place))
    return rows


def main(arguments: list[str] | None = None) -> int:
    """The command line.  Returns the exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m pycompile", description=__doc__)
    parser.add_argument("--version", action="version", version=f"pycompile {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run a program: every function is a candidate")
    commands.add_parser("explain", help="run a program, and tell at exit what was made of it")
    commands.add_parser("info", help=info.__doc__)
    cache = commands.add_parser("cache", help="look at the disk cache, empty it, or pass it on")
    actions = ["list", "info", "clear", "prune", "export", "import"]
    cache.add_argument("action", nargs="?", choices=actions, default="list")
    cache.add_argument("file", nargs="?", help="export, import: the file")
    cache.add_argument("--all", action="store_true", help="list: each file, not each function")
    cache.add_argument(
        "--days", type=float, default=30, help="prune: what was not used for so many (30)"
    )
    library = commands.add_parser("export", help="make a C library of a function: docs/export.md")
    library.add_argument("function", metavar="MODULE:FUNCTION")
    library.add_argument("--args", required=True, help="such as 'f64[n, 3], f64[n], float'")
    library.add_argument("-o", dest="output", required=True, metavar="NAME")
    library.add_argument("--cpu", help="what the C compiler's -march takes; by default this CPU")
    library.add_argument("--elementary", choices=["libm"], help="exp, log, … of the C library")
    library.add_argument("--blas", help="of products: a path, or its name for the linker")
    library.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="NAME=MODULE:FUNCTION",
        help="another function of the library; 'NAME=MODULE:FUNCTION(f64[n])' of its own arguments",
    )
    page = commands.add_parser("report", help="make a page of what PYCOMPILE_TRACE has written")
    page.add_argument("folder", metavar="DIR", help="the folder that PYCOMPILE_TRACE named")
    page.add_argument("-o", dest="output", metavar="PAGE", help="by default DIR/report.html")
    page.add_argument(
        "--bandwidth", type=float, metavar="GB/S", help="of the memory, where it ran elsewhere"
    )
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        return info()
    if chosen.command == "export":
        from pycompile import _export

        how = {"cpu": chosen.cpu, "elementary": chosen.elementary, "blas": chosen.blas}
        return _export.command(chosen.function, chosen.args, chosen.output, chosen.also, **how)
    if chosen.command == "report":
        from pycompile._report import report

        return report(chosen.folder, chosen.output, chosen.bandwidth and chosen.bandwidth * 1e9)
    if (chosen.file is not None) != (chosen.action in ("export", "import")):
        cache.error(f"{chosen.action} takes {'no' if chosen.file is not None else 'a'} file")
    from pycompile import _cache

    return _cache.act(chosen.action, chosen.file, chosen.all, chosen.days)


def _as_a_filter(command: Callable[[], int]) -> int:
    """The command's exit status; that nobody reads what it prints (`| head`) is no error."""
    import os

    try:
        status = command()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 0
    return status


if __name__ == "__main__":
    if sys.argv[1:2] in (["run"], ["explain"]):
        from pycompile._run import run

        # The program's own exit, which is no exit of ours.
        run(sys.argv[2:], explained=sys.argv[1] == "explain")
    else:
        sys.exit(_as_a_filter(main))
