"""The block bootstrap: a mean over slices of varying length, many to a call."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (100, 2000)


@compiled
def block_mean(series, start, length):
    block = series[start : start + length]
    centred = block - block.mean()
    return block.mean(), np.sqrt((centred * centred).mean())


@compiled
def resample(series, starts, lengths):
    means = np.empty(len(starts))
    spreads = np.empty(len(starts))
    for i in range(len(starts)):
        means[i], spreads[i] = block_mean(series, starts[i], lengths[i])
    return means, spreads


def main(rng, size):
    series = np.cumsum(rng.normal(size=size))
    lengths = rng.integers(5, 60, 40)
    starts = rng.integers(0, size - 60, 40)
    means, spreads = resample(series, starts, lengths)
    return means.std(), spreads, np.percentile(means, [5, 95])
