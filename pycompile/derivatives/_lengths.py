"""Lengths that only the run tells: sums of products of the symbols in a graph's sizes.

Two lengths are equal where their terms are.  Which of two is larger is asked to choose an expression, and
answered for large symbols that are no multiples of one another: what is chosen is checked by terms
(_views.py), and the text that has it by NumPy.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple


class Atom(NamedTuple):
    text: str
    value: int
    parts: tuple[Any, ...] = ()  # of a minimum


Terms = dict[tuple[Atom, ...], int]  # products, and their factors


class Length:
    """An int that is no constant (`made`)."""

    __slots__ = ("hash", "terms", "value")

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.value = sum(
            factor * math.prod(atom.value for atom in atoms) for atoms, factor in terms.items()
        )
        self.hash = hash(frozenset(terms.items()))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and self.terms == other.terms

    def __repr__(self) -> str:
        parts = [
            " * ".join(
                ([str(factor)] if factor != 1 or not atoms else []) + [a.text for a in atoms]
            )
            for atoms, factor in self.terms.items()
        ]
        return parts[0] if parts[0].isidentifier() and len(parts) == 1 else f"({' + '.join(parts)})"

    def __add__(self, other: Any) -> Any:
        terms = dict(self.terms)
        for atoms, factor in terms_of(other).items():
            terms[atoms] = terms.get(atoms, 0) + factor
        return made(terms)

    def __mul__(self, other: Any) -> Any:
        terms: Terms = {}
        for a, x in self.terms.items():
            for b, y in terms_of(other).items():
                atoms = tuple(sorted((*a, *b)))
                terms[atoms] = terms.get(atoms, 0) + x * y
        return made(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __abs__(self) -> Any:
        return self if self.value >= 0 else -self

    def __floordiv__(self, other: Any) -> Any:
        return _quotient("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return _quotient("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _quotient("%", other, self)

    def __lt__(self, other: Any) -> bool:
        return self.value < value_of(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= value_of(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > value_of(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= value_of(other)


def made(terms: Terms) -> Any:
    """The length, or the int."""
    terms = {atoms: factor for atoms, factor in sorted(terms.items(), reverse=True) if factor}
    return Length(terms) if any(terms) else terms.get((), 0)


def terms_of(length: Any) -> Terms:
    return length.terms if isinstance(length, Length) else {(): length}


def value_of(length: Any) -> int:
    return length.value if isinstance(length, Length) else length


def divided(length: Any, by: Any) -> tuple[Any, Any]:
    """Quotient and rest of a division, term by term, by the first term of `by`."""
    below, divisor = next(iter(terms_of(by).items()))
    quotient: Any = 0
    rest: Any = length
    done: Any = 0
    while not (isinstance(rest, int) and rest == 0) and divisor:
        atoms, factor = next(iter(terms_of(rest).items()))
        left, times = without(atoms, below), factor // divisor
        if left is None or not times:
            term = made({atoms: factor})
            rest, done = rest - term, done + term
            continue
        more = made({left: times})
        quotient, rest = quotient + more, rest - more * by
    return quotient, rest + done


def without(atoms: tuple[Atom, ...], others: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """The product divided by another one."""
    left = list(atoms)
    for atom in others:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def floor(length: Any, by: Any) -> Any:
    """A quotient that leaves a rest which is less than `by`, for large symbols."""
    whole = divided(length, by)[0]
    return whole + (value_of(length) // value_of(by) - value_of(whole))


def _quotient(sign: str, a: Any, b: Any) -> Any:
    whole, rest = divided(a, b)
    if isinstance(rest, int) and rest == 0:
        return whole if sign == "//" else 0
    x, y = value_of(a), value_of(b)
    value = 0 if y == 0 else x // y if sign == "//" else x % y
    return Length({(Atom(f"({a} {sign} {b})", value),): 1})


def _extreme(name: str, a: Any, b: Any) -> Any:
    choose = min if name == "min" else max
    if isinstance(a, int) and isinstance(b, int):
        return choose(a, b)
    parts = (a, b) if name == "min" else ()
    return Length({(Atom(f"{name}({a}, {b})", choose(value_of(a), value_of(b)), parts),): 1})


def end(stop: Any, length: Any) -> Any:
    """The end of a slice of an axis, which NumPy makes no more than its length."""
    for atoms, factor in terms_of(stop).items():
        parts = atoms[0].parts if len(atoms) == factor == 1 else ()
        for one, other in (parts, parts[::-1]) if parts else ():
            if stop - made({atoms: 1}) + other == length:
                return stop - made({atoms: 1}) + one
    return stop


# What sizes in a graph are written with.
NAMES: dict[str, Any] = {
    "__builtins__": {},
    "min": lambda a, b: _extreme("min", a, b),
    "max": lambda a, b: _extreme("max", a, b),
}

_PRIMES = [n for n in range(101, 2000) if all(n % k for k in range(2, 45))]
_DIVISIBLE = 720720 * 64  # by small numbers
_WORD = re.compile(r"\w+")


def symbols(hints: dict[str, int]) -> dict[str, Any]:
    """The symbols of a graph, by name, as lengths."""
    out = {}
    for (name, hint), prime in zip(hints.items(), _PRIMES * (1 + len(hints) // len(_PRIMES))):
        is_stride = name[0] == "t"
        value = hint * _DIVISIBLE**3 if is_stride else prime * _DIVISIBLE
        out[name] = Length({(Atom(f"size_{name}", value),): 1})
    return out


def seen(size: int | str, hints: dict[str, int]) -> int:
    """What a size was while capturing."""
    names = {"__builtins__": {}, "min": min, "max": max}
    return size if isinstance(size, int) else int(eval(size, names, hints))


def named(text: str, values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Those of which a text has the names, with something in front of them."""
    words = set(_WORD.findall(text))
    return {name: value for name, value in values.items() if before + name in words}
