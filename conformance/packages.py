"""python -m conformance.packages MODULE …: a package's own pytest suite, plain and under pycompile.

Each module (numpy.fft.tests, …) runs in two processes, plain and by `python -m pycompile run -m pytest`;
a test that passes plain and not under pycompile is a difference.  Exit status 1 when there is one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LIMIT = 1200  # seconds for one module
NUMPY = ["numpy." + part + ".tests" for part in "fft linalg lib polynomial ma random _core".split()]


def outcomes(module: str, prefix: list[str]) -> dict[str, str]:
    """By test: passed, failed or skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        tests = ["--pyargs", module, "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command = [sys.executable, *prefix, "-m", "pytest", *tests]
        env = os.environ | {"PYCOMPILE_PLAN_ALWAYS": os.environ.get("PYCOMPILE_PLAN_ALWAYS", "0")}
        subprocess.run(command, cwd=folder, env=env, timeout=LIMIT, stdout=subprocess.DEVNULL)
        if not report.exists():
            return {}
        found = {}
        for case in ElementTree.parse(report).iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            name = f"{case.get('classname')}::{case.get('name')}"
            found[name] = (
                "failed" if bad else "passed" if case.find("skipped") is None else "skipped"
            )
        return found


def main() -> int:
    status = 0
    for module in sys.argv[1:] or NUMPY:
        plain = outcomes(module, [])
        other = outcomes(module, ["-m", "pycompile", "run"])
        passed = [name for name, outcome in plain.items() if outcome == "passed"]
        wrong = [name for name in passed if other.get(name) != "passed"]
        print(f"{module}: {len(passed)} pass plain, {len(wrong)} of them not under pycompile")
        for name in wrong:
            print(f"  {name}: {other.get(name, 'missing')}")
        status |= bool(wrong) or not plain
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
