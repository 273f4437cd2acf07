"""NumPy's submodules that it imports when they are asked for: capture imports none by itself, and knows
their functions from when the program has them."""

import os
import subprocess
import sys
import textwrap

import pytest

import pycompile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))

BEGIN = """
import sys
import numpy as np
import pycompile

def there():
    return [name for name in ("random", "fft", "polynomial") if "numpy." + name in sys.modules]

x = np.linspace(0.1, 1.0, 64)
"""


def run(text):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(text)],
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_first_call_imports_none():
    """One that calls NumPy's functions, one that fills a step's holes, one that is a step itself."""
    before, after = run("""
    print(there())
    @pycompile.compile
    def f(x):
        return np.tanh(x) + np.sort(x) + np.median(x * 2.0) + np.interp(x, x, x)
    f(x), f(x)
    assert f.stats()["plan_runs"] == 2
    print(there())
    """)
    assert before == after


FIRST_USES = {
    "fft": "np.fft.rfft(x * 2.0).real + 1.0",
    "random": "np.random.default_rng(3).normal(size=x.shape) * x + 1.0",
    "polynomial": "np.polynomial.polynomial.polyval(x * 2.0, np.array([1.0, 2.0])) + x",
}


@pytest.mark.parametrize("name", FIRST_USES)
@pytest.mark.parametrize("earlier", [False, True], ids=["at once", "after another capture"])
def test_the_first_use_is_one_graph(name, earlier):
    """Whoever asks numpy for the submodule has it imported, as without capture."""
    (out,) = run(f"""
    def f(x):
        return {FIRST_USES[name]}
    if {earlier}:
        pycompile.compile(lambda x: np.tanh(x) * x + np.sort(x))(x)
    compiled = pycompile.compile(f, fullgraph=True)
    first, second = compiled(x), compiled(x)
    assert compiled.stats()["plan_runs"] == 2
    print(first.tobytes() == second.tobytes() == f(x).tobytes(), there())
    """)
    assert out.startswith("True ") and repr(name) in out


@pytest.mark.slow
def test_an_import_by_the_program_after_a_capture():
    """Functions, generators and classes of a submodule that came later are known for what they are."""
    (out,) = run("""
    pycompile.compile(lambda x: np.tanh(x) * x + np.sort(x))(x)
    from numpy.fft import rfft
    from numpy.polynomial import Polynomial
    from numpy.random import Generator, PCG64
    generator = Generator(PCG64(5))
    def f(x):
        y = rfft(x * 2.0).real
        p = Polynomial([1.0, 2.0, 0.5])
        return y.sum() * x + p(x * 0.5) + generator.normal(size=x.shape) * 2.0
    compiled = pycompile.compile(f, fullgraph=True)
    made = []
    for function in (compiled, f):
        generator.bit_generator.state = PCG64(5).state
        made.append(b"".join(function(x).tobytes() for _ in range(3)))
    assert compiled.stats()["plan_runs"] == 3
    print(made[0] == made[1])
    """)
    assert out == "True"


def test_a_name_that_numpy_has_not_got():
    (out,) = run("""
    def f(x):
        try:
            return np.no_such_thing(x)
        except AttributeError as error:
            return x * 2.0, str(error)
    compiled = pycompile.compile(f)
    before = there()
    for _ in range(2):
        assert compiled(x)[1] == f(x)[1]
    print("same modules" if there() == before else there())
    """)
    assert out == "same modules"
