"""Arrays and functions that the tests of array semantics share."""

import ast

import numpy as np


def array(dtype, shape=(3, 4), seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(1, 20, shape).astype(dtype)
    values = rng.uniform(0.5, 4, shape)
    return (values + 1j * rng.uniform(0.5, 4, shape) if kind == "c" else values).astype(dtype)


def function(*lines, args="x, y"):
    """A function of `args`: does the statements among `lines`, in order, and returns what the
    expressions among them gave."""
    body, results = [], []
    for line in lines:
        if isinstance(ast.parse(line).body[0], ast.Expr):
            name = f"r{len(results)}"
            results.append(name)
            line = f"{name} = {line}"
        body.append(f"    {line}\n")
    namespace = {"np": np}
    text = f"def case({args}):\n{''.join(body)}    return ({', '.join(results)},)\n"
    exec(compile(text, "<case>", "exec"), namespace)
    return namespace["case"]
