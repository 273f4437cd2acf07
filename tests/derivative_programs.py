"""Random differentiable functions for derivatives/test_fuzz.py: smooth operations over arrays, views and
writes through them, np.add.at, out=, loops over elements that write what they read, branches, breaks in
the graph.  Values stay near 1, so that differences are accurate."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

# What is written is m, n, r, q, c, and what comes of them; w (3, 4) is read only, since two of its elements
# may be one in memory.
SHAPES = {"m": (3, 4), "n": (3, 4), "r": (4,), "q": (4,), "c": (3, 1)}


def arguments(seed: int) -> list[Any]:
    """m, n (3, 4), r, q (4,), c (3, 1), w (3, 4); of one layout or another."""
    rng = np.random.default_rng(seed)
    out = []
    for shape in SHAPES.values():
        array = rng.uniform(0.2, 1.2, shape)
        how = rng.integers(4)
        if how == 1:
            array = np.asfortranarray(array)
        elif how == 2:
            array = np.repeat(array, 2, axis=-1)[..., ::2]
        elif how == 3:
            array = array[::-1].copy()[::-1]
        out.append(array)
    numbers = rng.uniform(0.2, 1.2, 12)
    strides = ((32, 8), (8, 24), (0, 8), (8, 0), (8, 8), (0, 0))[rng.integers(6)]
    return [*out, np.lib.stride_tricks.as_strided(numbers, (3, 4), strides)]


class Program:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.shapes = dict(SHAPES)
        self.count = 0
        for _ in range(self.random.randint(3, 12)):
            self.random.choice(self.KINDS)(self)
        names = ", ".join(self.random.sample(list(self.shapes), 3))
        self.text = (
            "def f(m, n, r, q, c, w):\n"
            + "".join(f"    {line}\n" for line in self.lines)
            + f"    return ({names}, m.sum() * r.sum())\n"
        )

    def pick(self, *shapes: tuple[int, ...]) -> str:
        fit = [name for name, shape in self.shapes.items() if not shapes or shape in shapes]
        return self.random.choice(fit)

    def fresh(self, shape: tuple[int, ...]) -> str:
        self.count += 1
        name = f"a{self.count}"
        self.shapes[name] = shape
        return name

    def value(self, *shapes: tuple[int, ...]) -> str:
        """An expression that broadcasts to the first of these shapes."""
        pick = self.random.choice
        a, b = self.pick(*shapes), self.pick(*shapes)
        return pick(
            (
                f"np.tanh({a} * {b})",
                f"np.sin({a}) + 0.5 * {b}",
                f"{a} / (1.5 + {b} * {b})",
                f"np.exp(-{a}) * np.cos({b})",
                f"np.sqrt(1.0 + {a} * {a}) - {b}",
                f"np.arctan2({a}, 2.0 + np.tanh({b}))",
                f"np.log1p({a} * {a}) * 0.7",
                f"np.where({a} > 5.0, {b}, np.tanh({a}))",
                f"(1.0 + np.tanh({a}) ** 2) ** 1.5 * 0.3",
                f"np.hypot({a}, 1.0 + np.tanh({b}) ** 2) * 0.5",
            )
        )

    def bind(self) -> None:
        if self.random.random() < 0.6:
            value = self.value((3, 4), (4,), (3, 1))
            self.lines.append(f"{self.fresh((3, 4))} = {value} + 0.0 * m")
        else:
            value = self.value((4,))
            self.lines.append(f"{self.fresh((4,))} = {value}")

    def view(self) -> None:
        a = self.pick((3, 4))
        text, shape = self.random.choice(
            (
                ("[1]", (4,)),
                ("[::-1]", (3, 4)),
                ("[:, ::-1]", (3, 4)),
                ("[:, 1:2]", (3, 1)),
                (".T[:, 0]", (3,)),
                ("[-1, ::-1]", (4,)),
                (".reshape(4, 3)[1:2].T", (3, 1)),
                ("[1:][0]", (4,)),
            )
        )
        if shape in SHAPES.values():
            self.lines.append(f"{self.fresh(shape)} = {a}{text}")

    def look(self) -> None:
        """Views of w; their cotangents belong to its elements, not to its memory."""
        text = self.random.choice(
            (
                "w[1]",
                "w[1:][0]",
                "w[::-1][0]",
                "np.flip(w, 0)[0]",
                "w.T[:, 1:].sum(axis=1)",
                "w[1:].sum(axis=0)",
                "np.diagonal(w, 1).sum()",
                "w.reshape(2, 6)[1, 1:5]",
                "w[:, None][2, 0]",
                "(w[1:] * w[:-1])[1]",
                "np.broadcast_to(w, (2, 3, 4))[1, 2]",
                "(w @ w.T)[0, 1]",
                "np.cumsum(w, axis=0)[1]",
                "w[[0, 2]][1]",
            )
        )
        b = self.pick((4,))
        self.lines.append(f"{self.fresh((4,))} = np.sin({text}) + {b} * 0.5")

    def ordered(self) -> None:
        """What depends on how an array lies that is neither in C's order nor in Fortran's."""
        a, b = self.pick((3, 4)), self.pick((3, 4))
        text = self.random.choice(
            (
                ".ravel('K')[3:7]",
                ".flatten('K')[5:9]",
                ".flatten('A')[5:9]",
                ".reshape(6, 4, order='A')[1]",
                ".reshape(4, 6, order='F')[:, 1]",
                "[:, :, 1:3].ravel('K')[2:6]",
            )
        )
        mixed, q = f"np.stack([{a}, np.cos({b})]).transpose(1, 0, 2)", self.pick((4,))
        self.lines.append(f"{self.fresh((4,))} = {mixed}{text} + {q} * 0.5")

    def call(self) -> None:
        """Functions of NumPy's, of lists, and of lengths of 1 that are broadcast."""
        a, b, m = self.pick((4,)), self.pick((4,)), self.pick((3, 4))
        text = self.random.choice(
            (
                f"np.convolve({a}, [0.5, 1.0, 0.2], 'same')",
                f"np.correlate([0.5, 1.0, 0.2, 0.1], {a}, 'same')",
                f"np.einsum('i,i->i', {a}, {b}[:1])",
                f"np.einsum('i,i->', {a}, np.ones(1)) * {b}",
                f"np.einsum('ij,ij->j', {m}, c)",
                f"np.einsum('i,ij->j', [0.1, 0.2, 0.3], {m})",
                f"np.interp([0.3, 1.2, 2.9, 4.0], np.arange(4.0), {a})",
                f"np.interp(np.tanh({a}), [0.5], {b}[:1])",
                f"np.kron({a}[:2], [1.0, 0.5])",
                f"np.kron(0.5, {a})",
                f"np.polyval([0.2, 0.1, 0.3], {a})",
                f"np.dot([0.1, 0.2, 0.3], {m})",
                f"np.average({m}, axis=0, weights=[1.0, 2.0, 0.5])",
                f"np.trapezoid({m}, [0.0, 1.0, 1.5], axis=0)",
                f"np.add([[0.1], [0.2]], {a})[1]",
            )
        )
        self.lines.append(f"{self.fresh((4,))} = np.tanh({text})")

    def write(self) -> None:
        a = self.pick((3, 4))
        text, shapes = self.random.choice(
            (
                ("[0]", [(4,)]),
                ("[:, 1:2]", [(3, 1)]),
                ("[1:, 2]", []),
                ("[...]", [(3, 4)]),
                ("[::2]", [(4,)]),
                ("[[2, 0]]", [(4,)]),
                ("[:, [3, 1]]", [(3, 1)]),
            )
        )
        value = self.value(*shapes) if shapes else f"{self.pick((4,))}[1]"
        # A copy, since what is written may be read through another view of the same memory.
        self.lines.append(f"{a}{text} {self.random.choice(('=', '+=', '*='))} ({value}).copy()")

    def add_at(self) -> None:
        a = self.pick((4,))
        self.lines.append(f"np.add.at({a}, [0, 2, 2], np.sin({self.pick((4,))})[1:])")

    def out(self) -> None:
        a = self.pick((4,))
        self.lines.append(f"np.multiply({self.pick((4,))}, 0.8, out={a})")

    def reduce(self) -> None:
        a = self.pick((3, 4))
        text = self.random.choice(
            (
                ".sum(axis=0)",
                ".mean(axis=0)",
                ".var(axis=0)",
                ".cumsum(axis=0)[2]",
                ".prod(axis=0)",
            )
        )
        b = self.pick((4,))
        self.lines.append(f"{self.fresh((4,))} = np.tanh({a}{text}) + {b} * 0.5")

    def product(self) -> None:
        a, b = self.pick((3, 4)), self.pick((3, 4))
        text = self.random.choice(
            (f"np.tanh({a} @ {b}.T @ {a})", f"np.tanh(np.einsum('ij,kj->ki', {a}, {b}) @ {a})")
        )
        self.lines.append(f"{self.fresh((3, 4))} = {text}")

    def loop(self) -> None:
        a, b = self.pick((4,)), self.pick((4,))
        body = self.random.choice(
            (
                [f"{a}[i] = np.tanh({a}[i - 1] * {b}[i]) + 0.3 * {b}[i - 1]"],
                [
                    f"if {b}[i] > 9.0:",
                    f"    {a}[i] = 0.0",
                    "else:",
                    f"    {a}[i] = {b}[i] * {a}[i - 1]",
                ],
                ["s = s * 0.5 + np.sin(" + f"{a}[i])", f"{b}[i] = s"],
                ["for k in range(i):", f"    s += {a}[k] * {b}[i - k]", f"{a}[i] = np.tanh(s)"],
                [f"s += {a}[i] * {b}[i]", "if s > 1.7: break"],
            )
        )
        self.lines.append("s = 0.1")
        self.lines.append("for i in range(1, 4):")
        self.lines += ["    " + line for line in body]
        self.lines.append(f"{self.fresh((4,))} = {b} * s")

    def branch(self) -> None:
        a = self.pick((3, 4))
        b = self.fresh((3, 4))
        self.lines.append(f"if {a}.sum() > {self.random.choice((-90, 90))}.5:")
        self.lines.append(f"    {b} = np.sin({a}) * 1.5")
        self.lines.append("else:")
        self.lines.append(f"    {b} = {a} * {a}")

    def break_(self) -> None:
        self.lines.append("eval('1')")

    KINDS = (
        bind,
        bind,
        bind,
        view,
        view,
        look,
        look,
        ordered,
        call,
        call,
        write,
        write,
        write,
        add_at,
        out,
        reduce,
        product,
        loop,
        loop,
        branch,
        break_,
    )
