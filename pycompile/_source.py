"""The program's source, for messages: what a value on the stack was written as."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import CodeType

LONGEST = 60  # characters of an expression that are shown


def _segment(code: CodeType, at: int) -> str:
    """The text of the instruction at the code unit `at`, on one line; "" where it is not known."""
    positions = list(code.co_positions())
    if not 0 <= at < len(positions):
        return ""
    line, end_line, column, end_column = positions[at]
    if line is None or end_line is None or column is None or end_column is None:
        return ""
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(line, end_line + 1)]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return " ".join(b" ".join(lines).decode(errors="replace").split())


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


_NODES: dict[str, type[ast.expr]] = {
    "<lambda>": ast.Lambda,
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}


@lru_cache(16)
def _nodes(source: str) -> list[ast.expr]:
    """Those of the source that become functions without a name of their own."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    kinds = tuple(_NODES.values())
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.expr) and isinstance(node, kinds)
    ]


def function_name(file: str, name: str, head: int, line: int, column: int) -> str:
    """`name`, with the column where the line `head` begins several functions of that kind.

    `line` and `column` (in bytes, from 0; -1: unknown): where its body begins.
    """
    kind = _NODES.get(name.rpartition(".")[2])
    if kind is None or column < 0:
        return name
    source = "".join(linecache.getlines(file))
    near = [node for node in _nodes(source) if isinstance(node, kind) and node.lineno == head]
    inside = [
        node.col_offset
        for node in near
        if (head, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)
    ]
    return f"{name} (column {max(inside) + 1})" if len(near) > 1 and inside else name


_LOOSE = (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Lambda)


def expression(code: CodeType, at: int, role: str) -> str:
    """The source of what the instruction gave; "" where that is not known.

    `role`: "" the value itself, "object" what a method is of, "item" what a loop takes, "index"
    the first part of that where the loop is over an enumerate.
    """
    text = _segment(code, at)
    node = _parsed(text)
    if node is None:
        return ""
    if role == "object" and isinstance(node, ast.Attribute):
        text, node = ast.unparse(node.value), node.value
    if len(text) > LONGEST:
        text = text[: LONGEST - 3] + "..."
    if role == "index":
        counts = isinstance(node, ast.Call) and ast.unparse(node.func) == "enumerate"
        return f"(index of {text})" if counts else ""
    if role == "item":
        return f"(item of {text})"
    return f"({text})" if isinstance(node, _LOOSE) else text
