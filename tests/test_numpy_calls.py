"""Each call of numpy_calls.py, compiled against plain; the list is complete, and the page made of it true."""

import fnmatch
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import numpy_calls as calls
import pytest
from differential import check

ROOT = Path(__file__).resolve().parent.parent
HERE = {
    name: call
    for section in calls.SECTIONS.values()
    for name, call in section.items()
    if calls.exists(name)
}
LEFT_OUT = {name for names in calls.NATURE.values() for name in names.split()}


@pytest.mark.parametrize("name", HERE)
def test_call(name):
    check(calls.function(HERE[name]), *calls.arguments().values(), captured=False)


def _public(module, prefix=""):
    for name in {*getattr(module, "__all__", ()), *dir(module)}:
        found = getattr(module, name, None)
        if name[0] != "_" and callable(found) and not isinstance(found, types.ModuleType):
            yield prefix + name, found


def _names():
    classes = {"ndarray": np.ndarray, "Generator": np.random.Generator}
    classes |= {"RandomState": np.random.RandomState}
    for prefix, cls in classes.items():
        yield from ((f"{prefix}.{name}", None) for name in dir(cls) if name[0] != "_")
    for scalar in (np.float64, np.int64, np.complex128):
        yield from ((f"scalar.{name}", None) for name in dir(scalar) if name[0] != "_")
    yield from _public(np)
    yield from _public(np.linalg, "linalg.")
    yield from _public(np.fft, "fft.")
    yield from _public(np.random, "random.")


# The same object under another name, a type that is called like any other, or a class's own attributes.
OTHER_NAMES = {"scalar.denominator", "scalar.numerator", "scalar.ctypes", "scalar.from_bytes"}


def test_every_public_name_is_there():
    listed = {*HERE, *LEFT_OUT, *calls.NOT_EVERYWHERE, *OTHER_NAMES}
    objects = {id(getattr(np, name, None)) for name in HERE}
    missing = [
        name
        for name, found in _names()
        if name not in listed
        and not any(fnmatch.fnmatch(name, pattern) for pattern in LEFT_OUT)
        and not (isinstance(found, type) and issubclass(found, (np.generic, Exception, Warning)))
        and id(found) not in objects - {id(None)}
    ]
    assert sorted(set(missing)) == []


@pytest.mark.slow
def test_the_page_is_up_to_date():
    command = [sys.executable, str(ROOT / "docs" / "make_numpy_coverage.py"), "--check"]
    assert subprocess.run(command).returncode == 0, "run python docs/make_numpy_coverage.py"


def test_at_most_one_in_twenty_breaks():
    page = (ROOT / "docs" / "numpy-coverage.md").read_text()
    share = float(next(line for line in page.splitlines() if line.startswith("| all")).split()[-3])
    assert share >= 95
