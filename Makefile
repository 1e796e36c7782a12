# The two commands that matter: make book, make test. "make help" lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Small matrices: BLAS threads only get in each other's way.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PYTHONDONTWRITEBYTECODE := 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1
# An active environment or a user's own packages must not leak in.
unexport PYTHONPATH
unexport PYTHONHOME
unexport MPLBACKEND
export PYTHONNOUSERSITE := 1

NOTEBOOKS := $(wildcard book/*.ipynb)
SITE := _build/html/index.html
PORT := 8000
LAB_OPTIONS :=

.PHONY: help book student slides problems serve lab test lint unit teaching notebooks-check site browser pdf binder bench notebooks figure lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(BIN)/.read: requirements.txt pyproject.toml
	@python=$$(bash tools/find-python); \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || { rm -rf $(VENV); "$$python" -m venv $(VENV); }
	@echo "Installing what the book needs into $(VENV) (a few minutes the first time)"
	$(PIP) install --quiet --require-hashes -r requirements.txt
	$(PIP) install --quiet --no-deps --editable .
	$(PIP) check
	@touch $@

$(BIN)/.test: requirements-dev.txt $(BIN)/.read
	@echo "Installing what the tests need into $(VENV)"
	$(PIP) install --quiet --require-hashes -r requirements-dev.txt
	$(PIP) check
	@touch $@

book: $(BIN)/.read ## run every notebook and build the site
	$(BIN)/python tools/fetch_packages.py
	$(BIN)/python tools/build_book.py
	@echo
	@echo "The site is at $(CURDIR)/$(SITE)"
	@echo "Open that file, or run 'make serve'."

student: $(BIN)/.read ## build the edition without solutions, in _build/student
	$(BIN)/python tools/fetch_packages.py
	$(BIN)/python tools/student.py
	$(BIN)/python tools/build_book.py _build/student
	@echo
	@echo "Its site is at $(CURDIR)/_build/student/_build/html/index.html"

slides: book ## build the site, then slides of each chapter, in _build/slides
	$(BIN)/python tools/fetch_packages.py reveal
	$(BIN)/python tools/slides.py

problems: $(BIN)/.test ## write the problem set for students and grader, in _build/problems
	$(BIN)/python tools/problems.py

serve: ## show the site at http://127.0.0.1:8000 (PORT=... for another port)
	@test -f $(SITE) || { echo "There is no site yet: run 'make book' first." >&2; exit 1; }
	@echo "Open http://127.0.0.1:$(PORT) (Ctrl-C stops)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

lab: $(BIN)/.read ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab --notebook-dir=book $$(test "$$(id -u)" != 0 || echo --allow-root) $(LAB_OPTIONS)

test: $(BIN)/.test ## everything: style, types, unit tests, notebooks, site, browser
	@for step in lint unit teaching notebooks-check book site browser; do \
	  echo; echo "== make $$step"; $(MAKE) --no-print-directory $$step; done

lint: $(BIN)/.test ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/{bug,erratum,question}.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

unit: export MPLBACKEND := Agg
unit: $(BIN)/.test ## unit tests and doctests, at least 95 % of the package's lines
	$(BIN)/python -m pytest tests/unit tests/lab src --doctest-modules -n 2 -q \
	  --cov --cov-report=term-missing:skip-covered --cov-fail-under=95

teaching: $(BIN)/.test ## the problem set's autograder on right, empty and wrong answers
	$(BIN)/python -m pytest tests/teaching -q

notebooks-check: $(BIN)/.test ## each notebook gives its stored outputs (strict nbval)
	$(BIN)/python -m pytest --nbval --nbval-current-env --dist loadfile -n 2 -q \
	  --durations=10 $(NOTEBOOKS)

site: $(BIN)/.test ## the notebooks' form and the built site: links, alt texts, numbers, weights
	$(BIN)/python -m pytest tests/book -q

browser: $(BIN)/.test ## every page of the built site in Chromium, with axe-core; the slides
	bash tools/install-chromium $(BIN)/python
	$(BIN)/python tools/fetch_packages.py axe-core reveal
	$(BIN)/python tools/slides.py
	$(BIN)/python -m pytest tests/browser -v

pdf: book $(BIN)/.test ## build the site, then the PDF edition with the same numbers (needs TeX)
	bash tools/install-texlive
	$(BIN)/python tools/build_pdf.py
	$(BIN)/python -m pytest tests/pdf -q

binder: $(BIN)/.test ## build Binder's environment as repo2docker does, and run notebooks in it
	bash tools/install-chromium $(BIN)/python
	$(BIN)/python tools/binder.py _build/binder
	$(BIN)/python -m pytest tests/binder -v

bench: $(BIN)/.test ## measure speeds as ratios and write BENCHMARKS.md
	mkdir -p _build
	$(BIN)/python -m pytest tests/benchmarks -q --benchmark-json=_build/benchmarks.json
	$(BIN)/python tests/benchmarks/report.py _build/benchmarks.json BENCHMARKS.md

notebooks: $(BIN)/.test ## run all notebooks in place, in the form that is committed
	$(BIN)/ruff format -q $(NOTEBOOKS)
	$(BIN)/python tools/normalize_notebooks.py --execute $(NOTEBOOKS)

figure: $(BIN)/.read ## draw the README's figure and the card for link previews again
	$(BIN)/python tools/readme_figure.py book/assets/readme.png book/assets/card.png

lock: ## compile both locks from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo "uv is missing: pip install uv" >&2; exit 1; }
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-emit-package attention-landscape \
	  --custom-compile-command "make lock" --extra book pyproject.toml -o requirements.txt
	uv pip compile -q --universal --generate-hashes --python-version 3.11 --no-emit-package attention-landscape \
	  --custom-compile-command "make lock" --extra test -c requirements.txt pyproject.toml -o requirements-dev.txt

clean: ## remove what the other commands made
	rm -rf _build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
