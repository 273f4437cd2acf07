"""python -m conformance: CPython's own tests, plain and under pycompile, and what differs.

Each module runs in processes of its own: plain, in the normal way (`pycompile run`) and with
--capture-all.  A test that passes plain and not under pycompile is run again, plain and so, and is a
difference when it fails once more.  Results are kept in build/conformance; --reuse takes the plain
runs from there; --table makes
docs/conformance-python.md of all that is there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from conformance.lists import CI, CONFIRMED, LANGUAGE, exception_for
from conformance.modes import GOOD, MODES, ROOT, Outcome, run_module
from conformance.table import write_table

VERSION = ".".join(map(str, sys.version_info[:2]))
FOLDER = ROOT / "build" / "conformance" / VERSION


def all_modules() -> list[str]:
    """The modules of this interpreter's test package."""
    folder = Path(sysconfig.get_path("stdlib")) / "test"
    found = [p.stem for p in folder.glob("test_*.py")]
    found += [p.name for p in folder.glob("test_*") if (p / "__init__.py").exists()]
    return sorted(set(found))


def chosen_modules(text: str) -> list[str]:
    named = {"ci": CI, "language": LANGUAGE, "all": all_modules()}
    words: list[str] = []
    for word in text.split(","):
        words += named.get(word, [word])
    return [word for word in dict.fromkeys(words) if word]


def bad_tests(plain: Outcome, other: Outcome) -> list[str]:
    """Tests that are good plain and not good otherwise."""
    good = [name for name, outcome in plain.tests.items() if outcome in GOOD]
    return [name for name in good if other.tests.get(name, "missing") not in GOOD]


def differences(mode: str, module: str, plain: Outcome, other: Outcome, limit: float) -> list[str]:
    """Those that fail once more, and pass plain once more."""
    suspects = bad_tests(plain, other)
    if not suspects or len(suspects) > CONFIRMED:
        return suspects
    again = run_module(mode, module, limit, suspects)
    suspects = [name for name in suspects if again.tests.get(name, "missing") not in GOOD]
    if not suspects:
        return []
    natural = run_module("plain", module, limit, suspects)
    return [name for name in suspects if natural.tests.get(name, "missing") in GOOD]


def revision() -> str:
    """What is run: the commit, + when files differ from it, and the day."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--abbrev=10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{said.stdout.strip() or 'unknown'} {time.strftime('%Y-%m-%d')}"


MADE = revision()


def kept_plain(module: str) -> Outcome | None:
    path = FOLDER / f"{module}.json"
    if not path.exists():
        return None
    plain = Outcome(**json.loads(path.read_text())["plain"])
    return plain if plain.tests or plain.skipped else None


def run_one(module: str, modes: list[str], limit: float, reuse: bool) -> dict[str, object]:
    began = time.monotonic()
    plain = (kept_plain(module) if reuse else None) or run_module("plain", module, limit)
    record: dict[str, object] = {"module": module, "plain": plain.to_json(), "differ": {}}
    record["made"] = dict.fromkeys(modes, MADE)
    for mode in modes:
        # Capture of everything is slow by nature: it gets more time.
        longer = limit * (4 if mode == "all" else 1.5)
        other = run_module(mode, module, longer)
        differ = {}
        for name in differences(mode, module, plain, other, longer):
            differ[name] = {
                "outcome": other.tests.get(name, "missing"),
                "detail": other.details.get(name, other.trouble),
                "accepted": exception_for(mode, module, name),
            }
        record[mode] = other.to_json()
        record["differ"][mode] = differ  # type: ignore[index]
    record["seconds"] = time.monotonic() - began
    return record


def keep_record(record: dict[str, object]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{record['module']}.json"
    if path.exists():
        old = json.loads(path.read_text())
        both = {key: {**old.get(key, {}), **record[key]} for key in ("differ", "made")}  # type: ignore[dict-item]
        record = {**old, **record, **both}
    path.write_text(json.dumps(record, indent=1))


def tell(record: dict[str, object], modes: list[str], verbose: bool) -> int:
    """Prints a line for the module and each difference; how many are not accepted."""
    plain = record["plain"]
    text = f"{record['module']:<28} {len(plain['tests']):>5} tests"  # type: ignore[index]
    count = 0
    lines = []
    for mode in modes:
        differ = record["differ"][mode]  # type: ignore[index]
        open_ones = {name: d for name, d in differ.items() if not d["accepted"]}
        count += len(open_ones)
        text += f"  {mode}: {len(open_ones)} differ"
        for name, one in open_ones.items():
            lines.append(f"    {mode} {name}: {one['outcome']}")
            if verbose:
                lines += [f"        {line}" for line in one["detail"].splitlines()[-12:]]
    print("\n".join([f"{text}  ({record['seconds']:.0f} s)", *lines]), flush=True)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--modules", default="all", help="names, or ci, language, all")
    parser.add_argument(
        "--mode", default="normal,all", help=", ".join(m for m in MODES if m != "plain")
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=300, help="seconds for a module run plain")
    parser.add_argument(
        "--reuse", action="store_true", help="take a plain run that is kept, where there is one"
    )
    parser.add_argument("--verbose", action="store_true", help="with the ends of the tracebacks")
    parser.add_argument("--table", action="store_true", help="only make the table of kept results")
    chosen = parser.parse_args()
    if not chosen.table:
        modes = [mode for mode in chosen.mode.split(",") if mode]
        count = 0
        with ThreadPoolExecutor(chosen.jobs) as pool:
            names = chosen_modules(chosen.modules)
            waiting = [
                pool.submit(run_one, name, modes, chosen.limit, chosen.reuse) for name in names
            ]
            for record in (done.result() for done in as_completed(waiting)):
                keep_record(record)
                count += tell(record, modes, chosen.verbose)
        print(f"{count} tests pass plain and fail under pycompile")
        return 1 if count else 0
    write_table(FOLDER.parent, ROOT / "docs" / "conformance-python.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
