"""python -m pycompile run: programs behave as under the interpreter, and their array code is compiled."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import pycompile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))
# Compiles are waited for, so that it is certain which call runs a plan.
# OpenBLAS's threads spin for as long as it takes to import NumPy; it is not what is tested.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": ROOT,
    "PYCOMPILE_BACKGROUND": "0",
    "OPENBLAS_NUM_THREADS": "1",
}

ARRAYS = """
import numpy as np
def step(x, y):
    return np.tanh(x * y + 1).sum()
def helper(n):
    return n + 1
total = 0.0
for i in range(40):
    total += step(np.full(1000, 0.1 * i), np.arange(1000.0))
    helper(i)
print(total)
"""


@pytest.fixture
def program(tmp_path):
    """Runs a program's text as a script, plain or under `run`."""

    def execute(text, *options, plain=False, arguments=(), stdin=None, **variables):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        before = [] if plain else ["-m", "pycompile", "run", *options]
        return subprocess.run(
            [sys.executable, *before, str(path), *arguments],
            env={**ENVIRONMENT, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
        )

    return execute


def same(a, b):
    assert (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr)


PROGRAMS = {
    "arguments": "import sys; print(sys.argv[1:], sys.path[0], __name__, __file__, __package__, __spec__)",
    "annotations": "print(__annotations__, sorted(globals()))",
    "exit_code": "import sys; sys.exit(7)",
    "exit_text": "raise SystemExit('gone')",
    "traceback": "def f(x):\n    return 1 / x\ndef g():\n    f(0)\ng()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "syntax": "x = (1,\n",
    "atexit": "import atexit\nx = 5\natexit.register(lambda: print('bye', x, __name__))",
    "main": "import sys\nprint(sys.modules['__main__'].__dict__ is globals())",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "excepthook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__, a[2].tb_lineno)\n1 / 0",
    "recursion": "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(900))",
    "deep": "import sys\nsys.setrecursionlimit(9000)\nimport numpy\n"
    "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(8000))",
    "deep_arrays": "import numpy as np\n"
    "def f(x, n): return x if n == 0 else f(x, n - 1) + 1\nprint(f(np.ones(3), 900))",
    "limit by a slot": "class A:\n    def __getattr__(self, key): self.other\n"
    "for i in range(4):\n    try:\n        A().foo\n    except RecursionError as e:\n        print(e)",
    "limit": "import numpy\ndef f(): return f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)",
    "threads": "import threading, numpy as np\nout = []\ndef work(x):\n    out.append(float((x + 1).sum()))\n"
    "all = [threading.Thread(target=work, args=(np.ones(9),)) for _ in range(8)]\n"
    "[t.start() for t in all]; [t.join() for t in all]; print(out)",
    "changed_code": "import numpy as np\ndef f(x): return x + 1\ndef g(x): return x * 2\nx = np.ones(4)\n"
    "for i in range(9):\n    print(f(x))\n    if i == 4: f.__code__ = g.__code__",
    "closures": "import numpy as np\ndef make(k):\n    def inner(x): return x * k\n    return inner\n"
    "print([make(i)(np.ones(2)).sum() for i in range(20)], [make(i)(2) for i in range(20)])",
    "generators": "import numpy as np\ndef g(x):\n    for i in range(3): yield x + i\nprint(list(g(np.ones(2))))",
    "borrowed_slot": "import numpy as np\nclass A: __slots__ = 's'\nclass B: b = A.s\ndef f(o): return o.b\n"
    "try:\n    f(B())\nexcept TypeError as e:\n    print(e)",
    "monitoring": "import sys, numpy as np\ndef f(x): return x + 1\ndef g(x): return f(x)\ng(np.ones(3))\n"
    "if sys.version_info >= (3, 12):\n    m, seen = sys.monitoring, []\n    m.use_tool_id(2, 't')\n"
    "    for event in (m.events.PY_START, m.events.CALL, m.events.C_RETURN):\n"
    "        m.register_callback(2, event, lambda *a, e=event: seen.append((e, str(a[2:3])[:20])))\n"
    "    m.set_events(2, m.events.PY_START | m.events.CALL)\n    g(np.ones(3))\n    m.set_events(2, 0)\n"
    "    print(len(seen), [e for e, _ in seen])",
    "arrays": ARRAYS,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_plain(program, name):
    text = PROGRAMS[name]
    plain = program(text, plain=True, arguments=("a", "-b"))
    for options in ([], ["--capture-all"]):
        same(program(text, *options, arguments=("a", "-b")), plain)


def test_interrupted(program):
    text = "raise KeyboardInterrupt"
    same(program(text), program(text, plain=True))


def test_modules_and_code(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys; print(sys.argv, __name__, __package__, __spec__.name); raise ValueError('x')"
    )
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "__main__.py").write_text("import sys; print(sys.argv, __name__)")
    for words in (
        ["-m", "package", "a"],
        ["-m", "nosuchmodule"],
        ["-c", "import sys; print(sys.argv, sys.path[0], __name__); 1/0", "a", "-x"],
        ["archive", "b"],
        ["nosuchscript.py"],
    ):
        each = [
            subprocess.run(
                [sys.executable, *before, *words],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=ENVIRONMENT,
            )
            for before in ([], ["-m", "pycompile", "run"])
        ]
        plain, run = each
        assert (plain.returncode, plain.stdout) == (run.returncode, run.stdout), words
        assert run.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]
        assert "pycompile/_run.py" not in run.stderr


def test_without_numpy_nothing_is_imported(program):
    text = """
    import sys
    print(sorted(m for m in sys.modules if m.startswith(("numpy", "pycompile"))))
    """
    names = program(text).stdout
    assert "numpy" not in names and "pycompile._C" not in names


@pytest.mark.parametrize("order", ["before", "after"])
def test_array_functions_get_plans(program, order):
    define = "def step(x):\n    return (x * 2 + 1).sum()\n"
    load = "import numpy as np\n"
    calls = "for i in range(5):\n    step(np.ones(5000))\n"
    text = (define + load if order == "before" else load + define) + calls
    done = program(text, PYCOMPILE_LOGS="schedule", PYCOMPILE_PLAN_ALWAYS="1")
    assert done.returncode == 0 and "step (" in done.stderr, done.stderr


EARNED = """
import os, sys
import numpy as np
def step(x):
    return (x * {0} + 1).sum()
x = np.ones({1})
for i in range({2}):
    step(x)
from pycompile import _C
print([r["plan_runs"] > 0 for r in _C.hints() if r["function"] == "step"])
"""


@pytest.mark.slow
def test_compiles_have_to_be_earned(program, tmp_path):
    """Few calls do not run the C compiler, unless it has run for another process; many do."""
    few, many = EARNED.format(2, 1_000_000, 20), EARNED.format(2, 1_000_000, 120)
    cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path / "cache"), "PYCOMPILE_PLAN_ALWAYS": "0"}
    done = program(few, PYCOMPILE_LOGS="perf_hints", **cache)
    assert done.stdout == "[False]\n" and "step (" in done.stderr, done
    assert "calls: until then compiling costs more than it saves" in done.stderr
    assert program(EARNED.format(2, 10, 15), **cache).stdout == "[False]\n"
    assert program(many, **cache).stdout == "[True]\n"
    assert program(few, **cache).stdout == "[True]\n"


COUNTED = """
import sys
import numpy as np
{}
from pycompile import _C
print(_C.compile_counts()["captures"], _C.toolchain_info()["compiled"])
print(sorted(r["function"] for r in _C.hints() if r["plan_runs"]))
"""


@pytest.fixture
def counted(program, tmp_path):
    """(captures, C compiler runs, functions whose plans have run) of a program with an empty cache."""

    def execute(text, **packages):
        for name, source in packages.items():
            folder = tmp_path / "site-packages"
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.py").write_text(textwrap.dedent(source))
        cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path / "cache"), "PYCOMPILE_PLAN_ALWAYS": "0"}
        begin = f"sys.path.insert(0, {str(tmp_path / 'site-packages')!r})\n"
        done = program(COUNTED.format(begin + textwrap.dedent(text)), **cache)
        assert done.returncode == 0, done.stderr
        counts, names = done.stdout.splitlines()[-2:]
        captures, compiled = map(int, counts.split())
        return captures, compiled, eval(names)

    return execute


def test_code_that_runs_once_is_not_captured(counted):
    """A module's own level, functions that are called once, loops with little to do."""
    text = """
    rng = np.random.default_rng(1)
    def load(n):
        x = rng.normal(size=(n, 4))
        return x, x @ np.arange(4.0) + 1.0
    def normalize(x):
        return (x - x.mean(axis=0)) / x.std(axis=0)
    def table(x):
        rows = []
        for i in range(4):
            rows.append(np.abs(x[:, i]).max() * 2.0)
        return rows
    class Model:
        def __init__(self, x, y):
            self.x, self.y = np.asarray(x) * 1.0, y - y.mean()
            for name in ("a", "b"):
                setattr(self, name, np.zeros(3) + 1.0)
    x, y = load(40)
    x = normalize(x)
    m = Model(x, y)
    s = np.sin(x) * np.cos(x) + 1.0
    for i in range(1000):
        s = s * 0.5 + x
    table(x[:20])
    """
    assert counted(text) == (0, 0, [])


@pytest.mark.slow
def test_a_hot_function_is_captured(counted):
    text = """
    def step(x):
        return (x * 0.5 + 1.0) * x - x.sum()
    def cold(x):
        return step(x) * 2.0
    x = np.ones(500_000)
    for i in range(200):
        step(x)
    cold(np.ones(3))
    """
    captures, compiled, names = counted(text)
    assert 1 <= captures <= 6 and compiled == 1 and names == ["step"]


@pytest.mark.slow
def test_a_loop_with_much_to_do_is_captured_at_once(counted):
    text = """
    def walk(x, y):
        t = 0.0
        for i in range(len(x)):
            t += x[i] * y[i]
        return t
    n = {0}
    assert walk(np.ones(n), np.ones(n)) == n
    """
    captures, compiled, names = counted(text.format(2_000_000))
    assert captures <= 4 and compiled == 1 and names == ["walk"]
    assert counted(text.format(200)) == (0, 0, [])


NESTS = {
    "by sizes": """
        def once(u):
            n, m = u.shape
            for i in range(1, n):
                for j in range(1, m - 1):
                    u[i, j] = 0.5 * u[i - 1, j] + 0.25 * u[i, j - 1] - u[i, j + 1]
        once(np.ones(({0}, {0})))
    """,
    "that go to the outer one": """
        def once(u):
            for i in range(1, len(u)):
                for j in range(i):
                    u[i, j] = 0.5 * u[i - 1, j] + 0.25 * u[j, i] - u[i, j + 1]
        once(np.ones(({0}, {0})))
    """,
    "over arrays of its own": """
        def once():
            u = np.ones(({0}, {0}))
            n, m = u.shape
            for i in range(1, n):
                for j in range(1, m - 1):
                    u[i, j] = 0.5 * u[i - 1, j] + 0.25 * u[i, j - 1] - u[i, j + 1]
        once()
    """,
    "of while": """
        def once(x):
            i, s = 0, 0.0
            while i < len(x):
                if x[i] > 0.5:
                    s = 0.5 * s + x[i]
                i += 1
            return s
        once(np.ones({0} * {0}))
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("nest", NESTS)
def test_loops_of_a_function_that_is_called_once(counted, nest):
    """How often they turn is known from the numbers and sizes of this call."""
    _, compiled, names = counted(NESTS[nest].format(900))
    assert compiled == 1 and names == ["once"]
    assert counted(NESTS[nest].format(20))[1:] == (0, [])


def test_the_compiler_is_waited_for_where_one_call_pays_for_it(program, tmp_path):
    """Though compiles are in the background: there may be no other call."""
    text = COUNTED.format(textwrap.dedent(NESTS["by sizes"].format(900)))
    cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path / "cache"), "PYCOMPILE_PLAN_ALWAYS": "0"}
    done = program(text, **cache, PYCOMPILE_BACKGROUND="")
    assert done.stdout.splitlines()[-1] == "['once']", done.stderr


@pytest.mark.slow
def test_what_does_not_pay_is_stepped_over_for_a_loop_that_does(counted):
    text = """
    def main(x, n):
        small = np.arange(8.0)
        for i in range(3):
            small = np.tanh(small * 2.0 + 1.0) - small
            eval("1")
        for i in range(n):
            x = np.tanh(x * 0.5 + 1.0) - x * x
            eval("1")
        return x.sum() + small.sum()
    main(np.ones(300_000), 200)
    """
    captures, compiled, names = counted(text)
    assert compiled >= 1 and names == ["main"]


PACKAGE = """
import numpy as np
def scale(x):
    return np.tanh(x * 2.0 + 1.0) - x
def convert(x):
    eval("1")
    return [float(v) for v in x.tolist()]
def setup(n):
    x = np.zeros(n)
    for i in range(n):
        x[i] = i * 2.0
    return x
"""


@pytest.mark.slow
def test_installed_code_has_to_earn_more(counted):
    text = """
    import package
    def own(x):
        return np.tanh(x * 2.0 + 1.0) - x
    x = package.setup(64)
    for i in range({0}):
        {1}(x)
    """
    assert counted(text.format(100, "package.scale"), package=PACKAGE) == (0, 0, [])
    assert counted(text.format(100, "own"), package=PACKAGE)[0] >= 1
    assert counted(text.format(400, "package.scale"), package=PACKAGE)[0] >= 1
    large = "import package\nx = np.ones(2_000_000)\nfor i in range(30): package.scale(x)"
    assert counted(large, package=PACKAGE)[2] == ["scale"]


def test_captures_that_come_to_nothing_become_rarer(counted):
    text = """
    import package
    x = np.ones(3)
    for i in range(4000):
        package.convert(x)
    """
    captures, compiled, names = counted(text, package=PACKAGE)
    assert 1 <= captures <= 4 and compiled == 0 and names == []


METHODS = """
import numpy as np
class Body:
    def __init__(self):
        self.position = np.zeros(3000)
        self.speed = np.ones(3000)
    def advance(self):
        self.position = self.position + self.speed * 0.5
body = Body()
for _ in range(10):
    body.advance()
print(body.position.sum())
"""


@pytest.mark.slow
def test_arrays_in_instances_are_seen(program):
    done = program(METHODS, PYCOMPILE_LOGS="schedule", PYCOMPILE_PLAN_ALWAYS="1")
    assert "Body.advance (" in done.stderr, done.stderr
    assert done.stdout == program(METHODS, plain=True).stdout


@pytest.mark.slow
def test_capture_all_counts(program, tmp_path):
    text = "def f(a, b):\n    return a + b\nfor i in range(3):\n    f(1, 2)\ndef g():\n    yield 1\nlist(g())"
    report = tmp_path / "report.json"
    done = program(text, "--capture-all", f"--capture-report={report}")
    assert done.returncode == 0, done.stderr
    rows = {row["function"]: row for row in json.loads(report.read_text())}
    assert rows["f"]["whole"] == 3 and rows["f"]["part"] == rows["f"]["left"] == 0
    assert rows["g"]["left"] == 1 and "generator" in rows["g"]["why"]


@pytest.mark.slow
@pytest.mark.parametrize("imported", ["by us too", "by the program"])
def test_capture_all_of_an_event_loop(tmp_path, imported):
    """Bound methods of C code that ask for their class: descrobject.c, method_get.  `logging` while
    it is imported: in 3.11 a thread must not take two of importlib's locks at once."""
    path = tmp_path / "program.py"
    path.write_text(
        "import asyncio\n"
        "async def main(n):\n"
        "    await asyncio.sleep(0)\n"
        "    return n\n"
        "print([asyncio.run(main(n)) for n in range(6)])\n"
    )
    begin = "import asyncio, runpy, sys; " if imported == "by us too" else "import runpy, sys; "
    begin += "sys.argv[1:1] = ['run', '--capture-all']; "
    begin += "runpy.run_module('pycompile', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", begin, str(path)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 2, 3, 4, 5]\n", "")


def test_switched_off(program):
    done = program(ARRAYS, PYCOMPILE_DISABLE="1", PYCOMPILE_LOGS="schedule")
    assert done.returncode == 0 and "step (" not in done.stderr


def test_wrong_options(program):
    for words, told in (
        (["--nonsense", "x.py"], "unknown option: --nonsense"),
        (["-m"], "nothing after -m"),
        ([], ""),
        (["--capture-report"], "nothing after --capture-report"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "pycompile", "run", *words],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        )
        assert done.returncode == 2 and "usage:" in done.stderr and told in done.stderr


BREAKS = """
import numpy as np
def often(x):
    y = np.tanh(x + 1)
    str([1, x.shape].__class__)
    eval("1")
    return y * 2
def seldom(x):
    y = np.tanh(x + 1)
    eval("1")
    return y * 2
def never(x):
    return np.tanh(x + 1) * 2
for i in range(60):
    often(np.ones(3000))
    never(np.ones(3000))
for i in range(5):
    seldom(np.ones(3000))
"""


@pytest.mark.slow
def test_perf_hints_tell_the_most_costly_first(program):
    done = program(BREAKS, PYCOMPILE_LOGS="perf_hints", PYCOMPILE_PLAN_ALWAYS="1")
    assert done.returncode == 0, done.stderr
    told = done.stderr
    assert 0 < told.index("often (") < told.index("seldom ("), told
    assert "never (" not in told and "PC00" in told and "at line" in told
    assert program(BREAKS).stderr == ""


def test_perf_hints_without_run(program):
    text = BREAKS.replace("def often", "import pycompile\n@pycompile.compile\ndef often")
    done = program(text, plain=True, PYCOMPILE_LOGS="perf_hints")
    assert "often (" in done.stderr and "seldom (" not in done.stderr


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize("name", ["nothing.py", "."])
def test_what_is_no_program(tmp_path, name, command):
    ours, plain = (
        subprocess.run(
            [sys.executable, *before, name],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        for before in (["-m", "pycompile", command], [])
    )
    assert ours.returncode == plain.returncode
    assert ours.stderr.replace(str(tmp_path), ".") == plain.stderr.replace(str(tmp_path), ".")


@pytest.mark.slow
def test_explain_a_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(ARRAYS)
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "explain", "--verbose", str(path)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0 and "step" in done.stderr and "tanh" in done.stderr, done.stderr


@pytest.mark.parametrize("chosen", [["-m", "program"], ["-c", ARRAYS]])
def test_an_explanation_names_the_program_as_it_was_given(tmp_path, chosen):
    (tmp_path / "program.py").write_text(ARRAYS)
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "explain", *chosen],
        capture_output=True,
        text=True,
        env=ENVIRONMENT | {"PYTHONSAFEPATH": ""},
        cwd=tmp_path,
    )
    name = "program" if chosen[0] == "-m" else "-c"
    assert done.returncode == 0 and done.stderr.startswith(f"{name}: "), done.stderr


STANDARD_INPUT = {
    "names": "import sys\nprint(sys.argv, sys.path[0], __name__, __file__, __spec__, __package__)",
    "loader": "print(__loader__, sorted(globals()))",
    "encoding": "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))",
    "traceback": "def f(x):\n    return 1 / x\nf(0)",
    "syntax": "x = (1,\n",
    "exit": "import sys\nprint(sys.stdin.read() == '')\nsys.exit(5)",
    "empty": "",
    "arrays": ARRAYS,
}


@pytest.mark.parametrize("name", STANDARD_INPUT)
def test_programs_on_standard_input(tmp_path, name):
    path = tmp_path / "input"
    path.write_bytes(STANDARD_INPUT[name].encode("latin-1" if name == "encoding" else "utf-8"))
    run, plain = (
        subprocess.run(
            [sys.executable, *before, "-", "a", "-b"],
            stdin=path.open("rb"),
            capture_output=True,
            env=ENVIRONMENT,
            cwd=tmp_path,
        )
        for before in (["-m", "pycompile", "run"], [])
    )
    assert (run.returncode, run.stdout) == (plain.returncode, plain.stdout)
    assert run.stderr == plain.stderr


def test_explain_of_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "explain", "-"],
        input=ARRAYS,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0 and "step (<stdin>:3)" in done.stderr, done.stderr


@pytest.mark.parametrize("command", ["run", "explain"])
def test_each_command_has_a_help_of_its_own(command):
    run = [sys.executable, "-m", "pycompile", command]
    done = subprocess.run([*run, "--help"], capture_output=True, text=True, env=ENVIRONMENT)
    usage = [line for line in done.stdout.splitlines() if "python -m pycompile" in line]
    assert done.returncode == 0 and len(usage) == 4 and done.stderr == ""
    assert all(f"python -m pycompile {command} [options]" in line for line in usage)
    assert ("tells at its exit" in done.stdout) == (command == "explain")
    wrong = subprocess.run([*run, "--what"], capture_output=True, text=True, env=ENVIRONMENT)
    assert wrong.returncode == 2 and wrong.stderr.startswith(done.stdout)


def test_disabled_functions_of_a_program_are_left(program):
    few = ARRAYS.replace("range(40)", "range(12)")  # the module's own loop is left, too
    text = few.replace("def step", "import pycompile\n@pycompile.disable\ndef step")
    text += "print(pycompile._C.toolchain_info()['compiled'], pycompile._C.code_info()['loaded'])\n"
    done = program(text, "--at-once", PYCOMPILE_PLAN_ALWAYS="1")
    assert done.returncode == 0 and done.stdout.splitlines()[1:] == ["0 0"], done.stderr
    done = program(text.replace("@pycompile.disable", ""), "--at-once", PYCOMPILE_PLAN_ALWAYS="1")
    assert done.stdout.splitlines()[1:] != ["0 0"], done.stderr
