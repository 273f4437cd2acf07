"""Random graphs with what NumPy makes of them: text for the compiler, arrays to compare with."""

import numpy as np

NAMES = {
    np.dtype(t): n
    for t, n in [
        (bool, "bool"),
        ("i1", "i8"),
        ("i2", "i16"),
        ("i4", "i32"),
        ("i8", "i64"),
        ("u1", "u8"),
        ("u2", "u16"),
        ("u4", "u32"),
        ("u8", "u64"),
        ("f2", "f16"),
        ("f4", "f32"),
        ("f8", "f64"),
        ("c8", "c64"),
        ("c16", "c128"),
    ]
}
UNARY = [
    "negative",
    "absolute",
    "square",
    "sqrt",
    "floor",
    "rint",
    "sign",
    "reciprocal",
    "isnan",
    "signbit",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "less",
    "equal",
    "greater_equal",
    "copysign",
]
INTEGER_UNARY = ["negative", "absolute", "square", "sign", "invert"]
INTEGER_BINARY = "add subtract multiply maximum minimum less not_equal bitwise_and bitwise_xor left_shift right_shift".split()
INTEGER_BINARY += ["floor_divide", "remainder"]
BOOL_BINARY = ["logical_and", "logical_or", "bitwise_xor", "equal", "less", "add", "multiply"]
UFUNCS = ["exp", "tanh", "sin", "cbrt"]


def natural(shape, itemsize):
    strides = []
    step = itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


class Builder:
    """Adds nodes and keeps NumPy's value of each."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.values = []  # (array, storage's data pointer)
        self.inputs = []
        self.base = []  # per node: number of its storage

    def type(self, array, offset=0):
        if array.ndim == 0:  # NumPy gives scalars
            return "bool_" if array.dtype == bool else NAMES[array.dtype]
        shape = ",".join(map(str, array.shape))
        text = f"{NAMES[array.dtype]}[{shape}]"
        if array.strides != natural(array.shape, array.itemsize):
            text += "{" + ",".join(map(str, array.strides)) + "}"
        return text + (f"+{offset}" if offset else "")

    def add(self, array, call, storage=None):
        number = len(self.values)
        base = number if storage is None else storage
        offset = array.ctypes.data - self.values[base].ctypes.data if storage is not None else 0
        self.values.append(array)
        self.base.append(base)
        self.lines.append(f"%{number}: {self.type(array, offset)} = {call}  # t.py:{number}")
        return number

    def input(self, array):
        self.inputs.append(array)
        return self.add(array, f"input({len(self.inputs) - 1})")

    def fresh(self, array):
        """As a pointwise result leaves it: an array of its own."""
        return np.asarray(array)

    def pick(self, kinds="biuf"):
        choices = [i for i, v in enumerate(self.values) if v.dtype.kind in kinds and v.ndim > 0]
        return int(self.rng.choice(choices)) if choices else None

    def partner(self, a):
        shape = self.values[a].shape
        out = []
        for i, v in enumerate(self.values):
            try:
                if np.broadcast_shapes(shape, v.shape) and v.size:
                    out.append(i)
            except ValueError:
                continue
        return int(self.rng.choice(out))

    def cast(self, a, dtype):
        if self.values[a].dtype == dtype:
            return a
        return self.add(self.values[a].astype(dtype), f"cast(%{a})")

    def step(self):
        rng = self.rng
        kind = rng.choice(
            ["unary", "binary", "binary", "where", "cast", "reduce", "view", "ufunc", "copy"]
        )
        getattr(self, "do_" + kind)()

    def do_unary(self):
        a = self.pick()
        x = self.values[a]
        if x.dtype == bool:
            ops = ["logical_not", "invert"]
        else:
            ops = UNARY if x.dtype.kind == "f" else INTEGER_UNARY
        op = str(rng_choice(self.rng, ops))
        self.add(getattr(np, op)(x), f"{op}(%{a})")

    def do_binary(self):
        a = self.pick()
        b = self.partner(a)
        x = self.values[a]
        b = self.cast(b, x.dtype)
        if x.dtype == bool:
            ops = BOOL_BINARY
        else:
            ops = BINARY if x.dtype.kind == "f" else INTEGER_BINARY
        op = str(rng_choice(self.rng, ops))
        if self.rng.random() < 0.5:
            a, b = b, a
        result = np.asarray(getattr(np, op)(self.values[a], self.values[b]))
        if result.size < 200000:
            self.add(result, f"{op}(%{a}, %{b})")

    def do_where(self):
        m = self.pick("b")
        if m is None:
            return
        a = self.partner(m)
        b = self.partner(m)
        b = self.cast(b, self.values[a].dtype)
        try:
            result = np.where(self.values[m], self.values[a], self.values[b])
        except ValueError:
            return
        if result.ndim and result.size < 200000:
            self.add(result, f"where(%{m}, %{a}, %{b})")

    def do_cast(self):
        a = self.pick()
        dtypes = [
            np.float32,
            np.float64,
            np.int32,
            np.int64,
            np.uint8,
            np.bool_,
            np.int16,
            np.uint32,
            np.uint64,
        ]
        self.cast(a, np.dtype(dtypes[int(self.rng.integers(len(dtypes)))]))

    def do_reduce(self):
        a = self.pick()
        x = self.values[a]
        if x.size == 0:
            return
        count = int(self.rng.integers(1, x.ndim + 1))
        axes = tuple(sorted(int(i) for i in self.rng.choice(x.ndim, count, replace=False)))
        if self.rng.random() < 0.4:
            axes = (x.ndim - 1,)
        op = str(rng_choice(self.rng, ["sum", "max", "min", "prod", "all", "any"]))
        keep = bool(self.rng.random() < 0.6)
        ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}.get(op)
        if op in ("all", "any"):
            result = getattr(np, op)(x, axis=axes, keepdims=keep)
        else:
            result = ufunc.reduce(x, axis=axes, keepdims=keep)
        self.add(np.asarray(result), f"{op}(%{a}, axes={list(axes)}{', keepdims' if keep else ''})")

    def do_view(self):
        a = self.pick()
        x = self.values[a]
        what = rng_choice(self.rng, ["slice", "transpose", "expand_dims", "broadcast", "flip"])
        axis = int(self.rng.integers(x.ndim))
        if what == "slice" and x.shape[axis] > 2:
            index = [slice(None)] * x.ndim
            index[axis] = [slice(1, None), slice(None, -1), slice(None, None, 2)][
                int(self.rng.integers(3))
            ]
            y = x[tuple(index)]
        elif what == "transpose":
            y = x.T
        elif what == "expand_dims" and x.ndim < 4:
            y = np.expand_dims(x, axis)
        elif what == "broadcast" and x.ndim < 4 and x.size * 3 < 100000:
            y = np.broadcast_to(x, (3, *x.shape))
        elif what == "flip" and self.rng.random() < 0.3:
            y = np.flip(x, axis)
        else:
            return
        if y.base is None:
            return
        self.add(y, f"{what}(%{a})", self.base[a])

    def do_ufunc(self):
        a = self.pick("f")
        if a is None or self.values[a].dtype == np.float16:
            return
        op = str(rng_choice(self.rng, UFUNCS))
        self.add(getattr(np, op)(self.values[a]), f"ufunc(%{a}, object=numpy.{op})")

    def do_copy(self):
        a = self.pick()
        self.add(np.array(self.values[a]), f"copy(%{a})")

    def text(self, outputs):
        return "\n".join(self.lines) + "\noutputs " + ", ".join(f"%{i}" for i in outputs) + "\n"


def rng_choice(rng, items):
    return items[int(rng.integers(len(items)))]


SHAPES = [
    [(7,), (1,)],
    [(5000,)],
    [(64, 100), (100,), (64, 1)],
    [(3, 4, 5), (4, 1), (5,)],
    [(33, 257), (257,)],
    [(2, 3000), (3000,)],
    [(300, 3)],
    [(1, 9, 1, 17), (9, 1, 17)],
    [(130, 1030), (1030,)],
]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 300.0, -1.5]


def make_input(rng, shape):
    dtype = np.dtype(rng_choice(rng, ["f4", "f4", "f8", "f8", "i4", "i8", "u1", "bool", "i2"]))
    if dtype.kind == "f":
        x = rng.standard_normal(shape).astype(dtype) * 3
        if rng.random() < 0.3:
            x[rng.random(shape) < 0.05] = rng_choice(rng, SPECIAL)
    elif dtype == np.dtype(bool):
        x = rng.random(shape) < 0.7
    else:
        x = rng.integers(-4, 100, shape).astype(dtype)
    if rng.random() < 0.2 and x.ndim == 2:
        x = np.asfortranarray(x)
    return x


def random_graph(seed, steps=(2, 14)):
    """(text, inputs, expected outputs) of a graph of so many steps, at least and less than."""
    rng = np.random.default_rng(seed)
    b = Builder(rng)
    shapes = rng_choice(rng, SHAPES)
    with np.errstate(all="ignore"):
        for i in range(int(rng.integers(1, 4))):
            b.input(make_input(rng, shapes[i % len(shapes)]))
        for _ in range(int(rng.integers(*steps))):
            b.step()
    made = [i for i in range(len(b.values)) if b.base[i] == i and i >= len(b.inputs)]
    used = "".join(line.split("=", 1)[1] for line in b.lines)
    outputs = [i for i in made if f"%{i}," not in used and f"%{i})" not in used]
    outputs += [i for i in made if i not in outputs and rng.random() < 0.2]
    return b.text(outputs), b.inputs, [b.values[i] for i in outputs]


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "fc":
        nan = np.isnan(a) & np.isnan(b)
        return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | nan).all())
    return bool((a == b).all())
