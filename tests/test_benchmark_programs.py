"""The programs of benchmarks/programs: what they return does not change when their functions are captured."""

import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import pycompile

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from benchmarks import programs  # noqa: E402
from benchmarks.programs.__main__ import names  # noqa: E402

# Nothing is decorated; and SciPy's own Python, that of whole methods, is captured.
LIBRARY_CALLS = ("matplotlib_figure", "pandas_calls", "scipy_calls", "sklearn_fits")
SLOW = ("butter_filtfilt", "nelder_mead", "stiff_ode")


def cases():
    for name in names():
        if name not in LIBRARY_CALLS:
            yield pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])


def fresh(name, decorator):
    """The program's module, its functions decorated; another one at each call."""
    path = Path(programs.__file__).parent / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"program_{name}", path)
    module = importlib.util.module_from_spec(spec)
    programs.decorator = decorator
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    finally:
        programs.decorator = None
    return module


def eager(function):
    """Captured at the first call; the graph is run by NumPy calls: no C compiler."""
    return pycompile.compile(function, backend="eager")


def result(module, size):
    return pickle.dumps(module.main(np.random.default_rng(1), size))


@pytest.mark.filterwarnings("ignore::pycompile.PycompileWarning")
@pytest.mark.parametrize("name", list(cases()))
def test_program(name):
    plain, captured = fresh(name, None), fresh(name, eager)
    size = (
        plain.SIZES[0]
        if hasattr(plain, "SIZES")
        else min(plain.sizes(np.random.default_rng(1), 20))
    )
    assert result(captured, size) == result(plain, size)
