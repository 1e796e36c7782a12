# The two commands that matter: make book, make test. "make help" lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VENV ?= .venv
BIN := $(VENV)/bin
# Small matrices: BLAS threads only get in each other's way.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export MPLBACKEND := Agg
export PYTHONDONTWRITEBYTECODE := 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1

NOTEBOOKS := $(wildcard book/*.ipynb)
SITE := _build/html/index.html

.PHONY: help book serve lab test lint unit notebooks-check site browser bench notebooks lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/.read: requirements.txt pyproject.toml
	@python=$$(bash tools/find-python); \
	test -x $(BIN)/python || $$python -m venv $(VENV)
	@echo "Installing what the book needs into $(VENV) (a few minutes the first time)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/python -m pip check
	@touch $@

$(BIN)/.test: requirements-dev.txt $(BIN)/.read
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip check
	@touch $@

book: $(BIN)/.read ## run every notebook and build the site
	$(BIN)/python tools/build_book.py
	@echo
	@echo "The site is at $(SITE). Open that file, or: make serve"

serve: ## show the site at http://127.0.0.1:8000
	@test -f $(SITE) || { echo "There is no site yet: run 'make book' first." >&2; exit 1; }
	@echo "Open http://127.0.0.1:8000 (Ctrl-C stops)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $${PORT:-8000}

lab: $(BIN)/.read ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab book

test: $(BIN)/.test ## everything: lint, unit tests, notebooks, site, browser
	$(MAKE) lint unit notebooks-check book site browser

lint: $(BIN)/.test ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

unit: $(BIN)/.test ## unit tests and doctests, at least 95 % of the package's lines
	$(BIN)/python -m pytest tests/unit src --doctest-modules -n 2 -q \
	  --cov --cov-report=term-missing:skip-covered --cov-fail-under=95

notebooks-check: $(BIN)/.test ## each notebook gives its stored outputs (strict nbval)
	$(BIN)/python -m pytest --nbval --nbval-current-env --dist loadfile -n 2 -q $(NOTEBOOKS) \
	  --durations=0 --durations-min=2

site: $(BIN)/.test ## the built site: links, alt texts, numbers, weights
	$(BIN)/python -m pytest tests/book -q

browser: $(BIN)/.test ## the built site in Chromium
	bash tools/install-chromium
	$(BIN)/python -m pytest tests/browser -q -rA

bench: $(BIN)/.test ## measure speeds as ratios and write BENCHMARKS.md
	$(BIN)/python -m pytest tests/benchmarks -q --benchmark-json=_build/benchmarks.json
	$(BIN)/python tests/benchmarks/report.py _build/benchmarks.json BENCHMARKS.md

notebooks: $(BIN)/.test ## run all notebooks in place, in the form that is committed
	$(BIN)/python tools/normalize_notebooks.py --execute $(NOTEBOOKS)

lock: ## compile both locks from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo "uv is missing: pip install uv" >&2; exit 1; }
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-emit-package attention-landscape \
	  --custom-compile-command "make lock" --extra book pyproject.toml -o requirements.txt
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-emit-package attention-landscape \
	  --custom-compile-command "make lock" --extra test -c requirements.txt pyproject.toml -o requirements-dev.txt

clean: ## remove what the other commands made
	rm -rf _build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
