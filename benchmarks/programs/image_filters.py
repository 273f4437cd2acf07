"""Sobel edges, a box blur, sharpening and a threshold on a grey image."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (12, 250)


def picture(rng, n):
    y, x = np.mgrid[0:n, 0:n] / n
    return np.clip(0.5 + 0.5 * np.sin(9 * x * y) + 0.1 * rng.normal(size=(n, n)), 0, 1)


@compiled
def sobel(img):
    gx = (
        img[:-2, 2:]
        + 2 * img[1:-1, 2:]
        + img[2:, 2:]
        - img[:-2, :-2]
        - 2 * img[1:-1, :-2]
        - img[2:, :-2]
    )
    gy = (
        img[2:, :-2]
        + 2 * img[2:, 1:-1]
        + img[2:, 2:]
        - img[:-2, :-2]
        - 2 * img[:-2, 1:-1]
        - img[:-2, 2:]
    )
    return np.sqrt(gx * gx + gy * gy)


@compiled
def box_blur(img, r):
    padded = np.pad(img, r, mode="edge")
    out = np.zeros_like(img)
    for i in range(2 * r + 1):
        for j in range(2 * r + 1):
            out += padded[i : i + img.shape[0], j : j + img.shape[1]]
    return out / (2 * r + 1) ** 2


@compiled
def sharpen(img, blurred, amount):
    return np.clip(img + amount * (img - blurred), 0.0, 1.0)


@compiled
def threshold(edges):
    limit = edges.mean() + 2 * edges.std()
    return (edges > limit).astype(np.uint8)


def main(rng, size):
    img = picture(rng, size)
    sharp = sharpen(img, box_blur(img, 1), 0.7)
    marks = threshold(sobel(sharp))
    return sharp.mean(), int(marks.sum()), marks[size // 2]
