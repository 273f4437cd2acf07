"""A small convolutional network written out: shifts, ReLU, pooling, softmax, and the gradients."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (2, 24)
CALLS = 60


@compiled
def convolve(images, kernels, bias):
    n, height, width = images.shape
    out = np.zeros((n, len(kernels), height - 2, width - 2))
    for i in range(3):
        for j in range(3):
            window = images[:, None, i : i + height - 2, j : j + width - 2]
            out += window * kernels[None, :, i, j, None, None]
    return out + bias[None, :, None, None]


@compiled
def pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))


@compiled
def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def forward(model, images):
    raw = convolve(images, model["kernels"], model["bias"])
    active = np.maximum(raw, 0)
    flat = pool(active).reshape(len(images), -1)
    return raw, flat, softmax(flat @ model["out"])


@compiled
def kernel_gradient(images, slopes):
    gradient = np.zeros((slopes.shape[1], 3, 3))
    h, w = slopes.shape[2:]
    for i in range(3):
        for j in range(3):
            window = images[:, None, i : i + h, j : j + w]
            gradient[:, i, j] = (window * slopes).sum(axis=(0, 2, 3))
    return gradient


def train(model, images, labels, rate):
    raw, flat, chances = forward(model, images)
    error = chances.copy()
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    back = (error @ model["out"].T).reshape(len(images), len(model["bias"]), 5, 5)
    slopes = np.repeat(np.repeat(back, 2, axis=2), 2, axis=3) / 4 * (raw > 0)
    model["out"] -= rate * flat.T @ error
    model["kernels"] -= rate * kernel_gradient(images, slopes)
    model["bias"] -= rate * slopes.sum(axis=(0, 2, 3))
    return -np.log(chances[np.arange(len(labels)), labels]).mean()


def main(rng, size):
    model = {
        "kernels": rng.normal(scale=0.3, size=(4, 3, 3)),
        "bias": np.zeros(4),
        "out": rng.normal(scale=0.1, size=(100, 3)),
    }
    images = rng.random((size, 12, 12))
    labels = (images.mean(axis=(1, 2)) * 30).astype(int) % 3
    return [train(model, images, labels, 0.5) for _ in range(6)], model["kernels"]
