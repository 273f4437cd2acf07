"""Histograms of byte images, equalisation by a table, and Otsu's threshold by a loop of 256."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 300)


@compiled
def equalise(img):
    counts = np.bincount(img.ravel(), minlength=256)
    cumulated = counts.cumsum()
    low = cumulated[cumulated > 0][0]
    table = np.clip((cumulated - low) * 255 / max(img.size - low, 1), 0, 255).astype(np.uint8)
    return table[img]


@compiled
def otsu(counts):
    total = counts.sum()
    whole = (counts * np.arange(256)).sum()
    weight = sum_below = 0
    best, where = -1.0, 0
    for level in range(256):
        weight += counts[level]
        if weight == 0 or weight == total:
            continue
        sum_below += level * counts[level]
        between = (whole * weight / total - sum_below) ** 2 / (weight * (total - weight))
        if between > best:
            best, where = between, level
    return where


def main(rng, size):
    img = (rng.beta(2, 5, (size, size)) * 255).astype(np.uint8)
    flat = equalise(img)
    return flat.mean(), otsu(np.bincount(flat.ravel(), minlength=256)), flat[0]
