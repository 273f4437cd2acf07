"""Handlers that CPython's exceptions enter: what is handled, tracebacks, and array work inside them."""

import sys
import traceback

import numpy as np
import pytest
from differential import check

import pycompile

X = np.arange(2048.0)


@pycompile.disable
def risky(x, error=None):
    if error is not None:
        raise error
    return x


@pycompile.disable
def handled_now():
    return repr(sys.exc_info()[1]), sys.exc_info()[2] is not None


@pycompile.disable
def stack_now():
    return [(f.name, f.lineno) for f in traceback.extract_tb(sys.exc_info()[2])]


def work(x):
    return np.sqrt(np.abs(x * 2 + 1)) - x / 3


def after_handler(x):
    y = work(x)
    try:
        y = risky(y, ValueError("v"))
    except ValueError:
        y = work(y) + 1
    return work(y), handled_now()


def named(x):
    try:
        y = risky(x, ValueError("v", 3))
    except ValueError as e:
        y = work(x) * e.args[1]
        kept = e
    return work(y), kept, handled_now()


def inside(x):
    try:
        risky(x, KeyError("k"))
    except KeyError:
        y = work(x)
        seen = handled_now(), stack_now()
        y = work(y)
    return y, seen, handled_now()


def second_clause(x):
    try:
        risky(x, OSError(2, "gone"))
    except (KeyError, ValueError):
        y = x
    except OSError as e:
        y = work(x) + e.errno
    return work(y)


def no_clause(x):
    try:
        y = work(x)
        risky(x, OSError(2, "gone"))
    except KeyError:
        y = x
    return y


def raised_in_handler(x):
    try:
        risky(x, ValueError("first"))
    except ValueError:
        y = work(x)
        risky(y, KeyError("second"))


def raised_again(x):
    try:
        risky(x, ValueError("first"))
    except ValueError:
        x[:] = work(x)
        raise


def raised_from(x):
    try:
        risky(x, ValueError("first"))
    except ValueError as e:
        y = work(x)
        raise KeyError(y.shape) from e


def raised_again_and_caught(x):
    try:
        try:
            risky(x, ValueError("first"))
        except ValueError:
            x[:] = work(x)
            raise
    except ValueError as e:
        y = work(x)
        lines = stack_now()
        kept = e
    return y, lines, kept, handled_now()


def nested(x):
    try:
        risky(x, ValueError("outer"))
    except ValueError:
        y = work(x)
        try:
            risky(y, KeyError("inner"))
        except KeyError as e:
            y = work(y)
            context = repr(e.__context__), handled_now()
        seen = handled_now()
        y = work(y)
    return y, context, seen, handled_now()


def captured_in_handler(x):
    try:
        risky(x, ValueError("outer"))
    except ValueError:
        try:
            raise KeyError("inner")
        except KeyError:
            y = work(x)
        y = y + work(y)
    return y


def in_finally(x):
    try:
        y = work(x)
        risky(y, ValueError("v"))
    finally:
        x[:] = work(x)


def finally_and_caught(x):
    try:
        try:
            risky(x, ValueError("v"))
        finally:
            x[:] = work(x)
            seen = handled_now()
    except ValueError:
        y = work(x)
    return y, seen, handled_now(), stack_now() if sys.exc_info()[2] else None


def return_in_handler(x):
    try:
        return risky(x, ValueError("v"))
    except ValueError:
        return work(x)


def loop(x):
    total = np.zeros_like(x)
    for i in range(5):
        try:
            total = total + risky(x, ValueError(i) if i % 2 else None)
        except ValueError as e:
            total = work(total) - e.args[0]
        total = total * 0.5
    return total, handled_now()


def breaks_out(x):
    while True:
        try:
            x = work(x)
            risky(x, StopIteration("s"))
        except StopIteration:
            break
    return work(x), handled_now()


def goes_on(x):
    done = 0
    for i in range(4):
        try:
            risky(x, KeyError(i))
        except KeyError:
            x = work(x)
            if i < 2:
                continue
            done += 1
        x = x + done
    return x, handled_now()


def assertion(x):
    y = work(x)
    try:
        assert risky(False), "text"
    except AssertionError as e:
        y = work(y)
        text = str(e)
    return y, text


def raise_unknown(x):
    y = work(x)
    error = risky(ValueError)
    try:
        raise error
    except ValueError as e:
        y = work(y)
        context = e.__context__
    return y, context


def raise_unknown_from(x):
    error = risky(ValueError("e"))
    try:
        raise error from risky(KeyError)
    except ValueError as e:
        y = work(x)
        context = e.__cause__
    return y, context


def raise_nonsense(x):
    try:
        raise risky(3)
    except TypeError as e:
        y = work(x)
        text = str(e)
    return y, text


def except_nonsense(x):
    x = work(x)
    try:
        risky(x, ValueError("v"))
    except risky(3):
        x = work(x)
    return x


def handled_outside(x):
    try:
        risky(x, KeyError("outer"))
    except KeyError:
        return called_in_handler(work(x))


def called_in_handler(x):
    y = work(x)
    seen = handled_now()
    try:
        risky(y, ValueError("v"))
    except ValueError:
        y = work(y)
        inner = handled_now()
    again = handled_now()
    try:
        raise
    except KeyError as e:
        y = work(y)
        text = repr(e)
    return y, seen, inner, again, handled_now(), text


class Manager:
    def __init__(self, suppress):
        self.suppress = suppress
        self.seen = []

    def __enter__(self):
        return self.seen

    def __exit__(self, kind, value, trace):
        self.seen.append((kind, repr(value), trace.tb_lineno if trace else None, handled_now()))
        return self.suppress


def with_suppressed(x):
    with Manager(True) as seen:
        x = work(x)
        risky(x, ValueError("v"))
        x = x * 0
    return work(x), seen, handled_now()


def with_not_suppressed(x):
    manager = Manager(False)
    try:
        with manager:
            x[:] = work(x)
            risky(x, ValueError("v"))
    except ValueError as e:
        y = work(x)
        lines = stack_now()
        kept = e
    return y, manager.seen, lines, kept


def with_uncaught(x):
    with Manager(False):
        x[:] = work(x)
        risky(x, ValueError("v"))


def comprehension(x):
    try:
        ys = [risky(work(x), KeyError(i) if i == 2 else None) for i in range(4)]
    except KeyError:
        i = 9
        ys = [work(x), i]
    return ys


def array_error(x):
    y = work(x)
    try:
        y = np.concatenate([y, risky(y).reshape(2, -1)])
    except ValueError as e:
        y = work(y)
        text = str(e)
    return y, text


def index_error(x, i):
    try:
        y = risky([work(x)])[i]
    except IndexError:
        y = work(x) - 1
    return work(y)


CASES = [
    after_handler,
    named,
    inside,
    second_clause,
    no_clause,
    raised_in_handler,
    raised_again,
    raised_from,
    raised_again_and_caught,
    nested,
    captured_in_handler,
    in_finally,
    finally_and_caught,
    return_in_handler,
    loop,
    breaks_out,
    goes_on,
    assertion,
    raise_unknown,
    raise_unknown_from,
    raise_nonsense,
    except_nonsense,
    handled_outside,
    with_suppressed,
    with_not_suppressed,
    with_uncaught,
    comprehension,
    array_error,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_handler(case):
    check(case, X)
    assert sys.exc_info() == (None, None, None)


def test_handler_or_not():
    check(index_error, X, 0)
    check(index_error, X, 3)


def test_plans_in_and_after_handlers():
    check(after_handler, X, exits=["break", "break"])
    check(return_in_handler, X, exits=["return"])


def test_nothing_is_handled_afterwards():
    for case in (after_handler, named, nested, loop, with_suppressed):
        compiled = pycompile.compile(case)
        for _ in range(4):
            compiled(X.copy())
            assert sys.exc_info() == (None, None, None)


def test_handled_by_the_caller():
    compiled = pycompile.compile(called_in_handler)
    for _ in range(4):
        try:
            raise KeyError("caller")
        except KeyError as e:
            result = compiled(X)
            assert sys.exc_info()[1] is e
        assert result[1:] == called_by_handler()


def called_by_handler():
    try:
        raise KeyError("caller")
    except KeyError:
        return called_in_handler(X)[1:]


def test_references():
    error = ValueError("v", 3)

    def again(x):
        try:
            y = risky(x, error)
        except ValueError as e:
            y = work(x) * e.args[1]
        return work(y)

    compiled = pycompile.compile(again)
    for _ in range(3):
        compiled(X)
        error.__traceback__ = None
    before = sys.getrefcount(error)
    for _ in range(10):
        compiled(X)
        error.__traceback__ = None
    assert sys.getrefcount(error) == before
