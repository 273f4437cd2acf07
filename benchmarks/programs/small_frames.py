"""A hundred small frames, a dict of columns with a few methods each, as data frames are used."""

import numpy as np

from benchmarks.programs import compiled

SIZES = (4, 60)
CALLS = 30


class Frame:
    def __init__(self, columns):
        self.columns = columns

    def __getitem__(self, key):
        if isinstance(key, str):
            return self.columns[key]
        return Frame({name: column[key] for name, column in self.columns.items()})

    def assign(self, **new):
        columns = dict(self.columns)
        for name, make in new.items():
            columns[name] = make(self) if callable(make) else make
        return Frame(columns)

    def group_sum(self, by, value):
        keys, places = np.unique(self[by], return_inverse=True)
        return Frame({by: keys, value: np.bincount(places, self[value])})

    def sort(self, by):
        return self[np.argsort(self[by], kind="stable")]

    def describe(self):
        return {name: (column.min(), column.max()) for name, column in self.columns.items()}


@compiled
def report(frame):
    frame = frame.assign(total=lambda f: f["price"] * f["count"], dear=lambda f: f["price"] > 5.0)
    sums = frame[frame["dear"]].group_sum("shop", "total").sort("total")
    return sums["shop"], sums["total"], frame.describe()


def main(rng, size):
    reports = []
    for _ in range(100):
        columns = {
            "shop": rng.integers(0, 4, size),
            "price": rng.gamma(2.0, 3.0, size),
            "count": rng.integers(1, 9, size),
        }
        reports.append(report(Frame(columns)))
    return reports[-1]
