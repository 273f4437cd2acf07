#!/usr/bin/env bash
# Runs tests as on AArch64: Debian's Python 3.11 and NumPy's wheel under qemu-user, some 20 times as slow as the
# machine itself.  The extension and the kernels are built by a cross compiler, which is not emulated.
#
#     tests/aarch64.sh FOLDER [PYTEST-ARGUMENT ...]
#
# FOLDER keeps the emulated system.  Needs root, and Debian's qemu-user, debootstrap, unzip and
# gcc-aarch64-linux-gnu; PIP is the command of a pip (python3 -m pip).
set -eu
project=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
root=$folder/root site=$folder/site
read -ra pip <<<"${PIP:-python3 -m pip}"

if [ ! -e "$folder/complete" ]; then
    rm -rf "$root" "$site"
    debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,python3-dev bookworm "$root"
    for package in "$root"/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
    "${pip[@]}" download -q --only-binary=:all: --implementation cp --python-version 311 -d "$folder/wheels" \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
        "numpy>=2" "pytest>=8" "hypothesis>=6.100" "setuptools>=77"
    for wheel in "$folder"/wheels/*.whl; do unzip -qo "$wheel" -d "$site"; done
    # The tests start further Pythons by sys.executable.
    printf 'import sys\nsys.executable = "%s"\n' "$folder/python" >"$site/sitecustomize.py"
    cat >"$folder/python" <<END
#!/bin/sh
PYTHONPATH=$project:$project/tests:$site QEMU_LD_PREFIX=$root CC=$folder/cc \\
    exec qemu-aarch64 -L $root $root/usr/bin/python3.11 "\$@"
END
    cat >"$folder/cc" <<'END'
#!/bin/bash
# A cross compiler knows no native machine.
exec aarch64-linux-gnu-gcc "${@/#-mcpu=native/-mcpu=neoverse-n1}"
END
    chmod +x "$folder/python" "$folder/cc"
    touch "$folder/complete"
fi

cd "$project"
PYCOMPILE_BUILD_FLAGS="-Werror -UNDEBUG -idirafter$root/usr/include" "$folder/python" setup.py -q build_ext --inplace
PYCOMPILE_CACHE_DIR=${KERNELS:-$folder/kernels} exec "$folder/python" -P -m pytest -p no:cacheprovider -q "$@"
