"""A warning has three lines of at most 100 characters: what, where, what to do."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import pycompile

CSRC = Path(__file__).parents[2] / "csrc"
WIDE = 100
REMEDY = WIDE - len("  To have it compiled: ") - 1


def literals(text):
    """C's string literals, those that follow one another as one."""
    for run in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', run))


def remedies():
    table = (CSRC / "capture" / "guards.def").read_text()
    for row in re.findall(r"^GUARD\(.*$", table, re.MULTILINE):
        yield from list(literals(row))[1:]
    for text in literals((CSRC / "runtime" / "guards_remedy.c").read_text()):
        if text.count(" ") > 2:
            yield text


def test_remedies_fit_a_line():
    """Up to a semicolon each is a sentence that fits; what is behind it `details` has, too."""
    found = list(remedies())
    assert len(found) > 60 and "pass fewer types" in found
    long = [text for text in found if len(re.split("; (?:or )?", text)[0]) > REMEDY]
    assert not long, long


@pytest.mark.parametrize("words", [2, 8, 100])
def test_long_texts_are_in_three_lines(words):
    """Words, such as paths, are not divided; `details` has all in one line."""
    folder = "/folder" * 20

    def backend(graph, inputs):
        raise ValueError(f"{folder}: " + "word " * words + "end; more")

    compiled = pycompile.compile(lambda x: np.sqrt(x) + 1, backend=backend)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(np.ones(4))
    lines = str(caught[0].message).split("\n  ")
    details = caught[0].message.details
    assert 1 < len(lines) <= 3 and "\n" not in details and folder in lines[1]
    assert all(len(line) < WIDE or folder in line for line in lines), lines
    assert words == 100 or " ".join(lines) == details
    assert words < 100 or details.startswith(" ".join(lines).removesuffix("…")), lines
