"""The files of tests/golden: their derived sections are what the code makes of the given ones.

`make golden` (or PYCOMPILE_GOLDEN set) writes them anew; the difference is then reviewed like code.
"""

import os
from pathlib import Path

import pytest
from golden_sections import Case, render

FOLDER = Path(__file__).resolve().parent / "golden"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path):
    if "object=cupy." in path.read_text():
        pytest.importorskip("cupy")
    case = Case(path.read_text())
    made = render(case.about, case.made())
    if os.environ.get("PYCOMPILE_GOLDEN"):
        path.write_text(made)
    assert render(case.about, case.sections) == made or os.environ.get("PYCOMPILE_GOLDEN")


def test_there_are_cases():
    assert list(FOLDER.glob("*.txt"))
