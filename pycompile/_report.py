"""`python -m pycompile report DIR`: the page that shows what PYCOMPILE_TRACE has written.

One file that needs nothing else.  It begins with what a reader who has never seen a compiler wants to
know: was it fast, what got in the way, what to change.  The pieces are those of _html.py.
"""

from __future__ import annotations

import time
from typing import Any

from pycompile import _explain_text as text
from pycompile._html import (
    STYLE,
    attempt,
    code,
    esc,
    folded,
    graph_break,
    kernels,
    place,
    source_line,
    source_lines,
    table,
)
from pycompile._trace_functions import (
    Function,
    breaks,
    causes,
    functions,
    lengths_met,
    movers,
    serves_all,
    spent,
    times_left,
    values,
    where,
    windows,
)
from pycompile._trace_read import Sources, Trace

Record = dict[str, Any]

MOST_LANES, MOST_ADVICE, MOST_KERNELS, MOST_ATTEMPTS = 40, 12, 30, 24
CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2330}
@media(prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#dde3ec}}
*{box-sizing:border-box}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;margin:0}
main{max-width:1180px;margin:0 auto;padding:1.2em}
h1{font-size:1.5em;margin:.2em 0;overflow-wrap:anywhere}h2{font-size:1.2em;margin:1.8em 0 .4em}
h3{font-size:1em;margin:1em 0 .3em}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.6em;margin:1em 0}
.facts div{background:var(--grey);border-radius:8px;padding:.6em .9em}
.facts b{display:block;font-size:1.35em}
.lane{display:grid;grid-template-columns:210px minmax(0,1fr);gap:.6em;align-items:center;margin:3px 0}
.lane>span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:.9em}
.track{position:relative;height:20px;background:var(--grey);border-radius:4px;overflow:hidden}
.track i{position:absolute;top:0;bottom:0;min-width:2px;background:var(--accent)}
.track i.c{background:var(--warm);min-width:3px}.track i.r{background:var(--bad);min-width:3px}
.axis{display:flex;justify-content:space-between;color:var(--soft);font-size:.8em}
.key i{display:inline-block;width:.9em;height:.9em;border-radius:3px;margin:0 .3em 0 1em}
.share{background:var(--grey);border-radius:3px;height:.6em;min-width:60px}
.share i{display:block;height:100%;border-radius:3px;background:var(--accent)}
@media(max-width:700px){.lane{grid-template-columns:minmax(0,1fr);gap:0}main{padding:.8em}}
"""
WORDS = (
    ("compile", "to make native code (the kind the processor runs directly) from a function"),
    ("graph", "the list of array operations that the compiler found in the function"),
    ("kernel", "one loop of native code that does several of these operations at once"),
    ("guard", "something that has to be as it was, such as a shape, for the code to be used"),
    ("compiled again", "no code was made for what a guard found, so it was made anew"),
    ("break", "a place that cannot be compiled: Python runs it, and native code goes on behind it"),
    (
        "symbol",
        "a length that the code takes as it comes, so that one serves every length; in a graph it is "
        "called d0_1 (the length of axis 1 of what %0 stands for)",
    ),
    ("undone", "a run was given up before it had changed anything, and Python ran it instead"),
    ("plan", "the code for one case, with its guards"),
)


def listed(items: list[str], most: int = 6) -> str:
    return ", ".join(map(code, items[:most])) + (" and more" if len(items) > most else "")


# ---- what to change ----


def advice(rows: list[Function], sources: Sources) -> list[tuple[float, str]]:
    """What cost most, with the weight by which it is ordered; HTML."""
    found = [
        (sum(map(spent, row.again)) + (0.1 if row.given_up else 0.0), recompiled(row, sources))
        for row in rows
        if row.again
    ]
    places: dict[tuple[str, int], list[tuple[Function, Record]]] = {}
    for row in rows:
        for item in breaks(row):
            if not item["idle"] and not text.is_library(item["user"][0]):
                places.setdefault(item["user"][:2], []).append((row, item))
    found += [broken(line, items, sources) for (_, line), items in places.items()]
    found += [(1e-4 * row.undone, undone(row)) for row in rows if row.undone]
    return sorted(found, key=lambda each: -each[0])


def recompiled(row: Function, sources: Sources) -> str:
    """Why a function was compiled more than once."""
    parts, given = [first_times(row)], {""}
    for guard, records in causes(row):
        file, line = where(records[-1], sources)
        remedy = (records[-1].get("cause") or {}).get("remedy") or ""
        if all(serves_all(record, guard) for record in records):
            remedy = ""  # it has been done
        hint = f'<p class="hint">{esc(remedy)}</p>' if remedy not in given else ""
        given.add(remedy)
        parts.append(
            f"<p>{text.plural(len(records), 'time')} because {had_changed(guard, records)}. "
            f"{place(file, line)}</p>{source_line(sources, file, line)}"
            f"{afterwards(guard, records)}{hint}"
        )
    if row.given_up:
        parts.append("<p>Then no more was made: Python runs it where none of the code fits.</p>")
    return (
        f"<h3>{code(row.name)} was compiled {text.plural(len(row.plans), 'time')}, "
        f"{len(row.again)} of them since the code that was there did not fit</h3>"
        f'<div class="card">{"".join(parts)}</div>'
    )


def first_times(row: Function) -> str:
    """The compiles for which there was no earlier code."""
    lines = [record["line"] for record in row.plans if not record.get("recompile")]
    count = len(lines)
    if count < 2:
        return ""
    shown = ", ".join(map(str, sorted(lines)))
    return (
        f"<p>{text.plural(count, 'time')} because breaks, below, cut it into {count} pieces, each "
        f"with code of its own: they begin in lines {shown}.</p>"
    )


def had_changed(guard: str, records: list[Record]) -> str:
    seen = values(records)
    if not seen:  # the guard is a sentence
        return f"this did not hold any more: {code(guard)}"
    return f"{code(guard)} had changed: it was {listed(seen)}"


def afterwards(guard: str, records: list[Record]) -> str:
    """Of a length: whether the code that was made serves all lengths."""
    last = records[-1]
    if serves_all(last, guard):
        rest = ": here nothing has to change" if all(serves_all(r, guard) for r in records) else ""
        return f'<p class="soft">The code that was made then serves every {code(guard)}{rest}.</p>'
    if ".shape[" in guard and last.get("fixed"):
        return (
            f'<p class="soft">Each {code(guard)} needs code of its own, for '
            f"{esc(last['fixed'])}.</p>"
        )
    return ""


def broken(line: int, items: list[tuple[Function, Record]], sources: Sources) -> tuple[float, str]:
    """The breaks of one line, in whatever functions it was met."""
    times = sum({row.name: times_left(row, item) for row, item in items}.values())
    told = f" · left native code {text.plural(times, 'time')}" if times else ""
    names = listed(list(dict.fromkeys(row.name for row, _ in items)))
    shown = {item["detail"]: graph_break(item, sources, told) for _, item in items}
    weight = 1e-6 * times + 1e-3 * sum(item["captures"] for _, item in items)
    return weight, f"<h3>Line {line} stops the compiler, in {names}</h3>{''.join(shown.values())}"


def undone(row: Function) -> str:
    why = row.whys[-1] if row.whys else "what it met was not foreseen"
    return (
        f"<h3>{code(row.name)}: {text.plural(row.undone, 'run')} of native code undone</h3>"
        f'<div class="card"><p>Python ran these instead. The reason: {esc(why)}</p></div>'
    )


# ---- sections ----


def facts(trace: Trace, rows: list[Function]) -> str:
    made = [record for row in rows for record in row.made]
    compiling = sum(row.compiling for row in rows)
    again = sum(len(row.again) for row in rows)
    runs, undone = sum(row.runs for row in rows), sum(row.undone for row in rows)
    found = sum(len(breaks(row)) for row in rows)
    cached = sum(record.get("code") in ("memory", "disk") for record in made)

    def counted(number: int, noun: str, rest: str) -> tuple[str, str]:
        shown, _, noun = text.plural(number, noun).partition(" ")
        return shown, f"{noun} {rest}"

    cells = (
        counted(len(rows), "function", "looked at"),
        (
            f"{sum(len(row.plans) for row in rows)} of {len(made)}",
            f"attempts to compile gave native code, {cached} from the cache",
        ),
        (text.seconds(compiling), "spent on that"),
        counted(again, "time", "compiled again"),
        counted(found, "place", "where native code is left"),
        counted(runs - undone, "run", "of native code"),
        (text.seconds(sum(row.seconds for row in rows)), "in native code"),
    )
    return f'<div class="facts">{"".join(f"<div><b>{n}</b>{esc(t)}</div>" for n, t in cells)}</div>'


def verdict(rows: list[Function], found: list[tuple[float, str]]) -> str:
    """One or two sentences."""
    compiling, running = sum(row.compiling for row in rows), sum(row.seconds for row in rows)
    if not rows:
        return "<p>No function was compiled while the program ran.</p>"
    lines = [
        f"The program spent {text.seconds(running)} in native code and "
        f"{text.seconds(compiling)} making it."
    ]
    if compiling > running:
        lines.append("Making it took longer than running it: that pays in longer programs only.")
    if not found:
        lines.append("Nothing has to change: no function was compiled twice, and none breaks.")
    return f"<p>{' '.join(lines)}</p>"


def timeline(trace: Trace, rows: list[Function]) -> str:
    """A lane for each function of each process."""
    ends: list[float] = [event["time"] for p in trace.processes for event in p.events]
    starts: list[float] = [event["from"] for event in trace.of("compile") + trace.of("runs")]
    starts += ends
    if not starts:
        return ""
    first, last = min(starts), max(ends)
    whole = max(last - first, 1e-6)

    def bar(kind: str, start: float, end: float, title: str, opacity: float = 1.0) -> str:
        return (
            f'<i class="{kind}" style="left:{100 * (start - first) / whole:.3f}%;'
            f'width:{100 * max(end - start, 0) / whole:.3f}%;opacity:{opacity:.2f}" '
            f'title="{esc(title)}"></i>'
        )

    lanes = []
    for process in trace.processes:
        mine, own = [], set(map(id, process.events))
        for row in rows:
            bars = []
            for owner, window in row.windows:
                if owner is process:
                    length = max(window["time"] - window["from"], 1e-9)
                    told = (
                        f"{text.plural(window['runs'], 'run')}, {text.seconds(window['seconds'])}"
                    )
                    busy = min(max(window["seconds"] / length, 0.25), 1.0)
                    bars.append(bar("", window["from"], window["time"], told, busy))
            for record in row.attempts:
                if id(record) in own:
                    kind = "r" if record.get("recompile") else "c"
                    told = f"{'compiled again' if kind == 'r' else 'compiled'}, {text.seconds(spent(record))}"
                    bars.append(bar(kind, record["from"], record["time"], told))
            if bars:
                name = f'<span title="{esc(row.file)}:{row.line}">{esc(row.name)}</span>'
                mine.append(
                    f'<div class="lane">{name}<div class="track">{"".join(bars)}</div></div>'
                )
        if mine and len(trace.processes) > 1:
            lanes.append(f"<h3>process {process.pid}</h3>")
        lanes += mine[:MOST_LANES]
        if len(mine) > MOST_LANES:
            lanes.append(f'<p class="soft">and {len(mine) - MOST_LANES} more functions</p>')
    ticks = "".join(f"<span>{text.seconds(whole * k / 4)}</span>" for k in range(5))
    key = (
        '<p class="key soft"><i style="background:var(--warm)"></i>compiled'
        '<i style="background:var(--bad)"></i>compiled again'
        '<i style="background:var(--accent)"></i>native code runs (the paler, the less of the time)'
        "</p>"
    )
    return (
        f'{key}{"".join(lanes)}<div class="lane"><span></span><div class="axis">{ticks}</div></div>'
    )


def followed(row: Function, sources: Sources) -> list[tuple[str, str, int]]:
    """Functions whose code became part of this one's graphs."""
    found: dict[tuple[str, str], int] = {}
    for record in row.made:
        for item in kernels(record):
            for file, line in sorted(item.lines):
                name = sources.function_at(file, line)
                if name and (file, name) != (row.file, row.name):
                    found.setdefault((file, name), line)
    return [(name, file, line) for (file, name), line in found.items()]


def function(row: Function, sources: Sources) -> str:
    """A function of the tree, folded."""
    counts = [f"compiled {text.plural(len(row.plans), 'time')}" if row.plans else "not compiled"]
    vain = len(row.made) - len(row.plans)
    if vain:
        counts.append(f"{text.plural(vain, 'attempt')} in vain")
    counts[-1] += f" in {text.seconds(row.compiling)}"
    counts.append(
        f"{text.plural(row.runs, 'run')} in {text.seconds(row.seconds)}"
        if row.runs
        else "never run"
    )
    met = breaks(row)
    if met:
        counts.append(text.plural(len(met), "break"))
    if row.undone:
        counts.append(f"{row.undone} undone")
    title = f"{code(row.name)} {place(row.file, row.line)}: {esc(', '.join(counts))}"
    body = []
    inner = followed(row, sources)
    if inner:
        items = "".join(f"<li>{code(name)} {place(file, line)}</li>" for name, file, line in inner)
        body.append(f"<p>These functions, which it calls, became part of it:</p><ul>{items}</ul>")
    for event in row.given_up:
        body.append(f'<div class="card"><p>{esc(event["text"])}</p></div>')
    of_plan = windows(row)
    for number, record in enumerate(row.attempts[:MOST_ATTEMPTS], 1):
        outcome = {
            "plan": "compiled",
            "none": f"left to Python: {record.get('why') or text.NOT_WORTH}",
            "failed": f"left to Python: {record.get('why') or 'it could not be compiled'}",
            "postponed": record.get("why") or "put off: it does not pay yet",
        }.get(record["kind"], record["kind"])
        from_cache = " (code from the cache)" if record.get("code") in ("memory", "disk") else ""
        again = f" again, since {record['recompile']}" if record.get("recompile") else ""
        if record.get("twin_of"):
            again = " for the lengths at which it runs most"
        name = f"{number}. {outcome}{from_cache}, line {record['line']}, {text.seconds(spent(record))}{again}"
        lengths = lengths_met(of_plan.get(id(record), []))
        body.append(attempt(record, sources, esc(name), met=lengths))
    if len(row.attempts) > MOST_ATTEMPTS:
        more = text.plural(len(row.attempts) - MOST_ATTEMPTS, "more attempt")
        body.append(f'<p class="soft">and {more}</p>')
    return folded(title, "".join(body))


def tree(rows: list[Function], sources: Sources) -> str:
    files: dict[str, list[Function]] = {}
    for row in rows:
        files.setdefault(row.file, []).append(row)
    parts = []
    for file, inside in files.items():
        shown = "".join(function(row, sources) for row in inside)
        mine = not text.is_library(file)
        of_library = "" if mine else " <span class='soft'>(a library)</span>"
        count = text.plural(len(inside), "function")
        parts.append(folded(f"<b>{esc(file)}</b>{of_library}, {count}", shown, mine))
    return "".join(parts)


def change(record: Record) -> str:
    """What had changed, in short."""
    cause = record.get("cause") or {}
    if cause.get("old") and cause.get("new"):
        return f"{code(cause['old'])} → {code(cause['new'])}"
    return esc(record["recompile"])


def recompiles(rows: list[Function], sources: Sources) -> str:
    """A row for each guard, with each time that it failed."""
    cells = []
    for row in rows:
        for guard, records in causes(row):
            file, line = where(records[-1], sources)
            each = "".join(
                f"<li>{change(record)}, line {record['line']} on, {text.seconds(spent(record))}, "
                f"code from the {esc(record.get('code', 'compiler: none'))}</li>"
                for record in records
            )
            cells.append(
                [
                    f"{code(row.name)} relies on {code(guard)} {place(file, line)}"
                    + source_line(sources, file, line)
                    + folded(
                        f"each of the {text.plural(len(records), 'time')}", f"<ol>{each}</ol>"
                    ),
                    str(len(records)),
                    text.seconds(sum(map(spent, records))),
                ]
            )
    return table(["what had changed", "times#", "took#"], cells) if cells else "<p>Nothing.</p>"


def all_breaks(rows: list[Function], sources: Sources) -> str:
    shown: dict[str, list[str]] = {"": [], "without array work, where nothing has to change": []}
    shown["in libraries"] = []
    for row in rows:
        for item in breaks(row):
            left = times_left(row, item)
            told = f" · in {row.name} · met by {text.plural(item['captures'], 'compile')}"
            told += f" · left native code {text.plural(left, 'time')}" if left else ""
            library = text.is_library(item["user"][0])
            kind = list(shown)[2 if library else 1 if item["idle"] else 0]
            shown[kind].append(graph_break(item, sources, esc(told)))
    parts = shown.pop("")
    for kind, cards in shown.items():
        if cards:
            parts.append(folded(f"{text.plural(len(cards), 'break')} {kind}", "".join(cards)))
    return "".join(parts) or "<p>None.</p>"


def moved(rows: list[Function], bandwidth: float | None, sources: Sources) -> str:
    """The kernels that move most bytes, over all runs."""
    found = movers(rows)
    if not found:
        return "<p>No kernel has run.</p>"
    most = max(mover.bytes for mover in found) or 1
    cells = []
    for mover in found[:MOST_KERNELS]:
        near = f"<br>{100 * mover.speed / bandwidth:.0f} % of memory's" if bandwidth else ""
        share = f'<div class="share"><i style="width:{100 * mover.bytes / most:.0f}%"></i></div>'
        files: dict[str, set[int]] = {}
        for file, line in mover.item.lines:
            files.setdefault(file, set()).add(line)
        lines = "".join(source_lines(sources, file, files[file], 0) for file in sorted(files))
        cells.append(
            [
                f"{code(mover.item.name)} of {code(mover.function)}{share}{lines}",
                str(mover.runs),
                text.size(mover.bytes // mover.runs),
                text.size(mover.bytes),
                f"{mover.speed / 1e9:.1f} GB/s{near}" if mover.speed else "-",
            ]
        )
    known = (
        f"The machine's memory moves about {bandwidth / 1e9:.1f} GB/s, measured when this page was "
        "made or given. Small arrays may be faster, since they stay in the processor's caches."
        if bandwidth
        else "How fast the memory is is not known: make the page on the machine that ran the program, "
        "or give --bandwidth."
    )
    more = len(found) - MOST_KERNELS
    below = f'<p class="soft">and {more} more</p>' if more > 0 else ""
    heads = ["kernel, and your lines", "runs#", "in a run#", "in all#", "speed#"]
    return (
        "<p>Much array code is as fast as memory lets it be, so what moves the most bytes is where "
        f"time goes. The speed is that of all kernels of the plan. {known}</p>"
        f"{table(heads, cells)}{below}"
    )


def settings(trace: Trace) -> str:
    parts = []
    for process in trace.processes:
        begin, end = process.begin, (process.of("end") or [{}])[-1]
        rows = [
            [esc(key), esc(value)]
            for key, value in ({**begin, **end}).items()
            if key not in ("event", "time", "options", "environment") and value is not None
        ]
        for key in ("options", "environment"):
            rows += [[esc(name), code(value)] for name, value in begin.get(key, {}).items()]
        told = f"process {process.pid}" if begin else esc(process.name)
        ended = "" if process.of("end") else " (it did not come to its end, or still runs)"
        program = f": {esc(begin.get('program', '?'))}" if begin else ""
        parts.append(folded(f"{told}{program}{ended}", table(["setting", "value"], rows)))
    return "".join(parts)


def page(trace: Trace, bandwidth: float | None = None) -> str:
    """The whole page.  `bandwidth`: of the machine that ran the program, in bytes a second."""
    sources = Sources({event["file"]: event["text"] for event in trace.of("source")})
    rows = functions(trace)
    found = advice(rows, sources)
    programs = list(dict.fromkeys(p.begin["program"] for p in trace.processes if p.begin))
    name = ", ".join(programs) or trace.folder
    began = min((p.events[0]["time"] for p in trace.processes if p.events), default=0.0)
    try:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(began)) if began else ""
    except (OverflowError, ValueError, OSError):
        when = ""
    hints = list(dict.fromkeys(event["text"] for event in trace.of("hint")))
    glossary = "".join(f"<dt><b>{esc(word)}</b></dt><dd>{esc(what)}</dd>" for word, what in WORDS)
    shown = "".join(each for _, each in found[:MOST_ADVICE])
    if len(found) > MOST_ADVICE:
        shown += f'<p class="soft">and {len(found) - MOST_ADVICE} smaller things, below</p>'
    damaged = (
        f'<p class="soft">{text.plural(trace.damaged, "line")} of the trace could not be read, and '
        "are left out.</p>"
        if trace.damaged
        else ""
    )
    sections = (
        ("What to change", shown),
        ("When", timeline(trace, rows)),
        ("Functions", tree(rows, sources)),
        ("Breaks", all_breaks(rows, sources)),
        ("Compiled again", recompiles(rows, sources)),
        ("What moves the most bytes", moved(rows, bandwidth, sources)),
        ("What the compiler noticed", "".join(f"<p>{esc(hint)}</p>" for hint in hints)),
        ("Settings and versions", settings(trace)),
    )
    body = "".join(f"<h2>{esc(title)}</h2>{part}" for title, part in sections if part)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>pycompile: {esc(name)}</title><style>{STYLE}{CSS}</style></head>"
        f'<body class="pycompile"><main><h1>What was compiled of {esc(name)}</h1>'
        f'<p class="soft">{esc(when)}</p>{verdict(rows, found)}{facts(trace, rows)}{damaged}'
        f"{folded('The words on this page', f'<dl>{glossary}</dl>')}{body}</main></body></html>\n"
    )


# ---- the command ----


def measured_bandwidth() -> float:
    """Bytes a second that this machine copies, read and written ones counted: the best of a few."""
    import numpy as np

    source = np.ones(1 << 24)
    target = np.empty_like(source)
    best = 0.0
    for _ in range(4):
        began = time.perf_counter()
        np.copyto(target, source)
        best = max(best, 2 * source.nbytes / (time.perf_counter() - began))
    return best


def is_this_machine(trace: Trace) -> bool:
    import platform

    here = platform.node(), platform.platform()
    ran = {(p.begin["machine"], p.begin["platform"]) for p in trace.processes if p.begin}
    return ran == {here}


def report(folder: str, output: str | None, bandwidth: float | None = None) -> int:
    """Writes the page, by default into the folder.  The exit status."""
    import os
    import sys

    from pycompile._trace_read import read

    output = output or os.path.join(folder, "report.html")
    try:
        trace = read(folder)
        if bandwidth is None and is_this_machine(trace) and trace.of("compile"):
            bandwidth = measured_bandwidth()
        if trace.processes:
            with open(output, "w", encoding="utf-8", errors="replace") as file:
                file.write(page(trace, bandwidth))
    except OSError as error:
        print(f"error: {error.filename or folder}: {error.strerror}", file=sys.stderr)
        return 1
    if not trace.processes:
        print(
            f"{folder} has no trace: run the program with PYCOMPILE_TRACE={folder}", file=sys.stderr
        )
        return 1
    skipped = f", {text.plural(trace.damaged, 'damaged line')} left out" if trace.damaged else ""
    count = len(trace.processes)
    print(f"{output}: {count} {'process' if count == 1 else 'processes'}{skipped}")
    return 0
