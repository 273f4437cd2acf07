"""Source to loaded code: memory, disk, compiler, and all that can go wrong on the way."""

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    return done.stdout, done.stderr


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


def test_many_processes_at_once(folder):
    code = "from pycompile import _C\n" + "".join(
        f"assert _C.test_code_run({source(n)!r}) == {n}\n" for n in (1, 2, 3)
    )
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [p.wait() for p in processes] == [0] * 4
    assert len(entries(folder)) == 3


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
    _C.test_cache_sweep()
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


def test_stale_work_folders_go(folder):
    old, new = folder / "work-abcdef", folder / "work-ghijkl"
    for work in (old, new):
        work.mkdir()
        (work / "k.c").write_text("")
    os.utime(old, (10**9, 10**9))
    _C.test_cache_sweep()
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
