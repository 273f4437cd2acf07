"""algebra: which identities are taken, and which are not because a bit or a report would change."""

import pytest
from passes.rewritten import graph, ops

INTEGERS = ["bool", "i8", "i64", "u32"]
FLOATS = ["f32", "f64", "c128"]
# op, its neutral element, whether it may stand on the left
NEUTRAL = [
    ("add", 0, True),
    ("subtract", 0, False),
    ("multiply", 1, True),
    ("floor_divide", 1, False),
    ("bitwise_or", 0, True),
    ("bitwise_xor", 0, True),
    ("left_shift", 0, False),
    ("right_shift", 0, False),
]


def with_constant(op, dtype, value, left):
    kind = {"b": bool, "f": float, "c": complex}.get(dtype[0], int)
    text = f"c({float(value)}, 0.0)" if kind is complex else repr(kind(value))
    arguments = "%1, %0" if left else "%0, %1"
    return graph(
        f"{dtype}[4] = input(0)",
        f"{dtype} = const({text})",
        f"{dtype}[4] = {op}({arguments})",
        f"{dtype}[4] = negative(%2)" if dtype != "bool" else "bool[4] = logical_not(%2)",
        outputs="%3",
    )


NOT_OF_BOOLS = ("subtract", "floor_divide", "left_shift", "right_shift")


@pytest.mark.parametrize(
    ("op", "value", "left", "dtype"),
    [
        (*row, dtype)
        for dtype in INTEGERS
        for row in NEUTRAL
        if dtype != "bool" or row[0] not in NOT_OF_BOOLS
    ],
)
def test_a_neutral_element_of_integers_goes(op, value, left, dtype):
    assert op not in ops(with_constant(op, dtype, value, False), "algebra")
    assert (op in ops(with_constant(op, dtype, value, True), "algebra")) is not left


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "value"), [("add", 0), ("subtract", 0), ("multiply", 1), ("divide", 1)]
)
def test_a_neutral_element_of_floats_stays(op, value, dtype):
    """x + 0 is not x where x is -0.0, and arithmetic makes a signaling NaN quiet."""
    assert op in ops(with_constant(op, dtype, value, False), "algebra")
    assert op in ops(with_constant(op, dtype, value, True), "algebra")


def twice(op, dtype):
    return graph(
        f"{dtype}[4] = input(0)",
        f"{dtype}[4] = {op}(%0)",
        f"{dtype}[4] = {op}(%1)",
        f"{dtype}[4] = square(%2)",
        outputs="%3",
    )


@pytest.mark.parametrize(
    ("op", "dtype", "left"),
    [
        ("negative", "f64", 0),
        ("negative", "i32", 0),
        ("conjugate", "c128", 0),
        ("invert", "i32", 0),
        ("absolute", "f64", 1),
        ("floor", "f32", 1),
        ("ceil", "f64", 1),
        ("trunc", "f64", 1),
        ("rint", "f64", 1),
        ("sqrt", "f64", 2),
        ("reciprocal", "f64", 2),
        ("sign", "f64", 2),
    ],
)
def test_an_operation_on_its_own_result(op, dtype, left):
    assert ops(twice(op, dtype), "algebra").count(op) == left


@pytest.mark.parametrize(
    ("first", "middle", "skipped"),
    [
        ("i32", "i64", True),
        ("u8", "i16", True),
        ("bool", "u8", True),
        ("i64", "i32", False),
        ("i8", "u16", False),  # -1 becomes 65535
        ("u32", "i32", False),
        ("i32", "bool", False),
        ("i32", "f64", False),
    ],
)
def test_a_cast_on_the_way_is_skipped_where_it_loses_nothing(first, middle, skipped):
    text = graph(
        f"{first}[4] = input(0)",
        f"{middle}[4] = cast(%0)",
        "f32[4] = cast(%1)",
        outputs="%2",
    )
    assert ops(text, "algebra") == ["cast"] * (1 if skipped else 2)


@pytest.mark.parametrize(("condition", "kept"), [("True", "invert"), ("False", "square")])
def test_a_choice_that_is_known(condition, kept):
    text = graph(
        "i64[4] = input(0)",
        f"bool = const({condition})",
        "i64[4] = square(%0)",
        "i64[4] = invert(%0)",
        "i64[4] = where(%1, %3, %2)",
        "i64[4] = negative(%4)",
        outputs="%5",
    )
    assert ops(text, "algebra") == [kept, "negative"]


def test_a_copy_that_nobody_can_tell_from_its_argument_goes():
    read = graph("f64[4] = input(0)", "f64[4] = copy(%0)", "f64[4] = sqrt(%1)", outputs="%2")
    given = graph("f64[4] = input(0)", "f64[4] = copy(%0)", "f64[4] = sqrt(%1)", outputs="%1, %2")
    assert ops(read, "algebra") == ["sqrt"]
    assert ops(given, "algebra") == ["copy", "sqrt"]
