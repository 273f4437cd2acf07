"""The decoder against dis over a lot of code, and golden files."""

import argparse
import ast
import asyncio.base_events
import collections
import dataclasses
import decimal
import difflib
import dis
import inspect
import json.decoder
import os
import sys
import textwrap
import types
from pathlib import Path

import frames_corpus
import pytest

from pycompile import _C

MODULES = [
    argparse, ast, asyncio.base_events, collections, dataclasses, difflib, dis, inspect, json.decoder,
    textwrap, types, frames_corpus, sys.modules["decimal"], sys.modules["os"],
]  # fmt: skip
assert decimal and os

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "decode"
VERSION = "{}.{}".format(*sys.version_info)
HAS_LASTI_START = ("PRECALL", "KW_NAMES")


def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def all_code():
    for module in MODULES:
        if getattr(module, "__file__", "") and module.__file__.endswith(".py"):
            source = Path(module.__file__).read_text()
            yield from code_objects(compile(source, module.__file__, "exec"))


CODES = list(all_code())


def test_there_is_a_lot_of_code():
    assert len(CODES) > 1000


@pytest.mark.slow
def test_instructions_start_where_dis_says():
    for code in CODES:
        ours = {at for _, _, _, _, at, *_ in _C._instrs(code)}
        theirs = {
            instruction.offset // 2
            for instruction in dis.get_instructions(code)
            if instruction.opname not in ("EXTENDED_ARG", "CACHE", *HAS_LASTI_START)
        }
        assert ours == theirs, code


def test_lines_are_those_of_the_code():
    for code in CODES:
        line_at = {}
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                line_at[offset // 2] = line or 0
        for instr in _C._instrs(code):
            assert instr[7] == line_at[instr[4]], (code, instr)


def test_handlers_are_those_of_dis():
    for code in CODES:
        ours = _C._handlers(code)
        theirs = [
            (entry.start // 2, entry.end // 2, entry.target // 2, entry.depth, int(entry.lasti))
            for entry in dis._parse_exception_table(code)
        ]
        assert ours == theirs, code


@pytest.mark.slow
def test_jumps_go_where_dis_says():
    for code in CODES:
        instrs = _C._instrs(code)
        by_at = {}
        for instr in instrs:
            by_at.setdefault(instr[4], instr)
        for instruction in dis.get_instructions(code):
            if instruction.opcode not in dis.hasjrel:
                continue
            ours = by_at[instruction.offset // 2]
            target = instruction.argval // 2
            if ours[0] == "FOR_ITER":
                target += {"3.11": 0, "3.12": 1, "3.13": 2}[VERSION]
            assert instrs[ours[6]][3] <= target <= instrs[ours[6]][4], (code, instruction)


def test_functions_are_left_aside_for_a_reason_only():
    """Every plain function has known depths within its stack; generators and class bodies are aside."""
    never = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    for code in CODES:
        text = _C._decode(code)
        plain = code.co_flags & 3 == 3 and not code.co_flags & never
        generator = "\naside: a generator\n" in text
        assert generator <= bool(code.co_flags & inspect.CO_GENERATOR), text
        assert ("\naside: " not in text) == plain, text
        depths = [instr[8] for instr in _C._instrs(code) if instr[9] == 0]
        assert max(depths) <= code.co_stacksize
        if plain or generator:
            assert depths[0] == 0
            dead = {instr[0] for instr in _C._instrs(code) if instr[8] < 0}
            assert dead <= {"END_FOR", "POP", "NOP", "JUMP"} or dead_code_is_after_a_jump(code)


def dead_code_is_after_a_jump(code):
    instrs = _C._instrs(code)
    ends = ("JUMP", "RETURN", "RAISE", "RERAISE")
    return all(
        before[8] < 0 or before[0] in ends
        for before, instr in zip(instrs, instrs[1:])
        if instr[8] < 0 and instr[0] != "END_FOR"
    )


def test_warm_and_traced_code_decodes_alike():
    def loop(n):
        total = 0
        for i in range(n):
            total += i
        return total

    before = _C._decode(loop.__code__)
    for _ in range(100):
        loop(10)
    assert _C._decode(loop.__code__) == before
    sys.settrace(lambda *_: None)
    loop(10)
    during = _C._decode(loop.__code__)
    sys.settrace(None)
    assert during == before
    assert _C._decode(loop.__code__) == before


# ---- golden files: sections `--- python`, then `--- decode X.Y` of each version ----


def sections(path):
    result, name = {}, None
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("--- "):
            name = line[4:].strip()
            result[name] = ""
        else:
            result[name] += line
    return result


def decoded(source):
    module = compile(source, "golden.py", "exec")
    return "".join(_C._decode(code) for code in code_objects(module) if code is not module)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path):
    found = sections(path)
    result = decoded(found["python"])
    if os.environ.get("PYCOMPILE_GOLDEN"):
        found[f"decode {VERSION}"] = result
        order = ["python", *sorted(name for name in found if name != "python")]
        path.write_text("".join(f"--- {name}\n{found[name]}" for name in order))
    assert found[f"decode {VERSION}"] == result
