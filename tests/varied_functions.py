"""Functions whose plans hold for some arguments: what is told of those that vary (tests/runtime)."""

import enum

import numpy as np

ONES = np.ones((200, 30))


def work(x):
    return np.sqrt(np.abs(x)) * 2 + 1


def scaled(x, n):
    if n > 3:
        return np.sqrt(x) * n
    return np.cos(x) * n


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def __repr__(self):
        raise AssertionError("no code of the program is run for a message")


def chosen(x, s):
    if "a" in s:
        x = x * 2
    return np.sqrt(x) + 1


def named(x, s):
    if s is Color.BLUE:
        x = x * 2
    return np.sqrt(x) + 1
