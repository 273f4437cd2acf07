"""Builds pycompile._C from csrc/.  Incremental: a source is compiled again only when it or a header changed.

PYCOMPILE_BUILD_FLAGS (such as -Werror or -fsanitize=address) go to the compiler and the linker; each
set of flags has objects of its own."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SOURCES = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.c"))
HEADERS = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.[hd]*"))

extra = os.environ.get("PYCOMPILE_BUILD_FLAGS", "").split()

FLAGS = [
    "-std=gnu11",
    "-O2",
    "-g1",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wundef",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
]


class IncrementalBuild(build_ext):
    """Compiles the sources in parallel and keeps objects that are newer than what they come from."""

    def finalize_options(self):
        super().finalize_options()
        if extra:
            self.build_temp += "-" + hashlib.sha1(" ".join(extra).encode()).hexdigest()[:8]

    def build_extension(self, ext):
        plain = self.compiler.compile
        newest_header = max(os.path.getmtime(ROOT / h) for h in HEADERS)

        def compile_one(source, arguments):
            (target,) = self.compiler.object_filenames([source], output_dir=arguments["output_dir"])
            if os.path.exists(target):
                built = os.path.getmtime(target)
                if built > newest_header and built > os.path.getmtime(source):
                    return target
            return plain([source], **arguments)[0]

        def compile_all(sources, **arguments):
            arguments.pop("depends", None)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                return list(pool.map(lambda source: compile_one(source, arguments), sources))

        self.compiler.compile = compile_all
        ext.depends = SOURCES + HEADERS
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "pycompile._C",
            SOURCES,
            include_dirs=[numpy.get_include()],
            define_macros=[
                ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
            ],
            extra_compile_args=FLAGS + extra,
            extra_link_args=["-ldl", "-lm", "-pthread", *extra],
        )
    ],
    cmdclass={"build_ext": IncrementalBuild},
)
