"""Strings, bytes and text of array values."""

import re
import string

from constructs import M, X, construct


@construct("f-string of numbers", X, 7, 2.5)
def fstring(x, n, a):
    return f"{n:03d} {a!r:>8} {n + 1} {'q'!s:4}|", x + 1


@construct("f-string of an array's value", X)
def fstring_array(x):
    return f"{x.sum():.3f} {x[0]} {float(x[1])!r}", x * 2


@construct("f-string with a nested format spec", X, 8)
def fstring_spec(x, width):
    return f"{x.mean():>{width}.2e}|{width=}", x + 1


@construct("% formatting of array values", X, 3)
def percent(x, n):
    return "%d %s %.2f %%" % (n, "a", x.max()), "%5.1f" % x[0], x + 1


@construct("str.format of array values", X)
def formatting(x):
    return "{} {0:.1f}".replace("{} ", "").format(x.min()), "{a:>9.3f}".format(a=x[1]), -x


@construct("str, repr and format of array values", X)
def texts(x):
    return str(x.sum()), repr(float(x[0])), format(x[2], ".4f"), x * 3


@construct("join of texts of array values", X)
def joined(x):
    return ", ".join(f"{v:.1f}" for v in (x[0], x[1])), x + 1


@construct("concatenation of texts of array values", X)
def concatenated(x):
    text = "sum " + str(x.sum())
    text += "!"
    return text, text.upper() + "?", x - 1


@construct("text of array values in containers", X, [])
def stored(x, log):
    log.append(f"{x.sum():.2f}")
    return {"text": f"{x[0]}", "x": x + 1}


@construct("text of a list with array values", X)
def listed(x):
    items = [1, x[0]]
    text = f"{items}"
    items.append(2)
    return text, items, x + 1


@construct("text of an argument as a key", X, 2)
def key(x, n):
    table = {f"layer{i}": x * i for i in range(4)}
    return table[f"layer{n}"]


@construct("str methods on constants", X)
def methods(x):
    s = " a,b ,c "
    return s.strip().split(","), s.upper(), s.find("b"), s.count(","), "ab".ljust(4, "."), x + 1


@construct("str methods with keywords", X)
def keywords(x):
    return "a b c".split(maxsplit=1), "x".encode(encoding="utf-8"), x * 2


@construct("str slices, iteration and comparison", X)
def slices(x):
    return "hello"[::-1], [c for c in "abc"], "a" < "b", "ell" in "hello", "ab" * 2, x + 1


@construct("bytes", X)
def raw(x):
    return b"ab"[0], b"ab".hex(), bytes([1, 2]), b"a" + b"b", bytes(2), list(b"ab"), x + 1


@construct("str.translate and maketrans", X)
def translated(x):
    return "abc".translate(str.maketrans("ab", "xy")), str.upper("q"), x + 1


@construct("regular expressions on constants", X)
def regular(x):
    match = re.match(r"(\w+)-(\d+)", "layer-12")
    return match.group(1), int(match[2]), re.findall(r"\d", "a1b2"), re.sub("a", "b", "aa"), x + 1


@construct("conversion of text to numbers", X, "2.5")
def numbers(x, text):
    return x * float(text), int("12"), int("ff", 16), int("101", base=2), complex("1+2j")


@construct("chr, ord, hex, oct, bin, ascii", X, 65)
def codes(x, n):
    return chr(n), ord("a"), hex(n), oct(8), bin(5), ascii("é"), x + 1


@construct("the string module", X)
def constants(x):
    return string.ascii_lowercase[:3], "a" in string.digits, x + 1


@construct("text that does not convert", X)
def errors(x):
    try:
        int("seven")
    except ValueError as error:
        return str(error), x + 1


@construct("lookups in a string that fail", X)
def missing(x):
    try:
        "abc".index("z")
    except ValueError as error:
        message = str(error)
    try:
        "abc"[7]
    except IndexError as error:
        return message, str(error), x + 1


@construct("f-string of an array", X)
def fstring_of_array(x):
    y = x * 2
    return f"{y}", f"{x!r}", f"{x = }", y


@construct("str and repr of an array", M)
def text_of_array(x):
    y = x.T + 1
    return str(y), repr(y), str(x[0]), y


@construct("text of an array before and after a write", X)
def text_between_writes(x):
    before = str(x)
    x += 1
    return before, str(x)


@construct("text of containers of arrays", X)
def text_of_containers(x):
    return str([x, 1]), f"{ {'a': x} }", repr((x + 1, "b")), x * 2


@construct("% and str.format of arrays", X)
def formatted_arrays(x):
    return "%s and %r" % (x, x + 1), "{} {!r}".format(x, x[:2]), "a" + str(x), x * 2


@construct("text of an array printed", X)
def printed_array(x):
    print(f"x is {x}, the sum {x.sum():.3f}")
    print("got " + str(x * 2))
    return x + 1


@construct("text of dtypes", X)
def text_of_dtypes(x):
    return str(x.dtype), f"{x.dtype} {x.shape}", repr(x.dtype), x.dtype.name, x + 1
