"""Builds pycompile._C from csrc/.  Incremental: a source is compiled again only when it or a header changed.

PYCOMPILE_BUILD_FLAGS (such as -Werror or -fsanitize=address) go to the compiler and the linker; each
set of flags has objects of its own."""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools._distutils.ccompiler import gen_preprocess_options
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

    def is_built(self, target, source):
        if not os.path.exists(target):
            return False
        built = os.path.getmtime(target)
        return built > self.newest_header and built > os.path.getmtime(source)

    def first_header(self, arguments):
        """base.h, and Python.h with it, compiled for the sources that start with it: a third of the
        time of each.  None with ccache, which does not keep what is made with such a header."""
        command = [*self.compiler.compiler_so, *arguments["extra_postargs"]]
        if "ccache" in command[0]:
            return None
        header = Path(self.build_temp) / "first.h"
        compiled = f"{header}.gch"
        if not self.is_built(compiled, ROOT / "csrc/base.h"):
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(f'#include "{ROOT / "csrc/base.h"}"\n')
            folders = [*arguments["include_dirs"], *self.compiler.include_dirs]
            options = gen_preprocess_options(arguments["macros"], folders)
            subprocess.run(
                [*command, *options, "-o", compiled, "-x", "c-header", str(header)], check=True
            )
        return str(header)

    def build_extension(self, ext):
        plain = self.compiler.compile
        self.newest_header = max(os.path.getmtime(ROOT / h) for h in HEADERS)

        def compile_one(source, arguments, first):
            (target,) = self.compiler.object_filenames([source], output_dir=arguments["output_dir"])
            if self.is_built(target, source):
                return target
            # Sources of csrc/python define more before they include Python.h.
            if first is not None and not source.startswith("csrc/python/"):
                flags = [*arguments["extra_postargs"], "-include", first]
                arguments = {**arguments, "extra_postargs": flags}
            return plain([source], **arguments)[0]

        def compile_all(sources, **arguments):
            arguments.pop("depends", None)
            first = self.first_header(arguments)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                return list(pool.map(lambda source: compile_one(source, arguments, first), sources))

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
