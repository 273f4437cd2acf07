"""A hidden Markov model: forward, Viterbi and backward passes over a row of symbols."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (5, 600)


@compiled
def forward(symbols, start, move, emit):
    belief = start * emit[:, symbols[0]]
    total = 0.0
    for t in range(1, len(symbols)):
        scale = belief.sum()
        total += np.log(scale)
        belief = (belief / scale) @ move * emit[:, symbols[t]]
    return total + np.log(belief.sum())


@compiled
def viterbi(symbols, start, move, emit):
    n, states = len(symbols), len(start)
    best = np.empty((n, states))
    came = np.zeros((n, states), np.int64)
    best[0] = start + emit[:, symbols[0]]
    for t in range(1, n):
        for j in range(states):
            top, where = -1e300, 0
            for i in range(states):
                value = best[t - 1, i] + move[i, j]
                if value > top:
                    top, where = value, i
            best[t, j] = top + emit[j, symbols[t]]
            came[t, j] = where
    return best, came


@compiled
def way_back(best, came):
    path = np.empty(len(best), np.int64)
    path[-1] = best[-1].argmax()
    for t in range(len(best) - 1, 0, -1):
        path[t - 1] = came[t, path[t]]
    return path


def main(rng, size):
    start = np.array([0.5, 0.3, 0.2])
    move = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    emit = rng.dirichlet(np.ones(4), 3)
    symbols = rng.integers(0, 4, size)
    path = way_back(*viterbi(symbols, np.log(start), np.log(move), np.log(emit)))
    return forward(symbols, start, move, emit), path
