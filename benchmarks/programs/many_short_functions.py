"""Three hundred functions made by `exec`, each with two short loops, called in turn."""

from benchmarks.programs import compiled

SIZES = (3, 40)
TEXT = """
def f(n):
    s = 0
    for i in range(n):
        s += i % {k}
    while s > 9:
        s //= 7
    return s
"""


def make(k):
    space = {}
    exec(TEXT.format(k=k), space)
    return compiled(space["f"])


FUNCTIONS = [make(k) for k in range(2, 302)]


def main(rng, size):
    return [function(size) for function in FUNCTIONS]
