"""A graph of one computation, and what a pass leaves of it."""

from pycompile._C import Graph, graph_pass


def graph(*lines, outputs):
    """The text of a graph: lines without their `%n: `, numbered from 0."""
    numbered = [f"%{number}: {line}" for number, line in enumerate(lines)]
    return "\n".join([*numbered, f"outputs {outputs}"]) + "\n"


def ops(text, *passes):
    """The operations that are left, inputs aside; each pass is run, then dead code goes."""
    after = Graph.parse(text)
    for name in (*passes, "dce"):
        after = graph_pass(after, name)
    return [node.op for node in after.nodes if node.op != "input"]
