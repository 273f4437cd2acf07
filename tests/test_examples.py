"""The examples' functions and the benchmarks' cases, compared with plain NumPy in everything."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from differential import check

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples"), str(ROOT)]

from benchmarks.cases import CASES  # noqa: E402

EXAMPLES = ["photo", "terrain", "options", "network", "volatility"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example):
    pytest.importorskip("matplotlib")  # not before: they take longer than all that is imported else
    pytest.importorskip("sklearn")
    for function, arguments in importlib.import_module(example).FUNCTIONS.values():
        plain = getattr(function, "__wrapped__", function)
        check(plain, *arguments(), whole=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_benchmark_case(case, dtype):
    args = case.arguments(np.random.default_rng(1), dtype, True)
    check(case.function, *args, whole=True)
