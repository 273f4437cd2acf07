"""Exceptions."""

import sys

import numpy as np

from . import I, M, X, Y, construct


class Refused(Exception):
    """Raised by `refuse`."""


class Measured(ValueError):
    def __init__(self, message, amount):
        ValueError.__init__(self, message)
        self.amount = amount


class Told(Exception):
    def __init__(self, where):
        self.where = where

    def __str__(self):
        return f"told at {self.where}"


def refuse(x):
    raise Refused("no", 3)


def first_of(items):
    try:
        return items[0]
    except IndexError:
        return None


@construct("try without an exception", X)
def quiet(x):
    try:
        y = x + 1
    except ValueError:
        y = x - 1
    return y * 2


@construct("raise and except in one function", X)
def raise_and_except(x):
    try:
        raise ValueError("never mind")
    except ValueError:
        x = x * 2
    return x + 1


@construct("except with a name", X)
def except_as(x):
    try:
        raise ValueError("some", 2)
    except ValueError as e:
        y = x * e.args[1]
    return y + 1


@construct("raise of a class", X)
def raise_class(x):
    try:
        raise KeyError
    except KeyError as e:
        return x + len(e.args)


@construct("exception out of a called function", X)
def from_a_call(x):
    try:
        y = refuse(x)
    except Refused as e:
        y = x * e.args[1]
    return y - 1


@construct("exception handled in a called function", X, [])
def handled_in_a_call(x, items):
    y = x + 1
    return y if first_of(items) is None else x


@construct("except with a tuple of classes", X)
def except_tuple(x):
    try:
        raise IndexError(2)
    except (KeyError, IndexError) as e:
        return x * e.args[0]


@construct("second except clause", X)
def second_clause(x):
    try:
        raise TypeError("t")
    except ValueError:
        return x
    except TypeError:
        return x * 3


@construct("bare except", X)
def bare_except(x):
    try:
        raise TypeError("t")
    except:  # noqa: E722
        return x * 3


@construct("except a base class", X)
def base_class(x):
    try:
        raise KeyError("k")
    except LookupError:
        return x * 3


@construct("else of a try", X)
def else_of_try(x):
    try:
        y = x + 1
    except ValueError:
        y = x
    else:
        y = y * 2
    return y


@construct("finally without an exception", X)
def finally_quiet(x):
    total = 0
    try:
        y = x + 1
    finally:
        total += 1
    return y * total


@construct("finally while an exception passes", X)
def finally_passing(x):
    seen = []
    try:
        try:
            raise ValueError("v")
        finally:
            seen.append(2)
    except ValueError:
        seen.append(3)
    return x * seen[0] + seen[1]


@construct("return in a try with finally", X)
def return_in_try(x):
    def inner(log):
        try:
            return x * 2
        finally:
            log.append(1)

    log = []
    return inner(log) + len(log)


@construct("return in finally swallows", X)
def return_in_finally(x):
    def inner():
        try:
            raise ValueError("v")
        finally:
            return 4  # noqa: B012

    return x * inner()


@construct("break and continue in a try with finally", X)
def loop_in_finally(x):
    count = 0
    for i in range(5):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
        finally:
            count += 1
    return x * count


@construct("try in a loop, exception in some rounds", X)
def try_in_loop(x):
    table = {0: 1.0, 2: 3.0}
    for i in range(4):
        try:
            x = x + table[i]
        except KeyError as e:
            x = x * (e.args[0] + 1)
    return x


@construct("re-raise with raise", X)
def re_raise(x):
    try:
        try:
            raise ValueError("v")
        except ValueError:
            raise
    except ValueError as e:
        return x + len(e.args)


@construct("raise from", X)
def raise_from(x):
    try:
        try:
            raise ValueError("v")
        except ValueError as e:
            raise KeyError("k") from e
    except KeyError as e:
        assert isinstance(e.__cause__, ValueError)
        return x * len(e.__cause__.args)


@construct("raise from None", X)
def raise_from_none(x):
    try:
        try:
            raise ValueError("v")
        except ValueError:
            raise KeyError("k") from None
    except KeyError as e:
        flag = e.__suppress_context__ and e.__cause__ is None
        return x * 2 if flag else x


@construct("context of an exception in a handler", X)
def context(x):
    try:
        try:
            raise ValueError("v", 5)
        except ValueError:
            raise KeyError("k")  # noqa: B904
    except KeyError as e:
        return x * e.__context__.args[1]


@construct("exception in a handler, caught outside", X)
def in_a_handler(x):
    try:
        try:
            raise ValueError("v")
        except ValueError:
            x = x + [1, 2][5]
    except IndexError:
        x = x * 2
    return x


@construct("nested handlers", X)
def nested(x):
    try:
        raise ValueError("v")
    except ValueError:
        try:
            raise KeyError("k")
        except KeyError:
            x = x + 1
        x = x * 2
    return x


@construct("class of its own with __init__", X)
def own_class(x):
    try:
        raise Measured("much", 2.5)
    except Measured as e:
        return x * e.amount, str(e)


@construct("class of its own with __str__", X)
def own_str(x):
    try:
        raise Told("home")
    except Told as e:
        return x + 1, str(e), e.where


@construct("str and repr of an exception", X)
def texts(x):
    found = []
    for error in (ValueError("a"), KeyError("b"), TypeError(), RuntimeError("x", 1), Refused(4)):
        try:
            raise error
        except Exception as e:
            found.append((str(e), repr(e), f"{e}", f"{e!r}"))
    return x * 2, found


@construct("assert that holds", X)
def assert_holds(x):
    assert x.ndim == 1, "one axis"
    return x + 1


@construct("assert that fails, caught", X)
def assert_fails(x):
    try:
        assert x.ndim == 2, "two axes"
    except AssertionError as e:
        return x + 1, str(e)


@construct("dict lookup with except KeyError", X, {"a": 2.0})
def lookup(x, table):
    try:
        scale = table["b"]
    except KeyError:
        scale = table["a"]
    return x * scale


@construct("list index with except IndexError", X, [1.0, 2.0])
def list_index(x, items):
    try:
        return x * items[2]
    except IndexError as e:
        return x + len(str(e))


@construct("unpacking of the wrong length", X, (1, 2, 3))
def wrong_length(x, items):
    try:
        a, b = items
    except ValueError as e:
        return x * 2, str(e)
    return x * a * b


@construct("int of a bad string", X)
def bad_int(x):
    try:
        n = int("seven")
    except ValueError as e:
        return x + 7, str(e)
    return x + n


@construct("division by zero", X)
def by_zero(x):
    try:
        n = 1 // 0
    except ZeroDivisionError as e:
        return x * 2, str(e)
    return x + n


@construct("missing attribute", X)
def missing_attribute(x):
    try:
        return (3).nothing
    except AttributeError:
        return x * 2


@construct("attribute stored in an exception", X)
def attribute_stored(x):
    try:
        e = ValueError("v")
        e.extra = 3
        raise e
    except ValueError as e:
        return x * e.extra


@construct("notes of an exception", X)
def notes(x):
    try:
        try:
            raise ValueError("v")
        except ValueError as e:
            e.add_note("first")
            raise
    except ValueError as e:
        return x + len(e.__notes__), e.__notes__[0]


@construct("OSError with its errno", X)
def os_error(x):
    try:
        raise OSError(2, "gone")
    except FileNotFoundError as e:
        return x * e.errno, e.strerror, str(e)


@construct("array in an exception", X)
def array_in_exception(x):
    try:
        raise ValueError(x + 1)
    except ValueError as e:
        return e.args[0] * 2


@construct("isinstance of an exception", X)
def is_instance(x):
    try:
        raise KeyError("k")
    except Exception as e:
        return x * (2 if isinstance(e, LookupError) else 3)


@construct("exception as a loop's end", X)
def loop_end(x):
    iterator = iter([1.0, 2.0])
    while True:
        try:
            x = x + next(iterator)
        except StopIteration:
            break
    return x * 2


@construct("exception that was made and not raised, returned", X)
def not_raised(x):
    e = ValueError("kept", 2)
    return x + 1, e


@construct("raising of something that is no exception", X)
def raise_nonsense(x):
    try:
        raise 3  # noqa: B016
    except TypeError as e:
        return x + 1, str(e)


@construct("unbound local, caught", X)
def unbound(x):
    try:
        y = y + x  # noqa: F821
    except UnboundLocalError:
        y = x * 2
    return y


@construct("exception thrown into a generator", X)
def thrown_in(x):
    def numbers():
        more = 0
        try:
            yield 1
        except KeyError as e:
            more = e.args[0]
        yield more

    g = numbers()
    return x * next(g) + g.throw(KeyError(4))


@construct("generator closed inside a try with finally", X)
def closed(x):
    log = []

    def numbers():
        try:
            yield 1
            yield 2
        finally:
            log.append(3)

    g = numbers()
    x = x * next(g)
    g.close()
    return x + log[0]


@construct("value that a generator returns, from its StopIteration", X)
def returned_value(x):
    def numbers():
        sent = yield 1
        return sent * 2

    g = numbers()
    x = x * next(g)
    try:
        g.send(3)
    except StopIteration as e:
        x = x + e.value
    return x


@construct("exception out of a generator", X)
def out_of_generator(x):
    def numbers():
        yield 1
        raise KeyError(5)

    try:
        for n in numbers():
            x = x + n
    except KeyError as e:
        x = x * e.args[0]
    return x


@construct("StopIteration raised in a generator", X)
def stop_in_generator(x):
    def numbers():
        yield 1
        raise StopIteration

    try:
        for n in numbers():
            x = x + n
    except RuntimeError as e:
        return x * 2, str(e), isinstance(e.__cause__, StopIteration)


@construct("exception handled in a generator that waits", X)
def handled_while_waiting(x):
    def numbers():
        try:
            raise KeyError(2)
        except KeyError:
            yield 2
            try:
                raise
            except KeyError as e:
                yield e.args[0]

    for n in numbers():
        try:
            raise ValueError(n)
        except ValueError as e:
            x = x + e.args[0]
    return x


@construct("except* with nothing raised", X)
def except_group_unraised(x):
    try:
        y = x * 2
    except* ValueError:
        y = x
    return y


@construct("except* with an exception raised", X)
def except_group(x):
    y = x * 2
    try:
        raise ValueError("no")
    except* ValueError as group:
        y = y + len(group.exceptions)
    return y


@construct("except* without a name", X)
def except_group_unnamed(x):
    try:
        x = x + 1
        x = x + {}["none"]
    except* (KeyError, IndexError):
        x = x * 2
    return x


@construct("second except* clause", X)
def except_group_second(x):
    try:
        raise KeyError("a")
    except* ValueError:
        x = x + 1
    except* KeyError:
        x = x * 3
    return x


@construct("exception group in parts", X)
def except_group_parts(x):
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2), ValueError(3)])
    except* ValueError as group:
        x = x + len(group.exceptions)
    except* TypeError as group:
        x = x * group.exceptions[0].args[0]
    return x


@construct("exception group in a group", X)
def except_group_nested(x):
    seen = []
    try:
        inner = ExceptionGroup("inner", [TypeError(2), ValueError(3)])
        inner.add_note("a note")
        raise ExceptionGroup("outer", [ValueError(1), inner])
    except* ValueError as group:
        seen.append((group.message, len(group.exceptions), group.exceptions[1].__notes__))
    except* TypeError as group:
        seen.append((str(group), [type(e).__name__ for e in group.exceptions]))
    return x * 2, seen


@construct("rest of an exception group, caught outside", X)
def except_group_rest(x):
    try:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
        except* ValueError:
            x = x + 1
    except ExceptionGroup as rest:
        x = x * len(rest.exceptions)
    return x


@construct("exception that no except* meets, caught outside", X)
def except_group_unmet(x):
    try:
        try:
            raise KeyError("k")
        except* ValueError:
            x = x + 1
    except KeyError:
        x = x * 3
    return x


@construct("exceptions raised in except* clauses, caught outside", X)
def except_group_raises(x):
    try:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2), OSError(3)])
        except* ValueError:
            raise KeyError("first")  # noqa: B904
        except* TypeError as group:
            raise IndexError("second") from group
    except ExceptionGroup as all_:
        names = [type(e).__name__ for e in all_.exceptions]
        x = x * len(names)
    return x, names


@construct("raise again in except*", X)
def except_group_again(x):
    try:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise
    except ExceptionGroup as group:
        x = x * len(group.exceptions)
    return x


@construct("except* in a loop", X)
def except_group_loop(x):
    for i in range(3):
        try:
            if i == 1:
                raise ValueError(i)
            x = x + i
        except* ValueError:
            x = x * 2
    return x


@construct("except* of a group, refused", X)
def except_group_refused(x):
    try:
        try:
            raise ValueError(1)
        except* ExceptionGroup:
            x = x + 1
    except TypeError as e:
        return x * 2, str(e)


@construct("exception group caught whole", X)
def group_whole(x):
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
    except ExceptionGroup as group:
        return x * 2, group.message, len(group.exceptions), str(group)


@construct("split and subgroup of an exception group", X)
def group_split(x):
    group = ExceptionGroup("many", [ValueError(1), TypeError(2)])
    match, rest = group.split(ValueError)
    none = group.subgroup(KeyError) is None
    return x * 2, str(match), str(rest), none, match.__suppress_context__


@construct("cause given as a class", X)
def cause_class(x):
    try:
        try:
            raise KeyError("k")
        except KeyError as e:
            raise ValueError from e
    except ValueError as e:
        return x * 2, type(e.__cause__).__name__, e.__cause__ is e.__context__


@construct("cause and context of an exception that nothing came before", X)
def cause_new(x):
    try:
        raise ValueError("a") from KeyError("b")
    except ValueError as e:
        return x * 2, repr(e.__cause__), e.__context__ is None


@construct("context stored in an exception", X)
def context_stored(x):
    try:
        raise ValueError("a")
    except ValueError as e:
        e.__context__ = KeyError("b")
        texts = repr(e.__context__), e.__suppress_context__
        e.__context__ = None
        return x * 2, texts, e.__context__


@construct("sys.exc_info and sys.exception", X)
def exc_info(x):
    before = sys.exc_info(), sys.exception()
    try:
        raise KeyError("k")
    except KeyError as e:
        kind, value, traceback = sys.exc_info()
        same = kind is KeyError and value is e is sys.exception() and traceback is not None
    return x * 2, before, same, sys.exception()


@construct("raise without an exception", X)
def raise_nothing(x):
    try:
        raise
    except RuntimeError as e:
        return x * 2, str(e)


@construct("chain of causes", X)
def cause_chain(x):
    names = []
    try:
        try:
            try:
                raise KeyError("1")
            except KeyError as e:
                raise IndexError("2") from e
        except IndexError as e:
            raise ValueError("3") from e
    except ValueError as e:
        while e is not None:
            names.append(type(e).__name__)
            e = e.__cause__
    return x * len(names), names


@construct("cause that is no exception", X)
def cause_wrong(x):
    try:
        raise ValueError("a") from 3
    except TypeError as e:
        return x * 2, str(e)


def scaled(x, by, *, shift=0):
    return x * by + shift


class ReadOnly:
    __slots__ = ("size",)

    @property
    def double(self):
        return self.size * 2


@construct("shapes that do not broadcast, caught", X, Y[:4])
def shapes_differ(x, y):
    try:
        return x + y
    except ValueError as e:
        return x * y[0], str(e)


@construct("reshape that does not fit, caught", X)
def reshape_differs(x):
    try:
        return x.reshape(4, -1) + 1
    except ValueError:
        return x.reshape(2, -1) + 1


@construct("matrices that do not fit, caught", M)
def matrices_differ(x):
    try:
        y = x @ x
    except ValueError:
        y = x @ x.T
    return y * 2


@construct("index out of an array, caught", X, 10)
def index_outside(x, i):
    try:
        return x[i] * x
    except IndexError as e:
        return x * 2, str(e)


@construct("axis out of range, caught", M)
def axis_outside(x):
    for axis in range(5):
        try:
            x = x + x.max(axis=axis, keepdims=True)
        except ValueError as e:
            return x, axis, type(e).__name__, str(e)
    return x


@construct("maximum of an empty array, caught", X)
def empty_maximum(x):
    try:
        return x[:0].max() + x
    except ValueError:
        return x + 0.5


@construct("truth of an array, caught", X)
def ambiguous(x):
    try:
        return x if x > 0 else -x
    except ValueError:
        return np.where(x > 0, x, -x)


@construct("array assigned to a place of another shape, caught", M)
def bad_store(x):
    y = x * 1
    try:
        y[0] = x[:, 0]
    except ValueError:
        y[0] = x[0] * 2
    return y


@construct("cast in place that NumPy refuses, caught", I)
def bad_cast(i):
    j = i * 2
    try:
        j += 0.5
    except TypeError:
        j = j + 0.5
    return j


@construct("concatenate of shapes that differ, caught", M)
def bad_concatenate(x):
    try:
        return np.concatenate([x, x[:, :2]])
    except ValueError:
        return np.concatenate([x, x[:, :2]], axis=1)


@construct("wrong arguments of a Python function, caught", X)
def wrong_arguments(x):
    told = []
    for call in (lambda: scaled(x), lambda: scaled(x, 1, 2), lambda: scaled(x, 1, by=2)):
        try:
            call()
        except TypeError as e:
            told.append(str(e))
    return scaled(x, 2, shift=1), told


@construct("undefined global, caught", X)
def undefined(x):
    try:
        return x * never_defined  # noqa: F821
    except NameError as e:
        return x * 2, str(e), e.name


@construct("min() of nothing, caught", X)
def nothing_smallest(x):
    try:
        return x * min([])
    except ValueError:
        return x * 2


@construct("list.index and list.remove of what is missing, caught", X)
def missing_items(x):
    items = [1, 2]
    for method in (items.index, items.remove):
        try:
            method(3)
        except ValueError:
            x = x + 1
    return x


@construct("dict.pop of what is missing, caught", X)
def missing_key(x):
    try:
        x = x * {"a": 1}.pop("b")
    except KeyError as e:
        x = x + len(e.args[0])
    return x


@construct("attribute that __slots__ do not have, caught", X)
def no_slot(x):
    thing = ReadOnly()
    try:
        thing.other = 1
    except AttributeError as e:
        return x + 1, str(e)
    return x


@construct("property without a setter, caught", X)
def no_setter(x):
    thing = ReadOnly()
    thing.size = 3
    try:
        thing.double = 7
    except AttributeError:
        x = x + thing.double
    return x


@construct("slot that is empty, caught", X)
def empty_slot(x):
    try:
        return x * ReadOnly().size
    except AttributeError:
        return x * 4


@construct("operands without an order, caught", X)
def no_order(x):
    try:
        return x if ReadOnly() < ReadOnly() else -x
    except TypeError as e:
        return x * 3, str(e)


@construct("call of what cannot be called, caught", X)
def not_callable(x):
    f = 3
    try:
        return f(x)
    except TypeError:
        return x * f


@construct("walk over what cannot be walked, caught", X)
def not_iterable(x):
    try:
        for y in 3:
            x = x + y
    except TypeError:
        x = x * 2
    return x


@construct("finally while NumPy refuses shapes", X)
def refused_through_finally(x):
    log = []
    try:
        try:
            x = x + x[:2]
        finally:
            log.append(len(x))
    except ValueError:
        x = x * log[0]
    return x
