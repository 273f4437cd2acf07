"""A Kalman filter follows noisy positions: small matrices, step by step, and a smoother back."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 150)
MOVE = np.array([[1.0, 0.1], [0.0, 1.0]])
LOOK = np.array([[1.0, 0.0]])


@compiled
def predict(x, p, noise):
    return MOVE @ x, MOVE @ p @ MOVE.T + noise * np.eye(2)


@compiled
def update(x, p, measured, spread):
    surprise = measured - LOOK @ x
    s = LOOK @ p @ LOOK.T + spread
    gain = p @ LOOK.T / s[0, 0]
    return x + gain @ surprise, (np.eye(2) - gain @ LOOK) @ p


def follow(measurements):
    x, p = np.zeros(2), np.eye(2) * 10
    states = np.empty((len(measurements), 2))
    for t, measured in enumerate(measurements):
        x, p = predict(x, p, 0.01)
        x, p = update(x, p, measured, 0.25)
        states[t] = x
    return states, p


@compiled
def smoothed(states, weight):
    out = states.copy()
    for t in range(len(out) - 2, -1, -1):
        out[t] = (1 - weight) * out[t] + weight * out[t + 1]
    return out


def main(rng, size):
    truth = np.cumsum(rng.normal(0.1, 0.05, size))
    states, p = follow(truth + rng.normal(scale=0.5, size=size))
    return smoothed(states, 0.3), p, np.sqrt(((states[:, 0] - truth) ** 2).mean())
