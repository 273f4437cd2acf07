"""Which modules are run, and which tests may differ, each with its reason."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path

CONFIRMED = 200  # more differences of a module than this are not run again

# Modules that exercise the language itself: these are captured whole as far as can be.
LANGUAGE = """
test_list test_dict test_set test_tuple test_generators test_exceptions test_with test_scope test_call
test_class test_copy test_descr test_format test_fstring test_iter test_itertools test_functools
test_collections test_dataclasses test_enum test_patma test_unpack test_unpack_ex test_string test_str
test_listcomps test_setcomps test_dictcomps test_genexps test_calendar test_bool test_int test_float
test_complex test_builtin test_operator test_contextlib test_property test_super test_slice test_range
test_sort test_bisect test_heapq test_random test_statistics test_math test_cmath test_decimal
test_fractions test_augassign test_binop test_compare test_contains test_decorators test_defaultdict
test_deque test_dictviews test_dynamicclassattribute test_enumerate test_exception_group
test_except_star test_extcall test_funcattrs test_grammar test_generator_stop test_global
test_hash test_index test_isinstance test_keywordonlyarg test_long test_metaclass test_named_expressions
test_opcodes test_ordered_dict test_positional_only_arg test_pow test_raise test_richcmp
test_string_literals test_structseq test_subclassinit test_textwrap test_types test_typechecks
test_userdict test_userlist test_userstring test_weakref test_weakset test_yield_from test_abc
test_abstract_numbers test_array test_bytes test_pprint test_reprlib test_json test_struct
test_datetime test_strtod test_numeric_tower test_graphlib test_pickle test_copyreg test_re
""".split()

# Quick ones in which nothing may differ: at most three minutes in both modes.
CI = """
test_generators test_with test_scope test_unpack test_unpack_ex test_listcomps test_setcomps
test_dictcomps test_genexps test_exceptions test_named_expressions test_raise test_property test_string
test_heapq test_bool
""".split()


def _read(path: Path) -> list[tuple[str, str, str, str, str]]:
    rows = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            where, _, reason = line.partition("|")
            versions, mode, module, test = where.split()
            rows.append((versions, mode, module, test, reason.strip()))
    return rows


def exceptions(of: str) -> list[str]:
    """The patterns of exceptions-OF.txt, where each has a reason behind a bar."""
    lines = Path(__file__).with_name(f"exceptions-{of}.txt").read_text().splitlines()
    return [line.partition("|")[0].strip() for line in lines if line and not line.startswith("#")]


EXCEPTIONS = _read(Path(__file__).with_name("exceptions.txt"))


VERSION = ".".join(map(str, sys.version_info[:2]))


def exception_for(mode: str, module: str, test: str, version: str = VERSION) -> str:
    """Why this test may differ; empty: it may not."""
    for versions, its_mode, its_module, pattern, reason in EXCEPTIONS:
        if (
            (versions == "*" or version in versions.split(","))
            and its_mode in ("*", mode)
            and fnmatchcase(module, its_module)
            and fnmatchcase(test, pattern)
        ):
            return reason
    return ""
