"""Where a process sees several devices, tests take them by turns: each is run with plans of others about."""

import itertools

import pytest

_turns = itertools.count()


@pytest.fixture(autouse=True)
def _device():
    cp = pytest.importorskip("cupy")
    with cp.cuda.Device(next(_turns) % cp.cuda.runtime.getDeviceCount()):
        yield
