# Thin over `swift` and scripts/: each target says what it runs, so that it can be run by hand as well.

PREFIX ?= /usr/local
DESTDIR ?=
# Where zsh looks: below PREFIX, unless a distribution has a place of its own.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FUZZ_SECONDS ?= 600

# Warnings are errors wherever we build for ourselves, and never where somebody else's compiler builds a release.
export MEDIACTL_WARNINGS_AS_ERRORS := 1
dist/mediactl dist/man/mediactl.1 bench: export MEDIACTL_WARNINGS_AS_ERRORS := 0

# lld, because the default linker knows neither safe folding nor packed relocations: smaller, and quicker to start. Nobody
# links with a program, so it exports nothing. docs/packaging.md has what each of them saves.
# No RUNPATH: a library beside the program must not be loaded. `-z now` makes the whole table of functions read-only.
RELEASE_FLAGS := --static-swift-stdlib --disable-local-rpath \
	-Xswiftc -use-ld=lld -Xlinker -s -Xlinker --icf=safe -Xlinker --no-export-dynamic \
	-Xlinker -z -Xlinker pack-relative-relocs -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
SWIFT_DIRS := $(wildcard Sources Sandbox/Sources Tests Benchmarks Fuzz)

.DEFAULT_GOAL := help
.PHONY: help demo build test release man dist check-package install install-files uninstall lint format bench fuzz sanitize \
	proof powerloss torture histories model attacks real docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## upload a video to a local sandbox and delete it; upload and download photos
	@scripts/demo.sh

build: ## debug build of everything
	@scripts/setup.sh build
	scripts/build.sh

test: ## install what is missing, build without warnings, run every test
	@scripts/setup.sh test
	scripts/build.sh --build-tests
	scripts/test.sh

release: dist/mediactl ## optimized binary with the Swift library inside: dist/mediactl

# The list of what was linked stays beside the binary: from it comes what `make dist` says of licences and components.
dist/mediactl: Package.swift $(shell find Sources -type f)
	@scripts/setup.sh build
	swift build -c release --product mediactl $(RELEASE_FLAGS)
	bin=$$(swift build -c release $(RELEASE_FLAGS) --show-bin-path) && \
		scripts/check-binary.sh "$$bin/mediactl" && \
		install -D -m 644 "$$bin/mediactl.product/Objects.LinkFileList" $@.objects && install -m 755 "$$bin/mediactl" $@

man: dist/man/mediactl.1 ## manual pages and shell completions: dist/man, dist/completions

dist/man/mediactl.1: dist/mediactl
	scripts/generate-manual.sh dist

dist: man ## tarball, Debian package, SPDX document, SHA256SUMS: dist/packages
	@scripts/setup.sh dist
	scripts/package.sh dist/packages

check-package: ## install, run and remove the Debian package of `make dist` in a fresh root (requires root)
	@scripts/setup.sh check-package
	scripts/check-package.sh

# Builds only what is older than its source, so that `make man && sudo make install` builds nothing as root.
install: man install-files ## install under PREFIX (/usr/local), below DESTDIR if set

install-files:
	install -D -m 755 dist/mediactl $(DESTDIR)$(PREFIX)/bin/mediactl
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 dist/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 dist/completions/mediactl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/mediactl
	install -D -m 644 dist/completions/_mediactl $(DESTDIR)$(ZSH_COMPLETIONS)/_mediactl
	install -D -m 644 dist/completions/mediactl.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mediactl.fish

uninstall: ## remove the installed files under PREFIX; settings and delete tokens stay
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

fuzz: ## feed every parser with broken input, FUZZ_SECONDS (600) per target
	@scripts/setup.sh build
	Fuzz/run.sh $(FUZZ_SECONDS)

sanitize: ## run the tests under the thread and the address sanitizer, the latter also with -O
	@scripts/setup.sh test
	scripts/sanitize.sh

proof: release ## kill the release binary at random, 200 times over each transport: nothing is lost
	@scripts/setup.sh test
	swift build --product mediactl-sandbox
	scripts/random-kills.py 200 multipart
	scripts/random-kills.py 200 tus

powerloss: ## cut the power of recorded runs in 20,000 ways; ARGS=--long for 140,000 at most, ARGS=--oracle to check the check
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/proof/powerloss.py $(ARGS)

torture: ## let each call fail that opens, writes, synchronizes, renames, connects or sends; ARGS="--every 10"
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/proof/torture.py $(ARGS)

real: ## compare claims with running servers (see scripts/real/run.py), or else with the sandbox; ARGS="--batches 20"
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/real/run.py $(ARGS)

histories: ## compare every claim about photos with the truth in 1,000 random histories; ARGS="--count 100 --seed N", ARGS=--oracle
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	scripts/proof/histories.py $(ARGS)

model: ## check the models of an upload's states with spin; without any one guard a promise must break (ARGS=--long)
	@scripts/setup.sh model
	scripts/proof/model.py $(ARGS)

attacks: ## compare claims with what is true behind a hostile server (see scripts/proof/attacks.py)
	@scripts/setup.sh test
	[ -n "$$MEDIACTL_BINARY" ] || $(MAKE) release
	[ -n "$$MEDIACTL_SANDBOX" ] || swift build --product mediactl-sandbox
	.build/venv/bin/python scripts/proof/attacks.py $(ARGS)

docs: ## pages of the library (DocC): dist/docs; also checks the links between the documents
	@scripts/setup.sh build
	scripts/docs.sh
	scripts/check-links.sh

clean: ## remove everything that was built
	rm -rf .build .build-test .build-asan .build-asan-optimized .build-tsan .build-fuzz dist Benchmarks/work
