"""Processes that share a cache: each kernel is compiled by one of them."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from pycompile import _C

HEAD = """
import os, signal, sys, time
import numpy as np
import pycompile
from pycompile import _C

def f(x):
    return np.tanh(x * 2) + x.sum()

x = np.ones(30)

def forks(count, work):
    '''Runs work(number) in so many processes, that begin together; their exit statuses.'''
    read, write = os.pipe()
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)  # until all are there
            status = work(number)
            _C.background_end()
            os._exit(status or 0)
        children.append(child)
    os.close(read)
    os.close(write)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
"""

# Counts the compiles; what the test puts into its place decides how they go.
COMPILER = """#!/bin/sh
case "$*" in *--version*) exec cc "$@";; esac
echo >>"$0.runs"
{}
exec cc "$@"
"""


@pytest.fixture
def program(tmp_path):
    """Runs such a program with an empty cache; how often it has compiled, and what it has said."""

    def run(text, compiler="", **variables):
        cc, folder = tmp_path / "cc", tmp_path / "cache"
        shutil.rmtree(folder, ignore_errors=True)
        (tmp_path / "cc.runs").write_text("")
        cc.write_text(COMPILER.format(compiler))
        cc.chmod(0o700)
        env = os.environ | {"CC": str(cc), "PYCOMPILE_CACHE_DIR": str(folder)} | variables
        code = HEAD + textwrap.dedent(text)
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        return len((tmp_path / "cc.runs").read_text()), done.stdout, done.stderr

    return run


EIGHT = """
expected = f(x).tobytes()
compiled = pycompile.compile(f, mode={mode!r})
def work(number):
    _C.test_cpu(" another" if number < {others} else "")
    while compiled.stats()["plans"] == 0:
        assert compiled(x).tobytes() == expected
    assert compiled(x).tobytes() == expected
    return compiled.stats()["plans"] - 1
assert forks(8, work) == [0] * 8
print(os.listdir(os.environ["PYCOMPILE_CACHE_DIR"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "others", "compiles"), [("wait", 0, 1), ("background", 0, 1), ("wait", 4, 2)]
)
def test_eight_that_start_at_once(program, mode, others, compiles):
    """One compiles for all, and one for those of another CPU."""
    runs, out, _ = program(EIGHT.format(mode=mode, others=others))
    assert runs == compiles and "claim-" not in out and "work-" not in out


# The first of two compiles as `first` says, then the other one.
TWO = """
folder, cc = os.environ["PYCOMPILE_CACHE_DIR"], os.environ["CC"]
child = os.fork()
if child == 0:
    pycompile.compile(f, mode={mode!r})(x)
    signal.pause()
def seen(found):
    while not found():
        time.sleep(0.001)
def claim():
    return [name for name in os.listdir(folder) if name.startswith("claim-")]
seen(lambda: os.path.exists(folder) and os.path.getsize(cc + ".runs"))
{then}
assert pycompile.compile(f, mode="wait")(x).tobytes() == f(x).tobytes()
print(_C.cache_info()["stored"], claim())
os.kill(child, signal.SIGKILL)
"""
HANGS = '[ $(wc -c <"$0.runs") = 1 ] && exec sleep 20'  # the first one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "left"),
    [
        ("os.kill(child, signal.SIGKILL)", "[]"),
        ("os.utime(os.path.join(folder, *claim()), (1, 1))", "[]"),
    ],
    ids=["has died", "takes longer than it may"],
)
def test_who_does_not_finish_is_not_waited_for(program, then, left):
    runs, out, _ = program(TWO.format(mode="wait", then=then), HANGS)
    assert (runs, out) == (2, f"1 {left}\n")


@pytest.mark.slow
def test_who_never_comes_back_has_compiled_for_the_others(program):
    runs, out, _ = program(TWO.format(mode="background", then=""))
    assert (runs, out) == (1, "1 []\n")


def test_a_claim_that_was_left_is_taken_and_swept(tmp_path, monkeypatch):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    source = "int k0(void) { return 71; }\n"
    assert _C.test_code_run(source) == 71
    (entry,) = tmp_path.glob("*.so")
    entry.unlink()
    claim = tmp_path / f"claim-{entry.stem}"
    for left in ("", "../../x"):
        claim.write_text(left)
        assert _C.test_code_run(source) == 71 and entry.exists() and not claim.exists()
        entry.unlink()
    claim.write_text("")
    os.utime(claim, (1, 1))
    _C.cache_sweep()
    assert not claim.exists()
