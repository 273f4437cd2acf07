"""Runs one module of CPython's `test` package and writes each test's outcome as it comes.

python child.py MODULE RESULTS [NAMES]: a line of JSON for each start and each end of a test, so that a
crash can be told from what was running.  NAMES is a file of tests not to run (lines "-id"), or the
only ones to run (lines "+id").  An interpreter of any version runs this file, pycompile or not.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator
from types import TracebackType

UNITTEST = (os.path.dirname(unittest.__file__), os.path.abspath(__file__))
Error = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


def not_whole() -> int:
    """Calls so far that plans did not do whole, with --capture-all; unittest's own are not counted."""
    if "pycompile._C" not in sys.modules:
        return 0
    rows = sys.modules["pycompile._C"].program_counts()
    return sum(row[4] + row[5] for row in rows if not row[0].startswith(UNITTEST))


class Result(unittest.TestResult):
    """Writes what happens; one line each."""

    def __init__(self, out: int) -> None:
        super().__init__()
        self.out = out
        self.outcome = self.detail = ""
        self.before = 0

    def line(self, **fields: object) -> None:
        os.write(self.out, (json.dumps(fields) + "\n").encode("utf-8", "replace"))

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.outcome, self.detail = "pass", ""
        self.line(start=test.id())
        self.before = not_whole()

    def stopTest(self, test: unittest.TestCase) -> None:
        whole = not_whole() == self.before
        super().stopTest(test)
        self.line(test=test.id(), outcome=self.outcome, detail=self.detail[-2000:], whole=whole)

    def bad(self, outcome: str, test: unittest.TestCase, error: Error) -> None:
        self.outcome = outcome
        self.detail = self._exc_info_to_string(error, test)  # type: ignore[attr-defined]
        if not hasattr(test, "_testMethodName") and not hasattr(test, "_dt_test"):
            self.line(test=test.id(), outcome=outcome, detail=self.detail[-2000:])  # setUpClass …

    def addError(self, test: unittest.TestCase, err: Error) -> None:
        self.bad("error", test, err)

    def addFailure(self, test: unittest.TestCase, err: Error) -> None:
        self.bad("fail", test, err)

    def addSubTest(
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Error | None
    ) -> None:
        if err is not None:
            self.bad("fail", test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        if self.outcome in ("pass", ""):
            self.outcome = "skip"

    def addExpectedFailure(self, test: unittest.TestCase, err: Error) -> None:
        self.outcome = "expected"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.outcome = "unexpected"


def flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """The tests of a suite, which stay in their suites for the fixtures: only for counting."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def keep(suite: unittest.TestSuite, wanted: Callable[[str], bool]) -> unittest.TestSuite:
    """The suite without the tests that are not wanted; its shape stays."""
    kept = type(suite)()
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            kept.addTest(keep(item, wanted))
        elif wanted(item.id()):
            kept.addTest(item)
    return kept


def wanted_by(names: str | None) -> Callable[[str], bool]:
    lines = [line.rstrip("\n") for line in open(names, encoding="utf-8")] if names else []
    only = {line[1:] for line in lines if line.startswith("+")}
    without = {line[1:] for line in lines if line.startswith("-")}
    return lambda name: name not in without and (not only or name in only)


def prepare() -> None:
    """What CPython's own runner sets: no resources (network, large files), quiet, a seed."""
    from test import support  # type: ignore[import-not-found]

    support.use_resources = []
    support.verbose = 0
    random.seed(1)
    if hasattr(support, "set_sanitizer_env_var"):
        os.environ.setdefault("PYTHONFAULTHANDLER", "")


def main(module: str, results: str, names: str | None = None) -> None:
    out = os.open(results, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    wanted = wanted_by(names)
    prepare()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        os.chdir(folder)
        result = Result(out)
        try:
            suite = unittest.defaultTestLoader.loadTestsFromName("test." + module)
        except unittest.SkipTest as reason:
            result.line(skipped=str(reason))
            return
        if wanted is not None:
            suite = keep(suite, wanted)
        result.line(tests=[test.id() for test in flat(suite)])
        suite.run(result)
        result.line(done=True)
        os.chdir("/")


if __name__ == "__main__":
    main(*sys.argv[1:])
