"""Writes docs/graph-breaks.md from csrc/capture/breaks.def and docs/break_examples.py.

python docs/make_graph_breaks.py           writes the page
python docs/make_graph_breaks.py --check   exit status 1 when the page is not up to date
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "graph-breaks.md"

HEAD = """\
# Graph breaks

<!-- Made by `python docs/make_graph_breaks.py` from csrc/capture/breaks.def: do not edit. -->

A graph break is where pycompile stops following a function. What came before runs as compiled code, the operation itself
runs in Python as it always did, and capture begins again behind it. Nothing is wrong with a program that has breaks; it
is only slower than it could be. `PYCOMPILE_LOGS=graph_breaks` and `pycompile.explain(f)(...)` show each break with its
code, file and line; `fullgraph=True` makes the first one an error. Codes are stable.

"""

ROW = re.compile(
    r'^(BREAK|HINT)\("(PC\d{4})",\s*(\w+),\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)"\)', re.M
)


def rows(macro: str) -> list[tuple[str, str, str, str]]:
    """The rows of breaks.def, in order: (code, name, text, hint) of a BREAK, (code, name, where,
    hint) of a HINT."""
    source = (ROOT / "csrc" / "capture" / "breaks.def").read_text()
    unquote = lambda text: text.replace('\\"', '"').replace("\\\\", "\\")
    found = [tuple(map(unquote, row[1:])) for row in ROW.findall(source) if row[0] == macro]
    if len(found) != len(re.findall(rf"^{macro}\(", source, re.M)):
        raise SystemExit(f"a row of breaks.def is not of the form {macro}(code, name, text, hint)")
    return found


def examples() -> dict[str, tuple[str, bool]]:
    """By code: the example's source and True, or the reason why there is none and False."""
    source = (ROOT / "docs" / "break_examples.py").read_text()
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    table = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "EXAMPLES"
    )
    found = {}
    for key, value in zip(table.keys, table.values):
        if isinstance(value, ast.Constant):
            found[key.value] = value.value, False
        else:
            function = functions[value.elts[0].id]
            found[key.value] = ast.get_source_segment(source, function), True
    return found


def page() -> str:
    """The page's text."""
    known = examples()
    parts = [HEAD, "| code | what |\n|---|---|\n"]
    codes = rows("BREAK")
    parts.extend(f"| [{code}](#{code.lower()}) | {text} |\n" for code, _, text, _ in codes)
    for code, _, text, hint in codes:
        parts.append(f"\n## {code}\n\n{text[0].upper()}{text[1:]}.\n")
        if hint:
            parts.append(f"\nWhat to do: {hint}\n")
        for of, _, where, special in rows("HINT"):
            if of == code:
                parts.append(f"\nWhere {where}: {special}\n")
        text, is_code = known.get(code, ("not yet", False))
        parts.append(f"\n```python\n{text}\n```\n" if is_code else f"\nNo example: {text}.\n")
    return "".join(parts)


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
