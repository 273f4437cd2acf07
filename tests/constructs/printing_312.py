"""Printing that 3.11 breaks at."""

import sys

from constructs import X, construct


@construct("sys.stdout.write", X)
def written(x):
    y = x * 2
    count = sys.stdout.write("some text\n")
    sys.stdout.write(f"sum {float(y.sum()):.3f}\n")
    sys.stdout.flush()
    return y, count
