"""Code that runs once modules are gone, in the interpreter's last garbage collection, is CPython's."""

import os
import subprocess
import sys
import textwrap

import pytest

import pycompile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": ROOT,
    "PYCOMPILE_BACKGROUND": "0",
    "OPENBLAS_NUM_THREADS": "1",  # its threads spin for as long as it takes to import NumPy
}

# What outlives the modules, and what it runs at its end.  Modules' variables are None by then, so all that is
# needed is a default.  `tell` writes to the descriptor: sys.stdout is gone.
BEGIN = """
import codecs, os, sys, weakref
import numpy as np
def tell(value, write=os.write, repr=repr, str=str):
    write(1, str.encode(repr(value) + "\\n"))
def step(x, n):
    return (x * n + 1) * x
def helper(n):
    return n * 3 + 1
def work(x, tell=tell, step=step, helper=helper, range=range):
    total = 0
    for i in range(40):
        total += helper(i) * i
    tell(total)
    for i in range(20):
        y = step(x, i)
    tell(y.tolist())
class Late:
    def __init__(self):
        self.me, self.x = self, np.arange(5.0)
    def none(self, *arguments):
        return None
class Working(Late):
    def __del__(self, work=work):
        work(self.x)
"""

LAST = {
    "codec": "codecs.register(Working().none)",
    "codec error": "codecs.register_error('late', Working().none)",
    "audit hook": "late = Working()\nsys.addaudithook(lambda *a, late=late: None)\ndel late",
    "weak reference": """
        late = Late()
        del late.me
        codecs.register(late.none)
        class Holder:
            def __init__(self, late):
                self.ref = weakref.ref(late, self.gone)
                self.x = np.arange(5.0)
            def gone(self, ref, work=work):
                work(self.x)
            def none(self, error):
                return None
        codecs.register_error('late', Holder(late).none)
        del late
    """,
    "generator": """
        def wait(x, work=work):
            late = yield
            try:
                yield
            finally:
                work(x)
        late = Late()
        late.wait = wait(np.arange(5.0))
        next(late.wait)
        late.wait.send(late)
        codecs.register(late.none)
        del late
    """,
    "new function": """
        class Making(Late):
            def __del__(self, tell=tell, range=range):
                def sums(x, range=range):
                    total = 0
                    for i in range(5):
                        total += x[i] * i
                    return total
                for i in range(20):
                    y = sums(self.x)
                tell(y.item())
        codecs.register(Making().none)
    """,
}

WAYS = {
    "compiled": [],
    "run": ["-m", "pycompile", "run"],
    "all": ["-m", "pycompile", "run", "--capture-all"],
}


@pytest.fixture
def program(tmp_path):
    def execute(text, *before, **variables):
        path = tmp_path / "program.py"
        path.write_text(text)
        command = [sys.executable, *before, str(path)]
        return subprocess.run(
            command, env={**ENVIRONMENT, **variables}, capture_output=True, text=True, timeout=120
        )

    return execute


def check(program, text, before, lines):
    plain, run = program(text), program(text, *before)
    assert plain.returncode == 0 and len(plain.stdout.splitlines()) == lines, plain
    assert (run.returncode, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr)


@pytest.mark.parametrize("way", ["run", "all"])
@pytest.mark.parametrize("last", LAST)
def test_candidates(program, last, way):
    text = BEGIN + textwrap.dedent(LAST[last]) + "\nprint('end')\n"
    check(program, text, WAYS[way], 2 if last == "new function" else 3)


# With plans from before: one that holds, one whose guards fail, one that warns, one that raises.
COMPILED = """
import pycompile
def divide(x, y):
    return (x / y + 1) * 2
def index(x, i):
    return x[i] * 2 + x[0]
if os.environ.get("COMPILED"):
    step, divide, index = map(pycompile.compile, (step, divide, index))
class Calling(Late):
    def __del__(self, step=step, divide=divide, index=index, tell=tell, square=np.ones((2, 2)), Error=Exception):
        tell(step(self.x, 2).tolist())
        tell(step(square, 2).tolist())
        tell(divide(self.x, self.x + 2).tolist())
        tell(index(self.x, 3).tolist())
        for fails in (lambda: index(self.x, 9), lambda: divide(self.x, self.x)):
            try:
                fails()
            except Error as error:  # the warning's: the filters are gone, too
                tell(error)
        tell(step(2, 3))
late = Calling()
for i in range(1, 4):
    step(late.x, i), divide(late.x, late.x + 1), index(late.x, i)
codecs.register(late.none)
del late
print('end')
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_compiled_functions(program, way):
    text = BEGIN + COMPILED
    plain, run = program(text), program(text, *WAYS[way], COMPILED="1")
    assert plain.returncode == 0 and len(plain.stdout.splitlines()) == 8, plain
    assert (run.returncode, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr)


def test_functions_at_exit_are_still_compiled(program):
    """Those of atexit and of threads that are waited for run before all that."""
    text = """
import atexit, threading, numpy as np, pycompile
@pycompile.compile
def step(x):
    return x * 2 + 1
def last():
    y = step(np.ones(9))
    print(y.sum(), step.stats()["plan_runs"])
atexit.register(last)
threading.Thread(target=last).start()
"""
    done = program(text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "27.0 1\n27.0 2\n", "")
