# Two commands for everybody: `make demo` and `make test`. Both set themselves up in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := test,frames,device,study,trees,tune
comma  := ,
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
NATIVE := $(wildcard src/ethereal/native/* src/ethereal/features/*.h)
# Packages are installed without byte code, so every process may keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
# The study's data, when somebody put it there; tests that need it are skipped without.
export ETHEREAL_DATA ?= $(wildcard $(abspath ../shared/datasets))

.PHONY: demo test quick slow lint lint-python lint-types lint-cpp lint-js setup system picture bnn-venv clean fuzz sanitize docs \
  coverage coverage-native mcdc mutants audit neon lower-bounds base prove random-models misra reproducible sbom tested

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml CMakeLists.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "pip>=22.3" "scikit-build-core>=0.11" "nanobind>=2.4" cmake ninja
	$(MAKE) --no-print-directory -j2 $(VENV)/.dependencies $(VENV)/.built
	touch $@

# Python's own files are compiled when they are first imported: most of them never are.
$(VENV)/.dependencies: pyproject.toml
	mkdir -p build
	$(BIN)/python tools/requirements.py $(subst $(comma), ,$(EXTRAS)) > build/requirements.txt
	$(PIP) --no-compile --requirement build/requirements.txt
	touch $@

# Beside the line above: the two install no package in common. `make base` uses what is compiled here.
$(VENV)/.built: pyproject.toml CMakeLists.txt $(NATIVE)
	$(PIP) --no-build-isolation --no-deps --editable .
	touch $@

# The whole stream on scikit-learn's bundled digits.
demo: setup
	$(BIN)/ethereal run digits --flash 8k --instructions 14k

# What tests run that no wheel carries, as package:command or package:file; installed where we may, tests that
# need the rest say that they skip.
SYSTEM := chromium:chromium clang:clang frama-c-base:frama-c cppcheck:cppcheck nodejs:node npm:npm qemu-system-arm:qemu-system-arm \
  qemu-system-misc:qemu-system-avr simavr:simavr gcc-arm-none-eabi:arm-none-eabi-gcc \
  libnewlib-arm-none-eabi:/usr/lib/arm-none-eabi/newlib gcc-avr:avr-gcc avr-libc:/usr/lib/avr/include arduino-core-avr:/usr/share/arduino/hardware/arduino/avr \
  firmware-microbit-micropython:/usr/share/firmware-microbit-micropython/firmware.hex \
  iverilog:iverilog verilator:verilator yosys:yosys nextpnr-ice40:nextpnr-ice40 \
  clang-19:clang-19 libclang-rt-19-dev:/usr/lib/llvm-19/lib/clang/19/lib/linux llvm-19:llvm-cov-19
system:
	@for p in $(SYSTEM); do probe=$${p#*:}; [ -e "$$probe" ] || command -v "$$probe" >/dev/null 2>&1 || missing="$$missing $${p%%:*}"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  apt="apt-get install -qq -y --no-install-recommends"; export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; \
	  $$apt $$missing >/dev/null 2>&1 || for p in $$missing; do \
	    $$apt $$p >/dev/null || echo "not installed, tests that need it are skipped: $$p"; done; \
	elif [ -n "$$missing" ]; then echo "not installed, tests that need it are skipped:$$missing"; fi

# The README's picture of the report.
picture: demo system
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking \
	  --user-data-dir=$$(mktemp -d) --window-size=1100,1330 --screenshot=docs/report.png \
	  file://$(abspath runs/digits/report.html)

# .pre-commit-config.yaml runs the same four before a commit.
lint: lint-python lint-types lint-cpp lint-js

lint-python: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: setup
	$(BIN)/mypy

lint-cpp: setup
	$(BIN)/clang-format --dry-run --Werror src/ethereal/native/*.cpp src/ethereal/native/*.hpp

# biome.json has the rules, and its first line the same version.
BIOME := 2.6.6
lint-js: setup
	@if ! command -v npm >/dev/null 2>&1; then echo "npm is not installed, the JavaScript is not checked"; exit 0; fi; \
	test -e $(VENV)/biome-$(BIOME)/node_modules || \
	npm install --silent --no-fund --no-audit --prefix $(VENV)/biome-$(BIOME) @biomejs/biome@$(BIOME) && \
	$(VENV)/biome-$(BIOME)/node_modules/.bin/biome lint --error-on-warnings

# Packages of the system come while Python's are installed, and the quick checks before the tests. Types and the base
# install are under way while the tests are, and speak after them.
test:
	@mkdir -p build; $(MAKE) --no-print-directory system > build/system.txt 2>&1 & system=$$!; trap "kill $$system" INT TERM; \
	$(MAKE) --no-print-directory lint-python lint-cpp; linted=$$?; \
	wait $$system; installed=$$?; cat build/system.txt; [ $$linted = 0 ] && [ $$installed = 0 ]
	@make --no-print-directory -j2 lint-types lint-js base > build/checks.txt 2>&1 & checks=$$!; trap "kill $$checks" INT TERM; \
	$(BIN)/python -m pytest -n auto --dist worksteal; tested=$$?; \
	wait $$checks; checked=$$?; cat build/checks.txt; \
	[ $$tested = 0 ] && [ $$checked = 0 ] || { echo "tests: exit code $$tested, checks: exit code $$checked"; exit 1; }

# Within 90 seconds, for one who edits: the layers up to the exports, and the rules of the whole. With --quick, what
# needs a compiler, an emulator or a process of its own is skipped.
QUICK := $(addprefix tests/,base bounds chips features datasets model compress train adapt export \
  $(patsubst %,whole/test_%.py,direction mirror one_writer refusals same_bytes sizes words))
quick: setup lint-python
	$(BIN)/python -m pytest -n auto --dist worksteal --quick $(QUICK)

# Combinations and studies that `make test` leaves out: a quicker test shows the same in part.
slow: system setup
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow or hypothesis" --hypothesis-profile thorough

# What the README promises of an install without extras: its commands and its Python, as typed, in an empty folder.
base: setup
	$(BIN)/python tools/base_install.py build/base

# The oldest versions that pyproject.toml allows, in an environment of their own, and a quick part of the tests. LOWER is
# the Python of that environment; the oldest that we support shows most.
LOWER ?= $(PYTHON)
LOWER_VENV := build/lower-bounds
LOWER_TESTS := $(addprefix tests/,cli/test_cli_predict.py cli/test_cli_train.py datasets/test_tables.py \
  device/test_device.py features/test_booleanize.py model/test_engine.py model/test_files.py model/test_model.py \
  train/test_classifier.py train/test_trainer.py tuning/test_prune.py tuning/test_tune.py)
lower-bounds:
	rm -rf $(LOWER_VENV)
	$(LOWER) -m venv $(LOWER_VENV)
	$(PYTHON) tools/lower_bounds.py --build $(subst $(comma), ,$(EXTRAS)) > build/lower-bounds.txt
	$(LOWER_VENV)/bin/pip install --quiet --disable-pip-version-check cmake ninja --requirement build/lower-bounds.txt
	$(LOWER_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation .
	$(LOWER_VENV)/bin/python -m pytest $(LOWER_TESTS) -n auto --dist loadfile

# What follows is not part of the tests: it takes minutes. lab/notes/reliability.md has the figures.
TRUST := "atheris>=2.3" "coverage>=7.10" "cosmic-ray>=8.3" "pip-audit>=2.7"
$(VENV)/.trust: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check $(TRUST)
	touch $@

# Coverage-guided fuzzing of all that reads bytes, and of the exported C; SECONDS for each target.
SECONDS ?= 60
fuzz: $(VENV)/.trust system
	@version=$$(clang -dumpversion | cut -d. -f1); [ -e "$$(clang -print-resource-dir)/lib" ] || \
	{ [ "$$(id -u)" = 0 ] && apt-get install -qq -y --no-install-recommends libclang-rt-$$version-dev >/dev/null; } || \
	echo "clang's runtime for fuzzing is missing; Debian: libclang-rt-$$version-dev"
	$(BIN)/python tools/fuzz.py --seconds $(SECONDS)
	$(BIN)/python tools/fuzz_c.py --seconds $(SECONDS)

# Proofs that exported C does nothing undefined: pruned models of the study's sets, random ones, and seeded faults.
# lab/notes/proof.md has the figures. One model: ethereal prove m.etm
prove: setup system
	$(BIN)/python lab/benchmarks/proof.py --faults

# Random models in every layout and number type, with and without fast math: the C answers like the host on every row.
MODELS ?= 10000
random-models: setup
	$(BIN)/python tools/compare_models.py --models $(MODELS)

# What cppcheck's MISRA addon says of the exported C, counted by rule.
misra: setup system
	$(BIN)/python tools/misra.py

# The native tests with address and undefined-behaviour sanitizers, then with the thread sanitizer and valgrind.
sanitize: setup
	tools/sanitize.sh address,undefined
	tools/sanitize.sh thread
	tools/sanitize.sh valgrind

# Trainer, engine and pruner on an emulated 64-bit ARM: NEON gives the bits of this processor. Debian: g++-aarch64-linux-gnu
# and qemu-user.
neon:
	tools/neon.sh

# The documentation with the reference from docstrings, in build/docs; a warning is an error. A test does it, too.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Lines and branches of the Python code that the tests reach, those that run in processes of their own included.
coverage: $(VENV)/.trust system
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist worksteal; failed=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report --fail-under=95 && exit $$failed

# Branches of the C++ core that the tests of its layers reach, with clang 19.
coverage-native: setup system
	tools/sanitize.sh coverage

# Branches and conditions of the exported C that golden tests, rows, windows and learning reach, with clang 19.
mcdc: setup system
	$(BIN)/python tools/mcdc.py

# Small changes to booleanize, model, compress and encode that the tests must notice; a sample of N per module.
N ?= 60
mutants: $(VENV)/.trust
	$(BIN)/python tools/mutants.py --sample $(N)

# Known vulnerabilities of what is installed; asks a service on the internet and fails where it cannot be reached:
# without --strict nothing would be looked up, and no vulnerability found.
audit: $(VENV)/.trust
	mkdir -p build
	$(BIN)/pip list --format=freeze --exclude-editable > build/installed.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement build/installed.txt

# The sdist and the wheel of the last commit in dist, built twice in two folders with the same bytes.
reproducible: setup
	$(BIN)/python tools/reproducible.py

# What a release is made of and needs, in CycloneDX's JSON beside it. The extras that users install are in it, in an
# environment of its own with the versions that are installed here. nanobind is in it because its code is compiled into
# the module. The same versions give the same bytes.
SBOM := build/sbom
sbom: setup
	mkdir -p build dist
	$(PYTHON) -m venv --clear --without-pip $(SBOM)
	test -x $(SBOM)-tool/bin/cyclonedx-py || { $(PYTHON) -m venv $(SBOM)-tool && $(SBOM)-tool/bin/pip install --quiet "cyclonedx-bom==7.*"; }
	$(BIN)/pip list --format=freeze --exclude-editable --disable-pip-version-check > build/installed.txt
	$(BIN)/pip --python $(SBOM)/bin/python install --quiet --disable-pip-version-check --no-compile \
	  --constraint build/installed.txt "$$(ls -t build/wheel/*.whl | head -1)[frames,device,study,trees,tune]" nanobind
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(SBOM)-tool/bin/cyclonedx-py environment --pyproject pyproject.toml \
	  --gather-license-texts --output-reproducible --output-file dist/ethereal-tm.cdx.json $(SBOM)/bin/python
	$(BIN)/python -m pytest tests/whole/test_supply_chain.py

# The versions that passed the tests here. They are no constraints of `make setup`: another Python or processor may
# have no wheel of one of them, and tests with the newest versions show early what breaks.
tested: setup
	mkdir -p requirements
	{ echo "# Versions that the tests passed with, on $$($(BIN)/python -V) and $$(uname -sm): pip install --constraint requirements/tested.txt"; \
	  $(BIN)/pip list --format=freeze --exclude-editable --disable-pip-version-check | grep -v "^ethereal-tm=="; } > requirements/tested.txt

# Larq for the study's BNN (2 GB, an old numpy): an environment of its own, never needed by the tests.
bnn-venv:
	test -x .venv-bnn/bin/python || $(PYTHON) -m venv .venv-bnn
	.venv-bnn/bin/pip install --quiet "larq==0.14.*" "tensorflow-cpu==2.18.*" "tf-keras==2.18.*" "numpy<2"

clean:
	rm -rf $(VENV) build dist runs .pytest_cache .mypy_cache .ruff_cache
