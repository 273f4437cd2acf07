"""Prints the table of the cases, what pycompile itself costs, and gradients; --json keeps the first two.  With
--growth, what the length of a program costs instead.

The speedup is that of calls back to back; `with gaps`, of calls 200 us apart (short ones only); `arena`
is the peak of the memory for what is neither input nor output, as a part of these."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import growth, overhead
from benchmarks.cases import CASES
from benchmarks.measure import run_case
from benchmarks.peers import PEERS


def amount(seconds: float | None) -> str:
    """Three digits and a unit."""
    if seconds is None:
        return "-"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def print_head(contenders: list[str]) -> None:
    others = [name for name in contenders if name not in ("numpy", "pycompile")]
    columns = "".join(f"{name:>11}" for name in ["numpy", "pycompile", *others])
    print(f"{'case':<24}{'dtype':<9}{columns}{'speedup':>10}{'with gaps':>11}{'arena':>11}  bits")


def print_row(row: dict[str, Any], contenders: list[str]) -> None:
    seconds = row["seconds"]
    others = [name for name in contenders if name not in ("numpy", "pycompile")]
    columns = "".join(f"{amount(seconds.get(n)):>11}" for n in ["numpy", "pycompile", *others])
    ratio = seconds["numpy"] / seconds["pycompile"]
    gaps = row["gaps"]
    apart = f"{gaps['numpy'] / gaps['pycompile']:.2f}x" if gaps else "-"
    arena = f"{row['arena'] / row['arrays']:.2f}" if row["arrays"] else "-"
    bits = "same" if row["bits"] else "DIFFER"
    print(
        f"{row['case']:<24}{row['dtype']:<9}{columns}{ratio:>9.2f}x{apart:>11}{arena:>11}  {bits}",
        flush=True,
    )


def print_overhead(rows: list[dict[str, Any]]) -> None:
    print(f"\n{'what pycompile costs':<66}{'measured':>12}{'budget':>12}")
    for row in rows:
        if "value" not in row:
            continue
        measured, budget = f"{row['value']:.3g} {row['unit']}", f"{row['budget']} {row['unit']}"
        over = "" if row["value"] <= row["budget"] else "  over"
        print(f"{row['what']:<66}{measured:>12}{budget:>12}{over}")
    for row in rows:
        if "each" in row:
            each = ", ".join(f"{n} {v['seconds'] * 1e3:.1f}" for n, v in row["each"].items())
            print(f"{row['what']} (ms): {each}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peers", default="numpy", help=", ".join(p for p in PEERS if p != "C"))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="small arrays: does it run")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--no-overhead", action="store_true")
    parser.add_argument(
        "--growth", action="store_true", help="compiles of 100 to 10,000 statements"
    )
    chosen = parser.parse_args()
    if chosen.growth:
        lengths = growth.run()
        if chosen.json:
            Path(chosen.json).write_text(json.dumps({"growth": lengths}, indent=1))
        return 0
    peers = [p for p in chosen.peers.split(",") if p and p != "pycompile"]
    unknown = [p for p in peers if p not in PEERS]
    if unknown:
        parser.error(f"unknown peers: {', '.join(unknown)}")
    contenders = ["numpy", "pycompile", *(p for p in peers if p != "numpy"), "C"]

    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{len(os.sched_getaffinity(0))} CPUs{', small arrays' if chosen.quick else ''}\n"
    )
    print_head(contenders)
    rows = []
    for case in CASES:
        if chosen.only not in case.name:
            continue
        for dtype in (np.float32, np.float64):
            rows.append(run_case(case, dtype, peers, chosen.quick))
            print_row(rows[-1], contenders)
    missing = {(n, w) for row in rows for n, w in row["missing"].items() if n != "C"}
    for name, why in sorted(missing):
        print(f"  {name}: -: {why}")
    costs = [] if chosen.no_overhead else overhead.run(chosen.quick)
    if costs:
        print_overhead(costs)
    if not chosen.quick and not chosen.only:
        print("\ngradients", flush=True)
        subprocess.run([sys.executable, "-m", "benchmarks.derivatives"], check=True)
    if rows:
        ratios = [row["seconds"]["numpy"] / row["seconds"]["pycompile"] for row in rows]
        print(f"geometric mean over NumPy: {statistics.geometric_mean(ratios):.2f}")
    if chosen.json:
        Path(chosen.json).write_text(json.dumps({"cases": rows, "overhead": costs}, indent=1))
    return 0 if all(row["bits"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
