"""A JAX function as NumPy code: its jaxpr, an equation a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

UNARY = {
    "neg": "-{}",
    "not": "~{}",
    "logistic": "1 / (1 + np.exp(-{}))",
    "rsqrt": "1 / np.sqrt({})",
    "asin": "np.arcsin({})",
    "acos": "np.arccos({})",
    "atan": "np.arctan({})",
    "asinh": "np.arcsinh({})",
    "acosh": "np.arccosh({})",
    "atanh": "np.arctanh({})",
    "abs": "np.absolute({})",
    "is_finite": "np.isfinite({})",
    "copy": "np.copy({})",
    "copy_p": "np.copy({})",
} | {
    name: f"np.{name}({{}})"
    for name in "floor ceil exp exp2 expm1 log log2 log1p tanh sin cos tan sinh cosh sqrt cbrt square sign "
    "real imag conj".split()
}
BINARY = {
    "rem": "np.fmod({}, {})",
    "max": "np.maximum({}, {})",
    "min": "np.minimum({}, {})",
    "pow": "np.power({}, {})",
    "atan2": "np.arctan2({}, {})",
    "nextafter": "np.nextafter({}, {})",
    "complex": "{} + 1j * {}",
} | {
    name: f"{{}} {sign} {{}}"
    for name, sign in {
        "add": "+",
        "add_any": "+",
        "sub": "-",
        "mul": "*",
        "div": "/",
        "and": "&",
        "or": "|",
        "xor": "^",
        "eq": "==",
        "ne": "!=",
        "lt": "<",
        "le": "<=",
        "gt": ">",
        "ge": ">=",
    }.items()
}
REDUCED = {
    "reduce_sum": "sum",
    "reduce_prod": "prod",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "all",
    "reduce_or": "any",
}
SCANS = {
    "cumsum": "np.cumsum({}, axis={})",
    "cumprod": "np.cumprod({}, axis={})",
    "cummax": "np.maximum.accumulate({}, axis={})",
    "cummin": "np.minimum.accumulate({}, axis={})",
    "cumlogsumexp": "np.logaddexp.accumulate({}, axis={})",
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
}


class NoForm(Exception):
    """NumPy has no such operation."""


class Form:
    """The text of a function, `text`, that does what a closed jaxpr does, and the names it reads."""

    def __init__(self, closed: Any) -> None:
        self.scope: dict[str, Any] = {"np": np}
        self.names: dict[Any, str] = {}
        self.lines: list[str] = []
        params = [f"x{i}" for i in range(len(closed.jaxpr.invars))]
        results = self.write(closed, params)
        body = "".join(f"    {line}\n" for line in self.lines)
        self.text = f"def f({', '.join(params)}):\n{body}    return {', '.join(results)}\n"

    def write(self, closed: Any, given: Sequence[str]) -> list[str]:
        jaxpr = closed.jaxpr
        self.names |= zip(jaxpr.invars, given, strict=True)
        consts = map(self.constant, closed.consts)
        self.names |= zip(jaxpr.constvars, consts, strict=True)
        for equation in jaxpr.eqns:
            self.equation(equation)
        return list(map(self.read, jaxpr.outvars))

    def constant(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        array = np.asarray(value)
        self.scope[name] = array if array.ndim else array[()]
        return name

    def read(self, atom: Any) -> str:
        return self.constant(atom.val) if hasattr(atom, "val") else self.names[atom]

    def equation(self, equation: Any) -> None:
        name, params = equation.primitive.name, equation.params
        args = list(map(self.read, equation.invars))
        if name in INLINED:
            results = self.write(params[INLINED[name]], args)
            self.names |= zip(equation.outvars, results, strict=True)
            return
        kinds = {np.dtype(atom.aval.dtype).kind for atom in equation.invars}
        if name in UNARY:
            text = UNARY[name].format(*args)
        elif name in BINARY and not (name == "div" and kinds & {*"iu"}):
            text = BINARY[name].format(*args)
        elif name in REDUCED:
            text = f"np.{REDUCED[name]}({args[0]}, axis={params['axes']!r})"
        elif name in SCANS:
            text = self.scan(SCANS[name], args[0], params["axis"], params["reverse"])
        elif hasattr(self, name):
            text = getattr(self, name)(args, equation, **params)
        else:
            raise NoForm(name)
        for out, part in zip(
            equation.outvars, [text] if isinstance(text, str) else text, strict=True
        ):
            self.names[out] = var = f"v{len(self.lines)}"
            self.lines.append(f"{var} = {part}")

    def scan(self, text: str, x: str, axis: int, reverse: bool) -> str:
        turn = f"np.flip({{}}, {axis})" if reverse else "{}"
        return turn.format(text.format(turn.format(x), axis))

    def round(self, args: Any, equation: Any, rounding_method: Any) -> str:
        if int(rounding_method) == 1:
            return f"np.rint({args[0]})"
        return f"np.trunc({args[0]} + np.copysign(0.5, {args[0]}))"

    def integer_pow(self, args: Any, equation: Any, y: int) -> str:
        return f"{args[0]} ** {y}"

    def clamp(self, args: Any, equation: Any) -> str:
        return f"np.clip({args[1]}, {args[0]}, {args[2]})"

    def select_n(self, args: Any, equation: Any) -> str:
        which, *cases = args
        if len(cases) == 2 and equation.invars[0].aval.dtype == bool:
            return f"np.where({which}, {cases[1]}, {cases[0]})"
        return f"np.choose({which}, ({', '.join(cases)},))"

    def convert_element_type(self, args: Any, equation: Any, new_dtype: Any, **rest: Any) -> str:
        return f"np.asarray({args[0]}).astype('{np.dtype(new_dtype).str}')"

    def broadcast_in_dim(
        self, args: Any, equation: Any, shape: Any, broadcast_dimensions: Any, **rest: Any
    ) -> str:
        old, new = equation.invars[0].aval.shape, [1] * len(shape)
        for dimension, length in zip(broadcast_dimensions, old, strict=True):
            new[dimension] = length
        return f"np.broadcast_to(np.reshape({args[0]}, {tuple(new)}), {shape})"

    def reshape(
        self, args: Any, equation: Any, new_sizes: Any, dimensions: Any, **rest: Any
    ) -> str:
        x = args[0] if dimensions is None else f"np.transpose({args[0]}, {dimensions})"
        return f"np.reshape({x}, {new_sizes})"

    def squeeze(self, args: Any, equation: Any, **rest: Any) -> str:
        return f"np.reshape({args[0]}, {equation.outvars[0].aval.shape})"

    expand_dims = squeeze

    def transpose(self, args: Any, equation: Any, permutation: Any) -> str:
        return f"np.transpose({args[0]}, {permutation})"

    def rev(self, args: Any, equation: Any, dimensions: Any) -> str:
        return f"np.flip({args[0]}, {dimensions})"

    def concatenate(self, args: Any, equation: Any, dimension: int) -> str:
        return f"np.concatenate([{', '.join(args)}], axis={dimension})"

    def pad(self, args: Any, equation: Any, padding_config: Any) -> str:
        aval = equation.outvars[0].aval
        if any(low < 0 or high < 0 for low, high, _ in padding_config):
            raise NoForm("pad by less than nothing")
        lengths = zip(padding_config, equation.invars[0].aval.shape, strict=True)
        key = [
            f"{low}:{low + n + inner * max(n - 1, 0)}:{inner + 1}" for (low, _, inner), n in lengths
        ]
        self.lines.append(f"p = np.full({aval.shape}, {args[1]}, '{aval.dtype.str}')")
        self.lines.append(f"p[{', '.join(key) or '...'}] = {args[0]}")
        return "p"

    def slice(
        self, args: Any, equation: Any, start_indices: Any, limit_indices: Any, strides: Any
    ) -> str:
        steps = strides or [1] * len(start_indices)
        parts = zip(start_indices, limit_indices, steps, strict=True)
        return f"{args[0]}[{', '.join(f'{a}:{b}:{c}' for a, b, c in parts) or '...'}]"

    def starts(self, args: Sequence[str], shape: Any, sizes: Any) -> str:
        """The key of a part whose place is a value."""
        key = []
        for start, length, size in zip(args, shape, sizes, strict=True):
            self.lines.append(f"i{len(self.lines)} = min(max(int({start}), 0), {length - size})")
            name = f"i{len(self.lines) - 1}"
            key.append(f"{name}:{name} + {size}")
        return ", ".join(key) or "..."

    def dynamic_slice(self, args: Any, equation: Any, slice_sizes: Any) -> str:
        shape = equation.invars[0].aval.shape
        return f"{args[0]}[{self.starts(args[1:], shape, slice_sizes)}]"

    def dynamic_update_slice(self, args: Any, equation: Any) -> str:
        shape, sizes = (atom.aval.shape for atom in equation.invars[:2])
        key = self.starts(args[2:], shape, sizes)
        self.lines.append(f"u = np.copy({args[0]})")
        self.lines.append(f"u[{key}] = {args[1]}")
        return "u"

    def iota(
        self, args: Any, equation: Any, dtype: Any, shape: Any, dimension: int, **r: Any
    ) -> str:
        return f"np.indices({shape})[{dimension}].astype('{np.dtype(dtype).str}')"

    def argmax(self, args: Any, equation: Any, axes: Any, index_dtype: Any) -> str:
        which = equation.primitive.name
        return f"np.{which}({args[0]}, axis={axes[0]}).astype('{np.dtype(index_dtype).str}')"

    argmin = argmax

    def sort(self, args: Any, equation: Any, dimension: int, **rest: Any) -> str:
        return f"np.sort({args[0]}, axis={dimension}, kind='stable')"

    def dot_general(self, args: Any, equation: Any, dimension_numbers: Any, **rest: Any) -> str:
        (left, right), (batch, other) = dimension_numbers
        a, b = (["" for _ in atom.aval.shape] for atom in equation.invars)
        letters = iter(LETTERS)
        for i, j in (*zip(batch, other, strict=True), *zip(left, right, strict=True)):
            a[i] = b[j] = next(letters)
        out = [a[i] for i in batch]
        for side in (a, b):
            for i, letter in enumerate(side):
                if not letter:
                    side[i] = next(letters)
                    out.append(side[i])
        return f"np.einsum('{''.join(a)},{''.join(b)}->{''.join(out)}', {args[0]}, {args[1]})"

    def unstack(self, args: Any, equation: Any, axis: int) -> list[str]:
        return [f"{args[0]}[{':, ' * axis}{i}]" for i in range(len(equation.outvars))]

    def svd(
        self, args: Any, equation: Any, full_matrices: bool, compute_uv: bool, **rest: Any
    ) -> list[str]:
        if not compute_uv:
            return [f"np.linalg.svd({args[0]}, compute_uv=False)"]
        self.lines.append(f"svd = np.linalg.svd({args[0]}, full_matrices={full_matrices})")
        return ["svd[1]", "svd[0]", "svd[2]"]

    def eigh(self, args: Any, equation: Any, lower: bool, **rest: Any) -> list[str]:
        self.lines.append(f"eigh = np.linalg.eigh({args[0]}, {'L' if lower else 'U'!r})")
        return ["eigh[1]", "eigh[0]"]

    def qr(
        self, args: Any, equation: Any, full_matrices: bool, pivoting: bool, **rest: Any
    ) -> list[str]:
        if pivoting:
            raise NoForm("qr with pivots")
        mode = "complete" if full_matrices else "reduced"
        self.lines.append(f"qr = np.linalg.qr({args[0]}, {mode!r})")
        return ["qr[0]", "qr[1]"]

    def cholesky(self, args: Any, equation: Any, **rest: Any) -> str:
        return f"np.linalg.cholesky({args[0]})"

    def fft(self, args: Any, equation: Any, fft_type: Any, fft_lengths: Any) -> str:
        name = getattr(fft_type, "name", str(fft_type)).rpartition(".")[2].lower()
        axes = tuple(range(-len(fft_lengths), 0))
        return f"np.fft.{name}n({args[0]}, {tuple(fft_lengths)}, {axes})"

    def triangular_solve(
        self,
        args: Any,
        equation: Any,
        left_side: bool,
        lower: bool,
        transpose_a: bool,
        conjugate_a: bool,
        unit_diagonal: bool,
    ) -> str:
        a, b = args
        n = equation.invars[0].aval.shape[-1]
        a = f"np.{'tril' if lower else 'triu'}({a}, {(-1 if lower else 1) * unit_diagonal})"
        a = f"({a} + np.eye({n}, dtype={args[0]}.dtype))" if unit_diagonal else a
        a = f"np.conj({a})" if conjugate_a else a
        if transpose_a == left_side:
            a = f"np.swapaxes({a}, -1, -2)"
        if left_side:
            return f"np.linalg.solve({a}, {b})"
        return f"np.swapaxes(np.linalg.solve({a}, np.swapaxes({b}, -1, -2)), -1, -2)"
