"""Times of second derivatives, Jacobians, directions and batches, beside JAX's `jit` of the same, in one
process and in turns.

    OMP_NUM_THREADS=1 taskset -c 0 python -m benchmarks.jacobians [NAME ...]

`first` is the first call, in seconds; the other times, in milliseconds, are those of calls after some
seconds.  JAX's answers are compared with ours.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pycompile

ROUNDS, MOMENT, WARM = 5, 0.1, 3.0


def functions(np: Any) -> Any:
    """The functions with NumPy, or with JAX's array library, as `np`."""

    class Of:
        @staticmethod
        def logistic(w, x, y):
            z = x @ w
            return (np.logaddexp(0.0, z) - y * z).sum() + 0.5 * (w * w).sum()

        @staticmethod
        def rosenbrock(x):
            return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

        @staticmethod
        def mlp(w, b, v, x, y):
            return ((np.tanh(x @ w + b) @ v - y) ** 2).mean()

        @staticmethod
        def output(x, w, b, v):
            return np.tanh(x @ w + b) @ v

        @staticmethod
        def likelihood(p, x):
            s = np.exp(p[1])
            return (0.5 * ((x - p[0]) / s) ** 2 + np.log(s)).sum()

        @staticmethod
        def option(s, k, t, r, sigma):
            d = (np.log(s / k) + (r + 0.5 * sigma * sigma) * t) / (sigma * np.sqrt(t))
            e = d - sigma * np.sqrt(t)
            return s / (1.0 + np.exp(-1.702 * d)) - k * np.exp(-r * t) / (1.0 + np.exp(-1.702 * e))

        @staticmethod
        def pendulum(s):
            q, p = s[:2], s[2:]
            a, c = np.sin(q[0] - q[1]), np.cos(q[0] - q[1])
            down = -a * p[1] ** 2 - 9.81 * np.sin(q[0])
            return np.stack((p[0], p[1], down, a * p[0] ** 2 - 9.81 * np.sin(q[1]) * c))

        @staticmethod
        def residual(p, t, y):
            return p[0] * np.exp(-p[1] * t) + p[2] * np.cos(p[3] * t) - y

        @staticmethod
        def mixed(x):
            return np.tanh(x) * x.sum() + np.sin(x)

        @staticmethod
        def quartic(x, a):
            return np.exp(-0.5 * (x @ a @ x)) + (x**4).sum()

    return Of


def cases() -> dict[str, tuple[Callable[[Any, Any], Any], tuple[Any, ...]]]:
    """By name: what is asked of a library and of its functions, and the arguments."""
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(500, 20)), (rng.random(500) > 0.5).astype(float)
    a, t = rng.normal(size=(30, 30)), np.linspace(0, 5, 200)
    net = (rng.normal(size=(10, 16)), np.zeros(16), rng.normal(size=16))
    data = (rng.normal(size=(200, 10)), rng.normal(size=200))
    many = rng.uniform(80, 120, 1000), rng.uniform(80, 120, 1000), rng.uniform(0.1, 2, 1000)
    options = (*many, np.full(1000, 0.02), rng.uniform(0.1, 0.4, 1000))
    state, wide, items = np.array([0.1, 0.2, 0.3, 0.4]), rng.normal(size=200), data[0][:100]
    along = rng.normal(size=200)
    shared = (0, None, None, None)
    return {
        "hessian logistic": (lambda of, f: of.hessian(f.logistic), (0.1 * x[0], x, labels)),
        "hessian rosenbrock": (lambda of, f: of.hessian(f.rosenbrock), (wide[:100],)),
        "hessian mlp": (lambda of, f: of.hessian(f.mlp, 1), (*net, *data)),
        "hessian likelihood": (lambda of, f: of.hessian(f.likelihood), (state[1:3], wide)),
        "hessian quartic": (lambda of, f: of.hessian(f.quartic), (0.1 * wide[:30], a @ a.T / 30)),
        "greeks by vmap(grad)": (lambda of, f: of.vmap(of.grad(f.option, (0, 2, 3, 4))), options),
        "jacfwd pendulum": (lambda of, f: of.jacfwd(f.pendulum), (state,)),
        "jacrev pendulum": (lambda of, f: of.jacrev(f.pendulum), (state,)),
        "jacfwd residual": (lambda of, f: of.jacfwd(f.residual), (state, t, np.sin(t))),
        "jacrev mixed": (lambda of, f: of.jacrev(f.mixed), (wide,)),
        "jacfwd mixed": (lambda of, f: of.jacfwd(f.mixed), (wide,)),
        "vmap mlp": (lambda of, f: of.vmap(f.output, shared), (items, *net)),
        "vmap(grad) mlp": (lambda of, f: of.vmap(of.grad(f.output), shared), (items, *net)),
        "jvp mixed": (
            lambda of, f: lambda x, v: of.jvp(f.mixed, (x,), (v,)),
            (wide, along),
        ),
        "jvp(grad) rosenbrock": (
            lambda of, f: lambda x, v: of.jvp(of.grad(f.rosenbrock), (x,), (v,)),
            (wide[:100], along[:100]),
        ),
    }


def least(call: Callable[[], Any], seconds: float) -> float:
    out, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or out == math.inf:
        start = time.perf_counter()
        call()
        out = min(out, time.perf_counter() - start)
    return out


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def main() -> None:
    import jax
    import jax.numpy

    jax.config.update("jax_enable_x64", True)
    ours, theirs = functions(np), functions(jax.numpy)
    print(f"{'':24}{'ours':>9}{'JAX':>9}{'/JAX':>7}{'first':>8}{'JAX':>8}")
    ratios = []
    for name, (make, args) in cases().items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        given = tuple(map(jax.numpy.asarray, args))
        jitted, mine = jax.jit(make(jax, theirs)), make(pycompile, ours)

        def by_jax(jitted: Any = jitted, given: Any = given) -> Any:
            return jax.block_until_ready(jitted(*given))

        def by_us(mine: Any = mine, args: Any = args) -> Any:
            return mine(*args)

        expected, their_first = timed(by_jax)
        _, our_first = timed(by_us)
        least(by_us, max(WARM, 4 * our_first))
        pairs = zip(jax.tree.leaves(by_us()), jax.tree.leaves(expected), strict=True)
        for one, other in pairs:
            if not np.allclose(one, other, rtol=1e-8, atol=1e-10):
                raise SystemExit(f"{name}: not JAX's")
        pairs = [(least(by_us, MOMENT), least(by_jax, MOMENT)) for _ in range(ROUNDS)]
        us, them = (min(times) for times in zip(*pairs, strict=True))
        ratios.append(us / them)
        print(
            f"{name:24}{us * 1e3:9.3f}{them * 1e3:9.3f}{us / them:7.2f}"
            f"{our_first:8.2f}{their_first:8.2f}",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} cases: {mean:.2f} of JAX's time, at most {max(ratios):.2f}")


if __name__ == "__main__":
    main()
