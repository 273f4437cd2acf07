"""Source to loaded code: memory, disk, compiler, and all that can go wrong on the way."""

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pycompile
from pycompile import _C

numbers = itertools.count(1000)


def source(number):
    return f"int k0(const void *args, long begin, long end) {{ return {number}; }}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path))
    return tmp_path


def entries(folder):
    return sorted(folder.glob("*.so"))


def child(code, **variables):
    """Runs code in a child process; its output."""
    env = os.environ | variables
    code = "from pycompile import _C\n" + code
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.replace("\n  ", " ")  # the lines of a warning


def test_switched_off(tmp_path):
    """Nothing is written, nothing is read, and nothing is said about it."""
    code = f"print(_C.test_code_run({source(7)!r}))"
    for _ in range(2):
        out, err = child(code, PYCOMPILE_CACHE="0", PYCOMPILE_CACHE_DIR=str(tmp_path / "cache"))
        assert (out, err) == ("7\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 1000])
def test_hash(size):
    data = bytes(range(256)) * 4
    assert _C.test_hash(data[:size]) == hashlib.blake2s(data[:size], digest_size=16).hexdigest()


def test_compiles_once(folder):
    number = next(numbers)
    before = _C.toolchain_info()["compiled"]
    held = _C.code_info()["held"]  # by other tests' plans
    assert _C.test_code_run(source(number)) == number
    assert _C.test_code_run(source(number)) == number
    assert _C.toolchain_info()["compiled"] == before + 1
    assert _C.code_info()["held"] == held
    (entry,) = entries(folder)
    assert entry.stat().st_mode & 0o077 == 0 or folder.stat().st_mode & 0o077 == 0
    assert not list(folder.glob("work-*"))


def test_second_process_compiles_nothing(folder):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    code = f"print(_C.test_code_run({source(number)!r}), _C.toolchain_info()['compiled'])"
    assert child(code)[0] == f"{number} 0\n"


@pytest.mark.parametrize("damage", ["empty", "cut", "flip", "append", "other", "text", "folder"])
def test_damaged_entries_are_replaced(folder, damage):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    (entry,) = entries(folder)
    data = entry.read_bytes()
    entry.unlink()
    if damage == "empty":
        entry.write_bytes(b"")
    elif damage == "cut":
        entry.write_bytes(data[:1000])
    elif damage == "flip":
        entry.write_bytes(data[:700] + bytes([data[700] ^ 1]) + data[701:])
    elif damage == "append":
        entry.write_bytes(data + b"x")
    elif damage == "text":
        entry.write_text("not a shared object" * 100)
    elif damage == "folder":
        entry.mkdir()
    else:  # a good entry under another's name
        assert _C.test_code_run(source(number + 500_000)) == number + 500_000
        (other,) = entries(folder)
        other.rename(entry)
    assert _C.test_code_run(source(number)) == number
    if damage != "folder":
        assert entry.read_bytes()[-48:-32] == b"pycompile-seal-1"


def test_rejections_are_logged(folder):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    (entry,) = entries(folder)
    entry.write_bytes(b"junk")
    err = child(f"_C.test_code_run({source(number)!r})", PYCOMPILE_LOGS="cache")[1]
    assert f"{entry} is damaged or not ours: removed" in err


def test_links_are_not_followed(folder, tmp_path_factory):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    (entry,) = entries(folder)
    target = tmp_path_factory.mktemp("elsewhere") / "x.so"
    entry.rename(target)
    entry.symlink_to(target)
    before = _C.toolchain_info()["compiled"]
    assert _C.test_code_run(source(number)) == number
    assert _C.toolchain_info()["compiled"] == before + 1


def test_folder_is_made_private(tmp_path, monkeypatch):
    folder = tmp_path / "a" / "b"
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(folder))
    assert _C.test_code_run(source(next(numbers)))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(entries(folder)) == 1


def test_folder_that_others_can_write_to_is_not_used(folder):
    folder.chmod(0o777)
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    assert not list(folder.iterdir())
    assert _C.cache_info()["folder"] is None
    assert _C.test_code_run(source(number)) == number


def test_impossible_folder(monkeypatch):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", "/dev/null/x")
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    assert _C.cache_info()["folder"] is None


def test_size_limit_evicts_what_was_not_used_for_longest(folder, monkeypatch):
    made = [next(numbers) for _ in range(5)]
    of = {}
    for age, number in enumerate(made):
        seen = set(entries(folder))
        assert _C.test_code_run(source(number)) == number
        (of[number],) = set(entries(folder)) - seen
        os.utime(of[number], (10**9 + age, 10**9 + age))
    assert _C.test_code_run(source(made[0])) == made[0]  # refreshed
    size = of[made[0]].stat().st_size
    monkeypatch.setenv("PYCOMPILE_CACHE_BYTES", str(3 * size))
    _C.cache_sweep()
    assert set(entries(folder)) == {of[made[0]], of[made[3]], of[made[4]]}


def test_info_and_clear(folder):
    before = _C.cache_info()
    assert (before["folder"], before["entries"], before["bytes"]) == (str(folder), 0, 0)
    number = next(numbers)
    _C.test_code_run(source(number))
    _C.test_code_run(source(number))
    info = _C.cache_info()
    assert info["entries"] == 1
    assert info["bytes"] == entries(folder)[0].stat().st_size
    assert info["hits"] == before["hits"] + 1
    assert info["misses"] == before["misses"] + 1
    (folder / "note").write_text("somebody else's")
    _C.cache_clear()
    assert not entries(folder)
    assert (folder / "note").exists()


@pytest.mark.slow
@pytest.mark.parametrize("junk", [b"junk", b"ju\x01\xffnk\nmore", b"cc (Debian) 12\n" + b"0" * 32])
def test_a_note_that_is_damaged_is_none(tmp_path, junk):
    store = tmp_path / "store"
    (number,) = itertools.islice(numbers, 1)
    code = (
        f"print(_C.test_code_run({source(number)!r}), _C.toolchain_info()['version'],"
        " _C.cache_info()['hits'])"
    )
    said = child(code, PYCOMPILE_CACHE_DIR=str(store))[0].split()
    (note,) = store.glob("compiler-*")
    kept = note.read_bytes()
    note.write_bytes(junk)
    (store / "compiler-junk").write_bytes(junk)
    again, log = child(code, PYCOMPILE_CACHE_DIR=str(store), PYCOMPILE_LOGS="cache")
    assert again.split() == [*said[:-1], "1"] and said[-1] == "0", again
    assert f"{note} is damaged or not ours: ignored" in log
    assert note.read_bytes() == kept
    missing = {"PATH": str(tmp_path), "CC": "/nonexistent/cc"}
    note.write_bytes(junk)
    out, log = child(code, PYCOMPILE_CACHE_DIR=str(store), **missing)
    assert out.split() == ["None", "None", "0"] and log.count("Warning:") == 1


def test_stale_work_folders_go(folder):
    old, new = folder / "work-abcdef", folder / "work-ghijkl"
    for work in (old, new):
        work.mkdir()
        (work / "k.c").write_text("")
    os.utime(old, (10**9, 10**9))
    _C.cache_sweep()
    assert not old.exists()
    assert new.exists()


def test_mathematics_of_the_c_library(folder):
    code = "double pow(double, double); int k0(const void *a, long b, long e) { return (int)pow(2.0 + b, 5); }"
    assert _C.test_code_run(code) == 32
    assert Path(entries(folder)[0]).exists()


def test_every_failure_is_an_answer(folder):
    held = _C.code_info()["held"]
    for n in range(10):
        number = next(numbers)
        _C.test_fail_after(n)
        try:
            result = _C.test_code_run(source(number))
        except MemoryError:
            result = None
        finally:
            _C.test_fail_after(-1)
        assert _C.code_info()["held"] == held
        assert not list(folder.glob("work-*"))
        if result == number:
            break
        assert result is None
    assert n == 5  # the compiler, the record's text as it grows, the loader, the table
    assert _C.test_code_run(source(number)) == number


# ---- what is known of an entry ----

PROGRAM = """
import sys, numpy as np, pycompile
@pycompile.compile
def shaped(x):
    return np.tanh(x * {factor}) + 1
assert (shaped(np.ones(5000)) == np.tanh(np.ones(5000) * {factor}) + 1).all()
info = pycompile.cache_info()
print(info["hits"], info["misses"], info["compiled"], shaped.stats()["plans"])
"""


def program(folder, factor=2, **variables):
    """What a program printed (hits, misses, compiles, plans) and its log."""
    path = folder.parent / "program.py"
    path.write_text(PROGRAM.format(factor=factor))
    variables = {"PYCOMPILE_CACHE_DIR": str(folder), "PYCOMPILE_LOGS": "cache"} | variables
    environment = os.environ | variables
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split())), done.stderr


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def listed(folder):
    """The lines of `cache list`: what it says of each entry, and the sum."""
    done = subprocess.run(
        [sys.executable, "-m", "pycompile", "cache", "list"],
        env=os.environ | {"PYCOMPILE_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_entries_are_listed_with_place_age_size_and_hits(store):
    for _ in range(4):
        program(store)
    (entry,) = entries(store)
    head, line, total = listed(store)
    assert head.split() == ["age", "files", "bytes", "hits", "function", "place", "shapes"]
    age, unit, files, size, hits, function, place, shapes = line.split()
    assert shapes == "f64[5000]"
    assert files == "1"
    assert unit in ("s", "min") and int(size) == entry.stat().st_size and hits == "3"
    assert (function, place) == ("shaped", f"{store.parent}/program.py:3")
    assert total.startswith("1 file, ")
    record = entry.with_suffix(".txt")
    assert record.stat().st_mode & 0o077 == 0
    text = record.read_text()
    assert text.startswith("function: shaped\n") and text.endswith("\nhits: 0 ...")


@pytest.mark.slow
def test_hits_of_many_processes_are_all_counted(folder):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    code = f"from pycompile import _C\nassert _C.test_code_run({source(number)!r}) == {number}"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(6)]
    assert [p.wait() for p in processes] == [0] * 6
    (known,) = _C.cache_entries()
    assert known["hits"] == 6 and known["seconds"] > 0


def test_a_long_row_of_hits_becomes_a_number(folder):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    record = entries(folder)[0].with_suffix(".txt")
    record.write_text(record.read_text() + "." * 9000)
    assert _C.test_code_run(source(number)) == number
    assert record.read_text().endswith("\nhits: 9001 ")
    assert _C.test_code_run(source(number)) == number
    assert _C.cache_entries()[0]["hits"] == 9002


@pytest.mark.parametrize("damage", ["gone", "empty", "binary", "words", "folder", "huge"])
def test_records_that_cannot_be_read(folder, damage):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    record = entries(folder)[0].with_suffix(".txt")
    record.unlink()
    if damage == "folder":
        record.mkdir()
    elif damage != "gone":
        content = {"empty": b"", "binary": bytes(range(256)) * 9, "words": b"line: x\n: \nmade\n"}
        record.write_bytes(content.get(damage, b"function: " + b"f" * 100_000))
    compiled = _C.toolchain_info()["compiled"]
    assert _C.test_code_run(source(number)) == number
    assert _C.toolchain_info()["compiled"] == compiled
    (known,) = _C.cache_entries()
    assert known["function"] is None and known["bytes"] == entries(folder)[0].stat().st_size
    assert listed(folder)[-1].startswith("1 file, ")


def test_records_go_with_their_entries(folder):
    for _ in range(2):
        _C.test_code_run(source(next(numbers)))
    first, second = entries(folder)
    first.unlink()
    _C.cache_sweep()
    assert [path.stem for path in folder.glob("*.txt")] == [second.stem]
    _C.cache_clear()
    assert not list(folder.glob("*.txt"))


# ---- hits and misses in the log ----


@pytest.mark.slow
def test_the_log_says_what_differs(store):
    assert "miss: shaped (" in program(store)[1]
    assert "nothing is kept of this function" not in (again := program(store)[1])
    assert f"hit: shaped ({store.parent}/program.py:3): {store}/" in again
    assert "miss" not in again
    other = program(store, factor=3)[1]
    assert "differs in source\n" in other and "hit" not in other
    other = program(store, CC="cc -DOTHER=1")[1]
    name = next(line for line in other.splitlines() if "miss" in line)
    assert ", differs in compiler (then " in name and "cc (" in name and "cc -DOTHER=1 (" in name
    for path in store.glob("*.so"):  # as from another machine
        record = path.with_suffix(".txt")
        lines = record.read_text().splitlines()
        cpu = next(i for i, line in enumerate(lines) if line.startswith("cpu: "))
        lines[cpu] = "cpu: 0123456789abcdef0123456789abcdef A CPU"
        path.rename(store / f"{path.stem[::-1]}.so")
        record.unlink()
        (store / f"{path.stem[::-1]}.txt").write_text("\n".join(lines))
    assert "differs in cpu (then A CPU, now " in program(store)[1]


@pytest.mark.usefixtures("a_plan_for_each_shape")
def test_a_miss_for_other_shapes_says_which(folder, caplog):
    @pycompile.compile
    def rows(x):
        return (x * 2).sum(axis=1)

    with pycompile.set_logs("cache"), caplog.at_level("DEBUG"):
        rows(np.ones((50, 3)))
        rows(np.ones((50, 4)))
    told = [record.getMessage() for record in caplog.records]
    (miss,) = (text for text in told if "differs in" in text)
    assert miss.endswith("differs in source (then f64[50,3], now f64[50,4])")


def test_a_first_miss_is_told_as_such(store):
    assert "nothing is kept of this function" in program(store)[1]


# ---- without a compiler ----


@pytest.fixture
def nothing(tmp_path):
    """The environment where no compiler is installed."""
    (tmp_path / "empty").mkdir()
    return {"PATH": str(tmp_path / "empty"), "CC": "/nonexistent/cc"}


@pytest.mark.slow
def test_a_warm_cache_needs_no_compiler(store, nothing):
    assert program(store, CC=None)[0] == [0, 1, 1, 1]
    counts, log = program(store, **nothing)
    assert counts == [1, 0, 0, 1] and "hit: shaped" in log and "Warning" not in log
    counts, log = program(store, PATH=nothing["PATH"], CC=None)
    assert counts == [1, 0, 0, 1] and "Warning" not in log


@pytest.mark.slow
def test_what_is_not_there_runs_plain_with_one_warning(store, nothing):
    program(store)
    counts, log = program(store, factor=7, **nothing)
    assert counts == [0, 1, 0, 0]
    assert log.count("PycompileWarning: pycompile found no working C compiler") == 1
    assert "miss: shaped" in log


@pytest.mark.slow
def test_entries_of_any_compiler_are_found_without_one(store, nothing):
    program(store, factor=2, CC="cc -DONE=1")
    program(store, factor=3, CC="cc -DTWO=2")
    for factor in (2, 3):
        assert program(store, factor=factor, **nothing)[0] == [1, 0, 0, 1]
    # Where there is one, it is the one that counts.
    assert program(store, factor=2)[0] == [0, 1, 1, 1]


def test_a_folder_chosen_late_knows_its_compilers(store, nothing, monkeypatch):
    number = next(numbers)
    _C.toolchain_info()  # the compiler was found with another folder
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(store))
    assert _C.test_code_run(source(number)) == number
    code = f"print(_C.test_code_run({source(number)!r}))"
    assert child(code, **nothing)[0] == f"{number}\n"


# ---- the folder ----


def folder_warning(folder, code="", **variables):
    """The warning of a program that compiles something, and the folder it then uses."""
    code += f"print(_C.test_code_run({source(next(numbers))!r}), _C.cache_info()['folder'])"
    out, err = child(code, PYCOMPILE_CACHE_DIR=str(folder), **variables)
    assert out.split()[0] != "None" and err.count("PycompileWarning") <= 1
    return err, out.split()[1]


@pytest.mark.slow
def test_home_is_expanded(tmp_path):
    home = str(tmp_path)
    for name, place in (("~/deep/cache", "deep/cache"), ("~", ""), ("~/", "")):
        tmp_path.chmod(0o700)
        err, used = folder_warning(name, HOME=home)
        assert "Warning" not in err and Path(used) == tmp_path / place
    assert not (Path.cwd() / "~").exists()


@pytest.mark.slow
def test_the_warning_names_what_is_wrong(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o770)
    for folder, text in (
        (tmp_path / "file", "it is not a directory"),
        (tmp_path / "open", r"others can write to it: its mode is 770 (chmod go-w)"),
        ("/dev/null/x", "it cannot be made: Not a directory"),
        ("/proc/nothing/x", "it cannot be made: No such file or directory"),
    ):
        err, used = folder_warning(folder)
        assert f"keeps no compiled code in {folder}: {text}" in err and used == "None", err
        assert "PYCOMPILE_CACHE_DIR" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="making another user's folder takes root")
def test_a_folder_of_another_user_is_not_used(tmp_path):
    tmp_path.chmod(0o700)
    os.chown(tmp_path, 12345, 12345)
    err, used = folder_warning(tmp_path)
    assert "it belongs to user 12345, and this is user 0" in err and used == "None"


AS_NOBODY = """
import os, warnings
from pycompile import _errors
if os.geteuid() == 0:
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
"""


@pytest.fixture
def shared(tmp_path):
    """A folder that users without rights can reach."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o055)
    (tmp_path / "store").mkdir(mode=0o755)
    return tmp_path / "store"


@pytest.mark.slow
def test_a_read_only_folder_is_read(shared, monkeypatch):
    """One that root has filled, or one's own without the right to write."""
    number = next(numbers)
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(shared))
    assert _C.test_code_run(source(number)) == number
    for path in shared.iterdir():
        path.chmod(0o644)
    shared.chmod(0o555)
    before = sorted((path.name, path.read_bytes()) for path in shared.iterdir())
    code = AS_NOBODY + (
        f"print(_C.test_code_run({source(number)!r}), _C.cache_info()['hits'], "
        "_C.toolchain_info()['compiled'])\n"
    )
    out, err = child(code)
    assert out == f"{number} 1 0\n" and "Warning" not in err
    err, used = folder_warning(shared, AS_NOBODY)
    assert "it is read-only for this user: Permission denied" in err and used == str(shared)
    assert sorted((path.name, path.read_bytes()) for path in shared.iterdir()) == before


def test_a_full_disk_is_no_end(folder):
    number = next(numbers)
    assert _C.test_code_run(source(number)) == number
    before = sorted(folder.iterdir())
    code = f"_C.test_cache_least_free(1 << 62)\nassert _C.test_code_run({source(number)!r})\n"
    err, used = folder_warning(folder, code)
    assert "its file system is full (" in err and used == str(folder)
    assert sorted(folder.iterdir()) == before
