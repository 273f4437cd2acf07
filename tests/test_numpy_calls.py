"""Each call of calls.py, compiled against plain; the list is complete."""

import numpy_calls as calls
import pytest
from differential import check

ALL = [(name, call) for section in calls.SECTIONS.values() for name, call in section.items()]
HERE = [(name, call) for name, call in ALL if calls.exists(name)]


@pytest.mark.parametrize(("name", "call"), HERE, ids=[name for name, _ in HERE])
def test_call(name, call):
    check(calls.function(call), *calls.arguments().values(), captured=False)
