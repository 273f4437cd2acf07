"""A multi-layer perceptron with Adam, trained on minibatches of what is left of the data."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (10, 300)


def layers(rng, widths):
    return [
        [rng.normal(scale=(2 / a) ** 0.5, size=(a, b)), np.zeros(b)]
        for a, b in zip(widths, widths[1:])
    ]


@compiled
def forward(model, x):
    activations = [x]
    for k, (weights, bias) in enumerate(model):
        x = x @ weights + bias
        if k < len(model) - 1:
            x = np.tanh(x)
        activations.append(x)
    return activations


@compiled
def gradients(model, activations, target):
    delta = (activations[-1] - target) / len(target)
    found = []
    for k in range(len(model) - 1, -1, -1):
        found.append((activations[k].T @ delta, delta.sum(axis=0)))
        if k > 0:
            delta = (delta @ model[k][0].T) * (1 - activations[k] ** 2)
    return found[::-1]


@compiled
def adam(parameter, gradient, first, second, t, rate=0.01):
    first *= 0.9
    first += 0.1 * gradient
    second *= 0.999
    second += 0.001 * gradient * gradient
    parameter -= rate * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)


def train(model, x, y, epochs, batch):
    moments = [[(np.zeros_like(p), np.zeros_like(p)) for p in layer] for layer in model]
    t = 0
    for _ in range(epochs):
        for start in range(0, len(x), batch):
            t += 1
            activations = forward(model, x[start : start + batch])
            found = gradients(model, activations, y[start : start + batch])
            for layer, slopes, moment in zip(model, found, moments):
                for parameter, slope, (first, second) in zip(layer, slopes, moment):
                    adam(parameter, slope, first, second, t)


def main(rng, size):
    x = rng.uniform(-1, 1, (size, 3))
    y = np.sin(3 * x[:, :1]) * x[:, 1:2] + x[:, 2:]
    model = layers(rng, [3, 16, 16, 1])
    train(model, x, y, 3, 32)
    loss = ((forward(model, x)[-1] - y) ** 2).mean()
    return loss, model[0][0]
