# Every target brings what it needs first (`make setup`): minutes the first time on a machine, nothing after that.
# The work is in toolchain/ and commands/; this file only calls it.

STACK ?= dev
BASE ?=
CONFIRM ?=
ARCH ?=
KUBECONFIG ?=

# The first Python that is new enough; if there is none, python3 says so.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && exit; \
	done; echo python3)

QUORATE = .venv/bin/python -m commands.quorate
# Tests and checks run in the activated environment, engine included.
ACTIVE = . .venv/bin/activate &&

.DEFAULT_GOAL := help
.PHONY: help setup environment cluster browser up preview audit diff review plan destroy test e2e prove verify lint format bench clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  STACK=dev by default: a stack is Pulumi.<stack>.yaml or examples/<stack>.yaml."

setup: ## Bring the Python environment and the Pulumi engine
	@$(PYTHON) -m toolchain.setup

environment:
	@$(PYTHON) -m toolchain.setup --without-engine

up: setup ## Build STACK, after a preview that its policies have passed
	@$(QUORATE) up --stack "$(STACK)"

preview: setup ## Show what `up` would change and which rules it would break
	@$(QUORATE) preview --stack "$(STACK)"

audit: setup ## Judge STACK by every rule and write the report to build/STACK/audit/
	@$(QUORATE) audit --stack "$(STACK)"

diff: setup ## Say what changes between BASE=<commit or branch> and this tree, in which order, and what is risky
	@$(QUORATE) diff --stack "$(STACK)" --base "$(BASE)"

review: setup ## Do what CI does with a pull request: diff and audit of STACK (or STACK=all) against BASE
	@$(QUORATE) review --stack "$(STACK)" --base "$(BASE)"

plan: environment ## Show where everything of STACK would run; needs no engine
	@$(QUORATE) plan --stack "$(STACK)"

destroy: setup ## Take STACK down (a stack that is no rendered lab wants CONFIRM=<stack> too)
	@$(QUORATE) destroy --stack "$(STACK)" --confirm "$(CONFIRM)"

test: lint cluster browser ## Check style and types, then run every test, the proof of architecture 100 among them
	@$(ACTIVE) python -m pytest -n 2 --dist worksteal

e2e: setup ## The heavy proof: all four architectures, 1000 computes among them (as `make prove ARCH=all`)
	@$(ACTIVE) python -m proof --arch all

cluster: setup
	@$(ACTIVE) python -m toolchain.cluster_programs >/dev/null

prove: setup ## Prove STACK, or ARCH=100|300|500|1000|all, on a real API server and scheduler
	@$(ACTIVE) python -m proof $(if $(ARCH),--arch "$(ARCH)",--stack "$(STACK)")

verify: setup ## Compare a living cluster (KUBECONFIG=…) with what STACK declares; only reads
	@$(ACTIVE) python -m proof.verify --stack "$(STACK)" --kubeconfig "$(KUBECONFIG)"

lint: setup ## Check style, format, types and workflows
	@$(ACTIVE) ruff check . && ruff format --check . && pyright && python -m toolchain.workflows

browser: setup
	@$(ACTIVE) python -m toolchain.browser

format: setup ## Put the code into the project's format
	@$(ACTIVE) ruff check --fix . && ruff format .

bench: setup ## Measure plan, preview, policy pack and proof at all four sizes, as ratios
	@.venv/bin/python -m commands.bench
	@$(ACTIVE) python -m proof.bench

clean: setup ## Remove rendered trees, reports and caches; what stands for live machines stays
	@$(QUORATE) clean
