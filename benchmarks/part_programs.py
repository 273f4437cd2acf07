"""The programs of loops.py whose turns work on parts of several axes, masks, gathers, heaps and text."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np

# ---- parts of several axes ----


def vertical_sweep(w, g, c, d):
    for k in range(1, c.shape[2]):
        c[:, :, k] = g * (w[1:, :, k] + w[:-1, :, k])
        d[:, :, k] -= d[:, :, k - 1] * c[:, :, k]


def paths_by_planes(d):
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, np.add.outer(d[:, k], d[k]))


def convolution_layers(x, w, out):
    size = w.shape[0]
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.sum(
                x[:, i : i + size, j : j + size, :, None] * w[None], axis=(1, 2, 3)
            )


def sparse_rows(start, column, value, x, y):
    for i in range(len(y)):
        y[i] = value[start[i] : start[i + 1]] @ x[column[start[i] : start[i + 1]]]


def blocked_product(a, b, c, size):
    n = a.shape[0]
    for i in range(0, n, size):
        for j in range(0, n, size):
            for k in range(0, n, size):
                rows, columns, inner = slice(i, i + size), slice(j, j + size), slice(k, k + size)
                c[rows, columns] += a[rows, inner] @ b[inner, columns]


def largest_of_blocks(x, size, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i * size : (i + 1) * size, j * size : (j + 1) * size].max()


def box_means(x, half, out):
    n, m = x.shape
    for i in range(half, n - half):
        for j in range(half, m - half):
            out[i, j] = x[i - half : i + half + 1, j - half : j + half + 1].mean()


def medians_of_nine(x, out):
    n, m = x.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = np.median(x[i - 1 : i + 2, j - 1 : j + 2])


def waves_in_a_plane(u, old, steps):
    new = np.zeros_like(u)
    for _ in range(steps):
        new[1:-1, 1:-1] = (
            2.0 * u[1:-1, 1:-1]
            - old[1:-1, 1:-1]
            + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        )
        old, u, new = u, new, old
    return u


def alternating_directions(u, v, p, q, a, steps):
    n = u.shape[0]
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + 2.0)
            q[1:-1, j] = (u[j, :-2] + u[j, 2:] - q[1:-1, j - 1] * a) / (a * p[1:-1, j - 1] + 2.0)
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 1:-1] = v[1:-1, 1:-1]


# ---- masks ----


def sums_above(x, limits, out):
    for k in range(len(limits)):
        out[k] = x[x > limits[k]].sum()


def clipped_steps(x, low, high, steps):
    for _ in range(steps):
        x += 0.1 * x * (1.0 - x)
        x[x < low] = low
        x[x > high] = high
    return x


def absorbing_walkers(position, step, alive, count):
    for k in range(step.shape[0]):
        position[alive] += step[k][alive]
        alive &= np.abs(position) < 3.0
        count[k] = alive.sum()


def group_means(x, label, out):
    for k in range(len(out)):
        mine = x[label == k]
        out[k] = mine.mean() if len(mine) > 0 else 0.0


def lloyd(points, centres, steps):
    for _ in range(steps):
        label = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        for k in range(centres.shape[0]):
            mine = points[label == k]
            if len(mine) > 0:
                centres[k] = mine.mean(axis=0)
    return centres


# ---- gathers ----


def pagerank(target, source, degree, rank, steps):
    for _ in range(steps):
        new = np.full(len(rank), 0.15 / len(rank))
        np.add.at(new, target, 0.85 * rank[source] / degree[source])
        rank = new
    return rank


def value_iteration(reward, following, chance, value, steps):
    for _ in range(steps):
        value = np.max(reward + 0.9 * (chance * value[following]).sum(axis=2), axis=1)
    return value


def shuffled_rows(x, order, out):
    for k in range(order.shape[0]):
        out += x[order[k]]


# ---- numbers ----


def greatest_divisors(a, b, out):
    for i in range(len(a)):
        out[i] = math.gcd(int(a[i]), int(b[i]))


def path_length(x, y):
    total = 0.0
    for i in range(1, len(x)):
        total += math.hypot(x[i] - x[i - 1], y[i] - y[i - 1])
    return total


def rounded_prices(price, tick, out):
    for i in range(len(price)):
        out[i] = round(price[i] / tick) * tick


def xor_shift(out, seed):
    state = np.uint32(seed)
    for i in range(len(out)):
        state ^= state << np.uint32(13)
        state ^= state >> np.uint32(17)
        state ^= state << np.uint32(5)
        out[i] = state


def run_lengths(x, value, length):
    runs = 0
    i = 0
    while i < len(x):
        k = i
        while k < len(x) and x[k] == x[i]:
            k += 1
        value[runs] = x[i]
        length[runs] = k - i
        runs += 1
        i = k
    return runs


# ---- lists, dicts and text ----


def shortest_by_heap(start, target, weight, distance):
    heap = [(0.0, 0)]
    distance[0] = 0.0
    while heap:
        d, at = heapq.heappop(heap)
        if d > distance[at]:
            continue
        for k in range(start[at], start[at + 1]):
            new = d + weight[k]
            if new < distance[target[k]]:
                distance[target[k]] = new
                heapq.heappush(heap, (new, target[k]))


def counted_keys(keys):
    counts = {}
    for i in range(len(keys)):
        key = int(keys[i])
        counts[key] = counts.get(key, 0) + 1
    return counts


def common_letters(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[len(a), len(b)]


def nearest_in_tree(split, axis, query, out):
    for i in range(len(out)):
        node = 0
        while node < len(split):
            node = 2 * node + 1 + (query[i, axis[node]] > split[node])
        out[i] = node


def arguments() -> dict[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(12)
    grid = rng.standard_normal
    start = np.arange(0, 12001, 4)
    rows = np.arange(0, 20001, 20)
    return {
        vertical_sweep: (grid((33, 32, 40)), 0.3, grid((32, 32, 40)), grid((32, 32, 40))),
        paths_by_planes: (rng.random((100, 100)),),
        convolution_layers: (grid((4, 20, 20, 3)), grid((3, 3, 3, 8)), np.zeros((4, 18, 18, 8))),
        sparse_rows: (rows, rng.integers(0, 1000, 20000), grid(20000), grid(1000), np.zeros(1000)),
        blocked_product: (grid((96, 96)), grid((96, 96)), np.zeros((96, 96)), 16),
        largest_of_blocks: (grid((120, 120)), 4, np.zeros((30, 30))),
        box_means: (grid((40, 40)), 2, np.zeros((40, 40))),
        medians_of_nine: (grid((30, 30)), np.zeros((30, 30))),
        waves_in_a_plane: (grid((60, 60)), grid((60, 60)), 200),
        alternating_directions: (
            grid((60, 60)),
            np.zeros((60, 60)),
            np.zeros((60, 60)),
            np.zeros((60, 60)),
            -0.4,
            10,
        ),
        sums_above: (grid(2000), np.linspace(-1, 1, 300), np.zeros(300)),
        clipped_steps: (rng.random(1000), 0.2, 0.8, 300),
        absorbing_walkers: (
            grid(500),
            0.1 * grid((300, 500)),
            np.ones(500, bool),
            np.zeros(300, int),
        ),
        group_means: (grid(2000), rng.integers(0, 100, 2000), np.zeros(100)),
        lloyd: (grid((300, 2)), grid((5, 2)), 20),
        pagerank: (
            rng.integers(0, 300, 2000),
            rng.integers(0, 300, 2000),
            np.full(300, 7.0),
            np.full(300, 1 / 300),
            100,
        ),
        value_iteration: (
            grid((60, 4)),
            rng.integers(0, 60, (60, 4, 3)),
            rng.random((60, 4, 3)) / 3,
            np.zeros(60),
            200,
        ),
        shuffled_rows: (grid((200, 40)), rng.integers(0, 200, (500, 30)), np.zeros((30, 40))),
        greatest_divisors: (
            rng.integers(1, 10**9, 3000),
            rng.integers(1, 10**9, 3000),
            np.zeros(3000, int),
        ),
        path_length: (grid(20_000), grid(20_000)),
        rounded_prices: (100 * rng.random(10_000), 0.25, np.zeros(10_000)),
        xor_shift: (np.zeros(10_000, np.uint32), 2463534242),
        run_lengths: (rng.integers(0, 2, 20_000), np.zeros(20_000, int), np.zeros(20_000, int)),
        shortest_by_heap: (
            start,
            rng.integers(0, 3000, start[-1]),
            rng.random(start[-1]),
            np.full(3000, np.inf),
        ),
        counted_keys: (rng.integers(0, 100, 10_000),),
        common_letters: (
            "".join(rng.choice(list("acgt"), 200)),
            "".join(rng.choice(list("acgt"), 200)),
        ),
        nearest_in_tree: (
            grid(1023),
            rng.integers(0, 3, 1023),
            grid((3000, 3)),
            np.zeros(3000, int),
        ),
    }
