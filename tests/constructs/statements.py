"""Statements and names."""

import numpy as np

from constructs import M, X, Y, construct


@construct("assignment expression", X)
def walrus(x):
    if (n := x.shape[0]) > 3:
        return x * n
    return x


@construct("chained comparison of numbers", X, 3)
def chained(x, n):
    if 0 < n <= 5 < 10:
        return x + n
    return x


@construct("augmented assignment", X, Y)
def augmented(x, y):
    z = x + y
    z -= y
    z *= 2.0
    z /= 3
    return z


@construct("multiple targets and swap", X, Y)
def swap(x, y):
    a = b = x + 1
    x, y = y, x
    return a is b, x - y


@construct("loop with break, continue and else", X)
def loop(x):
    total = x * 0
    for i in range(6):
        if i == 1:
            continue
        if i == 4:
            break
        total = total + x * i
    else:
        total = -total
    for _ in range(2):
        total = total + 1
    else:
        total = total * 2
    return total


@construct("while on a number", X, 3)
def countdown(x, n):
    while n > 0:
        x = np.tanh(x) + n
        n -= 1
    return x


@construct("rows of a matrix", M)
def rows(m):
    total = 0.0
    for row in m:
        total = total + row * row
    return total


@construct("while over links that end in None", X)
def links(x):
    node = (x, (x * 2, (x - 1, None)))
    total = x * 0
    while node is not None:
        item, node = node
        total = total + item
    return total
