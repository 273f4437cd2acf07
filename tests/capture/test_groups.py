"""Exception groups and except*: what is followed, and what is left to CPython unseen."""

import numpy as np
import pytest
from differential import check

import pycompile

X = np.array([1.0, 2.0, -3.0])


def uncaught(x):
    y = x * 2
    raise ExceptionGroup("many", [ValueError(1), TypeError(2)])


def rest_uncaught(x):
    y = x * 2
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
    except* ValueError:
        y = y + 1
    return y


def naked_uncaught(x):
    y = x * 2
    try:
        raise KeyError("k")
    except* ValueError:
        y = y + 1
    return y


def raised_in_clause(x):
    y = x * 2
    try:
        raise KeyError("k")
    except* KeyError as group:
        raise ValueError("v") from group.exceptions[0]


def two_raised_in_clauses(x):
    y = x * 2
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        raise group
    except* TypeError:
        raise


def group_returned(x):
    y = x + 1
    return y * 2, ExceptionGroup("many", [ValueError(1)])


def group_kept(x, log):
    y = x + 1
    try:
        raise ExceptionGroup("many", [ValueError(1), ExceptionGroup("in", [KeyError(2)])])
    except* ValueError as group:
        log.append(group)
    except* KeyError as group:
        log.append(group)
    return y * 2


def broken_in_the_body(x):
    y = x * 2
    try:
        pycompile.graph_break()
        y = y + 1
        pycompile.graph_break()
        raise ValueError("v")
    except* ValueError as group:
        y = y * 3 + len(group.exceptions)
    return y - 1


def broken_in_the_clause(x):
    y = x * 2
    try:
        y = y + {}["none"]
    except* KeyError as group:
        y = y + len(group.exceptions)
        pycompile.graph_break()
        y = y * 2
    return y - 1


def raised_by_a_step(x):
    y = x * 2
    try:
        y = y + int("no number " + str(y.sum()))
    except* ValueError as group:
        y = y + len(group.exceptions)
    return y * 2


def traceback_read(x):
    y = x * 2
    try:
        raise ValueError("v")
    except* ValueError as group:
        seen = group.__traceback__ is None, group.__context__, group.__cause__
    return y + 1, seen


class Own(ExceptionGroup):
    def derive(self, excs):
        return Own(self.message, excs)


def own_class(x):
    y = x * 2
    try:
        raise Own("own", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        y = y + len(group.exceptions) + isinstance(group, Own)
    except* TypeError as group:
        y = y * 2
    return y


def split_by_a_function(x):
    group = ExceptionGroup("many", [ValueError(1), TypeError(2)])
    match, rest = group.split(lambda e: isinstance(e, TypeError))
    return x * 2, len(match.exceptions), len(rest.exceptions)


def wrong_groups(x):
    texts = []
    for make in (
        lambda: ExceptionGroup("none", []),
        lambda: ExceptionGroup("no list", 3),
        lambda: ExceptionGroup("no exceptions", [3]),
        lambda: ExceptionGroup(3, [ValueError()]),
        lambda: ExceptionGroup("base", [KeyboardInterrupt()]),
        lambda: ExceptionGroup("one argument"),
    ):
        try:
            make()
        except (TypeError, ValueError) as e:
            texts.append(str(e))
    return x * 2, texts


def of_base_exceptions(x):
    y = x * 2
    try:
        raise BaseExceptionGroup("base", [KeyboardInterrupt(), ValueError()])
    except* KeyboardInterrupt as group:
        y = y + (type(group).__name__ == "BaseExceptionGroup")
    except* ValueError as group:
        y = y * (3 if type(group).__name__ == "ExceptionGroup" else 5)
    return y


def inlined(x):
    def inner(z, error):
        try:
            raise error
        except* ValueError as group:
            z = z * len(group.exceptions)
        return z

    y = inner(x, ValueError(1))
    try:
        y = y + inner(x, KeyError(2))
    except KeyError as e:
        y = y * e.args[0]
    return y


def raised_again_by_a_callee(x):
    def again():
        raise

    y = x * 2
    try:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
        except* ValueError:
            again()
    except ExceptionGroup as group:
        y = y + len(group.exceptions)
        return y, repr(group)


def in_a_generator(x):
    def values():
        try:
            yield 1
            raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
        except* ValueError as group:
            yield len(group.exceptions)
        except* TypeError as group:
            yield 5

    for value in values():
        x = x * value
    return x


def list_of_the_group_changes(x):
    parts = [ValueError(1), TypeError(2)]
    group = ExceptionGroup("many", parts)
    parts.append(KeyError(3))
    return x * 2, len(group.exceptions), len(group.args[1]), len(parts)


CASES = [
    uncaught, rest_uncaught, naked_uncaught, raised_in_clause, two_raised_in_clauses,
    group_returned, broken_in_the_body, broken_in_the_clause, raised_by_a_step, traceback_read,
    own_class, split_by_a_function, wrong_groups, of_base_exceptions, inlined,
    raised_again_by_a_callee, in_a_generator, list_of_the_group_changes,
]  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_same_as_plain(function):
    check(function, X, captured=False)


def test_groups_kept_by_the_program():
    check(group_kept, X, [], captured=False)


def test_plans_go_on_after_a_break_in_the_body():
    compiled = pycompile.compile(broken_in_the_body)
    for _ in range(2):
        assert np.array_equal(compiled(X), broken_in_the_body(X))
    assert compiled.stats()["plan_runs"] > 0
