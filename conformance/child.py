"""Runs one module of CPython's `test` package and writes each test's outcome as it comes.

python child.py MODULE RESULTS [NAMES]: a line of JSON for each start and each end of a test, so that a
crash can be told from what was running.  NAMES is a file of tests not to run (lines "-id"), or the
only ones to run (lines "+id").  An interpreter of any version runs this file, pycompile or not.
"""

import json
import os
import random
import sys
import tempfile
import unittest


class Result(unittest.TestResult):
    """Writes what happens; one line each."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.outcome = self.detail = ""

    def line(self, **fields):
        os.write(self.out, (json.dumps(fields) + "\n").encode("utf-8", "replace"))

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.detail = "pass", ""
        self.line(start=test.id())

    def stopTest(self, test):
        super().stopTest(test)
        self.line(test=test.id(), outcome=self.outcome, detail=self.detail[-2000:])

    def bad(self, outcome, test, error):
        self.outcome = outcome
        self.detail = "".join(self._exc_info_to_string(error, test))
        if not hasattr(test, "_testMethodName") and not hasattr(test, "_dt_test"):
            self.line(test=test.id(), outcome=outcome, detail=self.detail[-2000:])  # setUpClass …

    def addError(self, test, err):
        self.bad("error", test, err)

    def addFailure(self, test, err):
        self.bad("fail", test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.bad("fail", test, err)

    def addSkip(self, test, reason):
        if self.outcome in ("pass", ""):
            self.outcome = "skip"

    def addExpectedFailure(self, test, err):
        self.outcome = "expected"

    def addUnexpectedSuccess(self, test):
        self.outcome = "unexpected"


def flat(suite):
    """The tests of a suite, which stay in their suites for the fixtures: only for counting."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def keep(suite, wanted):
    """The suite without the tests that are not wanted; its shape stays."""
    kept = type(suite)()
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            kept.addTest(keep(item, wanted))
        elif wanted(item.id()):
            kept.addTest(item)
    return kept


def wanted_by(names):
    lines = [line.rstrip("\n") for line in open(names, encoding="utf-8")] if names else []
    only = {line[1:] for line in lines if line.startswith("+")}
    without = {line[1:] for line in lines if line.startswith("-")}
    return lambda name: name not in without and (not only or name in only)


def prepare():
    """What CPython's own runner sets: no resources (network, large files), quiet, a seed."""
    from test import support

    support.use_resources = []
    support.verbose = 0
    random.seed(1)
    if hasattr(support, "set_sanitizer_env_var"):
        os.environ.setdefault("PYTHONFAULTHANDLER", "")


def main(module, results, names=None):
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
