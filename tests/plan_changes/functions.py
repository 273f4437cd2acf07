"""Functions, and exceptions."""

from plan_changes.change import Change
from plan_changes.places import CLASSES

ERROR = """
class Wrong(Exception): pass
def caught(show):
    try:
        raise Wrong(1.0)
    except Wrong as error:
        return show(error)
"""

CHANGES = [
    # exceptions
    Change(
        "__new__ of an exception",
        ERROR,
        "caught(lambda e: len(e.args))",
        "Wrong.__new__ = lambda cls, *a: Exception.__new__(cls, 1, 2, 3)",
    ),
    Change(
        "__init__ of an exception",
        ERROR,
        "caught(lambda e: getattr(e, 'v', None))",
        "Wrong.__init__ = lambda self, *a: setattr(self, 'v', 2.0)",
    ),
    Change("__str__ of an exception", ERROR, "caught(str)", "Wrong.__str__ = lambda self: 'abc'"),
    Change(
        "code of __str__ of an exception",
        ERROR + "Wrong.__str__ = lambda self: 'abc'",
        "caught(str)",
        "Wrong.__str__.__code__ = (lambda self: 'abcdef').__code__",
    ),
    Change(
        "__repr__ of an exception", ERROR, "caught(repr)", "Wrong.__repr__ = lambda self: 'abc'"
    ),
    Change("__name__ in repr of an exception", ERROR, "caught(repr)", "Wrong.__name__ = 'Right'"),
    Change(
        "bases of an exception",
        "class A(Exception): pass\nclass B(Exception): pass\nclass Wrong(A): pass\ndef caught():\n    try: raise Wrong\n    except B: return 1.0\n    except Exception: return 2.0",
        "caught()",
        "Wrong.__bases__ = (B,)",
    ),
    # functions
    Change("code", CLASSES, "plain(3.0)", "plain.__code__ = other.__code__"),
    Change(
        "code with other cells",
        "def make(v):\n    def take(): return v\n    return take\nfirst, second = make(1.0), make(2.0)",
        "first()",
        "first.__code__ = second.__code__; first.__closure__[0].cell_contents = 8.0",
    ),
    Change(
        "a keyword default that was not there",
        "def take(a=0.0, *, b=1.0): return a + b\ntake.__kwdefaults__ = {'b': 1.0}",
        "take(2.0)",
        "take.__kwdefaults__['b'] = 2.0",
    ),
    Change(
        "a keyword default goes",
        "def take(*, b=1.0): return b",
        "take()",
        "take.__kwdefaults__.pop('b', None)",
    ),
    Change(
        "an unused keyword default",
        "def take(*, b=1.0): return b",
        "take(b=3.0)",
        "take.__kwdefaults__['b'] = 2.0",
    ),
    Change(
        "a keyword default of a method",
        "class K:\n    def m(self, *, b=1.0): return b\nk = K()",
        "k.m()",
        "K.m.__kwdefaults__['b'] = 2.0",
        "k",
    ),
    Change(
        "a keyword default of an argument",
        "def take(*, b=1.0): return b",
        "take()",
        "take.__kwdefaults__['b'] = 2.0",
        "take",
    ),
    Change(
        "a keyword default of a closure",
        "def outer(g):\n    def inner(): return g()\n    return inner\ndef take(*, b=1.0): return b\nrun = outer(take)",
        "run()",
        "take.__kwdefaults__['b'] = 2.0",
    ),
    Change(
        "wrapped",
        "def deco(f):\n    @functools.wraps(f)\n    def inner(): return f() * 2\n    return inner\n@deco\ndef take(): return 1.0",
        "take()",
        "take.__wrapped__.__code__ = (lambda: 5.0).__code__",
    ),
    Change(
        "__name__ of a function", "def take(): pass", "take.__name__", "take.__name__ = 'renamed'"
    ),
    Change(
        "__wrapped__ of a function",
        "def take(): pass",
        "hasattr(take, '__wrapped__')",
        "take.__wrapped__ = 1.0",
    ),
    Change(
        "lru_cache",
        "@functools.lru_cache(None)\ndef take(a): return a * 2.0",
        "take(3)",
        "take.cache_clear()",
        whole=False,
    ),
    Change(
        "state of a partial",
        "take = functools.partial(lambda a, b: a * b, 2.0)",
        "take(3.0)",
        "take.__setstate__((take.func, (4.0,), {}, {}))",
    ),
    Change(
        "keywords of a partial",
        "take = functools.partial(lambda a, b: a * b, b=2.0)",
        "take(3.0)",
        "take.keywords['b'] = 5.0",
    ),
    Change(
        "partialmethod",
        "class K:\n    def f(self, a): return a\n    g = functools.partialmethod(f, 3.0)\nk = K()",
        "k.g()",
        "K.f = lambda self, a: 0.0",
        whole=False,
    ),
    Change(
        "builtins of a function",
        "first = dict(vars(builtins)); second = dict(first)\nspace = {'__builtins__': first}\nexec('def take(v): return oct(v)', space)\ntake = space['take']\nspace['__builtins__'] = second",
        "take(8)",
        "first['oct'] = hex",
    ),
    Change(
        "other builtins for new functions",
        "space = {}\nexec('def take(v): return oct(v)', space)\ntake = space['take']",
        "take(8)",
        "space['__builtins__'] = {'oct': hex}",
    ),
    Change("a builtin is shadowed", "", "len([1.0])", "len = lambda o: 7"),
    Change(
        "a builtin of a module attribute",
        "m = types.ModuleType('m'); m.oct = oct",
        "getattr(m, 'oct', None)",
        "m.__dict__.pop('oct', None)",
    ),
    Change(
        "a global that is deleted, then its builtin",
        "oct = oct",
        "oct(8)",
        "globals().pop('oct', None)",
    ),
]
