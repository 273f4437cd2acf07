"""What CPython's own tests found, in small."""

import collections
import enum
import gc
import weakref

import numpy as np
import pytest
from differential import check as checked

import pycompile


def check(function, *args):
    checked(function, *args, captured=False)


X = np.arange(4.0)


def test_range_with_a_step_of_zero():
    def f(x, step):
        return x + len(list(range(1, 2, step)))

    check(f, X, 0)


def test_range_that_is_longer_than_an_int64_tells():
    def f(x, n):
        y = x + 1
        return y, len(range(-n, n)) if n < 100 else range(-n, n)[0]

    check(f, X, 2**62 + 1)


class WrongBool:
    def __bool__(self):
        return self  # not a bool


class OneBool:
    def __bool__(self):
        return 1


class NoBool:
    __bool__ = None

    def __len__(self):
        return 1


class NegativeLength:
    def __len__(self):
        return -1


@pytest.mark.parametrize("kind", [WrongBool, OneBool, NoBool, NegativeLength])
def test_truth_that_raises(kind):
    def f(x, o):
        y = x * 2
        return y + (1 if o else 2)

    check(f, X, kind())


def test_from_a_package_a_submodule_that_is_not_imported_yet():
    def f(x):
        from xml import sax

        return x + 1, sax.__name__

    check(f, X)


class Callee:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x * self.k


def test_an_instance_made_inside_is_called():
    def f(x):
        return Callee(3)(x) + 1

    check(f, X)


def test_a_list_that_holds_itself_is_printed():
    def f(x, k):
        mine = [k]
        mine.append(mine)
        return x + 1, str(mine)

    def g(x, mine):
        return x + 1, repr(mine), f"{mine}"

    outside = [1]
    outside.append(outside)
    assert str(f(X, 1)[1]) == "[1, [...]]"
    check(g, X, outside)


# ---- what CPython would free is freed ----


class Kept:
    pass


def test_a_plan_keeps_no_object_alive():
    compiled = pycompile.compile(lambda x, o: x * 2 + {o: 1}[o])
    one = Kept()
    compiled(X, one)
    gone = weakref.ref(one)
    del one
    assert gone() is None
    assert np.array_equal(compiled(X, Kept()), X * 2 + 1)


@pytest.mark.slow
def test_a_plan_keeps_no_class_alive():
    def make(k):
        class Local:
            factor = k

            def times(self, x):
                return x * self.factor

            @property
            def more(self):
                return self.factor + 1

            @staticmethod
            def plain(x):
                return x + 1

        return Local

    def f(x, o):
        return o.times(x) + o.more + o.plain(x)

    compiled = pycompile.compile(f)
    gone = []
    for k in range(3):
        made = make(k)
        instance = made()
        assert np.array_equal(compiled(X, instance), f(X, instance))
        gone.append(weakref.ref(made))
        del made, instance
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3


def test_bases_changed_behind_our_back():
    class A:
        factor = 2

    class B(A):
        factor = 3

    class C(A):
        def get(self):
            return super().factor

    def f(x, o):
        return x * o.get()

    compiled = pycompile.compile(f)
    for bases in [(A,), (B,), (A,), (B,)]:
        C.__bases__ = bases
        assert np.array_equal(compiled(X, C()), f(X, C()))


# ---- containers that change while they are walked ----


@pytest.mark.parametrize("view", [iter, dict.values, dict.items])
def test_a_dict_that_changes_while_it_is_walked(view):
    def f(x, d, insert):
        y = x + 1
        n = 0
        for _ in view(d):
            n += 1
            del d[0]
            d[n if insert else 0] = 5
            if n > 3:
                break
        return y, n

    check(f, X, {0: 1}, False)
    check(f, X, {0: 1, 1: 2}, True)


def test_a_set_that_changes_while_it_is_walked():
    def f(x, s):
        y = x + 1
        for k in s:
            s.add(k + 10)
        return y

    check(f, X, {1, 2})


def test_a_set_with_itself():
    def f(x, s, t):
        s -= s
        t ^= t
        return x + len(s) + len(t)

    check(f, X, {1, 2}, {3})


def test_lists_that_change_while_they_are_compared():
    class Clears:
        def __eq__(self, other):
            second.clear()
            return NotImplemented

    first, second = [Clears()], [1]

    def f(x):
        return x + 1, first == second

    plain = f(X)[1]
    second.append(1)
    assert pycompile.compile(f)(X)[1] is plain and second == []


# ---- the very same object, or another one ----


def test_identity_of_what_builtins_give():
    def f(x, t):
        s = (t, 2)
        i = iter([1])
        frozen = frozenset([1, 2])
        parts = slice([1], [2])
        same = (s * 1 is s, s[:] is s, s + () is s, iter(i) is i)
        return x + 1, same, frozen.copy() is frozen, parts.start is parts.start

    check(f, X, 1)


class IntWithArgs(int):
    def __new__(cls, foo):
        made = int.__new__(cls)
        made.foo = foo
        return made


def test_each_call_of_new_makes_an_object():
    def f(x, a):
        first, second = IntWithArgs(a), IntWithArgs(a)
        return x + 1, first is second, first.foo

    check(f, X, "a")


# ---- errors, whether or not anybody looks at the result ----


def test_text_that_nobody_reads_raises():
    def f(x, value, spec):
        y = x + 1
        try:
            format(value, spec)
        except ValueError as e:
            return y, str(e)
        return y

    for value in (12, 12.0, "12"):
        check(f, X, value, "%M")
    check(f, X, 2.5, ".2f")


def test_a_list_is_made_anew_by_init():
    def f(x, items):
        items.__init__()
        return x + len(items)

    check(f, X, [1, 2])


class IntWithIndex(int):
    def __index__(self):
        return 42


def test_int_of_a_subclass_is_not_its_index():
    def f(x, o):
        return x + int(o)

    check(f, X, IntWithIndex(7))


class SetOnly:
    def __set__(self, instance, value):
        instance.__dict__["a"] = value


class HasSetOnly:
    a = SetOnly()


def test_a_descriptor_that_cannot_be_read():
    def f(x, o):
        o.a = 42
        return x + o.a

    check(f, X, HasSetOnly())


def test_a_counter_is_equal_to_a_dict():
    def f(x, c, d):
        return x + 1, c == dict(d), dict(d) == c

    check(f, X, collections.Counter("aab"), {"a": 2, "b": 1})


class One(enum.IntEnum):
    first = 1


class Other(enum.IntEnum):
    first = 1


def test_a_member_that_is_equal_to_one_of_another_enum():
    def f(x):
        return x + 1, Other.first in One

    check(f, X)


class OwnItems(tuple):
    def __getitem__(self, key):
        return str(key)


class NoReversed:
    __reversed__ = None

    def __getitem__(self, key):
        return key

    def __len__(self):
        return 2


def test_iter_looks_for_iter_first():
    def f(x, t):
        return x + 1, next(iter(t))

    def g(x, o):
        return x + len(list(reversed(o)))

    check(f, X, OwnItems((1, 2)))
    check(g, X, NoReversed())


class HasSlot:
    __slots__ = ("slot",)


class Borrows:
    borrowed = HasSlot.slot


def test_a_slot_of_another_class_is_neither_read_nor_written():
    def f(x, o):
        return x + 1, o.borrowed

    def g(x, o):
        y = x + 1
        try:
            o.borrowed = 42
        except TypeError as error:
            return y, str(error)
        return y, ""

    check(f, X, Borrows())
    check(g, X, Borrows())


def test_sequences_repeated_beyond_all_memory():
    def f(x, k):
        y = x + 1
        try:
            return y, [4, 5, 6, 7] * k
        except MemoryError:
            return y, "memory"

    def g(x, k):
        return x + 1, [] * k, () * k

    check(f, X, 2**62)
    check(g, X, 2**62)
