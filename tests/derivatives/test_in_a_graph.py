"""Gradients in compiled functions: one plan has the forward pass, the pullback and what comes after, with
the bits of a function that is not compiled."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
from typing import Any, NamedTuple

import numpy as np
import pytest

import pycompile
from pycompile import _C, _eager, grad, value_and_grad
from pycompile.derivatives import _repeated, _trees

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(20, 4)), RNG.normal(size=20)
W, V, S = RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=4)


def agree(got: Any, expected: Any) -> None:
    pairs = zip(_trees.leaves(got), _trees.leaves(expected), strict=True)
    for (place, a), (other, b) in pairs:
        assert place == other
        assert type(a) is type(b)
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), place
    assert type(got) is type(expected)


def check(step: Any, *args: Any, whole: bool = True) -> Any:
    """A step of training, compiled and not: results, and what it leaves in its arguments."""
    plain = copy.deepcopy(args)
    expected = step(*plain)
    compiled = pycompile.compile(step, fullgraph=whole)
    for _ in range(2):
        given = copy.deepcopy(args)
        agree(compiled(*given), expected)
        agree(given, plain)
    return expected


def squares(w, x, y):
    return ((x @ w - y) ** 2).mean()


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray


@dataclasses.dataclass
class Record:
    a: np.ndarray
    b: np.ndarray
    times: int = 2


class Model:
    def __init__(self) -> None:
        self.a, self.rest, self.name = W, {"b": V}, "model"

    @property
    def b(self):
        return self.rest["b"]


def net(p, x, y):
    a, b = (p.a, p.b) if hasattr(p, "a") else p
    return ((np.tanh(x @ a) @ b - y) ** 2).sum()


@pytest.mark.parametrize("p", [[W, V], (W, V), Pair(W, V), Record(W, V), Model()])
def test_containers(p):
    check(lambda p, x, y: value_and_grad(net)(p, x, y), p, X, Y)


def adam(p, m, v, t, x, y):
    loss, g = value_and_grad(net)(p, x, y)
    for i in range(len(p)):
        m[i] = 0.9 * m[i] + 0.1 * g[i]
        v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2
        p[i] -= 0.01 * (m[i] / (1 - 0.9**t)) / (np.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)
    return loss, p, m, v


def test_a_step_of_adam():
    check(adam, [W, V], [0 * W, 0 * V], [0 * W, 0 * V], 1, X, Y)
    told = pycompile.explain(adam)([W, V], [0 * W, 0 * V], [0 * W, 0 * V], 1, X, Y)
    assert len(told.graphs) == 1 and not told.breaks
    (record,) = told.derivatives
    assert sum(value["bytes"] for value in record["kept"] if not value["argument"]) > 0
    assert "in one graph with it, backward of" in str(told)
    assert record["backward"][0] in told.verbose()


def test_the_first_name_of_the_package_that_a_program_asks_for():
    def step(w):
        return pycompile.value_and_grad(lambda w: (w * w).sum())(w)

    expected = step(W)
    there = vars(pycompile)
    late = {name: there.pop(name) for name in pycompile.__all__ if name in there}
    try:
        agree(late["compile"](step, fullgraph=True)(W), expected)
    finally:
        there.update(late)


descend = grad(squares)


def descents(w, x, y):
    for _ in range(3):
        w = w - 0.1 * descend(w, x, y)
    return w


def until_it_is_flat(w, x, y):
    g = w
    while np.abs(g).max() > 1.0:
        g = descend(w, x, y)
        w = w - 0.1 * g
    return w


def by_elements(w):
    total = 0.0
    for i in range(len(w)):
        total += grad(lambda s: s * s * s)(w[i])
    return total


def recurrence(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.tanh(y[i - 1]) + x[i]
    return y.sum()


def branch(x):
    y = x * 3
    if y.sum() > 0:
        y = y**2
    return y.sum()


ONE_PLAN = {
    "nothing": (lambda w: grad(lambda w: np.ones(3).sum())(w), (S,)),
    "rolled": (lambda x: grad(lambda x: (np.roll(x, 1, axis=0) * x**2).sum())(x), (X,)),
    "list": (lambda v: grad(lambda v: np.einsum("i,i", [v[0], v[1] * v[1]], [1.0, 2.0]))(v), (V,)),
    "made before": (descents, (S, X, Y)),
    "arguments": (lambda *a: value_and_grad(squares, (0, -1))(*a), (S, X, Y)),
    "float": (lambda s: value_and_grad(lambda s: (s * X).sum() * s)(s), (2.5,)),
    "number": (lambda s: value_and_grad(lambda s: (s * X).sum() * s)(s), (np.float32(2.5),)),
    "aux": (
        lambda w: value_and_grad(lambda w: ((w * w).sum(), {"w": 2 * w}), has_aux=True)(w),
        (S,),
    ),
    "grad aux": (lambda w: grad(lambda w: ((w * w).sum(), 2 * w), has_aux=True)(w), (S,)),
    "read twice": (lambda w: value_and_grad(lambda v: (v * w * (w + v)).sum())(w), (S,)),
    "given twice": (lambda w: value_and_grad(lambda p: (p[0] * p[1] ** 2).sum())([w, w]), (S,)),
    "written after": (lambda w: (grad(lambda w: (w[1:] * w[:-1]).sum())(w), w.fill(0), w), (S,)),
    "of a gradient": (
        lambda w: grad(lambda w: grad(lambda w: (w**3).sum() * w[0])(w).sum())(w),
        (S,),
    ),
    "partial": (lambda w: value_and_grad(functools.partial(squares, x=X, y=Y))(w), (S,)),
    "until": (until_it_is_flat, (S, X, Y)),
    "elements": (by_elements, (S,)),
    "loop": (lambda x: value_and_grad(recurrence)(x), (RNG.normal(size=50),)),
    "branch": (lambda x: value_and_grad(branch)(x), (np.ones(5),)),
    "kink": (lambda w: value_and_grad(lambda w: np.sqrt(w).sum())(w), (np.zeros(3),)),
    "twice the same": (
        lambda a, b: grad(lambda a, b: (2 * (a + b)).sum(), (0, 1))(a, b),
        (S, S + 1),
    ),
    "simplified": (
        lambda w: grad(lambda w: (np.where(w > 0, w, w) * np.exp(w) + np.exp(w) ** 2).sum())(w),
        (S,),
    ),
    "workspace": (
        lambda w, out: (grad(lambda w: np.multiply(w, w, out=out).sum())(w), out),
        (S, np.zeros(4)),
    ),
}


@pytest.mark.parametrize("name", ONE_PLAN)
def test_one_plan(name):
    step, args = ONE_PLAN[name]
    check(step, *args)


# What is summed, of x (n, m), v (m,), y (n,), s (n, n): each of any length in one plan.
OF_ANY_LENGTH = [
    "np.tanh(x @ v - y) ** 2 / len(x)",
    "(x[1:] @ v)[::-1] - y[:-1]",
    "x - x.mean(axis=0)",
    "x.std(axis=1) + x.max(axis=1) + x.var()",
    "x.T.reshape(-1) ** 2",
    "x[:3] * x[-3:]",
    "x[0, ::-2] ** 2",
    "np.concatenate([x.ravel(), y])",
    "np.stack([y, y * 2]).T @ np.array([1.0, 2.0])",
    "x[:, None, :] - x[None]",
    "v * x + y[:, None]",
    "np.prod(x, axis=0) + np.cumprod(v)",
    "np.cumsum(x, axis=1) ** 2",
    "x[np.array([0, 1, 0])] ** 2",
    "np.take(v, np.array([0, 1])) ** 2",
    "np.einsum('ij,j->i', x, v) ** 2",
    "np.pad(x, 1) ** 2",
    "np.diff(x, 2, axis=1) ** 2",
    "np.where(x > 0.5, x, x * x)",
    "np.maximum.accumulate(v[::-1])",
    "np.repeat(v, 2) ** 2",
    "np.interp(v, np.sort(v), v * 2)",
    "np.linalg.solve(s + 9 * np.eye(len(y)), y)",
    "np.roll(x, 1, axis=0) * x",
    "s[np.arange(len(y)), np.arange(len(y))] ** 2",
]


def of_lengths(n, m):
    rng = np.random.default_rng(n)
    return rng.random((n, m)), rng.random(m), rng.random(n), rng.random((n, n))


@pytest.mark.parametrize("expression", OF_ANY_LENGTH)
def test_of_any_length(expression):
    scope = {"np": np, "grad": value_and_grad}
    text = f"lambda x, v, y, s: grad(lambda x, v, y, s: np.sum({expression}), (0, 1, 2, 3))(x, v, y, s)"
    step = eval(text, scope)
    compiled = pycompile.compile(step, dynamic=True, fullgraph=True)
    for n, m in ((5, 4), (6, 5), (9, 3), (4, 7)):
        agree(compiled(*of_lengths(n, m)), step(*of_lengths(n, m)))
    assert compiled.stats()["plans"] == 1


def test_lengths_that_vary_take_two_plans():
    def step(w, x, y):
        loss, g = value_and_grad(squares)(w, x, y)
        return loss, w - 0.1 * g

    compiled = pycompile.compile(step, fullgraph=True)
    for n in (5, 9, 2, 17, 4, 20, 6, 7, 8, 10):
        agree(compiled(S, X[:1].repeat(n, 0), Y[:n].copy()), step(S, X[:1].repeat(n, 0), Y[:n]))
    assert compiled.stats()["plans"] == 2


def test_a_loop_of_as_many_turns_as_an_argument_says():
    def grown(p, n):
        x, y = p[0] * 0.9, p[1] + 0.1
        for i in range(n):
            x = x + 0.1 * (p[0] * x - p[1] * x * y)
            for k in range(2):
                y = y + 0.01 * (p[2] * x * y - k * p[3] * y)
        return x * y

    @pycompile.compile(fullgraph=True)
    def step(p, n):
        return pycompile.value_and_grad(grown)(p, n)

    p = np.array([1.1, 0.4, 0.4, 0.1])
    for n in (300, 200):
        value, gradient = step(p, n)
        assert value == grown(p, n)
        for i in range(4):
            h = np.where(np.arange(4) == i, 1e-6, 0.0)
            wanted = (grown(p + h, n) - grown(p - h, n)) / 2e-6
            assert abs(gradient[i] - wanted) < 1e-7 * max(1.0, abs(wanted))
    assert step.stats()["plans"] <= 2


def test_gradients_are_arrays_of_their_own():
    @pycompile.compile(fullgraph=True)
    def step(a, b):
        return grad(lambda a, b: (2 * (a + b)).sum(), (0, 1))(a, b)

    for both in (step(S, S), grad(lambda a, b: (2 * (a + b)).sum(), (0, 1))(S, S)):
        assert not np.may_share_memory(*both)
        assert all(each.flags.writeable for each in both)


def test_side_effects_happen_once():
    calls = []

    def loss(w):
        calls.append(len(w))
        return (w * w).sum()

    @pycompile.compile(fullgraph=True)
    def step(w):
        return grad(loss)(w)

    agree(step(S), 2 * S)
    assert calls == [4]


def test_lengths_that_change():
    def step(w):
        return np.tanh(w) * 2, grad(lambda w: (w * w).mean())(w)

    compiled = pycompile.compile(step)
    counts = []
    for n in (3, 5, 8, 9):
        agree(compiled(np.arange(float(n))), step(np.arange(float(n))))
        counts.append(compiled.stats())
    assert counts[-1]["plan_runs"] > counts[-2]["plan_runs"] > counts[-3]["plan_runs"]
    assert counts[-1]["compiles"] == counts[-3]["compiles"]


def test_plans_outlive_collections():
    def step(w):
        return np.tanh(w) * 2, grad(lambda w: (w * w).mean())(w)

    compiled = pycompile.compile(step)
    for _ in range(3):
        agree(compiled(np.arange(3.0)), step(np.arange(3.0)))
        gc.collect()
    assert compiled.stats()["compiles"] == 1


def test_a_gradient_that_leaves():
    def step(w):
        def noted(w: int) -> float:
            return 1.0

        return np.tanh(w), grad(squares, (0, 1)), value_and_grad(net, has_aux=True), noted

    compiled = pycompile.compile(step)
    for _ in range(2):
        _, *got = compiled(S)
        for one, other in zip(got, step(S)[1:], strict=True):
            assert type(one) is type(other)
            assert one.__name__ == other.__name__
            assert getattr(one, "asked", None) == getattr(other, "asked", None)
            assert one.__annotations__ == other.__annotations__
    assert compiled.stats()["plan_runs"] == 2


def test_names_of_gradients():
    check(lambda w: (2 * w, np.array(len(grad(squares).__name__))), S, whole=False)


def in_place(w):
    w *= 2
    return (w * w).sum()


def renamed(p):
    p["more"] = 1.0
    return (p["w"] ** 2).sum()


def kept(w):
    seen = []
    gradient = grad(lambda v: (seen.append(v), (v * v).sum())[1])(w)
    return gradient, float(seen[0] is w)


def given_back(w):
    (_, aux), gradient = value_and_grad(lambda v: ((v * v).sum(), [v]), has_aux=True)(w)
    return gradient, float(aux[0] is w), float(aux[0].flags.owndata)


BY_A_TAPE = {
    "kept": (kept, (S,), "keeps what"),
    "given back": (given_back, (S,), "keeps what"),
    "base": (
        lambda w: grad(lambda w: (w.base is None) * 1.0 * (w * w).sum())(w),
        (S,),
        "the base of",
    ),
    "base of a view": (
        lambda w: grad(lambda w: (w[1:].base * w).sum())(w),
        (S,),
        "the base of",
    ),
    "writes": (lambda w: (grad(in_place)(w), w), (S,), "writes into an array"),
    "container": (lambda w: (p := {"w": w}, grad(renamed)(p), p)[1:], (S,), "changes a container"),
    "stopped": (
        lambda w: grad(lambda w: (w * pycompile.stop_gradient(w)).sum())(w),
        (S,),
        "pycompile.disable",
    ),
}


@pytest.mark.parametrize("name", BY_A_TAPE)
def test_by_a_tape(name):
    step, args, why = BY_A_TAPE[name]
    check(step, *args, whole=False)
    with pytest.raises(pycompile.GraphBreakError, match=why):
        pycompile.compile(step, fullgraph=True)(*copy.deepcopy(args))


def fails(w):
    if len(w) == 4:
        raise ValueError("four")
    return w.sum()


@pytest.mark.parametrize(
    "f, given",
    [
        (fails, S),
        (np.sum, np.arange(3)),
        (np.sin, S),
        (lambda w: eval("w.sum()"), S),
        (lambda w: (w.base is None) * (w * w).sum(), S[1:]),
    ],
)
def test_what_raises(f, given):
    def step(w):
        return grad(f)(w)

    with pytest.raises(Exception) as expected:
        step(given)
    with pytest.raises(type(expected.value)) as found:
        pycompile.compile(step)(given)
    assert str(found.value) == str(expected.value)


# ---- gradients that are asked for again and again (_repeated.py) ----


def asked_again(f):
    """The gradient of a function that is asked for a second time, and what is kept of it."""
    value_and_grad(f)
    return value_and_grad(f), _repeated.of_function(f, (0, False), lambda: None)


def again(f, *args):
    """The calls by the tape and, from the third on, as one graph: whether it was one."""
    asked, repeated = asked_again(f)
    expected = asked(*copy.deepcopy(args))
    repeated.cost, repeated.spent = 0.0, 1.0
    for _ in range(2):
        agree(asked(*copy.deepcopy(args)), expected)
    return repeated.spent > 0.0


def test_a_graph_takes_the_tapes_place():
    assert again(net, [W, V], X, Y)
    assert again(lambda x: (x[::-1] @ x * 2.0).sum(), S)
    assert again(lambda p: p["a"].sum() * p["b"], {"a": S, "b": 2.0})
    assert again(lambda x: x.item() ** 2, np.array(3.0))


@pytest.mark.parametrize("is_stopped", [False, True])
def test_side_effects_happen_once_in_a_call(is_stopped):
    seen = []

    def noting(x):
        seen.append(x.shape)
        return (x * (pycompile.stop_gradient(x) if is_stopped else x)).sum()

    assert again(noting, S) == (not is_stopped)  # the tape stays where there is no graph
    assert len(seen) == 3


def test_a_graph_of_other_sizes_kinds_and_globals():
    factors = [2.0]
    asked, repeated = asked_again(lambda x, k: ((x * factors[0]) ** k).sum())
    for x, k in ((S, 2), (S[:3], 2), (S.astype("f4"), 3), (S[::-1], 2)) * 3:
        value, gradient = asked(x, k)
        assert value == ((x * factors[0]) ** k).sum()
        assert np.allclose(gradient, k * (x * factors[0]) ** (k - 1) * factors[0], 1e-5)
        assert gradient.dtype == x.dtype
        repeated.cost, repeated.spent = 0.0, 1.0
        factors[0] += 1.0
    with pytest.raises(pycompile.DerivativeError, match="int"):
        asked(np.arange(3), 2)


def test_what_is_read_again_of_memory_that_was_written_since_is_a_copy_that_begins_at_its_start():
    def f(a):
        q = np.zeros((3, 3))
        q[:, 1] = a[:, 0] * 2.0
        q[:, 2] = np.sqrt(q[:, 1] + 1.0)
        product = q[:, 2] @ a[:, 0]
        q[:, 2] = 0.0
        return product + q.sum()

    texts = []

    def backend(graph, _):
        texts.append(graph.text)
        return lambda *inputs: _eager.run(graph, inputs)

    gradient = pycompile.compile(lambda a: grad(f)(a), backend=backend, mode="wait")
    assert np.array_equal(gradient(np.eye(3)), grad(f)(np.eye(3)))
    (text,) = texts
    assert " = copy(" in _C.Graph.parse(text).text  # which looks at where its arrays begin


def test_sizes_that_come_only_once_are_the_tapes():
    asked, repeated = asked_again(lambda x: (x * x).sum())
    asked(S)
    repeated.cost, repeated.spent = 1.0, 2.0
    for n, is_graph in ((4, True), (4, True), (5, False), (6, False), (4, False)):
        asked(np.ones(n))
        assert repeated.is_graph == is_graph
    assert repeated.cost == 2.0


def test_time_decides_when_a_graph_is_tried():
    repeated = _repeated.Repeated("grad", None, ())
    assert not repeated.is_ready()
    repeated.note(1.0, False, True)
    repeated.note(3.0, True, True)
    repeated.note(9.0, True, False)  # several plans
    assert not repeated.is_ready()
    repeated.note(2.0, True, True)
    assert repeated.is_ready()
    repeated.note(1.0, False, True)  # another size
    assert not repeated.is_ready()
