"""A bank's counters as an event loop with draws: arrivals, service and a log of queue lengths."""

import random
from collections import deque

import numpy as np

from benchmarks.programs import compiled

SIZES = (20, 1500)


@compiled
def simulate(customers, tellers):
    now = 0.0
    next_arrival = random.expovariate(1.0)
    free_at = [0.0] * tellers
    waiting = deque()
    waits = []
    lengths = np.zeros(customers, np.int64)
    arrived = 0
    while len(waits) < customers:
        soonest = min(free_at)
        if arrived < customers and (not waiting or next_arrival <= soonest):
            now = next_arrival
            waiting.append(now)
            lengths[arrived] = len(waiting)
            arrived += 1
            next_arrival = now + random.expovariate(1.0)
        else:
            start = max(soonest, waiting[0])
            waits.append(start - waiting.popleft())
            free_at[free_at.index(soonest)] = start + random.expovariate(0.4)
    return waits, lengths


@compiled
def statistics(waits, lengths):
    w = np.array(waits)
    return w.mean(), np.percentile(w, 95), (w > 1).mean(), lengths.max()


def main(rng, size):
    random.seed(int(rng.integers(1 << 30)))
    waits, lengths = simulate(size, 3)
    return statistics(waits, lengths)
