"""Compiles that nobody waits for.  The compiler is a script that waits for a file before it compiles, so
that what happens meanwhile is certain; each program runs in a process of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import pycompile

ROOT = str(Path(pycompile.__file__).resolve().parents[1])
START = """
import os, time, warnings
import numpy as np, pycompile
from pathlib import Path

FOLDER = Path(os.environ["PYCOMPILE_CACHE_DIR"])
GO = FOLDER.parent / "go"
X = np.linspace(0.1, 2.0, 20000)

def f(x):
    return np.exp(x) * 2 + np.sqrt(x)

def wait_until(done):
    while not done():
        time.sleep(0.005)

def plain(function, *args):
    return function.__wrapped__(*args)

def captures():
    return pycompile._C.compile_counts()["captures"]

g = pycompile.compile(f, mode="background")
"""


@pytest.fixture(autouse=True)
def compilers_end(tmp_path):
    """Those that a program has left behind wait no longer."""
    yield
    (tmp_path / "go").touch()


def child(tmp_path, code, compiler="exec cc", **variables):
    """What the program prints, and its warnings."""
    cc = tmp_path / "cc"
    if not cc.exists():  # a file of another time is another compiler
        cc.write_text(
            f"""#!/bin/sh
            [ "$1" = --version ] && exec cc --version
            while [ ! -e {tmp_path / "go"} ]; do sleep 0.01; done
            {compiler} "$@"
            """
        )
        cc.chmod(0o755)
    variables = {"CC": str(cc), "PYCOMPILE_CACHE_DIR": str(tmp_path / "cache")} | variables
    env = {**os.environ, "PYTHONPATH": ROOT, **variables}
    command = [sys.executable, "-W", "always", "-c", START + textwrap.dedent(code)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr.replace("\n  ", " ")  # the lines of a warning


def test_calls_go_on_in_python_until_there_is_code(tmp_path):
    out, _ = child(
        tmp_path,
        """
        for _ in range(3):
            assert np.array_equal(g(X), f(X))
        print(g.stats()["plan_runs"], g.stats()["plans"])
        GO.touch()
        wait_until(lambda: g(X) is not None and g.stats()["plan_runs"] > 0)
        assert np.array_equal(g(X), f(X))
        print(g.stats()["plans"], len(list(FOLDER.glob("work-*"))), len(list(FOLDER.glob("*.so"))))
        """,
    )
    assert out == ["0", "0", "1", "0", "1"]


def test_a_capture_is_made_once(tmp_path):
    """Its plan waits for the code: calls of another size meanwhile, and after it, are seen by its guards."""
    out, _ = child(
        tmp_path,
        """
        g(X)
        g(X[:100])
        GO.touch()
        wait_until(lambda: g(X) is not None and g.stats()["plan_runs"] > 0)
        print(captures())
        wait_until(lambda: g(X[:100]) is not None and g.stats()["plans"] == 2)
        assert all(np.array_equal(g(X[:n]), f(X[:n])) for n in range(2, 100))
        print(captures(), g.stats()["plans"])
        """,
    )
    assert out == ["1", "2", "2"]


def test_a_plan_that_waits_is_dropped_with_the_others(tmp_path):
    out, _ = child(
        tmp_path,
        """
        g(X)
        pycompile.reset()
        assert np.array_equal(g(X), f(X)) and captures() == 2
        GO.touch()
        wait_until(lambda: np.array_equal(g(X), f(X)) and g.stats()["plan_runs"])
        print(g.stats()["plans"], len(list(FOLDER.glob("work-*"))))
        g(X[:100])
        """,
    )
    assert out == ["1", "0"]


def test_it_is_no_child_of_the_program(tmp_path):
    """Neither os.wait() nor a handler of SIGCHLD sees the compiler end."""
    out, _ = child(
        tmp_path,
        """
        import signal
        seen = []
        g(X)
        signal.signal(signal.SIGCHLD, lambda *_: seen.append(1))
        try:
            os.wait()
        except ChildProcessError:
            print("none")
        GO.touch()
        wait_until(lambda: g(X) is not None and g.stats()["plan_runs"] > 0)
        print(len(seen))
        """,
    )
    assert out == ["none", "0"]


def test_nothing_waits_at_exit(tmp_path):
    out, _ = child(tmp_path, "g(X)\nprint(len(list(FOLDER.glob('work-*'))))")
    assert out == ["1"]
    assert not list((tmp_path / "cache").glob("work-*"))


@pytest.mark.slow
def test_what_is_ready_at_exit_is_kept(tmp_path):
    child(
        tmp_path,
        """
        GO.touch()
        g(X)
        wait_until(lambda: any(at.read_text() for at in FOLDER.glob("work-*/ended")))
        """,
    )
    assert len(list((tmp_path / "cache").glob("*.so"))) == 1
    out, _ = child(tmp_path, "g(X)\nprint(g.stats()['plan_runs'])")
    assert out == ["1"]


def test_code_after_a_break_is_started_in_the_same_call(tmp_path):
    out, _ = child(
        tmp_path,
        """
        def h(x):
            y = np.exp(x) * 2
            os.getppid()
            return np.sqrt(y) + np.tanh(x) * y

        k = pycompile.compile(h, mode="background")
        k(X)
        print(len(list(FOLDER.glob("work-*"))))
        GO.touch()
        wait_until(lambda: np.array_equal(k(X), h(X)) and k.stats()["plans"] == 2)
        """,
        PYCOMPILE_THREADS="2",
    )
    assert out == ["2"]


def test_as_many_compilers_as_cpus(tmp_path):
    out, _ = child(
        tmp_path,
        """
        functions = [eval(f"lambda x: np.exp(x) * {i} + 1") for i in range(2, 6)]
        compiled = [pycompile.compile(function, mode="background") for function in functions]
        for _ in range(3):
            for function in compiled:
                function(X)
        print(len(list(FOLDER.glob("work-*"))))
        GO.touch()
        for function, own in zip(functions, compiled):
            wait_until(lambda: np.array_equal(own(X), function(X)) and own.stats()["plan_runs"])
        print(len(list(FOLDER.glob("*.so"))))
        """,
        PYCOMPILE_THREADS="2",
    )
    assert out == ["2", "4"]


def test_a_compiler_that_fails(tmp_path):
    out, err = child(
        tmp_path,
        """
        GO.touch()
        g(X)
        wait_until(lambda: g(X) is not None and not list(FOLDER.glob("work-*")))
        assert np.array_equal(g(X), f(X))
        print(g.stats()["plan_runs"])
        """,
        compiler="echo sorry; exit 1;",
    )
    assert out == ["0"]
    assert err.count("PycompileWarning") == 1 and "cannot compile: sorry" in err


def test_a_forked_process_waits_for_its_parents(tmp_path):
    out, _ = child(
        tmp_path,
        """
        g(X)
        pid = os.fork()
        if pid == 0:
            ok = np.array_equal(g(X), f(X)) and len(list(FOLDER.glob("work-*"))) == 1
            GO.touch()
            wait_until(lambda: np.array_equal(g(X), f(X)) and g.stats()["plan_runs"])
            os._exit(0 if ok else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        wait_until(lambda: np.array_equal(g(X), f(X)) and g.stats()["plan_runs"])
        """,
    )
    assert out == ["0"]


def test_breaks_are_told_at_the_first_call(tmp_path):
    out, _ = child(
        tmp_path,
        """
        @pycompile.compile(mode="background", fullgraph=True)
        def h(x):
            y = np.exp(x) * 2
            os.getppid()
            return np.sqrt(y) + x

        try:
            h(X)
        except pycompile.GraphBreakError as error:
            print(error.code)
        """,
    )
    assert out == ["PC0002"]


@pytest.mark.slow
def test_programs_run_so_by_default(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import os, time
            import numpy as np
            from pathlib import Path

            def f(x):
                return np.exp(x) * 2 + np.sqrt(x)

            x = np.linspace(0.1, 2.0, 200000)
            for _ in range(200):
                f(x)
            # the function's, and maybe the loop's
            print(any(Path(os.environ["PYCOMPILE_CACHE_DIR"]).glob("work-*")))
            """
        )
    )
    here = f"import sys; sys.argv[1:] = ['run', {str(program)!r}]\n"
    here += "import runpy; runpy.run_module('pycompile', run_name='__main__')"
    code = f"exec({here!r})"
    out, _ = child(tmp_path, code)
    assert out == ["True"]
    out, _ = child(tmp_path, f"GO.touch()\n{code}", PYCOMPILE_BACKGROUND="0")
    assert out == ["False"]


@pytest.mark.parametrize(
    "options", [{"mode": "background"}, {"mode": "O0"}, {"options": {"background": True}}]
)
def test_how_it_is_asked_for(options):
    compiled = pycompile.compile(lambda x: x + 1, **options)
    assert np.array_equal(compiled(np.ones(3)), np.full(3, 2.0))


def test_modes_that_are_none():
    modes = "mode must be None or one of 'default', 'wait', .*, 'O3', not 'fast'"
    with pytest.raises(ValueError, match=modes):
        pycompile.compile(lambda x: x, mode="fast")
