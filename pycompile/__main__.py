"""python -m pycompile run SCRIPT | explain SCRIPT | info | cache [list | clear]"""

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
    ("PYCOMPILE_DISABLE", "1: compile returns functions as they are"),
    ("PYCOMPILE_CACHE_DIR", "where compiled code is kept"),
    ("PYCOMPILE_CACHE_BYTES", "how much of it"),
    ("CC", "the C compiler"),
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

    rows: list[tuple[str, Any]] = [
        ("pycompile", __version__),
        ("python", platform.python_version()),
        ("numpy", numpy.__version__),
        ("platform", platform.platform()),
        ("threads", _C.threads_count()),
    ]
    rows.extend((name.replace("_", " "), value) for name, value in _C.toolchain_info().items())
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


def cache_list() -> int:
    """What the disk cache holds: one line per file, then the sum.  Notes about compilers left out."""
    from pathlib import Path

    from pycompile import _C

    found = _C.cache_info()
    folder = found.get("folder")
    count = total = 0
    if folder and Path(folder).is_dir():
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and not path.name.startswith("compiler-"):
                size = path.stat().st_size
                count, total = count + 1, total + size
                print(f"{size:>10}  {path.relative_to(folder)}")
    if folder:
        print(f"{count} files, {total} bytes in {folder}")
    else:
        print("no cache folder: it cannot be made or written")
    return 0


def cache_clear() -> int:
    """Removes all that the disk cache holds."""
    from pycompile import _C

    if not _C.cache_info().get("folder"):
        print("no cache folder: it cannot be made or written")
        return 1
    _C.cache_clear()
    print("cache cleared")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command line.  Returns the exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m pycompile", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run a program: every function is a candidate")
    commands.add_parser("explain", help="run a program, and tell at exit what was made of it")
    commands.add_parser("info", help=info.__doc__)
    cache = commands.add_parser("cache", help="look at the disk cache, or empty it")
    cache.add_argument("action", nargs="?", choices=["list", "clear"], default="list")
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        return info()
    return cache_clear() if chosen.action == "clear" else cache_list()


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
