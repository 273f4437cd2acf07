"""Generated code includes no header: what a file with a kept loop repeats of one must be the header's."""

import re
from pathlib import Path

from golden_sections import Case

from pycompile._C import lower_graph

ROOT = Path(__file__).resolve().parent.parent.parent


def structs(text):
    """From the first struct of the log to its last, blanks and comments between them aside."""
    end = text.index("} KernelLog;")
    start = text.rindex("typedef struct {\n    char *data;", 0, end)
    return " ".join(re.sub(r"(?m)^/\*.*?\*/", "", text[start:end], flags=re.S).split())


def test_the_log_abi_is_the_headers():
    case = Case((ROOT / "tests" / "golden" / "lower-loop.txt").read_text())
    _, source = lower_graph(case.sections["graph"])
    header = (ROOT / "csrc" / "runtime" / "log_abi.h").read_text()
    assert structs(source) == structs(header)
