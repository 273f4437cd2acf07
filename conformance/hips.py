"""python -m conformance.hips: HIPS autograd's own tests, with pycompile's derivatives in its place.

The source distribution, which has the tests, is fetched by pip into build/conformance.  A test that
does not pass must be named in exceptions-hips.txt, with a reason; exit status 1 when one is not, or
when fewer pass than have.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.lists import exceptions
from conformance.modes import ROOT, Outcome, read_lines

VERSION = "1.9.1"
FOLDER = ROOT / "build" / "conformance" / "hips"
LEAST = 0.95
# Tests of its own vector spaces, of SciPy's functions, which have no rules, and of what its functions
# do while they are traced.
LEFT_OUT = ["test_scipy.py", "test_vspaces.py", "test_performance.py"]


def fetched() -> Path:
    """The folder of the source distribution."""
    name = f"autograd-{VERSION}"
    if not (FOLDER / name).exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*words, "-d", str(FOLDER), f"autograd=={VERSION}"], check=True)
        with tarfile.open(FOLDER / f"{name}.tar.gz") as archive:
            archive.extractall(FOLDER, filter="data")
    return FOLDER / name


def run(folder: Path, chosen: list[str]) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="conformance-") as place:
        results = Path(place, "results")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYCOMPILE"))}
        env |= {"PYTHONPATH": str(ROOT), "PYCOMPILE_OUTCOMES": str(results)}
        env |= {"HIPS_AUTOGRAD": str(folder), "PYTHONHASHSEED": "0"}
        words = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir=."]
        words += ["-p", "conformance.outcomes", "-p", "conformance.hips_adapter"]
        words += ["-p", "no:cacheprovider", *(f"--ignore={name}" for name in LEFT_OUT), *chosen]
        done = subprocess.run(words, cwd=folder / "tests", env=env, check=False)
        if not read_lines(results, outcome)[2]:
            outcome.trouble = f"exit status {done.returncode}"
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.hips", description=__doc__)
    parser.add_argument("tests", nargs="*", help="files of tests; otherwise all")
    chosen = parser.parse_args()
    outcome, known = run(fetched(), chosen.tests), exceptions("hips")
    count = passed = open_ = 0
    for name, what in outcome.tests.items():
        count += what not in ("skip", "expected")
        passed += what == "pass"
        short = Path(name.partition("::")[0]).name + "::" + name.partition("::")[2]
        if what in ("fail", "error") and not any(fnmatchcase(short, p) for p in known):
            open_ += 1
            print(f"{short}: {what}")
    share = passed / max(count, 1)
    print(
        f"{passed} of {count} pass ({share:.1%}), {open_} fail without a reason {outcome.trouble}"
    )
    return int(bool(open_ or outcome.trouble or (share < LEAST and not chosen.tests)))


if __name__ == "__main__":
    raise SystemExit(main())
