"""Tests lie where their sources do: tests/FOLDER for each folder of csrc/."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FOLDERS = sorted(path.name for path in (HERE.parent / "csrc").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_sources_has_one_of_tests(folder):
    assert sorted((HERE / folder).glob("test_*.py"))
