"""Arrays, and objects of NumPy's."""

from plan_changes.change import Change

CHANGES = [
    # objects of NumPy's
    Change(
        "attribute of a finfo",
        "info = np.finfo('f2')\ninfo.added = 1.0",
        "np.finfo('f2').added * 2",
        "info.added += 1.0",
    ),
    Change("an r_ that is another", "joiner = np.r_", "joiner[x, 1.0]", "joiner = np.s_"),
    Change("base of an array", "a = np.ones(3)", "a.base is None", "a = a[:]"),
    Change(
        "base of an argument's view", "a = np.ones(3)", "a[1:].base is a", "a = a[:]", whole=False
    ),
    Change(
        "a function within fromfunction",
        "def take(i): return i\ndef other(i): return i * 2",
        "np.fromfunction(take, (3,))",
        "take.__code__ = other.__code__",
    ),
    Change("indices of a shape", "shape = [2]", "list(np.ndindex(*shape))", "shape[0] += 1"),
    # arrays
    Change("another array", "w = np.arange(6.0)", "x + w", "w = np.arange(6, dtype='f4')"),
    Change(
        "shape of an array",
        "w = np.arange(6.0)",
        "(x + w).shape",
        "w.resize((1, 6), refcheck=False)",
    ),
    Change("dtype of an array", "w = np.arange(6.0)", "x[0] + w", "w = w.view('i8')"),
    Change("0-d array", "w = np.array(2.0)", "x * w", "w[()] += 5.0"),
    Change(
        "array becomes read-only",
        "w = np.arange(6.0)\ndef fill(x):\n    w[0] = 1.0\n    return w + x",
        "fill(x)",
        "w.setflags(write=False)",
    ),
    Change("coefficients", "p = np.poly1d([1.0, 2.0])", "p(x)", "p.coeffs[0] = 5.0", whole=False),
    Change(
        "vectorize",
        "v = np.vectorize(lambda a: a * 2)",
        "v(x)",
        "v.pyfunc = lambda a: a * 3",
        whole=False,
    ),
]
