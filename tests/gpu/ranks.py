"""What each of two processes with a device of its own does for test_collectives.py.

    python ranks.py RANK PORT FILE

FILE gets a text for each check: nothing, or why it failed."""

import json
import sys
import traceback

import cupy as cp
import numpy as np
from cupyx.distributed import NCCLBackend

import pycompile

RANKS = 2
CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def values(*shape, seed=0, dtype="f4"):
    return cp.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def same(made, wanted, **tolerance):
    for a, b in zip(made, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.get(), b.get(), **{"rtol": 0, "atol": 0, **tolerance})


def in_one_plan(function):
    return pycompile.compile(function, fullgraph=True, mode="wait")


def alone(compiled, before=0):
    """One plan has been made since there were so many."""
    stats = compiled.stats()
    assert stats["plans"] == before + 1 and stats["deopts"] == 0, stats


@check
def each_collective(comm):
    def sums(x):
        y = x * 2
        comm.all_reduce(y, y)
        z = x - 1
        comm.all_reduce(z, z, "max")
        comm.reduce(x, z, root=1, op="prod")
        return y + 1, z

    def parts(x, whole, part):
        comm.all_gather(x + comm.rank, whole, x.size)
        comm.reduce_scatter(whole * 3, part, part.size)
        comm.broadcast(x, root=1)
        return whole.sum(axis=1), part + 1

    def pairs(x, y):
        comm.send_recv(x * 2, y, 1 - comm.rank)
        if comm.rank == 0:
            comm.send(y + 1, 1)
        else:
            comm.recv(x, 0)
        z = x + y
        w = cp.zeros_like(z)
        comm.all_to_all(z, w)
        return w - x

    for function, shapes in (
        (sums, [(33, 700)]),
        (parts, [(8, 50), (16, 50), (8, 50)]),
        (pairs, [(2, 900)] * 2),
    ):
        compiled = in_one_plan(function)
        for _ in range(3):
            ours = [values(*s, seed=comm.rank + 2 * i) for i, s in enumerate(shapes)]
            plain = [a.copy() for a in ours]
            same(compiled(*ours), function(*plain), rtol=1e-5, atol=1e-4)
            same(ours, plain, rtol=1e-6)
        alone(compiled)


@check
def ranks_of_which_one_runs_plain(comm):
    def step(x, y):
        first, second = x * 2, y + 1
        comm.all_reduce(second, second)
        comm.all_reduce(first, first)
        return first * 2 - second

    run = in_one_plan(step) if comm.rank == 0 else step
    wanted = (values(300, 200) * 8 - 2 * (values(300, 200, seed=1) + 1),)
    for _ in range(5):
        same([run(values(300, 200), values(300, 200, seed=1))], wanted, rtol=1e-5, atol=1e-5)


@check
def memory_stays_until_a_collective_has_read_it(comm):
    def step(x):
        y = x * 2
        comm.all_reduce(y, y)
        for k in range(4):  # writes and takes memory meanwhile
            x = cp.sort(x * 1.5 + k, axis=1)
        return x, y

    compiled = in_one_plan(step)
    x = values(2000, 3000)
    wanted = step(x)
    for _ in range(50):
        same(compiled(x), wanted)


# ---- a training step ----


def weights(sizes, dtype="f4"):
    layers = zip(sizes, sizes[1:])
    return [values(a, b, seed=a, dtype=dtype) * (1 / a**0.5) for a, b in layers]


def training_step(reduce):
    """A step of Adam on a perceptron; `reduce` is called with each gradient as soon as it is there."""

    def step(params, means, squares, x, y):
        layers = [x]
        for w in params[:-1]:
            layers.append(cp.tanh(layers[-1] @ w))
        error = layers[-1] @ params[-1] - y
        loss = (error * error).mean()
        reduce(loss)
        back = error * (2 / error.size)
        made = []
        for k in reversed(range(len(params))):
            g = layers[k].T @ back
            if k > 0:
                back = (back @ params[k].T) * (1 - layers[k] * layers[k])
            reduce(g)
            made.append(g)
        news = [], [], []
        for p, m, v, g in zip(params, means, squares, made[::-1], strict=True):
            g = g * (1 / RANKS)
            m = m * 0.9 + g * 0.1
            v = v * 0.999 + g * g * 0.001
            for new, value in zip(news, (p - 0.01 * m / (cp.sqrt(v) + 1e-8), m, v), strict=True):
                new.append(value)
        return loss / RANKS, *news

    return step


def train(comm, dtype, tolerance):
    """Two ranks, and one device with both batches."""
    params = weights([64, 96, 80, 10], dtype)
    state = [params, *([cp.zeros_like(w) for w in params] for _ in range(2))]
    whole = [values(256, n, seed=n, dtype=dtype) for n in (64, 10)]
    half = slice(128 * comm.rank, 128 * (comm.rank + 1))
    mine = [a[half].copy() for a in whole]
    compiled = in_one_plan(training_step(lambda g: comm.all_reduce(g, g)))
    # of one device: the mean's gradient, times RANKS, which the step divides by
    plain = training_step(lambda g: cp.multiply(g, RANKS, out=g))
    before = compiled.stats()["plans"]  # of the same code, with another dtype
    image = pycompile.Image()
    image.precompile(compiled, *state, *mine)
    image.agree(comm)
    ours = theirs = state
    for _ in range(20):
        loss, *ours = compiled(*ours, *mine)
        wanted, *theirs = plain(*theirs, *whole)
        same([loss], [wanted], rtol=tolerance)
    alone(compiled, before)
    return [ours[0], theirs[0]]


@check
def a_training_step(comm):
    train(comm, "f4", 1e-3)


@check
def a_training_step_of_doubles(comm):
    same(*train(comm, "f8", 1e-10), rtol=1e-6, atol=1e-9)


@check
def ranks_that_compile_otherwise(comm):
    def step(x):
        y = x * 2 if comm.rank == 0 else x * 3
        comm.all_reduce(y, y)
        return y

    image = pycompile.Image()
    image.precompile(pycompile.compile(step), values(10))
    try:
        image.agree(comm)
    except pycompile.JobError as error:
        assert "rank 1" in error.worker and "rank 0" in error.other
        assert "const(2" in error.difference and "const(3" in error.difference
    else:
        raise AssertionError("they agree")


def main(rank, port, file):
    cp.cuda.Device(rank).use()
    comm = NCCLBackend(RANKS, rank, port=port)
    found = {}
    for name, function in CHECKS.items():
        try:
            function(comm)
            found[name] = ""
        except BaseException:
            found[name] = traceback.format_exc()
        with open(file, "w") as out:
            json.dump(found, out)
        comm.barrier()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
