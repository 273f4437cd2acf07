"""One example per graph break: a function whose capture ends in that break, and its arguments.

docs/make_graph_breaks.py prints their sources into docs/graph-breaks.md; tests/test_docs.py runs
them and checks that each breaks with its code.  A str stands where there is no example, and says why.
"""

# ruff: noqa: N802
import datetime
import io
import sys
import threading
import time
import types
import zlib

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import pycompile

X = np.linspace(0.0, 1.0, 6).reshape(2, 3)
COUNT = 0
FILE = io.BytesIO()
NUMBERS = iter([1.0, 2.0])


class Resource:
    def __del__(self):
        pass


def shift(x, by=1.0):
    return x + by


@pycompile.disable
def left_alone(x):
    return x * 3


def values(x):
    yield x + 1
    yield x + 2


def instruction(x, mapping):
    y = x + 1
    return y, {**mapping, "b": 2}


def class_statement(x):
    y = x + 1

    class Local:
        rate = 2

    return y * Local.rate


def call_c(x):
    y = x + 1
    return y, zlib.crc32(b"abc")


def call_python(x):
    y = x + 1
    return y * 2, Resource()


def disabled(x):
    return left_alone(x + 1)


def requested(x):
    y = x + 1
    pycompile.graph_break()
    return y * 2


def branch(x, large):
    if x.sum() > 1:
        large.append(x)
    return x * 2


def array_type(x, matrix):
    y = x + 1
    return y * matrix


def dtype(x, raw):
    y = x + 1
    return y, raw[1:] == raw[:-1]


def objects(x, exact):
    y = x + 1
    return y, exact * 2


def strings(x, names):
    y = x + 1
    return y, names == "b"


def dates(x, days):
    y = x + 1
    return y, days[1:] - days[:-1]


def structured(x, points):
    y = x + 1
    return y + points["weight"]


def long_double(x, precise):
    y = x + 1
    return y + precise


def byte_order(x, read):
    y = x + 1
    return y + read


def masked_array(x, masked):
    y = x + 1
    return y + masked


class Meters:
    def __init__(self, values):
        self.values = values

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [i.values if isinstance(i, Meters) else i for i in inputs]
        return Meters(getattr(ufunc, method)(*plain, **kwargs))


def overrides(x, length):
    y = x + 1
    return y * length


def rank(x):
    y = x + 1
    return y.reshape((1,) * 8 + (2, 3)) + 1


STEP = datetime.timedelta(days=2)


def attribute(x):
    y = x + 1
    return y * STEP.days


class Documented:
    pass


def store(x):
    y = x + 1
    Documented.__doc__ = "changed"
    return y * 2


def iteration(x):
    total = x + 1
    for i in NUMBERS:
        total = total + i
    return total


def turn(x):
    for i in range(3):
        pycompile.graph_break()
        x = np.exp(x * i)
    return x


def data_size(x):
    y = x + 1
    for value in y[y > 1.5]:
        y = y * value
    return y


def unroll(x):
    y = x + 1
    for i in range(100_000):
        y = (y + i)[::-1]
    return y


def exception(x):
    y = x + 1
    try:
        raise KeyError("here")
    except KeyError as error:
        return y * 2, error


def numpy_function(x):
    y = x + 1
    np.savetxt(FILE, y)
    return y


def too_large(x):
    y = x + 1
    try:
        np.empty(2**60)
    except MemoryError:
        return y


def index(x):
    y = x + 1
    table = {float("nan"): 1}
    return y, table


def shape(x):
    y = x + 1
    return y + np.percentile(y, 150)


def operator(x):
    y = x + 1
    return y * 2, str({1, 2})


def order(x):
    y = x + 1
    return sorted([y.sum(), y.max(), 3.0])


def derivative(x):
    def loss(w):
        w += 1.0
        return (w * w).sum()

    return pycompile.grad(loss)(x * 2)


def overlap(x, out):
    out[1:] = x[:-1] * 2
    return out + x


def generator(x):
    y = x + 1
    return values(y)


class Log:
    def write(self, text):
        pass


LOG = Log()


def output(x):
    y = x + 1
    print("half way", file=LOG)
    return y * 2


def with_block(x):
    y = x + 1
    with open("/dev/null"):
        return y * 2


def finalizer(x, lines):
    y = x + 1
    del lines
    return y * 2


def import_inside(x):
    import colorsys

    return x * colorsys.rgb_to_yiq(1, 0, 0)[0]


def read_only(x, out):
    y = x + 1
    out[0] = y[0]
    return y


def clock(x):
    y = x + 1
    return y, time.time() > 0


def identity(x):
    y = x + 1
    return y * (id(x) != 0)


def local_names(x):
    y = x + 1
    return y, len(locals())


def unaligned(x, record):
    return x + 1 + record * 2


def callback(x):
    y = x + 1
    return np.vectorize(shift)(y)


def rare_side(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 4.0:
            threading.get_ident()
        s += x[i]
    return s


def grown(x):
    found = []
    for i in range(len(x)):
        if x[i] > 4.0:
            found.append(i)
    return found[::-1]


def long_list(x, weights):
    y = x + 1
    return y * sum(weights)


def long_long(x, counts):
    y = x + 1
    return y * (counts + 1)


def data_index(x):
    y = x + 1
    k = y[0].argmax()
    x[k] *= 2
    return y


def shared(x, window):
    y = x + 1
    window += 1
    return y


def _read_only_arguments():
    out = X.copy()
    out.flags.writeable = False
    return X, out


def _import_arguments():
    sys.modules.pop("colorsys", None)  # a module that is loaded already makes no break
    return (X,)


def _overlap_arguments():
    memory = np.arange(6.0)
    return memory[:4], memory[1:5]


# code -> (function, arguments)
EXAMPLES = {
    "PC0001": (instruction, lambda: (X, types.MappingProxyType({"a": 1}))),
    "PC0002": (call_c, lambda: (X,)),
    "PC0003": (call_python, lambda: (X,)),
    "PC0004": (disabled, lambda: (X,)),
    "PC0005": (requested, lambda: (X,)),
    "PC0006": (branch, lambda: (X, [])),
    "PC0007": (array_type, lambda: (X, np.ones((3, 1)).view(np.matrix))),
    "PC0008": (dtype, lambda: (X, np.zeros(3, "V8"))),
    "PC0009": (rank, lambda: (X,)),
    "PC0010": (attribute, lambda: (X,)),
    "PC0011": (store, lambda: (X,)),
    "PC0012": (iteration, lambda: (X,)),
    "PC0013": (unroll, lambda: (X,)),
    "PC0014": (exception, lambda: (X,)),
    "PC0015": (numpy_function, lambda: (X,)),
    "PC0016": (index, lambda: (X,)),
    "PC0017": (shape, lambda: (X,)),
    "PC0018": (operator, lambda: (X,)),
    "PC0019": (overlap, _overlap_arguments),
    "PC0020": (generator, lambda: (X,)),
    "PC0021": (output, lambda: (X,)),
    "PC0022": (with_block, lambda: (X,)),
    "PC0023": (import_inside, _import_arguments),
    "PC0024": "a function of many thousand instructions",
    "PC0025": "a cell that a function called in between has changed",
    "PC0026": (read_only, _read_only_arguments),
    "PC0027": "an operation that the backend does not have; CPython runs the place instead. No program is known to end here",
    "PC0028": (finalizer, lambda: (X, open("/dev/null"))),
    "PC0029": (clock, lambda: (X,)),
    "PC0030": (identity, lambda: (X,)),
    "PC0031": (local_names, lambda: (X,)),
    "PC0032": (class_statement, lambda: (X,)),
    "PC0033": (objects, lambda: (X, np.array([1, 2, 3], object))),
    "PC0034": (strings, lambda: (X, np.array(["a", "b"]))),
    "PC0035": (dates, lambda: (X, np.arange("2020-01", "2020-04", dtype="M8[M]"))),
    "PC0036": (structured, lambda: (X, np.zeros(3, [("id", "i4"), ("weight", "f8")]))),
    "PC0037": (long_double, lambda: (X, np.ones(3, np.longdouble))),
    "PC0038": (byte_order, lambda: (X, np.ones(3, ">f8"))),
    "PC0039": (masked_array, lambda: (X, np.ma.masked_array(X))),
    "PC0040": (overrides, lambda: (X, Meters(X))),
    "PC0041": (too_large, lambda: (X,)),
    "PC0042": (unaligned, lambda: (X, np.ndarray(3, "f8", bytearray(25), 1))),
    "PC0043": (callback, lambda: (X,)),
    "PC0044": (turn, lambda: (X,)),
    "PC0045": (data_size, lambda: (X,)),
    "PC0046": "an int argument that has had three values; it takes several calls",
    "PC0047": "with `fullgraph=True`, a function that is called with more shapes than it may have plans for",
    "PC0048": (order, lambda: (X,)),
    "PC0049": (shared, lambda: (X, sliding_window_view(np.arange(4.0), 2, writeable=True))),
    "PC0050": (data_index, lambda: (np.ones((3, 3)),)),
    "PC0051": "a part of an array of CuPy by a mask, `x[x > 0]`; it takes CuPy",
    "PC0052": (rare_side, lambda: (np.arange(2000.0) % 4.5,)),
    "PC0053": (grown, lambda: (np.arange(2000.0) % 4.5,)),
    "PC0054": (long_list, lambda: (X, [0.5] * 20000)),
    "PC0055": (long_long, lambda: (X, np.ones(3, np.ulonglong))),
    "PC0056": (derivative, lambda: (X,)),
}
