"""python -m conformance.jax_cases: JAX's own cases against the derivatives and batches.

JAX's package has the records that its tests of lax are made of: operations with their dtypes and random
numbers, and calls of primitives with shapes and parameters.  Each that is of floats is written as NumPy
code (jax_forms.py), and JAX's vjp, jvp and vmap of its function are compared with ours of that code.  What
does not agree must be named in exceptions-jax.txt, with a reason; exit status 1 when it is not, or when
fewer agree than have.  tests/ of JAX's repository is no part of its packages.
"""

from __future__ import annotations

import argparse
import collections
import copy
import itertools
import linecache
import warnings
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import jax
import numpy as np
from jax._src.internal_test_util import lax_test_util, test_harnesses

import pycompile
from conformance.jax_forms import Form, NoForm
from conformance.lists import exceptions

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
warnings.simplefilter("ignore")
LEAST = 0.95
DTYPES = tuple(map(np.dtype, ("f4", "f8", "c8", "c16")))
TOLERANCES = {"f": 1e-3, "d": 1e-7, "F": 1e-3, "D": 1e-7}
ITEMS = 3  # of a batch
Case = tuple[str, Callable[..., Any], Callable[[int], list[Any]]]


def operations() -> Iterator[Case]:
    """What lax_test.py, lax_autodiff_test.py and lax_vmap_test.py run elementwise."""
    for record in lax_test_util.lax_ops():
        for dtype in (dtype for dtype in DTYPES if dtype in map(np.dtype, record.dtypes)):
            for number, shapes in enumerate(lax_test_util.compatible_shapes):
                some = itertools.islice(itertools.cycle(shapes[::-1]), record.nargs)

                def make(
                    seed: int,
                    record: Any = record,
                    shapes: Any = tuple(some),
                    dtype: Any = dtype,
                ) -> list[Any]:
                    draw = record.rng_factory(np.random.RandomState(seed))
                    return [np.asarray(draw(shape, dtype)) for shape in shapes]

                yield f"{record.op}-{dtype}-{number}", getattr(jax.lax, record.op), make


def calls() -> Iterator[Case]:
    """The primitives with their parameters."""
    for harness in test_harnesses.all_harnesses:
        if np.dtype(harness.dtype) in DTYPES:

            def make(seed: int, harness: Any = harness) -> list[Any]:
                made = harness.dyn_args_maker(np.random.RandomState(seed))
                return list(map(np.asarray, made))

            yield harness.fullname, harness.dyn_fun, make


def function(form: Form, name: str) -> Any:
    file = f"<{name}>"
    linecache.cache[file] = len(form.text), None, form.text.splitlines(True), file
    exec(compile(form.text, file, "exec"), form.scope)
    return form.scope["f"]


def leaves(tree: Any) -> list[Any]:
    return list(map(np.asarray, tree if isinstance(tree, (tuple, list)) else (tree,)))


def close(one: Any, other: Any, least: str) -> bool:
    """By the coarser of the dtypes and `least`."""
    for a, b in zip(leaves(one), leaves(other), strict=True):
        if a.shape != b.shape:
            return False
        if b.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return False
            continue
        there = np.isfinite(b)
        size = max(np.max(np.abs(b), initial=0.0, where=there), 1e-30)
        apart = np.abs(np.where(there, a, 0) - np.where(there, b, 0))
        most = max(TOLERANCES[least], TOLERANCES.get(b.dtype.char, 1e-3))
        if np.max(apart, initial=0.0) > most * size:
            return False
    return True


class Compared:
    """One case: what JAX gives, and what we give."""

    def __init__(self, name: str, ours: Any, theirs: Any, make: Callable[[int], list[Any]]) -> None:
        self.name, self.ours, self.theirs, self.make = name, ours, theirs, make
        self.args = make(0)
        self.active = [i for i, x in enumerate(self.args) if x.dtype in DTYPES]
        self.least = max(
            (self.args[i].dtype.char for i in self.active), key=lambda c: TOLERANCES[c]
        )
        self.rng = np.random.default_rng(0)

    def like(self, value: Any) -> Any:
        value = np.asarray(value)
        out = self.rng.standard_normal(value.shape)
        if value.dtype.kind == "c":
            out = out + 1j * self.rng.standard_normal(value.shape)
        return out.astype(value.dtype)

    def part(self, f: Any) -> Any:
        def of(*active: Any) -> Any:
            rest = list(self.args)
            for i, value in zip(self.active, active, strict=True):
                rest[i] = value
            return f(*rest)

        return of

    @property
    def point(self) -> list[Any]:
        return [copy.deepcopy(self.args[i]) for i in self.active]

    def is_the_same(self) -> bool:
        """Does the NumPy code do what JAX's function does?"""
        return close(self.ours(*copy.deepcopy(self.args)), self.theirs(*self.args), self.least)

    def vjp(self, of: Any) -> Any:
        out, back = of.vjp(self.part(self.theirs if of is jax else self.ours), *self.point)
        self.rng = np.random.default_rng(1)
        return *leaves(out), *back(jax.tree.map(self.like, out))

    def jvp(self, of: Any) -> Any:
        self.rng = np.random.default_rng(1)
        tangents = tuple(map(self.like, self.point))
        f = self.part(self.theirs if of is jax else self.ours)
        return of.jvp(f, tuple(self.point), tangents)[1]

    def vmap(self, of: Any) -> Any:
        items = [self.make(seed) for seed in range(ITEMS)]
        stacked = [np.stack([item[i] for item in items]) for i in range(len(self.args))]
        return of.vmap(self.theirs if of is jax else self.ours)(*stacked)

    def told(self, how: str) -> str:
        try:
            wanted = getattr(self, how)(jax)
        except Exception:
            return "JAX has none"
        try:
            return "pass" if close(getattr(self, how)(pycompile), wanted, self.least) else "differ"
        except pycompile.DerivativeError as error:
            return f"refused: {error}"
        except Exception as error:
            return f"error: {type(error).__name__}: {error}"


def outcomes(
    chosen: Sequence[str], left_out: collections.Counter[str]
) -> Iterator[tuple[str, str]]:
    for name, theirs, make in itertools.chain(operations(), calls()):
        if chosen and not any(fnmatchcase(name, pattern) for pattern in chosen):
            continue
        pycompile.reset()
        args = make(0)
        if not any(x.dtype in DTYPES for x in args):
            continue
        try:
            form = Form(jax.make_jaxpr(theirs)(*args))
        except NoForm as why:
            left_out[f"NumPy has no {why}"] += 1
            continue
        except Exception:
            left_out["JAX does not run it"] += 1
            continue
        compared = Compared(name, function(form, name), theirs, make)
        try:
            same = compared.is_the_same()
        except Exception:
            same = False
        out = jax.eval_shape(theirs, *args)
        if not same:
            left_out["NumPy's function has other values there"] += 1
        elif all(leaf.dtype in DTYPES for leaf in jax.tree.leaves(out)):
            yield from ((f"{name}::{how}", compared.told(how)) for how in ("vjp", "jvp", "vmap"))
        else:
            yield f"{name}::vmap", compared.told("vmap")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.jax_cases", description=__doc__)
    parser.add_argument("cases", nargs="*", help="patterns of names; otherwise all")
    parser.add_argument("--verbose", action="store_true", help="tell of those with a reason, too")
    given = parser.parse_args()
    left_out: collections.Counter[str] = collections.Counter()
    counts: collections.Counter[str] = collections.Counter()
    known = exceptions("jax")
    for name, told in outcomes(given.cases, left_out):
        if told == "JAX has none":
            left_out[f"JAX has no {name.rpartition('::')[2]} of it"] += 1
            continue
        is_known = any(fnmatchcase(name, pattern) for pattern in known)
        counts["all"] += 1
        counts["pass"] += told == "pass"
        if told != "pass" and (given.verbose or not is_known):
            print(f"{name}: {told[:150]}", flush=True)
        counts["open"] += told != "pass" and not is_known
    for why, count in left_out.most_common():
        print(f"{count} left out: {why}")
    share = counts["pass"] / max(counts["all"], 1)
    print(
        f"{counts['pass']} of {counts['all']} pass ({share:.1%}), {counts['open']} fail without a reason"
    )
    return int(bool(counts["open"] or (share < LEAST and not given.cases)))


if __name__ == "__main__":
    raise SystemExit(main())
