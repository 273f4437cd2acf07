"""A figure by matplotlib, imported when it is first wanted: a program of library calls."""

import io

import numpy as np

SIZES = (50, 400)
CALLS = 3


def main(rng, size):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(4, 3))
    x = np.linspace(0, 10, size)
    for i, axis in enumerate(axes.flat):
        axis.plot(x, np.sin(x * (i + 1)), label="sin")
        axis.scatter(x[::20], np.cos(x[::20]))
        axis.legend()
    axes[0, 0].hist(rng.normal(size=size), bins=30)
    axes[1, 1].imshow(np.outer(x[:50], x[:50]))
    picture = io.BytesIO()
    figure.savefig(picture, format="rgba")
    plt.close(figure)
    return picture.getvalue()
