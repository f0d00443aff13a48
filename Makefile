# What can be done with this project. Each target works in a fresh clone.
#
#   make demo     see it work: needs Linux, Go and Python 3, nothing else
#   make test     every test; what is absent is skipped, and said; nothing must be left behind
#   make check    formatting, vet, static checks, the policies
#   make docs     docs/policy.md, from the schema, and docs/commands.md, from the help
#   make bench    the speed table, each figure beside its reference
#   make build    bin/bridge
#   make dist     dist/: archives and packages for Linux, macOS and Windows
#   make image    images of the bridge itself, with Podman or Docker
#   make peers    the npm programs that some tests speak with
#   make clean    remove what the others made
#
# BRIDGE_TEST_REQUIRE=1 turns every skip into a failure, as CI does.

GO      ?= go
PYTHON  ?= python3
# That of the tag, such as 1.2.3, or one made of the commit.
VERSION ?= $(or $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v*' 2>/dev/null)),\
	$(shell git log -1 --date=format:%Y%m%d --format=0.0.0-%cd.g%h 2>/dev/null),0.0.0)

NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEMO_SERVER := github.com/modelcontextprotocol/go-sdk/examples/server/memory@v1.8.0

BUILD := $(GO) build -trimpath -ldflags '-s -w -X bridge/cli.version=$(VERSION)'
PEERS := testdata/npm/node_modules/.package-lock.json

export CGO_ENABLED := 0

.DEFAULT_GOAL := build
.PHONY: build demo test engines check docs bench dist image peers clean

build:
	$(BUILD) -o bin/bridge .

# The demo's MCP server comes from the Go SDK's examples: nobody here wrote
# it, and it needs nothing but Go.
bin/memory:
	GOBIN=$(CURDIR)/bin $(GO) install $(DEMO_SERVER)

demo: build bin/memory
	@$(PYTHON) testdata/demo/demo.py bin/bridge bin/memory

# npm leaves this file when it is done, so it is newer than the lock file
# exactly when the peers are as the lock file says.
peers: $(PEERS)
$(PEERS): testdata/npm/package-lock.json
	cd testdata/npm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# go test does not say what it skips unless asked with -v, so what is absent
# is said here.
# The tests wait more than they work: two packages run side by side, and four
# scenarios. What they promise about times has room for that.
test: build
	@for tool in npm jq; do command -v $$tool >/dev/null || \
		echo "make: $$tool is not installed; the tests that use it are skipped (on Debian: apt-get install $$tool)"; done
	@if command -v npm >/dev/null && ! $(MAKE) --no-print-directory peers && [ -z "$$BRIDGE_TEST_REQUIRE" ]; then \
		echo "make: npm could not install the peers; the tests that use them are skipped (make peers)"; fi
	@$(MAKE) --no-print-directory engines
	.ci/clean $(GO) test -p 2 -parallel 4 -timeout 60m ./...

# The engines on which no test can run here, in the words of the tests.
engines:
	@$(GO) test -count=1 -v -run 'TestScript/.*/^$$' . | awk '/^=== RUN/ { split($$3, name, "/") } \
		sub(/^ +main_test.go:[0-9]+: /, "") { print "make: the tests on " name[2] " are skipped: " $$0 }'

check: build
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not as gofmt writes it:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin $(GO) build -o /dev/null .
	GOOS=windows $(GO) build -o /dev/null .
	@if GOBIN=$(CURDIR)/bin/tools $(GO) install $(STATICCHECK); then \
		echo bin/tools/staticcheck ./...; bin/tools/staticcheck ./...; \
	elif [ -n "$$BRIDGE_TEST_REQUIRE" ]; then exit 1; \
	else echo "make: staticcheck could not be fetched; its checks are skipped"; fi
	@if command -v ruff >/dev/null; then \
		echo ruff check .; ruff check .; \
	elif [ -n "$$BRIDGE_TEST_REQUIRE" ]; then echo "make: ruff is not installed"; exit 1; \
	else echo "make: ruff is not installed (pip install ruff); its checks are skipped"; fi
	bin/bridge vet --strict-warnings policies

docs:
	$(GO) run ./policy/manual >docs/policy.md.new
	@mv docs/policy.md.new docs/policy.md
	$(GO) run ./packaging -docs docs/commands.md

bench: build
	@$(GO) run ./harness/bench -bridge bin/bridge

# Made by packaging, and by nfpm what it knows how to make. The same commit gives
# the same bytes.
OUT ?= dist
dist: bin/tools/nfpm
	$(GO) run ./packaging -out $(OUT) -version $(VERSION) -nfpm bin/tools/nfpm -time $$(git log -1 --format=%ct) $(DISTFLAGS)

# The images of the bridge itself: bridge, the program alone, and bridge:full, with
# Python and Node for MCP servers. The first of Podman and Docker that is there
# makes them, or ENGINE; BASE is what the second is made of.
ENGINE ?= $(firstword $(notdir $(shell command -v podman docker)))
BASE   ?= debian:trixie-slim
CERTS  ?= /etc/ssl/certs/ca-certificates.crt
image:
	@[ -d dist/image-$$($(GO) env GOARCH) ] || $(MAKE) --no-print-directory dist DISTFLAGS=-only=linux/$$($(GO) env GOARCH)
	cp $(CERTS) dist/image-$$($(GO) env GOARCH)/ca-certificates.crt
	$(ENGINE) build --network host --ulimit nofile=1024:1024 -t bridge:latest -f packaging/image/Containerfile dist/image-$$($(GO) env GOARCH)
	$(ENGINE) build --network host --ulimit nofile=1024:1024 -t bridge:full --build-arg BASE=$(BASE) -f packaging/image/Containerfile.full dist/image-$$($(GO) env GOARCH)

bin/tools/nfpm:
	GOBIN=$(CURDIR)/bin/tools $(GO) install $(NFPM)

clean:
	rm -rf bin dist testdata/npm/node_modules
