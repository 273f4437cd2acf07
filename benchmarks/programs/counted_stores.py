"""Sensor readings checked one by one: alarms are counted on an object, in a dict and in an array."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (20, 4000)
CALLS = 1000


class Monitor:
    def __init__(self, limit):
        self.limit = limit
        self.seen = 0
        self.alarms = 0
        self.last = {}

    @compiled
    def watch(self, readings, flags):
        for i in range(len(readings)):
            self.seen += 1
            value = readings[i]
            if value > self.limit:
                self.alarms += 1
                self.last[i % 7] = i
                flags[i] = 1
                self.limit += 0.001
            else:
                self.limit -= 0.0001


def main(rng, size):
    readings = rng.normal(size=size)
    flags = np.zeros(size, np.int8)
    monitor = Monitor(1.5)
    monitor.watch(readings, flags)
    return flags, monitor.seen, monitor.alarms, sorted(monitor.last.items()), monitor.limit
