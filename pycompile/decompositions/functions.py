"""functools, operator, heapq and bisect in Python."""

from __future__ import annotations

import bisect
import functools
import heapq
import operator
import sys
import weakref
from typing import Any

from pycompile._api import graph_break
from pycompile.decompositions.iteration import End

# ---- functools ----


def reduce(function, iterable, initial=End, /):
    """functools.reduce"""
    iterator = iter(iterable)
    held = [next(iterator, End) if initial is End else initial]
    if held[0] is End:
        raise TypeError("reduce() of empty iterable with no initial value")
    for item in iterator:
        held.append(item)
        del item  # the call alone has both, so that NumPy may write into them
        held.append(function(held.pop(0), held.pop()))
    return held[0]


def cached_property_get(self, instance, owner=None):
    """functools.cached_property.__get__, which takes a lock before Python 3.12"""
    if instance is None:
        return self
    if self.attrname is None:
        graph_break()
    cache = instance.__dict__
    value = cache.get(self.attrname, End)
    if value is End:
        value = self.func(instance)
        cache[self.attrname] = value
    return value


def _dispatcher():
    cache_token = dispatch_cache = registry = None

    def dispatch(cls):
        # What it remembers of earlier calls is left alone.
        if cache_token is not None or type(dispatch_cache) is not weakref.WeakKeyDictionary:
            graph_break()
        for known in registry:
            if type(known) is not type:
                graph_break()
        for known in cls.__mro__:
            if known in registry:
                return registry[known]
        graph_break()

    return dispatch


#: Followed in place of the function of this name that functools.singledispatch makes, with its closure.
dispatch = _dispatcher()


# ---- operator ----


def _check_sequence(a):
    if not hasattr(a, "__getitem__"):
        raise TypeError(f"'{type(a).__name__}' object can't be concatenated")


def concat(a, b, /):
    """operator.concat"""
    _check_sequence(a)
    return a + b


def iconcat(a, b, /):
    """operator.iconcat"""
    _check_sequence(a)
    a += b
    return a


def count_of(a, b, /):
    """operator.countOf"""
    count = 0
    for item in a:
        if item in (b,):
            count += 1
    return count


def index_of(a, b, /):
    """operator.indexOf"""
    for i, item in enumerate(a):
        if item in (b,):
            return i
    raise ValueError("sequence.index(x): x not in sequence")


def delitem(a, b, /):
    """operator.delitem"""
    del a[b]


def setitem(a, b, c, /):
    """operator.setitem"""
    a[b] = c


def truth(a, /):
    """operator.truth"""
    return True if a else False


def call(obj, /, *args, **kwargs):
    """operator.call"""
    return obj(*args, **kwargs)


def iadd(a, b, /):
    a += b
    return a


def iand(a, b, /):
    a &= b
    return a


def ifloordiv(a, b, /):
    a //= b
    return a


def ilshift(a, b, /):
    a <<= b
    return a


def imatmul(a, b, /):
    a @= b
    return a


def imod(a, b, /):
    a %= b
    return a


def imul(a, b, /):
    a *= b
    return a


def ior(a, b, /):
    a |= b
    return a


def ipow(a, b, /):
    a **= b
    return a


def irshift(a, b, /):
    a >>= b
    return a


def isub(a, b, /):
    a -= b
    return a


def itruediv(a, b, /):
    a /= b
    return a


def ixor(a, b, /):
    a ^= b
    return a


# ---- heapq: the algorithms of Lib/heapq.py, which its C version follows step by step ----


def _sift_down(heap, start, at):
    item = heap[at]
    while at > start:
        parent = (at - 1) >> 1
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _sift_up(heap, at):
    end, start = len(heap), at
    item = heap[at]
    child = 2 * at + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _sift_down(heap, start, at)


def heappush(heap, item, /):
    """heapq.heappush"""
    heap.append(item)
    _sift_down(heap, 0, len(heap) - 1)


def heappop(heap, /):
    """heapq.heappop"""
    last = heap.pop()
    if not heap:
        return last
    item = heap[0]
    heap[0] = last
    _sift_up(heap, 0)
    return item


def heapreplace(heap, item, /):
    """heapq.heapreplace"""
    first = heap[0]
    heap[0] = item
    _sift_up(heap, 0)
    return first


def heappushpop(heap, item, /):
    """heapq.heappushpop"""
    if heap and heap[0] < item:
        first = heap[0]
        heap[0] = item
        _sift_up(heap, 0)
        return first
    return item


def heapify(heap, /):
    """heapq.heapify"""
    for i in range(len(heap) // 2 - 1, -1, -1):
        _sift_up(heap, i)


# ---- bisect ----


def _bisect(a, x, low, high, key, right):
    if low < 0:
        raise ValueError("lo must be non-negative")
    if high is None:
        high = len(a)
    while low < high:
        middle = (low + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if right:
            if x < item:
                high = middle
            else:
                low = middle + 1
        elif item < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """bisect.bisect_left"""
    return _bisect(a, x, lo, hi, key, False)


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """bisect.bisect_right"""
    return _bisect(a, x, lo, hi, key, True)


def insort_left(a, x, lo=0, hi=None, *, key=None):
    """bisect.insort_left"""
    a.insert(_bisect(a, x if key is None else key(x), lo, hi, key, False), x)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    """bisect.insort_right"""
    a.insert(_bisect(a, x if key is None else key(x), lo, hi, key, True), x)


# Of operator what is an operator of the language is capture's own.
TABLE: dict[Any, Any] = {
    functools.reduce: reduce,
    operator.abs: lambda a, /: abs(a),
    operator.concat: concat,
    operator.countOf: count_of,
    operator.delitem: delitem,
    operator.iadd: iadd,
    operator.iand: iand,
    operator.iconcat: iconcat,
    operator.ifloordiv: ifloordiv,
    operator.ilshift: ilshift,
    operator.imatmul: imatmul,
    operator.imod: imod,
    operator.imul: imul,
    operator.indexOf: index_of,
    operator.ior: ior,
    operator.ipow: ipow,
    operator.irshift: irshift,
    operator.isub: isub,
    operator.itruediv: itruediv,
    operator.ixor: ixor,
    operator.setitem: setitem,
    operator.truth: truth,
    operator.call: call,
    heapq.heapify: heapify,
    heapq.heappop: heappop,
    heapq.heappush: heappush,
    heapq.heappushpop: heappushpop,
    heapq.heapreplace: heapreplace,
    bisect.bisect_left: bisect_left,
    bisect.bisect_right: bisect_right,
    bisect.insort_left: insort_left,
    bisect.insort_right: insort_right,
}
if sys.version_info < (3, 12):
    TABLE[functools.cached_property.__get__] = cached_property_get
