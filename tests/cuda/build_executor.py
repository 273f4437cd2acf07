"""Builds the executor (executor.cpp): a driver, an NVRTC and a cuBLASLt that work on the CPU."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent

# Kernels are many and small: what each is compiled with counts.  They find C's functions in the process.
KERNEL_OPTIONS = "-std=c++17 -O0 -w -fPIC -ffp-contract=off -fno-threadsafe-statics -nostdlib"


def executor_folder(cache):
    """The folder of the executor and of what it has compiled, in `cache`: for all processes."""
    options = ["-std=c++17", "-O1", "-fPIC"]
    version = subprocess.run(["g++", "--version"], capture_output=True, check=True).stdout
    key = hashlib.sha256(repr((version, options, KERNEL_OPTIONS)).encode())
    for name in ("device.h", "executor.cpp", "products.cpp"):
        key.update((HERE / name).read_bytes())
    folder = Path(cache).absolute() / f"executor-{key.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            _build(folder, options)
            (folder / "built").touch()
    return folder


def executor_environment(folder, cache, capability="90"):
    """For a process in the folder that imports deviceless.py; `cache`: of pycompile's own."""
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE), os.environ.get("PYTHONPATH", "")])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYCOMPILE_CACHE_DIR": str(cache),
        "EXECUTOR_CAPABILITY": capability,
        "EXECUTOR_KERNELS": str(folder),
    }


def _build(folder, options):
    shutil.copy(HERE / "device.h", folder)
    # device.h.gch, which g++ reads instead: a tenth of a kernel's time
    header = ["g++", *KERNEL_OPTIONS.split(), "-x", "c++-header", str(folder / "device.h")]
    subprocess.run(header, check=True)
    for source in ("executor", "products"):
        command = [
            "g++",
            *options,
            "-c",
            "-o",
            str(folder / f"{source}.o"),
            str(HERE / f"{source}.cpp"),
        ]
        command += [f'-DEXECUTOR_FOLDER="{folder}"', f'-DEXECUTOR_OPTIONS="{KERNEL_OPTIONS}"']
        subprocess.run(command, check=True)
    libraries = {"libcuda.so.1": "executor", "libnvrtc.so.13": "executor"}
    libraries["libcublasLt.so.13"] = "products"
    for name, source in libraries.items():
        command = ["g++", "-shared", f"-Wl,-soname,{name}", "-o", str(folder / name)]
        subprocess.run([*command, str(folder / f"{source}.o")], check=True)
