"""Generated code includes no header: what a file with a driven loop repeats of one must be the header's."""

from pathlib import Path

from golden_sections import Case

from pycompile._C import lower_graph

ROOT = Path(__file__).resolve().parent.parent.parent


def struct(text):
    return text[text.index("typedef struct KernelDrive {") : text.index("} KernelDrive;")]


def test_the_drive_abi_is_the_headers():
    case = Case((ROOT / "tests" / "golden" / "lower-drive.txt").read_text())
    _, source = lower_graph(case.sections["graph"])
    header = (ROOT / "csrc" / "runtime" / "drive_abi.h").read_text()
    assert struct(source) == struct(header)
