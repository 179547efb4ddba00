# `make` lists the targets. CONTRIBUTING.md says when to use which.

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME ?= 20s

# A tool's file carries its version, so that another version is another file.
GOFUMPT  := bin/tools/gofumpt-v0.12.0
GOLANGCI := bin/tools/golangci-lint-v2.15.0

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/herald
	go build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/herald ./cmd/herald

.PHONY: test
test: ## run all tests with the race detector
	go test -race ./...

.PHONY: check
check: gofumpt lint test ## everything that a commit must pass
	go mod tidy -diff

.PHONY: gofumpt
gofumpt: $(GOFUMPT) ## name the files that gofumpt would change, fail if there are any
	@files=$$($(GOFUMPT) -l .); test -z "$$files" || { echo "run $(GOFUMPT) -w on:"; echo "$$files"; exit 1; }

.PHONY: lint
lint: $(GOLANGCI) ## go vet and golangci-lint
	go vet ./...
	$(GOLANGCI) run

.PHONY: bench
bench: ## measure herald: ratios of one run
	go run ./internal/bench

.PHONY: bench-check
bench-check: ## the same, and fail below half of what is expected
	go run ./internal/bench -check

.PHONY: crash
crash: ## kill and stop the program at every failpoint there is, and count the copies
	go test -count=1 -timeout 60m -v ./internal/storm -run 'Killed|ToldToStop' -every

.PHONY: storm
storm: ## 500 articles on four platforms in bad weather
	go test -count=1 -timeout 60m -v ./internal/storm -run InAStorm -articles 500

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (20s)
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | while IFS=: read -r file func; do \
		go test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) "$${file%/*}" || exit 1; \
	done

.PHONY: install
install: build ## install program, unit, sysusers and tmpfiles, below DESTDIR
	install -D -m 755 bin/herald $(DESTDIR)/usr/bin/herald
	install -D -m 644 deploy/herald.service $(DESTDIR)/usr/lib/systemd/system/herald.service
	install -D -m 644 deploy/herald.sysusers $(DESTDIR)/usr/lib/sysusers.d/herald.conf
	install -D -m 644 deploy/herald.tmpfiles $(DESTDIR)/usr/lib/tmpfiles.d/herald.conf

.PHONY: clean
clean: ## remove what was built, the tools included
	rm -rf bin

$(GOFUMPT):
	GOBIN=$(CURDIR)/bin/tools go install mvdan.cc/gofumpt@$(lastword $(subst -, ,$@))
	mv bin/tools/gofumpt $@

$(GOLANGCI):
	GOBIN=$(CURDIR)/bin/tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(lastword $(subst -, ,$@))
	mv bin/tools/golangci-lint $@
