"""Views as NumPy expressions.

A view in a graph says where in its storage it lies.  Here it becomes what a program would write to get
it from the array that it is a view of: an index, an order of the axes, new axes, a broadcast; or a
reshape; or `.real` and `.imag`.  Its adjoint adds into zeros of the array's shape at the same place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycompile.derivatives import _lengths

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """How an array lies: what array_view takes."""

    dtype: np.dtype[Any]
    shape: Lengths
    strides: Lengths
    offset: int


@dataclass(frozen=True)
class View:
    """`part` ("real", "imag" or "") of the array, then either `reshape`, or `index` (slices and ints),
    axes in the order `axes`, new axes at `new`, broadcast to `shape`."""

    part: str
    shape: Lengths
    reshape: bool
    index: tuple[Any, ...]
    axes: Lengths
    new: Lengths  # positions of axes of length 1 in the result, before it is broadcast
    spread: Lengths  # axes that are broadcast

    def text(self, array: str) -> str:
        """The view of what the text `array` gives."""
        out = f"{array}.{self.part}" if self.part else array
        if self.reshape:
            return f"{out}.reshape({self.shape!r})"
        if self.index:
            out += f"[{index_text(self.index)}]"
        if self.axes != tuple(range(len(self.axes))):
            out += f".transpose({self.axes!r})"
        if self.new:
            rank = len(self.shape)
            key = ", ".join("None" if i in self.new else ":" for i in range(rank))
            out += f"[{key}]"
        return f"np.broadcast_to({out}, {self.shape!r})" if self.spread else out

    def along(self, count: int) -> View:
        """The view of each of `count` arrays, along an axis in front."""
        index = (slice(None), *self.index) if self.index else ()
        axes = (0, *(i + 1 for i in self.axes)) if not self.reshape else ()
        new, spread = (tuple(i + 1 for i in each) for each in (self.new, self.spread))
        return View(self.part, (count, *self.shape), self.reshape, index, axes, new, spread)

    def apply(self, array: Any) -> Any:
        """The view of an array."""
        return eval(self.text("array"), {"np": np, "array": array})  # the text is of this file

    def back(self, cotangent: str) -> str:
        """What is added at `index`, of a cotangent of the view."""
        out = cotangent
        if self.spread:
            out = f"{out}.sum(axis={self.spread!r}, keepdims=True)"
        if self.new:
            key = ["0" if i in self.new else ":" for i in range(len(self.shape))]
            out += f"[{', '.join([*key, '...'])}]"  # an array, also of no axis
        if self.axes != tuple(range(len(self.axes))):
            out += f".transpose({tuple(int(i) for i in np.argsort(self.axes))!r})"
        return out


def index_text(index: tuple[Any, ...]) -> str:
    """`1:3, 0, ::2`"""

    def one(item: Any) -> str:
        if not isinstance(item, slice):
            return str(item)
        start, stop = ("" if end is None else str(end) for end in (item.start, item.stop))
        return f"{start}:{stop}" + ("" if item.step in (None, 1) else f":{item.step}")

    if index and not any(isinstance(item, slice) for item in index):
        return ", ".join([*map(one, index), "..."])  # an array of no axis, not a number
    while len(index) > 1 and index[-1] == slice(None):
        index = index[:-1]
    return ", ".join(map(one, index))


@functools.lru_cache(maxsize=1 << 14)
def find(base: Place, part: Place) -> View | None:
    """The view that `part` is of `base`, or None where no such expression gives it."""
    name, offset = "", part.offset - base.offset
    if base.dtype != part.dtype:
        real = np.empty(0, base.dtype).real.dtype
        if base.dtype.kind != "c" or real != part.dtype:
            return None
        name = "real"
        if offset % base.dtype.itemsize:
            name, offset = "imag", offset - real.itemsize
    if 0 in part.shape:
        return _of_none(base, part, name)
    if 0 in base.shape:
        return None
    return _indexed(base, part, name, offset) or _reshaped(base, part, name, offset)


def _of_none(base: Place, part: Place, name: str) -> View | None:
    """An empty part: any empty part of the array will do."""
    if base.shape == part.shape:
        return View(name, part.shape, False, (), tuple(range(len(base.shape))), (), ())
    if 0 in base.shape:
        return View(name, part.shape, True, (), (), (), ())
    return None


def _indexed(base: Place, part: Place, name: str, offset: int) -> View | None:
    # As though no axis of the array went backwards; those that do are turned round again below.
    back = [n > 1 and step < 0 for n, step in zip(base.shape, base.strides, strict=True)]
    along = [abs(step) for step in base.strides]
    offset -= sum((n - 1) * s for n, s in zip(base.shape, base.strides, strict=True) if n and s < 0)
    # The axes of the array by falling stride, so that each takes what it can of an offset.
    order = sorted((i for i, n in enumerate(base.shape) if n > 1), key=lambda i: -along[i])
    taken: dict[int, int] = {}  # axis of the array: axis of the part
    new: list[int] = []
    spread: list[int] = []
    for i, (length, stride) in enumerate(zip(part.shape, part.strides, strict=True)):
        if length == 1 or stride == 0:
            new.append(i)
            if length != 1:
                spread.append(i)
            continue
        for j in order:
            step = along[j]
            if j in taken or not step or stride % step:
                continue
            if abs(stride // step) * (length - 1) < base.shape[j]:
                taken[j] = i
                break
        else:
            return None
    index: list[Any] = [0] * len(base.shape)
    for j in order:
        n, axis = base.shape[j], taken.get(j)
        length = part.shape[axis] if axis is not None else 1
        step = part.strides[axis] // along[j] if axis is not None else 1
        walk = step * (length - 1)
        start = _lengths.floor(offset, along[j]) if along[j] else 0
        start = min(max(start, max(0, -walk)), n - 1 - max(0, walk))
        offset -= start * along[j]
        if back[j]:
            start, step = n - 1 - start, -step
        if axis is None:
            index[j] = start
        elif start == 0 and step == 1 and length == n:
            index[j] = slice(None)
        else:
            stop = _lengths.end(start + step * length, n)
            index[j] = slice(start, stop if stop >= 0 else None, step)
    if offset:
        return None
    kept = [taken[j] for j in sorted(taken)]  # axes of the part, as the index leaves them
    axes = tuple(sorted(range(len(kept)), key=kept.__getitem__))
    whole = all(item == slice(None) for item in index)
    return View(
        name, part.shape, False, () if whole else tuple(index), axes, tuple(new), tuple(spread)
    )


def _reshaped(base: Place, part: Place, name: str, offset: int) -> View | None:
    if offset:
        return None
    if has_lengths(base, part):
        return View(name, part.shape, True, (), (), (), ()) if _are_packed(base, part) else None
    if math.prod(base.shape) != math.prod(part.shape):
        return None
    # No memory is touched: the strides say whether a reshape needs a copy.
    dummy = np.lib.stride_tricks.as_strided(np.empty(1, part.dtype), base.shape, base.strides)
    try:
        dummy = dummy.reshape(part.shape, copy=False)
    except ValueError:
        return None
    same = all(
        n == 1 or a == b for n, a, b in zip(part.shape, dummy.strides, part.strides, strict=True)
    )
    return View(name, part.shape, True, (), (), (), ()) if same else None


def is_crowded(place: Place) -> bool:
    """May two of its elements be one in memory?  Then where a part of it lies does not tell which
    elements it has."""
    reach: Any = place.dtype.itemsize
    along = [(abs(s), n) for n, s in zip(place.shape, place.strides, strict=True) if n != 1]
    for stride, n in sorted(along):
        if stride < reach:
            return 0 not in place.shape
        reach = stride * (n - 1) + reach
    return False


def picked(op: str, ints: Sequence[int], base: Place, part: Place) -> np.ndarray[Any, Any] | None:
    """As `places`, by what the operation does to an array that is crowded; None where that is not known."""
    if has_lengths(base, part) or base.dtype != part.dtype:
        return None
    at = np.arange(math.prod(base.shape)).reshape(base.shape)
    if op == "slice":
        bounds = zip(ints[::3], ints[1::3], ints[2::3], strict=True)
        key = [slice(a, None if b < 0 else b, step) if step else a for a, b, step in bounds]
        at = at[tuple(key)].reshape(part.shape)
    elif op == "transpose":
        at = at.transpose(ints)
    elif op == "flip":
        at = np.flip(at, tuple(ints))
    elif op == "broadcast" and len(ints):
        at = at.diagonal(*ints)
    elif op == "broadcast":
        at = np.broadcast_to(at, part.shape) if _is_broadcast(base, part) else at[:0]
    elif op in ("reshape", "expand_dims", "squeeze"):
        at = at.reshape(part.shape)
    address = _addresses(base.shape, base.strides, base.offset).reshape(-1)
    wanted = _addresses(part.shape, part.strides, part.offset)
    return at if at.shape == part.shape and np.array_equal(address[at], wanted) else None


def _is_broadcast(base: Place, part: Place) -> bool:
    pairs = zip(base.shape[::-1], part.shape[::-1])
    return len(base.shape) <= len(part.shape) and all(n in (1, m) for n, m in pairs)


def has_lengths(*places: Place) -> bool:
    """Does only the run tell where they lie?"""
    return any(
        isinstance(n, _lengths.Length) for x in places for n in (*x.shape, *x.strides, x.offset)
    )


def packed(shape: Lengths, dtype: Any, order: str) -> Lengths:
    """The strides of a fresh array."""
    step, out = np.dtype(dtype).itemsize, []
    for n in reversed(shape) if order == "C" else shape:
        out.append(step)
        step *= n
    return tuple(reversed(out)) if order == "C" else tuple(out)


def as_it_lies(strides: Lengths) -> Lengths:
    """The axes in the order in which NumPy's iterators go through them: NumPy nditer_constr.c,
    npyiter_find_best_axis_ordering; those of stride 0 stay where they are."""
    axes: list[int] = []  # the fastest first
    for i in reversed(range(len(strides))):
        at = len(axes)
        for k in reversed(range(len(axes))):
            if strides[i] and strides[axes[k]]:
                if abs(strides[axes[k]]) <= abs(strides[i]):
                    break
                at = k
        axes.insert(at, i)
    return tuple(reversed(axes))


def _are_packed(base: Place, part: Place) -> bool:
    """Are both in order, without gaps, and of one size?"""
    sizes = [_lengths.value_of(math.prod(x.shape)) for x in (base, part)]
    return sizes[0] == sizes[1] and all(
        n == 1 or a == b
        for x in (base, part)
        for n, a, b in zip(x.shape, x.strides, packed(x.shape, x.dtype, "C"), strict=True)
    )


def places(base: Place, part: Place) -> np.ndarray[Any, Any] | None:
    """Which elements of the array, in C order, those of the part are: for views that overlap
    themselves, and those along several axes at once."""
    if has_lengths(base, part):
        return None
    size, count = base.dtype.itemsize, int(np.prod(base.shape))
    if base.dtype != part.dtype or not count or (part.offset - base.offset) % size:
        return None
    address = _addresses(base.shape, base.strides, base.offset).reshape(-1)
    wanted = _addresses(part.shape, part.strides, part.offset)
    order = np.argsort(address, kind="stable")
    at = np.clip(np.searchsorted(address[order], wanted), 0, count - 1)
    found = order[at]
    return found if np.array_equal(address[found], wanted) else None


def _addresses(shape: Lengths, strides: Lengths, offset: int) -> np.ndarray[Any, Any]:
    out = np.full(shape, offset, np.int64)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        out += (np.arange(n) * stride).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
    return out
