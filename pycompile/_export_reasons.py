"""Why a function cannot be exported, behind its first reason, too.

The statement in which capture ended is left out, with all that follows from what it assigns, and what
remains is captured again: so a user hears of all at once, and of none that is another's consequence.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from pycompile._errors import DimensionError, GraphBreakError, PycompileError

MOST = 50  # of a function

Reason = tuple[str, int, str]
Capture = Callable[[types.FunctionType], Any]


def of_error(error: PycompileError, file: str, line: int) -> Reason:
    """Where it says that it was, else at this place."""
    text = re.sub(r", \d+ in this call", "", str(error))  # there is none
    if isinstance(error, GraphBreakError):
        return error.file or file, error.line or line, text
    in_front, behind = re.match(r"(.*?):(\d+): ", text), re.search(r" \((\S+?):(\d+)\)", text)
    if in_front is not None:
        return in_front[1], int(in_front[2]), text[in_front.end() :]
    return (behind[1], int(behind[2]), text) if behind is not None else (file, line, text)


def after(
    function: types.FunctionType, first: Reason, capture: Capture
) -> tuple[list[Reason], Any]:
    """The reasons behind the first, and what `capture` makes of the rest, or None.  It raises what
    there is for a function like this one."""
    code = function.__code__
    found: list[Reason] = []
    try:
        text = textwrap.dedent(inspect.getsource(code))
        (definition,) = ast.parse(text).body
    except (OSError, SyntaxError, ValueError):
        return found, None
    if not isinstance(definition, ast.FunctionDef):
        return found, None
    definition.decorator_list = []
    ast.increment_lineno(definition, code.co_firstlineno - 1)
    rest, reason = _Rest(definition.body), first
    while len(found) < MOST and reason[0] == code.co_filename and rest.leave_out(reason[1]):
        if rest.leaves:
            break
        try:
            return found, capture(_of_body(function, definition))
        except (GraphBreakError, DimensionError) as error:
            reason = of_error(error, *first[:2])
            found.append(reason)
        except Exception:  # of what is left, which is no program of the user's
            break
    return found, None


class _Rest:
    """The statements of a function, some of which are left out."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.body = body
        self.unknown: set[str] = set()  # names that what was left out assigns
        self.leaves = False  # is a way out of a loop or branch left out?

    def leave_out(self, line: int) -> bool:
        """The statement at the line, and what reads what it assigns.  False: there is none."""
        found = self.replace(self.body, lambda each: _is_at(each, line))
        while found and self.replace(self.body, self.follows):
            pass
        return found

    def follows(self, statement: ast.stmt) -> bool:
        parts = _heads(statement) if _bodies(statement) else [statement]
        return any(name in self.unknown for part in parts for name in _names(part, ast.Load))

    def replace(self, body: list[ast.stmt], is_it: Callable[[ast.stmt], bool]) -> bool:
        """Puts `pass` in the place of such statements.  Was there one?"""
        done = False
        for i, each in enumerate(body):
            if isinstance(each, ast.Pass):
                continue
            if is_it(each):
                ways = (ast.Break, ast.Continue, ast.Return, ast.Raise)
                inside = body is not self.body or not isinstance(each, ast.Return)
                self.leaves |= inside and any(isinstance(x, ways) for x in ast.walk(each))
                self.unknown |= set(_names(each, ast.Store)) | _changed(each)
                body[i] = ast.copy_location(ast.Pass(), each)
                done = True
                continue
            for inner in _bodies(each):
                done |= self.replace(inner, is_it)
        return done


def _bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    found = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    found += [each.body for each in getattr(statement, "handlers", [])]
    return [each for each in found if isinstance(each, list) and each]


def _heads(statement: ast.stmt) -> list[ast.expr]:
    """Of a compound statement what is evaluated before its bodies."""
    found = [getattr(statement, name, None) for name in ("test", "iter", "target", "subject")]
    found += [each.context_expr for each in getattr(statement, "items", [])]
    return [each for each in found if isinstance(each, ast.expr)]


def _is_at(statement: ast.stmt, line: int) -> bool:
    if not _bodies(statement):
        return statement.lineno <= line <= (statement.end_lineno or statement.lineno)
    return any(
        head.lineno <= line <= (head.end_lineno or head.lineno) for head in _heads(statement)
    )


def _names(node: ast.AST, kind: type[ast.expr_context]) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, kind):
            yield each.id


def _changed(statement: ast.stmt) -> set[str]:
    """Names of what an assignment changes: `x` of `x[0] = y`."""
    return {
        name
        for each in ast.walk(statement)
        if isinstance(each, (ast.Subscript, ast.Attribute)) and isinstance(each.ctx, ast.Store)
        for name in _names(each, ast.Load)
    }


def _of_body(function: types.FunctionType, definition: ast.FunctionDef) -> types.FunctionType:
    """The function with another body, and the same globals and cells."""
    code = function.__code__
    cells = "".join(f"    {name} = None\n" for name in code.co_freevars)
    outer = ast.parse(f"def outer():\n{cells}    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body.append(definition)
    made = compile(ast.Module([outer], []), code.co_filename, "exec")
    found = _code_of(_code_of(made, "outer"), definition.name)
    closure = dict(zip(code.co_freevars, function.__closure__ or ()))
    new = types.FunctionType(
        found.replace(co_qualname=code.co_qualname),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(closure[name] for name in found.co_freevars),
    )
    new.__kwdefaults__ = function.__kwdefaults__
    return new


def _code_of(code: types.CodeType, name: str) -> types.CodeType:
    return next(
        each for each in code.co_consts if isinstance(each, types.CodeType) and each.co_name == name
    )
