"""What a block call reads is there for whoever reads it later."""

import random

import numpy as np
import pytest
from differential import check


def after_the_call(x):
    y = x * 3
    return np.exp(y) * x - y + 1


def after_two_calls(x):
    y = x + 1
    z = np.exp(-y)
    return np.tanh(z) + z * y, np.log1p(z) - y


def rows(x):
    y = x - x.max(axis=1, keepdims=True)
    e = np.exp(y)
    return e / e.sum(axis=1, keepdims=True) + y


@pytest.mark.parametrize("function", [after_the_call, after_two_calls, rows])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(3, 5), (40, 3000)])
def test_arguments_outlive_calls(function, dtype, shape):
    check(function, np.random.default_rng(1).random(shape).astype(dtype))


OPERATIONS = [
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "np.maximum({}, {})",
    "np.exp(-abs({}))",
    "np.tanh({})",
    "np.log1p(abs({}))",
    "{} * 0.5",
    "-{}",
    "{} - 0.25",
    "{}.sum(axis=1, keepdims=True) * 1e-3",
    "np.arctan2({}, {})",
]


@pytest.mark.parametrize("seed", range(25))
def test_random_chains(seed):
    choose = random.Random(seed)
    names, lines = ["x", "y"], []
    for i in range(choose.randrange(4, 14)):
        operation = choose.choice(OPERATIONS)
        arguments = [choose.choice(names[-4:] + ["x"]) for _ in range(operation.count("{}"))]
        lines.append(f"    v{i} = {operation.format(*arguments)}")
        names.append(f"v{i}")
    results = ", ".join(choose.sample(names[2:], min(3, len(names) - 2)))
    space = {"np": np}
    exec("def f(x, y):\n" + "\n".join(lines) + f"\n    return {results}, {names[-1]}", space)
    data = np.random.default_rng(seed)
    shape = (choose.choice([1, 7, 300]), choose.choice([1, 5, 64, 2500]))
    check(space["f"], data.standard_normal(shape), data.standard_normal(shape))
