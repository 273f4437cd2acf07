"""Runs a graph by plain NumPy calls: the backend "eager", and the reference for tests.

Each node is done by the NumPy (or Python) operation that it stands for, and its result is put into
memory laid out as the node's type says; a result whose shape or dtype is not the predicted one is an
error here, not a surprise later.  Nothing is fused, reused or done in place, except that a loop
writes the elements of its own copy of a carried array.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _C
from pycompile._filters import warnings_as

UFUNCS = _C.op_ufuncs()

# Python's operators on NumPy's ints report an overflow, which ufuncs of them do not.
SCALARS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "absolute": operator.abs,
}

CLIP = vars(np)["_core"].umath.clip  # the ufunc behind np.clip


def _expected(holds: bool) -> bool:
    """A branch that only raises is not taken; otherwise the program is run again without a plan."""
    if not holds:
        raise ArithmeticError("a branch was taken that raises")
    return True


BITS: dict[str, Callable[..., Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
PYTHON: dict[str, Callable[..., Any]] = {
    "py_add": operator.add,
    "py_sub": operator.sub,
    "py_mul": operator.mul,
    "py_div": operator.truediv,
    "py_floordiv": operator.floordiv,
    "py_mod": operator.mod,
    "py_pow": operator.pow,
    "py_lshift": operator.lshift,
    "py_rshift": operator.rshift,
    "py_neg": operator.neg,
    "py_abs": operator.abs,
    "py_eq": operator.eq,
    "py_ne": operator.ne,
    "py_lt": operator.lt,
    "py_le": operator.le,
    "py_bool": bool,
    "py_assert": _expected,
    "py_sqrt": math.sqrt,
    "py_exp": math.exp,
    "py_log": math.log,
    "py_sin": math.sin,
    "py_cos": math.cos,
    "py_tan": math.tan,
    "py_atan": math.atan,
    "py_tanh": math.tanh,
    "py_asin": math.asin,
    "py_acos": math.acos,
    "py_sinh": math.sinh,
    "py_cosh": math.cosh,
    "py_asinh": math.asinh,
    "py_acosh": math.acosh,
    "py_atanh": math.atanh,
    "py_log2": math.log2,
    "py_log10": math.log10,
    "py_log1p": math.log1p,
    "py_expm1": math.expm1,
    "py_cbrt": math.cbrt,
    "py_atan2": math.atan2,
    "py_fmod": math.fmod,
    "py_copysign": math.copysign,
    "py_hypot": math.hypot,
    "py_round": round,
    "py_round_to": round,
    "py_gcd": math.gcd,
    "py_isqrt": math.isqrt,
    "py_floor": math.floor,
    "py_ceil": math.ceil,
    "py_int": int,
    "py_float": float,
    "py_complex": complex,
    "py_real": operator.attrgetter("real"),
    "py_imag": operator.attrgetter("imag"),
    "py_item": lambda x: np.asarray(x).item(),
}


def run(graph: _C.Graph, inputs: Sequence[Any]) -> list[Any]:
    """The graph's outputs.  Inputs are not written to; an output may be a view of one."""
    if len(inputs) != len(graph.inputs):
        raise TypeError(f"the graph takes {len(graph.inputs)} inputs, not {len(inputs)}")
    values = {node.id: value for node, value in zip(graph.inputs, inputs, strict=True)}
    # of ints that the graph computes `measure` tells
    sizes = {name: _symbol(name, values) for name in graph.symbols if name[0] != "n"}
    run_ = _Run(sizes, SCALARS)
    run_.nodes(graph.nodes, values)
    return [values[node.id] for node in graph.outputs]


def backend(graph: _C.Graph, example_inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """As a backend: what it returns computes the outputs from the inputs."""
    return lambda *inputs: run(graph, inputs)


def fold(node: Any) -> Any:
    """The value of a node whose arguments are all constants, or NotImplemented where NumPy would raise,
    warn or report a floating-point event: that is left to happen when the program runs."""
    run_ = _Run({}, {})
    try:
        with np.errstate(all="raise"), warnings_as(0):
            args = [run_.place(arg, arg.object) for arg in node.args]
            value = run_.place(node, run_.node(node, args, {}))
    except Exception:
        return NotImplemented
    low = 0 if node.dtype == "uint64" else -(2**63)
    if type(value) is int and not low <= value < low + 2**64:
        return NotImplemented
    return value


def _symbol(name: str, values: dict[int, Any]) -> int:
    node, axis = map(int, name[1:].split("_"))
    array = values[node]
    lengths: tuple[int, ...] = array.shape if name[0] == "d" else array.strides
    return lengths[axis]


IN_SIZES = {"__builtins__": {}, "min": min, "max": max}
Array = np.ndarray[Any, Any]
Sizes = Sequence[int | str]
Lengths = tuple[int, ...]


def _is_packed(itemsize: int, shape: Lengths, strides: Lengths) -> bool:
    """Are these the strides of a block of memory without gaps, in some order of the axes?  Those of
    an empty array are."""
    if 0 in shape:
        return True
    step = itemsize
    for stride, length in sorted(zip(strides, shape, strict=True)):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def _empty(dtype: Any, shape: Lengths, strides: Lengths) -> Array:
    """An array with exactly these strides, gaps included; it owns its memory where there are none."""
    dtype = np.dtype(dtype)
    if _is_packed(dtype.itemsize, shape, strides):
        return np.ndarray(shape, dtype, strides=strides)
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low = sum(s for s in spans if s < 0)
    high = sum(s for s in spans if s > 0) + dtype.itemsize
    memory = np.zeros(high - low, np.uint8)
    return np.ndarray(shape, dtype, memory, -low, strides)


class _Run:
    def __init__(self, sizes: dict[str, int], scalars: dict[str, Callable[..., Any]]):
        self.sizes = sizes
        self.scalars = scalars  # what is done with NumPy's ints in place of the ufunc
        self.owned: set[int] = set()  # id() of arrays that a loop may write in place
        self.words: dict[int, np.ndarray] = {}  # what loops have appended, by address

    def size(self, size: int | str) -> int:
        return size if isinstance(size, int) else eval(size, IN_SIZES, self.sizes)

    def layout(self, shape: Sizes, strides: Sizes) -> tuple[Lengths, Lengths]:
        return tuple(map(self.size, shape)), tuple(map(self.size, strides))

    def nodes(
        self, nodes: Sequence[Any], values: dict[int, Any], results: Sequence[Any] = ()
    ) -> None:
        last = {arg.id: i for i, node in enumerate(nodes) for arg in node.args}
        last |= {node.id: len(nodes) for node in results}
        for i, node in enumerate(nodes):
            if node.op == "input":
                continue
            if node.op == "element_store" and last[node.args[0].id] == i:
                values[node.id] = self.store(node, values)
                continue
            args = [values[arg.id] for arg in node.args]
            try:
                result = self.node(node, args, values)
                values[node.id] = result if node.kind == "view" else self.place(node, result)
            except Exception as error:
                error.add_note(f"in {node} ({node.file}:{node.line})")
                raise

    # ---- results ----

    def place(self, node: Any, value: Any) -> Any:
        """The value in the form, dtype and layout that the node's type promises."""
        if node.form == "object":
            return value
        if node.form == "python":
            value = value.item() if isinstance(value, np.generic | np.ndarray) else value
            if np.result_type(type(value)) != node.dtype and not isinstance(value, int):
                raise TypeError(f"predicted a Python {node.dtype}, got {value!r}")
            return value
        array = np.asarray(value)
        if node.op == "const" and array.dtype != node.dtype:
            array = array.astype(node.dtype)
        shape, strides = self.layout(node.shape, node.strides)
        if array.dtype != node.dtype or array.shape != shape:
            raise TypeError(f"predicted {node.type}, got {array.dtype}{list(array.shape)}")
        if node.form == "scalar":
            return array[()]
        if array.strides == strides and (array.base is None or node.op == "extern"):
            return array  # what a library function makes is its own, also when it has a base
        fresh = _empty(node.dtype, shape, strides)
        fresh[...] = array
        return fresh

    # ---- operations ----

    def node(self, node: Any, args: list[Any], values: dict[int, Any]) -> Any:
        special = getattr(self, "op_" + node.op, None) or getattr(self, "kind_" + node.kind, None)
        if special is not None:
            return special(node, args, values)
        if node.kind == "python":
            return PYTHON[node.op](*args)
        raise NotImplementedError(f"the eager backend has no {node.op}")

    def op_const(self, node: Any, args: list[Any], values: Any) -> Any:
        return node.object

    def op_py_int(self, node: Any, args: list[Any], values: Any) -> int:
        number = int(args[0])
        if number < 0 and node.dtype == "uint64":
            raise ArithmeticError("an int without a sign is negative")
        return number

    def kind_pointwise(self, node: Any, args: list[Any], values: Any) -> Any:
        if node.form == "python" and type(args[0]) is int:  # of any size
            if node.op in BITS:
                return BITS[node.op](*args)
            if node.op == "cast":
                low = args[0] & 2**64 - 1
                return low - 2**64 if node.dtype == "int64" and low >= 2**63 else low
        # A Python number has the dtype that its node says, and is not weak here: casts are nodes.
        args = [_strong(value, arg) for value, arg in zip(args, node.args, strict=True)]
        if node.op == "where":
            return np.where(*args)
        if node.op == "clamp":
            return CLIP(*args)
        if node.op in ("real", "imag"):
            return np.array(getattr(np.asarray(args[0]), node.op))
        if node.op == "cast":
            return np.asarray(args[0]).astype(node.dtype)
        name = UFUNCS[node.op]
        if name in self.scalars and node.form == "scalar" and isinstance(args[0], np.integer):
            return self.scalars[name](*args)
        return CLIP(*args) if name == "clip" else getattr(np, name)(*args)

    def kind_ufunc(self, node: Any, args: list[Any], values: Any) -> Any:
        args = [_strong(value, arg) for value, arg in zip(args, node.args, strict=True)]
        if node.form == "scalar" and node.object is np.multiply:
            return operator.mul(*args)  # the ufunc rounds products of complex numbers otherwise
        return node.object(*args)

    def kind_reduction(self, node: Any, args: list[Any], values: Any) -> Any:
        (x,) = args
        if node.op in ("argmax", "argmin"):
            axis = node.ints[0] if len(node.ints) == 1 else None
            return getattr(np, node.op)(x, axis=axis, keepdims=node.keepdims)
        ufunc = getattr(np, UFUNCS[node.op])
        dtype = node.dtype if node.op in ("sum", "prod") else None
        return ufunc.reduce(x, axis=tuple(node.ints), dtype=dtype, keepdims=node.keepdims)

    def kind_scan(self, node: Any, args: list[Any], values: Any) -> Any:
        return getattr(np, UFUNCS[node.op]).accumulate(args[0], axis=node.index, dtype=node.dtype)

    def kind_view(self, node: Any, args: list[Any], values: Any) -> Any:
        shape, strides = self.layout(node.shape, node.strides)
        view = _C.array_view(
            values[node.storage], node.dtype, shape, strides, self.size(node.offset)
        )
        if node.op == "broadcast" or not args[0].flags.writeable:
            view.flags.writeable = False
        return view

    def op_copy(self, node: Any, args: list[Any], values: Any) -> Any:
        return np.array(args[0])

    def op_concatenate(self, node: Any, args: list[Any], values: Any) -> Any:
        return np.concatenate(args, axis=node.index)

    def op_scatter(self, node: Any, args: list[Any], values: Any) -> Any:
        old, value = args
        shape, strides = self.layout(node.shape, node.strides)
        new = _empty(node.dtype, shape, strides)
        new[...] = old
        if old.base is not None:
            new = new.view()  # the same array to the program, which does not own its memory
        view_shape, view_strides = self.layout(*node.view[:2])
        offset = self.size(node.view[2])
        _C.array_view(new, node.dtype, view_shape, view_strides, offset)[...] = value
        return new

    def op_commit(self, node: Any, args: list[Any], values: Any) -> Any:
        """What is written into a part of an input, in that part's shape."""
        view_shape, _ = self.layout(*node.view[:2])
        return np.array(np.broadcast_to(args[1], view_shape), node.dtype)

    def op_measure(self, node: Any, args: list[Any], values: Any) -> Any:
        self.sizes[f"n{node.id}"] = args[0]

    def op_choose(self, node: Any, args: list[Any], values: Any) -> Any:
        return args[1] if args[0] else args[2]

    def op_full(self, node: Any, args: list[Any], values: Any) -> Any:
        return np.full(self.layout(node.shape, ())[0], args[0], node.dtype)

    def op_empty(self, node: Any, args: list[Any], values: Any) -> Any:
        return np.zeros(self.layout(node.shape, ())[0], node.dtype)

    def op_arange(self, node: Any, args: list[Any], values: Any) -> Any:
        """args: start and step; NumPy fills from the first two elements and their difference."""
        start, step = args
        (n,), _ = self.layout(node.shape, ())
        dtype = np.dtype(node.dtype)
        first = np.asarray(start).astype(dtype)
        delta = np.asarray(start + step).astype(dtype) - first
        return (first + np.arange(n).astype(dtype) * delta).astype(dtype)

    def op_matmul(self, node: Any, args: list[Any], values: Any) -> Any:
        return np.matmul(*args)

    def op_extern(self, node: Any, args: list[Any], values: Any) -> Any:
        names = node.kwnames or ()
        split = len(args) - len(names)
        return node.object(*args[:split], **dict(zip(names, args[split:], strict=True)))

    op_compress = op_extern
    op_store = op_extern
    op_take = op_extern
    op_pick = op_extern

    def op_result(self, node: Any, args: list[Any], values: Any) -> Any:
        return args[0][node.index]

    # ---- elements and regions ----

    def op_element_load(self, node: Any, args: list[Any], values: Any) -> Any:
        array, *index = args
        return array[tuple(index)]

    def op_element_dot(self, node: Any, args: list[Any], values: Any) -> Any:
        axes, steps, length = node.ints[0:4:2], node.ints[1:4:2], args.pop()
        vectors = []
        for axis, step in zip(axes, steps, strict=True):
            array, index = args[0], args[1 : 1 + args[0].ndim]
            args = args[1 + array.ndim :]
            start = index[axis]
            stop = start + step * length
            index[axis] = slice(start, None if stop < 0 else stop, step) if length else slice(0, 0)
            vectors.append(array[tuple(index)])
        return np.dot(*vectors) if node.ints[4] else np.matmul(*vectors)

    def op_element_store(self, node: Any, args: list[Any], values: Any) -> Any:
        array, *index, value = args
        new = _empty(node.dtype, array.shape, array.strides)
        new[...] = array
        new[tuple(index)] = value
        self.owned.add(id(new))
        return new

    def op_element_append(self, node: Any, args: list[Any], values: Any) -> Any:
        """The array has the address of the words and their number, as after a kernel."""
        address, used = (int(number) for number in args[0])
        words = self.words.pop(address, np.zeros(0, np.int64))
        more = [
            np.array([value], arg.dtype) for value, arg in zip(args[1:], node.args[1:], strict=True)
        ]
        bits = b"".join(
            number.tobytes().ljust(-(-number.nbytes // 8) * 8, b"\0") for number in more
        )
        words = np.concatenate([words[:used], np.frombuffer(bits, np.int64)])
        self.words[words.ctypes.data] = words
        return np.array([words.ctypes.data, words.size])

    def store(self, node: Any, values: dict[int, Any]) -> Any:
        """An element_store whose array nothing reads again: in place when the loop owns it."""
        args = [values[arg.id] for arg in node.args]
        if id(args[0]) not in self.owned:
            return self.op_element_store(node, args, values)
        args[0][tuple(args[1:-1])] = args[-1]
        return args[0]

    def op_loop(self, node: Any, args: list[Any], values: dict[int, Any]) -> Any:
        (body,) = node.regions
        carried = [self.own(value) for value in args[3:]]
        inner = dict(values)
        # Other than 0, this carried value ends the loop.
        leaves = node.ints[0] if node.ints else None
        for i in range(*args[:3]):
            for param, value in zip(body.params, [i, *carried], strict=True):
                inner[param.id] = value
            self.nodes(body.nodes, inner, body.results)
            carried = [inner[result.id] for result in body.results]
            if leaves is not None and carried[leaves] != 0:
                break
        self.owned -= set(map(id, carried))
        return tuple(carried)

    def op_loop_sum(self, node: Any, args: list[Any], values: dict[int, Any]) -> Any:
        (body,) = node.regions
        inner, each = dict(values), []
        for i in range(*args):
            inner[body.params[0].id] = i
            self.nodes(body.nodes, inner, body.results)
            each.append(inner[body.results[0].id])
        return (np.add.reduce(np.array(each, body.results[0].dtype)),)

    def op_repeat(self, node: Any, args: list[Any], values: dict[int, Any]) -> Any:
        (body,) = node.regions
        carried = args[3:]
        inner = dict(values)
        for i in range(*args[:3]):
            for param, value in zip(body.params, [i, *carried], strict=True):
                inner[param.id] = value
            self.nodes(body.nodes, inner, body.results)
            carried = [inner[result.id] for result in body.results]
            if node.ints and carried[node.ints[0]] != 0:
                break
        return tuple(carried)

    def own(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        copy = _empty(value.dtype, value.shape, value.strides)
        copy[...] = value
        self.owned.add(id(copy))
        return copy

    def op_cond(self, node: Any, args: list[Any], values: dict[int, Any]) -> Any:
        arm = node.regions[0 if args[0] else 1]
        inner = dict(values)
        for param, value in zip(arm.params, args[1:], strict=True):
            inner[param.id] = value
        self.nodes(arm.nodes, inner, arm.results)
        return tuple(inner[result.id] for result in arm.results)


def _strong(value: Any, node: Any) -> Any:
    return np.dtype(node.dtype).type(value) if node.form == "python" else value
