# Quoin. Run make help for the targets.

export CGO_ENABLED := 0

# Compilers collect garbage less often than they would: that saves a fifth of their time.
export GOGC ?= 400
bench bench-peers profile soak chaos-random: export GOGC = 100

GO       ?= go
BIN      := bin
PLUGINS  := issues calendar
BUNDLED  := shell
# Modules of their own, whose dependencies Quoin does not have.
MODULES  := examples/adapters
FUZZTIME ?= 30s
SOAKTIME ?= 5m
CHAOSTIME ?= 5m

# What of the soak runs with the tests: make soak runs all of it, for longer.
SHORTSOAK := 'TestSoak|TestKilledHost'

# Tools run at a pinned version and are not part of go.mod.
staticcheck := honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck := golang.org/x/vuln/cmd/govulncheck@v1.9.0
gotestsum   := gotest.tools/gotestsum@v1.13.0

# The guest is compiled by the profile beside its main package. Whatever does not
# measure it says -pgo=off, so that nothing is compiled twice.
PROFILE := guestrt/cmd/quoin-guest/default.pgo

# The example gateway is a module of its own. Compiling a model's SDK takes a minute, half
# of that without optimisation, which it does not need.
GATEWAY := -pgo=off -gcflags=github.com/anthropics/anthropic-sdk-go=-N\ -l

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build quoin, its guest worker, its bundled plugins and the example plugins into bin/
	$(GO) build -o $(BIN)/quoin ./host/cmd/quoin
	$(GO) run -pgo=off ./guestrt/cmd/quoin-optimize -o $(BIN)/quoin-guest
	$(GO) build -o $(BIN)/demo ./examples/demo
	@for p in $(PLUGINS); do $(MAKE) --no-print-directory plugin DIR=$(BIN)/plugins P=$$p || exit 1; done
	@$(MAKE) --no-print-directory plugin DIR=$(BIN)/plugins-test P=rude
	@for p in $(BUNDLED); do $(MAKE) --no-print-directory plugin DIR=$(BIN)/bundled SOURCES=./plugins P=$$p || exit 1; done
	@if command -v node >/dev/null; then $(GO) run ./examples/plugins/notes $(BIN)/plugins/notes; else \
		echo "build: node is not installed; the example plugin notes, which is written in JavaScript, is LEFT OUT"; fi

.PHONY: native
native: ## Build the guest worker with the native engine, QuickJS in C (needs a C compiler)
	$(GO) run ./guestrt/cmd/quoin-native -o $(BIN)/quoin-guest-native

# plugin builds one plugin and puts its manifest beside it.
SOURCES = ./examples/plugins
.PHONY: plugin
plugin:
	@mkdir -p $(DIR)/$(P)
	$(GO) build -o $(DIR)/$(P)/$(P) $(SOURCES)/$(P)
	@cp $(SOURCES)/$(P)/plugin.json $(DIR)/$(P)/plugin.json

.PHONY: demo
demo: build ## Build everything and run a real cell against the example plugins
	$(BIN)/demo

.PHONY: demo-gateway
demo-gateway: build ## Hold a scripted conversation with the example gateway, whose process is killed in the middle
	cd examples/gateway && $(GO) build $(GATEWAY) -o ../../$(BIN)/gateway . && $(GO) build $(GATEWAY) -o ../../$(BIN)/gateway-demo ./demo
	$(BIN)/gateway-demo

.PHONY: demo-cluster
demo-cluster: build ## Suspend runs on three hosts, kill two of them, and complete every run on the third (needs PostgreSQL's programs)
	$(GO) build -o $(BIN)/cluster ./examples/cluster
	$(BIN)/cluster

# gotestsum ends with how many tests ran, and each skipped one with its reason. make lint
# has the checks of go vet, and no debugger needs what -w leaves out. Most packages wait, so
# that more of them run at once than there are processors.
TEST = $(GO) run -pgo=off $(gotestsum) --format pkgname --format-hide-empty-pkg -- -pgo=off -vet=off -ldflags=-s -p 3 -timeout 20m

.PHONY: test
test: ## Run the tests but for the longest; says at the end what is left out, and why
	$(TEST) -short ./...
	cd examples/gateway && $(TEST) $(GATEWAY) -short ./...
	@for m in $(MODULES); do (cd $$m && $(TEST) -short ./...) || exit 1; done
	@echo "test: left out are the skipped tests above, which make test-all runs, and make race, soak, fuzz and bench"
	@echo "test: runs are stored in memory and in directories; make test-postgres tests them in PostgreSQL"

# The packages that have tests on PostgreSQL. The names of these tests contain Postgres.
ONPOSTGRES = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | \
	awk '/internal\/postgrestest/ {print $$1}')

.PHONY: test-postgres
test-postgres: ## Run the tests that store runs in PostgreSQL, but for make chaos, on a private server (needs its programs)
	QUOIN_TEST_POSTGRES=1 $(TEST) -run Postgres -skip 'TestPostgresChaos$$' $(ONPOSTGRES)

.PHONY: test-ssh
test-ssh: ## Run the tests that run commands on another machine, by a private sshd on loopback (needs OpenSSH)
	QUOIN_TEST_SSH=1 $(TEST) -run SSH ./internal/shell/node ./host/cmd/quoin

# What can tell an ordinary user from root: owners of files, identities of processes, sandboxes.
OFUSERS = ./guestrt ./internal/sandbox ./internal/lockdown ./internal/shell/... ./internal/durable ./internal/ownership \
	./internal/documents ./internal/pluginstorage ./host/runstore ./host/internal/guestbuilds ./host/gateway \
	./plugins ./plugins/shell ./internal/install ./internal/trust ./host/cmd/quoin \
	$(addprefix ./host/cmd/quoin/internal/,approvalscmd devloop mcpcmd mcpentry paths runcmd servecmd statecmd systemcmd)

# Scripts that build plugins, which root and an ordinary user do alike.
OFBUILDS = TestScripts/(tutorial|plugin_(check|conformance|debug|dev|dev_faults|pack|test|types|validate))$$

.PHONY: test-user
test-user: ## Run the tests that can tell an ordinary user from root, as this user
	$(TEST) -short -skip '$(OFBUILDS)' $(OFUSERS)
	$(TEST) -short -run 'Isolation|Sealed|Attack|TimerSlack|Killed' ./host

# The commit whose suspended runs this one finishes.
PREVIOUS ?= HEAD~1

.PHONY: test-upgrade
test-upgrade: ## Suspend runs with the commit PREVIOUS, and finish them with this one (needs git's history; minutes)
	QUOIN_TEST_PREVIOUS=$(PREVIOUS) QUOIN_TEST_POSTGRES=1 $(GO) test -count=1 -v -pgo=off -timeout 40m -run TestPreviousVersionAlsoInPostgres ./host/cmd/quoin

.PHONY: test-all
test-all: ## Run every test and a short soak; builds the TypeScript compiler first (minutes)
	QUOIN_TSGO=build $(TEST) ./...
	$(GO) test -count=1 -pgo=off -tags soak -run $(SHORTSOAK) ./host/internal/soak -soaktime 30s
	cd examples/gateway && $(TEST) $(GATEWAY) ./...
	@for m in $(MODULES); do (cd $$m && $(TEST) ./...) || exit 1; done

# A guest is one thread in a process of its own: the race detector has nothing to find in its engine, and takes half
# an hour for it.
.PHONY: race
race: ## Run the tests but for the longest under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(TEST) -race -timeout 60m -short $$($(GO) list ./... | grep -v -e /engine/quickjs$$ -e /internal/prelude)

NATIVETAGS = quickjs_c,netgo,osusergo

.PHONY: test-native
test-native: ## Run the tests that can tell the native engine from the default one (needs a C compiler)
	@vars=$$($(GO) run -pgo=off ./guestrt/cmd/quoin-native env) && eval "$$vars" && \
	QUOIN_TEST_ENGINE=native $(TEST) -short -tags $(NATIVETAGS) ./guestrt/... ./internal/sandbox
	QUOIN_TEST_ENGINE=native $(TEST) -short ./internal/hostile -every 4
	QUOIN_TEST_ENGINE=native $(TEST) -short -run 'Engine|Hostile|Attack|Replay|OtherCode|Snapshot|Image|Rest|Lifecycle|Memory|CPU' ./host

.PHONY: test-sanitize
test-sanitize: ## Run the engine's tests and the hostile corpus on the native engine with sanitizers (minutes)
	@vars=$$($(GO) run -pgo=off ./guestrt/cmd/quoin-native -sanitize env) && eval "$$vars" && \
	$(TEST) -short -tags quickjs_c,quickjs_sanitize,netgo,osusergo ./guestrt/internal/engine/quickjs ./guestrt/internal/prelude
	QUOIN_TEST_ENGINE=sanitize $(TEST) ./internal/hostile

.PHONY: test-patches
test-patches: ## Prove that each patch of the native engine's memory is needed (minutes, needs a C compiler)
	QUOIN_TEST_PATCHES=1 $(TEST) -run TestSafetyPatchesAreNeeded ./guestrt/cmd/quoin-native

.PHONY: test-upstream
test-upstream: ## Run the tests of quickjs-ng that apply to guests on both engines (needs a C compiler)
	QUOIN_UPSTREAM_TESTS=1 $(TEST) -run TestUpstreamPrograms ./guestrt/internal/engine/quickjs
	@vars=$$($(GO) run ./guestrt/cmd/quoin-native env) && eval "$$vars" && \
	QUOIN_UPSTREAM_TESTS=1 $(TEST) -tags $(NATIVETAGS) -run TestUpstreamPrograms ./guestrt/internal/engine/quickjs

# The flags with which go build and go test use the optimised engine.
OPTIMIZED = $$($(GO) run -pgo=off ./guestrt/cmd/quoin-optimize flags)

.PHONY: test-optimized
test-optimized: ## Run the engine's tests on the optimised library, as the worker has it
	flags="$(OPTIMIZED)" && $(GO) test $$flags -pgo=off -short -timeout 20m ./guestrt/... ./internal/hostile

.PHONY: bench
bench: build ## Measure the rows of the budget table
	$(GO) test -run '^$$' -bench . -benchtime 2s ./host/internal/bench

.PHONY: bench-models
bench-models: ## Measure tokens, turns and searches of models, offline, and write docs/models.md
	$(GO) test -pgo=off -count=1 -v -run 'TestModelsPage|TestFirstMistakes|TestNeverWorse' ./host/internal/benchmodels -update

.PHONY: bench-peers
bench-peers: ## Measure the guest engine beside its peers (needs node, npm and a C compiler)
	flags="$(OPTIMIZED)" && $(GO) test $$flags -pgo=$(CURDIR)/$(PROFILE) -run '^$$' -bench Peers -benchtime 1x -timeout 60m ./guestrt/internal/bench/peers

.PHONY: profile
profile: ## Measure what the guest is optimised for (needs node and npm)
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; flags="$(OPTIMIZED)"; \
	$(GO) test $$flags -trimpath -run '^$$' -bench Peers -benchtime 1x -timeout 60m -cpuprofile "$$dir/programs" -o "$$dir/programs.test" ./guestrt/internal/bench/peers; \
	$(GO) test $$flags -trimpath -run '^$$' -bench 'Cell|Turn|Snapshot|Restore' -benchtime 2s -cpuprofile "$$dir/turns" -o "$$dir/turns.test" ./guestrt/internal/engine/quickjs; \
	(cd "$$dir" && $(GO) tool pprof -proto programs turns > merged); \
	cp "$$dir/merged" $(PROFILE)

.PHONY: soak
soak: ## Attack a host for SOAKTIME, reload plugins, and look for what is left
	$(GO) test -count=1 -v -tags soak -timeout 0 ./host/internal/soak -soaktime $(SOAKTIME)
	$(GO) test -count=1 -v -tags soak -timeout 0 -run 'Stream|LeaveNothing' ./plugins

CHAOS = QUOIN_TEST_POSTGRES=1 $(GO) test -count=1 -v -pgo=off -timeout 0 -run 'TestPostgresChaos$$' ./host/internal/chaos

.PHONY: chaos
chaos: ## Break hosts, network, disks and database of a cluster, each way once, and look for lost runs and doubled effects
	$(CHAOS) $(CHAOSFLAGS)

.PHONY: chaos-random
chaos-random: ## Break the same things at random for CHAOSTIME
	$(CHAOS) -chaostime $(CHAOSTIME) -chaosusers 48 $(CHAOSFLAGS)

.PHONY: corpus
corpus: ## Run every program of the hostile corpus
	$(TEST) -run TestCorpus ./internal/hostile

.PHONY: hostile
hostile: corpus ## Run the hostile corpus and measure how late its programs stop
	$(GO) test -run '^$$' -bench Stops -benchtime 1x ./internal/hostile

.PHONY: mcp-conformance
mcp-conformance: ## Run the official MCP conformance suite (needs npm and its registry)
	$(GO) run -pgo=off ./internal/mcpconformance

.PHONY: mcp-interop
mcp-interop: ## Put Quoin between MCP servers and clients of others, and read large OpenAPI documents (needs npm)
	$(GO) test -pgo=off -tags interop -count=1 -v ./host/internal/mcpinterop

# The chosen set is that of a machine with one kind of pages, on the default engine.
.PHONY: test-arm64-short
test-arm64-short: ## Run a chosen set of test-arm64 (minutes)
	$(GO) run -pgo=off ./internal/arm64test -short $(ARM64FLAGS)

.PHONY: test-arm64
test-arm64: ## Run the tests of engines, seal and workers on an emulated arm64 machine (Linux on amd64, apt-get)
	$(GO) run -pgo=off ./internal/arm64test $(ARM64FLAGS)
	$(GO) run -pgo=off ./internal/arm64test -native $(ARM64FLAGS)
	$(GO) run -pgo=off ./internal/arm64test -short -kernel 16k $(ARM64FLAGS)

# Up to Go 1.26 a target can fail as its time ends, without an input (golang/go#75804): it is fuzzed again.
.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each
	@set -e; files=$$($(GO) list -f '{{$$dir := .Dir}}{{range .TestGoFiles}}{{$$dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$dir}}/{{.}} {{end}}' ./...); \
	for file in $$files; do \
		for f in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "$${file%/*} $$f"; \
			for try in 1 2 3; do \
				code=0 out=$$($(GO) test -pgo=off -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$${file%/*}" 2>&1) || code=$$?; \
				echo "$$out"; \
				case "$$out" in *"    context deadline exceeded"*) ;; *) break;; esac; \
			done; \
			[ $$code = 0 ] || exit $$code; \
		done; \
	done

.PHONY: generate
generate: ## Regenerate generated files
	$(GO) generate ./...

.PHONY: lint
lint: ## Run go vet and staticcheck
	$(GO) vet -pgo=off ./...
	GOFLAGS=-pgo=off $(GO) run $(staticcheck) ./...
	@for m in $(MODULES); do (cd $$m && $(GO) vet -pgo=off ./... && GOFLAGS=-pgo=off $(GO) run $(staticcheck) ./...) || exit 1; done

.PHONY: vuln
vuln: ## Look for known vulnerabilities; ends with 3 where it could not look
	@.ci/vuln $(govulncheck)

.PHONY: check
check: generate ## Format, tidy, generate, lint; fail unless the tree stays clean
	gofmt -w $$(git ls-files '*.go')
	$(GO) mod tidy
	cd examples/gateway && $(GO) mod tidy
	@for m in $(MODULES); do (cd $$m && $(GO) mod tidy) || exit 1; done
	@$(MAKE) --no-print-directory lint typecheck
	@.ci/vuln $(govulncheck) || [ $$? -eq 3 ]
	@git diff --exit-code || { echo "check: the tree is not clean; commit the changes above"; exit 1; }

PLATFORMS = linux/arm64 darwin/arm64 windows/amd64

.PHONY: cross
cross: ## Compile for the other platforms
	@set -e; for p in $(PLATFORMS); do echo "cross: $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -pgo=off ./...; done

.PHONY: typecheck
typecheck: ## Check that everything would compile for the other platforms
	$(GO) run -pgo=off ./internal/typecheck $(PLATFORMS)

.PHONY: nightly
nightly: ## Prove what every change does, from empty caches, and all that takes longer (3 hours at most)
	@.ci/nightly

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)
