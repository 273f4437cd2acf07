"""Sizes of the regions of one colour in an image, by a list of pixels that are yet to be looked at."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (6, 60)


@compiled
def neighbours(image):
    """Of each pixel, in one array: those of pixel k are target[start[k]:start[k + 1]]."""
    height, width = image.shape
    start, target = np.zeros(image.size + 1, int), []
    for i in range(height):
        for j in range(width):
            for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= a < height and 0 <= b < width and image[a, b] == image[i, j]:
                    target.append(a * width + b)
            start[i * width + j + 1] = len(target)
    return start, np.array(target, int)


@compiled
def size_of(first, start, target, seen):
    stack, size = [first], 0
    while stack:
        at = stack.pop()
        if seen[at]:
            continue
        seen[at] = True
        size += 1
        for k in range(start[at], start[at + 1]):
            stack.append(target[k])
    return size


def main(rng, size):
    image = (rng.random((size, size)) < 0.2).astype(int)
    start, target = neighbours(image)
    seen, sizes = np.zeros(image.size, bool), []
    for k in range(image.size):
        if not seen[k]:
            sizes.append(size_of(k, start, target, seen))
    return sorted(sizes)
