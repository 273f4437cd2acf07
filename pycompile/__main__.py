"""Compiles the array work of a program, shows what came of it, or looks at the installation.

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


def _print_table(rows: list[tuple[str, Any]]) -> None:
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def info() -> int:
    """Versions, compiler, CPU, cache, options and where they come from."""
    import os
    import platform

    import numpy

    from pycompile import _C

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
        *_cache_rows(),
        *_cuda_rows(),
    ]
    _print_table(rows)
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


def _cache_rows() -> list[tuple[str, Any]]:
    """The disk cache over all processes: what it holds, and what that has been good for."""
    from pycompile import _C

    found, entries = _C.cache_info(), _C.cache_entries()
    if not found["folder"]:
        return [("cache folder", _NO_FOLDER)]
    spent = sum(entry["seconds"] for entry in entries)
    return [
        ("cache folder", found["folder"]),
        ("cache entries", f"{len(entries)}, compiled in {spent:.1f} s"),
        ("cache bytes", f"{found['bytes']} of at most {found['limit']}"),
        ("cache hits", sum(entry["hits"] for entry in entries)),
    ]


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


_NO_FOLDER = "no cache folder: PYCOMPILE_CACHE=0, or it cannot be made or trusted"


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _by_function(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of one function as one: all their bytes and hits, the age of the last."""
    rows: dict[Any, dict[str, Any]] = {}
    for entry in entries:
        known = entry["function"] is not None
        key = (entry["function"], entry["file"], entry["line"]) if known else entry["name"]
        row = rows.setdefault(key, {**entry, "files": 0, "bytes": 0, "hits": 0, "made": 0.0})
        row["files"] += 1
        row["bytes"] += entry["bytes"]
        row["hits"] += entry["hits"]
        row["made"] = max(row["made"], entry["made"])
    return list(rows.values())


def cache_list(every: bool = False) -> int:
    """What the disk cache holds: a line for each function (or file), those of late first, the sum."""
    import time

    from pycompile import _C

    folder = _C.cache_info()["folder"]
    if not folder:
        print(_NO_FOLDER)
        return 0
    now = time.time()
    entries = _C.cache_entries()
    shown = [{**entry, "files": 1} for entry in entries] if every else _by_function(entries)
    rows: list[tuple[str, ...]] = []
    if entries:
        rows.append(("age", "files", "bytes", "hits", "function", "place"))
    for entry in sorted(shown, key=lambda entry: (-entry["made"], entry["name"])):
        known = entry["function"] is not None
        counts = (str(entry[key]) for key in ("files", "bytes", "hits"))
        name = entry["function"] if known else f"? ({entry['name']})"
        place = f"{entry['file']}:{entry['line']}" if known else "?"
        rows.append((_age(now - entry["made"]), *counts, name, place))
    width = [max(len(row[column]) for row in rows) for column in range(5)] if rows else []
    for row in rows:
        numbers = "  ".join(f"{row[column]:>{width[column]}}" for column in range(4))
        print(f"{numbers}  {row[4]:<{width[4]}}  {row[5]}")
    files = "1 file" if len(entries) == 1 else f"{len(entries)} files"
    print(f"{files}, {sum(entry['bytes'] for entry in entries)} bytes in {folder}")
    return 0


def cache_info() -> int:
    """Where the disk cache is, how much it holds, and what that has been good for."""
    _print_table(_cache_rows())
    return 0


def cache_clear() -> int:
    """Removes all that the disk cache holds."""
    from pycompile import _C

    if not _C.cache_info().get("folder"):
        print(_NO_FOLDER)
        return 1
    _C.cache_clear()
    left = _C.cache_info()
    if left["entries"]:
        print(f"not cleared: {left['entries']} entries of {left['folder']} cannot be removed")
        return 1
    print("cache cleared")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command line.  Returns the exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m pycompile", description=__doc__)
    parser.add_argument("--version", action="version", version=f"pycompile {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run a program: every function is a candidate")
    commands.add_parser("explain", help="run a program, and tell at exit what was made of it")
    commands.add_parser("info", help=info.__doc__)
    cache = commands.add_parser("cache", help="look at the disk cache, or empty it")
    cache.add_argument("action", nargs="?", choices=["list", "info", "clear"], default="list")
    cache.add_argument("--all", action="store_true", help="list each file, not each function")
    page = commands.add_parser("report", help="make a page of what PYCOMPILE_TRACE has written")
    page.add_argument("folder", metavar="DIR", help="the folder that PYCOMPILE_TRACE named")
    page.add_argument("-o", dest="output", metavar="PAGE", help="by default DIR/report.html")
    page.add_argument(
        "--bandwidth", type=float, metavar="GB/S", help="of the memory, where it ran elsewhere"
    )
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        return info()
    if chosen.command == "report":
        from pycompile._report import report

        return report(chosen.folder, chosen.output, chosen.bandwidth and chosen.bandwidth * 1e9)
    if chosen.action == "info":
        return cache_info()
    return cache_clear() if chosen.action == "clear" else cache_list(chosen.all)


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
