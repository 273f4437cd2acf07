"""Running loops are entered at their header under `python -m pycompile run` (csrc/runtime/live.c).

Each program runs plain and under `run`; output, errors with their tracebacks and exit codes are the
same, and a plan was entered where one has to be."""

import os
import subprocess
import sys
import textwrap

import pytest

import pycompile

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="3.11 tells nothing of jumps in a running frame"
)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(pycompile.__file__)))
# Plans are made of all loops that can be captured, and compiles are waited for.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": ROOT,
    "PYCOMPILE_BACKGROUND": "0",
    "PYCOMPILE_PLAN_ALWAYS": "1",
    "OPENBLAS_NUM_THREADS": "1",  # its threads spin for as long as it takes to import NumPy
}
# Leaves no name behind.  At exit: how often loops were entered.
HEAD = """
import numpy as np
__import__("atexit").register(lambda: open("entered", "w").write(str(
    __import__("pycompile._C")._C.test_live_counts()["entered"] if "pycompile" in __import__("sys").modules else 0)))
"""
# At the end of each program: its variables in the dict's order.
TAIL = """
def _shown(value):
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes().hex()[:400], float(abs(value).sum()))
    return (type(value).__name__, repr(value)) if isinstance(value, (int, float, str, tuple, list, np.generic)) else type(value).__name__
print([(key, _shown(value)) for key, value in list(globals().items()) if not key.startswith("__")])
"""


@pytest.fixture
def both(tmp_path):
    """Runs a program plain and under `run`: the results are the same; how often loops were entered."""
    path, plain = tmp_path / "program.py", {}

    def outcome(*before, **variables):
        done = subprocess.run(
            [sys.executable, *before, str(path)],
            env={**ENVIRONMENT, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
        )
        return done.returncode, done.stdout, done.stderr

    def execute(text, *options, **variables):
        path.write_text(HEAD + textwrap.dedent(text) + TAIL)
        if text not in plain:
            plain[text] = outcome(**variables)
        assert outcome("-m", "pycompile", "run", *options, **variables) == plain[text]
        return int((tmp_path / "entered").read_text())

    return execute


# Each of these has to be entered.
LOOPS = {
    "while over numbers": """
        n, x, steps = 0, 27, 0
        while n < 20_000:
            n += 1
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            if x == 1:
                x = 27 + n % 100
            steps += x & 3
        """,
    "while over elements": """
        a = np.arange(1000.0)
        total, k, error = 0.0, 0, 1.0
        while error > 1e-3:
            total += a[k % 1000] * 0.5
            error *= 0.9995
            k += 1
        """,
    "while of an element": """
        a = np.array([1.0, 0.0])
        k = 0
        while a[0] > 1e-2:
            a[0] *= 0.999
            k += 1
        """,
    "while with a call in the test": """
        a = np.linspace(-1.0, 1.0, 500)
        x, k = -100.0, 0
        while abs(x) > 0.25 and not np.isnan(x):
            x *= 0.9993
            k += 1
        """,
    "while true": """
        a = np.arange(100.0)
        k, s = 0, 0.0
        while True:
            s += a[k % 100]
            k += 1
            if s > 1e6:
                break
        """,
    "while with else": """
        a = np.arange(100.0)
        k, s = 0, 0.0
        while k < 5000:
            s += a[k % 100]
            k += 1
        else:
            ended = "else"
        """,
    "while with continue": """
        a = np.arange(100.0)
        k, s = 0, 0.0
        while k < 5000:
            k += 1
            if k % 3 == 0:
                continue
            s += a[k % 100]
        """,
    "for over a range": """
        a = np.arange(9000.0); b = a[::-1].copy()
        total = 0.0
        for i in range(9000):
            total += a[i] * b[i]
        """,
    "for with a step": """
        a = np.arange(30_000.0)
        total = 0.0
        for i in range(29_999, 0, -5):
            total += a[i]
        """,
    "for over an array": """
        a = np.arange(9000.0)
        total = 0.0
        for x in a:
            total += x * 2.0
        """,
    "for with break": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i]
            if total > 3e7:
                break
        else:
            ended = "else"
        """,
    "for with else": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i]
            if total < 0:
                break
        else:
            ended = "else"
        """,
    "writes": """
        a = np.zeros(9000); b = a
        for i in range(1, 9000):
            a[i] = a[i - 1] * 0.5 + i
        same = a is b
        """,
    "nested": """
        a = np.arange(120.0 * 120).reshape(120, 120); b = a.copy()
        for t in range(3):
            for i in range(1, 119):
                for j in range(1, 119):
                    b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
            a, b = b, a
        """,
    "triangle": """
        a = np.arange(100.0 * 100).reshape(100, 100)
        s = 0.0
        for i in range(100):
            for j in range(i):
                s += a[i, j] - a[j, i]
        """,
    "a constant of the module": """
        a = np.arange(9000.0)
        SCALE, OFFSET = 3, 0.5
        total = 0.0
        def scaled(x):
            return x * SCALE + OFFSET
        for i in range(9000):
            total += scaled(a[i])
        """,
    "in a try": """
        a = np.arange(4000.0)
        total = 0.0
        try:
            for i in range(9000):
                total += a[i]
        except IndexError as error:
            text = str(error), error.__traceback__.tb_lineno
        """,
    "in a handler": """
        import sys
        a = np.arange(9000.0)
        total = 0.0
        try:
            1 / 0
        except ZeroDivisionError:
            for i in range(9000):
                total += a[i]
            kind = sys.exc_info()[0].__name__
        after = sys.exc_info()[0]
        """,
    "in a with block": """
        a = np.zeros(9000)
        with np.errstate(all="ignore"):
            for i in range(1, 9000):
                a[i] = 1.0 / (a[i - 1] - 0.5)
        """,
    "exec": """
        space = {"np": np, "__name__": "__main__"}
        exec("a = np.arange(9000.0)\\ns = 0.0\\nfor i in range(9000):\\n    s += a[i]\\n", space)
        s = space["s"], space["i"], list(space)
        """,
    "a comprehension before": """
        a = np.array([float(k) for k in range(9000)])
        names = [str(k) for k in range(3)]
        total = 0.0
        for i in range(9000):
            total += a[i]
        names = [name * 2 for name in names]
        """,
    "a list of indices": """
        a = np.arange(9000.0)
        out = []
        for i in range(9000):
            if a[i] % 7 == 3:
                out.append(i)
        """,
    "many variables": "a = np.arange(9000.0)\n"
    + "\n".join(f"v{i} = {i}" for i in range(300))
    + "\nw = 0.0\nfor i in range(9000):\n    w += a[i] * v299\n    v298 = w\n    v7 += 1\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_is_entered(both, name):
    assert both(LOOPS[name]) > 0


# Functions, too, where no call shows that they have loops to go through.
FUNCTIONS = {
    "while over elements": """
        def main():
            a = np.arange(float("1000"))
            total, error, k = 0.0, 1.0, 0
            while error > 1e-3:
                total += a[k % 1000] * 0.5
                error *= 0.99999
                k += 1
            return total, error, k
        result = main()
        """,
    "while over numbers": """
        def collatz(n):
            steps = 0
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                steps += 1
                if n == 1 and steps < int("700000"):
                    n = 27
            return steps
        result = collatz(27)
        """,
    "returns from the loop": """
        def main():
            a = np.zeros(int("4"))
            while True:
                a[1] += 1.0
                if a[1] > float("500000"):
                    return a[1], a
        result = main()
        """,
    "returns nothing": """
        a = np.zeros(int("4"))
        def main():
            k = 0.0
            while True:
                a[1] = k = k + 1.0
                if k > 5e5:
                    return
        result = main()
        """,
    "a closure": """
        def make():
            a = np.arange(float("1000"))
            scale = 2.0
            def inner():
                k, s = 0, 0.0
                while s < 3e8:
                    s += a[k % 1000] * scale
                    k += 1
                return k, s
            return inner
        result = make()()
        """,
    "a method": """
        class Walk:
            limit = int("500000")
            def __init__(self):
                self.a = np.zeros(4)
            def run(self):
                k = 0
                while k < self.limit:
                    self.a[k & 3] += k
                    k += 1
                return k
        walk = Walk()
        result = walk.run(), walk.a.tolist()
        """,
    "two loops": """
        def main():
            n, s = int("500000"), 0
            k = 0
            while k < n:
                s += k & 5
                k += 1
            print("between", s)
            for i in range(n):
                s -= i & 3
            return s, k, i
        result = main()
        """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_entered(both, name):
    assert both(FUNCTIONS[name], PYCOMPILE_PLAN_ALWAYS="0") > 0


# The same, whether entered or not.
OTHERS = {
    "raises in the loop": """
        def main():
            a = np.zeros(int("20000"))
            k = 0
            while True:
                k += 1
                a[k] = (
                    a[k - 1] + 1.0
                )
        try:
            main()
        finally:
            print("finally")
        """,
    "raises in a try": """
        def main():
            a = np.zeros(int("20000"))
            k = 0
            try:
                while True:
                    k += 1
                    a[k] = a[k - 1] + 1.0
            except IndexError as error:
                return k, str(error), error.__traceback__.tb_lineno, a[k - 1]
        result = main()
        """,
    "function with a for loop": """
        def main(n):
            a = np.arange(float(n))
            s = 0.0
            for i in range(n):
                s += a[i] * a[n - 1 - i]
            print("between", s)
            for x in a:
                s -= x
            return s
        result = main(9000)
        """,
    "returns from the loop": """
        def main(a):
            k = 0
            while True:
                if a[k] > 5000.0:
                    return k, a[k]
                k += 1
        result = main(np.arange(9000.0))
        """,
    "returns nothing": """
        seen = np.zeros(9000)
        def main(a):
            k = 0
            while True:
                a[k] = k
                k += 1
                if k > 5000:
                    return
        result = main(seen)
        """,
    "a closure": """
        def make():
            a = np.arange(9000.0)
            scale = 2.0
            def inner(n):
                s = 0.0
                for i in range(n):
                    s += a[i] * scale
                return s
            return inner
        result = make()(9000)
        """,
    "print in a rare branch": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i]
            if i % 2000 == 1999:
                print("at", i, total)
        """,
    "for over rows": """
        a = np.arange(9000.0).reshape(3000, 3)
        total = 0.0
        for row in a:
            total += row[0] * row[2]
        """,
    "ints become large": """
        a = np.arange(70)
        k, p = 0, 1
        while k < 4000:
            k += 1
            p = p * 3 % 1000003
            if k == 3000:
                p = 2 ** 70
            if p > 2 ** 60:
                p = int(a[3])
        """,
    "index error": """
        a = np.arange(4000.0)
        total = 0.0
        for i in range(9000):
            total += a[
                i
            ]
        """,
    "zero division": """
        def main(n):
            x = n
            s = 0.0
            while True:
                x -= 1
                s += 1.0 / x
            return s
        try:
            main(5000)
        except ZeroDivisionError as error:
            at = error.__traceback__.tb_next.tb_lineno
        main(3000)
        """,
    "handled inside": """
        a = np.arange(4000.0)
        total, missed = 0.0, 0
        for i in range(9000):
            try:
                total += a[i]
            except IndexError:
                missed += 1
        """,
    "finally": """
        def main():
            a = np.arange(4000.0)
            s = 0.0
            try:
                for i in range(9000):
                    s += a[i]
            finally:
                print("finally", s)
        main()
        """,
    "numpy's warning": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i] / (a[i] - 5000.0)
        """,
    "a new variable in a rare branch": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i]
            if i == 5000:
                first = total
            if i == 3000:
                second = total
        third = 1
        """,
    "deleted": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            t = a[i]
            total += t
            del t
        """,
    "a function writes the variable": """
        a = np.arange(9000.0)
        total = 0.0
        count = 0
        def add(x):
            global total
            total += x
        for i in range(9000):
            add(a[i])
            count += 1
            total = total * 0.5
        """,
    "a function reads the variable": """
        a = np.arange(9000.0)
        total = 0.0
        def peek():
            return total
        for i in range(9000):
            total += a[i]
            if i % 1000 == 0:
                print(peek())
            total += peek() * 1e-9
        """,
    "globals()": """
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i]
            globals()["total"] += 1
        """,
    "the module": """
        import __main__
        a = np.arange(9000.0)
        total = 0.0
        for i in range(9000):
            total += a[i]
            __main__.total += 1
        """,
    "a builtin's name": """
        a = np.arange(9000.0)
        s = 0.0
        for i in range(9000):
            s += abs(a[i])
            if i == 5000:
                abs = lambda x: 1000.0
        """,
    "the iterator is seen": """
        a = np.arange(9000.0)
        s = 0.0
        it = iter(range(9000))
        for i in it:
            s += a[i]
            if i % 1500 == 0:
                s += next(it)
        """,
    "an impure test": """
        a = np.arange(9000.0)
        calls = [0]
        def more():
            calls[0] += 1
            return calls[0] < 5000
        s = 0.0
        while more():
            s += a[calls[0]]
        """,
    "walrus": """
        a = np.arange(9000.0)
        k, s = 0, 0.0
        while (k := k + 1) < 5000:
            s += a[k]
        """,
    "draws in the test": """
        rng = np.random.default_rng(3)
        k = 0
        while rng.random() < 0.9999:
            k += 1
        k2 = 0
        np.random.seed(1)
        while np.random.random() < 0.9999:
            k2 += 1
        """,
    "a property in the test": """
        class Counter:
            n = 0
            @property
            def more(self):
                self.n += 1
                return self.n < 5000
        counter, s = Counter(), 0.0
        while counter.more:
            s += 0.5
        n = counter.n
        """,
    "a generator": """
        def each(a):
            s = 0.0
            for i in range(len(a)):
                s += a[i]
                yield s
        total = 0.0
        for x in each(np.arange(5000.0)):
            total += x
        """,
    "a class body": """
        class A:
            s = 0.0
            a = np.arange(5000.0)
            for i in range(5000):
                s += a[i]
        s = A.s, A.i
        """,
    "exec with locals": """
        space = {}
        exec("a = np.arange(9000.0)\\ns = 0.0\\nfor i in range(9000):\\n    s += a[i]\\n", {"np": np}, space)
        s = space["s"], space["i"], list(space)
        """,
    "threads": """
        import threading
        out = {}
        def work(k):
            a = np.arange(9000.0) * k
            s, i = 0.0, 0
            while i < 9000:
                s += a[i]
                i += 1
            out[k] = s
        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        out = sorted(out.items())
        threads = None
        """,
    "waits for a thread": """
        import threading
        done, k = False, 0
        def work():
            global done
            for _ in range(100_000):
                pass
            done = True
        thread = threading.Thread(target=work)
        thread.start()
        while not done:
            k += 1
        thread.join()
        k = thread = None
        """,
    "waits for an element": """
        import threading
        done, k = np.zeros(1), 0
        def work():
            for _ in range(100_000):
                pass
            done[0] = 1
        thread = threading.Thread(target=work)
        thread.start()
        while not done[0]:
            k += 1
        thread.join()
        k = thread = None
        """,
    "a signal's handler stops it": """
        import signal
        stop, k = False, 0
        def handler(*_):
            global stop
            stop = True
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        a = np.arange(100.0)
        while not stop:
            a[k % 100] += 1.0
            k += 1
        a = k = 0
        """,
    "interrupted": """
        import _thread, signal
        signal.signal(signal.SIGALRM, lambda *_: _thread.interrupt_main())
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        k = 0
        a = np.zeros(4)
        try:
            while True:
                a[0] += 1
                k += 1
        except KeyboardInterrupt:
            same = k - a[0] in (0, -1)
        k = a = 0
        """,
    "traced": """
        import sys
        lines = []
        def tracer(frame, event, arg):
            lines.append((event, frame.f_lineno))
            return tracer
        def main(a):
            s = 0.0
            for i in range(3000):
                s += a[i]
            return s
        sys.settrace(tracer)
        main(np.arange(3000.0))
        sys.settrace(None)
        lines = len(lines), lines[-3:]
        """,
    "monitored": """
        import sys
        m, seen = sys.monitoring, []
        a = np.arange(9000.0)
        s = 0.0
        for i in range(9000):
            s += a[i]
            if i == 500:
                tool = m.get_tool(5)
                m.use_tool_id(5, "mine")
                m.register_callback(5, m.events.JUMP, lambda *a: seen.append(a[1:]))
                m.set_local_events(5, sys._getframe().f_code, m.events.JUMP)
        m.set_local_events(5, sys._getframe().f_code, 0)
        m.free_tool_id(5)
        seen = len(seen), len(set(seen))
        m = None
        """,
    "recursion": """
        def f(n, a):
            s = 0.0
            for i in range(30):
                s += a[i]
            return s if n == 0 else s + f(n - 1, a)
        s = [f(900, np.arange(30.0)) for _ in range(3)]
        """,
    "one turn at a time": """
        a = np.arange(300.0)
        out = []
        for i in range(3000):
            b = a * 2 + 1
            b = b - a
            out.append(float(b.sum()))
            if i % 999 == 0:
                print(i)
        """,
    "objects die": """
        class Noisy:
            def __del__(self):
                print("dies", k)
        a = np.arange(9000.0)
        s, k = 0.0, 0
        noisy = Noisy()
        while k < 9000:
            s += a[k]
            k += 1
            if k == 5000:
                noisy = None
        """,
    "frames are seen": """
        import sys
        def look():
            frame = sys._getframe(1)
            return frame.f_lineno, sorted(frame.f_locals)[:3]
        def main(a):
            s = 0.0
            for i in range(9000):
                s += a[i]
                if i % 3000 == 2000:
                    print(look(), s, i)
            return s
        main(np.arange(9000.0))
        """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_same_as_plain(both, name):
    for always in ("1", "0"):  # and where it is earned
        both(OTHERS[name], PYCOMPILE_PLAN_ALWAYS=always)


@pytest.mark.slow
def test_is_earned(both):
    """Without PLAN_ALWAYS a loop pays where it turns long enough."""
    text = """
        n, x = 0, 27
        while n < {}:
            n += 1
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            if x == 1:
                x = 27 + n % 100
        """
    assert both(text.format(3000), PYCOMPILE_PLAN_ALWAYS="0") == 0
    assert both(text.format(3_000_000), PYCOMPILE_PLAN_ALWAYS="0") > 0


@pytest.mark.slow
def test_modules_are_watched(both, tmp_path):
    (tmp_path / "helper.py").write_text(
        "import numpy as np\na = np.arange(9000.0)\ns = 0.0\nfor i in range(9000):\n    s += a[i]\n"
    )
    text = "import helper\nprint(helper.s, helper.i, list(vars(helper))[-4:])\nhelper = 0"
    # whatever PYTHONSAFEPATH says
    assert both(text, PYTHONPATH=os.pathsep.join([ROOT, str(tmp_path)])) > 0


@pytest.mark.slow
def test_not_under_capture_all(both):
    assert both(LOOPS["for over a range"], "--capture-all") == 0


def test_loops_that_are_short_each_time_are_left(both):
    """A loop that a function makes five turns of is hot as well, but entering it takes longer than they do."""
    text = """
    if "pycompile" in __import__("sys").modules:
        __import__("pycompile._C")._C.test_sample(10**7, 10**7)  # how long it takes to enter one
    def level(ladder, price):
        k = 0
        while k < len(ladder) and ladder[k] < price:
            k += 1
        return k
    ladder = np.linspace(5.0, 120.0, 14)
    groups = {}
    for i in range(30_000):
        groups.setdefault(i % 7, []).append(level(ladder, float(i % 130)))
    """
    # where the account decides, which may allow none
    settings = {"PYCOMPILE_SAMPLE": "1", "PYCOMPILE_PLAN_ALWAYS": "0", "PYCOMPILE_WAIT": "0"}
    assert both(text, **settings) <= 5
