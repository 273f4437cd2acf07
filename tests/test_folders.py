"""Tests lie where their sources do: tests/FOLDER for each folder of csrc/; layers use lower ones."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FOLDERS = sorted(
    path.name
    for path in (HERE.parent / "csrc").iterdir()
    if path.is_dir() and path.name != "__pycache__"
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_sources_has_one_of_tests(folder):
    assert sorted((HERE / folder).glob("test_*.py"))


def test_cpythons_versions_differ_in_one_folder():
    """So what tests of other folders ask of a graph is asked of one Python (conftest.py)."""
    texts = [p for p in (HERE.parent / "csrc").rglob("*.*") if p.suffix in (".c", ".h", ".def")]
    of_versions = {p.parent.name for p in texts if "PY_VERSION_HEX" in p.read_text()}
    assert of_versions == {"python"}


@pytest.mark.parametrize(
    "owner, climbing", [("codegen/part", 1), ("lower/part", 0), ("graph/part", 0)]
)
def test_a_use_that_climbs_is_found(tmp_path, owner, climbing):
    spec = importlib.util.spec_from_file_location("layers", HERE.parent / "csrc/check_layers.py")
    layers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(layers)
    texts = {
        owner: "int part(void) { return 1; }",
        "lower/user": "int part(void); int user(void) { return part(); }",
    }
    for name, text in texts.items():
        source, built = tmp_path / f"csrc/{name}.c", tmp_path / f"build/csrc/{name}.o"
        source.parent.mkdir(parents=True, exist_ok=True)
        built.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        subprocess.run(["cc", "-c", source, "-o", built], check=True)
    across, found = layers.climbs(tmp_path / "build", tmp_path / "csrc")
    assert (across, len(found)) == (owner != "lower/part", climbing)
    assert all("lower/user.c uses part of" in sentence for sentence in found)
