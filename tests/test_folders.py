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


@pytest.fixture
def layers():
    spec = importlib.util.spec_from_file_location("layers", HERE.parent / "csrc/check_layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def built(layers, tmp_path):
    """Compiles C files by name below csrc/: their symbols, as check_layers.py has them."""

    def build(texts):
        for name, text in texts.items():
            source, made = tmp_path / f"csrc/{name}.c", tmp_path / f"build/csrc/{name}.o"
            source.parent.mkdir(parents=True, exist_ok=True)
            made.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            subprocess.run(["cc", "-c", source, "-o", made], check=True)
        return layers.symbols(layers.newest_objects(tmp_path / "build", tmp_path / "csrc"))

    return build


PART = "int part(void) { return 1; }"
USER = "int part(void); int user(void) { return part(); }"


@pytest.mark.parametrize(
    "owner, climbing", [("codegen/part", 1), ("lower/part", 0), ("graph/part", 0)]
)
def test_a_use_that_climbs_is_found(layers, built, owner, climbing):
    across, found = layers.climbs(*built({owner: PART, "lower/user": USER}))
    assert (across, len(found)) == (owner != "lower/part", climbing)
    assert all("lower/user.c uses part of" in sentence for sentence in found)


@pytest.mark.parametrize(
    "header, found", [("lower", 1), ("codegen", 0), ("lower/* int part(void); */", 0)]
)
def test_a_header_that_declares_what_is_above_it_is_found(layers, built, tmp_path, header, found):
    defined, _ = built({"codegen/part": PART})
    folder, _, comment = header.partition("/*")
    (tmp_path / "csrc" / folder).mkdir(exist_ok=True)
    text = f"/*{comment}" if comment else "int part(void);"
    (tmp_path / "csrc" / folder / "some.h").write_text(text)
    assert len(layers.foreign(defined, tmp_path / "csrc")) == found


@pytest.mark.parametrize(
    "most, told", [(1, "2 files need one another"), (2, ""), (3, "may say so")]
)
def test_a_circle_of_files_is_found(layers, built, monkeypatch, most, told):
    texts = {"lower/user": USER, "lower/part": "int user(void); int part(void) { return user(); }"}
    monkeypatch.setattr(layers, "CIRCLES", {"lower": most})
    found = layers.circles(*built(texts | {"lower/other": "int other(void) { return 1; }"}))
    assert [told in sentence for sentence in found] == [True] * bool(told)
