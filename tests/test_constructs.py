"""Each construct of tests/constructs: compiled against plain, and captured as it says."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from constructs import constructs
from differential import check

from pycompile import _C


@pytest.mark.parametrize("made", constructs(), ids=lambda made: f"{made.section}-{made.name}")
def test_construct(made, monkeypatch):
    # pytest's handlers are a program's: a graph would end where they see a log call
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        handlers = [h for h in getattr(logger, "handlers", ()) if type(h).__module__ == "logging"]
        monkeypatch.setattr(logger, "handlers", handlers, raising=False)
    if made.breaks is None:  # one plan, without even a branch
        check(made.function, *made.args, whole=True, exits=["return"], **made.kwargs)
        return
    _C.report_begin()
    try:
        check(made.function, *made.args, captured=False, **made.kwargs)
    finally:
        records = _C.report_end()
    codes = [item["code"] for record in records for item in record.get("breaks") or ()]
    assert made.breaks in codes, records


@pytest.mark.slow
def test_the_page_is_up_to_date():
    """docs/python-coverage.md, this Python's column: written by docs/make_python_coverage.py."""
    script = Path(__file__).resolve().parent.parent / "docs" / "make_python_coverage.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
