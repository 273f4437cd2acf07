"""CUDA without a device: the text of kernels by NVRTC, and their execution on the CPU."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from build_executor import executor_environment, executor_folder

from pycompile import _C

HERE = Path(__file__).parent

SOFTMAX = """%0: f32@cuda[64,1000] = input(0)
%1: f32@cuda[64,1] = max(%0, axes=[1], keepdims)
%2: f32@cuda[64,1000] = subtract(%0, %1)
%3: f32@cuda[64,1000] = exp(%2)
%4: f32@cuda[64,1] = sum(%3, axes=[1], keepdims)
%5: f32@cuda[64,1000] = divide(%3, %4)
outputs %5
"""
CHAIN = """%0: f32@cuda[64,1000] = input(0)
%1: f32@cuda[64,1000] = input(1)
%2: float = input(2)
%3: f32 = cast(%2)
%4: f32@cuda[64,1000] = multiply(%0, %3)
%5: f32@cuda[64,1000] = add(%4, %1)
%6: bool@cuda[64,1000] = less(%5, %1)
outputs %5, %6
"""
WHOLE = """%0: f64@cuda[4096,4096] = input(0)
%1: f64@cuda[4096,4096] = square(%0)
%2: f64@cuda[] = sum(%1, axes=[0,1])
%3: f64@cuda[] = sqrt(%2)
outputs %3
"""
COLUMNS = """%0: i32@cuda[4096,100] = input(0)
%1: i64@cuda[4096,100] = cast(%0)
%2: i64@cuda[100] = sum(%1, axes=[0])
outputs %2
"""
BROADCAST = """%0: f32@cuda[100,300] = input(0)
%1: f32@cuda[300] = input(1)
%2: f32@cuda[100,300] = add(%0, %1)
outputs %2
"""
WIDE = """%0: u8@cuda[3000000000] = input(0)
%1: u8@cuda[3000000000] = invert(%0)
outputs %1
"""
ATTENTION = """%0: bf16@cuda[2,3,1000,64] = input(0)
%1: bf16@cuda[2,3,999,64] = input(1)
%2: bf16@cuda[2,3,999,64] = input(2)
%3: bf16@cuda[2,3,64,999]{383616,127872,2,128} = transpose(%1, axes=[0, 1, 3, 2])
%4: f32 = const(0.125)
%5: f32 = const(-inf)
%9: bf16@cuda[2,3,1000,64] = attention(%0, %3, %2, %4, %5) {
  params %6: f32@cuda[2,3,1000,999], %7: i64@cuda[2,3,1000,999], %8: i64@cuda[2,3,1000,999]
  %10: bool@cuda[2,3,1000,999] = greater_equal(%7, %8)
  %11: f32@cuda[2,3,1000,999] = multiply(%6, %4)
  %12: f32@cuda[2,3,1000,999] = where(%10, %11, %5)
  results %12
}
outputs %9
"""
WIDE_HEADS = (
    ATTENTION.replace("64]", "128]")
    .replace(",64,", ",128,")
    .replace("{383616,127872,2,128}", "{767232,255744,2,256}")
)
NARROW_HEADS = (
    ATTENTION.replace("64]", "32]")
    .replace(",64,", ",32,")
    .replace("{383616,127872,2,128}", "{191808,63936,2,64}")
)
GATHER = """%0: f16@cuda[5,6,8] = input(0)
%1: i32@cuda[3,4] = input(1)
%2: f16@cuda[5,3,4,8]{96,0,0,2} = as_strided(%0)
%3: i32@cuda[3,4] = negative(%1)
%4: i32@cuda[3,4,1] = as_strided(%3)
%5: f16@cuda[5,3,4,8] = gather(%2, %4, ints=[6, 16])
%6: bool@cuda[9] = input(2)
%7: i64@cuda[20] = input(3)
%8: bool@cuda[20]{0} = as_strided(%6)
%9: bool@cuda[20] = gather(%8, %7, ints=[9, 1])
outputs %5, %9
"""
SCANS = """%0: f32@cuda[4096,1000] = input(0)
%1: f32@cuda[4096,1000] = cumsum(%0, axis=1)
%2: f32@cuda[4096,1000] = cumsum(%0, axis=0)
%3: i16@cuda[9999999] = input(1)
%4: i64@cuda[9999999] = cumprod(%3, axis=0)
%5: f16@cuda[5,33,7] = input(2)
%6: f16@cuda[5,33,7] = cumsum(%5, axis=1)
outputs %1, %2, %4, %6
"""
PLACES = """%0: f32@cuda[4096,1000] = input(0)
%1: i64@cuda[4096] = argmax(%0, axes=[1])
%2: i64@cuda[1000] = argmin(%0, axes=[0])
%3: i64@cuda[] = argmax(%0, axes=[0,1])
%4: bool@cuda[9999999] = input(1)
%5: i64@cuda[] = argmin(%4, axes=[0])
%6: f64@cuda[3000000000] = input(2)
%7: i64@cuda[] = argmin(%6, axes=[0])
outputs %1, %2, %3, %5, %7
"""
PRODUCT = """%0: f16@cuda[24,16] = input(0)
%1: f16@cuda[16,40] = input(1)
%2: f16@cuda[40] = input(2)
%3: f16@cuda[24,40] = product(%0, %1, %2, epilogue=9)
%4: f16@cuda[24,40] = sqrt(%3)
outputs %4
"""
TURNED = """%0: f32@cuda[8192,4096] = input(0)
%1: f32@cuda[4096,8192] = input(1)
%2: f32@cuda[4096,8192]{4,16384} = as_strided(%0)
%3: f32@cuda[4096,8192] = add(%2, %1)
outputs %3
"""
TURNED_TWICE = """%0: f64@cuda[5,300,100] = input(0)
%1: f16@cuda[100,5,301] = input(1)
%2: bool@cuda[100,301] = input(2)
%3: f64@cuda[300,5,100]{800,240000,8} = as_strided(%0)
%4: f16@cuda[300,5,100]{2,602,3010} = as_strided(%1)
%5: bool@cuda[300,5,100]{1,0,301} = as_strided(%2)
%6: f64@cuda[300,5,100] = cast(%4)
%7: f64@cuda[300,5,100] = where(%5, %3, %6)
outputs %7
"""
GRAPHS = [
    TURNED,
    TURNED_TWICE,
    GATHER,
    SCANS,
    PLACES,
    PRODUCT,
    ATTENTION,
    SOFTMAX,
    CHAIN,
    WHOLE,
    COLUMNS,
    BROADCAST,
    WIDE,
]


def all_operations():
    """Graphs with every operation that has a CUDA expression, for each of its dtypes."""
    names = {
        "b": ["bool"],
        "i": ["i8", "u16", "i32", "u64"],
        "r": ["f32", "f64"],
        "h": ["f16", "bf16"],
        "c": ["c64", "c128"],
    }
    for dtype in (name for letter in "bihrc" for name in names[letter]):
        lines = [f"%{k}: {dtype}@cuda[100] = input({k})" for k in range(3)]
        lines.append("%3: bool@cuda[100] = input(3)")
        outputs = []
        for op in _C.op_table():
            if op["kind"] != 2 or not any(dtype in names[letter] for letter in op["on"]):
                continue
            number = len(lines)
            kind = "bool" if op["flags"] & 8 else dtype
            args = ["%0", "%1", "%2"][: op["arity"]]
            if op["name"] == "where":
                args = ["%3", "%0", "%1"]
            if op["name"] == "cast":
                kind = {"f64": "i64", "c64": "c128", "c128": "c64"}.get(dtype, "f64")
            if op["name"] == "absolute" and dtype in names["c"]:
                kind = "f32" if dtype == "c64" else "f64"
            lines.append(f"%{number}: {kind}@cuda[100] = {op['name']}({', '.join(args)})")
            outputs.append(f"%{number}")
        yield "\n".join(lines) + f"\noutputs {', '.join(outputs)}\n"


needs_nvrtc = pytest.mark.skipif(_C.cuda_info()["nvrtc"] == (0, 0), reason="no NVRTC")


@needs_nvrtc
@pytest.mark.parametrize(
    "graph, arch",
    [
        *((graph, arch) for graph in GRAPHS for arch in ("sm_80", "sm_90", "sm_100")),
        *((graph, "sm_80") for graph in all_operations()),
    ],
)
def test_nvrtc_compiles(graph, arch):
    _, source = _C.lower_cuda(graph)
    cubin, log = _C.cuda_compile(source, arch)
    assert cubin is not None, log
    assert cubin.count(b"\x7fELF") == 1


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    "op, number, hidden",
    [
        ("multiply", "1.0", True),
        ("divide", "1.0", True),
        ("subtract", "0.0", True),
        ("add", "-0.0", True),
        ("multiply", "2.0", False),
        ("subtract", "-0.0", False),
        ("add", "0.0", False),
    ],
)
def test_a_neutral_number_is_an_operand(dtype, op, number, hidden):
    """Else the compiler leaves the operation out, which makes subnormals zero and NaNs the same."""
    source = _C.lower_cuda(
        f"%0: {dtype}@cuda[99] = input(0)\n%1: {dtype} = const({number})\n"
        f"%2: {dtype}@cuda[99] = {op}(%0, %1)\noutputs %2\n"
    )[1]
    assert (source.count("unknown(v1)") == 1 or source.count("unknown(s1)") == 1) == hidden, source
    if _C.cuda_info()["nvrtc"] != (0, 0):
        cubin, log = _C.cuda_compile(source, "sm_90")
        assert cubin is not None, log


# As NVRTC writes them; the assembler of CUDA 13.0 forgets the minus in the first three.
MINUS = {
    "\tneg.s32 \t%r5, %r3;\n\tmax.s32 \t%r6, %r2, %r5;\n\tmax.s32 \t%r7, %r6, %r4;": True,
    "\tneg.s16 \t%rs4, %rs2;\n\tmin.s16 \t%rs5, %rs4, %rs1;": True,
    "\tneg.s64 \t%rd1, %rd2;\nL:\n\tcvt.u32.u64 \t%r1, %rd1;\n\tselp.b32 \t%r9, %r1, 3, %p1;\n"
    "\tmax.s32 \t%r3, %r9, %r2;": True,
    "\tneg.s32 \t%r5, %r3;\n\tmax.s32 \t%r6, %r2, %r55;": False,
    "\tneg.s32 \t%r5, %r3;\n\tmax.s64 \t%rd6, %rd2, %r5;": False,
    "\tneg.s32 \t%r5, %r3;\n}\n.entry b()\n{\n\tmax.s32 \t%r6, %r2, %r5;": False,
    "\tneg.f32 \t%f5, %f3;\n\tmax.f32 \t%f6, %f2, %f5;": False,
}


@pytest.mark.parametrize("body", MINUS)
def test_a_minus_that_an_assembler_may_forget_is_found(body):
    assert _C.cuda_minus_may_go(f".visible .entry a()\n{{\n{body}\n}}\n") == MINUS[body]


@pytest.mark.slow
@needs_nvrtc
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("graph", [ATTENTION, WIDE_HEADS, NARROW_HEADS])
def test_nvrtc_compiles_attention_for_hopper(graph, dtype):
    schedule, source = _C.lower_cuda(graph.replace("bf16", dtype), False, 90)
    assert "by the copy engine" in schedule
    assert "wgmma" in source
    cubin, log = _C.cuda_compile(source, "sm_90a")
    assert cubin is not None, log


def test_attention_takes_the_copy_engine_on_hopper_only():
    for capability in (0, 80, 89, 100, 120):
        schedule, source = _C.lower_cuda(ATTENTION, False, capability)
        assert "copy engine" not in schedule
        assert "mma.sync" in source
        assert "wgmma" not in source


@pytest.mark.slow
@needs_nvrtc
def test_kernels_are_compiled_side_by_side():
    lines = [f"%{k}: f32@cuda[{9 + k},{9 + k}] = input({k})" for k in range(4)]
    for k, operation in enumerate(("sum", "max", "min", "prod")):
        lines.append(f"%{4 + k}: f32@cuda[{9 + k}] = {operation}(%{k}, axes=[1])")
    _, source = _C.lower_cuda("\n".join(lines) + "\noutputs %4, %5, %6, %7\n")
    assert source.count("__global__") == 4
    for parts, wanted in ((1, 1), (3, 3), (8, 4), (100, 4)):
        image, log = _C.cuda_compile(source, "sm_90", parts)
        assert image is not None, log
        assert image.count(b"\x7fELF") == wanted
        for k in range(4):
            assert f".text.k{k}\0".encode() in image
    image, log = _C.cuda_compile(source.replace("float a", "flat a"), "sm_90", 3)
    assert image is None
    assert "flat" in log


@pytest.mark.slow
@needs_nvrtc
@pytest.mark.parametrize(
    "dtype, summed", [("f32", "f32"), ("i8", "i64"), ("f16", "f32"), ("f64", "f64")]
)
def test_many_sums_of_columns_fit_shared_memory(dtype, summed):
    lines = [f"%0: {dtype}@cuda[4096,1024] = input(0)", f"%1: {summed}@cuda[4096,1024] = cast(%0)"]
    if dtype == summed:
        lines[1] = f"%1: {summed}@cuda[4096,1024] = positive(%0)"
    for k in range(16):
        lines.append(f"%{2 + 2 * k}: {summed}@cuda[4096,1024] = add(%{2 * k if k else 1}, %1)")
        lines.append(f"%{3 + 2 * k}: {summed}@cuda[1024] = sum(%{2 + 2 * k}, axes=[0])")
    outputs = ", ".join(f"%{3 + 2 * k}" for k in range(16))
    schedule, source = _C.lower_cuda("\n".join(lines) + f"\noutputs {outputs}\n")
    assert schedule.count("reduce sum") == 16
    cubin, log = _C.cuda_compile(source, "sm_90")
    assert cubin is not None, log


def test_a_product_is_a_step_without_text():
    schedule, source = _C.lower_cuda(PRODUCT)
    assert "product k0 b0, b1 -> b2; b3, 1 of [24,16] by [16,40], row added, gelu" in schedule
    assert source.count("__global__") == 1


def test_a_gather_of_another_length_has_the_same_text():
    longer = GATHER.replace("bool@cuda[9] =", "bool@cuda[8] =").replace(
        "ints=[9, 1]", "ints=[8, 1]"
    )
    assert _C.lower_cuda(longer)[1] == _C.lower_cuda(GATHER)[1]
    assert _C.lower_cuda(longer)[0] != _C.lower_cuda(GATHER)[0]


def test_every_operation_has_text():
    for graph in all_operations():
        schedule, source = _C.lower_cuda(graph)
        assert "on cuda" in schedule
        assert "__global__" in source


def test_schedules():
    assert "64 lanes" in _C.lower_cuda(SOFTMAX)[0]
    assert "32 lanes" in _C.lower_cuda(SOFTMAX.replace("1000", "500"))[0]
    assert "parts, combined by 1 blocks" in _C.lower_cuda(WHOLE)[0]
    assert "packs of 4" in _C.lower_cuda(CHAIN)[0]
    assert "tiles of 64 along loop 0 in packs of 4" in _C.lower_cuda(TURNED)[0]
    assert _C.lower_cuda(TURNED_TWICE)[0].count("{turned ") == 2
    narrow = TURNED.replace("8192", "31")
    assert "tiles of" not in _C.lower_cuda(narrow)[0]
    assert "64-bit indices" in _C.lower_cuda(WIDE)[0]
    assert "long long" not in _C.lower_cuda(BROADCAST)[1].split(")\n{")[1]


def repeated(op, times, elements):
    """A chain of one operation and a sum, as a graph."""
    lines = [f"%0: f32@cuda[{elements}] = input(0)"]
    for k in range(times):
        lines.append(f"%{2 * k + 1}: f32@cuda[{elements}] = {op}(%{2 * k})")
        lines.append(f"%{2 * k + 2}: f32@cuda[{elements}] = add(%{2 * k + 1}, %0)")
    return "\n".join(lines) + f"\noutputs %{2 * times}\n"


def test_long_bodies_have_one_element_a_thread():
    for times, elements, each in (
        (1, 1000, 4),
        (50, 1000, 1),
        (8, 1000, 1),
        (8, 1_000_000, 4),
        (100, 1_000_000, 1),
    ):
        schedule, source = _C.lower_cuda(repeated("sqrt", times, elements))
        assert f", {each} elements a thread" in schedule
        assert source.count("sqrt(") == times  # the body is there once


def test_long_operations_are_functions_where_there_are_many():
    for times in (2, 3):
        _, source = _C.lower_cuda(repeated("sin", times, 1000))
        assert source.count("__noinline__") == (times > 2)
        assert source.count("= sin_of_float(") == (times if times > 2 else 0)
    _, source = _C.lower_cuda(repeated("exp", 9, 1000))
    assert "__noinline__" not in source
    _, source = _C.lower_cuda(repeated("exp", 9, 1000).replace("f32", "f64"))
    assert source.count("__noinline__") == 1


def components(count, sizes=(1000,), shared=False):
    """Graphs of the same operations on arrays of their own."""
    lines = [f"%{k}: f32@cuda[{sizes[k % len(sizes)]}] = input({k})" for k in range(count)]
    outputs = []
    for k in range(count):
        at, size = len(lines), sizes[k % len(sizes)]
        other = 0 if shared else k
        lines.append(f"%{at}: f32@cuda[{size}] = sqrt(%{k})")
        lines.append(f"%{at + 1}: f32@cuda[{size}] = add(%{at}, %{other})")
        outputs.append(f"%{at + 1}")
    return "\n".join(lines) + f"\noutputs {', '.join(outputs)}\n"


@pytest.mark.parametrize(
    "graph, launches, members",
    [
        (components(2), 1, None),  # in one kernel, as a chain would be
        (components(3), 1, 3),
        (components(60), 1, 60),
        (components(60, range(900, 960)), 1, 60),
        (components(200, range(900, 1100)), 2, 166),  # of 4,000 bytes of arguments each
        (components(9, (1000, 100_000)), 1, 9),
        (components(9, shared=True), 1, None),
    ],
)
def test_kernels_that_are_launched_together(graph, launches, members):
    schedule, source = _C.lower_cuda(graph)
    assert schedule.count("kernel k") == source.count("__global__") == launches
    assert (f", {members} launched together" in schedule) == (members is not None)
    assert ("Table<" in source) == (members is not None)
    if _C.cuda_info()["nvrtc"] != (0, 0):
        cubin, log = _C.cuda_compile(source, "sm_90")
        assert cubin is not None, log


def test_a_group_is_of_one_device():
    graph = "%0: f32[9] = input(0)\n%1: f32@cuda[9] = input(1)\n%2: f32[9] = sqrt(%0)\n%3: f32@cuda[9] = sqrt(%1)\noutputs %2, %3\n"
    schedule, cuda = _C.lower_cuda(graph)
    _, c = _C.lower_graph(graph)
    assert schedule.count("kernel k") == 2
    assert "k1(" in cuda
    assert "k0(" not in cuda
    assert "k0(" in c
    assert "k1(" not in c


def test_a_group_is_of_one_of_several_devices():
    graph = (
        "%0: f32@cuda[9] = input(0)\n%1: f32@cuda:3[9] = input(1)\n%2: f32@cuda[9] = sqrt(%0)\n"
        "%3: f32@cuda:3[9] = sqrt(%1)\noutputs %2, %3\n"
    )
    schedule, cuda = _C.lower_cuda(graph)
    assert schedule.count("kernel k") == 2
    assert "on cuda:3 1: f32[9]" in schedule
    assert cuda.count("__global__") == 2


@pytest.fixture(scope="module")
def executor():
    """The folder of the executor and of what it has compiled: for all workers, and kept with other kernels."""
    pytest.importorskip("cupy")
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler")
    return executor_folder(os.environ["PYCOMPILE_CACHE_DIR"])


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.parametrize(
    "tests",
    [
        "on_executor.py",
        "graphs_on_executor.py",
        "bfloat_on_executor.py",
        "calls_on_executor.py",
        "collectives_on_executor.py",
        "derivatives_on_executor.py",
        "devices_on_executor.py",
        "attention_on_executor.py",
        "attention_on_executor.py 80",
        "attention_back_on_executor.py",
        "products_on_executor.py",
        "gathers_on_executor.py",
        "found_on_executor.py",
        "puts_on_executor.py",
        "ranks_on_executor.py",
        "sizes_on_executor.py",
        "turned_on_executor.py",
        "views_on_executor.py",
        "writes_on_executor.py",
    ],
)
def test_on_the_executor(executor, tmp_path, tests):
    tests, _, capability = tests.partition(" ")
    if tests.startswith(("bfloat", "attention", "derivatives")):
        pytest.importorskip("ml_dtypes")
    if tests == "ranks_on_executor.py":
        pytest.importorskip("distributed")
    env = executor_environment(executor, tmp_path, capability or "90")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(HERE / tests),
    ]
    done = subprocess.run(command, env=env, cwd=executor, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


# Random programs, no two alike: 1,200 in .ci/run, all with the newest Python.
PROGRAMS = min(int(os.environ.get("PYCOMPILE_FUZZ", "250")), 250) * 24 // 5
FIRST = (sys.version_info.minor - 11) * PROGRAMS


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, 100))
def test_programs_cannot_be_told_from_cupy(executor, tmp_path, first):
    env = executor_environment(executor, tmp_path)
    command = [sys.executable, str(HERE / "device_fuzz.py"), "--here", "--first", str(first)]
    command += ["--programs", "100", *["--sizes"] * (first == FIRST + 100)]
    done = subprocess.run(command, env=env, cwd=executor, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


NOT_IN_PROGRAMS = {
    *("std", "var"),  # rounded as no model says for all arrays
    *("amax", "amin"),  # as max and min
    *("conj", "conjugate"),  # of complex numbers
}


def test_programs_call_each_rule_of_a_device():
    rules = (
        (HERE.parents[1] / "csrc/capture/numpy/device.c").read_text().partition("rules[] = {")[2]
    )
    names = re.findall(r'^    (?:REDUCE\(|\{)"(\w+)"', rules, re.MULTILINE)
    called = (HERE / "device_programs.py").read_text().partition("# ---- arguments")[2]
    missing = {name for name in names if not re.search(rf"\b{name}\b", called)}
    assert missing == NOT_IN_PROGRAMS


LARGEST_FOR_SUM = """
import device_fuzz
from device_programs import Array
Array.sum = Array.max
raise SystemExit(device_fuzz.fuzz(0, 30))
"""


@pytest.mark.slow
def test_programs_find_a_wrong_sum(executor, tmp_path):
    env = executor_environment(executor, tmp_path)
    command = [sys.executable, "-c", LARGEST_FOR_SUM]
    done = subprocess.run(command, env=env, cwd=executor, capture_output=True, text=True)
    assert done.returncode > 0 and "compiled" in done.stdout, done.stderr[-3000:]
