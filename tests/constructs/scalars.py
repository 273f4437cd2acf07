"""Python numbers out of arrays."""

import cmath
import math

import numpy as np

from constructs import I, M, X, Y, construct


@construct("math.sqrt of a reduction", X)
def root(x):
    return x / math.sqrt((x * x).sum())


@construct("math functions of one number", Y)
def functions(x):
    s = float(x.mean())
    return x * (math.exp(-s) + math.sin(s) + math.cos(s) + math.tan(s) + math.tanh(s) + math.log(s))


@construct("math functions that are called", Y / 10)
def called(x):
    s = float(x[1])
    t = math.asin(s) + math.acos(s) + math.sinh(s) + math.cosh(s) + math.erf(s) + math.gamma(s)
    return x * (t + math.lgamma(s) + math.log2(s) + math.log10(s) + math.log1p(s) + math.expm1(s))


@construct("math functions of two numbers", Y)
def two(x):
    a, b = float(x[0]), float(x[1])
    return x * (math.hypot(a, b) + math.atan2(a, b) + math.fmod(b, a) + math.copysign(b, -a) + a**b)


@construct("math.pow, math.log with a base, math.ldexp", Y)
def more(x):
    a = float(x[2])
    return x + math.pow(a, 1.5) + math.log(a, 3) + math.ldexp(a, 3)


@construct("math.floor, ceil, trunc", X)
def rounding(x):
    m = float(x.mean() * 3.3)
    return x + math.floor(m), x + math.ceil(m), x + math.trunc(m)


@construct("math.isnan, isinf, isfinite", X)
def tests(x):
    s = float(x.sum())
    if math.isnan(s) or math.isinf(s) or not math.isfinite(s):
        return x * 0
    return x + s


@construct("math.isclose", X)
def close(x):
    return x + 1 if math.isclose(x.sum(), 3.0) else x - 1


@construct("math.modf and frexp", X)
def parts(x):
    fraction, whole = math.modf(float(x[1]))
    mantissa, exponent = math.frexp(float(x[5]))
    return x * fraction + whole * mantissa, exponent


@construct("math.gcd, lcm, comb, factorial, isqrt", I)
def whole_functions(x):
    n = int(x[5]) + 4
    k = math.gcd(n, 4) + math.lcm(n, 4) + math.comb(n, 2) + math.factorial(n) + math.isqrt(n)
    return x + k


@construct("math.degrees and radians", X)
def angles(x):
    return np.cos(x * math.radians(float(x[5]))) * math.degrees(float(x[0]))


@construct("cmath functions", X)
def complex_functions(x):
    z = cmath.exp(complex(float(x[0]), float(x[5]))) + cmath.sqrt(float(x[0]))
    return x * z


@construct("cmath.polar and phase", X)
def polar(x):
    r, phi = cmath.polar(complex(float(x[0]), 1.0))
    return x * r + phi


@construct("float()", X)
def to_float(x):
    return x * float(x.sum())


@construct("int() of a float", X)
def to_int(x):
    return x * int(x.sum())


@construct("int() of an integer element", I)
def to_int_element(x):
    return x + int(x[0])


@construct("bool()", I)
def to_bool(x):
    return x + bool(x[0])


@construct("complex()", X)
def to_complex(x):
    return x * complex(x[0], x[1])


@construct("item()", X)
def item(x):
    return x * x.max().item() + x[0].item()


@construct("integer arithmetic", I)
def arithmetic(x):
    n = int(x[0])
    return x + (n * 7 - 3 + n // 2 + n % 5 - (n + 1) * n)


@construct("integer shifts and bits", I)
def bits(x):
    n = int(x[5])
    return x + ((n << 4) | (n & 1) ^ 6) + (n >> 1) + ~n


@construct("integer powers", I)
def powers(x):
    n = int(x[5])
    return x + n**3 + 2**n


@construct("an integer that leaves 64 bits", np.arange(5) + 7)
def big(x):
    return x, x.sum() * 2, 10 ** int(x[4]) // 3


@construct("true division of integers", I)
def division(x):
    return x * (int(x[0]) / int(x[5]))


@construct("divmod", I)
def divided(x):
    q, r = divmod(int(x[0]), 2)
    return x * q + r


@construct("divmod of floats", X)
def divided_floats(x):
    q, r = divmod(float(x[0]), 0.75)
    return x * q + r


@construct("floor division and remainder of floats", X)
def remainders(x):
    a = float(x[0])
    return x * (a // 0.3) + a % -0.7


@construct("round to an int", X)
def rounded(x):
    return x * round(float(x.sum() * 1.3))


@construct("round to digits", X)
def rounded_digits(x):
    return x * round(float(x[0] / 3), 2)


@construct("round of a NumPy number", X)
def rounded_numpy(x):
    return x * round(x[0] / 3, 2) + round(x[5])


@construct("abs, min, max, pow of numbers", X)
def builtins(x):
    a, b = float(x[0]), float(x[5])
    return x * abs(a) + min(a, b, 0.5) + max(a, b, 0.5) + pow(b, 2) + pow(int(b), 3)


@construct("min and max of an element and a constant", I)
def clamped(x):
    return x + max(0, min(2, int(x[0])))


@construct("complex arithmetic", X)
def complex_arithmetic(x):
    z = complex(x[0], x[5])
    return x * (z * z - z / 2 + 1), -z, abs(z), z == z, z.real, z.imag, z.conjugate()


@construct("attributes of numbers", X)
def attributes(x):
    f, n = float(x[0]), int(x[5])
    return x * f.real + f.imag + n.real * n.numerator // n.denominator + n.imag


@construct("methods of numbers", X)
def methods(x):
    f, n = float(x[0]), int(x[5])
    return x + n.bit_length() + f.conjugate(), f.is_integer(), f.hex(), f.as_integer_ratio()


@construct("comparison of an int and a float", I)
def mixed(x):
    return x + 1 if int(x[0]) < 2.5 else x - 1


@construct("f-string", X)
def fstring(x):
    return x * 2, f"sum {float(x.sum()):.3f}, first {int(x[0])}, {float(x[1])!r}"


@construct("f-string of NumPy numbers", X)
def fstring_numpy(x):
    return x * 2, f"{x.mean():8.2e} {x[0]}"


@construct("f-string with a width that is known", X, 10)
def fstring_width(x, width):
    return x + 1, f"{float(x[0]):{width}.2f}|"


@construct("str, repr and format", X)
def texts(x):
    s = float(x.sum())
    return x + s, str(s), repr(s), format(s, ".2f"), str(int(s))


@construct("percent formatting", X)
def percent(x):
    return x + 1, "%.2f of %d" % (float(x.sum()), int(x[0]))


@construct("str.format", X)
def formatted(x):
    return x + 1, "{:.2f} {}".format(float(x.sum()), int(x[0]))


@construct("text put together", X)
def joined(x):
    rows = [f"{float(v):.1f}" for v in x]
    return x + 1, ", ".join(rows) + "!"


@construct("text from a branch", X)
def label(x):
    s = float(x.sum())
    text = f"up {s}" if s > 0 else f"down {s}"
    return x + s, text


@construct("hex, bin, oct", I)
def bases(x):
    n = int(x[5])
    return x + n, hex(n), bin(n), oct(n)


@construct("hash of a number", X)
def hashed(x):
    return x + hash(float(x[1]))


@construct("numbers as arguments of NumPy's functions", X)
def into_numpy(x):
    s = float(x.sum())
    return np.full(3, s) + np.sqrt(s), np.clip(x, -s, s), np.where(x > s, x, s)


@construct("numbers in containers", X)
def containers(x):
    s = float(x.sum())
    return {"sum": s, "pair": (int(x[0]), s * 2)}, [s, -s]


@construct("a number in an array's place", X)
def stored(x):
    y = x.copy()
    y[0] = float(x.sum())
    return y


@construct("weak promotion", X.astype(np.float32))
def weak(x):
    return x * float(x[0]) + int(x[5])


@construct("type and isinstance of a number", X)
def kinds(x):
    s, n = float(x.sum()), int(x[5])
    return x + 1, type(s), isinstance(n, int), isinstance(s, (int, str))


@construct("len and shape arithmetic", M)
def shapes(m):
    n, k = m.shape
    return m.sum() / (n * k - 1) + len(m) // 2 + m.size % 5


@construct("conversion there and back", X)
def back(x):
    return x * np.float32(float(np.float64(int(x[5] + 0.5))))


@construct("a number that Python's own functions work on", X)
def fused(x):
    m = float(x.mean())
    v = float(((x - m) ** 2).mean())
    return (x - m) / math.sqrt(v + 1e-5)


@construct("len as the bound of a kept loop", X)
def loop_over_len(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s / len(x)


@construct("shape arithmetic as the bound of a kept loop", X, X)
def loop_over_shape(x, y):
    for i in range(1, x.shape[0] - 1):
        y[i] = x[i - 1] + 2 * x[i] + x[i + 1]
    return y.shape[0] - 2


@construct("size, ndim and an unpacked shape", X)
def loop_over_size(x):
    (n,) = x.shape
    s = 0.0
    for i in range(0, x.size - 1, 2):
        s += x[i] * x[i + 1]
    return s * n, x.ndim


@construct("divmod and pow of arrays", X, Y)
def divmod_pow_arrays(x, y):
    return divmod(x, 2), divmod(7, y), divmod(x, y), pow(y, 2), pow(2.0, x), pow(y, x)


@construct("divmod of NumPy scalars", X, I)
def divmod_scalars(x, i):
    return divmod(x[0], 2), divmod(i[0], 2), divmod(7.5, x[5]), x * 2


@construct("sum of numbers out of an array and others", X, 3)
def sum_mixed(x, n):
    a, b = float(x[0]), float(x.sum())
    return sum([a, b, 0.1]), sum([n, a]), sum((a, b), 2.0), sum([complex(a, b), n]), x * sum([a, n])


@construct("math.fsum and math.prod of numbers out of an array", X)
def exact_sums(x):
    a, b = float(x[0]), float(x.sum())
    return (
        math.fsum([a, b, 0.1]),
        math.prod([a, 2]),
        math.prod((a, b)),
        math.fsum(x[:2].tolist()),
        x + a,
    )


@construct("max and min of an array", X, I)
def extremes_of_array(x, i):
    return max(x), min(x), max(i), min(x[1:4]), x / max(x)


@construct("any and all of an array", X)
def any_all_of_array(x):
    return any(x > 1), all(x > -5), any(x > 10), all(x), x * any(x < 0)


@construct("max and min of NumPy scalars", X)
def extremes_of_scalars(x):
    return max(x.sum(), x.mean(), x[0]), min(x[1], x[2]), x * max(x[0], x[1])


@construct("sorted numbers out of an array", X, I)
def sorted_numbers(x, i):
    ordered = sorted(x.tolist())
    return ordered, sorted(i.tolist(), reverse=True), sorted([x[3], x[1]]), x * ordered[0]
