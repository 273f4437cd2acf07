"""A repeated block is compiled once: functions and methods of one code, with the same guards, share their
plans, whatever object they hang on."""

import dataclasses
import functools

import numpy as np
import pytest

import pycompile


def weights(number):
    return np.random.default_rng(number).random(8)


class Linear:
    def __init__(self, number):
        self.w = weights(number)

    def __call__(self, x):
        return x * self.w


class Block:
    """With children, a list of arrays, a number that varies and a function that is made for it."""

    def __init__(self, number):
        self.inner, self.outer = Linear(number), Linear(number + 1)
        self.layers = [weights(number + 2), weights(number + 3)]
        self.epsilon = 1e-5 * number
        self.act = layer(weights(number + 4))

    def forward(self, x):
        y = self.outer(self.inner(x))
        for w in self.layers:
            y = y * w
        return self.act((y - y.mean()) / np.sqrt(y.var() + self.epsilon))

    def __call__(self, x):
        return self.forward(x)


class Slotted:
    __slots__ = ("w",)

    def __init__(self, number):
        self.w = weights(number)

    def __call__(self, x):
        return np.tanh(x * self.w) + 1


@dataclasses.dataclass
class Record:
    w: np.ndarray
    k: float

    def forward(self, x):
        return np.tanh(x * self.w) * self.k + 1


def layer(w):
    def apply(x):
        return np.tanh(x * w) + 1

    return apply


def scaled(w, x):
    return np.tanh(x * w) + 1


def on_instances(number):
    block = Block(number)
    block.forward = pycompile.compile(block.forward)
    return block.forward


KINDS = {
    "bound methods": lambda n: pycompile.compile(Block(n).forward),
    "objects that are called": lambda n: pycompile.compile(Block(n)),
    "attributes of instances": on_instances,
    "classes with slots": lambda n: pycompile.compile(Slotted(n)),
    "dataclasses": lambda n: pycompile.compile(Record(weights(n), float(n)).forward),
    "closures": lambda n: pycompile.compile(layer(weights(n))),
    "partials": lambda n: pycompile.compile(functools.partial(scaled, weights(n))),
}


def compiled_of(block):
    return getattr(block, "__func__", None) or getattr(block, "func", None) or block


@pytest.mark.parametrize("kind", KINDS)
def test_one_plan_serves_all(kind):
    blocks = [KINDS[kind](number) for number in range(1, 6)]
    x = wanted = np.linspace(0.5, 1.5, 8)
    for block in blocks:
        x = block(x)
        function = compiled_of(block).__wrapped__
        bound = getattr(block, "__self__", None), *getattr(block, "args", ())
        wanted = function(*(part for part in bound if part is not None), wanted)
        assert np.array_equal(x, wanted)
    stats = compiled_of(blocks[0]).stats()
    assert (stats["plans"], stats["compiles"], stats["plan_runs"]) == (1, 1, 5)


def test_one_precompiled_block_serves_all():
    blocks = [Block(number) for number in range(1, 6)]
    forward = pycompile.compile(Block.forward)
    assert forward.precompile(blocks[0], pycompile.Array(8)) is True
    with pycompile.set_stance("fail_on_recompile"):
        for block in blocks:
            assert np.array_equal(forward(block, np.ones(8)), block.forward(np.ones(8)))
    assert forward.stats()["plan_runs"] == 5
