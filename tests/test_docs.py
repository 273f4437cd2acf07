"""The pages of docs/ and README.md: what they say holds, their code runs, their links lead somewhere."""

import collections
import enum
import functools
import inspect
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

import pycompile
from pycompile import _C

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import break_examples  # noqa: E402
import make_graph_breaks  # noqa: E402

from benchmarks import picture  # noqa: E402

EXAMPLES = {c: e for c, e in break_examples.EXAMPLES.items() if not isinstance(e, str)}


def test_the_page_is_up_to_date():
    command = [sys.executable, str(ROOT / "docs" / "make_graph_breaks.py"), "--check"]
    assert subprocess.run(command).returncode == 0, "run python docs/make_graph_breaks.py"


def test_every_code_is_in_the_table_once():
    codes = [row[0] for row in make_graph_breaks.rows("BREAK")]
    assert codes == sorted(set(codes))
    assert set(codes) == set(break_examples.EXAMPLES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_breaks_with_its_code(code, capsys):
    function, arguments = EXAMPLES[code]
    pycompile.reset()
    compiled = pycompile.compile(function)
    _C.report_begin()
    try:
        compiled(*arguments())
    except Exception:
        pass
    finally:
        records = _C.report_end()
    codes = [item["code"] for record in records for item in record.get("breaks") or ()]
    assert code in codes, records


# What the tour says of its functions: codes of the breaks.  One graph for each part.
TOUR = {
    "gelu": ("gelu(x, bias, x)", []),
    "step": ("step(x, [])", []),
    "broken": ("broken(x)", ["PC0030"]),
    "smooth": ("smooth(np.zeros(1000), np.ones(1000), 0.9)", []),
}


EXPLAIN_TOUR = """
import inspect, json, sys
from pycompile import _C
kinds = (type(broken), _C.CompiledFunction)
functions = {n: v for n, v in list(globals().items()) if type(v) in kinds and n != "explained"}
told = {}
for name, call in json.loads(sys.argv[1]).items():
    function = inspect.unwrap(functions.pop(name))
    explained = eval(call, globals() | {name: pycompile.explain(function)})
    told[name] = explained.to_dict() | {"plans": len(explained.graphs)}
print(json.dumps([sorted(functions), told], default=str), file=sys.stderr)
"""


def blocks(page):
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S))


def run_child(script, *arguments, **more):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | more
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env)


@pytest.mark.slow
def test_the_tour_is_what_it_says(tmp_path):
    """Each function of the tour, by `explain`: as many graphs and breaks as the text has it."""
    script = tmp_path / "tour.py"
    script.write_text("\n".join([blocks("docs/tour.md"), EXPLAIN_TOUR]))
    calls = json.dumps({name: call for name, (call, _) in TOUR.items()})
    done = run_child(script, calls)
    assert done.returncode == 0, done.stderr
    others, told = json.loads(done.stderr.splitlines()[-1])
    assert others == []  # every function of the tour is looked at
    lines = script.read_text().splitlines()
    for name, (_, codes) in TOUR.items():
        explained = told[name]
        assert explained["error"] is None, name
        assert [item["code"] for item in explained["breaks"]] == codes, name
        assert explained["plans"] == 1 + len(codes), name
        assert explained["kernels"] > 0, name
        for item in explained["breaks"]:
            assert "# a graph break" in lines[item["line"] - 1]


# ---- the pages ----

MADE = (
    "conformance",
    "graph-breaks",
    "python-coverage",
    "numpy-coverage",
    "speed",
    "inside/folders",
)
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
WRITTEN = [page for page in PAGES if not page.removeprefix("docs/").startswith(MADE)]

RUN_PAGES = """
import json, linecache, sys
for page, code in json.loads(sys.stdin.read()).items():
    linecache.cache[page] = len(code), None, code.splitlines(True), page
    exec(compile(code, page, "exec"), {"__name__": page})
"""


def test_the_code_of_the_pages_runs(tmp_path):
    """The Python blocks of a page run one after another; of README on smaller arrays."""
    code = {
        page: blocks(page).replace("(4096", "(512").replace("4096)", "512)") for page in WRITTEN
    }
    code = {page: text for page, text in code.items() if text}
    assert {"README.md", "docs/tour.md", "docs/loops.md", "docs/coming-from.md"} <= set(code)
    script = tmp_path / "run.py"
    script.write_text(RUN_PAGES)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,  # where the code of docs/export.md makes a folder
        input=json.dumps(code),
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, done.stderr


def anchors(page):
    """The names that links may point to within a page: GitHub's, of its headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    found = re.findall(r"^#+ (.*)$", text, re.M)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in found]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    """A link is to a file of docs/, or from README into them; to an anchor that is there."""
    here = ROOT / page
    text = re.sub(r"```.*?```|`[^`\n]*`", "", here.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (here.parent / path).resolve() if path else here
        assert target.is_file(), link
        assert target.is_relative_to(ROOT / "docs"), f"{link}: the site has only docs/"
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", WRITTEN)
def test_lines_are_short(page):
    """Of at most 110 characters, but in tables and in what is quoted."""
    quoted = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
    text = quoted.sub(lambda m: m[2] if m[1] == "python" else "", (ROOT / page).read_text())
    long = [line for line in text.splitlines() if len(line) > 110 and not line.startswith("|")]
    assert not long


def test_the_readme_is_one_screen():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 700
    first = re.search(r"```python\n(.*?)```", text, re.S)[1]
    assert len([line for line in first.splitlines() if line]) == 6
    assert re.search(r"<!-- measured -->NumPy takes [^<]* times as fast\.<!-- end -->", text)
    assert (ROOT / "docs" / "bench.svg").is_file()


def test_the_picture_has_a_bar_or_a_reason_for_each_contender():
    rows = [
        {"name": "a & b", "seconds": {"numpy": 1.0, "pycompile": 0.1}, "missing": {}},
        {"name": "c", "seconds": {"numpy": 1.0}, "missing": {"pycompile": "x < y"}},
    ]
    tree = ElementTree.fromstring(picture.drawn(rows, ["numpy", "pycompile"], "here"))
    texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a & b", "1e+03 ms", "10x", "pycompile: x < y", "here"} <= set(texts)
    bars = [r for r in tree.iter("{http://www.w3.org/2000/svg}rect") if r.get("height") == "11"]
    assert len(bars) == 3


def test_the_glossary_has_thirty_words_that_lead_on():
    rows = re.findall(r"^\| .*\|$", (ROOT / "docs" / "glossary.md").read_text(), re.M)[1:]
    words = [row.split("|")[1].strip() for row in rows]
    assert len(words) == 30 and words == sorted(words)
    assert all(row.split("|")[3].strip().startswith("[") for row in rows)


def test_the_site_has_every_page_once():
    listed = re.findall(r"^ +- .*?([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(listed) == sorted(page.removeprefix("docs/") for page in PAGES[1:])


def test_the_pages_of_folders_are_up_to_date():
    command = [sys.executable, str(ROOT / "docs" / "make_folders.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or "run python docs/make_folders.py"


PATCHES = sorted((ROOT / "docs" / "recipes").glob("*.patch"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_the_patch_of_a_recipe_applies(patch):
    """That it also builds and passes, `make recipes` shows.  The page tells how to replay it."""
    page = patch.with_suffix(".md").read_text()
    assert f"make recipes RECIPES={patch.stem}" in " ".join(page.split())
    command = ["git", "apply", "--check", "-C1", "--recount", str(patch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def in_order(lines, text):
    """Those of `lines` that `text` does not have, as parts of its lines and in this order."""
    rest = iter(text)
    return [line for line in lines if not any(line in found for found in rest)]


def test_the_dumps_of_the_map_are_what_the_logs_show(tmp_path):
    page = (ROOT / "docs" / "inside" / "map.md").read_text()
    dumps = re.findall(r"<!-- dump: (\w+) -->\n```text\n(.*?)```", page, re.S)
    channels = {"graph": "graph:all"}
    logs = ",".join(sorted({channels.get(channel, channel) for channel, _ in dumps}))
    script = tmp_path / "gelu.py"
    script.write_text(blocks("docs/inside/map.md"))
    done = run_child(script, PYCOMPILE_LOGS=logs)
    assert done.returncode == 0, done.stderr
    shown = done.stderr.replace(f"{tmp_path}/", "").splitlines()
    assert len(dumps) == 6
    for channel, dump in dumps:
        missing = in_order([line for line in dump.splitlines() if line != "..."], shown)
        assert not missing, channel


# ---- what docs/limits.md says ----


class Shown:
    def __repr__(self):
        return "shown"


class OfTuple(tuple):
    pass


class OfDict(dict):
    pass


class Kind(enum.IntEnum):
    DOUBLE = 2


class Pair(NamedTuple):
    a: float
    b: float


def prints(*what, **how):
    def function(x):
        y = np.sqrt(x) + 1
        print(y.mean(), *what, **how)
        return y * 2

    return function


def prints_to_stderr(x):
    y = np.sqrt(x) + 1
    print(y.mean(), file=sys.stderr)
    return y * 2


def prints_in_try(x):
    y = np.sqrt(x) + 1
    try:
        print(y.mean())
    finally:
        y = y * 2
    return y


def with_text(x):
    y = np.sqrt(x) + 1
    print(f"{y.mean():.3f}", [y.sum(), {"a": y[:2]}], (1, 2), y[:3], sep=", ")
    return y * 2


def takes(value):
    def function(x):
        first = value["a"] if isinstance(value, dict) else value[0]
        return np.sqrt(x) * first + 1

    return function


def times(number):
    return lambda x: np.sqrt(x) * number + 1


@pytest.mark.parametrize(
    ("function", "codes"),
    [
        (prints("mean"), []),
        (prints_to_stderr, []),
        (prints(flush=True), []),
        (with_text, []),
        (prints(Shown()), ["PC0021"]),
        (prints(np.dtype("f4")), ["PC0021"]),
        (prints(file=io.StringIO()), ["PC0021"]),
        (prints_in_try, ["PC0021"]),
        (takes(Pair(2.0, 3.0)), []),
        (takes(OfDict(a=2.0)), []),
        (takes(collections.OrderedDict(a=2.0)), []),
        (takes(OfTuple((2.0, 3.0))), ["PC0016"]),
        (times(Kind.DOUBLE), []),
    ],
)
def test_what_the_limits_say_is_captured(function, codes, monkeypatch):
    for name in ("stdout", "stderr"):  # pytest's are of classes of its own
        monkeypatch.setattr(sys, name, io.StringIO())
    explained = pycompile.explain(function)(np.linspace(0, 1, 5000))
    assert explained.error is None
    assert [item["code"] for item in explained.breaks] == codes


def looked_up(x, name):
    return np.sqrt(x) * {"a": 1, "b": 2, "c": 3}[name] + 1


def is_member(x, name):
    return np.sqrt(x) * (2 if name in ("a", "z") else 3) + 1


def is_compared(x, name):
    return np.sqrt(x) * (2 if name == "a" else 3) + 1


@pytest.mark.parametrize(
    ("function", "most"), [(looked_up, (3, 3)), (is_member, (3, 3)), (is_compared, (2, 3))]
)
def test_what_the_limits_say_of_strings(function, most):
    compiled = pycompile.compile(function)
    for name in "abc" * 3:
        compiled(np.linspace(0, 1, 50000), name)
    least, largest = most
    assert least <= compiled.stats()["plans"] <= largest


def test_what_compile_gives_back_as_it_is():
    def generator():
        yield 1

    async def coroutine():
        return 1

    for function in (generator, coroutine, len, np.sqrt, np.add.reduce):
        assert pycompile.compile(function) is function
    double = functools.partial(looked_up, name="b")
    assert pycompile.compile(double).func.stats()["plans"] == 0
    assert pycompile.compile(double).func.__wrapped__ is looked_up


def names_read():
    """Every variable of the environment that some source reads, and where."""
    patterns = {
        "csrc/**/*.c": r'(?:getenv|count_from|number_from)\(\s*"(\w+)"',
        "csrc/config.def": r'"(PYCOMPILE_\w+)"',
        "[a-z]*/**/*.py": r'environ(?:\.get\(|\[|\.setdefault\()\s*"(\w+)"|getenv\("(\w+)"',
        "setup.py": r'environ(?:\.get\(|\[)"(\w+)"',
        "Makefile": r"\b(PYCOMPILE_[A-Z_]+)=",
    }
    found = {}
    for files, pattern in patterns.items():
        for path in ROOT.glob(files):
            if {"build", "constructs"} & set(path.parts):  # made; programs under test
                continue
            for match in re.finditer(pattern, path.read_text()):
                name = next(filter(None, match.groups()))
                if name.startswith("PYCOMPILE_") or path.parts[len(ROOT.parts)] != "tests":
                    found[name] = str(path.relative_to(ROOT))
    return found


def told():
    """The page of settings, to which README.md points."""
    assert "](docs/settings.md)" in (ROOT / "README.md").read_text()
    return (ROOT / "docs" / "settings.md").read_text()


def test_every_variable_is_documented():
    read, text = names_read(), told()
    assert {"PYCOMPILE_LOGS", "OMP_NUM_THREADS", "CC", "PYCOMPILE_BUILD_FLAGS"} <= set(read)
    missing = {name: where for name, where in read.items() if f"`{name}`" not in text}
    missing.pop("PYTHONFAULTHANDLER", None)  # set for what is run, not read
    assert not missing, "not in docs/settings.md"


def test_every_option_is_documented_with_its_default():
    rows = settings_rows(4)
    for name, default, variable, _ in _C.config_describe():
        assert rows[name][2] == (variable or ""), name
        if variable is None:
            assert rows[name][1] == (f'"{default}"' if isinstance(default, str) else str(default))


def settings_rows(columns):
    """The rows of the tables with so many columns in docs/settings.md, by their first cell."""
    rows = {}
    for line in (ROOT / "docs" / "settings.md").read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == columns:
            rows[cells[0]] = cells
    return rows


@pytest.mark.parametrize("function", [pycompile.compile, pycompile.explain])
def test_every_argument_is_documented_with_its_default(function):
    rows, text = settings_rows(3), told()
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("function", "misplaced"):
            continue
        if name == "runs":
            assert "`runs`" in text and "`runs=n`" in function.__doc__
            continue
        default = parameter.default
        shown = f'"{default}"' if isinstance(default, str) else str(default)
        assert rows[name][1] == shown, name
        assert re.search(rf"^ *{name}  ", pycompile.compile.__doc__, re.M), name


def test_the_example_of_the_settings_runs(tmp_path):
    (example,) = re.findall(
        "```python\n(.*?)```", (ROOT / "docs" / "settings.md").read_text(), re.S
    )
    program = tmp_path / "example.py"
    program.write_text(
        "import numpy as np\nimport pycompile\n" + example + "for n in (100, 200):\n"
        "    x = np.random.default_rng(0).random((n, 3))\n"
        "    assert np.array_equal(normalized(x), normalized.__wrapped__(x))\n"
        "assert normalized.stats()['plans'] == 2, normalized.stats()\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_every_channel_is_documented():
    for channel in _C.log_channels():
        assert f"`{channel}`" in told(), channel
        assert channel in pycompile.set_logs.__doc__


@pytest.mark.slow
def test_info_tells_of_every_variable_of_a_user():
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "info"], capture_output=True, text=True
    )
    own = [name for name, where in names_read().items() if where.startswith(("csrc", "pycompile"))]
    for name in own:
        if name.startswith("PYCOMPILE_"):
            assert f"{name}=" in done.stdout, name
    assert "[" not in done.stdout.split("options (")[0]
