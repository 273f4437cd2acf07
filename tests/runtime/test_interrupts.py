"""Ctrl-C in kept loops of all kinds and between the steps of plans: seen soon, and what is left is
what plain Python leaves.

A loop that is ended by a signal is undone, and CPython does it from its beginning: the handler runs
there.  So an array is as it was before the loop, or as some number of turns of plain Python leave it.
"""

import signal
import threading
import time
import traceback

import numpy as np
import pytest

import pycompile
from pycompile import _C

pytestmark = pytest.mark.optimised  # how soon is a promise about kernels as users have them

SOON = 0.05  # seconds from the signal to the handler
LONG = 10**12


def counts(x, y):
    for i in range(LONG):
        y[0] += 1
        y[1] = x[i % 8]


def ends_by_a_value(x, y):
    i = 0
    while y[0] < 1e300:
        y[0] += 1
        y[1] = x[i]
        i = (i + 1) % 8


def without_an_end(x, y):
    while True:
        for i in range(len(x)):
            if y[0] < 0:
                return
            y[0] += x[i]


def nested(x, y):
    for _ in range(LONG):
        for j in range(len(x)):
            y[j] = y[j] * 0.5 + x[j]
        y[0] += 1


def three_deep(x, y):
    for _ in range(LONG):
        for j in range(8):
            for k in range(8):
                if x[k] > x[j]:
                    y[1] = x[j]
        y[0] += 1


def with_rows(x, y):
    for _ in range(LONG):
        y[1:] += x[1 : len(y)] * 0.5
        y[0] += 1


def with_functions_of_rows(x, y):
    for i in range(LONG):
        k = 1 + i % 2
        y[k:] = np.exp(y[k:] * 0.25 - 1.0)
        y[0] += 1


def with_products(x, y):
    for i in range(LONG):
        k = i % 4
        y[1] = x[k:] @ x[: 8 - k]
        y[0] += 1


def with_sums(x, y):
    for i in range(LONG):
        k = i % 4
        y[1] = (x[k:] * 2.0).sum()
        y[0] += 1


def step(y, v):
    y[0] += 1
    return v * 0.5


def with_calls(x, y):
    for i in range(LONG):
        y[1] = step(y, x[i % 8])


def over_an_array(x, y):
    while y[0] >= 0:
        for v in x:
            y[1] = v
        y[0] += 1


LOOPS = [
    counts,
    ends_by_a_value,
    without_an_end,
    nested,
    three_deep,
    with_rows,
    with_functions_of_rows,
    with_products,
    with_sums,
    with_calls,
    over_an_array,
]


def interrupted(function, args, behind=None, delay=0.15):
    """Calls with a SIGINT on its way; seconds until it was seen, and the traceback.  `behind` is
    called by the thread that sends it.  Its wait for the GIL counts: loops let other threads run."""
    sent, seen = [], []

    def notice(number, frame):
        seen.append(time.perf_counter())
        raise KeyboardInterrupt

    def send():
        sent.append(time.perf_counter() + delay)
        time.sleep(delay)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if behind is not None:
            behind()

    before = signal.signal(signal.SIGINT, notice)
    thread = threading.Thread(target=send)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            function(*args)
            thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    return seen[0] - sent[0], traceback.extract_tb(caught.value.__traceback__)


def compiled_before(function):
    """Compiled, by a call that is interrupted."""
    compiled = pycompile.compile(function)
    for _ in range(3):
        interrupted(compiled, (np.arange(8.0), np.zeros(8)))
        if compiled.stats()["deopts"] > 0:
            return compiled
    raise AssertionError("no plan was ended by the signal")


@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_ctrl_c_is_seen_soon(function):
    """The best of a few: others use the machine, too."""
    compiled = compiled_before(function)
    x = np.arange(8.0)
    first, last = (
        function.__code__.co_firstlineno,
        max(line or 0 for _, _, line in function.__code__.co_lines()),
    )
    waits = []
    for _ in range(8):
        y = np.zeros(8)
        deopts = compiled.stats()["deopts"]
        wait, frames = interrupted(compiled, (x, y))
        assert compiled.stats()["deopts"] == deopts + 1, "the loop was no plan"
        assert np.array_equal(x, np.arange(8.0))
        assert not y.any(), "the handler runs where the loop begins"
        mine = [frame for frame in frames if frame.name == function.__name__]
        assert len(mine) == 1 and first < mine[0].lineno <= last
        waits.append(wait)
        if wait < SOON:
            break
    assert min(waits) < SOON, waits


# Plans that take far longer than any of their steps.
SQUARE = np.random.default_rng(0).standard_normal((700, 700)) / 27
WIDE = np.random.default_rng(1).standard_normal((1000, 2000))


def products(x, y):
    z = SQUARE
    for _ in range(60):
        z = z @ SQUARE
    y += z[0, :8]


def kernels(x, y):
    z = WIDE
    for _ in range(80):
        z = np.sin(z - z.mean())
    y += z[0, :8]


def library_calls(x, y):
    z = WIDE
    for _ in range(60):
        z = np.cumsum(z * 0.5, axis=1)
    y += z[0, :8]


def transforms(x, y):
    z = WIDE
    for _ in range(40):
        z = np.fft.ifft(np.fft.fft(z)).real
    y += z[0, :8]


def until_a_value(x, y):
    z = WIDE
    while np.abs(z).max() < 1e300:
        z = np.cos(z) * 0.5
    y += z[0, :8]


def behind_a_break(x, y):
    z = WIDE * 2
    _C.hints()
    for _ in range(80):
        z = np.sin(z - z.mean())
    y += z[0, :8]


PLANS = [products, kernels, library_calls, transforms, until_a_value, behind_a_break]


@pytest.mark.slow
@pytest.mark.parametrize("function", PLANS, ids=lambda function: function.__name__)
def test_ctrl_c_is_seen_between_steps(function):
    """The signal comes in the middle of a run, however long that is on this machine; where others use
    it so much that a signal comes too late, that one does not count."""
    delay = 0.15
    if function is until_a_value:  # it has no end
        compiled = compiled_before(function)
    else:
        compiled = pycompile.compile(function)
        for _ in range(3):
            began = time.perf_counter()
            compiled(np.arange(8.0), np.zeros(8))
            delay = min((time.perf_counter() - began) / 2, delay)
    waits = []
    for _ in range(16):
        y = np.zeros(8)
        deopts = compiled.stats()["deopts"]
        wait, frames = interrupted(compiled, (np.arange(8.0), y), delay=delay)
        if y.any():
            continue
        if function is not transforms:  # there NumPy's own Python code may see it
            assert compiled.stats()["deopts"] == deopts + 1, "the call was no plan"
        assert frames[-1].name in (function.__name__, "notice")
        waits.append(wait)
        if wait < SOON:
            break
    assert waits and min(waits) < SOON, waits


def test_the_program_goes_on_where_the_handler_returns():
    def turns(x, y):
        for i in range(1000):
            for j in range(4000):
                y[i % 8] += x[j % 8]
        return i

    compiled, seen = pycompile.compile(turns), []
    x, wanted = np.arange(8.0), np.zeros(8)
    result = compiled(x, wanted)
    before = signal.signal(signal.SIGALRM, lambda *unused: seen.append(1))
    try:
        for after in (0.001, 0.002, 0.003):
            y = np.zeros(8)
            signal.setitimer(signal.ITIMER_REAL, after)
            assert compiled(x, y) == result
            assert y.tobytes() == wanted.tobytes()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen


def test_it_is_caught_around_the_loop():
    def caught(x, y):
        try:
            counts(x, y)
        except KeyboardInterrupt:
            y[2] = 7
            return "caught"

    compiled = pycompile.compile(caught)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(3):
            y = np.zeros(8)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            assert compiled(np.arange(8.0), y) == "caught"
            assert y[2] == 7
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("function", [counts, with_rows])
def test_ctrl_c_while_another_thread_takes_the_gil(function):
    """What CPython notes of signals is computed anew by each thread that takes the GIL."""
    compiled = compiled_before(function)
    turns = lambda: [time.sleep(1e-5) for _ in range(200)]
    for _ in range(5):
        wait, _ = interrupted(compiled, (np.arange(8.0), np.zeros(8)), behind=turns)
        assert wait < 5, "when the loop has ended, it seems"


def steps_of(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def test_a_capture_ends_when_a_signal_comes():
    """It would take seconds; the handler runs where the call begins."""
    seen = []

    def collatz(n):
        seen.append(n)
        return [steps_of(i) for i in range(1, n)]

    def handler(number, frame):
        seen.append(time.perf_counter())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SOON)
    try:
        with pytest.raises(KeyboardInterrupt):
            pycompile.compile(collatz)(400)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen[:-1] in ([], [400])
    assert seen[-1] - began < 20 * SOON


def counts_up(y, n):
    for i in range(n):
        y[0] += i & 3
    return y[0]


def test_a_loop_runs_natively_again_once_the_handler_has_run():
    """CPython would need a hundred times as long for it."""
    compiled, seen = pycompile.compile(counts_up), []
    n = 1 << 26
    compiled(np.zeros(2), n)
    before = signal.signal(signal.SIGALRM, lambda *unused: seen.append(1))
    try:
        for _ in range(20):
            stats = compiled.stats()
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            assert compiled(np.zeros(2), n) == 1.5 * n
            assert compiled.stats()["plan_runs"] == stats["plan_runs"] + 1
            if compiled.stats()["deopts"] > stats["deopts"]:
                break
        else:
            raise AssertionError("no signal came while the loop ran")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
