# Every target sets up what it needs. `make help` lists them.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= ../shared/data
SAMPLE ?= How many times does PaymentAdapter retry a failed charge?

.DEFAULT_GOAL := help
.PHONY: help setup run certs demo test test-cluster test-images test-trace manifests images bench bench-index eval lint format \
	jaeger-build jaeger protos lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Install the locked dependencies into .venv

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Lanemesh needs Python 3.11 or later, this is " + sys.version.split()[0])'
	@echo "setting up $(VENV) (once; about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@awk '/^uv==/ {on=1} on {print} on && !/\\$$/ {exit}' requirements.lock > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	@$(BIN)/uv pip install --python $(BIN)/python --no-deps --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

run: $(READY) ## Start the mesh with the demo corpus, answer a sample question, serve until Ctrl-C
	@$(BIN)/lanemesh up --demo --project-root examples/corpus/payments --ask "$(SAMPLE)"

certs: $(READY) ## Make or renew the certificates of a mesh on this machine (CERTS=folder)
	@$(BIN)/lanemesh certs $(CERTS)

demo: $(READY) ## The same without staying
	@$(BIN)/lanemesh up --demo --project-root examples/corpus/payments --ask "$(SAMPLE)" --once

test: $(READY) ## Run every test
	@$(BIN)/python -m pytest

test-cluster: $(READY) ## Install the chart on a real API server (builds it with Go, once; needs etcd)
	@if command -v go >/dev/null && command -v etcd >/dev/null; then \
		LANEMESH_TEST_CLUSTER=1 $(BIN)/python -m pytest tests/cluster; \
	else echo "test-cluster: SKIPPED, it needs Go and etcd (etcd-server in Debian)"; fi

bench: $(READY) ## Measure the ratios against bare grpc.aio (a few minutes)
	@$(BIN)/lanemesh bench

bench-index: $(READY) ## Measure the index lanes on judged data (DATA=folder PARTS="judged exact graph speed")
	@$(BIN)/python -m bench.index $(DATA) $(if $(PARTS),--parts $(PARTS))

images: $(READY) ## Build an image of every process (BASE=image, or BASE=local to make one; see docs/images.md)
	@$(BIN)/python -m images.build $(if $(BASE),--base $(BASE)) $(if $(PREFIX),--prefix $(PREFIX)) $(PROCESSES)

test-images: $(READY) ## Build the images, run the chart's pods from them, restart each under load (root, podman)
	@LANEMESH_TEST_IMAGES=1 $(BIN)/python -m pytest tests/images -s

eval: $(READY) ## Measure ranking, citations and disagreements on judged data (DATA=folder)
	@$(BIN)/python -m bench.fusion $(DATA) $(if $(RANKINGS),--rankings $(RANKINGS))

lint: $(READY) ## Style, types, import rules, contract and generated code
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/buf lint protos
	@.ci/breaking
	@.ci/generated
	@.ci/rendered

test-trace: $(READY) ## Read the traces of real queries back from the real Jaeger (builds it with Go, once)
	@if $(BIN)/python -m tools.jaeger; then $(BIN)/python -m pytest tests/trace; \
	elif ! command -v go >/dev/null; then echo "test-trace: SKIPPED, there is no Go to build Jaeger with"; \
	else exit 1; fi

jaeger-build: $(READY) ## Build Jaeger with Go, once for this user
	@$(BIN)/python -m tools.jaeger

jaeger: $(READY) ## Build Jaeger if need be, start it, serve until Ctrl-C (see docs/tracing.md)
	@$(BIN)/python -m tools.jaeger --start

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

protos: $(READY) ## Regenerate protos/gen and Envoy's descriptors from protos/lanemesh
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python protos/generate.py
	@$(BIN)/python protos/descriptors.py

manifests: $(READY) ## Render k8s/ from the chart
	@$(BIN)/python -m tools.manifests

lock: $(READY) ## Refresh requirements.lock from pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--all-extras --group dev pyproject.toml -o requirements.lock

clean: ## Remove the virtual environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
