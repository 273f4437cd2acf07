"""Option prices over four years of a share's real closing prices (matplotlib's goog.npz).

The volatility of each day is an exponentially weighted average of squared returns, a recurrence that
array operations cannot express; prices and greeks then are Black-Scholes for a grid of strikes.
"""

import numpy as np
from matplotlib import cbook
from scipy.special import ndtr
from timing import measure

import pycompile


@pycompile.compile
def volatility(prices, decay):
    """Yearly volatility by day, RiskMetrics' recurrence."""
    returns = np.log(prices[1:] / prices[:-1])
    squares = returns * returns
    variance = np.empty_like(squares)
    variance[0] = squares[:20].mean()
    for day in range(1, len(squares)):
        variance[day] = decay * variance[day - 1] + (1 - decay) * squares[day - 1]
    return np.sqrt(variance * 252)


@pycompile.compile
def black_scholes(spot, strike, years, rate, sigma):
    """Call and put prices, delta and vega for every (day, strike)."""
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma * sigma / 2) * years) / root
    d2 = d1 - root
    discount = strike * np.exp(-rate * years)
    delta = ndtr(d1)
    call = spot * delta - discount * ndtr(d2)
    put = call - spot + discount
    vega = spot * np.exp(-d1 * d1 / 2) / np.sqrt(2 * np.pi) * np.sqrt(years)
    return call, put, delta, vega


def load():
    with cbook.get_sample_data("goog.npz") as data:
        return np.ascontiguousarray(data["price_data"]["adj_close"])


def arguments():
    """Spots by row, strikes from 70 % to 130 % of them by column, half a year to run."""
    prices = load()
    spot = prices[1:, None]
    strike = np.rint(spot * np.linspace(0.7, 1.3, 121) / 5) * 5
    sigma = volatility(prices, 0.94)[:, None]
    return spot, strike, 0.5, 0.045, sigma


def main(out=None):
    agree = measure("options: volatility", volatility, load(), 0.94)
    agree &= measure("options: Black-Scholes", black_scholes, *arguments())
    if out is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 5), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(volatility(load(), 0.94))
        above.set_ylabel("volatility")
        below.imshow(black_scholes(*arguments())[0].T, aspect="auto", origin="lower")
        below.set_ylabel("strike")
        below.set_xlabel("trading day")
        figure.savefig(out / "options.png", dpi=100)
    return agree


FUNCTIONS = {
    "volatility": (volatility, lambda: (load(), 0.94)),
    "black_scholes": (black_scholes, arguments),
}

if __name__ == "__main__":
    main()
