"""Every test starts without plans and with the random numbers that it would have alone.

Compiled kernels are shared by all tests of a run, also by those of other workers (pytest-xdist) and by
child processes: in the folder that PYCOMPILE_CACHE_DIR names (`make test` keeps one between runs), or
else in a temporary one.  A test that looks at compiling or at the cache names a folder of its own.
"""

import collections
import functools
import gc
import os
import resource
import sys
import tempfile
import zlib
from pathlib import Path

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
os.environ.setdefault(
    "PYCOMPILE_CACHE_BYTES", "4G"
)  # of three Pythons, with and without sanitizers


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

# What is not asked of each Python in full.  CPython's versions differ in csrc/python/ alone, as
# test_folders.py demands, and with it in the instructions that capture reads: tests that are not named
# here ask that (constructs, python, the fuzzers, and one case of each rule).  Once there is a graph, its
# kernels are the same with each Python, and with each NumPy but for the results that they are compared
# with.  Plans run on 3.12 as on 3.13; 3.11 cannot watch dicts.  Random loops are here since nearly all
# of their time is the C compiler's: each Python has some of its own.
ASKS = {
    "kernels": ("codegen", "cuda", "export", "graph", "lower", "passes", "test_loop_fuzz.py"),
    "numpy": ("arrays", "numpy", "test_array_fuzz.py", "test_numpy_calls.py"),
    "rules": ("capture", "derivatives", "messages", "plan_changes"),
    "runtime": ("runtime", "test_image.py", "test_scale.py"),
}
KIND = {place: kind for kind, places in ASKS.items() for place in places}


def _kind(nodeid):
    return KIND.get(nodeid.partition("::")[0].split("/")[1])


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="one case of each test that is not slow")
    parser.addoption("--whole", default="", help="with --quick: the files of which all is run")
    parser.addoption(
        "--seen",
        default="",
        help="kernels, rules, runtime, numpy: what an earlier run asked with another Python, and with"
        " the same NumPy; of these tests one case each (of kernels and numpy if it is not slow), with"
        " --quick none",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than 0.3 s; not in `make test-quick`")
    config.addinivalue_line("markers", "longest: takes half a minute; comes first in the order")
    config.addinivalue_line("markers", "optimised: all cases have kernels as users do")
    unknown = {kind for kind in config.getoption("--seen").split(",") if kind} - set(ASKS)
    if unknown:
        raise pytest.UsageError(f"--seen: there are {', '.join(ASKS)}, not {', '.join(unknown)}")


def _is_seen(kind, config):
    return kind in config.getoption("--seen").split(",")


def pytest_ignore_collect(collection_path, config):
    """With --quick, what was seen is not even imported."""
    if config.getoption("--quick") and collection_path.parent == Path(__file__).parent:
        return _is_seen(KIND.get(collection_path.name), config) or None


def _is_worth_a_case(item, kind):
    """Of what was seen: one case of it, too?  Random programs are others on each Python."""
    if kind in ("kernels", "numpy") and not item.path.name.endswith("_fuzz.py"):
        return not item.get_closest_marker("slow")
    return not item.get_closest_marker("longest")


def _is_chosen(item, first, config):
    """Is a test run, that is the first case of its function or a later one?"""
    file, kind = item.nodeid.partition("::")[0], _kind(item.nodeid)
    seen = _is_seen(kind, config)
    if config.getoption("--quick"):
        if file in config.getoption("--whole").split(","):
            return True
        return first and not seen and not item.get_closest_marker("slow")
    return not seen or (first and _is_worth_a_case(item, kind))


def _is_optimised(item, first):
    """Of the cases of kernels each third, by a number that has nothing to do with their order."""
    of_kernels = _kind(item.nodeid) in ("kernels", "numpy")
    third = zlib.crc32(item.nodeid.encode()) % 3 == 0
    return first or (of_kernels and third) or item.get_closest_marker("optimised") is not None


def pytest_collection_modifyitems(config, items):
    """What takes long comes first, so that no worker has to wait for it at the end.  With --quick, of
    each test function its first case, if it is not marked as slow; of what was --seen the first case."""
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)
    met, kept, left = set(), [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        item.optimised = _is_optimised(item, function not in met)
        (kept if _is_chosen(item, function not in met, config) else left).append(item)
        met.add(function)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_collection_finish():
    """What there is now stays: no collection of garbage goes through 16,000 tests again.

    The tests' own bytecode is kept, that of modules which they write is not: one that is written
    again within a second, and is as long, would be taken for the first."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    gc.collect()
    gc.freeze()


# ---- kernels ----

# Half of the C compiler's time is its optimiser's.  The first case of each test has kernels as users do,
# and so has each third case of those that ask what kernels compute (_is_optimised); the others ask what
# the C text computes, what is captured, kept and run, whatever the machine code.  A $CC that is set is
# taken as it is.
QUICK_CC = str(Path(__file__).parent / "quick_cc.sh")
OWN_CC = os.environ.get("CC", "") not in ("", QUICK_CC)  # a worker may find the first process's


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Sets $CC for the test, and for the processes that it starts."""
    if not OWN_CC:
        if item.optimised:
            os.environ.pop("CC", None)
        else:
            os.environ["CC"] = QUICK_CC


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


@pytest.fixture
def a_plan_for_each_shape(monkeypatch):
    """For tests of what becomes of places with many plans: lengths that vary are not learnt."""
    import pycompile

    for name in ("compile", "explain"):
        function = functools.partial(getattr(pycompile, name), dynamic=False)
        monkeypatch.setattr(pycompile, name, function)
