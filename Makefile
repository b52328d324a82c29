# Everything from a bare clone: `make demo` runs the main job, `make test` the checks of this machine.
# Both install first. They need only make and Python 3.11 or later, or uv, which brings one.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Python 3.11 comes first: PyBullet has wheels for it and for no later one. Elsewhere MuJoCo draws.
PYTHONS := $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python)
# With PYTHON=…, a .venv of another version is made anew.
VERSION := -c 'import sys; print(*sys.version_info[:2], sep=".")' 2>/dev/null
OTHER := $(if $(PYTHON),$(filter-out $(shell $(BIN)/python $(VERSION)),$(or $(shell "$(PYTHON)" $(VERSION)),none)))
# Of `make later` and `make oracles`. The shims of pyenv on the path run only the versions that it was told to.
LATER := .venv-later
ORACLES := .venv-oracles
comma := ,
LATER_PYTHONS := python3.13 python3.12 python3.14 $(wildcard $(HOME)/.pyenv/versions/3.1[234]*/bin/python)
DEMO := runs/demo

# Each process of the tests would compile every module and every assertion anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: other help install demo test lint types unit browser portable later oracles notebook quick format docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(STAMP) ## make .venv with the package and its dependencies

# The stamp is written last: the next make resumes an interrupted installation.
$(STAMP): pyproject.toml $(if $(OTHER),other)
	@set -e; found=; \
	for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -n "$(PYTHON)" ] && [ -z "$$found" ]; then \
	  echo "make: $(PYTHON) does not run, or is older than Python 3.11" >&2; exit 1; \
	elif [ -z "$(OTHER)" ] && $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	   && $(BIN)/python -m pip --version >/dev/null 2>&1; then :; \
	elif [ -z "$$found" ] && command -v uv >/dev/null; then \
	  echo "make: creating $(VENV) with uv"; uv venv --quiet --clear --seed --python '>=3.11' $(VENV); \
	elif [ -z "$$found" ]; then \
	  echo "make: no Python 3.11 or later found, and no uv; install one, or name it: make PYTHON=/path/to/python3.11" >&2; \
	  exit 1; \
	elif ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "make: $$found lacks the venv module; install it (Debian: apt-get install python3-venv)" >&2; exit 1; \
	else \
	  echo "make: creating $(VENV) with $$found"; "$$found" -m venv --clear $(VENV); \
	fi
	@echo "make: installing into $(VENV); this takes a few minutes the first time"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@

demo: $(STAMP) ## simulate, learn without a label, evaluate and report: 8 to 18 minutes on two cores
	$(BIN)/ropes reproduce demo --out $(DEMO)

# Mypy is one process: beside the tests it takes half a minute less of two cores.
test: lint ## ruff, mypy and every test
	$(MAKE) --no-print-directory --jobs=2 types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# One process per core. Each runs whole files, so that the fixtures of a file are made once, in the order of
# tests/conftest.py: the longest first.
PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

unit: $(STAMP)
	$(PYTEST) $(PYTEST_FLAGS)

# The other targets skip the test of the page where none of them is installed. benchmarks/live_page.py has the same names.
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

browser: $(STAMP) ## the tests of the live page; fails where neither Chromium nor Chrome is installed
	@for name in $(BROWSERS); do if command -v $$name >/dev/null; then exit 0; fi; done; \
	echo "make: found none of $(BROWSERS); install one (Debian: apt-get install chromium)" >&2; exit 1
	$(BIN)/pytest tests/inference/live/test_page.py $(PYTEST_FLAGS)

# Tests whose outcome depends on how a processor computes, as on one without AMX and AVX-512 (and in its precision):
# what networks learn, weights equal after a kill, layers against float64. Refusals, reports and experiments end alike
# on every processor: `make unit` has them. The mark any_processor leaves single tests out.
TRAINING := tests/methods tests/models tests/inference/test_estimator.py tests/evaluation/test_record.py \
  tests/experiments/test_experiment_precision.py tests/test_benchmarks.py::test_every_network_s_layers_are_measured \
  tests/test_benchmarks.py::test_a_layer_that_is_computed_wrong_is_found
AVX2 := ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2

portable: $(STAMP) ## the tests whose outcome depends on the processor, as on one without AMX and AVX-512
	$(AVX2) $(PYTEST) -m 'not any_processor' $(TRAINING) $(PYTEST_FLAGS)

# Installs the built wheel with extras $(2) into the environment $(1) of Python 3.12 or later, or ends the recipe if none
# is found. Tests of the wheel also find files that it lacks; a left build/lib would bring them back.
define install_later
set -e; found=; \
for python in $(LATER_PYTHONS); do \
  if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; \
  then found=$$python; break; fi; \
done; \
if [ -z "$$found" ]; then echo "make: no Python 3.12 or later found; nothing to do"; exit 0; fi; \
echo "make: $$("$$found" --version) in $(1)"; \
$(1)/bin/python -m pip --version >/dev/null 2>&1 || "$$found" -m venv --clear $(1); \
rm -rf build/wheel build/lib; $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .; \
$(1)/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls build/wheel/*.whl)[$(2)]" $(3); \
$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
endef

later: $(STAMP) ## the quick tests of the built wheel with Python 3.12 or later, where one is found
	@$(call install_later,$(LATER),dev); \
	$(LATER)/bin/pytest --numprocesses auto --dist loadfile -m 'not slow' $(PYTEST_FLAGS)

oracles: $(STAMP) ## compare with disent, MAPIE and LeRobot, whose SO-101 records; downloads up to 6 GB
	@$(call install_later,$(ORACLES),mujoco$(comma)record$(comma)so101,disent mapie lightgbm 'lerobot[dataset$(comma)feetech]'); \
	$(ORACLES)/bin/python -m benchmarks.oracles; \
	$(ORACLES)/bin/python -m benchmarks.lerobot_reader; \
	$(ORACLES)/bin/python -m benchmarks.lerobot_writer; \
	$(ORACLES)/bin/python -m benchmarks.lerobot_arm

notebook: $(STAMP) ## run the example notebook from top to bottom, into build/, and check its results
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebook]'
	$(BIN)/python -m benchmarks.notebook --out build
	@echo "make: open build/angles_without_labels.ipynb"

quick: lint types ## the checks without the slow tests
	$(PYTEST) -m 'not slow' $(PYTEST_FLAGS)

format: $(STAMP) ## format the code and apply ruff's fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the caches; .venv and runs/ stay
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +

docs: $(STAMP) ## the documentation site, in build/site; checks every link
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet
	@echo "make: open build/site/index.html"
