# Every target creates what it needs, including the virtual environment.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
READY := .venv/.ready
BROWSER := .venv/.browser
# A test that takes longer than this hangs: it prints where, and fails.
HANGING := -o faulthandler_timeout=1200 -o faulthandler_exit_on_timeout=true

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint docs package bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(READY) ## Translate, train a small model and inspect it, in a few minutes
	$(BIN)/regard demo

test: lint $(BROWSER) ## Run the linters and the tests that are not marked slow
	$(BIN)/pytest -n $(WORKERS) -m "not slow" $(HANGING)

test-all: lint $(BROWSER) ## Run the linters and all tests, slow ones included
	$(BIN)/pytest -n $(WORKERS)

lint: $(READY) ## Check style, types, wording, links, and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tools/prose_lint.py
	$(BIN)/lint-imports
	$(BIN)/python tools/link_lint.py
	$(BIN)/python tools/reference_pages.py --check

docs: $(READY) ## Build the documentation site in build/docs, without a network
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html -c docs . build/docs
	@echo "open build/docs/index.html"

package: $(READY) ## Build the wheel, and try it in an empty environment
	rm -rf dist build/package
	$(PYTHON) -m venv build/package
	build/package/bin/python -m pip install --quiet build
	build/package/bin/python -m build --outdir dist .
	tools/try_package.sh $(PYTHON) dist/*.whl

bench: $(READY) ## Run the measurements in bench/
	@set -e; for script in $(sort $(filter-out bench/compare_checkouts.py bench/check_%.py bench/serve_%.py,$(wildcard bench/*.py))); do echo "== $$script"; $(BIN)/python $$script; done
	@$(if $(wildcard bench/*.py),,echo "bench/ has no measurements yet")

clean: ## Remove everything make created, the virtual environment included
	rm -rf .venv build dist demo-model .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache src/*.egg-info
	find $(wildcard src tests bench) -name __pycache__ -type d -prune -exec rm -rf {} +

# The page is tested in Chromium, and French spelling with hunspell if it is installed. Installing needs root; without
# it, the error says what to install.
$(BROWSER): | $(READY)
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get; then apt-get update -qq || :; apt-get install -y -qq chromium; \
	else echo "error: the tests need Chromium; install it, for example: sudo apt-get install chromium" >&2; exit 1; fi >/dev/null
	@command -v hunspell >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	apt-get install -y -qq hunspell hunspell-fr >/dev/null || echo "no hunspell: the test of French spelling is skipped"
	@touch $@

# Rebuilt when a dependency changes. The constraints pin the tested versions, including torch.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("error: Regard needs Python 3.11 or later, and $(PYTHON) is %d.%d; name another: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,serve,tensorboard]"
	@touch $@
