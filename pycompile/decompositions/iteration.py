"""Builtins and itertools as generators: the equivalents that Python's documentation gives.

What the originals do when they are called (they call iter() on their arguments, check numbers) is done
by plain functions, what they do lazily by generators that these return.  Arguments that an original
refuses are a graph break, so that it says so itself.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from pycompile._api import graph_break


class End:
    """What next() gives for an exhausted iterator; never a value of the program."""


def _is_count(n):
    return type(n) is int and n >= 0


# ---- builtins ----


def _map(function, iterator):
    for item in iterator:
        yield function(item)


def _map_several(function, iterators):
    for items in zip(*iterators):
        yield function(*items)


def map_(function, /, *iterables):
    """map"""
    if len(iterables) == 1:
        return _map(function, iter(iterables[0]))
    if not iterables:
        graph_break()
    return _map_several(function, [iter(iterable) for iterable in iterables])


def _zip_strict(iterators):
    last = len(iterators) - 1
    while True:
        items = []
        for i, iterator in enumerate(iterators):
            item = next(iterator, End)
            if item is End:
                _check_strict(iterators, i, last)
                return
            items.append(item)
        yield tuple(items)


def _check_strict(iterators, i, last):
    if i:
        plural = " " if i == 1 else "s 1-"
        raise ValueError(f"zip() argument {i + 1} is shorter than argument{plural}{i}")
    for k in range(1, last + 1):
        if next(iterators[k], End) is not End:
            plural = " " if k == 1 else "s 1-"
            raise ValueError(f"zip() argument {k + 1} is longer than argument{plural}{k}")


def zip_(*iterables, strict=False):
    """zip with strict"""
    iterators = [iter(iterable) for iterable in iterables]
    if not strict:
        return zip(*iterators)
    if not iterators:
        return zip()
    return _zip_strict(iterators)


def by_index(sequence):
    """The iterator of what has __getitem__ only."""
    i = 0
    while True:
        try:
            item = sequence[i]
        except (IndexError, StopIteration):
            return
        yield item
        i += 1


def by_index_backwards(sequence):
    """reversed() of what has __len__ and __getitem__."""
    for i in range(len(sequence) - 1, -1, -1):
        try:
            item = sequence[i]
        except (IndexError, StopIteration):
            return
        yield item


# ---- endless ----


def count(start=0, step=1):
    """itertools.count"""
    n = start
    while True:
        yield n
        n = n + step


def _cycle(iterator):
    saved = []
    for item in iterator:
        yield item
        saved.append(item)
    while saved:
        yield from saved


def cycle(iterable, /):
    """itertools.cycle"""
    return _cycle(iter(iterable))


def _repeat(object, times):
    for _ in range(times):
        yield object


def _repeat_for_ever(object):
    while True:
        yield object


def repeat(object, times=End):
    """itertools.repeat"""
    if times is End:
        return _repeat_for_ever(object)
    if type(times) is not int:
        graph_break()
    return _repeat(object, times)


# ---- one iterable ----


def _accumulate(iterator, function, total):
    if total is None:
        total = next(iterator, End)
        if total is End:
            return
    yield total
    for item in iterator:
        held = [item]
        del item  # the call alone has it, so that NumPy may write into it
        total = total + held.pop() if function is None else function(total, held.pop())
        yield total


def accumulate(iterable, func=None, *, initial=None):
    """itertools.accumulate"""
    return _accumulate(iter(iterable), func, initial)


def _batched(iterator, n, strict):
    while True:
        batch = []
        for item in _islice(iterator, 0, n, 1):
            batch.append(item)
        if not batch:
            return
        if strict and len(batch) != n:
            raise ValueError("batched(): incomplete batch")
        yield tuple(batch)
        if len(batch) < n:
            return


def batched(iterable, n, *, strict=False):
    """itertools.batched"""
    if type(n) is not int or n < 1:
        graph_break()
    return _batched(iter(iterable), n, strict)


def _compress(items, selectors):
    for item, selected in zip(items, selectors):
        if selected:
            yield item


def compress(data, selectors):
    """itertools.compress"""
    return _compress(iter(data), iter(selectors))


def _dropwhile(predicate, iterator):
    for item in iterator:
        if not predicate(item):
            yield item
            break
    yield from iterator


def dropwhile(predicate, iterable, /):
    """itertools.dropwhile"""
    return _dropwhile(predicate, iter(iterable))


def _takewhile(predicate, iterator):
    for item in iterator:
        if not predicate(item):
            break
        yield item


def takewhile(predicate, iterable, /):
    """itertools.takewhile"""
    return _takewhile(predicate, iter(iterable))


def _filterfalse(predicate, iterator):
    for item in iterator:
        if not predicate(item):
            yield item


def filterfalse(predicate, iterable, /):
    """itertools.filterfalse"""
    return _filterfalse(bool if predicate is None else predicate, iter(iterable))


def _group(state, key, function, iterator):
    # state: the current item, its key, whether the iterator is exhausted
    yield state[0]
    for item in iterator:
        state[0] = item
        state[1] = function(item)
        if state[1] not in (key,):
            return
        yield item
    state[2] = True


def _groupby(iterator, function):
    item = next(iterator, End)
    if item is End:
        return
    state = [item, function(item), False]
    while not state[2]:
        key = state[1]
        group = _group(state, key, function, iterator)
        yield key, group
        if state[1] in (key,):
            for _ in group:
                pass


def _same(item):
    return item


def groupby(iterable, key=None):
    """itertools.groupby"""
    return _groupby(iter(iterable), _same if key is None else key)


def _islice(iterator, start, stop, step):
    # the index is asked first, so that nothing is taken beyond the end
    index, wanted = 0, start
    last = stop if stop is None or stop > start else start
    while last is None or index < last:
        item = next(iterator, End)
        if item is End:
            return
        if index == wanted:
            yield item
            wanted += step
        index += 1


def islice(iterable, /, *args):
    """itertools.islice"""
    where = slice(*args)
    start = 0 if where.start is None else where.start
    step = 1 if where.step is None else where.step
    stop = where.stop
    if not (_is_count(start) and _is_count(step) and step) or not (stop is None or _is_count(stop)):
        graph_break()
    return _islice(iter(iterable), start, stop, step)


def _pairwise(iterator):
    before = next(iterator, End)
    if before is End:
        return
    for item in iterator:
        yield before, item
        before = item


def pairwise(iterable, /):
    """itertools.pairwise"""
    return _pairwise(iter(iterable))


def _starmap(function, iterator):
    for args in iterator:
        yield function(*tuple(args))


def starmap(function, iterable, /):
    """itertools.starmap"""
    return _starmap(function, iter(iterable))


def _tee(iterator, seen):
    i = 0
    while True:
        if i == len(seen):
            item = next(iterator, End)
            if item is End:
                return
            seen.append(item)
        yield seen[i]
        i += 1


def tee(iterable, n=2, /):
    """itertools.tee"""
    if not _is_count(n):
        graph_break()
    iterator = iter(iterable)
    seen: list[object] = []
    return tuple([_tee(iterator, seen) for _ in range(n)])


# ---- several iterables ----


def _chain(iterables):
    for iterable in iterables:
        yield from iterable


def chain(*iterables):
    """itertools.chain"""
    return _chain(iterables)


def from_iterable(iterables, /):
    """itertools.chain.from_iterable"""
    return _chain(iter(iterables))


def _zip_longest(iterators, fillvalue):
    alive = len(iterators)
    if not alive:
        return
    while True:
        items = []
        for i, iterator in enumerate(iterators):
            item = End if iterator is None else next(iterator, End)
            if item is End:
                if iterator is not None:
                    alive -= 1
                    iterators[i] = None
                    if not alive:
                        return
                item = fillvalue
            items.append(item)
        yield tuple(items)


def zip_longest(*iterables, fillvalue=None):
    """itertools.zip_longest"""
    return _zip_longest([iter(iterable) for iterable in iterables], fillvalue)


# ---- combinatorics ----


def _product(pools):
    counters = [0] * len(pools)
    for pool in pools:
        if not pool:
            return
    while True:
        yield tuple([pool[i] for pool, i in zip(pools, counters)])
        at = len(pools) - 1
        while at >= 0:
            counters[at] += 1
            if counters[at] < len(pools[at]):
                break
            counters[at] = 0
            at -= 1
        else:
            return


def product(*iterables, repeat=1):
    """itertools.product"""
    if not _is_count(repeat):
        graph_break()
    return _product([tuple(iterable) for iterable in iterables] * repeat)


def _permutations(pool, r):
    n = len(pool)
    if r > n:
        return
    indices = list(range(n))
    cycles = list(range(n, n - r, -1))
    yield tuple([pool[indices[k]] for k in range(r)])
    while n:
        i = r - 1
        while i >= 0:
            cycles[i] -= 1
            if cycles[i] == 0:
                indices.append(indices.pop(i))
                cycles[i] = n - i
                i -= 1
            else:
                j = n - cycles[i]
                moved = indices[i]
                indices[i] = indices[j]
                indices[j] = moved
                yield tuple([pool[indices[k]] for k in range(r)])
                break
        else:
            return


def permutations(iterable, r=None):
    """itertools.permutations"""
    if not (r is None or _is_count(r)):
        graph_break()
    pool = tuple(iterable)
    return _permutations(pool, len(pool) if r is None else r)


def _combinations(pool, r):
    n = len(pool)
    if r > n:
        return
    indices = list(range(r))
    yield tuple([pool[i] for i in indices])
    while True:
        i = r - 1
        while i >= 0 and indices[i] == i + n - r:
            i -= 1
        if i < 0:
            return
        indices[i] += 1
        for j in range(i + 1, r):
            indices[j] = indices[j - 1] + 1
        yield tuple([pool[k] for k in indices])


def combinations(iterable, r):
    """itertools.combinations"""
    if not _is_count(r):
        graph_break()
    return _combinations(tuple(iterable), r)


def _combinations_with_replacement(pool, r):
    n = len(pool)
    if not n and r:
        return
    indices = [0] * r
    yield tuple([pool[i] for i in indices])
    while True:
        i = r - 1
        while i >= 0 and indices[i] == n - 1:
            i -= 1
        if i < 0:
            return
        following = indices[i] + 1
        for j in range(i, r):
            indices[j] = following
        yield tuple([pool[k] for k in indices])


def combinations_with_replacement(iterable, r):
    """itertools.combinations_with_replacement"""
    if not _is_count(r):
        graph_break()
    return _combinations_with_replacement(tuple(iterable), r)


TABLE: dict[Any, Any] = {
    map: map_,
    zip: zip_,
    itertools.accumulate: accumulate,
    itertools.chain: chain,
    itertools.chain.from_iterable: from_iterable,
    itertools.combinations: combinations,
    itertools.combinations_with_replacement: combinations_with_replacement,
    itertools.compress: compress,
    itertools.count: count,
    itertools.cycle: cycle,
    itertools.dropwhile: dropwhile,
    itertools.filterfalse: filterfalse,
    itertools.groupby: groupby,
    itertools.islice: islice,
    itertools.pairwise: pairwise,
    itertools.permutations: permutations,
    itertools.product: product,
    itertools.repeat: repeat,
    itertools.starmap: starmap,
    itertools.takewhile: takewhile,
    itertools.tee: tee,
    itertools.zip_longest: zip_longest,
}
if sys.version_info >= (3, 12):
    TABLE[itertools.batched] = batched
