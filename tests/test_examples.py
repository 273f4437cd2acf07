"""The examples' functions and the benchmarks' cases, compared with plain NumPy in everything."""

import sys
from pathlib import Path

import numpy as np
import pytest
from differential import check

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples"), str(ROOT)]

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

from benchmarks.cases import CASES  # noqa: E402

EXAMPLES = ["photo", "terrain", "options", "network", "volatility"]


def functions():
    import importlib

    for module in map(importlib.import_module, EXAMPLES):
        for name, (function, arguments) in module.FUNCTIONS.items():
            yield pytest.param(function, arguments, id=name)


@pytest.mark.parametrize("function, arguments", list(functions()))
def test_example(function, arguments):
    plain = getattr(function, "__wrapped__", function)
    check(plain, *arguments(), whole=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_benchmark_case(case, dtype):
    args = case.arguments(np.random.default_rng(1), dtype, True)
    check(case.function, *args, whole=True)
