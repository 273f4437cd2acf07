"""A curve fitted by SciPy's Nelder-Mead: the library's Python calls a small function of the program."""

import numpy as np
from scipy.optimize import minimize

from benchmarks.programs import compiled

SIZES = (10, 200)


@compiled
def model(parameters, t):
    height, rate, offset = parameters
    return height * np.exp(-rate * t) + offset


@compiled
def loss(parameters, t, measured):
    return ((model(parameters, t) - measured) ** 2).mean()


@compiled
def fit(t, measured):
    found = minimize(loss, np.ones(3), (t, measured), "Nelder-Mead", options={"maxiter": 25})
    return found.x, found.fun, found.nit


def main(rng, size):
    t = np.linspace(0, 4, size)
    measured = 2.0 * np.exp(-1.3 * t) + 0.5 + rng.normal(scale=0.05, size=size)
    return fit(t, measured)
