"""Dicts and their views."""

import collections.abc

import numpy as np

from constructs import X, construct


class Key:
    pass


KEY = Key()


@construct("dict methods that read", X, {"a": 1, "b": 2})
def reads(x, d):
    return d.get("a"), d.get("z", 7), "b" in d, len(d), list(d), x * d["b"]


@construct("dict methods that change", X, {"a": 1, "b": 2, "c": 3})
def changes(x, d):
    d["n"] = x + 1
    d.setdefault("a", 9)
    d.setdefault("m", []).append(1)
    d.update({"b": 5}, k=6)
    del d["a"]
    return d.pop("c"), d.pop("zz", None), d.popitem(), d


@construct("union of dicts, also in place", X, {"a": 1})
def union(x, d):
    e = d | {"b": -x}
    d |= [("c", 2)]
    return e, d, {"z": 0, **d}


@construct("dict from pairs, keywords and fromkeys", X)
def making(x):
    return dict([("a", 1)], b=x * 2), dict(zip("ab", (1, 2))), dict.fromkeys("xy", 0)


class Frozen(collections.abc.Mapping):
    def __init__(self, inner):
        self.inner = inner

    def __getitem__(self, key):
        return self.inner[key]

    def __iter__(self):
        return iter(self.inner)

    def __len__(self):
        return len(self.inner)


class Named:
    def keys(self):
        yield from "ab"

    def __getitem__(self, key):
        return key * 2


FROZEN = Frozen({"k": 5})


@construct("dict and update of mappings of the program's", X)
def mappings(x):
    d = dict(Frozen({"u": x * 2}), v=1)
    d.update(FROZEN)
    d.update(Named())
    return d, dict(d["u"] > 1 for _ in ())


@construct("views follow their dict", X)
def views(x):
    d = {"a": 1}
    keys, values, items = d.keys(), d.values(), d.items()
    d["b"] = x + 2
    return list(keys), len(values), list(items), "b" in keys, ("a", 1) in items


@construct("set operations on views", X, {"a": 1, "b": 2})
def view_sets(x, d):
    return d.keys() & {"a", "z"}, d.keys() - {"a"}, d.items() | {("c", 3)}, x + 1


@construct("a view that is returned", X, {"a": 1})
def view_out(x, d):
    d["n"] = -x
    return d.keys(), d.values()


@construct("order of keys after deletion", X)
def key_order(x):
    d = {"a": 1, "b": 2, "c": 3}
    del d["a"]
    d["a"] = x - 1
    return list(d), list(reversed(d)), list(d.values())


@construct("equality of dicts", X, {"a": 1})
def equality(x, d):
    return d == {"a": 1}, d != {"a": 2}, {"a": x} == {"a": x}, -x


@construct("numbers that are one key", X)
def one_key(x):
    d = {1: "a", True: "b", 1.0: "c"}  # noqa: F601
    return d, d[1], x + 1


@construct("None, tuples, types and functions as keys", X)
def odd_keys(x):
    d = {None: 1, (1, 2): 2, int: 3, len: 4, slice: 5}
    return d[None] + d[1, 2] + d[int] + d[len], x * d[slice]


@construct("an instance as a key", X)
def instance_key(x):
    d = {KEY: x}
    return KEY in d, d[KEY] * 2


@construct("iteration over items", X, {"a": 1, "b": 2})
def iteration(x, d):
    total = x
    for name, value in d.items():
        total = total + value * len(name)
    return total


@construct("dict comprehension with a condition", X)
def comprehension(x):
    return {k: x * v for k, v in {"a": 1, "b": 0}.items() if v}


@construct("KeyError handled", X)
def missing(x):
    try:
        return {}["nothing"]
    except KeyError as error:
        return error.args, x + 1


@construct("dict changed while it is walked", X)
def changed(x):
    d = {"a": 1, "b": 2}
    try:
        for k in d:
            d[k + "x"] = 0
    except RuntimeError as error:
        return str(error), x + 1


@construct("unhashable key", X)
def unhashable(x):
    try:
        return {[]: 1}
    except TypeError as error:
        return str(error), x * 2


@construct("nested dict from outside changed", X, {"in": {"n": 1}, "l": [1]})
def nested(x, d):
    d["in"]["n"] += 1
    d["l"].append(x + 1)
    d["in"]["self"] = d["l"]
    return d["in"]["self"] is d["l"]


@construct("dict cleared and filled again", X, {"a": 1})
def cleared(x, d):
    d.clear()
    d["b"] = x * 3
    return len(d), d


@construct("keyword arguments from a dict", X, {"scale": 2.0})
def keywords(x, d):
    def f(x, scale=1.0, **rest):
        return x * scale, rest

    return f(x, **d, other=3)


@construct("dtypes as keys", X)
def dtype_keys(x):
    eps = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
    return x * eps[x.dtype], np.dtype(int) in eps, len(eps)
