"""Reads what PYCOMPILE_TRACE has written: the files of a folder, a process each.

A line that is no event of the form that docs/trace.md gives is counted and left out: a process may
have been ended while it wrote, and the disk may have been full.
"""

from __future__ import annotations

import dataclasses
import json
import linecache
import os
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def is_frame(value: Any) -> bool:
    """File, line, function."""
    types = [*map(type, value)] if isinstance(value, list) else []
    return types == [str, int, str] and fits(value[0], str)


# What every event of a kind has: a type, several, a list of one form, a dict of forms, or `...` for
# those of all its values; or a function that says so.  `float` takes an int, too.
def are_lengths(value: Any) -> bool:
    """The least, the most and the mean of each symbol."""
    return isinstance(value, dict) and all(
        isinstance(each, list) and [*map(type, each)] in ([int, int, int], [int, int, float])
        for each in value.values()
    )


SYMBOL = {"name": str, "of": [str], "value": int, "least": int}
CAUSE = {"guard": (str, None), "old": (str, None), "new": (str, None), "remedy": (str, None)}
BREAK = {"code": str, "text": str, "detail": (str, None), "hint": str, "file": str, "line": int}
BREAK |= {"frames": [is_frame], "heads": [int]}
FUNCTION = {"function": str, "file": str, "line": int}
EVENTS: dict[str, dict[str, Any]] = {
    "begin": {
        "schema": int,
        "pid": int,
        "forked_from": (int, None),
        "program": str,
        "pycompile": str,
        "python": str,
        "numpy": str,
        "platform": str,
        "machine": str,
        "options": dict,
        "environment": dict,
    },
    "compile": {
        **FUNCTION,
        "first_line": int,
        "from": float,
        "kind": str,
        "entry": int,
        "seconds": {...: float},
    },
    "runs": {"from": float, "plan": int, "runs": int, "undone": int, "seconds": float},
    "undone": {**FUNCTION, "why": str},
    "given_up": {**FUNCTION, "text": str},
    "hint": {"text": str},
    "function": {**FUNCTION, "plan_runs": int, "compiles": int, "breaks": int, "deopts": int},
    "source": {"file": str, "text": str},
    "end": {},
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "compile": {
        "plan": int,
        "twin_of": int,
        "code": str,
        "recompile": str,
        "cause": CAUSE,
        "breaks": [BREAK],
        "guards": [str],
        "graph": str,
        "schedule": str,
        "source": str,
        "kernels": int,
        "symbols": [SYMBOL],
        "fixed": (str, None),
        "buffers": [str],
        "why": (str, None),
    },
    "runs": {"lengths": are_lengths},
    "given_up": {"cause": CAUSE},
    "function": {"places": [list], "varied": [list], "lost": [str]},
    "end": {"cpu": str, "threads": int, "compiler": (str, None), "version": (str, None)},
}


def fits(value: Any, form: Any) -> bool:
    """Whether the value has the form."""
    if callable(form) and not isinstance(form, type):
        return bool(form(value))
    if isinstance(form, tuple):
        return any(fits(value, each) for each in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return False
        if ... in form:
            return all(fits(each, form[...]) for each in value.values())
        return all(key in value and fits(value[key], each) for key, each in form.items())
    if form is None or value is None:
        return form is None and value is None
    if isinstance(value, int) and form in (int, float):
        return not isinstance(value, bool) and abs(value) < 1 << 63
    if isinstance(value, str) and "\0" in value:
        return False
    return bool(isinstance(value, form))


def _no_number(name: str) -> Any:
    raise ValueError(name)


def event_of(line: str) -> Record | None:
    """The line's event; None: it is damaged."""
    try:
        event = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    kind = event.get("event") if isinstance(event, dict) else None
    if not isinstance(kind, str) or not fits(event.get("time"), float):
        return None
    optional = OPTIONAL.get(kind, {})
    known = fits(event, EVENTS.get(kind, {})) and all(
        fits(event[key], form) for key, form in optional.items() if key in event
    )
    return event if known else None


@dataclasses.dataclass
class Process:
    """What one file tells."""

    name: str
    events: list[Record]
    damaged: int = 0
    parent: Process | None = None

    @property
    def begin(self) -> Record:
        return next((event for event in self.events if event["event"] == "begin"), {})

    def of(self, kind: str) -> list[Record]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def pid(self) -> int:
        return int(self.begin.get("pid", 0))

    @cached_property
    def plans(self) -> dict[int, Record]:
        return {event["plan"]: event for event in self.of("compile") if "plan" in event}

    def plan(self, number: int) -> Record | None:
        """The compile that made the plan: the process's own, or one from before a fork."""
        if number in self.plans or self.parent is None:
            return self.plans.get(number)
        return self.parent.plan(number)


@dataclasses.dataclass
class Trace:
    folder: str
    processes: list[Process]

    def of(self, kind: str) -> list[Record]:
        return [event for process in self.processes for event in process.of(kind)]

    @property
    def damaged(self) -> int:
        return sum(process.damaged for process in self.processes)


def read_file(path: Path) -> Process:
    process = Process(path.name, [])
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            event = event_of(line)
            if event is not None:
                process.events.append(event)
            elif line.strip():
                process.damaged += 1
    return process


def read(folder: str) -> Trace:
    """The processes in the order in which they began.  OSError: the folder cannot be read."""
    paths = sorted(Path(folder, name) for name in os.listdir(folder) if name.endswith(".jsonl"))
    processes = [read_file(path) for path in paths]
    processes.sort(key=lambda process: process.events[0]["time"] if process.events else 0.0)
    for number, process in enumerate(processes):
        forked = process.begin.get("forked_from")
        for earlier in processes[:number]:
            if forked is not None and earlier.pid == forked:
                process.parent = earlier  # the last one of that number before it
    return Trace(folder, processes)


class Sources:
    """Lines of source files: those that the trace kept, else those on the disk."""

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        self.kept = {file: text.splitlines() for file, text in (kept or {}).items()}
        self.lines = lru_cache(None)(self._lines)
        self.spans = lru_cache(None)(self._spans)

    def _lines(self, file: str) -> list[str]:
        found = self.kept.get(file)
        return found if found is not None else [s.rstrip("\n") for s in linecache.getlines(file)]

    def line(self, file: str, number: int) -> str:
        lines = self.lines(file)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def _spans(self, file: str) -> list[tuple[int, int, str]]:
        import ast

        try:
            tree = ast.parse("\n".join(self.lines(file)))
        except (SyntaxError, ValueError, RecursionError):
            return []
        found = []

        def walk(node: ast.AST, prefix: str) -> None:
            for child in ast.iter_child_nodes(node):
                name = prefix
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    name = prefix + child.name + "."
                    if not isinstance(child, ast.ClassDef):
                        found.append((child.lineno, child.end_lineno or child.lineno, name[:-1]))
                        name += "<locals>."
                walk(child, name)

        walk(tree, "")
        return found

    def function_at(self, file: str, line: int) -> str:
        """The innermost function around the line; "": none is known."""
        around = [span for span in self.spans(file) if span[0] <= line <= span[1]]
        return max(around)[2] if around else ""

    def file_of(self, place: str, likely: str) -> tuple[str, int]:
        """File and line of "file.py:12", where the file's folder is not told: the likely file's if
        the name is the same, else that of a file that was kept, else one that nobody finds."""
        name, _, line = place.rpartition(":")
        number = int(line) if line.isdigit() else 0
        for file in (likely, *self.kept):
            if os.path.basename(file) == name:
                return file, number
        return f"…/{name}", number
