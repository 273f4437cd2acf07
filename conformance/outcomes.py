"""A pytest plugin that writes each test's outcome as it comes: `pytest -p conformance.outcomes`.

PYCOMPILE_OUTCOMES is the file to write: a line of JSON at the start and at the end of each test, so
that a crash can be told from what was running.  PYCOMPILE_TESTS is a file of tests not to run (lines
"-id"), or the only ones to run (lines "+id").
"""

from __future__ import annotations

import json
import os
from typing import Any

FILE = os.open(os.environ["PYCOMPILE_OUTCOMES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
NAMES = os.environ.get("PYCOMPILE_TESTS")
outcome = {"outcome": "", "detail": ""}


def _line(**fields: Any) -> None:
    os.write(FILE, (json.dumps(fields) + "\n").encode("utf-8", "replace"))


NAMES_OF: dict[str, str] = {}


def _name_of(item: Any) -> str:
    """From the folder on that the packages are installed in, wherever pytest's root is."""
    file = str(item.path).rpartition("site-packages/")[2]
    NAMES_OF[item.nodeid] = name = f"{file}::{item.nodeid.partition('::')[2]}"
    return name


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    lines = open(NAMES, encoding="utf-8").read().split("\n") if NAMES else []
    only = {line[1:] for line in lines if line.startswith("+")}
    without = {line[1:] for line in lines if line.startswith("-")}
    items[:] = [
        item
        for item in items
        if _name_of(item) not in without and (not only or _name_of(item) in only)
    ]


def pytest_runtest_logstart(nodeid: str, location: Any) -> None:
    outcome.update(outcome="pass", detail="")
    _line(start=NAMES_OF[nodeid])


def pytest_runtest_logreport(report: Any) -> None:
    """Set-up, call and tear-down, in this order: the first that is not good counts."""
    if outcome["outcome"] != "pass":
        return
    if report.skipped:
        outcome["outcome"] = "expected" if hasattr(report, "wasxfail") else "skip"
    elif report.failed:
        outcome["outcome"] = "fail" if report.when == "call" else "error"
        outcome["detail"] = report.longreprtext[-3000:]


def pytest_runtest_logfinish(nodeid: str, location: Any) -> None:
    _line(test=NAMES_OF[nodeid], **outcome)


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    _line(done=True)
