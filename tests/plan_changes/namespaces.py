"""Modules and namespaces."""

from plan_changes.change import WITH_V, Change

CHANGES = [
    # modules and namespaces
    Change(
        "dict of a module", "m = types.ModuleType('m'); m.v = 1.0", "m.v", "m.__dict__['v'] = 4.0"
    ),
    Change(
        "class of a module",
        "class Sub(types.ModuleType):\n    @property\n    def v(self): return 8.0\nm = types.ModuleType('m'); m.v = 1.0",
        "m.v",
        "m.__class__ = Sub",
    ),
    Change(
        "class of a module in a module",
        "class Sub(types.ModuleType):\n    @property\n    def v(self): return 8.0\nm = types.ModuleType('m'); m.v = 1.0\nn = types.ModuleType('n'); n.m = m",
        "n.m.v",
        "m.__class__ = Sub",
    ),
    Change(
        "class of the outer module",
        "class Sub(types.ModuleType):\n    @property\n    def m(self): return types.SimpleNamespace(v=8.0)\nm = types.ModuleType('m'); m.v = 1.0\nn = types.ModuleType('n'); n.m = m",
        "n.m.v",
        "n.__class__ = Sub",
    ),
    Change(
        "__getattr__ of a module",
        "m = types.ModuleType('m'); m.v = 1.0",
        "getattr(m, 'w', None)",
        "m.__getattr__ = lambda name: 3.0",
        whole=False,
    ),
    Change(
        "function of a module",
        "m = types.ModuleType('m'); m.sqrt = math.sqrt",
        "m.sqrt(4.0)",
        "m.sqrt = lambda v: 11.0",
    ),
    Change(
        "ufunc of a module", "m = types.ModuleType('m'); m.f = np.tanh", "m.f(x)", "m.f = np.sin"
    ),
    Change("globals()", "v = 1.0", "v", "globals()['v'] = 2.0"),
    Change("globals() read", "v = 1.0", "globals()['v']", "v = 2.0"),
    Change(
        "sys.modules",
        "",
        "'not there' in sys.modules",
        "sys.modules['not there'] = os; sys.modules.pop('not there'); sys.modules['world'] = os; sys.modules.pop('world')",
        whole=False,  # with thousands of modules it is a break
    ),
    Change(
        "os.environ",
        "os.environ.pop('PYCOMPILE_TEST_NOT_SET', None)",
        "os.environ.get('PYCOMPILE_TEST_NOT_SET')",
        "os.environ['PYCOMPILE_TEST_NOT_SET'] = '1'",
    ),
    Change(
        "level of a logger",
        "log = logging.getLogger('behind'); log.setLevel(logging.WARNING)",
        "log.isEnabledFor(logging.INFO)",
        "log.setLevel(logging.DEBUG)",
        whole=False,
    ),
    Change(
        "context variable",
        "c = contextvars.ContextVar('c', default=1.0)",
        "c.get()",
        "c.set(4.0)",
        whole=False,
    ),
    Change("thread-local", "t = threading.local(); t.v = 1.0", "t.v", "t.v += 1", whole=False),
    Change("weak reference", WITH_V + "r = weakref.ref(k)", "r().v", "k.v += 1", whole=False),
    Change(
        "errors of NumPy", "", "np.geterr()['divide']", "np.seterr(divide='ignore')", whole=False
    ),
    Change(
        "print options of NumPy",
        "",
        "np.get_printoptions()['precision']",
        "np.set_printoptions(precision=3)",
        whole=False,
    ),
    Change("simple namespace", "s = types.SimpleNamespace(v=1.0)", "s.v", "s.v += 1", whole=False),
    Change(
        "mapping proxy",
        "d = {'a': 1.0}; p = types.MappingProxyType(d)",
        "p['a']",
        "d['a'] += 1",
        whole=False,
    ),
    Change(
        "chain map",
        "c = collections.ChainMap({'a': 1.0}, {'b': 2.0})",
        "c['b']",
        "c.maps[0]['b'] = 9.0",
    ),
    Change("user dict", "u = collections.UserDict(a=1.0)", "u['a']", "u['a'] += 1"),
    Change(
        "default factory",
        "d = collections.defaultdict(float)",
        "d['b']",
        "d.clear(); d.default_factory = lambda: 3.0",
        whole=False,
    ),
    Change(
        "attrgetter",
        WITH_V + "get = operator.attrgetter('v')",
        "get(k)",
        "k.v += 1",
    ),
    Change("copy", WITH_V, "copy.copy(k).v", "k.v += 1"),
    Change(
        "deep copy",
        "d = {'a': [1.0]}",
        "copy.deepcopy(d)['a'][0]",
        "d['a'][0] += 1",
    ),
]
