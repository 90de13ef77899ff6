# Everything a newcomer needs is a target here; `make help` lists them.
export GOTOOLCHAIN := go1.27.3
# Scores are integers and fractions; measured metrics are float64 and must not
# change with the processor (fused multiply-add), so the level is fixed.
export GOAMD64 := v1

GO        ?= go
BUILD     := build
PROVA     := $(BUILD)/prova
TOOLS     := $(BUILD)/tools
FUZZTIME  ?= 3s
BENCH     ?= .
BENCHTIME ?= 1s

.DEFAULT_GOAL := help
.PHONY: help build demo run test unit lint vet fmt fuzz vuln bench cover deps clean install

help: ## List the targets
	@awk 'BEGIN{FS=":.*## "} /^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(PROVA) ## Build build/prova

.PHONY: $(PROVA)
$(PROVA):
	@mkdir -p $(BUILD)
	CGO_ENABLED=0 $(GO) build -trimpath -o $(PROVA) ./cmd/prova

install: ## Install prova into GOBIN
	CGO_ENABLED=0 $(GO) install -trimpath ./cmd/prova

demo: $(PROVA) ## Run a whole practice season on this machine (SERVE=1 keeps the Index up)
	$(PROVA) demo --dir $(BUILD)/demo $(if $(SERVE),--serve)

run: $(PROVA) ## Put your own agent in: make run AGENT='./my-agent'
	$(PROVA) run --agent '$(AGENT)' --dir $(BUILD)/run

test: deps fmt vet lint unit fuzz vuln ## Everything that CI runs; installs what is missing

deps: ## Install the Debian packages that the tests use, when missing
	@scripts/deps.sh

fmt: ## Fail when a file is not gofmt-clean
	@out="$$("$$($(GO) env GOROOT)/bin/gofmt" -l $$(git ls-files '*.go'))"; if [ -n "$$out" ]; then echo "not gofmt-clean: $$out"; echo "fix: gofmt -w $$out"; exit 1; fi

vet:
	$(GO) vet ./...

lint: $(TOOLS)/golangci-lint ## Run the linters (.golangci.yml gives the reasons)
	$(TOOLS)/golangci-lint run ./...

unit: ## Run all tests with the race detector and print coverage
	@mkdir -p $(BUILD)
	$(GO) test -race -timeout 30m -coverprofile=$(BUILD)/cover.out ./...
	@$(GO) tool cover -func=$(BUILD)/cover.out | tail -n 1

cover: ## Open the coverage of the last test run
	$(GO) tool cover -html=$(BUILD)/cover.out

fuzz: ## Run each fuzz target for FUZZTIME (default 3s)
	@scripts/fuzz.sh $(FUZZTIME)

vuln: $(TOOLS)/govulncheck ## Look for known vulnerabilities, with a local copy of the database
	@scripts/vuln.sh $(TOOLS)

bench: ## Run the benchmarks (BENCH=regexp, BENCHTIME=1s)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

$(TOOLS)/golangci-lint: tools.mod
	@mkdir -p $(TOOLS)
	$(GO) build -modfile=tools.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/govulncheck: tools.mod
	@mkdir -p $(TOOLS)
	$(GO) build -modfile=tools.mod -o $@ golang.org/x/vuln/cmd/govulncheck

clean: ## Remove what was built
	rm -rf $(BUILD)
