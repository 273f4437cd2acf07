"""Writes docs/python-coverage.md: what of Python is captured, by opcode and by construct.

python docs/make_python_coverage.py           updates the column of the Python that runs it
python docs/make_python_coverage.py --check   exit status 1 when that column is not up to date

A construct is a function of tests/constructs, whose test demands what the page says.  An opcode is
captured when a construct that is captured whole executes it; what no construct executes stands with
what csrc/python/decode_*.def does with it.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import io
import re
import sys
import warnings
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import constructs  # noqa: E402

PAGE = ROOT / "docs" / "python-coverage.md"
VERSIONS = ("3.11", "3.12", "3.13")
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"

HEAD = """\
# Python coverage

<!-- Made by `python docs/make_python_coverage.py`, a column by each Python: do not edit. -->

*Captured*: followed without a graph break, as `tests/constructs` shows for each row on each change. *Break*: CPython runs it
and capture goes on behind it; the code leads to [graph-breaks.md](graph-breaks.md). *Left*: the frame is CPython's.

"""

#: Opcodes that nothing of ours ever runs, and why.
LEFT = {
    "async": "coroutines are left to CPython",
    "module": "only modules, classes and `exec` have it",
    "interactive": "only the interactive prompt has it",
    "internal": "made by the interpreter for itself",
}
UNTRACED = {"NOP", "EXTENDED_ARG", "RESUME", "CACHE"}  # in every function, or no instruction
REASONS = {
    "GET_AWAITABLE": "async",
    "GET_AITER": "async",
    "GET_ANEXT": "async",
    "END_ASYNC_FOR": "async",
    "BEFORE_ASYNC_WITH": "async",
    "ASYNC_GEN_WRAP": "async",
    "CLEANUP_THROW": "async",
    "SETUP_ANNOTATIONS": "module",
    "IMPORT_STAR": "module",
    "LOAD_NAME": "module",
    "STORE_NAME": "module",
    "DELETE_NAME": "module",
    "LOAD_LOCALS": "module",
    "LOAD_CLASSDEREF": "module",
    "LOAD_FROM_DICT_OR_DEREF": "module",
    "LOAD_FROM_DICT_OR_GLOBALS": "module",
    "LOAD_BUILD_CLASS": "module",
    "PRINT_EXPR": "interactive",
    "INTERPRETER_EXIT": "internal",
    "EXIT_INIT_CHECK": "internal",
    "ENTER_EXECUTOR": "internal",
    "RESERVED": "internal",
}


def decoded() -> dict[str, str]:
    """Form by opcode, from the tables of this Python's decoder."""
    found = {}
    for name in ("common", HERE.replace(".", "")):
        text = (ROOT / "csrc" / "python" / f"decode_{name}.def").read_text()
        found.update(re.findall(r"^\[(\w+)\] = \{\w+, (\w+)", text, re.M))
    return found


def opcodes() -> list[str]:
    """The opcodes that the compiler emits, without specialised, instrumented and pseudo ones."""
    pseudo = {"SETUP_FINALLY", "SETUP_CLEANUP", "SETUP_WITH", "POP_BLOCK", "JUMP_NO_INTERRUPT"}
    pseudo |= {"JUMP", "LOAD_METHOD", "LOAD_SUPER_METHOD", "LOAD_ZERO_SUPER_METHOD"}
    pseudo |= {"LOAD_ZERO_SUPER_ATTR", "STORE_FAST_MAYBE_NULL"}
    if HERE == "3.11":
        pseudo -= {"LOAD_METHOD"}
    elif HERE == "3.13":
        pseudo |= {"LOAD_CLOSURE"}
    return [
        name for name in dis.opmap if not name.startswith("INSTRUMENTED") and name not in pseudo
    ]


def untraced(code: CodeType) -> set[str]:
    """What runs before tracing begins, and the END_FOR that FOR_ITER skips."""
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    start = set(names[: names.index("RESUME")]) if "RESUME" in names else set()
    return start | {"END_FOR"} & set(names)


def executed(made: constructs.Construct) -> set[str]:
    """The opcodes that a plain call executes."""
    found: set[str] = set()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = True
        if event == "call":
            found.update(untraced(frame.f_code))
        if event == "opcode":
            found.add(dis.opname[frame.f_code.co_code[frame.f_lasti]])
        return trace

    args, kwargs = copy.deepcopy((made.args, made.kwargs))
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        for _ in range(2):  # 3.12 begins to trace with the second
            quiet = contextlib.redirect_stdout(io.StringIO())
            with contextlib.suppress(Exception), quiet:  # some are about that
                made.function(*args, **kwargs)
    finally:
        sys.settrace(previous)
    return found


def of_opcodes() -> dict[str, str]:
    """What becomes of each opcode on this Python."""
    seen: set[str] = set()
    broken: dict[str, str] = {}  # by opcode that only constructs with a break execute: its code
    for made in constructs.constructs():
        found = executed(made)
        if made.breaks is None:
            seen |= found
        else:
            broken.update(dict.fromkeys(found, made.breaks))
    forms, table = decoded(), {}
    for name in opcodes():
        form = forms.get(name)
        if name in seen or name in UNTRACED:
            table[name] = "captured"
        elif name in REASONS:
            table[name] = f"left: {LEFT[REASONS[name]]}"
        elif form == "FORM_ASIDE" or form is None:
            table[name] = "left"
        elif name in broken:
            table[name] = f"break [{broken[name]}](graph-breaks.md#{broken[name].lower()})"
        elif form == "FORM_OTHER":
            table[name] = "break [PC0001](graph-breaks.md#pc0001)"
        else:
            table[name] = "decoded, in no construct"
    return table


def of_constructs() -> dict[str, dict[str, str]]:
    """By title of the section, what becomes of each construct on this Python."""
    titles = constructs.sections()
    found: dict[str, dict[str, str]] = {title: {} for title in titles.values()}
    for made in constructs.constructs():
        code = made.breaks
        text = f"break [{code}](graph-breaks.md#{code.lower()}): {made.why}" if code else "captured"
        found[titles[made.section]][made.name] = text
    return found


# ---- the page, a column of which is ours ----

Tables = dict[str, dict[str, dict[str, str]]]  # by title, row and version


def read() -> Tables:
    """The tables of the page as it stands."""
    tables: Tables = {}
    title = ""
    for line in PAGE.read_text().splitlines() if PAGE.exists() else ():
        if line.startswith("## "):
            title = line[3:].partition(" (")[0]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[1:] != list(VERSIONS):
            row = tables.setdefault(title, {}).setdefault(cells[0].strip("`"), {})
            row.update(zip(VERSIONS, cells[1:]))
    return tables


def updated(tables: Tables) -> Tables:
    """The same with this Python's column as it is now."""
    ours = {"Opcodes": of_opcodes()} | of_constructs()
    for rows in tables.values():
        for row in rows.values():
            row.pop(HERE, None)
    for title, rows in ours.items():
        for name, text in rows.items():
            tables.setdefault(title, {}).setdefault(name, {})[HERE] = text
    empty = {"", "-"}
    kept = {
        title: {name: row for name, row in rows.items() if set(row.values()) - empty}
        for title, rows in tables.items()
    }
    return {title: rows for title, rows in kept.items() if rows}


def page(tables: Tables) -> str:
    """The page's text."""
    parts = [HEAD]
    for title in sorted(tables, key=lambda title: (title != "Opcodes", title)):
        rows = tables[title]
        names = sorted(rows) if title == "Opcodes" else list(rows)
        parts.append(f"## {title} ({len(rows)})\n\n")
        parts.append(f"| | {' | '.join(VERSIONS)} |\n|---|---|---|---|\n")
        for name in names:
            shown = f"`{name}`" if title == "Opcodes" else name
            cells = " | ".join(rows[name].get(version, "-") for version in VERSIONS)
            parts.append(f"| {shown} | {cells} |\n")
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def main() -> int:
    warnings.simplefilter("ignore")
    text = page(updated(read()))
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
