"""Whole programs, plain and under `pycompile run`: python -m benchmarks.programs [--processes N].

Programs of library calls, one that only imports, a short script, and some with a hot array function
or loop: one that is called with its arrays, and loops that only show while they run.  Plain, run with an empty disk cache, and run with one that an earlier run has filled take turns,
each in a process of its own.  What counts is processor time, and of all processes the least.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

BUDGETS = {"cold": 1.15, "warm": 1.05}  # of plain, for programs of library calls
SCRIPTS = {
    "import matplotlib": """
        import matplotlib.pyplot
    """,
    "matplotlib figure": """
        import io, matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt, numpy as np
        figure, axes = plt.subplots(2, 2, figsize=(8, 6))
        x = np.linspace(0, 10, 400)
        for i, axis in enumerate(axes.flat):
            axis.plot(x, np.sin(x * (i + 1)), label="sin")
            axis.scatter(x[::20], np.cos(x[::20]))
            axis.legend()
        axes[0, 0].hist(np.sin(x * 7), bins=30)
        axes[1, 1].imshow(np.outer(x[:50], x[:50]))
        figure.savefig(io.BytesIO(), format="png")
    """,
    "sklearn fit predict": """
        import numpy as np
        from sklearn.cluster import KMeans
        from sklearn.decomposition import PCA
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        X = np.random.default_rng(0).normal(size=(500, 10))
        y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(int)
        cross_val_score(make_pipeline(StandardScaler(), PCA(5), LogisticRegression()), X, y, cv=5)
        RandomForestClassifier(30, random_state=0).fit(X, y).score(X, y)
        KMeans(4, n_init=3, random_state=0).fit(X)
    """,
    "scipy calls": """
        import numpy as np
        from scipy import integrate, interpolate, optimize, signal, stats
        def rosen(x):
            return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()
        optimize.minimize(rosen, np.zeros(6), method="BFGS")
        optimize.minimize(rosen, np.zeros(5), method="Nelder-Mead", options={"maxiter": 600})
        integrate.solve_ivp(lambda t, y: np.array([y[1], -y[0]]), (0, 50), [1.0, 0.0], rtol=1e-6)
        interpolate.CubicSpline(np.arange(20.0), np.sin(np.arange(20.0)))(np.linspace(0, 19, 100))
        signal.filtfilt(*signal.butter(4, 0.2), np.sin(np.arange(500.0)))
        stats.ttest_ind(np.arange(10.0), np.arange(10.0) + 1)
    """,
    "pandas calls": """
        import numpy as np, pandas as pd
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"a": rng.normal(size=5000), "b": rng.integers(0, 10, 5000)})
        frame.groupby("b")["a"].mean()
        frame["d"] = frame["a"].rolling(20).mean()
        frame.describe(), frame.sort_values(["b", "a"]).head()
        for i in range(20):
            frame[f"n{i}"] = frame["a"] * i + frame["b"]
        frame.isna().sum().sum()
    """,
    "hot function": """
        import numpy as np
        def step(u, k):
            v = u.copy()
            bend = u[:-2] - 2 * u[1:-1] + u[2:]
            v[1:-1] = u[1:-1] + k * bend + 0.01 * np.tanh(u[1:-1]) * np.exp(-u[1:-1] ** 2)
            return v
        u = np.sin(np.linspace(0, 10, 200_000))
        for i in range(400):
            u = step(u, 0.1)
    """,
    "hot loop": """
        import numpy as np
        def walk(x, y):
            total = 0.0
            for i in range(len(x)):
                for j in range(len(y)):
                    total += x[i] * y[j]
            return total
        walk(np.arange(1500.0), np.arange(1500.0))
    """,
    "module's loop": """
        import numpy as np
        x, y = np.arange(1500.0), np.arange(1500.0)
        total = 0.0
        for i in range(len(x)):
            for j in range(len(y)):
                total += x[i] * y[j]
    """,
    "module's while": """
        import numpy as np
        n, x, steps = 0, 27, 0
        while n < 10_000_000:
            n += 1
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            if x == 1:
                x = 27 + n % 100
            steps += x & 3
    """,
    "while, called once": """
        import numpy as np
        def settle():
            u = np.zeros(int("64"))
            u[0], change, turns = 1.0, 1.0, 0
            while change > 1e-9:
                change = 0.0
                for i in range(1, 63):
                    new = 0.5 * (u[i - 1] + u[i + 1])
                    change = max(change, abs(new - u[i]))
                    u[i] = new
                turns += 1
            return turns
        settle()
    """,
    "many short loops": """
        import numpy as np
        functions = []
        for k in range(300):
            space = {}
            exec(f"def f(n):\\n s = 0\\n for i in range(n):\\n  s += i % {k + 2}\\n while s > 9:\\n  s //= 7\\n return s", space)
            functions.append(space["f"])
        for turn in range(200):
            for function in functions:
                function(12)
    """,
}
HOT = ("hot function", "hot loop", "module's loop", "module's while", "while, called once")
SHORT = ("many short loops",)
NEEDS = {
    name: name.split()[-1 if name.startswith("import") else 0]
    for name in SCRIPTS
    if name not in HOT + SHORT
}


def seconds(script: str, run: bool, cache: str) -> float:
    """Processor time of one process and its children, the C compiler."""
    words = [sys.executable, *(["-m", "pycompile", "run"] if run else []), script]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYCOMPILE_CACHE_DIR": cache,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name: str, processes: int) -> dict[str, float]:
    found: dict[str, list[float]] = {"plain": [], "cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as folder:
        script = str(Path(folder) / "program.py")
        Path(script).write_text(textwrap.dedent(SCRIPTS[name]))
        for turn in range(processes):
            cache = str(Path(folder) / f"cache{turn}")
            found["plain"].append(seconds(script, False, cache))
            found["cold"].append(seconds(script, True, cache))
            found["warm"].append(seconds(script, True, cache))
    return {kind: min(times) for kind, times in found.items()}


def run(names: list[str], processes: int) -> list[dict[str, object]]:
    print(f"\n{'whole programs':<24}{'plain':>10}{'cold':>8}{'warm':>8}   of plain")
    rows: list[dict[str, object]] = []
    for name in names:
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            print(f"{name:<24}{NEEDS[name]} is not installed")
            continue
        times = measure(name, processes)
        ratio = {kind: times[kind] / times["plain"] for kind in BUDGETS}
        over = name not in HOT and any(ratio[kind] > BUDGETS[kind] for kind in BUDGETS)
        print(
            f"{name:<24}{times['plain']:>8.2f} s{ratio['cold']:>8.2f}{ratio['warm']:>8.2f}"
            f"{'   over' if over else ''}",
            flush=True,
        )
        rows.append({"program": name, **times})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    chosen = parser.parse_args()
    rows = run([name for name in SCRIPTS if chosen.only in name], chosen.processes)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
