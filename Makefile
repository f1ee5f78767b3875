# A thin layer over `swift` and scripts/: each target prints its commands, so that they can also be run manually.

PREFIX ?= /usr/local
DESTDIR ?=
# The directory searched by zsh: below PREFIX, unless a distribution uses another one.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FUZZ_SECONDS ?= 600

# Warnings are errors in the project's own builds, but never in a release built with an unknown compiler.
export MEDIACTL_WARNINGS_AS_ERRORS := 1
dist/mediactl dist/man/mediactl.1 bench: export MEDIACTL_WARNINGS_AS_ERRORS := 0

# lld, because the default linker supplies neither safe folding nor packed relocations: the binary is smaller and starts
# faster. No other program links with it, so it exports nothing. docs/packaging.md lists the effects on its size.
# No RUNPATH: a library beside the program must not be loaded. `-z now` makes the whole table of functions read-only.
# The functions that common commands call are placed side by side, so that fewer pages are in memory.
COMPILE_FLAGS := --static-swift-stdlib --disable-local-rpath -Xswiftc -Xfrontend -Xswiftc -function-sections \
	-Xswiftc -use-ld=lld -Xlinker --icf=safe -Xlinker --no-export-dynamic \
	-Xlinker -z -Xlinker pack-relative-relocs -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
RELEASE_FLAGS := $(COMPILE_FLAGS) -Xlinker -s \
	-Xlinker --symbol-ordering-file=$(CURDIR)/packaging/symbols.order -Xlinker --no-warn-symbol-ordering
SWIFT_DIRS := $(wildcard Sources Sandbox/Sources Tests Benchmarks Fuzz)

.DEFAULT_GOAL := help
.PHONY: help demo build test release symbols man dist check-package install install-files uninstall lint format bench fuzz sanitize \
	proof powerloss torture histories model attacks real docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## upload a video to a local sandbox and delete it; upload and download photos
	@scripts/demo.sh

build: ## debug build of everything
	@scripts/setup.sh build
	scripts/build.sh

test: ## install missing dependencies, build without warnings, run every test
	@scripts/setup.sh test
	scripts/build.sh --build-tests
	scripts/test.sh

release: dist/mediactl ## optimized binary with the Swift library inside: dist/mediactl

# The list of linked files is kept beside the binary: `make dist` derives licenses and components from it.
dist/mediactl: Package.swift packaging/symbols.order $(shell find Sources -type f)
	@scripts/setup.sh build
	swift build -c release --product mediactl $(RELEASE_FLAGS)
	bin=$$(swift build -c release $(RELEASE_FLAGS) --show-bin-path) && \
		scripts/check-binary.sh "$$bin/mediactl" && \
		install -D -m 644 "$$bin/mediactl.product/Objects.LinkFileList" $@.objects && install -m 755 "$$bin/mediactl" $@

symbols: ## list the functions that common commands call: packaging/symbols.order (requires valgrind)
	@scripts/setup.sh build
	swift build -c release --product mediactl $(COMPILE_FLAGS) -Xlinker --strip-debug -Xlinker --no-demangle \
		-Xlinker -Map=$(CURDIR)/.build/mediactl.map
	scripts/order-symbols.py "$$(swift build -c release $(COMPILE_FLAGS) --show-bin-path)/mediactl" .build/mediactl.map \
		packaging/symbols.order

man: dist/man/mediactl.1 ## build manual pages and shell completions: dist/man, dist/completions

dist/man/mediactl.1: dist/mediactl
	scripts/generate-manual.sh dist

dist: man ## build tarball, Debian package, SPDX document and SHA256SUMS: dist/packages
	@scripts/setup.sh dist
	scripts/package.sh dist/packages

check-package: ## install, run and remove the Debian package of `make dist` in a fresh root (requires root)
	@scripts/setup.sh check-package
	scripts/check-package.sh

# Builds only files older than their sources, so that `make man && sudo make install` builds nothing as root.
install: man install-files ## install under PREFIX (/usr/local), below DESTDIR if set

install-files:
	install -D -m 755 dist/mediactl $(DESTDIR)$(PREFIX)/bin/mediactl
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 dist/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 dist/completions/mediactl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/mediactl
	install -D -m 644 dist/completions/_mediactl $(DESTDIR)$(ZSH_COMPLETIONS)/_mediactl
	install -D -m 644 dist/completions/mediactl.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mediactl.fish

uninstall: ## remove the installed files under PREFIX; settings and delete tokens are kept
	rm -f $(DESTDIR)$(PREFIX)/bin/mediactl
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/mediactl.1 $(DESTDIR)$(PREFIX)/share/man/man1/mediactl-*.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/mediactl
	rm -f $(DESTDIR)$(ZSH_COMPLETIONS)/_mediactl
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mediactl.fish

lint: ## check format, shell syntax, forbidden constructs and imports; changes nothing
	swift format lint --strict --parallel -r $(SWIFT_DIRS) Package.swift Sandbox/Package.swift
	scripts/lint.sh

format: ## rewrite Swift files in the project's format
	swift format --in-place --parallel -r $(SWIFT_DIRS) Package.swift Sandbox/Package.swift

bench: release ## measure against curl and openssl; writes docs/benchmarks.md (ARGS=--full adds 6 GB)
	@scripts/setup.sh bench
	Benchmarks/run.sh $(ARGS)

fuzz: ## run every parser on malformed input, FUZZ_SECONDS (600) per target
	@scripts/setup.sh build
	Fuzz/run.sh $(FUZZ_SECONDS)

sanitize: ## run the tests with the thread and address sanitizers, the latter also with -O
	@scripts/setup.sh test
	scripts/sanitize.sh

proof: release ## kill the release binary at random, 200 times per transport, and check that nothing is lost
	@scripts/setup.sh test
	swift build --product mediactl-sandbox
	scripts/random-kills.py 200 multipart
	scripts/random-kills.py 200 tus

powerloss: ## simulate 22,000 power losses in recorded runs; ARGS=--long for up to 140,000, ARGS=--oracle to test the check
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/proof/powerloss.py $(ARGS)

torture: ## make each open, write, sync, rename, connect and send call fail; ARGS="--every 10"
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/proof/torture.py $(ARGS)

real: ## compare reported results with running servers (see scripts/real/run.py) or the sandbox; ARGS="--batches 20"
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/real/run.py $(ARGS)

histories: ## verify every result reported about photos in 1,000 random histories; ARGS="--count 100 --seed N", ARGS=--oracle
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/proof/histories.py $(ARGS)

model: ## check the models of an upload's states with spin; removing any guard must violate a guarantee (ARGS=--long)
	@scripts/setup.sh model
	scripts/proof/model.py $(ARGS)

attacks: ## verify reported results behind a hostile server (see scripts/proof/attacks.py)
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	.build/venv/bin/python scripts/proof/attacks.py $(ARGS)

docs: ## build the library documentation (DocC): dist/docs; also checks the links between documents
	@scripts/setup.sh build
	scripts/docs.sh
	scripts/check-links.sh

clean: ## remove everything that was built
	rm -rf .build .build-test .build-asan .build-asan-optimized .build-tsan .build-fuzz dist Benchmarks/work
