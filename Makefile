# `make quickstart` and `make test` need nothing but Python 3.11 or newer: they set everything up in
# .venv first, and again when pyproject.toml or constraints.txt change.
#
# PYTHON=python3.12 make test    another interpreter for a new .venv
# QUICKSTART="--out somewhere --seed 1" make quickstart    other options of `robustparse quickstart`
# make docs      the pages of docs/ as a site, build/site/index.html, which is read offline
# make lowest    the suite with the lowest versions that pyproject.toml allows (Python 3.11), in
#                .venv-lowest; TESTS="tests/data" make lowest runs a part of it
# make audit     known vulnerabilities of the pinned and of the lowest versions; it needs the network

PYTHON ?= python3
QUICKSTART ?=
TESTS ?= tests
BIN := .venv/bin
STAMP := .venv/set-up
LOWEST := build/lowest.txt
LOWEST_BIN := .venv-lowest/bin
UV := build/uv/bin

# Python keeps what it compiles, also where the environment says otherwise: hundreds of processes start
# in the tests, and each would compile all modules.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: quickstart test lint docs setup lowest audit

quickstart: $(STAMP)
	$(BIN)/robustparse quickstart $(QUICKSTART)

# Three workers for two cores: some tests wait for processes that they start.
test: $(STAMP)
	$(BIN)/python -m compileall -q -j 0 src
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

lint: $(STAMP)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tables and pictures of the results are compared first. With --quiet, --strict counts no warnings.
# NO_MKDOCS_2_WARNING leaves out an advertisement.
docs: $(STAMP)
	$(BIN)/python bench/results.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

setup: $(STAMP)

# Old versions use what newer ones of their own dependencies have deprecated.
lowest: .venv-lowest/set-up
	$(LOWEST_BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -W ignore::DeprecationWarning $(TESTS)

audit: $(LOWEST)
	$(UV)/python bench/audit.py constraints.txt $(LOWEST)

# torch comes first and by its pin alone, so that a CPU build is taken where the pin resolves to one.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "robustparse needs Python 3.11 or newer; name one: PYTHON=python3.12 make ..." >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet torch -c constraints.txt
	$(BIN)/python -m pip install --quiet -e '.[test,docs]' -c constraints.txt
	touch $@

$(UV)/uv:
	$(PYTHON) -m venv build/uv
	$(UV)/python -m pip install --quiet uv pip-audit

$(LOWEST): pyproject.toml $(UV)/uv
	$(UV)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 pyproject.toml -o $@

# The tools of the tests are those of constraints.txt. uv takes another torch than the lowest where
# TORCH names one: TORCH=torch==2.13.0+cpu make lowest
.venv-lowest/set-up: pyproject.toml constraints.txt $(UV)/uv
	$(UV)/uv venv --quiet --clear --python 3.11 .venv-lowest
	echo "$(TORCH)" > build/override.txt
	$(UV)/uv pip install --quiet --python $(LOWEST_BIN)/python --resolution lowest-direct \
		--override build/override.txt -e .
	grep -E "^(conllu|hypothesis|pytest|pytest-xdist)==" constraints.txt > build/test-tools.txt
	$(UV)/uv pip install --quiet --python $(LOWEST_BIN)/python -r build/test-tools.txt pip setuptools
	touch $@
