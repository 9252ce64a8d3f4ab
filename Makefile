# `make quickstart` and `make test` need nothing but Python 3.11 or newer: they set everything up in
# .venv first, and again when pyproject.toml or constraints.txt change.
#
# PYTHON=python3.12 make test    another interpreter for a new .venv
# QUICKSTART="--out somewhere --seed 1" make quickstart    other options of `robustparse quickstart`

PYTHON ?= python3
QUICKSTART ?=
BIN := .venv/bin
STAMP := .venv/set-up

.PHONY: quickstart test lint setup

quickstart: $(STAMP)
	$(BIN)/robustparse quickstart $(QUICKSTART)

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: $(STAMP)

# torch comes first and by its pin alone, so that a CPU build is taken where the pin resolves to one.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "robustparse needs Python 3.11 or newer; name one: PYTHON=python3.12 make ..." >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet torch -c constraints.txt
	$(BIN)/python -m pip install --quiet -e '.[test]' -c constraints.txt
	touch $@
