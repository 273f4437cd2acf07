"""Reading and printing graphs: what is refused, and that constants and sizes come back whole."""

import numpy as np
import pytest

from pycompile._C import Graph

ONE = "%0: f32[4,5] = input(0)\n"


def graph(*lines):
    return Graph.parse("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "text, error, message",
    [
        ("", ValueError, "line 1: expected 'outputs'"),
        ("hello", ValueError, "line 1"),
        (ONE, ValueError, "expected 'outputs'"),
        ("%0: f33[4] = input(0)\noutputs", ValueError, "unknown dtype"),
        ("%0: f32[4 = input(0)\noutputs", ValueError, "line 1: expected ']'"),
        ("%0: f32[4]{4,4} = input(0)\noutputs", ValueError, "as many strides"),
        ("%0: f32[1,1,1,1,1,1,1,1,1] = input(0)\noutputs", ValueError, "too many axes"),
        ("%0: f32[d0_0] = input(0)\noutputs", ValueError, "first mention"),
        (ONE + "%1: f32[4,5] = frobnicate(%0)\noutputs", ValueError, "line 2: unknown op"),
        (ONE + "%1: f32[4,5] = sqrt(%2)\noutputs", ValueError, "line 2: an argument is not def"),
        (ONE + "%0: f32[4,5] = sqrt(%0)\noutputs", ValueError, "line 2: .*twice|defined twice"),
        (ONE + "%1: f32[4,5] = sqrt(%0, colour=1)\noutputs", ValueError, "unknown attribute"),
        (ONE + "%1: f32[4,5] = sqrt(%0) junk\noutputs", ValueError, "text after"),
        (ONE + "outputs %7", ValueError, "a result is not defined"),
        (ONE + "outputs %0\nmore", ValueError, "line 3: text after"),
        ("%0: f32[2] = const([1.0])\noutputs", ValueError, "bad constant"),
        ("%0: f32[1] = const([1.0, 2.0])\noutputs", ValueError, "bad constant"),
        ("%0: object = const(@3)\noutputs", ValueError, "no object '@3'"),
        ("%0: object = const(no.such.thing)\noutputs", ValueError, "bad object"),
        ("%99999999: f32 = input(0)\noutputs", ValueError, "out of range"),
        ("%0: f32@moon[4] = input(0)\noutputs", ValueError, "unknown device"),
        ("%0: f32@cuda:[4] = input(0)\noutputs", ValueError, "expected a number"),
    ],
)
def test_refused(text, error, message):
    with pytest.raises(error, match=message):
        Graph.parse(text)


@pytest.mark.parametrize(
    "line, rule",
    [
        ("%1: f32[4,5] = add(%0)", "number of arguments"),
        ("%1: f32@cuda[4,5] = sqrt(%0)", "on another device"),
        ("%1: f32@cuda[9] = input(1)\n%2: f32@cuda:1[9] = sqrt(%1)", "on another device"),
        ("%1: f64[4,5] = cast(%0)\n%2: f64[4,5] = add(%0, %1)", "casts are nodes"),
        ("%1: f32[5,4] = sqrt(%0)", "does not broadcast"),
        ("%1: f32[4,5] = isnan(%0)", "no bool"),
        ("%1: f32[5] = sum(%0, axes=[2])", "out of range"),
        ("%1: f32[4] = sum(%0, axes=[0])", "shape is wrong"),
        ("%1: f32[5] = sum(%0, axes=[0], keepdims)", "rank is wrong"),
        ("%1: f32 = sum(%0, axes=[1, 0])", "ascending"),
        ("%1: f64[4] = slice(%0)", "argument's dtype"),
        ("%1: f32[4]{20} = slice(%0)\n%2: f32[4]{20} = scatter(%1, %1, view=[4])", "whole storage"),
        ("%1: f32[4,5] = scatter(%0, %0)", "no view"),
        ("%1: f32[4]{20} = slice(%0)\n%2: f32[4]{20}+4 = copy(%1)", "behind its start"),
        ("%1: f32[4,5] = scatter(%0, %0, view=[4])", "broadcast to the view"),
        ("%1: f32[4,5] = result(%0, index=0)", "has no results"),
        ("%1: f32[4,5] = cumsum(%0, axis=2)", "out of range"),
        ("%1: f32[4,5] = extern(%0)", "nothing to call"),
        ("%1: f32[4,5] = py_neg(%0)", "Python's numbers"),
        ("%1: object = cond(%0) {\n} else {\n}", "condition is no bool"),
        ("%1: object = loop(%0, %0, %0)", "owns no region"),
        ("%1: object = loop(%0, %0, %0) {\nparams %2: int\n}", "are ints"),
    ],
)
def test_malformed(line, rule):
    with pytest.raises(SystemError, match=rule):
        Graph.parse(ONE + line + "\noutputs %0")


def test_a_region_is_not_seen_from_outside():
    with pytest.raises(SystemError, match="not defined before it"):
        graph(
            "%0: bool = input(0)",
            "%1: object = cond(%0) {",
            "  %2: int = const(1)",
            "  results %2",
            "} else {",
            "  %3: int = const(2)",
            "  results %3",
            "}",
            "%4: int = py_neg(%2)",
            "outputs %4",
        )


@pytest.mark.parametrize("dtype", "f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 ?".split())
def test_every_bit_of_a_constant_comes_back(dtype):
    rng = np.random.default_rng(1)
    dtype = np.dtype(dtype)
    values = np.frombuffer(rng.bytes(60 * dtype.itemsize), dtype)
    if dtype.kind == "b":
        values = values.view(np.uint8) > 100
    special = (
        np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, 0.1, 1e30]) if dtype.kind in "fc" else [0, 1]
    )
    with np.errstate(all="ignore"):
        values = np.concatenate([values, np.asarray(special).astype(dtype)])
    name = dtype.kind.replace("b", "bool") + (str(8 * dtype.itemsize) if dtype.kind != "b" else "")
    made = Graph.parse(f"%0: {name}[{len(values)}] = const(@0)\noutputs", [values])
    assert "@" not in str(made)
    again = Graph.parse(str(made))
    assert again.nodes[0].object.tobytes() == values.tobytes()
    assert str(again) == str(made)


def test_constants_keep_their_strides():
    values = np.arange(6.0).reshape(2, 3).T
    made = Graph.parse("%0: f64[3,2]{8,24} = const(@0)\noutputs", [values])
    again = Graph.parse(str(made)).nodes[0].object
    assert again.strides == values.strides and (again == values).all()


def test_long_constants_and_unnamed_objects_are_named_by_place():
    long, unnamed = np.zeros(5000), object()
    text = "%0: f64[5000] = const(@0)\n%1: object = const(object@1)\noutputs\n"
    made = Graph.parse(text, [long, unnamed])
    assert made.nodes[0].object is long and made.nodes[1].object is unnamed
    assert str(made) == text
    assert str(Graph.parse(text.replace("object@1", "@1"), [long, unnamed])) == text
    assert made.objects[:2] == (long, unnamed)


@pytest.mark.parametrize(
    "text",
    [
        "None",
        "True",
        "-3",
        "'a, (b\\\\n'",
        '"it\'s"',
        "(1, ('x', None))",
        "b'\\x00'",
        "numpy.add",
        "len",
    ],
)
def test_objects(text):
    text = "builtins.len" if text == "len" else text
    made = graph(f"%0: object = const({text})", "outputs")
    assert str(made).splitlines()[0] == f"%0: object = const({text})"


def test_sizes_are_equal_however_they_are_written():
    made = graph(
        "%0: f64[d0_0=3,d0_1=4]{t0_0=32,8} = input(0)",
        "%1: f64[(d0_0 + d0_1)] = empty()",
        "%2: f64[(d0_1 + d0_0)] = empty()",
        "%3: f64[((d0_1*2) + (d0_0 + (3 + d0_1)))] = empty()",
        "%4: f64[(2*(d0_0 + 1))] = empty()",
        "%5: f64[((d0_0*2) + 2)] = empty()",
        "%6: f64[(d0_0*(d0_1*d0_0))] = empty()",
        "%7: f64[((d0_0*d0_0)*d0_1)] = empty()",
        "%8: f64[((d0_0 + 4) + -4)] = empty()",
        "outputs",
    )
    shapes = [node.shape[0] for node in made.nodes]
    assert shapes[1] == shapes[2] and shapes[4] == shapes[5] and shapes[6] == shapes[7]
    assert shapes[8] == "d0_0"
    assert [eval(s, dict(made.symbols)) for s in shapes] == [3, 7, 7, 18, 8, 8, 36, 36, 3]
    assert str(Graph.parse(str(made))) == str(made)
    assert made.symbols == {"d0_0": 3, "d0_1": 4, "t0_0": 32}


OUTPUTS = """%0: f64[4] = input(0)
%1: f64[4] = negative(%0)
%2: f64[2] = slice(%1, ints=[0, 2, 1])
%3: f64[4] = scatter(%0, %1, view=[4])
%4: f64[] = const(2.0)
"""


@pytest.mark.parametrize(
    "outputs",
    [
        "%0, %1, %2, %3, %4",  # each as its node says
        "%0(root=%1, fresh), %4(root=%4, fresh)",  # found to be the input, or known: still new arrays
        "%1(root=%0), %2(root=%0, view, frozen)",
        "%1(root=%0, input), %1",
    ],
)
def test_outputs_keep_what_they_are_to_the_program(outputs):
    text = OUTPUTS + f"outputs {outputs}\n"
    assert str(Graph.parse(text)) == text


def test_an_output_is_told_only_where_the_nodes_do_not_say_it():
    text = OUTPUTS + "outputs %0(root=%0, input), %1(root=%1, fresh), %3(root=%0)\n"
    assert str(Graph.parse(text)) == OUTPUTS + "outputs %0, %1, %3\n"


@pytest.mark.parametrize(
    "outputs, told",
    [
        ("%1(root=%9)", "an output's root is no node"),
        ("%1(root=%1, stale)", "unknown word of an output"),
        ("%1(fresh)", "expected 'root='"),
        ("%9", "a result is not defined"),
    ],
)
def test_bad_outputs(outputs, told):
    with pytest.raises(ValueError, match=told):
        Graph.parse(OUTPUTS + f"outputs {outputs}\n")


@pytest.mark.parametrize("node", ["slice()", "scatter()", "result()"])
def test_an_output_whose_node_has_no_arguments(node):
    """It is looked at before the graph is verified."""
    with pytest.raises(SystemError, match="number of arguments is wrong"):
        Graph.parse(f"%0: f64[4] = {node}\noutputs %0\n")


def test_devices():
    text = "%0: f32@cuda[4,5]{4,16} = input(0)\n%1: f32@cuda[5]+8 = slice(%0)\n%2: f32@cuda[] = sum(%1, axes=[0])\noutputs %2\n"
    assert str(graph(*text.splitlines())) == text


def test_a_type_says_more_than_its_layout():
    """The other int64, and an array that a function gave and nobody may write."""
    text = "%0: f32@cuda[4] = input(0)\n%1: i64@cuda[]+8 longlong = argmax(%0, axes=[0])\n"
    text += "%2: f32[4]{8}+4 longlong frozen = extern(%0, object=builtins.len)\noutputs %2\n"
    made = graph(*text.splitlines())
    assert str(made) == text
    # the output is frozen since its type says so
    assert str(graph(*(text[:-1] + "(root=%2, fresh, frozen)").splitlines())) == text
