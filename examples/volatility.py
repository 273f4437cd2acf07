"""How restless a share was: a model whose variance of today follows from yesterday's (GARCH), fitted to
Google's daily prices by the gradient of a loop (matplotlib's sample data)."""

import time

import numpy as np
from matplotlib import cbook
from timing import measure

import pycompile


def variances(p, returns):
    """Each day's variance: a part for ever, a part of the last return's square, a part of itself."""
    base, shock, stay = np.exp(p[0]), 1 / (1 + np.exp(-p[1])), 1 / (1 + np.exp(-p[2]))
    variance = np.empty(len(returns))
    variance[0] = np.mean(returns**2)
    for day in range(1, len(returns)):
        last = (1 - stay) * shock * returns[day - 1] ** 2 + stay * variance[day - 1]
        variance[day] = base + last
    return variance


@pycompile.compile
def surprise(p, returns):
    """The negative logarithm of the returns' likelihood, a day's mean."""
    variance = variances(p, returns)
    return 0.5 * np.mean(np.log(variance) + returns**2 / variance)


surprise_and_gradient = pycompile.value_and_grad(surprise)


def load():
    """The days, and by how many percent the price moved on each."""
    with cbook.get_sample_data("goog.npz") as data:
        prices = data["price_data"]
    return prices["date"][1:], 100 * np.diff(np.log(prices["adj_close"]))


def start():
    return np.array([-2.0, -1.0, 2.0])


def fit(returns, steps=300):
    """Adam's steps; the values on the way."""
    p, m, v, losses = start(), np.zeros(3), np.zeros(3), []
    for step in range(1, steps + 1):
        loss, gradient = surprise_and_gradient(p, returns)
        m = 0.9 * m + 0.1 * gradient
        v = 0.99 * v + 0.01 * gradient**2
        p = p - 0.05 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-12)
        losses.append(loss)
    return p, losses


def main(out=None):
    days, returns = load()
    agree = measure("volatility: likelihood", surprise, start(), returns)
    p, losses = fit(returns)
    began = time.perf_counter()
    for _ in range(20):
        gradient = surprise_and_gradient(p, returns)[1]
    took = (time.perf_counter() - began) / 20
    ahead, behind = (surprise(p + side * np.array([0, 1e-5, 0]), returns) for side in (1, -1))
    agree &= bool(abs((ahead - behind) / 2e-5 - gradient[1]) < 1e-6)
    print(
        f"{'':<34} gradient {took * 1e3:.2f} ms; after {len(losses)} steps {losses[0]:.4f} -> "
        f"{losses[-1]:.4f}, {1 / (1 + np.exp(-p[2])):.2f} of a day's variance stays"
    )
    if out is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 3), layout="constrained")
        axes = figure.subplots()
        axes.plot(days, returns, color="lightgrey", linewidth=0.7)
        axes.plot(days, np.sqrt(variances(p, returns)))
        axes.set_ylabel("percent a day")
        figure.savefig(out / "volatility.png", dpi=100)
    return agree


FUNCTIONS = {"surprise": (surprise, lambda: (start(), load()[1][:300]))}

if __name__ == "__main__":
    main()
