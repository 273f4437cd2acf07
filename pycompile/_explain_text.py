"""The texts of an Explanation: the summary of one screen, and everything."""

from __future__ import annotations

import collections
import linecache
import os
import re
import sysconfig
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pycompile._explain import Explanation

Record = dict[str, Any]

SCREEN = 40  # lines of a summary, at most
WIDTH = 110  # columns
BREAKS = 4  # that are told of one function
MANY_KERNELS = 32  # of one graph
NOT_WORTH = "no array work worth a plan at this size"
TURN = "PC0044"  # follows from another break of the same loop
RAISED, BEFORE = "PC0014", "an exception that was raised before"
IDLE = ("it has no array work", "it has nothing of NumPy")  # why there is no plan
OF_PYTHON = {  # breaks whose hints are about array code around them
    *("PC0002", "PC0003", "PC0010", "PC0011", "PC0021", "PC0022", "PC0023", "PC0028", "PC0029"),
    "PC0030",
}
OTHERS = re.compile(r"/(threading\.py|concurrent/futures/|multiprocessing/|joblib/)")
TOLD_ONCE = ("PC0006", "PC0045", "PC0046")  # a place, with the reason found first


# ---- whose file it is ----


@lru_cache
def _folders() -> tuple[str, ...]:
    import numpy

    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_paths()[name] for name in names]
    paths += [os.path.dirname(__file__), os.path.dirname(numpy.__file__)]
    return tuple(os.path.join(os.path.realpath(path), "") for path in paths)


@lru_cache(4096)
def is_library(file: str | None) -> bool:
    """A file of Python's, of an installed package, of ours: not the user's to change."""
    if not file or file.startswith("<frozen "):
        return True
    parts = file.split(os.sep)
    return (
        "site-packages" in parts
        or "dist-packages" in parts
        or os.path.realpath(file).startswith(_folders())
    )


def place(file: str | None, line: Any) -> str:
    """file:line, the file relative to the current folder where that is shorter."""
    name = file or "?"
    if os.path.isabs(name):
        name = min(name, os.path.relpath(name), key=len)
    return f"{name}:{line}"


# ---- what is told of derivatives ----


def _lines_of(places: list[tuple[str, int]]) -> str:
    if not places:
        return "a graph of no line of the program"
    first, last = places[0], places[-1]
    return place(*first) + (f" to {last[1]}" if last != first and last[0] == first[0] else "")


def of_derivatives(explanation: Explanation) -> list[str]:
    """Of each graph that was differentiated: its texts' lengths, what is kept, what is computed again."""
    lines = []
    for record in explanation.derivatives:
        where = _lines_of(record["places"])
        ahead, back = (sum(text.count("\n") - 1 for text in texts) for texts in _texts(record))
        in_graph = record["forward"] is None
        way = "in one graph with it" if in_graph else f"forward of {ahead} lines"
        lines.append(f"derivative of {where}: {way}, backward of {back}")
        own = [value for value in record["kept"] if not value["argument"]]
        given = [value for value in record["kept"] if value["argument"]]
        total = size(sum(value["bytes"] for value in own))
        there = f"; {size(sum(value['bytes'] for value in given))} of arguments" if given else ""
        kept = "read again" if in_graph else "kept"
        lines.append(f"  {kept}: {total}{there}{_listed([_kept(value) for value in own])}")
        again = [f"{item['what']} ({place(*item['place'])})" for item in record["again"]]
        if again:
            lines.append(f"  computed again: {len(again)} values{_listed(again)}")
    return lines


def _texts(record: Record) -> tuple[list[str], list[str]]:
    return [record["forward"]] if record["forward"] else [], record["backward"]


def _kept(value: Record) -> str:
    return f"{value['what']} {value['type']} ({place(*value['place'])})"


def _listed(items: list[str]) -> str:
    most = 4
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return ": " + ", ".join(items[:most]) + rest if items else ""


# ---- what is told of one function ----


def found_breaks(explanation: Explanation) -> list[Record]:
    return breaks_of(explanation.records, explanation.name)


def breaks_of(attempts: list[Record], name: str) -> list[Record]:
    """The breaks without repetitions, each with `user`, the innermost frame in the user's files
    (or the outermost one), `captures`, how many met it, and `idle`: none of these had array work
    that the break could keep from a plan.  A value that decides is told once at each place.  The next turns of a loop that breaks are left out."""
    rows: dict[Any, Record] = {}
    records = _final(attempts)
    met = [(record, item) for record in records for item in record.get("breaks") or ()]
    for record, item in met:
        frames = [tuple(frame) for frame in item.get("frames") or ()]
        frames = frames or [(item.get("file"), item.get("line"), name)]
        mine = [frame for frame in frames if not is_library(frame[0])]
        user = mine[0] if mine else frames[-1]
        heads = dict(zip(frames, item.get("heads") or ()))
        key = (item["code"], "" if item["code"] in TOLD_ONCE else item.get("detail"), user)
        row = rows.setdefault(
            key, {**item, "user": user, "head": heads.get(user), "idle": True, "captures": 0}
        )
        own = len(frames) == 1 < len(row.get("frames") or ()) and user == frames[0]
        if own and item.get("detail") != row.get("detail"):
            row.update(item)  # the function's own capture knows more than one that met it in a call
        row["captures"] += 1
        row["idle"] &= item["code"] in OF_PYTHON and _is_idle(record)
    told = list(rows.values())
    elsewhere = {row["user"][::2] for row in told if not _follows(row)}
    return [row for row in told if not _follows(row) or row["user"][::2] not in elsewhere]


def _final(records: list[Record]) -> list[Record]:
    """Without looks that `python -m pycompile run` took too early: a plan was made at the place when
    the program had run longer."""
    later: set[Any] = set()
    kept = []
    for record in reversed(records):
        at = record.get("file"), record.get("function"), record.get("entry")
        if record.get("kind") == "plan":
            later.add(at)
        if record.get("kind") == "plan" or not (record.get("earned") and at in later):
            kept.append(record)
    return kept[::-1]


def _is_idle(record: Record) -> bool:
    """Whether there was no array work up to the record's end."""
    return record.get("kind") == "none" and str(record.get("why")).startswith(IDLE)


def _follows(row: Record) -> bool:
    """Whether it is a consequence of another break in the same function."""
    return row["code"] == TURN or (row["code"] == RAISED and row.get("detail") == BEFORE)


def functions(explanation: Explanation) -> list[Record]:
    """A row for each function that was captured: the user's first, the most costly first."""
    rows: dict[Any, Record] = {}

    def row(file: str | None, name: str) -> Record:
        new: Record = {
            "function": name,
            "file": file,
            "plans": 0,
            "kernels": 0,
            "breaks": [],
            "why": [],
            "left": None,
            "repeated": (0, 0),
            "unkept": None,
        }
        counts = {"plan_runs": 0, "recompiles": 0, "deopts": 0, "given_up": 0}
        times = {"plan_seconds": 0.0, "compile_seconds": 0.0}
        return rows.setdefault((file, name), {**new, **counts, **times, "line": 0, "none": 0})

    for record in explanation.records:
        this = row(record.get("file"), record.get("function") or "?")
        this["line"] = min(this["line"] or record.get("line", 0), record.get("line", 0))
        this["plans"] += record.get("kind") == "plan"
        this["none"] += record.get("kind") == "none"
        if record.get("kind") == "none":
            this["left"] = this["left"] or record.get("why")
        this["kernels"] += kernel_count(record)
        if kernel_count(record) >= MANY_KERNELS:
            this["repeated"] = max(this["repeated"], _repeated(record))
            this["unkept"] = this["unkept"] or record.get("unkept")
        this["compile_seconds"] += sum((record.get("seconds") or {}).values())
        if record.get("kind") == "failed":
            this["why"].append(f"left to CPython: {record.get('why') or 'not compiled'}")
        if record.get("recompile"):
            this["recompile"] = record["recompile"]
    for counted in explanation.counts:
        if (counted["file"], counted["function"]) in rows:
            this = row(counted["file"], counted["function"])
            this["line"] = counted["line"]
            for key in ("plan_runs", "recompiles", "deopts", "given_up", "plan_seconds"):
                this[key] += counted[key]
            this["deopt_why"] = counted.get("deopt_why") or this.get("deopt_why")
    for item in found_breaks(explanation):
        file, line, name = item["user"]
        this = row(file, name)
        this["breaks"].append(item)
        this["line"] = item["head"] or this["line"] or line
    return sorted(rows.values(), key=lambda r: (is_library(r["file"]), -_cost(r)))


def _repeated(record: Record) -> tuple[int, int]:
    """How often the graph has an operation of one line, at most, and the line."""
    graph = record.get("graph_object")
    if graph is None:
        return 0, 0
    found = collections.Counter(
        (node.line, node.op) for node in graph.nodes if node.op not in ("input", "const", "result")
    )
    return max(((count, line) for (line, _), count in found.items()), default=(0, 0))


def _cost(row: Record) -> float:
    found: float = (
        sum(item["captures"] for item in row["breaks"])
        + 5 * row["recompiles"]
        + 20 * row["given_up"]
        + row["deopts"]
        + row["plan_seconds"]
    )
    return found


def _starts_others(item: Record) -> bool:
    """Whether the break is in the library's code that starts threads or processes."""
    files = [(frame[0] or "").replace(os.sep, "/") for frame in item.get("frames") or ()]
    return any(is_library(file) and OTHERS.search(file) for file in files)


def reasons(row: Record) -> list[str]:
    """Why it is not faster, apart from its breaks."""
    why = list(dict.fromkeys(row["why"]))
    if row["given_up"]:
        places = plural(row["given_up"], "place")
        why.append(
            f"{places} left to Python where no plan holds: recompile_limit plans have not paid "
            "there (PYCOMPILE_LOGS=recompiles says what differed)"
        )
    if row.get("recompile"):
        times = row["recompiles"] or 1
        why.append(f"recompiled {plural(times, 'time')}, last because {row['recompile']}")
    if row["deopts"]:
        because = f", last for {row['deopt_why']}" if row.get("deopt_why") else ""
        why.append(f"{plural(row['deopts'], 'run')} of a plan given back to Python{because}")
    times, line = row["repeated"]
    if 2 * times >= MANY_KERNELS:
        around = row["unkept"] or (
            "a loop around it was unrolled, or its function was called so often"
        )
        why.append(
            f"so many kernels since line {line} is in the graph {times} times: {around} (compute "
            "with whole arrays; options={'unroll': ...} sets the budget)"
        )
    elsewhere = any(_starts_others(item) for item in row["breaks"])
    if elsewhere:
        why.append(
            "functions that other threads and processes run are not followed: compile those "
            "themselves (@pycompile.compile), or the program with python -m pycompile run"
        )
    idle = all(item["idle"] for item in row["breaks"])
    if not row["plans"] and row["breaks"] and idle and not elsewhere:
        why.append(
            "nothing has to change: there is no array work before these breaks, or between them"
        )
    if not row["plans"] and not row["breaks"] and not why:
        why.append(f"left to CPython: {row['left'] or NOT_WORTH}")
    return why


def _fold(line: str) -> list[str]:
    """On several lines where it is too long; nothing of it is left out."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
    ) or [line]


def _break_lines(item: Record, hinted: dict[str, str]) -> list[str]:
    """What broke, where in the user's files, through which of the library's, and what to do."""
    met = f" (in {item['captures']} captures)" if item["captures"] > 1 else ""
    lines = [f"break {item['code']} at {place(*item['user'][:2])}{met}: {reason(item)}"]
    source = linecache.getline(item["user"][0] or "", item["user"][1]).strip()
    if source:
        lines.append(f"    {source}")
    frames = item.get("frames") or []
    inner = frames[0] if frames else item["user"]
    if tuple(inner) != tuple(item["user"]):
        lines.append(f"    in the library's {inner[2]}, {place(*inner[:2])}")
    callers = [frame for frame in frames[1:] if not is_library(frame[0])]
    if tuple(inner) != tuple(item["user"]):
        callers = callers[1:]
    if callers:
        called = ", ".join(f"{f[2]} ({place(*f[:2])})" for f in callers[:3])
        lines.append(f"    called from {called}" + (", ..." if len(callers) > 3 else ""))
    if not item["idle"]:
        lines.extend("    " + line for line in hint(item, hinted))
    return lines


def hint(item: Record, hinted: dict[str, str]) -> list[str]:
    """The hint; where it has been given before, of which break, if that is not at the same place.
    `hinted`: by hint, the code and the place."""
    if not item.get("hint"):
        return []
    here = place(*item["user"][:2]) if "user" in item else place(item["file"], item["line"])
    if item["hint"] not in hinted:
        hinted[item["hint"]] = f"{item['code']} at {here}"
        return [f"hint: {item['hint']}"]
    given = hinted[item["hint"]]
    return [] if given.endswith(f" at {here}") else [f"hint: as for {given}"]


def reason(item: Record) -> str:
    """The text and the detail."""
    return f"{item['text']}: {item['detail']}" if item.get("detail") else str(item["text"])


def _function_lines(row: Record, hinted: dict[str, str]) -> list[str]:
    parts = [plural(row["plans"], "plan") if row["plans"] else "no plan"]
    back = row["plans"] and row["deopts"] and not row["plan_runs"]
    if back:
        parts[0] += f" tried {plural(row['deopts'], 'time')}, each given back to Python"
    elif row["plans"]:
        parts[0] += f" run {plural(row['plan_runs'], 'time')}"
    if row["kernels"]:
        parts.append(plural(row["kernels"], "kernel"))
    if row["plan_seconds"]:
        what = "such tries" if back else "plans"
        parts.append(f"{seconds(row['plan_seconds'])} in {what}")
    if row["compile_seconds"]:
        parts.append(f"{seconds(row['compile_seconds'])} compiling")
    lines = [f"{row['function']} ({place(row['file'], row['line'])}): {', '.join(parts)}"]
    for item in row["breaks"][:BREAKS]:
        lines.extend("  " + line for line in _break_lines(item, hinted))
    if len(row["breaks"]) > BREAKS:
        lines.append(f"  and {plural(len(row['breaks']) - BREAKS, 'more break')}")
    lines.extend("  " + line for line in reasons(row))
    return [part for line in lines for part in _fold(line)]


def _library_line(rows: list[Record]) -> str:
    names = ", ".join(row["function"] for row in rows[:4]) + (", ..." if len(rows) > 4 else "")
    breaks = sum(len(row["breaks"]) for row in rows)
    with_breaks = f", {plural(breaks, 'break')}" if breaks else ""
    return f"in libraries: {plural(len(rows), 'function')}{with_breaks} ({names})"


def summary(explanation: Explanation) -> str:
    """One screen."""
    lines = [part for line in head(explanation) for part in _fold(line)]
    rows = functions(explanation)
    library = [row for row in rows if is_library(row["file"])]
    mine = rows[: len(rows) - len(library)]
    if not mine:
        mine, library = library[:1], library[1:]  # a library's own function was asked for
    end = [_library_line(library)] if library else []
    if explanation.records:
        end.append(explanation.more)
    hinted: dict[str, str] = {}  # hints that have been given, and where
    for number, row in enumerate(mine):
        told = _function_lines(row, hinted)
        if number and len(lines) + len(told) + len(end) + 1 > SCREEN:
            lines.append(f"and {plural(len(mine) - number, 'more function')}")
            break
        lines.extend(told)
    return "\n".join(lines[: SCREEN - len(end)] + end)


def heading(explanation: Explanation) -> str:
    """The line of counts."""
    parts = [
        plural(sum(map(_has_plan, explanation.records)), "graph"),
        plural(len(found_breaks(explanation)), "break"),
        plural(explanation.kernels, "kernel"),
        plural(len(explanation.guards), "guard"),
    ]
    moved = bytes_moved(explanation.records)
    if moved:
        parts.append(f"{size(moved)} moved")
    if explanation.aside is not None:
        parts = [f"left to CPython: {explanation.aside}"]
    return f"{explanation.name}: {', '.join(parts)}"


def _has_plan(record: Record) -> bool:
    """Whether its graph became more than a graph."""
    return bool(record.get("graph_object")) and record.get("kind") != "failed"


def head(explanation: Explanation) -> list[str]:
    """The heading, what was raised, and the times."""
    lines = [heading(explanation)]
    if explanation.error is not None:
        lines.append(f"  raised {type(explanation.error).__name__}: {explanation.error}")
    lost = [
        f"given up before this call, which made plans anew: {text}" for text in explanation.lost
    ]
    return lines + [
        "  " + line
        for line in explanation.times()
        + _so_far(explanation.so_far)
        + lost
        + of_derivatives(explanation)
    ]


def _so_far(stats: Record) -> list[str]:
    """What the program had made of the function before it was compiled afresh."""
    if not any(stats.values()):
        return []
    counted = ("plan run", "plan_runs"), ("compile", "compiles"), ("deopt", "deopts")
    parts = [plural(stats[key], noun) for noun, key in counted if stats[key]]
    if stats["given_up"]:
        parts.append(f"{plural(stats['given_up'], 'place')} given up: more plans than pay")
    if stats["paused"]:
        parts.append(
            f"{plural(stats['paused'], 'plan')} paused: runs that were undone cost more than others saved"
        )
    if stats["slower"]:
        parts.append(
            f"{plural(stats['slower'], 'kind')} of calls left to CPython, which was faster"
        )
    return ["before this call: " + "; ".join(parts)]


# ---- everything ----


def verbose(explanation: Explanation) -> str:
    """The summary's heading, then each attempt to make a plan."""
    lines = head(explanation)
    hinted: dict[str, str] = {}
    for number, record in enumerate(explanation.records, 1):
        lines.append("")
        lines.extend(describe(number, record, hinted))
    for record in explanation.derivatives:
        lines += ["", *(text for texts in _texts(record) for text in texts)]
    return "\n".join(lines)


def describe(number: int, record: Record, hinted: dict[str, str]) -> list[str]:
    """The lines about one record; the first is its heading."""
    where = f"{record.get('file', '?')}:{record.get('line', '?')}"
    outcome = {
        "plan": "a plan",
        "none": f"left to CPython: {record.get('why') or NOT_WORTH}",
        "failed": f"left to CPython: {record.get('why') or 'not lowered or not compiled'}",
    }.get(record.get("kind", "plan"), str(record.get("kind")))
    lines = [f"[{number}] {record.get('function', '?')} ({where}): {outcome}"]
    if record.get("twin_of"):
        lines.append("  for the lengths at which a plan with symbols runs most")
    if record.get("recompile"):
        lines.append(f"  recompiled because {record['recompile']}")
    if record.get("exit"):
        lines.append(
            f"  leaves by {record['exit']} after {record.get('instructions', '?')} instructions"
        )
    for item in record.get("breaks") or ():
        lines.extend("  " + line for line in describe_break(item, hinted))
    lines.extend(_section("graph", record.get("graph")))
    lines.extend(_section("guards", record.get("guards")))
    kernels = kernel_count(record)
    if kernels:
        read, written = record.get("bytes_read") or 0, record.get("bytes_written") or 0
        moved = f", {size(read)} read, {size(written)} written" if read or written else ""
        lines.append(f"  {plural(kernels, 'kernel')}{moved}")
    lines.extend(_section("schedule", record.get("schedule")))
    if record.get("seconds"):
        times = ", ".join(f"{name} {seconds(value)}" for name, value in record["seconds"].items())
        lines.append(f"  time: {times}")
    return lines


def describe_break(item: Record, hinted: dict[str, str]) -> list[str]:
    """The reason, the user's stack with the innermost line first, the hint."""
    lines = [f"break {item['code']}: {reason(item)}"]
    lines.extend(item.get("stack", "").splitlines())
    lines.extend("  " + line for line in hint(item, hinted))
    return lines


def _section(title: str, content: Any) -> list[str]:
    if not content:
        return []
    lines = content.splitlines() if isinstance(content, str) else list(content)
    return [f"  {title}:", *("    " + line for line in lines)]


# ---- words ----


def plural(count: int, noun: str) -> str:
    """ "1 break", "2 breaks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def kernel_count(record: Record) -> int:
    """How many kernels the record's plan has."""
    kernels = record.get("kernels") or 0
    if record.get("kind") == "failed":
        return 0  # written, but not compiled
    return kernels if isinstance(kernels, int) else len(kernels)


def bytes_moved(records: list[Record]) -> int:
    """What the kernels read and write in one run of each plan."""
    return sum(
        (record.get("bytes_read") or 0) + (record.get("bytes_written") or 0)
        for record in records
        if kernel_count(record)
    )


def size(count: int) -> str:
    """Bytes for the eye."""
    number = float(count)
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def seconds(value: float) -> str:
    """A time for the eye."""
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if value * scale < 1000:
            return f"{value * scale:.3g} {unit}"
    return f"{value:.3g} s"
