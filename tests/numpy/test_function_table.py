"""The rows of csrc/capture/numpy/numpy_functions.def, and what capture and a step's trial tell each other."""

import ast
import importlib
import inspect
import operator
from pathlib import Path

import numpy as np
import pytest
from differential import check

import pycompile
from pycompile import _C

ROWS = _C.numpy_functions()


def reached(path, at=np):
    for part in path.split("."):
        at = getattr(at, part, None)
    return at


def test_no_function_has_two_rows():
    names = [(row.name, kind) for row in ROWS for kind in row.kinds]
    assert len(names) == len(set(names))


def test_rows_name_what_numpy_has():
    """Some names are not in every version; all others are found, methods on arrays or numbers."""
    absent = {"unstack", "matrix_transpose", "permute_dims", "concat", "to_device", "vecdot"}
    for row in ROWS:
        for kind in row.kinds:
            owners = {"f": [np], "m": [np.ndarray, np.generic, np.float64, np.int64]}.get(kind)
            if owners is None:
                module, _, name = row.name.partition(".")
                assert hasattr(importlib.import_module(module), name), row.name
            elif not row.name.endswith("valnd") and row.name.rpartition(".")[2] not in absent:
                assert any(reached(row.name, owner) is not None for owner in owners), row.name


def test_rows_of_one_object_say_the_same():
    seen = {}
    for row in ROWS:
        if "f" in row.kinds and (function := reached(row.name)) is not None:
            first = seen.setdefault(id(function), row)
            assert (first.way, first.traits) == (row.way, row.traits), (first.name, row.name)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.way == "decomposed"], ids=lambda r: r.name
)
def test_decompositions_are_called_like_their_originals(row):
    file, _, name = row.data.partition(".")
    ours = getattr(importlib.import_module(f"pycompile.decompositions.{file}"), name)
    try:
        wanted = inspect.signature(reached(row.name))
    except ValueError:  # it does not say
        return
    several = inspect.Parameter.VAR_POSITIONAL
    assert [p.name for p in wanted.parameters.values() if p.kind != several] == [
        p.name for p in inspect.signature(ours).parameters.values() if p.kind != several
    ]


def test_the_stub_has_traits_and_forms():
    stub = ast.parse((Path(pycompile.__file__).parent / "_C.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name in ("NumpyFunction", "StepValue", "Trial"):
            told = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
            made = getattr(_C, node.name)
            has = {name for name in vars(made) if not name.startswith(("_", "n_"))}
            assert told == has, node.name


# ---- what follows from a row, as the program sees it ----


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.concatenate([x, x[:, :1, None]]),  # BY_SHAPE: the error is the program's
        lambda x: np.take(x, [0, 1], axis=3),
        lambda x: np.zeros((2, -3)) + x,
        lambda x: np.asarray(x[x > 0.5]),  # GIVES_ITSELF
        lambda x: np.asanyarray(x) is x,
        lambda x: np.result_type(x, np.float32),  # OF_TYPES
        lambda x: max(x[0, 0], 2) + operator.add(x[0, 1], 1),  # GENERIC
        lambda x: np.nan_to_num(x, False),  # MAY_CHANGE
        lambda x: x.byteswap(True),
        lambda x: x[x > 0.5].tolist(),  # OPAQUE_UNTYPED
        lambda x: x.astype("f4", casting="unsafe"),
        lambda x: x.astype("f4", casting="safe"),
        lambda x: np.add(x, x, casting="same_kind"),
        lambda x: np.add(x, x, order="same_kind"),
        lambda x: np.maximum(x, 1, x),  # NAMED_OUT
        lambda x: np.add.reduce(x) + np.maximum.reduce(x, axis=1),
        lambda x: np.partition(x, 1) + x.partition(1),  # CHANGES, of the method alone
        lambda x: x.mean().clip(0, 1),  # OF_SCALARS
        lambda x: x.mean().take([0]),
        lambda x: np.split(x, 2),
        lambda x: np.split(x, 3),
    ],
    ids=range(21),
)
def test_traits(function):
    def compute(x):
        x = x * 1.0
        try:
            return function(x), x
        except (ValueError, TypeError, IndexError) as error:
            return type(error), str(error), x

    check(compute, np.linspace(0, 1, 16).reshape(4, 4))


def test_a_trial_index_is_within_every_axis():
    """Stand-ins for indices are zeros, also where they make a square."""

    def compute(x, i):
        return x[i] + 1, np.sort(x * 2)

    check(compute, np.ones((1, 3)), np.zeros((2, 2), np.int64))
