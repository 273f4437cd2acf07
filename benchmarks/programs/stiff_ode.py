"""Robertson's stiff reactions by SciPy's BDF: the library's Python around a tiny right-hand side."""

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.programs import compiled

SIZES = (1, 30)


@compiled
def rates(t, y):
    a = 0.04 * y[0]
    b = 1e4 * y[1] * y[2]
    c = 3e2 * y[1] * y[1]
    return np.array([b - a, a - b - c, c])


@compiled
def integrate(start, end):
    solution = solve_ivp(rates, (0.0, end), start, method="BDF", rtol=1e-3)
    return solution.y[:, -1], solution.nfev


def main(rng, size):
    start = np.array([1.0, rng.uniform(0, 1e-4), 0.0])
    return integrate(start, 0.02 * size)
