# All of it uses .venv, with the versions of requirements.txt; PYTHON=... of another version, one beside it.
PYTHON ?= python3
version = $(shell $(1) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>&-)
VENV := .venv
ifeq ($(origin PYTHON),command line)
ifneq ($(filter-out $(call version,$(PYTHON)),$(call version,.venv/bin/python)),)
VENV := .venv-$(call version,$(PYTHON))
endif
endif
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.txt

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z%-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Ostiary needs Python 3.11 or newer, and $(PYTHON) is %d.%d: run make PYTHON=..." % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python setup.cfg requirements.txt
	$(INSTALL) -e '.[postgres]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) -e '.[dev]'
	@touch $@

install: $(VENV)/.installed ## create .venv and install the service

run: install ## migrate the database and serve on http://127.0.0.1:3000 (HOST, PORT)
	exec $(BIN)/ostiary run

TEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: $(VENV)/.installed-dev ## run the tests that start no process; three minutes (OPTIONS=...)
	$(TEST) -m 'not live' $(OPTIONS)
test-live: $(VENV)/.installed-dev ## run those that start processes or take long; four minutes
	$(TEST) -m live $(OPTIONS)
test-both: $(VENV)/.installed-dev ## run on PostgreSQL what `make test` runs on SQLite alone
	$(TEST) -m 'not (live or both_databases or only_on)' --database postgresql $(OPTIONS)
test-times: $(VENV)/.installed-dev ## run the tests of both kinds, and print what takes the most time
	$(TEST) -p tests.support.times $(OPTIONS)
coverage: $(VENV)/.installed-dev ## run both kinds and require that 95 % of the code is covered; takes twice as long
	$(TEST) --cov --cov-fail-under=95

drills: $(VENV)/.installed-dev ## break things under load: kills, full disks, lost servers; a quarter of an hour (NAMES=...)
	$(BIN)/python -m tests.drills $(NAMES)

migration-drill: $(VENV)/.installed-dev ## move applications from a running LoopBack 3, which needs node; minutes (NAMES=...)
	$(BIN)/python -m tests.loopback $(NAMES)

lint: $(VENV)/.installed-dev ## check style, types and the import rules
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
format: $(VENV)/.installed-dev ## format the code
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

BENCHMARKS := calls batch changes computed connector rest latency flood enumeration growth replicas start memory

bench: install ## measure everything and write benchmarks/RESULTS.md; takes an hour (QUICK=1: minutes)
	for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name $(QUICK:%=--quick) || exit 1; done
	$(BIN)/python -m benchmarks.worst
	$(BIN)/python -m benchmarks.report
bench-%: install ## peers (LoopBack 3, needs node), threads, calls, instructions (needs valgrind) (QUICK=1: minutes)
	$(BIN)/python -m benchmarks.$* $(QUICK:%=--quick)
	$(BIN)/python -m benchmarks.report

docs: $(VENV)/.installed-dev ## write the tables in docs/ that follow from the code
	$(BIN)/python -m tools.generate
site: $(VENV)/.installed-dev ## build docs/ as a site in build/site, whose search needs no network
	$(BIN)/python -m tools.site

dist: $(VENV)/.installed-dev ## build the sdist and the wheel in dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --quiet

release: $(VENV)/.installed-dev ## check, build and try release VERSION=..., and say how to tag it
	$(BIN)/python -m tools.release "$(VERSION)"
	$(MAKE) lint dist
	WHEEL=$$(echo dist/*.whl) $(BIN)/pytest -q tests/projects/test_installed.py tests/projects/test_new.py
	@echo "dist/ has release $(VERSION). Tag it: git tag -a v$(VERSION) -m 'Ostiary $(VERSION)' && git push origin v$(VERSION)"

clean: ## remove .venv and every cache; instance/ stays
	rm -rf .venv* build dist *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis benchmarks/.venv-others benchmarks/loopback3/node_modules tests/oauth/provider_node/node_modules tests/openapi/client_node/node_modules tests/loopback/application/node_modules tests/pages/browser_node/node_modules tests/changes/eventsource_node/node_modules
	find app ostiary ostiary_loopback tests tools -name __pycache__ -type d -exec rm -rf {} +

.PHONY: help install run test test-live test-both test-times coverage drills migration-drill lint format bench docs site dist release clean
