"""Noise filtered out with SciPy's butter and filtfilt, one short signal a call."""

import numpy as np
from scipy.signal import butter, filtfilt

from benchmarks.programs import compiled

SIZES = (60, 2000)
CALLS = 1000


@compiled
def smooth(signal, order, cutoff):
    b, a = butter(order, cutoff)
    return filtfilt(b, a, signal)


@compiled
def error(smoothed, truth):
    return np.sqrt(((smoothed - truth) ** 2).mean())


def main(rng, size):
    t = np.linspace(0, 6, size)
    truth = np.sin(t) + 0.3 * np.sin(3 * t)
    smoothed = smooth(truth + rng.normal(scale=0.3, size=size), int(rng.integers(2, 5)), 0.1)
    return smoothed, error(smoothed, truth)
