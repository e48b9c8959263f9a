# Cortex: `make gate` judges a release, `make test` tests the code. `make help` names the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
GATE_PROFILE ?= quick
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help venv browser gate test check format bench-search bench-embedding bench-scale prove-harness up down status lock docs clean

help: ## Say what each word does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | awk -F'|' '{printf "  make %-17s%s\n", $$1, $$2}'

venv: $(STAMP) ## Make .venv with every dependency at its locked version

$(STAMP): requirements.lock pyproject.toml tools/check_python.sh
	@PYTHON="$(PYTHON)" bash tools/check_python.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

browser: ## Install the browser pages are tested in (needs root)
	@bash tools/install_browser.sh

gate: venv ## Bring a stack up, run the suites, write the report, exit with the verdict
	@$(BIN)/cortex-harness run --stack native --profile $(GATE_PROFILE)

test: venv ## Run the tests
	@$(BIN)/python -m pytest -n auto --dist loadgroup

check: venv ## Format, lint, types, import arrows, docs in step with the code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.docs --check

format: venv ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: venv ## Make the generated pages anew
	$(BIN)/python -m tools.docs

bench-search: venv ## Measure a search beside a floor of bare SQL and beside peers
	@$(BIN)/python -m harness.probes.search_cost
	@$(BIN)/python -m harness.probes.search_peers

bench-embedding: venv ## Measure the embedding service against a bare session
	@$(BIN)/python -m harness.probes.embedding_cost

prove-harness: venv ## Long proofs about the harness itself, resumed where they ended; docs/proofs
	@$(BIN)/python -m harness.proofs

bench-scale: venv ## Measure searches among ten thousand to a million vectors (about half an hour)
	@$(BIN)/python -m harness.probes.search_scale --page docs/proofs/scale.md

up: venv ## Bring the stack up, natively
	@$(BIN)/cortex up --runtime native --wait

status: venv ## Say what runs
	@$(BIN)/cortex status

down: venv ## Stop the stack
	@$(BIN)/cortex down

lock: ## Resolve the dependencies anew into requirements.lock (needs uv)
	uv pip compile --universal --generate-hashes --no-header --all-extras \
	  --group bundled-model --python-version 3.11 --no-emit-package sentence-transformers \
	  --no-emit-package torch --no-emit-package transformers pyproject.toml -o requirements.lock

clean: ## Remove what was made, but not a stack's data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
