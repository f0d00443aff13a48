# What can be done with this project. Each target works in a fresh clone.
#
#   make demo     see it work: needs Linux, Go and Python 3, nothing else
#   make test     every test; what is absent is skipped, and said; nothing must be left behind
#   make check    formatting, vet, static checks, the policies
#   make docs     docs/policy.md, from the schema
#   make bench    the speed table, each figure beside its reference
#   make build    bin/bridge
#   make dist     dist/bridge-OS-ARCH for Linux, macOS and Windows
#   make peers    the npm programs that some tests speak with
#   make clean    remove what the others made
#
# BRIDGE_TEST_REQUIRE=1 turns every skip into a failure, as CI does.

GO      ?= go
PYTHON  ?= python3
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEMO_SERVER := github.com/modelcontextprotocol/go-sdk/examples/server/memory@v1.8.0

BUILD := $(GO) build -trimpath -ldflags '-s -w -X bridge/cli.version=$(VERSION)'
PEERS := testdata/npm/node_modules/.package-lock.json

export CGO_ENABLED := 0

.DEFAULT_GOAL := build
.PHONY: build demo test engines check docs bench dist peers clean

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

bench: build
	@$(GO) run ./harness/bench -bridge bin/bridge

dist:
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
		out=dist/bridge-$$os-$$arch; [ $$os != windows ] || out=$$out.exe; \
		echo $$out; GOOS=$$os GOARCH=$$arch $(BUILD) -o $$out . || exit 1; \
	done; done

clean:
	rm -rf bin dist testdata/npm/node_modules
