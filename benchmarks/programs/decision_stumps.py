"""AdaBoost over decision stumps: thresholds are tried one by one."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (15, 120)
CALLS = 60


@compiled
def predict(x, feature, threshold, sign):
    return np.where(x[:, feature] > threshold, sign, -sign)


@compiled
def best_stump(x, y, weights):
    best = (2.0, 0, 0.0, 1)
    for feature in range(x.shape[1]):
        for threshold in np.unique(x[:, feature])[::4]:
            wrong = predict(x, feature, threshold, 1) != y
            error = weights[wrong].sum()
            for sign, e in ((1, error), (-1, 1 - error)):
                if e < best[0]:
                    best = (e, feature, threshold, sign)
    return best


@compiled
def reweighted(weights, alpha, y, guess):
    new = weights * np.exp(-alpha * y * guess)
    return new / new.sum()


def boost(x, y, turns):
    weights = np.full(len(y), 1 / len(y))
    stumps = []
    for _ in range(turns):
        error, feature, threshold, sign = best_stump(x, y, weights)
        alpha = 0.5 * np.log((1 - error + 1e-9) / (error + 1e-9))
        weights = reweighted(weights, alpha, y, predict(x, feature, threshold, sign))
        stumps.append((alpha, feature, threshold, sign))
    return stumps


def main(rng, size):
    x = rng.normal(size=(size, 3))
    y = np.where(x[:, 0] + x[:, 1] ** 2 > 0.5, 1, -1)
    stumps = boost(x, y, 5)
    score = sum(alpha * predict(x, *rest) for alpha, *rest in stumps)
    return stumps, (np.sign(score) == y).mean()
