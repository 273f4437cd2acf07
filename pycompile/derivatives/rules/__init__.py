"""The derivatives of NumPy's functions that graphs call as they are.

A rule gives what a cotangent `g` of the result adds to one argument's: its parameters behind `g` and
the result `o` are those of NumPy's function, by their names.  Of a function with several results `g`
and `o` are tuples, and a cotangent may be None.  Rules are NumPy code, which is compiled with the
text that calls them.
"""

from pycompile.derivatives.rules import (  # fill RULES
    fourier,
    linalg,
    places,
    products,
    series,
    sums,
)
from pycompile.derivatives.rules._table import (
    FILLS,
    FILLS_SET,
    JOINS,
    MOVES_SET,
    RULES,
    ZERO_SET,
    NoRule,
)
from pycompile.derivatives.rules.methods import (
    ACCUMULATE,
    REDUCE,
    holes_of,
    last_writes,
)
from pycompile.derivatives.rules.own_code import code_back, own_code
from pycompile.derivatives.rules.products import einsum_back

__all__ = [
    "ACCUMULATE",
    "FILLS",
    "FILLS_SET",
    "JOINS",
    "MOVES_SET",
    "REDUCE",
    "RULES",
    "ZERO_SET",
    "NoRule",
    "code_back",
    "einsum_back",
    "fourier",
    "holes_of",
    "last_writes",
    "linalg",
    "own_code",
    "places",
    "products",
    "series",
    "sums",
]
