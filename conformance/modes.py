"""The ways in which a test module is run, and one run of it in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

MODES: dict[str, list[str]] = {
    "plain": [],
    "normal": ["-m", "pycompile", "run", "--at-once"],
    "all": ["-m", "pycompile", "run", "--capture-all"],
}
GOOD = ("pass", "skip", "expected")
RESTARTS = 12  # after crashes and tests that hang, the rest of the module is run


@dataclass
class Outcome:
    """What became of one module in one mode."""

    tests: dict[str, str] = field(
        default_factory=dict
    )  # id -> pass, skip, fail, error, crash, hang
    details: dict[str, str] = field(default_factory=dict)
    skipped: str = ""  # why the whole module was
    frames: dict[str, list[int]] = field(default_factory=dict)  # file -> whole, part, left
    whole: list[str] = field(default_factory=list)  # tests all of whose calls plans did whole
    trouble: str = ""  # the module could not be loaded, or too much crashed

    def to_json(self) -> dict[str, object]:
        return self.__dict__

    @property
    def passed(self) -> int:
        return sum(outcome in GOOD for outcome in self.tests.values())


def environment() -> dict[str, str]:
    """The same for every mode; pycompile comes from this folder.  Compiles are waited for: a short
    test would be over before there is code."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    ours = {"PYTHONPATH": str(ROOT), "PYCOMPILE_BACKGROUND": "0"}
    return {**kept, **ours, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}


def command(mode: str, module: str, results: Path, report: Path, names: Path | None) -> list[str]:
    words = [sys.executable, *MODES[mode]]
    if mode == "all":
        words.append(f"--capture-report={report}")
    words += [str(HERE / "child.py"), module, str(results)]
    return words + ([str(names)] if names else [])


def end_of(process: subprocess.Popen[bytes], limit: float) -> int | None:
    """Exit status, None after `limit` seconds; what the process started is killed in any case."""
    try:
        status: int | None = process.wait(limit)
    except subprocess.TimeoutExpired:
        status = None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    return status


def run_process(words: list[str], limit: float) -> tuple[int | None, str]:
    """Exit status and the end of what was said; None: it was killed after `limit` seconds."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment(),
            start_new_session=True,
        )
        status = end_of(process, limit)
        said.seek(max(0, said.seek(0, os.SEEK_END) - 3000))
        return status, said.read().decode("utf-8", "replace")


def read_lines(results: Path, outcome: Outcome) -> tuple[str | None, bool, bool]:
    """Adds what was written; the test that was running, whether tests were loaded, and the end seen."""
    running: str | None = None
    loaded = done = False
    if not results.exists():
        return None, False, False
    for text in results.read_text("utf-8", "replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        loaded = loaded or "tests" in line
        if "start" in line:
            running = line["start"]
        elif "test" in line:
            outcome.tests[line["test"]] = line["outcome"]
            if line.get("whole") and line["outcome"] == "pass":
                outcome.whole.append(line["test"])
            if line["detail"]:
                outcome.details[line["test"]] = line["detail"]
            running = None
        elif "skipped" in line:
            outcome.skipped, done = line["skipped"], True
        elif "done" in line:
            done = True
    return running, loaded, done


def add_frames(report: Path, outcome: Outcome) -> None:
    if not report.exists():
        return
    for row in json.loads(report.read_text()):
        if str(HERE) in row["file"]:
            continue
        sums = outcome.frames.setdefault(row["file"], [0, 0, 0])
        for i, key in enumerate(("whole", "part", "left")):
            sums[i] += row[key]


def run_module(mode: str, module: str, limit: float, only: list[str] | None = None) -> Outcome:
    """All tests of the module, or `only` some, in as many processes as crashes make necessary."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        names, report = Path(folder, "names"), Path(folder, "report")
        for attempt in range(RESTARTS):
            results = Path(folder, f"results-{attempt}")
            left_out = [f"-{name}" for name in outcome.tests]
            names.write_text("\n".join([*left_out, *(f"+{name}" for name in only or [])]))
            status, said = run_process(command(mode, module, results, report, names), limit)
            running, loaded, done = read_lines(results, outcome)
            add_frames(report, outcome)
            if done:
                return outcome
            if running is None:
                outcome.trouble = f"exit status {status}\n{said}"
                return outcome
            outcome.tests[running] = "hang" if status is None else "crash"
            outcome.details[running] = f"exit status {status}\n{said}"
    outcome.trouble = "too many crashes"
    return outcome
