"""Cells of closures that were made outside: what is written, read and deleted there, however the
closure is reached and whatever has it (function, method, property, generator …).

Each program is made twice, for plain Python and for the compiled function, since the cell lives on
from call to call; compared after each call are what it gave and what the cell holds.
"""

import functools
import textwrap

import numpy as np
import pytest
from differential import Comparison, differences, observe

import pycompile

# what a call does to the cell `n`, which starts as …, and what it gives
ACTIONS = {
    "counts": ("0", "n += 1", "n"),
    "keeps an array": ("None", "n = x * 2.0 if n is None else n + x", "n"),
    "changes the type": ("1", "n = n + 0.5 if isinstance(n, int) else int(n) + 1", "n"),
    "grows a tuple": ("()", "n = n + (len(n),)", "n"),
    "grows a list": ("[]", "n.append(len(n))", "n[-1]"),
    "makes a list": ("[]", "n = [n, 1]", "len(n)"),
    "stores twice": ("0", "n += 1; k = n; n = k * 2", "(k, n)"),
    "deletes and stores": ("1", "k = n; del n; n = k + 1", "n"),
    "deletes": ("5", "k = n; del n", "k"),
    "reads": ("3", "pass", "n"),
    "reads an array": ("np.arange(4.0)", "pass", "n * 2"),
}

# what has the cell: `made` is what the route leads to, USE how it is called
KINDS = {
    "function": """
        def made(x):
            nonlocal n
            {act}
            return x + 1, {gives}
        """,
    "function in a function": """
        def outer():
            def made(x):
                nonlocal n
                {act}
                return x + 1, {gives}
            return made
        made = outer()
        """,
    "function that makes one": """
        def made(x):
            def inner():
                nonlocal n
                {act}
                return {gives}
            return x + 1, inner()
        """,
    "wrapped by a decorator": """
        def decorate(f):
            @functools.wraps(f)
            def inner(*args, **kwargs):
                nonlocal n
                x = args[0]
                {act}
                return f(*args, **kwargs), {gives}
            return inner
        @decorate
        def made(x):
            return x + 1
        """,
    "method": """
        class Made:
            def go(self, x):
                nonlocal n
                {act}
                return x + 1, {gives}
        made = Made().go
        """,
    "__call__": """
        class Made:
            def __call__(self, x):
                nonlocal n
                {act}
                return x + 1, {gives}
        made = Made()
        """,
    "inherited __call__": """
        class Base:
            def __call__(self, x):
                nonlocal n
                {act}
                return x + 1, {gives}
        class Made(Base):
            def __call__(self, x):
                return super().__call__(x)
        made = Made()
        """,
    "staticmethod": """
        class Made:
            @staticmethod
            def go(x):
                nonlocal n
                {act}
                return x + 1, {gives}
        made = Made.go
        """,
    "classmethod": """
        class Made:
            @classmethod
            def go(cls, x):
                nonlocal n
                {act}
                return x + 1, {gives}
        made = Made.go
        """,
    "property": """
        class Made:
            x = np.arange(4.0)
            @property
            def go(self):
                nonlocal n
                x = self.x
                {act}
                return {gives}
        made = Made()
        use = lambda made, x: (x + 1, made.go)
        """,
    "__getattr__": """
        class Made:
            def __getattr__(self, name):
                nonlocal n
                x = np.arange(4.0)
                {act}
                return {gives}
        made = Made()
        use = lambda made, x: (x + 1, made.anything)
        """,
    "operator": """
        class Made:
            def __matmul__(self, x):
                nonlocal n
                {act}
                return x + 1, {gives}
        made = Made()
        use = lambda made, x: made @ x
        """,
    "with block": """
        class Made:
            def __enter__(self):
                nonlocal n
                x = np.arange(4.0)
                {act}
                return {gives}
            def __exit__(self, *told):
                pass
        made = Made()
        def use(made, x):
            with made as got:
                y = x + 1
            return y, got
        """,
    "generator function": """
        def made(x):
            nonlocal n
            {act}
            yield x + 1
            yield {gives}
        use = lambda made, x: list(made(x))
        """,
    "generator expression": """
        def inner(x, _):
            nonlocal n
            {act}
            return {gives}
        def made(x):
            return x + 1, list(inner(x, k) for k in range(1))
        """,
    "callback of sorted": """
        def key(x, v):
            nonlocal n
            {act}
            return v
        def made(x):
            return x + 1, sorted([3, 1], key=lambda v: key(x, v))
        """,
    "partial": """
        def inner(scale, x):
            nonlocal n
            {act}
            return x * scale, {gives}
        made = functools.partial(inner, 3.0)
        """,
    "list of callbacks": """
        def inner(x):
            nonlocal n
            {act}
            return {gives}
        made = [inner]
        use = lambda made, x: (x + 1, [f(x) for f in made])
        """,
    "raises behind it": """
        def made(x):
            nonlocal n
            {act}
            raise ValueError("behind it")
        def use(made, x):
            try:
                made(x)
            except ValueError as error:
                return x + 1, str(error)
        """,
    "breaks behind it": """
        def made(x):
            nonlocal n
            {act}
            y = x + 1
            pycompile.graph_break()
            return y * 2, {gives}
        """,
}

PROGRAM = """
import functools
import numpy as np
import pycompile

def maker():
    n = {start}
    use = lambda made, x: made(x)
{body}
    def get():
        try:
            return n
        except NameError:
            return "unbound"
    def put(value):
        nonlocal n
        n = value
    return made, use, get, put

made, use, get, put = maker()
"""

# how the compiled function comes by it
ROUTES = {
    "global": "def f(x): return use(made, x)",
    "twice": "def f(x): return use(made, x), use(made, x)",
    "item of a dict": "table = {'made': made}\ndef f(x): return use(table['made'], x)",
    "item of a tuple": "pair = (1, made)\ndef f(x): return use(pair[1], x)",
    "attribute": """
class Space: pass
space = Space()
space.made = made
def f(x): return use(space.made, x)
""",
    "attribute of a class": """
class Space: pass
Space.made = staticmethod(made) if callable(made) else made
def f(x): return use(Space.made, x)
""",
    "attribute of a module": """
import types
module = types.ModuleType('module')
module.made = made
def f(x): return use(module.made, x)
""",
    "cell": """
def outer(made):
    def f(x): return use(made, x)
    return f
f = outer(made)
""",
    "default": "def f(x, made=made): return use(made, x)",
    "keyword default": "def f(x, *, made=made): return use(made, x)",
    "argument": "def f(x, made=None): return use(made, x)\ncall = lambda g, x: g(x, made)",
    "method": """
class Holder:
    def __init__(self): self.made = made
    def go(self, x): return use(self.made, x)
f = Holder().go
""",
    "function of a function": "def f(x): return step(x)\ndef step(x): return use(made, x)",
    "read elsewhere": "def f(x): return use(made, x), get()",
    "written elsewhere": "def f(x):\n    put(get())\n    return use(made, x), get()",
}


def program(kind, action, route):
    start, act, gives = ACTIONS[action]
    body = textwrap.indent(textwrap.dedent(KINDS[kind]), "    ").format(act=act, gives=gives)
    text = PROGRAM.format(start=start, body=body) + ROUTES[route]
    space = {"__name__": "closures"}
    exec(compile(text, f"<{kind}, {action}, {route}>", "exec", dont_inherit=True), space)
    return space


def cell_differences(kind, action, route):
    plain, ours = program(kind, action, route), program(kind, action, route)
    found, compiled = [], pycompile.compile(ours["f"])

    def seen(space, function, x):
        call = space.get("call")
        return observe(lambda x: call(function, x) if call else function(x), (x,), {})

    for step in range(6):
        if step == 4:  # somebody else writes the cell
            for space in (plain, ours):
                space["put"](eval(ACTIONS[action][0], {"np": np}))
        x = np.arange(4.0) + step
        a, b = seen(plain, plain["f"], x.copy()), seen(ours, compiled, x.copy())
        walk = Comparison()
        walk.compare("(result, cell)", (a.result, plain["get"]()), (b.result, ours["get"]()))
        lines = differences(a, b) + walk.lines
        found += [f"{kind}, {action}, {route}, call {step}: {line}" for line in lines]
    steady = action in ("counts", "keeps an array") and kind != "breaks behind it"
    if steady and compiled.stats()["plan_runs"] == 0:
        found.append(f"{kind}, {action}, {route}: no plan has run")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_actions(kind):
    found = []
    for action in ACTIONS:
        found += cell_differences(kind, action, "global")
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_routes(route):
    found = []
    for kind in KINDS:
        found += cell_differences(kind, "counts", route)
        found += cell_differences(kind, "keeps an array", route)
    assert not found, "\n".join(found)


# ---- programs of their own: `f`, called with an array, and `state` to be looked at afterwards ----

PROGRAMS = {
    "a branch on the array": """
def maker():
    n, last = 0, None
    def made(x):
        nonlocal n, last
        if x.sum() > 8:
            n += 1
            last = x * 2
        else:
            n -= 1
        return x + n
    return made, lambda: (n, last)
made, state = maker()
def f(x): return made(x)
""",
    "reads in an arm only": """
def maker():
    n = 1.5
    def made(x):
        nonlocal n
        if x.sum() > 8:
            y = x * n
        else:
            y = x + 1
        n += 1
        return y
    return made, lambda: n
made, state = maker()
def f(x): return made(x)
""",
    "a loop over elements": """
def maker():
    n = 0
    def made(v):
        nonlocal n
        n += 1
        return v * n
    return made, lambda: n
made, state = maker()
def f(x):
    for i in range(len(x)):
        x[i] = made(x[i])
    return x
""",
    "a running mean": """
def maker():
    kept = None
    def made(x):
        nonlocal kept
        kept = x if kept is None else 0.5 * x + 0.5 * kept
        return kept
    return made, lambda: kept
made, state = maker()
def f(x): return [made(row) for row in (x, x * 2, x + 1)][-1]
""",
    "two counters of one maker": """
def maker():
    n = 0
    def made(k):
        nonlocal n
        n += k
        return n
    return made, lambda: n
a, get_a = maker()
b, get_b = maker()
pairs = [(a, b), (a, a), (b, a), (a, b)]
def f(x):
    one, other = pairs[0]
    return x + one(1), x * other(10), one(100)
def state():
    pairs.append(pairs.pop(0))
    return get_a(), get_b()
""",
    "one cell deleted, another read": """
def maker():
    n = 5
    def drop():
        nonlocal n
        del n
    def get():
        try:
            return n
        except NameError:
            return -1
    def put(value):
        nonlocal n
        n = value
    return drop, get, put
a, b = maker(), maker()
pairs = [(a, b), (a, a), (b, a), (b, b), (a, b)]
def f(x):
    (drop, _, put), (_, get, _) = pairs[0]
    put(1)
    y = x + get()
    drop()
    return y * get()
def state():
    pairs.append(pairs.pop(0))
    put = pairs[0][1][2]
    told = a[1](), b[1]()
    put(7)
    return told
""",
    "the array is written after": """
def maker():
    kept = None
    def made(x):
        nonlocal kept
        old, kept = kept, x
        return 0.0 if old is None else old.sum()
    return made, lambda: kept
made, state = maker()
def f(x):
    total = made(x)
    x += 1
    return total, x
""",
    "a function kept in the cell": """
def maker():
    act = None
    def made(x):
        nonlocal act
        if act is None:
            act = lambda v: v * 2
        else:
            before = act
            act = lambda v: before(v) + 1
        return x + 1
    return made, lambda: act(3)
made, state = maker()
def f(x): return made(x)
""",
    "two levels of names": """
def maker():
    n = 0
    def middle():
        m = 0
        def made(x):
            nonlocal n, m
            n += 1
            m += n
            return x * n + m
        return made, lambda: m
    made, inner = middle()
    return made, lambda: (n, inner())
made, state = maker()
def f(x): return made(x) + made(x)
""",
    "recursion": """
def maker():
    depth = most = 0
    def made(x, k):
        nonlocal depth, most
        depth += 1
        most = max(most, depth)
        y = x if k == 0 else made(x + 1, k - 1)
        depth -= 1
        return y
    return made, lambda: (depth, most)
made, state = maker()
def f(x): return made(x, 3)
""",
    "finally": """
def maker():
    entered = left = 0
    def made(x):
        nonlocal entered, left
        entered += 1
        try:
            if entered % 3 == 0:
                raise ValueError(entered)
            return x * entered
        finally:
            left += 1
    return made, lambda: (entered, left)
made, state = maker()
def f(x): return made(x)
""",
    "a warning behind it": """
def maker():
    n = 0
    def made(x):
        nonlocal n
        n += 1
        return np.log(x) * n
    return made, lambda: n
made, state = maker()
def f(x): return made(x) + made(x + 1)
""",
    "a memory of results": """
def memoize(g):
    cache, hits = {}, 0
    @functools.wraps(g)
    def made(k):
        nonlocal hits
        if k in cache:
            hits += 1
        else:
            cache[k] = g(k)
        return cache[k]
    made.hits = lambda: hits
    return made
@memoize
def fib(k): return k if k < 2 else fib(k - 1) + fib(k - 2)
def f(x): return x * fib(8)
def state(): return fib.hits()
""",
    "a counter that is also an attribute": """
def counted(g):
    n = 0
    @functools.wraps(g)
    def made(*a, **k):
        nonlocal n
        n += 1
        made.calls = n
        return g(*a, **k)
    made.count = lambda: n
    return made
@counted
def square(x): return x * x
def f(x): return square(x) + square(x + 1), square.calls, square.count()
def state(): return square.calls, square.count()
""",
    "a generator kept between calls": """
def maker():
    total = 0
    def numbers():
        nonlocal total
        while True:
            total += 1
            yield total
    return numbers(), lambda: total
numbers, state = maker()
def f(x): return x + next(numbers)
""",
    "a context manager made of a generator": """
import contextlib
def maker():
    inside = total = 0
    @contextlib.contextmanager
    def made():
        nonlocal inside, total
        inside += 1
        try:
            yield total
        finally:
            inside -= 1
            total += 1
    return made, lambda: (inside, total)
made, state = maker()
def f(x):
    with made() as k:
        return x * k
""",
    "a global beside the cell": """
count = 0
def maker():
    n = 0
    def made(x):
        nonlocal n
        global count
        n += 1
        count += n
        return x * count
    return made, lambda: (n, count)
made, state = maker()
def f(x): return made(x)
""",
    "the cell's own function stored anew": """
def maker():
    n = 0
    def made(x):
        nonlocal n, made
        n += 1
        def made(y, add=n):
            nonlocal n
            n += add
            return y + n
        return made(x)
    return lambda x: made(x), lambda: n
made, state = maker()
def f(x): return made(x)
""",
    "the parameter is the cell": """
def maker(n):
    def made(x):
        nonlocal n
        n = n * 2
        return x + n
    return made, lambda: n
made, state = maker(1)
def f(x): return made(x)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    spaces = []
    for _ in range(2):
        space = {"__name__": "closures", "np": np, "functools": functools}
        exec(compile(PROGRAMS[name], f"<{name}>", "exec", dont_inherit=True), space)
        spaces.append(space)
    functions, found = (spaces[0]["f"], pycompile.compile(spaces[1]["f"])), []
    for call in range(6):
        x = np.arange(4.0) + call
        a, b = (observe(function, (x.copy(),), {}) for function in functions)
        walk = Comparison()
        states = [space["state"]() for space in spaces]
        walk.compare("(result, state)", (a.result, states[0]), (b.result, states[1]))
        found += [f"call {call}: {line}" for line in differences(a, b) + walk.lines]
    assert not found, "\n".join(found)
