"""What `python -m pycompile explain` says of a program whose loops are captured while they run, with
little to follow at first."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

import pycompile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))
ENVIRONMENT = {**os.environ, "PYTHONPATH": ROOT, "PYCOMPILE_BACKGROUND": "0"}
entered = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="3.11 tells nothing of jumps in a running frame"
)


@pytest.fixture
def told(tmp_path):
    """What is told of a program, its lines joined."""

    def explain(text):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        done = subprocess.run(
            [sys.executable, "-m", "pycompile", "explain", str(path)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return re.sub(r"\s+", " ", done.stderr)

    return explain


@entered
def test_a_module_s_loop_that_was_entered(told):
    """Its counts are those of a code that has died when they are told, and looks at it that were too
    early are not."""
    text = told("""
        import numpy as np
        total = i = 0
        while i < 3_000_000:
            total += i * 3
            i += 1
        print(total)
    """)
    found = re.search(r"<module> \(program.py:1\): 1 plan run 1 time, 1 kernel, (\S+ \S+)", text)
    assert found and found[1] != "0 us", text
    assert "did not stay a loop" not in text, text


@entered
def test_nothing_is_left_behind_the_last_print(told):
    text = told("""
        import numpy as np
        total = i = 0
        while i < 3_000_000:
            total += i * 3
            i += 1
        print(total, np.ones(3).dtype)
    """)
    assert "after the array code" not in text, text
    assert "Nothing has to change: no array code comes after it." in text, text
