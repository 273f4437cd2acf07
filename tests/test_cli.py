"""python -m pycompile, the logs, and what an import costs in modules."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import pycompile
from pycompile import _C, _run
from pycompile.__main__ import main


def run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


SCRIPT = """
import numpy as np, pycompile
@pycompile.compile
def f(x):
    y = np.tanh(x + 1)
    print("break", end="" if id(x) else "")
    print()
    return y * 2
f(np.ones(3)); f(np.ones(4)); f(np.ones(4, np.float32))
"""


def test_info():
    done = run("-m", "pycompile", "info")
    assert done.returncode == 0, done.stderr
    assert pycompile.__version__ in done.stdout and np.__version__ in done.stdout
    for option in ("backend", "fullgraph", "recompile_limit", "PYCOMPILE_THREADS", "CACHE_BYTES="):
        assert option in done.stdout


def test_a_script_that_is_not_there(monkeypatch, capsys):
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "orig_argv", ["../python", "-m", "pycompile"])
    with pytest.raises(SystemExit) as ended:
        _run._script("/nothing/such.py")
    told = "../python: can't open file '/nothing/such.py': [Errno 2] No such file or directory\n"
    assert ended.value.code == 2 and capsys.readouterr().err == told


@pytest.mark.slow
def test_info_counts_over_all_processes(tmp_path):
    folder = str(tmp_path / "cache")
    for _ in range(3):
        assert run("-c", SCRIPT, PYCOMPILE_CACHE_DIR=folder).returncode == 0
    told = run("-m", "pycompile", "info", PYCOMPILE_CACHE_DIR=folder).stdout
    rows = dict(re.findall(r"^(\w+(?: \w+)?)  +(.*)$", told, re.M))
    count, seconds = re.fullmatch(r"(\d+), compiled in ([\d.]+) s", rows["cache entries"]).groups()
    assert int(count) >= 1 and float(seconds) > 0
    assert int(rows["cache hits"]) >= 2 * int(count)
    assert rows["cache folder"] == folder and int(rows["cache bytes"].split()[0]) > 0
    assert not re.search(r"\b[0-9a-f]{8} [0-9a-f]{8}\b", rows["cpu"])
    assert "x86-64 with" in rows["cpu"] or "AArch64 with" in rows["cpu"]


@pytest.mark.slow
def test_cache_list_and_clear(tmp_path):
    folder = str(tmp_path / "cache")
    assert run("-c", SCRIPT, PYCOMPILE_CACHE_DIR=folder).returncode == 0
    listed = run("-m", "pycompile", "cache", PYCOMPILE_CACHE_DIR=folder)
    assert listed.returncode == 0, listed.stderr
    count = int(re.search(r"(\d+) files?", listed.stdout).group(1))
    assert count >= 1 and folder in listed.stdout
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert any(name.startswith("compiler-") for name in os.listdir(folder))
    assert run("-m", "pycompile", "cache", "clear", PYCOMPILE_CACHE_DIR=folder).returncode == 0
    assert os.listdir(folder) == []
    listed = run("-m", "pycompile", "cache", "list", PYCOMPILE_CACHE_DIR=folder)
    assert listed.stdout.startswith("0 files")


def test_a_cache_that_cannot_be_cleared(monkeypatch, capsys):
    """As on a file system that is mounted read-only, where root cannot remove anything either."""
    monkeypatch.setattr(_C, "cache_clear", lambda: None)
    monkeypatch.setattr(_C, "cache_info", lambda: {"folder": "/there", "entries": 3})
    assert main(["cache", "clear"]) == 1
    assert capsys.readouterr().out == "not cleared: 3 entries of /there cannot be removed\n"


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    script = SCRIPT + "\nprint(pycompile.cache_info())"
    folder = str(tmp_path / "cache")
    first = run("-c", script, PYCOMPILE_CACHE_DIR=folder)
    second = run("-c", script, PYCOMPILE_CACHE_DIR=folder)
    assert first.returncode == 0 and second.returncode == 0, second.stderr
    assert re.search(r"'compiled': [1-9]", first.stdout), first.stdout
    assert "'compiled': 0" in second.stdout, second.stdout


def test_unknown_commands():
    assert run("-m", "pycompile").returncode == 2
    assert run("-m", "pycompile", "nonsense").returncode == 2


CHANNELS = {
    "graph_breaks": "PC00",
    "recompiles": "x",
    "guards": "x",
    "bytecode": "return",
    "graph": "tanh",
    "schedule": "k0",
    "output_code": "k0",
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_log_channels(channel):
    done = run("-c", SCRIPT, PYCOMPILE_LOGS=channel)
    assert done.returncode == 0, done.stderr
    assert CHANNELS[channel].lower() in done.stderr.lower(), done.stderr


def test_log_of_every_pass():
    done = run("-c", SCRIPT, PYCOMPILE_LOGS="graph:all")
    for name in ("fold", "cse", "dce"):
        assert name in done.stderr, done.stderr


def test_logs_go_to_logging():
    script = (
        "import logging\nlogging.basicConfig(format='%(name)s| %(message)s', level=logging.DEBUG)\n"
        + SCRIPT
    )
    done = run("-c", script, PYCOMPILE_LOGS="graph_breaks")
    assert "pycompile.graph_breaks|" in done.stderr, done.stderr


def test_unknown_channels_are_told():
    done = run("-c", SCRIPT, PYCOMPILE_LOGS="grpah")
    assert done.returncode == 0 and "grpah" in done.stderr


def test_wrong_numbers_are_told():
    done = run("-c", SCRIPT, PYCOMPILE_THREADS="two", PYCOMPILE_RECOMPILE_LIMIT="-1")
    assert done.returncode == 0
    assert "PYCOMPILE_THREADS=two is not a whole number" in done.stderr
    assert "PYCOMPILE_RECOMPILE_LIMIT=-1 is too small" in done.stderr


@pytest.mark.slow
def test_no_cache_folder(tmp_path):
    (tmp_path / "file").touch()
    for action in ("list", "clear"):
        done = run("-m", "pycompile", "cache", action, PYCOMPILE_CACHE_DIR=str(tmp_path / "file"))
        assert "no cache folder" in done.stdout and "None" not in done.stdout


def test_nothing_is_said_without_logs():
    done = run("-c", SCRIPT)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == "break\n" * 3


def test_no_compiler_is_told_once(tmp_path):
    done = run(
        "-c", SCRIPT, PYCOMPILE_CACHE_DIR=str(tmp_path), CC="/no/such/compiler", PATH="/nowhere"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "break\n" * 3
    assert done.stderr.count("Warning") == 1 and "compiler" in done.stderr


def test_import_brings_no_heavy_modules():
    code = (
        "import numpy, sys; before = set(sys.modules); import pycompile;"
        "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('pycompile')))"
    )
    brought = run("-c", code).stdout.split()
    heavy = {
        "dataclasses",
        "logging",
        "subprocess",
        "argparse",
        "tempfile",
        "asyncio",
        "typing_extensions",
    }
    assert not heavy & set(brought), brought


def test_version():
    done = run("-m", "pycompile", "--version")
    assert done.returncode == 0 and done.stdout == f"pycompile {pycompile.__version__}\n"


MANY = """
import numpy as np, pycompile
@pycompile.compile(options={"plan_always": True})
def many(x, k):
    return np.tanh(x + 1) * k
def wave(x):
    return np.cos(x) * 2
for dtype in "fdD":
    many(np.ones(3, dtype), 1.0)
pycompile.compile(wave, options={"plan_always": True})(np.ones(3))
"""


BEFORE_THE_FIRST = """
import numpy as np
import pycompile

@pycompile.compile
def before(x, n):
    s = 0.0
    for i in range(len(x)):
        s += x[i - n]
    return s

try:
    before(np.arange(1000.0), 1001)
except IndexError:
    pass
"""


@pytest.mark.slow
def test_cache_list_names_the_function_of_a_loop_by_pythons_rules(tmp_path):
    """The variant of a loop that is compiled when the usual one has met what Python raises at."""
    (tmp_path / "program.py").write_text(BEFORE_THE_FIRST)
    folder = str(tmp_path / "cache")
    done = run(str(tmp_path / "program.py"), PYCOMPILE_CACHE_DIR=folder)
    assert done.returncode == 0, done.stderr
    rows = run("-m", "pycompile", "cache", PYCOMPILE_CACHE_DIR=folder).stdout.splitlines()[1:-1]
    assert len(rows) == 2 and all("before" in row for row in rows), rows
    assert all("program.py:5" in row for row in rows), rows


@pytest.mark.slow
def test_cache_list_has_a_line_for_each_function(tmp_path):
    (tmp_path / "program.py").write_text(MANY)
    folder = str(tmp_path / "cache")
    done = run(str(tmp_path / "program.py"), PYCOMPILE_CACHE_DIR=folder)
    assert done.returncode == 0, done.stderr
    head, *rows, last = run(
        "-m", "pycompile", "cache", PYCOMPILE_CACHE_DIR=folder
    ).stdout.splitlines()
    assert head.split() == ["age", "files", "bytes", "hits", "function", "place", "shapes"]
    files = {row.split()[5]: int(row.split()[2]) for row in rows}
    assert sorted(files) == ["many", "wave"] and files["many"] > files["wave"] == 1
    assert int(last.split()[0]) == sum(files.values())
    one_by_one = run("-m", "pycompile", "cache", "--all", PYCOMPILE_CACHE_DIR=folder).stdout
    assert one_by_one.count(" many ") == files["many"]
    told = run("-m", "pycompile", "cache", "info", PYCOMPILE_CACHE_DIR=folder).stdout
    assert folder in told and re.search(rf"cache entries +{sum(files.values())}, compiled", told)
