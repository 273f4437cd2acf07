"""Q-learning of a way through a grid: an agent draws, moves, and writes one cell of a table per step."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (3, 9)
CALLS = 60
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


@compiled
def move(row, column, action, n):
    down, right = MOVES[action]
    row = min(max(row + down, 0), n - 1)
    column = min(max(column + right, 0), n - 1)
    return row, column


@compiled
def choose(q, row, column, rng):
    if rng.random() < 0.2:
        return int(rng.integers(4))
    return int(q[row, column].argmax())


@compiled
def learn(q, row, column, action, reward, best_next):
    q[row, column, action] += 0.3 * (reward + 0.95 * best_next - q[row, column, action])


def episode(q, n, rng):
    row = column = steps = 0
    while (row, column) != (n - 1, n - 1) and steps < 60:
        action = choose(q, row, column, rng)
        new_row, new_column = move(row, column, action, n)
        reward = 1.0 if (new_row, new_column) == (n - 1, n - 1) else -0.01
        learn(q, row, column, action, reward, q[new_row, new_column].max())
        row, column = new_row, new_column
        steps += 1
    return steps


def main(rng, size):
    q = np.zeros((size, size, 4))
    steps = [episode(q, size, rng) for _ in range(25)]
    return q, steps
