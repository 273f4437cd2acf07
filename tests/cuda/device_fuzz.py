"""Random programs over CuPy arrays (device_programs.py), compiled and plain.

python tests/cuda/device_fuzz.py --programs 20000 --jobs 8     # many; a failing program is printed
python tests/cuda/device_fuzz.py --programs 5000 --sizes       # called with other lengths, too
python tests/cuda/device_fuzz.py --programs 2000 --devices     # with arrays of two devices

On a device plain is CuPy.  Without one kernels are executed on the CPU (executor.cpp), and plain is
what device_programs.py says that CuPy does; statements that end a graph are left out then, because
CuPy cannot run them.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import linecache
import os
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import device_programs as programs
import numpy as np
from build_executor import executor_environment, executor_folder

CHUNK = 100  # programs of one process
ORDER = (0, 0, 1, 2, 0)  # which arguments a program is called with
NO_CUPY = "cudaErrorCallRequiresNewerDriver"
# of each call: the current device, and those that arrays are on by turns
PLACES = ((0, 0, 0), (1, 1, 1), (0, 0, 1), (1, 0, 1), (1, 0, 0))
ONE_PLACE = ((0, 0, 0),) * len(ORDER)
LEAST = 0.6  # of the statements are compared: three quarters are at present
OPTIONS = {"recompile_limit": 1000, "plan_always": True}


def dynamic(draft):
    """Half of the programs that are called with other lengths have symbols in the first plan."""
    return True if programs.SIZES and draft.seed % 2 else None


def has_device():
    code = "import cupy; print(cupy.cuda.runtime.getDeviceCount())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.returncode == 0 and int(done.stdout) > 0


# ---- arrays ----


def octets(array):
    """The memory of an array that has it all, as bytes."""
    whole = array.T if array.flags.f_contiguous else array
    return whole.reshape(-1).view("u1")


class Arguments:
    """One set of a program's, in the memory of `library`."""

    def __init__(self, recipes, number, library, devices=(0, 0)):
        self.library, self.wholes, self.sizes, self.arrays = library, [], [], []
        *arrays, self.s0, self.s1 = programs.arguments(recipes, number)
        for i, array in enumerate(arrays):
            whole = octets(array if array.base is None else array.base)
            offset = array.ctypes.data - whole.ctypes.data
            self.sizes.append(whole.size)
            with library.on(devices[i % 2]):
                whole = library.memory(whole)
                self.wholes.append(whole)
                self.arrays.append(library.array(whole, offset, array))

    def all(self):
        return (*self.arrays, self.s0, self.s1)

    def place(self, value):
        """Whose memory the value has, and from where on."""
        address = self.library.address(value)
        for i, (whole, size) in enumerate(zip(self.wholes, self.sizes, strict=True)):
            begin = self.library.address(whole)
            if begin <= address < begin + size:
                return i, address - begin
        return None

    def told(self, value):
        """What a program sees of a result."""
        host = self.library.host(value)
        strides = self.library.strides(value)
        steps = [s for s, n in zip(strides, host.shape, strict=True) if n > 1]
        same = [i for i, array in enumerate(self.arrays) if array is value]
        place = self.place(value) if host.size else None
        return str(host.dtype), host.shape, steps, same, place, octets(host.copy()).tobytes()

    def memories(self):
        return [self.library.host(whole).tobytes() for whole in self.wholes]


class ByNumpy:
    """What device_programs.py says that CuPy does."""

    xp = programs.Plain()

    @staticmethod
    def on(_device):
        return contextlib.nullcontext()

    @staticmethod
    def wait():
        """There is nothing to wait for."""

    @staticmethod
    def memory(whole):
        return programs.Array(whole.copy())

    @staticmethod
    def array(whole, offset, like):
        whole = whole.a
        return programs.Array(np.ndarray(like.shape, like.dtype, whole, offset, like.strides))

    @staticmethod
    def address(value):
        return value.a.ctypes.data

    @staticmethod
    def owner(value):
        array = value.a
        while isinstance(array.base, np.ndarray):
            array = array.base
        return id(array)

    @staticmethod
    def strides(value):
        return value.a.strides

    @staticmethod
    def host(value):
        return value.a


class ByCupy:
    """CuPy's arrays, on the device or with the executor."""

    def __init__(self):
        self.deviceless = None
        if "EXECUTOR_KERNELS" in os.environ:
            import deviceless

            views = {n: getattr(deviceless.cp.ndarray, n) for n in ("reshape", "ravel")}
            import calls_on_executor

            self.deviceless = deviceless
            stand_in(calls_on_executor, views)
        import cupy

        self.xp = cupy
        self.let_devices_read()

    def on(self, device):
        return contextlib.nullcontext() if self.deviceless else self.xp.cuda.Device(device)

    def let_devices_read(self):
        """Each device the memory of the others: CuPy asks for that in some of its kernels only."""
        devices = () if self.deviceless else range(self.xp.cuda.runtime.getDeviceCount())
        for device, other in itertools.permutations(devices, 2):
            with self.on(other):
                array = self.xp.ones(1)
            with self.on(device):
                array + 1

    def wait(self):
        """A device's stream does not wait for another's."""
        for device in () if self.deviceless else range(self.xp.cuda.runtime.getDeviceCount()):
            self.xp.cuda.Device(device).synchronize()

    def memory(self, whole):
        if self.deviceless is None:
            return self.xp.asarray(whole)
        made = np.empty(whole.size + 256, "u1")
        begin = -made.ctypes.data % 256
        made[begin : begin + whole.size] = whole
        return self.deviceless.device(made[begin : begin + whole.size])

    def array(self, whole, offset, like):
        return self.xp.ndarray(like.shape, like.dtype, whole.data + offset, like.strides)

    def address(self, value):
        return value.data.ptr

    def owner(self, value):
        return id(value.data.mem)

    def strides(self, value):
        return value.strides

    def host(self, value):
        return self.deviceless.host(value) if self.deviceless else value.get(order="C")


def stand_in(calls, views):
    """NumPy's functions stand in for CuPy's that a plan may call; `take` takes places modulo the length."""

    def take(a, indices, axis=None):
        return np.take(a, indices, axis, mode="wrap")

    def in_order(function):
        return lambda *args, **kwargs: np.asarray(function(*args, **kwargs), order="C")

    cp = calls.cp
    cp.take, cp.ndarray.take = calls.by_numpy("take", take), calls.by_numpy(".take", take)
    for name in ("cumsum", "concatenate"):
        setattr(cp, name, calls.by_numpy(name, in_order(getattr(np, name))))
    cp.ndarray.cumsum = calls.by_numpy(".cumsum", in_order(np.ndarray.cumsum))
    for name, method in views.items():
        setattr(cp.ndarray, name, view_or_copy(method, getattr(cp.ndarray, name)))
    cp.ndarray.__setitem__ = not_stored


def view_or_copy(method, copy):
    """CuPy's own method, or the other where that would start a kernel."""

    def call(self, *args):
        try:
            return method(self, *args)
        except RuntimeError:  # without a device
            return copy(self, *args)

    return call


def not_stored(*_args):
    raise RuntimeError("CuPy stores something itself")


# ---- one program ----


def function_of(text, xp):
    """Its function, with lines that messages show."""
    file = f"device-program-{abs(hash(text))}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"xp": xp}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def without_breaks(draft, ours):
    """The compiled function of the program without the statements that end its graph."""
    import pycompile

    while True:
        function = function_of(draft.text(), ours.xp)
        compiled = pycompile.compile(
            function, fullgraph=True, dynamic=dynamic(draft), options=OPTIONS
        )
        try:
            for number in range(programs.SETS):
                compiled(*Arguments(draft.recipes, number, ours).all())
            return compiled
        except pycompile.GraphBreakError as error:
            at = error.line - 1 - programs.HEAD.count("\n")
            if not 0 <= at < len(draft.lines):
                raise
            draft.drop(at)
        except Exception as error:  # a step is CuPy's own call, which the executor cannot run
            if NO_CUPY not in str(error) or not draft.lines:
                raise
            draft.drop(len(draft.lines) - 1)


def kin(values, library):
    """By result: the first one in the same memory, and how far away it is."""
    owners = [library.owner(value) for value in values]
    first = [owners.index(owner) for owner in owners]
    return [
        (k, library.address(value) - library.address(values[k]))
        if library.host(value).size
        else None
        for k, value in zip(first, values, strict=True)
    ]


def outcome(function, arguments):
    """What each result is; or what was raised."""
    try:
        with np.errstate(all="ignore"):
            try:
                values = function(*arguments.all())
            finally:
                arguments.library.wait()
            told = [arguments.told(value) for value in values]
            return [
                (*each, beside)
                for each, beside in zip(told, kin(values, arguments.library), strict=True)
            ]
    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
        return [type(error).__name__]


def differences(text, recipes, compiled, ours, plain, places):
    """What differs, as lines."""
    names = text.rpartition("return ")[2].rstrip(",\n").split(", ")
    function = function_of(text, plain.xp)
    for turn, (number, (current, *devices)) in enumerate(zip(ORDER, places, strict=True)):
        a, b = (Arguments(recipes, number, library, devices) for library in (plain, ours))
        ours.wait()
        with ours.on(current):
            wanted, made = outcome(function, a), outcome(compiled, b)
        pairs = [*zip(names, wanted, made, strict=False), ("results", len(wanted), len(made))]
        memories = zip(a.memories(), b.memories(), strict=True)
        pairs += [(f"memory of x{i}", x, y) for i, (x, y) in enumerate(memories)]
        lines = [f"{name}: plain {x}\n  compiled {y}" for name, x, y in pairs if x != y]
        if lines:
            return [f"at call {turn}, with arguments {number}", *lines]
    return []


def fails(draft, ours, plain, places=ONE_PLACE):
    """What is wrong with the program, as lines; on the executor statements go that end its graph."""
    import pycompile

    try:
        if ours.deviceless:
            compiled = without_breaks(draft, ours)
        else:
            function = function_of(draft.text(), ours.xp)
            compiled = pycompile.compile(function, dynamic=dynamic(draft), options=OPTIONS)
        return differences(draft.text(), draft.recipes, compiled, ours, plain, places)
    except Exception:
        return [traceback.format_exc()]


def smaller(draft, ours, plain, places):
    """The program with no statement that can go."""
    for at in range(len(draft.lines) - 1, -1, -1):
        fewer = programs.Draft(draft.seed)
        fewer.play(draft.lines[:at] + draft.lines[at + 1 :])
        if len(fewer.lines) < len(draft.lines) and fails(fewer, ours, plain, places):
            return smaller(fewer, ours, plain, places)
    return draft


def fuzz(first, count, sizes=False, devices=False):
    """Returns how many of the programs fail, which are printed; `sizes`: called with other lengths,
    `devices`: with arrays of two devices.
    """
    import pycompile

    places = PLACES if devices else ONE_PLACE

    programs.SIZES = sizes
    ours = ByCupy()
    plain = ByNumpy() if ours.deviceless else ours
    failed = drafted = kept = 0
    for seed in range(first, first + count):
        draft = programs.draft(seed)
        drafted += len(draft.lines)
        found = fails(draft, ours, plain, places)
        kept += len(draft.lines)
        pycompile.reset()
        if not found:
            continue
        failed += 1
        if "Illegal" in found[0] or "ILLEGAL" in found[0]:  # nothing runs any more
            print(f"---- program {seed}, {draft.recipes}\n{draft.text()}\n  {found[0]}", flush=True)
            break
        draft = smaller(draft, ours, plain, places)
        told = "\n  ".join(line[:3000] for line in fails(draft, ours, plain, places)[:8])
        print(f"---- program {seed}, {draft.recipes}\n{draft.text()}\n  {told}", flush=True)
    print(f"{kept} of {drafted} statements", flush=True)
    enough = count < CHUNK or kept >= LEAST * drafted
    assert enough, "too many statements end their graph: nothing is compared"
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=CHUNK)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sizes", action="store_true", help="call with other lengths, too")
    parser.add_argument("--devices", action="store_true", help="with arrays of two devices")
    parser.add_argument("--seconds", type=float, default=1e9, help="none is begun later")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return fuzz(options.first, options.programs, options.sizes, options.devices) > 0
    with tempfile.TemporaryDirectory() as cache:
        return many(options, cache) > 0


def many(options, cache):
    """Returns how many processes found something, or ended before they should."""
    cache = os.environ.get("PYCOMPILE_CACHE_DIR", cache)
    here, env = None, {**os.environ, "PYCOMPILE_CACHE_DIR": cache}
    if not has_device():
        here = executor_folder(cache)
        env = executor_environment(here, cache)
    env |= {"PYCOMPILE_SAMPLE": "0", "PYTHONHASHSEED": "0"}
    if options.devices:  # CuPy does not order copies between devices among kernels
        env["CUDA_LAUNCH_BLOCKING"] = "1"

    end = time.monotonic() + options.seconds

    def apart(first):
        count = min(CHUNK, options.first + options.programs - first)
        if time.monotonic() > end:
            return 0, 0, ""
        command = [sys.executable, "-P", str(Path(__file__).absolute()), "--here"]
        command += ["--first", str(first), "--programs", str(count), *["--sizes"] * options.sizes]
        command += ["--devices"] * options.devices
        try:
            done = subprocess.run(
                command, env=env, cwd=here, capture_output=True, text=True, timeout=1200
            )
        except subprocess.TimeoutExpired:
            return -1, count, "it took too long"
        told = done.stdout[-20000:]
        return done.returncode, count, done.stderr[-4000:] + told if done.returncode else told

    failed = statements = made = 0
    starts = range(options.first, options.first + options.programs, CHUNK)
    with ThreadPoolExecutor(options.jobs) as pool:
        for first, (status, count, told) in zip(starts, pool.map(apart, starts), strict=True):
            failed += status != 0
            made += count
            last = told.strip().rpartition("\n")[2].split()
            statements += int(last[0]) if last[-1:] == ["statements"] else 0
            if status != 0:
                print(f"---- programs from {first} on ended with {status}\n{told}", flush=True)
    place = "with the executor" if here else "on the device"
    print(f"{made} programs of {statements} statements {place}: ", end="")
    print(f"{failed} of {len(starts)} processes with a difference")
    return failed


if __name__ == "__main__":
    sys.exit(main())
