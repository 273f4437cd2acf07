"""Random programs about state, for test_state_fuzz.py: what is kept in globals, modules, classes, cells,
objects, containers and defaults is rebound, changed, deleted and dies, between calls of `f` and during
them.

A program has a few places (state_world.py).  `f` reads and writes them by ways that are chosen at random,
itself, in functions that it calls, and in code that runs where capture does not look: a signal's handler, a
thread, `__del__`, the callback of a weak reference.  Between two calls `changes` does the same from outside.
Everything is a function of a seed.  A program is a list of statements, so that those that do not matter can
be left out.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from state_world import HELPERS, PLACES, PREAMBLE, Place

KINDS = frozenset({"lifetimes", "namespaces", "finalizers"})
NOT_THERE = "(AttributeError, KeyError, NameError, IndexError, TypeError, ValueError)"


@dataclass
class Program:
    """Statements, each a list of lines."""

    places: list[Place]
    acts: list[list[str]] = field(default_factory=list)
    body: list[list[str]] = field(default_factory=list)
    changes: list[list[str]] = field(default_factory=list)

    def small(self) -> str:
        """What is this program's own: without the preamble."""
        world = [place.world for place in self.places]
        acts = [
            f"def act{i}():\n    " + "\n    ".join(act) + "\n" for i, act in enumerate(self.acts)
        ]
        body = [line for statement in self.body for line in statement]
        changes = [
            f"def change{i}():\n    " + "\n    ".join(change) + "\n"
            for i, change in enumerate(self.changes)
        ]
        return "\n".join(
            [*world, *acts, "def f(x, n):", "    log = []"]
            + ["    " + line for line in body]
            + ["    return x, log", "", *changes]
        )

    def text(self) -> str:
        return PREAMBLE + HELPERS + self.small()

    def reads(self) -> list[str]:
        """What is looked at behind each call."""
        return [read for place in self.places for read in dict.fromkeys(place.reads)]

    def without(self) -> list[Program]:
        """Programs that lack something of this one, the larger parts first."""
        found = []
        for name in ("body", "changes", "acts", "places"):
            items = getattr(self, name)
            for size in (len(items) // 2, 1):
                for at in range(0, len(items) if size else 0, size or 1):
                    left = items[:at] + items[at + size :]
                    if name == "acts":  # acts are called by number
                        left = items[:at] + [["pass"]] * size + items[at + size :]
                        if left == items:
                            continue
                    if name == "changes" and not left:
                        continue
                    found.append(dataclasses.replace(self, **{name: left}))
        for at, statement in enumerate(self.body):  # the block without what is around it
            if len(statement) > 1 and statement[1].startswith("    "):
                inner = [[line[4:]] for line in statement if line.startswith("    ")]
                found.append(
                    dataclasses.replace(self, body=self.body[:at] + inner + self.body[at + 1 :])
                )
        return found


class Writer:
    """Writes one program; `kinds` are the features of KINDS that it may have."""

    def __init__(self, seed: int, kinds: frozenset[str]) -> None:
        self.rng = random.Random(seed)
        self.kinds = kinds
        able = [place for place in PLACES if place.kinds <= kinds]
        places = self.rng.sample(able, self.rng.choice((1, 1, 2, 3)))
        self.program = Program(places)
        self.loud = "finalizers" in kinds and self.chance(0.4)
        self.count = 0

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def place(self) -> Place:
        return self.rng.choice(self.program.places)

    # ---- ways ----

    def read(self) -> str:
        read = self.rng.choice(self.place().reads)
        return f"val({read})" if self.loud else read

    def value(self, n: str = "n") -> str:
        forms = [f"{n} + 1.5", "2.5", "float(7)", f"({n} + 3.25)", "x * 2.0" if n == "n" else "4.5"]
        if "lifetimes" in self.kinds:
            forms += ["watched(np.full(4, 2.5))", f"watched(np.full(4, {n} + 0.5))"]
        if self.loud and self.program.acts:  # an act that made one would be called by its end
            forms += [f"Loud({n} + 0.75, act{self.rng.randrange(3)})"] * 3
        return self.rng.choice(forms)

    def write(self, n: str = "n") -> str:
        return self.rng.choice(self.place().writes).replace("{v}", self.value(n))

    def change(self, n: str = "n") -> list[str]:
        """A write, or a deletion of what may not be there."""
        deletes = self.place().deletes
        if deletes and self.chance(0.25):
            return ["try:", "    " + self.rng.choice(deletes), f"except {NOT_THERE}: pass"]
        if self.chance(0.2):
            return ["try:", "    " + self.write(n), f"except {NOT_THERE}: pass"]
        return [self.write(n)]

    # ---- statements of f ----

    def said(self) -> list[str]:
        return [f"log.append({self.read()})"]

    def said_if_there(self) -> list[str]:
        return [
            "try:",
            f"    log.append({self.read()})",
            f"except {NOT_THERE} as e: log.append(type(e).__name__)",
        ]

    def computed(self) -> list[str]:
        return [
            self.pick(
                f"x = x + {self.read()}",
                f"x = np.tanh(x) * {self.read()}",
                f"x = x * {self.read()} + {self.read()}",
                "x = np.sin(x) + 1.0",
                f"x = np.where(x > {self.read()}, x, 1.0)",
            )
        ]

    def kept(self) -> list[str]:
        self.count += 1
        return [
            f"t{self.count} = {self.read()}",
            *self.change(),
            f"log.append((t{self.count}, {self.read()}))",
        ]

    def same(self) -> list[str]:
        place = self.place()
        a, b = (self.rng.choice(place.reads) for _ in range(2))
        return (
            [f"log.append({a} is {b})"] if "1.0" not in a + b and "(" not in a + b else self.said()
        )

    def acted(self) -> list[str]:
        by = self.pick(
            "signal", "thread", "callback", "del", "exec", "collector", "call", "call", "call"
        )
        if by in ("callback", "del", "collector") and "finalizers" not in self.kinds:
            by = "call"
        return [f"by_{by}(act{self.rng.randrange(3)})"]

    def held(self) -> list[str]:
        return [self.pick(f"HELD.append({self.read()})", "HELD.clear()")]

    def block(self) -> list[str]:
        head = self.pick(
            "if n > 1:",
            "if x[0] > 0.5:",
            "for i in range(2):",
            "for i in range(n):",
            "with contextlib.suppress(KeyError, AttributeError):",
            "if x.sum() > n:",
        )
        inner = [line for _ in range(self.rng.randint(1, 2)) for line in self.simple()]
        return [head, *("    " + line for line in inner)]

    def inner(self) -> list[str]:
        self.count += 1
        name = f"g{self.count}"
        return [
            f"def {name}():",
            *("    " + line for line in self.change()),
            f"    return {self.read()}",
            f"log.append({name}())",
        ]

    def simple(self) -> list[str]:
        forms: list[Callable[[], list[str]]] = [
            self.said,
            self.said,
            self.said_if_there,
            self.computed,
            self.computed,
            self.change,
            self.change,
            self.change,
        ]
        return self.rng.choice(forms)()

    def statement(self) -> list[str]:
        forms: list[Callable[[], list[str]]] = [
            *[self.simple] * 8,
            self.kept,
            self.kept,
            self.same,
            self.acted,
            self.acted,
            self.block,
            self.inner,
        ]
        if "lifetimes" in self.kinds:
            forms.append(self.held)
        return self.rng.choice(forms)()

    def write_program(self) -> Program:
        program = self.program
        program.acts = [self.change("1") for _ in range(3)]
        program.body = [self.statement() for _ in range(self.rng.randint(2, 7))]
        for k in range(self.rng.randint(3, 6)):
            changes = [
                line
                for _ in range(self.rng.choice((0, 0, 1, 1, 2)))
                for line in self.change(str(k))
            ]
            program.changes.append(changes or ["pass"])
        return program


def program(seed: int, kinds: frozenset[str] = KINDS) -> Program:
    return Writer(seed, kinds).write_program()
