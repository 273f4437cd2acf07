"""The programs of loops.py whose turns compute with arrays, lists and text, and arguments for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# ---- arrays that are made in the turn ----


def transfer_chain(matrices, v):
    for i in range(len(matrices)):
        v = matrices[i] @ v
        v = v / v.sum()
    return v


def row_statistics(x, out):
    for i in range(x.shape[0]):
        out[i, 0] = x[i].mean()
        out[i, 1] = x[i].std()
        out[i, 2] = x[i].max() - x[i].min()


def row_medians(x, out):
    for i in range(x.shape[0]):
        out[i] = np.median(x[i])


def despike(x, half, out):
    for i in range(half, len(x) - half):
        window = x[i - half : i + half + 1]
        middle = np.median(window)
        out[i] = middle if abs(x[i] - middle) > 3.0 * window.std() else x[i]


def trimmed_means(x, cut, out):
    for i in range(x.shape[0]):
        ordered = np.sort(x[i])
        out[i] = ordered[cut:-cut].mean()


def unit_rows(x):
    for i in range(x.shape[0]):
        x[i] /= np.linalg.norm(x[i])


def nearest_centres(points, centres, label):
    for i in range(points.shape[0]):
        distances = ((centres - points[i]) ** 2).sum(axis=1)
        label[i] = np.argmin(distances)


def thinned_copies(x, out):
    for i in range(x.shape[0]):
        row = x[i].copy()
        row[::2] *= 0.5
        row[0] = 0.0
        out[i] = row.sum()


def attention_rows(q, k, v, out):
    for i in range(q.shape[0]):
        scores = k @ q[i]
        weights = np.exp(scores - scores.max())
        out[i] = weights @ v / weights.sum()


def pair_forces(position, mass, force):
    for i in range(position.shape[0]):
        away = position - position[i]
        near = np.sqrt((away**2).sum(axis=1) + 1e-3)
        force[i] = (mass[:, None] * away / near[:, None] ** 3).sum(axis=0)


def moving_correlation(x, y, width, out):
    for i in range(len(x) - width):
        a = x[i : i + width] - x[i : i + width].mean()
        b = y[i : i + width] - y[i : i + width].mean()
        out[i] = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


def binned_means(data, radius, edges, out):
    for k in range(len(edges) - 1):
        chosen = data[(edges[k] <= radius) & (radius < edges[k + 1])]
        out[k] = chosen.mean() if len(chosen) > 0 else 0.0


def escape_masks(c, n, most):
    z = np.zeros_like(c)
    for k in range(most):
        inside = np.abs(z) < 2
        n[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]


def householder_slices(r):
    for k in range(r.shape[1]):
        v = r[k:, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])


def levinson(r, y):
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha


def suppressed_peaks(scores, width, out):
    for k in range(len(out)):
        best = np.argmax(scores)
        out[k] = best
        scores[max(best - width, 0) : best + width] = -1.0


def rank_rows(x, edges, out):
    for i in range(x.shape[0]):
        places = np.searchsorted(edges, x[i])
        out[i] = np.bincount(places, minlength=len(edges) + 1)


# ---- arrays that are carried, or changed as a whole ----


def power_iteration(a, v, steps):
    size = 0.0
    for _ in range(steps):
        w = a @ v
        size = np.sqrt(w @ w)
        v = w / size
    return size, v


def jacobi_swapped(a, b, x, steps):
    diagonal = np.diag(a).copy()
    new = np.zeros_like(x)
    for _ in range(steps):
        new[:] = (b - (a @ x - diagonal * x)) / diagonal
        x, new = new, x
    return x


def ring_diffusion(u, k, steps):
    for _ in range(steps):
        u = u + k * (np.roll(u, 1) + np.roll(u, -1) - 2.0 * u)
    return u


def momentum(a, b, x, steps):
    v = np.zeros_like(x)
    for _ in range(steps):
        v = 0.9 * v - 0.01 * (a @ x - b)
        x = x + v
    return x


def logistic_descent(x, y, w, steps):
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        w = w - 0.1 * (x.T @ (p - y)) / len(y)
    return w


def kalman_matrices(f, h, q, r, x, p, measured, out):
    for i in range(len(measured)):
        x = f @ x
        p = f @ p @ f.T + q
        gain = p @ h.T / (h @ p @ h.T + r)
        x = x + gain[:, 0] * (measured[i] - (h @ x)[0])
        p = p - gain @ h @ p
        out[i] = x[0]
    return x


def edit_distance_new_rows(a, b):
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        before, row = row, np.empty(len(b) + 1, int)
        row[0] = i + 1
        for j in range(len(b)):
            row[j + 1] = min(before[j] + (a[i] != b[j]), before[j + 1] + 1, row[j] + 1)
    return row[-1]


def lorenz(x, steps, dt):
    def slope(p):
        return np.array(
            [10.0 * (p[1] - p[0]), p[0] * (28.0 - p[2]) - p[1], p[0] * p[1] - 2.5 * p[2]]
        )

    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + 0.5 * dt * k1)
        x = x + dt * k2
    return x


def rows_from_views(x):
    above = x[0]
    for i in range(1, x.shape[0]):
        row = x[i]
        row += 0.5 * above
        above = row


# ---- rows that a loop goes over ----


def largest_of_rows(m):
    total = 0.0
    for row in m:
        total += row.max() * row.mean()
    return total


def smoothed_rows(m):
    smooth = m[0].copy()
    for row in m:
        smooth = 0.9 * smooth + 0.1 * row
    return smooth


def cosine_pairs(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=False):
        total += (a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))
    return total


def numbered_rows(m, out):
    for i, row in enumerate(m):
        centred = row - row.mean()
        out[i] = centred @ centred


def perceptron(x, y, w):
    wrong = 0
    for row, label in zip(x, y, strict=False):
        if label * (row @ w) <= 0:
            w = w + label * row
            wrong += 1
    return w, wrong


def backward_rows(m, decay):
    gathered = np.zeros(m.shape[1])
    for row in reversed(m):
        gathered = row + decay * gathered
    return gathered


def rows_beside_numbers(x, weight, out):
    for k, (row, scale) in enumerate(zip(x, weight, strict=False)):
        out[k] = np.tanh(scale * row).sum()


# ---- lists of numbers ----


def flood_stack(start, target, seen):
    stack = [0]
    count = 0
    while stack:
        at = stack.pop()
        if seen[at]:
            continue
        seen[at] = 1
        count += 1
        for k in range(start[at], start[at + 1]):
            stack.append(target[k])
    return count


def coin_table(coins, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for c in range(len(coins)):
        for total in range(coins[c], amount + 1):
            ways[total] = (ways[total] + ways[total - coins[c]]) % 1_000_007
    return ways[amount]


def growing_runs(x):
    tops = [x[0]]
    for i in range(1, len(x)):
        while len(tops) > 0 and tops[-1] < x[i]:
            tops.pop()
        tops.append(x[i])
    return len(tops)


# ---- rare sides ----


def marked_jumps(x, limit, marks):
    level = 0.0
    for i in range(len(x)):
        if abs(x[i] - level) > limit:
            marks[i] = 1
        level = 0.95 * level + 0.05 * x[i]
    return level


def noted_jumps(x, limit):
    level, notes = 0.0, []
    for i in range(len(x)):
        if abs(x[i] - level) > limit:
            notes.append(f"{i}: {x[i]:.2f}")
        level = 0.95 * level + 0.05 * x[i]
    return level, len(notes)


# ---- memory that is made before the loop ----


def distances_into_new(a):
    out = np.ndarray((a.shape[0], a.shape[0]), dtype=a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += (a[i, k] - a[j, k]) ** 2
            out[i, j] = s
    return out


def chosen_columns(x, order, out):
    for i in range(x.shape[0]):
        picked = x[i][order]
        out[i] = np.cumsum(picked)[-1] + np.dot(picked, picked)


def arguments() -> dict[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(11)
    grid = rng.standard_normal
    a = grid((60, 60))
    spd = a @ a.T / 60 + np.eye(60)
    start = np.arange(0, 12001, 4)
    return {
        transfer_chain: (rng.random((500, 20, 20)), rng.random(20)),
        row_statistics: (grid((500, 60)), np.zeros((500, 3))),
        row_medians: (grid((500, 25)), np.zeros(500)),
        despike: (grid(400), 4, np.zeros(400)),
        trimmed_means: (grid((1000, 40)), 4, np.zeros(1000)),
        unit_rows: (grid((2000, 30)),),
        nearest_centres: (grid((1000, 8)), grid((16, 8)), np.zeros(1000, int)),
        thinned_copies: (grid((1000, 40)), np.zeros(1000)),
        attention_rows: (grid((300, 16)), grid((80, 16)), grid((80, 16)), np.zeros((300, 16))),
        pair_forces: (grid((200, 3)), rng.random(200), np.zeros((200, 3))),
        moving_correlation: (grid(1000), grid(1000), 30, np.zeros(1000)),
        binned_means: (grid(2000), rng.random(2000), np.linspace(0, 1, 200), np.zeros(199)),
        escape_masks: (grid(2000) + 1j * grid(2000), np.zeros(2000, int), 100),
        householder_slices: (grid((100, 60)),),
        levinson: (0.9 ** np.arange(1, 301) * rng.random(300), np.zeros(300)),
        suppressed_peaks: (rng.random(5000), 8, np.zeros(150, int)),
        rank_rows: (rng.random((500, 60)), np.linspace(0, 1, 10), np.zeros((500, 11), int)),
        power_iteration: (spd, rng.random(60), 1000),
        jacobi_swapped: (spd + 60 * np.eye(60), grid(60), np.zeros(60), 1000),
        ring_diffusion: (grid(500), 0.1, 500),
        momentum: (spd, grid(60), np.zeros(60), 1000),
        logistic_descent: (grid((200, 8)), rng.integers(0, 2, 200), np.zeros(8), 500),
        kalman_matrices: (
            np.array([[1.0, 0.1], [0.0, 1.0]]),
            np.array([[1.0, 0.0]]),
            0.01 * np.eye(2),
            0.5,
            np.zeros(2),
            np.eye(2),
            grid(500),
            np.zeros(500),
        ),
        edit_distance_new_rows: tuple(rng.integers(0, 4, (2, 150))),
        lorenz: (np.ones(3), 1000, 0.01),
        rows_from_views: (grid((1000, 50)),),
        largest_of_rows: (grid((1000, 50)),),
        smoothed_rows: (grid((1000, 50)),),
        cosine_pairs: (grid((1000, 30)), grid((1000, 30))),
        numbered_rows: (grid((1000, 50)), np.zeros(1000)),
        perceptron: (grid((1000, 30)), rng.choice([-1.0, 1.0], 1000), np.zeros(30)),
        backward_rows: (grid((1000, 50)), 0.9),
        rows_beside_numbers: (grid((1000, 50)), grid(1000), np.zeros(1000)),
        flood_stack: (start, rng.integers(0, 3000, start[-1]), np.zeros(3000, int)),
        coin_table: (np.array([1, 2, 5, 10, 20, 50]), 3000),
        growing_runs: (grid(10_000),),
        marked_jumps: (grid(20_000), 3.2, {}),
        noted_jumps: (grid(20_000), 3.2),
        distances_into_new: (grid((40, 20)),),
        chosen_columns: (grid((1000, 50)), rng.permutation(50)[:20], np.zeros(1000)),
    }
