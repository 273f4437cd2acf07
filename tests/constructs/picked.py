"""Slices from outside, and what only an array's value picks."""

import cmath
import enum
import math
from collections import Counter

import numpy as np

from constructs import I, M, X, Y, construct

C = X + 1j * Y


# ---- slices ----


@construct("a slice as an argument", X, slice(1, 4))
def slice_argument(x, s):
    return x[s] * 2 + 1


@construct("x[s] op= v, s an argument", X, slice(1, 4))
def slice_in_place(x, s):
    x[s] *= 2
    x[s] -= 1.5
    return x.sum()


@construct("a tuple of slices as an argument", M, (slice(0, 2), slice(1, None)))
def slice_tuple(m, key):
    m[key] = m[key] * 2
    return m + 1


@construct("slices in a dict", X, {"train": slice(0, 3), "test": slice(3, None)})
def slice_dict(x, parts):
    return {name: x[part].mean() * 2 for name, part in parts.items()}


@construct("a slice of a list and of a string", [1, 2, 3, 4], "abcdef", X, slice(1, 3))
def slice_of_sequences(items, text, x, s):
    return items[s], text[s], x * 2


@construct("attributes and indices() of a slice", X, slice(1, None, 2))
def slice_attributes(x, s):
    start, stop, step = s.indices(len(x))
    return x[start] * 2 + stop, s.step, s.stop is None, step


@construct("a slice computed from arguments", X, 2)
def slice_made(x, n):
    s = slice(n, None)
    x[s] -= 1
    return x[s] * 2


@construct("a slice whose bounds an array tells", X)
def slice_unknown(x):
    n = int(np.argmax(x > 0))
    x[n:] = 0
    return x * 2


@construct("a slice as an argument that is returned", X, slice(1, 3))
def slice_returned(x, s):
    return s, x[s] + 1


# ---- parts of complex numbers, other dtypes ----


@construct("z.real = v and z.imag = v", C, X)
def parts_assigned(z, v):
    z.real = v
    z.imag = 0
    return z * 2


@construct("z.real *= v", C)
def part_in_place(z):
    z.real *= 2
    z.imag -= z.real
    return z + 1


@construct("z.real[...] op= v", C)
def part_of_part(z):
    z.real[...] *= 2
    z.imag[1:3] = 7
    return z + 1


@construct("a view of the real part, written", C)
def part_view(z):
    real = z.real
    real[0] = 100
    real += 1
    return z * 2, real.sum()


@construct("x.real = v of floats", X)
def part_of_floats(x):
    x.real = 3
    x.real[1:] += 1
    return x * 2


@construct("parts of a complex array made inside", X)
def part_made(x):
    z = np.empty(6, np.complex128)
    z.real[:] = x
    z.imag[:] = -x
    return np.abs(z)


@construct("a write through a view of another dtype", X)
def other_dtype(x):
    y = x * 2
    y.view(np.int64)[0] = 0
    return y + 1


# ---- numbers of several classes ----


@construct("max and min of an array's value and a Python float", X, 0.5)
def extreme_mixed(x, low):
    return max(x.sum(), low) * 2 + x, min(max(x[0], low), 1.0)


@construct("max of three numbers of three classes", X)
def extreme_three(x):
    return max(1, x[2], 2.5), max(float(x[0]), x[1]), min((x[3], 1)), x * 2


@construct("max and min of an array's integers and Python's", I)
def extreme_integers(i):
    return max(i[0], 2), min(i[1], int(i[2])), max(i[0], 2.5), i * 2


@construct("the larger of two, computed with", X)
def extreme_used(x):
    scale = max(x.std(), 1e-12)
    return (x - x.mean()) / scale, scale * 2 + 1, -scale, abs(scale), scale > 1


@construct("the larger of two as a number of Python's", X)
def extreme_converted(x):
    best = max(x[0], x[1], 0.25)
    return float(best), int(best), math.sqrt(best), f"{best:.3f}", round(float(best), 1), x * 2


@construct("a running maximum", X)
def extreme_running(x):
    best = -math.inf
    for v in x:
        best = max(best, v)
    return best * 2 + x


@construct("the larger of a float32 and a Python float", X.astype(np.float32))
def extreme_float32(x):
    return max(x[0], 0.5), x * max(x[1], 0.5)


# ---- math ----


@construct("math.dist", X, Y)
def math_dist(x, y):
    return math.dist(x.tolist(), y.tolist()), math.dist((x[0], x[1]), (y[0], y[1])), x * 2


@construct("math.dist, fsum and prod of arrays", X, Y)
def math_of_arrays(x, y):
    return math.dist(x, y), math.fsum(x), math.prod(x), math.hypot(*x), x * 2


@construct("math.fsum and prod of a generator", X)
def math_of_generators(x):
    return math.fsum(v * v for v in x), math.prod(v + 1 for v in x.tolist()), x * 2


@construct("math.isclose with tolerances", Y)
def math_isclose(y):
    v = float(y[0])
    return math.isclose(v, 0.5, abs_tol=1e-3), math.isclose(y[0], y[1], rel_tol=0.1), y * 2


@construct("cmath of an array's values", C)
def cmath_functions(z):
    a, b = complex(z[0]), z[1]
    return cmath.sqrt(a), cmath.exp(b), cmath.polar(b), cmath.isclose(a, b, rel_tol=0.1), z * 2


# ---- text ----


@construct("text of an array's value as a number again", X)
def text_number(x):
    i = int(x[5])
    return int(str(i)), float(f"{x[0]:.2f}"), x * 2


@construct("length of text of an array's values", X)
def text_length(x):
    return len(str(int(x[5]))), len(f"{x[0]:.3f}"), len(str(x)), x * 2


@construct("comparison and membership of text of an array's values", X)
def text_compared(x):
    text = f"{x[0]:.2f}"
    return text == "-2.00", text.startswith("-"), "2" in text, text != "1", x * 2


@construct("parts of text of an array's value", X)
def text_parts(x):
    text = str(x[0])
    return text[:2], text[0], text.split("."), text.find("."), np.sqrt(x * x + 1) / 3


@construct("width of a table's column", X)
def text_table(x):
    lines = [f"{i}: {v:8.3f}" for i, v in enumerate(x)]
    width = max(map(len, lines))
    return "\n".join(line.ljust(width) for line in lines), x * 2


@construct("np.array2string, array_str and array_repr", X)
def text_numpy(x):
    return np.array2string(x), np.array_str(x), np.array_repr(x), x * 2


@construct("np.array2string with options", X)
def text_numpy_options(x):
    short = np.array2string(x, precision=2, separator=", ", suppress_small=True)
    return short, np.array_str(x, precision=2), x * 2


@construct("np.format_float_positional, base_repr and binary_repr", X)
def text_floats(x):
    text = np.format_float_positional(x[0], precision=3)
    return text, np.format_float_scientific(x[0]), np.base_repr(5, 3), np.binary_repr(3), x * 2


# ---- tables with a key out of an array ----


@construct("a list of constants at an index out of an array", I)
def table_list(i):
    table = [10, 20, 30]
    return table[int(i[5])], table[i[4]], i * 2


@construct("a label picked by np.argmax", X)
def table_label(x):
    labels = ("a", "b", "c", "d", "e", "f")
    return labels[int(np.argmax(x))], labels[np.argmin(x)] + "!", x * 2


@construct("a dict of constants with a key out of an array", I)
def table_dict(i):
    names = {0: "zero", 1: "one"}
    return names[int(i[3])], names.get(int(i[0]), "?"), names.get(int(i[4])), i * 2


@construct("whether a dict of constants has a key out of an array, by None", I)
def table_none(i):
    numbers, n = {0: 5, 1: 7}, 0
    if numbers.get(int(i[0])) is None:
        n += 1
    if numbers.get(int(i[4])) is not None:
        n += 2
    return n, numbers.get(int(i[3])) is None, i * 2


@construct("a dict of numbers with keys out of an array", I)
def table_numbers(i):
    weights = {-3: 0.5, -2: 0.25, -1: 1.0, 0: 2.0, 1: 3.0, 2: 4.0}
    return sum(weights[v] for v in i.tolist()) * i


@construct("membership of an array's value", I)
def member(i):
    k = int(i[5])
    return k in {1, 2, 3}, k in [1, 2, 3], i[5] in (1, 2), k not in {5: 1}, i * 2


@construct("a branch on membership of an array's value", X, I)
def member_branch(x, i):
    if int(i[0]) in (1, 2, 3):
        y = x * 2
    else:
        y = x - 1
    return y.sum()


# ---- containers of an array's values ----


@construct("set and frozenset of an array's values", I)
def set_of_values(i):
    return set(i.tolist()), frozenset((i % 2).tolist()), i * 2


@construct("number of different values", I)
def set_size(i):
    seen = set((i % 3).tolist())
    return len(seen), sorted(seen), 1 in seen, i * 2


@construct("collections.Counter of an array's values", I)
def counter_of_values(i):
    counts = Counter((i % 2).tolist())
    return counts, counts.most_common(1), counts[1], dict(counts), i * 2


@construct("dict(zip()) with an array's values as keys", I, ["a", "b", "c", "d", "e", "f"])
def dict_of_values(i, names):
    return dict(zip(i.tolist(), names)), dict(zip(i.tolist(), range(6))), i * 2


@construct("np.unique's values as a list", I)
def list_of_unique(i):
    values = np.unique(i % 3).tolist()
    return values, len(values), max(values), 1 in values, i * 2


# ---- labels and numbers that branches choose ----


@construct("a label of two tests joined by and", X)
def label_and(x):
    low, high = float(x.sum()), float(x.max())
    label = "normal" if low < 0.5 and high < 1 else "odd"
    return label, x * 2


@construct("a label of two tests joined by or", X)
def label_or(x):
    if float(x.sum()) < 0.5 or float(x.max()) < 1:
        label = "a"
    else:
        label = "b"
    return f"<{label}>", x * 2


@construct("a label of if, elif and else", X)
def label_elif(x):
    mean = x.mean()
    if mean < 0:
        label = "low"
    elif mean < 1:
        label = "middle"
    else:
        label = "high"
    return label, len(label), label == "low", x * 2


@construct("the best of several and its number", X)
def best_of(x):
    best, number = -1, 0
    for i in range(3):
        value = (x * i).sum()
        if value > best:
            best, number = value, i
    return best, number


@construct("a number or None", X)
def number_or_none(x):
    total = float(x.sum())
    found = total
    if total > 100:
        found = None
    return found, found is None, x * 2


@construct("text repeated as often as an array says", X)
def text_repeated(x):
    return "#" * int(x[5]), int(x.sum()) * "ab", x * 2


# ---- enums and dtypes beside arrays ----


class Axis(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Phase(enum.Enum):
    IDLE = 0
    DONE = 1


NEXT = {Phase.IDLE: Phase.DONE, Phase.DONE: Phase.IDLE}


@construct("a member of an IntEnum as a number beside an array", X)
def enum_operand(x):
    return x * Axis.HIGH + Axis.LOW, Axis.HIGH - x, x > Axis.LOW, x[Axis.LOW]


@construct("a dict with members of an enum as keys", X, {Phase.IDLE: 2.0, Phase.DONE: 3.0})
def enum_keys(x, scales):
    phase = NEXT[Phase.IDLE]
    return x * scales[phase], phase, NEXT[phase] is Phase.IDLE


@construct("np.issubdtype", X, I)
def dtype_kinds(x, i):
    kinds = np.issubdtype(x.dtype, np.floating), np.issubdtype(i.dtype, np.floating)
    return kinds, np.issubdtype(i.dtype, np.integer), x * 2
