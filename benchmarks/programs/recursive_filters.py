"""An exponential average, a biquad and an envelope follower: loops where each value needs the one before."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (50, 10_000)


@compiled
def exponential(x, alpha):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


@compiled
def biquad(x, b0, b1, b2, a1, a2):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        value = b0 * x[i] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1 = x1, x[i]
        y2, y1 = y1, value
        y[i] = value
    return y


@compiled
def envelope(x, attack, release):
    level = 0.0
    out = []
    for value in np.abs(x).tolist():
        rate = attack if value > level else release
        level += rate * (value - level)
        out.append(level)
    return out


def main(rng, size):
    x = rng.normal(size=size)
    slow = exponential(x, 0.1)
    band = biquad(x, 0.2, 0.0, -0.2, -1.6, 0.7)
    return slow[-3:], band.std(), envelope(x, 0.3, 0.01)[-1]
