"""Pieces of HTML that the page of a trace (_report.py) and explain's reports in a notebook share.

Every text of the program's goes through `esc`.  Nothing is loaded from anywhere.
"""

from __future__ import annotations

import ast
import dataclasses
import html
import operator
import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pycompile import _explain_text as text
from pycompile._trace_read import Sources

if TYPE_CHECKING:
    from pycompile._explain import Explanation

Record = dict[str, Any]
Lengths = Mapping[str, float]  # by the name of a symbol
Ranges = Mapping[str, tuple[int, int]]  # the least and the most of each

# Colours are half transparent or inherited where a notebook's own theme may be dark or light.
STYLE = """
.pycompile{--grey:#80808026;--line:#80808059;--soft:#808080;--accent:#3b7dd8;--warm:#d9822b;--bad:#cf4a3c;
--good:#2f9e62;line-height:1.5}
.pycompile code,.pycompile pre{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.pycompile code{background:var(--grey);border-radius:4px;padding:.1em .3em;overflow-wrap:anywhere}
.pycompile pre{background:var(--grey);border-radius:6px;padding:.6em .8em;margin:.4em 0;overflow:auto;
max-height:30em;color:inherit}
.pycompile pre code{background:none;padding:0;overflow-wrap:normal}
.pycompile details{border:1px solid var(--line);border-radius:6px;margin:.4em 0;padding:.35em .7em}
.pycompile details details{border-width:0 0 0 2px;border-radius:0}
.pycompile summary{cursor:pointer;overflow-wrap:anywhere}
.pycompile .soft{color:var(--soft)}
.pycompile .hint{border-left:3px solid var(--good);padding-left:.6em;margin:.3em 0}
.pycompile .card{border:1px solid var(--line);border-left:4px solid var(--warm);border-radius:6px;
padding:.5em .9em;margin:.6em 0}
.pycompile .card p{margin:.25em 0}
.pycompile mark{background:#d9822b40;color:inherit;display:inline-block;min-width:100%}
.pycompile .beside{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:.8em}
.pycompile .wide{overflow-x:auto}
.pycompile table{border-collapse:collapse;width:100%;font-size:.95em}
.pycompile th,.pycompile td{text-align:left;vertical-align:top;padding:.35em .6em;
border-bottom:1px solid var(--line)}
.pycompile td.w{width:99%;max-width:0}
.pycompile td.n,.pycompile th.n{text-align:right;white-space:nowrap}
.pycompile svg text{font:12px system-ui,sans-serif;fill:currentColor}
@media(max-width:800px){.pycompile .beside{grid-template-columns:minmax(0,1fr)}
.pycompile table,.pycompile tbody,.pycompile tr,.pycompile td{display:block}.pycompile th{display:none}
.pycompile td{border:0;padding:.1em 0}.pycompile td.w{width:auto;max-width:none}
.pycompile tr{border-bottom:1px solid var(--line);padding:.4em 0}
.pycompile td.n{text-align:left}
.pycompile td.n::before{content:attr(data-head) ": ";color:var(--soft)}}
"""


def esc(value: object) -> str:
    return html.escape(str(value))


def code(value: object) -> str:
    return f"<code>{esc(value)}</code>"


def pre(value: str) -> str:
    return f"<pre><code>{esc(value)}</code></pre>"


def folded(title: str, body: str, unfolded: bool = False) -> str:
    """`title` and `body` are HTML."""
    return (
        f"<details{' open' if unfolded else ''}><summary>{title}</summary>{body}</details>"
        if body
        else ""
    )


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A head that ends in "#" is of a column of numbers.  Cells are HTML."""
    names = [head.rstrip("#") for head in heads]
    kinds = [' class="n"' if head.endswith("#") else "" for head in heads]
    if kinds[-1]:
        kinds[0] = ' class="w"'
    top = "".join(f"<th{kind}>{esc(name)}</th>" for kind, name in zip(kinds, names))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{kind} data-head="{esc(name)}">{cell}</td>'
            for kind, name, cell in zip(kinds, names, row)
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def place(file: str, line: int) -> str:
    return f'<span class="soft" title="{esc(file)}">{esc(os.path.basename(file))}:{line}</span>'


def source_line(sources: Sources, file: str, line: int) -> str:
    """One line of the program; empty where it is not known."""
    found = sources.line(file, line)
    return f"<pre><code>{line}  {esc(found)}</code></pre>" if found else ""


def source_lines(sources: Sources, file: str, marked: set[int], around: int = 2) -> str:
    """The lines around the marked ones."""
    lines = sources.lines(file)
    shown: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if any(abs(number - mark) <= around for mark in marked):
            if shown and shown[-1][0] < number - 1:
                shown.append((number - 1, '<span class="soft">  ...</span>'))
            told = f"{number:4}  {esc(line)}"
            shown.append((number, f"<mark>{told}</mark>" if number in marked else told))
    return f"<pre><code>{chr(10).join(line for _, line in shown)}</code></pre>" if shown else ""


# ---- kernels ----

HEAD = re.compile(r"^(?:kernel|product) (k\d+)[, ].*$", re.MULTILINE)
TOUCHED = re.compile(r"\b(load|to|at) b(\d+)")
PLACE = re.compile(r"/\* (.+?):(\d+) [^*\n]*\*/")


@dataclasses.dataclass
class Kernel:
    name: str
    head: str
    text: str  # in C or CUDA; "" where it is a library's
    read: int  # bytes of the arrays that it reads, each once
    written: int
    lines: frozenset[tuple[str, int]]  # of the program

    @property
    def moved(self) -> int:
        return self.read + self.written


OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _evaluated(node: ast.AST, lengths: Lengths) -> float:
    """An expression of lengths, as the graph writes it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return lengths[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_evaluated(node.operand, lengths)
    if isinstance(node, ast.BinOp):
        left, right = (_evaluated(side, lengths) for side in (node.left, node.right))
        return OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return {"min": min, "max": max}[node.func.id](_evaluated(n, lengths) for n in node.args)
    raise ValueError(ast.dump(node))


def _bytes(expression: str, lengths: Lengths) -> int:
    """0: the text is damaged."""
    try:
        return round(_evaluated(ast.parse(expression, mode="eval").body, lengths))
    except (SyntaxError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return 0


def seen_lengths(record: Record) -> Lengths:
    """The symbols' values in the call for which the plan was made."""
    return {symbol["name"]: symbol["value"] for symbol in record.get("symbols") or ()}


def _function_text(source: list[str], name: str) -> str:
    """The C function, with its variants (`k0_bounded`); from the line of its type to its last "}"."""
    begins, found = re.compile(rf"^\S.*\b{name}(_\w+)?\(|^{name}(_\w+)?\("), []
    for number, line in enumerate(source):
        if not begins.match(line) or line.endswith(";"):
            continue
        first = number - (number > 0 and line.startswith(name))
        try:
            found.append("\n".join(source[first : source.index("}", number) + 1]))
        except ValueError:
            pass  # a text that was cut
    return "\n\n".join(found)


def kernels(record: Record, lengths: Lengths | None = None) -> tuple[Kernel, ...]:
    """Those of the record's plan, with the bytes that they move where the symbols have these values."""
    if not text.kernel_count(record):
        return ()
    lengths = {**seen_lengths(record), **(lengths or {})}
    sizes = tuple(_bytes(each, lengths) for each in record.get("buffers") or ())
    parts = (record.get(key) or "" for key in ("schedule", "source", "file"))
    return _kernels(*parts, sizes)


@lru_cache(4096)
def _kernels(schedule: str, source: str, file: str, sizes: tuple[int, ...]) -> tuple[Kernel, ...]:
    found, lines_of_source = [], source.splitlines()

    def bytes_of(touched: set[tuple[bool, int]], loads: bool) -> int:
        return sum(sizes[b] for way, b in touched if way == loads and b < len(sizes))

    for head in HEAD.finditer(schedule):
        body = re.split(r"\n(?=\S)", schedule[head.end() :], maxsplit=1)[0]
        touched = {(way == "load", int(number)) for way, number in TOUCHED.findall(body)}
        function = _function_text(lines_of_source, head[1])
        lines = {(name, int(line)) for name, line in PLACE.findall(function)}
        lines = lines or {(file, int(line)) for line in re.findall(r"# line (\d+)", body)}
        read, written = bytes_of(touched, True), bytes_of(touched, False)
        found.append(Kernel(head[1], head[0], function, read, written, frozenset(lines)))
    return tuple(found)


def kernel(item: Kernel, sources: Sources) -> str:
    """The program's lines beside the C function."""
    by_file: dict[str, set[int]] = {}
    for file, line in item.lines:
        by_file.setdefault(file, set()).add(line)
    mine = "".join(
        place(file, min(lines)) + source_lines(sources, file, lines)
        for file, lines in sorted(by_file.items())
    )
    short = PLACE.sub(lambda m: f"/* line {m[2]} */", item.text)
    theirs = pre(short) if short else "<p>a function of a library</p>"
    moved = f", about {text.size(item.moved)} moved in a run" if item.moved else ""
    return folded(
        f"{code(item.name)}{moved}",
        f'<div class="beside"><div><b>your lines</b><br>{mine}</div>'
        f"<div><b>what runs for them</b>{theirs}</div></div>",
    )


# ---- graphs ----

NODE = re.compile(r"^( *)%(\d+): (\S+) = ([\w.]+)\((.*?)\)?( \{)?(?:  # (.*):(\d+))?$")
MOST_DRAWN, WIDE, HIGH, GAP = 90, 150, 40, 26
# What is behind the page: edges must not be seen through boxes.
BEHIND = "var(--paper,var(--jp-layout-color0,var(--vscode-editor-background,Canvas)))"


@dataclasses.dataclass
class Node:
    number: int
    type: str
    op: str
    args: list[int]
    line: str
    told: str  # the whole line
    inside: int = 0  # operations of its regions
    level: int = 0
    column: int = 0


def _nodes(graph: str) -> tuple[list[Node], set[int]]:
    """The nodes of the outermost level but for constants, and the numbers of the outputs."""
    found: list[Node] = []
    outputs: set[int] = set()
    for line in graph.splitlines():
        match = NODE.match(line)
        if match is None:
            if line.startswith("outputs "):
                outputs = {int(number) for number in re.findall(r"%(\d+)", line)}
            elif found and line.startswith(" "):
                found[-1].args += [int(number) for number in re.findall(r"%(\d+)", line)]
        elif match[1]:
            if found:
                found[-1].inside += match[4] not in ("const", "result")
                found[-1].args += [int(number) for number in re.findall(r"%(\d+)", match[5])]
        elif match[4] != "const":
            args = [int(number) for number in re.findall(r"%(\d+)", match[5])]
            found.append(Node(int(match[2]), match[3], match[4], args, match[8] or "", line))
    return found, outputs


def graph_svg(graph: str) -> str:
    """Operations as boxes, from the inputs at the top to the results; empty where it is too large."""
    nodes, outputs = _nodes(graph)
    by_number = {node.number: node for node in nodes}
    if not 0 < len(nodes) <= MOST_DRAWN:
        return ""
    for node in nodes:
        node.args = [n for n in dict.fromkeys(node.args) if n in by_number and n != node.number]
        node.level = 1 + max((by_number[n].level for n in node.args if n < node.number), default=-1)
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        if node.op == "input":  # right above its first use
            uses = [other.level for other in nodes if node.number in other.args]
            node.level = max(min(uses, default=1) - 1, 0)
    for node in nodes:
        rows.setdefault(node.level, []).append(node)
    most = max(map(len, rows.values()))
    drawn, edges = [], []
    for level, row in sorted(rows.items()):
        row.sort(key=lambda node: _mean([by_number[n].column for n in node.args]))
        for position, node in enumerate(row):
            node.column = int((WIDE + GAP) * (position + (most - len(row)) / 2)) + 4
            drawn.append(_box(node, level * (HIGH + GAP) + 4, node.number in outputs))
    for node in nodes:
        for number in node.args:
            start = by_number[number]
            x, y = start.column + WIDE // 2, start.level * (HIGH + GAP) + HIGH + 4
            u, v = node.column + WIDE // 2, node.level * (HIGH + GAP) + 4
            bend = max((v - y) // 2, 12)
            edges.append(f'<path d="M{x} {y}C{x} {y + bend} {u} {v - bend} {u} {v}"/>')
    width, height = most * (WIDE + GAP), (max(rows) + 1) * (HIGH + GAP)
    return (
        f'<div class="wide"><svg width="{width}" height="{height}" role="img" '
        f'aria-label="the graph, {len(nodes)} operations">'
        f'<g fill="none" stroke="currentColor" stroke-opacity=".45">{"".join(edges)}</g>'
        f"{''.join(drawn)}</svg></div>"
    )


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _box(node: Node, y: int, output: bool) -> str:
    colour = "var(--soft)" if node.op == "input" else "var(--good)" if output else "var(--accent)"
    inside = f" ({node.inside} inside)" if node.inside else ""
    where = f" · line {node.line}" if node.line else ""
    named = re.search(r"object=([\w.]+)", node.told)
    name = named[1] if named and node.op in ("ufunc", "call") else node.op
    title = _cut(f"{name}{inside}", 20)
    shape = re.sub(r"\w+=", "", node.type.split("{")[0])  # sizes that are open, as they were
    under = _cut(shape + where, 24)
    x = node.column + WIDE // 2
    place = f'x="{node.column}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6"'
    return (
        f"<g><title>{esc(node.told)}</title>"
        f'<rect {place} fill="{BEHIND}"/>'
        f'<rect {place} fill="{colour}" fill-opacity=".18" stroke="{colour}"/>'
        f'<text x="{x}" y="{y + 17}" text-anchor="middle" font-weight="600">{esc(title)}</text>'
        f'<text x="{x}" y="{y + 32}" text-anchor="middle" opacity=".75">{esc(under)}</text></g>'
    )


def _cut(string: str, most: int) -> str:
    return string if len(string) <= most else string[: most - 1] + "…"


def graph(record: Record) -> str:
    """Drawn, and as text."""
    told = record.get("graph") or ""
    if not told:
        return ""
    drawn = graph_svg(told) or "<p>Too large to draw.</p>"
    return folded("graph: the operations that were found", drawn + folded("as text", pre(told)))


# ---- breaks and compiles ----


def graph_break(
    item: Record, sources: Sources, times: str = "", hinted: dict[str, str] | None = None
) -> str:
    """Where it is, in the program's words, why, and what to do.  `hinted`: hints that were given, and
    where; each is given once."""
    inner = [frame for frame in item["frames"] if not text.is_library(frame[0])]
    file, line = inner[0][:2] if inner else (item["file"], item["line"])
    via = ""
    if (file, line) != (item["file"], item["line"]):
        via = f'<p class="soft">which leads to {place(item["file"], item["line"])}</p>'
    told = text.hint(item, {} if hinted is None else hinted)
    hint = "".join(f'<p class="hint">{esc(line.removeprefix("hint: "))}</p>' for line in told)
    return (
        f'<div class="card"><p><b>{esc(text.reason(item))}</b> {place(file, line)} '
        f'<span class="soft">{esc(item["code"])}{times}</span></p>'
        f"{source_line(sources, file, line)}{via}{hint}</div>"
    )


OUTCOMES = {
    "plan": "compiled",
    "none": "left to Python",
    "failed": "left to Python",
    "postponed": "put off",
}


def symbols(record: Record, met: Ranges) -> str:
    """The lengths for which the code serves every value, and what they were; folded."""
    items = []
    for symbol in record.get("symbols") or ():
        name = symbol["name"]
        if symbol["of"]:
            what = f"{code(name)} is {', '.join(map(code, symbol['of']))}"
        else:
            what = f"{code(name)} comes out of the data while it runs"
        least, most = met.get(name, (symbol["value"], symbol["value"]))
        was = f"{symbol['value']} when the code was made"
        if name in met:
            was += f", {least} to {most} in its runs" if least < most else f", {least} in its runs"
        bound = f", has to be {symbol['least']} or more" if symbol["least"] > 1 else ""
        items.append(f"<li>{what}: it was {was}{bound}</li>")
    told = f"<ul>{''.join(items)}</ul>" if items else ""
    title = f"{text.plural(len(items), 'length')} for which it serves every value"
    if record.get("fixed"):
        others = "Other lengths" if items else "Lengths"
        told += f"<p>{others} have to be as they were, for {esc(record['fixed'])}.</p>"
    return folded(title if items else "no length may vary", told, True)


GUARD = re.compile(r"^(.*) \((\S+:\d+)\)$", re.DOTALL)


def _guard(told: str, file: str, sources: Sources) -> str:
    """What has to be so, and the line that asks for it."""
    match = GUARD.match(told)
    if match is None:
        return f"<li>{code(told)}</li>"
    asks, line = sources.file_of(match[2], file)
    found = sources.line(asks, line)
    why = f' <span class="soft">for {esc(match[2])}{": " if found else ""}{esc(found)}</span>'
    return f"<li>{code(match[1])}{why}</li>"


def attempt(
    record: Record,
    sources: Sources,
    title: str,
    hinted: dict[str, str] | None = None,
    met: Ranges | None = None,
) -> str:
    """One attempt to compile, folded: what it relies on, what was found, what runs for it."""
    body = []
    if record.get("recompile"):
        body.append(f"<p>Compiled again because {esc(record['recompile'])}</p>")
    body += [graph_break(item, sources, "", hinted) for item in record.get("breaks") or ()]
    body.append(symbols(record, met or {}))
    guards = record.get("guards") or []
    shown = "".join(_guard(guard, record.get("file") or "", sources) for guard in guards)
    body.append(
        folded(f"{text.plural(len(guards), 'guard')}: what has to be so", f"<ul>{shown}</ul>")
        if guards
        else ""
    )
    body.append(graph(record))
    made = kernels(record)
    pieces = "".join(kernel(item, sources) for item in made)
    body.append(folded(f"{text.plural(len(made), 'kernel')}: the code that runs", pieces))
    if record.get("schedule"):
        body.append(folded("schedule", pre(record["schedule"])))
    spent = record.get("seconds") or {}
    if spent:
        told = ", ".join(f"{name} {text.seconds(value)}" for name, value in spent.items())
        body.append(f'<p class="soft">time: {esc(told)}</p>')
    return folded(title, "".join(body) or "<p>Nothing more is known.</p>")


def explanation(found: Explanation) -> str:
    """The summary and the breaks in the user's files; what is in libraries, and the attempts, folded."""
    sources = Sources()
    lines = [line.strip() for line in text.head(found)]
    breaks = text.found_breaks(found)
    mine = [item for item in breaks if not text.is_library(item["user"][0])]
    library = [item for item in breaks if text.is_library(item["user"][0])]
    parts = [f"<p><b>{esc(lines[0])}</b><br>{'<br>'.join(map(esc, lines[1:]))}</p>"]
    for row in text.functions(found):
        parts += [f"<p>{esc(row['function'])}: {esc(why)}</p>" for why in text.reasons(row)]
    hinted: dict[str, str] = {}
    parts += [graph_break(item, sources, "", hinted) for item in mine]
    told = "".join(graph_break(item, sources, "", hinted) for item in library)
    parts.append(folded(f"{text.plural(len(library), 'break')} in libraries", told))
    for number, record in enumerate(found.records, 1):
        title = text.describe(number, record, {})[0]
        parts.append(attempt(record, sources, esc(title), hinted))
    return f'<div class="pycompile"><style>{STYLE}</style>{"".join(parts)}</div>'
