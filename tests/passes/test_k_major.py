"""k_major: large products by TF32 on Hopper take transposed copies of factors that lie along other axes."""

import pytest

from pycompile._C import Graph, graph_pass

HOPPER = 90


def product(rows=16384, inner=4096, columns=4096, left="", right="", dtype="f32", batch=""):
    """A product whose factors lie in rows, or are views with these strides."""
    lines = []
    shapes = (rows, inner), (inner, columns)
    for k, (strides, (a, b)) in enumerate(zip((left, right), shapes, strict=True)):
        lies = f"{b},{a}" if strides else f"{a},{b}"
        lines.append(f"%{2 * k}: {dtype}@cuda[{batch}{lies}] = input({k})")
        lines.append(f"%{2 * k + 1}: {dtype}@cuda[{batch}{a},{b}]{strides} = as_strided(%{2 * k})")
    lines.append(f"%4: {dtype}@cuda[{batch}{rows},{columns}] = product(%1, %3)")
    return "\n".join(lines) + "\noutputs %4\n"


def in_columns(count):
    return f"{{4,{4 * count}}}"


def copies_of(text, capability=HOPPER):
    """The shapes of copies; the factors of every product that takes one lie along the inner axis."""
    after = Graph.parse(str(graph_pass(text, "k_major", capability)))
    copies = [node for node in after.nodes if node.op == "copy"]
    if not copies:
        assert str(after) == str(Graph.parse(text))
    for node in after.nodes:
        if copies and node.op == "product":
            left, right = node.args[:2]
            assert (left.strides[-1], right.strides[-2]) == (4, 4)
    return [tuple(node.shape) for node in copies]


def test_weights_in_rows():
    """1,655 us against 1,377, for a copy of 35: of the second factor, transposed, and nothing else."""
    text = product(columns=2048)
    assert str(graph_pass(text, "k_major", HOPPER)).splitlines()[4:] == [
        "%5: f32@cuda[2048,4096]{4,8192} = as_strided(%3)",
        "%6: f32@cuda[2048,4096] = copy(%5)",
        "%7: f32@cuda[4096,2048]{4,16384} = as_strided(%6)",
        "%4: f32@cuda[16384,2048] = product(%1, %7)",
        "outputs %4",
    ]


@pytest.mark.parametrize(
    "copies, given",
    [
        # weights, for more rows than a copy costs
        ([(4096, 4096)], {"rows": 8192}),
        ([(1024, 1024)], {"rows": 65536, "inner": 1024, "columns": 1024}),
        ([], {"rows": 2048}),
        ([], {"rows": 65536, "inner": 128, "columns": 128}),
        ([], {"rows": 1}),
        ([], {"rows": 1 << 20, "inner": 8192, "columns": 1}),
        ([], {"rows": 1 << 20, "inner": 256, "columns": 1024}),
        # which lie along the inner axis: torch's layout, or the backward's w.T
        ([], {"right": in_columns(4096)}),
        # of a small first factor, which is in columns
        (
            [(1024, 4096)],
            {"rows": 1024, "columns": 16384, "left": in_columns(1024), "right": in_columns(4096)},
        ),
        # both, which cost more: x.T @ dy of a training step, but for few columns
        ([(4096, 16384), (4096, 16384)], {"rows": 4096, "inner": 16384, "left": in_columns(4096)}),
        ([], {"rows": 4096, "inner": 16384, "columns": 512, "left": in_columns(4096)}),
        ([(2, 4096, 1024)], {"batch": "2,", "inner": 1024, "rows": 32768}),
        # rows of the copy would not begin at multiples of 16 bytes
        ([], {"inner": 4094}),
        ([], {"dtype": "f16"}),
        ([], {"dtype": "bf16"}),
    ],
)
def test_where_it_pays(copies, given):
    assert copies_of(product(**given)) == copies


@pytest.mark.parametrize("capability", [0, 80, 89, 100, 120])
def test_other_devices_take_either_order(capability):
    assert copies_of(product(), capability) == []


SECOND = "%5: f32@cuda[16384,4096] = product(%4, %3)\n"


def test_one_copy_for_all_that_follow_one_another():
    assert copies_of(product().replace("outputs %4", f"{SECOND}outputs %5")) == [(4096, 4096)]


def test_an_arm_has_its_own():
    text = product().replace("%4: ", "%6: bool = input(2)\n%7: object = branch(%6)\n%4: ")
    end = f"%8: object = otherwise()\n{SECOND.replace('%4,', '%0,')}%9: object = join()\n"
    assert copies_of(text.replace("outputs %4", f"{end}outputs %0")) == [(4096, 4096)] * 2
