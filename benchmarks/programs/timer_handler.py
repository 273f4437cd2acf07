"""A timer ticks while a long loop runs; its handler only counts."""

import signal

from benchmarks.programs import compiled

SIZES = (2000, 600_000)
CALLS = 30
TICKS = []


def tick(number, frame):
    TICKS.append(number)


@compiled
def follow(x, decay):
    level = 0.0
    high = 0.0
    for i in range(len(x)):
        level = decay * level + x[i]
        if level > high:
            high = level
    return level, high


def main(rng, size):
    x = rng.normal(size=size)
    before = signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        return follow(x, 0.95)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
