# make · demo · test · test-quick · test-gpu · test-aarch64 · bench-gpu · golden · conformance · conformance-table · conformance-numpy · conformance-hips · conformance-jax · conformance-mygrad · bench · bench-picture · bench-table · bench-derivatives · bench-programs · docs · recipes · fmt · check · asan · ubsan · leaks · clean
#
# Each target sets itself up: a virtual environment .venv-X.Y of the project's own, the packages it
# needs, the extension module.  PYTHON chooses the interpreter, VENV an environment that exists,
# TESTS what pytest runs, JOBS in how many processes, KERNELS where the tests keep compiled kernels,
# PEERS what the benchmarks compare with.

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
    $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
endif
ifeq ($(PYTHON),)
$(error needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python)
endif

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV ?= .venv-$(VERSION)
PY := $(VENV)/bin/python
TESTS ?= tests
JOBS ?= auto
KERNELS ?= $(CURDIR)/build/kernels
PEERS ?= numpy
# conformance: module names, or ci, language, all; normal, all; more options of python -m conformance
MODULES ?= all
MODE ?= normal,all
CC ?= cc
comma := ,

# The sources of this folder come first, whatever else is installed; -P: only because we say so.
RUN := PYTHONPATH=$(CURDIR) $(PY) -P
PIP := $(PY) -m pip --disable-pip-version-check install -q
C_FILES = $(shell find csrc benchmarks -name '*.[ch]')

.PHONY: build demo test test-quick test-gpu test-aarch64 bench-gpu golden conformance conformance-table conformance-numpy conformance-hips conformance-jax conformance-mygrad bench bench-picture bench-picture-drawn bench-table bench-derivatives bench-programs docs recipes fmt check asan ubsan leaks clean
.DEFAULT_GOAL := build

# ---- what the targets stand on ----

$(PY):
	$(PYTHON) -m venv $(VENV)

# One stamp per set of packages; made again when the lists in pyproject.toml change.
STAMP = $(VENV)/.pycompile
$(STAMP)-base: pyproject.toml | $(PY)
	$(PIP) "setuptools>=77" wheel "numpy>=2.0"
	@touch $@
$(STAMP)-test: $(STAMP)-base
	$(PIP) "pytest>=8" "pytest-xdist>=3.5" "hypothesis>=6.100" "cloudpickle>=3" "joblib>=1.4"
	-$(PIP) nvidia-cuda-nvrtc cupy-cuda13x ml_dtypes # tests/cuda: kernels are compiled and executed without a device
	@touch $@
$(STAMP)-demo: $(STAMP)-base
	$(PIP) "matplotlib>=3.8" "scikit-learn>=1.4"
	@touch $@
$(STAMP)-check: $(STAMP)-base
	$(PIP) "ruff==0.17.6" "mypy==2.4.1" "clang-format==23.1.5"
	@touch $@
$(STAMP)-docs: $(STAMP)-base
	$(PIP) "mkdocs-material>=9.5"
	@touch $@
$(STAMP)-jax: $(STAMP)-base
	$(PIP) "jax>=0.10" absl-py
	@touch $@
$(STAMP)-mygrad: $(STAMP)-base
	$(PIP) "mygrad==2.5.0"
	@touch $@
# The benchmarks run with the peers that are there; those that are asked for are installed.
PACKAGES = $(filter-out numpy,$(subst $(comma), ,$(PEERS)))
$(STAMP)-bench-$(subst $(comma),-,$(PEERS)): $(STAMP)-base
	$(if $(strip $(PACKAGES)),$(PIP) $(PACKAGES))
	@touch $@

build: $(STAMP)-base
	$(PY) setup.py -q build_ext --inplace

# ---- what people ask for ----

demo: build $(STAMP)-demo
	$(RUN) examples/demo.py

# A kernel is compiled once for all tests, and not again in the next run: kernels are kept under all
# that decides about them.  `make clean`, or another KERNELS, for a run that compiles each.
PYTEST = PYCOMPILE_CACHE_DIR=$(KERNELS) $(RUN) -m pytest -n $(JOBS) --dist worksteal

test: build $(STAMP)-test $(STAMP)-demo
	$(PYTEST) --durations=10 $(TESTS)

# One case of each test that takes less than a second.
test-quick: build $(STAMP)-test $(STAMP)-demo
	$(PYTEST) --quick $(TESTS)

# On a machine with a CUDA device and CuPy, by the Python of GPU_PYTHON, for which the extension is built in
# place.
GPU_PYTHON ?= python3
GPU_PEERS ?=
test-gpu:
	$(GPU_PYTHON) setup.py -q build_ext --inplace
	PYTHONPATH=$(CURDIR) $(GPU_PYTHON) -P -m pytest tests/gpu tests/cuda

# Emulated, as root, with Debian's qemu-user, debootstrap and cross compiler.
test-aarch64: $(STAMP)-base
	PIP="$(PY) -m pip --disable-pip-version-check" tests/aarch64.sh build/aarch64 $(TESTS)

bench-gpu:
	$(GPU_PYTHON) setup.py -q build_ext --inplace
	XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONPATH=$(CURDIR) $(GPU_PYTHON) -P benchmarks/gpu.py --peers "$(GPU_PEERS)" --write docs/gpu.md

golden: build $(STAMP)-test
	PYCOMPILE_GOLDEN=rewrite $(RUN) -m pytest tests -k golden
	$(RUN) docs/make_graph_breaks.py
	$(RUN) docs/make_folders.py

# CPython's own tests, of the interpreter that the environment was made from.
conformance: build
	$(RUN) -m conformance --modules $(MODULES) --mode $(MODE) $(CONFORMANCE)

# docs/conformance-python.md out of what was run, on each version.
conformance-table: $(STAMP)-base
	$(RUN) -m conformance --table

conformance-numpy: build
	$(RUN) -m conformance.packages $(NUMPY_MODULES)

# HIPS autograd's tests against the derivatives.
conformance-hips: build
	$(RUN) -m conformance.hips

# JAX's cases of derivatives and batches, and MyGrad's functions, against ours.
conformance-jax: build $(STAMP)-jax
	$(RUN) -m conformance.jax_cases $(JAX_CASES)

conformance-mygrad: build $(STAMP)-mygrad
	$(RUN) -m conformance.mygrad_cases

bench: build $(STAMP)-demo $(STAMP)-bench-$(subst $(comma),-,$(PEERS))
	$(RUN) -m benchmarks --peers $(PEERS) $(BENCH)

# docs/bench.svg, and the times that README.md tells.  With the newest Python for which all of the peers are.
PICTURED = numba,jax,torch
bench-picture:
	$(MAKE) --no-print-directory PEERS=$(PICTURED) bench-picture-drawn
bench-picture-drawn: build $(STAMP)-bench-$(subst $(comma),-,$(PEERS))
	$(RUN) -m benchmarks.picture --write docs/bench.svg $(BENCH)

# docs/speed.md: every program that runs longer than 100 us, against plain NumPy.
bench-table: build $(STAMP)-demo $(STAMP)-test
	$(RUN) -m benchmarks.table --write docs/speed.md

# The table of docs/derivatives.md, by one thread.
bench-derivatives: build $(STAMP)-bench-jax
	OMP_NUM_THREADS=1 taskset -c 0 $(RUN) -m benchmarks.derivatives --write docs/derivatives.md $(BENCH)

# Whole programs from their first call on: exits with 1 where one is slower than it may be.
bench-programs: build $(STAMP)-demo
	$(RUN) -m benchmarks.programs $(BENCH)

# The pages as a site, in build/site.
docs: $(STAMP)-docs
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet --site-dir build/site
	@echo build/site/index.html

# The patches of docs/recipes: each is applied to a copy of the sources, which is built and tested.
recipes: $(STAMP)-test
	$(PY) docs/replay_recipes.py $(RECIPES)

fmt: $(STAMP)-check
	$(VENV)/bin/clang-format -i $(C_FILES)
	$(VENV)/bin/ruff check -q --fix-only .
	$(VENV)/bin/ruff format -q .

check: $(STAMP)-check
	$(VENV)/bin/clang-format --dry-run --Werror $(C_FILES)
	PYCOMPILE_BUILD_FLAGS=-Werror $(PY) setup.py -q build_ext --build-lib build/check
	$(PY) csrc/check_layers.py build
	$(VENV)/bin/ruff check -q .
	$(VENV)/bin/ruff format -q --check .
	$(VENV)/bin/mypy --python-executable $(PY)

# ---- sanitizers: the extension module and the kernels it makes ----

# With assertions, which verify graphs between passes.  What is worth the time under a sanitizer; leak detection is `leaks`, CPython's own exit leaks.
# ASan keeps freed memory.  Under UBSan gcc adds the operands of a sum the other way round, and with them goes the sign of a NaN.
# What a process that ended has said is printed at the end.  The C compiler is not looked at: it would take twice the time.
# It does not optimise either, so what fast numerics allow it is not seen.
SANITIZED ?= tests
UNFIT = not seen_soon and not fork and not test_fast.py and not recursion and not torch and not fuzz and not large and not memory_back and not (test_reductions_and_scans and d-)

define sanitize
	PYCOMPILE_BUILD_FLAGS="-fsanitize=$(1) -fno-omit-frame-pointer -UNDEBUG -O1" \
	    $(PY) setup.py -q build --build-base build/$(1) --build-lib build/$(1)/lib
	@$(PY) -m compileall -q build/$(1)/lib tests benchmarks examples # not by each process, watched
	@rm -f build/$(1)/said*
	LD_PRELOAD="$$($(CC) -print-file-name=$(2)) $$($(CC) -print-file-name=libstdc++.so.6)" \
	    $(3)=log_path=$(CURDIR)/build/$(1)/said:$(4) \
	    CC="$(CURDIR)/tests/unwatched_cc.sh -fsanitize=$(1)" UNWATCHED_CC="$(CC)" PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYCOMPILE_CACHE_DIR=$(KERNELS) \
	    PYTHONPATH=$(CURDIR)/build/$(1)/lib:$(CURDIR) $(PY) -P -m pytest -x -n $(JOBS) --dist worksteal --capture=sys \
	    --assert=plain -p no:cacheprovider -o pythonpath="tests tests/python tests/cuda" -k "$(UNFIT)" $(SANITIZED) \
	    || { cat build/$(1)/said* 2>/dev/null; exit 1; }
endef

asan: $(STAMP)-test
	$(call sanitize,address,libasan.so,ASAN_OPTIONS,detect_leaks=0:detect_odr_violation=0:allocator_may_return_null=1)

ubsan: $(STAMP)-test
	$(call sanitize,undefined,libubsan.so,UBSAN_OPTIONS,halt_on_error=1:print_stacktrace=1)

leaks: build $(STAMP)-test
	PYCOMPILE_LEAK_CALLS=350000 $(RUN) -m pytest tests/test_leaks.py

clean:
	rm -rf build dist out *.egg-info pycompile/*.so
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
