"""Functions that call themselves and one another."""

import numpy as np

from constructs import X, Y, construct


def fib(n, x):
    return x if n < 2 else fib(n - 1, x) + fib(n - 2, x)


@construct("a function that calls itself twice", X)
def twice(x):
    return fib(9, x)


@construct("a hundred calls within one another", X)
def deep(x):
    def step(a, n):
        return a if n == 0 else step(a * 1.01, n - 1)

    return step(x, 100)


def even(x, n):
    return x if n == 0 else odd(x + 1, n - 1)


def odd(x, n):
    return -x if n == 0 else even(x * 0.5, n - 1)


@construct("mutual recursion", X)
def mutual(x):
    return even(x, 50) * 2


def total(a):
    if len(a) == 1:
        return a[0] * 2
    half = len(a) // 2
    return total(a[:half]) + total(a[half:])


@construct("divide and conquer", np.arange(64.0))
def halves(x):
    return total(x)


def fft(x):
    n = len(x)
    if n == 1:
        return x
    even_part, odd_part = fft(x[::2]), fft(x[1::2])
    t = np.exp(-2j * np.pi * np.arange(n) / n)
    return np.concatenate([even_part + t[: n // 2] * odd_part, even_part + t[n // 2 :] * odd_part])


@construct("a recursive Fourier transform", np.arange(16.0))
def transform(x):
    return fft(x)


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


def tree_sum(node):
    return 0 if node is None else node.value.sum() + tree_sum(node.left) + tree_sum(node.right)


@construct("a list of forty linked nodes made inside", X)
def linked(x):
    node = None
    for i in range(40):
        node = Node(x * i, node)
    return tree_sum(node)


def mapped(tree, function):
    if isinstance(tree, dict):
        return {key: mapped(item, function) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(item, function) for item in tree)
    return function(tree)


@construct("a function over nested containers", {"a": X, "b": [X, (Y, {"c": X + 1})]})
def nested(tree):
    return mapped(tree, lambda a: a * 2 + 1)
