# What can be done here. `make` alone prints the list.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

FUNCTIONS := on-pending-pod on-nodeclaim on-workspace on-idle-timer on-delete
BINARIES := $(FUNCTIONS) forwarder pilotlight world
PLATFORMS := tests/peers/platforms
TOOLS := target/tools
# How much `make peers` compares: random worlds, clusters that run, the first of their seeds, and sizes of Karpenter's benchmark (500,2000).
WORLDS ?= 200
RUNNING ?= 100
SEED ?= 1
BENCH ?= 500
# Folders with files that are not ours to hold, for `make bench`: diverse_<N>.csv of Karpenter's benchmark, the openb trace.
KARPENTER_BENCH ?=
OPENB ?=
# How many pods wait at once for us and for Karpenter on a real control plane.
PODS ?= 200
VENV := target/venv
# Everything that tests build, they build with the features of the whole workspace: a package alone would have others, and all
# that it uses would be compiled again.
# Named, so that `make build` and `cargo lambda build` share what they compile.
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Pods arrive, nodes come, pods run, all goes again, on a simulated cluster with three clouds; 30 s, nothing needed
	@echo "Building pilotlight (some minutes the first time, then seconds); the demo itself takes 30 s ..."
	@cargo build --quiet --package pilotlight
	@target/debug/pilotlight demo

.PHONY: test
test: test-fast lives cluster verify deny platforms power-peers scaleway-peer ## Everything that is checked: lint, tests, a real control plane, generated files, licences, platforms, peers

.PHONY: test-fast
test-fast: lint ## Lint and all tests in Rust; no emulators, nothing to install
	cargo test --quiet --workspace

.PHONY: lives
lives: ## What takes minutes: a hundred claims and five hundred pods at once, every fault at every effect, every provider's contract
	cargo test --quiet --workspace --test contract --test hundred --test many_pods --test sweep --test commands --test stays --test caps -- --ignored --nocapture

.PHONY: cluster
cluster: ## On a real control plane (etcd, API server, scheduler, built once): lives, faults, rights, and the world held to it
	cargo build --quiet --workspace --all-targets
	sh tests/control-plane/run.sh

.PHONY: control-plane
control-plane: ## A real control plane on loopback for you; prints its kubeconfig, stops with Ctrl-C
	@cargo build --quiet --package control-plane
	@target/debug/control-plane start

.PHONY: lint
lint: ## Format, clippy, and the shape of the repository (tests/tidy)
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets
	cargo test --quiet --workspace --test repository

.PHONY: platforms
platforms: lambda $(PLATFORMS)/setup.sh ## The same events on Lambda, Azure Functions, Knative and in process: equal answers
	cargo build --quiet --workspace --all-targets
	bash $(PLATFORMS)/setup.sh
	$(VENV)/bin/python -m pytest $(PLATFORMS)

.PHONY: power-peers
power-peers: ## Our power provider against a Redfish service and a MAAS webhook server that others wrote
	sh tests/peers/power/setup.sh
	POWER_PEERS=$(CURDIR)/target/power-peers/bin cargo test --quiet --workspace --test peers -- --ignored

.PHONY: scaleway-peer
scaleway-peer: ## What the Scaleway provider sends against the OpenAPI document that SCALEWAY_OPENAPI names
	@SCALEWAY_OPENAPI="$(SCALEWAY_OPENAPI)" sh tests/peers/scaleway/run.sh

.PHONY: peers
peers: ## Karpenter's scheduler and disruption beside `pilotlight plan` on the same worlds; WORLDS=200 RUNNING=100 SEED=1 BENCH=500
	sh tests/peers/karpenter/setup.sh
	cargo build --quiet --release --package checker --package pilotlight
	target/release/compare-planners --oracle target/peers/karpenter-oracle --pilotlight target/release/pilotlight \
	  --worlds $(WORLDS) --running $(RUNNING) --seed $(SEED) --bench $(BENCH)
	$(MAKE) scale

.PHONY: settle
settle: ## Random clusters that run, until no node goes any more, every decision judged; WORLDS=200 SEED=1
	cargo build --quiet --release --package checker --package pilotlight
	target/release/settle-worlds --pilotlight target/release/pilotlight --worlds $(WORLDS) --seed $(SEED)

.PHONY: scale
scale: build ## 1,000 nodes and 10,000 pods on a real control plane, then pods that wait: us beside Karpenter; PODS=200
	cargo build --quiet --workspace --all-targets
	target/debug/control-plane scale --pods $(PODS) --programs target/bin

.PHONY: lambda
lambda: ## Zips for AWS Lambda into target/lambda/<function>/
	bash $(PLATFORMS)/setup.sh
	$(VENV)/bin/cargo-lambda lambda build --profile dist --compiler cargo --output-format zip $(FUNCTIONS:%=--package %)

.PHONY: build
build: ## Binaries as they are deployed (profile dist) into target/bin/
	cargo build --profile dist --target $(TRIPLE) $(BINARIES:%=--package %)
	@mkdir -p target/bin
	@for name in $(BINARIES); do install -m 755 target/$(TRIPLE)/dist/$$name target/bin/$$name; done
	@ls -l target/bin | awk 'NR > 1 { printf "  %-16s %.1f MiB\n", $$NF, $$5 / 1048576 }'

.PHONY: bench
bench: build ## Measure all that is promised; a table, and target/bench/results.json; KARPENTER_BENCH=DIR OPENB=DIR for pods of others
	cargo build --profile dist --target $(TRIPLE) --package bench --features linked --bin linked
	install -m 755 target/$(TRIPLE)/dist/linked target/bin/linked
	cargo run --quiet --release --package bench --bin bench -- --bin-dir target/bin --out target/bench/results.json \
	  $(if $(KARPENTER_BENCH),--karpenter-bench $(KARPENTER_BENCH)) $(if $(OPENB),--openb $(OPENB))

.PHONY: verify
verify: ## Regenerate JSON Schemas and CRDs and fail if a file differs from what is committed
	@cargo build --quiet --workspace --all-targets
	@target/debug/examples/generate target/verify/json
	@target/debug/examples/crds target/verify/crds
	@diff -r --unified target/verify/json events/schema/json && diff -r --unified target/verify/crds infra/crds \
	  || { echo "Generated files differ. Mend it with: make generate"; exit 1; }
	@echo "generated files are up to date"

.PHONY: generate
generate: ## Write the generated files (JSON Schemas, CRDs)
	cargo run --quiet --package schema --example generate
	cargo run --quiet --package cluster --example crds

.PHONY: deny
deny: $(TOOLS)/bin/cargo-deny ## Licences, bans and sources of all dependencies; advisories where they can be fetched
	$(TOOLS)/bin/cargo-deny --log-level error check bans licenses sources
	@$(TOOLS)/bin/cargo-deny --log-level error check advisories \
	  || echo "WARNING: advisories were found, or their database could not be fetched (see above)"

$(TOOLS)/bin/cargo-deny:
	@echo "Installing cargo-deny 0.20.2 into $(TOOLS) (checks licences and bans; some minutes, once) ..."
	cargo install --quiet cargo-deny --version 0.20.2 --locked --debug --root $(TOOLS) --target-dir target/tools-build

.PHONY: clean
clean: ## Remove everything that was built or installed
	rm -rf target
