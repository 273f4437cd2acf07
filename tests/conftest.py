"""Every test starts without plans, with a cache of its own for the whole run."""

import os
import tempfile

import pytest

_folder = tempfile.TemporaryDirectory(prefix="pycompile-tests-")
os.environ.setdefault("PYCOMPILE_CACHE_DIR", _folder.name)


@pytest.fixture(scope="session", autouse=True)
def _cache_folder():
    yield
    _folder.cleanup()
