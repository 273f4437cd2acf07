"""The program's names, code, stack and identities around plans."""

import re
import warnings

import numpy as np
import pytest
from differential import check

import pycompile

X = np.array([-0.75, -2.0, 2.5])


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape) - 2.0


G = 1.0


def namespace_by_dict(x, c):
    y = x * 2
    globals()["G"] = c
    return y + G


def test_globals_changed_by_their_dict():
    check(namespace_by_dict, X, 1.5, also=((X, 2.5),))


def test_code_that_goes_away_during_its_own_call():
    def first(x, change):
        y = x * 2
        change()
        return y + 1

    def second(x, change):
        return x * 3

    compiled = pycompile.compile(first)
    nothing = lambda: None  # noqa: E731
    compiled(X, nothing)
    compiled(X, nothing)

    def change():
        first.__code__ = second.__code__
        assert compiled(X, nothing).tobytes() == (X * 3).tobytes()

    assert compiled(X, change).tobytes() == (X * 2 + 1).tobytes()
    assert compiled(X, nothing).tobytes() == (X * 3).tobytes()


def test_a_list_on_the_stack_at_an_entry_becomes_a_tuple():
    def f(x, n):
        def three(a, *more, z):
            return a * len(more) + z

        return three(x, *(n, pycompile.graph_break(), 2), z=x.sum())

    check(f, np.arange(4.0), 3)


def test_a_tuple_added_to_a_set_from_outside_stays_a_tuple():
    seen = set()

    def f(x, n):
        key = (n, len(x))
        seen.add(key)
        return x + 1

    compiled = pycompile.compile(f)
    for _ in range(3):
        compiled(X, 2)
    assert seen == {(2, len(X))}


def test_a_loop_that_changes_a_list_is_unrolled():
    def f(x):
        kept = [x, x + 1]
        for i in range(3):
            x[i] += 1.0
            kept.reverse()
        return kept, x

    check(f, np.arange(4.0))


def code_after_a_call(function):
    function()
    return function.__code__


def test_the_code_of_a_function_that_was_called():
    def f(x, function):
        return x + 1, code_after_a_call(function)

    def one():
        return 1

    check(f, X, one, captured=False)


def test_builtins_of_a_function_cannot_be_set():
    def f(x, function):
        y = x * 2
        try:
            function.__builtins__ = 2
        except AttributeError:
            y = x * 3
        return y

    check(f, X, lambda: 1, captured=False)


@pytest.mark.parametrize("other", [lambda x: x, lambda x: x * 2])
def test_is_of_what_a_branch_chose(other):
    def f(x, y):
        z = y + 1
        chosen, made = y if (x > 0).any() else other(x), z if (x > 0).any() else other(x)
        return x + 1, chosen is y, made is z

    check(f, X, counted(3))
    check(f, np.array([-1.0, -2.0, -3.0]), counted(3))


def test_tuples_are_new_at_each_run_of_a_plan():
    def f(x, n):
        log = []
        for i in range(3):
            x = x + i
            log += [divmod(n, 3), x.shape, x.strides, (0.5).as_integer_ratio(), (1, 2)]
            pycompile.graph_break()
        return x, log

    check(f, counted(3), 5)


def test_a_pattern_that_warns_does_so_where_it_is_compiled():
    def f(x):
        return x * len(re.findall("[[a]", "[a"))

    def g(x):
        re.purge()
        return f(x)

    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        for function in (g, pycompile.compile(g), pycompile.compile(g)):
            function(X)
    assert [(w.category, w.filename) for w in log] == [(FutureWarning, __file__)] * 3


def test_a_ring_of_contexts():
    def f(x):
        try:
            try:
                raise ValueError(1)
            except ValueError as error:
                error.__context__ = error
                raise TypeError(2) from None
        except TypeError as error:
            y = x + len(error.args)
        return y

    def g(x):
        try:
            f(x)
            raise KeyError(1)
        except KeyError as error:
            return x * len(error.args)

    check(f, X, captured=False)
    check(g, X, captured=False)


def test_text_that_is_compared_with_what_a_jump_brings():
    """What stands before the comparison is a constant in one of two ways only."""

    def f(x, mode, other, chosen):
        if (other if chosen else "b") == mode:
            return x + 1
        return x * 3

    for other in ("a", 3):
        calls = [(X, mode, other, chosen) for chosen in (True, False) for mode in "abcab"]
        calls += [(X, 3, other, True), (X, "a", "a", True)]
        check(f, *calls[0], also=tuple(calls[1:]))


def test_a_file_whose_name_has_no_utf8():
    """As os.fsdecode gives it: a byte that is no UTF-8 becomes a lone surrogate."""
    namespace = {}
    source = "def f(x):\n    y = x + 1\n    return eval('2') * y"
    exec(compile(source, "caf\udce9.py", "exec"), namespace)
    check(namespace["f"], X, breaks=["PC0002"])


def test_a_module_whose_name_has_no_utf8():
    namespace = {"__name__": "caf\udce9"}
    source = """class Pair:
        def __init__(self, a):
            self.a = a

    def f(x):
        return Pair(x * 2).a + 1
    """
    exec(source.replace("\n    ", "\n"), namespace)
    check(namespace["f"], X)


KINDS = {"int": "1", "float": "0.5", "float64": "s", "int64": "n", "None": "None"}


@pytest.mark.parametrize("made", ["[{}]", "({}, 2)", "{{'a': {}}}"])
@pytest.mark.parametrize("outer", ["int", "float64", "None"])
def test_containers_of_branches_in_branches(outer, made):
    """The inner branch leaves one of two classes, so the outer one's containers do not merge."""
    for first in KINDS:
        for second in KINDS:
            items = [made.format(KINDS[kind]) for kind in (outer, first, second)]
            text = (
                "def chosen(x):\n"
                "    s = x.sum(); n = np.count_nonzero(x > 0)\n"
                f"    if s > 10: return {items[0]}\n"
                f"    elif s > 5: return {items[1]}\n"
                f"    return {items[2]}\n"
            )
            names = {"np": np}
            exec(text, names)
            also = ((np.array([6.0, 1.0]),), (np.array([1.0, 1.0]),))
            check(names["chosen"], np.array([6.0, 6.0]), also=also, captured=False)
