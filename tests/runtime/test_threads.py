"""The thread pool: results, flags, fork, many callers."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pycompile import _C

LOAD = Path("/proc/loadavg")


@pytest.fixture(autouse=True)
def _four_threads():
    _C.threads_set_count(4)
    yield
    _C.threads_set_count(0)


def run(x, grain):
    y = np.full_like(x, -1.0)
    result, flags = _C.test_threads_run(x, y, grain)
    return y, result, flags


@pytest.mark.parametrize("n", [1, 2, 31, 1000, 100_003])
@pytest.mark.parametrize("grain", [0, 1, 7, 5000, 10**9])
def test_every_unit_is_done(n, grain):
    x = np.arange(1.0, n + 1)
    y, result, flags = run(x, grain)
    assert (result, flags) == (0, 0)
    assert np.array_equal(y, x)


def test_results_and_flags_are_collected():
    x = np.ones(100_000)
    x[77_777] = -1
    assert run(x, 100)[1:] == (2, 0)
    x[0] = 0
    assert run(x, 100)[1:] == (2, 1 | 8)  # 1/0 and 0/0
    assert run(np.ones(10), 100)[1:] == (0, 0)
    x = np.full(100_000, 1e-200)
    x[0] = 1e200
    assert run(x, 100)[2] == 4


def test_small_jobs_are_their_callers_alone():
    """A job gets as many workers as have more to do than their wake-up takes."""
    assert _C.threads_helpers(1000) == 0
    assert _C.threads_helpers(1e9) == 3  # whatever a wake-up costs
    _C.threads_helpers(10_000)
    asleep, spinning = _C.threads_wake_ns()
    assert asleep > 0 and spinning > 0
    time.sleep(0.05)  # all are asleep
    least = max(asleep, 2000)  # below 3 us a job is not shared on any machine
    assert _C.threads_helpers(asleep * 0.5) == _C.threads_helpers(asleep * 1.9) == 0
    found = [_C.threads_helpers(least * part) for part in (2.1, 3.1, 50)]
    assert found == sorted(found) and found[0] >= 2 and found[-1] == 3
    _C.threads_set_count(1)
    assert _C.threads_helpers(1e9) == 0


@pytest.mark.parametrize("price", [1, 1000, 10**5, 10**12])
def test_every_price(price):
    x = np.arange(1.0, 40_001)
    y = np.zeros_like(x)
    for _ in range(20):
        assert _C.test_threads_run(x, y, 10, price) == (0, 0)
        assert np.array_equal(x, y)


WAKES = """
import numpy as np, pycompile
from pycompile import _C
_C.threads_set_count(4)
f = pycompile.compile(lambda x, y: np.tanh(x * y) + x)
small, large = np.ones((2, 40)), np.ones((2, 60_000))
for _ in range(3):
    f(*small)
print(_C.threads_wake_ns())
f(*large)
print(_C.threads_wake_ns())
"""


def wakes(folder):
    """What a process prints that has its kernels, and the cost of a wake-up, in this folder."""
    environment = {**os.environ, "PYCOMPILE_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", WAKES], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def kept(folder):
    """The note in the folder: its path and its numbers."""
    (note,) = folder.glob("wake-up-*")
    return note, [int(number) for number in note.read_text().split()]


def test_measured_when_first_wanted(tmp_path):
    before, after = wakes(tmp_path)
    assert before == "None" and after != "None"
    crowded = "200000" in after
    assert crowded or str(tuple(kept(tmp_path)[1][:2])) == after


def test_wake_up_is_kept_for_a_day(tmp_path):
    before, after = wakes(tmp_path)
    if "200000" in after:
        pytest.skip("no worker came in time")
    note, (_, _, when) = kept(tmp_path)
    note.write_text(f"12345 678 {when}")
    assert wakes(tmp_path) == ["(12345, 678)"] * 2
    for text in (f"12345 678 {when - 90_000}", f"12345 678 {when + 90_000}", "12345", "0 0 0"):
        note.write_text(text)
        before, after = wakes(tmp_path)
        assert before == "None" and after not in ("None", "(12345, 678)")


def many_jobs(times):
    x = np.arange(1.0, 20_001)
    for _ in range(times):
        y, result, _ = run(x, 50)
        assert result == 0
        assert np.array_equal(y, x)


def test_many_callers():
    failed = []

    def work():
        try:
            many_jobs(100)
        except AssertionError as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_fork():
    many_jobs(2)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            try:
                many_jobs(5)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        many_jobs(2)


@pytest.mark.slow
def test_fork_while_others_work():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            many_jobs(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                try:
                    many_jobs(2)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for t in threads:
            t.join()


def count(**variables):
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "PYCOMPILE_THREADS")}
    code = "from pycompile import _C; print(_C.threads_count())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
def test_count():
    cpus = len(os.sched_getaffinity(0))
    assert 1 <= count() <= cpus
    assert count(PYCOMPILE_THREADS="7") == 7
    assert count(OMP_NUM_THREADS="1") == 1
    assert count(OMP_NUM_THREADS="1,2", PYCOMPILE_THREADS="3") == 3
    assert count(PYCOMPILE_THREADS="none") == count()


@pytest.mark.skipif(not LOAD.exists(), reason="the system does not tell")
def test_a_processor_that_others_have_is_not_idle():
    """Nothing is started for it, unless the number of threads was said."""
    command = [sys.executable, "-S", "-c", "print(flush=True)\nwhile True: pass"]
    busy = []
    try:
        for _ in range(os.cpu_count()):
            busy.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        for process in busy:
            process.stdout.read(1)
        assert _C.threads_idle() == 4
        _C.threads_set_count(0)
        assert 1 <= _C.threads_idle() <= _C.threads_count()
        if " 0/" not in LOAD.read_text():  # nobody runs: it does not tell, either
            assert _C.threads_idle() == 1
    finally:
        for process in busy:
            process.kill()
            process.communicate()
