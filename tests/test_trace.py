"""PYCOMPILE_TRACE and `python -m pycompile report`: what is written, and the page that is made of it."""

import copy
import html
import html.parser
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from reports import line_of_code

import pycompile
from pycompile import _C, _html, _report, _trace, _trace_read

FORMAT = (Path(__file__).parent.parent / "docs" / "trace.md").read_text()
X = np.linspace(0.5, 2.0, 600)


@pycompile.compile(dynamic=False)
def varies(x):
    return np.tanh(x * 2.0) + 1.0  # here


@pycompile.compile
def breaks_in_the_midst(x):
    y = np.sqrt(x) + 1.0
    mark = threading.get_ident()  # here
    return y * 2.0, mark


@pycompile.compile
def divides(x):
    return (1.0 / x).sum()


def run(folder):
    """A program with recompiles, a place that is given up, a break and runs that are undone, traced."""
    _C.trace_begin(str(folder), _trace.facts())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(100, 112):
            varies(X[:n])
        for _ in range(5):
            breaks_in_the_midst(X)
        for values in (X, X * 0.0, X):
            divides(values)
    _trace.end()
    return _trace_read.read(str(folder))


@pytest.fixture(scope="module")
def of_lengths(tmp_path_factory):
    """A trace of a function whose lengths become symbols, and of one that needs each as a number."""
    folder = tmp_path_factory.mktemp("lengths")

    @pycompile.compile
    def serves_all(x):
        return np.sqrt(x * x + 1.0) - x

    @pycompile.compile
    def needs_each(x):
        return np.exp(x)[: int(0.8 * len(x))]  # each

    _C.trace_begin(str(folder), _trace.facts())
    for n in (100, 64, 300, 80, 200):
        serves_all(X[:n])
        needs_each(X[: n // 2])
    serves_all(X[:10].astype("f4"))
    serves_all(X.reshape(2, -1))
    _trace.end()
    return _trace_read.read(str(folder))


def test_symbols_are_told_with_what_they_were(of_lengths):
    first, second, *_ = (
        e for e in of_lengths.of("compile") if e["function"].endswith("serves_all")
    )
    assert first["symbols"] == [] and first["buffers"][0] == "8*100"
    ((symbol,), name) = second["symbols"], "d0_0"
    assert symbol == {"name": name, "of": ["x.shape[0]"], "value": 64, "least": 1}
    assert second["buffers"][0] == f"8*{name}"
    met = [e["lengths"][name] for e in of_lengths.of("runs") if e["plan"] == second["plan"]]
    assert min(m[0] for m in met) == 64 and max(m[1] for m in met) == 300
    assert _html.kernels(second, {name: 1000})[0].read == 8000


def test_the_page_tells_which_lengths_vary(of_lengths):
    text = re.sub("<[^>]*>", "", html.unescape(_report.page(of_lengths)))
    assert "The code that was made then serves every x.shape[0]: here nothing has to change" in text
    assert "d0_0 is x.shape[0]: it was 64 when the code was made, 64 to 300 in its runs" in text
    assert "no length may vary" in text


def test_the_reason_is_of_the_plan_from_which_least_differs(of_lengths):
    causes = [e["cause"] for e in of_lengths.of("compile") if "cause" in e]
    found = [(c["guard"], c["old"], c["new"]) for c in causes]
    assert ("x.dtype", "float64", "float32") in found and ("x.ndim", "1", "2") in found


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    return run(tmp_path_factory.mktemp("trace"))


def test_each_line_is_an_event_of_its_form(traced):
    (process,) = traced.processes
    assert process.damaged == 0 and process.pid == os.getpid()
    kinds = [event["event"] for event in process.events]
    assert kinds[0] == "begin" and kinds[-1] == "end" and set(kinds) == set(_trace_read.EVENTS)
    times = [event["time"] for event in process.events]
    assert times == sorted(times)


def test_the_form_is_documented():
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", FORMAT, re.M | re.S))
    assert set(sections) == set(_trace_read.EVENTS)
    for kind, text in sections.items():
        named = {*_trace_read.EVENTS[kind], *_trace_read.OPTIONAL.get(kind, {})}
        named -= {"plan_runs", "compiles", "breaks", "deopts"} if kind == "function" else set()
        named -= {"function", "file", "line"} if kind == "function" else set()
        assert not {name for name in named if f"`{name}`" not in text}, kind


def test_a_recompile_has_its_cause(traced):
    events = [e for e in traced.of("compile") if e["function"] == "varies"]
    assert "cause" not in events[0] and len(events) == 8
    line = line_of_code(varies.__wrapped__)
    for number, event in enumerate(events[1:]):
        cause = event["cause"]
        assert (cause["guard"], cause["old"], cause["new"]) == (
            "x.shape[0]",
            str(100 + number),
            str(101 + number),
        )
        assert cause["place"] == f"{Path(__file__).name}:{line}" and cause["remedy"]
    assert [event["function"] for event in traced.of("given_up")] == ["varies"]


def test_runs_are_counted_by_plan(traced):
    (process,) = traced.processes
    runs, undone = {}, {}
    for event in traced.of("runs"):
        name = process.plan(event["plan"])["function"]
        runs[name] = runs.get(name, 0) + event["runs"]
        undone[name] = undone.get(name, 0) + event["undone"]
    assert runs == {"varies": 8, "breaks_in_the_midst": 10, "divides": 3}
    assert undone == {"varies": 0, "breaks_in_the_midst": 0, "divides": 1}
    (told,) = traced.of("undone")
    assert told["function"] == "divides" and "zero" in told["why"]


def test_the_page_shows_breaks_and_recompiles_with_their_lines(traced):
    page = html.unescape(_report.page(traced))
    text = re.sub("<[^>]*>", "", page)
    for function in (varies, breaks_in_the_midst):
        line = line_of_code(function.__wrapped__)
        code = Path(__file__).read_text().splitlines()[line - 1].strip()
        assert f"{line}  {code}" in text
    assert (
        "varies was compiled 8 times, 7 of them since the code that was there did not fit" in text
    )
    for number in range(100, 107):
        assert f"<code>{number}</code> → <code>{number + 1}</code>" in page
    assert "call of 'get_ident'" in text and "Call it before or after the array code." in text
    assert "left native code 5 times" in text and "divides: 1 run of native code undone" in text
    assert "pad arrays to a few shapes" in text


def test_kernels_are_beside_the_lines_that_they_do(traced):
    (record,) = [e for e in traced.of("compile") if e["function"] == "divides"]
    items = _html.kernels(record)
    line = divides.__wrapped__.__code__.co_firstlineno + 2
    assert {(__file__, line)} == set().union(*(item.lines for item in items))
    assert items[0].read == X.nbytes and "k0(" in items[0].text
    told = _report.moved(_report.functions(traced), 1e10, _trace_read.Sources())
    assert "return (1.0 / x).sum()" in told and "% of memory" in told


def test_a_graph_is_drawn_with_its_loops_as_one_box():
    text = textwrap.dedent("""\
        %0: f64[10] = input(0)  # f.py:1
        %1: int = const(0)  # f.py:1
        %2: object = loop(%1, %0) {  # f.py:2
          params %3: int
          %4: f64 = element_load(%0, %3)  # f.py:3
          results %4
        }
        %5: f64[10] = ufunc(%0, object=numpy.exp)  # f.py:4
        %6: f64[10] = add(%5, %0)  # f.py:4
        outputs %6
        """)
    drawn = _html.graph_svg(text)
    assert drawn.count("<g><title>") == 4 and drawn.count("<path") == 4
    assert "loop (1 inside)" in drawn and "numpy.exp" in drawn and "line 4" in drawn
    assert _html.graph_svg("".join(f"%{n}: f64 = input(0)\n" for n in range(200))) == ""


class Tags(html.parser.HTMLParser):
    """The tags of a page, and what they refer to."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [
            value for name, value in attrs if name in ("src", "href") or name[:2] == "on"
        ]


def test_what_the_program_says_is_text(tmp_path):
    attack = "<img src=x onerror=alert(1)>"
    names = {"np": np, "ident": threading.get_ident}
    source = f'def f(x, d):\n    y = x + d["{attack}"]  # {attack}\n    ident()\n    return y * 2\n'
    folder = tmp_path / "traces"
    folder.mkdir()
    exec(compile(source, f"{tmp_path}/{attack}.py", "exec"), names)
    names["f"].__qualname__ = attack
    _C.trace_begin(str(folder), {**_trace.facts(), "program": attack})
    found = pycompile.explain(names["f"])(X, {attack: 1.0})
    pycompile.compile(names["f"])(X, {attack: 1.0})
    _C.trace_put("source", {"file": f"{tmp_path}/{attack}.py", "text": source})
    _C.trace_put("hint", {"text": attack})
    _trace.end()
    page = _report.page(_trace_read.read(str(folder)))
    for made in (page, found._repr_html_()):
        tags = Tags(made)
        assert html.escape(attack) in made and not tags.tags & {"img", "script", "link", "iframe"}
        assert tags.links == []


def test_damaged_lines_are_left_out(traced, tmp_path):
    (path,) = Path(traced.folder).glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path = tmp_path / path.name
    broken = [lines[1][:50] + b"\n", b"\xff\xfe\x00\n", b"[1, 2]\n", b'{"event": []}\n', b"nan\n"]
    path.write_bytes(b"".join(lines[:2] + broken + lines[2:-1]) + lines[-1][:9])
    damaged = _trace_read.read(str(tmp_path))
    assert damaged.damaged == 6
    assert len(damaged.processes[0].events) == len(traced.processes[0].events) - 1
    assert "6 lines of the trace could not be read" in _report.page(damaged)


def changed(value):
    """The event with each of its parts missing or of another type."""
    for key in value if isinstance(value, dict) else range(len(value)):
        other = copy.copy(value)
        del other[key]
        yield other
        for wrong in (None, "\0", -1, 1e400, [], {}, [None], {"": 0}):
            other = copy.copy(value)
            other[key] = wrong
            yield other
        if isinstance(value[key], (dict, list)) and value[key]:
            for inner in changed(value[key]):
                yield {**value, key: inner} if isinstance(value, dict) else [inner]


@pytest.mark.slow
def test_no_event_makes_the_page_fail(traced, tmp_path):
    seen = {}
    for event in traced.processes[0].events:
        seen.setdefault((event["event"], "cause" in event, bool(event.get("breaks"))), event)
    for event in seen.values():
        short = {k: v[:3] if isinstance(v, list) else v for k, v in event.items()}
        short = {k: v[:200] if k in ("source", "schedule", "text") else v for k, v in short.items()}
        events = [_trace_read.event_of(json.dumps(other)) for other in changed(short)]
        process = _trace_read.Process("x", [found for found in events if found is not None])
        _report.page(_trace_read.Trace("x", [process]))


def test_empty_and_missing_folders(tmp_path, capsys):
    assert _report.report(str(tmp_path), None) == 1
    assert "has no trace" in capsys.readouterr().err
    assert _report.report(str(tmp_path / "none"), None) == 1
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "1.jsonl").write_text("")
    assert _report.report(str(tmp_path), None) == 0
    assert "No function was compiled" in (tmp_path / "report.html").read_text()


def test_a_trace_that_cannot_be_written_is_warned_of_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(
        pycompile.PycompileWarning, match=r"PYCOMPILE_TRACE: [\s\S]*Not a directory"
    ) as told:
        _C.trace_begin(str(tmp_path / "file"), {})
        assert varies(X).tobytes() == varies.__wrapped__(X).tobytes()
    assert len(told) == 1
    _C.trace_begin(str(tmp_path), _trace.facts())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        with pytest.warns(pycompile.PycompileWarning, match="File too large") as told:
            _C.trace_put("hint", {"text": "x" * 5000})
            _C.trace_put("hint", {"text": "x"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(told) == 1
    assert _trace_read.read(str(tmp_path)).damaged == 1


FORKS = """
import os
import numpy as np
import pycompile

@pycompile.compile(dynamic=False)
def f(x):
    return np.tanh(x) + 1

f(np.ones(50))
if os.fork() == 0:
    for fd in range(3, 20):
        try:
            os.close(fd)
        except OSError:
            pass
    f(np.ones(50))
    f(np.ones(60))
    raise SystemExit
os.wait()
f(np.ones(70))
"""


@pytest.mark.slow
def test_two_processes(tmp_path):
    script, folder = tmp_path / "forks.py", tmp_path / "trace"
    script.write_text(FORKS)
    env = {**os.environ, "PYCOMPILE_TRACE": str(folder)}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, script], env=env, check=True, cwd=tmp_path)
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "pycompile", "report", folder, "-o", page]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    assert done.stdout == f"{page}: 2 processes\n"
    parent, child = (trace := _trace_read.read(str(folder))).processes[:2]
    assert trace.damaged == 0 and child.parent is parent and parent.parent is None
    assert child.begin["forked_from"] == parent.pid != child.pid
    graphs = [
        [process.plan(event["plan"])["graph"].split(" ")[1] for event in process.of("runs")]
        for process in (parent, child)
    ]
    assert graphs == [["f64[50]", "f64[70]"], ["f64[50]", "f64[60]"]]
    assert f"process {child.pid}" in page.read_text()


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MEASURE = (
    "<script>document.title = [innerWidth, document.documentElement.scrollWidth].join('/')</script>"
)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [420, 1280])
def test_the_page_in_a_browser(traced, tmp_path, width):
    page = tmp_path / "page.html"
    opened = _report.page(traced, 1e10).replace("<details", "<details open")
    page.write_text(opened.replace("</body>", MEASURE + "</body>"))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
    ]
    command += [f"--user-data-dir={tmp_path}/profile", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    inner, scrolled = map(int, re.search(r"<title>(\d+)/(\d+)</title>", dom).groups())
    assert scrolled <= inner  # nothing sticks out
    assert dom.count("<h2>") == opened.count("<h2>") and "<svg" in dom
