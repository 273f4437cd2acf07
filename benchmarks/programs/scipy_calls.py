"""Optimisers, splines, an integrator and a test of SciPy, each once: a program of library calls."""

import numpy as np
from scipy import integrate, interpolate, optimize, signal, stats

SIZES = (10, 100)
CALLS = 30


def rosen(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def main(rng, size):
    start = rng.uniform(-1, 1, 4)
    found = optimize.minimize(rosen, start, method="BFGS", options={"maxiter": 10})
    turned = integrate.solve_ivp(lambda t, y: np.array([y[1], -y[0]]), (0, 5), [1.0, 0.0])
    spline = interpolate.CubicSpline(np.arange(20.0), rng.normal(size=20))
    smooth = signal.filtfilt(*signal.butter(4, 0.2), rng.normal(size=5 * size))
    test = stats.ttest_ind(rng.normal(size=size), rng.normal(size=size))
    return found.x, turned.y[:, -1], spline(np.linspace(0, 19, size)), smooth, test.pvalue
