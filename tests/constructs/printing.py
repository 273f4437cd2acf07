"""Printing and logging."""

import logging

import numpy as np

from constructs import I, M, X, construct

log = logging.getLogger("constructs.printing")
log.setLevel(logging.INFO)
log.addHandler(logging.NullHandler())
log.propagate = False


@construct("print of a constant", X)
def constant(x):
    y = x * 2
    print("done")
    return y


@construct("print of a number from an array", X)
def number(x):
    y = x * 2
    print("sum", float(y.sum()))
    return y


@construct("print of a NumPy number", X)
def numpy_number(x):
    y = x * 2
    print(y.max(), y[0])
    return y


@construct("print of an array", M)
def array(m):
    y = m * 2
    print(y, m.T)
    return y


@construct("print of an array that is written later", X)
def array_then_written(x):
    y = x * 2
    print(y)
    y[0] = 7
    print(y)
    return y


@construct("print of an f-string", X)
def fstring(x):
    y = x - x.mean()
    print(f"mean {float(x.mean()):.4f}, shape {y.shape}")
    return y


@construct("print with sep and end", X)
def separated(x):
    print(1, int(x[5]), sep=", ", end=";\n")
    return x * 2


@construct("print of containers", X)
def containers(x):
    s = float(x.sum())
    print([s, 1], (s, "a"), {"s": s, "x": x})
    return x * 2


@construct("print of a list that changes later", X)
def list_then_changed(x):
    out = [float(x[0])]
    print(out)
    out.append(1.0)
    print(out)
    return x * out[0]


@construct("prints in a loop", M)
def in_loop(m):
    total = 0.0
    for i in range(3):
        total += float(m[i].sum())
        print("row", i, total)
    return m * total


@construct("progress of an iteration", X)
def progress(x):
    for step in range(4):
        x = x - 0.1 * x * x
        print(f"step {step}: {float(np.abs(x).max()):.6f}")
    return x


@construct("print between changes of a list", X, [])
def ordered(x, seen):
    seen.append(1)
    print("first", x.shape)
    seen.append(2)
    print("second")
    return x * 2


@construct("print of an empty line", X)
def empty(x):
    print()
    return x + 1


@construct("a log call that is off", X)
def silent(x):
    y = x * 2
    log.debug("sum %s", float(y.sum()))
    return y


@construct("a log call with lazy arguments", X)
def lazy(x):
    y = x * 2
    log.info("sum %.3f of %d", float(y.sum()), len(y))
    return y


@construct("a warning to the log", I)
def warned(x):
    y = x * 2
    log.warning("made %s", y)
    return y
