"""Derivatives of NumPy code: see docs/derivatives.md.

A graph that was captured becomes two functions of NumPy text, which are compiled like the program's
own: what it computes, and its pullback (_program.py, _backward.py, rules in _elementwise.py and
rules/).  A tape (_tape.py) chains the pullbacks of a call's plans (_plan.py).  For vmap a graph becomes
text for many items (_batched.py), and a batch takes the tape's place (_batch.py).
"""

from pycompile.derivatives._api import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
from pycompile.derivatives._custom import checkpoint, custom_jvp, custom_vjp, stop_gradient
from pycompile.derivatives._vmap import vmap

__all__ = [
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
