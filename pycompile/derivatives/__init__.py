"""Derivatives of NumPy code: see docs/derivatives.md.

A graph that was captured becomes two functions of NumPy text, which are compiled like the program's
own:
- forward(inputs) -> (outputs, kept): the graph's nodes one by one (_writer.py), so that the outputs have
  the bits that the graph promises, and the values that the pullback reads;
- backward(kept, cotangents of the active outputs) -> cotangents of the active inputs: the adjoint of each
  node in reverse order (_adjoint.py, _backward.py), in terms of rules (_elementwise.py, rules/).

Cheap values that follow from kept ones are computed again in the pullback (`Adjoint.ref`), so that what is
kept is mostly what was expensive.  A tape (_tape.py) chains the pullbacks of a call's plans (_plan.py).  In
a function that is compiled the pullback's text is followed in the graph of the forward pass (_followed.py,
_in_graph.py), and so are Jacobians and batches (_jacobians.py); so it is when a derivative is asked for
again and again (_repeated.py).  What a loop's reverse run reads of
arrays as the loop leaves them: _finals.py.
For vmap a graph becomes text for many items (_batched.py), and a batch takes the tape's place (_batch.py).
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
