"""Every test starts without plans and with the random numbers that it would have alone.

Compiled kernels are shared by all tests of a run, also by those of other workers (pytest-xdist) and by
child processes: in the folder that PYCOMPILE_CACHE_DIR names (`make test` keeps one between runs), or
else in a temporary one.  A test that looks at compiling or at the cache names a folder of its own.
"""

import collections
import os
import resource
import tempfile

import numpy as np
import pytest

_folder = None
if (
    "PYCOMPILE_CACHE_DIR" not in os.environ
):  # workers find it there: they are the first one's children
    _folder = tempfile.TemporaryDirectory(prefix="pycompile-tests-")
    os.environ["PYCOMPILE_CACHE_DIR"] = _folder.name
os.environ.setdefault("PYCOMPILE_SAMPLE", "0")  # the clock decides nothing in tests
os.environ.setdefault("PYCOMPILE_WAIT", "1")  # nor where calls are compared with plain ones
os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")  # so that rules are tested on tiny cases too


def pytest_unconfigure():
    if _folder is not None:
        _folder.cleanup()


@pytest.fixture(autouse=True)
def _no_plans():
    import pycompile

    pycompile.reset()


_started: dict[int, tuple[np.random.Generator, object]] = {}


@pytest.fixture(autouse=True)
def _random_numbers(request):
    """A module's generators start each test as they were when the module had been imported."""
    for value in vars(request.module).values():
        if isinstance(value, np.random.Generator):
            generator, state = _started.setdefault(id(value), (value, value.bit_generator.state))
            generator.bit_generator.state = state


# ---- make test-quick, and the later Pythons of .ci/run ----


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="one case of each test that is not slow")
    parser.addoption(
        "--kernels-seen",
        action="store_true",
        help="without the tests of kernels alone, which were run with another Python and its NumPy",
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "kernels_alone: asks nothing in which Pythons with one NumPy differ"
    )
    config.addinivalue_line("markers", "slow: takes more than a second; not in `make test-quick`")
    config.addinivalue_line("markers", "longest: takes half a minute; comes first in the order")


def pytest_collection_modifyitems(config, items):
    """What takes long comes first, so that no worker has to wait for it at the end.  With
    --quick: of each test function its first case, if it is not marked as slow; with --kernels-seen
    not what was run with another Python."""
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)
    quick, kernels_seen = config.getoption("--quick"), config.getoption("--kernels-seen")
    seen, kept, left = set(), [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        first = function not in seen and not item.get_closest_marker("slow")
        seen.add(function)
        again = kernels_seen and item.get_closest_marker("kernels_alone")
        (left if again or (quick and not first) else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


# ---- what each folder takes ----


def _processor_seconds():
    """Of this process and of the children that have ended: C compilers, mostly."""
    mine, ended = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime, ended.ru_utime + ended.ru_stime


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.began = _processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """The report of a test's end, which a worker sends to the first process, has what the test took."""
    if call.when == "teardown":
        took = [end - begin for begin, end in zip(item.began, _processor_seconds(), strict=True)]
        item.user_properties.append(("processor", took))
    return (yield)


def _folder_of(nodeid):
    return "/".join(nodeid.partition("::")[0].split("/")[:2])


def pytest_terminal_summary(terminalreporter):
    """Processor time, which what else the machine does changes little: sums of folders, and of the
    files that lie in none."""
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for reports in terminalreporter.stats.values():
        for report in reports:
            took = dict(getattr(report, "user_properties", ())).get("processor")
            if took and report.when == "teardown":
                for of in (_folder_of(report.nodeid), "all"):
                    sums[of] = [a + b for a, b in zip(sums[of], (1, *took), strict=True)]
    rows = sorted(sums.items(), key=lambda row: -sum(row[1][1:]))
    if len(rows) > 2:
        terminalreporter.write_sep("=", "processor seconds: tests, and the children that ended")
    for of, (count, mine, ended) in rows if len(rows) > 2 else ():
        terminalreporter.write_line(f"{mine:8.1f} {ended:8.1f}  {of} ({count})")
