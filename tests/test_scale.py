"""The examples of docs/scale.md, as programs, with the engines that there are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "scale.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.S)
ENGINES = {"joblib", "dask", "distributed", "xarray", "ray"}


def needed(example):
    return sorted(ENGINES & set(re.findall(r"^ *(?:import|from) (\w+)", example, re.M)))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: re.search(r"def (\w+)", text)[1])
def test_the_examples_run(example, tmp_path):
    for engine in needed(example):
        pytest.importorskip(engine)
    script = tmp_path / "example.py"
    script.write_text(example)
    unset = ("PYCOMPILE_WAIT", "PYCOMPILE_PLAN_ALWAYS", "PYCOMPILE_SAMPLE")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"PYCOMPILE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- clusters: eight workers that start at once, and as many runs of the compiler ----

FUNCTION = """
import glob, os, sys
import numpy as np
import pycompile
from pycompile import _C

@pycompile.compile(mode="wait")
def scaled(x, factor):
    return np.tanh(x) * factor + x.sum(axis=1, keepdims=True)

def work(seed):
    x = np.random.default_rng(seed).random((500, 8))
    assert np.array_equal(scaled(x, 2.5), scaled.__wrapped__(x, 2.5))
    return os.getpid(), _C.toolchain_info()["compiled"]

def strict(seed):
    with pycompile.set_stance("fail_on_recompile"):
        return work(seed)

image = pycompile.Image()
elsewhere = {"PYCOMPILE_CACHE_DIR": os.environ["PYCOMPILE_CACHE_DIR"] + "-elsewhere"}
"""

DASK = """
if __name__ == "__main__":
    from distributed import Client, LocalCluster
    from pycompile.dask import PycompilePlugin
    def run(work, workers, env):
        one = dict(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        with LocalCluster(**one, env=env) as cluster, Client(cluster) as client:
            client.register_plugin(PycompilePlugin(image))
            return list(client.run(work, 7).values())
"""

RAY = """
if __name__ == "__main__":
    import ray
    def run(work, workers, env):
        hook = {"worker_process_setup_hook": image, "env_vars": env}
        ray.init(num_cpus=workers, include_dashboard=False, runtime_env=hook)
        @ray.remote(num_cpus=1)
        class Worker:
            def run(self, work):
                return work(7)
        found = ray.get([worker.run.remote(work) for worker in [Worker.remote() for _ in range(workers)]])
        ray.shutdown()
        return found
"""

JOBLIB = """
if __name__ == "__main__":
    from joblib.externals.loky import ProcessPoolExecutor
    def run(work, workers, env):
        with ProcessPoolExecutor(workers, initializer=image, env=env) as pool:
            return list(pool.map(work, range(workers)))
"""


@pytest.fixture
def count(tmp_path):
    """Runs such a program; how often it has compiled."""

    def run(program):
        script, cc = tmp_path / "cluster.py", tmp_path / "cc"
        cc.write_text(
            '#!/bin/sh\ncase "$*" in *--version*) ;; *) echo >>"$0.runs";; esac\nexec cc "$@"\n'
        )
        cc.chmod(0o700)
        (tmp_path / "cc.runs").write_text("")
        script.write_text(FUNCTION + program)
        env = os.environ | {"CC": str(cc), "PYCOMPILE_CACHE_DIR": str(tmp_path / "cache")}
        env |= {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return len((tmp_path / "cc.runs").read_text())

    return run


PROGRAMS = {"distributed": DASK, "ray": RAY, "joblib": JOBLIB}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["distributed", "ray"])
def test_a_cluster_compiles_once(engine, count):
    pytest.importorskip(engine)
    ends = "    assert sum(compiled for _, compiled in run(work, 8, {})) == 1\n"
    assert count(PROGRAMS[engine] + ends) == 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", PROGRAMS)
def test_workers_with_an_image_compile_nothing(engine, count):
    pytest.importorskip(engine)
    ends = """
    image.precompile(scaled, pycompile.Array((500, 8)), 2.5)
    found = run(strict, 2, elsewhere)
    assert [compiled for _, compiled in found] == [0, 0] and os.path.isdir(elsewhere["PYCOMPILE_CACHE_DIR"])
    """
    assert count(PROGRAMS[engine] + ends) == 1
