"""Images: compiled code that travels to processes which have none of it."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pycompile

FUNCTIONS = """
import numpy as np
import pycompile

@pycompile.compile
def scaled(x, factor=2):
    return np.tanh(x) * factor + x.sum()
"""

WORKER = """
import os, pickle, sys
import numpy as np
import pycompile
from pycompile import _C

image = pickle.load(open(sys.argv[1], "rb"))
{before}
image(*sys.argv[2:])
from functions import scaled
x = np.arange(30.0)
with pycompile.set_stance("fail_on_recompile"):
    found = scaled(x)
assert found.tobytes() == scaled.__wrapped__(x).tobytes()
print(_C.toolchain_info()["compiled"], scaled.stats()["plan_runs"])
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Runs a worker with an image of `scaled`; what it says, and how often a compiler was started."""
    folder, cc = tmp_path / "there", tmp_path / "cc"
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(folder))
    monkeypatch.syspath_prepend(tmp_path)
    cc.write_text('#!/bin/sh\necho >>"$0.runs"\nexec cc "$@"\n')
    cc.chmod(0o700)
    monkeypatch.setenv("CC", str(cc))
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    monkeypatch.delitem(sys.modules, "functions", raising=False)
    from functions import scaled

    image = pycompile.Image()
    assert image.precompile(scaled, pycompile.Array(30))
    (tmp_path / "image").write_bytes(pickle.dumps(image))

    def run(before="", change=("", "")):
        (tmp_path / "cc.runs").write_text("")
        (tmp_path / "functions.py").write_text(FUNCTIONS.replace(*change))
        done = subprocess.run(
            [
                sys.executable,
                "-B",
                "-c",
                WORKER.format(before=before),
                tmp_path / "image",
                "worker 7",
            ],
            env=os.environ
            | {"PYCOMPILE_CACHE_DIR": str(tmp_path / "here")}
            | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
            capture_output=True,
            text=True,
        )
        return done.stdout or done.stderr.splitlines()[-1], len((tmp_path / "cc.runs").read_text())

    return run


@pytest.mark.slow
def test_a_worker_with_an_image_starts_no_compiler(job):
    assert job() == ("0 1\n", 0)


@pytest.mark.slow
def test_a_function_that_has_moved_in_its_file_is_the_same(job):
    assert job(change=("@pycompile", "# a comment\n@pycompile")) == ("0 1\n", 0)


@pytest.mark.slow
def test_a_worker_of_another_cpu_compiles_for_itself(job):
    said, runs = job(before='_C.test_cpu(" another")')
    assert said == "1 1\n" and runs > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("np.tanh(x)", "np.sinh(x)"),
            "there `%1: f64[30] = ufunc(%0, object=numpy.tanh)`, here `",
        ),
        (("@pycompile.compile", ""), "here it is 'function', which is not compiled"),
    ],
)
def test_a_worker_that_compiles_otherwise_is_named(job, change, told):
    said, _ = job(change=change)
    assert said.startswith("pycompile.JobError: worker 7 compiles scaled otherwise than process ")
    assert told in said


def test_the_error_travels():
    error = pycompile.JobError("worker 7", "f", "process 1 of here", "graph, line 1")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.worker == "worker 7"


def test_an_image_takes_what_is_compiled():
    with pytest.raises(TypeError, match="what pycompile.compile gives"):
        pycompile.Image().precompile(np.sin, 1.0)
    assert pickle.loads(pickle.dumps(pycompile.Image()))() is None


@pycompile.compile
def halved(x):
    return np.tanh(x) / 2


@pytest.fixture
def image(tmp_path, monkeypatch):
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path / "there"))
    pycompile.reset()
    made = pycompile.Image()
    assert made.precompile(halved, pycompile.Array(30))
    return made


def test_an_image_has_the_code_of_a_folder_that_the_cache_had(image, tmp_path, monkeypatch):
    there = pickle.dumps(image)
    monkeypatch.setenv("PYCOMPILE_CACHE_DIR", str(tmp_path / "here"))
    assert len(pickle.dumps(image)) == len(there)
    assert len(pickle.dumps(pickle.loads(there))) == len(there)


def test_a_damaged_image_says_so(image):
    state = image.__getstate__()
    for at in range(0, len(state["sealed"]), 97):
        sealed = bytearray(state["sealed"])
        sealed[at] ^= 0x80
        with pytest.raises(pickle.UnpicklingError, match="the image is damaged"):
            pycompile.Image().__setstate__({**state, "sealed": bytes(sealed)})
