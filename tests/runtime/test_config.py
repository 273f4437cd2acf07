"""Options and logs."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pycompile
from pycompile import _C


def test_equal_options_are_one_config():
    plain = _C.test_config({})
    assert _C.test_config({"backend": "c", "fullgraph": False}) == plain
    assert _C.test_config({"backend": "".join(["", "c"])}) == plain
    assert _C.test_config({"fullgraph": True}) != plain
    assert _C.test_config({"unroll": 7}) == _C.test_config({"unroll": 7}) != plain

    def backend(graph, inputs):
        return None

    assert _C.test_config({"backend": backend}) == _C.test_config({"backend": backend}) != plain


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"nonsense": 1}, TypeError, "unknown option nonsense"),
        ({1: 1}, TypeError, "the name of an option is a str"),
        ({"fullgraph": 1}, TypeError, "option fullgraph is True or False, not 1"),
        ({"unroll": "many"}, TypeError, "option unroll is an int"),
        ({"unroll": -5}, ValueError, "option unroll is 0 or more, not -5"),
        ({"recompile_limit": True}, TypeError, "option recompile_limit is an int, not True"),
        ({"unroll": -(2**70)}, ValueError, f"option unroll is 0 or more, not {-(2**70)}"),
        ({"threads": 100000}, ValueError, "option threads is 0 to 256, not 100000"),
        ({"unroll": None}, TypeError, "option unroll is an int"),
        ({"backend": 3}, TypeError, "option backend is a str"),
        ({"backend": "eager"}, ValueError, "or a callable"),
        ([], TypeError, "options is a dict"),
    ],
)
def test_wrong_options(options, error, text):
    with pytest.raises(error, match=text):
        _C.test_config(options)


def test_description():
    rows = _C.config_describe()
    assert ("backend", "c", None) == rows[0][:3]
    assert all(len(row) == 4 for row in rows)


@pytest.fixture
def _plain_logs():
    yield
    _C.log_configure("")
    for name in ("pycompile", *(f"pycompile.{c}" for c in _C.log_channels())):
        logger = logging.getLogger(name)
        logger.setLevel(logging.NOTSET)
        logger.handlers.clear()


@pytest.mark.usefixtures("_plain_logs")
def test_channels(caplog):
    assert not _C.test_log_emit("graph", "a")
    _C.log_configure("graph:cse,graph:fold,schedule")
    assert _C.test_log_emit("graph", "b % {}")
    assert _C.test_log_emit("schedule", "c")
    assert not _C.test_log_emit("guards", "d")
    assert caplog.record_tuples == [
        ("pycompile.graph", 10, "b % {}"),
        ("pycompile.schedule", 10, "c"),
    ]
    assert _C.test_log_wants_pass("cse")
    assert _C.test_log_wants_pass("fold")
    assert not _C.test_log_wants_pass("cs")
    _C.log_configure("graph:all")
    assert _C.test_log_wants_pass("cs")
    _C.log_configure("all")
    assert all(_C.test_log_emit(channel, "e") for channel in _C.log_channels())
    assert not _C.test_log_wants_pass("cse")


@pytest.mark.usefixtures("_plain_logs")
def test_levels_of_the_loggers(caplog):
    logging.getLogger("pycompile").setLevel(logging.INFO)
    assert _C.test_log_emit("recompiles", "a")
    assert not _C.test_log_emit("graph", "b")
    logging.getLogger("pycompile.graph").setLevel(logging.DEBUG)
    assert _C.test_log_emit("graph", "c")
    assert [r.getMessage() for r in caplog.records] == ["a", "c"]


@pytest.mark.usefixtures("_plain_logs")
def test_level_of_the_root_does_not_count(caplog):
    caplog.set_level(logging.DEBUG)
    assert not _C.test_log_emit("graph", "a")


def test_unknown_channel():
    with pytest.raises(
        ValueError,
        match="no channel grahp; the channels are all, graph:PASS, graph:all, recompiles",
    ):
        _C.log_configure("grahp")


def stderr(code, **variables):
    code = "from pycompile import _C\n" + code
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.replace("\n  ", " ")  # the lines of a warning


def test_text_reaches_stderr_without_configuration():
    assert (
        stderr("_C.test_log_emit('graph', 'two\\nlines')", PYCOMPILE_LOGS="graph")
        == "[pycompile.graph] two\nlines\n"
    )
    assert stderr("_C.test_log_emit('cache', 'x')", PYCOMPILE_LOGS="graph") == ""


def test_configured_logging_is_left_alone():
    code = "import logging; logging.basicConfig(format='<%(message)s>')\n_C.test_log_emit('graph', 'x')"
    assert stderr(code, PYCOMPILE_LOGS="graph") == "<x>\n"


def test_wrong_variable_is_a_warning():
    assert "PycompileWarning: PYCOMPILE_LOGS: no channel nope" in stderr("", PYCOMPILE_LOGS="nope")
    told = stderr("_C.test_log_emit('cache', 'kept')", PYCOMPILE_LOGS="nope,cache,neither")
    assert "no channel nope" in told and "no channel neither" in told and "kept" in told


def test_numbers_from_the_environment():
    code = "import sys; print({r[0]: r[1] for r in _C.config_describe()}, file=sys.stderr)"
    assert "'recompile_limit': 3" in stderr(code, PYCOMPILE_RECOMPILE_LIMIT="3")
    assert "'recompile_limit': 8" in stderr(code, PYCOMPILE_RECOMPILE_LIMIT="three")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("PYCOMPILE_RECOMPILE_LIMIT", "-1", "is too small: 0 or more; ignored"),
        ("PYCOMPILE_RECOMPILE_LIMIT", "5M", "whole number (0 or more): ignored"),
        ("PYCOMPILE_THREADS", "100000", "is too large: 0 to 256; ignored"),
        ("PYCOMPILE_POOL_BYTES", "9" * 30, "which may end with K, M or G (0 or more): ignored"),
        ("PYCOMPILE_POOL_BYTES", f"{2**62}G", "which may end with K, M or G (0 or more): ignored"),
        ("PYCOMPILE_POOL_BYTES", "5 apples", "which may end with K, M or G (0 or more): ignored"),
        ("PYCOMPILE_CACHE_BYTES", "0", "is too small: 1 or more; ignored"),
        ("PYCOMPILE_THREAD", "2", "PYCOMPILE_THREAD is no variable of pycompile's: ignored; did "
         "you mean PYCOMPILE_THREADS?"),
        ("PYCOMPILE_DISABLED", "1", "did you mean PYCOMPILE_DISABLE?"),
        ("PYCOMPILE_CACHEDIR", "/tmp", "did you mean PYCOMPILE_CACHE_DIR?"),
        ("PYCOMPILE_LOG", "graph", "did you mean PYCOMPILE_LOGS?"),
        ("PYCOMPILE_FULLGRAPH", "1", "PYCOMPILE_FULLGRAPH is no variable of pycompile's: ignored; "
         "there is pycompile.compile(fullgraph=...)"),
        ("PYCOMPILE_FULL_GRAPH", "1", "there is pycompile.compile(fullgraph=...)"),
        ("PYCOMPILE_BACKEND", "eager", "there is pycompile.compile(backend=...)"),
        ("PYCOMPILE_MODE", "background", "there is pycompile.compile(mode=...)"),
        ("PYCOMPILE_UNROLL", "9", "there is pycompile.compile(options={'unroll': ...})"),
    ],
)  # fmt: skip
def test_what_the_environment_does_not_mean(name, value, text):
    told = stderr("", **{name: value})
    assert told.count("PycompileWarning") == 1 and text in told
    assert "is no variable" in told or f"{name}={value} is " in told


def test_variables_that_are_not_ours_are_not_told():
    assert stderr("", PYCOMPILED="2", PYCOMPILE_="", PYCOMPILE="3") == ""


def test_names_that_do_not_exist_are_told():
    told = stderr("", **{"PYCOMPILE_SOMETHING_ELSE": "1", "PYCOMPILE_" + "X" * 300: "1"})
    assert "PYCOMPILE_SOMETHING_ELSE is no variable of pycompile's: ignored\n" in told
    assert told.count("PycompileWarning") == 2 and "X" * 50 not in told


def test_variables_of_our_own_are_not_told():
    """All that the sources, tests and tools read or set."""
    root, names = Path(__file__).parents[2], set()
    for folder in ("benchmarks", "conformance", "csrc", "docs", "examples", "pycompile", "tests"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".py", ".c", ".def", ".h", ".sh") and path != Path(__file__):
                found = re.findall(r"PYCOMPILE_[A-Z_]+", path.read_text())
                names |= {name for name in found if not name.endswith("_H")}
    for path in ("Makefile", "setup.py"):
        names |= set(re.findall(r"PYCOMPILE_[A-Z_]+", (root / path).read_text()))
    for line in (root / "docs/settings.md").read_text().splitlines():
        names |= set(re.findall(r"PYCOMPILE_[A-Z_]+", line)) if line.startswith("|") else set()
    wrong = {"PYCOMPILE_FUZZ", "PYCOMPILE_BUILD_FLAGS", "PYCOMPILE_CACHE_DIR"} - names
    assert not wrong and len(names) > 20
    assert "is no variable" not in stderr("", **dict.fromkeys(names, "1"))


@pytest.mark.parametrize(
    ("value", "bytes_"), [("5M", 5 << 20), ("7k", 7 << 10), ("1GiB", 1 << 30), ("12", 12)]
)
def test_bytes_with_a_unit(value, bytes_):
    code = (
        "import sys; rows = {r[0]: r[1] for r in _C.config_describe()}\n"
        "print(rows['pool_bytes'], _C.cache_info()['limit'], file=sys.stderr)"
    )
    told = stderr(code, PYCOMPILE_POOL_BYTES=value, PYCOMPILE_CACHE_BYTES=value)
    assert told == f"{bytes_} {bytes_}\n"


def test_options_that_say_two_things():
    def f(x):
        return x + 1

    with pytest.raises(ValueError, match="backend is given twice: 'eager', and 'c' in options"):
        pycompile.compile(f, backend="eager", options={"backend": "c"})
    with pytest.raises(ValueError, match="backend is given twice: 'c', and 'eager' in options"):
        pycompile.compile(f, backend="c", options={"backend": "eager"})
    with pytest.raises(ValueError, match="fullgraph is given twice: True, and False in options"):
        pycompile.compile(f, fullgraph=True, options={"fullgraph": False})
    with pytest.raises(ValueError, match="dynamic is given twice: False, and True in options"):
        pycompile.compile(f, dynamic=False, options={"dynamic": True})
    told = "wait and background are both asked for, mode='wait': remove one"
    with pytest.raises(ValueError, match=told):
        pycompile.compile(f, mode="wait", options={"background": True})
    told = "mode 'background' is given, and background=False in options: remove one"
    with pytest.raises(ValueError, match=told):
        pycompile.compile(f, mode="background", options={"background": False})
    pycompile.compile(f, mode="background", options={"background": True})
    told = "mode 'max-autotune' is given, and autotune=False in options: remove one"
    with pytest.raises(ValueError, match=told):
        pycompile.compile(f, mode="max-autotune", options={"autotune": False})
    assert pycompile.compile(f, mode="max-autotune")(1) == 2
    pycompile.compile(f, backend="eager", options={"backend": "eager", "fullgraph": True})
    with pytest.raises(ValueError, match="'recompile_limt'; did you mean 'recompile_limit'. known"):
        pycompile.compile(f, options={"recompile_limt": 3})


# ---- set_logs ----


@pytest.mark.usefixtures("_plain_logs")
def test_logs_are_changed_at_run_time(caplog):
    for channels in (("schedule", "graph:cse"), ("schedule,graph:cse",), ("schedule graph:cse",)):
        pycompile.set_logs(*channels)
        assert _C.test_log_emit("graph", "a") and _C.test_log_emit("schedule", "b")
        assert not _C.test_log_emit("guards", "c")
        assert _C.test_log_wants_pass("cse") and not _C.test_log_wants_pass("dce")
        pycompile.set_logs()
        assert not any(_C.test_log_emit(channel, "d") for channel in _C.log_channels())
    assert [r.getMessage() for r in caplog.records] == ["a", "b"] * 3


@pytest.mark.usefixtures("_plain_logs")
def test_logs_go_back():
    pycompile.set_logs("cache")
    with pycompile.set_logs("all") as logs:
        assert logs.previous == "cache" and _C.test_log_emit("guards", "a")
        with pytest.raises(KeyError), pycompile.set_logs("bytecode"):
            assert _C.test_log_emit("bytecode", "b") and not _C.test_log_emit("guards", "c")
            raise KeyError
        assert _C.test_log_emit("guards", "d")
    assert _C.test_log_emit("cache", "e") and not _C.test_log_emit("guards", "f")
    before = pycompile.set_logs()
    assert before.previous == "cache" and "cache" in repr(before)
    pycompile.set_logs(before.previous)
    assert _C.test_log_emit("cache", "g")


@pytest.mark.usefixtures("_plain_logs")
def test_levels_that_the_program_set_stay():
    logger = logging.getLogger("pycompile.guards")
    logger.setLevel(logging.WARNING)
    with pycompile.set_logs("guards"):
        assert _C.test_log_emit("guards", "a")
    assert logger.level == logging.WARNING and not _C.test_log_emit("guards", "b")
    with pycompile.set_logs("guards"):
        assert _C.test_log_emit("guards", "c")
        logger.setLevel(logging.INFO)
    assert logger.level == logging.INFO


@pytest.mark.usefixtures("_plain_logs")
def test_wrong_channels_change_nothing():
    pycompile.set_logs("cache")
    known = "the channels are all, graph:PASS, graph:all, recompiles, graph_breaks.*, cache$"
    for wrong in (("guards", "grahp"), ("guards,grahp",)):
        with pytest.raises(ValueError, match=f"^no channel grahp; {known}"):
            pycompile.set_logs(*wrong)
    with pytest.raises(ValueError, match="^no pass graph:no; there are graph: with all, fold"):
        pycompile.set_logs("graph:no")
    with pytest.raises(TypeError, match="are str, not 'int'"):
        pycompile.set_logs(3)
    assert _C.test_log_emit("cache", "a") and not _C.test_log_emit("guards", "b")


@pytest.mark.slow
def test_hints_that_are_asked_for_while_the_program_runs():
    code = """
import numpy as np, pycompile
pycompile.set_logs("perf_hints")
@pycompile.compile
def often(x):
    y = np.tanh(x + 1)
    eval("1")
    return y * 2
for i in range(60): often(np.ones(3000))
"""
    told = stderr(code, PYCOMPILE_LOGS="", PYCOMPILE_PLAN_ALWAYS="1")
    assert "often (" in told and "ms lost" in told
    off = stderr(code + "pycompile.set_logs()", PYCOMPILE_LOGS="", PYCOMPILE_PLAN_ALWAYS="1")
    assert "ms lost" not in off


def test_hints_while_the_collector_frees_functions():
    code = """
import gc
import numpy as np, pycompile
from pycompile import _C

def ring():
    def f(x): return x + 1
    f.__code__ = f.__code__.replace()
    f.ring = pycompile.compile(f)
    f.ring(np.ones(3))

gc.disable()
for _ in range(100): ring()
gc.enable()
gc.set_threshold(1, 1, 1)
_C.hints()
gc.collect()
assert not _C.hints()
"""
    assert stderr(code, PYTHONMALLOC="debug") == ""


def test_numbers_of_bytes_are_text_too():
    assert _C.test_config({"pool_bytes": "10M"}) == _C.test_config({"pool_bytes": 10 << 20})
    with pytest.raises(ValueError, match="pool_bytes is a number with or without K, M or G"):
        _C.test_config({"pool_bytes": "much"})
    with pytest.raises(ValueError, match="pool_bytes is 0 or more, not '-5'"):
        _C.test_config({"pool_bytes": "-5"})
    with pytest.raises(TypeError, match="threads is an int"):
        _C.test_config({"threads": "2"})
