"""python -m pycompile cache prune, export, import: entries that another machine of this kind has made."""

import json
import os
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import pycompile
from pycompile import _C
from pycompile.__main__ import main


def shaped(x):
    return np.tanh(x * 2) + 1


def fill(folder, monkeypatch):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(folder))
    pycompile.reset()
    pycompile.compile(shaped)(np.ones(30))
    return sorted(path.name for path in folder.glob("*.so"))


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """An export, and the names of the entries in it; the cache is another, empty folder now."""
    names = fill(tmp_path / "there", monkeypatch)
    assert len(names) == 1 and main(["cache", "export", str(tmp_path / "file")]) == 0
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path / "here"))
    return tmp_path / "file", names


def test_one_of_32_stores_sweeps_and_nobody_waits(exported, tmp_path):
    file, (name,) = exported
    stale = tmp_path / "here" / "work-abcdef"
    stale.mkdir(parents=True)
    os.utime(stale, (10**9, 10**9))
    with zipfile.ZipFile(file) as source:
        entry, record = source.read(name), source.read(name.replace(".so", ".txt"))
    for _ in range(32):
        (tmp_path / name).write_bytes(entry)
        assert _C.cache_take(str(tmp_path / name), record)
        (tmp_path / "here" / name).unlink()
    deadline = time.time() + 20
    while stale.exists() and time.time() < deadline:
        time.sleep(0.001)
    assert not stale.exists()


def changed(file, change):
    """Rewrites the export with what `change` makes of its files, digests and all left as they were."""
    with zipfile.ZipFile(file) as source:
        contents = {name: source.read(name) for name in source.namelist()}
    change(contents)
    with zipfile.ZipFile(file, "w") as out:
        for name, data in contents.items():
            out.writestr(name, data)


def with_kind(**kind):
    def change(contents):
        manifest = json.loads(contents["manifest.json"])
        manifest["kind"].update(kind)
        contents["manifest.json"] = json.dumps(manifest).encode()

    return change


def import_fails(file, here, capsys, *told):
    before = sorted(here.glob("*.so")) if here.exists() else []
    assert main(["cache", "import", str(file)]) == 1
    said = capsys.readouterr().err
    assert all(part in said for part in told), said
    assert sorted(here.glob("*.so")) == before and not list(here.glob("work-*"))


def test_there_and_back(exported, tmp_path, capsys):
    file, names = exported
    assert main(["cache", "import", str(file)]) == 0
    assert "1 file taken" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "here").glob("*.so")) == names
    (entry,) = _C.cache_entries()
    assert (entry["function"], entry["shapes"], entry["hits"]) == ("shaped", "f64[30]", 0)
    pycompile.reset()
    compiled = _C.toolchain_info()["compiled"]
    pycompile.compile(shaped)(np.ones(30))
    assert _C.toolchain_info()["compiled"] == compiled
    assert main(["cache", "import", str(file)]) == 0
    assert "0 files taken" in capsys.readouterr().out
    assert os.listdir(tmp_path / "here") and not list((tmp_path / "here").glob("work-*"))


STEP = """
import sys, numpy as np, pycompile
from pycompile import _C
from pycompile.__main__ import main
sys.path.insert(0, {here!r})
from test_cache_export import shaped
if {action!r} == "import":
    assert main(["cache", "import", {file!r}]) == 0
pycompile.compile(shaped)(np.ones(30))
if {action!r} == "export":
    assert main(["cache", "export", {file!r}]) == 0
print(_C.toolchain_info()["compiled"], _C.cache_info()["hits"])
"""


@pytest.mark.slow
def test_the_same_compiler_is_another_file_on_another_machine(tmp_path):
    """So that the keys are others there; and there may be none."""

    def step(action, folder, **variables):
        here, file = os.path.dirname(__file__), str(tmp_path / "file")
        done = subprocess.run(
            [sys.executable, "-c", STEP.format(here=here, file=file, action=action)],
            env=os.environ | {"PYCOMPILE_CACHE_DIR": str(tmp_path / folder)} | variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[-2:], {path.name for path in (tmp_path / folder).glob("*.so")}

    def compiler():
        path = tmp_path / "cc"
        path.unlink(missing_ok=True)
        path.write_text('#!/bin/sh\nexec cc "$@"\n')
        path.chmod(0o700)
        return str(path)

    (tmp_path / "empty").mkdir()
    counts, made = step("export", "there", CC=compiler())
    assert counts == ["1", "0"]
    counts, taken = step("import", "same", CC=compiler())
    assert counts == ["0", "1"] and len(taken) == 1 and taken != made
    counts, taken = step("import", "none", CC="", PATH=str(tmp_path / "empty"))
    assert counts == ["0", "1"] and taken == made


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ({"cpu": "0" * 32, "cpu_text": "A CPU"}, "CPU: there A CPU, here "),
        ({"compiler": "/bin/occ (occ 1)"}, "compiler: there /bin/occ (occ 1), here "),
        ({"abi": 1}, "version of the cache: there 1, here "),
    ],
)
def test_another_kind_of_machine(exported, tmp_path, capsys, kind, told):
    changed(exported[0], with_kind(**kind))
    import_fails(exported[0], tmp_path / "here", capsys, "machines of another kind", told)


def cut(contents):
    contents.popitem()


def flip(contents):
    name = next(name for name in contents if name.endswith(".so"))
    contents[name] = contents[name][:99] + bytes([contents[name][99] ^ 1]) + contents[name][100:]


def climbing(contents):
    manifest = json.loads(contents["manifest.json"])
    manifest["files"]["../x.so"] = "0"
    contents["manifest.json"] = json.dumps(manifest).encode()
    contents["../x.so"] = b"x"


def no_manifest(contents):
    del contents["manifest.json"]


@pytest.mark.parametrize("change", [cut, flip, climbing, no_manifest])
def test_damaged_files_are_refused(exported, tmp_path, capsys, change):
    changed(exported[0], change)
    import_fails(exported[0], tmp_path / "here", capsys, "is damaged, or no export")


@pytest.mark.parametrize("size", [0, 10, 0.5, -3])
def test_files_that_are_not_whole(exported, tmp_path, capsys, size):
    whole = exported[0].read_bytes()
    exported[0].write_bytes(whole[: int(size * len(whole)) if size == 0.5 else size])
    import_fails(exported[0], tmp_path / "here", capsys, "is damaged, or no export")


def test_a_record_of_another_entry(exported):
    file, (name,) = exported
    with zipfile.ZipFile(file) as source:
        source.extractall(file.parent / "all")
    record = (file.parent / "all" / name).with_suffix(".txt").read_bytes()
    with pytest.raises(ValueError, match="not what its record says"):
        _C.cache_take(str(file.parent / "all" / name), record.replace(b"source: ", b"source: 0"))


def test_nothing_to_export_and_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path / "c"))
    assert main(["cache", "export", str(tmp_path / "file")]) == 1
    assert "there is nothing in" in capsys.readouterr().err
    assert main(["cache", "import", str(tmp_path / "file")]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    for wrong in (["export"], ["list", "file"]):
        with pytest.raises(SystemExit):
            main(["cache", *wrong])


def test_prune(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "c"
    (old,) = fill(folder, monkeypatch)
    _C.test_code_run("int k0(void) { return 7; }\n")
    (fresh,) = (path for path in folder.glob("*.so") if path.name != old)
    assert main(["cache", "prune"]) == 0
    assert capsys.readouterr().out.startswith("0 files, 0 bytes removed; 2 files stay")
    past = time.time() - 31 * 86400
    os.utime(folder / old, (past, past))
    assert main(["cache", "prune", "--days", "32"]) == 0 and (folder / old).exists()
    assert main(["cache", "prune"]) == 0
    assert not (folder / old).exists() and not (folder / old).with_suffix(".txt").exists()
    fresh.write_bytes(fresh.read_bytes()[:-1])
    assert main(["cache", "prune"]) == 0 and not list(folder.glob("*.so"))
