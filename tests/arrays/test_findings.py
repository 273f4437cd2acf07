"""What probes have shown is kept for later processes, and is valid only where it would be shown again."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pycompile import _C

PROGRAM = """
import numpy as np
import pycompile
from pycompile import _C

def f(x):
    return np.log(np.exp(x * 0.5) + 1.0)

x = np.linspace(-700, 700, 40_000)
ours = pycompile.compile(f)(x)
assert ours.tobytes() == f(x).tobytes()
print(_C.test_elementary_probes())
"""
KEY = "from pycompile import _C\nprint(_C.test_findings_key(), end='')"
x86 = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="there is no code of ours elsewhere"
)


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def child(code, folder, **variables):
    env = {**os.environ, "PYCOMPILE_CACHE_DIR": str(folder), **variables}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def probes(folder, **variables):
    return int(child(PROGRAM, folder, **variables))


def note_of(folder):
    (note,) = folder.glob("probes-*")
    return note


@pytest.fixture
def of_ours():
    """Whether there is code of ours whose probe is a matter for the test."""
    if not trials_happen():
        pytest.skip("no function of ours for this processor")


def trials_happen():
    with open("/proc/cpuinfo") as info:
        flags = info.read().split()
    return "avx2" in flags and "fma" in flags


@pytest.mark.slow
@x86
def test_second_process_makes_no_trial(folder, of_ours):
    assert probes(folder) == 2
    first = note_of(folder).read_bytes()
    assert b"exp.f64.0 " in first and b"log.f64.0 " in first
    assert probes(folder) == 0
    assert note_of(folder).read_bytes() == first


@pytest.mark.slow
@x86
@pytest.mark.parametrize("damage", ["empty", "cut", "flip", "line", "other", "folder"])
def test_damaged_notes_are_ignored(folder, damage, of_ours):
    assert probes(folder) == 2
    note = note_of(folder)
    good = note.read_bytes()
    note.unlink()
    if damage == "empty":
        note.write_bytes(b"")
    elif damage == "cut":
        note.write_bytes(good[:-20])
    elif damage == "flip":
        note.write_bytes(good.replace(b"exp.f64.0 ", b"exp.f64.0 1", 1))
    elif damage == "line":
        note.write_bytes(good.replace(b"exp.f64.0", b"sin.f64.0 1\nexp.f64.0", 1))
    elif damage == "other":
        note.write_bytes(b"\xff" * 300)
    else:
        note.mkdir()
    assert probes(folder) == 2
    if damage != "folder":
        assert note_of(folder).read_bytes() == good
        assert probes(folder) == 0


def sealed(name, text):
    """As csrc/runtime/cache.c does it."""
    return text + b"\0" + _C.test_hash(name + b"\0" + text + b"\0").encode()


def parts(note):
    """The first line of a note, and its findings."""
    first, _, findings = note.read_bytes().partition(b"\0")[0].partition(b"\n")
    return first, findings


@x86
def test_seal_of_this_file_is_that_of_notes(folder, of_ours):
    probes(folder)
    note = note_of(folder)
    assert note.read_bytes() == sealed(note.name.encode(), b"\n".join(parts(note)))


@pytest.mark.slow
@x86
def test_notes_of_others_are_ignored(folder, of_ours):
    """Another NumPy, C library, processor or pycompile: another digest in the first line."""
    assert probes(folder) == 2
    note = note_of(folder)
    first, findings = parts(note)
    other = bytes(reversed(first))
    note.write_bytes(sealed(note.name.encode(), other + b"\n" + findings))
    assert probes(folder) == 2
    assert parts(note) == (first, findings)


PRETENDER = """
import numpy as np
from pycompile import _C
import pycompile
_C.test_elementary_pretend("tanh")
x = np.linspace(0.5, 5, 1000)

def f(x):
    return np.exp(x) + 1

assert pycompile.compile(f)(x).tobytes() == f(x).tobytes()
print(_C.test_elementary_probes())
"""


@pytest.mark.slow
@x86
def test_kept_finding_is_tried_again(folder, of_ours):
    """Code that is not the loop's is found out, whatever the note says, and then tried in full."""
    assert probes(folder) == 2
    assert int(child(PRETENDER, folder)) == 1


LIAR = """
import numpy as np
from pycompile import _C
import pycompile
x = np.linspace(-5, 5, 1000, dtype="f4")

def f(x):
    return np.{function}(x) + 1

assert pycompile.compile(f)(x).tobytes() == f(x).tobytes()
print(_C.test_elementary_probes())
"""


@pytest.mark.slow
@x86
@pytest.mark.parametrize("candidate", [1, 2, 3, 4, -1, 10**30])
def test_wrong_finding_is_found_out(folder, candidate, of_ours):
    """A finding is tried with the odd arguments; one that names no candidate of ours is none."""
    code = LIAR.format(function="arctan")  # there is none for 32 bytes, and one of NumPy's for 64
    child(code, folder)
    note = note_of(folder)
    first, findings = parts(note)
    lines = [line for line in findings.split(b"\n") if not line.startswith(b"arctan.f32.")]
    lines.insert(0, b"arctan.f32.0 %d" % candidate)
    note.write_bytes(sealed(note.name.encode(), first + b"\n" + b"\n".join(lines)))
    child(code, folder)


def test_key_names_what_trials_depend_on():
    key = _C.test_findings_key()
    lines = dict(line.split(" ", 1) for line in key.splitlines())
    umath = np._core._multiarray_umath.__file__
    info = os.stat(umath)
    assert lines["numpy"].startswith(f"{umath} {info.st_size} {info.st_ino} ")
    info = os.stat(_C.__file__)
    assert lines["pycompile"].startswith(f"{_C.__file__} {info.st_size} {info.st_ino} ")
    assert all("+" in lines[what] for what in ("python", "libc", "exp", "log", "expf"))
    has = [name for name, there in np._core._multiarray_umath.__cpu_features__.items() if there]
    assert lines["features"].split() == has


@pytest.mark.slow
@x86
def test_key_tells_which_functions_were_chosen(folder, of_ours):
    usual = child(KEY, folder)
    assert child(KEY, folder) == usual
    other = child(
        KEY, folder, GLIBC_TUNABLES="glibc.cpu.hwcaps=-FMA,-AVX2_Usable,-AVX2,-FMA_Usable"
    )
    assert other.splitlines()[:4] == usual.splitlines()[:4]
    assert other != usual
    disabled = child(
        KEY, folder, NPY_DISABLE_CPU_FEATURES="AVX512F AVX512_SKX AVX2 FMA3 X86_V3 X86_V4"
    )
    assert disabled.splitlines()[:-1] == usual.splitlines()[:-1]
    assert disabled != usual


@pytest.mark.slow
def test_key_tells_of_the_file(tmp_path):
    """A copy of the extension, with other bytes at its end."""
    package = tmp_path / "pycompile"
    package.mkdir()
    origin = os.path.dirname(_C.__file__)
    for name in os.listdir(origin):
        if name != os.path.basename(_C.__file__):
            (package / name).symlink_to(os.path.join(origin, name))
    with open(_C.__file__, "rb") as file:
        data = file.read()
    own = package / os.path.basename(_C.__file__)
    own.write_bytes(data)
    keys = [child(KEY, tmp_path, PYTHONPATH=str(tmp_path))]
    own.write_bytes(data + b"\0")
    keys.append(child(KEY, tmp_path, PYTHONPATH=str(tmp_path)))
    first, second = (key.splitlines() for key in keys)
    assert first[0] == second[0] and first[1] != second[1] and first[2:] == second[2:]
