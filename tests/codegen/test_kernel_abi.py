"""Generated code includes no header: what it repeats of one must be the header's."""

from pathlib import Path

from pycompile import _C

ROOT = Path(__file__).resolve().parent.parent.parent

GRAPH = """\
%0: f64[4] = input(0)
%1: f64[4] = add(%0, %0)
outputs %1
"""


def structs(text):
    """From the first struct to KernelArgs, blanks aside."""
    start, end = text.index("typedef struct {"), text.index("} KernelArgs;")
    return " ".join(text[start:end].split())


def test_the_kernel_abi_is_the_headers():
    _, source = _C.lower_graph(GRAPH)
    header = (ROOT / "csrc" / "runtime" / "kernel_abi.h").read_text()
    assert structs(source) == structs(header)
