"""What pycompile says when something is not as it was asked for, once, and where it is said."""

import enum
import os
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import pycompile
from pycompile import _C, _hints


def program(folder, text, **variables):
    """Runs `text` as a script; (stdout, stderr)."""
    path = folder / "program.py"
    path.write_text(text)
    env = {k: v for k, v in os.environ.items() if k != "CC"} | variables
    done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.replace("\n  ", " ")  # the lines of a warning


ROOTS = """\
import numpy as np
import pycompile

@pycompile.compile
def f(x):
    return np.sqrt(x) * 2 + 1

for _ in range(3):
    print(f(np.ones(4))[0])
"""
PRINTS = "3.0\n" * 3


def test_cc_that_is_missing_is_told(tmp_path):
    out, err = program(tmp_path, ROOTS, CC="/nonexistent", PYCOMPILE_CACHE_DIR=str(tmp_path / "c"))
    assert out == PRINTS
    assert err.count("Warning") == 1
    assert "program.py:9: PycompileWarning: CC=/nonexistent is no C compiler that works" in err
    assert "pycompile uses /" in err


@pytest.mark.parametrize("cc", ["", "  "])
def test_empty_cc_is_none(tmp_path, cc):
    assert program(tmp_path, ROOTS, CC=cc, PYCOMPILE_CACHE_DIR=str(tmp_path / "c")) == (PRINTS, "")


def test_cache_folder_that_cannot_be_is_told_once(tmp_path):
    (tmp_path / "file").touch()
    more = "\nprint(pycompile.compile(lambda x: x * 3 + f(x))(np.ones(3))[0])\n"
    out, err = program(tmp_path, ROOTS + more, PYCOMPILE_CACHE_DIR=str(tmp_path / "file"))
    assert out == PRINTS + "6.0\n"
    assert err.count("Warning") == 1
    assert f"keeps no compiled code in {tmp_path / 'file'}: it is not a directory" in err


def test_cache_folder_of_nobody(tmp_path):
    more = "\nimport os\nprint(os.listdir())\n"
    code = ROOTS.replace("import numpy", f"import os; os.chdir({str(tmp_path)!r})\nimport numpy")
    out, err = program(tmp_path, code + more, PYCOMPILE_CACHE_DIR="~nosuchuser/x")
    assert out == PRINTS + "['program.py']\n"
    assert err.count("Warning") == 1
    assert "no compiled code in ~nosuchuser/x: there is no user nosuchuser (" in err


def test_cache_folder_whose_name_begins_with_a_tilde(tmp_path):
    code = ROOTS.replace("import numpy", f"import os; os.chdir({str(tmp_path)!r})\nimport numpy")
    assert program(tmp_path, code, PYCOMPILE_CACHE_DIR="./~x") == (PRINTS, "")
    assert list((tmp_path / "~x").iterdir())


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("PYCOMPILE_LOGS", "nope", "no channel nope"),
        ("PYCOMPILE_LOGS", "graph:nope", "no pass graph:nope; there are graph: with all, fold"),
        ("PYCOMPILE_LOGS", "guards:cse", "no pass guards:cse"),
        ("PYCOMPILE_THREADS", "two", "PYCOMPILE_THREADS=two is not a whole number"),
        ("PYCOMPILE_THREADS", "9999", "PYCOMPILE_THREADS=9999 is too large: 0 to 256"),
        ("PYCOMPILE_NUMERICS", "quick", "PYCOMPILE_NUMERICS=quick is neither numpy nor fast: "),
        ("PYCOMPILE_PLAN_ALWAYS", "maybe", "PYCOMPILE_PLAN_ALWAYS=maybe is neither 1 (true"),
    ],
)
def test_variables_are_told_of_at_the_import(tmp_path, name, value, text):
    _, err = program(tmp_path, ROOTS, **{name: value})
    first = err.splitlines()[0]
    place = first.partition(": ")[0]  # the import, or the first name that needs the runtime
    assert place in (f"{tmp_path / 'program.py'}:2", f"{tmp_path / 'program.py'}:4"), err
    assert text in first


@pytest.mark.slow
def test_no_folder_to_compile_in_is_told(tmp_path):
    (tmp_path / "file").touch()
    folders = {
        "PYCOMPILE_CACHE_DIR": str(tmp_path / "file" / "c"),
        "TMPDIR": str(tmp_path / "none"),
    }
    out, err = program(tmp_path, ROOTS, **folders)
    assert out == PRINTS
    assert "can write no folder to compile in" in err and "no working C compiler" not in err
    assert "(set PYCOMPILE_CACHE_DIR to another folder)" in err
    (tmp_path / "program.py").write_text(ROOTS)
    command = [sys.executable, "-m", "pycompile", "explain", str(tmp_path / "program.py")]
    done = subprocess.run(command, env=os.environ | folders, capture_output=True, text=True)
    assert "left to CPython: no folder to compile in can be written" in done.stderr
    counts = " ".join(done.stderr.partition("program.py: 0 graphs, ")[2].split())
    assert ", 0 kernels" in counts.partition(" guards")[0]  # breaks may be of the import system


@pytest.mark.parametrize(
    ("value", "on"), [("true", True), ("YES", True), ("on", True), ("No", False), ("off", False)]
)
def test_variables_that_are_on_or_off(tmp_path, value, on):
    text = (
        "from pycompile import _C\nprint(dict(r[:2] for r in _C.config_describe())['plan_always'])"
    )
    assert program(tmp_path, text, PYCOMPILE_PLAN_ALWAYS=value) == (f"{on}\n", "")


def test_explain_of_a_disabled_program(tmp_path):
    (tmp_path / "program.py").write_text(ROOTS)
    command = [sys.executable, "-m", "pycompile", "explain", "program.py"]
    env = os.environ | {"PYCOMPILE_DISABLE": "1"}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "program.py: left to CPython: PYCOMPILE_DISABLE is set\n"


def test_explain_says_that_no_plan_may_be_made(tmp_path):
    (tmp_path / "program.py").write_text(ROOTS)
    command = [sys.executable, "-m", "pycompile", "explain", "program.py"]
    env = os.environ | {"PYCOMPILE_RECOMPILE_LIMIT": "0"}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    heading = done.stderr.splitlines()[0]
    assert heading == "program.py: left to CPython: PYCOMPILE_RECOMPILE_LIMIT is 0"
    found = pycompile.explain(elements, options={"recompile_limit": 0})(np.ones(3))
    assert str(found).splitlines()[0] == "elements: left to CPython: recompile_limit is 0"


def test_explain_at_a_shell_names_the_option(tmp_path):
    (tmp_path / "program.py").write_text(ROOTS)
    command = [sys.executable, "-m", "pycompile", "explain", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "--verbose" in done.stderr.splitlines()[-1] and ".verbose()" not in done.stderr


@pytest.mark.parametrize("spec", ["graph:nope", "cache:cse", "graph:", "all:cse", "graph,graph:x"])
def test_unknown_pass(spec):
    with pytest.raises(ValueError, match="no pass|no channel"):
        _C.log_configure(spec)
    _C.log_configure("")


@pytest.mark.parametrize("spec", ["graph:cse", "graph:all", "graph,graph:dce,cache", "all"])
def test_known_pass(spec):
    _C.log_configure(spec)
    _C.log_configure("")


def test_logs_go_to_the_stderr_of_the_moment(tmp_path):
    text = (
        "import contextlib, io, sys\nfrom pycompile import _C\n"
        "one, other = io.StringIO(), io.StringIO()\n"
        "for place in (one, other):\n"
        "    with contextlib.redirect_stderr(place):\n"
        "        _C.test_log_emit('graph', 'text')\n"
        "_C.test_log_emit('graph', 'last')\n"
        "print(one.getvalue() == other.getvalue() == '[pycompile.graph] text\\n')\n"
    )
    assert program(tmp_path, text, PYCOMPILE_LOGS="graph") == ("True\n", "[pycompile.graph] last\n")


# ---- backends ----


def roots(x):
    return np.sqrt(x) * 2 + 1


def raises(graph, inputs):
    raise ZeroDivisionError("in the backend")


def raises_when_called(graph, inputs):
    return lambda *arrays: 1 / 0


def gives_no_list(graph, inputs):
    return lambda *arrays: 3


def gives_too_many(graph, inputs):
    return lambda *arrays: [np.zeros(4)] * 2


def gives_another_shape(graph, inputs):
    return lambda *arrays: [np.zeros(3)]


def gives_another_dtype(graph, inputs):
    return lambda x: (np.zeros(x.shape, np.float32),)


def gives_other_strides(graph, inputs):
    return lambda x: [np.zeros(2 * len(x))[::2]]


def gives_an_array(graph, inputs):
    return lambda x: np.zeros(len(x))


def gives_nothing(graph, inputs):
    return lambda x: None


def takes_nothing():
    return None


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (raises, "backend raises raised ZeroDivisionError: in the backend; the function runs"),
        (takes_nothing, "backend takes_nothing raised TypeError"),
        (raises_when_called, "backend raises_when_called made raised ZeroDivisionError: div"),
        (gives_nothing, "gives_nothing made returned NoneType, not a list of the graph's 1 o"),
        (gives_no_list, "gives_no_list made returned int, not a list of the graph's 1 output;"),
        (gives_an_array, "made returned numpy.ndarray, not a list of the graph's 1 output;"),
        (gives_too_many, "made returned 2 results, and the graph has 1 output;"),
        (
            gives_another_shape,
            "made returned as result 0 float64[3] with strides (8), and that output of the "
            "graph is float64[4] with strides (8);",
        ),
        (gives_another_dtype, "float32[4] with strides (4), and that output of the graph is fl"),
        (gives_other_strides, "float64[4] with strides (16), and that output of the graph is flo"),
    ],
)
def test_backend_that_fails(backend, text):
    f = pycompile.compile(roots, backend=backend)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert (f(np.ones(4)) == 3).all()
        assert (f(np.ones(5)) == 3).all()
    assert [w.category for w in caught] == [pycompile.PycompileWarning]
    assert text in caught[0].message.details
    assert caught[0].filename == __file__


def test_a_backend_may_decline():
    """None leaves the graph to CPython, without a warning, and is not asked again for such calls."""
    asked = []
    f = pycompile.compile(roots, backend=lambda graph, inputs: asked.append(len(inputs)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert (f(np.ones(4)) == 3).all()
    assert asked == [1]
    f = pycompile.compile(roots, backend=lambda graph, inputs: None, fullgraph=True)
    with pytest.raises(pycompile.BackendError, match="declined the graph"):
        f(np.ones(4))


@pytest.mark.parametrize("made", [3, [np.zeros(4)]])
def test_backend_that_makes_nothing_to_call(made):
    f = pycompile.compile(roots, backend=lambda graph, inputs: made)
    for _ in range(2):
        with pytest.raises(
            pycompile.BackendError, match="backend .*<lambda> must return a callable, or None"
        ):
            f(np.ones(4))


def test_what_the_program_raises_is_no_failure_of_a_backend():
    def index(x, i):
        return np.sqrt(x - 2)[i] + x.sum()

    f = pycompile.compile(index, backend="eager")
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", pycompile.PycompileWarning)
        f(np.arange(3.0), np.array([0]))
        with pytest.raises(IndexError):
            f(np.arange(3.0), np.array([7]))


# ---- arguments ----


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_fullgraph_is_a_bool(value):
    with pytest.raises(TypeError, match="fullgraph must be True or False"):
        pycompile.compile(roots, fullgraph=value)
    with pytest.raises(TypeError, match="fullgraph must be True or False"):
        pycompile.compile(roots, options={"fullgraph": value})


def test_explain_looks_at_its_arguments():
    with pytest.raises(TypeError, match=r"pycompile.explain takes a callable, not 'int'"):
        pycompile.explain(3)
    with pytest.raises(TypeError, match=r"explain\(\) got an unexpected keyword argument 'foo'"):
        pycompile.explain(roots, foo=3)
    with pytest.raises(ValueError, match="unknown option 'foo'"):
        pycompile.explain(roots, options={"foo": 3})
    with pytest.raises(TypeError, match="not the class 'dict'"):
        pycompile.explain(dict)


@pytest.mark.parametrize("runs", ["3", 2.5, None, True, [1]])
def test_runs_of_explain_are_a_number(runs):
    with pytest.raises(TypeError, match=r"runs must be an int, not '\w+'"):
        pycompile.explain(roots, runs=runs)


def test_runs_of_explain_are_not_negative():
    with pytest.raises(ValueError, match=r"runs must be 0 .* or more, not -3"):
        pycompile.explain(roots, runs=-3)
    assert "plain" not in pycompile.explain(roots, runs=0)(np.ones(4)).seconds
    assert "plain" in pycompile.explain(roots, runs=1)(np.ones(4)).seconds


# ---- the command line ----


def test_report_that_cannot_be_written_is_told_before_the_program_runs(tmp_path):
    (tmp_path / "program.py").write_text("print('has run')\n")
    words = ["run", "--capture-report", str(tmp_path / "none" / "x"), "program.py"]
    command = [sys.executable, "-m", "pycompile", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "" and done.returncode == 2
    path = str(tmp_path / "none" / "x")
    assert done.stderr == (
        f"error: --capture-report: cannot write {path!r}: No such file or directory\n"
    )


def test_report_is_written_to_the_folder_where_the_program_was_started(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "program.py").write_text("import os\nos.chdir('other')\n")
    words = ["run", "--capture-report", "counts", "program.py"]
    command = [sys.executable, "-m", "pycompile", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert (tmp_path / "counts").read_text()[0] == "[" and not list((tmp_path / "other").iterdir())


@pytest.mark.slow
def test_cache_list_into_a_closed_pipe(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for number in range(3000):
        (folder / f"{number:08}-a-long-name-so-that-the-pipe-is-full.so").touch()
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "cache"],
        env=os.environ | {"PYCOMPILE_CACHE_DIR": str(folder)},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert done.stderr == "" and done.returncode == 0


def test_title_of_code():
    code = "import numpy as np\ndef f(x): return np.sqrt(x) + 1\nf(np.ones(3))"
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "explain", "-c", code],
        capture_output=True,
        text=True,
    )
    assert done.stderr.startswith("-c: "), done.stderr


# ---- the limit of plans ----


def limit_told(function, *calls, limit=1):
    """What is said when calls with these arguments meet the limit."""
    options = {"recompile_limit": limit, "plan_always": True}
    compiled = pycompile.compile(function, options=options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pycompile.PycompileWarning)
        for arguments in calls:
            compiled(*arguments)
    assert {item.category for item in caught} == {pycompile.PycompileWarning}
    for item in caught:
        lines = str(item.message).splitlines()
        assert len(lines) <= 3 and max(map(len, lines)) <= 100, lines
        for line in lines[1:]:
            said, cut = re.subn("…$", "", re.sub("^  (because|To have it compiled:) ", "", line))
            rest = item.message.details.partition(said)[2]
            assert said in item.message.details and (not cut or rest[0] in ";:, "), lines
    return "\n".join(item.message.details for item in caught)


def field_of_class(x, e):
    return np.tanh(x) * e.k


def test_of_two_of_one_name_one_is_another():
    def made(v):
        class Row:
            k = v

        return Row()

    told = limit_told(field_of_class, *((ONES, made(k)) for k in range(4)))
    assert "type(e) is Row, now another Row" in told


def work(x):
    return np.sqrt(np.abs(x)) * 2 + 1


def scaled(x, n):
    if n > 3:
        return np.sqrt(x) * n
    return np.cos(x) * n


def element(x, i):
    return np.sqrt(np.abs(x[i : i + 2])) * 2 + x[i]


def added(x, n):
    return np.sqrt(x) * 2 + n


def applied(x, function):
    return function(x) * 2 + 1


def selected(x, n):
    y = x[list(range(n))]
    id(y)
    return np.sqrt(y) * 2 + 1


ONES = np.ones((200, 30))
MANY = set(range(100))


def filled(*numbers):
    """A set whose table shows in which order it was filled, where the numbers' hashes collide."""
    entries = set()
    for number in numbers:
        entries.add(number)
    return entries


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def __repr__(self):
        raise AssertionError("no code of the program is run for a message")


class Strange:
    def __repr__(self):
        raise AssertionError("no code of the program is run for a message")


STRANGE = Strange()


def chosen(x, s):
    if "a" in s:
        x = x * 2
    return np.sqrt(x) + 1


def named(x, s):
    if s is Color.BLUE:
        x = x * 2
    return np.sqrt(x) + 1


class Rates:
    rate = 0.5


RATE = 0.5


def sharing(state):
    def total():
        return sum(state.values())

    return total


def shared(x, f):
    return np.sqrt(x) + f()


def cast(x, s):
    return np.sqrt(x) * 2 if s == "x" * 90 else np.sqrt(x).astype("f4" if type(s) is str else s) + 1


@pytest.mark.parametrize(
    ("function", "calls", "because", "remedy"),
    [
        (work, [(ONES,), (np.float32(ONES),)], "x.dtype == float64, now float32", "cast to one dt"),
        (work, [(ONES,), (ONES[0],)], "x.ndim == 2, now 1", "one number of dimensions"),
        (work, [(ONES,), (ONES[:9],)], "x.shape[0] == 200, now 9", "pad arrays to a few shapes"),
        (
            work,
            [(ONES,), (ONES[:100:-1],)],
            "x.shape[0]",
            "if one is a selection x[mask], keep the shape",
        ),
        (work, [(ONES,), (np.ones((30, 200)).T,)], "c_contiguous", "np.ascontiguousarray"),
        (work, [(ONES,), (ONES[0, 0],)], "now np.float64(1.0)", "pass a plain array each time"),
        (
            work,
            [(ONES,), (ONES.astype(">f8"),)],
            "now an array of dtype >f8",
            "machine's byte order",
        ),
        (
            shared,
            [(ONES, sharing({1: 2.0})), (ONES, sharing({3: 2.0}))],
            "keys of state == (1,), now (3,)",
            "give it the same keys each time",
        ),
        (scaled, [(ONES, 1), (ONES, 5)], "n <= 3, now 5", "the same way at its branches"),
        (scaled, [(ONES, 5), (ONES, 1)], "n >= 4, now 1", "the same way at its branches"),
        (scaled, [(ONES, 1), (ONES, 2.0)], "type(n) is int, now float", "numbers of one type"),
        (added, [(ONES, 1), (ONES, 2**70)], "n fits 64 bits, now 11805", "that fit 64 bits"),
        (applied, [(ONES, np.mean), (ONES, np.median)], "function mean, now function med", "same"),
        (
            applied,
            [(ONES, lambda x: np.sqrt(x)), (ONES, lambda x: np.sqrt(x))],
            "<lambda>, now another function <lambda>",
            "made anew for each call, make once, outside",
        ),
        (chosen, [(ONES, {"b"}), (ONES, {"a"})], "s == {'b'}, now {'a'} (", "different values"),
        (chosen, [(ONES, {9, 10}), (ONES, {"a", 1})], "s == {9, 10}, now {'a', 1} (", "fewer"),
        (
            chosen,
            [(ONES, frozenset()), (ONES, frozenset("a"))],
            "ozenset(), now frozenset({'a'",
            "",
        ),
        (
            chosen,
            [(ONES, MANY), (ONES, {*MANY, "a"} - {7})],
            "now one with {'a'} and without {7}",
            "",
        ),
        (chosen, [(ONES, filled(8, 16)), (ONES, filled(16, 8))], "now one that was filled in", ""),
        (chosen, [(ONES, {"b": 1}), (ONES, {"a": 1, "c": 2})], "== ('b',), now ('a', 'c')", "keys"),
        (chosen, [(ONES, {"b": 1}), (ONES, {STRANGE: 2})], "== ('b',), now 1 other (", "keys"),
        (
            named,
            [(ONES, Color.RED), (ONES, Color.BLUE)],
            "s is Color.RED, now Color.BLUE (",
            "fewer members",
        ),
        (named, [(ONES, Color.RED), (ONES, [1, 2])], "s is Color.RED, now a list of 2 (", "same"),
        (named, [(ONES, Color.RED), (ONES, ONES)], "now an array float64[200, 30] (", "same"),
        (named, [(ONES, ONES), (ONES, np.array(["a"]))], "now an array of dtype <U1 (", "plain"),
        (named, [(ONES, ...), (ONES, Color.BLUE)], "s is Ellipsis, now Color.BLUE (", "same"),
        (
            cast,
            [(ONES, np.dtype("f4")), (ONES, np.dtype("i4"))],
            "32'), now dtype('int32')",
            "same",
        ),
        (
            cast,
            [(ONES, "x" * 90), (ONES, "x" * 91)],
            "..., now another that begins alike (",
            "fewer",
        ),
    ],
)
def test_limit_says_what_varies_and_what_to_change(function, calls, because, remedy):
    told = limit_told(function, *calls)
    assert "was compiled 1 time, and 1 plan of this place has not paid" in told
    reason, _, remedies = told.partition(". To have it compiled: ")
    assert because in reason and remedy in remedies, told
    assert ("pad arrays" in told) == ("shape[" in told)
    assert "9223372036854775" not in told and "object>" not in told


@pytest.mark.parametrize(
    ("function", "because"),
    [
        (lambda x: np.sqrt(x) * Rates.rate, "Rates.rate is 0.5, now 0.25"),
        (lambda x: np.sqrt(x) * RATE, "global RATE is 0.5, now 0.25"),
    ],
)
def test_limit_on_a_number_of_a_class_or_module(function, because, monkeypatch):
    compiled = pycompile.compile(function, options={"recompile_limit": 1, "plan_always": True})
    compiled(ONES)
    monkeypatch.setattr(Rates, "rate", 0.25)
    monkeypatch.setitem(globals(), "RATE", 0.25)
    with pytest.warns(pycompile.PycompileWarning, match="or pass it as an argument") as told:
        compiled(ONES)
    assert because in told[0].message.details


def rolled_twice(g):
    return np.roll(g, 1, 0) + np.roll(g, -1, 1)


def test_limit_names_a_line_of_the_program():
    told = limit_told(rolled_twice, (np.ones((64, 64)),), (np.ones((128, 128)),))
    line = rolled_twice.__code__.co_firstlineno + 1
    assert "g.shape[0] == 64, now 128; g.shape[1]" in told
    assert told.count(f" == 64, now 128 (test_messages.py:{line})") == 1


def test_limit_of_a_selection_made_inside():
    first, told = limit_told(selected, *((np.ones(3000), n) for n in (2000, 2001))).splitlines()
    assert "n == 2000, now 2001" in first
    assert "y.shape[0] == 2000, now 2001" in told and "pad arrays" not in told
    assert "To have it compiled: keep its shape: np.where(mask, x, 0)" in told


def at_once(P):
    for i, p in enumerate(P):
        r = np.sqrt(p)[i : i + 5] * 2
        id(r)


def nested(P):
    for name, (i, p) in zip("abcdef", enumerate(P)):
        r = np.sqrt(p)[i:] * 2
        id(name)


def no_local(P):
    k = {}
    for k["i"], p in enumerate(P):
        r = np.sqrt(p)[k["i"] :] * 2
        id(r)


def in_a_list(P):
    return [np.sqrt(p)[i:] * id(p) for i, p in enumerate(map(abs, P))]


def whole_item(P):
    for t in enumerate(P):
        r = np.sqrt(t[1])[t[0] :] * 2
        id(r)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (at_once, "i == "),
        (nested, "name == "),
        (nested, "i == "),
        (no_local, "(index of enumerate(P)) == "),
        (in_a_list, "i == "),
        (whole_item, "t[0] == "),
    ],
)
def test_guards_name_what_a_loop_takes(function, told):
    ones = [np.ones(30000) + i for i in range(5)]
    guards = pycompile.explain(function, options={"plan_always": True})(ones).guards
    assert any(guard.startswith(told) for guard in guards), guards
    assert not any("a value of line" in guard for guard in guards), guards


def test_limit_tells_each_value_once():
    def rolled(x, name, n):
        return np.roll(np.sqrt(x), 1) * 2 + len(name.upper()) + (n if n else 3)

    calls = [(ONES, "a", 1), (ONES, "a", 1.0), (ONES, "b", 1), (ONES, "b", 1.0), (ONES, "c", 1)]
    told = limit_told(rolled, *calls, limit=4)
    values = told.partition("; because name == ")[2].partition(", now 'c'")[0].split(", ")
    assert sorted(values) == ["'a'", "'b'"], told
    assert "; type(n) is float, now int" in told


def two_arguments(x, n, name, flag):
    y = np.roll(np.sqrt(x), n) * 2 + len(name.upper())
    return y if flag else y + 1


def test_limit_names_all_that_differed():
    """The plan that was hit last differs from the call in `flag` alone, the others in more."""
    calls = [(ONES, n, f"n{n}", True) for n in range(1, 6)] + [(ONES, 9, "n9", True)]
    calls += [(ONES[:9], 9, "n9", False), (ONES[:9, :7], 9, "n9", True)]
    told = limit_told(two_arguments, *calls, limit=7)
    reason, _, remedies = told.partition(". To have it compiled: ")
    assert "name == 'n5', 'n4', 'n3', 'n2', 'n1', now 'n9'; " in reason
    assert "x.shape[0] == 200, now 9; n == 1, now 9 (" in reason  # later plans take any n
    assert "x.shape[1] == 30, now 7 (" in reason
    assert "flag == False, now True (" in reason
    assert "compute with it" in remedies and "fewer texts" in remedies


@pytest.mark.usefixtures("a_plan_for_each_shape")
@pytest.mark.slow
def test_a_fact_of_several_plans_is_counted_once():
    def all_of(*arrays):
        total = np.sqrt(arrays[0]).sum()
        for x in arrays:
            total = total + (x * 2).sum()
        return total

    calls = [tuple(np.ones(3 + n) for _ in range(24)) for n in range(10)]
    told = limit_told(all_of, *calls, limit=8)
    assert told.count("shape[0] ==") == 5 and "; and 19 more. To have it" in told, told
    assert told.count("test_messages.py:") == 3, told  # the function's, and two of the facts'


def test_a_warning_is_shorter_than_a_screen():
    """Whatever varies: three arguments in dtype, rank and sizes, and a number."""

    def all_of(x, y, z, n):
        return np.sqrt(x + y * z) * n + np.abs(x) - y / 3

    calls = [
        tuple(np.ones(shape, dtype) for dtype in (first, "f8", first)) + (n,)
        for shape in [(3,), (4, 3), (5, 4, 3), (200, 7)]
        for first in ("f4", "i8", "c16", "u1")
        for n in (1, 2.5)
    ]
    told = limit_told(all_of, *calls, limit=8)
    assert len(told) <= 720, told


def test_limit_counts_as_stats_do():
    def breaks_first(x, name):
        y = np.sqrt(x) * 2
        id(y)
        return np.sqrt(y) * 2 + len(name.upper())

    compiled = pycompile.compile(breaks_first, options={"recompile_limit": 3, "plan_always": True})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pycompile.PycompileWarning)
        for n in range(1, 6):
            compiled(ONES, f"n{n}")
    (told,) = [item.message.details for item in caught]
    compiles = compiled.stats()["compiles"]
    assert compiles > 3
    assert f"was compiled {compiles} times, and 3 plans of this place have not paid yet" in told


def shouts(x, name):
    return (np.sqrt(x) + 1) * len(name.upper())


def each_of(xs):
    return [(np.sqrt(x) + 1).mean() for x in xs]


def numbered(xs):
    out = []
    for _i, x in enumerate(xs):
        id(x)
        out.append(np.sqrt(x) * 2)
    return out


def sums(x):
    y = x + x
    id(y)
    return np.sqrt(y) * 2


@pytest.mark.parametrize(
    ("function", "calls", "says", "not_said"),
    [
        (shouts, [(ONES, "a"), (ONES, "b")], "texts", "compute with it"),
        (numbered, [([np.ones(n), np.ones(n)],) for n in (60, 70)], "the loop goes", "masks"),
        (each_of, [([np.ones(n)],) for n in (60, 70)], "a few shapes", "masks"),
        (sums, [(np.ones(n),) for n in (60, 70)], "of arguments of a few shapes", "masks"),
        (scaled, [(ONES, 1), (ONES, 5)], "branches", "texts"),
    ],
)
def test_remedies_fit_what_varies(function, calls, says, not_said):
    for line in limit_told(function, *calls).splitlines():
        assert not_said not in line, line
    assert says in line, line


def test_limit_under_fullgraph_gives_one_remedy():
    compiled = pycompile.compile(
        work, fullgraph=True, options={"recompile_limit": 1, "plan_always": True}
    )
    compiled(ONES)
    with pytest.raises(pycompile.GraphBreakError, match="PC0047") as raised:
        compiled(np.float32(ONES))
    told = str(raised.value)
    assert "1 plan; because x.dtype" in told and "cast to one dtype" in told
    assert "x.astype" not in told  # whatever the variable is called
    assert "fewer shapes" not in told and "kinds of arguments" not in told


def test_functions_of_libraries_are_told_by_name():
    def apply(x, statistic):
        return statistic(x, axis=1) * 2

    compiled = pycompile.compile(apply, options={"recompile_limit": 1, "plan_always": True})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for statistic in (np.mean, np.median, np.add.reduce, np.sum):
            compiled(np.ones((3, 4)), statistic)
    told = "".join(str(item.message) for item in caught)
    assert "object>" not in told and "function mean" in told, told


def hint_of(function, *calls, **options):
    """What perf_hints would tell of a function after these calls."""
    compiled = pycompile.compile(function, options={"plan_always": True, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pycompile.PycompileWarning)
        for arguments in calls:
            compiled(*arguments)
    (record,) = (r for r in _C.hints() if r["function"] == function.__qualname__ and r["compiles"])
    return _hints.describe(record)


def test_a_hint_is_given_once():
    """… for what varies at two places of a function."""

    def labels(x, name):
        y = np.exp(x) * 2 + x
        upper = name.upper()
        threading.get_ident()
        return upper, np.exp(y) + len(name), {name: y.sum()}

    text = hint_of(labels, *((ONES, f"n{i}") for i in range(4)))
    assert text.count("no plan held because") == 2
    assert text.count("use fewer texts") == 1


@pytest.mark.usefixtures("a_plan_for_each_shape")
@pytest.mark.parametrize(
    ("function", "values", "text"),
    [
        (
            work,
            [(ONES[:n],) for n in (5, 6, 7)],
            "2 times no plan held because x.shape[0] varied: 5",
        ),
        (work, [(ONES[:n],) for n in (5, 6, 7)], "varied: 5, 6, 7 (test_messages.py:"),
        (work, [(ONES[:n],) for n in range(1, 20)], "varied: 1, 2, 3, 4, 5, ... (test_messages"),
        (work, [(ONES,), (np.float32(ONES),)], "because x.dtype varied: float64, float32 ("),
        (work, [(ONES,), (ONES[:9].T.copy().T,)], "    hint: pad arrays to a few shapes"),
        (work, [(ONES,), (ONES.T.copy().T,)], "because x.flags.c_contiguous, now not ("),
        (scaled, [(ONES, 1), (ONES, 5)], "1 time no plan held because n <= 3, now 5 ("),
        (scaled, [(ONES, 1), (ONES, 2.0)], "because type(n) varied: int, float ("),
        (chosen, [(ONES, {"b"}), (ONES, {"c"})], "because s varied: {'b'}, {'c'} ("),
        (chosen, [(ONES, ["b"]), (ONES, ["b", "c"])], "because len(s) varied: 1, 2 ("),
        (
            chosen,
            [(ONES, {"b": 1}), (ONES, {"c": 1})],
            "because keys of s varied: ('b',), ('c',) (",
        ),
        (named, [(ONES, Color.RED), (ONES, Color.BLUE)], "s varied: Color.RED, Color.BLUE ("),
    ],
)
def test_hints_say_what_varied(function, values, text):
    pycompile.reset()
    told = hint_of(function, *values)
    assert text in told, told
    pycompile.reset()
    assert all(record["varied"] == [] for record in _C.hints())


def test_hints_keep_values_of_the_environment_to_themselves(monkeypatch):
    pycompile.reset()
    monkeypatch.setenv("SECRET", "very secret")
    told = hint_of(chosen, (ONES, {"very secret"}), (ONES, {"b"}))
    assert "secret" not in told and "a value out of the environment" in told


@pytest.mark.parametrize("letters", range(40, 80, 3))
def test_hints_cut_names_between_characters(letters):
    name = "x" * (letters % 2) + "\u00fc" * letters
    scope = {"np": np}
    exec(f"def many({name}):\n    return np.sqrt({name}.T) * 2", scope)
    function = scope["many"]
    function.__qualname__ = name
    pycompile.reset()
    compiled = pycompile.compile(function, options={"plan_always": True})
    for n in (3, 4):
        compiled(np.ones(n))
    found = [text for r in _C.hints() for row in r["varied"] for text in (row[0], *row[3])]
    assert any(text.startswith(name[:60]) for text in found)
    assert not any("\ufffd" in text for text in found)


def logged(caplog, channel, function, *calls):
    """What goes to the log, and the warnings."""
    compiled = pycompile.compile(function, options={"plan_always": False})
    pycompile.set_logs(channel)
    try:
        with warnings.catch_warnings(record=True) as caught, caplog.at_level("DEBUG"):
            warnings.simplefilter("always")
            for arguments in calls:
                compiled(*arguments)
    finally:
        pycompile.set_logs()
    return "\n".join(record.getMessage() for record in caplog.records), caught


def one_operation(x):
    return x + 1


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_a_limit_that_loses_little_is_told_in_the_log_alone(caplog):
    calls = [(np.ones(3 + n),) for n in range(12)]
    told, caught = logged(caplog, "recompiles", one_operation, *calls)
    assert caught == []
    assert "8 plans of this place have not paid yet" in told and "now 11 (" in told


def library_call(x):
    return np.linalg.svd(x)


def division(x):
    return divmod(x, 7)


def product(x):
    return x @ x.T


def numbers_alone(x):
    return len(x) * 3 + x.ndim


def elements(x):
    return x[0] * 2


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (library_call, "its array work is calls of library functions"),
        (division, "its array work is calls of library functions (divmod)"),
        (product, "its array work is calls of library functions (matmul)"),
        (numbers_alone, "it has no array work that a plan saves"),
        (elements, "its work on single numbers takes less time than a plan would"),
    ],
)
def test_what_is_not_worth_a_plan_is_told_by_explain_and_the_log(caplog, function, why):
    x = {library_call: np.ones((3, 3)), product: np.ones((200, 200))}.get(function, np.ones(3))
    told, caught = logged(caplog, "perf_hints", function, (x,))
    assert caught == [] and f"left to CPython: {why}" in told
    found = pycompile.explain(function, options={"plan_always": False})(x)
    flat = " ".join(str(found).split())
    assert f"left to CPython: {why}" in flat and f"left to CPython: {why}" in found.verbose()


def test_a_hint_is_logged_once(caplog):
    calls = [(np.ones(3 + n)[::-1],) for n in range(6)]
    told, _ = logged(caplog, "perf_hints", numbers_alone, *calls)
    assert told.count("numbers_alone") == 1, told
    caplog.clear()
    pycompile.reset()
    told, _ = logged(caplog, "perf_hints", numbers_alone, *calls)
    assert told.count("numbers_alone") == 1, told


def test_hints_by_turns_are_logged_once_each(caplog):
    def two_places(x):
        y = np.sqrt(x)
        _C.hints()  # a break
        return np.log(y - 2) + y

    x = np.linspace(10.0, 20.0, 3000)
    calls = [(v,) for _ in range(8) for v in (x, -x, x / 100)]
    with np.errstate(all="ignore"):
        pycompile.compile(two_places)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told, _ = logged(caplog, "perf_hints", two_places, *calls)
    lines = [line for line in told.splitlines() if "was undone" in line]
    assert len(lines) == len(set(lines)) == 2, told


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 run left a graph, 1 deopt, 1 recompile, 1 place given up\n  1 time at line 4"),
        (2, "2 runs left a graph, 2 deopts, 2 recompiles, 2 places given up\n  2 times at line 4"),
    ],
)
def test_hints_count_in_english(count, text):
    counts = dict.fromkeys(("breaks", "deopts", "recompiles", "given_up"), count)
    places = [(4, count, "PC0002", "a call", "", "")]
    record = {"function": "f", "file": "f.py", "line": 3, "places": places, "varied": []} | counts
    assert text in _hints.describe(record | {"undone_seconds": 0.0})
