"""Collectives that a plan calls: what steps of csrc/capture/numpy/collectives.c do.

A collective is on a stream of its own, so that kernels behind it need not wait; the program's stream
waits where the result is read first, or at the end of the plan.
"""

from __future__ import annotations

import inspect

import cupy
from cupyx.distributed import _nccl_comm


class Lane:
    """A device's stream for collectives."""

    def __init__(self):
        # before kernels that have begun later
        self.stream = cupy.cuda.Stream(non_blocking=True, priority=-5)
        self.events = []  # of no use now

    def _event(self):
        try:
            return self.events.pop()
        except IndexError:
            return cupy.cuda.Event(disable_timing=True)

    def begin(self):
        """Puts it behind what the current stream has."""
        event = self._event()
        cupy.cuda.get_current_stream().record(event)
        self.stream.wait_event(event)
        self.events.append(event)

    def end(self):
        """What to wait for."""
        event = self._event()
        self.stream.record(event)
        return event

    def wait(self, event):
        cupy.cuda.get_current_stream().wait_event(event)
        self.events.append(event)


_lanes: dict[int, Lane] = {}


def lane():
    number = cupy.cuda.runtime.getDevice()
    found = _lanes.get(number)
    if found is None:
        found = _lanes.setdefault(number, Lane())
    return found


class Pending:
    """A collective under way, whose memory the current stream may use again when it has waited."""

    __slots__ = ("arrays", "event", "lane", "out")

    def __init__(self, lane, event, out, arrays):
        self.lane, self.event, self.out, self.arrays = lane, event, out, arrays

    def wait(self):
        if self.event is not None:
            self.lane.wait(self.event)
            self.event = self.arrays = None
        return self.out

    def __del__(self):  # of a run that has failed
        self.wait()


def arrived(pending, *arrays):
    """The array that the collective has written; None where it writes none.

    It takes the arrays of the collective, so that their memory is as it was until then.
    """
    return pending.wait() if type(pending) is Pending else pending


class Collective:
    """Begins a method of a communicator, not one that overrides it: gives a Pending.

    What the method writes is its parameter `out_array` or `in_out_array`.  The result is in new memory,
    or `in_place`; `in_place_behind` is for one behind another that has just begun.  An `awaited` one is on
    the current stream, since nothing could overlap with it, and gives the array itself.
    """

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self.__module__ = __name__
        method = getattr(_nccl_comm.NCCLBackend, name)
        names = list(inspect.signature(method).parameters)[1:]
        # what the method calls for dense arrays; asking whether they are takes 3 us
        dense = getattr(_nccl_comm, "_DenseNCCLCommunicator", _nccl_comm.NCCLBackend)
        self.method = getattr(dense, name, method)
        self.written = next((i for i, each in enumerate(names) if "out_array" in each), None)
        # one object each, as plans keep them
        self.in_place = self._begin
        self.in_place_behind = self._begin_behind
        self.awaited = self._call_apart
        self.awaited_in_place = self._call

    def __call__(self, communicator, *args):
        return self._begin(communicator, *self._apart(communicator, args))

    def _call_apart(self, communicator, *args):
        return self._call(communicator, *self._apart(communicator, args))

    def _begin(self, communicator, *args):
        side = lane()
        side.begin()
        return self._send(side, communicator, args)

    def _begin_behind(self, communicator, *args):
        return self._send(lane(), communicator, args)

    def _send(self, side, communicator, args):
        self.method(communicator, *args, stream=side.stream)
        arrays = [each for each in args if isinstance(each, cupy.ndarray)]
        return Pending(side, side.end(), self._out(args), arrays)

    def _call(self, communicator, *args):
        self.method(communicator, *args)
        return self._out(args)

    def _out(self, args):
        return None if self.written is None else args[self.written]

    def _apart(self, communicator, args):
        """The arguments with a new array for the result."""
        if self.written is None:
            return args
        args, old = list(args), args[self.written]
        out = args[self.written] = cupy.ndarray(old.shape, old.dtype)
        if not self._writes_all(communicator, args):
            cupy.copyto(out, old)
        return args

    def _writes_all(self, communicator, args):
        """Is each element of the output written, and none read?"""
        match self.__name__:
            case "all_gather":
                return args[1].size == args[2] * communicator._n_devices
            case "reduce_scatter":
                return args[1].size == args[2]
            case "reduce" | "gather":
                return args[2] == communicator.rank
            case "broadcast":
                return args[1] != communicator.rank
        return True


all_reduce = Collective("all_reduce")
reduce = Collective("reduce")
broadcast = Collective("broadcast")
reduce_scatter = Collective("reduce_scatter")
all_gather = Collective("all_gather")
send = Collective("send")
recv = Collective("recv")
send_recv = Collective("send_recv")
scatter = Collective("scatter")
gather = Collective("gather")
all_to_all = Collective("all_to_all")
