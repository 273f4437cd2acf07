"""What pycompile says when something is not as it was asked for, once, and where it is said."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pycompile
from pycompile import _C


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


def roots(x):
    return np.sqrt(x) * 2 + 1


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
    found = pycompile.explain(roots, options={"recompile_limit": 0})(np.ones(3))
    assert str(found).splitlines()[0] == "roots: left to CPython: recompile_limit is 0"


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
