"""A flock: each bird is steered by all others in arrays of pairs, step by step."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (4, 70)
CALLS = 60


@compiled
def pairs(position):
    offset = position[None, :, :] - position[:, None, :]
    distance = np.sqrt((offset * offset).sum(axis=2)) + 1e-9
    return offset, distance


@compiled
def steer(position, velocity):
    offset, distance = pairs(position)
    near = (distance < 3.0) & (distance > 1e-6)
    count = np.maximum(near.sum(axis=1), 1)[:, None]
    together = (offset * near[:, :, None]).sum(axis=1) / count
    aligned = (velocity[None, :, :] * near[:, :, None]).sum(axis=1) / count - velocity
    close = distance < 0.8
    apart = -(offset / distance[:, :, None] * close[:, :, None]).sum(axis=1)
    return 0.02 * together + 0.05 * aligned + 0.1 * apart


@compiled
def limit(velocity, most):
    speed = np.sqrt((velocity**2).sum(axis=1, keepdims=True))
    return velocity * np.minimum(1.0, most / (speed + 1e-12))


def main(rng, size):
    position = rng.uniform(0, 10, (size, 2))
    velocity = rng.normal(size=(size, 2))
    for _ in range(12):
        velocity = limit(velocity + steer(position, velocity), 1.0)
        position = (position + 0.1 * velocity) % 10.0
    return position, velocity.mean(axis=0)
