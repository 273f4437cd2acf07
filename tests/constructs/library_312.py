"""Library code that 3.11 writes with locks and id(), and later versions without.

On 3.11 they break: PC0022 for the lock of cached_property, PC0030 in dataclasses.asdict.
"""

import dataclasses
import functools

from constructs import X, construct


@dataclasses.dataclass(frozen=True)
class Params:
    scale: float
    shift: float = 1.0
    name: str = "p"


class Cached:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def total(self):
        return self.x.sum()


@construct("functools.cached_property", X)
def cached_property(x):
    c = Cached(x)
    return x - c.total, x + c.total


@construct("dataclasses.asdict of numbers", X)
def asdict(x):
    p = Params(2.0)
    return dataclasses.asdict(p), x * dataclasses.asdict(p)["scale"]


@construct("dataclasses.astuple of numbers", X)
def astuple(x):
    scale, shift, name = dataclasses.astuple(Params(2.0))
    return x * scale + shift, name
