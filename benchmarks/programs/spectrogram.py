"""A spectrogram by windows and FFTs, its peaks followed over time."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (600, 8000)


def chirp(rng, n):
    t = np.arange(n) / 1000
    return np.sin(2 * np.pi * (20 + 15 * t) * t) + 0.2 * rng.normal(size=n)


@compiled
def frames(signal, width, hop):
    count = 1 + (len(signal) - width) // hop
    out = np.empty((count, width))
    for i in range(count):
        out[i] = signal[i * hop : i * hop + width]
    return out


@compiled
def power(block):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(block.shape[1]) / block.shape[1])
    spectrum = np.fft.rfft(block * window, axis=1)
    return np.log10(spectrum.real**2 + spectrum.imag**2 + 1e-12)


@compiled
def peaks(levels):
    best = levels.argmax(axis=1)
    smooth = best.astype(float)
    for i in range(1, len(best)):
        smooth[i] = 0.6 * smooth[i - 1] + 0.4 * best[i]
    return smooth


def main(rng, size):
    levels = power(frames(chirp(rng, size), 128, 32))
    return peaks(levels), levels.mean(axis=0)
