"""Arguments that become one object."""

# body over arguments a and b; arguments that are apart, and the same that are not
ALIASES = {
    "is, lists": ("a is b", "[1.0], [2.0]", "(lambda v: (v, v))([1.0])"),
    "is, dicts": ("a is b", "{1: 2}, {1: 2}", "(lambda v: (v, v))({1: 2})"),
    "is, arrays": ("a is b", "np.ones(3), np.ones(3)", "(lambda v: (v, v))(np.ones(3))"),
    "is, instances": ("a is b", "made(1.0), made(2.0)", "(lambda v: (v, v))(made(1.0))"),
    "is, sets": ("a is b", "{1.0}, {1.0}", "(lambda v: (v, v))({1.0})"),
    "is, text": ("a == b", "'ab', 'cd'", "'ab', ''.join(['a', 'b'])"),
    "list, list": ("a.append(5.0), len(b)", "[1.0], [2.0]", "(lambda v: (v, v))([1.0])"),
    "list, in a dict": ("put(a, 0, 5.0), b['k'][0]", "[1.0], {'k': [2.0]}", "(lambda v: (v, {'k': v}))([1.0])"),
    "list, in a tuple": ("a.append(5.0), len(b[0])", "[1.0], ([2.0],)", "(lambda v: (v, (v,)))([1.0])"),
    "list, attribute": ("a.append(5.0), len(b.v)", "[1.0], made([2.0])", "(lambda v: (v, made(v)))([1.0])"),
    "dict, dict": ("put(a, 'v', 5.0), b['v']", "{'v': 1.0}, {'v': 2.0}", "(lambda v: (v, v))({'v': 1.0})"),
    "set, set": ("a.add(9.0), len(b)", "{1.0}, {1.0}", "(lambda v: (v, v))({1.0})"),
    "instance, instance": ("setattr(a, 'v', 5.0), b.v", "made(1.0), made(2.0)", "(lambda v: (v, v))(made(1.0))"),
    "instance, its dict": ("setattr(a, 'v', 5.0), b['v']", "made(1.0), {'v': 2.0}", "(lambda v: (v, v.__dict__))(made(1.0))"),
    "dict, its instance": ("put(a, 'v', 5.0), b.v", "{'v': 2.0}, made(1.0)", "(lambda v: (v.__dict__, v))(made(1.0))"),
    "instance, its dict in a list": ("setattr(a, 'v', 5.0), b[0]['v']", "made(1.0), [{'v': 2.0}]", "(lambda v: (v, [v.__dict__]))(made(1.0))"),
    "its dict, its instance": ("put(a.__dict__, 'v', 5.0), b['v']", "made(1.0), {'v': 2.0}", "(lambda v: (v, v.__dict__))(made(1.0))"),
    "deleted, its dict": ("delattr(a, 'v'), 'v' in b", "made(1.0), {'v': 2.0}", "(lambda v: (v, v.__dict__))(made(1.0))"),
    "globals": ("store(7.0), b['G']", "None, {'G': 1.0}", "None, globals()"),
    "module, its dict": ("setattr(a, 'v', 5.0), b['v']", "M, {'v': 2.0}", "M, M.__dict__"),
    "class counter, its instance": ("setattr(Made, 'n', 5.0), b.n", "None, made(1.0)", "None, Made"),
    "array, array": ("put(a, 0, 5.0), b + 1", "np.ones(3), np.ones(3)", "(lambda v: (v, v))(np.ones(3))"),
    "array, view": ("put(a, 0, 5.0), b + 1", "np.ones(3), np.ones(2)", "(lambda v: (v, v[:2]))(np.ones(3))"),
    "array, in a list": ("put(a, 0, 5.0), b[0] + 1", "np.ones(3), [np.ones(3)]", "(lambda v: (v, [v]))(np.ones(3))"),
    "cell, function": ("b[0](5.0), b[1]()", "None, cells(1.0, 2.0)", "None, cells(1.0)"),
}  # fmt: skip
ALIAS_WORLD = """
class Made:
    n = 1.0
def made(v):
    o = Made()
    o.v = v
    return o
M = types.ModuleType('M')
def put(o, k, v): o[k] = v
G = 1.0
def store(v):
    global G
    G = v
def cells(*values):
    def pair(v):
        def store(new):
            nonlocal v
            v = new
        def take(): return v
        return store, take
    pairs = [pair(v) for v in values]
    return pairs[0][0], pairs[-1][1]
"""
