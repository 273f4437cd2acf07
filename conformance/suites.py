"""Which packages' tests are run, where they are, and which tests may differ, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

# Tests of tools, of building extensions and of type checkers run none of our code.
_LEFT_OUT = [
    "test_cython",
    "test_limited_api",
    "test_simd",
    "test_simd_module",
    "test_cpu_features",
]


@dataclass(frozen=True)
class Suite:
    """Tests that run in one process; `arguments` for pytest."""

    name: str
    package: str
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()  # of the environment

    def version(self) -> str:
        return metadata.version(self.package)


def _numpy_modules() -> list[str]:
    """numpy.fft.tests and so on; those of numpy._core and numpy.lib file by file."""
    parts = "fft linalg matrixlib polynomial ma random testing"
    names = ["numpy.tests", *(f"numpy.{part}.tests" for part in parts.split())]
    for part in ("lib", "_core"):
        spec = find_spec(f"numpy.{part}")
        assert spec is not None and spec.origin is not None
        stems = sorted(p.stem for p in (Path(spec.origin).parent / "tests").glob("test_*.py"))
        names += [f"numpy.{part}.tests.{stem}" for stem in stems if stem not in _LEFT_OUT]
    return names


NUMPY = _numpy_modules()

# Pure Python over NumPy; they bring their tests along.  By the names under which pip installs them.
_PACKAGES = {
    "numpy-financial": ("--pyargs", "numpy_financial.tests"),
    "patsy": ("--pyargs", "patsy", "-o", "python_files=*.py"),
    "emcee": ("--pyargs", "emcee.tests.unit"),
    "opt-einsum": ("--pyargs", "opt_einsum.tests"),
    "quantities": ("--pyargs", "quantities.tests"),
    "einops": ("--pyargs", "einops.tests"),
    "pint": ("--pyargs", "pint.testsuite"),
}
_VARIABLES = {"einops": (("EINOPS_TEST_BACKENDS", "numpy"),)}
PACKAGES = list(_PACKAGES)


def suite_named(name: str) -> Suite:
    if name in _PACKAGES:
        return Suite(name, name, _PACKAGES[name], _VARIABLES.get(name, ()))
    arguments = ("--pyargs", name, "-m", "not slow")
    return Suite(name, name.partition(".")[0], arguments)


def _read(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            where, _, reason = line.partition("|")
            mode, _, test = where.strip().partition(" ")
            rows.append((mode, test.strip(), reason.strip()))
    return rows


EXCEPTIONS = _read(Path(__file__).with_name("exceptions-numpy.txt"))


def exception_for(mode: str, test: str) -> str:
    """Why this test may differ; empty: it may not."""
    for its_mode, pattern, reason in EXCEPTIONS:
        if its_mode in ("*", mode) and fnmatchcase(test, pattern):
            return reason
    return ""
