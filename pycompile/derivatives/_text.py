"""Lines of NumPy code that are made into functions, and the nodes and objects that they refer to."""

from __future__ import annotations

import functools
import linecache
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pycompile import _C
from pycompile._errors import DerivativeError
from pycompile.derivatives import _pieces

Node = _C.Node
UFUNCS = _C.op_ufuncs()


def is_float(dtype: Any) -> bool:
    """One of real numbers: bfloat16, too, of which NumPy's `kind` does not say so."""
    return bool(np.dtype(dtype).kind == "f" or np.dtype(dtype).name == "bfloat16")


def where(node: Node) -> str:
    return f"{node.file}:{node.line}"


def no_rule(node: Node, what: str) -> DerivativeError:
    return DerivativeError(
        f"no derivative of {what} ({where(node)}): write its rule with pycompile.custom_vjp, or keep "
        "the value out of the derivative with pycompile.stop_gradient"
    )


_count = 0


class Function:
    """Lines of Python as a function, for tracebacks and warnings with the program's own lines."""

    def __init__(
        self,
        name: str,
        params: Sequence[str],
        text: Text,
        names: dict[str, Any],
        is_long: bool = False,
    ) -> None:
        """`is_long`: in Python it certainly takes longer than the compiler."""
        global _count
        _count += 1
        self.mode = "wait" if is_long else "background"
        self.source = f"def {name}({', '.join(params)}):\n" + "".join(text.lines)
        self.places = {i + 2: place for i, place in enumerate(text.places)}
        self.file = file = f"<derivative {_count}: {name}>"
        code = compile(self.source, file, "exec")
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        namespace = {"np": np, "math": math, **vars(_pieces), **names}
        exec(code, namespace)
        # Not in its own namespace: a plan that follows it would end with the next collection.
        self.plain: Callable[..., Any] = namespace.pop(name)
        self.derived: dict[
            Any, Any
        ] = {}  # compiled for derivatives of it, by active Python numbers

    def node_of(self, error: BaseException) -> Node | None:
        """The node at whose line the error came, or passed."""
        step = error.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename != self.file:
            step = step.tb_next
        return self.places.get(step.tb_lineno) if step is not None else None

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        import pycompile

        return pycompile.compile(self.plain, mode=self.mode)


class Text:
    """Indented lines, each with the node that it is of."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Node | None] = []
        self.depth = 1

    def put(self, line: str, node: Node | None = None) -> None:
        note = f"  # {where(node)}" if node is not None and node.line else ""
        self.lines.append("    " * self.depth + line + note + "\n")
        self.places.append(node)


class Names:
    """Objects that texts refer to by name."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.by_id: dict[int, str] = {}

    def bind(self, thing: Any, hint: str = "object") -> str:
        if id(thing) not in self.by_id:
            hint = "".join(c if c.isalnum() else "_" for c in hint) or "object"
            self.by_id[id(thing)] = f"{hint}_{len(self.objects)}"
            self.objects[self.by_id[id(thing)]] = thing
        return self.by_id[id(thing)]

    def literal(self, value: Any) -> str:
        """A constant that is no array."""
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes) or value is Ellipsis:
            return repr(value)
        if kind is float:
            if math.isfinite(value):
                return repr(value)
            return "math.nan" if value != value else ("math.inf" if value > 0 else "-math.inf")
        if kind is tuple:
            inner = ", ".join(map(self.literal, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if kind is list:
            return f"[{', '.join(map(self.literal, value))}]"
        if kind is slice:
            return f"slice({', '.join(map(self.literal, (value.start, value.stop, value.step)))})"
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            item = value.item()
            if isinstance(item, float) and math.isnan(item):
                return f"np.{value.dtype.name}(np.nan)"
            return f"np.{value.dtype.name if value.dtype.kind != 'b' else 'bool_'}({self.literal(item)})"
        return self.bind(value, getattr(value, "__name__", kind.__name__))
