"""With blocks and context managers."""

import contextlib

import numpy as np

from . import X, construct


class Scale:
    """Notes what happens to it; swallows what it is told to."""

    def __init__(self, by, swallow=()):
        self.by = by
        self.swallow = swallow
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return self.by

    def __exit__(self, kind, value, traceback):
        self.log.append(None if kind is None else kind.__name__)
        return kind is not None and issubclass(kind, self.swallow)


class Counter:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *details):
        self.depth -= 1


class Closed:
    closed = False

    def close(self):
        self.closed = True


@construct("with a manager made inside", X)
def made_inside(x):
    with Scale(3.0) as by:
        y = x * by
    return y + 1


@construct("with without a name", X, Counter())
def without_name(x, counter):
    with counter:
        y = x + counter.depth
    return y * 2 + counter.depth


@construct("nested with blocks", X, Counter())
def nested(x, counter):
    with counter as a:
        with counter as b:
            y = x + a.depth
        y = y * b.depth
    return y


@construct("several managers in one with", X)
def several(x):
    with Scale(2.0) as a, Scale(3.0) as b:
        y = x * a + b
    return y


@construct("__exit__ that swallows an exception", X)
def swallowing(x):
    manager = Scale(2.0, (KeyError,))
    with manager as by:
        x = x * by
        x = x + {}["none"]
    return x + 1, manager.log


@construct("__exit__ that lets an exception pass", X)
def passing(x):
    manager = Scale(2.0, (KeyError,))
    try:
        with manager as by:
            x = x * by
            x = x + [][1]
    except IndexError:
        x = x - 1
    return x, manager.log


@construct("return out of a with block", X, Counter())
def return_out(x, counter):
    def inner():
        with counter:
            return x * counter.depth

    return inner() + counter.depth


@construct("break and continue out of a with block", X, Counter())
def break_out(x, counter):
    for i in range(4):
        with counter:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i + counter.depth
    return x + counter.depth


@construct("contextlib.nullcontext", X)
def nullcontext(x):
    with contextlib.nullcontext(3.0) as by:
        return x * by


@construct("contextlib.suppress", X)
def suppress(x):
    with contextlib.suppress(KeyError, IndexError):
        x = x * 2
        x = x + {}["none"]
    return x + 1


@construct("contextlib.closing", X)
def closing(x):
    thing = Closed()
    with contextlib.closing(thing) as same:
        y = x + (not same.closed)
    return y * 2 if thing.closed else y


@contextlib.contextmanager
def scaled(by):
    yield by * 2


@contextlib.contextmanager
def logged(log):
    log.append("before")
    try:
        yield len(log)
    except KeyError as e:
        log.append(e.args[0])
    finally:
        log.append("after")


@construct("contextlib.contextmanager", X)
def manager_function(x):
    with scaled(1.5) as by:
        y = x * by
    return y + 1


@construct("contextlib.contextmanager with try and finally", X)
def manager_finally(x):
    log = []
    with logged(log) as n:
        y = x * n
    return y + 1, log


@construct("contextlib.contextmanager that swallows", X)
def manager_swallows(x):
    log = []
    with logged(log):
        x = x * 2
        x = x + {}["none"]
    return x + 1, log


@construct("np.errstate", X)
def errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / (x - x)
    return y + 1


@construct("np.errstate, nested", X)
def errstate_nested(x):
    with np.errstate(all="ignore"):
        y = x / 0
        with np.errstate(over="warn"):
            y = y * 2
        z = np.sqrt(x)
    return y + z


@construct("np.errstate around a called function", X)
def errstate_call(x):
    def inner(y):
        return np.log(y)

    with np.errstate(all="ignore"):
        y = inner(x)
    return y + 1


@np.errstate(all="ignore")
def quiet_log(x):
    return np.log(x)


@construct("np.errstate as a decorator", X)
def errstate_decorator(x):
    return quiet_log(x) + 1


@construct("contextlib.suppress that suppresses nothing", X)
def suppress_other(x):
    try:
        with contextlib.suppress(KeyError):
            x = x * 2
            raise ValueError("a")
    except ValueError as e:
        return x + 1, str(e)


@construct("contextlib.closing while an exception passes", X)
def closing_exception(x):
    thing = Closed()
    try:
        with contextlib.closing(thing):
            x = x * 2
            raise KeyError(1)
    except KeyError:
        x = x + thing.closed
    return x


@construct("np.errstate or contextlib.nullcontext", X, True)
def manager_chosen(x, quiet):
    with np.errstate(all="ignore") if quiet else contextlib.nullcontext():
        return x / 0


class Halved(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *details):
        return False


@Halved()
def halved(x):
    return x / 2


@construct("contextlib.ContextDecorator", X)
def context_decorator(x):
    return halved(x) + 1


class Plain(contextlib.AbstractContextManager):
    def __exit__(self, *details):
        return None


@construct("contextlib.AbstractContextManager", X)
def abstract_manager(x):
    with Plain():
        x = x * 2
    return x


@construct("manager that raises another exception", X)
def manager_translates(x):
    @contextlib.contextmanager
    def translate():
        try:
            yield
        except KeyError as e:
            raise ValueError("translated") from e

    try:
        with translate():
            x = x * 2
            raise KeyError("k")
    except ValueError as e:
        return x, str(e), repr(e.__cause__), e.__suppress_context__


@construct("contextlib.ExitStack", X)
def exit_stack(x):
    first, second = Scale(2.0), Scale(3.0)
    with contextlib.ExitStack() as stack:
        x = x * stack.enter_context(first)
        x = x + stack.enter_context(second)
    return x, first.log, second.log


@construct("contextlib.ExitStack entered in a loop", X)
def exit_stack_loop(x):
    log = []
    with contextlib.ExitStack() as stack:
        for by in [stack.enter_context(logged(log)) for _ in range(3)]:
            x = x * by
    return x, log


@construct("callbacks of a contextlib.ExitStack", X)
def exit_stack_callbacks(x):
    log = []

    def note(a, *, b):
        log.append((a, b))

    with contextlib.ExitStack() as stack:
        stack.callback(log.append, 3)
        stack.callback(note, 4, b=5)
        x = x * 2
    return x, log


@construct("contextlib.ExitStack, a manager swallows", X)
def exit_stack_swallows(x):
    outer, inner = Scale(1.0), Scale(2.0, ValueError)
    with contextlib.ExitStack() as stack:
        stack.enter_context(outer)
        x = x * stack.enter_context(inner)
        raise ValueError("inside")
    return x, outer.log, inner.log


@construct("contextlib.ExitStack while an exception passes", X)
def exit_stack_passes(x):
    log, outer = [], Scale(1.0)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(outer)
            stack.callback(log.append, "called")
            x = x * 2
            raise ValueError("inside")
    except ValueError as e:
        return x + 1, log, outer.log, str(e)


@construct("contextlib.ExitStack, a callback raises", X)
def exit_stack_raises(x):
    def fail(text):
        raise KeyError(text)

    try:
        with contextlib.ExitStack() as stack:
            stack.callback(fail, "outer")
            stack.callback(fail, "inner")
            x = x * 2
            raise ValueError("body")
    except KeyError as e:
        return x, e.args, repr(e.__context__), repr(e.__context__.__context__)


@construct("functions pushed on a contextlib.ExitStack", X)
def exit_stack_push(x):
    log = []

    def leave(kind, value, traceback):
        log.append(kind is None)
        return True

    with contextlib.ExitStack() as stack:
        stack.push(leave)
        stack.push(Scale(2.0))
        x = x * 2
        raise ValueError("inside")
    return x, log


@construct("contextlib.ExitStack.pop_all and close", X)
def exit_stack_moved(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, 1)
        kept = stack.pop_all()
    log.append("after")
    kept.close()
    return x * 2, log


@construct("np.errstate in a contextlib.ExitStack", X)
def exit_stack_errstate(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        y = x / 0
    return y


@construct("contextlib.suppress in a contextlib.ExitStack", X)
def exit_stack_suppress(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(ValueError))
        x = x * 2
        raise ValueError
    return x
