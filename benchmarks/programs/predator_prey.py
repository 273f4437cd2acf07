"""Hares and lynxes on a strip of land: reaction and diffusion, with time series of both."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 4000)


@compiled
def laplacian(u):
    out = np.empty_like(u)
    out[1:-1] = u[:-2] - 2 * u[1:-1] + u[2:]
    out[0] = u[1] - u[0]
    out[-1] = u[-2] - u[-1]
    return out


@compiled
def step(hares, lynxes, dt):
    eaten = hares * lynxes / (1 + 0.4 * hares)
    grown = hares * (1 - hares / 4.0)
    new_hares = hares + dt * (grown - eaten + 0.1 * laplacian(hares))
    new_lynxes = lynxes + dt * (0.6 * eaten - 0.4 * lynxes + 0.3 * laplacian(lynxes))
    return np.maximum(new_hares, 0), np.maximum(new_lynxes, 0)


@compiled
def turning_points(series):
    found = []
    for i in range(1, len(series) - 1):
        if (series[i] - series[i - 1]) * (series[i + 1] - series[i]) < 0:
            found.append(i)
    return found


def main(rng, size):
    hares, lynxes = rng.uniform(0.5, 2, size), rng.uniform(0.2, 1, size)
    series = np.empty(60)
    for t in range(60):
        hares, lynxes = step(hares, lynxes, 0.05)
        series[t] = hares.mean()
    return series, lynxes.max(), turning_points(series)
