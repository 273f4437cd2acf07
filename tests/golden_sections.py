"""What a golden case can show: one function per section name, from the case to the section's text.

A case is a file in tests/golden/: lines that say what it shows, then sections, each begun by a line
`--- name`.  Some sections are given (graph: the text of a graph; passes: names of passes, default the
whole pipeline; python: source that defines `f` and `arguments`), the others are what the functions
here make of them.  To show more, write a function here and put its heading into a case.
"""

import re
from collections.abc import Callable

from pycompile._C import Graph, graph_pass, lower_cuda, lower_graph, pass_names

GIVEN = {"capability", "graph", "passes", "python"}
DERIVED: dict[str, Callable[["Case"], str]] = {}


class Case:
    """A file of tests/golden: the text before its sections, and the sections in order."""

    def __init__(self, text: str):
        self.about, *rest = ("\n" + text).split("\n--- ")
        self.about = self.about.lstrip("\n")
        self.sections = {}
        for section in rest:
            name, _, body = section.partition("\n")
            self.sections[name.strip()] = body.strip("\n")

    def given(self, name: str, default: str = "") -> str:
        return self.sections.get(name, default)

    def graph(self) -> Graph:
        """The graph as given."""
        return Graph.parse(self.sections["graph"])

    def optimized(self) -> Graph:
        """The graph after the passes that the case names, for a device of the capability that it names."""
        graph, capability = self.graph(), int(self.given("capability", "0"))
        for name in self.given("passes", " ".join(pass_names())).split():
            graph = graph_pass(graph, name, capability)
        return graph

    def made(self) -> dict[str, str]:
        """All sections as they should be, given ones unchanged."""
        return {
            name: body if name in GIVEN else DERIVED[name](self).strip("\n")
            for name, body in self.sections.items()
        }


def render(about: str, sections: dict[str, str]) -> str:
    return about.rstrip("\n") + "\n" + "".join(f"--- {k}\n{v}\n" for k, v in sections.items())


def section(name: str):
    """Registers the function that makes the section of this name."""

    def register(function):
        DERIVED[name] = function
        return function

    return register


@section("after")
def after(case: Case) -> str:
    return str(case.optimized())


@section("printed")
def printed(case: Case) -> str:
    """The graph read and printed again: the same text."""
    return str(case.graph())


@section("dot")
def dot(case: Case) -> str:
    return case.graph().to_dot()


@section("each pass")
def each_pass(case: Case) -> str:
    """Every pass of the pipeline that changes something, in order."""
    graph, out = case.graph(), []
    for name in pass_names():
        before, graph = str(graph), graph_pass(graph, name)
        if str(graph) != before:
            out.append(f"# {name}\n{graph}")
    return "".join(out)


@section("capture")
def captured(case: Case) -> str:
    """What a call f(*arguments) is captured as: graph, guards, breaks, builds, exit.  Instructions' numbers
    are left out: they depend on the Python version."""
    from pycompile._C import _capture

    space: dict[str, object] = {}
    exec(compile(case.given("python"), "case.py", "exec"), space)
    text = _capture(space["f"], *space["arguments"])
    text = re.sub(r"@\d+ ?", "", re.sub(r" +# case.py:\d+", "", text))
    return re.sub(r"^--- ", "# ", text, flags=re.M)


@section("schedule")
def schedule(case: Case) -> str:
    """What the graph is lowered to, as given: kernels, extern calls, buffers."""
    return lower_graph(case.sections["graph"])[0]


@section("c")
def c(case: Case) -> str:
    """The kernels in C, for vectors of 64 bytes, without the helpers in front of them."""
    source = lower_graph(case.sections["graph"], [], True, 64)[1]
    return source[source.index("int\nk0(") :]


@section("hopper")
def hopper(case: Case) -> str:
    """The kernels in CUDA for sm_90a, products included, without the helpers in front of them."""
    source = lower_cuda(case.sections["graph"], True, 90)[1]
    return source[source.rindex("#ifdef", 0, source.index("wgmma.mma")) :]


@section("cuda")
def cuda(case: Case) -> str:
    """The kernels in CUDA, without the helpers in front of them."""
    source = lower_cuda(case.sections["graph"])[1]
    return source[source.index('extern "C"') :]
