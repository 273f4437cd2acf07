"""PYCOMPILE_TRACE: what surrounds the events that csrc/runtime/trace.c writes: the settings at the
start; at the end, what each function went through, and the source of the program's functions.

docs/trace.md has the format, _report.py reads it.
"""

from __future__ import annotations

import atexit
import linecache
import os
import platform
import sys
from typing import Any

from pycompile import _C, __version__

SCHEMA = 1
LONGEST = 1 << 20  # characters of a source file that is kept in the trace


def begin(folder: str) -> None:
    """Traces from now on; a folder that cannot be made, or written to, is warned of by C."""
    folder = os.path.abspath(os.path.expanduser(folder))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        pass
    _C.trace_begin(folder, facts())
    atexit.register(end)


def facts() -> dict[str, Any]:
    import numpy

    names = [variable for _, _, variable, _ in _C.config_describe() if variable]
    names += ["PYCOMPILE_CACHE", "PYCOMPILE_DISABLE", "PYCOMPILE_LOGS", "OMP_NUM_THREADS"]
    return {
        "schema": SCHEMA,
        "program": sys.argv[0] if sys.argv else "",
        "folder": os.getcwd(),
        "pycompile": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "machine": platform.node(),
        "options": {name: default for name, default, *_ in _C.config_describe()},
        "environment": {name: os.environ[name] for name in names if name in os.environ},
    }


def end() -> None:
    """What is only known at the end.  A process that ends otherwise has all but that."""
    from pycompile._explain_text import is_library

    records = _C.hints()
    for record in records:
        _C.trace_put("function", record)
    for file in sorted({record["file"] for record in records}):
        text = "" if is_library(file) else "".join(linecache.getlines(file))
        if 0 < len(text) <= LONGEST:
            _C.trace_put("source", {"file": file, "text": text})
    toolchain = _C.toolchain_info() if any(record["compiles"] for record in records) else {}
    keys = ("cpu", "threads", "compiler", "version")
    _C.trace_end({key: toolchain[key] for key in keys if key in toolchain})
