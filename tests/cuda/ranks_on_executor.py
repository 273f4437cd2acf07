"""A training step of two ranks, processes that Dask starts, on the executor: what they send goes from one to
the other.  test_cuda.py runs this file as it does on_executor.py."""

import socket
import sys
import time
import traceback
import types
from multiprocessing.connection import Client as Connection
from multiprocessing.connection import Listener
from pathlib import Path

import numpy as np
import pytest
from collectives_on_executor import RANKS, Communicator, Lane, of_communicator
from deviceless import device, host, product_number, values
from products_on_executor import DEFAULT, compute_type

import pycompile
from pycompile import _collectives, _image

sys.path.append(str(Path(__file__).parents[1] / "gpu"))
import ranks  # noqa: E402

SIZES, BATCH, STEPS = [24, 16, 8], 12, 3


class Linked(Communicator):
    """One of two ranks; `link` leads to the other."""

    def __init__(self, rank, link):
        self.rank, self.link = rank, link

    def each(self, mine):
        """What the ranks have, by rank."""
        if self.rank == 0:
            self.link.send(mine)
            return [mine, self.link.recv()]
        other = self.link.recv()
        self.link.send(mine)
        return [other, mine]

    def _all_reduce(self, given, out, op):
        told = self.each((op, host(given)))
        assert [of for of, _ in told] == ["sum", "sum"]
        self.put(out, told[0][1] + told[1][1])


def training_data():
    params = [values((a, b), seed=a) / a**0.5 for a, b in zip(SIZES, SIZES[1:])]
    state = [params, *([np.zeros_like(w) for w in params] for _ in range(2))]
    return state, [values((RANKS * BATCH, n), seed=n) for n in (SIZES[0], SIZES[-1])]


def on_device(each):
    return [on_device(one) for one in each] if isinstance(each, list) else device(each)


def train(comm):
    """All losses, and the parameters behind the last step."""
    state, data = training_data()
    state = on_device(state)
    mine = [device(np.ascontiguousarray(a.reshape(RANKS, BATCH, -1)[comm.rank])) for a in data]
    step = pycompile.compile(
        ranks.training_step(lambda g: comm.all_reduce(g, g)), fullgraph=True, mode="wait"
    )
    image = pycompile.Image()
    image.precompile(step, *state, *mine)
    image.agree(comm)
    losses = []
    for _ in range(STEPS):
        loss, *state = step(*state, *mine)
        losses.append(float(host(loss)))
    stats = step.stats()
    assert (stats["plans"], stats["deopts"]) == (1, 0), stats
    return losses, [host(w) for w in state[0]]


def differ(comm):
    """What a rank is told that compiles otherwise than the other."""

    def step(x):
        y = x * 2 if comm.rank == 0 else x * 3
        comm.all_reduce(y, y)
        return y

    image = pycompile.Image()
    image.precompile(pycompile.compile(step), device(values((10,))))
    with pytest.raises(pycompile.JobError) as caught:
        image.agree(comm)
    return caught.value.worker, caught.value.difference


def link_of(rank, port):
    if rank == 0:
        with Listener(("127.0.0.1", port)) as listener:
            return listener.accept()
    for _ in range(600):
        try:
            return Connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise TimeoutError("rank 0 does not come")


def of_rank(rank, port):
    """In a worker: what it has found, or the text of what it has raised."""
    product_number("refused").value = 0
    compute_type(lambda dtype: DEFAULT)
    _collectives.lane = Lane
    for each in vars(_collectives).values():
        if isinstance(each, _collectives.Collective):
            each.method = of_communicator(each.__name__)
    _image._of_all_ranks = lambda comm, text: comm.each(text)
    try:
        with link_of(rank, port) as link:
            comm = Linked(rank, link)
            return train(comm), differ(comm)
    except BaseException:
        return traceback.format_exc()


def plain():
    """The same by NumPy, of one process with both batches; float64."""
    space = {**vars(ranks), "cp": np}
    training_step = types.FunctionType(ranks.training_step.__code__, space)

    def both(g):  # the mean's gradient, times RANKS, which the step divides by
        if isinstance(g, np.ndarray):
            g *= RANKS

    step = training_step(both)
    state, data = training_data()
    state = [[w.astype("f8") for w in each] for each in state]
    losses = []
    for _ in range(STEPS):
        loss, *state = step(*state, *(a.astype("f8") for a in data))
        losses.append(loss * RANKS)
    return losses, state[0]


@pytest.fixture(scope="module")
def found():
    from distributed import Client, LocalCluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one = {"n_workers": RANKS, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**one) as cluster, Client(cluster) as client:
        workers = list(client.scheduler_info()["workers"])
        told = [client.submit(of_rank, k, port, workers=[w]) for k, w in enumerate(workers)]
        told = client.gather(told)
    for each in told:
        if isinstance(each, str):
            pytest.fail(each, pytrace=False)
    return told


def test_ranks_take_the_steps_of_one_process_with_both_batches(found):
    (losses, params), (other_losses, other_params) = (train for train, _ in found)
    assert losses == other_losses
    for a, b in zip(params, other_params, strict=True):
        np.testing.assert_array_equal(a, b)
    wanted_losses, wanted = plain()
    np.testing.assert_allclose(losses, wanted_losses, rtol=1e-5)
    for a, b in zip(params, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_both_are_told_that_they_compile_otherwise(found):
    for _, (worker, difference) in found:
        assert "rank 1" in worker
        assert "const(2" in difference and "const(3" in difference
