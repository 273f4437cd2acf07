"""Every test starts without plans, with a cache of its own for the whole run."""

import os
import tempfile

import pytest

_folder = tempfile.TemporaryDirectory(prefix="pycompile-tests-")
os.environ.setdefault("PYCOMPILE_CACHE_DIR", _folder.name)
os.environ.setdefault("PYCOMPILE_PLAN_ALWAYS", "1")  # so that rules are tested on tiny cases too


@pytest.fixture(autouse=True)
def _no_plans():
    import pycompile

    pycompile.reset()


@pytest.fixture(scope="session", autouse=True)
def _cache_folder():
    yield
    _folder.cleanup()
