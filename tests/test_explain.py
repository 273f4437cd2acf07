"""explain(): what it counts and shows, as text, as a dict and as HTML."""

import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import _C, _explain

X = np.linspace(0.0, 1.0, 12).reshape(3, 4)


def one_graph(x, bias):
    return np.tanh(x + bias).sum(axis=1)


def with_break(x):
    y = x * 2
    print("inside")
    return y + 1


def test_what_the_program_had_made_of_it_is_told():
    def by_size(x):
        return np.tanh(x + 1.0) * x

    compiled = pycompile.compile(by_size, dynamic=False)
    assert "before this call" not in str(pycompile.explain(by_size)(X))
    compiled(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, 15):
            compiled(np.ones(n))
    stats = compiled.stats()
    assert stats["given_up"] == 1
    found = pycompile.explain(compiled, dynamic=False)(X)
    text = f"before this call: {stats['plan_runs']} plan runs; {stats['compiles']} compiles; "
    assert text + "1 place given up: more plans than pay" in str(found)
    assert found.so_far == stats == found.to_dict()["so_far"]
    assert pycompile.explain(by_size)(X).so_far == {}  # explain() has begun afresh


def test_a_loop_that_was_unrolled_into_many_kernels_is_told():
    def unrolled(x, turns):
        for k in range(turns):
            x = np.sort(x * 1.5) + k
        return x

    text = str(pycompile.explain(unrolled)(X[0], 40))
    line = unrolled.__code__.co_firstlineno + 2
    told = f"since line {line} is in the graph 40 times: a loop around it was unrolled, or its function"
    assert told in " ".join(text.split())
    assert "in the graph" not in str(pycompile.explain(unrolled)(X[0], 4))


def test_one_graph():
    found = pycompile.explain(one_graph)(X, X[0])
    assert len(found.graphs) == 1 and found.breaks == [] and found.error is None
    text = str(found)
    assert text.startswith("one_graph: 1 graph, 0 breaks, ")
    assert "tanh" in str(found.graphs[0]) and "tanh" in found.verbose()
    assert found.guards and any("x" in guard for guard in found.guards)
    assert found.kernels >= 1


def test_breaks_name_the_line(capsys):
    found = pycompile.explain(with_break)(X)
    assert capsys.readouterr().out == "inside\n"
    assert len(found.breaks) == 1
    item = found.breaks[0]
    line = with_break.__code__.co_firstlineno + 2
    assert item["line"] == line and item["file"] == __file__
    assert item["code"].startswith("PC") and item["text"]
    assert f"{__file__}:{line}" in found.verbose() and item["code"] in found.verbose()
    assert f"{Path(__file__).name}:{line}" in str(found) and item["code"] in str(found)


def test_as_a_dict():
    found = pycompile.explain(with_break)(X).to_dict()
    assert found["function"] == "with_break" and found["graphs"] >= 1
    json.dumps(found)


def test_as_html():
    html = pycompile.explain(lambda x: x + (x < 1))(X)._repr_html_()
    assert "<details>" in html and "&lt;lambda&gt;" in html


def test_an_exception_is_kept():
    def f(x):
        y = x + 1
        raise ValueError("here", y.shape)

    found = pycompile.explain(f)(X)
    assert isinstance(found.error, ValueError)
    assert "raised ValueError: ('here', (3, 4))" in str(found)


def test_compiled_functions_and_methods():
    compiled = pycompile.compile(one_graph)
    assert len(pycompile.explain(compiled)(X, X[0]).graphs) == 1
    assert (compiled(X, X[0]) == one_graph(X, X[0])).all()


def test_unknown_settings():
    with pytest.raises(TypeError):
        pycompile.explain(one_graph, colour="red")(X, X)


def test_a_recompile_names_its_guard():
    compiled = pycompile.compile(one_graph)
    compiled(X, X[0])
    _C.report_begin()
    compiled(X[:2, :3], X[0, :3])
    records = _C.report_end()
    assert records and "x" in records[0]["recompile"] and "now" in records[0]["recompile"]


def test_why_there_is_nothing():
    @pycompile.disable
    def left(x):
        return x + 1

    def generator(x):
        yield x

    for function, text in (
        (left, "pycompile.disable"),
        (generator, "generator"),
        (len, "bytecode"),
    ):
        assert text in str(pycompile.explain(function)([1.0] if function is len else 1.0))


def test_explain_within_a_program_that_is_explained_tells_of_its_own():
    def first(x):
        return np.sqrt(x) * 3 + 1

    def second(x):
        return np.sqrt(x) * 2 + 1

    _C.report_begin()
    try:
        pycompile.compile(first)(BIG)
        inner = pycompile.explain(second)(BIG)
    finally:
        records = _C.report_end()
    assert [f["function"] for f in inner.functions] == [second.__qualname__]
    assert [r["function"] for r in records] == [first.__qualname__, second.__qualname__]


# ---- the summary ----

BIG = np.linspace(1.0, 2.0, 20000)


def helper(x):
    return x * 2, threading.get_ident()


def with_helper(x):
    y = np.sqrt(x) + 1
    z, _ = helper(y)
    json.dumps({"a": 1})
    return z + 1


def many_breaks(x):
    for _ in range(30):
        x = np.cos(x)
        id(x)
    a, b, c, d, e, f = (
        id(x),
        hash(x.dtype),
        threading.get_ident(),
        locals(),
        eval("1"),
        open(os.devnull),
    )
    f.close()
    return x


def test_the_summary_is_one_screen():
    for function in (one_graph, with_helper, many_breaks):
        args = (X, X[0]) if function is one_graph else (BIG,)
        text = str(pycompile.explain(function)(*args))
        assert len(text.splitlines()) <= 40
        assert max(map(len, text.splitlines())) <= 110
        assert "guards:" not in text and "%0" not in text and ".verbose()" in text
    assert len(str(pycompile.explain(one_graph)(X, X[0])).splitlines()) <= 4


def test_the_summary_names_functions_breaks_and_hints():
    text = str(pycompile.explain(with_helper)(BIG))
    line = helper.__code__.co_firstlineno + 1
    assert "with_helper (" in text and "2 plans" in text and "compiling" in text
    assert f"{Path(__file__).name}:{line}" in text
    assert "return x * 2, threading.get_ident()" in text
    assert "called from with_helper" in text and "hint: Call it before or after" in text
    assert text.count("PC0002") == 1
    assert "in the library's JSONEncoder.iterencode" in text


def test_functions_of_libraries_are_one_line():
    rows = [
        {"function": f"f{i}", "file": file, "line": i, "kind": "plan", "breaks": []}
        for i, file in enumerate((json.__file__, np.__file__, __file__, "<frozen os>"))
    ]
    lines = str(_explain.Explanation("script", rows)).splitlines()
    assert lines[1].startswith("f2 (") and lines[2] == "in libraries: 3 functions (f0, f1, f3)"


def test_everything_is_there_on_request():
    found = pycompile.explain(with_helper)(BIG)
    assert found.verbose() == f"{found:verbose}" != str(found)
    for part in ("graph:", "guards:", "schedule:", "time: capture"):
        assert part in found.verbose() and part not in str(found)
    assert {row["function"] for row in found.functions} >= {"with_helper", "helper"}


def test_html_shows_breaks_unfolded_and_the_rest_folded():
    html = pycompile.explain(with_helper)(BIG)._repr_html_()
    shown = html[: html.index("<details>")]
    assert "PC0002" in shown and "threading.get_ident()" in shown and "guards:" not in shown
    assert "guards:" in html and "library" not in shown


def test_it_runs_the_function_as_often_as_asked():
    calls = []

    def f(x):
        calls.append(None)
        return np.cos(x) * 2 + 1

    found = pycompile.explain(f)(BIG)
    assert len(calls) == 1 and "runs=5" in str(found) and set(found.seconds) == {"call"}
    found = pycompile.explain(f, runs=3)(BIG)
    assert len(calls) == 1 + 1 + 6
    assert found.seconds["plain"] > 0 and "plain " in str(found) and "compiled " in str(found)


@pytest.mark.parametrize("x, has_plan", [(2.0, False), (BIG, True)])
def test_only_where_there_are_plans_calls_are_left_to_python_later(x, has_plan):
    def f(x):
        return x * 2 + 1

    found = pycompile.explain(f, runs=2)(x)
    found.seconds.update(plain=1.0, compiled=2.0)
    assert any("left to Python" in line for line in found.times()) == has_plan
    found.seconds.update(compiled=0.5)
    assert not any("left to Python" in line for line in found.times())


def test_its_runs_get_the_same_arguments():
    def halved(x):
        x *= 0.5

    x, original = BIG.copy(), BIG.copy()
    pycompile.explain(halved, runs=2)(x)
    assert np.array_equal(x, original * 0.5**5)
    x = BIG.copy()
    found = pycompile.explain(lambda x: halved(x.copy()), runs=2)(x)
    assert np.array_equal(x, original) and found.graphs


def test_an_exception_of_its_runs_is_kept():
    def last(x, items):
        return np.cos(x) * items.pop()

    found = pycompile.explain(last, runs=2)(BIG, [1.0, 2.0])
    assert isinstance(found.error, IndexError) and set(found.seconds) == {"call", "plain"}
    assert "raised IndexError: pop from empty list" in str(found)


def test_recompiles_and_their_reason():
    @pycompile.compile
    def scaled(x, k):
        return np.cos(x).reshape(k, -1) + 1

    def calls(x):
        return [scaled(x, k) for k in (2, 4)]

    text = str(pycompile.explain(calls)(BIG))
    assert "recompiled" not in text  # both are in one plan
    pycompile.reset()
    _C.report_begin()
    calls(BIG)
    records = _C.report_end()
    assert records[1]["recompile"].startswith("k == 2, now 4")


SCRIPT = """
import json, threading
import numpy as np

def work(x, n):
    y = np.sqrt(x) + n
    return y * 2, threading.get_ident()

def main():
    x = np.linspace(1, 2, 20000)
    for n in range(20):
        work(x, float(n))
    print(json.dumps({"a": 1}))

main()
"""


@pytest.mark.parametrize("verbose", [False, True])
def test_of_a_script(tmp_path, verbose):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "pycompile", "explain"] + ["--verbose"] * verbose
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, "script.py"], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.returncode == 0 and done.stdout == '{"a": 1}\n'
    assert done.stderr.startswith("script.py: ")
    assert ("guards:" in done.stderr) == verbose
    if not verbose:
        assert len(done.stderr.splitlines()) <= 40
        assert "script.py:7" in done.stderr and " in plans" in done.stderr


# ---- what is not shown ----


def reads_the_environment(x):
    y = np.sqrt(x) + 1
    if os.environ["SERVICE_TOKEN"] == "other":
        y = y * 2
    if KEPT["token"] == "other":
        y = y * 3
    if os.environb[b"SERVICE_TOKEN"] == b"other":
        y = y * 4
    return y, f"{KEPT['token']} {y.mean()}"


KEPT = {}


def test_values_of_the_environment_are_not_shown(monkeypatch, capfd):
    shown = []
    _C.log_configure("all")
    try:
        for secret in ("hunter2-one", "hunter2-two", "hunter2-three"):
            monkeypatch.setenv("SERVICE_TOKEN", secret)
            KEPT["token"] = secret
            found = pycompile.explain(reads_the_environment)(BIG)
            shown += [str(found), found.verbose(), found._repr_html_(), repr(found.to_dict())]
        compiled = pycompile.compile(reads_the_environment)
        for secret in ("hunter2-four", "hunter2-five"):
            monkeypatch.setenv("SERVICE_TOKEN", secret)
            KEPT["token"] = secret
            compiled(BIG)
    finally:
        _C.log_configure("")
    shown += capfd.readouterr()
    assert any("SERVICE_TOKEN" in text for text in shown)  # the name is
    assert not any("hunter2" in text for text in shown)


def test_long_strings_are_cut():
    def f(x, text):
        return np.cos(x) + (text == "a")

    guards = pycompile.explain(f)(BIG, "é" * 3000).guards
    wanted = [guard for guard in guards if guard.startswith("text == ")]
    assert len(wanted) == 1 and "é..." in wanted[0] and len(wanted[0]) < 120


def test_a_run_that_is_given_back_says_why():
    def logs(x):
        return np.log(x) + np.sqrt(x)

    with np.errstate(all="warn"), pytest.warns(RuntimeWarning):
        text = str(pycompile.explain(logs)(-np.ones(50)))
    assert "1 run of a plan given back to Python, last for an invalid value, which" in " ".join(
        text.split()
    )


def undone(caplog, function, *args):
    """What explain and the log say of the one run that was undone, and of which line."""
    first = function.__code__.co_firstlineno
    caplog.clear()
    _C.log_configure("perf_hints")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                explanation = pycompile.explain(function)(*args)
            except ValueError:
                explanation = None
    finally:
        _C.log_configure("")
    (line,) = [line for line in caplog.messages if "undone" in line]
    why, _, place = line.partition("left to CPython: ")[2].rpartition(", at test_explain.py:")
    if explanation is not None:
        told = " ".join(str(explanation).split())
        assert f"last for {why}, at test_explain.py:{place}" in told, told
    return why, *(int(number) - first for number in place.split(" to "))


def test_the_log_has_each_reason_once_with_its_function(caplog):
    def roots(x):
        return np.sqrt(x - 1) * 2

    compiled = pycompile.compile(roots)
    _C.log_configure("perf_hints")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(4):
                compiled(np.linspace(0.0, 1.0, 3000))
    finally:
        _C.log_configure("")
    (line,) = [line for line in caplog.messages if "undone" in line]
    assert ".roots: a run was undone and left to CPython: an invalid value" in line


def test_two_names_of_one_object_are_told_apart(caplog):
    def adds(x, out):
        return np.sqrt(x) + out if out is not x else np.sqrt(x) * 2

    compiled = pycompile.compile(adds)
    x, y = np.ones(3000), np.ones(3000)
    _C.log_configure("recompiles")
    try:
        compiled(x, x)
        compiled(x, y)
        compiled(y, y)
    finally:
        _C.log_configure("")
    assert "x and out were one object, now they are two" in caplog.messages[0].replace(
        "out and x", "x and out"
    )


def test_arguments_belong_to_what_explain_gives():
    def f(x):
        return x + 1

    with pytest.raises(TypeError, match=r"takes the function alone.*pycompile\.explain\(f\)\("):
        pycompile.explain(f, np.ones(3))


def divides(x):
    y = np.sort(x)
    z = np.abs(x)
    return z / (y - y)


def fused(x):
    y = np.sqrt(x + 1)

    return y / (x - x)


def raises(x):
    y = np.sqrt(x)
    total = y.sum()
    if total > 3:
        raise ValueError("too large")
    return y * 2


def warns(x):
    y = np.sqrt(x).sum() + 1
    return np.median(x[:0]) + y


def helper_of_logs(x):
    return np.log(-x)


def logs_inside(x):
    y = np.sort(x)
    return helper_of_logs(y)


def beyond(x):
    n = int(np.sort(x)[0])
    return np.sqrt(x), n * n


@pytest.mark.slow
def test_a_run_that_is_undone_names_its_line(caplog):
    inside = helper_of_logs.__code__.co_firstlineno + 1 - logs_inside.__code__.co_firstlineno
    event = "which NumPy warns of or raises"
    ones = np.ones(50)
    assert undone(caplog, divides, ones) == (f"a division by zero, {event}", 3)
    assert undone(caplog, fused, ones) == (f"a division by zero, {event}", 1, 3)
    assert undone(caplog, beyond, ones * 1e12)[1:] == (2,)
    assert undone(caplog, logs_inside, ones) == (f"an invalid value, {event}", inside)
    assert undone(caplog, raises, ones)[1:] == (3,)
    assert undone(caplog, warns, ones) == ("RuntimeWarning: Mean of empty slice", 2)


def test_functions_that_other_threads_run_are_not_followed():
    def spread(x, parts):
        found = [None] * parts

        def work(i):
            found[i] = np.sqrt(x[i::parts] ** 2 + 1).sum()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(parts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    text = " ".join(str(pycompile.explain(spread)(BIG, 2)).split())
    assert "other threads and processes run are not followed" in text
    assert "nothing has to change" not in text


def test_plans_that_are_always_given_back():
    def inverse(x):
        return (1 / x).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = " ".join(str(pycompile.explain(inverse)(BIG * 0)).split())
    assert "1 plan tried 1 time, each given back to Python" in text
    assert "run 0 times" not in text and " in such tries" in text


def test_a_compiled_function_is_explained_as_it_is_compiled():
    """Settings that nobody overrides, and symbols for what has varied."""

    def scaled(x):
        return x * 2 + len(x)

    at_once = pycompile.compile(scaled, dynamic=True)
    assert "x: float64[1…]" in pycompile.explain(at_once)(np.ones(9)).guards[0]
    assert "x: float64[9]" in pycompile.explain(at_once, dynamic=False)(np.ones(9)).guards[0]
    varied = pycompile.compile(scaled)
    for n in (9, 10):
        varied(np.ones(n))
    assert "x: float64[1…]" in pycompile.explain(varied)(np.ones(11)).guards[0]
    pycompile.reset()
    assert "x: float64[11]" in pycompile.explain(varied)(np.ones(11)).guards[0]
