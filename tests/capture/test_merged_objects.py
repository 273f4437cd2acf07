"""Objects that arms of one graph make or change: attributes, exceptions, tuples by identity."""

import numpy as np
import pytest
from differential import check

X = np.arange(1.0, 7.0)


class Plain:
    pass


class Scaled:
    def __init__(self, x):
        if x.max() > 3:
            self.k = x.max()
        else:
            self.k = 1.0


class Listed(list):
    pass


def first_attribute_in_init(x):
    return x / Scaled(x).k


def first_attribute_in_one_arm(x):
    o = Plain()
    if x.sum() > 0:
        o.a = 1.0
    return x * 2, hasattr(o, "a"), vars(o)


def first_attribute_in_both(x):
    o = Plain()
    if x.sum() > 0:
        o.a = x[0]
    else:
        setattr(o, "a", x[1])  # noqa: B010
    return x * o.a, o.__dict__


def attributes_in_another_order(x):
    o = Plain()
    if x.sum() > 0:
        o.a = 1.0
        o.b = 2.0
    else:
        o.b = x[0]
        o.a = x[1]
    return x * o.a, list(vars(o))


def dict_asked_for_before(x):
    o = Plain()
    d = o.__dict__
    if x.sum() > 0:
        o.a = 1.0
    else:
        o.a = x[1]
    return x * 2, list(d), d is o.__dict__


def attribute_of_a_function(x):
    def g(v):
        return v

    if x.sum() > 0:
        g.a = 1.0
    else:
        g.a = 2.0
    return x * g.a


def attribute_of_a_list(x):
    values = Listed([1.0])
    if x.sum() > 0:
        values.a = 1.0
    else:
        values.a = 2.0
    return x * values.a, len(values)


class Slotted:
    __slots__ = ("a", "b")


def the_same_slot(x):
    o = Slotted()
    if x.sum() > 0:
        o.a = 1.0
    else:
        o.a = x[1]
    return x * o.a, hasattr(o, "b")


def other_slots(x):
    o = Slotted()
    if x.sum() > 0:
        o.a = 1.0
    else:
        o.b = 2.0
    return x * 2, hasattr(o, "a"), hasattr(o, "b")


def exceptions_made(x):
    e = ValueError("a") if x.sum() > 0 else ValueError("b")
    return x * 2, e.args, str(e), f"{e!r}"


def exceptions_kept(x):
    errors = []
    if x.sum() > 0:
        errors.append(ValueError("a"))
    else:
        errors.append(ValueError("b"))
    return x * 2, errors[0].args


def cause_set(x):
    e, k = ValueError("a"), 1.0
    if x.sum() > 0:
        e.__cause__ = KeyError(1)
        k = 2.0
    return x * k, e.__cause__ is None, e.__suppress_context__


def attribute_of_an_exception(x):
    e, k = ValueError("a"), 1.0
    if x.sum() > 0:
        e.note = 5
        k = 2.0
    return x * k, hasattr(e, "note")


def tuple_of_two_names(x):
    if x.sum() > 0:
        p = q = (x[0],)
    else:
        p, q = (x[1],), (x[2],)
    return x * 2, p is q


@pytest.mark.parametrize(
    "function",
    [
        first_attribute_in_init,
        first_attribute_in_one_arm,
        first_attribute_in_both,
        attributes_in_another_order,
        dict_asked_for_before,
        attribute_of_a_function,
        attribute_of_a_list,
        the_same_slot,
        other_slots,
        exceptions_made,
        exceptions_kept,
        cause_set,
        attribute_of_an_exception,
        tuple_of_two_names,
    ],
)
def test_what_arms_leave(function):
    others = tuple((x,) for x in (-X, X / 10, -X, X))
    check(function, X, also=others, options={"options": {"plan_always": True}})
