"""Lists and tuples."""

from constructs import X, Y, construct


@construct("list.sort of numbers, in place", X, [3, 1, 2])
def sort(x, items):
    items.sort()
    return x * items[0], items


@construct("list.sort by a key, reversed", X)
def sort_key(x):
    items = ["aa", "b", "cccc", "dd"]
    items.sort(key=len, reverse=True)
    return items, x + len(items)


@construct("sorted is stable", X)
def stable(x):
    pairs = [(1, "b"), (0, "z"), (1, "a"), (0, "y")]
    return sorted(pairs, key=lambda p: p[0]), x + 1


@construct("sorted of number arguments", X, 2.5, -1.0)
def sort_arguments(x, a, b):
    low, high = sorted([a, b])
    return x * low + high


@construct("sorted by a bound method", X)
def sort_method(x):
    order = {"b": 0, "a": 1}
    return sorted(["a", "b"], key=order.get), -x


@construct("list.remove, index and count", X, [1, 2, 3, 2])
def remove(x, items):
    items.remove(2)
    return x * items.index(2), items.count(2), items


@construct("slice assignment that grows a list", X, [1, 2, 3])
def slice_grow(x, items):
    items[1:2] = [x, x + 1, 7]
    return items


@construct("extended slice assignment", X, [1, 2, 3, 4])
def slice_step(x, items):
    items[::2] = (x * 2, None)
    return items


@construct("deletion of a slice and of an item", X, [1, 2, 3, 4, 5])
def delete(x, items):
    del items[1:3]
    del items[-1]
    return x + len(items), items


@construct("list times a number, in place", X, [1, 2])
def repeat(x, items):
    other = items
    items *= 2
    return other is items, items, x + 1


@construct("list += iterable is seen by aliases", X, [1])
def extend_alias(x, items):
    other = items
    other += (x + 1, 2)
    return items, other is items


@construct("insert, pop, reverse, clear", X, [1, 2, 3], [4])
def moves(x, items, gone):
    items.insert(-1, x * 2)
    last = items.pop()
    first = items.pop(0)
    items.reverse()
    gone.clear()
    return items, last, first, gone


@construct("list of a list is another list", X, [1, 2])
def copies(x, items):
    a, b, c = list(items), items[:], items.copy()
    a.append(-x)
    return a is items, b == items, c == b, a


@construct("comparison of lists in order", X, 3)
def ordering(x, n):
    return [1, n] < [1, 4], (n, "a") >= (3, "b"), [1] != [1], x + n


@construct("equality begins with identity", X)
def identity_first(x):
    nan = float("nan")
    return [nan] == [nan], nan in (nan,), (x, 1) == (x, 1), [x].index(x), -x


@construct("membership in a tuple and a list", X, 2)
def membership(x, n):
    return n in (1, 2), n not in [5, 6], x * 2


@construct("tuple methods and concatenation", X)
def tuples(x):
    t = (1, 2, 1) + (x,)
    return t[:3].count(1), t.index(2), t[-1] is x, t * 2, x - 1


@construct("tuple as a key and hash of it", X)
def tuple_key(x):
    table = {(0, "a"): 1.5, (1, None): 2.0}
    return x * table[0, "a"], hash((1, 2)) == hash((1, 2))


@construct("slice objects", X, [1, 2, 3, 4])
def slices(x, items):
    s = slice(1, None, 2)
    return items[s], x[s] * 2, s.start, s.indices(4)


@construct("nested lists that share", X)
def sharing(x):
    row = [0, x + 1]
    grid = [row] * 2
    grid[0][0] = 5
    return grid, grid[1][0], grid[0] is grid[1]


@construct("list that is changed while it is walked", X)
def grows(x):
    items = [1, 2]
    for i in items:
        if len(items) < 5:
            items.append(i * 10)
    return items, x + 1


@construct("iterator of a list goes on where it stood", X, [1, 2, 3])
def iterator(x, items):
    it = iter(items)
    first = next(it)
    items.append(x - 1)
    return first, list(it), next(it, None)


@construct("star displays and calls", X, [1, 2])
def stars(x, items):
    def f(*a):
        return len(a)

    return [*items, x * 2, *"ab"], (*items, 3), f(*items, *(1, 2))


@construct("star unpacking in the middle", X, Y)
def star_middle(x, y):
    a, *b, c = [x, 1, 2, y]
    return a + c, b


@construct("reversed and enumerate with a start", X, [1, 2, 3])
def reverse(x, items):
    return [i * v for i, v in enumerate(reversed(items), 1)], x * 2


@construct("list index errors handled", X, [1])
def index_errors(x, items):
    try:
        items[3]
    except IndexError as error:
        message = str(error)
    try:
        items.remove(9)
    except ValueError as error:
        message += str(error)
    return message, x + 1


@construct("sorting what cannot be sorted", X)
def unsortable(x):
    try:
        sorted([1, "a"])
    except TypeError as error:
        return str(error), x * 3
    return x


@construct("mutation order of two lists from outside", X, [1], [2])
def order(x, a, b):
    a.append(b.pop())
    b.extend(a)
    a[0] = x + 1
    b.sort()
    return len(a), len(b)
