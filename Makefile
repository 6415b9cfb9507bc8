# Two commands for everybody: `make demo` and `make test`. Both set themselves up in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := test,frames,device,study
# The study's data, when somebody put it there; tests that need it are skipped without.
export ETHEREAL_DATA ?= $(wildcard $(abspath ../shared/datasets))

.PHONY: demo test lint setup bnn-venv clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml CMakeLists.txt $(wildcard src/ethereal/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[$(EXTRAS)]"
	touch $@

demo: setup
	$(BIN)/python -m ethereal --help

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest

# Larq for the study's BNN (2 GB, an old numpy): an environment of its own, never needed by the tests.
bnn-venv:
	test -x .venv-bnn/bin/python || $(PYTHON) -m venv .venv-bnn
	.venv-bnn/bin/pip install --quiet "larq==0.14.*" "tensorflow-cpu==2.18.*" "tf-keras==2.18.*" "numpy<2"

clean:
	rm -rf $(VENV) build dist runs .pytest_cache .mypy_cache .ruff_cache
