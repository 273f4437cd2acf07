"""Classes of the library that are written in C, as Python classes: see csrc/capture/objects/models.c.

A model has its original's signatures, results and errors; what it does not do ends in a graph break,
so the original does it.  Slots begin with an underscore where the original has no such attribute.
`_leave` names a function and slots: called with them it makes the real object, and runs no code of the
program's.
"""

from __future__ import annotations

import collections
import functools
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from pycompile._api import graph_break


class Model:
    """What every object has and no model does."""

    __slots__ = ()
    _leave: Any = None

    def __eq__(self, other):
        graph_break()

    def __ne__(self, other):
        graph_break()

    def __lt__(self, other):
        graph_break()

    def __le__(self, other):
        graph_break()

    def __gt__(self, other):
        graph_break()

    def __ge__(self, other):
        graph_break()

    def __hash__(self):
        graph_break()

    def __repr__(self):
        graph_break()

    def __str__(self):
        graph_break()

    def __format__(self, spec):
        graph_break()

    def __reduce__(self):
        graph_break()

    def __reduce_ex__(self, protocol):
        graph_break()


# ---- operator ----


def _item_getter(items):
    return operator.itemgetter(*items)


class ItemGetter(Model):
    """operator.itemgetter"""

    __slots__ = ("_items",)
    _leave = (_item_getter, "_items")

    def __init__(self, item, /, *items):
        self._items = (item, *items)

    def __call__(self, obj, /):
        items = self._items
        if len(items) == 1:
            return obj[items[0]]
        return tuple([obj[item] for item in items])


def _attribute_getter(names):
    return operator.attrgetter(*names)


class AttributeGetter(Model):
    """operator.attrgetter"""

    __slots__ = ("_names",)
    _leave = (_attribute_getter, "_names")

    def __init__(self, attr, /, *attrs):
        self._names = (attr, *attrs)
        for name in self._names:
            if type(name) is not str:
                graph_break()

    def _get(self, obj, names):
        for name in names.split("."):
            obj = getattr(obj, name)
        return obj

    def __call__(self, obj, /):
        names = self._names
        if len(names) == 1:
            return self._get(obj, names[0])
        return tuple([self._get(obj, name) for name in names])


def _method_caller(name, args, kwargs):
    return operator.methodcaller(name, *args, **kwargs)


class MethodCaller(Model):
    """operator.methodcaller"""

    __slots__ = ("_args", "_kwargs", "_name")
    _leave = (_method_caller, "_name", "_args", "_kwargs")

    def __init__(self, name, /, *args, **kwargs):
        if type(name) is not str:
            graph_break()
        self._name, self._args, self._kwargs = name, args, kwargs

    def __call__(self, obj, /):
        return getattr(obj, self._name)(*self._args, **self._kwargs)


# ---- functools ----


def _key_maker(compare, full, obj):
    made = functools.cmp_to_key(compare)
    return made(obj) if full else made


class Key(Model):
    """What functools.cmp_to_key gives, and what calling that gives."""

    __slots__ = ("_compare", "_full", "obj")
    _leave = (_key_maker, "_compare", "_full", "obj")

    def __init__(self, compare):
        self._compare = compare
        self._full = False
        self.obj = None

    def __call__(self, obj):
        key = KEY(self._compare)
        key._full = True
        key.obj = obj
        return key

    def __lt__(self, other):
        return self._compare(self.obj, other.obj) < 0

    def __le__(self, other):
        return self._compare(self.obj, other.obj) <= 0

    def __gt__(self, other):
        return self._compare(self.obj, other.obj) > 0

    def __ge__(self, other):
        return self._compare(self.obj, other.obj) >= 0

    def __eq__(self, other):
        return self._compare(self.obj, other.obj) == 0

    def __ne__(self, other):
        return self._compare(self.obj, other.obj) != 0


KEY: type = type(functools.cmp_to_key(None))  # type: ignore[arg-type]


def cmp_to_key(mycmp):
    """functools.cmp_to_key"""
    return KEY(mycmp)


class Mark:
    """Between the positional arguments of a key and those by name."""


class Cache(Model):
    """What functools.lru_cache gives; it does not leave."""

    __slots__ = ("__dict__", "_cache", "_function", "_hits", "_info", "_misses", "_most", "_typed")

    def __init__(self, function, maxsize, typed, info):
        self._function, self._most, self._typed, self._info = function, maxsize, typed, info
        self._cache, self._hits, self._misses = {}, 0, 0

    def _key(self, args, kwargs):
        key = args
        if kwargs:
            key = (*key, Mark)
            for name, value in kwargs.items():
                key = (*key, name, value)
        if self._typed:
            key = (*key, *[type(value) for value in args])
            if kwargs:
                key = (*key, *[type(value) for value in kwargs.values()])
        return key

    def __call__(self, *args, **kwargs):
        cache, most = self._cache, self._most
        if most is not None and most <= 0:
            self._misses += 1
            return self._function(*args, **kwargs)
        key = self._key(args, kwargs)
        if key in cache:
            self._hits += 1
            value = cache[key]
            if most is not None:
                del cache[key]
                cache[key] = value
            return value
        self._misses += 1
        value = self._function(*args, **kwargs)
        if key not in cache:
            if most is not None and len(cache) >= most:
                del cache[next(iter(cache))]
            cache[key] = value
        return value

    def cache_info(self):
        most = self._most
        if most is not None and most < 0:
            most = 0
        return self._info(self._hits, self._misses, most, len(self._cache))

    def cache_clear(self):
        self._cache, self._hits, self._misses = {}, 0, 0


def _cached(function, maxsize, typed):
    if type(function) is not types.FunctionType:
        graph_break()
    made = functools._lru_cache_wrapper(function, maxsize, typed, functools._CacheInfo)
    made.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}
    made.__name__, made.__qualname__ = function.__name__, function.__qualname__
    made.__wrapped__ = function
    return made


def lru_cache(maxsize=128, typed=False):
    """functools.lru_cache"""
    if type(maxsize) is int:
        maxsize = max(maxsize, 0)
    elif maxsize is not None:
        if type(typed) is not bool:
            graph_break()
        return _cached(maxsize, 128, typed)
    return lambda function: _cached(function, maxsize, typed)


# ---- dicts ----


def _dict_of(mapping):
    if type(mapping) in (defaultdict, Counter, OrderedDict):
        return mapping._data
    return mapping


class Dict(Model):
    """What classes derived from dict inherit."""

    __slots__ = ("_data",)
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key):
        return self._data[key]

    def __setitem__(self, key, value):
        self._data[key] = value

    def __delitem__(self, key):
        del self._data[key]

    def __len__(self):
        return len(self._data)

    def __iter__(self):
        return iter(self._data)

    def __reversed__(self):
        return reversed(self._data)

    def __contains__(self, key):
        return key in self._data

    def __eq__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        return self._data == _dict_of(other)

    def __ne__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        return self._data != _dict_of(other)

    def get(self, key, default=None, /):
        return self._data.get(key, default)

    def setdefault(self, key, default=None, /):
        return self._data.setdefault(key, default)

    def pop(self, *args):
        return self._data.pop(*args)

    def popitem(self):
        return self._data.popitem()

    def clear(self):
        self._data.clear()

    def update(self, *args, **kwargs):
        self._data.update(*[_dict_of(arg) for arg in args], **kwargs)

    def keys(self):
        return self._data.keys()

    def values(self):
        return self._data.values()

    def items(self):
        return self._data.items()


class Merged(Dict):
    """Those whose union is the first, updated with the second; Counter's is another."""

    __slots__ = ()

    def __or__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self


def _default_dict(factory, data):
    return defaultdict(factory, data)


class DefaultDict(Merged):
    """collections.defaultdict"""

    __slots__ = ("default_factory",)
    _leave = (_default_dict, "default_factory", "_data")

    def __init__(self, default_factory=None, /, *args, **kwargs):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable or None")
        self.default_factory = default_factory
        self._data = dict(*[_dict_of(arg) for arg in args], **kwargs)

    def __getitem__(self, key):
        if key in self._data:
            return self._data[key]
        return self.__missing__(key)

    def __missing__(self, key):
        factory = self.default_factory
        if factory is None:
            raise KeyError(key)
        value = factory()
        self._data[key] = value
        return value

    def copy(self):
        return defaultdict(self.default_factory, self._data)


def _ordered_dict(data):
    return OrderedDict(data)


class Ordered(Merged):
    """collections.OrderedDict"""

    __slots__ = ()
    _leave = (_ordered_dict, "_data")

    def __init__(self, *args, **kwargs):
        if not hasattr(self, "_data"):  # called once more it adds
            self._data = {}
        self._data.update(*[_dict_of(arg) for arg in args], **kwargs)

    def setdefault(self, key, default=None):
        return self._data.setdefault(key, default)

    def __eq__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        if isinstance(other, OrderedDict) and list(self._data) != list(_dict_of(other)):
            return False
        return self._data == _dict_of(other)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def popitem(self, last=True):
        if not self._data:
            raise KeyError("dictionary is empty")
        if last:
            return self._data.popitem()
        key = next(iter(self._data))
        return key, self._data.pop(key)

    def move_to_end(self, key, last=True):
        data = self._data
        value = data[key]
        (key,) = [name for name in data if name in (key,)]  # its own, not one that is equal
        if last:
            del data[key]
            data[key] = value
        else:
            others = [(name, data[name]) for name in data if name not in (key,)]
            data.clear()
            data[key] = value
            for name, other in others:
                data[name] = other

    def copy(self):
        return OrderedDict(self._data)


def _counter(data):
    made = dict.__new__(Counter)
    dict.update(made, data)
    return made


class Count(Dict):
    """collections.Counter"""

    __slots__ = ()
    _leave = (_counter, "_data")

    def __init__(self, iterable=None, /, **kwds):
        if not hasattr(self, "_data"):  # called once more it adds
            self._data = {}
        self.update(iterable, **kwds)

    def __getitem__(self, key):
        return self._data.get(key, 0)

    def __missing__(self, key):
        return 0

    def __delitem__(self, key):
        if key in self._data:
            del self._data[key]

    def _add(self, iterable, sign):
        data = self._data
        if isinstance(iterable, dict):
            for key, count in iterable.items():
                data[key] = (count + data.get(key, 0)) if sign > 0 else (data.get(key, 0) - count)
        elif iterable is not None:
            for key in iterable:
                data[key] = data.get(key, 0) + sign

    def update(self, iterable=None, /, **kwds):
        if isinstance(iterable, dict) and not self._data:
            self._data.update(_dict_of(iterable))
        else:
            self._add(iterable, 1)
        if kwds:
            self.update(kwds)

    def subtract(self, iterable=None, /, **kwds):
        self._add(iterable, -1)
        if kwds:
            self.subtract(kwds)

    def total(self):
        return sum(self._data.values())

    def elements(self):
        return (key for key, count in self._data.items() for _ in range(count))

    def most_common(self, n=None):
        ordered = sorted(self._data.items(), key=lambda item: item[1], reverse=True)
        if n is None:
            return ordered
        if type(n) is not int:
            graph_break()
        return ordered[: max(n, 0)]

    def setdefault(self, key, default=None, /):
        return self._data.setdefault(key, default)

    def copy(self):
        return Counter(self._data)

    def __eq__(self, other):
        if not isinstance(other, Counter):
            return NotImplemented
        for counts in (self, other):
            for key in counts._data:
                if self[key] != other[key]:
                    return False
        return True

    def __ne__(self, other):
        if not isinstance(other, Counter):
            return NotImplemented
        return not self == other

    def __add__(self, other):
        if not isinstance(other, Counter):
            return NotImplemented
        made = Counter()
        for key, count in self._data.items():
            total = count + other[key]
            if total > 0:
                made[key] = total
        for key, count in other._data.items():
            if key not in self._data and count > 0:
                made[key] = count
        return made

    def __sub__(self, other):
        if not isinstance(other, Counter):
            return NotImplemented
        made = Counter()
        for key, count in self._data.items():
            left = count - other[key]
            if left > 0:
                made[key] = left
        for key, count in other._data.items():
            if key not in self._data and count < 0:
                made[key] = 0 - count
        return made

    def __or__(self, other):
        if not isinstance(other, Counter):
            return NotImplemented
        made = Counter()
        for key, count in self._data.items():
            theirs = other[key]
            most = theirs if count < theirs else count
            if most > 0:
                made[key] = most
        for key, count in other._data.items():
            if key not in self._data and count > 0:
                made[key] = count
        return made

    def __and__(self, other):
        if not isinstance(other, Counter):
            return NotImplemented
        made = Counter()
        for key, count in self._data.items():
            theirs = other[key]
            least = count if count < theirs else theirs
            if least > 0:
                made[key] = least
        return made

    def _keep_positive(self):
        for key in [key for key, count in self._data.items() if not count > 0]:
            del self._data[key]
        return self

    def __iadd__(self, other):
        for key, count in other.items():
            self._data[key] = self[key] + count
        return self._keep_positive()

    def __isub__(self, other):
        for key, count in other.items():
            self._data[key] = self[key] - count
        return self._keep_positive()

    def __ior__(self, other):
        for key, count in other.items():
            if count > self[key]:
                self._data[key] = count
        return self._keep_positive()

    def __iand__(self, other):
        for key, count in self._data.items():
            theirs = other[key]
            if theirs < count:
                self._data[key] = theirs
        return self._keep_positive()


# ---- deque ----


def _deque(items, maxlen):
    return deque(items, maxlen)


class Deque(Model):
    """collections.deque"""

    __slots__ = ("_changes", "_items", "maxlen")
    __hash__ = None  # type: ignore[assignment]
    _leave = (_deque, "_items", "maxlen")

    def __init__(self, iterable=(), maxlen=None):
        if maxlen is not None:
            if type(maxlen) is not int:
                graph_break()
            if maxlen < 0:
                raise ValueError("maxlen must be non-negative")
        self.maxlen = maxlen
        items = list(iterable)
        self._items = items if maxlen is None else items[max(len(items) - maxlen, 0) :]
        self._changes = 0

    def append(self, x, /):
        items, most = self._items, self.maxlen
        self._changes += 1
        if most is not None and len(items) >= most:
            if not most:  # iterators see it
                items.append(x)
                items.clear()
                return
            items.pop(0)
        items.append(x)

    def appendleft(self, x, /):
        items, most = self._items, self.maxlen
        self._changes += 1
        if most is not None and len(items) >= most:
            if not most:
                items.append(x)
                items.clear()
                return
            items.pop()
        items.insert(0, x)

    def extend(self, iterable, /):
        for item in list(iterable) if iterable is self else iterable:
            if self.maxlen != 0:
                self.append(item)

    def extendleft(self, iterable, /):
        for item in list(iterable) if iterable is self else iterable:
            if self.maxlen != 0:
                self.appendleft(item)

    def __iadd__(self, iterable):
        self.extend(iterable)
        return self

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop(0)

    def clear(self):
        if self._items:
            self._changes += 1
            self._items.clear()

    def reverse(self):
        self._items.reverse()

    def rotate(self, n=1, /):
        if type(n) is not int:
            graph_break()
        items = self._items
        if len(items) > 1:
            n %= len(items)
            if n <= len(items) // 2:
                for _ in range(n):
                    items.insert(0, items.pop())
            else:
                for _ in range(len(items) - n):
                    items.append(items.pop(0))
            if n == 0:  # iterators see it
                items.append(items.pop())
            self._changes += 1

    def insert(self, index, x, /):
        if type(index) is not int:
            graph_break()
        items, most = self._items, self.maxlen
        if most is not None and len(items) >= most:
            raise IndexError("deque already at its maximum size")
        items.insert(index, x)
        self._changes += 1

    def remove(self, value, /):
        items, changes = self._items, self._changes
        try:
            place = items.index(value)
        except ValueError:
            graph_break()
        if self._changes != changes:
            graph_break()
        del items[place]
        self._changes += 1

    def index(self, x, /):
        changes = self._changes
        try:
            place = self._items.index(x)
        except ValueError:
            graph_break()
        if self._changes != changes:
            graph_break()
        return place

    def count(self, x, /):
        changes = self._changes
        found = self._items.count(x)
        self._unchanged(changes)
        return found

    def copy(self):
        return deque(self._items, self.maxlen)

    __copy__ = copy

    def __len__(self):
        return len(self._items)

    def _place(self, index):
        if type(index) is not int:
            graph_break()
        if not -len(self._items) <= index < len(self._items):
            raise IndexError("deque index out of range")
        return index

    def __getitem__(self, index):
        return self._items[self._place(index)]

    def __setitem__(self, index, value):
        self._items[self._place(index)] = value

    def __delitem__(self, index):
        del self._items[self._place(index)]
        self._changes += 1

    def __contains__(self, item):
        changes = self._changes
        if item in self._items:
            return True
        self._unchanged(changes)
        return False

    def _unchanged(self, changes):
        if self._changes != changes:
            raise RuntimeError("deque mutated during iteration")

    def __iter__(self):
        return self._walk(self._changes)

    def _walk(self, changes):
        items = self._items
        for i in range(len(items)):
            self._unchanged(changes)
            yield items[i]
        self._unchanged(changes)

    def __reversed__(self):
        return self._walk_back(len(self._items), self._changes)

    def _walk_back(self, count, changes):
        items = self._items
        for i in range(count - 1, -1, -1):  # behind the last it does not look
            self._unchanged(changes)
            yield items[i]

    def __eq__(self, other):
        return self._items == other._items if isinstance(other, deque) else NotImplemented

    def __ne__(self, other):
        return self._items != other._items if isinstance(other, deque) else NotImplemented

    def __add__(self, other):
        if not isinstance(other, deque):
            graph_break()
        return deque(self._items + other._items, self.maxlen)


MODELS: dict[type, type] = {
    operator.itemgetter: ItemGetter,
    operator.attrgetter: AttributeGetter,
    operator.methodcaller: MethodCaller,
    KEY: Key,
    functools._lru_cache_wrapper: Cache,
    collections.defaultdict: DefaultDict,
    collections.OrderedDict: Ordered,
    collections.Counter: Count,
    collections.deque: Deque,
}
REALS = {model: real for real, model in MODELS.items()}


def _name_functions(model, name):
    """What is said about its functions names the class that a program knows."""
    for function in vars(model).values():
        if type(function) is types.FunctionType:
            code = function.__code__
            function.__code__ = code.replace(co_qualname=f"{name}.{code.co_name}")


for _model, _real in REALS.items():
    _name_functions(_model, _real.__name__)
_name_functions(Dict, "dict")
_name_functions(Merged, "dict")

#: Where a model has what its original holds.
HELD = {defaultdict: "_data", OrderedDict: "_data", Counter: "_data", deque: "_items"}


class Absent:
    """An attribute that the class has not."""


ABOUT = {"__doc__", "__module__", "__dict__", "__weakref__"}
ABOUT |= {"__firstlineno__", "__static_attributes__", "__annotations__"}


def _is_own(real, name):
    """The attribute is that of the library's source, not one that a program has put there."""
    found = vars(real).get(name, Absent)
    function = found.__func__ if type(found) is classmethod else found
    if type(function) is types.FunctionType:
        code = function.__code__
        own = code.co_filename == collections.namedtuple.__code__.co_filename
        return own and code.co_qualname == f"{real.__name__}.{name}"
    return found is None if name == "__hash__" else found is Absent


def _originals(real, model):
    """What a class of Python code has while its model is right; None: it was changed before.

    Of a name the attribute, and its code."""
    names = {name for base in real.__mro__[:-1] for name in vars(base)} - ABOUT
    wanted = {name for name, found in vars(model).items() if type(found) is types.FunctionType}
    wanted -= {name for base in real.__mro__[1:] for name in vars(base)}
    if not all(name in vars(real) for name in wanted if name.startswith("__") or name[0] != "_"):
        return None
    if not all(_is_own(real, name) for name in names):
        return None
    own = {name: vars(real).get(name, Absent) for name in sorted(names)}
    return {name: (found, getattr(found, "__code__", None)) for name, found in own.items()}


#: Classes of Python code, which a program can change.
ORIGINALS = {Counter: _originals(Counter, Count)}
OPENED = {operator.itemgetter, operator.attrgetter, operator.methodcaller}

TABLE: dict[Any, Any] = {functools.cmp_to_key: cmp_to_key, functools.lru_cache: lru_cache}
