"""The programs of loops.py: loops over elements as people write them, and arguments for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def gauss_seidel(u, f):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


def edit_distance(a, b, t):
    for i in range(len(a) + 1):
        t[i, 0] = i
    for j in range(len(b) + 1):
        t[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            t[i, j] = min(t[i - 1, j] + 1, t[i, j - 1] + 1, t[i - 1, j - 1] + cost)


def knapsack(weight, value, t):
    for i in range(1, len(weight) + 1):
        for c in range(t.shape[1]):
            t[i, c] = t[i - 1, c]
            if weight[i - 1] <= c:
                taken = t[i - 1, c - weight[i - 1]] + value[i - 1]
                if taken > t[i, c]:
                    t[i, c] = taken


def lu(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def cholesky(a):
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / a[j, j]


def substitution(a, b, x):
    for i in range(len(b)):
        s = b[i]
        for j in range(i):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]


def thomas(a, b, c, d, x):
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] = b[i] - w * c[i - 1]
        d[i] = d[i] - w * d[i - 1]
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]


def sparse_product(start, column, value, x, y):
    for i in range(len(y)):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += value[k] * x[column[k]]
        y[i] = s


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def sieve(flags):
    for i in range(2, len(flags)):
        if flags[i]:
            for k in range(i * i, len(flags), i):
                flags[k] = False


def histogram(x, counts, low, width):
    for i in range(len(x)):
        k = int((x[i] - low) / width)
        if k >= 0 and k < len(counts):
            counts[k] += 1


def nbody(p, v, m, dt):
    for i in range(len(m)):
        for j in range(len(m)):
            if i != j:
                dx = p[j, 0] - p[i, 0]
                dy = p[j, 1] - p[i, 1]
                dz = p[j, 2] - p[i, 2]
                d = dx * dx + dy * dy + dz * dz + 0.01
                w = m[j] / (d * np.sqrt(d)) * dt
                v[i, 0] += dx * w
                v[i, 1] += dy * w
                v[i, 2] += dz * w


def life(now, then):
    n, m = now.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            around = 0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    if a != 0 or b != 0:
                        around += now[i + a, j + b]
            if now[i, j] == 1 and (around == 2 or around == 3):
                then[i, j] = 1
            elif now[i, j] == 0 and around == 3:
                then[i, j] = 1
            else:
                then[i, j] = 0


def bubble_sort(x):
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]


def shortest_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def convolution(x, kernel, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for a in range(kernel.shape[0]):
                for b in range(kernel.shape[1]):
                    s += kernel[a, b] * x[i + a, j + b]
            out[i, j] = s


def checksum(x):
    h = 0
    for i in range(len(x)):
        h = (h * 31 + int(x[i])) % 1000003
    return h


def filter_iir(x, y, a, b):
    for i in range(2, len(x)):
        y[i] = b * x[i] + a * y[i - 1] - 0.2 * y[i - 2]


def largest(x):
    best, at = x[0], 0
    for i in range(1, len(x)):
        if x[i] > best:
            best, at = x[i], i
    return best, at


def row_means(a, out):
    n, m = a.shape
    for i in range(n):
        s = 0.0
        for j in range(m):
            s += a[i, j]
        out[i] = s / m


def column_recurrence(a):
    n, m = a.shape
    for j in range(m):
        for i in range(1, n):
            a[i, j] += 0.5 * a[i - 1, j]


def wave(u, old, new, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = 2.0 * u[i] - old[i] + 0.25 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, len(u) - 1):
            old[i] = u[i]
            u[i] = new[i]


def nearest(points, centres, label):
    for i in range(points.shape[0]):
        best = np.inf
        for k in range(centres.shape[0]):
            d = 0.0
            for c in range(points.shape[1]):
                d += (points[i, c] - centres[k, c]) * (points[i, c] - centres[k, c])
            if d < best:
                best = d
                label[i] = k


def random_walk(out, seed):
    state = seed
    for i in range(1, len(out)):
        state = (state * 1103515245 + 12345) % 2147483648
        if state > 1073741824:
            out[i] = out[i - 1] + 1
        else:
            out[i] = out[i - 1] - 1


def union_find(parent, a, b):
    for k in range(len(a)):
        x, y = a[k], b[k]
        while parent[x] != x:
            x = parent[x]
        while parent[y] != y:
            y = parent[y]
        parent[x] = y


def positive_sum(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            s += x[i]
    return s


def alignment(t, a, b, out):
    """Traceback of an edit distance table."""
    i, j, k = len(a), len(b), 0
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1] and t[i, j] == t[i - 1, j - 1]:
            out[k] = 0
            i -= 1
            j -= 1
        elif t[i, j] == t[i - 1, j] + 1:
            out[k] = 1
            i -= 1
        else:
            out[k] = 2
            j -= 1
        k += 1
    return i, j, k


def heap_sort(x):
    n = len(x)
    start = n // 2
    end = n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            x[end], x[0] = x[0], x[end]
        root = start
        while True:
            child = 2 * root + 1
            if child >= end:
                break
            if child + 1 < end and x[child] < x[child + 1]:
                child += 1
            if x[root] >= x[child]:
                break
            x[root], x[child] = x[child], x[root]
            root = child


def breadth_first(start, target, distance, queue):
    head, tail = 0, 1
    queue[0] = 0
    distance[0] = 0
    while head < tail:
        node = queue[head]
        head += 1
        for k in range(start[node], start[node + 1]):
            other = target[k]
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue[tail] = other
                tail += 1
    return tail


def kalman(z, out, q, r):
    x, p = 0.0, 1.0
    for i in range(len(z)):
        p = p + q
        k = p / (p + r)
        x = x + k * (z[i] - x)
        p = (1.0 - k) * p
        out[i] = x
    return x, p


def tokenizer(text, kind):
    i, n, count = 0, len(text), 0
    while i < n:
        c = text[i]
        if c == 32:
            i += 1
            continue
        start = i
        if 48 <= c <= 57:
            while i < n and 48 <= text[i] <= 57:
                i += 1
            kind[start] = 1
        elif 97 <= c <= 122:
            while i < n and 97 <= text[i] <= 122:
                i += 1
            kind[start] = 2
        else:
            i += 1
            kind[start] = 3
        count += 1
    return count


def lu_pivot(a, p):
    n = a.shape[0]
    for k in range(n):
        at = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[at, k]):
                at = i
        if at != k:
            p[k], p[at] = p[at], p[k]
            for j in range(n):
                a[k, j], a[at, j] = a[at, j], a[k, j]
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def householder(a, d):
    n, m = a.shape
    for k in range(m):
        s = 0.0
        for i in range(k, n):
            s += a[i, k] * a[i, k]
        s = math.sqrt(s)
        if a[k, k] > 0:
            s = -s
        d[k] = s
        a[k, k] -= s
        b = s * a[k, k]
        for j in range(k + 1, m):
            t = 0.0
            for i in range(k, n):
                t += a[i, k] * a[i, j]
            t = t / b
            for i in range(k, n):
                a[i, j] += t * a[i, k]


def escape_time(re, im, out, most):
    for i in range(len(re)):
        for j in range(len(im)):
            x = y = 0.0
            k = 0
            while k < most and x * x + y * y < 4.0:
                x, y = x * x - y * y + re[i], 2.0 * x * y + im[j]
                k += 1
            out[i, j] = k


def binary_search(x, keys, out):
    for k in range(len(keys)):
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < keys[k]:
                low = middle + 1
            else:
                high = middle
        out[k] = low


def popcount(x, out):
    for i in range(len(x)):
        n, v = 0, int(x[i])
        while v:
            v &= v - 1
            n += 1
        out[i] = n


def quicksort(x, stack):
    top = 0
    stack[0], stack[1] = 0, len(x) - 1
    while top >= 0:
        low, high = stack[2 * top], stack[2 * top + 1]
        top -= 1
        while low < high:
            pivot = x[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while x[i] < pivot:
                    i += 1
                while x[j] > pivot:
                    j -= 1
                if i <= j:
                    x[i], x[j] = x[j], x[i]
                    i += 1
                    j -= 1
            if j - low < high - i:
                if i < high:
                    top += 1
                    stack[2 * top], stack[2 * top + 1] = i, high
                high = j
            else:
                if low < j:
                    top += 1
                    stack[2 * top], stack[2 * top + 1] = low, j
                low = i


def runge_kutta(out, t, end, h):
    y = 1.0
    k = 0
    while t < end and k < len(out):
        k1 = -y * t
        k2 = -(y + 0.5 * h * k1) * (t + 0.5 * h)
        k3 = -(y + 0.5 * h * k2) * (t + 0.5 * h)
        k4 = -(y + h * k3) * (t + h)
        low = y + h * k2
        new = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        error = abs(new - low)
        if error > 1e-3:
            h *= 0.5
            continue
        t += h
        y = new
        out[k] = y
        k += 1
        if error < 1e-5:
            h *= 1.5
    return t, y, k


def bilinear(image, out):
    n, m = image.shape
    for i in range(out.shape[0]):
        y = i * (n - 1) / (out.shape[0] - 1)
        y0 = int(y)
        y1 = min(y0 + 1, n - 1)
        fy = y - y0
        for j in range(out.shape[1]):
            x = j * (m - 1) / (out.shape[1] - 1)
            x0 = int(x)
            x1 = min(x0 + 1, m - 1)
            fx = x - x0
            top = image[y0, x0] * (1 - fx) + image[y0, x1] * fx
            low = image[y1, x0] * (1 - fx) + image[y1, x1] * fx
            out[i, j] = top * (1 - fy) + low * fy


def crc(data, table):
    c = 0xFFFFFFFF
    for i in range(len(data)):
        c = int(table[(c ^ int(data[i])) & 0xFF]) ^ (c >> 8)
    return c ^ 0xFFFFFFFF


def fnv(x):
    """FNV-1a."""
    h = 2166136261
    for i in range(len(x)):
        h = ((h ^ int(x[i])) * 16777619) & 0xFFFFFFFF
    return h


def power_law(x, out):
    for i in range(len(x)):
        out[i] = x[i] ** 2.5 + x[i] ** 3


def lu_slices(a):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]


def back_substitution(a, b, x):
    """By columns."""
    for j in range(len(b) - 1, -1, -1):
        x[j] = b[j] / a[j, j]
        b[:j] -= x[j] * a[:j, j]


def sweeps(u, r):
    """Along the first axis, forwards and back, as in an alternating-direction method."""
    for i in range(1, len(u)):
        u[i] += r * u[i - 1]
    for i in range(len(u) - 2, -1, -1):
        u[i] = (u[i] + r * u[i + 1]) / (1.0 + r)


def rank_update(a, u, v):
    """Of the lower triangle."""
    for k in range(u.shape[1]):
        for i in range(len(a)):
            a[i, : i + 1] += u[i, k] * v[: i + 1, k]


def heat(u, c):
    """Each time's row of the one before."""
    for t in range(1, len(u)):
        u[t, 1:-1] = u[t - 1, 1:-1] + c * (u[t - 1, 2:] - 2.0 * u[t - 1, 1:-1] + u[t - 1, :-2])


def gram_schmidt(q, length):
    for j in range(len(q)):
        for i in range(j):
            d = 0.0
            for k in range(q.shape[1]):
                d += q[i, k] * q[j, k]
            q[j] -= d * q[i]
        s = 0.0
        for k in range(q.shape[1]):
            s += q[j, k] * q[j, k]
        length[j] = math.sqrt(s)
        q[j] /= length[j]


def cholesky_slices(a):
    for j in range(len(a)):
        a[j, j] = math.sqrt(a[j, j] - (a[j, :j] * a[j, :j]).sum())
        for i in range(j + 1, len(a)):
            a[i, j] = (a[i, j] - (a[i, :j] * a[j, :j]).sum()) / a[j, j]


def forward_substitution(a, b, x):
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]


def reflections(a, d):
    for k in range(a.shape[1]):
        s = math.sqrt(np.dot(a[k:, k], a[k:, k]))
        d[k] = -s if a[k, k] > 0 else s
        a[k, k] -= d[k]
        for j in range(k + 1, a.shape[1]):
            f = np.dot(a[k:, k], a[k:, j]) / (d[k] * a[k, k])
            a[k:, j] += f * a[k:, k]


def orthogonal_rows(q, length):
    for j in range(len(q)):
        for i in range(j):
            q[j] -= (q[i] @ q[j]) * q[i]
        length[j] = math.sqrt(q[j] @ q[j])
        q[j] /= length[j]


def lu_outer(a):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


def mandelbrot(out, most):
    n, m = out.shape
    for i in range(n):
        for j in range(m):
            c = complex(-2 + 3 * i / n, -1.5 + 3 * j / m)
            z = 0j
            k = 0
            while abs(z) <= 2 and k < most:
                z = z * z + c
                k += 1
            out[i, j] = k


def julia(points, out, most):
    for i in range(len(points)):
        z = points[i]
        n = 0
        while n < most and abs(z) < 2:
            z = z * z + (-0.4 + 0.6j)
            n += 1
        out[i] = n


def fourier(x, out):
    for k in range(len(out)):
        s = 0j
        for t in range(len(x)):
            s += x[t] * np.exp(-2j * np.pi * k * t / len(out))
        out[k] = s


def kernel_sums(x, y, out):
    for i in range(len(x)):
        s = 0.0
        for j in range(len(y)):
            s += np.exp(-0.5 * (x[i] - y[j]) * (x[i] - y[j]))
        out[i] = s


def great_circles(lat, lon, out):
    for i in range(len(lat)):
        for j in range(len(lat)):
            a = math.sin((lat[j] - lat[i]) / 2) ** 2
            b = math.cos(lat[i]) * math.cos(lat[j]) * math.sin((lon[j] - lon[i]) / 2) ** 2
            out[i, j] = 2 * 6371.0 * math.asin(min(1.0, math.sqrt(a + b)))


def sparse_slices(start, column, value, x, y):
    for i in range(len(start) - 1):
        a, b = start[i], start[i + 1]
        y[i] = (value[a:b] * x[column[a:b]]).sum()


def shrink_rows(a, out):
    """Soft thresholds by masks."""
    for i in range(a.shape[0]):
        row = a[i]
        t = np.abs(row).mean()
        out[i] = np.where(row > t, row - t, np.where(row < -t, row + t, 0.0))
        row[(row < 0) & (out[i] == 0)] = 0.0


def softmax_rows(a, out):
    for i in range(a.shape[0]):
        out[i] = np.exp(a[i] - a[i].max())
        out[i] /= out[i].sum()


def reflected_walk(steps, out):
    s = 0.0
    for i in range(len(steps)):
        s = max(-1.0, min(1.0, s + steps[i]))
        out[i] = max(0.0, s)


def peaks(x, low):
    """A list of the largest of their neighbours."""
    found = []
    for i in range(1, len(x) - 1):
        if x[i] > low and x[i] >= x[i - 1] and x[i] > x[i + 1]:
            found.append(i)
    return found


def running_means(x, k):
    means, s = [], 0.0
    for i in range(len(x)):
        s += x[i]
        if i >= k:
            s -= x[i - k]
            means.append(s / k)
    return means


def lu_swap(a, p):
    """Rows change places by lists of two."""
    n = a.shape[0]
    for k in range(n):
        at = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[at, k]):
                at = i
        if at != k:
            a[[k, at]] = a[[at, k]]
            p[[k, at]] = p[[at, k]]
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]


def safe_ratios(x, y, out):
    for i in range(len(x)):
        try:
            out[i] = float(x[i]) / float(y[i])
        except ZeroDivisionError:
            out[i] = 0.0


def checked_sums(x, notes):
    """A rare case that is noted: the loop is left for it, and entered again."""
    s = 0.0
    for i in range(len(x)):
        if x[i] > 3.0:
            notes[i] = f"{x[i]:.3f} after {s:.3f}"
        s += x[i] * 0.5
    return s


def bad_samples(x, out):
    """Exceptions that the loop itself raises and handles."""
    bad = 0
    for i, v in enumerate(x):
        try:
            if v < -3.0:
                raise ValueError(i)
            out[i] = math.sqrt(v + 3.0)
        except ValueError:
            bad += 1
    return bad


def edit_distance_rows(a, b):
    """With a new row in each turn, which takes the place of the one before."""
    before = np.arange(len(b) + 1)
    for i in range(len(a)):
        row = np.empty_like(before)
        row[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            row[j + 1] = min(row[j] + 1, before[j + 1] + 1, before[j] + cost)
        before = row
    return before[-1]


def monte_carlo_pi(rng, n):
    hits = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1.0:
            hits += 1
    return 4.0 * hits / n


def drawn_walk(rng, path):
    x = y = 0.0
    for i in range(len(path)):
        x += rng.normal()
        y += rng.normal(0.0, 0.5)
        path[i, 0], path[i, 1] = x, y


def metropolis(rng, samples, width):
    x, energy, accepted = 0.0, 0.0, 0
    for i in range(len(samples)):
        y = x + rng.uniform(-width, width)
        cost = 0.5 * y * y + 0.1 * y**4
        if cost < energy or rng.random() < math.exp(energy - cost):
            x, energy = y, cost
            accepted += 1
        samples[i] = x
    return accepted


def queue(rng, waits, arrival, service):
    clock = free = 0.0
    for i in range(len(waits)):
        clock += rng.exponential(arrival)
        begins = max(clock, free)
        waits[i] = begins - clock
        free = begins + rng.exponential(service)


def dice(rng, counts, n):
    for _ in range(n):
        counts[rng.integers(1, 7) + rng.integers(1, 7)] += 1


def local_alignment(a, b, score, gap):
    best = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            hit = 2 if a[i - 1] == b[j - 1] else -1
            s = max(0, score[i - 1, j - 1] + hit, score[i - 1, j] + gap, score[i, j - 1] + gap)
            score[i, j] = s
            if s > best:
                best = s
    return int(best)


def crc_8(data, poly):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
    return int(crc)


def fnv_64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ int(byte)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def split_mix(out, state):
    for i in range(len(out)):
        state = (state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        out[i] = ((z ^ (z >> 31)) >> 11) / 2**53


class Biquad:
    def __init__(self):
        self.z1 = self.z2 = 0.0

    def step(self, x):
        y = 0.2 * x + self.z1
        self.z1 = 0.4 * x + 0.4 * y + self.z2
        self.z2 = 0.2 * x - 0.2 * y
        return y


def filter_by_object(x, out):
    section = Biquad()
    for i in range(len(x)):
        out[i] = section.step(x[i])


def reflected_table() -> np.ndarray:
    """Of crc."""
    table = np.arange(256)
    for _ in range(8):
        table = (table >> 1) ^ np.where(table & 1, 0xEDB88320, 0)
    return table


def arguments() -> dict[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    n = 120

    def grid(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape)

    spd = grid(n, n)
    words = rng.integers(0, 3, (2, 200))
    distances = np.zeros((201, 201), int)
    edit_distance(*words, distances)
    degrees = rng.integers(1, 6, 3000)
    start = np.concatenate([[0], np.cumsum(degrees)])
    text = rng.choice(np.frombuffer(b"  abcxyz0189+-(", np.uint8), 20_000)
    return {
        gauss_seidel: (grid(200, 200), grid(200, 200)),
        edit_distance: (
            rng.integers(0, 4, 200),
            rng.integers(0, 4, 220),
            np.zeros((201, 221), int),
        ),
        knapsack: (rng.integers(1, 20, 60), rng.integers(1, 99, 60), np.zeros((61, 500), int)),
        lu: (grid(n, n) + 10 * np.eye(n),),
        cholesky: (spd @ spd.T + n * np.eye(n),),
        substitution: (np.tril(grid(300, 300)) + 20 * np.eye(300), grid(300), np.zeros(300)),
        thomas: (
            *rng.random((1, 5000)),
            rng.random(5000) + 3,
            *rng.random((2, 5000)),
            np.zeros(5000),
        ),
        sparse_product: (
            np.arange(0, 10001, 5),
            rng.integers(0, 2000, 10000),
            grid(10000),
            grid(2000),
            np.zeros(2000),
        ),
        product: (grid(60, 60), grid(60, 60), np.zeros((60, 60))),
        sieve: (np.ones(50_000, bool),),
        histogram: (grid(20_000), np.zeros(40, int), -3.0, 0.15),
        nbody: (grid(80, 3), grid(80, 3), rng.random(80), 0.01),
        life: (rng.integers(0, 2, (80, 80)), np.zeros((80, 80), int)),
        bubble_sort: (grid(250),),
        shortest_paths: (rng.random((50, 50)),),
        convolution: (grid(82, 82), grid(3, 3), np.zeros((80, 80))),
        checksum: (rng.integers(0, 255, 50_000),),
        filter_iir: (grid(50_000), np.zeros(50_000), 0.9, 0.1),
        largest: (grid(50_000),),
        row_means: (grid(200, 200), np.zeros(200)),
        column_recurrence: (grid(200, 200),),
        wave: (*grid(3, 1000), 20),
        nearest: (grid(2000, 3), grid(8, 3), np.zeros(2000, int)),
        random_walk: (np.zeros(30_000), 42),
        union_find: (np.arange(5000), rng.integers(0, 5000, 4000), rng.integers(0, 5000, 4000)),
        positive_sum: (grid(30_000),),
        alignment: (distances, *words, np.zeros(400, int)),
        heap_sort: (grid(3000),),
        breadth_first: (
            start,
            rng.integers(0, 3000, start[-1]),
            np.full(3000, -1),
            np.zeros(3000, int),
        ),
        kalman: (grid(20_000), np.zeros(20_000), 0.01, 0.1),
        tokenizer: (text, np.zeros(len(text), int)),
        lu_pivot: (grid(90, 90), np.arange(90)),
        householder: (grid(120, 40), np.zeros(40)),
        escape_time: (np.linspace(-2, 1, 60), np.linspace(-1, 1, 40), np.zeros((60, 40), int), 100),
        binary_search: (np.sort(grid(5000)), grid(2000), np.zeros(2000, int)),
        popcount: (rng.integers(0, 2**40, 5000), np.zeros(5000, int)),
        quicksort: (grid(5000), np.zeros(5000, int)),
        runge_kutta: (np.zeros(20_000), 0.0, 20.0, 0.1),
        bilinear: (grid(50, 60), np.zeros((120, 130))),
        crc: (rng.integers(0, 256, 20_000), reflected_table()),
        fnv: (rng.integers(0, 256, 20_000),),
        power_law: (np.abs(grid(20_000)), np.zeros(20_000)),
        lu_slices: (grid(n, n) + 10 * np.eye(n),),
        back_substitution: (np.triu(grid(300, 300)) + 20 * np.eye(300), grid(300), np.zeros(300)),
        sweeps: (grid(200, 200), 0.3),
        rank_update: (grid(150, 150), grid(150, 4), grid(150, 4)),
        heat: (grid(200, 200), 0.2),
        gram_schmidt: (grid(60, 80), np.zeros(60)),
        cholesky_slices: (spd @ spd.T + n * np.eye(n),),
        forward_substitution: (
            np.tril(grid(300, 300)) + 20 * np.eye(300),
            grid(300),
            np.zeros(300),
        ),
        reflections: (grid(120, 40), np.zeros(40)),
        lu_outer: (grid(n, n) + 10 * np.eye(n),),
        orthogonal_rows: (grid(60, 80), np.zeros(60)),
        mandelbrot: (np.zeros((50, 50), int), 100),
        julia: (grid(2000) + 1j * grid(2000), np.zeros(2000, int), 100),
        fourier: (grid(100), np.zeros(100, complex)),
        kernel_sums: (grid(150), grid(150), np.zeros(150)),
        great_circles: (*rng.random((2, 80)), np.zeros((80, 80))),
        sparse_slices: (
            np.arange(0, 20001, 20),
            rng.integers(0, 1000, 20000),
            grid(20000),
            grid(1000),
            np.zeros(1000),
        ),
        shrink_rows: (grid(200, 100), np.zeros((200, 100))),
        softmax_rows: (grid(300, 100), np.zeros((300, 100))),
        reflected_walk: (grid(20_000), np.zeros(20_000)),
        peaks: (grid(20_000), 0.5),
        running_means: (grid(20_000), 16),
        lu_swap: (grid(90, 90), np.arange(90)),
        safe_ratios: (grid(20_000), grid(20_000), np.zeros(20_000)),
        checked_sums: (grid(20_000), {}),
        bad_samples: (grid(20_000), np.zeros(20_000)),
        local_alignment: (
            *rng.integers(0, 4, (2, 200)),
            np.zeros((201, 201), np.int32),
            -1,
        ),
        crc_8: (rng.integers(0, 256, 20_000).astype(np.uint8), 0x8C),
        fnv_64: (rng.integers(0, 256, 20_000).astype(np.uint8),),
        split_mix: (np.zeros(20_000), 42),
        filter_by_object: (grid(20_000), np.zeros(20_000)),
        edit_distance_rows: tuple(rng.integers(0, 4, (2, 200))),
        monte_carlo_pi: (np.random.default_rng(1), 20_000),
        drawn_walk: (np.random.default_rng(2), np.zeros((20_000, 2))),
        metropolis: (np.random.default_rng(3), np.zeros(20_000), 1.5),
        queue: (np.random.default_rng(4), np.zeros(20_000), 1.0, 0.8),
        dice: (np.random.default_rng(5), np.zeros(13, int), 20_000),
    }
