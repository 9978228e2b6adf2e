# Every target first installs what it needs (`make setup`): minutes the first time on a machine, nothing after that.
# The targets call the command line `quorate`, which works without make after `make setup`: .venv/bin/quorate --help

STACK ?= dev
BASE ?=
CONFIRM ?=
ARCH ?=
KUBECONFIG ?=
SERVICE ?=
BACKUP ?=
# Some systems set NAME in every environment: only make's command line counts.
ifneq ($(origin NAME),command line)
NAME :=
endif
NODE ?=
SERVER ?=
KIND ?=
REPLACE ?=
ALL ?=

# Recipes read these from their environment, exactly as they were given: neither make nor the shell expands them.
override STACK := $(value STACK)
override BASE := $(value BASE)
override CONFIRM := $(value CONFIRM)
override ARCH := $(value ARCH)
override KUBECONFIG := $(value KUBECONFIG)
override SERVICE := $(value SERVICE)
override NAME := $(value NAME)
override BACKUP := $(value BACKUP)
override NODE := $(value NODE)
override SERVER := $(value SERVER)
override KIND := $(value KIND)
override REPLACE := $(value REPLACE)
override ALL := $(value ALL)
export STACK BASE CONFIRM ARCH KUBECONFIG SERVICE NAME BACKUP NODE SERVER KIND ALL REPLACE

# The first Python that is new enough; if there is none, python3 reports it.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && exit; \
	done; echo python3)

QUORATE = .venv/bin/quorate
# Tests and checks run in the activated environment, with Pulumi on PATH.
ACTIVE = . .venv/bin/activate &&

.DEFAULT_GOAL := help
.PHONY: help setup environment cluster browser up refresh preview audit diff review plan config pin doctor destroy test unit \
	e2e e2e-kills e2e-fuzz e2e-proofs e2e-machines e2e-drills prove services machines cloud cloud-status drill cloud-down action credentials status snapshot verify domains lint format bench mutants docs clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  STACK=dev by default: a stack is Pulumi.<stack>.yaml or examples/<stack>.yaml."
	@echo "  More commands and options: .venv/bin/quorate --help"

setup: ## Install the Python environment and Pulumi
	@$(PYTHON) -m toolchain.setup

environment:
	@$(PYTHON) -m toolchain.setup --without-engine

up: setup ## Deploy STACK if its preview passes the policy pack
	@$(QUORATE) up --stack="$$STACK"

refresh: setup ## List rendered files of STACK that are missing or changed, and record them for the next `up`
	@$(QUORATE) refresh --stack="$$STACK"

preview: setup ## Show what `up` would change and which rules it would break
	@$(QUORATE) preview --stack="$$STACK"

audit: setup ## Evaluate every rule for STACK and write the report to build/STACK/audit/
	@$(QUORATE) audit --stack="$$STACK"

diff: setup ## Show the changes from BASE=<commit or branch> to the working tree, with order and risk
	@$(QUORATE) diff --stack="$$STACK" --base="$$BASE"

review: setup ## Run what CI runs on a pull request: diff and audit of STACK (or STACK=all) against BASE
	@$(QUORATE) review --stack="$$STACK" --base="$$BASE"

plan: environment ## Show the placement plan of STACK (does not start Pulumi)
	@$(QUORATE) plan --stack="$$STACK"

config: environment ## Show the configuration of SERVICE (on NODE), every option with its layer and source
	@$(QUORATE) config --stack="$$STACK" --service="$$SERVICE" --node="$$NODE"

domains: environment ## Show the names of the services of STACK outside of the cluster
	@$(QUORATE) domains --stack="$$STACK"

pin: environment ## Write the pools that the plan of STACK chose into its stack file
	@$(QUORATE) pin --stack="$$STACK"

doctor: environment ## Check the machines of STACK over SSH, and say what to do about each problem (read-only)
	@$(QUORATE) doctor --stack="$$STACK"

destroy: setup ## Destroy STACK (anything but a rendered lab also needs CONFIRM=<stack>)
	@$(QUORATE) destroy --stack="$$STACK" --confirm="$$CONFIRM"

test: lint cluster browser ## Check style and types, then run all tests, including the proof of architecture 100
	@$(ACTIVE) python -m pytest -m "alone and not heavy"
	@$(ACTIVE) python -m pytest -n 3 --dist worksteal

unit: environment ## Run the tests that need neither Pulumi, nor a cluster, nor a browser
	@$(ACTIVE) python -m pytest -n 2 --dist worksteal -m "not (engine or cluster or services or browser or heavy or alone)"

e2e: e2e-kills e2e-fuzz e2e-proofs e2e-machines e2e-drills ## Run all of what takes too long for every pull request

e2e-kills: setup ## Kill commands, members of quorums and services at random moments
	@$(ACTIVE) python -m pytest -n 2 --dist worksteal -m "heavy and not alone"

e2e-fuzz: setup ## Fuzz the readers of files
	@$(ACTIVE) QUORATE_FUZZ_EXAMPLES=1000 python -m pytest -n 2 tests/fuzz

e2e-proofs: setup ## Prove all four architectures
	@$(QUORATE) prove --arch=all

e2e-machines: setup ## Set up and change machines that need the whole host (root, Linux)
	@$(ACTIVE) python -m pytest -m "alone and heavy" tests/trials/machines

e2e-drills: setup ## Run every drill twice, on a small lab and on the whole cloud (root, Linux, 8 hours)
	@$(ACTIVE) python -m pytest -m "alone and heavy" tests/trials/cloud

cluster: setup
	@$(ACTIVE) python -m toolchain.cluster_programs >/dev/null

prove: setup ## Prove STACK, or ARCH=100|300|500|1000|all, on a real API server and scheduler
	@$(QUORATE) prove --stack="$$STACK" --arch="$$ARCH"

services: setup ## Start the services of STACK with real programs, break them (KIND=cuts|stalls: only so), report what was lost
	@$(QUORATE) services --stack="$$STACK" $${KIND:+--kind="$$KIND"}

machines: setup ## Set up, change and break real machines and virtual machines, report what was lost (root, Debian)
	@$(ACTIVE) python -m pytest -m "alone or heavy" -p tests.trials.machines.report_plugin tests/trials/machines

cloud: setup ## Start the machines of STACK on this host with real kubelets (root, Linux)
	@$(QUORATE) cloud --stack="$$STACK"

cloud-status: setup ## Show which machine of `make cloud` runs on which server
	@$(QUORATE) cloud-status --stack="$$STACK"

drill: setup ## Disturb `make cloud` under load: SERVER=<server>, KIND=rollout|drains|option|etcd-authority|kubernetes-authority|reboots|computes|evacuation|blackout, REPLACE=<machine>[,<machine>], or ALL=1; report what was lost
	@$(QUORATE) drill --stack="$$STACK" --server="$$SERVER" --kind="$$KIND" --replace="$$REPLACE" $${ALL:+--all}

cloud-down: setup ## Remove all machines of `make cloud` from this host
	@$(QUORATE) cloud-down

credentials: setup ## Write the administrator's clouds.yaml and openrc of a live STACK to build/STACK/credentials/
	@$(QUORATE) credentials --stack="$$STACK"

status: setup ## Show the living quorums of a live STACK, and whether SERVER may go now (without it, which servers may); read-only
	@$(QUORATE) status --stack="$$STACK" --ask="$$SERVER"

action: setup ## List the actions of STACK, or run NAME=<action> in its cluster (BACKUP=<name>: the one to restore)
	@$(QUORATE) action --stack="$$STACK" --name="$$NAME" --backup="$$BACKUP"

snapshot: setup ## Collect states, events, logs and configuration of STACK, without secrets, into one archive
	@$(QUORATE) snapshot --stack="$$STACK"

verify: setup ## Compare a running cluster (KUBECONFIG=…) with STACK, read-only
	@$(QUORATE) verify --stack="$$STACK"

lint: setup ## Check style, format, imports, types and workflows
	@$(ACTIVE) ruff check . && ruff format --check . && lint-imports && pyright && python -m toolchain.workflows

browser: setup
	@$(ACTIVE) python -m toolchain.browser

format: setup ## Format the code
	@$(ACTIVE) ruff check --fix . && ruff format .

docs: setup ## Build the documentation as a site in build/site; broken links and anchors are errors
	@$(ACTIVE) python -m commands.site

bench: setup ## Measure plan, preview, policy pack, unchanged `up` and proof, as ratios
	@$(QUORATE) bench

mutants: environment ## Change code in 400 places, one at a time, and print the changes that no test notices (an hour)
	@$(ACTIVE) python -m tests.mutants

clean: setup ## Remove rendered trees, reports and caches (keeps deployed stacks that are not rendered labs)
	@$(QUORATE) clean
