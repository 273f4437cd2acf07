"""python -m conformance.mygrad_cases: MyGrad's gradients against ours.

MyGrad's distributions have no tests, so what is compared is its functions: each is differentiated by its
own backward pass, by ours of the NumPy code that its forward pass is (`mygrad`), and by ours of NumPy's
function of that name, where there is one (`numpy`).  Exit status 1 when gradients differ that
exceptions-mygrad.txt does not name, or when fewer agree than have.
"""

from __future__ import annotations

import argparse
import collections
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import mygrad
import mygrad.nnet
import numpy as np

import pycompile
from conformance.lists import exceptions

LEAST = 0.95
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.2, 0.9, (2, 3, 4))
V, S = RNG.uniform(0.2, 0.9, 4), RNG.uniform(0.2, 0.9, (4, 4))
IMAGES, FILTERS = RNG.uniform(0.2, 0.9, (2, 3, 6, 6)), RNG.uniform(0.2, 0.9, (4, 3, 2, 2))
GIVEN = {
    "x": X,
    "y": Y,
    "above": 1 + X,
    "v": V,
    "s": S,
    "signed": X - 0.5,
    "images": IMAGES,
    "filters": FILTERS,
}
LABELS = np.array([1, 0, 3])

REDUCED = ("sum", "mean", "var", "std", "prod", "max", "min", "amax", "amin")
# m is mygrad or NumPy, n mygrad.nnet.
EXPRESSIONS = [
    *(
        f"m.{name}(x{axis})"
        for name in REDUCED
        for axis in ("", ", axis=0", ", axis=1, keepdims=True")
    ),
    *(f"m.{name}(x, axis={axis})" for name in ("cumsum", "cumprod") for axis in (0, 1)),
    "m.clip(x, 0.3, 0.8)",
    "m.where(c, x, y)",
    "m.matmul(x, s)",
    "m.matmul(x, v)",
    "m.einsum('ij,kj->ik', x, y)",
    "m.einsum('ii->i', s)",
    "m.einsum('...j,j', x, v)",
    "m.concatenate([x, y], axis=1)",
    "m.stack([x, y], axis=1)",
    "m.atleast_3d(x)",
    "m.broadcast_to(v, (3, 4))",
    "m.expand_dims(x, 1)",
    "m.moveaxis(x, 0, 1)",
    "m.swapaxes(x, 0, 1)",
    "m.transpose(x)",
    "m.ravel(x)",
    "m.repeat(x, 2, axis=1)",
    "m.reshape(x, (2, 6))",
    "m.roll(x, 1, axis=0)",
    "m.squeeze(x[None])",
    "x[1]",
    "x[::2, ::-1]",
    "x[[0, 2, 0]]",
    "x[:, [1, 1]]",
    "x[c]",
    "x[..., None, 0]",
    "x + v",
    "v - x",
    "x * y",
    "x / y",
    "x ** y",
    "x ** 3",
    "2 ** x",
    "-x",
    "x @ s",
    "x.T",
    "(x * y).sum(axis=0) * v",
    "n.sigmoid(x)",
    "n.tanh(x)",
    "n.relu(signed)",
    "n.leaky_relu(signed, 0.1)",
    "n.elu(signed, 0.7)",
    "n.selu(signed)",
    "n.glu(x)",
    "n.hard_tanh(signed)",
    "n.soft_sign(x)",
    "n.softmax(x)",
    "n.logsoftmax(x)",
    "n.softmax_crossentropy(x, labels)",
    "n.negative_log_likelihood(x, labels)",
    "n.focal_loss(x, labels)",
    "n.softmax_focal_loss(x, labels)",
    "n.multiclass_hinge(x, labels)",
    "n.margin_ranking_loss(x, y, 1, 0.2)",
    "n.batchnorm(images, eps=1e-5)",
    "n.max_pool(images, (2, 2), 2)",
    "n.conv_nd(images, filters, stride=1)",
    "m.multi_matmul([x, s, v])",
    "m.add_sequence(x, y, v)",
    "m.multiply_sequence(x, y, v)",
    "m.linalg.norm(x)",
    "m.linalg.norm(x, axis=1)",
]


ONLY_ABOVE_ONE = ("arccosh", "arccsc", "arcsec", "arccoth")


def elementwise() -> Iterator[str]:
    """MyGrad's functions of one and two arguments that have a gradient."""
    for name, thing in sorted(vars(mygrad).items()):
        kind, x = type(thing).__name__, "above" if name in ONLY_ABOVE_ONE else "x"
        if kind in ("MyGradUnaryUfunc", "MyGradBinaryUfunc"):
            yield f"m.{name}({x}{', y' * (kind == 'MyGradBinaryUfunc')})"
        elif name in (
            "cot",
            "csc",
            "sec",
            "coth",
            "csch",
            "sech",
            "arccot",
            "arccsc",
            "arcsec",
            "arccoth",
        ):
            yield f"m.{name}({x})"


def function(expression: str, module: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Of the arrays that it names."""
    names = [name for name in GIVEN if re.search(rf"\b{name}\b", expression)]
    scope = {"m": module, "n": mygrad.nnet, "c": X > 0.5, "labels": LABELS}
    f = eval(f"lambda {', '.join(names)}: {expression}", scope)
    return f, [GIVEN[name].copy() for name in names]


def by_mygrad(expression: str) -> tuple[Any, list[Any]]:
    f, args = function(expression, mygrad)
    tensors = [mygrad.tensor(arg) for arg in args]
    out = f(*tensors)
    (out * weights(out.data)).sum().backward()
    return out.data, [each.grad for each in tensors]


def by_ours(expression: str, module: Any) -> tuple[Any, list[Any]]:
    f, args = function(expression, module)

    def forward(*args: Any) -> Any:
        if module is np:
            return f(*args)
        return f(*[mygrad.tensor(arg, copy=False) for arg in args]).data

    out, pullback = pycompile.vjp(forward, *args)
    return out, list(pullback(weights(out)))


def weights(out: Any) -> Any:
    return np.cos(1.0 + np.arange(np.size(out))).reshape(np.shape(out))


def told(expression: str, module: Any) -> str:
    value, wanted = by_mygrad(expression)
    try:
        out, found = by_ours(expression, module)
    except pycompile.DerivativeError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"
    pairs = zip((value, *wanted), (out, *found), strict=True)
    return "pass" if all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs) else "differ"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.mygrad_cases", description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="tell of those with a reason, too")
    verbose = parser.parse_args().verbose
    counts: collections.Counter[str] = collections.Counter()
    known = exceptions("mygrad")
    for expression in [*elementwise(), *EXPRESSIONS]:
        called = re.match(r"m\.(\w+)|n\.", expression)
        # Operators are methods of MyGrad's class of arrays, which are no NumPy code.
        modules = [mygrad] if called else []
        modules += [np] if called is None or hasattr(np, called[1] or "") else []
        for module in modules:
            name = f"{expression}::{module.__name__}"
            outcome = told(expression, module)
            is_known = any(fnmatchcase(name, pattern) for pattern in known)
            counts["all"] += 1
            counts["pass"] += outcome == "pass"
            counts["open"] += outcome != "pass" and not is_known
            if outcome != "pass" and (verbose or not is_known):
                print(f"{name}: {outcome[:150]}", flush=True)
    share = counts["pass"] / counts["all"]
    print(
        f"{counts['pass']} of {counts['all']} pass ({share:.1%}), {counts['open']} fail without a reason"
    )
    return int(bool(counts["open"] or share < LEAST))


if __name__ == "__main__":
    raise SystemExit(main())
