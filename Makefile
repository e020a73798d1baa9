# make build   everything that is needed, into .venv (nothing is done twice)
# make up      build, and run a whole instance here
# make test    build, all checks, all tests; .ci/run calls exactly this
# make unit    only the unit tests
# make check   only lint, types and import order; make tests TESTS=path: only these tests
# make chaos   only the tests that break something, as docs/reliability.md lists them
# make fuzz    fuzz each parser, starting from the kept inputs (FUZZ=target SECONDS_EACH=60; tests/fuzz)
# make audit   compare the locks with the databases of known advisories
# make sbom    the bill of materials of an installation, as CycloneDX; make notice: its licenses
# make wheels  the wheels of the program and of its engine for each platform, into dist/
# make clients the Python client's wheel and the TypeScript client's package, into dist/
# make site    the documentation as a site, into dist/site
# make web     bundle the editor of the dashboard anew (web/), into admin_api/static
# make bench   the measurements of the README; make screenshots: its pictures; make format, reference, lock, clean: what
#              they say
#
# To use another Python: make PYTHON=/path/to/python3.12. Clones share the compiled engine (~/.cache/headgate).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

export CARGO_TARGET_DIR ?= $(HOME)/.cache/headgate/cargo-target
UV_VERSION := 0.13.8
# As many processes as cores, a file in one process: each starts whole instances, which keep the cores busy while a test
# waits. With one more, the load was 13 on two cores, and tests that pass alone timed out. Files begin in the order of
# their names (left to itself, xdist begins with those of the most tests): the long ones, each of whose few tests works
# with whole instances, stand first, and the many short ones of tests/unit fill the end.
JOBS ?= $(shell nproc)
# Without bytecode every process that a test starts, and each of those above, would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE
# uv gives up on a file that takes 60 s to compile, which happens where the machine is busy or was asleep.
export UV_COMPILE_BYTECODE_TIMEOUT ?= 600

# The first of these that runs and is new enough; a name on the PATH may be a shim with nothing behind it.
PYTHON ?= $(firstword $(foreach one,python3.12 python3.13 python3.14 python3,$(shell \
	$(one) -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1 && echo $(one))))

# What each has a lock of its own for: requirements-NAME.in. The development environment has all of them.
EXTRAS := awskms embedded notifications opentelemetry reports
UV := .uv/bin/uv
BIN := .venv/bin
RUN := $(BIN)/headgate
ENGINE_SOURCES := $(shell find regorus-py -type f -not -path '*/target/*' -not -path '*/.ruff_cache/*' -not -path '*/tests/*' -not -name '*.md' \
	-not -name '*.pyc' -not -name '*.so')

.PHONY: wheels clients site web build up test unit check lint types imports tests chaos fuzz audit sbom notice bench screenshots lock format reference clean help

help:
	@sed -n '1,15s/^# \{0,1\}//p' Makefile

build: .venv/.stamps/project

up: build
	@$(RUN) up --data-dir .headgate $(UP)

test: check tests

unit: build web/node_modules/.package-lock.json
	@$(BIN)/pytest tests/unit -q -n $(JOBS) --dist loadfile

check: lint types imports

lint: build
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { $(BIN)/ruff format --diff --quiet . | head -40; echo "run make format"; exit 1; }

types: build
	@echo "== types"
	@$(BIN)/mypy

imports: build
	@echo "== import order"
	@$(BIN)/lint-imports

tests: build tests/model_server/node_modules/.package-lock.json tests/identity_provider/node_modules/.package-lock.json \
		tests/parsers/node_modules/.package-lock.json tests/coding_agents/node_modules/.package-lock.json web/node_modules/.package-lock.json tests/browser/node_modules/.package-lock.json \
		clients/typescript/node_modules/.package-lock.json tests/agent_frameworks/node_modules/.package-lock.json .frameworks/.installed
	@echo "== tests"
	@$(if $(TESTS),$(BIN)/pytest $(TESTS),$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder || { \
		[ $$? = 1 ] || exit 1; \
		echo "== what failed, once more by itself: a test that passes now is unsteady, and its cause is to be found"; \
		$(BIN)/pytest -v --last-failed --last-failed-no-failures=none; })

# One process, and each test with its result: what is broken next is seen.
chaos: build
	@$(BIN)/pytest -v -n 0 $$(grep -o 'tests/[a-z0-9_/]*[.]py' docs/reliability.md | sort -u)

# Stops at the first input that breaks a promise of a parser, and names the file of the input.
fuzz: build .fuzz/lib/.stamp
	@for one in $(or $(FUZZ),$(basename $(notdir $(wildcard tests/fuzz/kept/*.txt)))); do echo "== $$one"; \
		PYTHONPATH=.fuzz/lib $(BIN)/python -m tests.fuzz.run $$one $(or $(SECONDS_EACH),60) 2> .fuzz/$$one.log \
		|| { tail -40 .fuzz/$$one.log; exit 1; }; done

.fuzz/lib/.stamp: requirements-fuzz.lock | $(UV)
	@$(UV) pip install --quiet --target .fuzz/lib --python $(BIN)/python --require-hashes -r $<
	@touch $@

audit: build
	@echo "== known advisories"
	@$(BIN)/python -m supply_chain.audit

# What an installation holds, as CycloneDX; and which licenses it comes under. A test compares both NOTICE files.
sbom: build web/node_modules/.package-lock.json
	@mkdir -p dist
	@$(BIN)/python -m supply_chain.sbom > dist/headgate.cdx.json
	@echo "wrote dist/headgate.cdx.json"

notice: build web/node_modules/.package-lock.json
	@$(BIN)/python -m supply_chain.notice

# The pictures of the documents, taken of a running instance.
screenshots: build
	@$(BIN)/python -m tests.browser.screenshots

bench: build
	@for one in benchmarks/*.py; do \
		grep -q '__main__' "$$one" || continue; \
		name=$$(basename "$$one" .py); echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

format: build
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

# What is generated and committed; tests compare.
reference: build
	@$(BIN)/python -m headgate.configuration.reference > docs/reference/settings.md
	@$(BIN)/python -m headgate.cli.reference > docs/reference/cli.md
	@$(BIN)/python -m admin_api.openapi > docs/openapi.json
	@$(BIN)/python -m headgate.client.generate
	@$(BIN)/python -m clients.typescript_generator

# What other people's programs install; the program's wheel has the Python client too, under another name.
clients: build clients/typescript/node_modules/.package-lock.json
	@mkdir -p dist
	@cd clients/python && ../../$(BIN)/python -m hatchling build --target wheel --directory ../../dist
	@cd clients/typescript && npm pack --silent --pack-destination ../../dist

# Every link and every page of it is checked; a test does the same. It loads nothing from another host.
site: build
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file website/mkdocs.yml
	@echo "wrote dist/site"

# The bundle is committed: whoever installs Headgate needs no npm. A test bundles it again and compares.
web: web/node_modules/.package-lock.json
	@npm --prefix web run --silent build

# The engine's wheels need glibc 2.28 or later. Where a target's standard library is missing, rustup fetches it.
WHEEL_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
wheels: build .venv/.stamps/cross-compiler
	@rm -rf dist && mkdir dist
	@for target in $(WHEEL_TARGETS); do \
		echo "== engine for $$target"; \
		rustup --quiet target add $$target; \
		PATH="$(CURDIR)/$(BIN):$$PATH" CFLAGS=-Wno-date-time $(BIN)/maturin build --quiet --release --locked \
			--zig --compatibility manylinux_2_28 --target $$target --interpreter $(BIN)/python --manifest-path regorus-py/Cargo.toml --out dist; done
	@echo "== program"
	@$(BIN)/python -m hatchling build --target wheel --directory dist
	@awk '/^[a-z]/ { sub(/ \\$$/, ""); print }' requirements.lock $(EXTRAS:%=requirements-%.lock) requirements-classifier.lock \
		| sort -u > dist/constraints.txt
	@ls dist

# A lock without the address of an index: every installation uses its own.
lock: $(UV)
	@for one in requirements $(EXTRAS:%=requirements-%) requirements-classifier requirements-dev requirements-frameworks requirements-fuzz requirements-site requirements-wheels; do \
		$(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header \
			$$one.in -o $$one.lock; done

clean:
	rm -rf .venv .uv .frameworks .fuzz .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# --- steps, each done again only when what it was made from has changed ------------------------------------------

$(UV):
	@if [ -z "$(PYTHON)" ]; then echo "make: Python 3.12 or later is needed, and none was found (make PYTHON=…)" >&2; exit 1; fi
	@echo "== uv $(UV_VERSION)"
	@rm -rf .uv
	@$(PYTHON) -m venv .uv || { echo "make: $(PYTHON) cannot make virtual environments: install its venv package (Debian: python3-venv)" >&2; exit 1; }
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $(UV)

.venv/.stamps/dependencies: requirements.lock $(EXTRAS:%=requirements-%.lock) requirements-dev.lock requirements-site.lock | $(UV)
	@echo "== dependencies"
	@[ -x $(BIN)/python ] || $(UV) venv --quiet --python $(PYTHON) .venv
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes \
		$(addprefix -r ,$(filter %.lock,$^))
	@mkdir -p .venv/.stamps && touch $@

.venv/.stamps/engine: $(ENGINE_SOURCES) .venv/.stamps/dependencies
	@command -v cargo >/dev/null || { echo "make: cargo (Rust) is needed to build the policy engine: https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "make: a C compiler (cc) is needed to build the policy engine (Debian: gcc)" >&2; exit 1; }
	@$(BIN)/python -m supply_chain.engine .venv/.wheels
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --reinstall .venv/.wheels/*.whl
	@touch $@

.venv/.stamps/cross-compiler: requirements-wheels.lock .venv/.stamps/dependencies
	@echo "== cross-compiler"
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements-wheels.lock
	@touch $@

# What tests and the dashboard have from npm, each folder by its lock: coding agents and agent frameworks as people install
# them, the model server and the identity provider that tests talk to, parsers to compare with, rules of accessibility, the
# compiler of the TypeScript client, the editor of the dashboard with its bundler. The browser itself is the system's.
%/node_modules/.package-lock.json: %/package-lock.json
	@command -v npm >/dev/null || { echo "make: npm (Node.js 20 or later) is needed for $*: https://nodejs.org" >&2; exit 1; }
	@[ $* != tests/browser ] || command -v chromium-headless-shell chromium >/dev/null || { echo "make: Chromium is needed for the tests of pages (Debian: apt-get install chromium-headless-shell)" >&2; exit 1; }
	@echo "== packages of $*"
	@npm --prefix $* ci --silent --no-audit --no-fund
	@touch $@

# Agent frameworks as people install them. Those for Python have an environment of their own.
.frameworks/.installed: requirements-frameworks.lock | $(UV)
	@echo "== agent frameworks of the tests"
	@$(UV) venv --quiet --clear --python $(PYTHON) .frameworks
	@$(UV) pip install --quiet --python .frameworks/bin/python --require-hashes -r $<
	@touch $@

.venv/.stamps/project: pyproject.toml hatch_build.py requirements.in $(EXTRAS:%=requirements-%.in) .venv/.stamps/dependencies .venv/.stamps/engine
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q proxy addons admin_api headgate
	@touch $@
