"""Passes keep every bit: random graphs run by the eager executor before and after."""

import random

import numpy as np
import pytest

from pycompile import _eager
from pycompile._C import Graph, graph_layout, graph_pass, pass_names

DTYPES = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
UNARY = {
    "f": ["negative", "absolute", "sqrt", "floor", "square", "positive", "isnan", "signbit"],
    "i": ["negative", "absolute", "invert", "positive", "square", "conjugate"],
    "b": ["logical_not", "invert"],
}
BINARY = {
    "f": [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "copysign",
        "less",
        "equal",
    ],
    "i": [
        "add",
        "subtract",
        "multiply",
        "bitwise_and",
        "bitwise_or",
        "left_shift",
        "less",
        "equal",
    ],
    "b": ["logical_and", "logical_or", "bitwise_xor", "equal"],
}
BOOLEAN = {"isnan", "signbit", "logical_not", "less", "equal", "logical_and", "logical_or"}


class Maker:
    """Writes a random graph as text, one line per node."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.values = []  # (id, dtype, shape, strides, offset, storage)
        for i in range(3):
            dtype = self.rng.choice(["f64", "f32", "i32"])
            self.fresh(dtype, self.rng.choice([(4, 6), (6,), (4, 1)]), f"input({i})")
        self.ninputs = 3

    def line(self, value, call):
        _, dtype, shape, strides, offset, _ = value
        text = f"[{','.join(map(str, shape))}]{{{','.join(map(str, strides))}}}+{offset}"
        self.lines.append(f"%{value[0]}: {dtype}{text} = {call}")
        self.values.append(value)

    def fresh(self, dtype, shape, call, strides=None):
        if strides is None:
            strides = np.empty(shape, DTYPES[dtype]).strides
        i = len(self.lines)
        self.line((i, dtype, shape, strides, 0, i), call)

    def pick(self, **want):
        names = ("id", "dtype", "shape")
        found = [v for v in self.values if all(v[names.index(k)] == x for k, x in want.items())]
        return self.rng.choice(found) if found else None

    def pointwise(self):
        a = self.pick()
        if self.rng.random() < 0.5:
            b = self.pick(dtype=a[1])
            try:
                shape = np.broadcast_shapes(a[2], b[2])
            except ValueError:
                return
            args, op = [a, b], self.rng.choice(BINARY[a[1][0]])
        else:
            args, shape, op = [a], a[2], self.rng.choice(UNARY[a[1][0]])
        dtype = "bool" if op in BOOLEAN else a[1]
        self.elementwise(op, dtype, shape, args)

    def elementwise(self, op, dtype, shape, args):
        strides = graph_layout("broadcast", dtype, [(v[2], v[3]) for v in args])
        self.fresh(dtype, shape, f"{op}({', '.join(f'%{v[0]}' for v in args)})", strides)

    def cast(self):
        a = self.pick()
        if a[1] in ("f32", "f64"):
            return
        dtype = self.rng.choice(["i32", "i64", "f64"] if a[1] != "f64" else ["f32"])
        self.elementwise("cast", dtype, a[2], [a])

    def const(self):
        dtype = self.rng.choice(list(DTYPES))
        text = {
            "f": ["0.0", "-0.0", "1.0", "nan", "2.5"],
            "i": ["0", "1", "-1", "3"],
            "b": ["True", "False"],
        }
        self.fresh(dtype, (), f"const({self.rng.choice(text[dtype[0]])})")

    def view(self):
        i, dtype, shape, strides, offset, storage = self.pick()
        if not shape:
            return
        if self.rng.random() < 0.4:
            shape, strides = shape[::-1], strides[::-1]
        else:
            axis = self.rng.randrange(len(shape))
            start = self.rng.randrange(shape[axis])
            step = self.rng.choice([1, 1, 2])
            n = len(range(start, shape[axis], step))
            n = self.rng.randint(1, n)
            offset += start * strides[axis]
            shape = (*shape[:axis], n, *shape[axis + 1 :])
            strides = (*strides[:axis], step * strides[axis], *strides[axis + 1 :])
        self.line((len(self.lines), dtype, shape, strides, offset, storage), f"as_strided(%{i})")

    def scatter(self):
        roots = [v for v in self.values if v[0] == v[5] and v[2]]
        root = self.rng.choice(roots)
        views = [
            v for v in self.values if v[1] == root[1] and v[5] in (root[0], *self.versions(root))
        ]
        target = self.rng.choice(views)
        value = self.pick(dtype=root[1], shape=target[2]) or self.pick(dtype=root[1], shape=())
        if value is None:
            return
        layout = f"[{','.join(map(str, target[2]))}]{{{','.join(map(str, target[3]))}}}+{target[4]}"
        self.fresh(root[1], root[2], f"scatter(%{root[0]}, %{value[0]}, view={layout})", root[3])

    def versions(self, root):
        return [
            v[0] for v in self.values if v[2:4] == root[2:4] and v[1] == root[1] and v[0] == v[5]
        ]

    def reduction(self):
        a = self.pick()
        if a[1] not in ("f64", "f32") or not a[2]:
            return
        axis = self.rng.randrange(len(a[2]))
        shape = a[2][:axis] + a[2][axis + 1 :]
        self.fresh(a[1], shape, f"{self.rng.choice(['sum', 'max'])}(%{a[0]}, axes=[{axis}])")

    def copy(self):
        a = self.pick()
        self.fresh(a[1], a[2], f"copy(%{a[0]})", graph_layout("like", a[1], [(a[2], a[3])]))

    def text(self):
        steps = [self.pointwise] * 6 + [self.view] * 4 + [self.scatter] * 3
        steps += [self.cast, self.const, self.reduction, self.copy]
        while len(self.lines) < 28:
            self.rng.choice(steps)()
        outputs = self.rng.sample(range(len(self.lines)), 5)
        # Computed twice, some: there is something in common.
        return "\n".join(self.lines) + "\noutputs " + ", ".join(f"%{i}" for i in outputs) + "\n"

    def inputs(self):
        rng = np.random.default_rng(self.rng.randrange(1000))
        for _, dtype, shape, *_ in self.values[: self.ninputs]:
            special = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -2.0])
            if dtype[0] == "f":
                yield rng.choice(special, shape).astype(DTYPES[dtype])
            else:
                yield rng.integers(-5, 5, shape).astype(DTYPES[dtype])


def described(value):
    value = np.asarray(value)
    return value.dtype, value.shape, value.strides, value.tobytes()


def run(graph, inputs):
    inputs = [x.copy() for x in inputs]
    with np.errstate(all="ignore"):
        outputs = _eager.run(graph, inputs)
    return [described(x) for x in outputs], [described(x) for x in inputs]


@pytest.mark.parametrize("block", range(8))
def test_passes_keep_the_bits(block):
    for seed in range(block * 40, block * 40 + 40):
        maker = Maker(seed)
        text = maker.text()
        inputs = list(maker.inputs())
        expected = run(Graph.parse(text), inputs)
        for name in [*pass_names(), "all"]:
            after = graph_pass(text, name)
            assert run(after, inputs) == expected, f"seed {seed}, {name}\n{text}\n{after}"
            again = graph_pass(after, name)
            assert run(again, inputs) == expected, f"seed {seed}, {name} twice"


def test_passes_find_something():
    """The random graphs are such that every pass has something to do."""
    changed = dict.fromkeys(pass_names(), 0)
    for seed in range(60):
        text = str(Graph.parse(Maker(seed).text()))
        for name in changed:
            changed[name] += str(graph_pass(text, name)) != text
    assert all(count > 3 for name, count in changed.items() if name != "fold"), changed
