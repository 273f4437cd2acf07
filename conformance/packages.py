"""python -m conformance.packages [SUITE ...]: packages' own pytest suites, plain and under pycompile.

A suite is a name of suites.py, or a module with tests.  Each runs in processes of its own: plain, by
`python -m pycompile run --at-once -m pytest` (normal), and the same without the cost model (always).
A test that passes plain and not under pycompile is run again, plain and so, and is a difference when
it fails once more.  Results are kept in build/conformance/packages; --table makes docs/conformance.md
of all that is there.  Exit status 1 when there is a difference that exceptions-numpy.txt does not name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.modes import GOOD, ROOT, Outcome, end_of, read_lines
from conformance.suites import NUMPY, PACKAGES, Suite, exception_for, suite_named

FOLDER = ROOT / "build" / "conformance" / "packages"
MODES = {"plain": [], "normal": ["-m", "pycompile", "run", "--at-once"]}
MODES["always"] = MODES["normal"]
NO_TESTS = 5  # pytest's exit status: all are slow, or the module asks for what is not there
RESTARTS = 12  # after crashes and tests that hang, the rest of the suite is run


def run_process(words: list[str], folder: str, env: dict[str, str], limit: float) -> int | None:
    """Exit status; None: it was killed after `limit` seconds.  What it says goes to said.txt."""
    with open(Path(folder, "said.txt"), "wb") as said:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        return end_of(process, limit)


def run_suite(mode: str, suite: Suite, limit: float, only: list[str] | None = None) -> Outcome:
    """All tests of the suite, or `only` some, in as many processes as crashes make necessary."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        names = Path(folder, "names")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYCOMPILE"))}
        env |= {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1"}
        env |= {"PYCOMPILE_PLAN_ALWAYS": str(int(mode == "always")), "PYCOMPILE_TESTS": str(names)}
        env |= {"PYCOMPILE_BACKGROUND": "0"} | dict(suite.variables)
        words = [sys.executable, *MODES[mode], "-m", "pytest", "-p", "conformance.outcomes"]
        words += [
            "-q",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
            *suite.arguments,
        ]
        for attempt in range(RESTARTS):
            results = Path(folder, f"results-{attempt}")
            left_out = [f"-{name}" for name in outcome.tests]
            names.write_text("\n".join([*left_out, *(f"+{name}" for name in only or [])]))
            env["PYCOMPILE_OUTCOMES"] = str(results)
            status = run_process(words, folder, env, limit)
            running, _, done = read_lines(results, outcome)
            said = Path(folder, "said.txt").read_text("utf-8", "replace")[-3000:]
            if done:
                if status not in (0, 1, NO_TESTS):  # a wrong name, say
                    outcome.trouble = f"exit status {status}\n{said}"
                return outcome
            if running is None:
                outcome.trouble = f"exit status {status}\n{said}"
                return outcome
            outcome.tests[running] = "hang" if status is None else "crash"
            outcome.details[running] = f"exit status {status}\n{said}"
    outcome.trouble = "too many crashes"
    return outcome


def bad_tests(plain: Outcome, other: Outcome) -> list[str]:
    """Tests that pass plain and not otherwise: a test that is skipped only here is one, too."""
    return [
        name
        for name, was in plain.tests.items()
        if was in GOOD and other.tests.get(name, "missing") != was
    ]


def differences(mode: str, suite: Suite, plain: Outcome, other: Outcome, limit: float) -> list[str]:
    """Those that differ once more, and are good plain once more."""
    suspects = bad_tests(plain, other)
    if not suspects:
        return []
    again = run_suite(mode, suite, limit, suspects)
    suspects = [name for name in suspects if again.tests.get(name) != plain.tests[name]]
    if not suspects:
        return []
    natural = run_suite("plain", suite, limit, suspects)
    return [name for name in suspects if natural.tests.get(name) == plain.tests[name]]


def run_one(suite: Suite, modes: list[str], limit: float, verbose: bool) -> int:
    """Runs it, keeps what came of it and prints a line for it; how many differences are open."""
    plain = run_suite("plain", suite, limit)
    good = sum(outcome == "pass" for outcome in plain.tests.values())
    path = FOLDER / f"{suite.name}.json"
    record = json.loads(path.read_text()) if path.exists() else {"modes": {}}
    record |= {"package": suite.package, "version": suite.version(), "suite": suite.name}
    record |= {"tests": len(plain.tests), "passed": good, "trouble": plain.trouble}
    text, lines, count = f"{suite.name:<40} {good:>5} pass plain", [], int(bool(plain.trouble))
    for mode in modes:
        other = run_suite(mode, suite, 3 * limit)
        differ = {}
        for name in differences(mode, suite, plain, other, 3 * limit):
            reason = exception_for(mode, name)
            differ[name] = {"outcome": other.tests.get(name, "missing"), "reason": reason}
            if not reason:
                lines.append(f"    {mode} {name}: {differ[name]['outcome']}")
                detail = other.details.get(name, other.trouble)
                lines += [f"        {line}" for line in detail.splitlines()[-30:] if verbose]
        wrong = sum(not one["reason"] for one in differ.values())
        passed = sum(was == "pass" and name not in differ for name, was in plain.tests.items())
        record["modes"][mode] = {"passed": passed, "differ": differ}
        text += f"  {mode}: {wrong} differ"
        count += wrong
    FOLDER.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1))
    print("\n".join([text, *lines, *([plain.trouble] if plain.trouble else [])]), flush=True)
    return count


def run_again(path: Path, limit: float, verbose: bool) -> int:
    """The tests of a kept record that differed, once more; how many are open still."""
    record = json.loads(path.read_text())
    suite, open_ = suite_named(record["suite"]), 0
    for mode, run in record["modes"].items():
        names = list(run["differ"])
        if not names:
            continue
        other = run_suite(mode, suite, limit, names)
        for name in names:
            outcome = other.tests.get(name, "missing")
            reason = exception_for(mode, name)
            if outcome == "pass":
                del run["differ"][name]
                run["passed"] += 1
                continue
            run["differ"][name] = {"outcome": outcome, "reason": reason}
            open_ += not reason
            print(f"{mode} {name}: {outcome} {reason}", flush=True)
            if verbose and not reason:
                print(other.details.get(name, other.trouble), flush=True)
    path.write_text(json.dumps(record, indent=1))
    return open_


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.packages", description=__doc__)
    parser.add_argument("suites", nargs="*", help="numpy, packages, names of suites or modules")
    parser.add_argument("--mode", default="normal,always", help="normal, always")
    parser.add_argument("--limit", type=float, default=900, help="seconds for a suite run plain")
    parser.add_argument("--verbose", action="store_true", help="with the ends of the tracebacks")
    parser.add_argument("--again", action="store_true", help="only what differed in kept results")
    parser.add_argument("--table", action="store_true", help="only make the page of kept results")
    chosen = parser.parse_args()
    if chosen.table:
        from conformance.page import write_page

        write_page(FOLDER, ROOT / "docs" / "conformance.md")
        return 0
    if chosen.again:
        paths = sorted(FOLDER.glob("*.json"))
        count = sum(run_again(path, chosen.limit, chosen.verbose) for path in paths)
        print(f"{count} tests pass plain and not under pycompile")
        return int(count > 0)
    named = {"numpy": NUMPY, "packages": PACKAGES}
    suites = [s for name in chosen.suites or ["numpy"] for s in named.get(name, [name])]
    modes = [mode for mode in chosen.mode.split(",") if mode]
    count = sum(run_one(suite_named(name), modes, chosen.limit, chosen.verbose) for name in suites)
    print(f"{count} tests pass plain and not under pycompile")
    return int(count > 0)


if __name__ == "__main__":
    raise SystemExit(main())
