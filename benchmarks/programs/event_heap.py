"""Servers on a heap, waits in an array: a store under a condition next to heappush and list.pop."""

from heapq import heappop, heappush

import numpy as np

from benchmarks.programs import compiled

SIZES = (50, 3000)


@compiled
def simulate(arrivals, services):
    waited = np.zeros(len(arrivals))
    busy = []
    free = [3, 2, 1]
    for i in range(len(arrivals)):
        now = arrivals[i]
        while busy and busy[0][0] <= now:
            free.append(heappop(busy)[1])
        if free:
            heappush(busy, (now + services[i], free.pop()))
        else:
            end, server = heappop(busy)
            waited[i] = end - now
            heappush(busy, (end + services[i], server))
    return waited


@compiled
def summary(waited):
    some = waited[waited > 0]
    return len(some), waited.mean(), waited.max()


def main(rng, size):
    arrivals = np.cumsum(rng.exponential(1.0, size))
    services = rng.exponential(2.4, size)
    waited = simulate(arrivals, services)
    return waited, summary(waited)
