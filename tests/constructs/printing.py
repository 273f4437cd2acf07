"""Printing and logging."""

import logging
import sys
import warnings

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


def _announce(y, what):
    print(what, float(y.sum()))
    return y + 1


@construct("print in a function that is called", X)
def inner_print(x):
    return _announce(x * 2, "sum") * 2


def _record(y, name):
    log.info("%s: %.2f", name, y.max())


def _note(y):
    _record(y * 3, "tripled")
    return y - 1


@construct("log call two calls deep", X)
def inner_log(x):
    return _note(x * 2) + _note(x)


@construct("print after a write to an argument", X)
def after_write(x):
    x[0] = 4.0
    print("written", x)
    return x * 2


@construct("functions of the logging module", X)
def module_log(x):
    y = x + 1
    logging.debug("mean %s", float(y.mean()))
    return y


@construct("log call with keywords", X)
def keywords(x):
    y = x + 1
    log.info("mean %s", float(y.mean()), extra={"step": 3}, stacklevel=1)
    return y


@construct("warnings.warn", X)
def warns(x):
    y = x - 1
    if x.shape[0] > 3:
        warnings.warn("many", RuntimeWarning, stacklevel=1)
    return y * 2


def _deprecated(y):
    warnings.warn("use another", DeprecationWarning, stacklevel=2)
    return y * 2


@construct("warning about the caller", X)
def warns_caller(x):
    return _deprecated(x + 1) - 1


@construct("print of classes", X)
def classes(x):
    print(float, type(x.shape), {"of": int})
    return x * 2


@construct("sys.stdout.write", X)
def written(x):
    y = x * 2
    count = sys.stdout.write("some text\n")
    sys.stdout.write(f"sum {float(y.sum()):.3f}\n")
    sys.stdout.flush()
    return y, count


@construct("print to sys.stdout and sys.stderr by name", X)
def print_file(x):
    y = x * 2
    print("to", y.sum(), file=sys.stdout)
    print("an array", y, file=sys.stdout, flush=True)
    return y
