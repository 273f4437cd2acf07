"""Loops at the top of a script, in no function: only `pycompile run` sees them, while they run."""

SIZES = (20, 500)
CALLS = 30
SCRIPT = compile(
    """
import numpy as np
x, y = np.arange(n) + 0.5, np.arange(n) - 0.5
total = 0.0
for i in range(len(x)):
    for j in range(0, len(y), 3):
        total += x[i] * y[j]
k, steps, turns = start, 0, 0
while turns < 50 * n:
    turns += 1
    k = k // 2 if k % 2 == 0 else 3 * k + 1
    if k == 1:
        k = 27 + turns % 100
    steps += k & 3
""",
    "script.py",
    "exec",
)


def main(rng, size):
    names = {"n": size, "start": int(rng.integers(3, 1000))}
    exec(SCRIPT, names)
    return names["total"], names["steps"]
