"""Times of calls on a CUDA device, in microseconds.

"b2b": median over ten calls back to back between two events, so the kernels alone where these take
longer than the host; "events": a call between two events; "sync": a call and a synchronisation;
"host": the time of a call on the host where the kernel is short."""

import statistics
import time

import cupy as cp


def back_to_back(function, args, rounds=7, calls=10):
    times = []
    for _ in range(rounds):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        for _ in range(calls):
            function(*args)
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) * 1e3 / calls)
    return statistics.median(times)


def between_events(function, args, rounds=30):
    times = []
    for _ in range(rounds):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        cp.cuda.Device().synchronize()
        begin.record()
        function(*args)
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) * 1e3)
    return statistics.median(times)


def times_of(function, args):
    return (
        back_to_back(function, args),
        between_events(function, args),
        synchronised(function, args),
    )


def synchronised(function, args, rounds=30):
    times = []
    for _ in range(rounds):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        function(*args)
        cp.cuda.Device().synchronize()  # of all streams
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def host(function, args, calls=200, rounds=15):
    times = []
    for _ in range(rounds):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function(*args)
        times.append((time.perf_counter() - start) * 1e6 / calls)
    return statistics.median(times)
