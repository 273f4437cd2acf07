"""Watches hold until something they cover changes, and never longer."""

import gc
import weakref

import numpy as np

from pycompile import _C


def watching(*parts):
    watch = _C._watch()
    for part in parts:
        assert _C._watch_add(watch, *part)
    assert _C._watch_holds(watch)
    return watch


def test_dict_key():
    table = {"a": 1, "b": 2}
    watch = watching(("key", table, "a"))
    table["b"] = 3
    table["c"] = 4
    table["a"] = table["a"]
    assert _C._watch_holds(watch)
    table["a"] = 5
    assert not _C._watch_holds(watch)
    assert _C._watch_rearm(watch) and _C._watch_holds(watch)
    del table["a"]
    assert not _C._watch_holds(watch)


def test_missing_key_that_appears():
    table = {}
    watch = watching(("key", table, "late"))
    table["other"] = 1
    assert _C._watch_holds(watch)
    table["late"] = 1
    assert not _C._watch_holds(watch)


def test_clear_update_pop():
    for change in (
        dict.clear,
        lambda d: d.update(a=2),
        lambda d: d.pop("a"),
        lambda d: d.setdefault("q", 1),
    ):
        table = {"a": object()}
        watch = watching(("key", table, "a"), ("key", table, "q"))
        change(table)
        assert not _C._watch_holds(watch)


def test_key_equal_but_not_identical():
    table = {"some name": 1}
    watch = watching(("key", table, "some name"))
    table["".join(["some", " ", "name"])] = 2
    assert not _C._watch_holds(watch)


def test_two_watches_of_one_dict():
    table = {"a": 1, "b": 1}
    first, second = watching(("key", table, "a")), watching(("key", table, "b"))
    table["a"] = 2
    assert not _C._watch_holds(first) and _C._watch_holds(second)
    del first
    table["b"] = 2
    assert not _C._watch_holds(second)


def test_globals_of_a_module():
    watch = watching(
        ("key", globals(), "GLOBAL"),
        ("key", vars(__builtins__) if hasattr(__builtins__, "len") else __builtins__, "len"),
    )
    globals()["OTHER"] = 1
    assert _C._watch_holds(watch)
    globals()["GLOBAL"] = 2
    assert not _C._watch_holds(watch)


GLOBAL = 1


def test_dict_that_dies():
    watch = _C._watch()
    table = {"a": 1}
    assert _C._watch_add(watch, "key", table, "a")
    if __import__("sys").version_info >= (3, 12):  # before, the caller must keep it alive
        del table
        gc.collect()
        assert not _C._watch_holds(watch)
        assert not _C._watch_rearm(watch)


def test_type_attribute_twice():
    class Thing:
        x = 1

    watch = watching(("type", Thing))
    for value in (2, 3, 4):
        Thing.x = value
        assert not _C._watch_holds(watch)
        assert _C._watch_rearm(watch) and _C._watch_holds(watch)
    Thing().y = 1
    assert _C._watch_holds(watch)


def test_change_in_a_base():
    class Base:
        pass

    class Child(Base):
        pass

    watch = watching(("type", Child))
    Base.added = 1
    assert not _C._watch_holds(watch)


def test_bases_reassigned():
    class A:
        pass

    class B:
        pass

    class Child(A):
        pass

    watch = watching(("type", Child))
    Child.__bases__ = (B,)
    assert not _C._watch_holds(watch)


def test_type_that_dies_before_its_watch():
    for _ in range(100):
        watch = _C._watch()
        thing = type("Thing", (), {})
        assert _C._watch_add(watch, "type", thing)
        assert _C._watch_holds(watch)
        del thing
        gc.collect()
        del watch


def test_function():
    def f(a, b=1, *, c=2):
        return a

    def g(a, b=1, *, c=2):
        return b

    def changes():
        f.__defaults__ = (5,)
        yield
        f.__kwdefaults__ = {"c": 3}
        yield
        f.__code__ = g.__code__
        yield
        f.__kwdefaults__["c"] = 4
        yield

    names = "__code__", "__defaults__", "__kwdefaults__"
    watch = watching(*(("function", f, name) for name in names))
    for _ in changes():
        assert not _C._watch_holds(watch)
        watch = watching(*(("function", f, name) for name in names))
    f.attribute = 1
    assert _C._watch_holds(watch)


def test_a_watch_keeps_no_value_alive():
    class Value:
        pass

    def f(a=1):
        return a

    value = Value()
    table, dead = {"a": value}, weakref.ref(value)
    watch = watching(("key", table, "a"), ("function", f, "__code__"))
    del value, table["a"]
    assert dead() is None and not _C._watch_holds(watch)


def test_a_tuple_of_defaults_that_lies_where_another_was():
    def f(a=1):
        return a

    for items in (lambda: (2.0, 1), lambda: (np.zeros(3), 2), lambda: ([], 1), lambda: (None, 1)):
        f.__defaults__ = (np.zeros(3), 1)  # the array keeps it from being owned
        array = weakref.ref(f.__defaults__[0])
        watch = watching(("function", f, "__defaults__"))
        f.__defaults__ = None
        assert array() is None and not _C._watch_holds(watch)
        f.__defaults__ = items()  # mostly where the first was
        assert not _C._watch_rearm(watch) and not _C._watch_holds(watch)
    f.__defaults__ = (slice(1, 2), np.zeros(3))  # another slice may lie where it was
    assert not _C._watch_add(_C._watch(), "function", f, "__defaults__")


def test_many_watches():
    tables = [{"a": i} for i in range(3000)]
    watches = [watching(("key", table, "a")) for table in tables]
    for table in tables[::2]:
        table["a"] = None
    assert [_C._watch_holds(watch) for watch in watches] == [False, True] * 1500
    del watches
    for table in tables:
        table["a"] = 7
