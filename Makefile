# Everything runs in .venv, which is made on the first call and brought up to date whenever pyproject.toml changes.

# The first interpreter that is new enough; `make PYTHON=/path/to/python test` overrides it.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
BIN := .venv/bin

.PHONY: demo test test-random test-paths test-references test-thirdparty test-foreign test-peers fuzz lint format bench clean help
.NOTPARALLEL:

help:
	@echo "make demo             train the hybrid lynx and hare model on the Hudson Bay Company's pelts"
	@echo "make test             run the tests and the doctests"
	@echo "make test-random      run the tests on random programs with all programs; make test draws a quarter of them"
	@echo "make test-paths       check every derivative rule on every path (eager, compiled) at generated arguments; an hour"
	@echo "make test-references  check the hand-written and the JAX versions of the benchmarks' programs; needs a C compiler"
	@echo "make test-thirdparty  differentiate third-party packages that know nothing of morula"
	@echo "make test-foreign     run the tests with functions of PyTorch and JAX; installs PyTorch"
	@echo "make test-peers       run the tests of HIPS/autograd with morula as the engine"
	@echo "make fuzz             test random programs, continuing from the last run; FUZZ='--help' lists the options"
	@echo "make lint             check style, formatting and types"
	@echo "make format           format the sources with ruff"
	@echo "make bench            time the eager and the compiled path against other libraries"
	@echo "make clean            remove .venv and everything that was built"

demo: .venv/installed-examples
	$(BIN)/python examples/lynx_hare.py

test: .venv/installed-test
	$(BIN)/pytest -n 2 --dist loadfile --ignore tests/thirdparty tests
	$(BIN)/pytest -n 2 --dist loadfile --doctest-modules src/morula docs

test-random: .venv/installed-test
	JAX_DISABLE_MOST_OPTIMIZATIONS=0 XLA_FLAGS= MORULA_TEST_RANDOM=all $(BIN)/pytest -n 2 --dist loadfile $$(grep -rl sample_sizes --include 'test_*.py' tests)

test-paths: .venv/installed-test
	JAX_DISABLE_MOST_OPTIMIZATIONS=0 XLA_FLAGS= $(BIN)/pytest -n 2 -m paths -o faulthandler_timeout=3000 tests/rules/test_every_path.py

test-references: .venv/installed-test .venv/installed-bench
	$(BIN)/pytest -n 2 -m references tests/test_benchmarks.py

test-thirdparty: .venv/installed-test .venv/installed-thirdparty
	$(BIN)/pytest -n 2 tests/thirdparty

test-foreign: .venv/installed-test .venv/installed-foreign
	$(BIN)/pytest -n 2 tests/foreign tests/test_readme.py

test-peers: .venv/installed-test
	PYTHONPATH=tests $(BIN)/python -m peers

fuzz: .venv/installed-test
	PYTHONPATH=tests OPENBLAS_NUM_THREADS=1 $(BIN)/python -m fuzz $(FUZZ)

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed-bench .venv/installed-thirdparty
	$(BIN)/python -m benchmarks.eager
	$(BIN)/python -m benchmarks.generality
	$(BIN)/python -m benchmarks.compilation
	$(BIN)/python -m benchmarks.modes --forward
	$(BIN)/python -m benchmarks.sparse
	$(BIN)/python -m benchmarks.linalg

clean:
	rm -rf .venv dist build .pytest_cache .ruff_cache .hypothesis .fuzz .peers

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "morula needs Python 3.11 or newer; none was found. Install one, or give its path: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/installed-%: pyproject.toml .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
