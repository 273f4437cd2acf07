"""Every test starts without plans and with the random numbers that it would have alone.

Compiled kernels are shared by all tests of a run, also by those of other workers (pytest-xdist) and by
child processes: in the folder that PYCOMPILE_CACHE_DIR names (`make test` keeps one between runs), or
else in a temporary one.  A test that looks at compiling or at the cache names a folder of its own.
"""

import os
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
