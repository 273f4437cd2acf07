"""What compiling may cost: the account's rules under a clock of the test's own, and whole calls."""

import itertools
import os
import random
import subprocess
import sys
import textwrap

import pytest

import pycompile
from pycompile import _C

MS = 1_000_000
CALLS, FUNCTIONS = 120, 8
PROGRAMS = 10_000
LOADING = MS // 2  # of what the compiler has made
ACCOUNT = {"PYCOMPILE_SAMPLE": "1", "PYCOMPILE_PLAN_ALWAYS": "0", "PYCOMPILE_WAIT": "0"}


@pytest.fixture
def clock():
    _C.test_account(1)
    yield
    _C.test_account(0)


class Function:
    """A function of a random program: its costs in ns, and how far it has come.

    As measured in benchmarks/programs: a capture takes 4 to 50 us an instruction, the first ones of a
    process some ms more; one in three comes to nothing; plans take 1 to 100 % of the plain time.
    """

    def __init__(self, rng, long=8.5):
        self.instrs = rng.randint(5, 400)
        self.plain = int(10 ** rng.uniform(2, long))
        self.fruitful = rng.random() < 0.7
        self.capture = int(self.instrs * 10 ** rng.uniform(3.6, 4.7) + 10 ** rng.uniform(4.5, 6.5))
        self.compiler = int(10 ** rng.uniform(7.3, 8.5))
        self.plan = int(self.plain * 10 ** rng.uniform(-2, 0))
        self.ready = None  # when its kernels are compiled
        self.planned = False


# Which function each call is of, for `count` functions.


def mostly_one(rng, count):
    while True:
        yield rng.randrange(count) if rng.random() < 0.3 else 0


def in_turn(rng, count):
    while True:
        yield from range(count)


def in_phases(rng, count):
    while True:
        number = rng.randrange(count)
        for _ in range(rng.choice((1, 3, 10, 100))):
            yield number


def each_once_first(rng, count):
    yield from range(count)
    yield from mostly_one(rng, count)


PATTERNS = (mostly_one, in_turn, in_phases, each_once_first)


def know(rng, functions):
    """Notes of a former process, some of them wrong by now."""
    for number, f in enumerate(functions):
        if rng.random() < 0.5:
            saved = -1 if not f.fruitful else int((f.plain - f.plan) * 10 ** rng.uniform(0, 4))
            price = int(f.capture * 10 ** rng.uniform(-0.5, 0.5))
            _C.test_account_known(number, price, rng.choice((saved, saved, 10**11)))
            f.ready = 0 if f.fruitful and rng.random() < 0.9 else None  # on disk


def run_program(seed):
    """Elapsed and plain time after each call of a random program under the account's rules."""
    rng = random.Random(seed)
    long = rng.choice((5.0, 7.0, 8.5))
    functions = [Function(rng, long) for _ in range(rng.choice((1, 2, FUNCTIONS, 4 * FUNCTIONS)))]
    now = start = seed + 1
    plain = saved = 0
    _C.test_account(start)
    if seed % 3 == 0:
        know(rng, functions)
    numbers = rng.choice(PATTERNS)(rng, len(functions))
    for number in itertools.islice(numbers, rng.randint(1, CALLS)):
        f = functions[number]
        plain += f.plain
        waits = f.ready is not None and f.ready > 0
        if waits and f.ready <= now and not f.planned:
            now += LOADING
            _C.test_account_lost(LOADING)
            f.planned = True
        most = not (f.planned or waits) and _C.test_account_call(number, f.instrs, now)
        if most:
            took = min(f.capture, most)  # then it ends
            fruitful = f.fruitful and f.capture <= most
            now += took
            _C.test_account_captured(number, f.instrs, took, fruitful)
            f.planned = f.ready == 0 and fruitful
            if fruitful and not f.planned:
                f.ready = now + f.compiler
        now += f.plan if f.planned else f.plain
        if not f.planned:
            _C.test_account_plain(number, f.plain)
        elif (saved := saved + f.plain - f.plan) > f.plan and rng.random() < 0.1:
            now += f.plan  # a run that is undone: not before as much was saved, see account.md
            saved -= f.plan
            _C.test_account_lost(f.plan)
        yield now - start, plain


def test_the_bound_holds_at_every_prefix(clock):
    """Elapsed time is at most 1.1 of the plain program's, and 30 ms; some programs gain."""
    worst, gains = 0.0, 0
    for seed in range(PROGRAMS):
        for elapsed, plain in run_program(seed):
            worst = max(worst, elapsed / (1.1 * plain + 30 * MS))
        gains += elapsed < 0.7 * plain
    assert worst <= 1.02
    assert gains > PROGRAMS // 20


def test_a_capture_comes_when_ten_times_its_price_was_spent(clock):
    spent = 0
    for _ in range(4):  # the allowance goes to others
        _C.test_account_captured(1, 100, 3 * MS, True)
    while not _C.test_account_call(0, 100, 10_000 * MS):
        _C.test_account_plain(0, MS)
        spent += 1
    assert 25 <= spent <= 40  # captures of so much code have cost 3 ms


def test_looks_at_a_whole_programs_calls_are_bounded(clock):
    """Without a look at them calls cost nothing; what looks have cost is not there for captures."""
    now, looks, skipped = 100 * MS, 0, 0
    _C.test_account(1, 0, False)
    while _C.test_account_looks(1, 5, now):
        looks, skipped = looks + 1, skipped + 5
    assert 1000 < looks < 10_000
    assert not _C.test_account_looks(0, 0, 10_000 * MS)  # what is imported earns nothing
    assert _C.test_account_call(0, 100, now) == 0  # the program's own code begins
    while not _C.test_account_looks(0, 0, now):
        now += MS
    assert 0 < now - 100 * MS < 10 * MS
    _C.test_account_plain(0, 100 * MS)
    assert _C.test_account_call(0, 100, now) > 0
    for _ in range(40):
        _C.test_account_looks(1000, 0, now)
    assert _C.test_account_call(0, 100, now) == 0


@pytest.mark.parametrize(("made", "turns", "from_", "factor"), [(False, 5, 1, 3), (True, 8, 2, 2)])
def test_what_does_not_pay_gets_dearer(clock, made, turns, from_, factor):
    """Ever more has to be spent plainly before the next attempt: captures that came to nothing, and plans
    that have saved nothing, where every call is of another kind."""
    waits = []
    _C.test_account_captured(1, 100, 20 * MS, True)  # the allowance goes to others
    for _ in range(turns):
        calls = 0
        while not _C.test_account_call(0, 50, 10**15):
            _C.test_account_plain(0, MS)
            calls += 1
        waits.append(calls)
        _C.test_account_captured(0, 50, 3 * MS, made)
    assert waits[from_:] == sorted(waits[from_:]) and waits[-1] > factor * waits[from_], waits


def child(code, **environment):
    """What a process prints in which the account decides."""
    settings = {**os.environ, **ACCOUNT, **environment}
    run = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(code)],
        env=settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_first_calls_are_plain_and_plans_come_later():
    counts = child("""
        import numpy as np, pycompile
        from pycompile import _C
        _C.test_account(1, 1_000_000)
        @pycompile.compile
        def f(x):
            return np.sqrt(x * x + 1) - x * 0.5
        x = np.linspace(0, 1, 100_000)
        f(x)
        print(f.stats()["compiles"])
        while f.stats()["plan_runs"] == 0:
            assert np.array_equal(f(x), f.__wrapped__(x))
        print(f.stats()["compiles"])
    """)
    assert counts == ["0", "1"]


@pytest.mark.parametrize("how", ["mode='wait'", "fullgraph=True", "options={'sample': False}"])
def test_plans_at_the_first_call_where_they_are_asked_for(how):
    counts = child(f"""
        import numpy as np, pycompile
        f = pycompile.compile(lambda x: np.sqrt(x * x + 1) - x * 0.5, {how})
        f(np.linspace(0, 1, 100_000))
        print(f.stats()["plan_runs"])
    """)
    assert counts == ["1"]


def test_explain_compiles_at_once():
    told = child("""
        import numpy as np, pycompile
        f = pycompile.compile(lambda x: np.sqrt(x * x + 1) - x * 0.5)
        for _ in range(50):
            f(np.zeros(3))
        print(len(pycompile.explain(f)(np.linspace(0, 1, 100_000)).graphs))
    """)
    assert told == ["1"]


def test_explaining_has_a_limit():
    """Each place is told of; another plan there has to be afforded by the program's time, and a second."""
    told = child("""
        import numpy as np, pycompile
        from pycompile import _C
        _C.test_account(1)
        f = pycompile.compile(lambda x: np.sqrt(x * x + 1) - x * 0.5)
        _C.report_begin()
        f(np.linspace(0, 1, 100_000))
        _C.test_account_lost(2_000_000_000)
        f(np.ones((100, 1000)))
        f(np.ones(100_000))
        print(sum(record["kind"] == "plan" for record in _C.report_end()), f.stats()["plan_runs"])
    """)
    assert told == ["1", "2"]


def test_a_call_with_a_long_loop_is_compiled_at_once(tmp_path):
    """In a folder of its own, where no former process has noted what such a capture costs."""
    code = """
        import numpy as np, pycompile
        from pycompile import _C; _C.test_account(1)
        @pycompile.compile
        def smooth(y, x, a):
            for i in range(1, len(x)):
                y[i] = a * y[i - 1] + x[i]
        smooth(np.zeros(1_000_000), np.ones(1_000_000), 0.9)
        print(smooth.stats()["plan_runs"])
    """
    assert child(code, PYCOMPILE_CACHE_DIR=str(tmp_path)) == ["1"]


SAVES = """
    import numpy as np, pycompile
    from pycompile import _C
    @pycompile.compile
    def f(x):
        return np.sqrt(x * x + 1) - x * 0.5 + x * 0.25 - x * 0.125
    x = np.linspace(0, 1, 100_000)
    _C.test_account(1)
    f(x)
    print(f.stats()["plan_runs"])
    _C.test_account(1, 1_000_000)
    while f.stats()["plan_runs"] < {runs}:
        assert np.array_equal(f(x), f.__wrapped__(x))
"""


def test_whole_programs_follow_the_account(tmp_path):
    """What a function of theirs takes is what earns its plan, not how often it was called; calls are
    not looked at for ever where that comes to nothing."""
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
            import numpy as np
            from pycompile import _C
            def f(x):
                return np.sqrt(x * x + 1) - x * 0.5
            def plans_after(calls):  # which are no loop's
                exec("f(x)\\n" * calls, {"f": f, "x": np.linspace(0, 1, 1000)})
                return _C.compile_counts()["plans"]
            _C.test_account(1)  # nothing takes any time
            print(plans_after(3000))
            _C.test_account(1, 1_000_000)
            print(plans_after(100))
            def g(x):  # of which nothing is made
                return [str(i) for i in range(9)] and x
            def spent_after(calls):
                exec("g(x)\\n" * calls, {"g": g, "x": np.ones(3)})
                return _C.compile_counts()["seconds"]
            _C.test_account(1, 3000)
            before = spent_after(16_000)
            print(spent_after(8_000) - before < 8_000 * 1e-7)
        """)
    )
    run = subprocess.run(
        [sys.executable, "-m", "pycompile", "run", str(tmp_path / "program.py")],
        env={**os.environ, **ACCOUNT, "PYCOMPILE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["0", "1", "True"]


@pytest.mark.slow
def test_a_capture_that_is_cut_short_begins_again(tmp_path):
    """Where it began, once it may follow more; not one instruction later."""
    code = """
        import numpy as np, pycompile
        from pycompile import _C
        _C.test_account(1, 1_000_000)
        _C.test_account_captured(1, 1000, 1000, True)  # so little that the first one is cut
        body = "".join(f"    if n > {k}:\\n        x = x + {k}\\n" for k in range(600))
        names = {}
        exec(f"def f(x, n):\\n{body}    return x", names)
        f = pycompile.compile(names["f"])
        for _ in range(1000):
            f(np.ones(3), 600)
            counts = _C.compile_counts()
            if counts["plans"]:
                break
        print(counts["captures"] > 1, counts["plans"], f.stats()["entries"])
    """
    assert child(code, PYCOMPILE_CACHE_DIR=str(tmp_path)) == ["True", "1", "1"]


@pytest.mark.slow
def test_what_paid_in_a_former_process_is_used_at_once(tmp_path):
    """A first call finds the kernels in the disk cache, and beside them that they pay."""
    cache = {"PYCOMPILE_CACHE_DIR": str(tmp_path)}
    assert child(SAVES.format(runs=2000), **cache) == ["0"]
    assert child(SAVES.format(runs=1), **cache) == ["1"]
    notes = list(tmp_path.glob("prices-*"))
    assert len(notes) == 1
    for text in (b"", b"0123456789abcdef 1 99999999\n", notes[0].read_bytes()[:-2]):
        notes[0].write_bytes(text)  # damaged: nothing is known
        assert child(SAVES.format(runs=0), **cache) == ["0"]


def test_functions_left_alone_do_what_they_did():
    """Calls that nobody looks at: other types, keywords, a changed code, a reset, recursion."""
    told = child("""
        import numpy as np, pycompile
        calls = []
        def f(x, n=1):
            calls.append(n)
            return x
        g = pycompile.compile(f)
        for k in range(3000):
            assert g(k, n=k) == k
        assert calls == list(range(3000))
        assert g("text") == "text" and g(n=5, x=None) is None
        def other(x, n=1):
            return -x
        g.__code__ = other.__code__
        assert [g(k) for k in range(3)] == [0, -1, -2]
        pycompile.reset()
        assert g(7) == -7
        a = np.arange(3.0)
        assert np.array_equal(g(a), -a)
        @pycompile.compile
        def total(tree, depth=0):
            calls.append(depth)
            return sum(total(at, depth + 1) for at in tree) if isinstance(tree, list) else tree * 2
        def plain(tree):
            return sum(map(plain, tree)) if isinstance(tree, list) else tree * 2
        calls.clear()
        tree = [[1, 2.5, [a, [3]]], a, [[[4]]]] * 3
        for _ in range(300):
            assert np.array_equal(total(tree), plain(tree))
        assert len(calls) == 300 * 37
        print("same")
    """)
    assert told == ["same"]


def test_closures_share_what_is_known_of_their_code():
    """Each turn makes and decorates a function: short calls of all of them are left alone."""
    told = child("""
        import numpy as np, pycompile
        def make(a):
            @pycompile.compile
            def times(x):
                return a * x
            return times
        for k in range(3000):
            assert make(k)(3) == 3 * k
        assert make("ab")(2) == "abab"
        assert np.array_equal(make(2)(np.arange(3.0)), [0, 2, 4])
        assert make(1).stats()["plan_runs"] == 0
        print("same")
    """)
    assert told == ["same"]


@pytest.mark.parametrize("said", ["1", "0"])
def test_decorated_in_c_or_not_it_is_the_same(said):
    told = child(
        """
        import pycompile
        f = pycompile.compile(lambda x: x + 1)
        g = pycompile.compile(lambda x: x + 1, options={})
        def numbers(n):
            yield from range(n)
        assert type(f) is type(g) and f(1) == g(1) == 2
        assert f.stats().keys() == g.stats().keys()
        assert pycompile.compile(numbers) is numbers
        assert pycompile.compile(f).__wrapped__ is f.__wrapped__
        assert callable(pycompile.compile()) and pycompile.compile(len) is len
        for wrong in (3, int):
            try:
                pycompile.compile(wrong)
            except TypeError:
                continue
            raise AssertionError(wrong)
        print("same")
    """,
        PYCOMPILE_DISABLE=said,
    )
    assert told == ["same"]


def test_mode_wait_is_a_setting():
    with pytest.raises(ValueError, match="mode must be None or one of 'default', 'wait'"):
        pycompile.compile(lambda x: x, mode="quickly")
