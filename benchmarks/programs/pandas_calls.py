"""Groups, rolling means and sorts by pandas: a program of library calls."""

import pandas as pd

SIZES = (50, 5000)
CALLS = 20


def main(rng, size):
    frame = pd.DataFrame({"a": rng.normal(size=size), "b": rng.integers(0, 10, size)})
    means = frame.groupby("b")["a"].mean()
    frame["d"] = frame["a"].rolling(20).mean()
    for i in range(10):
        frame[f"n{i}"] = frame["a"] * i + frame["b"]
    top = frame.sort_values(["b", "a"]).head()
    return means.to_numpy(), top.to_numpy(), frame.isna().sum().sum()
